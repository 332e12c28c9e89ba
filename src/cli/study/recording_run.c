// SPDX-License-Identifier: MIT
/* Turns recorded events into a run: entries, leaders and messages. */
#include "cli/study/recording_run.h"

#include <stdlib.h>
#include <string.h>

#include "core/graph/graph_make.h"
#include "core/hash_map.h"

/* A message that was sent. */
struct flight {
    uint64_t sent;
    uint64_t entry; /* the entry that it requests, from 1 on; 0: it is no request */
    uint32_t attempt;
};

/* A node repeats its request in every new view; only the last one counts. */
struct request {
    uint32_t attempt;
    uint32_t on_the_way; /* messages of it that have not arrived */
};

struct telling {
    const struct recording *recording;
    struct recording_story *story;
    uint64_t *open;           /* per node: its entry that is not over, from 1; 0: none */
    uint64_t *asked;          /* per node: when it last requested */
    struct request *requests; /* per entry */
    struct flight *flights;   /* of all messages, in the order they were sent */
    uint64_t flight_count;
    struct cv_hash_map by_number; /* from a message's number to its flight */
    uint64_t slowest;
    bool out_of_memory;
};

/* ---- order ---- */

/* Each node's events are in order already; merging keeps that. */
static void sort_events(struct recording_story *story, struct cv_event *room, size_t first, size_t count)
{
    if (count < 2)
        return;
    const size_t half = count / 2;
    sort_events(story, room, first, half);
    sort_events(story, room, first + half, count - half);
    memcpy(room, story->events + first, half * sizeof *room);
    size_t left = 0, right = first + half, to = first;
    while (left < half)
        if (right < first + count && story->events[right].time < room[left].time)
            story->events[to++] = story->events[right++];
        else
            story->events[to++] = room[left++];
}

/* ---- nodes ---- */

static struct cv_standing standing(const void *runtime, cv_node node)
{
    const struct recording_story *story = runtime;
    return story->standings[node];
}

static void open_entry(struct telling *telling, const struct cv_event *event)
{
    struct recording_story *story = telling->story;
    if (telling->open[event->node]) { /* it requests again, in a new view */
        struct request *request = &telling->requests[telling->open[event->node] - 1];
        *request = (struct request){.attempt = request->attempt + 1};
        story->entries[telling->open[event->node] - 1].heard = 0;
        return;
    }
    story->entries[story->run.entry_count] = (struct cv_entry){
        .node = event->node, .requested = event->time, .entered = CV_NEVER, .left = CV_NEVER, .clock = event->clock};
    telling->open[event->node] = ++story->run.entry_count;
}

/* The algorithm's fence counter, over all views. */
static uint64_t fence_of(const struct recording *recording, const struct cv_event *event)
{
    uint64_t place = 0;
    while (place < recording->base_count && recording->bases[place] <= event->message)
        place++;
    return place << CV_VIEW_BITS | (event->detail & ((1ull << CV_VIEW_BITS) - 1));
}

static void enter(struct telling *telling, const struct cv_event *event)
{
    struct recording_story *story = telling->story;
    if (!telling->open[event->node])
        open_entry(telling, event);
    struct cv_entry *entry = &story->entries[telling->open[event->node] - 1];
    entry->entered = event->time;
    entry->fence = fence_of(telling->recording, event);
}

static void leave(struct telling *telling, cv_node node, uint64_t time, bool died)
{
    struct recording_story *story = telling->story;
    if (!telling->open[node])
        return;
    struct cv_entry *entry = &story->entries[telling->open[node] - 1];
    entry->died = died;
    if (entry->entered != CV_NEVER)
        entry->left = time > entry->entered ? time : entry->entered;
    if (!died)
        story->run.last_exit = time;
    telling->open[node] = 0;
}

/* The messages that a node sends in the step of its request are the request. */
static void take_off(struct telling *telling, const struct cv_event *event, uint64_t asked)
{
    struct flight *flight = &telling->flights[telling->flight_count++];
    *flight = (struct flight){.sent = event->time};
    if (event->message) { /* a message that could not be sent has no number */
        struct cv_hash_entry *place = cv_hash_map_add(&telling->by_number, event->message);
        if (!place) {
            telling->out_of_memory = true;
            return;
        }
        place->pointer = flight;
    }
    const uint64_t entry = telling->open[event->node];
    if (!entry || event->time != asked || event->peer == event->node)
        return;
    flight->entry = entry;
    flight->attempt = telling->requests[entry - 1].attempt;
    telling->requests[entry - 1].on_the_way++;
}

