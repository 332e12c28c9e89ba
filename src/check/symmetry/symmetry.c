// SPDX-License-Identifier: MIT
#include "check/symmetry/symmetry.h"

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

static uint32_t way_of(const struct symmetry *symmetry, const cv_node *names)
{
    uint32_t way = 0;
    while (memcmp(symmetry->names[way], names, sizeof *symmetry->names) != 0)
        way++;
    return way;
}

/* One way behind another. */
static uint32_t way_behind(const struct symmetry *symmetry, uint32_t way, uint32_t then)
{
    cv_node names[CV_CHECK_MOST_NODES];
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        names[node] = symmetry->names[then][symmetry->names[way][node]];
    return way_of(symmetry, names);
}

static uint32_t way_back(const struct symmetry *symmetry, uint32_t way)
{
    cv_node names[CV_CHECK_MOST_NODES];
    for (cv_node node = 0; node < CV_CHECK_MOST_NODES; node++)
        names[symmetry->names[way][node]] = node;
    return way_of(symmetry, names);
}

static bool are_of_one_size(struct model *model, const cv_node *alike, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++)
        if (node_state_bytes(&model->setting, alike[i]) != node_state_bytes(&model->setting, alike[0])) {
            model_break_promise(model, true, "`rename` is wrong: the states of nodes differ in size");
            return false;
        }
    return true;
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
    if (!are_of_one_size(symmetry->model, alike, count))
        count = 0;
    permute(symmetry, names, alike, count, 0);
    for (uint32_t i = 0; i + 1 < count; i++) {
        cv_node swapped[CV_CHECK_MOST_NODES];
        memcpy(swapped, names, sizeof swapped);
        swapped[alike[i]] = alike[i + 1];
        swapped[alike[i + 1]] = alike[i];
        symmetry->swaps[symmetry->swap_count++] = way_of(symmetry, swapped);
    }
    for (uint32_t way = 0; way < symmetry->count; way++) {
        symmetry->back[way] = way_back(symmetry, way);
        for (uint32_t i = 0; i < symmetry->swap_count; i++)
            symmetry->behind[way][i] = way_behind(symmetry, way, symmetry->swaps[i]);
    }
}

int symmetry_init(struct symmetry *symmetry, struct model *model)
{
    symmetry->model = model;
    symmetry->count = symmetry->swap_count = 0;
    find_ways(symmetry);
    size_t largest = 0;
    for (cv_node node = 0; node < model->setting.nodes; node++)
        largest = node_state_bytes(&model->setting, node) > largest ? node_state_bytes(&model->setting, node) : largest;
    symmetry->scratch = calloc(1, largest);
    const int error = host_init(&symmetry->host, &model->setting);
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
        host_free(&symmetry->host);
    free(symmetry->scratch);
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

/* Behind what it is to rename: nothing is written there, unless it is wrong. */
#define BEHIND 256u

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
    call->setting->algorithm->rename(call->renaming, &call->setting->group, call->node, call->state, call->message);
}

/* It may fail like any handler; `end` is where the bytes end that are its own. */
static void try_rename(struct model *model, struct rename_call call, const unsigned char *end)
{
    static const unsigned char nothing[BEHIND];
    struct mishap mishap;
    call.setting = &model->setting;
    if (!guard_call(call_rename, &call, &mishap))
        model_break_promise(model, true, "`rename` is wrong: %.100s", mishap.text);
    else if (memcmp(end, nothing, BEHIND) != 0)
        model_break_promise(model, true, "`rename` is wrong: it writes behind a state, or a message");
}

