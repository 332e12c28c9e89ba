// SPDX-License-Identifier: MIT
#include "live/views.h"

#include <time.h>

#include "live/consensus.h"
#include "live/dispatch.h"
#include "live/founding.h"
#include "live/host/host_names.h"
#include "live/host/host_views.h"
#include "live/member.h"
#include "live/member_group.h"
#include "live/process/event_log.h"
#include "live/roster.h"
#include "live/view_promises.h"

#define FREED_EACH_TURN 256u
#define RENEW_US 200000u /* until this node asks for another view, after one that could not begin */

static void send_numbers(struct cv_member *member, cv_node to, enum cv_view_message kind, uint64_t epoch,
                         const struct cv_instance *instance, const uint64_t *body, uint32_t count)
{
    struct cv_frame frame = {.type = CV_FRAME_VIEW, .kind = kind, .round = epoch, .words = 2 * count, .body = body};
    if (instance) {
        frame.subject = instance->subject;
        frame.fingerprint = instance->policy->fingerprint;
        frame.name = cv_instance_name(instance);
    }
    peers_send(&member->peers, to, &frame);
}

static void send_view_message(struct cv_member *member, cv_node to, enum cv_view_message kind, uint64_t epoch,
                              const struct cv_instance *instance, const uint64_t body[3])
{
    send_numbers(member, to, kind, epoch, instance, body, 3);
}

static void put_forward(void *context, cv_node to, enum cv_view_message kind, const struct cv_view *view)
{
    const uint64_t body[3] = {view->members, view->base, view->coordinator};
    send_view_message(context, to, kind, view->epoch, NULL, body);
}

static void send_number(void *context, cv_node to, enum cv_view_message kind, uint64_t epoch, uint64_t number)
{
    const uint64_t body[3] = {number};
    send_view_message(context, to, kind, epoch, NULL, body);
}

void views_ask(struct cv_member *member, cv_node leader, enum cv_view_message kind, uint64_t number)
{
    send_number(member, leader, kind, member->host.view.epoch, number);
}

/* Has this node just started, or lost its holds before it could report them? */
static bool is_anew(const struct cv_member *member)
{
    return !member->host.view.epoch || (member->consensus && member->consensus->lapses != member->lapses);
}

/*
 * HOLDING and HELD tell readers, the holder of a name, a client that is alone by a loan (UPGRADE), or, from PROMISED
 * on, the keeper of a promise.
 */
enum { BORROWED, INSIDE, ALONE, PROMISED = 1000 };

/*
 * A member says that it, or its readers, are inside. The readers of one generation are inside together, and the node
 * that lent to them is the holder if it is a member. If one of the readers has become a writer, its node is the holder,
 * and not the node that lent to it. Otherwise, if two nodes say that they are inside, the one with the later view is.
 */
static void find_holder(struct cv_instance *instance, cv_node from, uint64_t how, uint64_t fence, uint64_t sharing)
{
    if (instance->holder != CV_NOBODY && sharing && sharing == instance->generation) {
        instance->sharers |= cv_set_of(from);
        if (how == INSIDE)
            instance->holder = from;
    } else if (instance->holder == CV_NOBODY || instance->fence < fence || (how == ALONE && instance->fence == fence)) {
        instance->holder = from;
        instance->fence = fence;
        instance->generation = sharing;
        instance->sharers = sharing ? cv_set_of(from) : 0;
    }
}

/* The node that prepares the view knows its own holds. It tells all others every hold. */
static void end_view(void *context, bool prepares)
{
    struct cv_member *member = context;
    const cv_node me = member->roster.me;
    if (!member->host.frozen)
        member->ended_us = cv_member_held_until(member);
    cv_host_freeze(&member->host);
    member->anew = prepares && is_anew(member) ? cv_set_of(me) : 0;
    view_promises_begin(member, prepares);
    for (size_t i = 0; i < member->host.count; i++) {
        struct cv_instance *instance = member->host.all[i];
        const bool holds = prepares && instance->flags & (CV_INSIDE | CV_BORROWS);
        instance->holder = holds ? me : CV_NOBODY;
        instance->generation = holds ? instance->sharing : 0;
        instance->sharers = instance->generation ? cv_set_of(me) : 0;
        cv_promise_drop_all(&instance->told);
        for (const struct cv_promise *it = prepares ? instance->promises : NULL; it; it = it->next)
            if (!it->draft)
                view_promises_add(member, instance, me, it);
    }
}

