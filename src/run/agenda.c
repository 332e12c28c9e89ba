// SPDX-License-Identifier: MIT
/* What is planned for an experiment: faults, and the failure detector's reports of them. */
#include <signal.h>
#include <stdlib.h>

#include "run/experiment_parts.h"
#include "run/process.h"

static int plan(struct cv_experiment *experiment, struct agenda_entry entry)
{
    if (experiment->agenda_count == experiment->agenda_room) {
        const size_t room = experiment->agenda_room ? 2 * experiment->agenda_room : 16;
        struct agenda_entry *larger = realloc(experiment->agenda, room * sizeof *larger);
        if (!larger) {
            free(entry.parts);
            return CV_ENOMEM;
        }
        experiment->agenda = larger;
        experiment->agenda_room = room;
    }
    size_t at = experiment->agenda_count++;
    for (; at > 0; at--) {
        const struct agenda_entry *before = &experiment->agenda[at - 1];
        if (before->ms < entry.ms || (before->ms == entry.ms && before->type <= entry.type))
            break;
        experiment->agenda[at] = *before;
    }
    experiment->agenda[at] = entry;
    return 0;
}

/* ---- records ---- */

static void record_fault(struct cv_experiment *experiment, enum cv_event_type type, cv_node node, uint32_t slot,
                         const char *text)
{
    const uint64_t clock = slot == NO_SLOT ? 0 : experiment->board->slot[slot].clock;
    log_begin(&experiment->log, experiment_ms(experiment) ? experiment_ns(experiment) : 0);
    log_add(
        &experiment->log,
        &(struct log_record){.type = type, .node = node, .peer = CV_NOBODY, .slot = slot, .clock = clock, .text = text},
        NULL, 0);
    log_write(&experiment->log, experiment->faults);
}

/* ---- the network ---- */

static bool is_cut(const struct cv_experiment *experiment, cv_node one, cv_node other)
{
    const uint64_t ms = experiment_ms(experiment);
    for (uint32_t i = 0; i < experiment->scenario->partition_count; i++) {
        const struct cv_partition *partition = &experiment->scenario->partitions[i];
        if (partition->begin <= ms && ms < partition->end && partition->side[one] != partition->side[other])
            return true;
    }
    return false;
}

static bool is_linked(const struct cv_experiment *experiment, cv_node one, cv_node other)
{
    const struct cv_group *group = &experiment->scenario->group;
    bool linked = group->topology != CV_GRAPH;
    for (uint64_t e = linked ? 0 : group->edges[one]; !linked && e < group->edges[one + 1]; e++)
        linked = group->neighbours[e] == other;
    return linked && !is_cut(experiment, one, other);
}

/* Labels all live nodes by the first node that they reach. */
void agenda_parts(const struct cv_experiment *experiment, uint32_t *parts)
{
    const uint32_t nodes = experiment->board->nodes;
    for (cv_node node = 0; node < nodes; node++)
        parts[node] = experiment->board->current[node] == NO_SLOT ? UNREACHABLE : node;
    for (bool changed = true; changed;) {
        changed = false;
        for (cv_node one = 0; one < nodes; one++)
            for (cv_node other = 0; other < nodes; other++)
                if (parts[one] < parts[other] && parts[other] != UNREACHABLE && is_linked(experiment, one, other)) {
                    parts[other] = parts[one];
                    changed = true;
                }
    }
}

static int plan_detection(struct cv_experiment *experiment)
{
    uint32_t *parts = malloc(experiment->board->nodes * sizeof *parts);
    if (!parts)
        return CV_ENOMEM;
    agenda_parts(experiment, parts);
    return plan(experiment, (struct agenda_entry){.ms = experiment_ms(experiment) + experiment->scenario->detect,
                                                  .type = PLANNED_DETECT,
                                                  .parts = parts});
}

/* ---- faults ---- */

void agenda_died(struct cv_experiment *experiment, uint32_t slot)
{
    record_fault(experiment, CV_EVENT_CRASH, experiment->board->slot[slot].node, slot, NULL);
    for (uint32_t other = 0; other < experiment->board->slots; other++)
        child_tell(experiment, other, CONTROL_GONE, slot, NULL, 0);
    if (plan_detection(experiment))
        cv_out_of_memory(2);
}

static void crash(struct cv_experiment *experiment, cv_node node)
{
    const uint32_t slot = experiment->board->current[node];
    if (slot == NO_SLOT)
        return;
    experiment->board->current[node] = NO_SLOT;
    child_kill(experiment, slot);
    agenda_died(experiment, slot);
}

static int recover(struct cv_experiment *experiment, uint32_t index)
{
    struct board *board = experiment->board;
    const cv_node node = experiment->scenario->recoveries[index].node;
    const uint32_t slot = board->nodes + index;
    if (board->current[node] != NO_SLOT)
        return 0;
    board->slot[slot].node = node;
    for (uint32_t i = 0; i < slot; i++)
        if (board->slot[i].node == node && board->slot[i].clock > board->slot[slot].clock)
            board->slot[slot].clock = board->slot[i].clock;
    const int error = child_start(experiment, slot, true);
    return error ? error : plan_detection(experiment);
}

