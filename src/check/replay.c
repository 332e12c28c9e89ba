// SPDX-License-Identifier: MIT
/*
 * The replay keeps full states: no numbers, no fingerprints. So other code than the search confirms a counterexample.
 */
#include "check/replay.h"

#include <stdio.h>
#include <stdlib.h>

#include "check/replay_entries.h"
#include "check/replay_rounds.h"
#include "check/step/runner.h"
#include "core/scenario/label.h"

struct sent_message {
    uint64_t serial;
    uint64_t ticks; /* the replay's, when it was sent */
    struct cv_message *message;
};

struct channel {
    struct sent_message *messages;
    uint32_t count, room;
};

struct cv_replay {
    struct cv_scenario scenario;
    struct setting setting;
    struct cv_observer observer;
    struct runner runner;
    struct node_state *node_states[CV_CHECK_MOST_NODES];
    struct channel channels[CV_CHECK_MOST_NODES][CV_CHECK_MOST_NODES];
    uint64_t clocks[CV_CHECK_MOST_NODES]; /* Lamport's, for the trace, also if the algorithm has none */
    bool recalled[CV_CHECK_MOST_NODES];   /* it called while its own election was under way */
    cv_node callers[CV_CHECK_MOST_NODES];
    struct cv_crash crashes[2 * CV_CHECK_MOST_NODES];
    struct cv_recovery recoveries[CV_CHECK_MOST_NODES];
    struct cv_links cut_links;
    char **texts; /* about cuts */
    uint32_t text_count;
    uint32_t components[CV_CHECK_MOST_NODES]; /* at the end: see setting_components() */
    uint32_t alive;                           /* a bit for each live node */
    uint32_t missed;                          /* a bit for each dead node whose crash need not be reported */
    uint32_t mistakes;                        /* of the detector, so far */
    uint32_t cuts;                            /* so far */
    uint64_t now;
    uint64_t serial;               /* of the last message */
    uint64_t ticks;                /* that have passed before timers fired */
    struct replay_entries entries; /* mutex */
    struct replay_rounds rounds;   /* synchronizers */
    struct cv_run run;
    struct cv_finding seen; /* a violation before the end */
    bool out_of_memory;
};

/* ---- events ---- */

static void tell(struct cv_replay *replay, struct cv_event event)
{
    event.time = replay->now;
    if (event.node != CV_NOBODY)
        event.clock = event.clock ? event.clock : replay->clocks[event.node];
    if (replay->observer.event)
        replay->observer.event(replay->observer.context, &event);
}

static void tell_state(struct cv_replay *replay, cv_node node)
{
    const struct cv_snapshot snapshot = {
        node, 0, replay->now, replay->clocks[node], &replay->setting.group, replay->node_states[node]->state};
    if (replay->observer.state)
        replay->observer.state(replay->observer.context, &snapshot);
}

static void tell_effect(struct cv_replay *replay, uint32_t bit, enum cv_event_type type, uint64_t detail,
                        const char *text)
{
    const struct cv_self *me = &replay->runner.self;
    const cv_node peer = type == CV_EVENT_RESULT ? me->via : CV_NOBODY;
    if (me->effects & bit)
        tell(replay, (struct cv_event){.type = type, .node = me->node, .peer = peer, .detail = detail, .text = text});
}

static void tell_effects(struct cv_replay *replay)
{
    const struct cv_self *me = &replay->runner.self;
    tell_effect(replay, CV_DID_RESULT, CV_EVENT_RESULT, me->result, NULL);
    tell_effect(replay, CV_DID_PULSE, CV_EVENT_PULSE, me->round, NULL);
    tell_effect(replay, CV_DID_NOTE, CV_EVENT_NOTE, 0, me->note);
    tell_effect(replay, CV_DID_CALL, CV_EVENT_CALL, 0, NULL);
    tell_effect(replay, CV_DID_YIELD, CV_EVENT_YIELD, 0, NULL);
    tell_effect(replay, CV_DID_FORGET, CV_EVENT_FORGET, 0, NULL);
    tell_effect(replay, CV_DID_ELECT, CV_EVENT_ELECTED, me->elected, NULL);
    tell_effect(replay, CV_DID_ENTER, CV_EVENT_ENTER, me->fence, NULL);
}

