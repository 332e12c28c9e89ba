// SPDX-License-Identifier: MIT
#include "explore/model_search.h"

#include <stdlib.h>
#include <string.h>

#include "check/expand/successors.h"
#include "check/search/frontier.h"
#include "check/search/judge.h"
#include "check/state/table.h"
#include "check/symmetry/counter_test.h"
#include "core/apart.h"
#include "explore/explored_step.h"

/* States expanded together. While one is worked on, the memory fetches what the others need. */
#define GROUP 12u
static_assert((GROUP + 1) * MOST_SLOTS <= MOST_ENABLED, "all enabled events of a group must fit");

/* What leads to what was found: a state, or a step out of it. */
struct lead {
    uint64_t key;        /* of the state */
    uint64_t step_key;   /* of the state after the step */
    uint32_t violations; /* by the step */
    uint32_t type;       /* of the step */
    uint32_t depth;      /* of the whole way */
    bool found, by_step;
};

struct model_search {
    struct table table;
    struct model model;
    struct expander expander;
    struct chunk_store chunks;
    struct frontier frontier;
    struct cv_scenario scenario; /* without the faults that are over */
    const struct search_goal *goal;
    const struct search_limits *limits;
    uint32_t violated;                    /* what is violated already: a bit for each property */
    uint32_t first[MOST_SLOTS];           /* the state that it begins with */
    struct fingerprint first_fingerprint; /* of that */
    struct chunk *chunk;                  /* that is being expanded, NULL: none; */
    uint32_t at;                          /* its next state */
    uint32_t group[GROUP][MOST_SLOTS];    /* the states that are being expanded, and for each: */
    struct fingerprint fingerprints[GROUP];
    struct enabled_set enabled_sets[GROUP];
    uint32_t ends[GROUP];        /* where its successors end */
    uint32_t obligations[GROUP]; /* how many of them must happen */
    uint32_t depth;              /* of the states that are being expanded */
    uint64_t states, transitions;
    bool done, truncated;
    struct lead lead;
};

/* ---- beginning ---- */

bool model_search_takes(const struct explored *world, const struct search_limits *limits)
{
    const struct cv_scenario *scenario = world->scenario;
    if ((world->algorithm->problem != CV_ELECTION && !world->mutex) || world->nodes > CV_CHECK_MOST_NODES ||
        limits->full || limits->drops || limits->duplicates || scenario->blind_count || scenario->alternate_count ||
        scenario->app || world->views || world->present.unstarted || world->present.planned_done < world->planned_count)
        return false;
    if ((limits->recoveries || world->present.recoveries) && !world->graph)
        return false; /* in the checker the others suspect a node that is back until they are told */
    for (uint32_t i = 0; i < scenario->partition_count; i++)
        if (world->partitioned[i])
            return false;
    for (uint32_t i = 0; i < scenario->crash_count; i++)
        if (scenario->crashes[i].moment != CV_AT && !world->crash_done[i])
            return false;
    return true;
}

static bool has_cut_links(const struct explored *world)
{
    for (size_t i = 0; i < ((size_t)world->nodes * world->nodes + 31) / 32; i++)
        if (world->cut[i])
            return true;
    return false;
}

/* What the checker settles by its options, the story has settled by what has happened. */
static void settle(struct model_search *search, const struct explored *world)
{
    struct setting *setting = &search->model.setting;
    const struct explored_present *now = &world->present;
    const bool calm = !now->crashes && !now->mistakes && !now->cuts && !now->losses && !now->seen;
    setting->claims = world->claims;
    setting->any_caller = world->any_caller;
    setting->best_always = world->best_always && calm;
    setting->agree_always = world->agree_always && calm;
    setting->validates = setting->validates && explored_keeps_assumptions(world);
    setting->may_partition = true;
    setting->group.absence |= world->group.absence;
}

