// SPDX-License-Identifier: MIT
#include "client/acquire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/connect.h"
#include "core/wall_clock.h"

#define PATIENCE_MS 5000 /* so long other servers are tried when the one that was asked is lost during a wait */
#define PAUSE_MS 50      /* before each of them */

int cv_client_check_name(struct conclave *session, const char *name)
{
    const size_t length = name ? strlen(name) : 0;
    bool good = length > 0 && length <= CONCLAVE_NAME_BYTES;
    for (size_t i = 0; i < length && good; i++)
        good = (unsigned char)name[i] >= ' ' && name[i] != 127;
    return good ? 0
                : cv_client_fail(session, CONCLAVE_INVALID, "a name has 1 to %d bytes and no control characters",
                                 CONCLAVE_NAME_BYTES);
}

int cv_client_check_count(struct conclave *session, const char *what, uint64_t count, uint32_t most)
{
    return count && count <= most
               ? 0
               : cv_client_fail(session, CONCLAVE_INVALID, "%s %" PRIu64 ": expected 1 to %" PRIu32, what, count, most);
}

int cv_client_read_number(struct conclave *session, struct cv_text answer, int64_t *number)
{
    struct cv_resp_item item;
    if (!cv_resp_next(&answer, &item) || (item.kind != CV_RESP_INTEGER && item.kind != CV_RESP_NIL))
        return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer is not a number");
    *number = item.number;
    return item.kind == CV_RESP_NIL ? CONCLAVE_TIMEOUT : 0;
}

static int64_t soon(const struct conclave *session)
{
    return cv_boot_ms() + session->timeout_ms;
}

/* ---- waiting ---- */

static size_t count_of(const struct cv_client_words *words)
{
    return words->names ? words->names : 1;
}

static const char *name_of(const struct cv_client_words *words, size_t which)
{
    return words->names ? words->word[words->count - words->names + which] : words->word[1];
}

/* Reads a fence, or as many as the command has names. CONCLAVE_TIMEOUT: nil. */
static int read_fences(struct conclave *session, const struct cv_client_words *words, struct cv_text answer,
                       uint64_t *fences)
{
    struct cv_resp_item item;
    const size_t count = count_of(words);
    bool good = cv_resp_next(&answer, &item);
    if (good && item.kind == CV_RESP_NIL)
        return CONCLAVE_TIMEOUT;
    if (good && words->names)
        good = item.kind == CV_RESP_ARRAY && item.number == (int64_t)count && cv_resp_next(&answer, &item);
    for (size_t i = 0; good && i < count; i++) {
        good = item.kind == CV_RESP_INTEGER && item.number > 0;
        fences[i] = (uint64_t)item.number;
        good = good && (i + 1 == count || cv_resp_next(&answer, &item));
    }
    return good ? 0 : cv_client_fail(session, CONCLAVE_PROTOCOL, "the server gave a fence that is not positive");
}

static void add_wait(struct cv_client_words *words, const char *wait)
{
    const size_t at = words->count - words->names;
    memmove(&words->word[at + 2], &words->word[at], words->names * sizeof *words->word);
    words->word[at] = "WAIT";
    words->word[at + 1] = wait;
    words->count += 2;
}

/* Asks one server. The time that is left to wait goes into the command, as its last option. */
static int ask_once(struct conclave *session, const struct cv_client_words *words, int64_t until_ms, uint64_t *fences,
                    int64_t *asked_ms)
{
    struct cv_client_words all = *words;
    struct cv_text answer;
    char wait[24];
    *asked_ms = cv_boot_ms();
    const int64_t left_ms = until_ms > *asked_ms ? until_ms - *asked_ms : 0;
    if (until_ms != CV_CLIENT_NEVER) {
        snprintf(wait, sizeof wait, "%" PRId64, left_ms);
        add_wait(&all, wait);
    }
    const int64_t patient_ms =
        until_ms == CV_CLIENT_NEVER ? CV_CLIENT_NEVER : *asked_ms + left_ms + session->timeout_ms;
    const int error = cv_client_ask(session, &all, patient_ms, &answer);
    fences[0] = 0;
    if (error == CONCLAVE_INTERRUPTED && answer.length && read_fences(session, words, answer, fences) != 0)
        fences[0] = 0;
    if (error)
        return error;
    const int told = read_fences(session, words, answer, fences);
    return told == CONCLAVE_TIMEOUT ? cv_client_fail(session, told, "waited too long") : told;
}

