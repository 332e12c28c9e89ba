// SPDX-License-Identifier: MIT
/*
 * usage: synchronizers ALGORITHM [FILE.so] [--stories N] [--seed S] [--failures N]
 *
 * Plays many random scenarios of one synchronizer with every app, or of one app on every synchronizer, and compares
 * each with the texts (synchronizers/model.c) and with a second judge (synchronizers/witness.c). A failure is printed
 * as the command that repeats it. Exit codes: 0 no failure, 1 failures, 2 the test could not run.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/plugin.h"
#include "property/property.h"
#include "sim/sim.h"
#include "synchronizers/model.h"
#include "synchronizers/witness.h"

#define USUAL_STORIES 1000u
#define MOST_RUNGS 9u /* of a gadget */

#define ROUNDLESS "bellman-ford-async"

static const char *const app_names[] = {"bellman-ford", "flood-max", "bfs-tree"};
static const char *const synchronizer_names[] = {"lockstep", "abd", "alpha", "beta", "gamma"};

struct trial {
    struct story *story;
    struct play play;
    struct witness witness;
};

static uint64_t failures, runs;

__attribute__((format(printf, 2, 3))) static void blame(const struct story *story, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs("FAILED: ", stdout);
    vprintf(format, arguments);
    fputs("\n  ", stdout);
    va_end(arguments);
    story_print(stdout, story);
    failures++;
}

/* ---- one run ---- */

static void play(struct trial *trial, struct story *story, bool watched)
{
    struct cv_plan plan;
    struct cv_complaint complaint = {{0}};
    const struct cv_observer observer = {watched ? witness_see : NULL, &trial->witness, NULL};
    memset(trial, 0, sizeof *trial);
    trial->story = story;
    trial->witness.story = story;
    runs++;
    int error = story_plan(story, &plan);
    if (!error)
        error = play_run(&trial->play, &plan, observer, &complaint);
    if (!error)
        return;
    printf("cannot be tried: %s %s\n  ", cv_error_text(error), complaint.text);
    story_print(stdout, story);
    exit(2);
}

static struct cv_standing standing(const struct trial *trial, cv_node node)
{
    return trial->play.run.standing(trial->play.run.runtime, node);
}

/* ---- what must be so in every run ---- */

static const struct cv_finding *finding(const struct trial *trial, const char *name)
{
    static const struct cv_finding nothing = {.verdict = CV_UNFINISHED};
    const struct cv_finding *found = play_finding(&trial->play, name);
    if (found)
        return found;
    blame(trial->story, "nothing was found out about %s", name);
    return &nothing;
}

/* Do the judge and the witness agree? */
static void compare(const struct trial *trial, const char *name, uint64_t faults)
{
    const struct cv_finding *it = finding(trial, name);
    if (it->verdict != (faults ? CV_VIOLATED : CV_HELD))
        blame(trial->story, "%s is %s, but there are %" PRIu64 " faults: %s", name, cv_verdict_name(it->verdict),
              faults, it->detail);
}

static void check_books(const struct trial *trial)
{
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        if (trial->witness.sent[kind] != trial->play.run.count[kind])
            blame(trial->story, "%" PRIu64 " messages of kind %u were sent, %" PRIu64 " counted",
                  trial->witness.sent[kind], kind, trial->play.run.count[kind]);
    if (!trial->story->app)
        return;
    compare(trial, "whole-rounds", trial->witness.hasty);
    compare(trial, "close-rounds", trial->witness.apart);
}

