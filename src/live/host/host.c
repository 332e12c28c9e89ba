// SPDX-License-Identifier: MIT
/*
 * Steps. A step is one handler call. Then its messages leave, and last the owner hears of its effects. The owner may
 * begin another step right away, because this one is over by then.
 */
#include "live/host/host.h"

#include <stdio.h>
#include <stdlib.h>

#include "live/host/plugin_effects.h"

#define FIRST_OUTBOX 4096u
#define LONGEST_REST_TICKS 32u
#define NO_HOPS UINT64_MAX
#define LONGEST_TIMER_TICKS (1ull << 40)
#define MOST_HOPS 2048u /* of an election's message, and of the messages that it causes */

static struct cv_algorithm_host *host_of(const struct cv_self *me)
{
    return (struct cv_algorithm_host *)(uintptr_t)((const char *)me - offsetof(struct cv_algorithm_host, self));
}

/* ---- calls from algorithms ---- */

static uint32_t choose(struct cv_self *me, uint32_t ways)
{
    return (uint32_t)cv_random_below(&host_of(me)->random, ways);
}

static bool present(const struct cv_self *me, cv_node node)
{
    const struct cv_algorithm_host *host = host_of(me);
    const bool member = !me->group->members || cv_set_has(host->view.members, node);
    return node == me->node || (member && !cv_set_has(host->suspected, node));
}

static bool suspected(const struct cv_self *me, cv_id id)
{
    const struct cv_algorithm_host *host = host_of(me);
    for (cv_node node = 0; node < host->roster->count; node++)
        if (host->roster->ids[node] == id)
            return cv_set_has(host->suspected, node);
    return false;
}

/* A handler cannot fail, so without memory the process says so and ends. */
static void grow(struct cv_self *me, size_t bytes)
{
    size_t room = me->room ? me->room : FIRST_OUTBOX;
    while (room - me->used < bytes)
        room *= 2;
    unsigned char *outbox = realloc(me->outbox, room);
    if (!outbox)
        cv_out_of_memory(1);
    me->outbox = outbox;
    me->room = room;
}

const struct cv_runtime cv_host_runtime = {.choose = choose, .present = present, .suspected = suspected, .grow = grow};

/* ---- the record ---- */

/* All events of a step get the same time, so a recording never ends within a step. */
static void begin_step(struct cv_algorithm_host *host)
{
    if (host->calls.event)
        host->step_began = host->calls.now();
}

static void tell(struct cv_algorithm_host *host, const struct cv_instance *instance, struct cv_event *event)
{
    if (!host->calls.event)
        return;
    event->time = host->step_began;
    event->node = host->roster->me;
    event->clock = instance->clock;
    host->calls.event(host->calls.context, instance, event);
}

static void tell_effect(struct cv_algorithm_host *host, const struct cv_instance *instance, enum cv_event_type type,
                        uint64_t detail, const char *text)
{
    tell(host, instance, &(struct cv_event){.type = type, .peer = CV_NOBODY, .detail = detail, .text = text});
}

void cv_host_record(struct cv_algorithm_host *host, const struct cv_instance *instance, enum cv_event_type type,
                    const char *text)
{
    begin_step(host);
    tell_effect(host, instance, type, 0, text);
}

static void tell_effects(struct cv_algorithm_host *host, const struct cv_instance *instance)
{
    const struct cv_self *me = &host->self;
    const struct cv_algorithm *algorithm = instance->policy->algorithm;
    const char *broken = algorithm->invariant ? algorithm->invariant(me) : NULL;
    if (broken)
        tell_effect(host, instance, CV_EVENT_NOTE, 1, broken);
    if (me->effects & CV_DID_NOTE)
        tell_effect(host, instance, CV_EVENT_NOTE, 0, me->note);
    if (me->effects & CV_DID_CALL)
        tell_effect(host, instance, CV_EVENT_CALL, (me->effects & CV_DID_RECALL) != 0, NULL);
    if (me->effects & CV_DID_YIELD)
        tell_effect(host, instance, CV_EVENT_YIELD, 0, NULL);
    if (me->effects & CV_DID_FORGET)
        tell_effect(host, instance, CV_EVENT_FORGET, 0, NULL);
    if (me->effects & CV_DID_ELECT)
        tell_effect(host, instance, CV_EVENT_ELECTED, me->elected, NULL);
    if (me->effects & CV_DID_ENTER)
        tell_effect(host, instance, CV_EVENT_ENTER, me->fence, NULL);
}