static void suspect_falsely(struct cv_experiment *experiment, struct cv_pair pair)
{
    for (cv_node node = 0; node < experiment->board->nodes; node++)
        for (cv_node other = 0; other < experiment->board->nodes; other++)
            if ((pair.one == CV_NOBODY || pair.one == node) && (pair.other == CV_NOBODY || pair.other == other) &&
                experiment->board->current[node] != NO_SLOT)
                child_tell(experiment, experiment->board->current[node], CONTROL_SUSPECT, other, NULL, 0);
}

static void report(struct cv_experiment *experiment, const uint32_t *parts)
{
    for (uint32_t slot = 0; slot < experiment->board->slots; slot++)
        child_tell(experiment, slot, CONTROL_REPORT, 0, parts, experiment->board->nodes * sizeof *parts);
}

static void stop_or_go(struct cv_experiment *experiment, cv_node node, bool stop)
{
    const uint32_t slot = experiment->board->current[node];
    if (slot == NO_SLOT || !experiment->children[slot].pid || experiment->children[slot].paused == stop)
        return;
    record_fault(experiment, CV_EVENT_NOTE, node, slot, stop ? "stands still" : "goes on");
    child_signal(experiment, slot, stop ? SIGSTOP : SIGCONT);
}

static int happen(struct cv_experiment *experiment, const struct agenda_entry *entry)
{
    const struct cv_scenario *scenario = experiment->scenario;
    switch (entry->type) {
    case PLANNED_CRASH:
        crash(experiment, scenario->crashes[entry->index].node);
        return 0;
    case PLANNED_RECOVER:
        return recover(experiment, entry->index);
    case PLANNED_CUT:
    case PLANNED_HEAL:
        record_fault(experiment, entry->type == PLANNED_CUT ? CV_EVENT_CUT : CV_EVENT_HEAL, CV_NOBODY, NO_SLOT, NULL);
        return plan_detection(experiment);
    case PLANNED_SUSPECT:
        suspect_falsely(experiment, scenario->suspicions[entry->index].pair);
        return 0;
    case PLANNED_DETECT:
        report(experiment, entry->parts);
        experiment_views_change(experiment);
        return 0;
    default:
        stop_or_go(experiment, experiment->options.pauses[entry->index].node, entry->type == PLANNED_PAUSE);
        return 0;
    }
}

int agenda_act(struct cv_experiment *experiment)
{
    int error = 0;
    while (!error && experiment->agenda_count && experiment->agenda[0].ms <= experiment_ms(experiment)) {
        struct agenda_entry entry = experiment->agenda[0];
        experiment->agenda_count--;
        memmove(experiment->agenda, experiment->agenda + 1, experiment->agenda_count * sizeof *experiment->agenda);
        error = happen(experiment, &entry);
        free(entry.parts);
    }
    return error;
}

int agenda_make(struct cv_experiment *experiment)
{
    const struct cv_scenario *scenario = experiment->scenario;
    int error = 0;
    for (uint32_t i = 0; i < scenario->crash_count && !error; i++)
        if (scenario->crashes[i].moment == CV_AT && scenario->crashes[i].time)
            error = plan(experiment, (struct agenda_entry){scenario->crashes[i].time, PLANNED_CRASH, i, NULL});
        else if (scenario->crashes[i].moment == CV_AT)
            record_fault(experiment, CV_EVENT_CRASH, scenario->crashes[i].node, scenario->crashes[i].node, NULL);
    for (uint32_t i = 0; i < scenario->recovery_count && !error; i++)
        error = plan(experiment, (struct agenda_entry){scenario->recoveries[i].time, PLANNED_RECOVER, i, NULL});
    for (uint32_t i = 0; i < scenario->partition_count && !error; i++) {
        const struct cv_partition *partition = &scenario->partitions[i];
        error = plan(experiment, (struct agenda_entry){partition->begin, PLANNED_CUT, i, NULL});
        if (!error && partition->end != CV_NEVER)
            error = plan(experiment, (struct agenda_entry){partition->end, PLANNED_HEAL, i, NULL});
    }
    for (uint32_t i = 0; i < scenario->suspicion_count && !error; i++)
        error = plan(experiment, (struct agenda_entry){scenario->suspicions[i].time, PLANNED_SUSPECT, i, NULL});
    for (uint32_t i = 0; i < experiment->options.pause_count && !error; i++) {
        const struct cv_pause *it = &experiment->options.pauses[i];
        error = plan(experiment, (struct agenda_entry){it->begin, PLANNED_PAUSE, i, NULL});
        if (!error)
            error = plan(experiment, (struct agenda_entry){it->end, PLANNED_RESUME, i, NULL});
    }
    return error;
}

void agenda_free(struct cv_experiment *experiment)
{
    for (size_t i = 0; i < experiment->agenda_count; i++)
        free(experiment->agenda[i].parts);
    free(experiment->agenda);
}
