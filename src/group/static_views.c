// SPDX-License-Identifier: MIT
#include "group/static_views.h"

void cv_static_views_init(struct cv_static_views *static_views, cv_node me, const struct cv_static_views_calls *calls)
{
    *static_views = (struct cv_static_views){.calls = *calls,
                                             .me = me,
                                             .leader = CV_NOBODY,
                                             .promised_to = CV_NOBODY,
                                             .frozen = true,
                                             .alive = cv_set_of(me)};
}

/* ---- the leader's part ---- */

static void begin(struct cv_static_views *static_views, const struct cv_view *view)
{
    static_views->view = *view;
    static_views->base = view->base;
    static_views->next.epoch = 0;
    static_views->frozen = static_views->stale = false;
    static_views->changes++;
    static_views->calls.install(static_views->calls.context, view);
}

static void conclude(struct cv_static_views *static_views)
{
    struct cv_view view = static_views->next;
    view.base = cv_view_base(static_views->calls.unix_ms(), static_views->base);
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (node != static_views->me && cv_set_has(view.members, node)) {
            static_views->calls.tell(static_views->calls.context, node, view.epoch);
            static_views->calls.send(static_views->calls.context, node, CV_VIEW_INSTALL, &view);
        }
    begin(static_views, &view);
}

static void stop(struct cv_static_views *static_views)
{
    static_views->frozen = true;
    static_views->calls.freeze(static_views->calls.context);
}

static void prepare(struct cv_static_views *static_views)
{
    const uint64_t above =
        static_views->promised > static_views->highest ? static_views->promised : static_views->highest;
    static_views->next = (struct cv_view){.epoch = above + 1,
                                          .members = static_views->alive | cv_set_of(static_views->me),
                                          .coordinator = static_views->me};
    static_views->stale = false;
    static_views->promised = static_views->highest = static_views->next.epoch;
    static_views->promised_to = static_views->me;
    static_views->awaited = static_views->next.members & ~cv_set_of(static_views->me);
    stop(static_views);
    const struct cv_view proposal = static_views->next;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(static_views->awaited, node))
            static_views->calls.send(static_views->calls.context, node, CV_VIEW_PREPARE, &proposal);
    if (!static_views->awaited)
        conclude(static_views);
}

/* Should this node, as the leader, prepare a view? */
static bool is_called_for(const struct cv_static_views *static_views)
{
    const cv_set members = static_views->alive | cv_set_of(static_views->me);
    if (static_views->leader != static_views->me)
        return false;
    if (static_views->next.epoch)
        return static_views->next.members != members || static_views->stale;
    return static_views->frozen || static_views->stale || static_views->view.members != members ||
           static_views->view.coordinator != static_views->me;
}

void cv_static_views_consider(struct cv_static_views *static_views)
{
    if (is_called_for(static_views))
        prepare(static_views);
}

bool cv_static_views_update(struct cv_static_views *static_views, cv_node leader, cv_set alive)
{
    static_views->leader = leader;
    static_views->alive = alive;
    const cv_set members = static_views->next.epoch ? static_views->next.members : static_views->view.members;
    const bool urgent = !static_views->view.epoch || members & ~(alive | cv_set_of(static_views->me));
    if (urgent)
        cv_static_views_consider(static_views);
    return is_called_for(static_views);
}

void cv_static_views_renew(struct cv_static_views *static_views)
{
    static_views->stale = true;
}

/* ---- everybody's part ---- */

bool cv_static_views_awaits(const struct cv_static_views *static_views, enum cv_view_message kind, cv_node from,
                            uint64_t epoch)
{
    if (kind == CV_VIEW_HOLDING)
        return static_views->next.epoch == epoch && cv_set_has(static_views->awaited, from);
    return static_views->frozen && static_views->promised == epoch && static_views->promised_to == from;
}

static void on_prepare(struct cv_static_views *static_views, cv_node from, const struct cv_view *view)
{
    if (view->epoch <= static_views->promised) {
        const struct cv_view mine = {.epoch = static_views->promised};
        static_views->calls.send(static_views->calls.context, from, CV_VIEW_REFUSE, &mine);
        return;
    }
    static_views->promised = view->epoch;
    static_views->promised_to = from;
    static_views->next.epoch = 0;
    stop(static_views);
    static_views->calls.report(static_views->calls.context, from, view->epoch);
    const struct cv_view mine = {.epoch = view->epoch, .base = static_views->base};
    static_views->calls.send(static_views->calls.context, from, CV_VIEW_REPORT, &mine);
}

bool cv_static_views_hear(struct cv_static_views *static_views, cv_node from, enum cv_view_message kind,
                          const struct cv_view *view)
{
    if (view->epoch > static_views->highest)
        static_views->highest = view->epoch;
    if (kind == CV_VIEW_PREPARE) {
        on_prepare(static_views, from, view);
    } else if (kind == CV_VIEW_REFUSE && static_views->next.epoch && view->epoch >= static_views->next.epoch) {
        static_views->next.epoch = 0;
    } else if (kind == CV_VIEW_REPORT && cv_static_views_awaits(static_views, CV_VIEW_HOLDING, from, view->epoch)) {
        static_views->awaited &= ~cv_set_of(from);
        if (view->base > static_views->base)
            static_views->base = view->base;
        if (!static_views->awaited)
            conclude(static_views);
    } else if (kind == CV_VIEW_RENEW && view->epoch == static_views->view.epoch) {
        static_views->stale = true;
    } else if (kind == CV_VIEW_INSTALL && cv_static_views_awaits(static_views, CV_VIEW_HELD, from, view->epoch)) {
        begin(static_views, view);
    }
    return is_called_for(static_views);
}
