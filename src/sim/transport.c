// SPDX-License-Identifier: MIT
/*
 * Reliable FIFO channels (core/link/channel.h) over a raw network that loses, doubles and reorders packets. A link is
 * the channel from one node to another; both of its ends live here. A crash or a cut breaks a link: its messages are
 * lost, and packets of its former life are recognised by their number and dropped.
 */
#include "sim/transport.h"

#include <stdlib.h>
#include <string.h>

#include "core/hash_map.h"
#include "core/link/channel.h"
#include "sim/engine.h"
#include "sim/network.h"
#include "sim/world.h"

/* The two highest kinds are ours; algorithms have fewer kinds. */
enum { KIND_ACKNOWLEDGEMENT = CV_MAX_KINDS - 2, KIND_DATA = CV_MAX_KINDS - 1 };

#define WINDOW 64u

struct link {
    cv_node from, to;
    uint32_t number; /* the number of the link */
    uint32_t life;
    uint64_t alarm;    /* when the channel is looked at again; 0: not planned */
    uint64_t thrown;   /* packets that the sender has put on the network */
    uint64_t answered; /* acknowledgements that the receiver has */
    struct cv_channel_sender sender;
    struct cv_channel_receiver receiver;
};

/* A buffer that grows and is used again. */
struct scratch {
    unsigned char *bytes;
    size_t room;
};

struct transport {
    struct link **links;
    uint32_t count, capacity;
    struct cv_hash_map by_ends; /* from (from, to) to the link */
    uint32_t busy;              /* links with unacknowledged packets */
    struct scratch packet, content;
    struct cv_transport_counts counts;
};

/* The header of a packet. */
struct packet_head {
    uint32_t link, life;
    uint64_t sequence;
};

int transport_init(struct cv_sim *sim)
{
    if (!cv_scenario_raw(sim->scenario))
        return 0;
    sim->transport = calloc(1, sizeof *sim->transport);
    return sim->transport ? 0 : CV_ENOMEM;
}

void transport_free(struct cv_sim *sim)
{
    struct transport *transport = sim->transport;
    if (!transport)
        return;
    for (uint32_t i = 0; i < transport->count; i++) {
        cv_channel_sender_free(&transport->links[i]->sender);
        cv_channel_receiver_free(&transport->links[i]->receiver);
        free(transport->links[i]);
    }
    free(transport->links);
    cv_hash_map_free(&transport->by_ends);
    free(transport->packet.bytes);
    free(transport->content.bytes);
    free(transport);
}

void cv_sim_transport(const struct cv_sim *sim, struct cv_transport_counts *counts)
{
    *counts = sim->transport ? sim->transport->counts : (struct cv_transport_counts){0};
}

bool transport_busy(const struct cv_sim *sim)
{
    return sim->transport && sim->transport->busy;
}

/* ---- links ---- */

static int make_room(struct transport *transport)
{
    if (transport->count < transport->capacity)
        return 0;
    const uint32_t capacity = transport->capacity ? transport->capacity * 2 : 64;
    struct link **links = realloc(transport->links, capacity * sizeof *links);
    if (!links)
        return CV_ENOMEM;
    transport->links = links;
    transport->capacity = capacity;
    return 0;
}

static void begin_life(struct cv_sim *sim, struct link *link)
{
    cv_channel_sender_init(&link->sender, 0, WINDOW, cv_scenario_retry(sim->scenario));
    cv_channel_receiver_init(&link->receiver, 0, WINDOW);
}

static struct link *link_between(struct cv_sim *sim, cv_node from, cv_node to)
{
    struct transport *transport = sim->transport;
    struct cv_hash_entry *place = cv_hash_map_add(&transport->by_ends, ((uint64_t)from << 32 | to) + 1);
    if (!place || place->pointer)
        return place ? place->pointer : NULL;
    struct link *link = calloc(1, sizeof *link);
    if (!link || make_room(transport)) {
        free(link);
        return NULL;
    }
    link->from = from;
    link->to = to;
    link->number = transport->count;
    begin_life(sim, link);
    transport->links[transport->count++] = link;
    place->pointer = link;
    return link;
}

