// SPDX-License-Identifier: MIT
#include "explore/explored_step.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/step/handlers.h"
#include "core/scenario/validity.h"
#include "explore/explored_judge.h"
#include "explore/explored_network.h"
#include "explore/explored_requests.h"
#include "explore/explored_rounds.h"
#include "explore/explored_views.h"
#include "explore/explored_way.h"

static struct explored *world_of(const struct cv_self *me)
{
    return (struct explored *)(uintptr_t)((const char *)me - offsetof(struct explored, self));
}

/* ---- the questions that a handler may ask ---- */

static uint32_t choose(struct cv_self *me, uint32_t ways)
{
    struct explored *world = world_of(me);
    if (world->chosen == CV_MOST_CHOICES)
        return 0;
    const uint32_t at = world->chosen++;
    uint32_t took = 0;
    const bool again = at && world->chooser == me->node && world->chosen_clock == me->clock;
    world->chosen_at_clock = again ? world->chosen_at_clock + 1 : 0;
    world->chooser = me->node;
    world->chosen_clock = me->clock;
    if (world->choosing == CHOICES_DRAWN) {
        const uint64_t clock = me->clock - explored_node(world, me->node)->ahead;
        took = cv_arrival_choice(&world->choices, me->node, 0, clock, world->chosen_at_clock, ways);
    } else if (world->choosing == CHOICES_NUMBERED) {
        took = (uint32_t)(world->choice_number % ways);
        world->choice_number /= ways;
    } else if (at < world->decision.choice_count && world->decision.choices[at] < ways) {
        took = world->decision.choices[at];
    }
    world->ways[at] = ways;
    world->took[at] = took;
    return took;
}

/*
 * In the simulator a node that is back has made itself known, whatever the detector reports later. In the checker the
 * others suspect it until then, so it cannot replay a story in which that made a difference.
 */
static bool is_suspect(struct explored *world, cv_node node, cv_node other)
{
    const struct cv_scenario *scenario = world->scenario;
    if (!explored_has(world, node, SET_SUSPECTS, other))
        return false;
    if (!explored_has(world, node, SET_BACK, other) || world->graph || scenario->partition_count || world->present.cuts)
        return true;
    world->present.unlike_checker = true;
    return false;
}

static bool present(const struct cv_self *me, cv_node node)
{
    struct explored *world = world_of(me);
    return explored_alive(world, node) && !is_suspect(world, me->node, node);
}

static bool suspected(const struct cv_self *me, cv_id id)
{
    struct explored *world = world_of(me);
    const cv_node node = cv_index_find(&world->index, id);
    return node != CV_NOBODY && node != me->node && is_suspect(world, me->node, node);
}

/* Without memory the step overwrites its outbox; the story ends right after it. */
static void grow(struct cv_self *me, size_t bytes)
{
    struct explored *world = world_of(me);
    size_t room = world->outbox_room;
    while (room - me->used < bytes)
        room *= 2;
    unsigned char *outbox = realloc(world->outbox, room);
    if (!outbox) {
        world->out_of_memory = true;
        me->used = 0;
        return;
    }
    me->outbox = world->outbox = outbox;
    me->room = world->outbox_room = room;
}

static const struct cv_runtime runtime = {.choose = choose, .present = present, .suspected = suspected, .grow = grow};

/* ---- entries ---- */

static struct cv_entry *new_entry(struct explored *world, cv_node node)
{
    if (!world->recording)
        return NULL;
    world->entries =
        explored_room(world, world->entries, world->present.entries, &world->entry_room, sizeof *world->entries);
    if (world->out_of_memory)
        return NULL;
    struct cv_entry *entry = &world->entries[world->present.entries];
    *entry = (struct cv_entry){.node = node, .requested = explored_time(world), .entered = CV_NEVER, .left = CV_NEVER};
    explored_node(world, node)->entry = world->present.entries++;
    return entry;
}

/* A node that has not asked, as one that is back and has forgotten it, has no client that would leave. */
static void enter(struct explored *world, cv_node node, bool waited)
{
    struct explored_node *it = explored_node(world, node);
    const uint64_t fence = world->self.fence;
    it->leave_due = CV_NEVER;
    if (waited)
        explored_client_enters(world, node);
    it->fence = fence;
    if (fence > world->present.highest_fence)
        world->present.highest_fence = fence;
    if (!world->recording)
        return;
    const bool asked = it->entry != NO_OPEN_ENTRY && world->entries[it->entry].entered == CV_NEVER;
    struct cv_entry *entry = asked ? &world->entries[it->entry] : new_entry(world, node);
    if (asked)
        explored_save_entry(world, it->entry);
    if (!entry)
        return;
    entry->entered = explored_time(world);
    entry->fence = fence;
}

