// SPDX-License-Identifier: MIT
/*
 * usage: mutexes ALGORITHM [FILE.so] [--stories N] [--seed S] [--failures N]
 *
 * Plays many random scenarios of one mutual exclusion algorithm and compares each with the texts (mutexes/model.c) and
 * with a second judge (mutexes/judge.c). Then lets nodes crash and come back. A failure is printed as the command that
 * repeats it. Exit codes: 0 no failure, 1 failures, 2 the test could not run.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/plugin.h"
#include "mutexes/judge.h"
#include "mutexes/model.h"
#include "sim/sim.h"

#define USUAL_STORIES 600u
#define LONG_ENOUGH 400u   /* ticks until all effects of a request are over */
#define FEW_DEADLOCKS 100u /* the algorithm that can deadlock must do so within so many stories */

/* The counts of a run, made from its events. */
struct witness {
    uint64_t sent[CV_MAX_KINDS];
    uint64_t enters;
};

struct trial {
    struct story *story;
    struct play play;
    struct witness witness;
    struct verdicts verdicts;
};

static enum which which;
static uint64_t failures, runs, deadlocks;

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

static void see(void *context, const struct cv_event *event)
{
    struct witness *witness = context;
    if (event->type == CV_EVENT_SEND)
        witness->sent[event->content->kind] += event->peer != event->node;
    witness->enters += event->type == CV_EVENT_ENTER;
}

static void play(struct trial *trial, struct story *story, bool watched)
{
    struct cv_plan plan;
    struct cv_complaint complaint = {{0}};
    const struct cv_observer observer = {watched ? see : NULL, &trial->witness, NULL};
    memset(trial, 0, sizeof *trial);
    trial->story = story;
    runs++;
    int error = story_plan(story, &plan);
    if (!error)
        error = play_run(&trial->play, &plan, observer, &complaint);
    if (!error) {
        judge(&trial->play.run, &trial->verdicts);
        return;
    }
    printf("cannot be tried: %s %s\n  ", cv_error_text(error), complaint.text);
    story_print(stdout, story);
    exit(2);
}

/* ---- what must be so in every run ---- */

static const struct cv_finding *finding(const struct trial *trial, const char *name)
{
    const struct cv_finding *found = play_finding(&trial->play, name);
    if (found)
        return found;
    blame(trial->story, "nothing was found out about %s", name);
    return NULL;
}

/* Do the two judges agree? */
static void compare(const struct trial *trial, const char *name, uint64_t faults)
{
    const struct cv_finding *it = finding(trial, name);
    if (it && it->verdict != CV_DISCLAIMED && (it->verdict == CV_VIOLATED) != (faults > 0))
        blame(trial->story, "%s is %s, but there are %" PRIu64 " faults: %s", name, cv_verdict_name(it->verdict),
              faults, it->detail);
}

static void check_books(const struct trial *trial)
{
    const struct cv_run *run = &trial->play.run;
    const struct verdicts *verdicts = &trial->verdicts;
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        if (trial->witness.sent[kind] != run->count[kind])
            blame(trial->story, "%" PRIu64 " messages of kind %u were sent, %" PRIu64 " counted",
                  trial->witness.sent[kind], kind, run->count[kind]);
    if (trial->witness.enters != verdicts->entered)
        blame(trial->story, "%" PRIu64 " entered, %" PRIu64 " entries are known", trial->witness.enters,
              verdicts->entered);
    compare(trial, "exclusion", verdicts->overlaps);
    compare(trial, "fences-rise", verdicts->fences);
    compare(trial, "every-request", run->ending == CV_QUIET ? verdicts->unserved : 0);
    if (!trial->story->crash.count)
        compare(trial, "request-order", verdicts->out_of_turn);
}

