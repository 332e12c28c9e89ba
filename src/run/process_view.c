// SPDX-License-Identifier: MIT
/*
 * Views, as one node meets them. When a node dies or comes back, all members stop and say what they hold; then each
 * begins with a fresh state in a group in which nobody has died, and adopts who is inside. Messages carry the number of
 * their view: those of an earlier one are dropped, those of a later one wait until it begins here, too.
 */
#include <stdlib.h>
#include <sys/socket.h>

#include "run/process.h"

static void cancel_timers(struct process *process)
{
    struct instance *it = instance_of(process);
    for (uint32_t timer = 0; timer < process->timers; timer++)
        if (it->timer_due[timer]) {
            it->timer_due[timer] = 0;
            process_close(process);
        }
}

/* Says which critical sections the node is in. */
static void answer(struct process *process)
{
    struct control control = {.type = CONTROL_HOLDS, .ns = process_time(process)};
    struct view_hold *holds = calloc(process->board->names, sizeof *holds);
    if (!holds)
        process_fail(process, "calloc");
    for (uint32_t name = 0; name < process->board->names; name++)
        if (process->names[name].inside)
            holds[control.index++] =
                (struct view_hold){.name = name, .node = process->node, .fence = process->names[name].fence};
    struct iovec pieces[] = {{&control, sizeof control}, {holds, control.index * sizeof *holds}};
    const struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    if (sendmsg(process->control, &message, MSG_NOSIGNAL) < 0)
        process_fail(process, "sendmsg");
    free(holds);
}

void process_view_stop(struct process *process)
{
    process->stopped = true;
    for (process->name = 0; process->name < process->board->names; process->name++)
        cancel_timers(process);
    process->name = 0;
    links_drop(process);
    answer(process);
}

void process_view_receive(struct process *process, const struct packet *packet, size_t bytes)
{
    if (packet->epoch > process->group.epoch)
        process_keep(process, &process->messages, packet, bytes);
    else
        process->slot->closed++;
}

/* Gives every instance a fresh state. Its clock goes on, so that later events have later times. */
static void begin_anew(struct process *process)
{
    uint64_t clock = 0;
    for (uint32_t name = 0; name < process->board->names; name++)
        if (process->names[name].clock > clock)
            clock = process->names[name].clock;
    process->self.effects = 0;
    process->self.used = 0;
    for (process->name = 0; process->name < process->board->names; process->name++) {
        instance_of(process)->clock = clock;
        instance_of(process)->calling = 0;
        step_init_state(process);
    }
    process->name = 0;
}

static void adopt(struct process *process, const struct view_hold *holds, uint32_t count)
{
    const struct view_hold *hold = NULL;
    for (uint32_t i = 0; i < count; i++)
        if (holds[i].name == process->name)
            hold = &holds[i];
    process->algorithm->adopt(step_begin(process, NULL), hold ? hold->node : CV_NOBODY, hold ? hold->fence : 0);
    step_finish(process);
}

/* Messages of this view that came before it began here. */
static void receive_kept(struct process *process)
{
    struct kept_list list = process->messages;
    process->messages = (struct kept_list){0};
    for (struct kept *it = process_take(&list); it; it = process_take(&list)) {
        const struct packet *packet = (const void *)it->content;
        if (packet->epoch == process->group.epoch && !process->dying) {
            step_deliver(process, packet);
            process->slot->closed++;
        } else {
            process_view_receive(process, packet, it->bytes);
        }
        free(it);
    }
}

void process_view_begin(struct process *process, const void *content)
{
    struct view_order order;
    memcpy(&order, content, sizeof order);
    const struct view_hold *holds = (const void *)((const unsigned char *)content + sizeof order);
    if (run_view_change(&process->view, process->scenario, &order, (const void *)(holds + order.hold_count)))
        process_fail(process, "malloc");
    run_view_apply(&process->view, process->scenario, &process->group);
    begin_anew(process);
    process->stopped = false;
    for (process->name = 0; process->name < process->board->names && process->algorithm->adopt; process->name++)
        adopt(process, holds, order.hold_count);
    for (process->name = 0; process->name < process->board->names && !process->dying; process->name++)
        clients_resume(process);
    process->name = 0;
    process->joined = true;
    receive_kept(process);
}