/* ---- messages ---- */

/* Queues a message of this node to itself, after its parcel. */
static void post_local(struct cv_algorithm_host *host, const struct cv_parcel *parcel)
{
    const size_t bytes = sizeof *parcel + cv_message_bytes(parcel->message);
    if (host->queue_room - host->queue_used < bytes) {
        size_t room = host->queue_room ? host->queue_room : FIRST_OUTBOX;
        while (room - host->queue_used < bytes)
            room *= 2;
        unsigned char *queue = realloc(host->queue, room);
        if (!queue)
            cv_out_of_memory(1);
        host->queue = queue;
        host->queue_room = room;
    }
    memcpy(host->queue + host->queue_used, parcel, sizeof *parcel);
    memcpy(host->queue + host->queue_used + sizeof *parcel, parcel->message, cv_message_bytes(parcel->message));
    host->queue_used += bytes;
}

/* Drops the queued messages of an instance to itself. */
void cv_host_void_queue(struct cv_algorithm_host *host, const struct cv_instance *instance)
{
    for (size_t at = host->queue_at; at < host->queue_used;) {
        struct cv_parcel *parcel = (void *)(host->queue + at);
        at += sizeof *parcel + cv_message_bytes((const void *)(parcel + 1));
        if (parcel->instance == instance)
            parcel->instance = NULL;
    }
}

static void send_all(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    struct cv_self *me = &host->self;
    struct cv_host_counts *counts = &host->counts[instance->policy - host->policies];
    const bool entered = me->effects & CV_DID_ENTER;
    const uint64_t hops = host->hops == NO_HOPS || entered ? 0 : host->hops + 1;
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        struct cv_parcel parcel = {.instance = instance, .hops = hops, .message = message};
        at += cv_message_bytes(message);
        if (message->to == me->node) {
            parcel.number = ++host->serial;
            post_local(host, &parcel);
        } else {
            counts->sent[message->kind]++;
            parcel.number = host->calls.send(host->calls.context, &parcel);
        }
        if (host->calls.event) {
            struct cv_event event = {
                .type = CV_EVENT_SEND, .peer = message->to, .message = parcel.number, .content = message};
            instance->clock = message->clock;
            tell(host, instance, &event);
        }
    }
}

/* ---- one step ---- */

_Thread_local struct cv_step_mark cv_step_mark;

static struct cv_self *begin(struct cv_algorithm_host *host, struct cv_instance *instance, const char *handler,
                             struct cv_event *event)
{
    struct cv_self *me = &host->self;
    cv_step_begins(instance, handler);
    if (event) {
        begin_step(host);
        instance->clock = (instance->clock + 1) & CV_CLOCK_MASK;
        event->peer = CV_NOBODY;
        tell(host, instance, event);
    }
    me->state = instance->state;
    me->group = instance->group;
    me->used = 0;
    me->effects = 0;
    me->clock = instance->clock;
    me->calling = (instance->flags & CV_CALLING) != 0;
    me->knows = (instance->flags & CV_KNOWS) != 0;
    me->elected = instance->leader;
    me->node = host->roster->me;
    host->hops = NO_HOPS;
    return me;
}

static void set_timers(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    struct cv_self *me = &host->self;
    for (uint32_t timer = 0; timer < instance->policy->timers; timer++) {
        uint64_t delay = me->timer_delay[timer] ? me->timer_delay[timer] : 1;
        delay = delay < LONGEST_TIMER_TICKS ? delay : LONGEST_TIMER_TICKS;
        if (me->timers_armed & 1u << timer)
            cv_alarm_set(host->alarms, &instance->timers[timer].alarm, host->calls.now() + delay * host->tick_us);
        else if (me->timers_cancelled & 1u << timer)
            cv_alarm_cancel(host->alarms, &instance->timers[timer].alarm);
    }
    me->timers_armed = me->timers_cancelled = 0;
}

