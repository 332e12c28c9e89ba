// SPDX-License-Identifier: MIT
/*
 * What mutual exclusion must achieve, for each critical section by itself.
 *
 * exclusion        Two nodes are never inside at once, unless both share. A node that leaves or dies at some time is
 *                  not inside together with a node that enters at that time.
 * fences-rise      Fences rise in the order of entering, and are below 2^53. The order among entries that share does
 *                  not matter.
 * no-deadlock      The run does not come to rest while live nodes wait and no node is inside.
 * every-request    Every request of a live node is served. An unserved request makes a run bad even if the algorithm
 *                  promises nothing; the finding says so.
 * bounded-waiting  After the time D of one message, in which a request gets known, no other node enters more than once
 *                  before the request is served. This is the tightest bound that holds for all algorithms that claim
 *                  it:
 *                    central                   the coordinator has at most one request of each other node queued
 *                                              before this one
 *                    token-ring                the token visits each other node at most once on its way here
 *                    ricart-agrawala, lamport  a node that has received the request has a later clock from then on,
 *                                              so only a request that it made earlier can be served first, and it
 *                                              has at most one
 *                  Every crash or return of a node may start a new queue, and so allows one more entry. If waiting
 *                  nodes must request again in a new view, their time begins again, at the latest with the first
 *                  entry of that view. Only the view in which a request is served counts.
 * request-order    In the order of entering, the requests' times (Lamport's clock, then the id) rise. Times of
 *                  different views do not compare, nor does the time of a request that had to be made again.
 * somebody-enters  At least one entry.
 */
#include "property/mutex.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/scenario/label.h"

/* A critical section. */
struct section {
    const struct cv_entry *const *entries; /* those that entered, in this order; then the others, as they requested */
    uint64_t entered;                      /* entries that entered */
    uint64_t count;                        /* all entries */
};

/* What the entries before an entry show. Positions count from 1; 0 is none. */
struct history {
    uint64_t previous; /* the position of the same node's entry before this one */
    uint64_t begun;    /* the time of the first entry of this view */
    /* The latest series of entries of one node that is too long for a node that waits meanwhile: */
    uint64_t first; /* its first position */
    uint64_t last;  /* its last position */
};

struct mutex_judge {
    const struct cv_run *run;
    bool disturbed;            /* a node crashes or comes back during the run */
    uint64_t overtakes;        /* how often a node may enter before another one that waits */
    uint64_t notice;           /* how long a request may take to get known */
    struct history *histories; /* by entry of the current section */
    uint64_t *last;            /* by node: the position of its last entry so far */

    uint64_t entries;
    uint64_t requests;                     /* of live nodes */
    uint64_t unserved;                     /* of those, not served */
    const struct cv_entry *first_unserved; /* NULL: none */
    struct cv_finding *exclusion, *fences, *deadlock, *service, *waiting, *order;
};

/* ---- words ---- */

static cv_id id_of(const struct mutex_judge *judge, const struct cv_entry *entry)
{
    return judge->run->scenario->group.ids[entry->node];
}

static struct cv_name name_of(const struct mutex_judge *judge, const struct cv_entry *entry)
{
    return cv_name(judge->run->scenario, entry->node);
}

/* Which critical section, if there are several. */
struct section_name {
    char text[24];
};

static struct section_name section_name_of(const struct mutex_judge *judge, const struct cv_entry *entry)
{
    struct section_name section = {""};
    if (judge->run->scenario->names > 1)
        snprintf(section.text, sizeof section.text, " `name %u`", entry->name);
    return section;
}

static struct cv_finding *open_finding(const struct cv_run *run, struct cv_judgement *judgement,
                                       enum cv_property_number property)
{
    const bool claimed = cv_scenario_claims(run->scenario) & cv_property(property)->claim;
    return cv_find(judgement, property, claimed ? CV_HELD : CV_DISCLAIMED);
}

/* Notes a violation; the first one counts. A property that is not claimed stays disclaimed, with this detail. */
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