/* ---- messages ---- */

static void tell_message(struct cv_replay *replay, enum cv_event_type type, const struct sent_message *sent)
{
    const struct cv_message *message = sent->message;
    const bool sends = type == CV_EVENT_SEND;
    tell(replay, (struct cv_event){.type = type,
                                   .node = sends ? message->from : message->to,
                                   .peer = sends ? message->to : message->from,
                                   .clock = sends ? message->clock : 0,
                                   .message = sent->serial,
                                   .content = message});
}

static void send_message(struct cv_replay *replay, const struct cv_message *message, uint64_t clock)
{
    struct channel *channel = &replay->channels[message->from][message->to];
    const size_t bytes = cv_message_bytes(message);
    struct sent_message sent = {++replay->serial, replay->ticks, malloc(bytes)};
    if (channel->count == channel->room) {
        const uint32_t room = channel->room ? channel->room * 2 : 8;
        struct sent_message *messages = realloc(channel->messages, room * sizeof *messages);
        if (messages) {
            channel->messages = messages;
            channel->room = room;
        }
    }
    if (!sent.message || channel->count == channel->room) {
        free(sent.message);
        replay->out_of_memory = true;
        return;
    }
    memcpy(sent.message, message, bytes);
    sent.message->clock = (message->clock + clock) & CV_CLOCK_MASK;
    if (message->to != message->from) {
        replay->run.count[message->kind]++;
        replay->run.total++;
    }
    tell_message(replay, CV_EVENT_SEND, &sent);
    if (replay->alive & 1u << message->to && !cv_links_have(&replay->cut_links, message->from, message->to)) {
        channel->messages[channel->count++] = sent;
        return;
    }
    tell_message(replay, CV_EVENT_LOST, &sent);
    free(sent.message);
}

static struct sent_message take_message(struct cv_replay *replay, cv_node from, cv_node to, uint32_t index)
{
    struct channel *channel = &replay->channels[from][to];
    const struct sent_message sent = channel->messages[index];
    memmove(channel->messages + index, channel->messages + index + 1,
            (--channel->count - index) * sizeof *channel->messages);
    return sent;
}

/* Sends the messages in the outbox, at most `most`. */
static void send_all(struct cv_replay *replay, uint64_t clock, uint32_t most)
{
    const struct cv_self *me = &replay->runner.self;
    for (size_t at = 0; at < me->used && most; most--) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        send_message(replay, message, clock);
    }
}

/* ---- decisions ---- */

static void crash(struct cv_replay *replay, cv_node node, bool missed)
{
    replay->alive &= ~(1u << node);
    replay->missed |= (uint32_t)missed << node;
    replay->node_states[node]->flags = 0;
    replay_entries_end(&replay->entries, node, replay->now, true);
    replay->crashes[replay->scenario.crash_count++] =
        (struct cv_crash){.node = node, .moment = CV_AT, .time = replay->now};
    tell(replay, (struct cv_event){.type = CV_EVENT_CRASH, .node = node, .peer = CV_NOBODY});
    for (cv_node from = 0; from < replay->setting.nodes; from++)
        while (replay->channels[from][node].count) {
            const struct sent_message sent = take_message(replay, from, node, 0);
            tell_message(replay, CV_EVENT_LOST, &sent);
            free(sent.message);
        }
}

