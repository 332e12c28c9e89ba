// SPDX-License-Identifier: MIT
/* Membership of a name, and work that is done once in each period. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "client/acquire.h"
#include "core/wall_clock.h"

static int ask(struct conclave *session, const struct cv_client_words *words, struct cv_text *answer)
{
    const int error = cv_client_check_name(session, words->word[1]);
    return error ? error : cv_client_ask(session, words, cv_boot_ms() + session->timeout_ms, answer);
}

static struct cv_text next_text(struct cv_text *rest, bool *good)
{
    struct cv_resp_item item;
    *good = *good && cv_resp_next(rest, &item);
    if (!*good || item.kind == CV_RESP_NIL)
        return (struct cv_text){NULL, 0};
    return item.text.start ? item.text : cv_text("");
}

static uint64_t next_number(struct cv_text *rest, bool *good)
{
    struct cv_resp_item item;
    *good = *good && cv_resp_next(rest, &item) && (item.kind == CV_RESP_INTEGER || item.kind == CV_RESP_NIL);
    return *good && item.number > 0 ? (uint64_t)item.number : 0;
}

static size_t copy_text(char *to, size_t size, struct cv_text text)
{
    const size_t length = text.length < size ? text.length : size - 1;
    if (length)
        memcpy(to, text.start, length);
    to[length] = '\0';
    return length;
}

/* ---- members ---- */

static struct cv_text value_of(const void *value, size_t length)
{
    return value ? (struct cv_text){value, length} : (struct cv_text){NULL, 0};
}

int conclave_join(struct conclave *session, const char *name, const void *value, size_t length, uint64_t *number)
{
    const struct cv_client_words words = {
        .count = 3, .word = {"MEMBERS", name, "JOIN"}, .value = value_of(value, length)};
    struct cv_text answer;
    int64_t told = 0;
    if (words.value.length > CONCLAVE_VALUE_BYTES)
        return cv_client_fail(session, CONCLAVE_INVALID, "a value of %zu bytes, expected at most %d", length,
                              CONCLAVE_VALUE_BYTES);
    int error = ask(session, &words, &answer);
    if (!error)
        error = cv_client_read_number(session, answer, &told);
    if (error)
        return error;
    struct cv_client_interest *joined = cv_client_remember(session, CV_CLIENT_JOINED, name, words.value);
    if (!joined)
        return CONCLAVE_NO_MEMORY;
    joined->fence = (uint64_t)told;
    joined->renew_ms = cv_boot_ms() + session->timeout_ms;
    if (number)
        *number = joined->fence;
    return 0;
}

int conclave_leave(struct conclave *session, const char *name)
{
    const struct cv_client_words words = {.count = 3, .word = {"MEMBERS", name, "LEAVE"}};
    struct cv_client_interest *joined = name ? cv_client_find_kind(session, CV_CLIENT_JOINED, name) : NULL;
    struct cv_text answer;
    int64_t was = 0;
    if (joined)
        cv_client_forget(session, joined);
    int error = ask(session, &words, &answer);
    if (!error)
        error = cv_client_read_number(session, answer, &was);
    return error || was ? error : cv_client_fail(session, CONCLAVE_LOST, "it was no member");
}

/* Items of number, client's name and value. */
static int read_members(struct conclave *session, struct cv_text answer, struct conclave_member *members, size_t room,
                        size_t *count)
{
    struct cv_resp_item array, item;
    bool good = cv_resp_next(&answer, &array) && array.kind == CV_RESP_ARRAY;
    for (int64_t i = 0; good && i < array.number; i++) {
        struct conclave_member member = {0};
        good = cv_resp_next(&answer, &item) && item.kind == CV_RESP_ARRAY && item.number == 3;
        member.number = next_number(&answer, &good);
        copy_text(member.client, sizeof member.client, next_text(&answer, &good));
        const struct cv_text value = next_text(&answer, &good);
        member.has_value = value.start;
        member.value_length = copy_text(member.value, sizeof member.value, value);
        if (good && *count < room)
            members[*count] = member;
        *count += good;
    }
    return good ? 0 : cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer tells of no members");
}

int conclave_members(struct conclave *session, const char *name, struct conclave_member *members, size_t room,
                     size_t *count)
{
    const struct cv_client_words words = {.count = 2, .word = {"MEMBERS", name}};
    struct cv_text answer;
    *count = 0;
    const int error = ask(session, &words, &answer);
    return error ? error : read_members(session, answer, members, room, count);
}

int conclave_watch_members(struct conclave *session, const char *name)
{
    const struct cv_client_words words = {.count = 3, .word = {"MEMBERS", name, "WATCH"}};
    struct cv_text answer;
    const int error = ask(session, &words, &answer);
    if (error)
        return error;
    struct cv_client_interest *watched = cv_client_remember(session, CV_CLIENT_GROUP, name, (struct cv_text){NULL, 0});
    if (!watched)
        return CONCLAVE_NO_MEMORY;
    watched->fence = 1; /* it is watched at this server */
    watched->renew_ms = cv_boot_ms() + session->timeout_ms;
    return 0;
}

/* ---- once ---- */

int conclave_once(struct conclave *session, const char *name, uint64_t every_ms, uint64_t *fence)
{
    char digits[24];
    struct cv_text answer;
    int64_t number = 0;
    snprintf(digits, sizeof digits, "%" PRIu64, every_ms);
    const struct cv_client_words words = {.count = 4, .word = {"ONCE", name, "EVERY", digits}};
    int error = ask(session, &words, &answer);
    if (!error)
        error = cv_client_read_number(session, answer, &number);
    *fence = 0;
    if (error)
        return error == CONCLAVE_TIMEOUT ? 0 : error;
    struct cv_client_interest *run = cv_client_remember(session, CV_CLIENT_RUNS, name, (struct cv_text){NULL, 0});
    if (!run)
        return CONCLAVE_NO_MEMORY;
    *fence = run->fence = (uint64_t)number;
    return 0;
}

int conclave_once_done(struct conclave *session, const char *name, uint64_t fence)
{
    char digits[24];
    struct cv_text answer;
    int64_t done = 0;
    snprintf(digits, sizeof digits, "%" PRIu64, fence);
    const struct cv_client_words words = {.count = 4, .word = {"ONCE", name, "DONE", digits}};
    int error = ask(session, &words, &answer);
    if (!error)
        error = cv_client_read_number(session, answer, &done);
    struct cv_client_interest *run = error ? NULL : cv_client_find_kind(session, CV_CLIENT_RUNS, name);
    if (run && run->fence == fence)
        cv_client_forget(session, run);
    return error || done == 1 ? error : cv_client_fail(session, CONCLAVE_LOST, "somebody else may do it now");
}

int conclave_last_run(struct conclave *session, const char *name, struct conclave_run *run)
{
    const struct cv_client_words words = {.count = 2, .word = {"ONCE", name}};
    struct cv_resp_item array;
    struct cv_text answer;
    const int error = ask(session, &words, &answer);
    *run = (struct conclave_run){0};
    if (error)
        return error;
    bool good = cv_resp_next(&answer, &array) && array.kind == CV_RESP_ARRAY && array.number == 4;
    run->ended_ms = next_number(&answer, &good);
    run->fence = next_number(&answer, &good);
    copy_text(run->client, sizeof run->client, next_text(&answer, &good));
    copy_text(run->runner, sizeof run->runner, next_text(&answer, &good));
    return good ? 0 : cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer tells of no run");
}
