// SPDX-License-Identifier: MIT
#include "explore/state_search.h"

#include <stdlib.h>
#include <string.h>

#include "explore/explored_events.h"
#include "explore/explored_judge.h"
#include "explore/explored_network.h"
#include "explore/explored_step.h"
#include "explore/state_key.h"

#define MOST_STATES 1000000u
#define LEAST_CHUNK ((size_t)1 << 18)
#define MOST_CHUNK ((size_t)1 << 25)

/* Which faults a search may add to the story, and how far it goes. */
struct search_limits {
    uint64_t crashes, misses, suspicions, cuts, recoveries, drops, duplicates;
    uint64_t states, depth;
    bool any_time;
};

struct search_goal {
    uint32_t properties;        /* a bit for each whose violation is wanted */
    bool state;                 /* a state is wanted, with */
    uint64_t leaders;           /* so many live nodes that lead, */
    uint64_t different;         /* so many different leaders of live nodes, */
    uint64_t inside;            /* so many nodes inside, */
    uint64_t waiting;           /* so many that wait, */
    uint64_t know;              /* so many that know a leader, */
    uint64_t leader, leader_of; /* that node following that one; UINT64_MAX: any */
};

/* A state that was met: how it was reached. */
struct met_state {
    uint64_t index; /* of the event */
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
    uint64_t *node_keys;           /* of that state */
    struct explored_event taken;   /* the one that is being taken */
    uint64_t highest;              /* the highest fence before it */
    uint64_t event;                /* the next of them */
    uint64_t expanded;             /* states */
    uint64_t transitions;
    uint64_t steps; /* taken in the story that it begins with */
    bool expanding;
    bool truncated; /* something was left out: the limit of states or depth, or choices */
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

static bool is_leader(const struct explored *world, cv_node node)
{
    const struct explored_node *it = explored_node(world, node);
    return it->flags & EXPLORED_ALIVE && it->flags & EXPLORED_KNOWS && it->leader == world->group.ids[node];
}

/* Does no live node before this one follow the same leader? */
static bool is_first_follower(const struct explored *world, cv_node node)
{
    for (cv_node other = 0; other < node; other++)
        if (explored_alive(world, other) && explored_is(world, other, EXPLORED_KNOWS) &&
            explored_node(world, other)->leader == explored_node(world, node)->leader)
            return false;
    return true;
}

static bool is_wanted_state(const struct state_search *search)
{
    const struct explored *world = &search->world;
    const struct search_goal *goal = &search->goal;
    uint64_t leaders = 0, different = 0, inside = 0, waiting = 0, know = 0;
    for (cv_node node = 0; node < world->nodes; node++) {
        const struct explored_node *it = explored_node(world, node);
        if (!(it->flags & EXPLORED_ALIVE))
            continue;
        leaders += is_leader(world, node);
        know += (it->flags & EXPLORED_KNOWS) != 0;
        different += it->flags & EXPLORED_KNOWS && is_first_follower(world, node);
        inside += (it->flags & EXPLORED_INSIDE) != 0;
        waiting += (it->flags & EXPLORED_WAITING) != 0;
    }
    const bool follows =
        goal->leader_of >= world->nodes || (explored_is(world, (cv_node)goal->leader_of, EXPLORED_KNOWS) &&
                                            explored_node(world, (cv_node)goal->leader_of)->leader == goal->leader);
    return leaders >= goal->leaders && different >= goal->different && inside >= goal->inside &&
           waiting >= goal->waiting && know >= goal->know && follows;
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

/* Only what the algorithm claims is violated; but a request that is never served makes any run bad. */
static uint32_t claimed(const struct explored *world, uint32_t bits)
{
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++) {
        const uint32_t claim = cv_property((enum cv_property_number)i)->claim;
        if (claim && !(claim & world->claims) && i != CV_PROPERTY_EVERY_REQUEST)
            bits &= ~(1u << i);
    }
    return bits;
}

static bool is_found(struct state_search *search, const struct explored_event *event, uint64_t highest)
{
    if (search->goal.state)
        return is_wanted_state(search);
    const uint32_t bits =
        claimed(&search->world, violations_of_step(search, event, highest) | violations_of_end(search));
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
    return type != EVENT_RECOVER && type != EVENT_CUT && type != EVENT_HEAL && type != EVENT_VIEW &&
           !search->world.scenario->app;
}

/* After a step was taken: is it what was looked for, is its state new? */
static int look(struct state_search *search, const struct explored_event *event, uint64_t highest)
{
    struct explored *world = &search->world;
    const uint64_t parent = search->expanded;
    struct met_state how = {.index = event->index, .parent = (uint32_t)parent, .depth = search->met[parent].depth + 1};
    search->transitions++;
    search->truncated |= world->chosen > 0; /* the choices are the simulator's, so that indices say all */
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

/* After the step, whether it failed or not. 0 or CV_ENOMEM. */
static int after_step(struct state_search *search)
{
    struct explored *world = &search->world;
    const int error = world->out_of_memory ? CV_ENOMEM : look(search, &search->taken, search->highest);
    explored_undo(world, 0);
    world->step_count = search->steps;
    search->event++;
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
    if (!explored_find(world, &search->events, search->event, &search->taken) || !is_allowed(search, &search->taken)) {
        search->event++;
        return 0;
    }
    search->highest = world->present.highest_fence;
    explored_take(world, &search->taken, &(struct explored_script){.sent = CV_WHOLE});
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

static int read_goal(struct state_search *search, const struct json_value *goal, struct cv_complaint *complaint)
{
    const char *kind = json_text(goal, "kind"), *name = json_text(goal, "name");
    struct search_goal *wanted = &search->goal;
    *wanted = (struct search_goal){.leaders = json_number(goal, "leaders", 0),
                                   .different = json_number(goal, "different", 0),
                                   .inside = json_number(goal, "inside", 0),
                                   .waiting = json_number(goal, "waiting", 0),
                                   .know = json_number(goal, "know", 0),
                                   .leader = json_number(goal, "leader", UINT64_MAX),
                                   .leader_of = json_number(goal, "of", UINT64_MAX)};
    if (!kind || strcmp(kind, "violation") == 0) {
        wanted->properties = UINT32_MAX;
        return 0;
    }
    wanted->state = strcmp(kind, "state") == 0;
    for (uint32_t i = 0; strcmp(kind, "property") == 0 && name && i < CV_PROPERTY_COUNT; i++)
        if (strcmp(cv_property((enum cv_property_number)i)->name, name) == 0)
            wanted->properties = 1u << i;
    if (wanted->state || wanted->properties)
        return 0;
    return cv_complain(complaint, "goal: expected kind violation, state, or property with the name of one");
}

/* What may happen besides what has happened already. */
static void read_limits(struct state_search *search, const struct json_value *limits)
{
    const struct explored_present *now = &search->world.present;
    const char *timeouts = json_text(limits, "timeouts");
    search->limits = (struct search_limits){
        .crashes = now->crashes + json_number(limits, "crashes", 0),
        .misses = now->missed + json_number(limits, "missed", 0),
        .suspicions = now->mistakes + json_number(limits, "suspicions", 0),
        .cuts = now->cuts + json_number(limits, "cuts", 0),
        .recoveries = now->recoveries + json_number(limits, "recoveries", 0),
        .drops = now->losses + json_number(limits, "drops", 0),
        .duplicates = now->losses + json_number(limits, "duplicates", 0),
        .states = json_number(limits, "states", 200000),
        .depth = json_number(limits, "depth", UINT32_MAX),
        .any_time = timeouts && strcmp(timeouts, "any") == 0,
    };
    if (search->limits.states > MOST_STATES)
        search->limits.states = MOST_STATES;
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

int state_search_new(struct state_search **out, struct explored *from, const struct json_value *arguments,
                     struct cv_complaint *complaint)
{
    struct state_search *search = *out = calloc(1, sizeof *search);
    if (!search)
        return CV_ENOMEM;
    int error = explored_begin(&search->world, from->scenario, complaint);
    if (!error)
        error = copy_world(&search->world, from);
    search->node_keys = calloc(from->nodes, sizeof *search->node_keys);
    if (!search->node_keys)
        error = CV_ENOMEM;
    if (error)
        return error;
    search->world.recording = false;
    search->steps = search->world.step_count = from->step_count;
    search->violated = from->present.violated;
    read_limits(search, json_get(arguments, "limits"));
    error = read_goal(search, json_get(arguments, "goal"), complaint);
    if (!error)
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
    free(search->met);
    free(search->table);
    explored_events_free(&search->events);
    explored_free(&search->world);
    free(search);
}

/* ---- the answer ---- */

static void tell_indices(struct cv_json *json, const struct state_search *search, const struct met_state *to)
{
    if (to->parent == UINT32_MAX)
        return;
    tell_indices(json, search, &search->met[to->parent]);
    cv_json_count(json, NULL, to->index);
}

void state_search_tell(struct cv_json *json, const struct state_search *search)
{
    const uint64_t at = search->expanded < search->met_count ? search->expanded : search->met_count - 1;
    cv_json_open(json, NULL, '{');
    cv_json_truth(json, "done", search->done);
    if (search->done)
        cv_json_truth(json, "found", search->found);
    if (search->found) {
        cv_json_open(json, "indices", '[');
        tell_indices(json, search, &search->last);
        cv_json_close(json, ']');
    }
    if (search->done && !search->found)
        cv_json_truth(json, "complete", !search->truncated);
    cv_json_count(json, "states", search->met_count);
    cv_json_count(json, "transitions", search->transitions);
    cv_json_count(json, "depth", search->found ? search->last.depth : search->met[at].depth);
    cv_json_close(json, '}');
}
