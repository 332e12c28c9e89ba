// SPDX-License-Identifier: MIT
/*
 * The clients of a mutual exclusion algorithm: they request, enter, stay a while and leave. The workload is a list of
 * requests, or a closed loop in which every node enters a given number of times.
 */
#include "sim/workload.h"

#include <stdlib.h>
#include <string.h>

#include "core/apart.h"
#include "sim/engine.h"
#include "sim/faults.h"
#include "sim/world.h"

#define NO_ENTRY UINT64_MAX

static struct client *client_of(const struct cv_sim *sim, cv_node node)
{
    return &sim->load->clients[(size_t)sim->name * sim->group.nodes + node];
}

int load_init(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    if (sim->algorithm->problem != CV_MUTEX)
        return 0;
    const size_t clients = (size_t)scenario->names * sim->group.nodes;
    sim->load = calloc(1, sizeof *sim->load);
    if (!sim->load || !(sim->load->clients = calloc(clients, sizeof *sim->load->clients)) ||
        !(sim->load->has_come = calloc(scenario->wish_count + 1u, sizeof *sim->load->has_come)))
        return CV_ENOMEM;
    for (size_t i = 0; i < clients; i++)
        sim->load->clients[i] = (struct client){.entry = NO_ENTRY, .remaining = scenario->entries};
    return 0;
}

void load_free(struct cv_sim *sim)
{
    if (!sim->load)
        return;
    free(sim->load->clients);
    free(sim->load->has_come);
    free(sim->load->entries);
    free(sim->load->turns);
    free(sim->load);
}

int load_init_worker(struct cv_sim *worker, const struct cv_sim *world)
{
    if (!world->load)
        return 0;
    worker->load = cv_new_apart(sizeof *worker->load);
    if (!worker->load)
        return CV_ENOMEM;
    worker->load->clients = world->load->clients;
    worker->load->has_come = world->load->has_come;
    return 0;
}

void load_free_worker(struct cv_sim *worker)
{
    if (!worker->load)
        return;
    free(worker->load->entries);
    free(worker->load->turns);
    free(worker->load);
}

/* ---- alarms ---- */

static void plan(struct cv_sim *sim, uint32_t what, uint32_t which, uint64_t due)
{
    struct alarm *alarm = calendar_add(&sim->alarms, due, sizeof *alarm);
    if (alarm)
        *alarm = (struct alarm){which, what, due};
    else
        sim->out_of_memory = true;
    sim->load->planned++;
}

static uint32_t place_of(const struct cv_sim *sim, cv_node node)
{
    return sim->name * sim->group.nodes + node;
}

/* ---- requests ---- */

/* Turns within a tick: what messages bring about, or at the start listed requests; then what clients do themselves. */
#define EARLY_TURN(number) ((uint64_t)(number))
#define LATE_TURN(number) (1ull << 32 | (number))

static int make_room(struct load *load, bool timed, uint64_t room)
{
    struct cv_entry *entries = realloc(load->entries, room * sizeof *entries);
    if (!entries)
        return CV_ENOMEM;
    load->entries = entries;
    if (timed) {
        uint64_t *turns = realloc(load->turns, room * sizeof *turns);
        if (!turns)
            return CV_ENOMEM;
        load->turns = turns;
    }
    load->entry_room = room;
    return 0;
}

static struct cv_entry *new_entry(struct cv_sim *sim, uint64_t turn)
{
    struct load *load = sim->load;
    if (load->entry_count == load->entry_room &&
        make_room(load, sim->plain, load->entry_room ? load->entry_room * 2 : 256))
        return NULL;
    if (load->turns)
        load->turns[load->entry_count] = turn;
    return &load->entries[load->entry_count++];
}

/* Gives the request to the algorithm, or repeats it because a new view has made the algorithm forget it. */
static void ask(struct cv_sim *sim, cv_node node)
{
    struct cv_entry *entry = &sim->load->entries[client_of(sim, node)->entry];
    struct cv_event event = {.type = CV_EVENT_REQUEST, .peer = CV_NOBODY, .text = entry->clock ? "again" : NULL};
    struct cv_self *me = world_begin(sim, node, &event);
    sim->algorithm->request(me);
    if (!entry->clock)
        entry->clock = me->clock;
    world_finish(sim);
}

static void request(struct cv_sim *sim, cv_node node, uint64_t hold, uint64_t turn)
{
    struct client *client = client_of(sim, node);
    struct cv_entry *entry = new_entry(sim, turn);
    if (!entry) {
        sim->out_of_memory = true;
        return;
    }
    *entry = (struct cv_entry){
        .node = node, .name = sim->name, .requested = sim->now, .entered = CV_NEVER, .left = CV_NEVER};
    client->entry = sim->load->entry_count - 1;
    client->hold = hold;
    client->due = CV_NEVER;
    sim->load->open++;
    ask(sim, node);
}