/* The simulator's way without an observer has the same result. */
static void check_unwatched(const struct trial *watched)
{
    struct trial trial;
    play(&trial, watched->story, false);
    const struct cv_run *one = &watched->play.run, *other = &trial.play.run;
    bool same = one->ending == other->ending && one->total == other->total && one->time == other->time &&
                one->preparing == other->preparing && watched->play.judgement.verdict == trial.play.judgement.verdict;
    for (cv_node node = 0; same && node < watched->story->nodes; node++) {
        const struct cv_standing a = standing(watched, node), b = standing(&trial, node);
        same = a.result == b.result && a.via == b.via && a.updates == b.updates && a.leader == b.leader;
    }
    if (!same)
        blame(watched->story,
              "an unwatched run differs: %" PRIu64 " messages until %" PRIu64 ", not %" PRIu64 " until %" PRIu64,
              other->total, other->time, one->total, one->time);
    play_free(&trial.play);
}

/* ---- rounds ---- */

static void check_results(const struct trial *trial, enum app app, const struct course *course)
{
    const struct story *story = trial->story;
    for (cv_node node = 0; node < story->nodes; node++) {
        const struct cv_standing it = standing(trial, node);
        const uint64_t expected = course->result[node];
        if (app == FLOOD_MAX && (!it.knows || it.leader != story->id[expected]))
            blame(story, "node %u elects %u; expected %u", story->id[node], it.leader, story->id[expected]);
        const bool told = expected != UNKNOWN;
        if (app != FLOOD_MAX && ((it.updates > 0) != told || (told && it.result != expected)))
            blame(story, "node %u comes to %" PRIu64 "; expected %" PRIu64, story->id[node],
                  it.updates ? it.result : UNKNOWN, expected);
    }
}

/* The app's claims hold, but after too few rounds it claims nothing. */
static void check_claims(const struct trial *trial, enum app app, const struct course *course)
{
    static const char *const claims[] = {"shortest-paths", "best-wins", "fewest-hops"};
    const struct cv_finding *it = finding(trial, claims[app]);
    if (it->verdict != (course->right ? CV_HELD : CV_DISCLAIMED))
        blame(trial->story, "%s: %s, though there were rounds %s", it->name, cv_verdict_name(it->verdict),
              course->right ? "enough" : "too few");
}

static void check_verdict(const struct trial *trial)
{
    const struct cv_judgement *judgement = &trial->play.judgement;
    const uint64_t rounds = cv_run_rounds(&trial->play.run);
    if (trial->play.run.ending != CV_QUIET)
        blame(trial->story, "the run does not come to rest: %s", judgement->reason);
    else if (rounds != trial->story->rounds)
        blame(trial->story, "%" PRIu64 " rounds; expected %" PRIu64, rounds, trial->story->rounds);
    else if (trial->witness.hasty || trial->witness.apart)
        blame(trial->story, "%" PRIu64 " rounds begin too early, %" PRIu64 " too far from a neighbour's",
              trial->witness.hasty, trial->witness.apart);
    else if (judgement->verdict != CV_HELD)
        blame(trial->story, "%s: %s", cv_verdict_name(judgement->verdict), judgement->reason);
}

/*
 * If every message takes one tick, the time is that of the model. With other delays it is between the model's time
 * multiplied by the shortest delay and by the longest; except for beta, whose tree depends on the delays, and clocks,
 * which do not depend on them.
 */
static void check_time(const struct trial *trial, enum synchronizer which, const struct course *course)
{
    const struct story *story = trial->story;
    const uint64_t model = model_time(which, story, course), skew = which == ABD && !story->together;
    const bool scales = which == ALPHA || which == GAMMA;
    if (!story->longest_delay || !(story->unit || scales))
        return;
    if (trial->play.run.time < model * story->shortest_delay ||
        trial->play.run.time > (model + skew) * story->longest_delay)
        blame(story, "the last message arrives at %" PRIu64 "; expected %" PRIu64 " times the delay",
              trial->play.run.time, model);
}

