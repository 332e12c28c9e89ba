// SPDX-License-Identifier: MIT
#include "explore/state_search.h"

#include <stdlib.h>
#include <string.h>

#include "explore/explored_events.h"
#include "explore/explored_judge.h"
#include "explore/explored_network.h"
#include "explore/explored_step.h"
#include "explore/explored_way.h"
#include "explore/state_key.h"

#define MOST_WAYS 64u /* of one choice */
#define LEAST_CHUNK ((size_t)1 << 18)
#define MOST_CHUNK ((size_t)1 << 25)

/* A state that was met: how it was reached. */
struct met_state {
    uint64_t index; /* of the event, and of the way that it goes */
    uint32_t parent;
    uint32_t depth;
    uint32_t bytes;            /* of its copy */
    const unsigned char *copy; /* in one of the chunks, until it is expanded */
};

/* Copies wait in the order in which they are expanded: in large chunks, each freed as a whole. */
struct copy_chunk {
    struct copy_chunk *after;
    size_t used, room;
    uint64_t copies[]; /* bytes, aligned */
};

struct state_search {
    struct explored world;
    struct search_limits limits;
    struct search_goal goal;
    uint32_t violated; /* what is violated already */

    struct met_state *met;
    uint64_t met_count, met_room;
    struct copy_chunk *oldest, *newest; /* of the copies */
    uint64_t *table;                    /* fingerprints, in an open hash table; 0: free */
    uint64_t table_room;

    struct explored_events events; /* of the state that is being expanded */
    struct goal_node *goal_nodes;  /* for the goal */
    uint64_t *node_keys;           /* of that state */
    struct explored_event taken;   /* the one that is being taken, */
    struct explored_script script; /* and how: each way in turn */
    uint64_t highest;              /* the highest fence before it */
    uint64_t event;                /* the next of them */
    bool again;                    /* `taken` is to be taken once more, in another way */
    uint64_t expanded;             /* states */
    uint64_t transitions;
    uint64_t steps; /* taken in the story that it begins with */
    bool expanding;
    bool truncated; /* something was left out: the limit of states or depth, or a way without a number */
    bool done, found;
    struct met_state last; /* the step that found it */
};

/* ---- states that were met ---- */

static int grow_table(struct state_search *search)
{
    const uint64_t room = search->table_room ? search->table_room * 2 : 4096;
    uint64_t *table = calloc(room, sizeof *table);
    if (!table)
        return CV_ENOMEM;
    for (uint64_t i = 0; i < search->table_room; i++) {
        uint64_t at = search->table[i] & (room - 1);
        while (search->table[i] && table[at])
            at = (at + 1) & (room - 1);
        if (search->table[i])
            table[at] = search->table[i];
    }
    free(search->table);
    search->table = table;
    search->table_room = room;
    return 0;
}

/* 1: it is new; 0: it was met before; or CV_ENOMEM. */
static int meet(struct state_search *search, uint64_t key)
{
    if (search->met_count * 2 >= search->table_room && grow_table(search))
        return CV_ENOMEM;
    key = key ? key : 1;
    uint64_t at = key & (search->table_room - 1);
    while (search->table[at] && search->table[at] != key)
        at = (at + 1) & (search->table_room - 1);
    if (search->table[at])
        return 0;
    search->table[at] = key;
    return 1;
}

/* Room for a copy, or NULL. */
static unsigned char *reserve(struct state_search *search, size_t bytes)
{
    struct copy_chunk *chunk = search->newest;
    if (!chunk || chunk->room - chunk->used < bytes) {
        size_t room = !chunk ? LEAST_CHUNK : chunk->room < MOST_CHUNK ? chunk->room * 2 : chunk->room;
        room = bytes > room ? bytes : room;
        chunk = malloc(sizeof *chunk + room);
        if (!chunk)
            return NULL;
        *chunk = (struct copy_chunk){.room = room};
        *(search->newest ? &search->newest->after : &search->oldest) = chunk;
        search->newest = chunk;
    }
    chunk->used += bytes;
    return (unsigned char *)chunk->copies + chunk->used - bytes;
}

/* Frees the first chunk if that copy, the next to be expanded, is not in it. */
static void release(struct state_search *search, const unsigned char *copy)
{
    struct copy_chunk *chunk = search->oldest;
    const unsigned char *begin = (const unsigned char *)chunk->copies;
    if (copy >= begin && copy < begin + chunk->used)
        return;
    search->oldest = chunk->after;
    free(chunk);
}

