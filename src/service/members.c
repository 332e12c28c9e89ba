// SPDX-License-Identifier: MIT
#include "service/members.h"

#include "live/net/stream.h"
#include "service/replica_table.h"
#include "service/words.h"

enum { VERB_JOIN = VERB_OWN };

/* `amount` of a READ. */
enum { TELLS, WATCHES };

/* The numbers of the state. The first is 0: a list without members is empty. */
enum { NOTHING, CHANGED /* the last change */ };

/* ---- at the primary ---- */

/*
 * Has a later order of the session been carried out? A node gives an order by itself to bring a session back, and does
 * not wait for its result before it says that the session leaves. It tells the primary of the next view both again. By
 * then both may have been carried out, and the first must not be carried out anew.
 */
static bool has_left_since(const struct recipe_turn *turn)
{
    for (uint32_t i = 0; i < turn->state->count; i++) {
        const struct recipe_entry *entry = &turn->state->entries[i];
        if (entry->role == ROLE_APPLIED && entry->node == turn->node && entry->process == turn->process &&
            entry->session == turn->ask->session && entry->ticket > turn->ask->ticket)
            return true;
    }
    return false;
}

/* A member that comes back, because its node was away, has its number, and so its place. */
static int64_t join(struct recipe_turn *turn)
{
    struct recipe_state *state = turn->state;
    const struct recipe_entry *known =
        recipe_state_find(state, ROLE_MEMBER, turn->node, turn->process, turn->ask->session);
    struct recipe_entry entry = recipe_entry_of(turn, ROLE_MEMBER);
    uint32_t place = 0;
    if (known)
        return (int64_t)known->number;
    if (has_left_since(turn))
        return 0; /* nobody waits for it */
    if (!recipe_has_room(turn))
        return RESULT_FULL;
    if (turn->ask->number && turn->ask->number < turn->number)
        entry.number = turn->ask->number;
    entry.client = cv_share_text(turn->ask->client);
    entry.value = cv_share_text(turn->ask->value);
    recipe_state_add(state, &entry);
    while (state->entries[place].role != ROLE_MEMBER || state->entries[place].number < entry.number)
        place++;
    for (uint32_t i = state->count - 1; i > place; i--)
        state->entries[i] = state->entries[i - 1];
    state->entries[place] = entry;
    turn->changed = true;
    state->numbers[CHANGED] = turn->number;
    return (int64_t)entry.number;
}

static int64_t apply(struct recipe_turn *turn)
{
    struct recipe_state *state = turn->state;
    if (turn->ask->verb == VERB_JOIN)
        return join(turn);
    const struct recipe_entry *known =
        recipe_state_find(state, ROLE_MEMBER, turn->node, turn->process, turn->ask->session);
    if (turn->ask->verb != VERB_DROP || !known || (turn->ask->target && known->ticket != turn->ask->target))
        return 0;
    recipe_state_remove(state, (uint32_t)(known - state->entries));
    turn->changed = true;
    state->numbers[CHANGED] = turn->number;
    return 1;
}

/* Clients that watch are told. */
static void left(struct recipe_state *state, uint64_t number)
{
    state->numbers[CHANGED] = number;
}

/* ---- at the client's node ---- */

static void write_text(struct cv_resp_writer *out, const struct cv_kept_text *text)
{
    if (text)
        cv_resp_bulk(out, cv_kept(text));
    else
        cv_resp_nil(out);
}

static void write_list(struct cv_resp_writer *out, const struct recipe_state *state)
{
    cv_resp_array(out, recipe_state_count(state, ROLE_MEMBER));
    for (uint32_t i = 0; i < state->count; i++) {
        const struct recipe_entry *entry = &state->entries[i];
        if (entry->role != ROLE_MEMBER)
            continue;
        cv_resp_array(out, 3);
        cv_resp_integer(out, (int64_t)entry->number);
        write_text(out, entry->client);
        write_text(out, entry->value);
    }
}

/* The number was told to the client: it comes back under that one. */
static bool keep_tie(struct recipe_order *order, uint64_t number)
{
    if (recipe_find_tie(order->replica, order->session, ROLE_MEMBER))
        return true;
    if (!recipe_tie(order->replica, order->session, ROLE_MEMBER, number))
        return false;
    struct recipe_tie *tie = recipe_find_tie(order->replica, order->session, ROLE_MEMBER);
    tie->client = cv_share_text(order->ask.client);
    tie->value = cv_share_text(order->ask.value);
    return true;
}

static void answered(struct recipe_order *order, int64_t result)
{
    struct session *session = order->session;
    if (order->ask.verb == VERB_READ && result >= 0) {
        if (order->ask.amount == WATCHES && !recipe_find_tie(order->replica, session, ROLE_NONE) &&
            !recipe_tie(order->replica, session, ROLE_NONE, 0)) {
            recipe_tell(order, RESULT_NO_MEMORY);
            return;
        }
        write_list(&session->out, &order->replica->state);
        recipe_end(order);
        return;
    }
    if (order->ask.verb == VERB_JOIN && result > 0 && !keep_tie(order, (uint64_t)result))
        result = RESULT_NO_MEMORY; /* it leaves with its session */
    recipe_tell(order, result);
}

