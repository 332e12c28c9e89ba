// SPDX-License-Identifier: MIT
/*
 * The loop. At each tick the planned faults happen first, then the nodes receive the messages that are due, in the
 * order they were sent, then the timers that are due fire. A step is one handler call; its effects are carried out
 * right after it.
 *
 * There are two ways through a tick. `quick_mail` is for runs without an observer and without faults, of millions of
 * nodes. `careful_mail` is for all other runs. Both count and judge the same.
 */
#include "sim/engine.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/scenario/validity.h"
#include "sim/failures.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/repeat.h"
#include "sim/rounds.h"
#include "sim/transport.h"
#include "sim/view_changes.h"
#include "sim/workload.h"
#include "sim/world.h"

#define TICKS_BETWEEN_LOOKS 256              /* ticks between two reports of progress, on the careful way */
#define BYTES_AT_A_STRETCH ((size_t)1 << 24) /* bytes of messages between two reports, on the quick way */
#define FEW_BYTES ((size_t)1 << 17) /* with fewer bytes of messages under way, all receivers fit in the cache */
#define AHEAD 12                    /* a receiver is fetched into the cache so many messages ahead */

void world_tell(struct cv_sim *sim, const struct cv_event *event)
{
    if (!sim->traced)
        return;
    struct cv_event told = *event;
    told.name = sim->name;
    sim->options.observer.event(sim->options.observer.context, &told);
}

/* What a step left behind, for observers that look at states. */
static void tell_state(const struct cv_sim *sim, cv_node node)
{
    const struct cv_observer *observer = &sim->options.observer;
    const struct node *it = world_node(sim, node);
    if (observer->state)
        observer->state(observer->context,
                        &(struct cv_snapshot){node, sim->name, sim->now, it->clock, &sim->group, it + 1});
}

static void tell_first_states(struct cv_sim *sim)
{
    for (sim->name = 0; sim->name < world_names(sim); sim->name++)
        for (cv_node node = 0; node < sim->group.nodes; node++)
            tell_state(sim, node);
    sim->name = 0;
}

static inline void open_step(struct cv_sim *sim, cv_node node, struct node *it)
{
    struct cv_self *me = &sim->self;
    me->state = it + 1;
    me->node = node;
    me->clock = it->clock;
    me->calling = it->flags & NODE_CALLING;
    me->knows = it->flags & NODE_KNOWS;
    me->elected = me->knows ? sim->leaders[node] : 0;
}

/* A step begins with an empty outbox and no effects. */
static void use_outbox(struct cv_sim *sim)
{
    struct cv_self *me = &sim->self;
    me->outbox = sim->outbox;
    me->room = sim->outbox_room;
    me->used = 0;
    me->effects = 0;
}

struct cv_self *world_begin(struct cv_sim *sim, cv_node node, struct cv_event *event)
{
    struct node *it = world_node(sim, node);
    if (event)
        it->clock = (it->clock + 1) & CV_CLOCK_MASK;
    use_outbox(sim);
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
        uint64_t *due = world_timer(sim, node, timer);
        if ((me->timers_armed | me->timers_cancelled) & 1u << timer) {
            sim->timers_active -= *due != 0;
            *due = 0;
        }
        if (me->timers_armed & 1u << timer) {
            *due = sim->now + (me->timer_delay[timer] ? me->timer_delay[timer] : 1);
            sim->timers_active++;
            struct alarm *alarm = calendar_add(&sim->alarms, *due, sizeof *alarm);
            if (alarm)
                *alarm = (struct alarm){node, sim->name * CV_MAX_TIMERS + timer, *due};
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
                                       .peer = type == CV_EVENT_RESULT ? me->via : CV_NOBODY,
                                       .time = sim->now,
                                       .clock = world_node(sim, me->node)->clock,
                                       .detail = detail,
                                       .text = text});
}

static void learn(struct cv_sim *sim, struct node *it)
{
    struct cv_self *me = &sim->self;
    cv_id *leader = &sim->leaders[me->node];
    const bool news = !(it->flags & NODE_KNOWS) || *leader != me->elected;
    *leader = me->elected;
    world_set(it, NODE_KNOWS, true);
    if (!news)
        return;
    if (sim->decided)
        sim->decided[me->node] = sim->now;
    sim->run.decided = sim->now;
}