/* The simulator's way without an observer has the same result. */
static void check_unwatched(const struct trial *watched)
{
    struct trial trial;
    play(&trial, watched->story, false);
    const struct cv_run *one = &watched->play.run, *other = &trial.play.run;
    bool same = one->ending == other->ending && one->total == other->total && one->now == other->now &&
                one->entry_count == other->entry_count;
    for (uint64_t i = 0; same && i < one->entry_count; i++) {
        const struct cv_entry *a = &one->entries[i], *b = &other->entries[i];
        same = a->node == b->node && a->entered == b->entered && a->left == b->left && a->fence == b->fence;
    }
    if (!same)
        blame(watched->story,
              "an unwatched run differs: %" PRIu64 " messages until %" PRIu64 ", not %" PRIu64 " until %" PRIu64,
              other->total, other->now, one->total, one->now);
    play_free(&trial.play);
}

/* A deadlock needs two nodes: one that waits alone could have all votes. */
static void check_deadlock(const struct trial *trial)
{
    const struct cv_run *run = &trial->play.run;
    const struct cv_judgement *judgement = &trial->play.judgement;
    uint64_t waiting[MOST_NAMES] = {0};
    deadlocks++;
    for (uint64_t i = 0; i < run->entry_count; i++) {
        const struct cv_entry *it = &run->entries[i];
        waiting[it->name] += it->entered == CV_NEVER && !it->died;
    }
    for (uint32_t section = 0; section < MOST_NAMES; section++)
        if (waiting[section] == 1)
            blame(trial->story, "one alone waits for section %u", section);
    if (judgement->verdict != CV_VIOLATED || !strstr(judgement->reason, "deadlock"))
        blame(trial->story, "a deadlock is not told as such: %s", judgement->reason);
}

/* The algorithm that can deadlock must report it; all others serve every request in the end. */
static void check_verdict(const struct trial *trial)
{
    const struct verdicts *verdicts = &trial->verdicts;
    const struct cv_judgement *judgement = &trial->play.judgement;
    if (verdicts->overlaps)
        blame(trial->story, "%" PRIu64 " times two were inside: %s", verdicts->overlaps, judgement->reason);
    else if (verdicts->fences)
        blame(trial->story, "a fence does not rise: %s", judgement->reason);
    else if (trial->play.run.ending != CV_QUIET)
        blame(trial->story, "the run does not come to rest: %s", judgement->reason);
    else if (which == MAEKAWA_PLAIN && verdicts->unserved)
        check_deadlock(trial);
    else if (verdicts->unserved)
        blame(trial->story, "%" PRIu64 " requests are not served: %s", verdicts->unserved, judgement->reason);
    else if (judgement->verdict != CV_HELD && verdicts->entered)
        blame(trial->story, "%s: %s", cv_verdict_name(judgement->verdict), judgement->reason);
}

static bool arrives_before(const struct story *story, const struct cv_entry *one, const struct cv_entry *other)
{
    const bool one_is_far = one->node != story->coordinator, other_is_far = other->node != story->coordinator;
    const uint64_t a = one->requested + one_is_far, b = other->requested + other_is_far;
    if (a != b || one_is_far != other_is_far)
        return a != b ? a < b : one_is_far; /* messages come first in a tick, clients last */
    return one->node != other->node ? one->node < other->node : one < other; /* messages of a tick come by sender */
}

/* In which order? Clocks and ids, arrival at the coordinator, or round the ring. */
static void check_order(const struct trial *trial)
{
    const struct story *story = trial->story;
    const struct cv_run *run = &trial->play.run;
    if ((which == LAMPORT || which == RICART_AGRAWALA) && trial->verdicts.out_of_turn)
        blame(story, "%" PRIu64 " entries before an earlier request", trial->verdicts.out_of_turn);
    if (which == TOKEN_RING && trial->verdicts.overtaken)
        blame(story, "somebody entered twice while another waited");
    for (uint64_t i = 0; i < run->entry_count && story->unit && (which == CENTRAL || which == CENTRAL_DENY); i++)
        for (uint64_t j = 0; j < run->entry_count; j++) {
            const struct cv_entry *one = &run->entries[i], *other = &run->entries[j];
            if (one->name == other->name && arrives_before(story, one, other) && one->entered > other->entered) {
                blame(story, "not in the order of arrival: %u at %" PRIu64 " after %u at %" PRIu64,
                      story->id[one->node], one->entered, story->id[other->node], other->entered);
                return;
            }
        }
}

/* ---- runs in which nothing fails ---- */