static void check_costs(const struct trial *trial, enum synchronizer which, const struct course *course)
{
    const struct story *story = trial->story;
    const struct cv_judgement *judgement = &trial->play.judgement;
    const char *wrong = model_messages(which, story, course, &trial->play.run);
    if (wrong)
        blame(story, "%s", wrong);
    if (judgement->app_messages != course->messages)
        blame(story, "on a synchronous network %" PRIu64 " messages; expected %" PRIu64, judgement->app_messages,
              course->messages);
    const bool usual = which != ABD || !story->together; /* the table's formulas are for the default parameters */
    if (usual && !story->unordered && (!judgement->messages.cost || !judgement->messages_hold))
        blame(story, "the table's formula for the messages does not hold");
    if (usual && story->unit && (!judgement->delay.cost || !judgement->delay_holds))
        blame(story, "the table's formula for the time does not hold");
    check_time(trial, which, course);
}

static void draw_app(struct story *story, enum app app)
{
    story->source = story_smallest(story);
    if (app != FLOOD_MAX && story_draw(story, 2)) {
        story->source = story_draw(story, story->nodes);
        story_set(story, "source=%" PRIu32, story->id[story->source]);
    }
    if (app == FLOOD_MAX && story_draw(story, 2))
        story_draw_attributes(story);
    story->changed = app != BFS_TREE && story_draw(story, 2);
    if (story->changed)
        story_set(story, "send=changed");
}

static void draw_synchronizer(struct story *story, enum synchronizer which)
{
    story->root = story_smallest(story);
    if (which == BETA && story_draw(story, 2)) {
        story->root = story_draw(story, story->nodes);
        story_set(story, "root=%" PRIu32, story->id[story->root]);
    }
    story->together = which != ABD || story_draw(story, 2);
    if (which == ABD && story->together)
        story_set(story, "skew=0");
    if (which == GAMMA)
        story_draw_clusters(story);
}

static void draw_network(struct story *story, enum synchronizer which)
{
    if (which != LOCKSTEP && story_draw(story, 2))
        story_odd_network(story);
    const bool raw = story->loss || story->duplicate || story->reorder;
    if (!story->unit && !raw && !(story->algorithm->assumes & CV_FIFO))
        story->unordered = story_draw(story, 2);
    if (story->unit)
        story->delay = "unit"; /* the gadget has delays of its own otherwise */
}

static void hosting_story(struct story *story, enum synchronizer which, enum app app)
{
    struct trial trial;
    struct course course;
    const uint64_t before = failures;
    story_draw_group(story, MOST_NODES);
    if (story_draw(story, 10))
        story_draw_graph(story);
    else
        story_gadget(story, 1 + story_draw(story, MOST_RUNGS));
    story_draw_rounds(story);
    draw_app(story, app);
    draw_synchronizer(story, which);
    draw_network(story, which);
    model_course(app, story, &course);
    play(&trial, story, true);
    check_verdict(&trial);
    if (failures == before) {
        check_claims(&trial, app, &course);
        check_results(&trial, app, &course);
        check_costs(&trial, which, &course);
    }
    check_books(&trial);
    if (failures == before)
        check_unwatched(&trial);
    play_free(&trial.play);
}

/* With clocks alone, a round that is shorter than a message's delay is over before the message arrives. */
static void hasty_story(struct story *story, enum synchronizer which)
{
    struct trial trial;
    struct course course;
    uint32_t strays = 0;
    story_draw_group(story, MOST_NODES);
    story_draw_graph(story);
    story->source = story_smallest(story);
    story->rounds = story->nodes - 1;
    story_bounded_network(story);
    if (which == ABD)
        story_set(story, "tick=1");
    model_course(BELLMAN_FORD, story, &course);
    play(&trial, story, true);
    check_books(&trial);
    for (cv_node node = 0; node < story->nodes; node++) {
        const struct cv_standing it = standing(&trial, node);
        strays += !it.updates || it.result != course.result[node];
    }
    if (strays && finding(&trial, "like-synchronous")->verdict != CV_VIOLATED)
        blame(story, "%u nodes come to other distances than on a synchronous network, unnoticed", strays);
    if (story->nodes > 2 && story->longest_delay == 3 && !trial.witness.hasty)
        blame(story, "messages take 3 ticks, rounds 1, but none comes late");
    if (trial.witness.hasty && trial.play.judgement.verdict != CV_VIOLATED)
        blame(story, "%s, though messages come late", cv_verdict_name(trial.play.judgement.verdict));
    play_free(&trial.play);
}

