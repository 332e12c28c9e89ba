// SPDX-License-Identifier: MIT
#include "check/step/stepper.h"

#include <stdlib.h>
#include <xxhash.h>

#include "check/step/equal_times.h"
#include "check/step/handlers.h"

int stepper_init(struct stepper *stepper, struct model *model, struct memos *memos)
{
    *stepper = (struct stepper){.model = model};
    stepper->scratch = calloc(1, node_state_most_bytes(&model->setting));
    stepper->memos = memos ? memos : &stepper->own;
    int error = runner_init(&stepper->runner, &model->setting);
    for (uint32_t kind = 0; !memos && kind < MEMO_KINDS; kind++)
        error |= memo_init(&stepper->own.of[kind]);
    return stepper->scratch && !error ? 0 : CV_ENOMEM;
}

void stepper_free(struct stepper *stepper)
{
    arena_free(&stepper->outcomes);
    for (uint32_t kind = 0; kind < MEMO_KINDS; kind++)
        memo_free(&stepper->own.of[kind]);
    if (stepper->model)
        runner_free(&stepper->runner);
    free(stepper->scratch);
}

uint64_t stepper_bytes(const struct stepper *stepper)
{
    uint64_t bytes = stepper->outcomes.bytes;
    for (uint32_t kind = 0; kind < MEMO_KINDS; kind++)
        bytes += memo_bytes(&stepper->own.of[kind]);
    return bytes;
}

void stepper_tidy(struct stepper *stepper)
{
    for (uint32_t kind = 0; kind < MEMO_KINDS; kind++)
        memo_tidy(&stepper->own.of[kind]);
}

/* ---- outcomes ---- */

static uint8_t flags_of(const struct stepper *stepper, const struct node_state *before, const struct node_state *after,
                        const char *broken)
{
    const struct setting *setting = &stepper->model->setting;
    const uint32_t did = stepper->runner.self.effects;
    uint32_t flags = 0;
    if (did & CV_DID_ENTER)
        flags |= OUTCOME_ENTERED;
    if (before->flags & NODE_INSIDE && !(after->flags & NODE_INSIDE))
        flags |= OUTCOME_LEFT;
    if (did & CV_DID_RECALL)
        flags |= OUTCOME_RECALLED;
    if (did & CV_DID_PULSE && setting->scenario->app)
        flags |= OUTCOME_PULSED;
    if (broken)
        flags |= OUTCOME_BROKEN;
    if (stepper->runner.overdue)
        flags |= OUTCOME_OVERDUE;
    if (setting->best_always && after->flags & NODE_KNOWS && after->leader != setting->best)
        flags |= OUTCOME_MISLED;
    if (setting->agree_always && ((before->flags ^ after->flags) & NODE_KNOWS || before->leader != after->leader))
        flags |= OUTCOME_FOLLOWS;
    return (uint8_t)flags;
}

static struct outcome *new_outcome(struct stepper *stepper, uint32_t sends)
{
    struct outcome *outcome = arena_take(&stepper->outcomes, sizeof *outcome + sends * sizeof *outcome->sends);
    struct outcome_detail *detail = arena_take(&stepper->outcomes, sizeof *detail);
    if (!outcome || !detail)
        return NULL;
    outcome->detail = detail;
    return outcome;
}

static bool sends_to(const struct outcome *outcome, uint16_t node)
{
    for (uint32_t i = 0; i < outcome->send_count; i++)
        if (outcome->sends[i].to == node)
            return true;
    return false;
}

