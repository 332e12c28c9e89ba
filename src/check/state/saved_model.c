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

static bool find(const struct numbering *numbering, enum numbered kind, uint32_t saved, uint32_t *own)
{
    const bool known = saved < numbering->kinds[kind].count;
    *own = known ? numbering->kinds[kind].own[saved] : 0;
    return known;
}

static uint32_t add_node_state(struct model *model, const struct node_state *node_state, size_t length)
{
    const bool fits = length >= sizeof *node_state && node_state->node < model->setting.nodes &&
                      length == (node_state->flags & NODE_ALIVE ? node_state_bytes(&model->setting, node_state->node)
                                                                : sizeof *node_state);
    return fits ? model_add_node_state(model, node_state) : INTERN_NONE;
}

/* Contents are made of a message and of contents before them. The first are those of an empty channel. */
static uint32_t add_contents(struct model *model, const struct numbering *numbering, const struct contents *contents,
                             size_t length)
{
    uint32_t first, rest;
    if (length != sizeof *contents)
        return INTERN_NONE;
    if (!numbering->kinds[NUMBERED_CONTENTS].count)
        return 0;
    return find(numbering, NUMBERED_MESSAGE, contents->first, &first) &&
                   find(numbering, NUMBERED_CONTENTS, contents->rest, &rest)
               ? model_put_back(model, first, rest)
               : INTERN_NONE;
}

/* The number that the bytes get. */
static uint32_t add_record(struct model *model, const struct numbering *numbering, enum numbered kind,
                           const void *bytes, size_t length)
{
    switch (kind) {
    case NUMBERED_NODE_STATE:
        return add_node_state(model, bytes, length);
    case NUMBERED_MESSAGE:
        return length >= sizeof(struct cv_message) ? model_keep_message(model, bytes, length) : INTERN_NONE;
    case NUMBERED_CONTENTS:
        return add_contents(model, numbering, bytes, length);
    case NUMBERED_BUDGETS:
        return length == sizeof(struct budgets) ? model_add_budgets(model, bytes) : INTERN_NONE;
    case NUMBERED_KINDS:
        break;
    }
    return INTERN_NONE;
}

static int read_record(struct model *model, struct numbering *numbering, enum numbered kind, struct file_reader *reader,
                       void **bytes)
{
    const uint64_t length = file_read_number(reader);
    if (length > MOST_RECORD || length > file_reader_left(reader))
        return CV_EINPUT;
    void *larger = realloc(*bytes, length + 1);
    if (!larger)
        return CV_ENOMEM;
    *bytes = larger;
    file_read(reader, larger, (size_t)length);
    const uint32_t own = add_record(model, numbering, kind, larger, (size_t)length);
    if (own == INTERN_NONE || model->out_of_memory)
        return model->out_of_memory ? CV_ENOMEM : CV_EINPUT;
    numbering->kinds[kind].own[numbering->kinds[kind].count++] = own;
    return 0;
}