static void freeze(void *context)
{
    const struct cv_member *member = context;
    end_view(context, member->static_views.promised_to == member->roster.me);
}

/*
 * A promise in HOLDING and HELD: ten numbers, then a number that has the lengths of the client's name and of the
 * value, each one higher, so that 0 means that there is none, and the flag of a promise that was forced; then the bytes
 * of the name and the value.
 */
enum { PROMISE_NUMBERS = 11, LENGTH_BITS = 16, FORCED_BIT = 32 };

#define TEXT_BYTES (CV_CLIENT_NAME_BYTES + CV_VALUE_BYTES)

static uint64_t length_of(const struct cv_kept_text *text)
{
    return text ? (uint64_t)text->length + 1 : 0;
}

/* Sends HOLDING or HELD for a promise. */
static void send_promise(struct cv_member *member, cv_node to, enum cv_view_message kind, uint64_t epoch,
                         const struct cv_instance *instance, const struct cv_promise *promise)
{
    const struct cv_text client = cv_kept(promise->client), value = cv_kept(promise->value);
    uint64_t body[PROMISE_NUMBERS + TEXT_BYTES / 8 + 1] = {
        PROMISED + (uint64_t)promise->keeper,
        promise->entry,
        promise->generation,
        promise->fence,
        promise->ttl_ms,
        promise->digest[0],
        promise->digest[1],
        promise->origin,
        promise->owner,
        promise->permits,
        length_of(promise->client) | length_of(promise->value) << LENGTH_BITS | (uint64_t)promise->forced << FORCED_BIT,
    };
    char *texts = (char *)&body[PROMISE_NUMBERS];
    if (client.length)
        memcpy(texts, client.start, client.length);
    if (value.length)
        memcpy(texts + client.length, value.start, value.length);
    send_numbers(member, to, kind, epoch, instance, body,
                 PROMISE_NUMBERS + (uint32_t)(client.length + value.length + 7) / 8);
}

/* Reads the texts of a promise, which become its own. Texts that are too long, or not all there, are left out. */
static void read_texts(const struct cv_frame *frame, struct cv_promise *promise)
{
    const uint64_t lengths = cv_frame_number(frame, PROMISE_NUMBERS - 1);
    const uint64_t client = lengths & UINT16_MAX, value = lengths >> LENGTH_BITS & UINT16_MAX;
    const size_t client_bytes = client ? client - 1 : 0, value_bytes = value ? value - 1 : 0;
    const char *texts = (const char *)frame->body + (size_t)PROMISE_NUMBERS * 8;
    if (client_bytes > CV_CLIENT_NAME_BYTES || value_bytes > CV_VALUE_BYTES ||
        (size_t)frame->words * 4 < (size_t)PROMISE_NUMBERS * 8 + client_bytes + value_bytes)
        return;
    if (client && cv_is_client_name((struct cv_text){texts, client_bytes}))
        promise->client = cv_keep_text((struct cv_text){texts, client_bytes});
    if (value)
        promise->value = cv_keep_text((struct cv_text){texts + client_bytes, value_bytes});
}

static void drop_texts(struct cv_promise *promise)
{
    cv_drop_text(&promise->client);
    cv_drop_text(&promise->value);
}

/* A time that a member tells: none that it can mean is longer. */
static uint64_t read_ms(const struct cv_frame *frame, uint32_t which)
{
    const uint64_t ms = cv_frame_number(frame, which);
    return ms < CV_LONGEST_TTL_MS ? ms : CV_LONGEST_TTL_MS;
}

