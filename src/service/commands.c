// SPDX-License-Identifier: MIT
/* What clients may say: each command reads its words, and the table at the foot names them all. */
#include "service/commands.h"

#include <stdlib.h>

#include "service/access.h"
#include "service/barrier.h"
#include "service/connection_commands.h"
#include "service/exchange.h"
#include "service/force.h"
#include "service/hold_proof.h"
#include "service/info.h"
#include "service/latch.h"
#include "service/listing.h"
#include "service/lock_all.h"
#include "service/members.h"
#include "service/membership.h"
#include "service/observers.h"
#include "service/once.h"
#include "service/places.h"
#include "service/redis_commands.h"
#include "service/try_lock.h"
#include "service/words.h"

typedef const struct cv_resp_command *words;

static struct cv_brief brief(struct cv_text text)
{
    return cv_brief_text(text);
}

/* ---- LOCK, CAMPAIGN ---- */

struct lock_options {
    uint64_t wait_ms, ttl_ms;
    uint64_t digest[2]; /* of the secret */
    int64_t priority;
    struct cv_text value; /* starts at NULL: none */
    uint64_t permits;
    bool waits_for_ever, shared, deadline, reentrant;
};

static bool is_value(struct session *session, words command, uint32_t which, struct cv_text *value)
{
    if (which >= command->count)
        cv_resp_error(&session->out, "ERR VALUE: expected a value of at most %u bytes after it", CV_VALUE_BYTES);
    else if (command->word[which].length > CV_VALUE_BYTES)
        cv_resp_error(&session->out, "TOOBIG VALUE of %zu bytes, expected at most %u", command->word[which].length,
                      CV_VALUE_BYTES);
    else
        *value = command->word[which];
    return value->start;
}

/* A session has one value at a time: of what it waits for. False: no memory. */
static bool keep_value(struct session *session, struct cv_text value)
{
    cv_drop_text(&session->wait.value);
    if (value.start && !(session->wait.value = cv_keep_text(value)))
        cv_resp_error(&session->out, OUT_OF_MEMORY);
    return !value.start || session->wait.value;
}

/* One of them would not be what the client believes that it has. */
static bool refuse_both(struct session *session, uint64_t permits)
{
    cv_resp_error(&session->out, "ERR PERMITS '%llu': expected it without SHARED", (unsigned long long)permits);
    return false;
}

/* Options follow the name, in any order. */
static bool read_options(struct session *session, words command, bool leads, struct lock_options *options)
{
    *options = (struct lock_options){.waits_for_ever = true};
    for (uint32_t i = 2; i < command->count; i++) {
        const struct cv_text option = command->word[i];
        const struct cv_text value = i + 1 < command->count ? command->word[i + 1] : (struct cv_text){"", 0};
        bool good = true;
        if (cv_resp_is(option, "WAIT")) {
            good = word_is_number(session, "WAIT", value, &options->wait_ms);
            options->waits_for_ever = false;
            i++;
        } else if (cv_resp_is(option, "TTL")) {
            good = word_is_ttl(session, value, &options->ttl_ms);
            i++;
        } else if (cv_resp_is(option, "SECRET")) {
            good = word_is_secret(session, value, options->digest);
            i++;
        } else if (cv_resp_is(option, "DEADLINE")) {
            options->deadline = true;
        } else if (leads && cv_resp_is(option, "PRIORITY")) {
            good = word_is_priority(session, value, &options->priority);
            i++;
        } else if (leads && cv_resp_is(option, "VALUE")) {
            good = is_value(session, command, ++i, &options->value);
        } else if (!leads && cv_resp_is(option, "SHARED")) {
            options->shared = true;
        } else if (!leads && cv_resp_is(option, "REENTRANT")) {
            options->reentrant = true;
        } else if (!leads && cv_resp_is(option, "PERMITS")) {
            good = word_is_permits(session, value, &options->permits);
            i++;
        } else {
            cv_resp_error(&session->out, "ERR '%s': expected %s, WAIT ms, TTL ms, SECRET secret or DEADLINE",
                          brief(option).text,
                          leads ? "PRIORITY number, VALUE value" : "SHARED, PERMITS number, REENTRANT");
            return false;
        }
        if (!good)
            return false;
    }
    return !options->shared || !options->permits || refuse_both(session, options->permits);
}

