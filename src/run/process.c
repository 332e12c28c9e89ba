// SPDX-License-Identifier: MIT
/* The life of a node's process: the first steps, then a loop around its sockets and its clock. */
#include "run/process.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_AT_ONCE 64
#define LATEST_ARRIVAL_MS 3000u /* of what a process sent that has ended */

_Noreturn void process_fail(const struct process *process, const char *call)
{
    process->slot->failed = (uint32_t)errno;
    process->slot->failed_call = call;
    _exit(EXIT_FAILURE);
}

/* The experiment alone decides when its processes end, and none outlives it. */
static void prepare(struct process *process)
{
    const uint32_t slots = process->board->slots;
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    process->links = calloc(slots, sizeof *process->links);
    process->received = calloc(slots, sizeof *process->received);
    process->pending = calloc(slots, sizeof *process->pending);
    process->greeted = calloc(slots, sizeof *process->greeted);
    process->closed = calloc(slots, sizeof *process->closed);
    process->buffer = malloc(PACKET_BYTES);
    process->poll = epoll_create1(EPOLL_CLOEXEC);
    if (!process->links || !process->received || !process->pending || !process->greeted || !process->closed ||
        !process->buffer || steps_init(process))
        process_fail(process, "malloc");
    if (process->poll < 0)
        process_fail(process, "epoll_create1");
    for (uint32_t i = 0; i < slots; i++)
        process->links[i].socket = -1;
    sockets_watch(process, process->control);
    sockets_watch(process, process->listener);
}

/* ---- what the experiment tells ---- */

void process_keep(const struct process *process, struct kept_list *list, const void *content, size_t bytes)
{
    struct kept *it = malloc(sizeof *it + (bytes + 7) / 8 * 8);
    if (!it)
        process_fail(process, "malloc");
    it->next = NULL;
    it->bytes = bytes;
    memcpy(it->content, content, bytes);
    *(list->first ? &list->last->next : &list->first) = it;
    list->last = it;
}

struct kept *process_take(struct kept_list *list)
{
    struct kept *it = list->first;
    if (it)
        list->first = it->next;
    return it;
}

/* Reads one order into the list; `flags` as recv() has them. False: there is none. */
static bool read_order(struct process *process, int flags)
{
    const ssize_t bytes = recv(process->control, process->buffer, PACKET_BYTES, flags);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (bytes < (ssize_t)sizeof(struct control))
        _exit(EXIT_SUCCESS); /* the experiment is gone */
    process_keep(process, &process->orders, process->buffer, (size_t)bytes);
    return true;
}

static void end(struct process *process)
{
    log_begin(&process->log, process_time(process));
    if (process->scenario->app)
        step_record_state(process, LOG_LAST_STATE);
    if (!log_is_empty(&process->log) && log_write(&process->log, process->file))
        process_fail(process, "write");
    _exit(EXIT_SUCCESS);
}

static void obey(struct process *process, const struct control *control)
{
    process_comes_after(process, control->ns);
    switch (control->type) {
    case CONTROL_GONE:
        process->pending[process->pending_count++] =
            (struct ended){control->index, control->count, board_now(process->board) + LATEST_ARRIVAL_MS * NS_PER_MS};
        return; /* it is closed when all that the other wrote has been read */
    case CONTROL_REPORT:
        faults_report(process, (const void *)(control + 1));
        break;
    case CONTROL_SUSPECT:
        process->now = process_time(process);
        faults_suspect(process, control->index);
        break;
    case CONTROL_STOP:
        process_view_stop(process);
        break;
    case CONTROL_VIEW:
        process_view_begin(process, control + 1);
        process->slot->client_closed++;
        break;
    default:
        end(process);
    }
    process_close(process);
}

static void obey_all(struct process *process)
{
    while (!process->dying) {
        struct kept *order = process_take(&process->orders);
        if (!order)
            return;
        obey(process, (const void *)order->content);
        free(order);
    }
}

/*
 * Has all arrived that an ended process sent? What is in a Unix socket can be read at once. What is on its way between
 * machines arrives before the connection ends.
 */
static bool has_arrived(const struct process *process, const struct ended *ended)
{
    return !process->network->endpoints || process->received[ended->slot] >= ended->count ||
           process->closed[ended->slot] || board_now(process->board) > ended->deadline;
}

/* Nothing is left to read: what an ended process counted as sent and did not arrive never will. */
static void settle_ended(struct process *process)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < process->pending_count; i++) {
        const struct ended *it = &process->pending[i];
        if (!has_arrived(process, it)) {
            process->pending[kept++] = *it;
            continue;
        }
        process->slot->closed += it->count - process->received[it->slot];
        process->links[it->slot].gone = true;
        process_close(process);
    }
    process->pending_count = kept;
}