static void arrive(struct telling *telling, const struct cv_event *event)
{
    const struct cv_hash_entry *place = cv_hash_map_find(&telling->by_number, event->message);
    if (!place)
        return;
    const struct flight *flight = place->pointer;
    if (event->time > flight->sent && event->time - flight->sent > telling->slowest)
        telling->slowest = event->time - flight->sent;
    struct request *request = flight->entry ? &telling->requests[flight->entry - 1] : NULL;
    if (!request || request->attempt != flight->attempt)
        return;
    request->on_the_way--;
    telling->story->entries[flight->entry - 1].heard = event->time;
}

static void happen(struct telling *telling, const struct cv_event *event)
{
    struct recording_story *story = telling->story;
    struct cv_standing *it = &story->standings[event->node];
    it->active |= event->type == CV_EVENT_RECEIVE || event->type == CV_EVENT_CALL;
    switch (event->type) {
    case CV_EVENT_SEND:
        if (event->peer != event->node) {
            story->run.count[event->content->kind]++;
            story->run.total++;
        }
        take_off(telling, event, telling->asked[event->node]);
        break;
    case CV_EVENT_RECEIVE:
        story->run.time = event->time;
        arrive(telling, event);
        break;
    case CV_EVENT_REQUEST:
        telling->asked[event->node] = event->time;
        open_entry(telling, event);
        break;
    case CV_EVENT_ENTER:
        enter(telling, event);
        break;
    case CV_EVENT_LEAVE:
        leave(telling, event->node, event->detail, false);
        break;
    case CV_EVENT_CALL:
        story->run.calls++;
        it->recalled |= event->detail != 0;
        break;
    case CV_EVENT_ELECTED:
        it->knows = true;
        it->leader = (cv_id)event->detail;
        story->run.decided = event->time;
        break;
    case CV_EVENT_FORGET:
        it->knows = false;
        break;
    case CV_EVENT_NOTE:
        if (event->detail && !story->run.broken) {
            story->run.broken = "the algorithm's invariant did not hold; the recording says which";
            story->run.broken_node = event->node;
            story->run.broken_time = event->time;
        }
        break;
    default:
        break;
    }
}

/* The recording stops, and no node reports a death: whether the node is still inside is unknown. */
static bool is_unknown(const struct recording *recording, const struct recording_break *it)
{
    return it->last && !it->asked && !recording->known[it->node].gone;
}

static void break_node(struct telling *telling, const struct recording_break *it)
{
    struct cv_standing *standing_of = &telling->story->standings[it->node];
    if (!it->back)
        leave(telling, it->node, it->time, true);
    if (is_unknown(telling->recording, it))
        return;
    *standing_of = (struct cv_standing){.alive = it->back, .recalled = standing_of->recalled};
}

/* ---- the scenario it must have been ---- */

static int by_break(const void *left, const void *right)
{
    const struct recording_break *x = left, *y = right;
    return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->back - y->back;
}

/* What the service promises its clients with every algorithm. */
static const struct cv_algorithm judged_clients = {
    .problem = CV_MUTEX, .name = "clients", .claims = CV_EXCLUSION | CV_FENCES_RISE};

static int set_parameters(struct cv_scenario *scenario)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    const struct cv_parameter *table = algorithm->parameters;
    scenario->parameters = calloc(cv_algorithm_parameters(algorithm) + 1u, sizeof *scenario->parameters);
    if (!scenario->parameters)
        return CV_ENOMEM;
    for (uint32_t i = 0; table && table[i].name; i++)
        scenario->parameters[i] = table[i].type == CV_NUMBER ? table[i].fallback : table[i].type == CV_MEMBER ? -1 : 0;
    scenario->group.parameters = scenario->parameters;
    return 0;
}

static int set_scenario(const struct recording *recording, struct recording_story *story, bool clients)
{
    struct cv_scenario *scenario = &story->scenario;
    struct cv_complaint complaint;
    struct cv_random random = {{0}};
    *scenario = (struct cv_scenario){
        .algorithm = clients ? &judged_clients : story->algorithm, .names = 1, .until = CV_NEVER - 1, .detect = 1};
    scenario->group = (struct cv_group){.ids = recording->ids,
                                        .attributes = recording->attributes,
                                        .nodes = recording->nodes,
                                        .topology = story->algorithm->topology,
                                        .coordinator = recording->coordinator};
    int error = set_parameters(scenario);
    if (!error && story->algorithm->quorums)
        error = cv_quorums_make(&scenario->quorums, "grid", recording->nodes, NULL, recording->nodes, &complaint);
    if (!error && story->algorithm->topology == CV_GRAPH)
        error = cv_graph_make(&scenario->graph, "complete", recording->nodes, &random, &complaint);
    scenario->group.quorums = scenario->quorums.starts;
    scenario->group.voters = scenario->quorums.voters;
    scenario->group.edges = scenario->graph.edges;
    scenario->group.neighbours = scenario->graph.neighbours;
    return error;
}