static struct cv_check_options options_of(const struct explored *world, const struct search_limits *limits)
{
    return (struct cv_check_options){.callers = UINT32_MAX,
                                     .inside = CV_NOBODY,
                                     .crashes = (uint32_t)limits->crashes,
                                     .missed = (uint32_t)limits->misses,
                                     .suspicions = (uint32_t)limits->suspicions,
                                     .recoveries = (uint32_t)limits->recoveries,
                                     .cuts = limits->cuts ? (uint32_t)limits->cuts : has_cut_links(world),
                                     .threads = 1,
                                     .any_time = limits->any_time};
}

static uint32_t requests_left(const struct explored *world, cv_node node)
{
    const struct cv_scenario *scenario = world->scenario;
    const uint64_t made = explored_node(world, node)->requests;
    uint64_t all = scenario->wish_count ? 0 : scenario->entries;
    for (uint32_t i = 0; i < scenario->wish_count; i++)
        all += scenario->wishes[i].node == node;
    return world->mutex && all > made ? (uint32_t)(all - made) : 0;
}

/* Timers count from now, or from the one that is due first if that was due before. */
static uint64_t time_of(const struct explored *world)
{
    uint64_t time = world->present.now;
    for (cv_node node = 0; node < world->nodes; node++)
        for (uint32_t timer = 0; explored_alive(world, node) && timer < world->timers; timer++) {
            const uint64_t due = explored_node(world, node)->timers[timer];
            if (due && due - 1 < time)
                time = due - 1;
        }
    return time;
}

static_assert((int)NODE_ALIVE == EXPLORED_ALIVE && (int)NODE_FRESH == EXPLORED_FRESH &&
                  (int)NODE_STARTED == EXPLORED_STARTED && (int)NODE_KNOWS == EXPLORED_KNOWS &&
                  (int)NODE_CALLING == EXPLORED_CALLING && (int)NODE_WAITING == EXPLORED_WAITING &&
                  (int)NODE_INSIDE == EXPLORED_INSIDE,
              "flags are taken over as they are");
#define SHARED_FLAGS (2u * NODE_INSIDE - 1)

static uint32_t take_node(struct model_search *search, const struct explored *world, cv_node node)
{
    struct model *model = &search->model;
    const struct setting *setting = &model->setting;
    const struct explored_node *it = explored_node(world, node);
    struct node_state *taken = search->expander.stepper.scratch;
    if (!(it->flags & EXPLORED_ALIVE) && !setting->options.recoveries)
        return model->dead[node];
    memset(taken, 0, node_state_most_bytes(setting));
    taken->node = node;
    taken->requests_left = requests_left(world, node);
    taken->clock = setting_clock(setting, 0, it->clock);
    if (!(it->flags & EXPLORED_ALIVE))
        return model_add_node_state(model, taken);
    taken->flags = it->flags & SHARED_FLAGS & ~(setting->any_caller ? (uint32_t)NODE_STARTED : 0);
    taken->leader = it->leader;
    taken->suspects = *explored_set(world, node, SET_SUSPECTS);
    taken->unheard = *explored_set(world, node, SET_UNHEARD);
    taken->back = *explored_set(world, node, SET_BACK);
    for (uint32_t timer = 0; timer < world->timers; timer++)
        if (it->timers[timer])
            taken->timers[timer] = setting->options.any_time ? 1 : it->timers[timer] - time_of(world);
    memcpy(taken->state, explored_state(world, node), setting_state_bytes(setting, node));
    return model_add_node_state(model, taken);
}