/* Has the caller waited for long enough, or for long enough since the last server was lost? */
static bool is_over(int64_t now_ms, int64_t until_ms, int64_t lost_ms)
{
    return now_ms >= until_ms || now_ms >= lost_ms + PATIENCE_MS;
}

/* Asks other servers, too, if the first is lost meanwhile. */
static int acquire(struct conclave *session, const struct cv_client_words *words, int64_t until_ms, uint64_t *fences,
                   int64_t *asked_ms)
{
    const size_t servers = cv_client_servers(session->servers);
    int64_t lost_ms = -1;
    for (size_t tries = 0;;) {
        const bool connected = session->fd >= 0;
        const size_t turn = session->turn;
        fences[0] = 0;
        int error = cv_client_connect(session);
        tries = error ? servers : tries + 1; /* whoever finds no connection has tried them all */
        if (error)
            cv_client_disconnect(session);
        else
            error = ask_once(session, words, until_ms, fences, asked_ms);
        const int64_t now_ms = cv_boot_ms();
        if (error != CONCLAVE_NO_SERVER && !(lost_ms >= 0 && error == CONCLAVE_NO_QUORUM))
            return error;
        if (lost_ms < 0 && !connected)
            return error; /* there was no connection in the first place */
        lost_ms = connected && error == CONCLAVE_NO_SERVER ? now_ms : lost_ms;
        if (tries >= servers && is_over(now_ms, until_ms, lost_ms))
            return error;
        if (connected && session->turn == turn)
            session->turn++;
        const int interrupted = cv_client_wait(session, now_ms + PAUSE_MS);
        if (interrupted)
            return interrupted;
    }
}

/* ---- locks ---- */

void cv_client_want_ttl(const struct conclave *session, uint64_t ttl_ms, char ttl[24], struct cv_client_words *words)
{
    snprintf(ttl, 24, "%" PRIu64, ttl_ms);
    words->word[words->count++] = "TTL";
    words->word[words->count++] = ttl;
    words->word[words->count++] = "SECRET";
    words->word[words->count++] = session->secret;
}

static const char *ending(enum cv_client_kind kind)
{
    return kind == CV_CLIENT_LED ? "RESIGN" : "UNLOCK";
}

static void end_all(struct conclave *session, enum cv_client_kind kind, const struct cv_client_words *words,
                    const uint64_t *fences)
{
    for (size_t i = 0; i < count_of(words); i++) {
        struct cv_client_interest *held = cv_client_find(session, name_of(words, i), fences[i]);
        if (held)
            cv_client_forget(session, held);
        cv_client_end(session, ending(kind), name_of(words, i), fences[i], true);
    }
}