/* What the session has only renewed for somebody else, it may wait for. */
static struct lock_hold *own_hold(const struct session *session, const struct lock *lock)
{
    const struct cv_roster *roster = session->service->host->roster;
    struct lock_hold *hold = lock->holds;
    while (hold &&
           (hold->session != session || hold->owner != session->number || hold->origin != roster->ids[roster->me]))
        hold = hold->next;
    return hold;
}

/* The same, if another member keeps it by now. */
static const struct hold_proof *own_proof(const struct session *session, const struct lock *lock)
{
    const struct hold_proof *proof = hold_proof_find(session, lock, 0);
    return proof && proof->own ? proof : NULL;
}

/*
 * A try waits until the other members have had time to answer, if there are others and this node does not know the
 * answer.
 */
void command_limit_wait(struct session *session, uint64_t wait_ms)
{
    struct cv_service *service = session->service;
    struct waiter *wait = &session->wait;
    const bool asks = cv_set_count(service->host->view.members) > 1 &&
                      (wait->lock->sharing.asked || !try_lock_is_hopeless(wait->lock, wait->shared));
    const uint64_t patience_us = wait->tries ? service->member->try_us : wait_ms * 1000;
    if (wait->tries && !asks) {
        session_timed_out(wait);
        return;
    }
    cv_alarm_set(service->alarms, &wait->alarm, service->host->calls.now() + patience_us);
    if (wait->tries)
        try_lock_ask(wait);
}

bool command_may_wait(struct session *session, const struct lock *lock, bool tries)
{
    const struct cv_service *service = session->service;
    if (session->holding >= service->limits->held_each) {
        cv_resp_error(&session->out, "BUSY this connection holds %llu locks and leaderships, expected no more",
                      (unsigned long long)session->holding);
        return false;
    }
    if (own_hold(session, lock) || own_proof(session, lock)) {
        cv_resp_error(&session->out, "HELD this connection holds it already");
        return false;
    }
    if (cv_member_is_hopeless(service->member, tries)) {
        cv_resp_error(&session->out, NO_QUORUM);
        return false;
    }
    if (cv_host_ready(service->host) && !cv_view_has_fences(&service->host->view)) {
        cv_resp_error(&session->out, NO_FENCES);
        return false;
    }
    if (tries && !cv_host_ready(service->host)) {
        cv_resp_error(&session->out, "LOADING the node is not in a view yet");
        return false;
    }
    return true;
}

/*
 * The session has it already, here or at another member, and takes it once more: it gives it back as often. Its keeper
 * answers, as it answers RENEW. False if the session does not have it.
 */
static bool take_again(struct session *session, const struct lock *lock, struct cv_text name,
                       const struct lock_options *options)
{
    const struct lock_hold *hold = own_hold(session, lock);
    const struct hold_proof *proof = hold ? NULL : own_proof(session, lock);
    if (!hold && !proof)
        return false;
    const uint64_t permits = hold ? hold->permits : proof->permits;
    if ((hold ? hold->shared : proof->shared) != (options->shared || options->permits) || permits != options->permits) {
        cv_resp_error(&session->out, "HELD this connection holds it already, and in another way");
        return true;
    }
    const struct peer_request_order order = {.fence = hold ? hold->fence : proof->fence,
                                             .kinds = HOLD_LOCK,
                                             .renews = true,
                                             .takes_again = true,
                                             .deadline = options->deadline,
                                             .patience_us = options->waits_for_ever ? 0
                                                            : options->wait_ms      ? options->wait_ms * 1000
                                                                                    : session->service->member->try_us};
    peer_request_run(session, name, &order);
    return true;
}