static void try_steady(struct trial *trial, struct story *story, enum load load)
{
    const uint64_t before = failures;
    play(trial, story, true);
    check_verdict(trial);
    if (!trial->verdicts.unserved && failures == before) {
        const char *wrong = model_messages(which, story, &trial->play.run, load);
        if (wrong)
            blame(story, "%s", wrong);
        check_order(trial);
    }
    check_books(trial);
    if (failures == before)
        check_unwatched(trial);
}

static void draw_quorums(struct story *story)
{
    static const uint32_t planes[] = {3, 7, 13};
    if (!story->algorithm->quorums || story_draw(story, 3))
        return;
    story->nodes = planes[story_draw(story, 3)];
    for (uint32_t i = 0; i < story->nodes; i++)
        story->id[i] = i;
    story_set(story, "quorums=plane");
}

/* Sets of K as the texts have them: √N rows and columns, or a plane of N = K(K-1)+1. */
static void check_quorums(const struct trial *trial)
{
    const struct story *story = trial->story;
    uint32_t side = 1;
    for (; (story->set.count ? side * (side - 1) + 1 : side * side) < story->nodes;)
        side++;
    const uint32_t size = story->set.count ? side : 2 * side - 1;
    if (!story->algorithm->quorums || (!story->set.count && side * side != story->nodes))
        return;
    for (uint32_t i = 0; i < story->nodes; i++)
        if (trial->play.scenario.group.quorums[i + 1] - trial->play.scenario.group.quorums[i] != size)
            blame(story, "the voting set of %u has not %u members", story->id[i], size);
}

static void alone_story(struct story *story, bool unit)
{
    struct trial trial;
    story_draw_group(story, 1, MOST_NODES);
    draw_quorums(story);
    if (!unit)
        story_bounded_network(story);
    const uint32_t count = which == TOKEN_RING ? 1 : 1 + story_draw(story, 8);
    for (uint32_t i = 0; i < count; i++)
        story_request(story, story_draw(story, story->nodes), LONG_ENOUGH * i, 1 + story_draw(story, 30), 0);
    try_steady(&trial, story, ALONE);
    check_quorums(&trial);
    for (uint64_t i = 0; i < trial.play.run.entry_count && unit; i++) {
        const struct cv_entry *it = &trial.play.run.entries[i];
        const uint64_t expected = model_client_delay(which, story, it->node);
        if (it->entered != CV_NEVER && it->entered - it->requested != expected)
            blame(story, "%u waited for %" PRIu64 " ticks; expected %" PRIu64, story->id[it->node],
                  it->entered - it->requested, expected);
    }
    play_free(&trial.play);
}

/* The entry that follows another. */
static const struct cv_entry *entry_after(const struct cv_run *run, const struct cv_entry *entry)
{
    const struct cv_entry *next = NULL;
    for (uint64_t i = 0; i < run->entry_count; i++) {
        const struct cv_entry *it = &run->entries[i];
        if (it->entered != CV_NEVER && it->entered > entry->entered && (!next || it->entered < next->entered))
            next = it;
    }
    return next;
}

static void check_synchronization(const struct trial *trial)
{
    const struct story *story = trial->story;
    for (uint64_t i = 0; i < trial->play.run.entry_count; i++) {
        const struct cv_entry *one = &trial->play.run.entries[i];
        const struct cv_entry *next = one->entered == CV_NEVER ? NULL : entry_after(&trial->play.run, one);
        const uint64_t expected = next ? model_synchronization_delay(which, story, one->node, next->node) : 0;
        if (expected && next->entered - one->left != expected)
            blame(story, "%u entered %" PRIu64 " ticks after %u left; expected %" PRIu64, story->id[next->node],
                  next->entered - one->left, story->id[one->node], expected);
    }
}

static void at_once_story(struct story *story, bool unit)
{
    struct trial trial;
    story_draw_group(story, 1, which == VOTING ? 9 : MOST_NODES);
    draw_quorums(story);
    if (!unit)
        story_bounded_network(story);
    uint32_t wanting = 0;
    const uint32_t share = 1 + story_draw(story, 4);
    for (uint32_t i = 0; i < story->nodes; i++)
        if (story_draw(story, share) == 0 || (i + 1 == story->nodes && !wanting)) {
            story_request(story, i, 0, LONG_ENOUGH, 0);
            wanting++;
        }
    try_steady(&trial, story, AT_ONCE);
    if (unit)
        check_synchronization(&trial);
    play_free(&trial.play);
}