/*
 * The faults that matter to the properties: every new view may reset the queues. More views than events do not change a
 * verdict, so a recording with absurd numbers of views costs nothing.
 */
static int set_faults(const struct recording *recording, struct recording_story *story)
{
    struct cv_scenario *scenario = &story->scenario;
    const size_t renewals = recording->views > 1 ? (size_t)recording->views - 1 : 0;
    const size_t most = story->count + story->grant_count + 1;
    const size_t faults = recording->break_count + (renewals < most ? renewals : most);
    scenario->crashes = calloc(faults + 1, sizeof *scenario->crashes);
    if (!scenario->crashes)
        return CV_ENOMEM;
    for (size_t i = 0; i < faults; i++)
        scenario->crashes[scenario->crash_count++] =
            (struct cv_crash){.node = i < recording->break_count ? recording->breaks[i].node : 0, .time = 1 + i};
    return 0;
}

static int set_wishes(struct recording_story *story)
{
    struct cv_scenario *scenario = &story->scenario;
    const uint64_t count = story->run.entry_count;
    scenario->wishes = calloc(count + 1, sizeof *scenario->wishes);
    if (!scenario->wishes)
        return CV_ENOMEM;
    for (uint64_t i = 0; i < count; i++)
        scenario->wishes[scenario->wish_count++] =
            (struct cv_wish){.node = story->entries[i].node, .time = story->entries[i].requested};
    return 0;
}

static int set_callers(struct recording_story *story)
{
    struct cv_scenario *scenario = &story->scenario;
    scenario->callers = calloc(scenario->group.nodes + 1u, sizeof *scenario->callers);
    if (!scenario->callers)
        return CV_ENOMEM;
    for (cv_node node = 0; node < scenario->group.nodes; node++) {
        bool calls = false;
        for (size_t i = 0; i < story->count; i++)
            calls |= story->events[i].node == node && story->events[i].type == CV_EVENT_START;
        if (calls)
            scenario->callers[scenario->caller_count++] = node;
    }
    return 0;
}

/* ---- telling ---- */

static void play(struct telling *telling)
{
    const struct recording *recording = telling->recording;
    struct recording_story *story = telling->story;
    size_t next = 0;
    for (size_t i = 0; i < story->count && story->events[i].time <= recording->curtain; i++) {
        while (next < recording->break_count && recording->breaks[next].time < story->events[i].time)
            break_node(telling, &recording->breaks[next++]);
        happen(telling, &story->events[i]);
    }
    while (next < recording->break_count)
        break_node(telling, &recording->breaks[next++]);
}

static void conclude(const struct recording *recording, struct recording_story *story, uint64_t slowest)
{
    struct cv_run *run = &story->run;
    bool open = false;
    for (uint64_t i = 0; i < run->entry_count; i++)
        open |= !story->entries[i].died && story->entries[i].left == CV_NEVER;
    story->scenario.delay = (struct cv_delay){CV_DELAY_UNIFORM, 1, slowest + 1};
    story->scenario.group.bound = slowest + 1;
    run->scenario = &story->scenario;
    run->runtime = story;
    run->standing = standing;
    run->ending = recording->missing || recording->endless ? CV_UNRECORDED : open ? CV_OUT_OF_TIME : CV_QUIET;
    run->unmeasured = recording->missing; /* the delay is known for some messages only */
    run->now = recording->last;
    run->views = recording->views;
    run->entries = story->entries;
}

static void note_unheard(struct telling *telling)
{
    struct recording_story *story = telling->story;
    for (uint64_t i = 0; i < story->run.entry_count; i++)
        if (telling->requests[i].on_the_way)
            story->entries[i].heard = CV_NEVER;
}

