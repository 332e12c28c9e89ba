// SPDX-License-Identifier: MIT
#include <inttypes.h>
#include <stdio.h>

#include "client/acquire.h"
#include "core/wall_clock.h"

static struct cv_text value_of(const struct conclave_candidate *candidate)
{
    return candidate && candidate->value ? (struct cv_text){candidate->value, candidate->value_length}
                                         : (struct cv_text){NULL, 0};
}

int conclave_campaign(struct conclave *session, const char *name, const struct conclave_candidate *candidate,
                      uint64_t *fence)
{
    char priority[24], ttl[24];
    const int error = cv_client_check_name(session, name);
    if (error)
        return error;
    const struct cv_text value = value_of(candidate);
    if (value.length > CONCLAVE_VALUE_BYTES)
        return cv_client_fail(session, CONCLAVE_INVALID, "a value of %zu bytes, expected at most %d", value.length,
                              CONCLAVE_VALUE_BYTES);
    const uint64_t wanted_ms = candidate && candidate->ttl_ms ? candidate->ttl_ms : CONCLAVE_TTL_MS;
    const uint64_t ttl_ms = candidate && candidate->ends_with_session ? 0 : wanted_ms;
    struct cv_client_words words = {.count = 2, .word = {"CAMPAIGN", name}, .value = value};
    if (ttl_ms)
        cv_client_want_ttl(session, ttl_ms, ttl, &words);
    if (candidate && candidate->priority) {
        snprintf(priority, sizeof priority, "%" PRIu32, candidate->priority);
        words.word[words.count++] = "PRIORITY";
        words.word[words.count++] = priority;
    }
    const bool try_once = candidate && candidate->try_once, patient = !candidate || !candidate->wait_ms;
    const uint64_t wait_ms = try_once ? 0 : patient ? UINT64_MAX : candidate->wait_ms;
    return cv_client_acquire(session, CV_CLIENT_LED, &words, wait_ms, ttl_ms, NULL, fence);
}

static int ask_about(struct conclave *session, const char *command, const char *name, struct cv_text *answer)
{
    const struct cv_client_words words = {.count = 2, .word = {command, name}};
    const int error = cv_client_check_name(session, name);
    return error ? error : cv_client_ask(session, &words, cv_boot_ms() + session->timeout_ms, answer);
}

int conclave_resign(struct conclave *session, const char *name)
{
    struct cv_resp_item item;
    struct cv_text answer;
    struct cv_client_interest *led = name ? cv_client_find(session, name, 0) : NULL;
    if (led && led->kind == CV_CLIENT_LED) {
        const uint64_t fence = led->fence, ttl_ms = led->ttl_ms;
        cv_client_forget(session, led);
        if (ttl_ms)
            return cv_client_end(session, "RESIGN", name, fence, true);
    }
    const int error = ask_about(session, "RESIGN", name, &answer);
    if (error)
        return error;
    if (!cv_resp_next(&answer, &item) || item.kind != CV_RESP_INTEGER)
        return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer is not a number");
    return item.number ? 0 : cv_client_fail(session, CONCLAVE_LOST, "it did not lead any more");
}

int conclave_who_leads(struct conclave *session, const char *name, struct conclave_leader *leader)
{
    struct cv_text answer;
    const int error = ask_about(session, "LEADER", name, &answer);
    return error ? error : cv_client_read_leader(session, answer, leader);
}

static int look_on(struct conclave *session, enum cv_client_kind kind, const char *name, struct conclave_leader *leader)
{
    struct cv_text answer;
    int error = ask_about(session, kind == CV_CLIENT_WATCHED ? "WATCH" : "OBSERVE", name, &answer);
    if (!error)
        error = cv_client_read_leader(session, answer, leader);
    if (error)
        return error;
    struct cv_client_interest *observed = cv_client_remember(session, kind, name, (struct cv_text){NULL, 0});
    if (!observed)
        return CONCLAVE_NO_MEMORY;
    observed->leader = *leader;
    observed->renew_ms = cv_boot_ms() + session->timeout_ms;
    return 0;
}

int conclave_observe(struct conclave *session, const char *name, struct conclave_leader *leader)
{
    return look_on(session, CV_CLIENT_OBSERVED, name, leader);
}

int conclave_watch(struct conclave *session, const char *name, struct conclave_leader *holder)
{
    return look_on(session, CV_CLIENT_WATCHED, name, holder);
}
