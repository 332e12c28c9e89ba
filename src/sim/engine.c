// SPDX-License-Identifier: MIT
/*
 * The loop: at each tick what is planned happens, then the messages due are handled in the order they were sent,
 * then the timers due fire. A step is one handler call; its effects are carried out right after it.
 *
 * Two ways through a tick. `quick_mail` is for runs in which nobody watches and the network does nothing odd:
 * millions of nodes pass here. `careful_mail` is for everything else. Both count and judge the same.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/world.h"

#define TICKS_AT_A_STRETCH 256
#define AHEAD 12 /* messages looked ahead, to have their nodes in the cache */

void world_tell(struct cv_sim *sim, const struct cv_event *event)
{
    if (sim->traced)
        sim->options.observer.event(sim->options.observer.context, event);
}

static inline void open_step(struct cv_sim *sim, cv_node node, struct node *it)
{
    struct cv_self *me = &sim->self;
    me->state = it + 1;
    me->node = node;
    me->clock = it->clock;
    me->outbox = sim->outbox;
    me->room = sim->outbox_room;
    me->used = 0;
    me->effects = 0;
    me->calling = it->flags & NODE_CALLING;
    me->knows = it->flags & NODE_KNOWS;
    me->elected = it->leader;
}

struct cv_self *world_begin(struct cv_sim *sim, cv_node node, struct cv_event *event)
{
    struct node *it = world_node(sim, node);
    it->clock++;
    open_step(sim, node, it);
    if (event) {
        event->node = node;
        event->time = sim->now;
        event->clock = it->clock;
        world_tell(sim, event);
    }
    return &sim->self;
}

static void set_timers(struct cv_sim *sim, cv_node node)
{
    struct cv_self *me = &sim->self;
    for (uint32_t timer = 0; timer < sim->timers; timer++) {
        uint64_t *due = &sim->timer_due[(size_t)node * sim->timers + timer];
        if ((me->timers_armed | me->timers_cancelled) & 1u << timer) {
            sim->timers_active -= *due != 0;
            *due = 0;
        }
        if (me->timers_armed & 1u << timer) {
            *due = sim->now + (me->timer_delay[timer] ? me->timer_delay[timer] : 1);
            sim->timers_active++;
            struct alarm *alarm = calendar_add(&sim->alarms, *due, sizeof *alarm);
            if (alarm)
                *alarm = (struct alarm){node, timer, *due};
            else
                sim->out_of_memory = true;
        }
    }
    me->timers_armed = me->timers_cancelled = 0;
}

static void tell_effect(struct cv_sim *sim, enum cv_event_type type, uint64_t detail, const char *text)
{
    struct cv_self *me = &sim->self;
    world_tell(sim, &(struct cv_event){.type = type,
                                       .node = me->node,
                                       .peer = CV_NOBODY,
                                       .time = sim->now,
                                       .clock = world_node(sim, me->node)->clock,
                                       .detail = detail,
                                       .text = text});
}

static void learn(struct cv_sim *sim, struct node *it)
{
    struct cv_self *me = &sim->self;
    const bool news = !(it->flags & NODE_KNOWS) || it->leader != me->elected;
    it->leader = me->elected;
    it->flags |= NODE_KNOWS;
    if (!news)
        return;
    if (sim->decided)
        sim->decided[me->node] = sim->now;
    sim->run.decided = sim->now;
}

/* What the step did besides sending. Rare on the quick way, so kept out of it. */
static __attribute__((noinline)) void apply_effects(struct cv_sim *sim, struct node *it)
{
    struct cv_self *me = &sim->self;
    const uint32_t did = me->effects;
    if (did & CV_DID_TIMER)
        set_timers(sim, me->node);
    if (did & CV_DID_CALL)
        sim->run.calls++;
    if (did & CV_DID_RECALL)
        it->flags |= NODE_RECALLED;
    it->flags = me->calling ? it->flags | NODE_CALLING : it->flags & ~(uint32_t)NODE_CALLING;
    if (did & CV_DID_FORGET)
        it->flags &= ~(uint32_t)NODE_KNOWS;
    if (did & CV_DID_ELECT)
        learn(sim, it);
    if (!sim->traced)
        return;
    if (did & CV_DID_NOTE)
        tell_effect(sim, CV_EVENT_NOTE, 0, me->note);
    if (did & CV_DID_CALL)
        tell_effect(sim, CV_EVENT_CALL, 0, NULL);
    if (did & CV_DID_YIELD)
        tell_effect(sim, CV_EVENT_YIELD, 0, NULL);
    if (did & CV_DID_FORGET)
        tell_effect(sim, CV_EVENT_FORGET, 0, NULL);
    if (did & CV_DID_ELECT)
        tell_effect(sim, CV_EVENT_ELECTED, me->elected, NULL);
    if (did & CV_DID_ENTER)
        tell_effect(sim, CV_EVENT_ENTER, me->fence, NULL);
}