/* Nodes that can reach others again will be told. The arguments are the cut links and live nodes from before. */
static void regain(struct cv_replay *replay, const struct cv_links *cut_links, uint32_t alive)
{
    const uint32_t untold = replay->missed | (replay->missed ? alive : 0);
    for (cv_node node = 0; node < replay->setting.nodes; node++) {
        const uint32_t again = setting_reach(&replay->setting, &replay->cut_links, replay->alive, node) &
                               ~setting_reach(&replay->setting, cut_links, alive, node);
        if (alive & 1u << node && again)
            node_state_regain(&replay->setting, replay->node_states[node], again, untold);
    }
}

static void come_back(struct cv_replay *replay, cv_node node)
{
    const uint32_t before = replay->alive;
    replay->alive |= 1u << node;
    regain(replay, &replay->cut_links, before);
    replay->missed &= ~(1u << node);
    replay->scenario.recovery_count++;
    replay->recoveries[replay->scenario.recovery_count - 1] = (struct cv_recovery){.node = node, .time = replay->now};
}

/* Keeps a text until the replay is freed. */
static const char *keep_text(struct cv_replay *replay, char *text)
{
    char **texts = realloc(replay->texts, (replay->text_count + 1) * sizeof *texts);
    if (!texts || !text) {
        replay->out_of_memory = true;
        free(text);
        return NULL;
    }
    replay->texts = texts;
    replay->texts[replay->text_count++] = text;
    return text;
}

static void cut_or_heal(struct cv_replay *replay, cv_node one, cv_node other)
{
    const struct cv_links before = replay->cut_links;
    const bool heals = cv_links_have(&before, one, other);
    char *text = malloc(96);
    cv_links_flip(&replay->cut_links, one, other);
    if (heals)
        regain(replay, &before, replay->alive);
    else
        replay->cuts++;
    if (text)
        snprintf(text, 96, heals ? "the link between %s and %s works again" : "the link between %s and %s is cut",
                 cv_name(&replay->scenario, one).text, cv_name(&replay->scenario, other).text);
    tell(replay, (struct cv_event){.type = heals ? CV_EVENT_HEAL : CV_EVENT_CUT,
                                   .node = CV_NOBODY,
                                   .peer = CV_NOBODY,
                                   .text = keep_text(replay, text)});
}

/* Must the detector report something to that node? A crash that was missed, and what follows from it, need not be. */
static bool is_to_be_told(const struct cv_replay *replay, cv_node node)
{
    const uint32_t reach = setting_reach(&replay->setting, &replay->cut_links, replay->alive, node);
    if (replay->node_states[node]->back | replay->node_states[node]->unheard)
        return true;
    uint32_t lost =
        ((1u << replay->setting.nodes) - 1) & ~reach & ~replay->node_states[node]->suspects & ~replay->missed;
    if (replay->missed)
        lost &= ~replay->alive;
    return lost != 0;
}

/* Is a message or a report of the detector under way, or has a node yet to start? */
static bool is_under_way(const struct cv_replay *replay)
{
    const uint32_t nodes = replay->setting.nodes;
    for (cv_node node = 0; node < nodes; node++) {
        if (!(replay->alive & 1u << node))
            continue;
        if (is_to_be_told(replay, node) || (replay->setting.all_start && replay->node_states[node]->flags & NODE_FRESH))
            return true;
        for (cv_node from = 0; from < nodes; from++)
            if (replay->channels[from][node].count)
                return true;
    }
    return false;
}

/* The least time that a timer of a live node has left, plus 1; 0: none is armed. */
static uint64_t next_due(const struct cv_replay *replay)
{
    uint64_t next = 0;
    for (cv_node node = 0; node < replay->setting.nodes; node++)
        for (uint32_t timer = 0; replay->alive & 1u << node && timer < replay->setting.timers; timer++) {
            const uint64_t left = replay->node_states[node]->timers[timer];
            if (left && (!next || left < next))
                next = left;
        }
    return next;
}

