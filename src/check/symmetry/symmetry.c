// SPDX-License-Identifier: MIT
#include "check/symmetry/symmetry.h"

#include <stdlib.h>

/* ---- permutations ---- */

static void add_permutation(struct symmetry *symmetry, const cv_node *names)
{
    memcpy(symmetry->names[symmetry->count++], names, sizeof *symmetry->names);
}

/* Adds every permutation of the movable nodes from index `from` on. */
static void permute(struct symmetry *symmetry, cv_node *names, const cv_node *movable, uint32_t count, uint32_t from)
{
    if (from == count) {
        add_permutation(symmetry, names);
        return;
    }
    for (uint32_t i = from; i < count; i++) {
        const cv_node first = names[movable[from]], other = names[movable[i]];
        names[movable[from]] = other;
        names[movable[i]] = first;
        permute(symmetry, names, movable, count, from + 1);
        names[movable[from]] = first;
        names[movable[i]] = other;
    }
}

static uint32_t permutation_of(const struct symmetry *symmetry, const cv_node *names)
{
    uint32_t permutation = 0;
    while (memcmp(symmetry->names[permutation], names, sizeof *symmetry->names) != 0)
        permutation++;
    return permutation;
}

/* One permutation, then another. */
static uint32_t composition_of(const struct symmetry *symmetry, uint32_t permutation, uint32_t then)
{
    cv_node names[CV_CHECK_MOST_NODES];
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        names[node] = symmetry->names[then][symmetry->names[permutation][node]];
    return permutation_of(symmetry, names);
}

static uint32_t inverse_of(const struct symmetry *symmetry, uint32_t permutation)
{
    cv_node names[CV_CHECK_MOST_NODES];
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        names[symmetry->names[permutation][node]] = node;
    return permutation_of(symmetry, names);
}

static bool are_of_one_size(struct model *model, const cv_node *movable, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (node_state_bytes(&model->setting, movable[i]) != node_state_bytes(&model->setting, movable[0])) {
            model_doubt_promise(model, true, "`rename` is wrong: the states of nodes differ in size");
            return false;
        }
    return true;
}

/* All nodes but the coordinator are interchangeable. */
static void find_permutations(struct symmetry *symmetry)
{
    const struct setting *setting = &symmetry->model->setting;
    cv_node names[CV_CHECK_MOST_NODES], movable[MOST_INTERCHANGEABLE];
    uint32_t count = 0;
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        names[node] = node;
    for (cv_node node = 0; setting->renames && node < setting->nodes && count < MOST_INTERCHANGEABLE; node++)
        if (node != setting->group.coordinator)
            movable[count++] = node;
    if (!are_of_one_size(symmetry->model, movable, count))
        count = 0;
    permute(symmetry, names, movable, count, 0);
    for (uint32_t i = 0; i + 1 < count; i++) {
        cv_node swapped[CV_CHECK_MOST_NODES];
        memcpy(swapped, names, sizeof swapped);
        swapped[movable[i]] = movable[i + 1];
        swapped[movable[i + 1]] = movable[i];
        symmetry->swaps[symmetry->swap_count++] = permutation_of(symmetry, swapped);
    }
    for (uint32_t permutation = 0; permutation < symmetry->count; permutation++) {
        symmetry->inverse[permutation] = inverse_of(symmetry, permutation);
        for (uint32_t i = 0; i < symmetry->swap_count; i++)
            symmetry->then_swap[permutation][i] = composition_of(symmetry, permutation, symmetry->swaps[i]);
    }
}

static void follow(struct promise_test *base, const struct computed_step *step);

int symmetry_init(struct symmetry *symmetry, struct model *model)
{
    symmetry->test = (struct promise_test){.follow = follow};
    symmetry->model = model;
    symmetry->count = symmetry->swap_count = 0;
    find_permutations(symmetry);
    symmetry->scratch = calloc(1, node_state_most_bytes(&model->setting));
    const int error = runner_init(&symmetry->runner, &model->setting);
    return error || !symmetry->scratch || memo_init(&symmetry->node_states) || memo_init(&symmetry->messages) ||
                   memo_init(&symmetry->contents) || memo_init(&symmetry->budget_sets)
               ? CV_ENOMEM
               : 0;
}

uint64_t symmetry_bytes(const struct symmetry *symmetry)
{
    return memo_bytes(&symmetry->node_states) + memo_bytes(&symmetry->messages) + memo_bytes(&symmetry->contents) +
           memo_bytes(&symmetry->budget_sets);
}

void symmetry_tidy(struct symmetry *symmetry)
{
    memo_tidy(&symmetry->node_states);
    memo_tidy(&symmetry->messages);
    memo_tidy(&symmetry->contents);
    memo_tidy(&symmetry->budget_sets);
}

