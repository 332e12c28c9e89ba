// SPDX-License-Identifier: MIT
/*
 * usage: elections ALGORITHM [FILE.so] [--stories N] [--seed S] [--failures N]
 *
 * Plays many random scenarios of one election and compares each with the texts (elections/model.c): the winner, the
 * nodes that know it, the messages of each kind, the time. Then lets nodes crash and come back. A failure is printed as
 * the command that repeats it. Exit codes: 0 no failure, 1 failures, 2 the test could not run.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/plugin.h"
#include "elections/examples.h"
#include "elections/model.h"
#include "sim/sim.h"

#define USUAL_STORIES 2500u

/* The counts of a run, made from its events. */
struct witness {
    bool alive[MOST_NODES], knows[MOST_NODES];
    bool involved[MOST_NODES]; /* in its present life it called, came back, received an election or knew a leader */
    uint32_t leader[MOST_NODES];
    uint64_t known_at[MOST_NODES];
    uint64_t sent[CV_MAX_KINDS];
    uint64_t last; /* when the last message was delivered */
    uint64_t clock[MOST_NODES];
    bool clock_fell; /* Lamport's clock only rises */
};

struct trial {
    struct story *story;
    struct play play;
    struct witness witness;
};

static uint64_t failures;

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

static void begin_life(struct witness *witness, uint32_t node, bool alive)
{
    witness->alive[node] = alive;
    witness->knows[node] = false;
    witness->involved[node] = alive;
}

static void see(void *context, const struct cv_event *event)
{
    struct witness *witness = context;
    const uint32_t node = event->node;
    if (node < MOST_NODES && event->type != CV_EVENT_LOST) {
        witness->clock_fell |= event->clock < witness->clock[node];
        witness->clock[node] = event->clock;
    }
    switch (event->type) {
    case CV_EVENT_SEND:
        witness->sent[event->content->kind] += event->peer != node;
        break;
    case CV_EVENT_RECEIVE:
        witness->last = event->time;
        witness->involved[node] |= event->content->kind == 0; /* the election itself, in every table */
        break;
    case CV_EVENT_START:
        witness->involved[node] = true;
        break;
    case CV_EVENT_CRASH:
        begin_life(witness, node, false);
        break;
    case CV_EVENT_RECOVER:
        begin_life(witness, node, true);
        break;
    case CV_EVENT_ELECTED:
        if (!witness->knows[node] || witness->leader[node] != event->detail)
            witness->known_at[node] = event->time;
        witness->knows[node] = witness->involved[node] = true;
        witness->leader[node] = (uint32_t)event->detail;
        break;
    case CV_EVENT_FORGET:
        witness->knows[node] = false;
        break;
    default:
        break;
    }
}

static void play(struct trial *trial, struct story *story, bool watched)
{
    struct cv_plan plan;
    struct cv_complaint complaint = {{0}};
    const struct cv_observer observer = {watched ? see : NULL, &trial->witness, NULL};
    memset(trial, 0, sizeof *trial);
    trial->story = story;
    for (uint32_t i = 0; i < story->nodes; i++)
        trial->witness.alive[i] = true;
    int error = story_plan(story, &plan);
    if (!error)
        error = play_run(&trial->play, &plan, observer, &complaint);
    if (!error)
        return;
    printf("cannot be tried: %s %s\n  ", cv_error_text(error), complaint.text);
    story_print(stdout, story);
    exit(2);
}

/* ---- what must be so in every run ---- */