/* May time advance by so many ticks? With bounded delays no message may be under way that must have arrived by then. */
static bool may_advance(const struct cv_replay *replay, uint64_t ticks)
{
    const uint64_t delay = replay->setting.options.delay;
    for (cv_node node = 0; delay && node < replay->setting.nodes; node++) {
        if (replay->setting.all_start && replay->node_states[node]->flags & NODE_FRESH)
            return false;
        for (cv_node from = 0; from < replay->setting.nodes; from++)
            for (uint32_t i = 0; i < replay->channels[from][node].count; i++)
                if (replay->channels[from][node].messages[i].ticks + delay <= replay->ticks + ticks)
                    return false;
    }
    return delay || !is_under_way(replay);
}

static const char *timer_obstacle(const struct cv_replay *replay, const struct cv_decision *decision)
{
    const uint64_t left =
        decision->which < replay->setting.timers ? replay->node_states[decision->node]->timers[decision->which] : 0;
    if (!left)
        return "that timer is not armed";
    if (replay->setting.options.any_time || (left == next_due(replay) && may_advance(replay, left - 1)))
        return NULL;
    return "that timer is not due yet";
}

static const char *cut_obstacle(const struct cv_replay *replay, const struct cv_decision *decision)
{
    const bool cut = cv_links_have(&replay->cut_links, decision->node, decision->peer);
    if (decision->type == CV_DECIDE_HEAL)
        return cut ? NULL : "that link is not cut";
    return cut ? "that link is cut already" : replay->setting.options.cuts ? NULL : "no link is ever cut here";
}

static const char *return_obstacle(const struct cv_replay *replay, cv_node node)
{
    if (replay->alive & 1u << node)
        return "that node is not dead";
    return replay->scenario.recovery_count < replay->setting.options.recoveries &&
                   replay->scenario.recovery_count < CV_CHECK_MOST_NODES
               ? NULL
               : "no more nodes may come back";
}

static const char *tell_obstacle(const struct cv_replay *replay, const struct cv_decision *decision)
{
    const struct node_state *node_state = replay->node_states[decision->node];
    const uint32_t reach = setting_reach(&replay->setting, &replay->cut_links, replay->alive, decision->node);
    if (node_state->back & 1u << decision->peer)
        return "that the other one is back is to be told first";
    return reach & ~node_state->unheard & 1u << decision->peer ? "the other one is not lost" : NULL;
}

/* Why the decision cannot be taken now, or NULL. */
static const char *obstacle(const struct cv_replay *replay, const struct cv_decision *decision)
{
    const uint32_t nodes = replay->setting.nodes;
    const bool cuts = decision->type == CV_DECIDE_CUT || decision->type == CV_DECIDE_HEAL;
    const bool has_peer = decision->type == CV_DECIDE_DELIVER || decision->type == CV_DECIDE_TELL ||
                          decision->type == CV_DECIDE_SUSPECT || decision->type == CV_DECIDE_TRUST || cuts;
    if (decision->node >= nodes || (has_peer && decision->peer >= nodes) || (cuts && decision->node == decision->peer))
        return "there is no such node";
    const struct node_state *node_state = replay->node_states[decision->node];
    if (cuts)
        return cut_obstacle(replay, decision);
    if (decision->type == CV_DECIDE_RECOVER)
        return return_obstacle(replay, decision->node);
    if (!(replay->alive & 1u << decision->node))
        return "that node is dead";
    switch (decision->type) {
    case CV_DECIDE_START:
        return setting_is_mutex(&replay->setting) || !(node_state->flags & NODE_FRESH) ? "that node cannot call now"
                                                                                       : NULL;
    case CV_DECIDE_REQUEST:
        return !node_state->requests_left || node_state->flags & (NODE_WAITING | NODE_INSIDE)
                   ? "that node cannot ask now"
                   : NULL;
    case CV_DECIDE_LEAVE:
        return node_state->flags & NODE_INSIDE ? NULL : "that node is not inside";
    case CV_DECIDE_DELIVER:
        return decision->which < replay->channels[decision->peer][decision->node].count
                   ? NULL
                   : "there is no such message on its way";
    case CV_DECIDE_TIMEOUT:
        return timer_obstacle(replay, decision);
    case CV_DECIDE_TELL:
        return tell_obstacle(replay, decision);
    case CV_DECIDE_TRUST:
        return node_state->back & 1u << decision->peer ? NULL : "the other one is not back";
    case CV_DECIDE_SUSPECT:
        return replay->alive & 1u << decision->peer && decision->peer != decision->node ? NULL
                                                                                        : "the other one is dead";
    default:
        if (replay->scenario.crash_count == sizeof replay->crashes / sizeof *replay->crashes)
            return "too many have died";
        return replay->alive & (replay->alive - 1) ? NULL : "no node would be left";
    }
}

