// SPDX-License-Identifier: MIT
/*
 * The loop. At each tick the planned faults happen first, then the nodes receive the messages that are due (see
 * arrivals.h), then the timers that are due fire, node by node. A step is one handler call; its effects are carried out
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
#include "sim/alarms.h"
#include "sim/failures.h"
#include "sim/faults.h"
#include "sim/network.h"
#include "sim/quick.h"
#include "sim/repeat.h"
#include "sim/rounds.h"
#include "sim/transport.h"
#include "sim/view_changes.h"
#include "sim/workload.h"
#include "sim/world.h"

#define TICKS_BETWEEN_LOOKS 256 /* ticks between two reports of progress, on the careful way */

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

struct cv_self *world_begin(struct cv_sim *sim, cv_node node, struct cv_event *event)
{
    struct node *it = world_node(sim, node);
    sim->chooser = CV_NOBODY; /* without an event the clock stands still: choices are counted from 0 again */
    if (event)
        it->clock = (it->clock + 1) & CV_CLOCK_MASK;
    world_use_outbox(sim);
    if (sim->direct)
        quick_begin(sim);
    world_open(sim, node, it);
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

void world_apply(struct cv_sim *sim, struct node *it)
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

bool world_can_be(struct cv_sim *sim, const struct cv_message *message)
{
    const char *why;
    sim->asks--;
    sim->self.region = load_region(sim, message->to);
    if (cv_message_validity(sim->algorithm, sim->kinds, &sim->self, message, &why) == CV_VALID)
        return true;
    note_broken(sim, why);
    return false;
}

void world_finish(struct cv_sim *sim)
{
    struct cv_self *me = &sim->self;
    const cv_node node = me->node;
    check_invariant(sim);
    if (me->effects)
        world_apply(sim, world_node(sim, node));
    if (sim->plain)
        quick_send(sim);
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
    world_use_outbox(sim);
    world_open(sim, message->to, it);
    if (sim->asks && !world_can_be(sim, message))
        return;
    sim->algorithm->kinds[message->kind].receive(&sim->self, message);
    sim->run.time = sim->now;
    world_finish(sim);
}

/* The messages of the tick, one after the other. No step sends one that is due in the same tick. */
static void careful_mail(struct cv_sim *sim)
{
    struct arrivals *arrivals = &sim->arrivals;
    if (!sim->mail.pending)
        return;
    if (arrivals_make_tick(arrivals, &sim->mail))
        sim->out_of_memory = true;
    for (size_t at = 0, end; at < arrivals->count && !sim->out_of_memory; at = end) {
        end = arrivals_group(arrivals, at);
        if (!end) {
            sim->out_of_memory = true;
            break;
        }
        for (size_t i = at; i < end; i++) {
            const struct cv_message *message = arrivals_message(arrivals, i);
            struct trailer trailer;
            memcpy(&trailer, (const unsigned char *)message + cv_message_bytes(message), sizeof trailer);
            if (transport_arrive(sim, message))
                continue;
            sim->name = trailer.name;
            world_deliver(sim, message, trailer.serial);
        }
    }
    calendar_drop(&sim->mail);
}

static void call_elections(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    const uint32_t count = scenario->everyone_calls ? sim->group.nodes : scenario->caller_count;
    for (uint32_t i = 0; i < count && sim->algorithm->start; i++) {
        const cv_node node = scenario->everyone_calls ? i : scenario->callers[i];
        if (!world_has(sim, node) || !world_alive(sim, node))
            continue;
        sim->algorithm->start(world_begin(sim, node, &(struct cv_event){.type = CV_EVENT_START, .peer = CV_NOBODY}));
        world_finish(sim);
    }
}

bool world_idle(const struct cv_sim *sim)
{
    return !sim->mail.pending && !sim->backward.pending && !sim->timers_active && !transport_busy(sim) &&
           !(sim->load && sim->load->planned);
}

uint64_t world_next_tick(const struct cv_sim *sim, uint64_t planned)
{
    if (world_idle(sim))
        return planned;
    const uint64_t alarm = calendar_next(&sim->alarms), backward = calendar_next(&sim->backward);
    uint64_t next = calendar_next(&sim->mail);
    next = alarm < next ? alarm : next;
    next = backward < next ? backward : next;
    return next < planned ? next : planned;
}

void world_tell_progress(const struct cv_sim *sim)
{
    uint64_t messages = 0;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        messages += sim->run.count[kind];
    sim->options.progress(sim->options.progress_context, sim->now, messages);
}

void world_begin_run(struct cv_sim *sim)
{
    sim->ascending = true;
    if (sim->load)
        views_begin(sim);
    else
        call_elections(sim);
}

void world_play_tick(struct cv_sim *sim, uint64_t next, uint64_t planned)
{
    sim->now = next;
    if (calendar_advance(&sim->mail, next) || calendar_advance(&sim->alarms, next) ||
        (sim->sided && calendar_advance(&sim->backward, next)))
        sim->out_of_memory = true;
    if (planned <= next)
        faults_happen(sim);
    if (sim->plain)
        quick_mail(sim);
    else
        careful_mail(sim);
    if (sim->alarms.pending)
        alarms_fire(sim);
}

static enum cv_ending play(struct cv_sim *sim)
{
    if (sim->options.observer.state)
        tell_first_states(sim);
    faults_happen(sim);
    world_begin_run(sim);
    for (uint64_t stretch = 0;; stretch++) {
        if (world_interrupted(sim))
            return CV_INTERRUPTED;
        if (sim->options.progress && (sim->plain || stretch % TICKS_BETWEEN_LOOKS == 0))
            world_tell_progress(sim);
        const uint64_t planned = faults_next(sim);
        if (planned == CV_NEVER && (world_idle(sim) || (sim->algorithm->hints.perpetual && load_over(sim))))
            return CV_QUIET;
        const uint64_t next = world_next_tick(sim, planned);
        if (next > sim->pause)
            return CV_OUT_OF_TIME;
        world_play_tick(sim, next, planned);
        if (sim->repeat && repeat_found(sim, &sim->run.period))
            return CV_REPEATS;
    }
}

static struct cv_standing standing(const void *runtime, cv_node node)
{
    const struct cv_sim *sim = runtime;
    const uint64_t flags = sim->last_flags ? sim->last_flags[node] : world_node(runtime, node)->flags;
    struct cv_standing standing = {.leader = sim->leaders[node],
                                   .alive = flags & NODE_ALIVE,
                                   .knows = flags & NODE_KNOWS,
                                   .active = flags & NODE_ACTIVE,
                                   .recalled = flags & NODE_RECALLED};
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

void world_settle(struct cv_sim *sim, struct cv_run *run)
{
    sim->run.now = sim->now;
    sim->run.scenario = sim->scenario;
    sim->run.runtime = sim;
    sim->run.checked = (sim->algorithm->invariant && !sim->plain) || sim->run.broken;
    sim->run.standing = standing;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        *(sim->algorithm->hints.preparing && kind >= sim->algorithm->hints.preparing ? &sim->run.preparing
                                                                                     : &sim->run.total) +=
            sim->run.count[kind];
    rounds_tell(sim);
    settle_decided(sim);
    if (sim->part)
        faults_parts(sim, sim->part);
    sim->run.component = sim->part;
    sim->run.entries = sim->load ? sim->load->entries : NULL;
    sim->run.entry_count = sim->load ? sim->load->entry_count : 0;
    *run = sim->run;
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
    if (sim->plain)
        quick_look_at_rest(sim, quick_count);
    if (load_sort_entries(sim))
        return CV_ENOMEM;
    calendar_free(&sim->mail); /* the judges need memory, too, and most of a large run's memory is here */
    world_settle(sim, run);
    return 0;
}
