// SPDX-License-Identifier: MIT
#include "service/barrier.h"

#include "service/words.h"

enum { VERB_ARRIVE = VERB_OWN, VERB_ENTER, VERB_LEAVE, VERB_WITHDRAW };

/* The number of the state: how many parties the clients that wait have said; 0: nobody waits. */
enum { PARTIES };

/* ---- at the primary ---- */

static uint32_t waiting_in(const struct recipe_state *state)
{
    return recipe_state_count(state, ROLE_ARRIVED) + recipe_state_count(state, ROLE_ENTERING);
}

/* All who want to leave have left. */
static void part(struct recipe_state *state)
{
    for (uint32_t i = 0; i < state->count; i++)
        if (state->entries[i].role == ROLE_LEAVING)
            state->entries[i].role = ROLE_PASSED;
}

/* So many of those who wait meet, in the order in which they came. */
static void meet(struct recipe_state *state, uint64_t parties, uint64_t number)
{
    for (uint32_t i = 0; i < state->count && parties; i++) {
        struct recipe_entry *entry = &state->entries[i];
        if (entry->role != ROLE_ARRIVED && entry->role != ROLE_ENTERING)
            continue;
        entry->role = entry->role == ROLE_ARRIVED ? ROLE_PASSED : ROLE_INSIDE;
        entry->number = number;
        parties--;
    }
}

/*
 * If all have come, or all have left, they go on together. Those who enter wait until the last meeting is over; by then
 * there may be more of them than meet.
 */
static void go_on(struct recipe_state *state, uint64_t number)
{
    if (!recipe_state_count(state, ROLE_INSIDE))
        part(state);
    const uint32_t waiting = waiting_in(state);
    const bool inside = recipe_state_count(state, ROLE_INSIDE) || recipe_state_count(state, ROLE_LEAVING);
    if (waiting && waiting >= state->numbers[PARTIES] && !(inside && recipe_state_count(state, ROLE_ENTERING)))
        meet(state, state->numbers[PARTIES], number);
    if (!waiting_in(state))
        state->numbers[PARTIES] = 0;
}

static int64_t arrive(struct recipe_turn *turn, enum recipe_role role)
{
    struct recipe_state *state = turn->state;
    const struct replica_ask *ask = turn->ask;
    if (recipe_state_find(state, ROLE_INSIDE, turn->node, turn->process, ask->session) ||
        recipe_state_find(state, ROLE_LEAVING, turn->node, turn->process, ask->session))
        return RESULT_INSIDE;
    if (state->numbers[PARTIES] && state->numbers[PARTIES] != ask->amount)
        return RESULT_PARTIES - (int64_t)state->numbers[PARTIES];
    if (!recipe_has_room(turn))
        return RESULT_FULL;
    const struct recipe_entry entry = recipe_entry_of(turn, role);
    recipe_state_add(state, &entry);
    state->numbers[PARTIES] = ask->amount;
    return 1;
}

static int64_t leave(struct recipe_turn *turn)
{
    struct recipe_entry *entry =
        recipe_state_find(turn->state, ROLE_INSIDE, turn->node, turn->process, turn->ask->session);
    if (!entry)
        return RESULT_OUTSIDE;
    entry->role = ROLE_LEAVING;
    entry->ticket = turn->ask->ticket;
    return 1;
}

/* The client waits no longer, or is gone. 0: it has gone on already. */
static int64_t give_up(struct recipe_turn *turn, bool gone)
{
    struct recipe_state *state = turn->state;
    for (uint32_t i = 0; i < state->count; i++) {
        struct recipe_entry *entry = &state->entries[i];
        if (entry->role == ROLE_APPLIED || entry->role == ROLE_PASSED || entry->node != turn->node ||
            entry->process != turn->process || entry->session != turn->ask->session ||
            entry->ticket != turn->ask->target || (!gone && entry->role == ROLE_INSIDE))
            continue;
        if (!gone && entry->role == ROLE_LEAVING) {
            entry->role = ROLE_INSIDE;
            entry->ticket = 0; /* no order waits for it */
        } else {
            recipe_state_remove(state, i);
        }
        return 1;
    }
    return 0;
}