static void take_world(struct model_search *search, const struct explored *world)
{
    struct model *model = &search->model;
    const struct search_limits *limits = search->limits;
    struct budgets budgets = {.highest_fence =
                                  model->setting.claims & CV_FENCES_RISE ? world->present.highest_fence : 0,
                              .crashes = (uint32_t)limits->crashes,
                              .misses = (uint32_t)limits->misses,
                              .suspicions = (uint32_t)limits->suspicions,
                              .recoveries = (uint32_t)limits->recoveries,
                              .cuts = (uint32_t)limits->cuts};
    for (cv_node node = 0; node < world->nodes; node++) {
        search->first[node] = take_node(search, world, node);
        budgets.missed |= (uint32_t)explored_is(world, node, EXPLORED_MISSED) << node;
        for (cv_node other = node + 1; other < world->nodes; other++)
            if (cv_bits_has(world->cut, node * world->nodes + other))
                cv_links_flip(&budgets.cut_links, node, other);
    }
    search->first[world->nodes] = model_add_budgets(model, &budgets);
    for (const struct explored_message *it = world->present.first; it; it = it->after) {
        uint32_t *channel = &search->first[model_channel(model, it->content.from, it->content.to)];
        *channel = model_put(model, *channel, model_add_message(model, &it->content, 0));
    }
    search->first_fingerprint = model_fingerprint(model, search->first);
}

/* ---- states that were met ---- */

static enum table_answer meet(struct model_search *search, struct fingerprint key, uint64_t parent, uint32_t depth)
{
    struct table *table = &search->table;
    enum table_answer answer;
    while ((answer = table_add(table, key, parent, depth)) == TABLE_FULL)
        if (table_grow(table, 2 * table->room))
            return TABLE_FULL;
    table->count += answer == TABLE_NEW;
    search->states += answer == TABLE_NEW;
    return answer;
}

/* Where the state goes that waits to be expanded; NULL: no memory. */
static uint32_t *queue(struct model_search *search, const uint32_t *state, struct fingerprint fingerprint)
{
    struct chunk *chunk = frontier_chunk(&search->frontier, search->model.slots);
    if (!chunk)
        return NULL;
    uint32_t *place = chunk_append(chunk, fingerprint);
    memcpy(place, state, chunk->slots * sizeof *state);
    return place;
}

int model_search_new(struct model_search **out, const struct explored *world, const struct search_goal *goal,
                     const struct search_limits *limits)
{
    struct model_search *search = *out = cv_new_apart(sizeof *search);
    if (!search)
        return CV_ENOMEM;
    search->goal = goal;
    search->limits = limits;
    search->violated = world->present.violated;
    search->scenario = *world->scenario;
    search->scenario.crash_count = search->scenario.recovery_count = search->scenario.suspicion_count = 0;
    search->scenario.partition_count = 0;
    chunk_store_init(&search->chunks);
    frontier_init(&search->frontier, &search->chunks, false);
    const struct cv_check_options options = options_of(world, limits);
    int error = model_init(&search->model, &search->scenario, &options);
    settle(search, world);
    if (!error)
        error = counter_test_register(&search->model);
    if (!error)
        error = expander_init(&search->expander, &search->model, NULL);
    if (!error)
        error = table_init(&search->table, false);
    if (error)
        return error;
    take_world(search, world);
    meet(search, search->first_fingerprint, 0, 0);
    if (search->model.out_of_memory || !queue(search, search->first, search->first_fingerprint))
        return CV_ENOMEM;
    frontier_advance(&search->frontier);
    return 0;
}

void model_search_free(struct model_search *search)
{
    if (!search)
        return;
    if (search->expander.model)
        expander_free(&search->expander);
    table_free(&search->table);
    frontier_free(&search->frontier);
    chunk_store_free(&search->chunks);
    model_free(&search->model);
    free(search);
}

/* ---- what is looked for ---- */

static bool is_wanted_state(const struct model_search *search, const uint32_t *state)
{
    struct goal_node nodes[CV_CHECK_MOST_NODES];
    for (cv_node node = 0; node < search->model.setting.nodes; node++) {
        const struct node_state *it = model_node_state(&search->model, state[node]);
        nodes[node] = (struct goal_node){it->flags, it->leader};
    }
    return search_goal_is_met(search->goal, &search->model.setting.group, nodes);
}

static uint32_t wanted_violations(const struct model_search *search, uint32_t violations)
{
    return search_goal_claimed(violations, search->model.setting.claims) & search->goal->properties & ~search->violated;
}

