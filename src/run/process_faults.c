// SPDX-License-Identifier: MIT
/* What goes wrong, as one node meets it: cuts, and what the failure detector tells it. */
#include <stdlib.h>

#include "run/process.h"

static bool matches(struct cv_pair pair, cv_node one, cv_node other)
{
    return (pair.one == CV_NOBODY || pair.one == one) && (pair.other == CV_NOBODY || pair.other == other);
}

static uint64_t now_ms(const struct process *process)
{
    return process->now / NS_PER_MS;
}

bool link_is_cut(const struct process *process, cv_node other)
{
    for (uint32_t i = 0; i < process->scenario->partition_count; i++) {
        const struct cv_partition *partition = &process->scenario->partitions[i];
        if (partition->begin <= now_ms(process) && now_ms(process) < partition->end &&
            partition->side[process->node] != partition->side[other])
            return true;
    }
    return false;
}

static bool may_fall_apart(const struct process *process)
{
    return process->scenario->partition_count || process->group.topology == CV_GRAPH;
}

static bool suspected_falsely(const struct process *process, cv_node other)
{
    for (uint32_t i = 0; i < process->scenario->suspicion_count; i++) {
        const struct cv_suspicion *suspicion = &process->scenario->suspicions[i];
        if (suspicion->time <= now_ms(process) && process->node != other &&
            matches(suspicion->pair, process->node, other))
            return true;
    }
    return false;
}

static bool is_blind(const struct process *process, cv_node other)
{
    for (uint32_t i = 0; i < process->scenario->blind_count; i++)
        if (matches(process->scenario->blindness[i], process->node, other))
            return true;
    return false;
}

static bool is_alive(const struct process *process, cv_node node)
{
    return process->board->current[node] != NO_SLOT;
}

static bool is_cut_off(const struct process *process, cv_node node)
{
    return may_fall_apart(process) &&
           (process->known[node] == UNREACHABLE || process->known[process->node] != process->known[node]);
}

/* A connection attempt finds out whether a process is there; only a cut is known by report alone. */
bool faults_node_present(const struct cv_self *me, cv_node node)
{
    const struct process *process = process_of(me);
    return is_alive(process, node) && !is_cut_off(process, node) && !suspected_falsely(process, node);
}

/* As the detector has reported so far, not as it really is. */
bool faults_id_suspected(const struct cv_self *me, cv_id id)
{
    const struct process *process = process_of(me);
    const cv_node node = cv_index_find(&process->ids, id);
    if (node == CV_NOBODY || node == process->node)
        return false;
    if (suspected_falsely(process, node))
        return true;
    const bool down = process->known[node] == UNREACHABLE && !is_alive(process, node);
    const bool cut_off = may_fall_apart(process) && process->known[process->node] != process->known[node];
    return (down || cut_off) && !is_blind(process, node);
}

static void tell_node(struct process *process, cv_node other, bool gone)
{
    void (*handler)(struct cv_self *, cv_node) = gone ? process->algorithm->suspect : process->algorithm->trust;
    if (!handler || process->node == other || process->dying || process->stopped)
        return;
    struct cv_event event = {.type = gone ? CV_EVENT_SUSPECT : CV_EVENT_TRUST, .peer = other};
    handler(step_begin(process, &event), other);
    step_finish(process);
}

static bool together(const uint32_t *parts, cv_node one, cv_node other)
{
    return parts[one] == parts[other] && parts[one] != UNREACHABLE;
}

void faults_report(struct process *process, const uint32_t *parts)
{
    const uint32_t nodes = process->group.nodes;
    uint32_t *before = malloc(nodes * sizeof *before);
    if (!before)
        process_fail(process, "malloc");
    memcpy(before, process->known, nodes * sizeof *before);
    memcpy(process->known, parts, nodes * sizeof *before);
    const bool apart = may_fall_apart(process);
    for (cv_node other = 0; other < nodes; other++) {
        const bool was = together(before, process->node, other) || (!apart && before[other] != UNREACHABLE);
        const bool is = together(parts, process->node, other) || (!apart && parts[other] != UNREACHABLE);
        if (was != is && !is_blind(process, other))
            tell_node(process, other, was);
    }
    free(before);
}

void faults_suspect(struct process *process, cv_node other)
{
    tell_node(process, other, true);
}

/* Does the node die at this message? */
bool faults_crash_now(struct process *process, const struct cv_message *message, enum cv_moment moment)
{
    for (uint32_t i = 0; i < process->scenario->crash_count; i++) {
        const struct cv_crash *crash = &process->scenario->crashes[i];
        if (crash->moment != moment || crash->node != process->node || crash->kind != message->kind ||
            process->crash_done[i] || process->returned)
            continue;
        process->crash_done[i] = true;
        return true;
    }
    return false;
}
