// SPDX-License-Identifier: MIT
/*
 * What mutual exclusion must achieve, for each critical section by itself.
 *
 * exclusion        Never two inside, but for those who share. Who leaves, or dies, at a time does not meet who enters
 *                  at that time.
 * fences-rise      In the order of entering, fences rise; among those who share in any order.
 * no-deadlock      The run does not come to rest while live nodes wait and nobody is inside.
 * every-request    Every request of a live node is served. A run that leaves some unserved is not a good one even if
 *                  the algorithm promises nothing: that is then said.
 * bounded-waiting  Once a request has had the time D of one message to get known, no other node enters more than once
 *                  before it is served. This is the tightest bound that is true of all algorithms that claim it:
 *                    central                   the coordinator has at most one request of each other node queued
 *                                              before this one
 *                    token-ring                the token visits each other node at most once on its way here
 *                    ricart-agrawala, lamport  a node that has received the request has a later clock from then on,
 *                                              so only a request that it made earlier can be served first, and it
 *                                              has at most one
 *                  Every crash or return of a node may begin the queue anew, and so allows one more entry. If the
 *                  waiting nodes have to ask again in a new view, their time begins again, at the latest with the
 *                  first entry of that view. Only the view in which a request is served counts.
 * request-order    In the order of entering, the requests' times (Lamport's clock, then the id) rise. Times of
 *                  different views do not compare, nor does the time of a request that had to be made again.
 * somebody-enters  At least one entry.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/scenario/label.h"
#include "property/property.h"

/* A critical section: who entered, in the order of entering; behind them who did not, in that of asking. */
struct section {
    const struct cv_entry *const *entries;
    uint64_t entered, count;
};

/* What is known of an entry from those before it. Places are counted from 1; 0 is none. */
struct turn {
    uint64_t previous; /* the same node's entry before this one */
    uint64_t begun;    /* when the first entry of this view was */
    /* Of all runs of entries of one node that are one too many for somebody who waits meanwhile, the latest. */
    uint64_t first, last;
};

struct bench {
    const struct cv_run *run;
    bool disturbed;     /* somebody crashes or comes back on the way */
    uint64_t overtakes; /* how often one node may enter before another that waits */
    uint64_t notice;    /* how long a request may take to get known */
    struct turn *turns; /* of the section at hand */
    uint64_t *last;     /* per node: the place of its last entry so far */

    uint64_t entries;                      /* made */
    uint64_t requests, unserved;           /* of live nodes */
    const struct cv_entry *first_unserved; /* the first of them */
    struct cv_finding *exclusion, *fences, *deadlock, *service, *waiting, *order;
};

/* ---- words ---- */

static cv_id id_of(const struct bench *bench, const struct cv_entry *entry)
{
    return bench->run->scenario->group.ids[entry->node];
}

static struct cv_name name_of(const struct bench *bench, const struct cv_entry *entry)
{
    return cv_name(bench->run->scenario, entry->node);
}

/* Which critical section, if there are several. */
struct place {
    char text[24];
};

static struct place place_of(const struct bench *bench, const struct cv_entry *entry)
{
    struct place place = {""};
    if (bench->run->scenario->names > 1)
        snprintf(place.text, sizeof place.text, " `name %u`", entry->name);
    return place;
}

static struct cv_finding *open_finding(const struct cv_run *run, struct cv_judgement *judgement,
                                       enum cv_property_number property)
{
    const bool claimed = cv_scenario_claims(run->scenario) & cv_property(property)->claim;
    return cv_find(judgement, property, claimed ? CV_HELD : CV_DISCLAIMED);
}

/* Says what is wrong; the first time counts. What is not claimed is told all the same. */
__attribute__((format(printf, 2, 3))) static void violate(struct cv_finding *finding, const char *format, ...)
{
    if (*finding->detail)
        return;
    if (finding->verdict == CV_HELD)
        finding->verdict = CV_VIOLATED;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->detail, sizeof finding->detail, format, arguments);
    va_end(arguments);
}

typedef unsigned long long number; /* as printf wants it */

/* ---- safety ---- */

/* Of those before, the one who stays longest tells; who has not left is inside for ever. */
static const struct cv_entry *later(const struct cv_entry *inside, const struct cv_entry *next)
{
    return !inside || next->left > inside->left ? next : inside;
}