/* It was granted. If that took long, the server is asked how much time is left. */
static int begin(struct conclave *session, enum cv_client_kind kind, const struct cv_client_words *words, size_t which,
                 uint64_t fence, uint64_t ttl_ms, const struct conclave_want *want, int64_t asked_ms)
{
    const char *name = name_of(words, which);
    struct cv_client_interest *held = cv_client_remember(session, kind, name, words->value);
    int error = 0;
    if (!held) {
        if (ttl_ms) /* it would outlive the session; there may be enough memory to give it back */
            cv_client_end(session, ending(kind), name, fence, true);
        cv_client_disconnect(session);
        return cv_client_no_memory(session);
    }
    held->fence = fence;
    held->ttl_ms = ttl_ms;
    held->shared = want && want->shared;
    held->permits = want ? want->permits : 0;
    held->renew_ms = 0; /* the server has yet to be asked whether and when a hold of the session runs out */
    if (!ttl_ms)
        return 0;
    /* Its time began when it was granted. All that is known is that this was after it was asked for. */
    const int64_t took_ms = cv_boot_ms() - asked_ms;
    cv_client_extend(held, asked_ms, (int64_t)ttl_ms);
    if (took_ms > (int64_t)ttl_ms / 10)
        error = conclave_renew(session, name, fence, NULL);
    if (error == CONCLAVE_INTERRUPTED)
        cv_client_end(session, ending(kind), name, fence, true);
    return error;
}

int cv_client_acquire(struct conclave *session, enum cv_client_kind kind, const struct cv_client_words *words,
                      uint64_t wait_ms, uint64_t ttl_ms, const struct conclave_want *want, uint64_t *fences)
{
    int64_t asked_ms = 0;
    const int64_t until_ms = wait_ms < (uint64_t)INT32_MAX * 1000 ? cv_boot_ms() + (int64_t)wait_ms : CV_CLIENT_NEVER;
    for (;;) {
        int error = acquire(session, words, until_ms, fences, &asked_ms);
        if (error == CONCLAVE_INTERRUPTED && fences[0] && ttl_ms) {
            /* It was granted at that moment, and would outlive the session. */
            end_all(session, kind, words, fences);
            return cv_client_fail(session, error, "interrupted");
        }
        const bool granted = !error;
        for (size_t i = 0; i < count_of(words) && !error; i++)
            error = begin(session, kind, words, i, fences[i], ttl_ms, want, asked_ms);
        if (error && granted && words->names)
            end_all(session, kind, words, fences); /* all of them or none */
        /* A process that stood still when it was granted may find it lost already: it goes on waiting. */
        if (error != CONCLAVE_LOST || cv_boot_ms() >= until_ms)
            return error;
    }
}

/* No server is asked. A lock that may be lost is not taken again. */
static bool take_again(const struct conclave *session, const char *name, uint64_t *fence)
{
    struct cv_client_interest *held = cv_client_find(session, name, 0);
    if (!held || held->kind != CV_CLIENT_HELD || held->shared || held->permits || cv_boot_ms() >= held->ends_ms)
        return false;
    held->again++;
    *fence = held->fence;
    return true;
}

int conclave_lock(struct conclave *session, const char *name, const struct conclave_want *want, uint64_t *fence)
{
    static const struct conclave_want nothing_special = {0};
    char ttl[24], permits[24];
    want = want ? want : &nothing_special;
    int error = cv_client_check_name(session, name);
    if (!error && want->permits)
        error = cv_client_check_count(session, "permits", want->permits, CV_CLIENT_MOST_PERMITS);
    if (error)
        return error;
    if (want->reentrant && (want->shared || want->permits))
        return cv_client_fail(session, CONCLAVE_INVALID, "only a lock that is held alone is taken again");
    if (want->reentrant && take_again(session, name, fence))
        return 0;
    const uint64_t ttl_ms = want->ends_with_session ? 0 : want->ttl_ms ? want->ttl_ms : CONCLAVE_TTL_MS;
    struct cv_client_words words = {.count = 2, .word = {"LOCK", name}};
    if (ttl_ms)
        cv_client_want_ttl(session, ttl_ms, ttl, &words);
    if (want->shared)
        words.word[words.count++] = "SHARED";
    cv_client_want_permits(want->permits, permits, &words);
    const uint64_t wait_ms = want->try_once ? 0 : want->wait_ms ? want->wait_ms : UINT64_MAX;
    return cv_client_acquire(session, CV_CLIENT_HELD, &words, wait_ms, ttl_ms, want, fence);
}