static void queue_up(struct session *session, words command, enum cv_subject subject)
{
    struct cv_service *service = session->service;
    struct waiter *wait = &session->wait;
    struct lock_options options;
    if (!word_is_name(session, command->word[1]) ||
        !read_options(session, command, subject == CV_SUBJECT_LEADER, &options))
        return;
    struct lock *lock = lock_open(service, subject, command->word[1]);
    if (!lock) {
        cv_resp_error(&session->out, "BUSY too many names");
        return;
    }
    const bool tries = !options.waits_for_ever && !options.wait_ms;
    if (options.reentrant && take_again(session, lock, command->word[1], &options))
        return;
    if (!command_may_wait(session, lock, tries))
        return;
    if (!keep_value(session, options.value))
        return;
    wait->ttl_ms = options.ttl_ms;
    wait->shared = options.shared || options.permits;
    wait->permits = options.permits;
    wait->tries = tries;
    wait->priority = options.priority;
    wait->digest[0] = options.digest[0];
    wait->digest[1] = options.digest[1];
    wait->deadline = options.deadline;
    wait->claimed = 0;
    lock_wait(lock, wait);
    if (wait->lock && !options.waits_for_ever)
        command_limit_wait(session, options.wait_ms);
}

static void run_lock(struct session *session, words command)
{
    queue_up(session, command, CV_SUBJECT_LOCK);
}

static void run_campaign(struct session *session, words command)
{
    queue_up(session, command, CV_SUBJECT_LEADER);
}

/* ---- UNLOCK, RENEW, RESIGN ---- */

struct lock_hold *command_find(const struct cv_service *service, struct cv_text name, uint64_t fence, uint64_t kinds)
{
    const struct lock *lock = kinds & HOLD_LOCK ? lock_find(service, CV_SUBJECT_LOCK, name) : NULL;
    const struct lock *lead = kinds & HOLD_LEADER ? lock_find(service, CV_SUBJECT_LEADER, name) : NULL;
    struct lock_hold *hold = lock ? lock_find_hold(lock, fence) : NULL;
    return hold || !lead ? hold : lock_find_hold(lead, fence);
}

int64_t command_end(struct lock_hold *hold)
{
    if (!hold)
        return -1;
    if (hold->again)
        hold->again--;
    else
        lock_end(hold);
    return 1;
}

/*
 * A hold with a time to live surely lasts that long, from now on. Another one lasts as long as this node's lease.
 * Without a lease it has no end: INT64_MAX milliseconds.
 */
int64_t command_renew(struct lock_hold *hold)
{
    if (!hold || hold->forced || hold->ending)
        return -1;
    const struct cv_service *service = hold->lock->service;
    if (hold->ttl_ms) {
        lock_extend(hold);
        cv_member_record_grant(service->member, hold->lock->instance, hold->fence, hold->owner, hold->shared,
                               CV_GRANT_RENEWED, hold->ttl_ms, 0);
        return (int64_t)hold->ttl_ms;
    }
    if (!cv_member_agrees(service->member))
        return INT64_MAX;
    hold->promised_us = service->host->calls.now() + cv_member_lease_left_us(service->member);
    return cv_member_lease_left_ms(service->member);
}

/* The alarm is late by what clocks may differ, so the time to live itself is the most that it lasts. */
int64_t command_left_ms(const struct lock_hold *hold)
{
    const uint64_t now = hold->lock->service->host->calls.now();
    if (!hold->ttl_ms)
        return INT64_MAX;
    const uint64_t left_ms = hold->alarm.due > now ? (hold->alarm.due - now + 999) / 1000 : 0;
    return (int64_t)(left_ms < hold->ttl_ms ? left_ms : hold->ttl_ms);
}

/*
 * The session that was granted a hold may end or renew it by its fence alone. Another one has to show the secret, to
 * any member.
 */
static bool read_order(struct session *session, words command, struct peer_request_order *order)
{
    cv_drop_text(&session->wait.value);
    if (!word_is_name(session, command->word[1]) || !word_is_fence(session, command->word[2], &order->fence))
        return false;
    for (uint32_t i = 3; i < command->count; i++) {
        const struct cv_text option = command->word[i];
        const struct cv_text value = i + 1 < command->count ? command->word[i + 1] : (struct cv_text){"", 0};
        bool good = true;
        if (cv_resp_is(option, "SECRET")) {
            good = word_is_secret(session, value, order->digest);
            i++;
        } else if (order->renews && cv_resp_is(option, "TTL")) {
            good = word_is_ttl(session, value, &order->ttl_ms);
            i++;
        } else if (order->renews && cv_resp_is(option, "SHARED")) {
            order->shared = true;
        } else if (order->renews && cv_resp_is(option, "PERMITS")) {
            good = word_is_permits(session, value, &order->permits);
            i++;
        } else if (order->renews && cv_resp_is(option, "LEADER")) {
            order->kinds &= HOLD_LEADER;
        } else if (order->renews && cv_resp_is(option, "VALUE")) {
            struct cv_text kept = {NULL, 0};
            good = is_value(session, command, ++i, &kept) && keep_value(session, kept);
        } else {
            cv_resp_error(&session->out, "ERR '%s': expected SECRET secret%s", brief(option).text,
                          order->renews ? ", TTL ms, SHARED, PERMITS number, LEADER or VALUE value" : "");
            return false;
        }
        if (!good)
            return false;
    }
    return !order->shared || !order->permits || refuse_both(session, order->permits);
}

