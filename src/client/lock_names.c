// SPDX-License-Identifier: MIT
/* Several names at once, unique numbers, and asking for what others hold. */
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "client/acquire.h"
#include "core/wall_clock.h"

/* A server would read these as options if they were the first name. */
static bool is_option(const char *name)
{
    static const char *const options[] = {"WAIT", "TTL", "SECRET"};
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (strcasecmp(name, options[i]) == 0)
            return true;
    return false;
}

static int check_names(struct conclave *session, const char *const *names, size_t count)
{
    int error = 0;
    if (!count || count > CONCLAVE_NAMES)
        return cv_client_fail(session, CONCLAVE_INVALID, "%zu names, expected 1 to %d", count, CONCLAVE_NAMES);
    for (size_t i = 0; i < count && !error; i++)
        error = cv_client_check_name(session, names[i]);
    if (!error && is_option(names[0]))
        return cv_client_fail(session, CONCLAVE_INVALID, "the first name is %s, expected none that is an option",
                              names[0]);
    return error;
}

int conclave_lock_all(struct conclave *session, const char *const *names, size_t count,
                      const struct conclave_want *want, uint64_t *fences)
{
    static const struct conclave_want nothing_special = {0};
    char ttl[24];
    want = want ? want : &nothing_special;
    const int error = check_names(session, names, count);
    if (error)
        return error;
    if (want->shared || want->permits)
        return cv_client_fail(session, CONCLAVE_INVALID, "several names at once are not shared");
    const uint64_t ttl_ms = want->ends_with_session ? 0 : want->ttl_ms ? want->ttl_ms : CONCLAVE_TTL_MS;
    struct cv_client_words words = {.count = 1, .word = {"LOCKALL"}, .names = count};
    if (ttl_ms)
        cv_client_want_ttl(session, ttl_ms, ttl, &words);
    for (size_t i = 0; i < count; i++)
        words.word[words.count++] = names[i];
    const uint64_t wait_ms = want->try_once ? 0 : want->wait_ms ? want->wait_ms : UINT64_MAX;
    return cv_client_acquire(session, CV_CLIENT_HELD, &words, wait_ms, ttl_ms, want, fences);
}

/* Asks what is answered with a number at once. */
static int ask_number(struct conclave *session, const struct cv_client_words *words, uint64_t *number)
{
    struct cv_text answer;
    int64_t told = 0;
    int error = cv_client_check_name(session, words->word[1]);
    if (!error)
        error = cv_client_ask(session, words, cv_boot_ms() + session->timeout_ms, &answer);
    if (!error)
        error = cv_client_read_number(session, answer, &told);
    if (!error && told < 0)
        return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer is below zero");
    *number = (uint64_t)told;
    return error;
}

int conclave_sequence(struct conclave *session, const char *name, uint32_t count, uint64_t *first)
{
    return cv_client_sequence(session, name, count, -1, first);
}

int conclave_ask_back(struct conclave *session, const char *name, uint64_t *asked)
{
    const struct cv_client_words words = {.count = 2, .word = {"ASKBACK", name}};
    uint64_t number = 0;
    const int error = ask_number(session, &words, &number);
    if (!error && asked)
        *asked = number;
    return error;
}