/* Carries out the effects of a step other than messages. They are rare on the quick way, so this is no part of it. */
static __attribute__((noinline)) void apply_effects(struct cv_sim *sim, struct node *it)
{
    struct cv_self *me = &sim->self;
    const uint32_t did = me->effects;
    if (did & CV_DID_TIMER)
        set_timers(sim, me->node);
    if (did & CV_DID_CALL) {
        sim->run.calls++;
        world_set(it, NODE_ACTIVE, true);
    }
    if (did & CV_DID_RECALL)
        world_set(it, NODE_RECALLED, true);
    world_set(it, NODE_CALLING, me->calling);
    if (did & CV_DID_FORGET)
        world_set(it, NODE_KNOWS, false);
    if (did & CV_DID_ELECT)
        learn(sim, it);
    if (did & CV_DID_ENTER)
        load_enter(sim, me->node, me->fence);
    if (did & CV_DID_PULSE)
        rounds_pulse(sim);
    if (did & CV_DID_RESULT)
        rounds_result(sim);
    if (!sim->traced)
        return;
    if (did & CV_DID_RESULT)
        tell_effect(sim, CV_EVENT_RESULT, me->result, NULL);
    if (did & CV_DID_PULSE)
        tell_effect(sim, CV_EVENT_PULSE, me->round, NULL);
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

static void note_broken(struct cv_sim *sim, const char *broken)
{
    if (sim->run.broken)
        return;
    sim->run.broken = broken;
    sim->run.broken_node = sim->self.node;
    sim->run.broken_time = sim->now;
}

static void check_invariant(struct cv_sim *sim)
{
    const char *broken = sim->algorithm->invariant ? sim->algorithm->invariant(&sim->self) : NULL;
    if (broken)
        note_broken(sim, broken);
}

/* A real node would not give that message to its handler. */
static bool can_be(struct cv_sim *sim, const struct cv_message *message)
{
    const char *why;
    sim->asks--;
    sim->self.region = load_region(sim, message->to);
    if (cv_message_validity(sim->algorithm, sim->kinds, &sim->self, message, &why) == CV_VALID)
        return true;
    note_broken(sim, why);
    return false;
}

/*
 * Messages are a few words long, so a loop is faster than a call. It copies word by word, and the compiler is kept from
 * copying two at once: the processor must wait if it reads two words together that were just written one by one.
 */
static inline void copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *target = to;
    const uint64_t *source = from;
    for (size_t i = 0; i < bytes / 8; i++) {
        target[i] = source[i];
        __asm__ volatile("");
    }
}

/*
 * Fetches the receiver of a later message into the cache. Returns the bytes of that message. Always inlined: the
 * compiler drops the call of a function that does nothing but fetch.
 */
static inline __attribute__((always_inline)) size_t expect(const struct cv_sim *sim, const struct cv_message *message,
                                                           bool unit)
{
    if (!unit && sim->fifo.onward)
        __builtin_prefetch(&sim->fifo.onward[message->to], 1);
    __builtin_prefetch(world_first_node(sim, message->to), 1);
    __builtin_prefetch(&sim->group.ids[message->to]);
    return cv_message_bytes(message);
}