/* The one of two entries that stays longer. An entry that has not left stays for ever. */
static const struct cv_entry *later(const struct cv_entry *inside, const struct cv_entry *next)
{
    return !inside || next->left > inside->left ? next : inside;
}

static void judge_exclusion(struct mutex_judge *judge, const struct section *section)
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
            violate(judge->exclusion, "%s and %s both inside%s %s", name_of(judge, inside).text,
                    name_of(judge, next).text, section_name_of(judge, next).text, when);
            return;
        }
        if (next->shared)
            sharing = later(sharing, next);
        else
            alone = later(alone, next);
    }
}

/* The fence of a shared entry is above all entries before that do not share. */
static void judge_fences(struct mutex_judge *judge, const struct section *section)
{
    const struct cv_entry *highest = NULL, *highest_alone = NULL;
    for (uint64_t i = 0; i < section->entered; i++) {
        const struct cv_entry *next = section->entries[i], *before = next->shared ? highest_alone : highest;
        if (before && next->fence <= before->fence)
            violate(judge->fences, "%s entered%s at %llu with fence %llu, after %s with fence %llu",
                    name_of(judge, next).text, section_name_of(judge, next).text, (number)next->entered,
                    (number)next->fence, name_of(judge, before).text, (number)before->fence);
        if (next->fence >= CV_FENCE_END)
            violate(judge->fences, "%s entered%s at %llu with fence %llu, which is not below 2^53",
                    name_of(judge, next).text, section_name_of(judge, next).text, (number)next->entered,
                    (number)next->fence);
        if (!highest || next->fence > highest->fence)
            highest = next;
        if (!next->shared)
            highest_alone = next;
    }
}

/* ---- service ---- */

static bool alive(const struct mutex_judge *judge, const struct cv_entry *entry)
{
    return !entry->died && judge->run->standing(judge->run->runtime, entry->node).alive;
}

static bool at_rest(const struct cv_run *run)
{
    return verdict_if_missing(run) == CV_VIOLATED;
}

/* "3, 1, 4 and 7 more wait for ever" */
static void tell_deadlock(struct mutex_judge *judge, const struct section *section, uint64_t waiting)
{
    enum { MOST = 6 };
    char list[MOST * 14 + 32] = "";
    size_t used = 0;
    uint64_t told = 0;
    for (uint64_t i = section->entered; told < MOST && i < section->count; i++)
        if (alive(judge, section->entries[i]))
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", told++ ? ", " : "",
                                     name_of(judge, section->entries[i]).text);
    if (waiting > told)
        snprintf(list + used, sizeof list - used, " and %llu more", (number)(waiting - told));
    const struct section_name name = section_name_of(judge, section->entries[0]);
    violate(judge->deadlock, "deadlock: %s %s%s%s for ever", list, waiting == 1 ? "waits" : "wait",
            *name.text ? " for" : "", name.text);
}

static void judge_service(struct mutex_judge *judge, const struct section *section)
{
    bool occupied = false;
    uint64_t waiting = 0;
    for (uint64_t i = 0; i < section->count; i++) {
        const struct cv_entry *entry = section->entries[i];
        if (!alive(judge, entry))
            continue;
        judge->requests++;
        occupied |= i < section->entered && entry->left == CV_NEVER;
        if (i < section->entered)
            continue;
        waiting++;
        if (!judge->first_unserved)
            judge->first_unserved = entry;
    }
    judge->entries += section->entered;
    judge->unserved += waiting;
    if (waiting && !occupied && at_rest(judge->run))
        tell_deadlock(judge, section, waiting);
}