/* ---- the first steps ---- */

static bool calls(const struct process *process)
{
    const struct cv_scenario *scenario = process->scenario;
    for (uint32_t i = 0; i < scenario->caller_count && !scenario->everyone_calls; i++)
        if (scenario->callers[i] == process->node)
            return true;
    return scenario->everyone_calls;
}

static void begin(struct process *process)
{
    if (process->algorithm->problem == CV_MUTEX) {
        clients_begin(process);
    } else if (process->algorithm->start && calls(process)) {
        struct cv_event event = {.type = CV_EVENT_START, .peer = CV_NOBODY};
        process->algorithm->start(step_begin(process, &event));
        step_finish(process);
    }
}

static void come_back(struct process *process)
{
    struct cv_event event = {.type = CV_EVENT_RECOVER, .peer = CV_NOBODY};
    struct cv_self *me = step_begin(process, &event);
    if (process->algorithm->recover)
        process->algorithm->recover(me);
    step_finish(process);
    if (process->algorithm->problem == CV_MUTEX)
        clients_begin(process);
}

/* What is ordered before, such as a report of a crash in the first steps, is obeyed after them. */
static void await(struct process *process, enum control_type type)
{
    struct kept_list early = {0};
    for (bool found = false; !found;) {
        while (!process->orders.first)
            read_order(process, 0);
        struct kept *order = process_take(&process->orders);
        const struct control *control = (const void *)order->content;
        found = control->type == (uint32_t)type;
        if (control->type == CONTROL_END)
            end(process);
        if (!found)
            process_keep(process, &early, order->content, order->bytes);
        free(order);
    }
    process->orders = early;
}

static void take_first_steps(struct process *process)
{
    if (!process->returned)
        await(process, CONTROL_START);
    if (process->traced && !process->returned) {
        log_begin(&process->log, 0);
        for (process->name = 0; process->name < process->board->names; process->name++)
            step_record_state(process, LOG_STATE);
        process->name = 0;
        if (log_write(&process->log, process->file))
            process_fail(process, "write");
    }
    if (process->returned)
        come_back(process);
    else
        begin(process);
    process->slot->started = 1;
    process->slot->client_closed++;
    process_close(process);
    if (!process->returned && !process->dying)
        await(process, CONTROL_BEGIN);
}

/* ---- the loop ---- */

static uint64_t next_timer(const struct process *process)
{
    uint64_t next = NO_TIME;
    for (uint32_t name = 0; name < process->board->names; name++)
        for (uint32_t timer = 0; timer < process->timers; timer++) {
            const uint64_t due = process->names[name].timer_due[timer];
            if (due && due < next)
                next = due;
        }
    return next;
}

static int timeout_ms(const struct process *process, uint64_t now, uint64_t next)
{
    if (process->pending_count || next <= now)
        return process->network->endpoints && next > now ? 1 : 0;
    if (next == NO_TIME)
        return -1;
    const uint64_t ms = (next - now + NS_PER_MS - 1) / NS_PER_MS;
    return ms < 1000 ? (int)ms : 1000;
}

static void handle(struct process *process, int file)
{
    if (file == process->listener)
        sockets_accept(process);
    else if (file != process->control)
        sockets_receive(process, file);
}

/* It dies as planned, after it has sent what it sent before. */
static void die(struct process *process)
{
    while (!links_idle(process)) {
        links_flush(process, board_now(process->board));
        usleep(500);
    }
    kill(getpid(), SIGKILL);
    pause();
}

_Noreturn void process_run(struct process *process)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    prepare(process);
    take_first_steps(process);
    obey_all(process);
    for (;;) {
        uint64_t now = board_now(process->board);
        clients_act(process, now);
        step_fire_timers(process, now);
        uint64_t next = links_flush(process, now);
        if (process->dying)
            die(process);
        const uint64_t client = clients_next(process), timer = next_timer(process);
        next = client < next ? client : next;
        next = timer < next ? timer : next;
        const int count = epoll_wait(process->poll, events, EVENTS_AT_ONCE, timeout_ms(process, now, next));
        if (count < 0 && errno != EINTR)
            process_fail(process, "epoll_wait");
        if (count == 0)
            settle_ended(process);
        for (int i = 0; i < count && !process->dying; i++) /* orders first: much may wait to be read */
            if (events[i].data.fd == process->control && read_order(process, MSG_DONTWAIT))
                obey_all(process);
        for (int i = 0; i < count && !process->dying; i++)
            handle(process, events[i].data.fd);
    }
}