void symmetry_free(struct symmetry *symmetry)
{
    memo_free(&symmetry->node_states);
    memo_free(&symmetry->messages);
    memo_free(&symmetry->contents);
    memo_free(&symmetry->budget_sets);
    if (symmetry->model)
        runner_free(&symmetry->runner);
    free(symmetry->scratch);
}

/* ---- renaming ---- */

/* A permutation as algorithms see it. */
struct naming {
    struct cv_renaming renaming; /* first, so that one pointer is the other */
    const cv_node *names;
    uint32_t nodes;
};

static void rename_node(const struct cv_renaming *renaming, cv_node *node)
{
    if (*node != CV_NOBODY)
        *node = ((const struct naming *)(const void *)renaming)->names[*node % CV_CHECK_MOST_NODES];
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

/* Zero bytes after a state or a message, to see whether `rename` writes past its end. */
#define GUARD_BYTES 256u

struct rename_call {
    const struct setting *setting;
    const struct cv_renaming *renaming;
    cv_node node;
    void *state;
    struct cv_message *message;
};

static void call_rename(void *context)
{
    const struct rename_call *call = context;
    call->setting->algorithm->hints.rename(call->renaming, &call->setting->group, call->node, call->state,
                                           call->message);
}

/* `rename` may fail like any handler. Its bytes end at `end`. */
static void try_rename(struct model *model, struct rename_call call, const unsigned char *end)
{
    static const unsigned char nothing[GUARD_BYTES];
    struct cv_failure failure;
    call.setting = &model->setting;
    if (!cv_trap_call(call_rename, &call, &failure))
        model_doubt_promise(model, true, "`rename` is wrong: %.100s", failure.text);
    else if (memcmp(end, nothing, GUARD_BYTES) != 0)
        model_doubt_promise(model, true, "`rename` is wrong: it writes beyond the end of a state or a message");
}

static uint32_t rename_node_state(struct model *model, const struct naming *naming, uint32_t number)
{
    const struct intern_record *record = intern_record(&model->node_states, number);
    struct node_state *node_state = calloc(1, record->length + GUARD_BYTES);
    if (!node_state) {
        model->out_of_memory = true;
        return number;
    }
    memcpy(node_state, record->bytes, record->length);
    if (node_state->flags & NODE_ALIVE)
        try_rename(
            model,
            (struct rename_call){.renaming = &naming->renaming, .node = node_state->node, .state = node_state->state},
            (unsigned char *)node_state + record->length);
    node_state->node = naming->names[node_state->node];
    node_state->suspects = rename_bits(naming, node_state->suspects);
    node_state->unheard = rename_bits(naming, node_state->unheard);
    node_state->back = rename_bits(naming, node_state->back);
    const uint32_t renamed = model_add_node_state(model, node_state);
    free(node_state);
    return renamed;
}

static uint32_t rename_message(struct model *model, const struct naming *naming, uint32_t number)
{
    const struct intern_record *record = intern_record(&model->messages, number);
    struct cv_message *message = calloc(1, record->length + GUARD_BYTES);
    if (!message) {
        model->out_of_memory = true;
        return number;
    }
    memcpy(message, record->bytes, record->length);
    try_rename(model, (struct rename_call){.renaming = &naming->renaming, .node = message->from, .message = message},
               (unsigned char *)message + record->length);
    message->from = naming->names[message->from];
    message->to = naming->names[message->to];
    const uint32_t renamed = model_add_message(model, message, 0);
    free(message);
    return renamed;
}

static uint32_t renamed_message(struct symmetry *symmetry, uint32_t number, uint32_t permutation);

/* If channels do not keep the order of messages, contents are sorted by number: model_put() does it. */
static uint32_t rename_contents(struct symmetry *symmetry, uint32_t number, uint32_t permutation)
{
    struct model *model = symmetry->model;
    uint32_t renamed = 0;
    for (uint32_t rest = number; rest; rest = model_contents(model, rest)->rest)
        renamed = model_put(model, renamed, renamed_message(symmetry, model_contents(model, rest)->first, permutation));
    return renamed;
}

static uint32_t rename_budgets(struct model *model, const struct naming *naming, uint32_t number)
{
    struct budgets budgets = *model_budgets(model, number);
    const struct cv_links cut_links = budgets.cut_links;
    budgets.missed = rename_bits(naming, budgets.missed);
    budgets.cut_links = (struct cv_links){0};
    for (cv_node one = 0; one < naming->nodes; one++)
        for (cv_node other = one + 1; other < naming->nodes; other++)
            if (cv_links_have(&cut_links, one, other))
                cv_links_flip(&budgets.cut_links, naming->names[one], naming->names[other]);
    return model_add_budgets(model, &budgets);
}

typedef uint32_t renamer(struct model *model, const struct naming *naming, uint32_t number);

static uint32_t rename_by(struct symmetry *symmetry, uint32_t number, uint32_t permutation, renamer *rename)
{
    const struct naming naming = {
        {rename_node, rename_row}, symmetry->names[permutation], symmetry->model->setting.nodes};
    return rename(symmetry->model, &naming, number);
}

/* Renaming and renaming back gives the same; renaming twice is renaming by the composition. */
static void test_renaming(struct symmetry *symmetry, uint32_t number, uint32_t permutation, uint32_t result,
                          renamer *rename)
{
    bool good = rename_by(symmetry, result, symmetry->inverse[permutation], rename) == number;
    for (uint32_t i = 0; i < symmetry->swap_count && good; i++)
        good = rename_by(symmetry, result, symmetry->swaps[i], rename) ==
               rename_by(symmetry, number, symmetry->then_swap[permutation][i], rename);
    if (!good)
        model_doubt_promise(symmetry->model, true, "`rename` is wrong: renaming twice is not what it is at once");
}

static uint32_t renamed(struct symmetry *symmetry, struct memo *memo, uint32_t number, uint32_t permutation,
                        renamer *rename)
{
    const uint64_t known = memo_find(memo, number, permutation);
    if (known)
        return (uint32_t)(known - 1);
    const uint32_t result = rename_by(symmetry, number, permutation, rename);
    if (!symmetry->model->promise_doubted && !symmetry->model->out_of_memory &&
        sample_takes(&symmetry->model->renamings, 0))
        test_renaming(symmetry, number, permutation, result, rename);
    if (!memo_add(memo, number, permutation, (uint64_t)result + 1))
        symmetry->model->out_of_memory = true;
    return result;
}

static uint32_t renamed_message(struct symmetry *symmetry, uint32_t number, uint32_t permutation)
{
    return renamed(symmetry, &symmetry->messages, number, permutation, rename_message);
}

static uint32_t renamed_contents(struct symmetry *symmetry, uint32_t number, uint32_t permutation)
{
    const uint64_t known = memo_find(&symmetry->contents, number, permutation);
    if (known)
        return (uint32_t)(known - 1);
    const uint32_t result = rename_contents(symmetry, number, permutation);
    if (!memo_add(&symmetry->contents, number, permutation, (uint64_t)result + 1))
        symmetry->model->out_of_memory = true;
    return result;
}

/* ---- fingerprints ---- */

static struct fingerprint fingerprint_by(struct symmetry *symmetry, const uint32_t *state, uint32_t permutation)
{
    const struct model *model = symmetry->model;
    const uint32_t nodes = model->setting.nodes, slots = model->slots;
    struct fingerprint sum = slot_fingerprint(
        model, renamed(symmetry, &symmetry->budget_sets, state[nodes], permutation, rename_budgets), true);
    for (cv_node node = 0; node < nodes; node++)
        sum = fingerprint_add(
            sum,
            slot_fingerprint(
                model, renamed(symmetry, &symmetry->node_states, state[node], permutation, rename_node_state), false));
    for (uint32_t slot = nodes + 1; slot < slots; slot++)
        if (state[slot])
            sum =
                fingerprint_add(sum, model_contents(model, renamed_contents(symmetry, state[slot], permutation))->here);
    return sum;
}

/* Lowers the fingerprint to the least one, and returns its permutation. */
static uint32_t find_least(struct symmetry *symmetry, const uint32_t *state, struct fingerprint *fingerprint)
{
    uint32_t least = 0;
    for (uint32_t permutation = 1; permutation < symmetry->count; permutation++) { /* the first is the identity */
        const struct fingerprint other = fingerprint_by(symmetry, state, permutation);
        if (other.half[0] < fingerprint->half[0] ||
            (other.half[0] == fingerprint->half[0] && other.half[1] < fingerprint->half[1])) {
            *fingerprint = other;
            least = permutation;
        }
    }
    return least;
}

struct fingerprint symmetry_fingerprint(struct symmetry *symmetry, const uint32_t *state,
                                        struct fingerprint fingerprint)
{
    find_least(symmetry, state, &fingerprint);
    return fingerprint;
}

struct fingerprint symmetry_represent(struct symmetry *symmetry, uint32_t *state, struct fingerprint fingerprint)
{
    struct model *model = symmetry->model;
    const uint32_t nodes = model->setting.nodes, slots = model->slots;
    const uint32_t permutation = find_least(symmetry, state, &fingerprint);
    const cv_node *names = symmetry->names[permutation];
    uint32_t image[MOST_SLOTS] = {0};
    if (!permutation)
        return fingerprint;
    image[nodes] = renamed(symmetry, &symmetry->budget_sets, state[nodes], permutation, rename_budgets);
    for (cv_node node = 0; node < nodes; node++)
        image[names[node]] = renamed(symmetry, &symmetry->node_states, state[node], permutation, rename_node_state);
    for (uint32_t slot = nodes + 1; slot < slots; slot++)
        if (state[slot])
            image[model_channel(model, names[model->from[slot]], names[model->to[slot]])] =
                renamed_contents(symmetry, state[slot], permutation);
    memcpy(state, image, model->slots * sizeof *state);
    return fingerprint;
}

/* ---- the test ---- */

/* If a node may crash while it sends, the order of its messages counts, too. */
static bool sends_same(struct symmetry *symmetry, const struct outcome *outcome, uint32_t permutation, uint32_t alive)
{
    struct model *model = symmetry->model;
    const struct cv_self *me = &symmetry->runner.self;
    uint32_t sent = 0, used = 0;
    for (size_t at = 0; at < me->used; sent++) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        const uint32_t number = model_add_message(model, message, alive);
        uint32_t i = model->setting.group.absence ? sent : 0;
        while (i < outcome->send_count &&
               (used & 1u << i || symmetry->names[permutation][outcome->sends[i].to] != message->to))
            i++;
        if (i >= outcome->send_count || i >= 32 || (model->setting.group.absence && i != sent) ||
            renamed_message(symmetry, outcome->sends[i].message, permutation) != number)
            return false;
        used |= 1u << i;
    }
    return sent == outcome->send_count;
}