/* Is every request served? This is judged even if the algorithm does not promise it. */
static void conclude_service(struct mutex_judge *judge)
{
    const struct cv_run *run = judge->run;
    struct cv_finding *finding = judge->service;
    const bool claimed = finding->verdict == CV_HELD;
    if (judge->deadlock->verdict == CV_HELD && !at_rest(run))
        judge->deadlock->verdict = CV_UNFINISHED;
    if (judge->unserved || !at_rest(run))
        finding->verdict = verdict_if_missing(run);
    if (!judge->unserved)
        return;
    if (*judge->deadlock->detail)
        snprintf(finding->detail, sizeof finding->detail, "%.115s%s", judge->deadlock->detail,
                 claimed ? "" : "; the algorithm does not promise otherwise");
    else
        snprintf(finding->detail, sizeof finding->detail,
                 "%llu of %llu requests of live nodes are not served, that of %s at %llu among them",
                 (number)judge->unserved, (number)judge->requests, name_of(judge, judge->first_unserved).text,
                 (number)judge->first_unserved->requested);
}

/* ---- fairness ---- */

/* The view in which it entered, from its fence: see cv_fence(). */
static uint64_t view_of(const struct cv_entry *entry)
{
    return entry->fence >> CV_VIEW_BITS;
}

static void make_histories(struct mutex_judge *judge, const struct section *section)
{
    struct history *histories = judge->histories;
    for (uint64_t i = 0; i < section->entered; i++) {
        const struct cv_entry *entry = section->entries[i];
        const bool goes_on = i > 0 && view_of(entry) == view_of(section->entries[i - 1]);
        histories[i] = i > 0 ? histories[i - 1] : (struct history){0};
        histories[i].begun = goes_on ? histories[i - 1].begun : entry->entered;
        histories[i].previous = judge->last[entry->node];
        judge->last[entry->node] = i + 1;
        uint64_t first = i + 1;
        for (uint64_t back = 0; back < judge->overtakes && first; back++)
            first = histories[first - 1].previous;
        if (first > histories[i].first) {
            histories[i].first = first;
            histories[i].last = i + 1;
        }
    }
    for (uint64_t i = 0; i < section->entered; i++)
        judge->last[section->entries[i]->node] = 0;
}

/*
 * Did a node enter too often while another one waited, between the time its request was known and its entry? It
 * suffices to look at the latest series that is too long: if that began too early, all others did.
 */
static void judge_waiting(struct mutex_judge *judge, const struct section *section)
{
    for (uint64_t i = 1; section->entered && i < section->count; i++) {
        const struct cv_entry *entry = section->entries[i];
        if (i >= section->entered && !alive(judge, entry))
            continue;
        const struct history *before = &judge->histories[i < section->entered ? i - 1 : section->entered - 1];
        const uint64_t begun = judge->histories[i < section->entered ? i : section->entered - 1].begun;
        const uint64_t known = entry->heard > entry->requested ? entry->heard : entry->requested;
        const uint64_t asked = judge->disturbed && begun > known ? begun : known;
        if (!before->first || known == CV_NEVER ||
            section->entries[before->first - 1]->entered <= asked + judge->notice)
            continue;
        violate(judge->waiting, "%s entered%s %llu times at %llu..%llu while %s waited from %llu on",
                name_of(judge, section->entries[before->last - 1]).text, section_name_of(judge, entry).text,
                (number)judge->overtakes + 1, (number)section->entries[before->first - 1]->entered,
                (number)section->entries[before->last - 1]->entered, name_of(judge, entry).text,
                (number)entry->requested);
        return;
    }
}

static bool asked_before(const struct mutex_judge *judge, const struct cv_entry *one, const struct cv_entry *other)
{
    return one->clock < other->clock || (one->clock == other->clock && id_of(judge, one) < id_of(judge, other));
}

static void judge_order(struct mutex_judge *judge, const struct section *section)
{
    const struct cv_entry *latest = NULL;
    for (uint64_t i = 0; i < section->entered; i++) {
        const struct cv_entry *next = section->entries[i];
        const uint64_t begun = judge->histories[i].begun;
        if (judge->disturbed && latest && view_of(latest) != view_of(next))
            latest = NULL;
        const bool asked_again = judge->disturbed && next->requested <= begun;
        if (latest && !asked_again && !asked_before(judge, latest, next))
            violate(judge->order, "%s entered%s at %llu after %s, but asked before it: clock %llu, not %llu",
                    name_of(judge, next).text, section_name_of(judge, next).text, (number)next->entered,
                    name_of(judge, latest).text, (number)next->clock, (number)latest->clock);
        if (!latest || asked_before(judge, latest, next))
            latest = next;
    }
}

