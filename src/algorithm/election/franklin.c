// SPDX-License-Identifier: MIT
/*
 * R. Franklin: On an improved algorithm for decentralized extrema finding in circular configurations of processors.
 * Communications of the ACM 25(5), 1982.
 *
 * In each round every process still in competition sends a probe with its rank both ways round the ring and hears from
 * the nearest competitor on either side. If one of them is better it drops out and from then on relays. At least one of
 * two neighbours drops out, so at most half of them see the next round. A process that hears only itself has won. The
 * text ends there. Since all are to know the leader, it then tells the ring.
 *
 *              call, or the first probe              a better neighbour
 *     ASLEEP --------------------------> ACTIVE --------------------------> PASSIVE
 *                                       |  ^  |     own probes
 *                      better than both '--'  '--------------------------> WON
 *
 * Safety    the best process never meets a better one; every other does before it could meet itself
 * Liveness  each round at least halves the competitors, and each waits only for probes that have been sent
 * Cost      2n messages a round, at most ⌊log₂ n⌋ + 1 rounds, for any callers and any delays: probes
 *           are numbered by round, so it does not even matter if they overtake each other
 * Assumes   reliable links both ways, no process dies
 */
#include <conclave/algorithm.h>

enum kind { PROBE, LEADER };
enum parameter { ANNOUNCE };
enum { ANNOUNCE_YES, ANNOUNCE_NO };

enum mode { ASLEEP, ACTIVE, PASSIVE, WON };
enum side { LEFT, RIGHT };

struct probe {
    cv_rank rank;
    uint32_t round;
    uint32_t side; /* it comes from there; with two nodes the sender does not tell */
};

struct announcement {
    cv_rank leader;
};

/*
 * A probe of the next round can be early, one of a later round cannot. For while this node is in round r it lets no
 * probe of round r + 1 past, in either direction; nor has it sent one. So the nearest competitor on either side, and
 * the one that takes its place when it drops out, hear nothing of round r + 1 from this side and cannot end it.
 */
struct state {
    cv_rank heard[2][2]; /* by round, even or odd, and side */
    uint32_t has[2][2];  /* has it been heard? */
    uint32_t mode;
    uint32_t round;
};

static void pass_on(struct cv_self *me, const struct probe *probe)
{
    cv_send(me, probe->side == LEFT ? cv_successor(me) : cv_predecessor(me), PROBE, probe);
}

static void begin_round(struct cv_self *me)
{
    struct state *my = me->state;
    my->round++;
    for (uint32_t side = LEFT; side <= RIGHT; side++)
        pass_on(me, &(struct probe){cv_my_rank(me), my->round, side});
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->mode != ASLEEP)
        return;
    my->mode = ACTIVE;
    cv_call(me);
    begin_round(me);
}

/* From now on it relays, beginning with what came early. */
static void drop_out(struct cv_self *me)
{
    struct state *my = me->state;
    const uint32_t next = my->round + 1;
    my->mode = PASSIVE;
    cv_yield(me);
    cv_note(me, "drops out");
    for (uint32_t side = LEFT; side <= RIGHT; side++)
        if (my->has[next % 2][side])
            pass_on(me, &(struct probe){my->heard[next % 2][side], next, side});
}

static void become_leader(struct cv_self *me)
{
    struct state *my = me->state;
    my->mode = WON;
    cv_elected(me, cv_my_id(me));
    if (cv_parameter(me, ANNOUNCE) == ANNOUNCE_YES)
        cv_send(me, cv_successor(me), LEADER, &(struct announcement){cv_my_rank(me)});
}

static void win_round(struct cv_self *me)
{
    cv_note(me, "goes on to the next round");
    begin_round(me);
}

/* Both sides have been heard in this round. */
static void end_round(struct cv_self *me)
{
    struct state *my = me->state;
    uint32_t *has = my->has[my->round % 2];
    const cv_rank *heard = my->heard[my->round % 2];
    const cv_rank best = heard[LEFT] > heard[RIGHT] ? heard[LEFT] : heard[RIGHT];
    has[LEFT] = has[RIGHT] = false;
    if (best > cv_my_rank(me))
        drop_out(me);
    else if (best == cv_my_rank(me))
        become_leader(me);
    else
        win_round(me);
}