int conclave_try_lock(struct conclave *session, const char *name, uint64_t *fence)
{
    return conclave_lock(session, name, &(struct conclave_want){.try_once = true}, fence);
}

int conclave_timed_lock(struct conclave *session, const char *name, uint64_t wait_ms, uint64_t *fence)
{
    return conclave_lock(session, name, &(struct conclave_want){.wait_ms = wait_ms, .try_once = !wait_ms}, fence);
}

/* If another server says that it is not held, the server that was lost has ended it before. */
int cv_client_end(struct conclave *session, const char *command, const char *name, uint64_t fence, bool secret)
{
    char digits[24];
    struct cv_text answer;
    int64_t released = 0;
    snprintf(digits, sizeof digits, "%" PRIu64, fence);
    struct cv_client_words words = {.count = 3, .word = {command, name, digits}};
    if (secret) {
        words.word[words.count++] = "SECRET";
        words.word[words.count++] = session->secret;
    }
    const int64_t until_ms = cv_boot_ms() + PATIENCE_MS;
    for (bool again = false;; again = true) {
        int error = cv_client_ask(session, &words, soon(session), &answer);
        if (!error)
            error = cv_client_read_number(session, answer, &released);
        const bool elsewhere = error == CONCLAVE_NO_SERVER || error == CONCLAVE_NO_QUORUM;
        if (secret && elsewhere && cv_boot_ms() < until_ms) {
            cv_client_disconnect(session);
            session->turn++;
            if (cv_client_wait(session, cv_boot_ms() + PAUSE_MS) == 0)
                continue;
        }
        return error || released || again ? error : cv_client_fail(session, CONCLAVE_LOST, "it was not held any more");
    }
}

int conclave_unlock(struct conclave *session, const char *name, uint64_t fence)
{
    const int error = cv_client_check_name(session, name);
    if (error)
        return error;
    struct cv_client_interest *held = cv_client_find(session, name, fence);
    const bool secret = !held || held->ttl_ms;
    if (held && held->again && cv_boot_ms() < held->ends_ms) {
        held->again--;
        return 0;
    }
    if (held)
        cv_client_forget(session, held);
    return cv_client_end(session, "UNLOCK", name, fence, secret);
}

int conclave_renew(struct conclave *session, const char *name, uint64_t fence, int64_t *left_ms)
{
    char digits[24], ttl[24], permits[24];
    struct cv_text answer;
    int64_t left = 0;
    int error = cv_client_check_name(session, name);
    if (error)
        return error;
    snprintf(digits, sizeof digits, "%" PRIu64, fence);
    const int64_t asked_ms = cv_boot_ms();
    struct cv_client_words words = {.count = 3, .word = {"RENEW", name, digits}};
    struct cv_client_interest *held = cv_client_find(session, name, fence);
    snprintf(ttl, sizeof ttl, "%" PRIu64, held ? held->ttl_ms : 0);
    if (held && held->ttl_ms)
        cv_client_show_secret(session, held, ttl, permits, &words);
    error = cv_client_ask(session, &words, soon(session), &answer);
    if (!error)
        error = cv_client_read_number(session, answer, &left);
    held = cv_client_find(session, name, fence);
    if (error == CONCLAVE_TIMEOUT) {
        if (held)
            cv_client_forget(session, held);
        return cv_client_fail(session, CONCLAVE_LOST, "it was not held any more");
    }
    if (!error && held)
        cv_client_extend(held, asked_ms, left);
    if (!error && left_ms)
        *left_ms = left;
    return error;
}

int64_t conclave_left_ms(const struct conclave *session, const char *name)
{
    const struct cv_client_interest *held = cv_client_find(session, name, 0);
    if (!held)
        return 0;
    if (held->ends_ms == CV_CLIENT_NEVER)
        return -1;
    const int64_t left_ms = held->ends_ms - cv_boot_ms();
    return left_ms > 0 ? left_ms : 0;
}

