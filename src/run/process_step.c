// SPDX-License-Identifier: MIT
/* One step of a node: the handler is called, what it did is recorded, then its effects are carried out. */
#include <stdlib.h>

#include "core/error.h"
#include "core/scenario/validity.h"
#include "run/process.h"

#define FIRST_OUTBOX_BYTES 4096u
#define LARGEST_CHECKED_GROUP 256u

static uint32_t draw_choice(struct cv_self *me, uint32_t ways)
{
    return (uint32_t)cv_random_below(&process_of(me)->choices, ways);
}

static void grow_outbox(struct cv_self *me, size_t bytes)
{
    struct process *process = process_of(me);
    size_t room = process->outbox_room;
    while (room - me->used < bytes)
        room *= 2;
    unsigned char *outbox = realloc(process->outbox, room);
    if (!outbox)
        process_fail(process, "realloc");
    process->outbox = me->outbox = outbox;
    process->outbox_room = me->room = room;
}

static const struct cv_runtime runtime = {
    .choose = draw_choice, .present = faults_node_present, .suspected = faults_id_suspected, .grow = grow_outbox};

/*
 * A handler has failed: it has done nothing, and no other will do anything. That is recorded at once, as a step of its
 * own, and the experiment ends the run.
 */
static void failed(void *context, const struct cv_failure *failure)
{
    const struct process *process = context;
    struct step_log log = {0};
    const struct log_record record = {
        .type = LOG_BROKEN, .node = process->node, .peer = CV_NOBODY, .name = process->name};
    log_begin(&log, process->begun ? process->now : 0);
    log_add(&log, &record, failure->text, sizeof failure->text);
    if (log.out_of_memory || log_write(&log, process->file))
        process_fail(process, "write");
    log_free(&log);
    process->board->failed = process->begun ? RUN_FAILED : RUN_CANNOT_BEGIN;
}

void step_init_state(struct process *process)
{
    const struct cv_algorithm *algorithm = process->algorithm;
    struct instance *it = instance_of(process);
    free(it->state);
    it->bytes = algorithm->state_size ? algorithm->state_size(&process->group, process->node) : algorithm->state_bytes;
    it->state = calloc(1, (it->bytes + 15) / 8 * 8);
    if (!it->state)
        process_fail(process, "calloc");
    process->self.state = it->state;
    if (algorithm->init)
        algorithm->init(&process->self);
    assert(!process->self.effects && !process->self.used);
}

static void init_instance(struct process *process)
{
    struct instance *it = instance_of(process);
    it->clock = process->returned           ? process->slot->clock
                : process->scenario->clocks ? process->scenario->clocks[process->node]
                                            : 0;
    it->leave_ns = it->think_ns = NO_TIME;
    step_init_state(process);
}

int steps_init(struct process *process)
{
    const struct cv_scenario *scenario = process->scenario;
    process->algorithm = scenario->algorithm;
    process->group = scenario->group;
    run_view_apply(&process->view, scenario, &process->group);
    process->stopped = process->returned && scenario->views;
    process->joined = !process->stopped;
    process->group.absence = scenario->crash_count || scenario->partition_count || scenario->suspicion_count;
    process->kinds = cv_algorithm_kinds(scenario->algorithm);
    process->timers = cv_algorithm_timers(scenario->algorithm);
    process->asks = scenario->group.nodes <= LARGEST_CHECKED_GROUP && cv_scenario_keeps_assumptions(scenario);
    process->outbox_room = FIRST_OUTBOX_BYTES;
    process->outbox = malloc(process->outbox_room);
    process->names = calloc(process->board->names, sizeof *process->names);
    process->known = calloc(process->group.nodes, sizeof *process->known);
    process->crash_done = calloc(scenario->crash_count + 1u, sizeof *process->crash_done);
    process->wished = calloc(scenario->wish_count + 1u, sizeof *process->wished);
    if (!process->outbox || !process->names || !process->known || !process->crash_done || !process->wished ||
        cv_index_make(&process->ids, process->group.ids, process->group.nodes))
        return CV_ENOMEM;
    for (cv_node node = 0; node < process->group.nodes; node++)
        process->known[node] = process->board->current[node] == NO_SLOT ? UNREACHABLE : 0;
    cv_random_seed(&process->choices, scenario->seed, 2 + 2 * (uint64_t)process->index);
    cv_random_seed(&process->delays, scenario->seed, 3 + 2 * (uint64_t)process->index);
    process->self = (struct cv_self){.group = &process->group,
                                     .runtime = &runtime,
                                     .outbox = process->outbox,
                                     .room = process->outbox_room,
                                     .node = process->node};
    process->failures = (struct cv_failure_listener){failed, process, scenario, false};
    cv_failure_listen(&process->failures);
    for (process->name = 0; process->name < process->board->names; process->name++)
        init_instance(process);
    process->name = 0;
    process->begun = true;
    return 0;
}

