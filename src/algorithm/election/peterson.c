// SPDX-License-Identifier: MIT
/*
 * G. Peterson: An O(n log n) unidirectional algorithm for the circular extrema problem. ACM Transactions on
 * Programming Languages and Systems 4(4), 1982.
 *
 * Franklin's rounds on a ring that goes one way. A red process cannot hear what lies ahead of it, so it judges its
 * neighbour instead: it learns the aliases of the next red process upstream and of the one beyond, and if the nearer
 * alias is the best of the three it takes that alias over; otherwise it turns black and relays. One that meets its own
 * alias is the last red process. Its alias is the best rank of all, so that rank's owner is the leader. The text has
 * the last red process say "I am the leader" instead, and ends there; `literal` does that. Since all are to know the
 * leader, the last red process then tells the ring.
 *
 *              call, or the first alias              otherwise
 *     ASLEEP --------------------------> RED -------------------> BLACK
 *                                       |  ^  |   own alias
 *              the nearer is the best   '--'  '-----------------> DONE
 *
 * Safety    the best alias is handed on in every phase, so it is the last one left
 * Liveness  of two neighbouring aliases at most one survives a phase, and no process waits for what has not been sent
 * Cost      2n messages a phase and n to find oneself alone, at most ⌊log₂ n⌋ phases, for any callers and any
 *           delays
 * Assumes   reliable links that keep the order, or first and second aliases get mixed up; no process dies
 */
#include <conclave/algorithm.h>

enum kind { ALIAS, LEADER };
enum parameter { ANNOUNCE, LITERAL };
enum { ANNOUNCE_YES, ANNOUNCE_NO };

enum color { ASLEEP, RED, BLACK, DONE };

/* The alias of the sender, or the one it has heard; or the leader. */
struct message {
    cv_rank alias;
};

struct state {
    cv_rank alias;
    cv_rank nearer; /* the text's alias(N), when it has been heard */
    uint32_t color;
    uint32_t second; /* alias(N) has been heard, alias(NN) is next */
};

static void pass_on(struct cv_self *me, uint32_t kind, cv_rank alias)
{
    cv_send(me, cv_successor(me), kind, &(struct message){alias});
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->color != ASLEEP)
        return;
    my->color = RED;
    my->alias = cv_my_rank(me);
    cv_call(me);
    pass_on(me, ALIAS, my->alias);
}

static void become_last(struct cv_self *me)
{
    struct state *my = me->state;
    const cv_rank leader = cv_parameter(me, LITERAL) ? cv_my_rank(me) : my->alias;
    my->color = DONE;
    cv_elected(me, cv_rank_id(leader));
    if (cv_parameter(me, ANNOUNCE) == ANNOUNCE_YES)
        pass_on(me, LEADER, leader);
}

static void on_first(struct cv_self *me, cv_rank nearer)
{
    struct state *my = me->state;
    if (nearer == my->alias) {
        become_last(me);
        return;
    }
    my->nearer = nearer;
    my->second = true;
    pass_on(me, ALIAS, nearer);
}

static void on_second(struct cv_self *me, cv_rank beyond)
{
    struct state *my = me->state;
    my->second = false;
    if (my->nearer > my->alias && my->nearer > beyond) {
        my->alias = my->nearer;
        cv_note(me, "stays red, under the nearer alias");
        pass_on(me, ALIAS, my->alias);
    } else {
        my->color = BLACK;
        cv_yield(me);
        cv_note(me, "turns black");
    }
}

static void on_alias(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct message *body = cv_body(message);
    call(me);
    if (my->color == DONE)
        return; /* only if the order was lost or a process came back */
    if (my->color == BLACK)
        pass_on(me, ALIAS, body->alias);
    else if (my->second)
        on_second(me, body->alias);
    else
        on_first(me, body->alias);
}

static void on_leader(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct message *body = cv_body(message);
    if (my->color == DONE)
        return;
    cv_elected(me, cv_rank_id(body->alias));
    pass_on(me, LEADER, body->alias);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->color != ASLEEP && my->alias < cv_my_rank(me))
        return "an alias only rises";
    return NULL;
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, color, MODE), .words = "asleep|red|black|done"},
    {CV_FIELD(struct state, alias, RANK)},
    {CV_FIELD(struct state, nearer, RANK)},
    {CV_FIELD(struct state, second, FLAG)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct message, alias, RANK)}, {0}};

static const struct cv_kind kinds[] = {
    [ALIAS] = CV_KIND("alias", struct message, on_alias, fields),
    [LEADER] = CV_KIND("leader", struct message, on_leader, fields),
    {0},
};

static const struct cv_parameter parameters[] = {
    [ANNOUNCE] = {"announce", "does the last red process tell the others?", "yes|no", 0, CV_CHOICE, CV_EVERYONE_LEARNS},
    [LITERAL] = {"literal", "the last red process is the leader, as the text says, not who has its alias", "no|yes", 0,
                 CV_CHOICE, CV_BEST_WINS | CV_ANY_CALLER},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/elections/peterson.md")

static const struct cv_cost costs[] = {
    {"aliases alone, best", CV_MESSAGES_ARE("3n"), CV_LISTED, DERIVED},
    {"aliases alone, worst", CV_MESSAGES_ARE("2n⌊log₂ n⌋ + n"), CV_LISTED, DERIVED},
    {"best", CV_MESSAGES_ARE("4n"), CV_LISTED, DERIVED},
    {"worst", CV_MESSAGES_ARE("2n⌊log₂ n⌋ + 2n"), CV_LISTED, DERIVED},
    {"f phases", CV_MESSAGES_ARE("2af + (2 − announce)a"), CV_STEADY, DERIVED},
    {"f phases, all call", CV_DELAY_AT_MOST("2af + (2 − announce)a"), CV_STEADY | CV_UNIT_DELAY | CV_ALL_CALL, DERIVED},
    {"f phases", CV_DELAY_AT_MOST("2af + (3 − announce)a − 1"), CV_STEADY | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_peterson = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "peterson",
    .title = "Peterson's election on a unidirectional ring",
    .citation = "G. Peterson, ACM TOPLAS 4(4), 1982",
    .topology = CV_RING,
    .assumes = CV_RELIABLE | CV_FIFO | CV_NO_CRASH,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .start = call,
    .invariant = invariant,
};
