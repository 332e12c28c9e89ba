// SPDX-License-Identifier: MIT
/*
 * A message and another event of the same node commute if both orders leave the node in the same state, send the same
 * to everybody in the same order and are judged alike. What could come before the message is what the node was seen to
 * do in its state, or in the one behind the message: had it been done first, it would have been seen there.
 */
#include "check/reduce/commute.h"

enum answer { NO = 1, YES, NOTED, PENDING };

#define MOST_SKIPS 64u

int commuting_init(struct commuting *commuting, struct model *model)
{
    const int error = stepper_init(&commuting->stepper, model, NULL);
    commuting->stepper.supposes = true;
    return error || memo_init(&commuting->known) ? CV_ENOMEM : 0;
}

void commuting_free(struct commuting *commuting)
{
    stepper_free(&commuting->stepper);
    memo_free(&commuting->known);
}

/* ---- two orders ---- */

/* A message at a node, with everything else that is about to happen there: the state, who lives. */
struct matter {
    struct commuting *commuting;
    uint32_t message, alive;
    uint32_t seen[MOST_SKIPS], seen_count; /* states that have been looked at */
};

/* NULL unless it was seen to happen: a handler must not be asked what it would do if it never could. */
static const struct outcome *step(const struct matter *matter, uint32_t node_state, enum cv_decision_type type,
                                  uint32_t argument)
{
    const struct observed *it = observed_of(&matter->commuting->stepper.model->observations, node_state);
    while (it && (it->type != type || it->argument != argument || it->alive != matter->alive))
        it = it->next;
    return !it ? NULL : stepper_step(&matter->commuting->stepper, node_state, type, argument, matter->alive);
}

static const struct outcome *arrive(const struct matter *matter, uint32_t node_state)
{
    return step(matter, node_state, CV_DECIDE_DELIVER, matter->message);
}

/* The next message to a node, of two outcomes one behind the other; 0 after the last. */
static uint32_t next_to(const struct outcome *const pair[2], uint16_t to, uint32_t *at)
{
    for (; *at < pair[0]->send_count + pair[1]->send_count; ++*at) {
        const uint32_t first = pair[0]->send_count;
        const struct sending *sending = *at < first ? &pair[0]->sends[*at] : &pair[1]->sends[*at - first];
        if (sending->to == to) {
            ++*at;
            return sending->message + 1;
        }
    }
    return 0;
}

static bool send_alike(const struct model *model, const struct outcome *const one[2],
                       const struct outcome *const other[2])
{
    if (one[0]->send_count + one[1]->send_count != other[0]->send_count + other[1]->send_count)
        return false;
    for (uint16_t to = 0; to < model->setting.nodes; to++) {
        uint32_t here = 0, there = 0, message;
        do {
            message = next_to(one, to, &here);
            if (message != next_to(other, to, &there))
                return false;
        } while (message);
    }
    return true;
}

static bool judged_alike(const struct outcome *one, const struct outcome *other)
{
    return one->flags == other->flags && one->detail->fence == other->detail->fence;
}

/* Does it come to the same whether the message arrives before that event or behind it? Then also from there on? */
static bool stands(const struct matter *matter, uint32_t node_state, const struct outcome *arrived,
                   const struct observed *it)
{
    const enum cv_decision_type type = (enum cv_decision_type)it->type;
    const struct outcome *before = step(matter, node_state, type, it->argument);
    if (!before || before->next)
        return false;
    const struct outcome *then = step(matter, arrived->node_state, type, it->argument);
    const struct outcome *behind = arrive(matter, before->node_state);
    if (!then || !behind || then->next || behind->next || then->node_state != behind->node_state)
        return false;
    return judged_alike(before, then) && judged_alike(arrived, behind) &&
           send_alike(matter->commuting->stepper.model, (const struct outcome *[]){arrived, then},
                      (const struct outcome *[]){before, behind}) &&
           (before->node_state == node_state ||
            commutes(matter->commuting, before->node_state, matter->message, matter->alive));
}

/* True if that state is new here; `full` if there are too many of them. */
static bool look_at(struct matter *matter, uint32_t seen, bool *full)
{
    for (uint32_t i = 0; i < matter->seen_count; i++)
        if (matter->seen[i] == seen)
            return false;
    *full = matter->seen_count == MOST_SKIPS;
    if (!*full)
        matter->seen[matter->seen_count++] = seen;
    return !*full;
}

/* Does it stand with all that was seen in a state, and in those that others were skipped for on the way there? */
static bool stand(struct matter *matter, uint32_t node_state, const struct outcome *arrived, uint32_t seen)
{
    const struct model *model = matter->commuting->stepper.model;
    bool full = false;
    if (!look_at(matter, seen, &full))
        return !full;
    const uint8_t from = (uint8_t)model_message(model, matter->message)->from;
    for (const struct observed *it = observed_of(&model->observations, seen); it; it = it->next) {
        if (it->type == OBSERVED_SKIP) {
            if (!stand(matter, node_state, arrived, it->after))
                return false;
        } else if (it->cause != from && !((it->alive ^ matter->alive) & LIVES) &&
                   (it->cause != OBSERVED_TIMER || model->setting.options.any_time) &&
                   !stands(matter, node_state, arrived, it)) {
            return false;
        }
    }
    return true;
}

/* ---- the question ---- */

bool commutes(struct commuting *commuting, uint32_t node_state, uint32_t message, uint32_t alive)
{
    struct matter matter = {.commuting = commuting, .message = message, .alive = alive};
    const uint64_t key = (uint64_t)node_state << 32 | message, known = memo_find(&commuting->known, key, alive);
    if (known)
        return known == YES ||
               known == NOTED; /* what comes round to where the question began is not followed any further */
    if (!memo_add(&commuting->known, key, alive, PENDING))
        return false;
    const struct outcome *arrived = arrive(&matter, node_state);
    const bool yes = arrived && !arrived->next && !arrived->flags && stand(&matter, node_state, arrived, node_state) &&
                     stand(&matter, node_state, arrived, arrived->node_state);
    memo_change(&commuting->known, key, alive, yes ? YES : NO);
    return yes;
}

void commuting_note(struct commuting *commuting, uint32_t node_state, uint32_t message, uint32_t alive)
{
    struct model *model = commuting->stepper.model;
    const uint64_t key = (uint64_t)node_state << 32 | message;
    if (memo_find(&commuting->known, key, alive) == NOTED)
        return;
    memo_change(&commuting->known, key, alive, NOTED);
    const struct outcome *arrived = stepper_step(&commuting->stepper, node_state, CV_DECIDE_DELIVER, message, alive);
    if (!arrived ||
        observed_add(&model->observations, node_state,
                     (struct observed){.after = arrived->node_state, .cause = OBSERVED_ALWAYS, .type = OBSERVED_SKIP}))
        model->out_of_memory = true;
}
