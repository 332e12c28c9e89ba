// SPDX-License-Identifier: MIT
#include "check/trail.h"

#include <stdlib.h>

#include "check/expand/successors.h"
#include "check/search/rank_accord.h"
#include "check/step/initial_state.h"

/* Repeats a run, state by state, and writes down the decisions. */
struct walker {
    struct model *model;
    struct expander expander;
    struct cv_trail *trail;
    uint64_t room;
    uint32_t state[MOST_SLOTS];
    struct fingerprint fingerprint;
    /* If channels do not keep the order of messages: by channel, the messages under way in the order of sending. */
    struct {
        uint32_t *messages, count, room;
    } sent[MOST_CHANNELS];
};

static int walker_init(struct walker *walker, struct model *model, struct cv_trail *trail)
{
    *trail = (struct cv_trail){.loop = CV_NEVER};
    walker->model = model;
    walker->trail = trail;
    int error = expander_init(&walker->expander, model, NULL);
    if (!error)
        error = initial_state(model, walker->state);
    walker->fingerprint = model_fingerprint(model, walker->state);
    return error;
}

static void walker_free(struct walker *walker)
{
    for (uint32_t i = 0; i < MOST_CHANNELS; i++)
        free(walker->sent[i].messages);
    expander_free(&walker->expander);
    free(walker);
}

static void expand_here(struct walker *walker)
{
    expand_clear(&walker->expander);
    expand(&walker->expander, walker->state, walker->fingerprint, EVERY_NODE);
}

/* ---- which of several messages ---- */

static int note_sent(struct walker *walker, uint32_t pair, uint32_t message)
{
    if (walker->sent[pair].count == walker->sent[pair].room) {
        const uint32_t room = walker->sent[pair].room ? walker->sent[pair].room * 2 : 16;
        uint32_t *messages = realloc(walker->sent[pair].messages, room * sizeof *messages);
        if (!messages)
            return CV_ENOMEM;
        walker->sent[pair].messages = messages;
        walker->sent[pair].room = room;
    }
    walker->sent[pair].messages[walker->sent[pair].count++] = message;
    return 0;
}

/* Removes the message that the successor delivers; returns its index in the order of sending. */
static uint32_t take_sent(struct walker *walker, const struct successor *successor)
{
    const struct model *model = walker->model;
    const uint32_t pair = successor->peer * model->setting.nodes + successor->node;
    uint32_t contents = walker->state[model->channels[pair]], at = 0;
    for (uint32_t i = 0; i < successor->which; i++)
        contents = model_contents(model, contents)->rest;
    const uint32_t wanted = model_contents(model, contents)->first;
    uint32_t *messages = walker->sent[pair].messages;
    while (at + 1 < walker->sent[pair].count && messages[at] != wanted)
        at++;
    memmove(messages + at, messages + at + 1, (--walker->sent[pair].count - at) * sizeof *messages);
    return at;
}

/* If channels do not keep the order of messages: follows what is sent, delivered and lost. */
static int follow_messages(struct walker *walker, const struct successor *successor, struct cv_decision *decision)
{
    const struct model *model = walker->model;
    const struct outcome *outcome = successor->outcome;
    const struct cv_links *cut_links = &model_budgets(model, walker->state[model->setting.nodes])->cut_links;
    const uint32_t nodes = model->setting.nodes;
    const uint32_t alive = model_alive(model, walker->state) | 1u << successor->node;
    const bool dies =
        successor->sent != CV_WHOLE || successor->type == CV_DECIDE_CRASH || successor->type == CV_DECIDE_MISS;
    if (!model->setting.scenario->unordered)
        return 0;
    if (successor->type == CV_DECIDE_DELIVER)
        decision->which = take_sent(walker, successor);
    for (uint32_t i = 0; outcome && i < outcome->send_count && i < successor->sent; i++)
        if (alive & 1u << outcome->sends[i].to && !cv_links_have(cut_links, successor->node, outcome->sends[i].to) &&
            note_sent(walker, successor->node * nodes + outcome->sends[i].to, outcome->sends[i].message))
            return CV_ENOMEM;
    for (cv_node from = 0; dies && from < nodes; from++)
        walker->sent[from * nodes + successor->node].count = 0;
    return 0;
}

/* ---- walking ---- */