void explored_end_entry(struct explored *world, cv_node node, bool died)
{
    struct explored_node *it = explored_node(world, node);
    if (!world->recording || it->entry == NO_OPEN_ENTRY)
        return;
    explored_save_entry(world, it->entry);
    struct cv_entry *entry = &world->entries[it->entry];
    entry->died = died;
    if (entry->entered != CV_NEVER)
        entry->left = explored_time(world);
    it->entry = NO_OPEN_ENTRY;
    if (!died)
        world->present.last_exit = explored_time(world);
}

/* ---- messages ---- */

/* How long it takes, as the simulator draws it. */
static uint64_t delay_of(const struct explored *world, const struct cv_message *message, uint64_t drawn)
{
    const struct cv_scenario *scenario = world->scenario;
    for (uint32_t i = scenario->lag_count; i-- > 0;) {
        const struct cv_lag *lag = &scenario->lags[i];
        if ((lag->pair.one == CV_NOBODY || lag->pair.one == message->from) &&
            (lag->pair.other == CV_NOBODY || lag->pair.other == message->to) &&
            (lag->kind == CV_MAX_KINDS || lag->kind == message->kind))
            return lag->ticks;
    }
    return cv_arrival_delay(&scenario->delay, drawn);
}

/* When it is due: not before an earlier one of its link. With a serial link, it sets out when that one has arrived. */
static uint64_t due_of(struct explored *world, const struct cv_message *message, uint32_t hops)
{
    const struct cv_scenario *scenario = world->scenario;
    const bool plain = scenario->delay.model == CV_DELAY_UNIT && !scenario->lag_count && !scenario->serial;
    uint64_t latest = 0;
    for (const struct explored_message *it = world->present.last; it && !plain; it = it->before)
        if (it->content.from == message->from && it->content.to == message->to && it->due > latest)
            latest = it->due;
    /* Those that were lost on the way with a node or a view count, too. */
    for (uint64_t i = !plain && world->present.crashes ? world->message_count - 1 : 0; i-- > 0;) {
        const struct explored_message *it = world->messages[i];
        if (it->content.from == message->from && it->content.to == message->to && it->due > latest)
            latest = it->due;
    }
    uint64_t due = world->present.now;
    if (scenario->serial && latest > due)
        due = latest;
    const uint64_t clock = message->clock - explored_node(world, message->from)->ahead;
    uint64_t drawn = cv_chance_draw(&world->delays, cv_arrival_channel(message->from, message->to, 0), clock);
    for (uint32_t hop = 0; hop < hops; hop++) {
        due += delay_of(world, message, drawn);
        drawn = cv_chance_again(drawn);
    }
    return !scenario->unordered && latest > due ? latest : due;
}

static void send_message(struct explored *world, const struct cv_message *content)
{
    struct explored_message *message = explored_new_message(world, content);
    if (!message)
        return;
    message->ahead = explored_node(world, content->from)->ahead;
    if (content->to != content->from) {
        const uint32_t preparing = world->algorithm->hints.preparing;
        explored_save(world, &world->counts[content->kind], sizeof *world->counts);
        world->counts[content->kind]++;
        ++*(preparing && content->kind >= preparing ? &world->present.preparing : &world->present.total);
    }
    explored_tell(
        world,
        (struct cv_event){.type = CV_EVENT_SEND, .node = content->from, .peer = content->to, .clock = content->clock},
        message);
    const uint32_t hops = explored_hops(world, content->from, content->to);
    if (hops)
        message->due = due_of(world, content, hops);
    if (hops && explored_alive(world, content->to) && !explored_is(world, content->to, EXPLORED_OUTSIDE))
        explored_link(world, message, NULL);
    else
        explored_tell(world, (struct cv_event){.type = CV_EVENT_LOST, .node = content->to, .peer = content->from},
                      message);
}

/* Does the scenario have the node crash at this message? */
static bool crashes_at(struct explored *world, const struct cv_message *message, enum cv_moment moment)
{
    for (uint32_t i = 0; i < world->scenario->crash_count; i++) {
        const struct cv_crash *crash = &world->scenario->crashes[i];
        if (crash->moment != moment || crash->node != message->from || crash->kind != message->kind ||
            world->crash_done[i])
            continue;
        explored_save(world, &world->crash_done[i], sizeof *world->crash_done);
        world->crash_done[i] = true;
        return true;
    }
    return false;
}