static void push(const struct replica *replica, struct session *session)
{
    if (session->out.length > SESSION_HIGH_WATER) {
        session->service->dropped_observers++; /* it has not read for long, and must learn that it missed some */
        cv_stream_close(&session->stream);
        return;
    }
    cv_resp_push(&session->out, 3);
    cv_resp_word(&session->out, "members");
    cv_resp_bulk(&session->out, replica_name(replica));
    write_list(&session->out, &replica->state);
    cv_stream_mark(&session->stream);
}

static void kept(struct replica *replica)
{
    const uint64_t changed = replica->state.numbers[CHANGED];
    if (replica->told == changed)
        return;
    replica->told = changed;
    for (const struct recipe_tie *tie = replica->ties; tie; tie = tie->next)
        if (tie->role == ROLE_NONE && !tie->session->stream.closing)
            push(replica, tie->session);
}

const struct recipe_kind members_kind = {
    .word = "MEMBERS", .belongs = ROLE_MEMBER, .apply = apply, .left = left, .answered = answered, .kept = kept};

/* ---- the command ---- */

static bool may_watch(struct session *session)
{
    const struct cv_service *service = session->service;
    const bool each = session->observing >= service->limits->observed_each;
    if (!each && service->observing < service->limits->observed)
        return true;
    cv_resp_error(&session->out, "BUSY %s as many names as allowed, expected no more",
                  each ? "this connection observes" : "all clients together observe");
    return false;
}

static void stop_watching(struct session *session, struct cv_text name)
{
    const struct replica *replica = replica_find(session->service, RECIPE_MEMBERS, name);
    struct recipe_tie *tie = replica ? recipe_find_tie(replica, session, ROLE_NONE) : NULL;
    if (tie)
        recipe_untie(tie);
    cv_resp_integer(&session->out, tie != NULL);
}

/* JOIN [VALUE text]. Its value starts at NULL if there is none. */
static bool read_join(struct session *session, const struct cv_resp_command *command, struct cv_text *value)
{
    if (command->count == 3)
        return true;
    if (command->count != 5 || !cv_resp_is(command->word[3], "VALUE")) {
        cv_resp_error(&session->out, "ERR JOIN '%s': expected VALUE text, and nothing else",
                      cv_brief_text(command->word[3]).text);
        return false;
    }
    *value = command->word[4];
    if (value->length > CV_VALUE_BYTES)
        cv_resp_error(&session->out, "TOOBIG VALUE of %zu bytes, expected at most %u", value->length, CV_VALUE_BYTES);
    return value->length <= CV_VALUE_BYTES;
}

/* Is it a member already that others see with another value than this one? */
static bool has_another_value(const struct recipe_order *order, struct cv_text value)
{
    const struct recipe_tie *tie = recipe_find_tie(order->replica, order->session, ROLE_MEMBER);
    const struct cv_text known = tie ? cv_kept(tie->value) : value;
    return value.start &&
           (known.length != value.length || (value.length && memcmp(known.start, value.start, value.length) != 0));
}

static void join_name(struct session *session, const struct cv_resp_command *command)
{
    struct cv_text value = {NULL, 0};
    if (!read_join(session, command, &value))
        return;
    if (session->tied >= session->service->limits->held_each) {
        cv_resp_error(&session->out, "BUSY this connection is a member of %llu names, expected no more",
                      (unsigned long long)session->tied);
        return;
    }
    struct recipe_order *order = recipe_begin(session, RECIPE_MEMBERS, command->word[1], VERB_JOIN, CV_MAY_LOCK);
    if (!order)
        return;
    if (has_another_value(order, value)) {
        recipe_abandon(order, "HELD this connection is a member already, with another value: expected LEAVE before");
        return;
    }
    if (value.start && !(order->ask.value = cv_keep_text(value))) {
        recipe_abandon(order, OUT_OF_MEMORY);
        return;
    }
    recipe_send(order, UINT64_MAX);
}

static void leave_name(struct session *session, struct cv_text name)
{
    struct recipe_order *order = recipe_begin(session, RECIPE_MEMBERS, name, VERB_DROP, CV_MAY_LOCK);
    struct recipe_tie *tie = order ? recipe_find_tie(order->replica, session, ROLE_MEMBER) : NULL;
    if (tie)
        recipe_untie(tie);
    if (order)
        recipe_send(order, UINT64_MAX);
}

/* MEMBERS name [JOIN [VALUE text] | LEAVE | WATCH | UNWATCH] */
void members_run(struct session *session, const struct cv_resp_command *command)
{
    const struct cv_text word = command->count > 2 ? command->word[2] : (struct cv_text){"", 0};
    const bool watches = cv_resp_is(word, "WATCH");
    if (cv_resp_is(word, "JOIN")) {
        join_name(session, command);
    } else if (command->count > 3 ||
               (command->count == 3 && !watches && !cv_resp_is(word, "LEAVE") && !cv_resp_is(word, "UNWATCH"))) {
        cv_resp_error(&session->out, "ERR MEMBERS '%s': expected JOIN [VALUE text], LEAVE, WATCH or UNWATCH",
                      cv_brief_text(word).text);
    } else if (cv_resp_is(word, "LEAVE")) {
        leave_name(session, command->word[1]);
    } else if (cv_resp_is(word, "UNWATCH")) {
        stop_watching(session, command->word[1]);
    } else if (!watches || may_watch(session)) {
        struct recipe_order *order = recipe_begin(session, RECIPE_MEMBERS, command->word[1], VERB_READ, CV_MAY_OBSERVE);
        if (!order)
            return;
        order->ask.amount = watches ? WATCHES : TELLS;
        recipe_send(order, UINT64_MAX);
    }
}
