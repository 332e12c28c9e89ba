// SPDX-License-Identifier: MIT
/* A lock that is shared becomes one that is held alone, or the other way round. */
#include <inttypes.h>
#include <stdio.h>

#include "client/acquire.h"
#include "core/wall_clock.h"

/* It has another fence now. If the answer took long, the server is asked how much time is left. */
static int change(struct conclave *session, struct cv_client_interest *held, uint64_t fence, int64_t asked_ms)
{
    const int64_t took_ms = cv_boot_ms() - asked_ms;
    held->fence = fence;
    held->shared = !held->shared;
    if (!held->ttl_ms)
        return 0;
    cv_client_extend(held, asked_ms, (int64_t)held->ttl_ms);
    if (session->fd < 0)
        return 0; /* interrupted */
    return took_ms > (int64_t)held->ttl_ms / 10 ? conclave_renew(session, held->name, fence, NULL) : 0;
}

/* It stays as it was. Its time to live has begun anew, and the server knows when. */
static int go_on(struct conclave *session, const struct cv_client_interest *held)
{
    const int error = held && held->ttl_ms ? conclave_renew(session, held->name, held->fence, NULL) : 0;
    return error ? error : cv_client_fail(session, CONCLAVE_TIMEOUT, "waited too long");
}

/* Asks the server, until `until_ms` at most. An answer that comes at the moment of an interruption counts. */
static int exchange(struct conclave *session, const struct cv_client_words *words, uint64_t *fence, int64_t until_ms)
{
    const char *name = words->word[1];
    const int64_t asked_ms = cv_boot_ms();
    struct cv_text answer;
    int64_t number = 0;
    const int error = cv_client_ask(session, words, until_ms, &answer);
    struct cv_client_interest *held = cv_client_find(session, name, *fence); /* it may have been lost meanwhile */
    if (error == CONCLAVE_LOST && held)
        cv_client_forget(session, held);
    if (error && (error != CONCLAVE_INTERRUPTED || !answer.length))
        return error;
    const int told = cv_client_read_number(session, answer, &number);
    if (!error && told == CONCLAVE_TIMEOUT)
        return go_on(session, held);
    if (told || number <= 0)
        return error ? error
                     : cv_client_fail(session, CONCLAVE_PROTOCOL, "the server gave a fence that is not positive");
    *fence = (uint64_t)number;
    const int changed = held ? change(session, held, *fence, asked_ms)
                             : cv_client_fail(session, CONCLAVE_LOST, "it was lost meanwhile");
    return error ? error : changed;
}

/* Is it a lock of this session, and of the right kind? */
static int check(struct conclave *session, const char *name, uint64_t fence, bool shared)
{
    const int error = cv_client_check_name(session, name);
    const struct cv_client_interest *held = error ? NULL : cv_client_find(session, name, fence);
    if (!error && (!fence || !held || held->kind != CV_CLIENT_HELD))
        return cv_client_fail(session, CONCLAVE_LOST, "it is not held by that fence");
    if (!error && (held->permits || held->shared != shared))
        return cv_client_fail(session, CONCLAVE_INVALID, shared ? "it is not shared" : "it is not held alone");
    return error;
}

int conclave_upgrade(struct conclave *session, const char *name, uint64_t *fence, int64_t wait_ms)
{
    char digits[24], wait[24];
    const int error = check(session, name, *fence, true);
    if (error)
        return error;
    const bool endless = wait_ms < 0 || wait_ms > (int64_t)INT32_MAX * 1000;
    snprintf(digits, sizeof digits, "%" PRIu64, *fence);
    snprintf(wait, sizeof wait, "%" PRId64, wait_ms);
    const struct cv_client_words words = {.count = endless ? 3 : 5, .word = {"UPGRADE", name, digits, "WAIT", wait}};
    return exchange(session, &words, fence, endless ? CV_CLIENT_NEVER : cv_boot_ms() + wait_ms + session->timeout_ms);
}

int conclave_downgrade(struct conclave *session, const char *name, uint64_t *fence)
{
    char digits[24];
    const int error = check(session, name, *fence, false);
    if (error)
        return error;
    snprintf(digits, sizeof digits, "%" PRIu64, *fence);
    const struct cv_client_words words = {.count = 3, .word = {"DOWNGRADE", name, digits}};
    return exchange(session, &words, fence, cv_boot_ms() + session->timeout_ms);
}