static void note_step(struct model_search *search, uint64_t parent, const struct successor *successor)
{
    search->lead = (struct lead){.key = parent,
                                 .step_key = successor->key.half[0],
                                 .violations = successor->violations,
                                 .type = successor->type,
                                 .depth = search->depth + 1,
                                 .found = true,
                                 .by_step = true};
}

/* Does a run that ends in that state violate something new? 0 or CV_ENOMEM. */
static int judge_state(struct model_search *search, const uint32_t *state, struct fingerprint fingerprint)
{
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++) {
        const struct cv_property *property = cv_property((enum cv_property_number)i);
        struct cv_finding finding;
        if (!property->checked || !wanted_violations(search, 1u << i))
            continue;
        if (judge_end(&search->model, state, false, property->name, &finding))
            return CV_ENOMEM;
        if (finding.verdict != CV_VIOLATED)
            continue;
        search->lead = (struct lead){.key = fingerprint.half[0], .depth = search->depth, .found = true};
        search->done = true;
        return 0;
    }
    return 0;
}

/* ---- expanding ---- */

/* A state that was not met before. 0 or CV_ENOMEM. */
static int take_new(struct model_search *search, const uint32_t *state, const struct successor *successor,
                    uint64_t parent)
{
    uint32_t *place = queue(search, state, successor->fingerprint);
    if (!place)
        return CV_ENOMEM;
    expand_apply(&search->expander, successor, place);
    if (search->goal->state && is_wanted_state(search, place)) {
        note_step(search, parent, successor);
        search->done = true;
    }
    return 0;
}

/* Of the state of that number in the group. */
static int take_successors(struct model_search *search, uint32_t number)
{
    const struct search_limits *limits = search->limits;
    const uint64_t parent = search->fingerprints[number].half[0];
    const bool deep = search->depth + 1 >= limits->depth;
    for (uint32_t i = number ? search->ends[number - 1] : 0; i < search->ends[number] && !search->done; i++) {
        const struct successor *successor = &search->expander.successors[i];
        search->transitions++;
        if (__builtin_expect(successor->violations, 0) && !search->lead.found &&
            wanted_violations(search, successor->violations))
            note_step(search, parent, successor);
        if (__builtin_expect(deep || search->states >= limits->states, 0)) {
            search->truncated = true;
            continue;
        }
        const enum table_answer answer = meet(search, successor->key, parent, search->depth + 1);
        if (answer == TABLE_FULL || (answer == TABLE_NEW && take_new(search, search->group[number], successor, parent)))
            return CV_ENOMEM;
    }
    return 0;
}

/* As the checker does it: each step for the whole group before the next. */
static void expand_states(struct model_search *search, uint32_t count)
{
    struct expander *expander = &search->expander;
    const uint32_t slots = search->model.slots;
    expand_clear(expander);
    for (uint32_t i = 0; i < count; i++) {
        search->fingerprints[i] = chunk_state(search->chunk, search->at + i, slots, search->group[i]);
        expand_find_enabled(expander, search->group[i], &search->enabled_sets[i]);
    }
    expand_find_outcomes(expander);
    for (uint32_t i = 0, from = 0; i < count; i++, from = expander->count) {
        expander->obligations = 0;
        expand_all(expander, search->group[i], search->fingerprints[i], &search->enabled_sets[i]);
        search->ends[i] = expander->count;
        search->obligations[i] = expander->obligations;
        for (uint32_t j = from; j < expander->count; j++)
            table_expect(&search->table, expander->successors[j].key);
    }
}

/*
 * After a step was found that violates something, only a state as deep as its beginning can be better: an end. Not
 * inlined: an engine of WebAssembly makes fast code of a function when it is called again. 0 or CV_ENOMEM.
 */
static __attribute__((noinline)) int expand_group(struct model_search *search, uint32_t count)
{
    int error = 0;
    expand_states(search, count);
    if (search->model.out_of_memory)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < count && !search->done && !error; i++) {
        if (!search->lead.found)
            error = take_successors(search, i);
        if (!error && !search->obligations[i] && search->depth && search->goal->properties)
            error = judge_state(search, search->group[i], search->fingerprints[i]);
    }
    search->at += count;
    if (search->at == search->chunk->count) {
        frontier_drop(&search->frontier, search->chunk);
        search->chunk = NULL;
    }
    return error;
}