/* ---- the whole ---- */

/* By name, then by time of entering. Of entries at the same time, the one that leaves first comes first. */
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

static void judge_section(struct mutex_judge *judge, const struct section *section)
{
    judge_exclusion(judge, section);
    judge_fences(judge, section);
    judge_service(judge, section);
    make_histories(judge, section);
    if (!judge->run->scenario->partition_count && !judge->run->unmeasured)
        judge_waiting(judge, section);
    judge_order(judge, section);
}

static void judge_sections(struct mutex_judge *judge, const struct cv_entry **order)
{
    const struct cv_run *run = judge->run;
    for (uint64_t i = 0; i < run->entry_count; i++)
        order[i] = &run->entries[i];
    if (run->entry_count)
        qsort(order, run->entry_count, sizeof(const struct cv_entry *), by_entering);
    for (uint64_t first = 0, end = 0; first < run->entry_count; first = end) {
        struct section section = {.entries = order + first};
        for (; end < run->entry_count && order[end]->name == order[first]->name; end++)
            section.entered += order[end]->entered != CV_NEVER;
        section.count = end - first;
        judge_section(judge, &section);
    }
}

static void allow_for_faults(struct mutex_judge *judge)
{
    const struct cv_scenario *scenario = judge->run->scenario;
    uint64_t changes = scenario->recovery_count;
    for (uint32_t i = 0; i < scenario->crash_count; i++)
        changes += scenario->crashes[i].moment != CV_AT || scenario->crashes[i].time > 0;
    judge->disturbed = changes > 0;
    judge->overtakes = 1 + changes;
    judge->notice = cv_scenario_bound(scenario) + (changes ? scenario->detect : 0);
}

static void open_findings(struct mutex_judge *judge, struct cv_judgement *judgement)
{
    const struct cv_run *run = judge->run;
    judge->exclusion = open_finding(run, judgement, CV_PROPERTY_EXCLUSION);
    judge->fences = open_finding(run, judgement, CV_PROPERTY_FENCES_RISE);
    judge->deadlock = open_finding(run, judgement, CV_PROPERTY_NO_DEADLOCK);
    judge->service = open_finding(run, judgement, CV_PROPERTY_EVERY_REQUEST);
    judge->waiting = open_finding(run, judgement, CV_PROPERTY_BOUNDED_WAITING);
    judge->order = open_finding(run, judgement, CV_PROPERTY_REQUEST_ORDER);
    if (run->scenario->partition_count) {
        judge->waiting->verdict = CV_DISCLAIMED;
        snprintf(judge->waiting->detail, sizeof judge->waiting->detail, "no node learns of a request that is cut off");
    }
    if (run->unmeasured) {
        judge->waiting->verdict = CV_DISCLAIMED;
        snprintf(judge->waiting->detail, sizeof judge->waiting->detail, "the order of events was given, without times");
    }
}

int cv_judge_mutex(const struct cv_run *run, struct cv_judgement *judgement)
{
    struct mutex_judge judge = {.run = run,
                                .histories = malloc((run->entry_count + 1) * sizeof *judge.histories),
                                .last = calloc(run->scenario->group.nodes, sizeof *judge.last)};
    const struct cv_entry **order = malloc((run->entry_count + 1) * sizeof *order);
    const bool room = judge.histories && judge.last && order;
    if (room) {
        allow_for_faults(&judge);
        open_findings(&judge, judgement);
        judge_sections(&judge, order);
        conclude_service(&judge);
        struct cv_finding *some =
            cv_find(judgement, CV_PROPERTY_SOMEBODY_ENTERS, judge.entries ? CV_HELD : verdict_if_missing(run));
        if (!judge.entries)
            snprintf(some->detail, sizeof some->detail, "no node ever entered");
    }
    free(order);
    free(judge.last);
    free(judge.histories);
    return room ? 0 : CV_ENOMEM;
}