static struct outcome *note_outcome(struct stepper *stepper, uint32_t from, const char *broken)
{
    struct model *model = stepper->model;
    const struct cv_self *me = &stepper->runner.self;
    struct outcome *outcome = new_outcome(stepper, handler_sends(me));
    if (!outcome)
        return NULL;
    outcome->node_state = model_add_node_state(model, stepper->scratch);
    outcome->flags = flags_of(stepper, model_node_state(model, from), stepper->scratch, broken);
    outcome->change =
        fingerprint_subtract(slot_fingerprint(model, outcome->node_state, false), slot_fingerprint(model, from, false));
    outcome->detail->fence = me->effects & CV_DID_ENTER ? me->fence : 0;
    outcome->detail->twice = outcome->flags & OUTCOME_ENTERED && model_node_state(model, from)->flags & NODE_INSIDE;
    outcome->detail->choice_count = stepper->runner.chosen;
    outcome->detail->begun = 0;
    memcpy(outcome->detail->choices, stepper->runner.script, sizeof outcome->detail->choices);
    outcome->fast_path = true;
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        assert(message->kind < cv_algorithm_kinds(model->setting.algorithm));
        if (!model_may_send(model, from, stepper->runner.alive & ALIVE_MASK, message->to))
            model->leaves_topology = true;
        const struct sending sending = {(uint16_t)message->to,
                                        (uint16_t)model_channel(model, message->from, message->to),
                                        model_add_message(model, message, stepper->runner.alive)};
        outcome->fast_path &= message->to != message->from && !sends_to(outcome, sending.to);
        outcome->sent = fingerprint_add(outcome->sent, contents_fingerprint(model, sending.message, 0));
        outcome->sends[outcome->send_count++] = sending;
    }
    return outcome;
}

static uint8_t cause_of(const struct model *model, enum cv_decision_type type, uint32_t argument)
{
    if (type == CV_DECIDE_DELIVER)
        return (uint8_t)model_message(model, argument)->from;
    return type == CV_DECIDE_TIMEOUT ? OBSERVED_TIMER : OBSERVED_ALWAYS;
}

static void note_observed(struct model *model, uint32_t node_state, enum cv_decision_type type, uint32_t argument,
                          uint32_t alive, const struct outcome *outcome)
{
    struct observed observed = {.after = outcome->node_state,
                                .argument = argument,
                                .alive = alive,
                                .cause = cause_of(model, type, argument),
                                .type = (uint8_t)type};
    for (uint32_t i = 0; i < outcome->send_count; i++)
        observed.receivers |= (uint16_t)(1u << outcome->sends[i].to);
    if (observed_add(&model->observations, node_state, observed))
        model->out_of_memory = true;
}

/* Is there an equal outcome, by other choices? */
static bool is_known(const struct outcome *first, const struct outcome *outcome)
{
    for (const struct outcome *other = first; other; other = other->next)
        if (other->node_state == outcome->node_state && other->flags == outcome->flags &&
            other->detail->fence == outcome->detail->fence && other->detail->twice == outcome->detail->twice &&
            other->send_count == outcome->send_count &&
            memcmp(other->sends, outcome->sends, outcome->send_count * sizeof *outcome->sends) == 0)
            return true;
    return false;
}

/* A hash of the result of a step, without the clocks. */
static uint64_t digest(const struct stepper *stepper, size_t length)
{
    const struct cv_self *me = &stepper->runner.self;
    stepper->scratch->clock = 0;
    uint64_t digest = XXH3_64bits(stepper->scratch, length) + me->effects * 3 + me->fence * 7;
    for (size_t at = 0; at < me->used;) {
        struct cv_message *message = (void *)(me->outbox + at);
        at += cv_message_bytes(message);
        message->clock = 0;
        digest = digest * 31 + XXH3_64bits(message, cv_message_bytes(message));
    }
    return digest;
}

#define FAR_AWAY (1u << 30)

/*
 * Is the result of this step the same whatever Lamport's clock says? If that holds for all steps but requests, clocks
 * are of no use after the last request. Tries the step as it is, at a time far away, and without any time.
 */
static bool ignores_clock(struct stepper *stepper, uint32_t node_state, enum cv_decision_type type, uint32_t argument,
                          uint32_t alive)
{
    struct model *model = stepper->model;
    const size_t length = intern_record(&model->node_states, node_state)->length;
    const uint32_t timed = type == CV_DECIDE_DELIVER ? argument : 0;
    const uint32_t timeless =
        type == CV_DECIDE_DELIVER ? model_add_message(model, model_message(model, argument), CLOCKS_STOPPED) : 0;
    uint64_t digests[3];
    for (uint32_t i = 0; i < 3; i++) {
        const struct cv_message *message =
            type == CV_DECIDE_DELIVER ? model_message(model, i == 2 ? timeless : timed) : NULL;
        memcpy(stepper->scratch, model_node_state(model, node_state), length);
        if (i)
            stepper->scratch->clock = i == 1 ? FAR_AWAY : 0;
        stepper->runner.clock_ahead = i == 1 ? FAR_AWAY : 0;
        stepper->runner.script_length = 0;
        runner_step(&stepper->runner, stepper->scratch, i == 2 ? alive | CLOCKS_STOPPED : alive, type, argument,
                    message);
        digests[i] = digest(stepper, length);
    }
    return digests[0] == digests[1] && digests[0] == digests[2];
}