static struct cv_promise read_promise(const struct cv_frame *frame)
{
    return (struct cv_promise){.keeper = (cv_node)(cv_frame_number(frame, 0) - PROMISED),
                               .entry = cv_frame_number(frame, 1),
                               .generation = cv_frame_number(frame, 2),
                               .fence = cv_frame_number(frame, 3),
                               .ttl_ms = read_ms(frame, 4),
                               .digest = {cv_frame_number(frame, 5), cv_frame_number(frame, 6)},
                               .origin = (cv_id)cv_frame_number(frame, 7),
                               .owner = cv_frame_number(frame, 8),
                               .permits = cv_frame_number(frame, 9),
                               .forced = cv_frame_number(frame, PROMISE_NUMBERS - 1) >> FORCED_BIT & 1};
}

static void report(void *context, cv_node to, uint64_t epoch)
{
    struct cv_member *member = context;
    const uint64_t memory[] = {is_anew(member), member->host.view.epoch, ttl_ceiling_found_ms(&member->ceiling),
                               view_promises_grace_ms(member)};
    send_numbers(member, to, CV_VIEW_HOLDING, epoch, NULL, memory, sizeof memory / sizeof *memory);
    for (size_t i = 0; i < member->host.count; i++) {
        const struct cv_instance *instance = member->host.all[i];
        const uint64_t how = instance->flags & CV_INSIDE ? INSIDE : instance->sharing ? BORROWED : ALONE;
        const uint64_t body[3] = {how, instance->fence, instance->sharing};
        if (instance_is_section(instance) && instance->flags & (CV_INSIDE | CV_BORROWS))
            send_view_message(member, to, CV_VIEW_HOLDING, epoch, instance, body);
        for (const struct cv_promise *it = instance->promises; it; it = it->next)
            if (!it->draft)
                send_promise(member, to, CV_VIEW_HOLDING, epoch, instance, it);
    }
}

static void tell(void *context, cv_node to, uint64_t epoch)
{
    struct cv_member *member = context;
    view_promises_settle(member);
    const uint64_t memory[3] = {member->anew, member->reported.grace_ms};
    send_view_message(member, to, CV_VIEW_HELD, epoch, NULL, memory);
    for (size_t i = 0; i < member->host.count; i++) {
        const struct cv_instance *instance = member->host.all[i];
        const uint64_t body[3] = {instance->holder, instance->fence, instance->sharers};
        if (instance->holder != CV_NOBODY)
            send_view_message(member, to, CV_VIEW_HELD, epoch, instance, body);
        for (const struct cv_promise *it = instance->told; it; it = it->next)
            send_promise(member, to, CV_VIEW_HELD, epoch, instance, it);
    }
}

/* A keeper that leaves the group has a place that the roster of the next view may not have. */
static void on_holding(struct cv_member *member, struct cv_instance *instance, cv_node from,
                       const struct cv_frame *frame)
{
    const uint64_t how = cv_frame_number(frame, 0);
    struct cv_promise promise = read_promise(frame);
    if (how <= ALONE) {
        find_holder(instance, from, how, cv_frame_number(frame, 1), cv_frame_number(frame, 2));
    } else if (how >= PROMISED && how - PROMISED < CV_MAX_MEMBERS) {
        read_texts(frame, &promise);
        view_promises_add(member, instance, from, &promise);
        drop_texts(&promise);
    }
}

/* Takes in a hold as the node that prepared the view has decided it. */
static void on_held(const struct cv_member *member, struct cv_instance *instance, const struct cv_frame *frame)
{
    const uint64_t holder = cv_frame_number(frame, 0);
    struct cv_promise promise = read_promise(frame);
    if (holder >= PROMISED && holder - PROMISED < member->roster.count) {
        read_texts(frame, &promise);
        cv_promise_put(&instance->told, &promise);
        drop_texts(&promise);
    }
    if (holder >= member->roster.count)
        return;
    instance->holder = (cv_node)holder;
    instance->fence = cv_frame_number(frame, 1);
    instance->sharers = cv_frame_number(frame, 2) & cv_set_first(member->roster.count);
}

