// SPDX-License-Identifier: MIT
#include "check/state/model.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/state/memory.h"
#include "core/scenario/label.h"

/* One byte for every possible number of a node state. It takes address space, not memory. */
#define OWN_EVENTS ((size_t)INTERN_BLOCKS * INTERN_BLOCK)

int model_init(struct model *model, const struct cv_scenario *scenario, const struct cv_check_options *options)
{
    pthread_mutex_init(&model->lock, NULL);
    int error = setting_init(&model->setting, scenario, options);
    if (!error)
        error = intern_init(&model->node_states, 1);
    if (!error)
        error = intern_init(&model->messages, 2);
    if (!error)
        error = intern_init(&model->contents, 3);
    if (!error)
        error = intern_init(&model->budget_sets, 4);
    if (!error)
        error = observed_init(&model->observations);
    if (!error && !(model->own_events = memory_reserve(OWN_EVENTS)))
        error = CV_ENOMEM;
    if (error)
        return error;
    model->slots = model->setting.nodes + 1;
    /* Number 0 is the empty channel. */
    if (intern_add(&model->contents, &(struct contents){0}, sizeof(struct contents)) == INTERN_NONE)
        return CV_ENOMEM;
    for (cv_node node = 0; node < model->setting.nodes; node++)
        model->dead[node] = model_add_node_state(model, &(struct node_state){.node = node});
    return model->out_of_memory ? CV_ENOMEM : 0;
}

void model_free(struct model *model)
{
    while (model->promise_tests) {
        struct promise_test *next = model->promise_tests->next;
        model->promise_tests->free(model->promise_tests);
        model->promise_tests = next;
    }
    intern_free(&model->node_states);
    intern_free(&model->messages);
    intern_free(&model->contents);
    intern_free(&model->budget_sets);
    observed_free(&model->observations);
    memory_release((void *)model->own_events, OWN_EVENTS);
    setting_free(&model->setting);
    pthread_mutex_destroy(&model->lock);
}

uint64_t model_bytes(const struct model *model)
{
    return model->node_states.bytes + model->messages.bytes + model->contents.bytes + model->budget_sets.bytes +
           model->observations.bytes;
}

static uint32_t add(struct model *model, struct intern *intern, const void *bytes, size_t length)
{
    const uint32_t number = intern_add(intern, bytes, length);
    if (number != INTERN_NONE)
        return number;
    model->out_of_memory = true;
    return 0;
}

static uint8_t own_events_of(const struct model *model, const struct node_state *node_state)
{
    if (!(node_state->flags & NODE_ALIVE))
        return 0;
    if (node_state->flags & NODE_INSIDE)
        return OWN_LEAVE;
    if (node_state->flags & NODE_FRESH && model->setting.options.callers & 1u << node_state->node)
        return OWN_CALL;
    return node_state->requests_left && !(node_state->flags & NODE_WAITING) ? OWN_REQUEST : 0;
}

/* A dead node has no algorithm state. */
uint32_t model_add_node_state(struct model *model, const struct node_state *node_state)
{
    const bool alive = node_state->flags & NODE_ALIVE;
    const uint32_t number = add(model, &model->node_states, node_state,
                                alive ? node_state_bytes(&model->setting, node_state->node) : sizeof *node_state);
    atomic_store_explicit(&model->own_events[number], own_events_of(model, node_state), memory_order_relaxed);
    return number;
}

uint32_t model_add_budgets(struct model *model, const struct budgets *budgets)
{
    return add(model, &model->budget_sets, budgets, sizeof *budgets);
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
    copy->clock = setting_clock(&model->setting, alive, message->clock) & CV_CLOCK_MASK;
    if (model->setting.options.delay)
        copy->clock = model->setting.options.delay;
    const uint32_t number = add(model, &model->messages, copy, bytes);
    if ((void *)copy != (void *)small)
        free(copy);
    return number;
}

uint32_t model_keep_message(struct model *model, const struct cv_message *message, size_t length)
{
    return add(model, &model->messages, message, length);
}

/* ---- promises ---- */

void model_add_promise_test(struct model *model, struct promise_test *test)
{
    test->next = model->promise_tests;
    model->promise_tests = test;
}

void model_doubt_promise(struct model *model, bool broken, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    pthread_mutex_lock(&model->lock);
    /* Without memory every comparison fails. */
    if (!model->out_of_memory && (!model->promise_doubted || (broken && !model->promise_broken))) {
        vsnprintf(model->promise_text, sizeof model->promise_text, format, arguments);
        model->promise_broken = broken;
        model->promise_doubted = true;
    }
    pthread_mutex_unlock(&model->lock);
    va_end(arguments);
}