static void judge_exclusion(struct bench *bench, const struct section *section)
{
    const struct cv_entry *alone = NULL, *sharing = NULL;
    for (uint64_t i = 0; i < section->entered; i++) {
        const struct cv_entry *next = section->entries[i];
        const struct cv_entry *inside = alone && next->entered < alone->left ? alone : next->shared ? NULL : sharing;
        if (inside && next->entered < inside->left) {
            const uint64_t until = next->left < inside->left ? next->left : inside->left;
            char when[48];
            if (until == CV_NEVER)
                snprintf(when, sizeof when, "from %llu on", (number)next->entered);
            else
                snprintf(when, sizeof when, "at %llu..%llu", (number)next->entered, (number)until);
            violate(bench->exclusion, "%s and %s both inside%s %s", name_of(bench, inside).text,
                    name_of(bench, next).text, place_of(bench, next).text, when);
            return;
        }
        if (next->shared)
            sharing = later(sharing, next);
        else
            alone = later(alone, next);
    }
}

/* Those who share have fences in any order, above all of those before who did not. */
static void judge_fences(struct bench *bench, const struct section *section)
{
    const struct cv_entry *highest = NULL, *highest_alone = NULL;
    for (uint64_t i = 0; i < section->entered; i++) {
        const struct cv_entry *next = section->entries[i], *before = next->shared ? highest_alone : highest;
        if (before && next->fence <= before->fence)
            violate(bench->fences, "%s entered%s at %llu with fence %llu, after %s with fence %llu",
                    name_of(bench, next).text, place_of(bench, next).text, (number)next->entered, (number)next->fence,
                    name_of(bench, before).text, (number)before->fence);
        if (!highest || next->fence > highest->fence)
            highest = next;
        if (!next->shared)
            highest_alone = next;
    }
}

/* ---- service ---- */

static bool alive(const struct bench *bench, const struct cv_entry *entry)
{
    return !entry->died && bench->run->standing(bench->run->runtime, entry->node).alive;
}

static bool at_rest(const struct cv_run *run)
{
    return cv_verdict_missing(run) == CV_VIOLATED;
}

/* "3, 1, 4 and 7 more wait for ever" */
static void tell_deadlock(struct bench *bench, const struct section *section, uint64_t waiting)
{
    enum { MOST = 6 };
    char list[MOST * 14 + 32] = "";
    size_t used = 0;
    uint64_t told = 0;
    for (uint64_t i = section->entered; told < MOST && i < section->count; i++)
        if (alive(bench, section->entries[i]))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", told++ ? ", " : "",
                                     name_of(bench, section->entries[i]).text);
    if (waiting > told)
        snprintf(list + used, sizeof list - used, " and %llu more", (number)(waiting - told));
    const struct place place = place_of(bench, section->entries[0]);
    violate(bench->deadlock, "deadlock: %s %s%s%s for ever", list, waiting == 1 ? "waits" : "wait",
            *place.text ? " for" : "", place.text);
}

static void judge_service(struct bench *bench, const struct section *section)
{
    bool occupied = false;
    uint64_t waiting = 0;
    for (uint64_t i = 0; i < section->count; i++) {
        const struct cv_entry *entry = section->entries[i];
        if (!alive(bench, entry))
            continue;
        bench->requests++;
        occupied |= i < section->entered && entry->left == CV_NEVER;
        if (i < section->entered)
            continue;
        waiting++;
        if (!bench->first_unserved)
            bench->first_unserved = entry;
    }
    bench->entries += section->entered;
    bench->unserved += waiting;
    if (waiting && !occupied && at_rest(bench->run))
        tell_deadlock(bench, section, waiting);
}

