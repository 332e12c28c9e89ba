// SPDX-License-Identifier: MIT
#include "check/step/runner.h"

#include <stdlib.h>

#include "check/step/handlers.h"

#define FIRST_OUTBOX_BYTES 4096u

static struct runner *runner_of(const struct cv_self *me)
{
    return (struct runner *)(uintptr_t)((const char *)me - offsetof(struct runner, self));
}

/* ---- the questions a handler may ask ---- */

static uint32_t choose(struct cv_self *me, uint32_t ways)
{
    struct runner *runner = runner_of(me);
    if (runner->chosen == CV_MOST_CHOICES)
        return 0;
    const uint32_t at = runner->chosen++;
    runner->ways[at] = ways;
    if (at >= runner->script_length)
        runner->script[at] = 0;
    return runner->script[at];
}

static bool present(const struct cv_self *me, cv_node node)
{
    const struct runner *runner = runner_of(me);
    return runner->alive & ~runner->node_state->suspects & 1u << node;
}

static bool suspected(const struct cv_self *me, cv_id id)
{
    const struct runner *runner = runner_of(me);
    const cv_node node = cv_index_find(&runner->setting->index, id);
    return node != CV_NOBODY && node != me->node && runner->node_state->suspects & 1u << node;
}

/* Without memory the step overwrites its outbox; the search ends right after the step. */
static void grow(struct cv_self *me, size_t bytes)
{
    struct runner *runner = runner_of(me);
    size_t room = runner->outbox_room;
    while (room - me->used < bytes)
        room *= 2;
    unsigned char *outbox = realloc(me->outbox, room);
    if (!outbox) {
        runner->out_of_memory = true;
        me->used = 0;
        return;
    }
    me->outbox = outbox;
    me->room = runner->outbox_room = room;
}

static const struct cv_runtime runtime = {.choose = choose, .present = present, .suspected = suspected, .grow = grow};

int runner_init(struct runner *runner, const struct setting *setting)
{
    *runner =
        (struct runner){.setting = setting, .outbox_room = FIRST_OUTBOX_BYTES, .failure.scenario = setting->scenario};
    runner->self.group = &setting->group;
    runner->self.runtime = &runtime;
    runner->self.outbox = malloc(FIRST_OUTBOX_BYTES);
    runner->self.room = FIRST_OUTBOX_BYTES;
    return runner->self.outbox ? 0 : CV_ENOMEM;
}

void runner_free(struct runner *runner)
{
    free(runner->self.outbox);
}

/* ---- a step ---- */

static struct cv_self *open_step(struct runner *runner, struct node_state *node_state, uint32_t alive)
{
    struct cv_self *me = &runner->self;
    runner->node_state = node_state;
    runner->alive = alive;
    runner->chosen = 0;
    me->state = node_state->state;
    me->group = &runner->setting->group; /* an app that failed has left its own */
    me->node = node_state->node;
    me->clock = node_state->clock;
    me->knows = (node_state->flags & NODE_KNOWS) != 0;
    me->calling = (node_state->flags & NODE_CALLING) != 0;
    me->elected = node_state->leader;
    me->used = 0;
    me->effects = 0;
    me->timers_armed = me->timers_cancelled = 0;
    return me;
}

static void set_flag(struct node_state *node_state, enum node_state_flag flag, bool on)
{
    node_state->flags = on ? node_state->flags | flag : node_state->flags & ~(uint32_t)flag;
}

static void set_timers(const struct runner *runner, struct node_state *node_state)
{
    const struct cv_self *me = &runner->self;
    for (uint32_t timer = 0; timer < runner->setting->timers; timer++) {
        if ((me->timers_armed | me->timers_cancelled) & 1u << timer)
            node_state->timers[timer] = 0;
        if (me->timers_armed & 1u << timer) {
            const uint64_t delay = me->timer_delay[timer] ? me->timer_delay[timer] : 1;
            node_state->timers[timer] = runner->setting->options.any_time ? 1 : delay + 1;
        }
    }
}

/* Writes what the step recorded into the node. */
static void close_step(struct runner *runner, struct node_state *node_state)
{
    const struct cv_self *me = &runner->self;
    const uint32_t did = me->effects;
    set_flag(node_state, NODE_KNOWS, me->knows);
    set_flag(node_state, NODE_CALLING, me->calling);
    node_state->leader = me->knows ? me->elected : 0;
    if (did & CV_DID_TIMER)
        set_timers(runner, node_state);
    if (did & CV_DID_ENTER) {
        set_flag(node_state, NODE_WAITING, false);
        set_flag(node_state, NODE_INSIDE, true);
        node_state->request_clock = 0;
    }
    if (did & CV_DID_RESULT && runner->setting->has_results) {
        set_flag(node_state, NODE_RESULT, true);
        node_state->result = me->result;
        node_state->via = me->via;
    }
    if ((did || me->used) && !runner->setting->all_start)
        set_flag(node_state, NODE_FRESH, false);
    node_state->clock =
        runner->setting->forgets_clocks ? 0 : setting_clock(runner->setting, runner->alive, me->clock & CV_CLOCK_MASK);
}

/* The first calls of a node. */
static void call_beginning(void *context)
{
    struct runner *runner = context;
    const struct setting *setting = runner->setting;
    const struct cv_algorithm *algorithm = setting->algorithm;
    struct cv_self *me = &runner->self;
    if (algorithm->init)
        algorithm->init(me);
    if (setting_is_mutex(setting) && algorithm->adopt)
        algorithm->adopt(me, setting->options.inside, setting->options.inside == CV_NOBODY ? 0 : FIRST_FENCE);
    if (setting_is_mutex(setting) && algorithm->start)
        algorithm->start(me);
}