/* Sends what is in the outbox. If the node crashes before it has sent all, the decision says after how many. */
static void send_all(struct explored *world)
{
    const struct cv_self *me = &world->self;
    uint32_t sent = 0;
    for (size_t at = 0; at < me->used && sent < world->decision.sent; sent++) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        if (crashes_at(world, message, CV_BEFORE)) {
            world->decision.sent = sent;
            return;
        }
        send_message(world, message);
        if (crashes_at(world, message, CV_AFTER))
            world->decision.sent = sent + 1;
    }
}

/* ---- effects ---- */

static void tell_effect(struct explored *world, uint32_t bit, enum cv_event_type type, uint64_t detail,
                        const char *text)
{
    const struct cv_self *me = &world->self;
    if (me->effects & bit)
        explored_tell(world,
                      (struct cv_event){.type = type,
                                        .node = me->node,
                                        .peer = type == CV_EVENT_RESULT ? me->via : CV_NOBODY,
                                        .detail = detail,
                                        .text = text},
                      NULL);
}

static void tell_effects(struct explored *world)
{
    const struct cv_self *me = &world->self;
    tell_effect(world, CV_DID_RESULT, CV_EVENT_RESULT, me->result, NULL);
    tell_effect(world, CV_DID_PULSE, CV_EVENT_PULSE, me->round, NULL);
    tell_effect(world, CV_DID_NOTE, CV_EVENT_NOTE, 0, me->note);
    tell_effect(world, CV_DID_CALL, CV_EVENT_CALL, 0, NULL);
    tell_effect(world, CV_DID_YIELD, CV_EVENT_YIELD, 0, NULL);
    tell_effect(world, CV_DID_FORGET, CV_EVENT_FORGET, 0, NULL);
    tell_effect(world, CV_DID_ELECT, CV_EVENT_ELECTED, me->elected, NULL);
    tell_effect(world, CV_DID_ENTER, CV_EVENT_ENTER, me->fence, NULL);
}

static void set_flag(struct explored_node *it, enum explored_flag flag, bool on)
{
    it->flags = on ? it->flags | flag : it->flags & ~(uint32_t)flag;
}

static void set_timers(struct explored *world, struct explored_node *it)
{
    const struct cv_self *me = &world->self;
    for (uint32_t timer = 0; timer < world->timers; timer++) {
        if ((me->timers_armed | me->timers_cancelled) & 1u << timer)
            it->timers[timer] = 0;
        if (me->timers_armed & 1u << timer) {
            it->timers[timer] = world->present.now + (me->timer_delay[timer] ? me->timer_delay[timer] : 1) + 1;
            if (it->timer_alarms[timer] != it->timers[timer])
                it->timer_orders[timer] = ++world->present.order;
            it->timer_alarms[timer] = it->timers[timer];
        }
    }
}

/* Writes what the step recorded into the node. */
static void apply_effects(struct explored *world)
{
    const struct cv_self *me = &world->self;
    struct explored_node *it = explored_node(world, me->node);
    const uint32_t did = me->effects;
    set_flag(it, EXPLORED_KNOWS, me->knows);
    set_flag(it, EXPLORED_CALLING, me->calling);
    it->leader = me->knows ? me->elected : 0;
    if (did & CV_DID_TIMER)
        set_timers(world, it);
    if (did & CV_DID_RECALL)
        set_flag(it, EXPLORED_RECALLED, true);
    world->present.calls += (did & CV_DID_CALL) != 0;
    if (did & CV_DID_ENTER) {
        const bool waited = it->flags & EXPLORED_WAITING;
        set_flag(it, EXPLORED_WAITING, false);
        set_flag(it, EXPLORED_INSIDE, true);
        enter(world, me->node, waited);
    }
    if (did & CV_DID_PULSE)
        explored_pulse(world);
    if (did & CV_DID_RESULT) {
        it->result = me->result;
        it->via = me->via;
        it->updates++;
    }
    if (did || me->used)
        set_flag(it, EXPLORED_FRESH, false);
}

/* ---- the handler ---- */

