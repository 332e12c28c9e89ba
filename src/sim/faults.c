// SPDX-License-Identifier: MIT
/* The planned faults, and the failure detector's reports of them. */
#include "sim/faults.h"

#include <stdlib.h>
#include <string.h>

#include "sim/engine.h"
#include "sim/network.h"
#include "sim/setup.h"
#include "sim/transport.h"
#include "sim/view_changes.h"
#include "sim/workload.h"
#include "sim/world.h"

static bool matches(struct cv_pair pair, cv_node one, cv_node other)
{
    return (pair.one == CV_NOBODY || pair.one == one) && (pair.other == CV_NOBODY || pair.other == other);
}

bool faults_cut(const struct cv_sim *sim, cv_node one, cv_node other)
{
    for (uint32_t i = 0; i < sim->scenario->partition_count; i++) {
        const struct cv_partition *partition = &sim->scenario->partitions[i];
        if (partition->begin <= sim->now && sim->now < partition->end && partition->side[one] != partition->side[other])
            return true;
    }
    return false;
}

/* ---- which nodes reach each other ---- */

/* Labels all nodes that `node` reaches in the graph of live nodes and uncut links. */
static void flood(const struct cv_sim *sim, cv_node node, uint32_t label, uint32_t *part, cv_node *stack)
{
    const struct cv_group *group = &sim->group;
    size_t depth = 0;
    part[node] = label;
    stack[depth++] = node;
    while (depth) {
        const cv_node here = stack[--depth];
        for (uint64_t e = group->edges[here]; e < group->edges[here + 1]; e++) {
            const cv_node there = group->neighbours[e];
            if (part[there] != UNREACHABLE || !world_alive(sim, there) || !network_hops(sim, here, there))
                continue;
            part[there] = label;
            stack[depth++] = there;
        }
    }
}

static void parts_of_graph(const struct cv_sim *sim, uint32_t *part)
{
    cv_node *stack = malloc((size_t)sim->group.nodes * sizeof *stack);
    for (cv_node node = 0; stack && node < sim->group.nodes; node++)
        if (world_alive(sim, node) && part[node] == UNREACHABLE)
            flood(sim, node, node, part, stack);
    free(stack);
}

/* If every node can send to every other, the parts are the sides of the cuts; alternate links join them again. */
static void parts_of_sides(const struct cv_sim *sim, uint32_t *part)
{
    const uint32_t nodes = sim->group.nodes;
    for (cv_node node = 0; node < nodes; node++) {
        cv_node first = 0;
        while (first < node && (part[first] != first || faults_cut(sim, first, node)))
            first++;
        part[node] = first;
    }
    for (uint32_t i = 0; i < sim->scenario->alternate_count; i++) {
        const struct cv_pair link = sim->scenario->alternates[i];
        if (!world_alive(sim, link.one) || !world_alive(sim, link.other))
            continue;
        const uint32_t kept = part[link.one], joined = part[link.other];
        for (cv_node node = 0; node < nodes; node++)
            if (part[node] == joined)
                part[node] = kept;
    }
    for (cv_node node = 0; node < nodes; node++)
        if (!world_alive(sim, node))
            part[node] = UNREACHABLE;
}

static bool may_fall_apart(const struct cv_sim *sim)
{
    return sim->scenario->partition_count || sim->group.topology == CV_GRAPH;
}

void faults_parts(const struct cv_sim *sim, uint32_t *part)
{
    const uint32_t nodes = sim->group.nodes;
    for (cv_node node = 0; node < nodes; node++)
        part[node] = UNREACHABLE;
    if (sim->group.topology == CV_GRAPH)
        parts_of_graph(sim, part);
    else if (sim->scenario->partition_count)
        parts_of_sides(sim, part);
    else
        for (cv_node node = 0; node < nodes; node++)
            part[node] = world_alive(sim, node) ? 0 : UNREACHABLE;
}

/* ---- the agenda ---- */

static void plan(struct cv_sim *sim, struct agenda_item item)
{
    struct agenda *agenda = &sim->agenda;
    if (agenda->count == agenda->capacity) {
        const size_t capacity = agenda->capacity ? agenda->capacity * 2 : 16;
        struct agenda_item *items = realloc(agenda->items, capacity * sizeof *items);
        if (!items) {
            free(item.parts);
            sim->out_of_memory = true;
            return;
        }
        agenda->items = items;
        agenda->capacity = capacity;
    }
    size_t at = agenda->count++;
    for (; at > agenda->next; at--) {
        const struct agenda_item *before = &agenda->items[at - 1];
        if (before->time < item.time || (before->time == item.time && before->type <= item.type))
            break;
        agenda->items[at] = *before;
    }
    agenda->items[at] = item;
}

void faults_plan_view(struct cv_sim *sim, uint64_t time, cv_node coordinator)
{
    plan(sim, (struct agenda_item){time, AGENDA_VIEW, coordinator, NULL});
}

uint64_t faults_next(const struct cv_sim *sim)
{
    return sim->agenda.next < sim->agenda.count ? sim->agenda.items[sim->agenda.next].time : CV_NEVER;
}