static int take(struct walker *walker, const struct successor *successor)
{
    struct cv_trail *trail = walker->trail;
    struct cv_decision decision = expand_decision(successor);
    if (follow_messages(walker, successor, &decision))
        return CV_ENOMEM;
    if (trail->count == walker->room) {
        const uint64_t room = walker->room ? walker->room * 2 : 64;
        struct cv_decision *decisions = realloc(trail->decisions, room * sizeof *decisions);
        if (!decisions)
            return CV_ENOMEM;
        trail->decisions = decisions;
        walker->room = room;
    }
    trail->decisions[trail->count++] = decision;
    expand_apply(&walker->expander, successor, walker->state);
    walker->fingerprint = successor->fingerprint;
    return 0;
}

/* The fingerprint of the message that a step delivers; 0 if it delivers none. */
static uint64_t message_of(const struct walker *walker, const struct successor *successor)
{
    const struct model *model = walker->model;
    if (successor->type != CV_DECIDE_DELIVER)
        return 0;
    uint32_t contents = walker->state[model->channels[successor->peer * model->setting.nodes + successor->node]];
    for (uint32_t i = 0; i < successor->which; i++)
        contents = model_contents(model, contents)->rest;
    return intern_record(&model->messages, model_contents(model, contents)->first)->fingerprint.half[0];
}

/* Of several steps to the same state the trail takes one that does not depend on the order in which they were found. */
static bool is_before(const struct walker *walker, const struct successor *one, const struct successor *other)
{
    const struct cv_decision first = expand_decision(one), second = expand_decision(other);
    const uint64_t keys[][2] = {
        {first.type, second.type},
        {first.node, second.node},
        {first.peer, second.peer},
        {message_of(walker, one), message_of(walker, other)},
        {first.type == CV_DECIDE_DELIVER ? 0 : first.which, second.type == CV_DECIDE_DELIVER ? 0 : second.which},
        {first.sent, second.sent},
        {first.missed, second.missed},
        {first.choice_count, second.choice_count}};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (keys[i][0] != keys[i][1])
            return keys[i][0] < keys[i][1];
    return memcmp(first.choices, second.choices, first.choice_count * sizeof *first.choices) < 0;
}

/* Takes the step that leads to the fingerprint, of which 48 bits count; as the spot's step if that is not NULL. */
static int step_to(struct walker *walker, uint64_t fingerprint, const struct successor *wanted)
{
    const struct successor *best = NULL;
    expand_here(walker);
    for (uint32_t i = 0; i < walker->expander.count; i++) {
        const struct successor *it = &walker->expander.successors[i];
        if ((it->key.half[0] ^ fingerprint) & TABLE_LOWER_48 ||
            (wanted && (it->violations != wanted->violations || it->type != wanted->type)))
            continue;
        if (!best || is_before(walker, it, best))
            best = it;
    }
    return best ? take(walker, best) : CV_ENOMEM; /* without memory a step may be missing; otherwise none is */
}

int trail_to_spot(struct model *model, struct search *search, struct cv_trail *trail)
{
    const struct spot *spot = &search->spot;
    struct walker *walker = calloc(1, sizeof *walker);
    uint64_t *fingerprints;
    const uint64_t count = search_ancestors(search, &fingerprints);
    int error = walker && count ? walker_init(walker, model, trail) : CV_ENOMEM;
    if (!is_first_rank(model->setting.options.ranks)) {
        /* It has helped to find the ancestors; the first rank tells the trail. */
        error = 0;
        goto out;
    }
    for (uint64_t i = count - 1; !error && i-- > 0;) /* the last one is the initial state */
        error = step_to(walker, fingerprints[i], NULL);
    if (!error && spot->in_step)
        error = step_to(walker, spot->step.key.half[0], &spot->step);
out:
    free(fingerprints);
    if (walker)
        walker_free(walker);
    return error;
}

int trail_along(struct model *model, const struct state_graph *graph, const struct lasso *lasso, struct cv_trail *trail,
                uint32_t *state)
{
    struct walker *walker = calloc(1, sizeof *walker);
    int error = walker ? walker_init(walker, model, trail) : CV_ENOMEM;
    for (uint32_t i = 0; i < lasso->count && !error; i++) {
        bool taken = i == 0;
        if (i)
            expand_here(walker);
        for (uint32_t j = 0; i && !taken && j < walker->expander.count && !error; j++) {
            const struct successor *successor = &walker->expander.successors[j];
            taken = state_graph_find(graph, successor->fingerprint) == lasso->states[i] &&
                    (!lasso->actions[i] || lasso->actions[i] == successor->action);
            if (taken)
                error = take(walker, successor);
        }
        if (!taken)
            error = CV_ENOMEM;
        if (!error && i == lasso->loop) {
            trail->loop = trail->count;
            memcpy(state, walker->state, sizeof walker->state);
        }
    }
    if (walker)
        walker_free(walker);
    return error;
}