static void contended_story(struct story *story, bool unit)
{
    struct trial trial;
    story_draw_group(story, 1, which == VOTING ? 7 : MOST_NODES);
    draw_quorums(story);
    if (!unit)
        story_odd_network(story);
    story_draw_contention(story);
    if (!story->request.count && story->nodes > 12)
        story->names = 1;
    try_steady(&trial, story, CONTENDED);
    play_free(&trial.play);
}

/* ---- runs in which nodes crash and come back ---- */

static void crash_story(struct story *story)
{
    struct trial trial;
    const uint64_t before = failures;
    story_draw_group(story, 2, which == VOTING ? 7 : 16);
    if (story_draw(story, 2))
        story_odd_network(story);
    story_draw_contention(story);
    story_draw_crashes(story);
    if (which == TOKEN_RING && story_draw(story, 2))
        story_set(story, "acks=yes");
    if (story_draw(story, 2))
        story->views = "on"; /* the default if a node crashes */
    play(&trial, story, true);
    check_verdict(&trial);
    check_books(&trial);
    if (failures == before)
        check_unwatched(&trial);
    play_free(&trial.play);
}

/* The node that enters first, if all ask at once and nothing fails. */
static const struct cv_entry *first_entry(const struct cv_run *run)
{
    const struct cv_entry *first = &run->entries[0];
    for (uint64_t i = 1; i < run->entry_count; i++)
        if (run->entries[i].entered < first->entered)
            first = &run->entries[i];
    return first;
}

/*
 * All nodes ask, and the first that is inside dies there. Without views no node ever enters after that; with views all
 * others do. Plain Maekawa may deadlock before any node enters.
 */
static void holder_story(struct story *story)
{
    struct trial trial;
    story_draw_group(story, 2, which == VOTING ? 7 : 12);
    story->entries = 1;
    story->hold = 100;
    play(&trial, story, false);
    const struct cv_entry first = *first_entry(&trial.play.run);
    play_free(&trial.play);
    if (first.entered == CV_NEVER)
        return;
    story_crash(story, first.node, first.entered + 1 + story_draw(story, 90));
    story->views = "off";
    snprintf(story->until, sizeof story->until, "4000");
    play(&trial, story, true);
    if (trial.verdicts.entered != 1 || trial.verdicts.unserved != story->nodes - 1)
        blame(story, "%" PRIu64 " entered, %" PRIu64 " were not served; expected 1, %u", trial.verdicts.entered,
              trial.verdicts.unserved, story->nodes - 1);
    if (trial.play.judgement.verdict != CV_VIOLATED && trial.play.judgement.verdict != CV_UNFINISHED)
        blame(story, "%s, though nobody is served", cv_verdict_name(trial.play.judgement.verdict));
    check_books(&trial);
    play_free(&trial.play);
    story->views = "on";
    snprintf(story->until, sizeof story->until, "%s", "");
    play(&trial, story, true);
    check_verdict(&trial);
    check_books(&trial);
    if (which != MAEKAWA_PLAIN && trial.verdicts.entered != story->nodes)
        blame(story, "%" PRIu64 " entered; expected all", trial.verdicts.entered);
    play_free(&trial.play);
}

/* ---- a token that seems lost ---- */

/* The token's holder stays in longer than the watcher's patience. Silence alone proves nothing. */
static void slow_holder_story(struct story *story)
{
    struct trial trial;
    story_draw_group(story, 3, 12);
    const uint32_t holder = 2 + story_draw(story, story->nodes - 2), other = 1 + story_draw(story, holder - 1);
    story_set(story, "coordinator=%u", story->id[0]);
    story_set(story, "regenerate=%u", story->nodes + 4);
    story_request(story, holder, 0, 200, 0);
    story_request(story, other, holder + 1, 50, 0);
    play(&trial, story, true);
    check_verdict(&trial);
    check_books(&trial);
    play_free(&trial.play);
    story_set(story, "confirm=no");
    play(&trial, story, true);
    if (!trial.verdicts.overlaps || trial.play.judgement.verdict != CV_VIOLATED)
        blame(story, "a token made by timeout alone did no harm");
    check_books(&trial);
    play_free(&trial.play);
}