/* The figures of the run are those of its events. */
static void check_books(const struct trial *trial)
{
    const struct witness *witness = &trial->witness;
    const struct cv_run *run = &trial->play.run;
    uint64_t total = 0, decided = 0;
    bool all_know = true;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++) {
        total += witness->sent[kind];
        if (witness->sent[kind] != run->count[kind])
            blame(trial->story, "%" PRIu64 " messages of kind %u were sent, %" PRIu64 " counted", witness->sent[kind],
                  kind, run->count[kind]);
    }
    for (uint32_t i = 0; i < trial->story->nodes; i++) {
        const struct cv_standing it = run->standing(run->runtime, i);
        all_know &= !witness->alive[i] || witness->knows[i];
        if (witness->alive[i] && witness->knows[i] && witness->known_at[i] > decided)
            decided = witness->known_at[i];
        if (it.alive != witness->alive[i] || (it.alive && it.knows != witness->knows[i]) ||
            (it.alive && it.knows && it.leader != witness->leader[i]))
            blame(trial->story, "node %u does not stand where it was seen", trial->story->id[i]);
    }
    if (total != run->total)
        blame(trial->story, "%" PRIu64 " messages were sent, %" PRIu64 " counted", total, run->total);
    if (witness->last != run->time)
        blame(trial->story, "the last message came at %" PRIu64 ", not at %" PRIu64, witness->last, run->time);
    if (run->decided != (all_know ? decided : CV_NEVER))
        blame(trial->story, "the last one knew at %" PRIu64 ", not at %" PRIu64, all_know ? decided : CV_NEVER,
              run->decided);
    if (witness->clock_fell)
        blame(trial->story, "a Lamport clock went back");
}

/* An observer changes nothing, though the simulator may take another way. */
static void check_unwatched(const struct trial *watched)
{
    struct trial trial;
    play(&trial, watched->story, false);
    const struct cv_run *one = &watched->play.run, *other = &trial.play.run;
    if (one->ending != other->ending || one->total != other->total || one->time != other->time ||
        one->decided != other->decided || one->calls != other->calls || one->now != other->now ||
        memcmp(one->count, other->count, sizeof one->count) != 0)
        blame(watched->story,
              "an unwatched run differs: %" PRIu64 " messages until %" PRIu64 ", not %" PRIu64 " until %" PRIu64,
              other->total, other->time, one->total, one->time);
    for (uint32_t i = 0; i < watched->story->nodes; i++) {
        const struct cv_standing a = one->standing(one->runtime, i), b = other->standing(other->runtime, i);
        if (a.alive != b.alive || a.knows != b.knows || (a.knows && a.leader != b.leader))
            blame(watched->story, "node %u stands elsewhere if nobody watches", watched->story->id[i]);
    }
    play_free(&trial.play);
}

/* ---- runs in which nothing fails on the way ---- */

static void check_knowledge(const struct trial *trial, const struct prediction *expected)
{
    const struct witness *witness = &trial->witness;
    uint32_t knowing = 0;
    for (uint32_t i = 0; i < trial->story->nodes; i++) {
        if (!witness->alive[i])
            continue;
        knowing += witness->knows[i];
        if (witness->knows[i] && witness->leader[i] != expected->leader)
            blame(trial->story, "node %u follows %u; expected %u", trial->story->id[i], witness->leader[i],
                  expected->leader);
        if (!witness->knows[i] && expected->everyone_knows)
            blame(trial->story, "node %u knows no leader; expected %u", trial->story->id[i], expected->leader);
    }
    const uint32_t some = expected->knowing ? expected->knowing : !expected->hangs;
    if (!expected->everyone_knows && knowing != some)
        blame(trial->story, "%u nodes know a leader; expected %u", knowing, some);
}

