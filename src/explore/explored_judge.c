// SPDX-License-Identifier: MIT
#include "explore/explored_judge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/scenario/label.h"
#include "core/scenario/synchronous_run.h"
#include "explore/explored_events.h"
#include "explore/explored_network.h"
#include "explore/explored_views.h"

/* ---- single steps ---- */

static void note_violation(struct explored *world, enum cv_property_number property, cv_node one, cv_node other)
{
    struct explored_present *now = &world->present;
    now->seen = (uint32_t)property + 1;
    now->seen_nodes[0] = one;
    now->seen_nodes[1] = other;
    now->seen_leaders[0] = explored_node(world, one)->leader;
    now->seen_leaders[1] = explored_node(world, other)->leader;
    now->seen_step = explored_time(world);
}

void explored_judge_step(struct explored *world, cv_node node)
{
    const struct explored_present *now = &world->present;
    const struct explored_node *it = explored_node(world, node);
    if (now->crashes || now->mistakes || now->cuts || now->losses || now->seen || !(it->flags & EXPLORED_KNOWS))
        return;
    if (world->best_always && it->leader != world->best)
        note_violation(world, CV_PROPERTY_BEST_WINS, node, node);
    for (cv_node other = 0; world->agree_always && other < world->nodes; other++)
        if (explored_is(world, other, EXPLORED_KNOWS) && explored_node(world, other)->leader != it->leader)
            note_violation(world, CV_PROPERTY_AGREEMENT, other, node);
}

/* The violation before the end, in words. */
static struct cv_finding seen_finding(const struct explored *world)
{
    const struct explored_present *now = &world->present;
    const struct cv_scenario *scenario = world->scenario;
    struct cv_finding finding = cv_finding_of((enum cv_property_number)(now->seen - 1), CV_VIOLATED);
    const struct cv_name one = cv_name(scenario, now->seen_nodes[0]), other = cv_name(scenario, now->seen_nodes[1]);
    const struct cv_name leads = cv_name_of(scenario, now->seen_leaders[0]);
    if (now->seen_nodes[0] == now->seen_nodes[1])
        snprintf(finding.detail, sizeof finding.detail, "at time %llu node %s follows %s, the best is %s",
                 (unsigned long long)now->seen_step, one.text, leads.text, cv_name_of(scenario, world->best).text);
    else
        snprintf(finding.detail, sizeof finding.detail, "at time %llu node %s follows %s, node %s follows %s",
                 (unsigned long long)now->seen_step, one.text, leads.text, other.text,
                 cv_name_of(scenario, now->seen_leaders[1]).text);
    return finding;
}

/* ---- the story as a run ---- */

static struct cv_standing standing(const void *runtime, cv_node node)
{
    const struct explored_node *it = explored_node(runtime, node);
    return (struct cv_standing){.result = it->result,
                                .via = it->via,
                                .updates = it->updates,
                                .leader = it->leader,
                                .alive = (it->flags & EXPLORED_ALIVE) != 0,
                                .knows = (it->flags & EXPLORED_KNOWS) != 0,
                                .active = !(it->flags & EXPLORED_FRESH),
                                .recalled = (it->flags & EXPLORED_RECALLED) != 0};
}

static const void *app_state(const void *runtime, cv_node node)
{
    const struct explored *world = runtime;
    return (const unsigned char *)explored_state(world, node) + world->group.hosted_at + sizeof(uint64_t);
}

static uint64_t round_of(const void *runtime, cv_node node)
{
    return explored_node(runtime, node)->round;
}

/* Is there nothing that must still happen? */
static bool is_quiet(struct explored *world)
{
    for (cv_node node = 0; node < world->nodes; node++) {
        const struct explored_node *it = explored_node(world, node);
        if (!(it->flags & EXPLORED_ALIVE))
            continue;
        if (it->flags & EXPLORED_INSIDE)
            return false;
        for (uint32_t timer = 0; timer < world->timers; timer++)
            if (it->timers[timer])
                return false;
    }
    return !explored_under_way(world);
}

/* An election in which no live node took part is not judged, nor rounds that have not begun. */
static bool somebody_took_part(const struct explored *world)
{
    const bool fresh = world->any_caller || world->algorithm->problem != CV_ELECTION;
    if (world->mutex)
        return true;
    for (cv_node node = 0; node < world->nodes; node++)
        if (explored_alive(world, node) &&
            (fresh ? !explored_is(world, node, EXPLORED_FRESH) : explored_is(world, node, EXPLORED_STARTED)))
            return true;
    return false;
}

/* Rounds and paths begin at every node. Before that their end is not here, however quiet it is. */
static bool all_began(const struct explored *world)
{
    if (world->mutex || world->algorithm->problem == CV_ELECTION)
        return true;
    for (cv_node node = 0; node < world->nodes; node++)
        if (explored_alive(world, node) && !explored_is(world, node, EXPLORED_STARTED))
            return false;
    return true;
}