static void check_invariant(struct cv_sim *sim)
{
    const char *broken = sim->algorithm->invariant ? sim->algorithm->invariant(&sim->self) : NULL;
    if (!broken || sim->run.broken)
        return;
    sim->run.broken = broken;
    sim->run.broken_node = sim->self.node;
    sim->run.broken_time = sim->now;
}

/* Messages are a few words long: a loop beats a call. */
static inline void copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *target = to;
    const uint64_t *source = from;
    for (size_t i = 0; i < bytes / 8; i++)
        target[i] = source[i];
}

/* Takes the outbox straight to the calendar: every message arrives, in order, nobody watches. */
static inline void quick_send(struct cv_sim *sim, bool unit)
{
    struct cv_self *me = &sim->self;
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        const size_t bytes = cv_message_bytes(message);
        if (message->to != message->from)
            sim->run.count[message->kind]++;
        uint64_t due = sim->now + 1;
        if (!unit) {
            due = sim->now + world_delay(sim);
            if (fifo_order(&sim->fifo, message->from, message->to, sim->now, &due))
                sim->out_of_memory = true;
        }
        void *record = calendar_add(&sim->mail, due, bytes);
        if (!record) {
            sim->out_of_memory = true;
            return;
        }
        copy_words(record, message, bytes);
        at += bytes;
    }
}

void world_finish(struct cv_sim *sim)
{
    struct cv_self *me = &sim->self;
    const cv_node node = me->node;
    check_invariant(sim);
    if (me->effects)
        apply_effects(sim, world_node(sim, node));
    if (sim->plain)
        quick_send(sim, sim->scenario->delay.model == CV_DELAY_UNIT);
    else
        network_send_all(sim);
    world_node(sim, node)->clock = me->clock;
    if (sim->dying) {
        sim->dying = false;
        faults_crash(sim, node, true);
    }
}

void world_deliver(struct cv_sim *sim, const struct cv_message *message, uint64_t serial)
{
    struct node *it = world_node(sim, message->to);
    struct cv_event event = {.type = CV_EVENT_RECEIVE,
                             .node = message->to,
                             .peer = message->from,
                             .time = sim->now,
                             .message = serial,
                             .content = message};
    if (!(it->flags & NODE_ALIVE)) {
        event.type = CV_EVENT_LOST;
        event.clock = it->clock;
        world_tell(sim, &event);
        return;
    }
    it->clock = (it->clock > message->clock ? it->clock : message->clock) + 1;
    event.clock = it->clock;
    world_tell(sim, &event);
    open_step(sim, message->to, it);
    sim->algorithm->kinds[message->kind].receive(&sim->self, message);
    sim->run.time = sim->now;
    world_finish(sim);
}

static void careful_mail(struct cv_sim *sim)
{
    struct chunk *chunk = calendar_take(&sim->mail);
    while (chunk) {
        for (size_t at = 0; at < chunk->used;) {
            const struct cv_message *message = (const void *)(chunk->data + at);
            at += cv_message_bytes(message);
            uint64_t serial = 0;
            memcpy(&serial, chunk->data + at, sizeof serial);
            at += sizeof serial;
            sim->mail.pending--;
            if (message->to == CV_NOBODY || transport_arrive(sim, message))
                continue;
            world_deliver(sim, message, serial);
        }
        struct chunk *next = chunk->next;
        calendar_recycle(&sim->mail, chunk);
        chunk = next;
    }
}

/*
 * Where every message takes one tick, the next tick's list is the outbox: the step writes its messages where they
 * wait for delivery. If they do not fit there, or the list is still empty, they go the other way.
 */
static inline void send_in_place(struct cv_sim *sim, struct chunk_list *next)
{
    struct cv_self *me = &sim->self;
    if (me->outbox != next->write) {
        quick_send(sim, true);
        return;
    }
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        if (message->to != message->from)
            sim->run.count[message->kind]++;
        sim->mail.pending++;
    }
    next->write += me->used;
}