static void check_prediction(const struct trial *trial, const struct model *model, const struct prediction *expected)
{
    const struct cv_run *run = &trial->play.run;
    uint64_t total = 0;
    for (uint32_t i = 0; expected->counted && i < MODEL_KINDS && model->kinds[i]; i++) {
        const uint32_t kind = cv_kind_find(trial->story->algorithm, model->kinds[i], strlen(model->kinds[i]));
        total += expected->count[i];
        if (run->count[kind] != expected->count[i])
            blame(trial->story, "%" PRIu64 " messages %s; expected %" PRIu64, run->count[kind], model->kinds[i],
                  expected->count[i]);
    }
    if (expected->counted && run->total != total)
        blame(trial->story, "%" PRIu64 " messages in all; expected %" PRIu64, run->total, total);
    if (expected->timed && run->time != expected->time)
        blame(trial->story, "took %" PRIu64 " ticks; expected %" PRIu64, run->time, expected->time);
    if (expected->most_messages && run->total > expected->most_messages)
        blame(trial->story, "%" PRIu64 " messages; expected at most %" PRIu64, run->total, expected->most_messages);
    if (expected->most_time && run->time > expected->most_time)
        blame(trial->story, "took %" PRIu64 " ticks; expected at most %" PRIu64, run->time, expected->most_time);
    check_knowledge(trial, expected);
}

static void check_verdict(const struct trial *trial)
{
    const struct cv_judgement *judgement = &trial->play.judgement;
    if (trial->play.run.ending != CV_QUIET)
        blame(trial->story, "the run does not come to rest: %s", judgement->reason);
    else if (judgement->verdict != CV_HELD)
        blame(trial->story, "%s: %s", cv_verdict_name(judgement->verdict), judgement->reason);
}

static void try_steady(const struct model *model, struct story *story, bool unit)
{
    struct trial trial;
    struct prediction expected;
    model_predict(model, story, unit, &expected);
    play(&trial, story, true);
    if (!expected.hangs)
        check_verdict(&trial);
    else if (trial.play.run.ending != CV_QUIET)
        blame(story, "the run does not come to rest");
    check_prediction(&trial, model, &expected);
    check_books(&trial);
    check_unwatched(&trial);
    play_free(&trial.play);
}

static void draw_variant(const struct model *model, struct story *story)
{
    const char *word = model->variants[story_draw(story, sizeof model->variants / sizeof *model->variants)];
    if (word)
        story_set(story, word);
}

static void steady_story(const struct model *model, struct story *story)
{
    const bool graph = story->algorithm->topology == CV_GRAPH;
    story_draw_group(story, !graph);
    if (graph)
        story_draw_graph(story);
    draw_variant(model, story);
    story_unit_network(story);
    try_steady(model, story, true);
    story_odd_network(story);
    try_steady(model, story, false);
}

/* ---- runs in which nodes crash and come back ---- */

/* Can a message of `one` reach `other` in the end? */
static bool linked(const struct trial *trial, uint32_t one, uint32_t other)
{
    const struct story *story = trial->story;
    if (story->algorithm->topology == CV_GRAPH && !story->edge[one][other])
        return false;
    return !story->has_cut || story->cut.end != UINT64_MAX || story->cut.inside[one] == story->cut.inside[other];
}

/* The live nodes that `node` reaches. */
static void find_part(const struct trial *trial, uint32_t node, bool *part)
{
    bool grown = true;
    memset(part, 0, MOST_NODES * sizeof *part);
    for (part[node] = true; grown;) {
        grown = false;
        for (uint32_t i = 0; i < trial->story->nodes; i++)
            for (uint32_t j = 0; j < trial->story->nodes; j++)
                if (part[i] && !part[j] && trial->witness.alive[j] && linked(trial, i, j))
                    part[j] = grown = true;
    }
}

/* In every part of the network with an election, all nodes follow the best. */
static void check_part(const struct trial *trial, const bool *part)
{
    const struct witness *witness = &trial->witness;
    const struct story *story = trial->story;
    uint32_t best = UINT32_MAX;
    bool involved = false;
    for (uint32_t i = 0; i < story->nodes; i++) {
        involved |= part[i] && witness->involved[i];
        if (part[i] && (best == UINT32_MAX || model_better(story, i, best)))
            best = i;
    }
    for (uint32_t i = 0; i < story->nodes && involved; i++) {
        if (!part[i])
            continue;
        if (!witness->knows[i])
            blame(story, "node %u knows no leader; the best it can reach is %u", story->id[i], story->id[best]);
        else if (witness->leader[i] != story->id[best])
            blame(story, "node %u follows %u; the best it can reach is %u", story->id[i], witness->leader[i],
                  story->id[best]);
        else
            continue;
        return;
    }
}