static bool heard_both(const struct state *my)
{
    return my->has[my->round % 2][LEFT] && my->has[my->round % 2][RIGHT];
}

static void on_probe(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct probe *probe = cv_body(message);
    call(me);
    if (my->mode == PASSIVE) {
        pass_on(me, probe);
        return;
    }
    assert(probe->side <= RIGHT);
    if (my->mode == WON || probe->round - my->round > 1)
        return; /* only if a node has died and come back */
    my->heard[probe->round % 2][probe->side] = probe->rank;
    my->has[probe->round % 2][probe->side] = true;
    while (my->mode == ACTIVE && heard_both(my))
        end_round(me);
}

static void on_leader(struct cv_self *me, const struct cv_message *message)
{
    const struct announcement *announcement = cv_body(message);
    if (announcement->leader == cv_my_rank(me))
        return;
    cv_elected(me, cv_rank_id(announcement->leader));
    cv_send(me, cv_successor(me), LEADER, announcement);
}

static const char *invariant(const struct cv_self *me)
{
    const struct state *my = me->state;
    if ((my->mode == ASLEEP) != (my->round == 0))
        return "a node has been in a round if and only if it is awake";
    if (my->mode == ACTIVE && heard_both(my))
        return "a node that has heard both sides ends its round";
    return NULL;
}

#define PLACES "even left|even right|odd left|odd right"

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, mode, MODE), .words = "asleep|active|passive|won"},
    {CV_FIELD(struct state, round, NUMBER)},
    {CV_FIELD(struct state, heard[0][0], RANK), .each = CV_EACH_PLACE, .places = PLACES},
    {CV_FIELD(struct state, has[0][0], FLAG), .each = CV_EACH_PLACE, .places = PLACES},
    {0},
};

static const struct cv_field probe_fields[] = {
    {CV_FIELD(struct probe, rank, RANK)},
    {CV_FIELD(struct probe, round, NUMBER)},
    {CV_FIELD(struct probe, side, MODE), .words = "left|right"},
    {0},
};

static const struct cv_field announcement_fields[] = {{CV_FIELD(struct announcement, leader, RANK)}, {0}};

static const struct cv_kind kinds[] = {
    [PROBE] = CV_KIND("probe", struct probe, on_probe, probe_fields),
    [LEADER] = CV_KIND("leader", struct announcement, on_leader, announcement_fields),
    {0},
};

static const struct cv_parameter parameters[] = {
    [ANNOUNCE] = {"announce", "does the leader tell the others?", "yes|no", 0, CV_CHOICE, CV_EVERYONE_LEARNS},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/elections/franklin.md")

static const struct cv_cost costs[] = {
    {"probes alone, best", CV_MESSAGES_ARE("4n"), CV_LISTED, DERIVED},
    {"probes alone, worst", CV_MESSAGES_ARE("2n(⌊log₂ n⌋ + 1)"), CV_LISTED, DERIVED},
    {"best", CV_MESSAGES_ARE("5n"), CV_LISTED, DERIVED},
    {"worst", CV_MESSAGES_ARE("2n⌊log₂ n⌋ + 3n"), CV_LISTED,
     CV_PAPER_SAYS("W. R. Franklin, CACM 25(5), 1982: 2N[lg N] + 3N")},
    {"ρ rounds", CV_MESSAGES_ARE("2aρ + (1 − announce)a"), CV_STEADY, DERIVED},
    {"ρ rounds, all call", CV_DELAY_AT_MOST("1 + (ρ − announce)a"), CV_STEADY | CV_UNIT_DELAY | CV_ALL_CALL, DERIVED},
    {"ρ rounds", CV_DELAY_AT_MOST("1 + (ρ − announce)a + ⌊a/2⌋"), CV_STEADY | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_franklin = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "franklin",
    .title = "Franklin's election on a bidirectional ring",
    .citation = "R. Franklin, CACM 25(5), 1982",
    .topology = CV_RING_BOTH,
    .assumes = CV_RELIABLE | CV_NO_CRASH,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .start = call,
    .invariant = invariant,
};
