// SPDX-License-Identifier: MIT
#include "sim/share/run_saved.h"

#include <stdlib.h>
#include <string.h>

#include "sim/rounds.h"
#include "sim/rows.h"
#include "sim/workload.h"

enum record { RECORD_HEAD, RECORD_NODE, RECORD_MESSAGE, RECORD_ALARM, RECORD_CHANNEL, RECORD_ENTRY, RECORD_WISH };

#define NO_ENTRY UINT64_MAX
#define ENTRY_BITS 40u /* of a saved entry's number; above it the worker's */

/* What begins a node's record. Its timers, client, rounds and state follow. */
struct saved_node {
    uint64_t type;
    uint64_t header; /* struct node */
    cv_node node;
    cv_id leader;
};

struct saved_message {
    uint64_t type, due;
};

struct saved_alarm {
    uint64_t type;
    struct alarm alarm;
};

struct saved_channel {
    uint64_t type, due;
    cv_node from, to;
};

struct saved_entry {
    uint64_t type, number, turn;
    struct cv_entry entry;
};

struct saved_wish {
    uint64_t type, index;
};

struct saved_head {
    uint64_t type, now, nodes, bytes;
    uint64_t count[CV_MAX_KINDS];
    uint64_t calls, time, decided, last_exit, chose, strays;
};

/* ---- writing ---- */

void run_write_head(const struct cv_sim *sum, uint64_t now, const struct record_sink *sink)
{
    struct saved_head head = {.type = RECORD_HEAD,
                              .now = now,
                              .nodes = sum->group.nodes,
                              .bytes = sum->name_bytes,
                              .calls = sum->run.calls,
                              .time = sum->run.time,
                              .decided = sum->run.decided,
                              .last_exit = sum->run.last_exit,
                              .chose = sum->chose,
                              .strays = sum->strays};
    memcpy(head.count, sum->run.count, sizeof head.count);
    sink->put(sink->context, &head, sizeof head);
}

static size_t state_bytes(const struct cv_sim *sim, cv_node node)
{
    const size_t stride = sim->places ? sim->places[node + 1] - sim->places[node] : sim->stride;
    return stride - sizeof(struct node);
}

static size_t record_bytes(const struct cv_sim *sim, cv_node node)
{
    return sizeof(struct saved_node) + sim->timers * sizeof(uint64_t) + (sim->load ? sizeof(struct client) : 0) +
           (sim->rounds ? ROUNDS_WORKER_BYTES : 0) + state_bytes(sim, node);
}

static void write_node(const struct share_worker *worker, cv_node node, unsigned char *record,
                       const struct record_sink *sink)
{
    const struct cv_sim *sim = worker->sim;
    const struct node *it = world_first_node(sim, node);
    struct saved_node head = {.type = RECORD_NODE, .node = node, .leader = sim->leaders[node]};
    unsigned char *at = record + sizeof head;
    memcpy(&head.header, it, sizeof *it);
    memcpy(record, &head, sizeof head);
    if (sim->timers)
        memcpy(at, &sim->timer_due[(size_t)node * sim->timers], sim->timers * sizeof(uint64_t));
    at += sim->timers * sizeof(uint64_t);
    if (sim->load) {
        struct client client = sim->load->clients[node];
        if (client.entry != NO_ENTRY)
            client.entry |= (uint64_t)worker->number << ENTRY_BITS;
        memcpy(at, &client, sizeof client);
        at += sizeof client;
    }
    if (sim->rounds) {
        rounds_save(sim, node, at);
        at += ROUNDS_WORKER_BYTES;
    }
    memcpy(at, it + 1, state_bytes(sim, node));
    sink->put(sink->context, record, record_bytes(sim, node));
}

static void write_message(uint64_t due, const struct cv_message *message, const struct record_sink *sink)
{
    unsigned char record[sizeof(struct saved_message) + sizeof *message + (CV_MAX_WORDS + 1) * 4];
    const struct saved_message head = {RECORD_MESSAGE, due};
    memcpy(record, &head, sizeof head);
    memcpy(record + sizeof head, message, cv_message_bytes(message));
    sink->put(sink->context, record, sizeof head + cv_message_bytes(message));
}