bool runner_begin(struct runner *runner, struct node_state *node_state, cv_node node)
{
    const struct setting *setting = runner->setting;
    memset(node_state, 0, node_state_bytes(setting, node));
    node_state->node = node;
    node_state->flags = NODE_ALIVE | (setting_is_mutex(setting) ? 0 : NODE_FRESH);
    if (node == setting->options.inside)
        node_state->flags |= NODE_INSIDE;
    const bool asks = setting_is_mutex(setting) && setting->options.callers & 1u << node;
    node_state->requests_left = asks ? (uint32_t)setting->scenario->entries : 0;
    node_state->clock = setting->scenario->clocks ? setting->scenario->clocks[node] : 0;
    open_step(runner, node_state, (1u << setting->nodes) - 1);
    const bool begun = cv_trap_call(call_beginning, runner, &runner->failure);
    close_step(runner, node_state);
    return begun;
}

/*
 * Requests in a given order: the time of an event. A request has a fixed time. Every other event happens just after the
 * latest time heard of, or later; that time must be before the node's own next request, or the event is overdue.
 */
static uint64_t time_in_order(struct runner *runner, const struct node_state *node_state, uint32_t alive,
                              enum cv_decision_type type)
{
    const struct setting *setting = runner->setting;
    uint64_t heard = setting_clock(setting, alive, node_state->clock);
    runner->overdue = type != CV_DECIDE_REQUEST && node_state->requests_left &&
                      order_time(&setting->order, node_state->node, node_state->requests_left) <= heard;
    if (type == CV_DECIDE_REQUEST)
        return order_merge(&setting->order, runner->merged,
                           order_time(&setting->order, node_state->node, node_state->requests_left + 1));
    if (setting->forgets_clocks)
        heard = 0;
    return (heard > runner->clock_ahead ? heard : runner->clock_ahead) + 1;
}

/* A fresh state, which keeps the clock and the requests left of the old one. */
static void revive(const struct setting *setting, struct node_state *node_state)
{
    const struct node_state old = *node_state;
    memset(node_state, 0, node_state_bytes(setting, old.node));
    node_state->node = old.node;
    node_state->requests_left = old.requests_left;
    node_state->clock = old.clock;
    node_state->flags = NODE_ALIVE | (setting_is_mutex(setting) ? 0 : NODE_FRESH);
}

/* What an event changes in the node state before the handler runs. */
static void prepare(struct runner *runner, struct node_state *node_state, uint32_t alive, enum cv_decision_type type,
                    uint32_t argument, const struct cv_message *message)
{
    switch (type) {
    case CV_DECIDE_START:
        set_flag(node_state, NODE_FRESH, false);
        set_flag(node_state, NODE_STARTED, !runner->setting->any_caller && !runner->setting->all_start);
        break;
    case CV_DECIDE_REQUEST:
        set_flag(node_state, NODE_WAITING, true);
        node_state->requests_left--;
        break;
    case CV_DECIDE_LEAVE:
        set_flag(node_state, NODE_INSIDE, false);
        break;
    case CV_DECIDE_DELIVER:
        if (!runner->setting->all_start)
            set_flag(node_state, NODE_FRESH, false);
        if (message->clock > node_state->clock)
            node_state->clock = message->clock;
        break;
    case CV_DECIDE_TIMEOUT:
        node_state->timers[argument] = 0;
        break;
    case CV_DECIDE_RECOVER:
        revive(runner->setting, node_state);
        break;
    case CV_DECIDE_TRUST:
        node_state->back &= ~(1u << argument);
        node_state->suspects &= ~(1u << argument);
        break;
    default:
        if (!(node_state->unheard & 1u << argument) || runner->setting->may_partition || !(alive & 1u << argument))
            node_state->suspects |= 1u << argument;
        node_state->back |= node_state->unheard & 1u << argument;
        node_state->unheard &= ~(1u << argument);
        break;
    }
    node_state->clock = runner->setting->ordered ? order_retime(&runner->setting->order, runner->retiming,
                                                                time_in_order(runner, node_state, alive, type))
                                                 : setting_clock(runner->setting, alive, node_state->clock + 1);
    if (type == CV_DECIDE_REQUEST && runner->setting->caps_clocks)
        node_state->request_clock = node_state->clock < UINT32_MAX ? (uint32_t)node_state->clock : UINT32_MAX;
}

const char *runner_step(struct runner *runner, struct node_state *node_state, uint32_t alive,
                        enum cv_decision_type type, uint32_t argument, const struct cv_message *message)
{
    prepare(runner, node_state, alive, type, argument, message);
    struct cv_self *me = open_step(runner, node_state, alive);
    me->region = node_state->flags & NODE_INSIDE    ? CV_CRITICAL
                 : node_state->flags & NODE_WAITING ? CV_TRYING
                                                    : CV_REMAINDER;
    struct handler_call call = {.algorithm = runner->setting->algorithm,
                                .me = me,
                                .type = type,
                                .argument = argument,
                                .message = message,
                                .kinds = runner->setting->validates ? runner->setting->kinds : 0};
    if (!cv_trap_call(handler_call, &call, &runner->failure)) {
        me->used = me->effects = 0;
        call.broken = runner->failure.interrupted ? NULL : runner->failure.text;
        runner->out_of_memory |= runner->failure.interrupted; /* the step has no result, and the search ends */
    }
    close_step(runner, node_state);
    return call.broken;
}

bool runner_next_script(struct runner *runner)
{
    runner->script_length = runner->chosen;
    while (runner->script_length) {
        const uint32_t last = runner->script_length - 1;
        if (runner->script[last] + 1 < runner->ways[last]) {
            runner->script[last]++;
            return true;
        }
        runner->script_length = last;
    }
    return false;
}