/* Has everybody been served in the end? Asked too of those who do not promise it. */
static void conclude_service(struct bench *bench)
{
    const struct cv_run *run = bench->run;
    struct cv_finding *finding = bench->service;
    const bool claimed = finding->verdict == CV_HELD;
    if (bench->deadlock->verdict == CV_HELD && !at_rest(run))
        bench->deadlock->verdict = CV_UNFINISHED;
    if (bench->unserved || !at_rest(run))
        finding->verdict = cv_verdict_missing(run);
    if (!bench->unserved)
        return;
    if (*bench->deadlock->detail)
        snprintf(finding->detail, sizeof finding->detail, "%.115s%s", bench->deadlock->detail,
                 claimed ? "" : "; the algorithm does not promise otherwise");
    else
        snprintf(finding->detail, sizeof finding->detail,
                 "%llu of %llu requests of live nodes are not served, that of %s at %llu among them",
                 (number)bench->unserved, (number)bench->requests, name_of(bench, bench->first_unserved).text,
                 (number)bench->first_unserved->requested);
}

/* ---- fairness ---- */

/* The number of the view in which it entered: cv_fence(). */
static uint64_t view_of(const struct cv_entry *entry)
{
    return entry->fence >> 40;
}

static void take_turns(struct bench *bench, const struct section *section)
{
    struct turn *turns = bench->turns;
    for (uint64_t i = 0; i < section->entered; i++) {
        const struct cv_entry *entry = section->entries[i];
        const bool goes_on = i > 0 && view_of(entry) == view_of(section->entries[i - 1]);
        turns[i] = i > 0 ? turns[i - 1] : (struct turn){0};
        turns[i].begun = goes_on ? turns[i - 1].begun : entry->entered;
        turns[i].previous = bench->last[entry->node];
        bench->last[entry->node] = i + 1;
        uint64_t first = i + 1;
        for (uint64_t back = 0; back < bench->overtakes && first; back++)
            first = turns[first - 1].previous;
        if (first > turns[i].first) {
            turns[i].first = first;
            turns[i].last = i + 1;
        }
    }
    for (uint64_t i = 0; i < section->entered; i++)
        bench->last[section->entries[i]->node] = 0;
}

/*
 * Of those who waited: did one node enter too often between the time the request was known and its entry? The latest
 * run of entries that is too long tells, for if it began too early all others did.
 */
static void judge_waiting(struct bench *bench, const struct section *section)
{
    for (uint64_t i = 1; section->entered && i < section->count; i++) {
        const struct cv_entry *entry = section->entries[i];
        if (i >= section->entered && !alive(bench, entry))
            continue;
        const struct turn *before = &bench->turns[i < section->entered ? i - 1 : section->entered - 1];
        const uint64_t begun = bench->turns[i < section->entered ? i : section->entered - 1].begun;
        const uint64_t known = entry->heard > entry->requested ? entry->heard : entry->requested;
        const uint64_t asked = bench->disturbed && begun > known ? begun : known;
        if (!before->first || known == CV_NEVER ||
            section->entries[before->first - 1]->entered <= asked + bench->notice)
            continue;
        violate(bench->waiting, "%s entered%s %llu times at %llu..%llu while %s waited from %llu on",
                name_of(bench, section->entries[before->last - 1]).text, place_of(bench, entry).text,
                (number)bench->overtakes + 1, (number)section->entries[before->first - 1]->entered,
                (number)section->entries[before->last - 1]->entered, name_of(bench, entry).text,
                (number)entry->requested);
        return;
    }
}

static bool asked_before(const struct bench *bench, const struct cv_entry *one, const struct cv_entry *other)
{
    return one->clock < other->clock || (one->clock == other->clock && id_of(bench, one) < id_of(bench, other));
}

static void judge_order(struct bench *bench, const struct section *section)
{
    const struct cv_entry *latest = NULL;
    for (uint64_t i = 0; i < section->entered; i++) {
        const struct cv_entry *next = section->entries[i];
        const uint64_t begun = bench->turns[i].begun;
        if (bench->disturbed && latest && view_of(latest) != view_of(next))
            latest = NULL;
        const bool asked_again = bench->disturbed && next->requested <= begun;
        if (latest && !asked_again && !asked_before(bench, latest, next))
            violate(bench->order, "%s entered%s at %llu after %s, but asked before it: clock %llu, not %llu",
                    name_of(bench, next).text, place_of(bench, next).text, (number)next->entered,
                    name_of(bench, latest).text, (number)next->clock, (number)latest->clock);
        if (!latest || asked_before(bench, latest, next))
            latest = next;
    }
}

/* ---- the whole ---- */