/* A message of the calendar, or the messages of a row. */
static void write_messages(uint64_t due, const struct cv_message *message, const struct record_sink *sink)
{
    struct cv_row *row = rows_in(message);
    if (!row) {
        write_message(due, message, sink);
        return;
    }
    uint64_t copy[(sizeof *row + sizeof *message + CV_ROW_BODY) / 8];
    row = memcpy(copy, row, sizeof *row + cv_message_bytes(rows_message(row)));
    for (write_message(due, rows_message(row), sink); row->further; write_message(due, rows_message(row), sink))
        rows_next(row);
}

static void write_ahead(const struct ahead *ahead, const struct record_sink *sink)
{
    unsigned char *rows = malloc(ahead->bytes), *at = rows;
    if (!rows) {
        sink->put(sink->context, NULL, 0);
        return;
    }
    memcpy(rows, ahead->rows, ahead->bytes);
    for (; at < rows + ahead->bytes; elsewhere_next(&at))
        write_message(ahead->due, elsewhere_message(at), sink);
    free(rows);
}

/* Those of one tick stay in their order. In a far list the time stands before each. */
static void write_list(struct calendar_list *list, uint64_t due, bool far, bool alarms, const struct record_sink *sink)
{
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        while (part.at < part.end) {
            uint64_t head[2] = {due};
            if (far) {
                memcpy(head, part.at, sizeof head);
                part.at += CALENDAR_FAR_HEAD;
            }
            if (alarms) {
                struct saved_alarm record = {.type = RECORD_ALARM};
                memcpy(&record.alarm, part.at, sizeof record.alarm);
                sink->put(sink->context, &record, sizeof record);
                part.at += sizeof record.alarm;
            } else {
                const struct cv_message *message = (const void *)part.at;
                write_messages(head[0], message, sink);
                part.at += cv_message_bytes(message);
            }
        }
}

static void write_calendar(const struct calendar *calendar, bool alarms, const struct record_sink *sink)
{
    const uint64_t mask = calendar->mask;
    for (uint64_t ahead = 1; calendar->pending && ahead <= mask; ahead++) {
        const uint64_t due = calendar->now + ahead;
        if (calendar->direct || (due & ~mask) == (calendar->now & ~mask))
            write_list(&calendar->near[due & mask], due, false, alarms, sink);
    }
    for (uint32_t block = 0; calendar->pending && calendar->far && block < CALENDAR_BLOCKS; block++)
        write_list(&calendar->far[block], 0, true, alarms, sink);
}

static void write_channel(cv_node from, cv_node to, uint64_t due, uint64_t now, const struct record_sink *sink)
{
    const struct saved_channel record = {RECORD_CHANNEL, due, from, to};
    if (due > now)
        sink->put(sink->context, &record, sizeof record);
}

static void write_channels(const struct share_worker *worker, const struct record_sink *sink)
{
    const struct cv_sim *sim = worker->sim;
    const struct fifo *fifo = &sim->fifo;
    for (cv_node node = 0; node < sim->group.nodes; node++) {
        if (elsewhere_has(&worker->elsewhere, node))
            continue;
        if (fifo->onward)
            write_channel(node, node + 1 < sim->group.nodes ? node + 1 : 0, fifo->onward[node], sim->now, sink);
        for (uint64_t e = fifo->links ? fifo->edges[node] : 1; fifo->links && e < fifo->edges[node + 1]; e++)
            write_channel(node, fifo->neighbours[e], fifo->links[e], sim->now, sink);
    }
    for (size_t i = 0; fifo->table && i < fifo->capacity; i++)
        if (fifo->table[i].channel)
            write_channel((cv_node)((fifo->table[i].channel - 1) >> 32), (cv_node)(fifo->table[i].channel - 1),
                          fifo->table[i].due, sim->now, sink);
}

