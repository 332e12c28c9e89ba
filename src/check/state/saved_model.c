// SPDX-License-Identifier: MIT
#include "check/state/saved_model.h"

#include <stdlib.h>

#include "core/error.h"

#define MOST_RECORD ((uint64_t)1 << 24)

/* ---- interned byte strings ---- */

static void write_intern(const struct intern *intern, struct file_writer *writer)
{
    file_write_number(writer, intern->count);
    for (uint32_t number = 0; number < intern->count; number++) {
        const struct intern_record *record = intern_record(intern, number);
        file_write_number(writer, record->length);
        file_write(writer, record->bytes, record->length);
    }
}

/* The number that the bytes get. */
static uint32_t add_record(struct model *model, struct intern *intern, const void *bytes, size_t length)
{
    if (intern != &model->node_states)
        return intern_add(intern, bytes, length);
    const struct node_state *node_state = bytes;
    const bool fits = length >= sizeof *node_state && node_state->node < model->setting.nodes &&
                      length == (node_state->flags & NODE_ALIVE ? node_state_bytes(&model->setting, node_state->node)
                                                                : sizeof *node_state);
    return fits ? model_add_node_state(model, node_state) : INTERN_NONE;
}

static int read_intern(struct model *model, struct intern *intern, struct file_reader *reader)
{
    const uint64_t count = file_read_number(reader);
    void *bytes = NULL;
    int error = 0;
    for (uint64_t number = 0; number < count && !error; number++) {
        const uint64_t length = file_read_number(reader);
        if (length > MOST_RECORD || length > file_reader_left(reader)) {
            error = CV_EINPUT;
            break;
        }
        void *larger = realloc(bytes, length + 1);
        if (!larger) {
            error = CV_ENOMEM;
            break;
        }
        bytes = larger;
        file_read(reader, bytes, (size_t)length);
        const uint32_t got = add_record(model, intern, bytes, (size_t)length);
        error = model->out_of_memory ? CV_ENOMEM : got != number ? CV_EINPUT : 0;
    }
    free(bytes);
    return error;
}

/* ---- observations ---- */

/* One observation, without its pointer. */
struct saved_observation {
    uint32_t node_state;
    uint32_t after;
    uint32_t argument;
    uint32_t alive;
    uint16_t receivers;
    uint8_t cause;
    uint8_t type;
};

/* The newest observation that is known, or that is not. */
static const struct observed *newest(const struct model *model, uint32_t node_state, bool staged)
{
    return staged ? observed_newest(&model->observations, node_state) : observed_of(&model->observations, node_state);
}

/* The observations of a node state: those not known yet come first, and then those that are known. */
static uint64_t count_list(const struct model *model, uint32_t node_state, bool staged)
{
    const struct observed *end = staged ? observed_of(&model->observations, node_state) : NULL;
    uint64_t count = 0;
    for (const struct observed *it = newest(model, node_state, staged); it != end; it = it->next)
        count++;
    return count;
}

/* The oldest first, so that reading leaves them in the same order. */
static void write_list(const struct model *model, uint32_t node_state, bool staged, struct file_writer *writer)
{
    for (uint64_t left = count_list(model, node_state, staged); left > 0; left--) {
        const struct observed *it = newest(model, node_state, staged);
        for (uint64_t i = 1; i < left; i++)
            it = it->next;
        const struct saved_observation saved = {.node_state = node_state,
                                                .after = it->after,
                                                .argument = it->argument,
                                                .alive = it->alive,
                                                .receivers = it->receivers,
                                                .cause = it->cause,
                                                .type = it->type};
        file_write(writer, &saved, sizeof saved);
    }
}

static void write_observations(const struct model *model, bool staged, struct file_writer *writer)
{
    uint64_t count = 0;
    for (uint32_t number = 0; number < model->node_states.count; number++)
        count += count_list(model, number, staged);
    file_write_number(writer, count);
    for (uint32_t number = 0; number < model->node_states.count; number++)
        write_list(model, number, staged, writer);
}

static int read_observations(struct model *model, struct file_reader *reader)
{
    int error = 0;
    for (uint64_t left = file_read_number(reader); left > 0 && !error; left--) {
        struct saved_observation it;
        file_read(reader, &it, sizeof it);
        if (file_reader_failed(reader) || it.node_state >= model->node_states.count)
            return CV_EINPUT;
        error = observed_add(&model->observations, it.node_state,
                             (struct observed){.after = it.after,
                                               .argument = it.argument,
                                               .alive = it.alive,
                                               .receivers = it.receivers,
                                               .cause = it.cause,
                                               .type = it.type});
    }
    return error;
}