/* With accurate timers, time passes before this one fires. */
static void let_time_pass(struct cv_replay *replay, const struct cv_decision *decision)
{
    const uint64_t time = replay->node_states[decision->node]->timers[decision->which] - 1;
    replay->ticks += time;
    for (cv_node node = 0; node < replay->setting.nodes; node++)
        for (uint32_t timer = 0; timer < replay->setting.timers; timer++)
            if (replay->node_states[node]->timers[timer] > time)
                replay->node_states[node]->timers[timer] -= time;
}

static void announce(struct cv_replay *replay, const struct cv_decision *decision, const struct sent_message *sent)
{
    static const enum cv_event_type types[] = {
        [CV_DECIDE_START] = CV_EVENT_START,     [CV_DECIDE_REQUEST] = CV_EVENT_REQUEST,
        [CV_DECIDE_LEAVE] = CV_EVENT_LEAVE,     [CV_DECIDE_DELIVER] = CV_EVENT_RECEIVE,
        [CV_DECIDE_TIMEOUT] = CV_EVENT_TIMEOUT, [CV_DECIDE_TELL] = CV_EVENT_SUSPECT,
        [CV_DECIDE_SUSPECT] = CV_EVENT_SUSPECT, [CV_DECIDE_RECOVER] = CV_EVENT_RECOVER,
        [CV_DECIDE_TRUST] = CV_EVENT_TRUST,
    };
    const bool timeout = decision->type == CV_DECIDE_TIMEOUT;
    if (sent->message)
        tell_message(replay, CV_EVENT_RECEIVE, sent);
    else
        tell(replay, (struct cv_event){.type = types[decision->type],
                                       .node = decision->node,
                                       .peer = decision->peer,
                                       .detail = timeout ? decision->which : 0,
                                       .text = timeout ? replay->setting.algorithm->timers[decision->which] : NULL});
}

/* A node that has recovered may call again. */
static bool has_called(const struct cv_replay *replay, cv_node node)
{
    for (uint32_t i = 0; i < replay->scenario.caller_count; i++)
        if (replay->callers[i] == node)
            return true;
    return false;
}

/* Notes what an event means outside the handler, before it runs. */
static void prepare(struct cv_replay *replay, const struct cv_decision *decision, const struct sent_message *sent)
{
    const cv_node node = decision->node;
    uint64_t *clock = &replay->clocks[node];
    if (sent->message && sent->message->clock > *clock)
        *clock = sent->message->clock;
    ++*clock;
    if (decision->type == CV_DECIDE_START && !has_called(replay, node))
        replay->callers[replay->scenario.caller_count++] = node;
    if (decision->type == CV_DECIDE_LEAVE)
        replay_entries_end(&replay->entries, node, replay->now, false);
    if (decision->type == CV_DECIDE_REQUEST && !replay_entries_request(&replay->entries, node, replay->now, CV_NEVER))
        replay->out_of_memory = true;
    if (decision->type == CV_DECIDE_TIMEOUT)
        let_time_pass(replay, decision);
    if (decision->type == CV_DECIDE_RECOVER)
        come_back(replay, node);
    announce(replay, decision, sent);
}