/*
 * How far the clock of a node may be ahead of all times that it has heard of: up to the time of a request still to
 * come, but not up to its own. Returns the next such time after the given one; 0 after the last.
 */
static uint64_t next_clock_ahead(const struct setting *setting, const struct node_state *node_state,
                                 enum cv_decision_type type, uint64_t clock_ahead)
{
    if (!setting->ordered || setting->algorithm->hints.clocked != CV_CLOCKS_REQUESTS || type == CV_DECIDE_REQUEST)
        return 0;
    const uint64_t own = order_time(&setting->order, node_state->node, node_state->requests_left);
    const uint64_t next =
        (clock_ahead > node_state->clock ? clock_ahead : node_state->clock) / ORDER_STEP * ORDER_STEP + ORDER_STEP;
    return next <= setting->order.ranks * ORDER_STEP && (!own || next < own) ? next : 0;
}

/* Does the step send to a node whose request has that time? If not, the clock need not be ahead that far. */
static bool is_clock_ahead_seen(const struct setting *setting, uint64_t clock_ahead, const struct outcome *outcome)
{
    uint32_t receivers = 0;
    for (uint32_t i = 0; i < outcome->send_count; i++)
        receivers |= 1u << outcome->sends[i].to;
    return !clock_ahead || receivers & setting->order.masks[clock_ahead / ORDER_STEP - 1];
}

static void test_promises(struct stepper *stepper, const struct computed_step *step)
{
    if (stepper->hypothetical || stepper->model->promise_doubted)
        return;
    for (struct promise_test *test = stepper->model->promise_tests; test; test = test->next)
        test->follow(test, step);
    if (stepper->thread_test)
        stepper->thread_test->follow(stepper->thread_test, step);
}

/* Adds all outcomes of a step, with the clock ahead as the runner says, to the list. False if there is no memory. */
static bool compute_outcomes(struct stepper *stepper, uint32_t node_state, enum cv_decision_type type,
                             uint32_t argument, uint32_t alive, struct outcome **first)
{
    struct model *model = stepper->model;
    const struct node_state *before = model_node_state(model, node_state);
    const struct cv_message *message = type == CV_DECIDE_DELIVER ? model_message(model, argument) : NULL;
    stepper->runner.script_length = 0;
    do {
        memcpy(stepper->scratch, before, intern_record(&model->node_states, node_state)->length);
        const char *broken = runner_step(&stepper->runner, stepper->scratch, alive, type, argument, message);
        struct outcome *outcome = note_outcome(stepper, node_state, broken);
        if (!outcome || stepper->runner.out_of_memory || model->out_of_memory)
            return false;
        test_promises(stepper, &(struct computed_step){&stepper->runner, node_state, type, argument, alive, outcome});
        if (!is_clock_ahead_seen(&model->setting, stepper->runner.clock_ahead, outcome) || is_known(*first, outcome))
            continue;
        if (setting_predicts(&model->setting, alive) && !stepper->hypothetical && !(outcome->flags & OUTCOME_OVERDUE))
            note_observed(model, node_state, type, argument, alive, outcome);
        outcome->fast_path &= !*first || (*first)->fast_path; /* the expander reads it from the first only */
        outcome->next = *first;
        *first = outcome;
    } while (runner_next_script(&stepper->runner));
    return true;
}

static void try_other_times(struct stepper *stepper, uint32_t node_state, enum cv_decision_type type, uint32_t argument,
                            uint32_t alive)
{
    struct model *model = stepper->model;
    const struct trial trial = {.runner = &stepper->runner,
                                .scratch = stepper->scratch,
                                .before = model_node_state(model, node_state),
                                .length = intern_record(&model->node_states, node_state)->length,
                                .type = type,
                                .argument = argument,
                                .alive = alive,
                                .message = type == CV_DECIDE_DELIVER ? model_message(model, argument) : NULL};
    if (model->setting.order.strict && equal_times_matter(&trial))
        model->equal_times_differ = true;
    if (sample_takes(&model->times, model->before) && times_matter(&trial))
        model->reads_clocks = true;
}

