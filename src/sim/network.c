// SPDX-License-Identifier: MIT
/* Sends messages: counts them, cuts them off or relays them, delays them, keeps them in order. */
#include "sim/network.h"

#include <string.h>

#include "core/scenario/relay.h"
#include "sim/engine.h"
#include "sim/faults.h"
#include "sim/transport.h"
#include "sim/world.h"

static bool is_cut(const void *sim, cv_node one, cv_node other)
{
    return faults_cut(sim, one, other);
}

static bool is_alive(const void *sim, cv_node node)
{
    return world_alive(sim, node);
}

uint32_t network_hops(const struct cv_sim *sim, cv_node from, cv_node to)
{
    const struct cv_relay relay = {sim->scenario, is_cut, is_alive, sim};
    return faults_cut(sim, from, to) ? cv_relay_hops(&relay, from, to) : 1;
}

/* One packet in four is late, so that packets overtake each other even if every link is equally fast. */
static uint64_t jitter(const struct cv_sim *sim, uint64_t drawn)
{
    const uint64_t longest = 3 * cv_delay_bound(&sim->scenario->delay);
    return cv_chance_happens(drawn, 1ull << 30) ? 1 + cv_chance_below(cv_chance_again(drawn), longest) : 0;
}

/* The delay of a message over one link. */
static uint64_t link_delay(const struct cv_sim *sim, const struct cv_message *message, uint64_t drawn)
{
    for (uint32_t i = sim->scenario->lag_count; i-- > 0;) {
        const struct cv_lag *lag = &sim->scenario->lags[i];
        if ((lag->pair.one == CV_NOBODY || lag->pair.one == message->from) &&
            (lag->pair.other == CV_NOBODY || lag->pair.other == message->to) &&
            (lag->kind == CV_MAX_KINDS || lag->kind == message->kind))
            return lag->ticks;
    }
    return cv_arrival_delay(&sim->scenario->delay, drawn);
}

void network_carry(struct cv_sim *sim, const struct cv_message *message, uint64_t serial, uint32_t hops,
                   uint64_t number)
{
    const uint64_t channel = cv_arrival_channel(message->from, message->to, sim->transport ? 0 : sim->name);
    uint64_t drawn = cv_chance_draw(&sim->delays, channel, number);
    uint64_t due = sim->now;
    if (sim->scenario->serial && fifo_order(&sim->fifo, message->from, message->to, sim->now, &due))
        sim->out_of_memory = true; /* it sets out when the message before it has arrived */
    for (uint32_t hop = 0; hop < hops; hop++) {
        due += link_delay(sim, message, drawn);
        drawn = cv_chance_again(drawn);
    }
    if (sim->scenario->reorder)
        due += jitter(sim, drawn);
    const bool in_order = cv_scenario_raw(sim->scenario) ? !sim->scenario->reorder : !sim->scenario->unordered;
    if (in_order && fifo_order(&sim->fifo, message->from, message->to, sim->now, &due))
        sim->out_of_memory = true;
    const size_t bytes = cv_message_bytes(message);
    const struct trailer trailer = {serial, sim->name, 0};
    unsigned char *record = calendar_add(&sim->mail, due, bytes + sizeof trailer);
    if (!record) {
        sim->out_of_memory = true;
        return;
    }
    memcpy(record, message, bytes);
    memcpy(record + bytes, &trailer, sizeof trailer);
}

static void send(struct cv_sim *sim, const struct cv_message *message)
{
    assert(message->kind < sim->kinds); /* a kind that the algorithm's table does not have */
    const uint64_t serial = ++sim->serial;
    struct cv_event event = {.type = CV_EVENT_SEND,
                             .node = message->from,
                             .peer = message->to,
                             .time = sim->now,
                             .clock = message->clock,
                             .message = serial,
                             .content = message};
    if (message->to != message->from)
        sim->run.count[message->kind]++;
    world_tell(sim, &event);
    /* No reliable channel reaches a dead node, or across a cut: it would send for ever. */
    const bool down = sim->transport && !world_alive(sim, message->to);
    const uint32_t hops = down ? 0 : network_hops(sim, message->from, message->to);
    if (hops && sim->transport) {
        transport_send(sim, message, serial);
        return;
    }
    if (hops) {
        network_carry(sim, message, serial, hops, message->clock);
        return;
    }
    event.type = CV_EVENT_LOST;
    event.node = message->to;
    event.peer = message->from;
    event.clock = world_node(sim, message->to)->clock;
    world_tell(sim, &event);
}

/* Does the sender crash at this message? */
static bool crashes(struct cv_sim *sim, const struct cv_message *message, enum cv_moment moment)
{
    for (uint32_t i = 0; i < sim->scenario->crash_count; i++) {
        const struct cv_crash *crash = &sim->scenario->crashes[i];
        if (crash->moment != moment || crash->node != message->from || crash->kind != message->kind ||
            sim->crash_done[i])
            continue;
        sim->crash_done[i] = true;
        return true;
    }
    return false;
}

void network_send_all(struct cv_sim *sim)
{
    const struct cv_self *me = &sim->self;
    for (size_t at = 0; at < me->used && !sim->dying;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        sim->dying = crashes(sim, message, CV_BEFORE);
        if (sim->dying)
            break;
        send(sim, message);
        sim->dying = crashes(sim, message, CV_AFTER);
    }
}
