// SPDX-License-Identifier: MIT
#include "cli/hold/recipe_ask.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "client/interest.h"
#include "core/parse.h"
#include "core/wall_clock.h"

/* The time to wait goes into the command, as its last words. */
static int ask(struct conclave *session, const struct hold *hold, struct cv_client_words *words, bool waits,
               struct cv_text *answer)
{
    const uint64_t wait_ms = hold->want.wait_ms;
    const bool for_ever = waits && !wait_ms && !hold->want.try_once;
    char wait[24];
    snprintf(wait, sizeof wait, "%" PRIu64, wait_ms);
    if (waits && !for_ever) {
        words->word[words->count++] = "WAIT";
        words->word[words->count++] = wait;
    }
    const int64_t patience_ms = session->timeout_ms + (int64_t)(waits ? wait_ms : 0);
    return cv_client_ask(session, words, for_ever ? CV_CLIENT_NEVER : cv_boot_ms() + patience_ms, answer);
}

int recipe_ask(struct conclave *session, const struct hold *hold, struct cv_client_words words, bool waits,
               struct cv_text *answer)
{
    static const char no_latch[] = "NOLATCH ";
    const int error = ask(session, hold, &words, waits, answer);
    if (error == CONCLAVE_REFUSED && strncmp(conclave_explain(session), no_latch, sizeof no_latch - 1) == 0) {
        command_refuse("latch %s: there is none", cv_brief(hold->name).text);
        return EXIT_VIOLATED;
    }
    return error ? hold_explain(session, cv_brief(hold->name).text, error) : 0;
}

int recipe_ask_number(struct conclave *session, const struct hold *hold, const struct cv_client_words *words,
                      bool waits, int64_t *number)
{
    struct cv_text answer;
    struct cv_resp_item item;
    const int code = recipe_ask(session, hold, *words, waits, &answer);
    if (code)
        return code;
    if (cv_resp_next(&answer, &item) && item.kind == CV_RESP_INTEGER) {
        *number = item.number;
        return 0;
    }
    if (item.kind == CV_RESP_NIL)
        return HOLD_TIMEOUT;
    command_refuse("%s: the server's answer is not a number", cv_brief(hold->name).text);
    return HOLD_TROUBLE;
}

bool recipe_holds(const struct hold *hold)
{
    return hold->every_ms || hold->joins;
}

/* It ends with the session, and needs no renewal. */
int recipe_acquire(struct conclave *session, const struct hold *hold, uint64_t *fence)
{
    char every[24];
    int64_t number = 0;
    snprintf(every, sizeof every, "%" PRIu64, hold->every_ms);
    struct cv_client_words words = {.count = 3, .word = {"MEMBERS", hold->name, "JOIN"}};
    if (hold->every_ms)
        words = (struct cv_client_words){.count = 4, .word = {"ONCE", hold->name, "EVERY", every}};
    if (hold->joins && hold->value)
        words.value = cv_text(hold->value);
    const int code = recipe_ask_number(session, hold, &words, false, &number);
    if (code)
        return code;
    struct cv_client_interest *held =
        cv_client_remember(session, CV_CLIENT_HELD, hold->name, (struct cv_text){NULL, 0});
    if (!held)
        return hold_explain(session, cv_brief(hold->name).text, CONCLAVE_NO_MEMORY);
    *fence = held->fence = (uint64_t)number;
    return 0;
}

int recipe_give_up(struct conclave *session, const struct hold *hold, uint64_t fence, bool done)
{
    char digits[24];
    struct cv_text answer;
    struct cv_resp_item item;
    struct cv_client_interest *held = cv_client_find(session, hold->name, fence);
    if (!held)
        return CONCLAVE_LOST;
    cv_client_forget(session, held);
    if (hold->every_ms && !done)
        return 0; /* the end of the session leaves it to the next that asks */
    snprintf(digits, sizeof digits, "%" PRIu64, fence);
    struct cv_client_words words = {.count = 3, .word = {"MEMBERS", hold->name, "LEAVE"}};
    if (hold->every_ms)
        words = (struct cv_client_words){.count = 4, .word = {"ONCE", hold->name, "DONE", digits}};
    const int error = ask(session, hold, &words, false, &answer);
    if (error || hold->joins)
        return error;
    return cv_resp_next(&answer, &item) && item.kind == CV_RESP_INTEGER && item.number ? 0 : CONCLAVE_LOST;
}