static struct cv_self *open_step(struct explored *world, cv_node node)
{
    struct cv_self *me = &world->self;
    const struct explored_node *it = explored_node(world, node);
    me->group = &world->group;
    me->runtime = &runtime;
    me->outbox = world->outbox;
    me->room = world->outbox_room;
    me->state = explored_state(world, node);
    me->node = node;
    me->clock = it->clock;
    me->knows = (it->flags & EXPLORED_KNOWS) != 0;
    me->calling = (it->flags & EXPLORED_CALLING) != 0;
    me->elected = it->leader;
    me->used = 0;
    me->effects = 0;
    me->timers_armed = me->timers_cancelled = 0;
    me->region = it->flags & EXPLORED_INSIDE ? CV_CRITICAL : it->flags & EXPLORED_WAITING ? CV_TRYING : CV_REMAINDER;
    return me;
}

bool explored_keeps_assumptions(const struct explored *world)
{
    const struct explored_present *now = &world->present;
    return cv_scenario_keeps_assumptions(world->scenario) && !now->cuts && !now->recoveries && !now->losses &&
           (!(now->crashes + now->mistakes) || !(world->algorithm->assumes & CV_NO_CRASH));
}

/* The checker's clocks, and the simulator's: see explored_is_heard(). */
static void join_clocks(struct explored_node *it, const struct explored_message *message)
{
    const uint64_t here = it->clock - it->ahead, there = message->content.clock - message->ahead;
    if (message->content.clock > it->clock)
        it->clock = message->content.clock;
    it->ahead = it->clock - (there > here ? there : here);
}

/* What an event means outside the handler, before that runs. */
static void prepare(struct explored *world, const struct explored_event *event)
{
    struct explored_node *it = explored_node(world, event->node);
    uint32_t *suspects = explored_set(world, event->node, SET_SUSPECTS);
    uint32_t *unheard = explored_set(world, event->node, SET_UNHEARD);
    uint32_t *back = explored_set(world, event->node, SET_BACK);
    const uint32_t word = event->peer / 32, bit = 1u << event->peer % 32;
    switch ((enum explored_type)event->type) {
    case EVENT_START:
        set_flag(it, EXPLORED_FRESH, false);
        set_flag(it, EXPLORED_STARTED, true);
        set_flag(it, EXPLORED_CALLER, true);
        break;
    case EVENT_REQUEST:
        set_flag(it, EXPLORED_WAITING, true);
        explored_client_requests(world, event->node);
        new_entry(world, event->node);
        break;
    case EVENT_LEAVE:
        set_flag(it, EXPLORED_INSIDE, false);
        explored_end_entry(world, event->node, false);
        explored_client_leaves(world, event->node);
        break;
    case EVENT_DELIVER:
        set_flag(it, EXPLORED_FRESH, false);
        explored_unlink(world, event->message);
        join_clocks(it, event->message);
        break;
    case EVENT_TIMEOUT:
        it->timers[event->timer] = 0;
        break;
    case EVENT_RECOVER:
        explored_come_back(world, event->node);
        break;
    case EVENT_TRUST:
        back[word] &= ~bit;
        suspects[word] &= ~bit;
        break;
    default:
        suspects[word] |= bit;
        back[word] |= unheard[word] & bit;
        unheard[word] &= ~bit;
        break;
    }
    it->clock = (it->clock + 1) & CV_CLOCK_MASK;
    it->ahead += !explored_is_heard(world, event);
}

static void announce(struct explored *world, const struct explored_event *event)
{
    static const enum cv_event_type types[EVENT_TYPES] = {
        [EVENT_START] = CV_EVENT_START,     [EVENT_REQUEST] = CV_EVENT_REQUEST, [EVENT_LEAVE] = CV_EVENT_LEAVE,
        [EVENT_DELIVER] = CV_EVENT_RECEIVE, [EVENT_TIMEOUT] = CV_EVENT_TIMEOUT, [EVENT_TELL] = CV_EVENT_SUSPECT,
        [EVENT_SUSPECT] = CV_EVENT_SUSPECT, [EVENT_RECOVER] = CV_EVENT_RECOVER, [EVENT_TRUST] = CV_EVENT_TRUST,
    };
    const bool timeout = event->type == EVENT_TIMEOUT;
    explored_tell(world,
                  (struct cv_event){.type = types[event->type],
                                    .node = event->node,
                                    .peer = event->peer,
                                    .detail = timeout ? event->timer : 0,
                                    .text = timeout ? world->algorithm->timers[event->timer] : NULL},
                  event->message);
}

static void note_broken(struct explored *world, cv_node node)
{
    if (!world->complaint || world->present.broken)
        return;
    world->present.broken = world->complaint;
    world->present.broken_node = node;
    world->present.broken_step = explored_time(world);
}

