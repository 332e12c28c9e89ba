// SPDX-License-Identifier: MIT
#include "service/once.h"

#include "core/wall_clock.h"
#include "service/info.h"
#include "service/words.h"

enum { VERB_BEGIN = VERB_OWN, VERB_DONE };

/* The numbers of the state, all of the last run that was done: milliseconds since 1970, and its fence. */
enum { BEGAN, ENDED, FENCE };

static struct recipe_entry *find_runner(const struct recipe_state *state)
{
    for (uint32_t i = 0; i < state->count; i++)
        if (state->entries[i].role == ROLE_RUNS)
            return &state->entries[i];
    return NULL;
}

/*
 * A run counts for the period in which it began, by the clock of the primary. A clock that has been set back begins no
 * period anew.
 */
static int64_t begin(struct recipe_turn *turn)
{
    const uint64_t now_ms = (uint64_t)cv_unix_ms(), every_ms = turn->ask->time_ms;
    const uint64_t began_ms = turn->state->numbers[BEGAN];
    if (find_runner(turn->state) || !every_ms || (began_ms && began_ms / every_ms >= now_ms / every_ms))
        return RESULT_NIL;
    struct recipe_entry entry = recipe_entry_of(turn, ROLE_RUNS);
    entry.time_ms = now_ms;
    entry.client = cv_share_text(turn->ask->client);
    recipe_state_add(turn->state, &entry);
    turn->changed = true;
    return (int64_t)turn->number;
}

/* The runner is gone, or done. */
static void end(struct recipe_turn *turn, const struct recipe_entry *runner)
{
    recipe_state_remove(turn->state, (uint32_t)(runner - turn->state->entries));
    turn->changed = true;
}

static int64_t apply(struct recipe_turn *turn)
{
    struct recipe_state *state = turn->state;
    const struct recipe_entry *runner = find_runner(state);
    const bool its = runner && runner->node == turn->node && runner->process == turn->process &&
                     runner->session == turn->ask->session;
    if (turn->ask->verb == VERB_BEGIN)
        return begin(turn);
    if (turn->ask->verb == VERB_DROP && its && runner->ticket == turn->ask->target)
        end(turn, runner);
    if (turn->ask->verb != VERB_DONE || !its || runner->number != turn->ask->number)
        return 0;
    state->numbers[BEGAN] = runner->time_ms;
    state->numbers[ENDED] = (uint64_t)cv_unix_ms();
    state->numbers[FENCE] = runner->number;
    cv_drop_text(&state->who);
    state->who = cv_share_text(runner->client);
    end(turn, runner);
    return 1;
}

/* ---- at the client's node ---- */

static void write_client(struct cv_resp_writer *out, const struct cv_kept_text *client)
{
    if (client)
        cv_resp_bulk(out, cv_kept(client));
    else
        cv_resp_nil(out);
}

/* The end of the last run, its fence, who did it, and who does it now. */
static void tell_state(struct recipe_order *order)
{
    const struct recipe_state *state = &order->replica->state;
    const struct recipe_entry *runner = find_runner(state);
    struct cv_resp_writer *out = &order->session->out;
    cv_resp_array(out, 4);
    if (state->numbers[BEGAN]) {
        cv_resp_integer(out, (int64_t)state->numbers[ENDED]);
        cv_resp_integer(out, (int64_t)state->numbers[FENCE]);
    } else {
        cv_resp_nil(out);
        cv_resp_nil(out);
    }
    write_client(out, state->who);
    if (runner && !runner->client)
        info_write_session(out, runner->node, runner->session);
    else
        write_client(out, runner ? runner->client : NULL);
    recipe_end(order);
}

static void answered(struct recipe_order *order, int64_t result)
{
    struct recipe_tie *tie;
    if (order->ask.verb == VERB_READ && result >= 0) {
        tell_state(order);
        return;
    }
    if (order->ask.verb == VERB_BEGIN && result > 0 &&
        !recipe_tie(order->replica, order->session, ROLE_RUNS, (uint64_t)result))
        result = RESULT_NO_MEMORY; /* the run is dropped when its session ends */
    if (order->ask.verb == VERB_DONE && (tie = recipe_find_tie(order->replica, order->session, ROLE_RUNS)))
        recipe_untie(tie);
    recipe_tell(order, result);
}

static void leased(struct recipe_order *order)
{
    recipe_answered(order->replica, order->ask.ticket, order->result);
}

const struct recipe_kind once_kind = {
    .word = "ONCE", .lasts = true, .belongs = ROLE_RUNS, .apply = apply, .answered = answered, .leased = leased};

/* ---- the command ---- */

/* The session has the run already: this question is no way to get it twice. */
static bool reads_words(struct session *session, const struct cv_resp_command *command, uint32_t *verb,
                        struct replica_ask *ask)
{
    const struct cv_text word = command->count > 2 ? command->word[2] : (struct cv_text){"", 0};
    *verb = VERB_READ;
    if (command->count == 2)
        return true;
    if (cv_resp_is(word, "EVERY") && command->count == 4) {
        *verb = VERB_BEGIN;
        if (!word_is_number(session, "EVERY", command->word[3], &ask->time_ms))
            return false;
        if (!ask->time_ms)
            cv_resp_error(&session->out, "ERR EVERY '0': expected at least 1 millisecond");
        return ask->time_ms;
    }
    if (cv_resp_is(word, "DONE") && command->count == 4) {
        *verb = VERB_DONE;
        if (!word_is_fence(session, command->word[3], &ask->number))
            return false;
        ask->number = ask->number < CV_FENCE_END ? ask->number : 0; /* nobody was given such a fence */
        return true;
    }
    cv_resp_error(&session->out, "ERR ONCE '%s': expected EVERY ms or DONE fence", cv_brief_text(word).text);
    return false;
}

/* ONCE name [EVERY ms | DONE fence] */
void once_run(struct session *session, const struct cv_resp_command *command)
{
    struct replica_ask ask = {0};
    uint32_t verb;
    if (!reads_words(session, command, &verb, &ask))
        return;
    if (!replicas_outlast(session->service, RECIPE_ONCE)) {
        cv_resp_error(&session->out, "NODISK this group would forget it with its nodes: expected group raft, or a "
                                     "single node with a directory");
        return;
    }
    struct recipe_order *order =
        recipe_begin(session, RECIPE_ONCE, command->word[1], verb, verb == VERB_READ ? CV_MAY_OBSERVE : CV_MAY_LOCK);
    if (!order)
        return;
    order->ask.time_ms = ask.time_ms;
    order->ask.number = ask.number;
    recipe_send(order, UINT64_MAX);
}
