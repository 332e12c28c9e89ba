// SPDX-License-Identifier: MIT
#include "service/redis_call.h"

#include <stdio.h>
#include <stdlib.h>

#include "service/commands.h"
#include "service/hold_proof.h"
#include "service/words.h"

struct redis_call {
    struct cv_chore chore; /* first: the next step */
    struct session *session;
    enum redis_verb verb;
    uint32_t count; /* names */
    uint32_t at;    /* the name whose turn it is */
    uint32_t done;  /* names that were taken, ended, renewed or found */
    bool looked;    /* REDIS_LENGTHEN: `ms` is the whole time by now */
    uint64_t ms;
    uint64_t digest[2]; /* of the token */
    struct cv_text token;
    struct cv_text names[]; /* and after them all bytes */
};

static void step(struct session *session);

/* ---- beginning and end ---- */

static struct cv_text copy(char **room, struct cv_text text)
{
    char *start = *room;
    if (text.length)
        memcpy(start, text.start, text.length);
    *room += text.length;
    return (struct cv_text){start, text.length};
}

static void take_step(struct cv_chore *chore)
{
    step(((struct redis_call *)(void *)chore)->session);
}

void redis_call_run(struct session *session, const struct redis_order *order)
{
    size_t bytes = order->token.length;
    for (uint32_t i = 0; i < order->count; i++)
        bytes += order->names[i].length;
    struct redis_call *call = malloc(sizeof *call + order->count * sizeof *call->names + bytes);
    if (!call) {
        cv_resp_error(&session->out, OUT_OF_MEMORY);
        return;
    }
    char *room = (char *)&call->names[order->count];
    *call = (struct redis_call){.chore.run = take_step,
                                .session = session,
                                .verb = order->verb,
                                .count = order->count,
                                .ms = order->ms,
                                .token = copy(&room, order->token)};
    word_digest(call->token, call->digest);
    for (uint32_t i = 0; i < order->count; i++)
        call->names[i] = copy(&room, order->names[i]);
    session->redis = call;
    step(session);
}

/* All or none: what this call has taken so far is free again. If another member keeps it by now, its time ends it. */
static void give_back(const struct redis_call *call)
{
    for (uint32_t i = 0; i < call->at; i++) {
        const struct lock *lock = lock_find(call->session->service, CV_SUBJECT_LOCK, call->names[i]);
        struct lock_hold *hold = lock ? lock->holds : NULL;
        while (hold && !hold_authorizes(hold, NULL, call->digest))
            hold = hold->next;
        if (hold)
            lock_end(hold);
    }
}

void redis_call_end(struct session *session)
{
    struct redis_call *call = session->redis;
    if (!call)
        return;
    if (call->verb == REDIS_ACQUIRE && call->done < call->count)
        give_back(call);
    cv_loop_call_off(session->service->loop, &call->chore);
    session->redis = NULL;
    free(call);
    cv_stream_mark(&session->stream);
}

static void answer(struct session *session, int64_t number)
{
    const bool sets = session->redis->verb == REDIS_SET;
    if (sets && number)
        cv_resp_status(&session->out, "OK");
    else if (sets)
        cv_resp_nil(&session->out);
    else
        cv_resp_integer(&session->out, number);
    redis_call_end(session);
}

/* The next step comes from the loop: this one may be in the middle of granting something. */
static void go_on(struct session *session, bool yes)
{
    struct redis_call *call = session->redis;
    call->done += yes;
    if (++call->at == call->count)
        answer(session, call->done);
    else
        cv_loop_defer(session->service->loop, &call->chore);
}

/* ---- taking ---- */

/* The fence of what this connection holds under that name, here or at another member by now; 0: nothing. */
static uint64_t own_fence(const struct session *session, const struct lock *lock)
{
    for (const struct lock_hold *hold = lock ? lock->holds : NULL; hold; hold = hold->next)
        if (hold->session == session)
            return hold->fence;
    const struct hold_proof *proof = hold_proof_find(session, lock, 0);
    return proof ? proof->fence : 0;
}

/* Tries to take the lock, without waiting. False: an error was written. */
static bool take(struct session *session, struct cv_text name)
{
    const struct redis_call *call = session->redis;
    struct waiter *wait = &session->wait;
    struct lock *lock = lock_open(session->service, CV_SUBJECT_LOCK, name);
    if (!lock) {
        cv_resp_error(&session->out, "BUSY too many names");
        return false;
    }
    if (own_fence(session, lock)) { /* whoever holds it: the token says whose it is, not the connection */
        redis_call_missed(session);
        return true;
    }
    if (!command_may_wait(session, lock, true))
        return false;
    cv_drop_text(&wait->value);
    wait->value = cv_keep_text(call->token);
    if (!wait->value) {
        cv_resp_error(&session->out, OUT_OF_MEMORY);
        return false;
    }
    wait->ttl_ms = call->ms;
    wait->shared = wait->deadline = false;
    wait->permits = 0;
    wait->tries = true;
    wait->priority = 0;
    wait->digest[0] = call->digest[0];
    wait->digest[1] = call->digest[1];
    wait->claimed = 0;
    lock_wait(lock, wait);
    if (wait->lock)
        command_limit_wait(session, 0);
    return true;
}

