// SPDX-License-Identifier: MIT
#include "check/symmetry.h"

#include <stdlib.h>

/* ---- the ways ---- */

static void add_way(struct symmetry *symmetry, const cv_node *names)
{
    memcpy(symmetry->names[symmetry->count++], names, sizeof *symmetry->names);
}

/* Every order of those that are alike, from one place of theirs on. */
static void permute(struct symmetry *symmetry, cv_node *names, const cv_node *alike, uint32_t count, uint32_t from)
{
    if (from == count) {
        add_way(symmetry, names);
        return;
    }
    for (uint32_t i = from; i < count; i++) {
        const cv_node first = names[alike[from]], other = names[alike[i]];
        names[alike[from]] = other;
        names[alike[i]] = first;
        permute(symmetry, names, alike, count, from + 1);
        names[alike[from]] = first;
        names[alike[i]] = other;
    }
}

/* Who coordinates is like nobody else. */
static void find_ways(struct symmetry *symmetry)
{
    const struct setting *setting = &symmetry->model->setting;
    cv_node names[CV_CHECK_MOST_NODES], alike[MOST_ALIKE];
    uint32_t count = 0;
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        names[node] = node;
    for (cv_node node = 0; setting->renames && node < setting->nodes && count < MOST_ALIKE; node++)
        if (node != setting->group.coordinator)
            alike[count++] = node;
    permute(symmetry, names, alike, count, 0);
}

int symmetry_init(struct symmetry *symmetry, struct model *model)
{
    symmetry->model = model;
    symmetry->count = 0;
    find_ways(symmetry);
    return memo_init(&symmetry->places) || memo_init(&symmetry->contents) || memo_init(&symmetry->worlds) ? CV_ENOMEM
                                                                                                          : 0;
}

uint64_t symmetry_bytes(const struct symmetry *symmetry)
{
    return memo_bytes(&symmetry->places) + memo_bytes(&symmetry->contents) + memo_bytes(&symmetry->worlds);
}

void symmetry_tidy(struct symmetry *symmetry)
{
    memo_tidy(&symmetry->places);
    memo_tidy(&symmetry->contents);
    memo_tidy(&symmetry->worlds);
}

void symmetry_free(struct symmetry *symmetry)
{
    memo_free(&symmetry->places);
    memo_free(&symmetry->contents);
    memo_free(&symmetry->worlds);
}

/* ---- renaming ---- */

/* One of the ways, as algorithms see it. */
struct naming {
    struct cv_renaming renaming; /* first, so that the one is the other */
    const cv_node *names;
    uint32_t nodes;
};

static void rename_node(const struct cv_renaming *renaming, cv_node *node)
{
    if (*node != CV_NOBODY)
        *node = ((const struct naming *)(const void *)renaming)->names[*node];
}

static void rename_row(const struct cv_renaming *renaming, cv_node *row)
{
    const struct naming *naming = (const struct naming *)(const void *)renaming;
    cv_node before[CV_CHECK_MOST_NODES];
    memcpy(before, row, naming->nodes * sizeof *row);
    for (cv_node node = 0; node < naming->nodes; node++) {
        rename_node(renaming, &before[node]);
        row[naming->names[node]] = before[node];
    }
}

static uint32_t rename_bits(const struct naming *naming, uint32_t bits)
{
    uint32_t renamed = 0;
    for (uint32_t rest = bits; rest; rest &= rest - 1)
        renamed |= 1u << naming->names[__builtin_ctz(rest)];
    return renamed;
}

static uint32_t rename_place(struct model *model, const struct naming *naming, uint32_t number)
{
    const struct intern_record *record = intern_record(&model->places, number);
    struct place *place = malloc(record->length);
    if (!place) {
        model->out_of_memory = true;
        return number;
    }
    memcpy(place, record->bytes, record->length);
    if (place->flags & PLACE_ALIVE)
        model->setting.algorithm->rename(&naming->renaming, &model->setting.group, place->node, place->state, NULL);
    place->node = naming->names[place->node];
    place->suspects = rename_bits(naming, place->suspects);
    const uint32_t renamed = model_add_place(model, place);
    free(place);
    return renamed;
}

static uint32_t rename_message(struct model *model, const struct naming *naming, uint32_t number)
{
    const struct intern_record *record = intern_record(&model->messages, number);
    struct cv_message *message = malloc(record->length);
    if (!message) {
        model->out_of_memory = true;
        return number;
    }
    memcpy(message, record->bytes, record->length);
    model->setting.algorithm->rename(&naming->renaming, &model->setting.group, message->from, NULL, message);
    message->from = naming->names[message->from];
    message->to = naming->names[message->to];
    const uint32_t renamed = model_add_message(model, message, 0);
    free(message);
    return renamed;
}

/* Without order between messages they stand in the order of their numbers. */
static uint32_t rename_contents(struct model *model, const struct naming *naming, uint32_t number)
{
    uint32_t renamed = 0;
    for (uint32_t rest = number; rest; rest = model_contents(model, rest)->rest)
        renamed = model_put(model, renamed, rename_message(model, naming, model_contents(model, rest)->first));
    return renamed;
}

static uint32_t rename_world(struct model *model, const struct naming *naming, uint32_t number)
{
    struct world world = *model_world(model, number);
    world.missed = rename_bits(naming, world.missed);
    return model_add_world(model, &world);
}

static uint32_t renamed(struct symmetry *symmetry, struct memo *memo, uint32_t number, uint32_t way,
                        uint32_t (*rename)(struct model *, const struct naming *, uint32_t))
{
    const uint64_t known = memo_find(memo, number, way);
    if (known)
        return (uint32_t)(known - 1);
    const struct naming naming = {{rename_node, rename_row}, symmetry->names[way], symmetry->model->setting.nodes};
    const uint32_t result = rename(symmetry->model, &naming, number);
    if (!memo_add(memo, number, way, (uint64_t)result + 1))
        symmetry->model->out_of_memory = true;
    return result;
}

/* ---- the question ---- */

static struct print print_by(struct symmetry *symmetry, const uint32_t *state, uint32_t way)
{
    const struct model *model = symmetry->model;
    const uint32_t nodes = model->setting.nodes, parts = model->parts;
    struct print sum = model_print(renamed(symmetry, &symmetry->worlds, state[nodes], way, rename_world), true);
    for (cv_node node = 0; node < nodes; node++)
        sum = print_plus(sum, model_print(renamed(symmetry, &symmetry->places, state[node], way, rename_place), false));
    for (uint32_t part = nodes + 1; part < parts; part++)
        if (state[part])
            sum = print_plus(
                sum,
                model_contents(model, renamed(symmetry, &symmetry->contents, state[part], way, rename_contents))->here);
    return sum;
}

struct print symmetry_print(struct symmetry *symmetry, const uint32_t *state, struct print print)
{
    for (uint32_t way = 1; way < symmetry->count; way++) { /* the first leaves every name */
        const struct print other = print_by(symmetry, state, way);
        if (other.half[0] < print.half[0] || (other.half[0] == print.half[0] && other.half[1] < print.half[1]))
            print = other;
    }
    return print;
}