/* ---- what is recorded ---- */

static struct log_record *record(struct process *process, const struct log_record *what, const void *content,
                                 size_t bytes)
{
    struct log_record *added = log_add(&process->log, what, content, bytes);
    if (!added)
        process_fail(process, "realloc");
    added->name = process->name;
    return added;
}

static struct log_record *record_effect(struct process *process, enum cv_event_type type, uint64_t detail)
{
    return record(process,
                  &(struct log_record){.type = type,
                                       .node = process->node,
                                       .peer = CV_NOBODY,
                                       .clock = instance_of(process)->clock,
                                       .detail = detail},
                  NULL, 0);
}

void step_record_state(struct process *process, uint32_t type)
{
    const struct instance *it = instance_of(process);
    record(process, &(struct log_record){.type = type, .node = process->node, .peer = CV_NOBODY, .clock = it->clock},
           it->state, it->bytes);
}

/* ---- a step ---- */

static struct cv_self *open_step(struct process *process)
{
    struct cv_self *me = &process->self;
    const struct instance *it = instance_of(process);
    me->state = it->state;
    me->clock = it->clock;
    me->calling = it->calling;
    me->knows = process->knows;
    me->elected = process->knows ? process->leader : 0;
    me->used = 0;
    me->effects = 0;
    me->timers_armed = me->timers_cancelled = 0;
    return me;
}

struct cv_self *step_begin(struct process *process, struct cv_event *event)
{
    struct instance *it = instance_of(process);
    process->now = process_time(process);
    log_begin(&process->log, process->now);
    if (event) {
        it->clock = (it->clock + 1) & CV_CLOCK_MASK;
        process->slot->handles = event->type;
        record(process,
               &(struct log_record){.type = event->type,
                                    .node = process->node,
                                    .peer = event->peer,
                                    .clock = it->clock,
                                    .detail = event->detail,
                                    .text = event->text},
               NULL, 0);
    }
    return open_step(process);
}

static void set_timers(struct process *process)
{
    struct cv_self *me = &process->self;
    struct instance *it = instance_of(process);
    for (uint32_t timer = 0; timer < process->timers; timer++) {
        const uint32_t bit = 1u << timer;
        if (me->timers_armed & bit)
            process_open(process);
        if ((me->timers_armed | me->timers_cancelled) & bit && it->timer_due[timer]) {
            it->timer_due[timer] = 0;
            process_close(process);
        }
        if (me->timers_armed & bit)
            it->timer_due[timer] = process->now + (me->timer_delay[timer] ? me->timer_delay[timer] : 1) * NS_PER_MS;
    }
}

static void apply_effects(struct process *process)
{
    struct cv_self *me = &process->self;
    struct instance *it = instance_of(process);
    const uint32_t did = me->effects;
    if (did & CV_DID_TIMER)
        set_timers(process);
    it->calling = me->calling;
    if (did & CV_DID_FORGET)
        process->knows = 0;
    if (did & CV_DID_ELECT) {
        process->knows = 1;
        process->leader = me->elected;
    }
    if (did & CV_DID_ENTER)
        clients_enter(process);
    if (did & CV_DID_RESULT)
        record_effect(process, CV_EVENT_RESULT, me->result)->peer = me->via;
    if (did & CV_DID_PULSE)
        record_effect(process, CV_EVENT_PULSE, me->round)->extra = me->received;
    if (did & CV_DID_NOTE)
        record_effect(process, CV_EVENT_NOTE, 0)->text = me->note;
    if (did & CV_DID_CALL)
        record_effect(process, CV_EVENT_CALL, 0)->extra = did & CV_DID_RECALL ? 1 : 0;
    if (did & CV_DID_YIELD)
        record_effect(process, CV_EVENT_YIELD, 0);
    if (did & CV_DID_FORGET)
        record_effect(process, CV_EVENT_FORGET, 0);
    if (did & CV_DID_ELECT)
        record_effect(process, CV_EVENT_ELECTED, me->elected);
    if (did & CV_DID_ENTER)
        record_effect(process, CV_EVENT_ENTER, me->fence);
}