static void set_flag(struct cv_instance *instance, enum cv_instance_flag flag, bool on)
{
    instance->flags = on ? instance->flags | flag : instance->flags & ~(uint32_t)flag;
}

static void check_plugin(const struct cv_self *me, const struct cv_instance *instance)
{
    cv_step_mark.fault = plugin_effects_fault(me, instance);
    if (cv_step_mark.fault)
        abort();
}

static void finish(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    struct cv_self *me = &host->self;
    if (instance->policy->file)
        check_plugin(me, instance);
    const uint32_t did = me->effects;
    const uint64_t clock = me->clock & CV_CLOCK_MASK;
    const bool news = did & (CV_DID_ELECT | CV_DID_FORGET) &&
                      (me->knows != (instance->flags & CV_KNOWS) || me->elected != instance->leader);
    if (did & CV_DID_TIMER)
        set_timers(host, instance);
    if (host->calls.event)
        tell_effects(host, instance);
    cv_step_mark.instance = NULL;
    set_flag(instance, CV_CALLING, me->calling);
    set_flag(instance, CV_KNOWS, me->knows);
    instance->leader = me->elected;
    if (did & CV_DID_ENTER) {
        instance->flags = (instance->flags & ~(uint32_t)CV_WANTS) | CV_INSIDE;
        instance->fence = me->fence;
    }
    send_all(host, instance);
    instance->clock = clock;
    if (did & CV_DID_ENTER)
        host->calls.entered(host->calls.context, instance);
    if (news)
        host->calls.elected(host->calls.context, instance);
}

/* ---- the handlers ---- */

static void settle(struct cv_algorithm_host *host);

/* An algorithm that begins by itself has to begin at all members before one can enter, and others may not know the
 * name. */
void cv_host_tell_members(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    if (!instance->policy->algorithm->start || instance->flags & CV_TOLD)
        return;
    instance->flags |= CV_TOLD;
    host->calls.opened(host->calls.context, instance);
}

void cv_host_request(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    instance->flags |= CV_WANTS;
    instance->answered = 0;
    cv_host_tell_members(host, instance);
    instance->policy->algorithm->request(
        begin(host, instance, "request", &(struct cv_event){.type = CV_EVENT_REQUEST}));
    finish(host, instance);
    cv_host_start(host, instance);
    if (instance->resting)
        cv_host_wake(&instance->rest.alarm);
    settle(host);
}

void cv_host_release(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    instance->flags &= ~(uint32_t)CV_INSIDE;
    instance->policy->algorithm->release(begin(host, instance, "release", &(struct cv_event){.type = CV_EVENT_LEAVE}));
    finish(host, instance);
    settle(host);
}

void cv_host_call(struct cv_algorithm_host *host, struct cv_instance *instance, bool recovers)
{
    const struct cv_algorithm *algorithm = instance->policy->algorithm;
    const bool recover = recovers && algorithm->recover;
    void (*handler)(struct cv_self *) = recover ? algorithm->recover : algorithm->start;
    handler(begin(host, instance, recover ? "recover" : "start", &(struct cv_event){.type = CV_EVENT_START}));
    finish(host, instance);
    settle(host);
}

void cv_host_tell(struct cv_algorithm_host *host, struct cv_instance *instance, cv_node node, bool gone)
{
    const struct cv_algorithm *algorithm = instance->policy->algorithm;
    void (*handler)(struct cv_self *, cv_node) = gone ? algorithm->suspect : algorithm->trust;
    struct cv_event event = {.type = gone ? CV_EVENT_SUSPECT : CV_EVENT_TRUST};
    instance->clock = (instance->clock + 1) & CV_CLOCK_MASK;
    event.peer = node;
    begin_step(host);
    tell(host, instance, &event);
    if (!handler)
        return;
    handler(begin(host, instance, gone ? "suspect" : "trust", NULL), node);
    finish(host, instance);
    settle(host);
}