static int tell_nodes(const struct recording *recording, struct recording_story *story)
{
    struct telling telling = {.recording = recording, .story = story};
    telling.open = calloc(recording->nodes, sizeof *telling.open);
    telling.asked = calloc(recording->nodes, sizeof *telling.asked);
    telling.requests = calloc(story->count + 1, sizeof *telling.requests);
    telling.flights = calloc(story->count + 1, sizeof *telling.flights);
    struct cv_event *room = malloc((story->count + 1) * sizeof *room);
    const bool fits = telling.open && telling.asked && telling.requests && telling.flights && room;
    if (fits) {
        sort_events(story, room, 0, story->count);
        play(&telling);
        note_unheard(&telling);
        conclude(recording, story, telling.slowest);
    }
    free(room);
    free(telling.open);
    free(telling.asked);
    free(telling.requests);
    free(telling.flights);
    cv_hash_map_free(&telling.by_number);
    return fits && !telling.out_of_memory ? 0 : CV_ENOMEM;
}

static int by_renewal(const void *left, const void *right)
{
    const struct recording_renewal *x = left, *y = right;
    return x->fence != y->fence ? (x->fence < y->fence ? -1 : 1)
           : x->time != y->time ? (x->time < y->time ? -1 : 1)
                                : 0;
}

/* A grant with a TTL outlives its node until any node ends it, or the TTL is over. */
static uint64_t end_of_promise(const struct recording_story *story, const struct recording_grant *grant)
{
    size_t low = 0, high = story->renewal_count;
    uint64_t until = grant->begun + grant->ttl;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (story->renewals[middle].fence < grant->fence)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < story->renewal_count && story->renewals[low].fence == grant->fence; low++) {
        const struct recording_renewal *it = &story->renewals[low];
        if (it->ends)
            return it->time < until ? it->time : until;
        until = it->time + grant->ttl;
    }
    return until;
}

/*
 * UPGRADE and DOWNGRADE leave no gap: the former grant lasts until the one that replaces it begins, whatever the node
 * has recorded of its end.
 */
static void join_grants(struct recording_story *story)
{
    const size_t count = story->grant_count;
    for (size_t i = 0; i < count; i++) {
        const struct recording_grant *grant = &story->grants[i];
        for (size_t back = 1; grant->replaces && back < count; back++) { /* it is mostly the one before */
            struct recording_grant *former = &story->grants[(i + count - back) % count];
            if (former->fence != grant->replaces)
                continue;
            former->kept = grant->begun;
            break;
        }
    }
}

/* Judges the grants of clients. A grant ends with the death of its node, unless it has a TTL. */
static void tell_clients(const struct recording *recording, struct recording_story *story)
{
    if (story->renewal_count)
        qsort(story->renewals, story->renewal_count, sizeof *story->renewals, by_renewal);
    join_grants(story);
    for (size_t i = 0; i < story->grant_count; i++) {
        const struct recording_grant *grant = &story->grants[i];
        if (grant->begun > recording->curtain)
            continue;
        struct cv_entry entry = {.node = grant->node,
                                 .requested = grant->begun,
                                 .entered = grant->begun,
                                 .left = grant->ttl                    ? end_of_promise(story, grant)
                                         : grant->ended > grant->begun ? grant->ended
                                                                       : grant->begun,
                                 .fence = grant->fence,
                                 .shared = grant->shared};
        if (grant->kept > entry.left)
            entry.left = grant->kept;
        for (size_t j = 0; j < recording->break_count && !grant->ttl; j++) {
            const struct recording_break *it = &recording->breaks[j];
            if (it->node == grant->node && !it->back && it->time >= grant->begun && it->time < entry.left) {
                entry.left = it->time;
                entry.died = true;
            }
        }
        story->entries[story->run.entry_count++] = entry;
    }
    conclude(recording, story, 0);
}

int recording_tell(const struct recording *recording, struct recording_story *story, bool clients)
{
    recording_forget(story);
    if (recording->break_count)
        qsort(recording->breaks, recording->break_count, sizeof *recording->breaks, by_break);
    story->entries = calloc(story->count + story->grant_count + 1, sizeof *story->entries);
    story->standings = calloc(recording->nodes, sizeof *story->standings);
    int error = story->entries && story->standings ? set_scenario(recording, story, clients) : CV_ENOMEM;
    for (cv_node node = 0; !error && node < recording->nodes; node++)
        story->standings[node].alive = recording->known[node].recorded;
    if (!error && clients)
        tell_clients(recording, story);
    else if (!error)
        error = tell_nodes(recording, story);
    if (!error)
        error = set_faults(recording, story);
    if (!error)
        error = set_wishes(story);
    if (!error)
        error = set_callers(story);
    return error;
}

void recording_forget(struct recording_story *story)
{
    cv_scenario_free(&story->scenario);
    free(story->entries);
    free(story->standings);
    story->scenario = (struct cv_scenario){0};
    story->run = (struct cv_run){0};
    story->entries = NULL;
    story->standings = NULL;
}