static const struct outcome *compute(struct stepper *stepper, uint32_t node_state, enum cv_decision_type type,
                                     uint32_t argument, uint32_t alive)
{
    struct model *model = stepper->model;
    const struct node_state *before = model_node_state(model, node_state);
    struct outcome *first = NULL;
    if ((model->setting.drops_clocks || model->setting.ordered) &&
        model->setting.algorithm->hints.clocked != CV_CLOCKS_REQUESTS && type != CV_DECIDE_REQUEST &&
        type != CV_DECIDE_RECOVER && !ignores_clock(stepper, node_state, type, argument, alive))
        model->reads_clocks = true;
    stepper->runner.clock_ahead = 0;
    if (model->setting.ordered)
        try_other_times(stepper, node_state, type, argument, alive);
    do
        if (!compute_outcomes(stepper, node_state, type, argument, alive, &first))
            return NULL;
    while (
        (stepper->runner.clock_ahead = next_clock_ahead(&model->setting, before, type, stepper->runner.clock_ahead)));
    return first;
}

const struct outcome *stepper_compute(struct stepper *stepper, uint32_t node_state, enum cv_decision_type type,
                                      uint32_t argument, uint32_t alive)
{
    const struct step step = step_of(node_state, type, argument, alive);
    const struct outcome *first = compute(stepper, node_state, type, argument, alive);
    if (first)
        first = (const struct outcome *)(uintptr_t)memo_add(&stepper->memos->of[MEMO_STEPS], step.one, step.other,
                                                            (uintptr_t)first);
    if (!first)
        stepper->model->out_of_memory = true;
    return first;
}

/* ---- channels, fences and time ---- */

uint32_t stepper_compute_put(struct stepper *stepper, uint32_t contents, uint32_t message)
{
    const uint32_t result = model_put(stepper->model, contents, message);
    if (!memo_add(&stepper->memos->of[MEMO_PUTS], contents, message, result))
        stepper->model->out_of_memory = true;
    return result;
}

uint32_t stepper_take(struct stepper *stepper, uint32_t contents, uint32_t index)
{
    if (!index)
        return model_contents(stepper->model, contents)->rest;
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_TAKES], contents, index);
    if (known)
        return (uint32_t)known;
    const uint32_t result = model_take(stepper->model, contents, index);
    if (!memo_add(&stepper->memos->of[MEMO_TAKES], contents, index, result))
        stepper->model->out_of_memory = true;
    return result;
}

uint32_t stepper_raise(struct stepper *stepper, uint32_t budgets, uint64_t fence)
{
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_RAISED], budgets, fence);
    if (__builtin_expect(known != 0, 1))
        return (uint32_t)(known - 1);
    struct budgets raised = *model_budgets(stepper->model, budgets);
    raised.highest_fence = fence;
    const uint32_t result = model_add_budgets(stepper->model, &raised);
    if (!memo_add(&stepper->memos->of[MEMO_RAISED], budgets, fence, (uint64_t)result + 1))
        stepper->model->out_of_memory = true;
    return result;
}

uint32_t stepper_age_contents(struct stepper *stepper, uint32_t contents, uint64_t time)
{
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_LATER], contents, time);
    if (known)
        return (uint32_t)known;
    const uint32_t result = model_age(stepper->model, contents, time);
    if (result && !memo_add(&stepper->memos->of[MEMO_LATER], contents, time, result))
        stepper->model->out_of_memory = true;
    return result;
}

uint32_t stepper_age(struct stepper *stepper, uint32_t node_state, uint64_t time)
{
    const uint64_t known = memo_find(&stepper->memos->of[MEMO_AGED], node_state, time);
    if (known)
        return (uint32_t)(known - 1);
    const struct model *model = stepper->model;
    memcpy(stepper->scratch, model_node_state(model, node_state),
           intern_record(&model->node_states, node_state)->length);
    for (uint32_t timer = 0; timer < model->setting.timers; timer++)
        if (stepper->scratch->timers[timer])
            stepper->scratch->timers[timer] -= time;
    const uint32_t result = model_add_node_state(stepper->model, stepper->scratch);
    if (!memo_add(&stepper->memos->of[MEMO_AGED], node_state, time, (uint64_t)result + 1))
        stepper->model->out_of_memory = true;
    return result;
}