/* Those that are known, and those that are not. */
static int read_all_observations(struct model *model, struct file_reader *reader)
{
    int error = read_observations(model, reader);
    observed_publish(&model->observations);
    if (!error)
        error = read_observations(model, reader);
    model->observations.learnt = file_read_number(reader) != 0;
    return error;
}

/* ---- the rest ---- */

/* What the model has besides. */
struct saved_facts {
    uint32_t slots;
    uint32_t channels[MOST_CHANNELS];
    uint8_t from[MOST_SLOTS];
    uint8_t to[MOST_SLOTS];
    uint64_t samples[8]; /* the counts of four samples, and what each takes next */
    bool promise_doubted;
    bool promise_broken;
    bool counters_fail;
    bool reads_clocks;
    bool equal_times_differ;
    bool leaves_topology;
    char promise_text[160];
};

static void write_facts(const struct model *model, struct file_writer *writer)
{
    const struct sample *samples[] = {&model->steps, &model->names, &model->renamings, &model->times};
    struct saved_facts *facts = calloc(1, sizeof *facts);
    file_write_number(writer, facts != NULL); /* 0: there was no memory, and the file is useless */
    if (!facts)
        return;
    facts->slots = model->slots;
    for (uint32_t i = 0; i < MOST_CHANNELS; i++)
        facts->channels[i] = model->channels[i];
    memcpy(facts->from, model->from, sizeof facts->from);
    memcpy(facts->to, model->to, sizeof facts->to);
    for (uint32_t i = 0; i < 4; i++) {
        facts->samples[2 * i] = samples[i]->count;
        facts->samples[2 * i + 1] = samples[i]->next;
    }
    facts->promise_doubted = model->promise_doubted;
    facts->promise_broken = model->promise_broken;
    facts->counters_fail = model->counters_fail;
    facts->reads_clocks = model->reads_clocks;
    facts->equal_times_differ = model->equal_times_differ;
    facts->leaves_topology = model->leaves_topology;
    memcpy(facts->promise_text, model->promise_text, sizeof facts->promise_text);
    file_write(writer, facts, sizeof *facts);
    free(facts);
}

static void restore_facts(struct model *model, const struct saved_facts *facts)
{
    struct sample *samples[] = {&model->steps, &model->names, &model->renamings, &model->times};
    for (uint32_t i = 0; i < MOST_CHANNELS; i++)
        model->channels[i] = facts->channels[i];
    memcpy(model->from, facts->from, sizeof facts->from);
    memcpy(model->to, facts->to, sizeof facts->to);
    for (uint32_t i = 0; i < 4; i++) {
        samples[i]->count = facts->samples[2 * i];
        samples[i]->next = facts->samples[2 * i + 1];
    }
    model->promise_doubted = facts->promise_doubted;
    model->promise_broken = facts->promise_broken;
    model->counters_fail = facts->counters_fail;
    model->reads_clocks = facts->reads_clocks;
    model->equal_times_differ = facts->equal_times_differ;
    model->leaves_topology = facts->leaves_topology;
    memcpy(model->promise_text, facts->promise_text, sizeof model->promise_text);
    model->promise_text[sizeof model->promise_text - 1] = '\0';
    model->slots = facts->slots;
}

static int read_facts(struct model *model, struct file_reader *reader)
{
    if (!file_read_number(reader))
        return CV_EINPUT;
    struct saved_facts *facts = calloc(1, sizeof *facts);
    if (!facts)
        return CV_ENOMEM;
    file_read(reader, facts, sizeof *facts);
    bool fits = facts->slots > model->setting.nodes && facts->slots <= MOST_SLOTS;
    for (uint32_t i = 0; i < MOST_CHANNELS; i++)
        fits &= facts->channels[i] < facts->slots;
    if (fits)
        restore_facts(model, facts);
    free(facts);
    return fits ? 0 : CV_EINPUT;
}

void saved_model_write(const struct model *model, struct file_writer *writer)
{
    write_intern(&model->node_states, writer);
    write_intern(&model->messages, writer);
    write_intern(&model->contents, writer);
    write_intern(&model->budget_sets, writer);
    write_observations(model, false, writer);
    write_observations(model, true, writer);
    file_write_number(writer, model->observations.learnt);
    write_facts(model, writer);
}

int saved_model_read(struct model *model, struct file_reader *reader)
{
    struct intern *interns[] = {&model->node_states, &model->messages, &model->contents, &model->budget_sets};
    int error = 0;
    for (uint32_t i = 0; i < 4 && !error; i++)
        error = read_intern(model, interns[i], reader);
    if (!error)
        error = read_all_observations(model, reader);
    if (!error)
        error = read_facts(model, reader);
    return error ? error : file_reader_failed(reader) ? CV_EINPUT : 0;
}
