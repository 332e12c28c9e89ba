// SPDX-License-Identifier: MIT
/*
 * Roll call: an election of one's own.
 *
 *     cc -shared -fPIC -I include -o mine.so examples/roll_call.c
 *     conclave sim ./mine.so -n 8
 *
 * A caller says its rank to all others. A node that hears a rank does the same, once. A node that has heard all the
 * others knows the best.
 *
 * Safety    a node decides only after it has heard every rank, so all decide the same
 * Liveness  the first rank that a node hears calls it, so every node speaks
 * Cost      n - 1 messages for each node that is alive; two message times, or one if all call
 * Assumes   reliable links in a group that knows itself, and that no node dies while the roll is called
 */
#include <conclave/algorithm.h>

enum kind { PRESENT };

struct answer {
    cv_rank rank; /* of the sender */
};

struct state {
    cv_rank best;    /* of the ranks heard so far, the node's own among them */
    uint32_t heard;  /* so many others have spoken */
    uint32_t spoken; /* this node has spoken */
};

static void decide_if_complete(struct cv_self *me)
{
    const struct state *my = me->state;
    uint32_t others = 0;
    for (cv_node node = 0; node < cv_nodes(me); node++)
        others += node != me->node && cv_present(me, node);
    if (my->heard == others)
        cv_elected(me, cv_rank_id(my->best));
}

static void speak(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->spoken)
        return;
    my->spoken = true;
    my->best = cv_my_rank(me);
    cv_call(me);
    cv_multicast(me, PRESENT, &(struct answer){cv_my_rank(me)});
    decide_if_complete(me); /* it may be alone */
}

static void on_present(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct answer *answer = cv_body(message);
    speak(me);
    my->heard++;
    if (answer->rank > my->best)
        my->best = answer->rank;
    decide_if_complete(me);
}

/*
 * Everybody says its own rank, and says it once: no more can be heard than there are others. The sender may know of a
 * change of its attribute before this node does, so only the id is compared.
 */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct answer *answer = cv_body(message);
    return cv_rank_id(answer->rank) == cv_id_of(me, message->from) && my->heard < cv_nodes(me) - 1;
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, best, RANK)},
    {CV_FIELD(struct state, heard, NUMBER)},
    {CV_FIELD(struct state, spoken, FLAG)},
    {0},
};

static const struct cv_field fields[] = {{CV_FIELD(struct answer, rank, RANK)}, {0}};

static const struct cv_kind kinds[] = {
    [PRESENT] = CV_KIND("present", struct answer, on_present, fields),
    {0},
};

#define ON_TIME (CV_STEADY | CV_UNIT_DELAY)

static const struct cv_cost costs[] = {
    {"always", CV_MESSAGES_ARE("a(n − 1)"), CV_STEADY, CV_DERIVED_HERE},
    {"all call", CV_DELAY_IS("min(1, a − 1)"), ON_TIME | CV_ALL_CALL, CV_DERIVED_HERE},
    {"some call", CV_DELAY_IS("min(2, 2(a − 1))"), ON_TIME, CV_DERIVED_HERE},
    {0},
};

/* The one symbol that conclave looks for. */
const struct cv_algorithm conclave_algorithm = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "roll-call",
    .title = "Roll call",
    .citation = "the example of docs/write-your-own.md",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_NO_CRASH | CV_KNOWN_GROUP,
    .claims = CV_ELECTION_CLAIMS,
    .kinds = kinds,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .start = speak,
    .valid = valid,
};