/* A node dies. A node that needs it for its next round waits for ever, and begins no round too early. */
static void crash_story(struct story *story, enum synchronizer which, enum app app)
{
    struct trial trial;
    uint64_t least = UINT64_MAX;
    story_draw_group(story, MOST_NODES);
    story_draw_graph(story);
    story_draw_rounds(story);
    draw_app(story, app);
    draw_synchronizer(story, which);
    if (which != LOCKSTEP && story_draw(story, 2))
        story_bounded_network(story);
    const uint32_t victim = story_draw(story, story->nodes);
    const uint64_t during = 1 + 4 * story->rounds * story->longest_delay;
    snprintf(story->crash, sizeof story->crash, "%" PRIu32 "@%" PRIu32, story->id[victim],
             story_draw(story, (uint32_t)during));
    play(&trial, story, true);
    for (cv_node node = 0; node < story->nodes; node++)
        if (node != victim && trial.witness.round[node] < least)
            least = trial.witness.round[node];
    if (story->nodes > 1) {
        const uint64_t done = least ? least - 1 : 0, told = cv_run_rounds(&trial.play.run);
        if (told != done)
            blame(story, "%" PRIu64 " rounds; the living have come through %" PRIu64, told, done);
        compare(&trial, "every-round", least <= story->rounds);
    }
    if (which != LOCKSTEP && which != ABD && (trial.witness.hasty || trial.witness.apart))
        blame(story, "a death makes others hasty");
    check_books(&trial);
    play_free(&trial.play);
}

/* ---- without rounds ---- */

/* Every node passes every improvement on, so the updates determine the number of messages. */
static void check_paths(const struct trial *trial)
{
    const struct story *story = trial->story;
    uint64_t distance[MOST_NODES], messages = 0;
    model_distances(story, false, distance);
    for (cv_node node = 0; node < story->nodes; node++) {
        const struct cv_standing it = standing(trial, node);
        for (uint32_t i = 0; i < story->nodes; i++)
            messages += story->weight[node][i] != NO_ARC ? it.updates : 0;
        if ((it.updates > 0) != (distance[node] != UNKNOWN) || (it.updates && it.result != distance[node]))
            blame(story, "node %u comes to %" PRIu64 "; expected %" PRIu64, story->id[node],
                  it.updates ? it.result : UNKNOWN, distance[node]);
    }
    if (trial->play.run.total != messages)
        blame(story, "%" PRIu64 " messages; expected %" PRIu64, trial->play.run.total, messages);
    if (trial->play.judgement.verdict != CV_HELD)
        blame(story, "%s: %s", cv_verdict_name(trial->play.judgement.verdict), trial->play.judgement.reason);
}

static void paths_story(struct story *story)
{
    struct trial trial;
    const uint64_t before = failures;
    story_draw_group(story, MOST_NODES);
    story_draw_graph(story);
    story->source = story_smallest(story);
    if (story_draw(story, 2)) {
        story->source = story_draw(story, story->nodes);
        story_set(story, "source=%" PRIu32, story->id[story->source]);
    }
    if (story_draw(story, 2))
        story_odd_network(story);
    story->unordered = !story->unit && !story->loss && !story->duplicate && !story->reorder;
    play(&trial, story, true);
    check_paths(&trial);
    check_books(&trial);
    if (failures == before)
        check_unwatched(&trial);
    play_free(&trial.play);
}