/* What the session may hold of that name: enum hold_kinds. If nothing, it is told so. */
static uint64_t kinds_allowed(struct session *session, struct cv_text name)
{
    const uint64_t lock = cv_acl_allows(session->acl, CV_MAY_LOCK, name) ? HOLD_LOCK : 0;
    const uint64_t leader = cv_acl_allows(session->acl, CV_MAY_ELECT, name) ? HOLD_LEADER : 0;
    if (!(lock | leader))
        access_allowed(session, CV_MAY_LOCK, name); /* the session is told */
    return lock | leader;
}

static void run_unlock(struct session *session, words command)
{
    struct peer_request_order order = {.kinds = HOLD_LOCK};
    if (read_order(session, command, &order))
        peer_request_run_by_fence(session, command->word[1], &order);
}

static void run_renew(struct session *session, words command)
{
    struct peer_request_order order = {.renews = true, .kinds = kinds_allowed(session, command->word[1])};
    if (order.kinds && read_order(session, command, &order))
        peer_request_run_by_fence(session, command->word[1], &order);
}

static void run_resign(struct session *session, words command)
{
    struct peer_request_order order = {.kinds = HOLD_LEADER};
    if (command->count > 2) {
        if (read_order(session, command, &order))
            peer_request_run_by_fence(session, command->word[1], &order);
        return;
    }
    if (!word_is_name(session, command->word[1]))
        return;
    const struct lock *lock = lock_find(session->service, CV_SUBJECT_LEADER, command->word[1]);
    const struct lock_hold *hold = lock ? lock->holds : NULL;
    if (!hold || hold->session != session) {
        cv_resp_integer(&session->out, 0);
        return;
    }
    order.fence = hold->fence;
    peer_request_run(session, command->word[1], &order);
}

/* ---- LEADER, OBSERVE, UNOBSERVE ---- */

static void run_leader(struct session *session, words command)
{
    if (word_is_name(session, command->word[1]))
        info_write_leader(session, lock_find(session->service, CV_SUBJECT_LEADER, command->word[1]));
}

static void run_observe(struct session *session, words command)
{
    if (word_is_name(session, command->word[1]))
        observers_add(session, CV_SUBJECT_LEADER, command->word[1]);
}

static void run_unobserve(struct session *session, words command)
{
    observers_end(session, CV_SUBJECT_LEADER, command);
}

/* What other members know comes as a push. */
static void run_watch(struct session *session, words command)
{
    if (word_is_name(session, command->word[1]))
        observers_add(session, CV_SUBJECT_LOCK, command->word[1]);
}

static void run_unwatch(struct session *session, words command)
{
    observers_end(session, CV_SUBJECT_LOCK, command);
}

/* ---- WAITERS, ASKBACK ---- */

static void run_waiters(struct session *session, words command)
{
    if (word_is_name(session, command->word[1]))
        listing_waiters(session, command->word[1]);
}

static void run_ask_back(struct session *session, words command)
{
    const uint64_t kinds = kinds_allowed(session, command->word[1]);
    if (kinds && word_is_name(session, command->word[1]))
        listing_ask_back(session, command->word[1], kinds);
}

/* ---- FORCE ---- */