static void write_worker(const struct share_worker *worker, unsigned char *record, const struct record_sink *sink)
{
    const struct cv_sim *sim = worker->sim;
    for (cv_node node = 0; node < sim->group.nodes; node++)
        if (!elsewhere_has(&worker->elsewhere, node))
            write_node(worker, node, record, sink);
    write_calendar(&sim->mail, false, sink);
    if (sim->sided)
        write_calendar(&sim->backward, false, sink);
    write_calendar(&sim->alarms, true, sink);
    for (size_t i = 0; i < worker->ahead_count; i++)
        write_ahead(&worker->ahead[i], sink);
    write_channels(worker, sink);
    for (uint64_t i = 0; sim->load && i < sim->load->entry_count; i++) {
        const struct saved_entry entry = {RECORD_ENTRY, (uint64_t)worker->number << ENTRY_BITS | i, sim->load->turns[i],
                                          sim->load->entries[i]};
        sink->put(sink->context, &entry, sizeof entry);
    }
    for (uint32_t i = 0; sim->load && i < sim->scenario->wish_count; i++)
        if (sim->load->has_come[i] && !elsewhere_has(&worker->elsewhere, sim->scenario->wishes[i].node))
            sink->put(sink->context, &(struct saved_wish){RECORD_WISH, i}, sizeof(struct saved_wish));
}

void run_write(const struct cv_sim *world, const struct share_worker *workers, uint32_t count,
               const struct record_sink *sink)
{
    size_t most = 0;
    for (cv_node node = 0; node < world->group.nodes; node++) {
        const size_t bytes = record_bytes(world, node);
        most = bytes > most ? bytes : most;
        if (!world->places)
            break;
    }
    unsigned char *record = malloc(most);
    for (uint32_t i = 0; record && i < count; i++)
        write_worker(&workers[i], record, sink);
    if (!record)
        sink->put(sink->context, NULL, 0);
    free(record);
}

/* ---- reading ---- */

int run_loader_init(struct run_loader *loader, struct cv_sim *world, struct share_worker *workers, uint32_t count)
{
    *loader = (struct run_loader){.world = world, .workers = workers, .count = count};
    if (world->load && !(loader->entries = malloc((size_t)world->group.nodes * sizeof *loader->entries)))
        return CV_ENOMEM;
    return 0;
}

void run_loader_free(struct run_loader *loader)
{
    free(loader->entries);
}

/* The worker of this rank that has the node, or NULL. */
static struct share_worker *worker_of(const struct run_loader *loader, cv_node node)
{
    for (uint32_t i = 0; i < loader->count; i++)
        if (!elsewhere_has(&loader->workers[i].elsewhere, node))
            return &loader->workers[i];
    return NULL;
}