/* Moves the outbox to the calendar: every message arrives, in order, and no observer listens. */
static inline void quick_send(struct cv_sim *sim, bool unit)
{
    struct cv_self *me = &sim->self;
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        const size_t bytes = cv_message_bytes(message);
        uint64_t due = sim->now + 1;
        if (!unit) {
            due = sim->now + world_delay(sim);
            if (fifo_order(&sim->fifo, message->from, message->to, sim->now, &due))
                sim->out_of_memory = true;
            /* If few messages are under way, the receiver is still in the cache when the message is due. */
            if (sim->mail.pending <= FEW_BYTES)
                expect(sim, message, unit);
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
    world_node(sim, node)->clock = me->clock & CV_CLOCK_MASK;
    tell_state(sim, node);
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
    if (!(it->flags & NODE_ALIVE) || it->flags & NODE_OUTSIDE) {
        event.type = CV_EVENT_LOST;
        event.clock = it->clock;
        world_tell(sim, &event);
        return;
    }
    world_set(it, NODE_ACTIVE, true);
    it->clock = ((it->clock > message->clock ? it->clock : message->clock) + 1) & CV_CLOCK_MASK;
    event.clock = it->clock;
    world_tell(sim, &event);
    use_outbox(sim);
    open_step(sim, message->to, it);
    if (sim->asks && !can_be(sim, message))
        return;
    sim->algorithm->kinds[message->kind].receive(&sim->self, message);
    sim->run.time = sim->now;
    world_finish(sim);
}

static void careful_mail(struct cv_sim *sim)
{
    for (struct calendar_part part = calendar_take(&sim->mail); part.at; part = calendar_take_next(&sim->mail, part))
        while (part.at < part.end) {
            const struct cv_message *message = (const void *)part.at;
            part.at += cv_message_bytes(message);
            struct trailer trailer;
            memcpy(&trailer, part.at, sizeof trailer);
            part.at += sizeof trailer;
            if (message->to == CV_NOBODY || transport_arrive(sim, message))
                continue;
            sim->name = trailer.name;
            world_deliver(sim, message, trailer.serial);
        }
}

static inline __attribute__((always_inline)) void quick_step(struct cv_sim *sim, const struct cv_kind *kinds,
                                                             const struct cv_message *message, bool asks)
{
    struct node *it = world_first_node(sim, message->to);
    const uint64_t clock = (it->clock > message->clock ? it->clock : message->clock) + 1;
    open_step(sim, message->to, it);
    sim->self.clock = clock;
    assert(message->kind < sim->kinds); /* a kind that the algorithm's table does not have */
    sim->run.count[message->kind] += message->to != message->from;
    if (asks && sim->asks && !can_be(sim, message))
        return;
    kinds[message->kind].receive(&sim->self, message);
    if (sim->self.effects) {
        apply_effects(sim, it);
        sim->self.effects = 0;
    }
    it->clock = sim->self.clock & CV_CLOCK_MASK;
}

static bool interrupted(const struct cv_sim *sim)
{
    return sim->out_of_memory ||
           (sim->options.interrupted && __atomic_load_n(sim->options.interrupted, __ATOMIC_RELAXED));
}

/*
 * If every message takes one tick, the next tick's list is the outbox of all steps of this tick: they write their
 * messages into the calendar.
 */
static void use_list(struct cv_sim *sim, const struct calendar_list *list)
{
    struct cv_self *me = &sim->self;
    me->outbox = list->write;
    me->room = (size_t)(list->limit - list->write);
    me->used = 0;
}

/* The step had more messages than the list had room for, so it ended in the larger outbox. */
static __attribute__((noinline)) void leave_list(struct cv_sim *sim, const struct calendar_list *list)
{
    calendar_close(&sim->mail, sim->now + 1, sim->step_at);
    quick_send(sim, true);
    use_list(sim, list);
}

static inline __attribute__((always_inline)) void quick_part(struct cv_sim *sim, struct calendar_part part,
                                                             const struct calendar_list *list, bool unit, bool asks)
{
    const struct cv_kind *kinds = sim->algorithm->kinds;
    struct cv_self *me = &sim->self;
    /* The only message of a tick is handled at once: it is too late to fetch its receiver. */
    const bool alone = part.end - part.at <= (ptrdiff_t)(2 * sizeof(struct cv_message));
    const unsigned char *ahead = alone ? part.end : part.at;
    for (int i = 0; i < AHEAD && ahead < part.end; i++)
        ahead += expect(sim, (const void *)ahead, unit);
    while (part.at < part.end) {
        const struct cv_message *message = (const void *)part.at;
        if (ahead < part.end)
            ahead += expect(sim, (const void *)ahead, unit);
        part.at += cv_message_bytes(message);
        if (unit) {
            const unsigned char *outbox = me->outbox;
            sim->step_at = me->used;
            quick_step(sim, kinds, message, asks);
            if (me->outbox != outbox)
                leave_list(sim, list);
        } else {
            quick_step(sim, kinds, message, asks);
            quick_send(sim, false);
            me->used = 0;
        }
    }
}

/*
 * Goes on to the next tick with messages, unless something else comes first. In plain runs nothing is planned, so that
 * can only be timers, the end, and now and then a report of progress.
 */
static inline bool go_on(struct cv_sim *sim, bool unit, size_t handled)
{
    if (!sim->mail.pending || sim->alarms.pending || handled > BYTES_AT_A_STRETCH || interrupted(sim))
        return false;
    const uint64_t next = unit               ? sim->now + 1
                          : sim->mail.direct ? calendar_next_direct(&sim->mail)
                                             : calendar_next(&sim->mail);
    if (next > sim->scenario->until)
        return false;
    if (!sim->mail.direct && calendar_advance(&sim->mail, next))
        sim->out_of_memory = true;
    sim->now = sim->mail.now = sim->alarms.now = next;
    return true;
}

static inline __attribute__((always_inline)) void quick_mail(struct cv_sim *sim, bool unit, bool asks)
{
    size_t handled = 0;
    use_outbox(sim);
    do {
        const struct calendar_list *list = unit ? calendar_open(&sim->mail, sim->now + 1) : NULL;
        if (unit)
            use_list(sim, list);
        for (struct calendar_part part = calendar_take(&sim->mail); part.at;
             part = calendar_take_next(&sim->mail, part)) {
            handled += (size_t)(part.end - part.at);
            if (part.at < part.end)
                sim->run.time = sim->now;
            quick_part(sim, part, list, unit, asks);
        }
        if (unit)
            calendar_close(&sim->mail, sim->now + 1, sim->self.used);
    } while (go_on(sim, unit, handled));
}

static __attribute__((noinline)) void quick_mail_unit(struct cv_sim *sim)
{
    quick_mail(sim, true, false);
}

static __attribute__((noinline)) void quick_mail_random(struct cv_sim *sim)
{
    quick_mail(sim, false, false);
}

static __attribute__((noinline)) void quick_mail_asking(struct cv_sim *sim)
{
    if (sim->scenario->delay.model == CV_DELAY_UNIT)
        quick_mail(sim, true, true);
    else
        quick_mail(sim, false, true);
}

static void fire_alarms(struct cv_sim *sim)
{
    for (struct calendar_part part = calendar_take(&sim->alarms); part.at;
         part = calendar_take_next(&sim->alarms, part)) {
        for (; part.at < part.end; part.at += sizeof(struct alarm)) {
            const struct alarm alarm = *(const struct alarm *)(const void *)part.at;
            if (alarm.node == CV_NOBODY) {
                transport_alarm(sim, &alarm);
                continue;
            }
            if (load_alarm(sim, &alarm))
                continue;
            const uint32_t timer = alarm.timer % CV_MAX_TIMERS;
            sim->name = alarm.timer / CV_MAX_TIMERS;
            uint64_t *due = world_timer(sim, alarm.node, timer);
            if (*due != alarm.due)
                continue;
            *due = 0;
            sim->timers_active--;
            struct cv_event event = {
                .type = CV_EVENT_TIMEOUT, .peer = CV_NOBODY, .detail = timer, .text = sim->algorithm->timers[timer]};
            sim->algorithm->timeout(world_begin(sim, alarm.node, &event), timer);
            world_finish(sim);
        }
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

/* No message is under way and no timer is armed: time leaps to the next planned event. */
static bool idle(const struct cv_sim *sim)
{
    return !sim->mail.pending && !sim->timers_active && !transport_busy(sim) && !(sim->load && sim->load->planned);
}

static uint64_t next_tick(const struct cv_sim *sim, uint64_t planned)
{
    if (idle(sim))
        return planned;
    const uint64_t mail = calendar_next(&sim->mail), alarm = calendar_next(&sim->alarms);
    const uint64_t next = mail < alarm ? mail : alarm;
    return next < planned ? next : planned;
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
    else if (sim->asks)
        quick_mail_asking(sim);
    else if (unit)
        quick_mail_unit(sim);
    else
        quick_mail_random(sim);
}

static enum cv_ending play(struct cv_sim *sim)
{
    const bool unit = sim->scenario->delay.model == CV_DELAY_UNIT;
    if (sim->options.observer.state)
        tell_first_states(sim);
    faults_happen(sim);
    if (sim->load)
        views_begin(sim);
    else
        call_elections(sim);
    for (uint64_t stretch = 0;; stretch++) {
        if (interrupted(sim))
            return CV_INTERRUPTED;
        if (sim->options.progress && (sim->plain || stretch % TICKS_BETWEEN_LOOKS == 0))
            tell_progress(sim);
        const uint64_t planned = faults_next(sim);
        if (planned == CV_NEVER && (idle(sim) || (sim->algorithm->hints.perpetual && load_over(sim))))
            return CV_QUIET;
        const uint64_t next = next_tick(sim, planned);
        if (next > sim->scenario->until)
            return CV_OUT_OF_TIME;
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

static void count_list(struct cv_sim *sim, struct calendar_list *list, size_t ahead)
{
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        while (part.at < part.end) {
            const struct cv_message *message = (const void *)(part.at + ahead);
            part.at += ahead + cv_message_bytes(message);
            sim->run.count[message->kind] += message->to != message->from;
        }
}

/* The quick way counts messages as they arrive. This counts those that are still under way. */
static void count_rest(struct cv_sim *sim)
{
    for (uint64_t slot = 0; sim->mail.pending && slot <= sim->mail.mask; slot++)
        count_list(sim, &sim->mail.near[slot], 0);
    for (uint32_t block = 0; sim->mail.pending && sim->mail.far && block < CALENDAR_BLOCKS; block++)
        count_list(sim, &sim->mail.far[block], CALENDAR_FAR_HEAD);
}

static struct cv_standing standing(const void *runtime, cv_node node)
{
    const struct cv_sim *sim = runtime;
    const struct node *it = world_node(runtime, node);
    struct cv_standing standing = {.leader = sim->leaders[node],
                                   .alive = it->flags & NODE_ALIVE,
                                   .knows = it->flags & NODE_KNOWS,
                                   .active = it->flags & NODE_ACTIVE,
                                   .recalled = it->flags & NODE_RECALLED};
    rounds_stand(sim, node, &standing);
    return standing;
}

/* `decided` counts only if all live nodes know a leader; dead nodes do not matter. */
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
    struct cv_complaint unheard;
    if (*sim->failure)
        return cv_complain(sim->options.complaint ? sim->options.complaint : &unheard, "%s: a node cannot begin: %s",
                           sim->algorithm->name, sim->failure);
    struct cv_failure_listener *former = failures_listen(sim);
    sim->run.ending = play(sim);
    failures_end(sim, former);
    if (sim->out_of_memory)
        return CV_ENOMEM;
    if (*sim->failure)
        sim->run.ending = CV_FAILED;
    sim->run.now = sim->now;
    sim->run.scenario = sim->scenario;
    sim->run.runtime = sim;
    sim->run.checked = (sim->algorithm->invariant && !sim->plain) || sim->run.broken;
    sim->run.standing = standing;
    if (sim->plain)
        count_rest(sim);
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        *(sim->algorithm->hints.preparing && kind >= sim->algorithm->hints.preparing ? &sim->run.preparing
                                                                                     : &sim->run.total) +=
            sim->run.count[kind];
    rounds_tell(sim);
    calendar_free(&sim->mail); /* the judges need memory, too, and most of a large run's memory is here */
    settle_decided(sim);
    if (sim->part)
        faults_parts(sim, sim->part);
    sim->run.component = sim->part;
    sim->run.entries = sim->load ? sim->load->entries : NULL;
    sim->run.entry_count = sim->load ? sim->load->entry_count : 0;
    *run = sim->run;
    return 0;
}