static int read_intern(struct model *model, struct numbering *numbering, enum numbered kind, struct file_reader *reader)
{
    const uint64_t count = file_read_number(reader);
    void *bytes = NULL;
    int error = count > file_reader_left(reader) / sizeof count ? CV_EINPUT : 0;
    if (!error && !(numbering->kinds[kind].own = calloc(count + 1, sizeof(uint32_t))))
        error = CV_ENOMEM;
    for (uint64_t left = count; left > 0 && !error; left--)
        error = read_record(model, numbering, kind, reader, &bytes);
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

static bool translate_observation(const struct numbering *numbering, struct saved_observation *it)
{
    return find(numbering, NUMBERED_NODE_STATE, it->node_state, &it->node_state) &&
           find(numbering, NUMBERED_NODE_STATE, it->after, &it->after) &&
           (it->type != CV_DECIDE_DELIVER || find(numbering, NUMBERED_MESSAGE, it->argument, &it->argument));
}

static int read_observations(struct model *model, const struct numbering *numbering, struct file_reader *reader)
{
    int error = 0;
    for (uint64_t left = file_read_number(reader); left > 0 && !error; left--) {
        struct saved_observation it;
        file_read(reader, &it, sizeof it);
        if (file_reader_failed(reader) || !translate_observation(numbering, &it))
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

/* Those that are known, and those that are not. The same are known to all ranks. */
static int read_all_observations(struct model *model, const struct numbering *numbering, struct file_reader *reader,
                                 bool first)
{
    struct observations *observations = &model->observations;
    const bool learnt = observations->learnt && !first;
    observations->learnt = false;
    int error = read_observations(model, numbering, reader);
    if (!error && observations->learnt && !first)
        error = CV_EINPUT;
    if (first)
        observed_publish(observations);
    if (!error)
        error = read_observations(model, numbering, reader);
    observations->learnt = file_read_number(reader) != 0 || learnt;
    return error;
}

/* ---- the rest ---- */

/* What the model has besides. */
struct saved_facts {
    uint32_t slots;
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

/* Several ranks have tested steps: a sample goes on with the number of the one that has tested most. */
static void restore_sample(struct sample *sample, const uint64_t saved[2])
{
    sample->count = saved[0] > sample->count ? saved[0] : sample->count;
    sample->next = saved[1] > sample->next ? saved[1] : sample->next;
}

static void restore_facts(struct model *model, const struct saved_facts *facts)
{
    struct sample *samples[] = {&model->steps, &model->names, &model->renamings, &model->times};
    for (uint32_t i = 0; i < 4; i++)
        restore_sample(samples[i], &facts->samples[2 * (size_t)i]);
    if (facts->promise_doubted && (!model->promise_doubted || (facts->promise_broken && !model->promise_broken))) {
        memcpy(model->promise_text, facts->promise_text, sizeof facts->promise_text);
        model->promise_text[sizeof model->promise_text - 1] = '\0';
    }
    model->promise_doubted |= facts->promise_doubted;
    model->promise_broken |= facts->promise_broken;
    model->counters_fail |= facts->counters_fail;
    model->reads_clocks |= facts->reads_clocks;
    model->equal_times_differ |= facts->equal_times_differ;
    model->leaves_topology |= facts->leaves_topology;
}

/* The nodes and the budgets have the same slots everywhere, channels in the order of their first use. */
static bool number_slots(struct model *model, struct numbering *numbering, const struct saved_facts *facts)
{
    const uint32_t nodes = model->setting.nodes;
    if (facts->slots <= nodes || facts->slots > MOST_SLOTS)
        return false;
    for (uint32_t slot = 0; slot < facts->slots; slot++) {
        if (slot > nodes && (facts->from[slot] >= nodes || facts->to[slot] >= nodes))
            return false;
        numbering->own[slot] = slot > nodes ? model_channel(model, facts->from[slot], facts->to[slot]) : slot;
    }
    numbering->slots = facts->slots;
    return true;
}

static int read_facts(struct model *model, struct numbering *numbering, struct file_reader *reader)
{
    if (!file_read_number(reader))
        return CV_EINPUT;
    struct saved_facts *facts = calloc(1, sizeof *facts);
    if (!facts)
        return CV_ENOMEM;
    file_read(reader, facts, sizeof *facts);
    const bool fits = !file_reader_failed(reader) && number_slots(model, numbering, facts);
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

int saved_model_read(struct model *model, struct file_reader *reader, bool first, struct numbering *numbering)
{
    int error = 0;
    memset(numbering, 0, sizeof *numbering);
    for (uint32_t kind = 0; kind < NUMBERED_KINDS && !error; kind++)
        error = read_intern(model, numbering, (enum numbered)kind, reader);
    if (!error)
        error = read_all_observations(model, numbering, reader, first);
    if (!error)
        error = read_facts(model, numbering, reader);
    return error ? error : file_reader_failed(reader) ? CV_EINPUT : 0;
}

void numbering_free(struct numbering *numbering)
{
    for (uint32_t kind = 0; kind < NUMBERED_KINDS; kind++)
        free(numbering->kinds[kind].own);
    memset(numbering, 0, sizeof *numbering);
}

bool numbering_translate(const struct numbering *numbering, const struct model *model, const uint32_t *saved,
                         uint32_t slots, uint32_t *state)
{
    const uint32_t nodes = model->setting.nodes;
    bool known = slots > nodes && slots <= numbering->slots;
    memset(state, 0, model->slots * sizeof *state);
    for (uint32_t slot = 0; slot < slots && known; slot++) {
        const enum numbered kind = slot < nodes    ? NUMBERED_NODE_STATE
                                   : slot == nodes ? NUMBERED_BUDGETS
                                                   : NUMBERED_CONTENTS;
        known = find(numbering, kind, saved[slot], &state[numbering->own[slot]]);
    }
    return known;
}