/* Something changed: after its delay the detector will report the present state of the network. */
static void plan_detection(struct cv_sim *sim)
{
    uint32_t *parts = malloc((size_t)sim->group.nodes * sizeof *parts);
    if (!parts) {
        sim->out_of_memory = true;
        return;
    }
    faults_parts(sim, parts);
    plan(sim, (struct agenda_item){.time = sim->now + sim->scenario->detect, .type = AGENDA_DETECT, .parts = parts});
}

int faults_plan(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    const size_t nodes = sim->group.nodes;
    if (!sim->group.absence && sim->group.topology != CV_GRAPH)
        return 0;
    if (cv_index_make(&sim->index, sim->group.ids, sim->group.nodes))
        return CV_ENOMEM;
    sim->known = calloc(nodes, sizeof *sim->known);
    sim->part = may_fall_apart(sim) ? calloc(nodes, sizeof *sim->part) : NULL;
    sim->crash_done = calloc(scenario->crash_count + 1u, sizeof *sim->crash_done);
    if (!sim->known || (may_fall_apart(sim) && !sim->part) || !sim->crash_done)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < scenario->crash_count; i++)
        if (scenario->crashes[i].moment == CV_AT)
            plan(sim, (struct agenda_item){scenario->crashes[i].time, AGENDA_CRASH, i, NULL});
    for (uint32_t i = 0; i < scenario->recovery_count; i++)
        plan(sim, (struct agenda_item){scenario->recoveries[i].time, AGENDA_RECOVER, i, NULL});
    for (uint32_t i = 0; i < scenario->partition_count; i++) {
        plan(sim, (struct agenda_item){scenario->partitions[i].begin, AGENDA_CUT, i, NULL});
        if (scenario->partitions[i].end != CV_NEVER)
            plan(sim, (struct agenda_item){scenario->partitions[i].end, AGENDA_HEAL, i, NULL});
    }
    for (uint32_t i = 0; i < scenario->suspicion_count; i++)
        plan(sim, (struct agenda_item){scenario->suspicions[i].time, AGENDA_SUSPECT, i, NULL});
    return sim->out_of_memory ? CV_ENOMEM : 0;
}

void faults_free(struct cv_sim *sim)
{
    for (size_t i = sim->agenda.next; i < sim->agenda.count; i++)
        free(sim->agenda.items[i].parts);
    free(sim->agenda.items);
    cv_index_free(&sim->index);
    free(sim->known);
    free(sim->part);
    free(sim->crash_done);
}

/* ---- the detector ---- */

static bool suspected_falsely(const struct cv_sim *sim, cv_node node, cv_node other)
{
    for (uint32_t i = 0; i < sim->scenario->suspicion_count; i++) {
        const struct cv_suspicion *suspicion = &sim->scenario->suspicions[i];
        if (suspicion->time <= sim->now && node != other && matches(suspicion->pair, node, other))
            return true;
    }
    return false;
}

bool faults_present(const struct cv_self *me, cv_node node)
{
    const struct cv_sim *sim = world_of(me);
    const bool lost = sim->known[node] == UNREACHABLE || sim->known[me->node] != sim->known[node];
    const bool cut_off = may_fall_apart(sim) && lost;
    return world_alive(sim, node) && !cut_off && !suspected_falsely(sim, me->node, node);
}

static bool is_blind(const struct cv_sim *sim, cv_node node, cv_node other)
{
    for (uint32_t i = 0; i < sim->scenario->blind_count; i++)
        if (matches(sim->scenario->blindness[i], node, other))
            return true;
    return false;
}

/* As the detector has reported so far, not as it really is. */
bool faults_suspected(const struct cv_self *me, cv_id id)
{
    const struct cv_sim *sim = world_of(me);
    const cv_node node = cv_index_find(&sim->index, id);
    if (node == CV_NOBODY || node == me->node)
        return false;
    if (suspected_falsely(sim, me->node, node))
        return true;
    /* A node that is back has made itself known, whatever the detector reports later. */
    const bool down = sim->known[node] == UNREACHABLE && !world_alive(sim, node);
    const bool cut_off = may_fall_apart(sim) && sim->known[me->node] != sim->known[node];
    return (down || cut_off) && !is_blind(sim, me->node, node);
}

static void tell_node(struct cv_sim *sim, cv_node node, cv_node other, bool gone)
{
    void (*handler)(struct cv_self *, cv_node) = gone ? sim->algorithm->suspect : sim->algorithm->trust;
    if (!handler || node == other || !world_alive(sim, node))
        return;
    struct cv_event event = {.type = gone ? CV_EVENT_SUSPECT : CV_EVENT_TRUST, .peer = other};
    handler(world_begin(sim, node, &event), other);
    world_finish(sim);
}

static bool together(const uint32_t *parts, cv_node one, cv_node other)
{
    return parts[one] == parts[other] && parts[one] != UNREACHABLE;
}