static int keep(struct state_search *search, const struct met_state *how)
{
    struct explored *world = &search->world;
    const size_t bytes = state_copy_bytes(world);
    unsigned char *copy = reserve(search, bytes);
    search->met = explored_room(world, search->met, search->met_count, &search->met_room, sizeof *search->met);
    if (world->out_of_memory || !copy)
        return CV_ENOMEM;
    state_copy_take(world, copy);
    struct met_state *met = &search->met[search->met_count++];
    *met = *how;
    met->copy = copy;
    met->bytes = (uint32_t)bytes;
    return 0;
}

/* ---- what is looked for ---- */

static bool is_wanted_state(const struct state_search *search)
{
    const struct explored *world = &search->world;
    for (cv_node node = 0; node < world->nodes; node++) {
        const struct explored_node *it = explored_node(world, node);
        search->goal_nodes[node] = (struct goal_node){it->flags, it->leader};
    }
    return search_goal_is_met(&search->goal, &world->group, search->goal_nodes);
}

static uint32_t violated_by(enum cv_property_number property, bool violated)
{
    return (uint32_t)violated << property;
}

/* What a single step has shown. `highest` is the highest fence before it. */
static uint32_t violations_of_step(const struct state_search *search, const struct explored_event *event,
                                   uint64_t highest)
{
    const struct explored *world = &search->world;
    const struct cv_self *me = &world->self;
    const bool entered = explored_calls(event) && me->effects & CV_DID_ENTER;
    uint32_t inside = 0, recalled = 0;
    for (cv_node node = 0; node < world->nodes; node++) {
        inside += explored_is(world, node, EXPLORED_INSIDE);
        recalled += explored_is(world, node, EXPLORED_RECALLED);
    }
    uint32_t bits = violated_by(CV_PROPERTY_INVARIANT, world->present.broken != NULL) |
                    violated_by(CV_PROPERTY_EXCLUSION, entered && inside > 1) |
                    violated_by(CV_PROPERTY_FENCES_RISE, entered && me->fence <= highest) |
                    violated_by(CV_PROPERTY_ONE_ELECTION, recalled > 0);
    if (world->present.seen)
        bits |= 1u << (world->present.seen - 1);
    return bits;
}

/* What the end of a run shows, if this is one: a mutex has no list of its entries here, so its ends are judged here. */
static uint32_t violations_of_end(struct state_search *search)
{
    struct explored *world = &search->world;
    struct cv_judgement judgement;
    bool waits = false;
    if (!explored_is_quiet(world))
        return 0;
    if (!world->mutex)
        return explored_judge(world, &judgement) ? 0 : explored_violations(&judgement);
    for (cv_node node = 0; node < world->nodes; node++)
        waits |= explored_alive(world, node) && explored_is(world, node, EXPLORED_WAITING);
    return violated_by(CV_PROPERTY_NO_DEADLOCK, waits) | violated_by(CV_PROPERTY_EVERY_REQUEST, waits);
}

static bool is_found(struct state_search *search, const struct explored_event *event, uint64_t highest)
{
    if (search->goal.state)
        return is_wanted_state(search);
    const uint32_t bits = search_goal_claimed(violations_of_step(search, event, highest) | violations_of_end(search),
                                              search->world.claims);
    return (bits & search->goal.properties & ~search->violated) != 0;
}

/* ---- expanding ---- */

static bool is_least_due(const struct explored *world, const struct explored_event *event)
{
    for (cv_node node = 0; node < world->nodes; node++)
        for (uint32_t timer = 0; explored_alive(world, node) && timer < world->timers; timer++) {
            const uint64_t due = explored_node(world, node)->timers[timer];
            if (due && due - 1 < event->due)
                return false;
        }
    return true;
}

/* May the search do that? `limits` are what is left of them. */
static bool is_allowed(const struct state_search *search, const struct explored_event *event)
{
    const struct explored_present *now = &search->world.present;
    const struct search_limits *limits = &search->limits;
    switch ((enum explored_type)event->type) {
    case EVENT_START:
    case EVENT_LEAVE:
    case EVENT_DELIVER:
    case EVENT_VIEW:
        return true;
    case EVENT_REQUEST:
    case EVENT_TELL:
    case EVENT_TRUST:
        return event->likely;
    case EVENT_TIMEOUT:
        return limits->any_time || (!event->early && is_least_due(&search->world, event));
    case EVENT_CRASH:
        return now->crashes < limits->crashes || event->planned;
    case EVENT_MISS:
        return now->missed < limits->misses && now->crashes < limits->crashes;
    case EVENT_RECOVER:
        return now->recoveries < limits->recoveries || event->planned;
    case EVENT_SUSPECT:
        return now->mistakes < limits->suspicions || event->planned;
    case EVENT_CUT:
        return now->cuts < limits->cuts || event->planned;
    case EVENT_HEAL:
        return true;
    case EVENT_DROP:
        return now->losses < limits->drops;
    case EVENT_DUPLICATE:
        return now->losses < limits->duplicates;
    default:
        return false;
    }
}

