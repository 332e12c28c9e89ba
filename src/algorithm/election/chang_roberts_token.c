// SPDX-License-Identifier: MIT
/*
 * E. Chang, R. Roberts: An improved algorithm for decentralized extrema-finding in circular configurations of
 * processes. Communications of the ACM 22(5), 1979; in the form with colours (S. Ghosh: Distributed Systems).
 *
 * Callers are red and send a token with their rank round the ring. A red or once red process drops the tokens that are
 * worse than itself. It passes a better token on and turns black. All other processes are routers. The token that comes
 * back to its owner has met every caller, so its owner is the leader. The text ends there. Since all are to know the
 * leader, it then tells the ring.
 *
 * Safety    no process drops the best caller's token; every other token is dropped at the best caller at the latest
 * Liveness  the best caller's token comes home after n message times
 * Cost      each token goes on to the next better caller: if all call 2n - 1 tokens at best, n(n+1)/2 at worst, and
 *           n·H(n) on average; n more messages tell the ring
 * Assumes   reliable links, no process dies. It elects the best of the callers, not the best of all
 */
#include <conclave/algorithm.h>

enum kind { TOKEN, LEADER };
enum parameter { ANNOUNCE };
enum { ANNOUNCE_YES, ANNOUNCE_NO };

enum color { ROUTER, RED, BLACK };

struct token {
    cv_rank rank; /* of the process that sent it out, or of the leader */
};

struct state {
    uint32_t color;
};

static void pass_on(struct cv_self *me, uint32_t kind, cv_rank rank)
{
    cv_send(me, cv_successor(me), kind, &(struct token){rank});
}

static void call(struct cv_self *me)
{
    struct state *my = me->state;
    if (my->color != ROUTER)
        return;
    my->color = RED;
    cv_call(me);
    pass_on(me, TOKEN, cv_my_rank(me));
}

static void become_leader(struct cv_self *me)
{
    cv_elected(me, cv_my_id(me));
    if (cv_parameter(me, ANNOUNCE) == ANNOUNCE_YES)
        pass_on(me, LEADER, cv_my_rank(me));
}

static void on_token(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct token *token = cv_body(message);
    const cv_rank mine = cv_my_rank(me);
    if (token->rank == mine) {
        become_leader(me);
        return;
    }
    if (my->color != ROUTER && token->rank < mine)
        return;
    if (my->color == RED) {
        my->color = BLACK;
        cv_yield(me);
        cv_note(me, "turns black");
    }
    pass_on(me, TOKEN, token->rank);
}

static void on_leader(struct cv_self *me, const struct cv_message *message)
{
    const struct token *token = cv_body(message);
    if (token->rank == cv_my_rank(me))
        return;
    cv_elected(me, cv_rank_id(token->rank));
    pass_on(me, LEADER, token->rank);
}

static const struct cv_field state_fields[] = {{CV_FIELD(struct state, color, MODE), .words = "router|red|black"}, {0}};

static const struct cv_field fields[] = {{CV_FIELD(struct token, rank, RANK)}, {0}};

static const struct cv_kind kinds[] = {
    [TOKEN] = CV_KIND("token", struct token, on_token, fields),
    [LEADER] = CV_KIND("leader", struct token, on_leader, fields),
    {0},
};

static const struct cv_parameter parameters[] = {
    [ANNOUNCE] = {"announce", "does the leader tell the others?", "yes|no", 0, CV_CHOICE, CV_EVERYONE_LEARNS},
    {0},
};

#define DERIVED CV_DERIVED_IN("docs/elections/chang-roberts-token.md")

static const struct cv_cost costs[] = {
    {"tokens alone, best, all call", CV_MESSAGES_ARE("2n − 1"), CV_LISTED, DERIVED},
    {"tokens alone, worst, all call", CV_MESSAGES_ARE("n(n + 1)/2"), CV_LISTED,
     CV_PAPER_SAYS("E. Chang, R. Roberts, CACM 22(5), 1979")},
    {"tokens alone, average, all call", CV_MESSAGES_ARE("n·H(n)"), CV_LISTED,
     CV_PAPER_SAYS("E. Chang, R. Roberts, CACM 22(5), 1979")},
    {"best, one caller", CV_MESSAGES_ARE("2n"), CV_LISTED, DERIVED},
    {"best, all call", CV_MESSAGES_ARE("3n − 1"), CV_LISTED, DERIVED},
    {"worst, all call", CV_MESSAGES_ARE("n(n + 1)/2 + n"), CV_LISTED, DERIVED},
    {"one caller", CV_MESSAGES_ARE("(2 − announce)a"), CV_STEADY | CV_ONE_CALLER, DERIVED},
    {"some call", CV_MESSAGES_ARE("Σ + (1 − announce)a"), CV_STEADY, DERIVED},
    {"some call", CV_DELAY_IS("(2 − announce)a"), CV_STEADY | CV_UNIT_DELAY, DERIVED},
    {0},
};

const struct cv_algorithm cv_chang_roberts_token = {
    .abi = CV_ABI,
    .problem = CV_ELECTION,
    .name = "chang-roberts-token",
    .title = "Chang and Roberts' ring election, red and black",
    .citation = "E. Chang, R. Roberts, CACM 22(5), 1979; S. Ghosh, Distributed Systems",
    .topology = CV_RING,
    .assumes = CV_RELIABLE | CV_NO_CRASH,
    .claims = CV_ELECTION_CLAIMS & ~(uint32_t)CV_ANY_CALLER,
    .kinds = kinds,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .start = call,
};