/* Records the messages of the step, up to the one at which the node is planned to die. Returns their bytes. */
static size_t record_messages(struct process *process)
{
    const struct cv_self *me = &process->self;
    size_t at = 0;
    uint64_t serial = process->serial;
    while (at < me->used && !process->dying) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        assert(message->kind < process->kinds); /* a kind that the algorithm's table does not have */
        process->dying = faults_crash_now(process, message, CV_BEFORE);
        if (process->dying)
            break;
        struct log_record *sent =
            record(process,
                   &(struct log_record){.type = CV_EVENT_SEND,
                                        .node = process->node,
                                        .peer = message->to,
                                        .clock = message->clock,
                                        .serial = (uint64_t)process->index << LOG_SERIAL_BITS | ++serial},
                   message, cv_message_bytes(message));
        sent->slot = process->board->current[message->to];
        if (link_is_cut(process, message->to)) {
            struct log_record lost = *sent;
            lost.type = CV_EVENT_LOST;
            lost.node = message->to;
            lost.peer = process->node;
            record(process, &lost, message, cv_message_bytes(message));
        }
        at += cv_message_bytes(message);
        process->dying = faults_crash_now(process, message, CV_AFTER);
    }
    return at;
}

static void note_broken(struct process *process, const char *why)
{
    record(process, &(struct log_record){.type = LOG_BROKEN, .node = process->node, .peer = CV_NOBODY, .text = why},
           NULL, 0);
}

void step_finish(struct process *process)
{
    struct cv_self *me = &process->self;
    struct instance *it = instance_of(process);
    const char *broken = process->algorithm->invariant ? process->algorithm->invariant(me) : NULL;
    if (broken)
        note_broken(process, broken);
    if (me->effects)
        apply_effects(process);
    const size_t end = record_messages(process);
    it->clock = me->clock & CV_CLOCK_MASK;
    process->slot->clock = it->clock;
    process->slot->last_ns = process->now;
    if (process->traced)
        step_record_state(process, LOG_STATE);
    if (!log_is_empty(&process->log) && log_write(&process->log, process->file))
        process_fail(process, "write");
    for (size_t at = 0; at < end;) {
        const struct cv_message *message = (const void *)(process->outbox + at);
        links_send(process, message);
        at += cv_message_bytes(message);
    }
    if (process->dying)
        process->slot->state = SLOT_DYING;
}

/* A real node would not give that message to its handler. */
static bool can_be(struct process *process, const struct cv_message *message)
{
    const struct instance *it = instance_of(process);
    const char *why;
    process->self.region = it->inside ? CV_CRITICAL : it->wants ? CV_TRYING : CV_REMAINDER;
    if (cv_message_validity(process->algorithm, process->kinds, &process->self, message, &why) == CV_VALID)
        return true;
    note_broken(process, why);
    return false;
}

void step_deliver(struct process *process, const struct packet *packet)
{
    const struct cv_message *message = &packet->message;
    process->name = packet->name;
    struct instance *it = instance_of(process);
    process_comes_after(process, packet->ns);
    process->now = process_time(process);
    log_begin(&process->log, process->now);
    process->slot->handles = CV_EVENT_RECEIVE;
    process->slot->kind = message->kind;
    it->clock = ((it->clock > message->clock ? it->clock : message->clock) + 1) & CV_CLOCK_MASK;
    record(process,
           &(struct log_record){.type = CV_EVENT_RECEIVE,
                                .node = process->node,
                                .peer = message->from,
                                .clock = it->clock,
                                .serial = packet->serial},
           message, cv_message_bytes(message));
    struct cv_self *me = open_step(process);
    if (!process->asks || can_be(process, message))
        process->algorithm->kinds[message->kind].receive(me, message);
    step_finish(process);
    process->name = 0;
}

void step_fire_timers(struct process *process, uint64_t now)
{
    for (process->name = 0; process->name < process->board->names; process->name++)
        for (uint32_t timer = 0; timer < process->timers && !process->dying; timer++) {
            uint64_t *due = &instance_of(process)->timer_due[timer];
            if (!*due || *due > now)
                continue;
            *due = 0;
            struct cv_event event = {.type = CV_EVENT_TIMEOUT,
                                     .peer = CV_NOBODY,
                                     .detail = timer,
                                     .text = process->algorithm->timers[timer]};
            process->algorithm->timeout(step_begin(process, &event), timer);
            step_finish(process);
            process_close(process);
        }
    process->name = 0;
}
