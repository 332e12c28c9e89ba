// SPDX-License-Identifier: MIT
/*
 * Views between the processes of an experiment. The classical mutual exclusion algorithms assume that no node dies. So
 * when one dies or comes back, all live nodes stop and say what they hold; when all have answered, those that still
 * live are the members of the next view. It begins with fresh states and adopts who is inside.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "run/experiment_parts.h"
#include "run/process.h"

int experiment_views_make(struct cv_experiment *experiment)
{
    struct experiment_views *views = &experiment->views;
    views->told = calloc(experiment->board->slots, sizeof *views->told);
    views->answered = calloc(experiment->board->slots, sizeof *views->answered);
    return !views->told || !views->answered ? CV_ENOMEM : run_view_first(&views->view, experiment->scenario);
}

void experiment_views_free(struct cv_experiment *experiment)
{
    struct experiment_views *views = &experiment->views;
    run_view_free(&views->view);
    free(views->told);
    free(views->answered);
    free(views->holds);
}

/* A node that came back meanwhile is told now, too. */
void experiment_views_change(struct cv_experiment *experiment)
{
    struct experiment_views *views = &experiment->views;
    if (!experiment->scenario->views)
        return;
    views->changing = true;
    for (uint32_t slot = 0; slot < experiment->board->slots; slot++)
        if (child_lives(experiment, slot) && !views->told[slot]) {
            views->told[slot] = true;
            child_tell(experiment, slot, CONTROL_STOP, 0, NULL, 0);
        }
}

static int keep_holds(struct experiment_views *views, const struct view_hold *holds, uint32_t count)
{
    if (count > views->hold_room - views->hold_count) {
        const uint32_t room = 2 * views->hold_room + count;
        struct view_hold *larger = realloc(views->holds, room * sizeof *larger);
        if (!larger)
            return CV_ENOMEM;
        views->holds = larger;
        views->hold_room = room;
    }
    if (count)
        memcpy(views->holds + views->hold_count, holds, count * sizeof *holds);
    views->hold_count += count;
    return 0;
}

int experiment_views_answer(struct cv_experiment *experiment, uint32_t slot, const struct view_hold *holds,
                            uint32_t count)
{
    experiment->views.answered[slot] = true;
    return keep_holds(&experiment->views, holds, count);
}

static int read_answer(struct cv_experiment *experiment, uint32_t slot)
{
    static uint64_t buffer[PACKET_BYTES / sizeof(uint64_t)];
    const ssize_t bytes = recv(experiment->children[slot].control, buffer, sizeof buffer, MSG_DONTWAIT);
    const struct control *control = (const void *)buffer;
    if (bytes < (ssize_t)sizeof *control)
        return 0; /* not yet, or it has died */
    return experiment_views_answer(experiment, slot, (const void *)(control + 1), control->index);
}

/* The nodes that have answered and still live, in the order of the group. */
static uint32_t gather_members(const struct cv_experiment *experiment, cv_node *members)
{
    uint32_t count = 0;
    for (cv_node node = 0; node < experiment->board->nodes; node++) {
        const uint32_t slot = experiment->board->current[node];
        if (slot != NO_SLOT && child_lives(experiment, slot) && experiment->views.answered[slot])
            members[count++] = node;
    }
    return count;
}

/* Those who died after their answer hold nothing. */
static void forget_dead(struct cv_experiment *experiment)
{
    struct experiment_views *views = &experiment->views;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < views->hold_count; i++)
        if (experiment->board->current[views->holds[i].node] != NO_SLOT)
            views->holds[kept++] = views->holds[i];
    views->hold_count = kept;
}

static void record_view(struct cv_experiment *experiment, const struct view_order *order, const cv_node *members)
{
    struct log_record record = {
        .type = CV_EVENT_VIEW, .node = CV_NOBODY, .peer = order->coordinator, .slot = NO_SLOT, .detail = order->epoch};
    unsigned char *content = malloc(sizeof *order + order->member_count * sizeof *members);
    if (!content)
        cv_out_of_memory(2);
    memcpy(content, order, sizeof *order);
    memcpy(content + sizeof *order, members, order->member_count * sizeof *members);
    log_begin(&experiment->log, experiment_ns(experiment));
    log_add(&experiment->log, &record, content, sizeof *order + order->member_count * sizeof *members);
    log_write(&experiment->log, experiment->faults);
    free(content);
}

static int tell_members(struct cv_experiment *experiment, const struct view_order *order, const cv_node *members)
{
    const struct experiment_views *views = &experiment->views;
    const size_t hold_bytes = order->hold_count * sizeof *views->holds;
    const size_t member_bytes = order->member_count * sizeof *members;
    unsigned char *content = malloc(sizeof *order + hold_bytes + member_bytes);
    if (!content)
        return CV_ENOMEM;
    memcpy(content, order, sizeof *order);
    if (hold_bytes)
        memcpy(content + sizeof *order, views->holds, hold_bytes);
    memcpy(content + sizeof *order + hold_bytes, members, member_bytes);
    for (uint32_t i = 0; i < order->member_count; i++)
        child_tell(experiment, experiment->board->current[members[i]], CONTROL_VIEW, 0, content,
                   sizeof *order + hold_bytes + member_bytes);
    free(content);
    return 0;
}

/* If no node lives, the first that comes back begins the next view. */
static int begin_view(struct cv_experiment *experiment, cv_node *members)
{
    struct experiment_views *views = &experiment->views;
    forget_dead(experiment);
    struct view_order order = {.epoch = views->view.epoch + 1,
                               .member_count = gather_members(experiment, members),
                               .hold_count = views->hold_count};
    order.coordinator = run_view_coordinator(&views->view, experiment->scenario, members, order.member_count);
    int error = 0;
    if (order.member_count) {
        record_view(experiment, &order, members);
        error = tell_members(experiment, &order, members);
    }
    if (!error && order.member_count)
        error = run_view_change(&views->view, experiment->scenario, &order, members);
    views->changing = false;
    views->hold_count = 0;
    memset(views->told, 0, experiment->board->slots * sizeof *views->told);
    memset(views->answered, 0, experiment->board->slots * sizeof *views->answered);
    return error;
}

int experiment_views_act(struct cv_experiment *experiment)
{
    struct experiment_views *views = &experiment->views;
    bool all = true;
    for (uint32_t slot = 0; slot < experiment->board->slots && views->changing; slot++) {
        if (!views->told[slot] || views->answered[slot] || !child_lives(experiment, slot))
            continue;
        const int error = experiment->machines ? 0 : read_answer(experiment, slot);
        if (error)
            return error;
        all &= views->answered[slot];
    }
    if (!views->changing || !all)
        return 0;
    cv_node *members = malloc(experiment->board->nodes * sizeof *members);
    const int error = members ? begin_view(experiment, members) : CV_ENOMEM;
    free(members);
    return error;
}