static void break_link(struct cv_sim *sim, struct link *link)
{
    sim->transport->busy -= cv_channel_pending(&link->sender) > 0;
    cv_channel_sender_free(&link->sender);
    cv_channel_receiver_free(&link->receiver);
    begin_life(sim, link);
    link->life++;
}

void transport_forget(struct cv_sim *sim, cv_node node)
{
    for (uint32_t i = 0; sim->transport && i < sim->transport->count; i++)
        if (sim->transport->links[i]->from == node || sim->transport->links[i]->to == node)
            break_link(sim, sim->transport->links[i]);
}

void transport_break_all(struct cv_sim *sim)
{
    for (uint32_t i = 0; sim->transport && i < sim->transport->count; i++)
        break_link(sim, sim->transport->links[i]);
}

void transport_cut(struct cv_sim *sim)
{
    for (uint32_t i = 0; sim->transport && i < sim->transport->count; i++)
        if (!network_hops(sim, sim->transport->links[i]->from, sim->transport->links[i]->to))
            break_link(sim, sim->transport->links[i]);
}

/* ---- packets ---- */

static void *scratch(struct scratch *scratch, size_t bytes)
{
    if (scratch->room < bytes) {
        unsigned char *grown = realloc(scratch->bytes, bytes * 2);
        if (!grown)
            return NULL;
        scratch->bytes = grown;
        scratch->room = bytes * 2;
    }
    return scratch->bytes;
}

static struct cv_message *wrap(struct transport *transport, const struct packet_head *head, const void *bytes,
                               size_t size)
{
    struct cv_message *message = scratch(&transport->packet, sizeof *message + sizeof *head + size);
    if (!message)
        return NULL;
    *message = (struct cv_message){.words = ((sizeof *head + size) / 4) & CV_MAX_WORDS};
    memcpy(message->body, head, sizeof *head);
    if (size)
        memcpy((unsigned char *)message->body + sizeof *head, bytes, size);
    return message;
}

/*
 * Puts a packet on the raw network, which may lose or double it. The channel counts its packets, so that each is drawn
 * for by itself.
 */
static void throw_packet(struct cv_sim *sim, const struct cv_message *packet, uint64_t count)
{
    const uint64_t number = count << 2 | (packet->kind == KIND_ACKNOWLEDGEMENT ? 2u : 0);
    const uint64_t lost = cv_chance_draw(&sim->packets, cv_arrival_channel(packet->from, packet->to, 0), number);
    const uint64_t doubled = cv_chance_again(lost);
    struct cv_transport_counts *counts = &sim->transport->counts;
    const uint32_t hops = network_hops(sim, packet->from, packet->to);
    counts->packets++;
    if (!hops || cv_chance_happens(lost, sim->scenario->loss_32)) {
        counts->lost++;
        return;
    }
    network_carry(sim, packet, 0, hops, number);
    if (cv_chance_happens(doubled, sim->scenario->duplicate_32)) {
        counts->duplicated++;
        network_carry(sim, packet, 0, hops, number | 1);
    }
}

static void set_alarm(struct cv_sim *sim, struct link *link)
{
    const uint64_t deadline = cv_channel_deadline(&link->sender);
    if (deadline == UINT64_MAX || (link->alarm > sim->now && link->alarm <= deadline))
        return;
    link->alarm = deadline > sim->now ? deadline : sim->now + 1;
    struct alarm *alarm = calendar_add(&sim->alarms, link->alarm, sizeof *alarm);
    if (alarm)
        *alarm = (struct alarm){CV_NOBODY, link->number, link->alarm};
    else
        sim->out_of_memory = true;
}