/* After the handler: carries out the effects. */
static void finish(struct explored *world)
{
    struct cv_self *me = &world->self;
    const cv_node node = me->node;
    world->taking = false;
    world->sends = handler_sends(me);
    if (world->received) {
        world->present.delivered = explored_time(world);
        world->present.arrived = world->present.now;
    }
    apply_effects(world);
    tell_effects(world);
    send_all(world);
    explored_node(world, node)->clock = me->clock & CV_CLOCK_MASK;
    if (world->decision.type == CV_DECIDE_REQUEST && world->recording && world->present.entries)
        world->entries[world->present.entries - 1].clock = me->clock;
    note_broken(world, node);
    explored_judge_step(world, node);
    if (world->decision.sent != CV_WHOLE)
        explored_crash(world, node, world->decision.missed);
    explored_judge_story(world);
    if (world->recording) {
        struct explored_step *step = &world->steps[world->step_count - 1];
        const uint64_t index = explored_way_index(world, step->index);
        step->vague = index == NO_WAY;
        step->index = step->vague ? step->index : index;
        step->decision = world->decision;
        step->decision.choice_count = world->chosen;
        memcpy(step->decision.choices, world->took, sizeof world->took);
    }
}

void explored_fail(struct explored *world, const char *why)
{
    if (!world->taking)
        return;
    world->self.used = world->self.effects = 0;
    if (!world->present.broken)
        snprintf(world->broken_text, sizeof world->broken_text, "%s", why);
    world->complaint = world->broken_text;
    finish(world);
}

/*
 * A message that was duplicated, or comes after one that was lost, may be one that no node sends then. A real node
 * refuses it, and so does this one: a handler may rely on it. That is no mistake of the algorithm's.
 */
static void call(struct explored *world)
{
    const struct cv_decision *decision = &world->decision;
    const bool kept = explored_keeps_assumptions(world);
    struct handler_call called = {.algorithm = world->algorithm,
                                  .me = &world->self,
                                  .type = decision->type,
                                  .argument = decision->type == CV_DECIDE_TIMEOUT ? decision->which : decision->peer,
                                  .message = world->received ? &world->received->content : NULL,
                                  .kinds = world->received && (kept || world->present.losses) ? world->kinds : 0};
    world->taking = true;
    if (!cv_trap_call(handler_call, &called, &world->failure)) {
        explored_fail(world, world->failure.text);
        return;
    }
    world->complaint = called.refused && !kept ? NULL : called.broken;
    finish(world);
}

bool explored_act(struct explored *world, cv_node node, void (*handler)(void *world), enum cv_event_type cause)
{
    struct cv_self *me = open_step(world, node);
    world->complaint = NULL;
    if (!cv_trap_call(handler, world, &world->failure)) {
        me->used = me->effects = 0;
        if (!world->present.broken)
            snprintf(world->broken_text, sizeof world->broken_text, "%s", world->failure.text);
        world->complaint = world->broken_text;
    }
    const bool acted = me->used || me->effects;
    if (acted && cause != CV_EVENT_NOTE)
        explored_tell(world, (struct cv_event){.type = cause, .node = node, .peer = CV_NOBODY}, NULL);
    apply_effects(world);
    tell_effects(world);
    send_all(world);
    explored_node(world, node)->clock = me->clock & CV_CLOCK_MASK;
    note_broken(world, node);
    if (world->decision.sent != CV_WHOLE) {
        explored_crash(world, node, false);
        world->decision.sent = CV_WHOLE;
    }
    return acted;
}

/* ---- steps ---- */

static void begin_step(struct explored *world, const struct explored_event *event)
{
    const uint64_t mark = world->undo_used;
    explored_save(world, &world->present, sizeof world->present);
    if (world->recording) {
        world->steps = explored_room(world, world->steps, world->step_count, &world->step_room, sizeof *world->steps);
        if (world->out_of_memory)
            return;
        world->steps[world->step_count] = (struct explored_step){.index = event->index,
                                                                 .undo = mark,
                                                                 .told = world->told_count,
                                                                 .type = event->type,
                                                                 .decision = world->decision,
                                                                 .partition = event->partition,
                                                                 .planned = event->planned,
                                                                 .serial = event->message ? event->message->serial : 0};
    }
    world->step_count++;
    if (event->due > world->present.now && event->due != CV_NEVER)
        world->present.now = event->due;
    if (world->recording)
        world->steps[world->step_count - 1].time = world->present.now;
    world->present.planned_done += event->planned;
}