/* Redis takes a name that is given twice, since it looks at all of them before it takes the first. */
static bool is_repeated(const struct redis_call *call)
{
    const struct cv_text name = call->names[call->at];
    for (uint32_t i = 0; i < call->at; i++)
        if (call->names[i].length == name.length && memcmp(call->names[i].start, name.start, name.length) == 0)
            return true;
    return false;
}

void redis_call_granted(struct session *session)
{
    go_on(session, true);
}

void redis_call_missed(struct session *session)
{
    answer(session, 0);
}

/* ---- looking, renewing, ending ---- */

static void write_token(struct session *session, const struct peer_request_result *result)
{
    char fence[32];
    snprintf(fence, sizeof fence, "fence:%llu", (unsigned long long)result->fence);
    if (result->value < 0)
        cv_resp_nil(&session->out);
    else
        cv_resp_bulk(&session->out, result->token.start ? result->token : cv_text(fence));
    redis_call_end(session);
}

static int64_t time_left(const struct redis_call *call, int64_t ms)
{
    if (ms < 0)
        return -2;
    if (ms == INT64_MAX)
        return -1;
    return call->verb == REDIS_TTL ? (ms + 500) / 1000 : ms;
}

/* Redis lets everybody delete every key. */
static void refuse_stranger(struct session *session)
{
    const struct redis_call *call = session->redis;
    cv_resp_error(&session->out,
                  "NOPERM another connection holds '%s': expected the script that compares its token, or UNLOCK",
                  cv_brief_text(call->names[call->at]).text);
    redis_call_end(session);
}

/* The hold's time is known: it becomes longer. A hold without end stays as it is, as redis-py's script has it. */
static void lengthen(struct session *session, int64_t left_ms)
{
    struct redis_call *call = session->redis;
    if (left_ms < 0 || left_ms == INT64_MAX) {
        answer(session, 0);
        return;
    }
    const uint64_t most_ms = session->service->limits->longest_ttl_ms;
    call->looked = true;
    call->ms += (uint64_t)left_ms;
    if (call->ms > most_ms) {
        cv_resp_error(&session->out,
                      "ERR time to live '%llu': expected a number of 1 to %llu, the longest time to live",
                      (unsigned long long)call->ms, (unsigned long long)most_ms);
        redis_call_end(session);
        return;
    }
    step(session);
}

static void stepped(struct session *session, const struct peer_request_result *result)
{
    struct redis_call *call = session->redis;
    if (!result) {
        redis_call_end(session); /* an error was written */
        return;
    }
    const bool yes = result->value >= 0;
    switch (call->verb) {
    case REDIS_GET:
        write_token(session, result);
        break;
    case REDIS_FENCE:
        if (yes)
            cv_resp_integer(&session->out, (int64_t)result->fence);
        else
            cv_resp_nil(&session->out);
        redis_call_end(session);
        break;
    case REDIS_PTTL:
    case REDIS_TTL:
        answer(session, time_left(call, result->value));
        break;
    case REDIS_LENGTHEN:
        if (call->looked)
            go_on(session, yes);
        else
            lengthen(session, result->value);
        break;
    case REDIS_EXTEND:
        if (yes)
            go_on(session, true);
        else
            answer(session, 0);
        break;
    case REDIS_DEL:
    case REDIS_PEXPIRE:
        if (yes && call->looked)
            refuse_stranger(session);
        else
            go_on(session, yes);
        break;
    default:
        go_on(session, yes);
        break;
    }
}

static struct peer_request_order order_of(struct session *session)
{
    struct redis_call *call = session->redis;
    struct peer_request_order order = {.kinds = HOLD_LOCK, .done = stepped};
    const bool by_connection = call->verb == REDIS_DEL || call->verb == REDIS_PEXPIRE;
    const bool by_token = !by_connection && call->verb != REDIS_GET && call->verb != REDIS_EXISTS &&
                          call->verb != REDIS_PTTL && call->verb != REDIS_TTL;
    if (by_connection) {
        order.fence = own_fence(session, lock_find(session->service, CV_SUBJECT_LOCK, call->names[call->at]));
        call->looked = !order.fence;
    }
    if (by_token) {
        order.digest[0] = call->digest[0];
        order.digest[1] = call->digest[1];
    }
    order.looks = (!by_connection && !by_token) || (by_connection && !order.fence) || call->verb == REDIS_FENCE ||
                  (call->verb == REDIS_LENGTHEN && !call->looked);
    order.renews =
        !order.looks && (call->verb == REDIS_EXTEND || call->verb == REDIS_LENGTHEN || call->verb == REDIS_PEXPIRE);
    order.lasts_ms = order.renews ? call->ms : 0;
    return order;
}

static void step(struct session *session)
{
    const struct redis_call *call = session->redis;
    const bool takes = call->verb == REDIS_SET || call->verb == REDIS_ACQUIRE;
    if (takes && is_repeated(call)) {
        go_on(session, true);
    } else if (takes) {
        if (!take(session, call->names[call->at]))
            redis_call_end(session);
    } else {
        const struct peer_request_order order = order_of(session);
        peer_request_run(session, call->names[call->at], &order);
    }
}