/* FORCE name fence reason */
static void run_force(struct session *session, words command)
{
    struct peer_request_order order = {.kinds = HOLD_LOCK | HOLD_LEADER};
    const struct cv_text reason = command->word[3];
    if (!word_is_name(session, command->word[1]) || !word_is_fence(session, command->word[2], &order.fence))
        return;
    if (!reason.length || reason.length > FORCE_REASON_BYTES) {
        cv_resp_error(&session->out, "ERR reason of %zu bytes: expected 1 to %u that say why", reason.length,
                      FORCE_REASON_BYTES);
        return;
    }
    order.reason = cv_keep_text(reason);
    if (order.reason)
        peer_request_run_by_fence(session, command->word[1], &order);
    else
        cv_resp_error(&session->out, OUT_OF_MEMORY);
    cv_drop_text(&order.reason);
}

/* ---- STEPDOWN ---- */

/* [id]: asks for another coordinator. VIEW shows whether there is one. */
static void run_step_down(struct session *session, words command)
{
    struct cv_member *member = session->service->member;
    const struct cv_roster *roster = &member->roster;
    cv_node to = CV_NOBODY;
    if (!cv_member_agrees(member)) {
        cv_resp_error(&session->out, "ERR STEPDOWN: expected group raft; in this group the election decides");
        return;
    }
    if (command->count > 1) {
        uint64_t id = UINT64_MAX;
        cv_parse_number(command->word[1], UINT32_MAX, &id);
        for (to = 0; to < roster->count && roster->ids[to] != id; to++)
            continue;
        if (to == roster->count) {
            cv_resp_error(&session->out, "ERR STEPDOWN '%s': expected the id of a member",
                          brief(command->word[1]).text);
            return;
        }
    }
    if (cv_member_step_down(member, to))
        cv_resp_status(&session->out, "OK");
    else
        cv_resp_error(&session->out, "NOQUORUM no other member can take over now");
}

/* ---- the table ---- */

enum { NO_LIMIT = CV_RESP_WORDS };