/* Notes a violation before the end: two nodes disagree, or (one == other) a leader is not the best node. */
static void note_violation(struct cv_replay *replay, enum cv_property_number property, cv_node one, cv_node other)
{
    const struct cv_scenario *scenario = &replay->scenario;
    const struct cv_name name = cv_name(scenario, one), leads = cv_name_of(scenario, replay->node_states[one]->leader);
    struct cv_finding *seen = &replay->seen;
    *seen = cv_finding_of(property, CV_VIOLATED);
    if (one == other)
        snprintf(seen->detail, sizeof seen->detail, "at time %llu node %s follows %s, the best is %s",
                 (unsigned long long)replay->now, name.text, leads.text,
                 cv_name_of(scenario, replay->setting.best).text);
    else
        snprintf(seen->detail, sizeof seen->detail, "at time %llu node %s follows %s, node %s follows %s",
                 (unsigned long long)replay->now, name.text, leads.text, cv_name(scenario, other).text,
                 cv_name_of(scenario, replay->node_states[other]->leader).text);
    replay->run.seen = seen;
}

/* Judges a step. */
static void judge_step(struct cv_replay *replay, cv_node node, const char *broken)
{
    const struct setting *setting = &replay->setting;
    const struct node_state *node_state = replay->node_states[node];
    struct cv_run *run = &replay->run;
    if (broken && !run->broken) {
        run->broken = broken;
        run->broken_node = node;
        run->broken_time = replay->now;
    }
    const bool whole = !replay->scenario.crash_count && !replay->mistakes && !replay->cuts;
    if (!whole || run->seen || !(node_state->flags & NODE_KNOWS))
        return;
    if (setting->best_always && node_state->leader != setting->best)
        note_violation(replay, CV_PROPERTY_BEST_WINS, node, node);
    for (cv_node other = 0; setting->agree_always && other < setting->nodes; other++)
        if (replay->node_states[other]->flags & NODE_KNOWS && replay->node_states[other]->leader != node_state->leader)
            note_violation(replay, CV_PROPERTY_AGREEMENT, other, node);
}

static void take_step(struct cv_replay *replay, const struct cv_decision *decision)
{
    const cv_node node = decision->node;
    struct cv_self *me = &replay->runner.self;
    struct sent_message sent = {0};
    if (decision->type == CV_DECIDE_DELIVER)
        sent = take_message(replay, decision->peer, node, decision->which);
    prepare(replay, decision, &sent);
    replay->mistakes += decision->type == CV_DECIDE_SUSPECT;
    const uint64_t before = replay->clocks[node];
    replay->runner.script_length = decision->choice_count;
    memcpy(replay->runner.script, decision->choices, sizeof decision->choices);
    const uint32_t argument = decision->type == CV_DECIDE_TIMEOUT ? decision->which : decision->peer;
    const char *broken =
        runner_step(&replay->runner, replay->node_states[node], replay->alive, decision->type, argument, sent.message);
    judge_step(replay, node, broken);
    if (sent.message)
        replay->run.time = replay->now;
    free(sent.message);
    if (me->effects & CV_DID_ENTER && !replay_entries_enter(&replay->entries, node, replay->now, me->fence))
        replay->out_of_memory = true;
    if (me->effects & CV_DID_PULSE && replay->scenario.app)
        replay_rounds_pulse(&replay->rounds, me, replay->alive, replay->now);
    replay->run.calls += (me->effects & CV_DID_CALL) != 0;
    replay->recalled[node] |= (me->effects & CV_DID_RECALL) != 0;
    tell_effects(replay);
    const uint64_t base = replay->setting.algorithm->hints.clocked ? 0 : before;
    send_all(replay, base, decision->sent);
    replay->clocks[node] = base + me->clock;
    tell_state(replay, node);
    if (decision->type == CV_DECIDE_REQUEST && !replay->out_of_memory)
        replay->entries.entries[replay->entries.count - 1].clock = replay->clocks[node];
    if (decision->sent != CV_WHOLE)
        crash(replay, node, decision->missed);
}