/* Faults between steps call none. */
bool explored_calls(const struct explored_event *event)
{
    return event->node != CV_NOBODY && event->type != EVENT_DROP && event->type != EVENT_DUPLICATE &&
           event->type != EVENT_CRASH && event->type != EVENT_MISS && event->type != EVENT_CUT &&
           event->type != EVENT_HEAL && event->type != EVENT_VIEW;
}

static void take_fault(struct explored *world, const struct explored_event *event)
{
    switch ((enum explored_type)event->type) {
    case EVENT_DROP:
        explored_drop(world, event->message);
        break;
    case EVENT_DUPLICATE:
        explored_duplicate(world, event->message);
        break;
    case EVENT_CRASH:
    case EVENT_MISS:
        explored_crash(world, event->node, event->type == EVENT_MISS);
        break;
    case EVENT_START:
        explored_view_start(world);
        break;
    case EVENT_VIEW:
        explored_view_begin(world, event->peer);
        break;
    default:
        if (event->partition == UINT32_MAX)
            explored_cut_or_heal(world, event->node, event->peer);
        else
            explored_partition(world, event->partition, event->type == EVENT_CUT);
        break;
    }
    explored_judge_story(world);
}

void explored_take(struct explored *world, const struct explored_event *event, const struct explored_script *script)
{
    world->decision = explored_decision(world, event);
    world->decision.choice_count = script->choice_count;
    memcpy(world->decision.choices, script->choices, sizeof script->choices);
    world->decision.sent = script->sent;
    world->decision.missed = script->missed;
    world->choosing = script->choosing;
    world->choice_number = script->number;
    world->script_sent = script->sent;
    world->chosen = world->sends = 0;
    world->complaint = NULL;
    world->received = event->type == EVENT_DELIVER ? event->message : NULL;
    begin_step(world, event);
    if (world->out_of_memory)
        return;
    if (!explored_calls(event)) {
        take_fault(world, event);
        return;
    }
    explored_save_node(world, event->node);
    world->present.mistakes += event->type == EVENT_SUSPECT;
    if (event->type == EVENT_SUSPECT)
        explored_network_changed(world);
    prepare(world, event);
    announce(world, event);
    open_step(world, event->node);
    if (!world->out_of_memory)
        call(world);
}

/* ---- the beginning ---- */

static void call_beginning(void *context)
{
    struct explored *world = context;
    if (world->algorithm->init)
        world->algorithm->init(&world->self);
}

static void call_room(void *context)
{
    struct explored *world = context;
    if (world->algorithm->adopt)
        world->algorithm->adopt(&world->self, CV_NOBODY, 0);
}

static int refuse(const struct explored *world, struct cv_complaint *complaint)
{
    return cv_complain(complaint, "%s: cannot begin: %s", world->algorithm->name, world->failure.text);
}

int explored_open(struct explored *world, struct cv_complaint *complaint)
{
    world->decision.sent = CV_WHOLE;
    world->failure.scenario = world->scenario;
    for (cv_node node = 0; node < world->nodes; node++) {
        struct explored_node *it = explored_node(world, node);
        it->flags = EXPLORED_ALIVE | (world->mutex ? 0 : EXPLORED_FRESH);
        it->entry = NO_OPEN_ENTRY;
        it->via = CV_NOBODY;
        it->clock = world->scenario->clocks ? world->scenario->clocks[node] : 0;
        world->present.alive++;
        open_step(world, node);
        if (!cv_trap_call(call_beginning, world, &world->failure))
            return refuse(world, complaint);
    }
    for (cv_node node = 0; node < world->nodes; node++)
        if (cv_scenario_dead(world->scenario, node))
            explored_crash(world, node, true);
    for (cv_node node = 0; node < world->nodes; node++)
        if (explored_alive(world, node))
            explored_learn_reports(world, node);
    if (explored_views_open(world))
        return CV_ENOMEM;
    explored_clients_open(world);
    world->present.unstarted = world->mutex && world->algorithm->start;
    for (cv_node node = 0; world->mutex && node < world->nodes; node++) {
        if (!explored_alive(world, node))
            continue;
        open_step(world, node);
        if (!cv_trap_call(call_room, world, &world->failure))
            return refuse(world, complaint);
        apply_effects(world);
        send_all(world);
        explored_node(world, node)->clock = world->self.clock & CV_CLOCK_MASK;
    }
    return world->out_of_memory ? CV_ENOMEM : 0;
}