/*
 * Without views: the token dies with its holder, or on its way, and the watcher makes another one. The watcher dies as
 * well, and both come back without their state. One node stays up and remembers.
 */
static void lost_token_story(struct story *story)
{
    struct trial trial;
    story_draw_group(story, 3, 12);
    story->entries = 1 + story_draw(story, 3);
    story->hold = 1 + story_draw(story, 20);
    story->think = story_draw(story, 10);
    story->views = "off";
    if (story_draw(story, 2))
        story_bounded_network(story);
    story_set(story, "regenerate=%u", (unsigned)(3 + story_draw(story, 100)));
    const uint32_t first = story_draw(story, story->nodes), count = 1 + story_draw(story, 2);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t victim = (first + i) % story->nodes;
        if (story_draw(story, 2))
            story_crash(story, victim, 1 + story_draw(story, 60));
        else
            story_crash_sending(story, victim, "after", story_draw(story, 4) ? "token" : "query");
        if (!story_draw(story, 3))
            story_recover(story, victim, 61 + story_draw(story, 200));
    }
    play(&trial, story, true);
    check_verdict(&trial);
    check_books(&trial);
    play_free(&trial.play);
}

/* ---- */

static void tell_story(const struct cv_algorithm *algorithm, const struct cv_algorithm *const *elections,
                       const char *name, uint64_t seed)
{
    struct story story;
    const struct cv_algorithm *election = elections[seed % 4];
    for (uint32_t unit = 0; unit < 2; unit++) {
        story_begin(&story, algorithm, election, name, seed);
        alone_story(&story, unit);
        story_begin(&story, algorithm, election, name, seed);
        at_once_story(&story, unit);
        story_begin(&story, algorithm, election, name, seed);
        contended_story(&story, unit);
    }
    story_begin(&story, algorithm, election, name, seed);
    crash_story(&story);
    story_begin(&story, algorithm, election, name, seed);
    holder_story(&story);
    if (which != TOKEN_RING)
        return;
    story_begin(&story, algorithm, election, name, seed);
    slow_holder_story(&story);
    story_begin(&story, algorithm, election, name, seed);
    lost_token_story(&story);
}

static int tell_stories(const struct telling *telling)
{
    static const char *const names[] = {"bully", "ring-list", "chang-roberts", "multicast"};
    const struct cv_algorithm *algorithm, *elections[4];
    struct cv_complaint complaint = {{0}};
    int error = plugin_find(telling_algorithm(telling), &algorithm, &complaint);
    for (uint32_t i = 0; i < 4 && !error; i++)
        error = plugin_find(names[i], &elections[i], &complaint);
    if (error) {
        fprintf(stderr, "%s\n", complaint.text);
        return 2;
    }
    for (uint64_t i = 0; i < telling->count && failures < telling->most_failures; i++)
        tell_story(algorithm, elections, telling_algorithm(telling), telling->seed + i);
    if (which == MAEKAWA_PLAIN && !deadlocks && telling->count >= FEW_DEADLOCKS && !failures) {
        printf("FAILED: no deadlock in %" PRIu64 " runs\n", runs);
        failures++;
    }
    if (failures)
        return 1;
    printf("%s: %" PRIu64 " stories from seed %" PRIu64 " on, %" PRIu64 " runs, %" PRIu64 " deadlocks, all as told\n",
           telling->name, telling->count, telling->seed, runs, deadlocks);
    return 0;
}

int main(int argc, char **argv)
{
    const struct telling telling = telling_read(argc, argv, USUAL_STORIES);
    which = telling.name ? model_find(telling.name) : UNKNOWN;
    if (which == UNKNOWN) {
        fputs("usage: mutexes ALGORITHM [./FILE.so] [--stories N] [--seed S] [--failures N]\n", stderr);
        return 2;
    }
    return tell_stories(&telling);
}