/* A view may serve whoever waits. */
static bool is_view_to_come(struct explored *world)
{
    uint64_t due;
    cv_node coordinator;
    return world->present.unstarted || explored_view_due(world, &due, &coordinator);
}

bool explored_is_quiet(struct explored *world)
{
    return is_quiet(world) && !is_view_to_come(world) && somebody_took_part(world) && all_began(world);
}

static uint32_t list_callers(const struct explored *world, cv_node *callers, bool planned)
{
    uint32_t count = 0;
    for (cv_node node = 0; node < world->nodes; node++) {
        bool calls = explored_is(world, node, EXPLORED_CALLER);
        for (uint32_t i = 0; planned && i < world->scenario->caller_count; i++)
            calls |= world->scenario->callers[i] == node;
        if (calls)
            callers[count++] = node;
    }
    return count;
}

void explored_run(struct explored *world, struct cv_run *run)
{
    const struct explored_present *now = &world->present;
    struct cv_scenario *story = &world->judged;
    *story = *world->scenario;
    story->everyone_calls = false;
    story->callers = world->callers;
    story->caller_count = list_callers(world, world->callers, false);
    story->crashes = world->crashes;
    story->crash_count = (uint32_t)now->crashes;
    story->recoveries = world->recoveries;
    story->recovery_count = (uint32_t)now->recoveries;
    *run = (struct cv_run){.scenario = story,
                           .runtime = world,
                           .standing = standing,
                           .ending = explored_is_quiet(world) || explored_is_over(world) ? CV_QUIET : CV_STOPPED,
                           .now = explored_time(world),
                           .time = now->delivered,
                           .decided = CV_NEVER,
                           .calls = now->calls,
                           .total = now->total,
                           .preparing = now->preparing,
                           .hasty = now->hasty,
                           .apart = now->apart,
                           .last_exit = now->last_exit,
                           .views = now->epoch - world->scenario->group.epoch,
                           .entries = world->entries,
                           .entry_count = now->entries,
                           .checked = world->algorithm->invariant || now->broken,
                           .broken = now->broken,
                           .broken_node = now->broken_node,
                           .broken_time = now->broken_step,
                           .unmeasured = true};
    memcpy(run->count, world->counts, sizeof run->count);
    if (world->scenario->app) {
        run->app_state = app_state;
        run->round = round_of;
    }
    if (world->claims & CV_PER_COMPONENT && (world->graph || now->cuts))
        run->component = explored_parts(world);
    if (now->seen) {
        world->seen = seen_finding(world);
        run->seen = &world->seen;
    }
}

int explored_judge(struct explored *world, struct cv_judgement *judgement)
{
    struct cv_complaint complaint;
    struct cv_run run;
    explored_run(world, &run);
    return cv_judge(&run, judgement, &complaint);
}

uint32_t explored_violations(const struct cv_judgement *judgement)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < judgement->finding_count; i++)
        for (uint32_t property = 0; property < CV_PROPERTY_COUNT; property++)
            if (judgement->findings[i].verdict == CV_VIOLATED &&
                judgement->findings[i].name == cv_property((enum cv_property_number)property)->name)
                bits |= 1u << property;
    return bits;
}

void explored_judge_story(struct explored *world)
{
    struct cv_judgement judgement;
    if (!world->recording)
        return;
    if (explored_judge(world, &judgement)) {
        world->out_of_memory = true;
        return;
    }
    const uint32_t bits = explored_violations(&judgement);
    world->steps[world->step_count - 1].violated = bits & ~world->present.violated;
    world->present.violated = bits;
}

/* ---- the texts' costs ---- */

int explored_expect(struct explored *world, enum cv_measure measure, struct cv_expectation *expectation)
{
    const struct explored_present *now = &world->present;
    struct cv_scenario story = *world->scenario;
    struct cv_complaint complaint;
    struct cv_lockstep reference = {0};
    *expectation = (struct cv_expectation){0};
    const bool disturbed = now->mistakes || now->cuts || now->losses || now->recoveries;
    for (uint64_t i = 0; i < now->crashes; i++)
        if (world->crashes[i].time)
            return 0;
    if (disturbed)
        return 0;
    cv_node *callers = malloc(world->nodes * sizeof *callers);
    int error = callers ? 0 : CV_ENOMEM;
    if (!error && !story.everyone_calls) {
        story.callers = callers;
        story.caller_count = list_callers(world, callers, true);
    }
    if (!error && story.app && !world->app_counted) {
        error = cv_lockstep_run(&reference, &story);
        world->app_messages = reference.messages;
        world->app_counted = !error;
        cv_lockstep_free(&reference);
    }
    if (!error)
        error = cv_theory_expect(&story, world->app_messages, measure, expectation, &complaint);
    free(callers);
    return error == CV_EINPUT ? 0 : error;
}