/* The node is back from a crash but not in a view yet. Its requests wait for the view. */
static bool is_outside(const struct cv_sim *sim, cv_node node)
{
    return world_node(sim, node)->flags & NODE_OUTSIDE;
}

/* The time of a listed request has come. It waits if the node is still busy with an earlier one. */
static void wish(struct cv_sim *sim, uint32_t index)
{
    const struct cv_wish *it = &sim->scenario->wishes[index];
    sim->name = it->name;
    struct client *client = client_of(sim, it->node);
    if (!world_alive(sim, it->node))
        return;
    sim->load->has_come[index] = true;
    if (client->entry == NO_ENTRY && !is_outside(sim, it->node))
        request(sim, it->node, it->hold, sim->now ? LATE_TURN(it->node) : EARLY_TURN(index));
    else
        client->waiting++;
}

/* The next request of a closed loop, or of the listed requests that had to wait. */
static void go_on(struct cv_sim *sim, cv_node node)
{
    struct client *client = client_of(sim, node);
    if (client->remaining) {
        client->remaining--;
        request(sim, node, sim->scenario->hold, LATE_TURN(node));
        return;
    }
    for (uint32_t i = sim->scenario->wish_count, passed = 0; client->waiting && i-- > 0;) {
        const struct cv_wish *it = &sim->scenario->wishes[i];
        if (it->node != node || it->name != sim->name || !sim->load->has_come[i])
            continue;
        if (++passed == client->waiting) {
            client->waiting--;
            request(sim, node, it->hold, LATE_TURN(node));
            return;
        }
    }
}

void load_begin(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    for (uint32_t i = 0; i < scenario->wish_count; i++)
        if (!world_has(sim, scenario->wishes[i].node))
            continue;
        else if (scenario->wishes[i].time)
            plan(sim, ALARM_WISH, i, scenario->wishes[i].time);
        else
            wish(sim, i);
    for (sim->name = 0; sim->name < scenario->names; sim->name++)
        for (cv_node node = 0; node < sim->group.nodes; node++)
            if (world_has(sim, node) && client_of(sim, node)->remaining && world_alive(sim, node))
                go_on(sim, node);
    sim->name = 0;
}

/* ---- inside ---- */

void load_enter(struct cv_sim *sim, cv_node node, uint64_t fence)
{
    struct load *load = sim->load;
    struct client *client = client_of(sim, node);
    if (client->entry == NO_ENTRY || client->inside) { /* no request asked for it: two entries at once, for the judge */
        struct cv_entry *extra = new_entry(sim, EARLY_TURN(node));
        if (extra)
            *extra = (struct cv_entry){.node = node,
                                       .name = sim->name,
                                       .requested = sim->now,
                                       .entered = sim->now,
                                       .left = CV_NEVER,
                                       .fence = fence};
        return;
    }
    struct cv_entry *entry = &load->entries[client->entry];
    entry->entered = sim->now;
    entry->fence = fence;
    client->inside = true;
    plan(sim, ALARM_LEAVE, place_of(sim, node), sim->now + client->hold);
}

/* ---- the entries of all workers ---- */

int load_add_entries(struct cv_sim *world, const struct cv_entry *entries, const uint64_t *turns, uint64_t count)
{
    struct load *load = world->load;
    if (!count)
        return 0;
    if (load->entry_room - load->entry_count < count && make_room(load, true, (load->entry_count + count) * 3 / 2))
        return CV_ENOMEM;
    memcpy(load->entries + load->entry_count, entries, count * sizeof *entries);
    memcpy(load->turns + load->entry_count, turns, count * sizeof *turns);
    load->entry_count += count;
    return 0;
}

struct turn {
    uint64_t time, turn, index;
};

static int compare_turns(const void *one, const void *other)
{
    const struct turn *a = one, *b = other;
    if (a->time != b->time)
        return a->time < b->time ? -1 : 1;
    if (a->turn != b->turn)
        return a->turn < b->turn ? -1 : 1;
    return a->index < b->index ? -1 : a->index > b->index;
}

static bool is_sorted(const struct load *load)
{
    for (uint64_t i = 1; i < load->entry_count; i++) {
        const struct turn before = {load->entries[i - 1].requested, load->turns[i - 1], i - 1};
        const struct turn here = {load->entries[i].requested, load->turns[i], i};
        if (compare_turns(&before, &here) > 0)
            return false;
    }
    return true;
}

