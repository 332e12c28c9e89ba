// SPDX-License-Identifier: MIT
/* Latches and barriers: clients that wait for each other. */
#include <inttypes.h>
#include <stdio.h>

#include "client/acquire.h"
#include "core/wall_clock.h"

#define PATIENCE_MS 5000 /* so long other servers are tried when the one that was asked is lost during a wait */
#define PAUSE_MS 50      /* before each of them */

/* Asks one server. Without a limit it waits for as long as it takes. */
static int ask_once(struct conclave *session, const struct cv_client_words *words, int64_t until_ms, int64_t *number)
{
    struct cv_client_words all = *words;
    struct cv_text answer;
    char wait[24];
    const int64_t now_ms = cv_boot_ms(), left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    if (until_ms != CV_CLIENT_NEVER) {
        snprintf(wait, sizeof wait, "%" PRId64, left_ms);
        all.word[all.count++] = "WAIT";
        all.word[all.count++] = wait;
    }
    const int error = cv_client_ask(
        session, &all, until_ms == CV_CLIENT_NEVER ? until_ms : now_ms + left_ms + session->timeout_ms, &answer);
    if (error)
        return error;
    const int told = cv_client_read_number(session, answer, number);
    return told == CONCLAVE_TIMEOUT ? cv_client_fail(session, told, "waited too long") : told;
}

/* Waits, with other servers if the first is lost meanwhile. `again`: nothing is lost by asking twice. */
static int ask_and_wait(struct conclave *session, const struct cv_client_words *words, int64_t wait_ms, bool again,
                        int64_t *number)
{
    const bool endless = wait_ms < 0 || wait_ms > (int64_t)INT32_MAX * 1000;
    const int64_t until_ms = endless ? CV_CLIENT_NEVER : cv_boot_ms() + wait_ms;
    int64_t lost_ms = -1;
    int error = cv_client_check_name(session, words->word[1]);
    while (!error) {
        const bool connected = session->fd >= 0;
        error = ask_once(session, words, until_ms, number);
        const int64_t now_ms = cv_boot_ms();
        const bool elsewhere = error == CONCLAVE_NO_SERVER || (lost_ms >= 0 && error == CONCLAVE_NO_QUORUM);
        if (!elsewhere || !again || (lost_ms < 0 && !connected))
            return error;
        lost_ms = connected ? now_ms : lost_ms;
        if (now_ms >= until_ms || now_ms >= lost_ms + PATIENCE_MS)
            return error;
        error = cv_client_wait(session, now_ms + PAUSE_MS);
    }
    return error;
}

/* Asks what is answered at once. CONCLAVE_TIMEOUT: the answer is nil. */
static int ask(struct conclave *session, const struct cv_client_words *words, int64_t *number)
{
    struct cv_text answer;
    int error = cv_client_check_name(session, words->word[1]);
    if (!error)
        error = cv_client_ask(session, words, cv_boot_ms() + session->timeout_ms, &answer);
    return error ? error : cv_client_read_number(session, answer, number);
}

/* ---- latches ---- */

int conclave_latch_set(struct conclave *session, const char *name, uint64_t count, bool *set)
{
    char digits[24];
    int64_t number = 0;
    snprintf(digits, sizeof digits, "%" PRIu64, count);
    const struct cv_client_words words = {.count = 4, .word = {"LATCH", name, "SET", digits}};
    int error = cv_client_check_count(session, "count", count, CV_CLIENT_MOST_PERMITS);
    if (!error)
        error = ask(session, &words, &number);
    if (set)
        *set = !error && number == 1;
    return error;
}

int conclave_latch_down(struct conclave *session, const char *name, uint64_t count, uint64_t *left)
{
    char digits[24];
    int64_t number = 0;
    snprintf(digits, sizeof digits, "%" PRIu64, count);
    const struct cv_client_words words = {.count = 4, .word = {"LATCH", name, "DOWN", digits}};
    int error = cv_client_check_count(session, "count", count, CV_CLIENT_MOST_PERMITS);
    if (!error)
        error = ask(session, &words, &number);
    if (!error && left)
        *left = (uint64_t)number;
    return error;
}

int conclave_latch_await(struct conclave *session, const char *name, int64_t wait_ms)
{
    int64_t number = 0;
    const struct cv_client_words words = {.count = 3, .word = {"LATCH", name, "AWAIT"}};
    return ask_and_wait(session, &words, wait_ms, true, &number);
}

int conclave_latch_left(struct conclave *session, const char *name, int64_t *left)
{
    const struct cv_client_words words = {.count = 2, .word = {"LATCH", name}};
    const int error = ask(session, &words, left);
    if (error != CONCLAVE_TIMEOUT)
        return error;
    *left = -1;
    return 0;
}

int conclave_latch_clear(struct conclave *session, const char *name)
{
    struct cv_text answer;
    const struct cv_client_words words = {.count = 3, .word = {"LATCH", name, "CLEAR"}};
    const int error = cv_client_check_name(session, name);
    return error ? error : cv_client_ask(session, &words, cv_boot_ms() + session->timeout_ms, &answer);
}

/* ---- barriers ---- */

static int meet(struct conclave *session, const struct cv_client_words *words, int64_t wait_ms, uint64_t *meeting)
{
    int64_t number = 0;
    const bool connected = session->fd >= 0;
    const int error = ask_and_wait(session, words, wait_ms, false, &number);
    if (error == CONCLAVE_NO_SERVER && connected)
        return cv_client_fail(session, CONCLAVE_LOST, "the server is lost, and it may have been counted");
    if (!error && meeting)
        *meeting = (uint64_t)number;
    return error;
}

int conclave_barrier(struct conclave *session, const char *name, uint32_t parties, int64_t wait_ms, uint64_t *meeting)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu32, parties);
    const struct cv_client_words words = {.count = 3, .word = {"BARRIER", name, digits}};
    const int error = cv_client_check_count(session, "parties", parties, CV_CLIENT_MOST_PARTIES);
    return error ? error : meet(session, &words, wait_ms, meeting);
}

int conclave_barrier_enter(struct conclave *session, const char *name, uint32_t parties, int64_t wait_ms,
                           uint64_t *meeting)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%" PRIu32, parties);
    const struct cv_client_words words = {.count = 4, .word = {"BARRIER", name, digits, "ENTER"}};
    uint64_t number = 0;
    int error = cv_client_check_count(session, "parties", parties, CV_CLIENT_MOST_PARTIES);
    if (!error)
        error = meet(session, &words, wait_ms, &number);
    if (error)
        return error;
    struct cv_client_interest *inside = cv_client_remember(session, CV_CLIENT_INSIDE, name, (struct cv_text){NULL, 0});
    if (!inside)
        return CONCLAVE_NO_MEMORY;
    inside->fence = number;
    if (meeting)
        *meeting = number;
    return 0;
}

int conclave_barrier_leave(struct conclave *session, const char *name, int64_t wait_ms, uint64_t *meeting)
{
    const struct cv_client_words words = {.count = 3, .word = {"BARRIER", name, "LEAVE"}};
    const int wrong = cv_client_check_name(session, name);
    if (wrong)
        return wrong;
    const bool knows = cv_client_find_kind(session, CV_CLIENT_INSIDE, name);
    const int error = knows ? meet(session, &words, wait_ms, meeting) : 0;
    struct cv_client_interest *inside = cv_client_find_kind(session, CV_CLIENT_INSIDE, name);
    if (!inside) /* it may have been lost meanwhile */
        return cv_client_fail(session, CONCLAVE_LOST, "it is not inside, or not any more");
    if (!error)
        cv_client_forget(session, inside);
    return error;
}
