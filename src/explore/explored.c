// SPDX-License-Identifier: MIT
#include "explore/explored.h"

#include <stdlib.h>
#include <string.h>

#include "explore/explored_network.h"
#include "explore/explored_step.h"
#include "explore/explored_views.h"

/* ---- going back ---- */

/* What stands after the saved bytes. */
struct saved {
    uint64_t at; /* an address, or an offset into the entries */
    uint32_t bytes;
    uint32_t kind; /* enum saved_kind */
};

enum saved_kind { SAVED_BYTES, SAVED_ENTRY, SAVED_MESSAGE };

static size_t whole_words(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static void save(struct explored *world, uint64_t at, const void *bytes, uint32_t length, enum saved_kind kind)
{
    const struct saved saved = {at, length, kind};
    const uint64_t needed = world->undo_used + whole_words(length) + sizeof saved;
    if (needed > world->undo_room) {
        const uint64_t room = needed * 2 > 65536 ? needed * 2 : 65536;
        unsigned char *undo = realloc(world->undo, room);
        if (!undo) {
            world->out_of_memory = true;
            return;
        }
        world->undo = undo;
        world->undo_room = room;
    }
    if (length)
        memcpy(world->undo + world->undo_used, bytes, length);
    world->undo_used += whole_words(length);
    memcpy(world->undo + world->undo_used, &saved, sizeof saved);
    world->undo_used += sizeof saved;
}

void explored_save(struct explored *world, void *at, size_t bytes)
{
    save(world, (uintptr_t)at, at, (uint32_t)bytes, SAVED_BYTES);
}

void explored_save_entry(struct explored *world, uint64_t entry)
{
    save(world, entry, &world->entries[entry], sizeof *world->entries, SAVED_ENTRY);
}

static size_t node_bytes(const struct explored *world, cv_node node)
{
    return world->places[node + 1] - world->places[node];
}

void explored_save_node(struct explored *world, cv_node node)
{
    explored_save(world, explored_node(world, node), node_bytes(world, node));
}

void explored_undo(struct explored *world, uint64_t mark)
{
    while (world->undo_used > mark) {
        struct saved saved;
        world->undo_used -= sizeof saved;
        memcpy(&saved, world->undo + world->undo_used, sizeof saved);
        world->undo_used -= whole_words(saved.bytes);
        const unsigned char *bytes = world->undo + world->undo_used;
        if (saved.kind == SAVED_BYTES)
            memcpy((void *)(uintptr_t)saved.at, bytes, saved.bytes);
        else if (saved.kind == SAVED_ENTRY)
            memcpy(&world->entries[saved.at], bytes, saved.bytes);
        else
            free(world->messages[--world->message_count]);
    }
    explored_network_changed(world);
}

/* Of several copies in the last step, the first one saved is the oldest. */
const struct explored_node *explored_before(const struct explored *world, cv_node node)
{
    const uint64_t mark = world->step_count ? world->steps[world->step_count - 1].undo : world->undo_used;
    const void *found = NULL;
    for (uint64_t at = world->undo_used; at > mark;) {
        struct saved saved;
        at -= sizeof saved;
        memcpy(&saved, world->undo + at, sizeof saved);
        at -= whole_words(saved.bytes);
        if (saved.kind == SAVED_BYTES && saved.at == (uintptr_t)explored_node(world, node) &&
            saved.bytes == node_bytes(world, node))
            found = world->undo + at;
    }
    return found;
}

void explored_go(struct explored *world, uint64_t step)
{
    if (step >= world->step_count)
        return;
    const struct explored_step to = world->steps[step];
    explored_undo(world, to.undo);
    world->told_count = to.told;
    world->step_count = step;
}

/* ---- lists ---- */

void *explored_room(struct explored *world, void *list, uint64_t count, uint64_t *room, size_t bytes)
{
    if (count < *room)
        return list;
    const uint64_t more = *room ? *room * 2 : 64;
    void *larger = realloc(list, more * bytes);
    if (!larger) {
        world->out_of_memory = true;
        return list;
    }
    *room = more;
    return larger;
}

void explored_tell(struct explored *world, struct cv_event event, const struct explored_message *message)
{
    if (!world->recording)
        return;
    world->told = explored_room(world, world->told, world->told_count, &world->told_room, sizeof *world->told);
    if (world->out_of_memory)
        return;
    event.time = explored_time(world);
    if (message) {
        event.message = message->serial;
        event.content = &message->content;
    }
    if (event.node != CV_NOBODY && !event.clock)
        event.clock = explored_node(world, event.node)->clock;
    world->told[world->told_count++] = (struct explored_told){event, message};
}

struct explored_message *explored_new_message(struct explored *world, const struct cv_message *content)
{
    const size_t bytes = cv_message_bytes(content);
    world->messages =
        explored_room(world, world->messages, world->message_count, &world->message_room, sizeof *world->messages);
    struct explored_message *message = malloc(offsetof(struct explored_message, content) + bytes);
    if (!message || world->out_of_memory) {
        world->out_of_memory = true;
        free(message);
        return NULL;
    }
    memcpy(&message->content, content, bytes);
    message->before = message->after = NULL;
    message->serial = world->message_count + 1;
    message->due = 0;
    message->ahead = 0;
    world->messages[world->message_count++] = message;
    save(world, 0, NULL, 0, SAVED_MESSAGE);
    return message;
}

/* ---- beginning ---- */

static void settle(struct explored *world)
{
    const struct cv_scenario *scenario = world->scenario;
    const bool election = world->algorithm->problem == CV_ELECTION;
    world->mutex = world->algorithm->problem == CV_MUTEX;
    world->views = world->mutex && scenario->views;
    world->graph = scenario->group.topology == CV_GRAPH;
    world->claims = cv_scenario_claims(scenario);
    world->any_caller = world->claims & CV_ANY_CALLER;
    world->best_always = election && !world->timers && world->claims & CV_BEST_WINS && world->any_caller;
    world->agree_always = election && world->timers && world->claims & CV_AGREEMENT;
    cv_rank best = 0;
    for (cv_node node = 0; node < world->nodes; node++)
        if (node == 0 || cv_group_rank(&world->group, node) > best)
            best = cv_group_rank(&world->group, node);
    world->best = cv_rank_id(best);
}

static int lay_out(struct explored *world)
{
    const size_t nodes = world->nodes;
    size_t bytes = 0;
    world->set_words = (cv_bits_words(world->nodes) + 1) / 2 * 2;
    world->places = malloc((nodes + 1) * sizeof *world->places);
    world->cut = calloc((nodes * nodes + 31) / 32, sizeof *world->cut);
    world->part = calloc(nodes, sizeof *world->part);
    world->partitioned = calloc(world->scenario->partition_count + 1u, sizeof *world->partitioned);
    world->crash_done = calloc(world->scenario->crash_count + 1u, sizeof *world->crash_done);
    world->callers = calloc(nodes, sizeof *world->callers);
    world->outbox_room = 4096;
    world->outbox = malloc(world->outbox_room);
    if (!world->places || !world->cut || !world->part || !world->partitioned || !world->crash_done || !world->callers ||
        !world->outbox)
        return CV_ENOMEM;
    for (cv_node node = 0; node < nodes; node++) {
        world->places[node] = bytes;
        bytes += sizeof(struct explored_node) + SET_COUNT * world->set_words * sizeof(uint32_t);
        bytes += whole_words(explored_views_state(world, node));
    }
    world->places[nodes] = bytes;
    world->node_bytes = calloc(bytes, 1);
    return world->node_bytes ? cv_index_make(&world->index, world->group.ids, world->nodes) : CV_ENOMEM;
}

int explored_begin(struct explored *world, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    *world = (struct explored){.scenario = scenario,
                               .algorithm = scenario->algorithm,
                               .group = scenario->group,
                               .nodes = scenario->group.nodes,
                               .kinds = cv_algorithm_kinds(scenario->algorithm),
                               .timers = cv_algorithm_timers(scenario->algorithm),
                               .recording = true};
    if (world->nodes > EXPLORED_MOST_NODES)
        return cv_complain(complaint, "--nodes %u: expected at most %u; every node is shown", world->nodes,
                           EXPLORED_MOST_NODES);
    settle(world);
    int error = lay_out(world);
    if (!error)
        error = explored_plan_faults(world);
    cv_chance_seed(&world->delays, scenario->seed, CV_CHANCE_DELAYS);
    cv_chance_seed(&world->choices, scenario->seed, CV_CHANCE_CHOICES);
    if (!error)
        error = explored_open(world, complaint);
    world->undo_used = 0; /* nobody goes back further */
    return error ? error : world->out_of_memory ? CV_ENOMEM : 0;
}

void explored_free(struct explored *world)
{
    for (uint64_t i = 0; i < world->message_count; i++)
        free(world->messages[i]);
    free(world->messages);
    free(world->told);
    free(world->steps);
    free(world->undo);
    free(world->entries);
    free(world->crashes);
    free(world->recoveries);
    free(world->planned);
    free(world->wishes);
    free(world->node_bytes);
    free(world->places);
    free(world->cut);
    free(world->part);
    free(world->partitioned);
    free(world->crash_done);
    free(world->callers);
    free(world->outbox);
    explored_views_free(world);
    cv_index_free(&world->index);
    *world = (struct explored){0};
}
