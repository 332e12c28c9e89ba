// SPDX-License-Identifier: MIT
/* Latches and barriers: clients that wait for each other. */
#include <inttypes.h>
#include <stdio.h>

#include "client/acquire.h"
#include "core/wall_clock.h"

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
    return cv_client_ask_and_wait(session, &words, wait_ms, true, &number);
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
    const int error = cv_client_ask_and_wait(session, words, wait_ms, false, &number);
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