static void crash_story(const struct model *model, struct story *story)
{
    struct trial trial;
    const bool graph = story->algorithm->topology == CV_GRAPH;
    story_draw_group(story, true);
    if (graph)
        story_draw_graph(story);
    const uint32_t network = story_draw(story, 5);
    if (network < 2)
        story_unit_network(story);
    else if (network < 4)
        story_bounded_network(story);
    else
        story_odd_network(story);
    if (!graph || story_draw(story, 3))
        story_draw_crashes(story);
    if (graph && (!story->crash.count || story_draw(story, 2)))
        story_draw_cut(story);
    const char *word = model->surviving[story_draw(story, sizeof model->surviving / sizeof *model->surviving)];
    if (word)
        story_set(story, word);
    play(&trial, story, true);
    const uint64_t before = failures;
    bool seen[MOST_NODES] = {false}, part[MOST_NODES], somebody = false;
    for (uint32_t i = 0; i < story->nodes; i++) {
        somebody |= trial.witness.alive[i] && trial.witness.involved[i];
        if (!trial.witness.alive[i] || seen[i])
            continue;
        find_part(&trial, i, part);
        for (uint32_t j = 0; j < story->nodes; j++)
            seen[j] |= part[j];
        check_part(&trial, part);
    }
    /* If all nodes that knew of the election have died, there is none. */
    if (somebody && failures == before)
        check_verdict(&trial);
    check_books(&trial);
    if (failures == before)
        check_unwatched(&trial);
    play_free(&trial.play);
}

/* ---- */

static void tell_stories(const struct model *model, const struct cv_algorithm *algorithm, const struct telling *telling)
{
    const char *name = telling_algorithm(telling);
    struct story story;
    for (uint64_t i = 0; i < telling->count && failures < telling->most_failures; i++) {
        story_begin(&story, algorithm, name, telling->seed + i);
        steady_story(model, &story);
        if (!model->survives)
            continue;
        story_begin(&story, algorithm, name, telling->seed + i);
        crash_story(model, &story);
    }
    if (failures)
        return;
    printf("%s: %" PRIu64 " stories from seed %" PRIu64 " on, all as told\n", algorithm->name, telling->count,
           telling->seed);
}

/* The algorithm has every kind that the texts name, and the election itself is the first. */
static int check_kinds(const struct model *model, const struct cv_algorithm *algorithm)
{
    for (uint32_t i = 0; i < MODEL_KINDS && model->kinds[i]; i++) {
        const uint32_t kind = cv_kind_find(algorithm, model->kinds[i], strlen(model->kinds[i]));
        if (kind == CV_MAX_KINDS || (i == 0 && kind != 0)) {
            printf("FAILED: no messages called %s%s\n", model->kinds[i], i == 0 ? ", or not first" : "");
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct cv_algorithm *algorithm;
    struct cv_complaint complaint = {{0}};
    const struct telling telling = telling_read(argc, argv, USUAL_STORIES);
    const struct model *model = telling.name ? model_find(telling.name) : NULL;
    if (!model) {
        fputs("usage: elections ALGORITHM [./FILE.so] [--stories N] [--seed S] [--failures N]\n", stderr);
        return 2;
    }
    if (plugin_find(telling_algorithm(&telling), &algorithm, &complaint)) {
        fprintf(stderr, "%s\n", complaint.text);
        return 2;
    }
    if (check_kinds(model, algorithm))
        return 1;
    failures = examples_play(telling.name, algorithm);
    tell_stories(model, algorithm, &telling);
    return failures ? 1 : 0;
}