static void on_memory(struct cv_member *member, const struct cv_frame *frame, cv_node from)
{
    if (frame->kind == CV_VIEW_HELD) {
        member->anew = cv_frame_number(frame, 0);
        member->reported.grace_ms = read_ms(frame, 1);
        return;
    }
    if (cv_frame_number(frame, 0))
        member->anew |= cv_set_of(from);
    view_promises_hear(member, from, cv_frame_number(frame, 1), read_ms(frame, 2), read_ms(frame, 3));
}

static void on_holder(struct cv_member *member, const struct cv_frame *frame, cv_node from)
{
    if (!frame->name.length)
        on_memory(member, frame, from);
    if (!frame->name.length || (frame->subject != CV_SUBJECT_LOCK && frame->subject != CV_SUBJECT_LEADER))
        return;
    struct cv_instance *instance = cv_host_open(&member->host, frame->subject, frame->name);
    if (instance && frame->kind == CV_VIEW_HOLDING)
        on_holding(member, instance, from, frame);
    else if (instance)
        on_held(member, instance, frame);
}

static void install(void *context, const struct cv_view *agreed)
{
    struct cv_member *member = context;
    struct cv_algorithm_host *host = &member->host;
    struct cv_view begun = *agreed;
    const struct cv_view *view = &begun;
    begun.alone = member->roster.count == 1;
    const cv_set missing = host->view.members & (~view->members | member->anew);
    const bool lost = missing || is_anew(member);
    view_promises_settle(member);
    view_promises_end(member, view);
    /* The node that prepared the view has heard from all members. This one may not have heard yet. */
    const cv_set expected = peers_expect(&member->peers, view->members);
    cv_host_suspect(host, member->peers.suspected);
    if (cv_host_begin(host, view, member->user.keep)) {
        cv_loop_set(&member->loop, &member->renew, RENEW_US); /* no memory: this node waits for the next view */
        return;
    }
    cv_loop_defer(&member->loop, &member->free_ended);
    member->peers.epoch = view->epoch;
    if (member->consensus)
        consensus_began(member->consensus);
    member->began_us = cv_loop_now();
    member->lost_us = lost ? member->began_us : member->lost_us;
    member->lapses = member->consensus ? member->consensus->lapses : 0;
    if (member->recorder.view)
        member->recorder.view(member->recorder.context, view);
    char ids[CV_LOG_IDS_BYTES];
    cv_log(CV_LOG_VIEW_BEGUN, {"epoch", .number = view->epoch},
           {"members", .text = cv_log_ids(&member->roster, view->members, ids)},
           {"coordinator", .number = member->roster.ids[view->coordinator]});
    const uint64_t grace_ms = view_promises_grace_ms(member);
    if (grace_ms)
        cv_log(CV_LOG_GRACE, {"left_ms", .number = grace_ms},
               {"message", .text = "too many members have forgotten what they promised; in that time only clients "
                                   "that held a lock get it, and new grants wait"});
    if (!cv_view_has_fences(view))
        cv_log_say(CV_LOG_FENCES, "all fences below 2^53 are used up: nobody is let in any more; "
                                  "see \"When fences run out\" in the manual of operations");
    for (size_t i = 0; i < host->count; i++)
        if (host->all[i]->flags & CV_HEIR)
            cv_host_record(host, host->all[i], CV_EVENT_ENTER, NULL);
    for (size_t i = 0; i < host->count; i++)
        if (instance_is_section(host->all[i]))
            member->user.resume(host->all[i]);
    for (size_t i = 0; i < host->count; i++)
        if (instance_is_section(host->all[i]))
            cv_host_start(host, host->all[i]);
    dispatch_catch_up(member);
    if (member->user.began)
        member->user.began(member->user.context);
    member_trust(member, expected);
    peers_beat(&member->peers);
}

void views_try_again(struct cv_alarm *alarm)
{
    struct cv_member *member = cv_alarm_owner(alarm, struct cv_member, renew);
    if (!cv_host_ready(&member->host))
        cv_views_renew(member);
}