static int64_t apply(struct recipe_turn *turn)
{
    int64_t result = 0;
    switch (turn->ask->verb) {
    case VERB_ARRIVE:
        result = arrive(turn, ROLE_ARRIVED);
        break;
    case VERB_ENTER:
        result = arrive(turn, ROLE_ENTERING);
        break;
    case VERB_LEAVE:
        result = leave(turn);
        break;
    case VERB_WITHDRAW:
    case VERB_DROP:
        result = give_up(turn, turn->ask->verb == VERB_DROP);
        break;
    default:
        break;
    }
    turn->changed = result > 0;
    if (turn->changed)
        go_on(turn->state, turn->number);
    return result;
}

/* ---- at the client's node ---- */

/* The client has met the others, or has left with them. */
static void tell_meeting(struct recipe_order *order)
{
    struct replica *replica = order->replica;
    struct session *session = order->session;
    const uint64_t meeting = order->meeting;
    struct recipe_tie *tie = recipe_find_tie(replica, session, ROLE_INSIDE);
    if (order->wanted == VERB_LEAVE && tie)
        recipe_untie(tie);
    if (order->wanted == VERB_ENTER && !recipe_tie(replica, session, ROLE_INSIDE, meeting)) {
        recipe_tell(order, RESULT_NO_MEMORY); /* it is inside until its session ends */
        return;
    }
    recipe_tell(order, (int64_t)meeting);
}

static void overdue(struct recipe_order *order)
{
    if (order->ask.verb != VERB_WITHDRAW)
        recipe_turn_into(order, VERB_WITHDRAW);
}

static void answered(struct recipe_order *order, int64_t result)
{
    if (result < 0)
        recipe_tell(order, result);
    else if (order->ask.verb == VERB_WITHDRAW)
        recipe_tell(order, RESULT_NIL);
    else if (order->overdue)
        overdue(order);
}

static void kept(struct replica *replica)
{
    for (struct recipe_order *order = replica->orders, *next; order; order = next) {
        next = order->next;
        if (!order->meeting || !order->session)
            continue;
        if (order->wanted == VERB_ENTER && !cv_member_serves(replica->service->member))
            order->late = true; /* the others may leave without this client now */
        else
            tell_meeting(order);
    }
}

static void leased(struct recipe_order *order)
{
    if (order->session)
        tell_meeting(order);
}

const struct recipe_kind barrier_kind = {.word = "BARRIER",
                                         .apply = apply,
                                         .left = go_on,
                                         .answered = answered,
                                         .overdue = overdue,
                                         .kept = kept,
                                         .leased = leased};

/* ---- the command ---- */

/* BARRIER name parties [ENTER] [WAIT ms], BARRIER name LEAVE [WAIT ms] */
void barrier_run(struct session *session, const struct cv_resp_command *command)
{
    const bool leaves = cv_resp_is(command->word[2], "LEAVE");
    const bool enters = !leaves && command->count > 3 && cv_resp_is(command->word[3], "ENTER");
    uint64_t parties = 0, wait_ms;
    if (!leaves && (!cv_parse_number(command->word[2], MOST_PARTIES, &parties) || !parties)) {
        cv_resp_error(&session->out, "ERR BARRIER '%s': expected a number of parties, 1 to %u, or LEAVE",
                      cv_brief_text(command->word[2]).text, MOST_PARTIES);
        return;
    }
    if (!recipe_read_wait(session, command, 3 + enters, &wait_ms))
        return;
    const uint32_t verb = leaves ? VERB_LEAVE : enters ? VERB_ENTER : VERB_ARRIVE;
    struct recipe_order *order = recipe_begin(session, RECIPE_BARRIER, command->word[1], verb, CV_MAY_LOCK);
    if (!order)
        return;
    order->wanted = verb;
    order->ask.amount = parties;
    recipe_send(order, wait_ms);
}