static const struct {
    const char *name;
    uint32_t least, most; /* words, its own included */
    void (*run)(struct session *session, words command);
    bool while_observing; /* a RESP2 connection that observes can send nothing else */
    enum cv_right needs;  /* the right to the name that is its first argument */
    bool by_hand;         /* may be a line of words: it changes nothing, so a browser may be made to send it */
} commands[] = {
    {"LOCK", 2, 12, run_lock, false, CV_MAY_LOCK, false},
    {"UNLOCK", 3, 5, run_unlock, false, CV_MAY_LOCK, false},
    {"RENEW", 3, 13, run_renew, false, CV_MAY_TALK, false},
    {"UPGRADE", 3, 5, exchange_run_upgrade, false, CV_MAY_LOCK, false},
    {"DOWNGRADE", 3, 3, exchange_run_downgrade, false, CV_MAY_LOCK, false},
    {"LOCKALL", 2, NO_LIMIT, lock_all_run, false, CV_MAY_TALK, false},
    {"SEQUENCE", 2, 3, lock_all_run_sequence, false, CV_MAY_LOCK, false},
    {"LATCH", 2, 5, latch_run, false, CV_MAY_OBSERVE, false},
    {"ONCE", 2, 4, once_run, false, CV_MAY_OBSERVE, false},
    {"BARRIER", 3, 6, barrier_run, false, CV_MAY_LOCK, false},
    {"MEMBERS", 2, 5, members_run, true, CV_MAY_OBSERVE, false},
    {"CAMPAIGN", 2, 13, run_campaign, false, CV_MAY_ELECT, false},
    {"RESIGN", 2, 5, run_resign, false, CV_MAY_ELECT, false},
    {"LEADER", 2, 2, run_leader, false, CV_MAY_OBSERVE, true},
    {"OBSERVE", 2, 2, run_observe, true, CV_MAY_OBSERVE, false},
    {"UNOBSERVE", 1, 2, run_unobserve, true, CV_MAY_TALK, false},
    {"WATCH", 2, 2, run_watch, true, CV_MAY_OBSERVE, false},
    {"UNWATCH", 1, 2, run_unwatch, true, CV_MAY_TALK, false},
    {"LOCKS", 1, 3, listing_locks, false, CV_MAY_TALK, true},
    {"WAITERS", 2, 2, run_waiters, false, CV_MAY_OBSERVE, true},
    {"FORCE", 4, 4, run_force, false, CV_MAY_ADMIN, false},
    {"ASKBACK", 2, 2, run_ask_back, false, CV_MAY_TALK, false},
    {"VIEW", 1, 1, info_run_view, false, CV_MAY_ADMIN, true},
    {"INFO", 1, 2, info_run_info, false, CV_MAY_ADMIN, true},
    {"SET", 3, NO_LIMIT, redis_set, false, CV_MAY_LOCK, false},
    {"GET", 2, 2, redis_get, false, CV_MAY_LOCK, false},
    {"DEL", 2, NO_LIMIT, redis_del, false, CV_MAY_TALK, false},
    {"UNLINK", 2, NO_LIMIT, redis_del, false, CV_MAY_TALK, false},
    {"EXISTS", 2, NO_LIMIT, redis_exists, false, CV_MAY_TALK, false},
    {"PEXPIRE", 3, 3, redis_pexpire, false, CV_MAY_LOCK, false},
    {"EXPIRE", 3, 3, redis_expire, false, CV_MAY_LOCK, false},
    {"PTTL", 2, 2, redis_pttl, false, CV_MAY_OBSERVE, false},
    {"TTL", 2, 2, redis_ttl, false, CV_MAY_OBSERVE, false},
    {"FENCE", 3, 3, redis_fence, false, CV_MAY_LOCK, false},
    {"EVAL", 3, NO_LIMIT, redis_eval, false, CV_MAY_TALK, false},
    {"EVALSHA", 3, NO_LIMIT, redis_evalsha, false, CV_MAY_TALK, false},
    {"SCRIPT", 2, NO_LIMIT, redis_script, false, CV_MAY_TALK, false},
    {"SELECT", 2, 2, redis_select, false, CV_MAY_TALK, true},
    {"STEPDOWN", 1, 2, run_step_down, false, CV_MAY_ADMIN, false},
    {"TERMS", 1, 3, membership_terms, false, CV_MAY_ADMIN, false},
    {"REPLACE", 2, 2, membership_replace, false, CV_MAY_ADMIN, false},
    {"JOIN", 3, 8, membership_join, false, CV_MAY_ADMIN, false},
    {"LEAVE", 1, 2, membership_leave, false, CV_MAY_ADMIN, false},
    {"PING", 1, 2, connection_ping, true, CV_MAY_TALK, true},
    {"HELLO", 1, 7, connection_hello, false, CV_MAY_TALK, true},
    {"AUTH", 2, 3, access_auth, false, CV_MAY_TALK, false},
    {"ACL", 2, 2, access_acl, false, CV_MAY_TALK, true},
    {"QUIT", 1, 1, connection_quit, true, CV_MAY_TALK, true},
    {"COMMAND", 1, NO_LIMIT, connection_command, false, CV_MAY_TALK, true},
    {"CLIENT", 1, NO_LIMIT, connection_client, false, CV_MAY_TALK, true},
};

void commands_run(struct session *session, words command)
{
    struct cv_resp_writer *out = &session->out;
    session->service->commands++;
    cv_member_look(session->service->member);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!cv_resp_is(command->word[0], commands[i].name))
            continue;
        if (command->count < commands[i].least || command->count > commands[i].most)
            cv_resp_error(out, "ERR wrong number of arguments for '%s'", commands[i].name);
        else if (command->by_hand && !commands[i].by_hand)
            cv_resp_error(out, "ERR '%s' typed by hand: expected a RESP array, as redis-cli and libraries send it",
                          commands[i].name);
        else if (session->observing && out->protocol < 3 && !commands[i].while_observing)
            cv_resp_error(
                out,
                "ERR '%s': expected OBSERVE, UNOBSERVE, WATCH, UNWATCH, MEMBERS, PING or QUIT while observing in RESP2",
                commands[i].name);
        else if (!places_allow(session, commands[i].by_hand || commands[i].needs == CV_MAY_ADMIN ||
                                            commands[i].run == access_auth))
            return;
        else if (!session->acl || access_allowed(session, commands[i].needs, command->word[command->count > 1]))
            commands[i].run(session, command);
        return;
    }
    cv_resp_error(out, "ERR unknown command '%s': this is Conclave, which has of Redis what lock libraries use",
                  brief(command->word[0]).text);
}
