// SPDX-License-Identifier: MIT
#include "check/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/counting.h"
#include "check/memory.h"
#include "check/twin.h"

/* One for every place there can be: address space, not memory. */
#define GLANCES ((size_t)INTERN_BLOCKS * INTERN_BLOCK)

int model_init(struct model *model, const struct cv_scenario *scenario, const struct cv_check_options *options)
{
    pthread_mutex_init(&model->lock, NULL);
    int error = setting_init(&model->setting, scenario, options);
    if (!error)
        error = intern_init(&model->places);
    if (!error)
        error = intern_init(&model->messages);
    if (!error)
        error = intern_init(&model->contents);
    if (!error)
        error = intern_init(&model->worlds);
    if (!error)
        error = habits_init(&model->habits);
    if (!error && !(model->glances = memory_reserve(GLANCES)))
        error = CV_ENOMEM;
    if (error)
        return error;
    model->parts = model->setting.nodes + 1;
    /* Number 0: empty. */
    if (intern_add(&model->contents, &(struct contents){0}, sizeof(struct contents)) == INTERN_NONE)
        return CV_ENOMEM;
    for (cv_node node = 0; node < model->setting.nodes; node++)
        model->dead[node] = model_add_place(model, &(struct place){.node = node});
    return model->out_of_memory || counting_test_new(&model->counting, model) ? CV_ENOMEM : 0;
}

void model_free(struct model *model)
{
    twins_free(model->twins);
    counting_test_free(model->counting);
    intern_free(&model->places);
    intern_free(&model->messages);
    intern_free(&model->contents);
    intern_free(&model->worlds);
    habits_free(&model->habits);
    memory_release((void *)model->glances, GLANCES);
    setting_free(&model->setting);
    pthread_mutex_destroy(&model->lock);
}

uint64_t model_bytes(const struct model *model)
{
    return model->places.bytes + model->messages.bytes + model->contents.bytes + model->worlds.bytes +
           model->habits.bytes;
}

static uint32_t add(struct model *model, struct intern *intern, const void *bytes, size_t length)
{
    const uint32_t number = intern_add(intern, bytes, length);
    if (number != INTERN_NONE)
        return number;
    model->out_of_memory = true;
    return 0;
}

static uint8_t glance_at(const struct model *model, const struct place *place)
{
    if (!(place->flags & PLACE_ALIVE))
        return 0;
    if (place->flags & PLACE_INSIDE)
        return GLANCE_LEAVE;
    if (place->flags & PLACE_FRESH && model->setting.options.callers & 1u << place->node)
        return GLANCE_CALL;
    return place->left && !(place->flags & PLACE_WAITING) ? GLANCE_ASK : 0;
}

/* The dead have no state. */
uint32_t model_add_place(struct model *model, const struct place *place)
{
    const bool alive = place->flags & PLACE_ALIVE;
    const uint32_t number =
        add(model, &model->places, place, alive ? place_bytes(&model->setting, place->node) : sizeof *place);
    atomic_store_explicit(&model->glances[number], glance_at(model, place), memory_order_relaxed);
    return number;
}

uint32_t model_add_world(struct model *model, const struct world *world)
{
    return add(model, &model->worlds, world, sizeof *world);
}

uint32_t model_add_message(struct model *model, const struct cv_message *message, uint32_t alive)
{
    uint64_t small[16];
    const size_t bytes = cv_message_bytes(message);
    struct cv_message *copy = bytes <= sizeof small ? (struct cv_message *)(void *)small : malloc(bytes);
    if (!copy) {
        model->out_of_memory = true;
        return 0;
    }
    memcpy(copy, message, bytes);
    copy->clock = clock_of(&model->setting, alive, message->clock) & ((1ull << 40) - 1);
    const uint32_t number = add(model, &model->messages, copy, bytes);
    if ((void *)copy != (void *)small)
        free(copy);
    return number;
}

/* ---- promises ---- */

void model_break_promise(struct model *model, bool indeed, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&model->lock);
    /* Without memory nothing is like anything. */
    if (!model->out_of_memory && (!model->unlike || (indeed && !model->unlike_indeed))) {
        vsnprintf(model->unlike_text, sizeof model->unlike_text, format, arguments);
        model->unlike_indeed = indeed;
        model->unlike = true;
    }
    pthread_mutex_unlock(&model->lock);
    va_end(arguments);
}

void model_describe(const struct model *model, cv_node node, enum cv_decision_type type,
                    const struct cv_message *message, char *text, size_t size)
{
    static const char *const doing[] = {
        [CV_DECIDE_START] = "calling", [CV_DECIDE_REQUEST] = "asking", [CV_DECIDE_LEAVE] = "leaving"};
    const cv_id *ids = model->setting.group.ids;
    if (message)
        snprintf(text, size, "node %u hearing %s from %u", ids[node],
                 model->setting.algorithm->kinds[message->kind].name, ids[message->from]);
    else
        snprintf(text, size, "node %u %s", ids[node], type <= CV_DECIDE_LEAVE ? doing[type] : "in a step");
}

/* ---- channels ---- */