/* Does the step change one node at most? Links and nodes that come back change what others know. */
static bool changes_one(const struct state_search *search)
{
    const uint32_t type = search->taken.type;
    return search->taken.node != CV_NOBODY && type != EVENT_RECOVER && type != EVENT_CUT && type != EVENT_HEAL &&
           type != EVENT_VIEW && !search->world.scenario->app;
}

/* After a step was taken: is it what was looked for, is its state new? */
static int look(struct state_search *search, const struct explored_event *event, uint64_t highest)
{
    struct explored *world = &search->world;
    const uint64_t parent = search->expanded;
    struct met_state how = {.index = explored_way_index(world, event->index),
                            .parent = (uint32_t)parent,
                            .depth = search->met[parent].depth + 1};
    search->transitions++;
    if (how.index == NO_WAY) {
        search->truncated = true;
        return 0;
    }
    if (is_found(search, event, highest)) {
        search->done = search->found = true;
        search->last = how;
        return 0;
    }
    if (how.depth >= search->limits.depth || search->met_count >= search->limits.states) {
        search->truncated = true;
        return 0;
    }
    const int new = meet(
        search, state_key(world, search->limits.any_time, changes_one(search) ? search->node_keys : NULL, event->node));
    return new == 1 ? keep(search, &how) : new;
}

/* After all ways of these choices: the next choices in counting order. False after the last. */
static bool choose_next(struct state_search *search)
{
    struct explored_script *script = &search->script;
    for (script->choice_count = search->world.chosen; script->choice_count; script->choice_count--) {
        const uint32_t last = script->choice_count - 1, ways = search->world.ways[last];
        search->truncated |= ways > MOST_WAYS;
        if (++script->choices[last] < (ways < MOST_WAYS ? ways : MOST_WAYS))
            return true;
        script->choices[last] = 0;
    }
    return false;
}

/*
 * The next way that the event can go. First as it is; if it chooses, with the first of all choices, and so on with the
 * others. With each of them the node may crash between two sends, and that need not be reported. False: none is left.
 */
static bool next_way(struct state_search *search)
{
    const struct explored *world = &search->world;
    const struct explored_present *now = &world->present;
    struct explored_script *script = &search->script;
    if (script->choosing == CHOICES_DRAWN && world->chosen) {
        script->choosing = CHOICES_LISTED;
        return true;
    }
    const bool crashes = explored_calls(&search->taken) && now->crashes < search->limits.crashes && now->alive > 1;
    if (crashes && script->sent != CV_WHOLE && !script->missed && now->missed < search->limits.misses) {
        script->missed = true;
        return true;
    }
    const uint32_t sent = script->sent == CV_WHOLE ? 1 : script->sent + 1;
    script->missed = false;
    if (crashes && sent < world->sends) {
        script->sent = sent;
        return true;
    }
    script->sent = CV_WHOLE;
    return script->choosing == CHOICES_LISTED && choose_next(search);
}

/* After the step, whether it failed or not. What was drawn is not looked at: it comes again. 0 or CV_ENOMEM. */
static int after_step(struct state_search *search)
{
    struct explored *world = &search->world;
    const bool drawn = search->script.choosing == CHOICES_DRAWN && world->chosen;
    int error = world->out_of_memory ? CV_ENOMEM : 0;
    if (!error && !drawn)
        error = look(search, &search->taken, search->highest);
    explored_undo(world, 0);
    world->step_count = search->steps;
    search->again = next_way(search);
    search->event += !search->again;
    return error;
}

static uint64_t event_count(const struct state_search *search)
{
    const uint64_t nodes = search->world.nodes;
    const bool pairs = search->limits.suspicions || search->limits.cuts || search->world.present.cuts;
    return search->events.count + (pairs ? 2 * nodes * nodes : 0);
}

