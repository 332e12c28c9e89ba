// SPDX-License-Identifier: MIT
#include "live/host/host_views.h"

#include <stdlib.h>

#include "core/error.h"
#include "live/host/host.h"
#include "live/host/host_names.h"

/* Cancels the timers and the messages of this instance. */
void cv_host_quiet(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    for (uint32_t i = 0; i < CV_MAX_TIMERS; i++)
        cv_alarm_cancel(host->alarms, &instance->timers[i].alarm);
    cv_alarm_cancel(host->alarms, &instance->rest.alarm);
    free(instance->resting);
    instance->resting = NULL;
    cv_host_void_queue(host, instance);
}

int cv_host_restart(struct cv_algorithm_host *host, struct cv_instance *instance, uint64_t round)
{
    const struct cv_algorithm *algorithm = instance->policy->algorithm;
    if (instance->attributes) {
        *instance->group = instance->policy->group;
        instance->group->attributes = instance->attributes;
        instance->group->absence = true;
    }
    cv_step_begins(instance, "state_size");
    const size_t bytes =
        algorithm->state_size ? algorithm->state_size(instance->group, host->roster->me) : algorithm->state_bytes;
    cv_step_mark.instance = NULL;
    if (bytes > CV_MOST_STATE_BYTES)
        return CV_ENOMEM;
    if (bytes > instance->state_bytes) {
        unsigned char *state = realloc(instance->state, bytes);
        if (!state)
            return CV_ENOMEM;
        instance->state = state;
        instance->state_bytes = bytes;
    }
    if (instance->state_bytes)
        memset(instance->state, 0, instance->state_bytes);
    cv_host_quiet(host, instance);
    instance->round = round;
    instance->flags = 0;
    instance->given = 0;
    if (instance->clock > cv_host_last_time(instance->group) / 4)
        instance->clock = 0;
    host->self.state = instance->state;
    host->self.group = instance->group;
    host->self.node = host->roster->me;
    cv_step_begins(instance, "init");
    if (algorithm->init)
        algorithm->init(&host->self);
    cv_step_mark.instance = NULL;
    return 0;
}

void cv_host_freeze(struct cv_algorithm_host *host)
{
    host->frozen = true;
    for (size_t i = 0; i < host->count; i++)
        if (host->all[i]->subject != CV_SUBJECT_GROUP)
            cv_host_quiet(host, host->all[i]);
}

static void note_absence(struct cv_algorithm_host *host)
{
    const bool whole = host->view.members == cv_set_first(host->roster->count);
    for (uint32_t i = 0; i < host->policy_count; i++)
        host->policies[i].group.absence = host->suspected || (i && !whole);
}

void cv_host_suspect(struct cv_algorithm_host *host, cv_set suspected)
{
    host->suspected = suspected;
    note_absence(host);
}

/* Chooses voting sets among the members of the view. */
static int draw_quorums(struct cv_algorithm_host *host, struct cv_policy *policy)
{
    struct cv_complaint complaint;
    cv_quorums_free(&policy->quorums);
    if (!policy->algorithm->quorums)
        return 0;
    const int error = cv_quorums_make(&policy->quorums, "grid", host->roster->count, host->members,
                                      cv_set_count(host->view.members), &complaint);
    policy->group.quorums = policy->quorums.starts;
    policy->group.voters = policy->quorums.voters;
    return error;
}

static int lay_out(struct cv_algorithm_host *host)
{
    uint32_t count = 0;
    for (cv_node node = 0; node < host->roster->count; node++)
        if (cv_set_has(host->view.members, node))
            host->members[count++] = node;
    for (uint32_t i = 1; i < host->policy_count; i++) {
        struct cv_group *group = &host->policies[i].group;
        group->members = count < group->nodes ? host->members : NULL;
        group->member_count = count;
        group->epoch = host->view.epoch;
        group->coordinator = host->view.coordinator;
        if (draw_quorums(host, &host->policies[i]))
            return CV_ENOMEM;
    }
    note_absence(host);
    return 0;
}

/* Tells the algorithm which node is inside. The algorithm sends nothing. */
void cv_host_adopt(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    struct cv_self *me = &host->self;
    me->state = instance->state;
    me->group = instance->group;
    me->node = host->roster->me;
    me->clock = instance->clock;
    me->used = 0;
    me->effects = 0;
    cv_step_begins(instance, "adopt");
    instance->policy->algorithm->adopt(me, instance->holder, instance->fence);
    assert(!me->used);
    cv_step_mark.instance = NULL;
    me->timers_armed = me->timers_cancelled = 0;
    instance->flags |= CV_FRESH;
    if (instance->holder == me->node)
        instance->flags |= CV_INSIDE;
    else if (cv_set_has(instance->sharers, me->node))
        instance->flags |= CV_BORROWS;
}

static int begin_anew(struct cv_algorithm_host *host, struct cv_instance *instance, uint64_t epoch)
{
    const bool inherits = !(instance->flags & CV_INSIDE) && instance->holder == host->roster->me;
    const int error = cv_host_restart(host, instance, epoch);
    if (error)
        return error;
    cv_host_adopt(host, instance);
    instance->flags |= inherits ? CV_HEIR : 0u;
    return 0;
}

int cv_host_begin(struct cv_algorithm_host *host, const struct cv_view *view,
                  bool (*keep)(const struct cv_instance *instance))
{
    host->view = *view;
    int error = lay_out(host);
    for (size_t i = host->count; i-- > 0;) {
        struct cv_instance *instance = host->all[i];
        if (instance->subject == CV_SUBJECT_GROUP)
            continue;
        if (instance->flags & CV_INSIDE && instance->holder != host->roster->me)
            cv_host_record(host, instance, CV_EVENT_LEAVE, "lost");
        if (!instance_is_section(instance) || (instance->holder == CV_NOBODY && !keep(instance)))
            cv_host_end(host, instance);
        else if (!error)
            error = begin_anew(host, instance, view->epoch);
    }
    cv_host_expect_crowd(host);
    host->frozen = error != 0;
    return error;
}