/* By name, then by entering; who entered and left at one time comes before who stayed. */
static int by_entering(const void *left, const void *right)
{
    const struct cv_entry *x = *(const struct cv_entry *const *)left, *y = *(const struct cv_entry *const *)right;
    if (x->name != y->name)
        return x->name < y->name ? -1 : 1;
    if (x->entered != y->entered)
        return x->entered < y->entered ? -1 : 1;
    if (x->left != y->left)
        return x->left < y->left ? -1 : 1;
    return (x > y) - (x < y);
}

static void judge_section(struct bench *bench, const struct section *section)
{
    judge_exclusion(bench, section);
    judge_fences(bench, section);
    judge_service(bench, section);
    take_turns(bench, section);
    if (!bench->run->scenario->partition_count && !bench->run->unmeasured)
        judge_waiting(bench, section);
    judge_order(bench, section);
}

static void judge_sections(struct bench *bench, const struct cv_entry **order)
{
    const struct cv_run *run = bench->run;
    for (uint64_t i = 0; i < run->entry_count; i++)
        order[i] = &run->entries[i];
    if (run->entry_count)
        qsort(order, run->entry_count, sizeof(const struct cv_entry *), by_entering);
    for (uint64_t first = 0, end = 0; first < run->entry_count; first = end) {
        struct section section = {.entries = order + first};
        for (; end < run->entry_count && order[end]->name == order[first]->name; end++)
            section.entered += order[end]->entered != CV_NEVER;
        section.count = end - first;
        judge_section(bench, &section);
    }
}

static void look_for_trouble(struct bench *bench)
{
    const struct cv_scenario *scenario = bench->run->scenario;
    uint64_t changes = scenario->recovery_count;
    for (uint32_t i = 0; i < scenario->crash_count; i++)
        changes += scenario->crashes[i].moment != CV_AT || scenario->crashes[i].time > 0;
    bench->disturbed = changes > 0;
    bench->overtakes = 1 + changes;
    bench->notice = cv_scenario_bound(scenario) + (changes ? scenario->detect : 0);
}

static void open_findings(struct bench *bench, struct cv_judgement *judgement)
{
    const struct cv_run *run = bench->run;
    bench->exclusion = open_finding(run, judgement, CV_PROPERTY_EXCLUSION);
    bench->fences = open_finding(run, judgement, CV_PROPERTY_FENCES_RISE);
    bench->deadlock = open_finding(run, judgement, CV_PROPERTY_NO_DEADLOCK);
    bench->service = open_finding(run, judgement, CV_PROPERTY_EVERY_REQUEST);
    bench->waiting = open_finding(run, judgement, CV_PROPERTY_BOUNDED_WAITING);
    bench->order = open_finding(run, judgement, CV_PROPERTY_REQUEST_ORDER);
    if (run->scenario->partition_count) {
        bench->waiting->verdict = CV_DISCLAIMED;
        snprintf(bench->waiting->detail, sizeof bench->waiting->detail,
                 "a request that is cut off gets known to nobody");
    }
    if (run->unmeasured) {
        bench->waiting->verdict = CV_DISCLAIMED;
        snprintf(bench->waiting->detail, sizeof bench->waiting->detail, "nothing is said about time");
    }
}

int cv_judge_mutex(const struct cv_run *run, struct cv_judgement *judgement)
{
    struct bench bench = {.run = run,
                          .turns = malloc((run->entry_count + 1) * sizeof *bench.turns),
                          .last = calloc(run->scenario->group.nodes, sizeof *bench.last)};
    const struct cv_entry **order = malloc((run->entry_count + 1) * sizeof *order);
    const bool room = bench.turns && bench.last && order;
    if (room) {
        look_for_trouble(&bench);
        open_findings(&bench, judgement);
        judge_sections(&bench, order);
        conclude_service(&bench);
        struct cv_finding *some =
            cv_find(judgement, CV_PROPERTY_SOMEBODY_ENTERS, bench.entries ? CV_HELD : cv_verdict_missing(run));
        if (!bench.entries)
            snprintf(some->detail, sizeof some->detail, "no node ever entered");
    }
    free(order);
    free(bench.last);
    free(bench.turns);
    return room ? 0 : CV_ENOMEM;
}