/* ---- the end ---- */

static struct cv_standing standing(const void *runtime, cv_node node)
{
    const struct cv_replay *replay = runtime;
    const struct node_state *node_state = replay->node_states[node];
    return (struct cv_standing){.result = node_state->result,
                                .via = node_state->via,
                                .updates = (node_state->flags & NODE_RESULT) != 0,
                                .leader = node_state->leader,
                                .alive = (replay->alive & 1u << node) != 0,
                                .knows = (node_state->flags & NODE_KNOWS) != 0,
                                .active = !(node_state->flags & NODE_FRESH),
                                .recalled = replay->recalled[node]};
}

static const void *app_state(const void *runtime, cv_node node)
{
    const struct cv_replay *replay = runtime;
    return replay->node_states[node]->state + replay->setting.group.hosted_at + sizeof(uint64_t);
}

static uint64_t round_of(const void *runtime, cv_node node)
{
    return ((const struct cv_replay *)runtime)->rounds.round[node];
}

/* Is there nothing that must still happen? */
static bool is_quiet(const struct cv_replay *replay)
{
    for (cv_node node = 0; node < replay->setting.nodes; node++)
        if (replay->alive & 1u << node && replay->node_states[node]->flags & NODE_INSIDE)
            return false;
    return !next_due(replay) && !is_under_way(replay);
}

/* An election in which no live node took part is not judged. */
static bool somebody_took_part(const struct cv_replay *replay)
{
    const uint32_t wanted = replay->setting.any_caller ? NODE_FRESH : NODE_STARTED;
    for (cv_node node = 0; node < replay->setting.nodes; node++)
        if (replay->alive & 1u << node && (replay->node_states[node]->flags & wanted) == (wanted & NODE_STARTED))
            return true;
    return setting_is_mutex(&replay->setting) || replay->setting.all_start;
}

static int by_node(const void *one, const void *other)
{
    const cv_node a = *(const cv_node *)one, b = *(const cv_node *)other;
    return (a > b) - (a < b);
}

static void conclude(struct cv_replay *replay, const struct cv_trail *trail)
{
    struct cv_run *run = &replay->run;
    run->scenario = &replay->scenario;
    run->runtime = replay;
    run->standing = standing;
    run->unmeasured = true;
    run->checked = replay->setting.algorithm->invariant || run->broken;
    run->now = replay->now;
    run->decided = CV_NEVER;
    run->ending = trail->loop != CV_NEVER                          ? CV_REPEATS
                  : is_quiet(replay) && somebody_took_part(replay) ? CV_QUIET
                                                                   : CV_STOPPED;
    run->period = trail->loop != CV_NEVER ? trail->count - trail->loop : 0;
    run->entries = replay->entries.entries;
    run->entry_count = replay->entries.count;
    run->last_exit = replay->entries.last_exit;
    if (replay->scenario.app) {
        run->app_state = app_state;
        run->round = round_of;
        run->hasty = replay->rounds.hasty;
        run->apart = replay->rounds.apart;
    }
    if (replay->setting.may_partition) {
        setting_components(&replay->setting, &replay->cut_links, replay->alive, replay->components);
        run->component = replay->components;
    }
    replay->scenario.everyone_calls = replay->setting.all_start;
    qsort(replay->callers, replay->scenario.caller_count, sizeof *replay->callers, by_node);
}