static bool load_head(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    struct saved_head head;
    if (size != sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (head.nodes != loader->world->group.nodes || head.bytes != loader->world->name_bytes)
        return false;
    for (uint32_t i = 0; i < loader->count; i++) {
        struct share_worker *worker = &loader->workers[i];
        struct cv_sim *sim = worker->sim;
        sim->now = sim->mail.now = sim->backward.now = sim->alarms.now = head.now;
        sim->strays = head.strays;
        worker_forget_promises(worker);
        if (worker->number)
            continue;
        memcpy(sim->run.count, head.count, sizeof head.count);
        sim->run.calls = head.calls;
        sim->run.time = head.time;
        sim->run.decided = head.decided;
        sim->run.last_exit = head.last_exit;
        sim->chose = head.chose;
    }
    loader->begun = true;
    return true;
}

static bool load_node(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    struct saved_node head;
    if (size < sizeof head)
        return false;
    memcpy(&head, bytes, sizeof head);
    if (head.node >= loader->world->group.nodes || size != record_bytes(loader->world, head.node))
        return false;
    struct share_worker *worker = worker_of(loader, head.node);
    const unsigned char *at = bytes + sizeof head;
    const size_t rounds_at =
        loader->world->timers * sizeof(uint64_t) + (loader->world->load ? sizeof(struct client) : 0);
    for (uint32_t i = 0; loader->world->rounds && i < loader->count; i++)
        rounds_restore(loader->workers[i].sim, head.node, at + rounds_at);
    if (!worker)
        return true;
    struct cv_sim *sim = worker->sim;
    struct node *it = world_first_node(sim, head.node);
    memcpy(it, &head.header, sizeof *it);
    sim->leaders[head.node] = head.leader;
    for (uint32_t timer = 0; timer < sim->timers; timer++, at += sizeof(uint64_t)) {
        memcpy(world_timer(sim, head.node, timer), at, sizeof(uint64_t));
        sim->timers_active += *world_timer(sim, head.node, timer) != 0;
    }
    if (sim->load) {
        struct client *client = &sim->load->clients[head.node];
        memcpy(client, at, sizeof *client);
        loader->entries[head.node] = client->entry;
        sim->load->open += client->entry != NO_ENTRY;
        at += sizeof *client;
    }
    at += sim->rounds ? ROUNDS_WORKER_BYTES : 0;
    memcpy(it + 1, at, state_bytes(sim, head.node));
    return true;
}

static bool load_message(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    struct saved_message head;
    const struct cv_message *message = (const void *)(bytes + sizeof head);
    if (size < sizeof head + sizeof *message || size != sizeof head + cv_message_bytes(message) ||
        message->to >= loader->world->group.nodes || message->from >= loader->world->group.nodes ||
        message->kind >= loader->world->kinds)
        return false;
    memcpy(&head, bytes, sizeof head);
    struct share_worker *worker = worker_of(loader, message->to);
    if (worker)
        worker_keep(worker, head.due, message);
    return true;
}

static bool load_an_alarm(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    struct saved_alarm record;
    if (size != sizeof record)
        return false;
    memcpy(&record, bytes, sizeof record);
    const struct alarm *alarm = &record.alarm;
    const bool client = alarm->timer >= ALARM_WISH;
    if (client &&
        (!loader->world->load || (alarm->timer == ALARM_WISH && alarm->node >= loader->world->scenario->wish_count)))
        return false;
    const cv_node node = client ? load_alarmed(loader->world, alarm) : alarm->node;
    if (node >= loader->world->group.nodes)
        return false;
    struct share_worker *worker = worker_of(loader, node);
    struct alarm *place = worker ? calendar_add(&worker->sim->alarms, alarm->due, sizeof *place) : NULL;
    if (!worker)
        return true;
    loader->failed |= !place;
    if (place)
        *place = *alarm;
    if (client)
        worker->sim->load->planned++;
    return true;
}

static bool load_channel(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    struct saved_channel record;
    if (size != sizeof record)
        return false;
    memcpy(&record, bytes, sizeof record);
    if (record.from >= loader->world->group.nodes || record.to >= loader->world->group.nodes)
        return false;
    struct share_worker *worker = worker_of(loader, record.from);
    uint64_t due = record.due;
    if (worker && fifo_order(&worker->sim->fifo, record.from, record.to, worker->sim->now, &due))
        loader->failed = true;
    return true;
}

static bool load_an_entry(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    struct saved_entry record;
    if (size != sizeof record || !loader->world->load)
        return false;
    memcpy(&record, bytes, sizeof record);
    if (record.entry.node >= loader->world->group.nodes)
        return false;
    struct share_worker *worker = worker_of(loader, record.entry.node);
    if (!worker)
        return true;
    struct load *load = worker->sim->load;
    loader->failed |= load_add_entries(worker->sim, &record.entry, &record.turn, 1) != 0;
    if (loader->entries[record.entry.node] == record.number)
        load->clients[record.entry.node].entry = load->entry_count - 1;
    return true;
}

static bool load_wish(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    struct saved_wish record;
    if (size != sizeof record || !loader->world->load)
        return false;
    memcpy(&record, bytes, sizeof record);
    if (record.index >= loader->world->scenario->wish_count)
        return false;
    loader->world->load->has_come[record.index] = true;
    return true;
}

bool run_load(struct run_loader *loader, const unsigned char *bytes, size_t size)
{
    uint64_t type;
    if (size < sizeof type)
        return false;
    memcpy(&type, bytes, sizeof type);
    if (loader->begun != (type != RECORD_HEAD))
        return false;
    switch (type) {
    case RECORD_HEAD:
        return load_head(loader, bytes, size);
    case RECORD_NODE:
        return load_node(loader, bytes, size);
    case RECORD_MESSAGE:
        return load_message(loader, bytes, size);
    case RECORD_ALARM:
        return load_an_alarm(loader, bytes, size);
    case RECORD_CHANNEL:
        return load_channel(loader, bytes, size);
    case RECORD_ENTRY:
        return load_an_entry(loader, bytes, size);
    case RECORD_WISH:
        return load_wish(loader, bytes, size);
    default:
        return false;
    }
}