static uint32_t rename_node_state(struct model *model, const struct naming *naming, uint32_t number)
{
    const struct intern_record *record = intern_record(&model->node_states, number);
    struct node_state *node_state = calloc(1, record->length + BEHIND);
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
    struct cv_message *message = calloc(1, record->length + BEHIND);
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

static uint32_t renamed_message(struct symmetry *symmetry, uint32_t number, uint32_t way);

/* Without order between messages they stand in the order of their numbers. */
static uint32_t rename_contents(struct symmetry *symmetry, uint32_t number, uint32_t way)
{
    struct model *model = symmetry->model;
    uint32_t renamed = 0;
    for (uint32_t rest = number; rest; rest = model_contents(model, rest)->rest)
        renamed = model_put(model, renamed, renamed_message(symmetry, model_contents(model, rest)->first, way));
    return renamed;
}

static uint32_t rename_budgets(struct model *model, const struct naming *naming, uint32_t number)
{
    struct budgets budgets = *model_budgets(model, number);
    const struct cv_links apart = budgets.apart;
    budgets.missed = rename_bits(naming, budgets.missed);
    budgets.apart = (struct cv_links){0};
    for (cv_node one = 0; one < naming->nodes; one++)
        for (cv_node other = one + 1; other < naming->nodes; other++)
            if (cv_links_have(&apart, one, other))
                cv_links_flip(&budgets.apart, naming->names[one], naming->names[other]);
    return model_add_budgets(model, &budgets);
}

typedef uint32_t renamer(struct model *model, const struct naming *naming, uint32_t number);

static uint32_t rename_by(struct symmetry *symmetry, uint32_t number, uint32_t way, renamer *rename)
{
    const struct naming naming = {{rename_node, rename_row}, symmetry->names[way], symmetry->model->setting.nodes};
    return rename(symmetry->model, &naming, number);
}

/* Who is renamed back is who it was, and who is renamed twice is as if that were done at once. */
static void test_renaming(struct symmetry *symmetry, uint32_t number, uint32_t way, uint32_t result, renamer *rename)
{
    bool good = rename_by(symmetry, result, symmetry->back[way], rename) == number;
    for (uint32_t i = 0; i < symmetry->swap_count && good; i++)
        good = rename_by(symmetry, result, symmetry->swaps[i], rename) ==
               rename_by(symmetry, number, symmetry->behind[way][i], rename);
    if (!good)
        model_break_promise(symmetry->model, true, "`rename` is wrong: renaming twice is not what it is at once");
}

static uint32_t renamed(struct symmetry *symmetry, struct memo *memo, uint32_t number, uint32_t way, renamer *rename)
{
    const uint64_t known = memo_find(memo, number, way);
    if (known)
        return (uint32_t)(known - 1);
    const uint32_t result = rename_by(symmetry, number, way, rename);
    if (!symmetry->model->unlike && !symmetry->model->out_of_memory && sample_takes(&symmetry->model->renamings, 0))
        test_renaming(symmetry, number, way, result, rename);
    if (!memo_add(memo, number, way, (uint64_t)result + 1))
        symmetry->model->out_of_memory = true;
    return result;
}

static uint32_t renamed_message(struct symmetry *symmetry, uint32_t number, uint32_t way)
{
    return renamed(symmetry, &symmetry->messages, number, way, rename_message);
}

static uint32_t renamed_contents(struct symmetry *symmetry, uint32_t number, uint32_t way)
{
    const uint64_t known = memo_find(&symmetry->contents, number, way);
    if (known)
        return (uint32_t)(known - 1);
    const uint32_t result = rename_contents(symmetry, number, way);
    if (!memo_add(&symmetry->contents, number, way, (uint64_t)result + 1))
        symmetry->model->out_of_memory = true;
    return result;
}

/* ---- the question ---- */

static struct print print_by(struct symmetry *symmetry, const uint32_t *state, uint32_t way)
{
    const struct model *model = symmetry->model;
    const uint32_t nodes = model->setting.nodes, slots = model->slots;
    struct print sum = model_print(renamed(symmetry, &symmetry->budget_sets, state[nodes], way, rename_budgets), true);
    for (cv_node node = 0; node < nodes; node++)
        sum = print_plus(
            sum, model_print(renamed(symmetry, &symmetry->node_states, state[node], way, rename_node_state), false));
    for (uint32_t slot = nodes + 1; slot < slots; slot++)
        if (state[slot])
            sum = print_plus(sum, model_contents(model, renamed_contents(symmetry, state[slot], way))->here);
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

/* ---- the test ---- */

/* Somebody may die while sending: then it matters who is sent to first. */
static bool sends_alike(struct symmetry *symmetry, const struct outcome *outcome, uint32_t way, uint32_t alive)
{
    struct model *model = symmetry->model;
    const struct cv_self *me = &symmetry->host.self;
    uint32_t sent = 0, used = 0;
    for (size_t at = 0; at < me->used; sent++) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        const uint32_t number = model_add_message(model, message, alive);
        uint32_t i = model->setting.group.absence ? sent : 0;
        while (i < outcome->send_count && (used & 1u << i || symmetry->names[way][outcome->sends[i].to] != message->to))
            i++;
        if (i >= outcome->send_count || i >= 32 || (model->setting.group.absence && i != sent) ||
            renamed_message(symmetry, outcome->sends[i].message, way) != number)
            return false;
        used |= 1u << i;
    }
    return sent == outcome->send_count;
}

static bool is_alike(struct symmetry *symmetry, const struct host *host, uint32_t node_state,
                     enum cv_decision_type type, uint32_t argument, uint32_t alive, const struct outcome *outcome,
                     uint32_t way)
{
    struct model *model = symmetry->model;
    const struct naming naming = {{rename_node, rename_row}, symmetry->names[way], model->setting.nodes};
    struct host *other = &symmetry->host;
    const bool of_node = type == CV_DECIDE_TELL || type == CV_DECIDE_SUSPECT || type == CV_DECIDE_TRUST;
    const uint32_t before = renamed(symmetry, &symmetry->node_states, node_state, way, rename_node_state);
    const uint32_t living = (alive & ~LIVES) | rename_bits(&naming, alive & LIVES);
    const uint32_t its = type == CV_DECIDE_DELIVER ? renamed_message(symmetry, argument, way)
                         : of_node                 ? symmetry->names[way][argument]
                                                   : argument;
    memcpy(symmetry->scratch, model_node_state(model, before), intern_record(&model->node_states, before)->length);
    other->script_length = host->chosen;
    memcpy(other->script, host->script, sizeof other->script);
    const char *broken = host_step(other, symmetry->scratch, living, type, its,
                                   type == CV_DECIDE_DELIVER ? model_message(model, its) : NULL);
    const uint32_t seen = ~(uint32_t)CV_DID_NOTE, effects = other->self.effects;
    if ((effects & seen) != (host->self.effects & seen) || other->chosen != host->chosen ||
        (broken != NULL) != ((outcome->flags & OUTCOME_BROKEN) != 0) ||
        (effects & CV_DID_ENTER && other->self.fence != host->self.fence))
        return false;
    return model_add_node_state(model, symmetry->scratch) ==
               renamed(symmetry, &symmetry->node_states, outcome->node_state, way, rename_node_state) &&
           sends_alike(symmetry, outcome, way, living);
}

void symmetry_follow(struct symmetry *symmetry, const struct host *host, uint32_t node_state,
                     enum cv_decision_type type, uint32_t argument, uint32_t alive, const struct outcome *outcome)
{
    struct model *model = symmetry->model;
    char doing[64];
    if (symmetry->count == 1)
        return;
    const uint64_t steps = atomic_fetch_add_explicit(&model->names.count, 1, memory_order_relaxed);
    const uint32_t others = symmetry->count - 1, some = sample_some(steps * others, others);
    for (uint32_t i = 0; i < some; i++) {
        const uint32_t way = 1 + (uint32_t)((steps + i) % others);
        if (is_alike(symmetry, host, node_state, type, argument, alive, outcome, way))
            continue;
        model_describe(model, host->self.node, type, type == CV_DECIDE_DELIVER ? model_message(model, argument) : NULL,
                       doing, sizeof doing);
        if (host->chosen)
            model_break_promise(model, false, "`rename` cannot be confirmed: %s chooses", doing);
        else
            model_break_promise(
                model, true,
                "this algorithm compares ids, or `rename` is wrong: with other names, %s has another result", doing);
        return;
    }
}