static inline __attribute__((always_inline)) void quick_step(struct cv_sim *sim, const struct cv_kind *kinds,
                                                             const struct cv_message *message, bool unit)
{
    struct node *it = world_node(sim, message->to);
    struct chunk_list *next = &sim->mail.near[(sim->now + 1) & sim->mail.mask];
    it->clock = (it->clock > message->clock ? it->clock : message->clock) + 1;
    open_step(sim, message->to, it);
    if (unit && next->write) {
        sim->self.outbox = next->write;
        sim->self.room = (size_t)(next->limit - next->write);
    }
    kinds[message->kind].receive(&sim->self, message);
    if (sim->self.effects)
        apply_effects(sim, it);
    if (unit)
        send_in_place(sim, next);
    else
        quick_send(sim, false);
    it->clock = sim->self.clock;
}

/* Fetches what the receiver of a message to come will need; the bytes of that message. */
static inline size_t expect(const struct cv_sim *sim, const struct cv_message *message, bool unit)
{
    if (!unit && sim->fifo.onward)
        __builtin_prefetch(&sim->fifo.onward[message->to], 1);
    __builtin_prefetch(world_node(sim, message->to), 1);
    __builtin_prefetch(&sim->group.ids[message->to]);
    return cv_message_bytes(message);
}

static inline __attribute__((always_inline)) void quick_mail(struct cv_sim *sim, bool unit)
{
    const struct cv_kind *kinds = sim->algorithm->kinds;
    struct chunk *chunk = calendar_take(&sim->mail);
    if (chunk)
        sim->run.time = sim->now;
    while (chunk) {
        const unsigned char *end = chunk->data + chunk->used, *ahead = chunk->data;
        int lead = 0;
        for (const unsigned char *at = chunk->data; at < end;) {
            const struct cv_message *message = (const void *)at;
            for (; lead < AHEAD && ahead < end; lead++)
                ahead += expect(sim, (const void *)ahead, unit);
            at += cv_message_bytes(message);
            lead--;
            sim->mail.pending--;
            quick_step(sim, kinds, message, unit);
        }
        struct chunk *next = chunk->next;
        calendar_recycle(&sim->mail, chunk);
        chunk = next;
    }
}

static __attribute__((noinline)) void quick_mail_unit(struct cv_sim *sim)
{
    quick_mail(sim, true);
}

static __attribute__((noinline)) void quick_mail_random(struct cv_sim *sim)
{
    quick_mail(sim, false);
}

static void fire_alarms(struct cv_sim *sim)
{
    struct chunk *chunk = calendar_take(&sim->alarms);
    while (chunk) {
        for (size_t at = 0; at < chunk->used; at += sizeof(struct alarm)) {
            const struct alarm alarm = *(const struct alarm *)(const void *)(chunk->data + at);
            sim->alarms.pending--;
            if (alarm.node == CV_NOBODY) {
                transport_alarm(sim, &alarm);
                continue;
            }
            uint64_t *due = &sim->timer_due[(size_t)alarm.node * sim->timers + alarm.timer];
            if (*due != alarm.due)
                continue;
            *due = 0;
            sim->timers_active--;
            struct cv_event event = {.type = CV_EVENT_TIMEOUT,
                                     .peer = CV_NOBODY,
                                     .detail = alarm.timer,
                                     .text = sim->algorithm->timers[alarm.timer]};
            sim->algorithm->timeout(world_begin(sim, alarm.node, &event), alarm.timer);
            world_finish(sim);
        }
        struct chunk *next = chunk->next;
        calendar_recycle(&sim->alarms, chunk);
        chunk = next;
    }
}

static void call_elections(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    const uint32_t count = scenario->everyone_calls ? sim->group.nodes : scenario->caller_count;
    for (uint32_t i = 0; i < count && sim->algorithm->start; i++) {
        const cv_node node = scenario->everyone_calls ? i : scenario->callers[i];
        if (!world_alive(sim, node))
            continue;
        sim->algorithm->start(world_begin(sim, node, &(struct cv_event){.type = CV_EVENT_START, .peer = CV_NOBODY}));
        world_finish(sim);
    }
}

/* Nothing on the way, nothing armed: time leaps to what is planned next. */
static bool idle(const struct cv_sim *sim)
{
    return !sim->mail.pending && !sim->timers_active && !transport_busy(sim);
}

