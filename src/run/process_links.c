// SPDX-License-Identifier: MIT
/*
 * The links to the other processes. A message may wait at its sender, because it is delayed or the socket is full; then
 * those after it wait, too.
 */
#include <errno.h>
#include <stdlib.h>

#include "run/process.h"

static uint64_t draw_delay(struct process *process)
{
    const struct cv_delay *delay = &process->network->delay;
    if (!process->network->delayed)
        return 0;
    if (delay->model == CV_DELAY_EXPONENTIAL)
        return cv_random_exponential(&process->delays, delay->low) * NS_PER_MS;
    /* Any time between: real delays are no whole milliseconds. */
    return delay->low * NS_PER_MS +
           cv_random_below(&process->delays, (delay->high - delay->low) * 1000 + 1) * (NS_PER_MS / 1000);
}

/* The lag of a link, where the scenario has one, instead of the usual delay. */
static uint64_t delay_of(struct process *process, const struct cv_message *message)
{
    const struct cv_scenario *scenario = process->scenario;
    for (uint32_t i = scenario->lag_count; i-- > 0;) {
        const struct cv_lag *lag = &scenario->lags[i];
        if ((lag->pair.one == CV_NOBODY || lag->pair.one == message->from) &&
            (lag->pair.other == CV_NOBODY || lag->pair.other == message->to) &&
            (lag->kind == CV_MAX_KINDS || lag->kind == message->kind))
            return lag->ticks * NS_PER_MS;
    }
    return draw_delay(process);
}

static void enqueue(struct process *process, struct link *link, const struct packet *packet,
                    const struct cv_message *message, uint64_t due)
{
    const size_t bytes = PACKET_HEAD + cv_message_bytes(message);
    struct waiting *it = malloc(offsetof(struct waiting, packet) + bytes + sizeof(struct cv_message));
    if (!it)
        process_fail(process, "malloc");
    it->next = NULL;
    it->due = due > link->last_due ? due : link->last_due;
    it->bytes = bytes;
    memcpy(&it->packet, packet, PACKET_HEAD);
    memcpy(&it->packet.message, message, cv_message_bytes(message));
    link->last_due = it->due;
    *(link->first ? &link->last->next : &link->first) = it;
    link->last = it;
    process_open(process);
}

void links_send(struct process *process, const struct cv_message *message)
{
    const struct packet head = {.serial = (uint64_t)process->index << LOG_SERIAL_BITS | ++process->serial,
                                .slot = process->index,
                                .name = process->name,
                                .ns = process->now,
                                .epoch = process->group.epoch,
                                .bytes = PACKET_HEAD + cv_message_bytes(message)};
    const uint32_t to = process->board->current[message->to];
    if (link_is_cut(process, message->to) || to == NO_SLOT)
        return;
    if (PACKET_HEAD + cv_message_bytes(message) > PACKET_BYTES) {
        errno = EMSGSIZE;
        process_fail(process, "send");
    }
    struct link *link = &process->links[to];
    const uint64_t delay = delay_of(process, message);
    if (delay || link->first || to == process->index) {
        enqueue(process, link, &head, message, process->now + delay);
        return;
    }
    struct packet *packet = (void *)process->buffer; /* the message that is in it has been handled */
    memcpy(packet, &head, PACKET_HEAD);
    memcpy(&packet->message, message, cv_message_bytes(message));
    if (!sockets_write(process, to, packet))
        enqueue(process, link, &head, message, process->now);
}

uint64_t links_flush(struct process *process, uint64_t now)
{
    uint64_t next = NO_TIME;
    for (uint32_t i = 0; i < process->board->slots; i++) {
        /* Messages to oneself come first: the steps that receive them may send over every other link. */
        const uint32_t to = (process->index + i) % process->board->slots;
        struct link *link = &process->links[to];
        if (link->rest_bytes && !sockets_write_rest(process, to))
            next = now + NS_PER_MS < next ? now + NS_PER_MS : next;
        while (link->first && link->first->due <= now && (to != process->index || !process->dying)) {
            struct waiting *it = link->first;
            if (to != process->index && !sockets_write(process, to, &it->packet))
                break;
            link->first = it->next;
            if (to == process->index)
                step_deliver(process, &it->packet);
            free(it);
            process_close(process);
        }
        if (!link->first)
            continue;
        const uint64_t retry = now + NS_PER_MS, due = link->first->due > retry ? link->first->due : retry;
        const uint64_t at = link->first->due > now ? link->first->due : due;
        next = at < next ? at : next;
    }
    return next;
}

bool links_idle(const struct process *process)
{
    for (uint32_t to = 0; to < process->board->slots; to++)
        if (to != process->index && (process->links[to].first || process->links[to].rest_bytes))
            return false;
    return true;
}

void links_drop(struct process *process)
{
    for (uint32_t to = 0; to < process->board->slots; to++)
        for (struct link *link = &process->links[to]; link->first; process_close(process)) {
            struct waiting *it = link->first;
            link->first = it->next;
            free(it);
        }
}