/* Tells every node what has changed between two reports of the detector. */
static void detect(struct cv_sim *sim, const uint32_t *parts)
{
    const uint32_t nodes = sim->group.nodes;
    uint32_t *before = malloc(nodes * sizeof *before);
    if (!before) {
        sim->out_of_memory = true;
        return;
    }
    memcpy(before, sim->known, nodes * sizeof *before);
    memcpy(sim->known, parts, nodes * sizeof *before);
    const bool apart = may_fall_apart(sim);
    for (cv_node other = 0; other < nodes && (sim->algorithm->suspect || sim->algorithm->trust); other++) {
        if (!apart && (before[other] == UNREACHABLE) == (parts[other] == UNREACHABLE))
            continue;
        for (cv_node node = 0; node < nodes; node++) {
            const bool was = together(before, node, other) || (!apart && before[other] != UNREACHABLE);
            const bool is = together(parts, node, other) || (!apart && parts[other] != UNREACHABLE);
            if (was != is && !is_blind(sim, node, other))
                tell_node(sim, node, other, was);
        }
    }
    free(before);
}

/* ---- faults ---- */

void faults_crash(struct cv_sim *sim, cv_node node, bool told)
{
    const uint32_t name = sim->name;
    if (!world_alive(sim, node))
        return;
    const uint64_t clock = world_node(sim, node)->clock;
    for (sim->name = 0; sim->name < world_names(sim); sim->name++) {
        world_set(world_node(sim, node), NODE_ALIVE, false);
        world_cancel_timers(sim, node);
    }
    sim->name = name;
    load_crash(sim, node);
    transport_forget(sim, node);
    world_tell(sim, &(struct cv_event){
                        .type = CV_EVENT_CRASH, .node = node, .peer = CV_NOBODY, .time = sim->now, .clock = clock});
    if (told)
        plan_detection(sim);
    else
        sim->known[node] = UNREACHABLE;
}

/* Strikes out the messages to a node in a list; `ahead` bytes stand before each. */
static void void_list(struct calendar_list *list, size_t ahead, cv_node node)
{
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        while (part.at < part.end) {
            struct cv_message *message = (void *)(part.at + ahead);
            part.at += ahead + cv_message_bytes(message) + sizeof(struct trailer);
            if (message->to == node || node == CV_NOBODY)
                message->to = CV_NOBODY;
        }
}

/* Messages to the node from before its return were for a process that no longer exists. CV_NOBODY: to all nodes. */
void faults_void_mail(struct cv_sim *sim, cv_node node)
{
    for (uint64_t slot = 0; slot <= sim->mail.mask; slot++)
        void_list(&sim->mail.near[slot], 0, node);
    for (uint32_t block = 0; sim->mail.far && block < CALENDAR_BLOCKS; block++)
        void_list(&sim->mail.far[block], CALENDAR_FAR_HEAD, node);
}

static void recover(struct cv_sim *sim, cv_node node)
{
    if (world_alive(sim, node))
        return;
    faults_void_mail(sim, node);
    for (sim->name = world_names(sim); sim->name-- > 0;) {
        const uint64_t clock = world_node(sim, node)->clock;
        world_reset_node(sim, node);
        world_node(sim, node)->clock = clock & CV_CLOCK_MASK;
        world_set(world_node(sim, node), NODE_OUTSIDE, sim->scenario->views);
    }
    sim->name = 0;
    plan_detection(sim);
    struct cv_self *me = world_begin(sim, node, &(struct cv_event){.type = CV_EVENT_RECOVER, .peer = CV_NOBODY});
    if (sim->algorithm->recover)
        sim->algorithm->recover(me);
    world_finish(sim);
}

static void suspect_falsely(struct cv_sim *sim, struct cv_pair pair)
{
    for (cv_node other = 0; other < sim->group.nodes; other++)
        for (cv_node node = 0; node < sim->group.nodes; node++)
            if (matches(pair, node, other))
                tell_node(sim, node, other, true);
}

static void cut_or_heal(struct cv_sim *sim, enum cv_event_type type)
{
    world_tell(sim, &(struct cv_event){.type = type, .node = CV_NOBODY, .peer = CV_NOBODY, .time = sim->now});
    transport_cut(sim);
    plan_detection(sim);
}

void faults_happen(struct cv_sim *sim)
{
    while (faults_next(sim) <= sim->now) {
        const struct agenda_item item = sim->agenda.items[sim->agenda.next++];
        switch (item.type) {
        case AGENDA_CRASH:
            faults_crash(sim, sim->scenario->crashes[item.index].node, sim->now > 0);
            break;
        case AGENDA_RECOVER:
            recover(sim, sim->scenario->recoveries[item.index].node);
            break;
        case AGENDA_CUT:
            cut_or_heal(sim, CV_EVENT_CUT);
            break;
        case AGENDA_HEAL:
            cut_or_heal(sim, CV_EVENT_HEAL);
            break;
        case AGENDA_SUSPECT:
            suspect_falsely(sim, sim->scenario->suspicions[item.index].pair);
            break;
        case AGENDA_DETECT:
            detect(sim, item.parts);
            free(item.parts);
            views_change(sim);
            break;
        case AGENDA_VIEW:
            views_install(sim, item.index);
            break;
        }
    }
}