/* Does the step have the same result under other names, except for the names? */
static bool has_same_result(struct symmetry *symmetry, const struct computed_step *step, uint32_t permutation)
{
    struct model *model = symmetry->model;
    const struct naming naming = {{rename_node, rename_row}, symmetry->names[permutation], model->setting.nodes};
    const struct runner *runner = step->runner;
    struct runner *other = &symmetry->runner;
    const enum cv_decision_type type = step->type;
    const bool of_node = type == CV_DECIDE_TELL || type == CV_DECIDE_SUSPECT || type == CV_DECIDE_TRUST;
    const uint32_t before = renamed(symmetry, &symmetry->node_states, step->node_state, permutation, rename_node_state);
    const uint32_t alive = (step->alive & ~ALIVE_MASK) | rename_bits(&naming, step->alive & ALIVE_MASK);
    const uint32_t argument = type == CV_DECIDE_DELIVER ? renamed_message(symmetry, step->argument, permutation)
                              : of_node                 ? symmetry->names[permutation][step->argument]
                                                        : step->argument;
    memcpy(symmetry->scratch, model_node_state(model, before), intern_record(&model->node_states, before)->length);
    other->script_length = runner->chosen;
    memcpy(other->script, runner->script, sizeof other->script);
    const char *broken = runner_step(other, symmetry->scratch, alive, type, argument,
                                     type == CV_DECIDE_DELIVER ? model_message(model, argument) : NULL);
    const uint32_t seen = ~(uint32_t)CV_DID_NOTE, effects = other->self.effects;
    if ((effects & seen) != (runner->self.effects & seen) || other->chosen != runner->chosen ||
        (broken != NULL) != ((step->outcome->flags & OUTCOME_BROKEN) != 0) ||
        (effects & CV_DID_ENTER && other->self.fence != runner->self.fence))
        return false;
    return model_add_node_state(model, symmetry->scratch) ==
               renamed(symmetry, &symmetry->node_states, step->outcome->node_state, permutation, rename_node_state) &&
           sends_same(symmetry, step->outcome, permutation, alive);
}

static void follow(struct promise_test *base, const struct computed_step *step)
{
    struct symmetry *symmetry = (struct symmetry *)(void *)base;
    struct model *model = symmetry->model;
    char doing[64];
    if (symmetry->count == 1 || !sample_takes(&model->steps, 0))
        return;
    const uint64_t steps = atomic_fetch_add_explicit(&model->names.count, 1, memory_order_relaxed);
    const uint32_t others = symmetry->count - 1, some = sample_some(steps * others, others);
    for (uint32_t i = 0; i < some; i++) {
        const uint32_t permutation = 1 + (uint32_t)((steps + i) % others);
        if (has_same_result(symmetry, step, permutation))
            continue;
        model_describe(model, step->runner->self.node, step->type,
                       step->type == CV_DECIDE_DELIVER ? model_message(model, step->argument) : NULL, doing,
                       sizeof doing);
        if (step->runner->chosen)
            model_doubt_promise(model, false, "`rename` cannot be confirmed: %s chooses", doing);
        else
            model_doubt_promise(
                model, true,
                "this algorithm compares ids, or `rename` is wrong: with other names, %s has another result", doing);
        return;
    }
}
