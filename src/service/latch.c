// SPDX-License-Identifier: MIT
#include "service/latch.h"

#include "service/words.h"

enum { VERB_SET = VERB_OWN, VERB_DOWN, VERB_CLEAR };

/* The numbers of the state. */
enum {
    LATCH,  /* when it was set: another latch of the same name has a higher number; 0: there is none */
    LEFT,   /* the count */
    CLEARED /* the latch that was cleared last */
};

static int64_t apply(struct recipe_turn *turn)
{
    uint64_t *numbers = turn->state->numbers;
    const uint64_t amount = turn->ask->amount;
    const bool there = numbers[LATCH];
    switch (turn->ask->verb) {
    case VERB_SET:
        if (there && numbers[LEFT])
            return 0;
        numbers[LATCH] = turn->number;
        numbers[LEFT] = amount;
        turn->changed = true;
        return 1;
    case VERB_DOWN:
        if (!there)
            return RESULT_NO_LATCH;
        turn->changed = numbers[LEFT] > 0;
        numbers[LEFT] -= amount < numbers[LEFT] ? amount : numbers[LEFT];
        return (int64_t)numbers[LEFT];
    case VERB_CLEAR:
        if (!there)
            return 0;
        numbers[CLEARED] = numbers[LATCH];
        numbers[LATCH] = numbers[LEFT] = 0;
        turn->changed = true;
        return 1;
    default:
        return 0;
    }
}

/* Another latch of that name means that this one was open, unless it was cleared. True: the client goes on waiting. */
static bool goes_on(struct recipe_order *order)
{
    const uint64_t *numbers = order->replica->state.numbers;
    if (!order->watched)
        order->watched = numbers[LATCH];
    if (!order->watched || numbers[CLEARED] == order->watched)
        recipe_tell(order, RESULT_NO_LATCH);
    else if (numbers[LATCH] != order->watched || !numbers[LEFT])
        recipe_tell(order, 0);
    else if (order->overdue)
        recipe_tell(order, RESULT_NIL);
    else
        return true;
    return false;
}

/* READ is also for a client that waits: `amount` tells. When it is answered, this node has the state. */
static void answered(struct recipe_order *order, int64_t result)
{
    const uint64_t *numbers = order->replica->state.numbers;
    if (order->ask.verb != VERB_READ || result < 0)
        recipe_tell(order, result);
    else if (order->ask.amount)
        goes_on(order);
    else
        recipe_tell(order, numbers[LATCH] ? (int64_t)numbers[LEFT] : RESULT_NIL);
}

static void overdue(struct recipe_order *order)
{
    recipe_tell(order, RESULT_NIL);
}

static void kept(struct replica *replica)
{
    for (struct recipe_order *order = replica->orders, *next; order; order = next) {
        next = order->next;
        if (order->answered && order->session)
            goes_on(order);
    }
}

const struct recipe_kind latch_kind = {
    .word = "LATCH", .lasts = true, .apply = apply, .answered = answered, .overdue = overdue, .kept = kept};

/* ---- the command ---- */

static bool read_count(struct session *session, const struct cv_resp_command *command, uint64_t *count)
{
    if (command->count != 4) {
        cv_resp_error(&session->out, "ERR LATCH %s: expected a count after it", cv_brief_text(command->word[2]).text);
        return false;
    }
    if (cv_parse_number(command->word[3], MOST_PERMITS, count) && *count)
        return true;
    cv_resp_error(&session->out, "ERR LATCH '%s': expected a count of 1 to %u", cv_brief_text(command->word[3]).text,
                  MOST_PERMITS);
    return false;
}

/* LATCH name [SET count | DOWN [count] | AWAIT [WAIT ms] | CLEAR] */
void latch_run(struct session *session, const struct cv_resp_command *command)
{
    const struct cv_text word = command->count > 2 ? command->word[2] : (struct cv_text){"", 0};
    uint64_t wait_ms = UINT64_MAX, count = 1;
    uint32_t verb = VERB_READ;
    const bool awaits = cv_resp_is(word, "AWAIT");
    bool good = command->count <= 3;
    if (cv_resp_is(word, "SET")) {
        verb = VERB_SET;
        good = read_count(session, command, &count);
    } else if (cv_resp_is(word, "DOWN")) {
        verb = VERB_DOWN;
        good = command->count == 3 || read_count(session, command, &count);
    } else if (cv_resp_is(word, "CLEAR") && good) {
        verb = VERB_CLEAR;
    } else if (awaits) {
        good = recipe_read_wait(session, command, 3, &wait_ms);
    } else if (command->count > 2) {
        cv_resp_error(&session->out, "ERR LATCH '%s': expected SET count, DOWN [count], AWAIT [WAIT ms] or CLEAR",
                      cv_brief_text(word).text);
        return;
    }
    if (!good)
        return;
    struct recipe_order *order =
        recipe_begin(session, RECIPE_LATCH, command->word[1], verb, verb == VERB_READ ? CV_MAY_OBSERVE : CV_MAY_LOCK);
    if (!order)
        return;
    order->ask.amount = verb != VERB_READ ? count : awaits;
    recipe_send(order, wait_ms);
}