int cv_replay_run(struct cv_replay *replay, const struct cv_trail *trail, struct cv_run *run,
                  struct cv_complaint *complaint)
{
    for (uint64_t i = 0; i < trail->count; i++) {
        const struct cv_decision *decision = &trail->decisions[i];
        const char *problem = obstacle(replay, decision);
        if (problem)
            return cv_complain(complaint, "step %llu of the replay: %s", (unsigned long long)i + 1, problem);
        replay->now = i + 1;
        if (decision->type == CV_DECIDE_CRASH || decision->type == CV_DECIDE_MISS)
            crash(replay, decision->node, decision->type == CV_DECIDE_MISS);
        else if (decision->type == CV_DECIDE_CUT || decision->type == CV_DECIDE_HEAL)
            cut_or_heal(replay, decision->node, decision->peer);
        else
            take_step(replay, decision);
        if (replay->out_of_memory || replay->runner.out_of_memory)
            return CV_ENOMEM;
    }
    conclude(replay, trail);
    *run = replay->run;
    return 0;
}

static int begin(struct cv_replay *replay)
{
    for (cv_node node = 0; node < replay->setting.nodes; node++) {
        struct node_state *node_state = calloc(1, node_state_bytes(&replay->setting, node));
        if (!node_state)
            return CV_ENOMEM;
        replay->node_states[node] = node_state;
        replay->clocks[node] = replay->scenario.clocks ? replay->scenario.clocks[node] : 0;
    }
    replay->alive = (1u << replay->setting.nodes) - 1;
    for (cv_node node = 0; node < replay->setting.nodes; node++) {
        if (!runner_begin(&replay->runner, replay->node_states[node], node))
            return CV_EINPUT;
        send_all(replay, 0, CV_WHOLE);
        replay->clocks[node] += replay->runner.self.used ? 1 : 0;
        tell_state(replay, node);
    }
    if (replay->setting.options.inside != CV_NOBODY) {
        struct cv_entry *entry = replay_entries_request(&replay->entries, replay->setting.options.inside, 0, 0);
        tell(replay, (struct cv_event){.type = CV_EVENT_ENTER,
                                       .node = replay->setting.options.inside,
                                       .peer = CV_NOBODY,
                                       .detail = FIRST_FENCE});
        if (entry)
            entry->fence = FIRST_FENCE;
        else
            replay->out_of_memory = true;
    }
    return replay->out_of_memory ? CV_ENOMEM : 0;
}

int cv_replay_new(struct cv_replay **out, const struct cv_scenario *scenario, const struct cv_check_options *options,
                  const struct cv_observer *observer)
{
    struct cv_replay *replay = calloc(1, sizeof *replay);
    if (!replay)
        return CV_ENOMEM;
    replay->scenario = *scenario;
    replay->scenario.everyone_calls = false;
    replay->scenario.callers = replay->callers;
    replay->scenario.caller_count = 0;
    replay->scenario.crashes = replay->crashes;
    replay->scenario.crash_count = 0;
    replay->scenario.recoveries = replay->recoveries;
    replay->scenario.recovery_count = 0;
    if (observer)
        replay->observer = *observer;
    struct cv_check_options clocked = *options;
    clocked.orders = CV_NO_ORDERS; /* a replay has clocks that tick */
    int error = setting_init(&replay->setting, &replay->scenario, &clocked);
    if (!error)
        error = runner_init(&replay->runner, &replay->setting);
    if (!error)
        error = begin(replay);
    *out = replay;
    return error;
}

void cv_replay_free(struct cv_replay *replay)
{
    if (!replay)
        return;
    for (cv_node from = 0; from < replay->setting.nodes; from++) {
        for (cv_node to = 0; to < replay->setting.nodes; to++) {
            for (uint32_t i = 0; i < replay->channels[from][to].count; i++)
                free(replay->channels[from][to].messages[i].message);
            free(replay->channels[from][to].messages);
        }
        free(replay->node_states[from]);
    }
    for (uint32_t i = 0; i < replay->text_count; i++)
        free(replay->texts[i]);
    free(replay->texts);
    replay_entries_free(&replay->entries);
    runner_free(&replay->runner);
    setting_free(&replay->setting);
    free(replay);
}
