// SPDX-License-Identifier: MIT
#include "group/council.h"

void cv_council_init(struct cv_council *council, cv_node me, const struct cv_council_calls *calls)
{
    *council = (struct cv_council){.calls = *calls,
                                   .me = me,
                                   .leader = CV_NOBODY,
                                   .promised_to = CV_NOBODY,
                                   .frozen = true,
                                   .alive = cv_set_of(me)};
}

/* ---- the leader's part ---- */

static void begin(struct cv_council *council, const struct cv_view *view)
{
    council->view = *view;
    council->base = view->base;
    council->next.epoch = 0;
    council->frozen = council->stale = false;
    council->changes++;
    council->calls.install(council->calls.context, view);
}

static void conclude(struct cv_council *council)
{
    struct cv_view view = council->next;
    view.base = cv_view_base(council->calls.unix_ms(), council->base);
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (node != council->me && cv_set_has(view.members, node)) {
            council->calls.tell(council->calls.context, node, view.epoch);
            council->calls.send(council->calls.context, node, CV_MOTION_INSTALL, &view);
        }
    begin(council, &view);
}

static void stop(struct cv_council *council)
{
    council->frozen = true;
    council->calls.freeze(council->calls.context);
}

static void prepare(struct cv_council *council)
{
    const uint64_t above = council->promised > council->highest ? council->promised : council->highest;
    council->next = (struct cv_view){
        .epoch = above + 1, .members = council->alive | cv_set_of(council->me), .coordinator = council->me};
    council->stale = false;
    council->promised = council->highest = council->next.epoch;
    council->promised_to = council->me;
    council->awaited = council->next.members & ~cv_set_of(council->me);
    stop(council);
    const struct cv_view proposal = council->next;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(council->awaited, node))
            council->calls.send(council->calls.context, node, CV_MOTION_PREPARE, &proposal);
    if (!council->awaited)
        conclude(council);
}

/* Should this node, as the leader, prepare a view? */
static bool is_called_for(const struct cv_council *council)
{
    const cv_set members = council->alive | cv_set_of(council->me);
    if (council->leader != council->me)
        return false;
    if (council->next.epoch)
        return council->next.members != members || council->stale;
    return council->frozen || council->stale || council->view.members != members ||
           council->view.coordinator != council->me;
}

void cv_council_consider(struct cv_council *council)
{
    if (is_called_for(council))
        prepare(council);
}

bool cv_council_update(struct cv_council *council, cv_node leader, cv_set alive)
{
    council->leader = leader;
    council->alive = alive;
    const cv_set members = council->next.epoch ? council->next.members : council->view.members;
    const bool urgent = !council->view.epoch || members & ~(alive | cv_set_of(council->me));
    if (urgent)
        cv_council_consider(council);
    return is_called_for(council);
}

void cv_council_renew(struct cv_council *council)
{
    council->stale = true;
}

/* ---- everybody's part ---- */

bool cv_council_awaits(const struct cv_council *council, enum cv_motion motion, cv_node from, uint64_t epoch)
{
    if (motion == CV_MOTION_HOLDING)
        return council->next.epoch == epoch && cv_set_has(council->awaited, from);
    return council->frozen && council->promised == epoch && council->promised_to == from;
}

static void on_prepare(struct cv_council *council, cv_node from, const struct cv_view *view)
{
    if (view->epoch <= council->promised) {
        const struct cv_view mine = {.epoch = council->promised};
        council->calls.send(council->calls.context, from, CV_MOTION_REFUSE, &mine);
        return;
    }
    council->promised = view->epoch;
    council->promised_to = from;
    council->next.epoch = 0;
    stop(council);
    council->calls.report(council->calls.context, from, view->epoch);
    const struct cv_view mine = {.epoch = view->epoch, .base = council->base};
    council->calls.send(council->calls.context, from, CV_MOTION_REPORT, &mine);
}

bool cv_council_hear(struct cv_council *council, cv_node from, enum cv_motion motion, const struct cv_view *view)
{
    if (view->epoch > council->highest)
        council->highest = view->epoch;
    if (motion == CV_MOTION_PREPARE) {
        on_prepare(council, from, view);
    } else if (motion == CV_MOTION_REFUSE && council->next.epoch && view->epoch >= council->next.epoch) {
        council->next.epoch = 0;
    } else if (motion == CV_MOTION_REPORT && cv_council_awaits(council, CV_MOTION_HOLDING, from, view->epoch)) {
        council->awaited &= ~cv_set_of(from);
        if (view->base > council->base)
            council->base = view->base;
        if (!council->awaited)
            conclude(council);
    } else if (motion == CV_MOTION_RENEW && view->epoch == council->view.epoch) {
        council->stale = true;
    } else if (motion == CV_MOTION_INSTALL && cv_council_awaits(council, CV_MOTION_HELD, from, view->epoch)) {
        begin(council, view);
    }
    return is_called_for(council);
}