uint32_t model_cons(struct model *model, uint32_t first, uint32_t rest)
{
    const struct print here = model_contents_print(first, rest), behind = model_contents(model, rest)->here;
    const struct contents contents = {first, rest, here, print_minus(behind, here)};
    return add(model, &model->contents, &contents, sizeof contents);
}

uint32_t model_put(struct model *model, uint32_t contents, uint32_t message)
{
    const struct contents *list = model_contents(model, contents);
    const bool here = !contents || (model->setting.scenario->unordered && message < list->first);
    if (here)
        return model_cons(model, message, contents);
    return model_cons(model, list->first, model_put(model, list->rest, message));
}

uint32_t model_put_back(struct model *model, uint32_t first, uint32_t rest)
{
    return model->setting.scenario->unordered ? model_put(model, rest, first) : model_cons(model, first, rest);
}

uint32_t model_take(struct model *model, uint32_t contents, uint32_t place)
{
    const struct contents *list = model_contents(model, contents);
    return place ? model_cons(model, list->first, model_take(model, list->rest, place - 1)) : list->rest;
}

uint32_t model_channel(struct model *model, cv_node from, cv_node to)
{
    const uint32_t pair = from * model->setting.nodes + to;
    uint32_t part = atomic_load_explicit(&model->channels[pair], memory_order_acquire);
    if (part)
        return part;
    pthread_mutex_lock(&model->lock);
    part = model->channels[pair];
    if (!part) {
        part = model->parts;
        model->from[part] = (uint8_t)from;
        model->to[part] = (uint8_t)to;
        atomic_store_explicit(&model->channels[pair], part, memory_order_release);
        model->parts = part + 1;
    }
    pthread_mutex_unlock(&model->lock);
    return part;
}

struct print model_fingerprint(const struct model *model, const uint32_t *state)
{
    const uint32_t nodes = model->setting.nodes;
    struct print sum = {.half = {0}};
    for (uint32_t part = 0; part < model->parts; part++)
        sum = print_plus(sum, part <= nodes ? model_print(state[part], part == nodes)
                                            : model_contents(model, state[part])->here);
    return sum;
}

/* ---- topology ---- */

static bool is_neighbour(const struct cv_group *group, cv_node from, cv_node to)
{
    for (uint64_t e = group->edges[from]; e < group->edges[from + 1]; e++)
        if (group->neighbours[e] == to)
            return true;
    return false;
}

/* The nearest in that direction that would not be skipped. */
static cv_node next_present(uint32_t nodes, cv_node from, uint32_t step, uint32_t present)
{
    cv_node next = from;
    do
        next = (next + step) % nodes;
    while (next != from && !(present & 1u << next));
    return next;
}

bool model_may_send(const struct model *model, uint32_t place, uint32_t alive, cv_node to)
{
    const struct cv_group *group = &model->setting.group;
    const struct place *it = model_place(model, place);
    const uint32_t present = alive & ~it->suspects;
    if (group->topology == CV_COMPLETE || to == it->node)
        return true;
    if (group->topology == CV_GRAPH)
        return is_neighbour(group, it->node, to);
    return next_present(group->nodes, it->node, 1, present) == to ||
           (group->topology == CV_RING_BOTH && next_present(group->nodes, it->node, group->nodes - 1, present) == to);
}

/* ---- the beginning ---- */

static int begin_node(struct model *model, struct host *host, cv_node node, uint32_t *state)
{
    struct place *place = calloc(1, place_bytes(&model->setting, node));
    if (!place)
        return CV_ENOMEM;
    if (!host_begin(host, place, node)) {
        model->mishap = host->mishap;
        free(place);
        return CV_EINPUT;
    }
    state[node] = model_add_place(model, place);
    free(place);
    if (model->twins)
        twins_begin(model->twins, host, node, state[node]);
    for (size_t at = 0; at < host->self.used;) {
        const struct cv_message *message = (const void *)(host->self.outbox + at);
        at += cv_message_bytes(message);
        const uint32_t part = model_channel(model, message->from, message->to);
        state[part] = model_put(model, state[part], model_add_message(model, message, 0));
    }
    return 0;
}

int model_begin(struct model *model, uint32_t *state)
{
    const struct cv_check_options *options = &model->setting.options;
    struct host host;
    int error = host_init(&host, &model->setting);
    memset(state, 0, MOST_PARTS * sizeof *state);
    for (cv_node node = 0; node < model->setting.nodes && !error; node++)
        error = begin_node(model, &host, node, state);
    const bool counted = options->inside != CV_NOBODY && model->setting.claims & CV_FENCES_RISE;
    const uint64_t first = counted ? FIRST_FENCE : 0;
    state[model->setting.nodes] = model_add_world(model, &(struct world){.highest = first,
                                                                         .crashes = options->crashes,
                                                                         .misses = options->missed,
                                                                         .suspicions = options->suspicions,
                                                                         .recoveries = options->recoveries,
                                                                         .cuts = options->cuts});
    host_free(&host);
    return error ? error : model->out_of_memory ? CV_ENOMEM : 0;
}