void cv_host_start(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    if (!(instance->flags & CV_FRESH))
        return;
    instance->flags &= ~(uint32_t)CV_FRESH;
    if (!instance->policy->algorithm->start)
        return;
    begin_step(host);
    instance->policy->algorithm->start(begin(host, instance, "start", NULL));
    finish(host, instance);
    settle(host);
}

void cv_host_timeout(struct cv_alarm *alarm)
{
    const struct cv_timer *timer = cv_alarm_owner(alarm, struct cv_timer, alarm);
    struct cv_instance *instance = timer->instance;
    const uint32_t which = (uint32_t)(timer - instance->timers);
    const struct cv_algorithm *algorithm = instance->policy->algorithm;
    struct cv_event event = {.type = CV_EVENT_TIMEOUT, .detail = which, .text = algorithm->timers[which]};
    struct cv_self *me = begin(instance->host, instance, "timeout", &event);
    cv_step_mark.detail = event.text;
    algorithm->timeout(me, which);
    finish(instance->host, instance);
    settle(instance->host);
}

/* ---- checks before a handler ---- */

/*
 * Messages carry logical times, and fences are made of them. A hostile node could drive a clock to its end. The clock
 * would wrap to 0, and a fence would overflow into those of the next view.
 */
static bool times_fit(const struct cv_group *group, const struct cv_kind *kind, const struct cv_message *message)
{
    if (message->clock > cv_host_last_time(group))
        return false;
    for (const struct cv_field *field = kind->fields; field && field->name; field++) {
        uint64_t time = 0;
        if (field->type != CV_FIELD_CLOCK)
            continue;
        memcpy(&time, (const unsigned char *)cv_body(message) + field->offset, sizeof time);
        if (time > message->clock)
            return false;
    }
    return true;
}

static uint32_t region_of(const struct cv_instance *instance)
{
    return instance->flags & CV_INSIDE ? CV_CRITICAL : instance->flags & CV_WANTS ? CV_TRYING : CV_REMAINDER;
}

static enum cv_validity judge(struct cv_algorithm_host *host, const struct cv_parcel *parcel, const char **why)
{
    struct cv_instance *instance = parcel->instance;
    const struct cv_message *message = parcel->message;
    const struct cv_algorithm *algorithm = instance->policy->algorithm;
    struct cv_self *me = begin(host, instance, "valid", NULL);
    me->region = region_of(instance);
    const enum cv_validity validity = cv_message_validity(algorithm, instance->policy->kinds, me, message, why);
    cv_step_mark.instance = NULL;
    if (validity != CV_VALID)
        return validity;
    *why = "a message with a time or a fence that cannot be";
    if (parcel->given >= cv_view_places(&host->view) ||
        !times_fit(me->group, &algorithm->kinds[message->kind], message))
        return CV_FORGED;
    if (!(algorithm->hints.answers & 1ull << message->kind))
        return CV_VALID;
    *why = "a second answer to one request";
    if (cv_set_has(instance->answered, message->from))
        return CV_FORGED;
    instance->answered |= cv_set_of(message->from);
    return CV_VALID;
}

/* A name whose logical time is half spent begins anew in the next view: times have an end, see times_fit(). */
static void note_age(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    if (instance->clock <= cv_host_last_time(instance->group) / 2 || instance->flags & CV_AGED)
        return;
    instance->flags |= CV_AGED;
    if (instance_is_section(instance))
        host->calls.aged(host->calls.context);
}

static void receive(struct cv_algorithm_host *host, const struct cv_parcel *parcel)
{
    const struct cv_message *message = parcel->message;
    struct cv_instance *instance = parcel->instance;
    const uint64_t clock = instance->clock > message->clock ? instance->clock : message->clock;
    instance->clock = (clock + 1) & CV_CLOCK_MASK;
    begin_step(host);
    tell(host, instance,
         &(struct cv_event){
             .type = CV_EVENT_RECEIVE, .peer = message->from, .message = parcel->number, .content = message});
    struct cv_self *me = begin(host, instance, "receive", NULL);
    cv_step_mark.detail = instance->policy->algorithm->kinds[message->kind].name;
    host->hops = parcel->hops;
    instance->policy->algorithm->kinds[message->kind].receive(me, message);
    finish(host, instance);
    note_age(host, instance);
}