/* The last node of the gadget is told 2^K distances, from 2^K − 1 down to 0; over three edges a rung. */
static void gadget_story(struct story *story)
{
    struct trial trial;
    const uint32_t rungs = 1 + (uint32_t)(story->seed % MOST_RUNGS);
    story_draw_group(story, 1);
    story_gadget(story, rungs);
    play(&trial, story, true);
    check_paths(&trial);
    const uint64_t ways = UINT64_C(1) << rungs;
    if (trial.play.run.total != 3 * (ways - 1) || standing(&trial, 2 * rungs).updates != ways)
        blame(story, "%" PRIu64 " messages, the last node updated %u times; expected %" PRIu64 ", %" PRIu64,
              trial.play.run.total, standing(&trial, 2 * rungs).updates, 3 * (ways - 1), ways);
    play_free(&trial.play);
}

/* ---- */

static const struct cv_algorithm *find(const struct telling *telling, const char *name)
{
    const struct cv_algorithm *algorithm;
    struct cv_complaint complaint = {{0}};
    const bool loaded = telling->file && strcmp(telling->name, name) == 0;
    if (!plugin_find(loaded ? telling->file : name, &algorithm, &complaint))
        return algorithm;
    fprintf(stderr, "%s\n", complaint.text);
    exit(2);
}

static const char *called(const struct telling *telling, const char *name)
{
    return telling->file && strcmp(telling->name, name) == 0 ? telling->file : name;
}

static void begin(struct story *story, const struct telling *telling, const char *name, const char *app, uint64_t seed)
{
    story_begin(story, find(telling, name), called(telling, name), seed);
    if (app)
        story_host(story, find(telling, app), called(telling, app));
}

/* Every pair of a synchronizer and an app that the subject is part of. */
static void tell_pairs(const struct telling *telling, uint64_t seed)
{
    struct story story;
    const bool is_app = model_find_app(telling->name) != NO_APP;
    for (size_t i = 0; i < sizeof synchronizer_names / sizeof *synchronizer_names; i++)
        for (size_t j = 0; j < sizeof app_names / sizeof *app_names; j++) {
            const char *name = synchronizer_names[i], *app = app_names[j];
            if (strcmp(telling->name, is_app ? app : name) != 0)
                continue;
            begin(&story, telling, name, app, seed);
            hosting_story(&story, model_find(name), model_find_app(app));
            begin(&story, telling, name, app, seed);
            crash_story(&story, model_find(name), model_find_app(app));
        }
}

static void tell_story(const struct telling *telling, uint64_t seed)
{
    struct story story;
    const enum synchronizer which = model_find(telling->name);
    if (strcmp(telling->name, ROUNDLESS) == 0) {
        begin(&story, telling, ROUNDLESS, NULL, seed);
        paths_story(&story);
        begin(&story, telling, ROUNDLESS, NULL, seed);
        gadget_story(&story);
        return;
    }
    if (which == LOCKSTEP || which == ABD) {
        begin(&story, telling, telling->name, "bellman-ford", seed);
        hasty_story(&story, which);
    }
    tell_pairs(telling, seed);
}

static int tell_stories(const struct telling *telling)
{
    for (uint64_t i = 0; i < telling->count && failures < telling->most_failures; i++)
        tell_story(telling, telling->seed + i);
    if (failures)
        return 1;
    printf("%s: %" PRIu64 " stories from seed %" PRIu64 " on, %" PRIu64 " runs, all as told\n", telling->name,
           telling->count, telling->seed, runs);
    return 0;
}

int main(int argc, char **argv)
{
    const struct telling telling = telling_read(argc, argv, USUAL_STORIES);
    if (!telling.name || (model_find(telling.name) == NO_SYNCHRONIZER && model_find_app(telling.name) == NO_APP &&
                          strcmp(telling.name, ROUNDLESS) != 0)) {
        fputs("usage: synchronizers ALGORITHM [./FILE.so] [--stories N] [--seed S] [--failures N]\n", stderr);
        return 2;
    }
    return tell_stories(&telling);
}