int load_sort_entries(struct cv_sim *sim)
{
    struct load *load = sim->load;
    if (!load || !load->turns || is_sorted(load))
        return 0;
    struct turn *order = malloc(load->entry_count * sizeof *order);
    struct cv_entry *sorted = malloc(load->entry_count * sizeof *sorted);
    if (!order || !sorted) {
        free(order);
        free(sorted);
        return CV_ENOMEM;
    }
    for (uint64_t i = 0; i < load->entry_count; i++)
        order[i] = (struct turn){load->entries[i].requested, load->turns[i], i};
    qsort(order, load->entry_count, sizeof *order, compare_turns);
    for (uint64_t i = 0; i < load->entry_count; i++)
        sorted[i] = load->entries[order[i].index];
    free(load->entries);
    load->entries = sorted;
    load->entry_room = load->entry_count;
    free(order);
    return 0;
}

uint32_t load_region(const struct cv_sim *sim, cv_node node)
{
    if (!sim->load)
        return CV_REMAINDER;
    const struct client *client = client_of(sim, node);
    return client->inside ? CV_CRITICAL : client->entry != NO_ENTRY ? CV_TRYING : CV_REMAINDER;
}

bool load_over(const struct cv_sim *sim)
{
    return sim->load && !sim->load->open && !sim->load->planned;
}

static void leave(struct cv_sim *sim, cv_node node)
{
    struct client *client = client_of(sim, node);
    struct load *load = sim->load;
    if (!client->inside || load->entries[client->entry].entered + client->hold != sim->now)
        return; /* it died inside, so this alarm is void */
    load->entries[client->entry].left = sim->now;
    client->inside = false;
    client->entry = NO_ENTRY;
    load->open--;
    sim->run.last_exit = sim->now;
    struct cv_self *me = world_begin(sim, node, &(struct cv_event){.type = CV_EVENT_LEAVE, .peer = CV_NOBODY});
    if (sim->algorithm->hints.perpetual && load_over(sim) && !client->remaining && !client->waiting &&
        faults_next(sim) == CV_NEVER)
        return; /* the run ends with the last exit: later messages, which may go round for ever, do not count */
    sim->algorithm->release(me);
    world_finish(sim);
    if (!world_alive(sim, node))
        return;
    if (client->remaining && sim->scenario->think) {
        client->due = sim->now + sim->scenario->think;
        plan(sim, ALARM_REQUEST, place_of(sim, node), client->due);
    } else {
        go_on(sim, node);
    }
}

cv_node load_alarmed(const struct cv_sim *sim, const struct alarm *alarm)
{
    return alarm->timer == ALARM_WISH ? sim->scenario->wishes[alarm->node].node : alarm->node % sim->group.nodes;
}

bool load_alarm(struct cv_sim *sim, const struct alarm *alarm)
{
    if (alarm->timer < ALARM_WISH)
        return false;
    sim->load->planned--;
    if (alarm->timer == ALARM_WISH) {
        wish(sim, alarm->node);
    } else {
        const cv_node node = alarm->node % sim->group.nodes;
        sim->name = alarm->node / sim->group.nodes;
        if (alarm->timer == ALARM_LEAVE)
            leave(sim, node);
        else if (world_alive(sim, node) && !is_outside(sim, node) && client_of(sim, node)->due == alarm->due)
            go_on(sim, node);
    }
    sim->name = 0;
    return true;
}

/* ---- faults ---- */

void load_crash(struct cv_sim *sim, cv_node node)
{
    const uint32_t name = sim->name;
    for (sim->name = 0; sim->load && sim->name < sim->scenario->names; sim->name++) {
        struct client *client = client_of(sim, node);
        client->returned = true;
        if (client->entry == NO_ENTRY)
            continue;
        struct cv_entry *entry = &sim->load->entries[client->entry];
        entry->died = true;
        if (client->inside)
            entry->left = sim->now;
        client->inside = false;
        client->entry = NO_ENTRY;
        sim->load->open--;
    }
    sim->name = name;
}

/* The node inside the critical section, and its fence. */
cv_node load_holder(const struct cv_sim *sim, uint64_t *fence)
{
    for (cv_node node = 0; node < sim->group.nodes; node++) {
        const struct client *client = client_of(sim, node);
        if (world_has(sim, node) && client->inside) {
            *fence = sim->load->entries[client->entry].fence;
            return node;
        }
    }
    *fence = 0;
    return CV_NOBODY;
}

/* In a new view the waiting nodes request again, in the order of their first requests; a node that is back goes on. */
void load_resume(struct cv_sim *sim)
{
    const uint64_t count = sim->load->entry_count;
    for (uint64_t i = 0; i < count; i++) {
        const cv_node node = sim->load->entries[i].node;
        if (sim->load->entries[i].name == sim->name && client_of(sim, node)->entry == i &&
            !client_of(sim, node)->inside)
            ask(sim, node);
    }
    for (cv_node node = 0; node < sim->group.nodes; node++)
        if (world_alive(sim, node) && client_of(sim, node)->entry == NO_ENTRY && client_of(sim, node)->returned) {
            client_of(sim, node)->returned = false;
            go_on(sim, node);
        }
}