/* The next states to expand; false if there are none. */
static bool next_chunk(struct model_search *search)
{
    search->at = 0;
    search->chunk = frontier_take(&search->frontier);
    if (search->chunk)
        return true;
    if (search->lead.found || !frontier_advance(&search->frontier))
        return false;
    expander_tidy(&search->expander);
    search->depth++;
    search->chunk = frontier_take(&search->frontier);
    return true;
}

int model_search_more(struct model_search *search, uint64_t states)
{
    while (!search->done) {
        if (!search->chunk && !next_chunk(search)) {
            search->done = true;
            break;
        }
        const uint32_t left = search->chunk->count - search->at, most = left < GROUP ? left : GROUP;
        const uint32_t count = states < most ? (uint32_t)states : most;
        if (!count)
            break;
        const int error = expand_group(search, count);
        if (error)
            return error;
        states -= count;
    }
    return 0;
}

void model_search_progress(const struct model_search *search, struct search_progress *progress)
{
    *progress = (struct search_progress){.done = search->done,
                                         .found = search->done && search->lead.found,
                                         .complete = !search->truncated,
                                         .states = search->states,
                                         .transitions = search->transitions,
                                         .depth = search->lead.found ? search->lead.depth : search->depth};
}

bool model_search_is_doubted(const struct model_search *search)
{
    return search->model.promise_doubted;
}

/* ---- the way there ---- */

/* The message that a successor of the state delivers, or NULL. */
static const struct cv_message *delivered(const struct model_search *search, const uint32_t *state,
                                          const struct successor *successor)
{
    const struct model *model = &search->model;
    if (successor->type != CV_DECIDE_DELIVER)
        return NULL;
    uint32_t contents = state[model->channels[successor->peer * model->setting.nodes + successor->node]];
    for (uint32_t i = 0; i < successor->which; i++)
        contents = model_contents(model, contents)->rest;
    return model_message(model, model_contents(model, contents)->first);
}

static bool is_same_key(uint64_t one, uint64_t other)
{
    return ((one ^ other) & TABLE_LOWER_48) == 0;
}

/* Takes the step to the state of that key. `last`: the step that violates something. */
static bool step_to(struct model_search *search, struct fingerprint *fingerprint, uint64_t key, bool last,
                    model_search_hear *hear, void *context)
{
    struct expander *expander = &search->expander;
    uint32_t *state = search->group[0];
    expand_clear(expander);
    expand(expander, state, *fingerprint, EVERY_NODE);
    for (uint32_t i = 0; i < expander->count; i++) {
        const struct successor *successor = &expander->successors[i];
        if (!is_same_key(successor->key.half[0], key) ||
            (last && (successor->violations != search->lead.violations || successor->type != search->lead.type)))
            continue;
        const struct cv_decision decision = expand_decision(successor);
        if (!hear(context, &decision, delivered(search, state, successor)))
            return false;
        *fingerprint = successor->fingerprint;
        expand_apply(expander, successor, state);
        return true;
    }
    return false;
}

bool model_search_tell(struct model_search *search, model_search_hear *hear, void *context)
{
    const uint32_t steps = search->lead.depth;
    uint64_t *keys = malloc((steps + 1) * sizeof *keys);
    struct fingerprint fingerprint = search->first_fingerprint;
    uint32_t at = steps;
    if (!keys)
        return false;
    if (search->lead.by_step)
        keys[at--] = search->lead.step_key;
    keys[at] = search->lead.key;
    while (at > 0 && table_parent(&search->table, keys[at], &keys[at - 1]))
        at--;
    bool good = at == 0;
    memcpy(search->group[0], search->first, sizeof search->first);
    for (uint32_t i = 1; good && i <= steps; i++)
        good = step_to(search, &fingerprint, keys[i], i == steps && search->lead.by_step, hear, context);
    free(keys);
    return good;
}