static uint64_t next_tick(const struct cv_sim *sim, uint64_t planned)
{
    if (idle(sim))
        return planned;
    const uint64_t mail = calendar_next(&sim->mail), alarm = calendar_next(&sim->alarms);
    const uint64_t next = mail < alarm ? mail : alarm;
    return next < planned ? next : planned;
}

static bool interrupted(const struct cv_sim *sim)
{
    return sim->out_of_memory || (sim->options.interrupted && *sim->options.interrupted);
}

static void tell_progress(struct cv_sim *sim)
{
    uint64_t messages = 0;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        messages += sim->run.count[kind];
    sim->options.progress(sim->options.progress_context, sim->now, messages);
}

static void deliver_mail(struct cv_sim *sim, bool unit)
{
    if (!sim->plain)
        careful_mail(sim);
    else if (unit)
        quick_mail_unit(sim);
    else
        quick_mail_random(sim);
}

/* With nothing armed and nothing planned, only messages move time: many ticks at a stretch. */
static void hurry(struct cv_sim *sim, bool unit)
{
    for (int ticks = 0; ticks < TICKS_AT_A_STRETCH && !sim->alarms.pending; ticks++) {
        const uint64_t next = calendar_next(&sim->mail);
        if (next > sim->scenario->until || interrupted(sim))
            break;
        sim->now = next;
        if (calendar_advance(&sim->mail, next))
            sim->out_of_memory = true;
        deliver_mail(sim, unit);
    }
    calendar_advance(&sim->alarms, sim->now);
}

static enum cv_ending play(struct cv_sim *sim)
{
    const bool unit = sim->scenario->delay.model == CV_DELAY_UNIT;
    faults_happen(sim);
    call_elections(sim);
    for (uint64_t stretch = 0;; stretch++) {
        if (interrupted(sim))
            return CV_INTERRUPTED;
        if (sim->options.progress && stretch % TICKS_AT_A_STRETCH == 0)
            tell_progress(sim);
        const uint64_t planned = faults_next(sim);
        if (idle(sim) && planned == CV_NEVER)
            return CV_QUIET;
        const uint64_t next = next_tick(sim, planned);
        if (next > sim->scenario->until)
            return CV_OUT_OF_TIME;
        if (sim->plain && planned == CV_NEVER && !sim->alarms.pending) {
            hurry(sim, unit);
            continue;
        }
        sim->now = next;
        if (calendar_advance(&sim->mail, next) || calendar_advance(&sim->alarms, next))
            sim->out_of_memory = true;
        if (planned <= next)
            faults_happen(sim);
        deliver_mail(sim, unit);
        if (sim->alarms.pending)
            fire_alarms(sim);
        if (sim->repeat && repeat_found(sim, &sim->run.period))
            return CV_REPEATS;
    }
}

static struct cv_standing standing(const void *runtime, cv_node node)
{
    const struct node *it = world_node(runtime, node);
    return (struct cv_standing){.leader = it->leader,
                                .alive = it->flags & NODE_ALIVE,
                                .knows = it->flags & NODE_KNOWS,
                                .recalled = it->flags & NODE_RECALLED};
}

/* `decided` counts only if everybody alive knows; of the dead it says nothing. */
static void settle_decided(struct cv_sim *sim)
{
    uint64_t last = 0;
    for (cv_node node = 0; node < sim->group.nodes; node++) {
        const struct cv_standing it = standing(sim, node);
        if (it.alive && !it.knows) {
            sim->run.decided = CV_NEVER;
            return;
        }
        if (it.alive && sim->decided && sim->decided[node] > last)
            last = sim->decided[node];
    }
    if (sim->decided)
        sim->run.decided = last;
}

int cv_sim_run(struct cv_sim *sim, struct cv_run *run)
{
    sim->run.ending = play(sim);
    if (sim->out_of_memory)
        return CV_ENOMEM;
    sim->run.now = sim->now;
    sim->run.scenario = sim->scenario;
    sim->run.runtime = sim;
    sim->run.standing = standing;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        sim->run.total += sim->run.count[kind];
    calendar_free(&sim->mail); /* the judges need memory too, and large runs have most of it here */
    settle_decided(sim);
    if (sim->part)
        faults_parts(sim, sim->part);
    sim->run.part = sim->part;
    *run = sim->run;
    return 0;
}