/* ---- numbers that are waited for ---- */

/* Asks one server. Without a limit it waits for as long as it takes. */
static int ask_number_once(struct conclave *session, const struct cv_client_words *words, int64_t until_ms,
                           int64_t *number)
{
    struct cv_client_words all = *words;
    struct cv_text answer;
    char wait[24];
    const int64_t now_ms = cv_boot_ms(), left_ms = until_ms > now_ms ? until_ms - now_ms : 0;
    if (until_ms != CV_CLIENT_NEVER && !words->knows_no_wait) {
        snprintf(wait, sizeof wait, "%" PRId64, left_ms);
        all.word[all.count++] = "WAIT";
        all.word[all.count++] = wait;
    }
    int64_t patient_ms = until_ms == CV_CLIENT_NEVER ? until_ms : now_ms + left_ms + session->timeout_ms;
    if (until_ms != CV_CLIENT_NEVER && words->knows_no_wait)
        patient_ms = now_ms + (left_ms > session->timeout_ms ? left_ms : session->timeout_ms);
    const int error = cv_client_ask(session, &all, patient_ms, &answer);
    const bool late = error == CONCLAVE_NO_SERVER && words->knows_no_wait && cv_boot_ms() >= patient_ms;
    if (late && cv_client_still_answers(session))
        return cv_client_fail(session, CONCLAVE_TIMEOUT, "waited too long");
    if (error)
        return error;
    const int told = cv_client_read_number(session, answer, number);
    return told == CONCLAVE_TIMEOUT ? cv_client_fail(session, told, "waited too long") : told;
}

int cv_client_ask_and_wait(struct conclave *session, const struct cv_client_words *words, int64_t wait_ms, bool again,
                           int64_t *number)
{
    const size_t servers = cv_client_servers(session->servers);
    const bool endless = wait_ms < 0 || wait_ms > (int64_t)INT32_MAX * 1000;
    const int64_t until_ms = endless ? CV_CLIENT_NEVER : cv_boot_ms() + wait_ms;
    int64_t lost_ms = -1;
    size_t tries = 0;
    int error = cv_client_check_name(session, words->word[1]);
    while (!error) {
        const bool connected = session->fd >= 0;
        const size_t turn = session->turn;
        error = cv_client_connect(session);
        tries = error ? servers : tries + 1; /* whoever finds no connection has tried them all */
        if (error)
            cv_client_disconnect(session);
        else
            error = ask_number_once(session, words, until_ms, number);
        const int64_t now_ms = cv_boot_ms();
        const bool elsewhere = error == CONCLAVE_NO_SERVER || (lost_ms >= 0 && error == CONCLAVE_NO_QUORUM);
        if (!elsewhere || !again || (lost_ms < 0 && !connected))
            return error;
        lost_ms = connected ? now_ms : lost_ms;
        if (tries >= servers && is_over(now_ms, until_ms, lost_ms))
            return error;
        if (connected && session->turn == turn)
            session->turn++;
        error = cv_client_wait(session, now_ms + PAUSE_MS);
    }
    return error;
}

/* The server takes the name as a lock for a moment, and waits while others hold it. What was given up is a gap. */
int cv_client_sequence(struct conclave *session, const char *name, uint32_t count, int64_t wait_ms, uint64_t *first)
{
    char digits[24];
    int64_t told = 0;
    snprintf(digits, sizeof digits, "%" PRIu32, count);
    const struct cv_client_words words = {.count = 3, .word = {"SEQUENCE", name, digits}, .knows_no_wait = true};
    int error = cv_client_check_count(session, "count", count, CV_CLIENT_MOST_NUMBERS);
    if (!error)
        error = cv_client_ask_and_wait(session, &words, wait_ms, true, &told);
    if (!error && told < 0)
        return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer is below zero");
    *first = (uint64_t)told;
    return error;
}