/* ---- rest: a token that no node wants need not race round the ring ---- */

/* The longer a token has gone round in vain, the longer it pauses, unless this node wants it. */
static uint64_t rest_ticks(const struct cv_algorithm_host *host, const struct cv_parcel *parcel)
{
    const struct cv_instance *instance = parcel->instance;
    if (!instance->policy->algorithm->hints.perpetual || instance->flags & (CV_WANTS | CV_INSIDE))
        return 0;
    const uint64_t rounds = parcel->hops / cv_set_count(host->view.members);
    return !rounds ? 0 : rounds > 5 ? LONGEST_REST_TICKS : 1ull << (rounds - 1);
}

static void end_rest(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    struct cv_parcel *parcel = instance->resting;
    const char *why;
    cv_alarm_cancel(host->alarms, &instance->rest.alarm);
    instance->resting = NULL;
    if (judge(host, parcel, &why) == CV_VALID) /* the message was valid when it came, but that was a while ago */
        receive(host, parcel);
    free(parcel);
}

void cv_host_wake(struct cv_alarm *alarm)
{
    const struct cv_timer *timer = cv_alarm_owner(alarm, struct cv_timer, alarm);
    struct cv_instance *instance = timer->instance;
    end_rest(instance->host, instance);
    settle(instance->host);
}

/* False if there is no memory to keep the message: then it goes on at once. */
static bool lay_down(struct cv_algorithm_host *host, const struct cv_parcel *parcel, uint64_t ticks)
{
    struct cv_instance *instance = parcel->instance;
    const size_t bytes = cv_message_bytes(parcel->message);
    struct cv_parcel *copy = malloc(sizeof *copy + bytes);
    if (!copy)
        return false;
    if (instance->resting) /* the earlier message goes on now, and the later one rests */
        end_rest(host, instance);
    *copy = *parcel;
    copy->message = memcpy(copy + 1, parcel->message, bytes);
    instance->resting = copy;
    cv_alarm_set(host->alarms, &instance->rest.alarm, host->calls.now() + ticks * host->tick_us);
    return true;
}

/* A ballot that no node recognizes as its own would go round for ever. */
static bool is_lost(const struct cv_parcel *parcel)
{
    return parcel->instance->policy->algorithm->problem == CV_ELECTION && parcel->hops > MOST_HOPS;
}

static void handle(struct cv_algorithm_host *host, const struct cv_parcel *parcel)
{
    if (is_lost(parcel))
        return;
    const uint64_t ticks = rest_ticks(host, parcel);
    if (!ticks || !lay_down(host, parcel, ticks))
        receive(host, parcel);
}

enum cv_validity cv_host_deliver(struct cv_algorithm_host *host, const struct cv_parcel *parcel, const char **why)
{
    if (instance_is_section(parcel->instance))
        cv_host_start(host, parcel->instance);
    const enum cv_validity validity = judge(host, parcel, why);
    if (validity != CV_VALID)
        return validity;
    host->counts[parcel->instance->policy - host->policies].received[parcel->message->kind]++;
    if (parcel->given > parcel->instance->given)
        parcel->instance->given = parcel->given;
    handle(host, parcel);
    settle(host);
    return CV_VALID;
}

static void settle(struct cv_algorithm_host *host)
{
    if (host->settling)
        return;
    host->settling = true;
    while (host->queue_at < host->queue_used) {
        /* The handler may make the queue move in memory. */
        struct cv_parcel parcel;
        uint64_t small[16];
        memcpy(&parcel, host->queue + host->queue_at, sizeof parcel);
        const struct cv_message *message = (const void *)(host->queue + host->queue_at + sizeof parcel);
        const size_t bytes = cv_message_bytes(message);
        struct cv_message *copy = bytes <= sizeof small ? (void *)small : malloc(bytes);
        host->queue_at += sizeof parcel + bytes;
        if (copy && parcel.instance) {
            parcel.message = memcpy(copy, message, bytes);
            handle(host, &parcel);
        }
        if ((void *)copy != (void *)small)
            free(copy);
    }
    host->queue_at = host->queue_used = 0;
    host->settling = false;
}