void model_describe(const struct model *model, cv_node node, enum cv_decision_type type,
                    const struct cv_message *message, char *text, size_t size)
{
    static const char *const doing[] = {
        [CV_DECIDE_START] = "calling", [CV_DECIDE_REQUEST] = "asking", [CV_DECIDE_LEAVE] = "leaving"};
    const struct cv_scenario *scenario = model->setting.scenario;
    const struct cv_name name = cv_name(scenario, node);
    if (message)
        snprintf(text, size, "node %s hearing %s from %s", name.text,
                 model->setting.algorithm->kinds[message->kind].name, cv_name(scenario, message->from).text);
    else
        snprintf(text, size, "node %s %s", name.text, type <= CV_DECIDE_LEAVE ? doing[type] : "in a step");
}

/* ---- channels ---- */

/* Without order the same messages are the same contents: the list is sorted by numbers, which differ elsewhere. */
struct fingerprint contents_fingerprint(const struct model *model, uint32_t first, uint32_t rest)
{
    const struct fingerprint message = intern_record(&model->messages, first)->fingerprint;
    const struct fingerprint after = model_contents(model, rest)->here;
    if (model->setting.scenario->unordered)
        return fingerprint_add(message, after);
    return fingerprint_of(message.half[0] + 3 * after.half[0], message.half[1] + 5 * after.half[1]);
}

/* The contents with this message before the rest. */
static uint32_t cons(struct model *model, uint32_t first, uint32_t rest)
{
    const struct fingerprint here = contents_fingerprint(model, first, rest), after = model_contents(model, rest)->here;
    const struct contents contents = {first, rest, here, fingerprint_subtract(after, here)};
    return add(model, &model->contents, &contents, sizeof contents);
}

uint32_t model_put(struct model *model, uint32_t contents, uint32_t message)
{
    const struct contents *list = model_contents(model, contents);
    const bool here = !contents || (model->setting.scenario->unordered && message < list->first);
    if (here)
        return cons(model, message, contents);
    return cons(model, list->first, model_put(model, list->rest, message));
}

uint32_t model_put_back(struct model *model, uint32_t first, uint32_t rest)
{
    return model->setting.scenario->unordered ? model_put(model, rest, first) : cons(model, first, rest);
}

uint32_t model_take(struct model *model, uint32_t contents, uint32_t index)
{
    const struct contents *list = model_contents(model, contents);
    return index ? cons(model, list->first, model_take(model, list->rest, index - 1)) : list->rest;
}

uint32_t model_age(struct model *model, uint32_t contents, uint64_t time)
{
    uint32_t aged = 0;
    for (const struct contents *list; contents; contents = list->rest) {
        list = model_contents(model, contents);
        const struct intern_record *record = intern_record(&model->messages, list->first);
        struct cv_message *copy = malloc(record->length);
        if (!copy) {
            model->out_of_memory = true;
            return 0;
        }
        memcpy(copy, record->bytes, record->length);
        copy->clock = (copy->clock - time) & CV_CLOCK_MASK;
        aged = model_put(model, aged, add(model, &model->messages, copy, record->length));
        free(copy);
    }
    return aged;
}

uint32_t model_channel(struct model *model, cv_node from, cv_node to)
{
    const uint32_t pair = from * model->setting.nodes + to;
    uint32_t slot = atomic_load_explicit(&model->channels[pair], memory_order_acquire);
    if (slot)
        return slot;
    pthread_mutex_lock(&model->lock);
    slot = model->channels[pair];
    if (!slot) {
        slot = model->slots;
        model->from[slot] = (uint8_t)from;
        model->to[slot] = (uint8_t)to;
        atomic_store_explicit(&model->channels[pair], slot, memory_order_release);
        model->slots = slot + 1;
    }
    pthread_mutex_unlock(&model->lock);
    return slot;
}

struct fingerprint model_fingerprint(const struct model *model, const uint32_t *state)
{
    const uint32_t nodes = model->setting.nodes;
    struct fingerprint sum = {.half = {0}};
    for (uint32_t slot = 0; slot < model->slots; slot++)
        sum = fingerprint_add(sum, slot <= nodes ? slot_fingerprint(model, state[slot], slot == nodes)
                                                 : model_contents(model, state[slot])->here);
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

/* The nearest present node in that direction. */
static cv_node next_present(uint32_t nodes, cv_node from, uint32_t step, uint32_t present)
{
    cv_node next = from;
    do
        next = (next + step) % nodes;
    while (next != from && !(present & 1u << next));
    return next;
}

bool model_may_send(const struct model *model, uint32_t node_state, uint32_t alive, cv_node to)
{
    const struct cv_group *group = &model->setting.group;
    const struct node_state *it = model_node_state(model, node_state);
    const uint32_t present = alive & ~it->suspects;
    if (group->topology == CV_COMPLETE || to == it->node)
        return true;
    if (group->topology == CV_GRAPH)
        return is_neighbour(group, it->node, to);
    return next_present(group->nodes, it->node, 1, present) == to ||
           (group->topology == CV_RING_BOTH && next_present(group->nodes, it->node, group->nodes - 1, present) == to);
}
