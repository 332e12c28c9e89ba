// SPDX-License-Identifier: MIT
/*
 * The client of a mutual exclusion algorithm on this node: it requests, enters, stays a while and leaves. It has listed
 * requests, or a closed loop in which it enters a given number of times.
 */
#include "run/process.h"

static _Atomic uint64_t *remaining_of(const struct process *process)
{
    return &process->board->remaining[(size_t)process->node * process->board->names + process->name];
}

/*
 * A request is open as a client's until the node has left. Nobody may ever serve it, so it does not keep the run going
 * as a plan does: a request to come, or the exit of a node that is inside.
 */
static void open_client(struct process *process)
{
    process->slot->client_opened++;
}

static void close_client(struct process *process)
{
    process->slot->client_closed++;
}

static void request(struct process *process, uint64_t hold_ms)
{
    struct instance *it = instance_of(process);
    struct cv_event event = {.type = CV_EVENT_REQUEST, .peer = CV_NOBODY};
    it->wants = true;
    it->hold_ms = hold_ms;
    open_client(process);
    struct cv_self *me = step_begin(process, &event);
    process->algorithm->request(me);
    ((struct log_record *)(void *)(process->log.bytes + sizeof(struct log_step)))->extra = me->clock;
    step_finish(process);
}

/* A new view has made the algorithm forget the request. */
static void request_again(struct process *process)
{
    struct cv_event event = {.type = CV_EVENT_REQUEST, .peer = CV_NOBODY, .text = "again"};
    process->algorithm->request(step_begin(process, &event));
    step_finish(process);
}

static bool is_mine(const struct process *process, const struct cv_wish *wish)
{
    return wish->node == process->node && wish->name == process->name;
}

/* The next request of a closed loop, or of the listed requests that had to wait. */
static void go_on(struct process *process)
{
    struct instance *it = instance_of(process);
    if (*remaining_of(process)) {
        --*remaining_of(process);
        request(process, process->scenario->hold);
        return;
    }
    for (uint32_t i = process->scenario->wish_count, passed = 0; it->waiting && i-- > 0;) {
        const struct cv_wish *wish = &process->scenario->wishes[i];
        if (!is_mine(process, wish) || !process->wished[i] || ++passed != it->waiting)
            continue;
        it->waiting--;
        request(process, wish->hold);
        close_client(process);
        return;
    }
}

/* The time of a listed request has come. It waits if the node is still busy with an earlier one. */
static void wish(struct process *process, uint32_t index)
{
    const struct cv_wish *it = &process->scenario->wishes[index];
    process->wished[index] = true;
    if (instance_of(process)->wants) {
        instance_of(process)->waiting++; /* it stays open as a client's */
    } else {
        request(process, it->hold);
        close_client(process);
    }
    process_close(process);
}

void clients_begin(struct process *process)
{
    const struct cv_scenario *scenario = process->scenario;
    const uint64_t now_ms = process->returned ? board_now(process->board) / NS_PER_MS : 0;
    for (process->name = 0; process->name < process->board->names; process->name++) {
        struct instance *it = instance_of(process);
        if (process->algorithm->adopt && !process->stopped) {
            process->algorithm->adopt(step_begin(process, NULL), CV_NOBODY, 0);
            step_finish(process);
        }
        for (uint32_t i = 0; i < scenario->wish_count; i++) {
            if (!is_mine(process, &scenario->wishes[i]))
                continue;
            process->wished[i] = process->returned && scenario->wishes[i].time <= now_ms;
            if (process->wished[i])
                continue;
            open_client(process);
            process_open(process);
        }
        for (uint32_t i = 0; i < scenario->wish_count; i++)
            if (is_mine(process, &scenario->wishes[i]) && !scenario->wishes[i].time && !process->wished[i])
                wish(process, i);
        if (*remaining_of(process) && !it->wants && !process->returned)
            go_on(process);
        if (process->algorithm->start && !process->stopped) {
            process->algorithm->start(step_begin(process, NULL));
            step_finish(process);
        }
    }
    process->name = 0;
}

void clients_resume(struct process *process)
{
    const struct instance *it = instance_of(process);
    if (it->wants && !it->inside)
        request_again(process);
    else if (!process->joined && !it->wants)
        go_on(process);
    if (process->algorithm->start && !process->dying) {
        process->algorithm->start(step_begin(process, NULL));
        step_finish(process);
    }
}

void clients_enter(struct process *process)
{
    struct instance *it = instance_of(process);
    if (!it->wants || it->inside)
        return; /* no request asked for it: the judge will see two entries */
    it->inside = true;
    it->fence = process->self.fence;
    process_open(process);
    it->leave_ns = process->now + it->hold_ms * NS_PER_MS;
}

static void leave(struct process *process)
{
    struct instance *it = instance_of(process);
    it->inside = it->wants = false;
    it->leave_ns = NO_TIME;
    struct cv_self *me = step_begin(process, &(struct cv_event){.type = CV_EVENT_LEAVE, .peer = CV_NOBODY});
    process->algorithm->release(me);
    step_finish(process);
    if (process->dying)
        return;
    if (*remaining_of(process) && process->scenario->think) {
        it->think_ns = process->now + process->scenario->think * NS_PER_MS;
        open_client(process);
        process_open(process);
    } else {
        go_on(process);
    }
    close_client(process);
    process_close(process);
}

static void act(struct process *process, uint64_t now)
{
    struct instance *it = instance_of(process);
    if (it->leave_ns <= now)
        leave(process);
    if (it->think_ns <= now && !process->dying) {
        it->think_ns = NO_TIME;
        if (!it->wants)
            go_on(process);
        close_client(process);
        process_close(process);
    }
    for (uint32_t i = 0; i < process->scenario->wish_count && !process->dying; i++)
        if (is_mine(process, &process->scenario->wishes[i]) && !process->wished[i] &&
            process->scenario->wishes[i].time * NS_PER_MS <= now)
            wish(process, i);
}

void clients_act(struct process *process, uint64_t now)
{
    if (process->algorithm->problem != CV_MUTEX || process->stopped)
        return;
    for (process->name = 0; process->name < process->board->names; process->name++)
        act(process, now);
    process->name = 0;
}

uint64_t clients_next(const struct process *process)
{
    uint64_t next = NO_TIME;
    if (process->algorithm->problem != CV_MUTEX || process->stopped)
        return next;
    for (uint32_t name = 0; name < process->board->names; name++) {
        const struct instance *it = &process->names[name];
        next = it->leave_ns < next ? it->leave_ns : next;
        next = it->think_ns < next ? it->think_ns : next;
    }
    for (uint32_t i = 0; i < process->scenario->wish_count; i++) {
        const struct cv_wish *it = &process->scenario->wishes[i];
        if (it->node == process->node && !process->wished[i] && it->time * NS_PER_MS < next)
            next = it->time * NS_PER_MS;
    }
    return next;
}
