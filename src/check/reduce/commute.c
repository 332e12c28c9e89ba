// SPDX-License-Identifier: MIT
/*
 * A message and another event of the same node commute if both orders leave the node in the same state, send the same
 * to every node in the same order, and are judged equally. The events that could come before the message are those that
 * the node was observed to do in its state, or in the state after the message: if one of them could happen first, it
 * was observed there.
 */
#include "check/reduce/commute.h"

enum answer { NO = 1, YES, NOTED, PENDING };

#define MOST_SKIPS 64u

int commuting_init(struct commuting *commuting, struct model *model)
{
    const int error = stepper_init(&commuting->stepper, model, NULL);
    commuting->stepper.hypothetical = true;
    return error || memo_init(&commuting->known) ? CV_ENOMEM : 0;
}

void commuting_free(struct commuting *commuting)
{
    stepper_free(&commuting->stepper);
    memo_free(&commuting->known);
}

/* ---- two orders ---- */

/* The question about a message. */
struct question {
    struct commuting *commuting;
    uint32_t message;
    uint32_t alive;
    uint32_t seen[MOST_SKIPS]; /* node states whose observations have been compared */
    uint32_t seen_count;
};

/* The outcome of a step; NULL unless it was observed. A handler is never called for an event that cannot happen. */
static const struct outcome *step(const struct question *question, uint32_t node_state, enum cv_decision_type type,
                                  uint32_t argument)
{
    const struct observed *it = observed_of(&question->commuting->stepper.model->observations, node_state);
    while (it && (it->type != type || it->argument != argument || it->alive != question->alive))
        it = it->next;
    return !it ? NULL : stepper_step(&question->commuting->stepper, node_state, type, argument, question->alive);
}

static const struct outcome *arrive(const struct question *question, uint32_t node_state)
{
    return step(question, node_state, CV_DECIDE_DELIVER, question->message);
}

/* The next message to a node, plus 1, of two outcomes in this order; 0 after the last. */
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

/* Do two steps send the same messages to every node as two other steps? */
static bool send_same(const struct model *model, const struct outcome *const one[2],
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

static bool are_judged_equally(const struct outcome *one, const struct outcome *other)
{
    return one->flags == other->flags && one->detail->fence == other->detail->fence &&
           one->detail->twice == other->detail->twice;
}

/* Do message and event commute here and in every successor? */
static bool commutes_with(const struct question *question, uint32_t node_state, const struct outcome *arrived,
                          const struct observed *it)
{
    const enum cv_decision_type type = (enum cv_decision_type)it->type;
    const struct outcome *before = step(question, node_state, type, it->argument);
    if (!before || before->next)
        return false;
    const struct outcome *then = step(question, arrived->node_state, type, it->argument);
    const struct outcome *after = arrive(question, before->node_state);
    if (!then || !after || then->next || after->next || then->node_state != after->node_state)
        return false;
    return are_judged_equally(before, then) && are_judged_equally(arrived, after) &&
           send_same(question->commuting->stepper.model, (const struct outcome *[]){arrived, then},
                     (const struct outcome *[]){before, after}) &&
           (before->node_state == node_state ||
            commuting_may_arrive(question->commuting, before->node_state, question->message, question->alive));
}

/* Notes a node state. False if it was noted before, or if there are too many: then `full` is set. */
static bool note_seen(struct question *question, uint32_t seen, bool *full)
{
    for (uint32_t i = 0; i < question->seen_count; i++)
        if (question->seen[i] == seen)
            return false;
    *full = question->seen_count == MOST_SKIPS;
    if (!*full)
        question->seen[question->seen_count++] = seen;
    return !*full;
}

/* Does the message commute with every event observed in the state `seen`, and in those that it skipped to? */
static bool commutes_with_all(struct question *question, uint32_t node_state, const struct outcome *arrived,
                              uint32_t seen)
{
    const struct model *model = question->commuting->stepper.model;
    bool full = false;
    if (!note_seen(question, seen, &full))
        return !full;
    const uint8_t from = (uint8_t)model_message(model, question->message)->from;
    for (const struct observed *it = observed_of(&model->observations, seen); it; it = it->next) {
        if (it->type == OBSERVED_SKIP) {
            if (!commutes_with_all(question, node_state, arrived, it->after))
                return false;
        } else if (it->cause != from && !((it->alive ^ question->alive) & ALIVE_MASK) &&
                   (it->cause != OBSERVED_TIMER || model->setting.options.any_time) &&
                   !commutes_with(question, node_state, arrived, it)) {
            return false;
        }
    }
    return true;
}

/* ---- the question ---- */

bool commuting_may_arrive(struct commuting *commuting, uint32_t node_state, uint32_t message, uint32_t alive)
{
    struct question question = {.commuting = commuting, .message = message, .alive = alive};
    const uint64_t key = (uint64_t)node_state << 32 | message, known = memo_find(&commuting->known, key, alive);
    if (known)
        return known == YES || known == NOTED; /* PENDING: a cycle leads back here; the answer is no */
    if (!memo_add(&commuting->known, key, alive, PENDING))
        return false;
    const struct outcome *arrived = arrive(&question, node_state);
    const bool yes = arrived && !arrived->next && !arrived->flags &&
                     commutes_with_all(&question, node_state, arrived, node_state) &&
                     commutes_with_all(&question, node_state, arrived, arrived->node_state);
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