/* Sends the packets that the channel has ready. */
static void pump(struct cv_sim *sim, struct link *link, bool again)
{
    struct cv_channel_packet packet;
    while (cv_channel_next(&link->sender, sim->now, &packet)) {
        const struct packet_head head = {link->number, link->life, packet.sequence};
        struct cv_message *message = wrap(sim->transport, &head, packet.bytes, packet.size);
        if (!message) {
            sim->out_of_memory = true;
            return;
        }
        message->from = link->from;
        message->to = link->to;
        message->kind = KIND_DATA;
        sim->transport->counts.retransmitted += again;
        throw_packet(sim, message, link->thrown++);
    }
    set_alarm(sim, link);
}

void transport_send(struct cv_sim *sim, const struct cv_message *message, uint64_t serial)
{
    struct link *link = link_between(sim, message->from, message->to);
    const size_t bytes = cv_message_bytes(message);
    const struct trailer trailer = {serial, sim->name, 0};
    unsigned char *content = scratch(&sim->transport->content, bytes + sizeof trailer);
    if (!link || !content) {
        sim->out_of_memory = true;
        return;
    }
    memcpy(content, message, bytes);
    memcpy(content + bytes, &trailer, sizeof trailer);
    sim->transport->busy += cv_channel_pending(&link->sender) == 0;
    if (cv_channel_push(&link->sender, content, bytes + sizeof trailer, NULL))
        sim->out_of_memory = true;
    pump(sim, link, false);
}

static void take_data(struct cv_sim *sim, struct link *link, const struct packet_head *head, const void *bytes,
                      size_t size)
{
    const uint32_t life = link->life;
    const void *content;
    size_t taken;
    if (cv_channel_arrive(&link->receiver, head->sequence, bytes, size))
        sim->out_of_memory = true;
    while (link->life == life && (content = cv_channel_take(&link->receiver, &taken))) {
        struct trailer trailer;
        memcpy(&trailer, (const unsigned char *)content + taken - sizeof trailer, sizeof trailer);
        sim->name = trailer.name;
        world_deliver(sim, content, trailer.serial);
    }
    if (link->life != life)
        return;
    const struct packet_head answer = {link->number, life, cv_channel_acknowledgement(&link->receiver)};
    struct cv_message *message = wrap(sim->transport, &answer, NULL, 0);
    if (!message) {
        sim->out_of_memory = true;
        return;
    }
    message->from = link->to;
    message->to = link->from;
    message->kind = KIND_ACKNOWLEDGEMENT;
    sim->transport->counts.acknowledgements++;
    throw_packet(sim, message, link->answered++);
}

bool transport_arrive(struct cv_sim *sim, const struct cv_message *packet)
{
    if (!sim->transport || packet->kind < KIND_ACKNOWLEDGEMENT)
        return false;
    struct packet_head head;
    memcpy(&head, packet->body, sizeof head);
    struct link *link = sim->transport->links[head.link];
    if (link->life != head.life || !world_alive(sim, packet->to))
        return true;
    if (packet->kind == KIND_DATA) {
        take_data(sim, link, &head, (const unsigned char *)packet->body + sizeof head,
                  packet->words * 4ul - sizeof head);
        return true;
    }
    sim->transport->busy -= cv_channel_pending(&link->sender) > 0;
    cv_channel_acknowledged(&link->sender, head.sequence, sim->now);
    sim->transport->busy += cv_channel_pending(&link->sender) > 0;
    pump(sim, link, false);
    return true;
}

cv_node transport_alarmed(const struct cv_sim *sim, const struct alarm *alarm)
{
    return sim->transport->links[alarm->timer]->from;
}

void transport_alarm(struct cv_sim *sim, const struct alarm *alarm)
{
    struct link *link = sim->transport->links[alarm->timer];
    if (link->alarm != alarm->due)
        return;
    link->alarm = 0;
    if (cv_channel_pending(&link->sender))
        pump(sim, link, true);
}