/* A view may have ended very many names. To free all at once would block the loop for too long. */
void views_free_ended(struct cv_chore *chore)
{
    struct cv_member *member = (void *)((char *)chore - offsetof(struct cv_member, free_ended));
    if (cv_host_free_ended(&member->host, FREED_EACH_TURN))
        cv_loop_defer(&member->loop, chore);
}

void views_aged(void *context)
{
    struct cv_member *member = context;
    if (cv_host_ready(&member->host))
        cv_views_renew(member);
}

/* Asks the leader for a new view, which drops idle names. */
void views_crowded(void *context)
{
    struct cv_member *member = context;
    if (!cv_host_ready(&member->host))
        return;
    if (member->user.in_use && 2 * member->user.in_use(member->user.context) >= member->host.count) {
        cv_host_expect_crowd(&member->host); /* few names are idle, so a new view would drop little */
        return;
    }
    cv_views_renew(member);
}

void cv_views_renew(struct cv_member *member)
{
    const struct cv_view *view = &member->host.view;
    if (member->consensus) {
        consensus_refresh(member->consensus);
        return;
    }
    if (view->coordinator != member->roster.me) {
        put_forward(member, view->coordinator, CV_VIEW_RENEW, view);
        return;
    }
    cv_static_views_renew(&member->static_views);
    member_reconsider(member);
}

static uint64_t unix_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

const struct cv_static_views_calls views_static_calls = {
    .send = put_forward, .freeze = freeze, .report = report, .tell = tell, .install = install, .unix_ms = unix_ms};

static bool settled(const void *context)
{
    const struct cv_member *member = context;
    return !member->user.settled || member->user.settled(member->user.context);
}

const struct cv_agreed_views_calls views_agreed_calls = {
    .send = send_number, .freeze = end_view, .report = report, .tell = tell, .install = install, .settled = settled};

static void on_agreed_frame(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    struct cv_agreed_views *agreed_views = &member->consensus->agreed_views;
    const enum cv_view_message kind = frame->kind;
    const uint64_t number = cv_frame_number(frame, 0);
    if (kind == CV_VIEW_STEP_DOWN)
        cv_agreed_views_step_down(agreed_views, consensus_node(member->consensus, number + 1), cv_loop_boot());
    else if (kind == CV_VIEW_WELCOME)
        founding_welcome(member->consensus, frame);
    else if (kind == CV_VIEW_FOUND)
        founding_hear(member->consensus, from, frame);
    else if (kind == CV_VIEW_CHANGE)
        roster_hear(member->consensus, frame);
    else if (kind == CV_VIEW_LEAVE)
        consensus_forget_peer(member->consensus, from);
    else if (kind == CV_VIEW_RENEW && frame->round == member->host.view.epoch)
        cv_agreed_views_renew(agreed_views, cv_loop_boot());
    else if (kind != CV_VIEW_HOLDING && kind != CV_VIEW_HELD)
        cv_agreed_views_hear(agreed_views, from, kind, frame->round, number, cv_loop_boot());
    else if (cv_agreed_views_awaits(agreed_views, kind, from, frame->round))
        on_holder(member, frame, from);
}

void views_frame(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    const enum cv_view_message kind = frame->kind;
    if (member->consensus) {
        on_agreed_frame(member, from, frame);
        return;
    }
    const struct cv_view view = {.epoch = frame->round,
                                 .members = cv_frame_number(frame, 0) & cv_set_first(member->roster.count),
                                 .base = cv_frame_number(frame, 1),
                                 .coordinator = (cv_node)cv_frame_number(frame, 2)};
    if (kind == CV_VIEW_HOLDING || kind == CV_VIEW_HELD) {
        if (cv_static_views_awaits(&member->static_views, kind, from, frame->round))
            on_holder(member, frame, from);
    } else if (kind <= CV_VIEW_RENEW &&
               (kind != CV_VIEW_INSTALL || (cv_set_has(view.members, member->roster.me) && view.coordinator == from))) {
        if (cv_static_views_hear(&member->static_views, from, kind, &view))
            member_reconsider(member);
    }
}