static int take_next(struct state_search *search)
{
    struct explored *world = &search->world;
    if (!search->again) {
        if (!explored_find(world, &search->events, search->event, &search->taken) ||
            !is_allowed(search, &search->taken)) {
            search->event++;
            return 0;
        }
        search->script = (struct explored_script){.sent = CV_WHOLE};
    }
    search->highest = world->present.highest_fence;
    explored_take(world, &search->taken, &search->script);
    return after_step(search);
}

static int begin_expanding(struct state_search *search)
{
    const struct met_state *met = &search->met[search->expanded];
    release(search, met->copy);
    int error = state_copy_put(met->copy, met->bytes, &search->world);
    if (!error)
        error = explored_list(&search->world, &search->events, true);
    state_node_keys(&search->world, search->node_keys);
    search->world.step_count = search->steps;
    search->event = 0;
    search->again = false;
    search->expanding = true;
    return error;
}

int state_search_more(struct state_search *search, uint64_t states)
{
    while (!search->done) {
        if (!search->expanding) {
            if (search->expanded == search->met_count) {
                search->done = true;
                break;
            }
            if (!states--)
                break;
            const int error = begin_expanding(search);
            if (error)
                return error;
        }
        while (!search->done && search->event < event_count(search)) {
            const int error = take_next(search);
            if (error)
                return error;
        }
        search->expanding = false;
        search->expanded++;
    }
    return 0;
}

bool state_search_failed(struct state_search *search, const char *why)
{
    if (!search->world.taking)
        return false;
    explored_fail(&search->world, why);
    after_step(search);
    return true;
}

/* ---- beginning ---- */

/* What may happen besides what has happened already. */
static void add_past(struct search_limits *limits, const struct explored_present *now)
{
    limits->crashes += now->crashes;
    limits->misses += now->missed;
    limits->suspicions += now->mistakes;
    limits->cuts += now->cuts;
    limits->recoveries += now->recoveries;
    limits->drops += now->losses;
    limits->duplicates += now->losses;
}

/* The world of the search begins as the story is now. */
static int copy_world(struct explored *to, const struct explored *from)
{
    const size_t bytes = state_copy_bytes(from);
    unsigned char *copy = malloc(bytes);
    if (!copy)
        return CV_ENOMEM;
    state_copy_take(from, copy);
    const int error = state_copy_put(copy, bytes, to);
    free(copy);
    return error;
}

int state_search_new(struct state_search **out, const struct explored *from, const struct search_goal *goal,
                     const struct search_limits *limits)
{
    struct cv_complaint complaint;
    struct state_search *search = *out = calloc(1, sizeof *search);
    if (!search)
        return CV_ENOMEM;
    int error = explored_begin(&search->world, from->scenario, &complaint);
    if (!error)
        error = copy_world(&search->world, from);
    search->node_keys = calloc(from->nodes, sizeof *search->node_keys);
    search->goal_nodes = calloc(from->nodes, sizeof *search->goal_nodes);
    if (error || !search->node_keys || !search->goal_nodes)
        return CV_ENOMEM;
    search->world.recording = false;
    search->steps = search->world.step_count = from->step_count;
    search->violated = from->present.violated;
    search->goal = *goal;
    search->limits = *limits;
    add_past(&search->limits, &search->world.present);
    error = meet(search, state_key(&search->world, search->limits.any_time, NULL, CV_NOBODY)) < 0 ? CV_ENOMEM : 0;
    return error ? error : keep(search, &(struct met_state){.parent = UINT32_MAX});
}

void state_search_free(struct state_search *search)
{
    if (!search)
        return;
    for (struct copy_chunk *chunk = search->oldest, *after; chunk; chunk = after) {
        after = chunk->after;
        free(chunk);
    }
    free(search->node_keys);
    free(search->goal_nodes);
    free(search->met);
    free(search->table);
    explored_events_free(&search->events);
    explored_free(&search->world);
    free(search);
}

/* ---- the answer ---- */

void state_search_progress(const struct state_search *search, struct search_progress *progress)
{
    const uint64_t at = search->expanded < search->met_count ? search->expanded : search->met_count - 1;
    *progress = (struct search_progress){.done = search->done,
                                         .found = search->found,
                                         .complete = !search->truncated,
                                         .states = search->met_count,
                                         .transitions = search->transitions,
                                         .depth = search->found ? search->last.depth : search->met[at].depth};
}

void state_search_indices(const struct state_search *search, uint64_t *indices)
{
    const struct met_state *at = &search->last;
    for (uint32_t i = at->depth; i-- > 0; at = &search->met[at->parent])
        indices[i] = at->index;
}
