// SPDX-License-Identifier: MIT
/*
 * The token ring, as in A. S. Tanenbaum, M. van Steen: Distributed Systems (after G. Le Lann, 1977).
 *
 * A token goes round a ring. Its holder may enter, at most once, and then passes it on.
 *
 * If the token dies with its holder, a new view begins with another. Without views the elected process makes one
 * (regenerate=T). Silence alone proves nothing: the holder may just be slow. So the elected process asks all others to
 * take no token older than a new generation. The holder then lifts its token to that generation and says so. If none
 * does, a token on its way arrives too late to count, and a new one of that generation is the only one.
 *
 * Safety    there is one token: an older generation is void, and a copy is known by its hop and dropped
 * Liveness  the token comes round: at most n − 1 others enter before
 * Cost      1 message an entry when all want to enter, without limit when none does; 0 to n − 1 message times
 * Assumes   reliable links; a dead successor is skipped, or found out with acks=yes. acks=yes and regenerate=T need
 *           delays of at most D, regenerate=T also a detector that tells of all nodes that die, and of no other; after
 *           a recovery fences rise as long as a live node remembers the last generation
 * Fence     the generation the token was made in, which all live nodes have agreed to, and its entries since
 */
#include <conclave/algorithm.h>

enum kind { TOKEN, ACK, QUERY, ANSWER };
enum timer { NO_ACK, SILENCE };
enum parameter { COORDINATOR, ACKS, REGENERATE, CONFIRM };

#define MOST_HOPS (UINT64_MAX / 2)

/* Fences of one generation: more than a token has entries. The next token is about n generations higher. */
#define GENERATION 1000000ull

struct token {
    uint64_t entries;    /* the generation it was made in, times GENERATION, and the entries counted since */
    uint64_t hop;        /* how often it was passed on */
    uint64_t generation; /* the last it was lifted to */
};

struct query {
    uint64_t generation; /* 0: a node that has forgotten all asks for the latest */
};

struct answer {
    uint64_t generation; /* the highest I have heard of */
    uint64_t agreed;     /* it is the one asked for: I take no older token from now on */
    uint64_t holds;      /* and I hold that token */
    struct token last;   /* as it last left here */
    uint64_t to;         /* where it went */
};

struct state {
    struct token token;  /* as it was last here */
    uint64_t generation; /* tokens of earlier ones are void */
    uint64_t asked;      /* the generation that I am asking all others for; 0: none */
    cv_node to;          /* where the token was last sent */
    uint32_t holds;      /* the token is here */
    uint32_t wants;      /* to enter */
    uint32_t inside;     /* the critical section */
    uint32_t forgetful;  /* back from a crash: a token is kept, but not used, before I know which generation counts */
    uint32_t kept;       /* such a token */
    uint32_t uneasy;     /* the token may be lost: a node died since it was last certain to be there */
    uint32_t missing;    /* answers */
    uint32_t found;      /* a node holds the token */
    cv_node last_to;     /* where the last known holder sent the token */
    struct token last;   /* as that holder sent it */
};

/* ==== the text: the token goes round ================================================================= */

/* What the text leaves out, below. */
static void watch(struct cv_self *me);
static bool is_news(const struct cv_self *me, const struct token *token, cv_node from);

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->to = my->last_to = CV_NOBODY;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    const cv_node first = cv_first_member(me);
    (void)fence;
    my->inside = me->node == holder;
    my->holds = me->node == (holder == CV_NOBODY ? first : holder);
    my->uneasy = cv_parameter(me, REGENERATE) != 0;
    watch(me);
}

static void send_token(struct cv_self *me, cv_node to)
{
    struct state *my = me->state;
    my->to = to;
    cv_send(me, to, TOKEN, &my->token);
    if (cv_parameter(me, ACKS))
        cv_arm(me, NO_ACK, 2 * cv_bound(me));
}

static void pass_on(struct cv_self *me)
{
    struct state *my = me->state;
    my->holds = false;
    my->token.hop++;
    send_token(me, cv_successor(me));
}

static void use(struct cv_self *me)
{
    struct state *my = me->state;
    if (!my->wants) {
        pass_on(me);
        return;
    }
    my->wants = false;
    my->inside = true;
    cv_enter(me, cv_fence(me, ++my->token.entries));
}

/* The view has begun, and all requests that were pending have been made. */
static void start(struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->holds && !my->inside)
        use(me);
}

static void request(struct cv_self *me)
{
    struct state *my = me->state;
    my->wants = true;
}

static void release(struct cv_self *me)
{
    struct state *my = me->state;
    my->inside = false;
    pass_on(me);
}

static void on_token(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct token *token = cv_body(message);
    if (cv_parameter(me, ACKS))
        cv_signal(me, message->from, ACK);
    if (my->holds || !is_news(me, token, message->from))
        return; /* void, or a copy of one that has been here */
    my->token = *token;
    my->generation = token->generation;
    if (my->forgetful) {
        my->kept = true;
        return;
    }
    my->holds = true;
    watch(me);
    use(me);
}

/* ==== when nodes die: acks=yes ======================================================================= */

static void on_ack(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (message->from == my->to)
        cv_cancel(me, NO_ACK);
}

/* The next present node on the ring after that one, or this node. */
static cv_node next_present(const struct cv_self *me, cv_node node)
{
    do
        node = node + 1 < cv_nodes(me) ? node + 1 : 0;
    while (node != me->node && !cv_present(me, node));
    return node;
}

/* The successor does not answer. The same token goes to the node after it. */
static void skip_successor(struct cv_self *me)
{
    struct state *my = me->state;
    my->token.entries++; /* it may have entered, and died before it could say so */
    send_token(me, next_present(me, my->to));
}

/* ==== when nodes die: regenerate=T =================================================================== */

static bool is_later(const struct token *token, const struct token *other)
{
    return token->generation > other->generation || (token->generation == other->generation && token->hop > other->hop);
}

/* Is this token not void, and later than the last one that was here? A node that is alone is its own successor. */
static bool is_news(const struct cv_self *me, const struct token *token, cv_node from)
{
    const struct state *my = me->state;
    if (token->generation < my->generation)
        return false;
    return is_later(token, &my->token) || (from == me->node && token->hop == my->token.hop);
}

/* The coordinator, or if it is down the best of the others, as any election would choose. */
static cv_node elected(const struct cv_self *me)
{
    cv_node best = me->node;
    if (me->node == cv_coordinator(me) || cv_present(me, cv_coordinator(me)))
        return cv_coordinator(me);
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node other = cv_neighbour(me, i);
        if (cv_rank_of(me, other) > cv_rank_of(me, best) && cv_present(me, other))
            best = other;
    }
    return best;
}

static void watch(struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->uneasy && elected(me) == me->node)
        cv_arm(me, SILENCE, (uint64_t)cv_parameter(me, REGENERATE));
}

/* From now on no older token counts. A holder lifts its token. A node that has sent the token on need not wait for its
 * ack. */
static void agree(struct cv_self *me, uint64_t generation)
{
    struct state *my = me->state;
    my->holds |= my->kept && my->token.generation == generation;
    my->kept = my->forgetful = false;
    my->generation = generation;
    if (my->holds)
        my->token.generation = generation;
    else if (cv_parameter(me, ACKS))
        cv_cancel(me, NO_ACK);
}

/* Generations of different makers differ. */
static uint64_t next_generation(const struct cv_self *me)
{
    const struct state *my = me->state;
    assert(cv_nodes(me) > 0);
    return (my->generation / cv_nodes(me) + 1) * cv_nodes(me) + me->node;
}

/* The new token goes where the lost one went, or if that node is dead to the next: no node loses its turn. */
static void make_token(struct cv_self *me)
{
    struct state *my = me->state;
    cv_node place = my->last_to == CV_NOBODY ? me->node : my->last_to;
    assert(place < cv_nodes(me));
    if (place != me->node && !cv_present(me, place))
        place = next_present(me, place);
    my->token = (struct token){my->generation * GENERATION, 1, my->generation};
    cv_note(me, "makes a new token");
    if (place != me->node) {
        send_token(me, place);
        return;
    }
    my->holds = true;
    watch(me);
    use(me);
}

static void ask_no_more(struct cv_self *me)
{
    struct state *my = me->state;
    my->asked = 0;
    my->missing = my->found = 0;
    my->last = (struct token){0};
    my->last_to = CV_NOBODY;
}

/* All have answered. The token that was found or made is the only one, until another node dies. */
static void conclude(struct cv_self *me)
{
    struct state *my = me->state;
    my->uneasy = false;
    cv_cancel(me, SILENCE);
    if (!my->found)
        make_token(me);
    ask_no_more(me);
}

static void ask_everybody(struct cv_self *me)
{
    struct state *my = me->state;
    agree(me, next_generation(me));
    my->asked = my->generation;
    my->found = my->holds;
    my->last = my->holds ? (struct token){0} : my->token;
    my->last_to = my->to;
    my->missing = 0;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        if (cv_present(me, cv_neighbour(me, i))) {
            my->missing++;
            cv_send(me, cv_neighbour(me, i), QUERY, &(struct query){my->asked});
        }
    if (!my->missing)
        conclude(me);
}

static void timeout(struct cv_self *me, uint32_t timer)
{
    const struct state *my = me->state;
    if (timer == NO_ACK) {
        skip_successor(me);
    } else if (elected(me) != me->node) {
        return;
    } else if (cv_parameter(me, CONFIRM) == 0) {
        ask_everybody(me); /* also if it is here: the one that asked before me may have made it void elsewhere */
    } else if (my->holds) {
        watch(me);
    } else {
        agree(me, next_generation(me));
        make_token(me);
    }
}

static void answer_query(struct cv_self *me, cv_node maker, bool agreed)
{
    const struct state *my = me->state;
    struct answer answer = {my->generation, agreed, my->holds, {0}, CV_NOBODY};
    if (!my->holds && my->token.generation < my->generation) {
        answer.last = my->token;
        answer.to = my->to;
    }
    cv_send(me, maker, ANSWER, &answer);
}

static void on_query(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct query *query = cv_body(message);
    if (cv_suspected(me, cv_id_of(me, message->from)))
        return; /* another may have asked in its place already */
    if (!query->generation && elected(me) == me->node) {
        ask_everybody(me);
        return;
    }
    const bool agreed = query->generation && query->generation >= my->generation, held = my->holds;
    if (agreed) {
        ask_no_more(me); /* what I asked for myself is void now */
        agree(me, query->generation);
    }
    answer_query(me, message->from, agreed);
    if (my->holds && !held)
        use(me); /* the one that was kept counts */
}

/* If a node knows a later generation, this one is void: ask all again, for a generation above that. */
static void on_answer(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct answer *answer = cv_body(message);
    if (answer->generation > my->generation || (my->forgetful && !my->asked)) {
        my->generation = answer->generation;
        ask_no_more(me);
        if (elected(me) == me->node)
            ask_everybody(me);
        return;
    }
    if (!answer->agreed || !my->asked || answer->generation != my->asked)
        return;
    my->found |= answer->holds != 0;
    if (is_later(&answer->last, &my->last)) {
        my->last = answer->last;
        my->last_to = (cv_node)answer->to;
    }
    if (--my->missing == 0)
        conclude(me);
}

/*
 * The timer waits D longer, so that all messages of the dead arrive before the question. The node that takes the place
 * of the dead may not know that I have agreed to the generation that the dead asked for, so I tell it.
 */
static void suspect(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    my->uneasy = cv_parameter(me, REGENERATE) != 0;
    ask_no_more(me);
    if (elected(me) == me->node && my->uneasy)
        cv_arm(me, SILENCE, (uint64_t)cv_parameter(me, REGENERATE) + cv_bound(me));
    else if (my->generation && my->generation % cv_nodes(me) == node)
        answer_query(me, elected(me), false);
}

/* A node that comes back has forgotten which generation counts, and asks to be asked. */
static void recover(struct cv_self *me)
{
    struct state *my = me->state;
    if (!cv_parameter(me, REGENERATE))
        return;
    my->forgetful = true;
    bool alone = true;
    for (uint32_t i = 0; i < cv_degree(me); i++)
        if (cv_present(me, cv_neighbour(me, i))) {
            alone = false;
            cv_send(me, cv_neighbour(me, i), QUERY, &(struct query){0});
        }
    if (alone)
        ask_everybody(me);
}

static void trust(struct cv_self *me, cv_node node)
{
    (void)node;
    if (cv_parameter(me, REGENERATE) && elected(me) == me->node)
        ask_everybody(me);
}

/* The hops: those of one generation are a family. */
static void count_hop(struct cv_counting *counting, struct token *token)
{
    counting->count(counting, (uint32_t)(token->generation % 16), &token->hop);
}

static void counters(struct cv_counting *counting, cv_node node, void *state, struct cv_message *message)
{
    struct state *my = state;
    (void)node;
    if (my) {
        count_hop(counting, &my->token);
        count_hop(counting, &my->last);
    } else if (message->kind == TOKEN) {
        count_hop(counting, (struct token *)(void *)message->body);
    } else if (message->kind == ANSWER) {
        count_hop(counting, &((struct answer *)(void *)message->body)->last);
    }
}

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, token.entries, NUMBER)},
    {CV_FIELD(struct state, token.hop, NUMBER)},
    {CV_FIELD(struct state, token.generation, NUMBER)},
    {CV_FIELD(struct state, generation, NUMBER)},
    {CV_FIELD(struct state, asked, NUMBER)},
    {CV_FIELD(struct state, to, MAYBE)},
    {CV_FIELD(struct state, holds, FLAG)},
    {CV_FIELD(struct state, wants, FLAG)},
    {CV_FIELD(struct state, inside, FLAG)},
    {CV_FIELD(struct state, forgetful, FLAG)},
    {CV_FIELD(struct state, kept, FLAG)},
    {CV_FIELD(struct state, uneasy, FLAG)},
    {CV_FIELD(struct state, missing, NUMBER)},
    {CV_FIELD(struct state, found, FLAG)},
    {CV_FIELD(struct state, last_to, MAYBE)},
    {CV_FIELD(struct state, last.entries, NUMBER)},
    {CV_FIELD(struct state, last.hop, NUMBER)},
    {CV_FIELD(struct state, last.generation, NUMBER)},
    {0},
};

#define MOST_GENERATIONS (CV_MOST_ENTRIES / GENERATION)

static const struct cv_field token_fields[] = {
    {CV_FIELD(struct token, entries, NUMBER), .most = CV_MOST_ENTRIES},
    {CV_FIELD(struct token, hop, NUMBER), .most = MOST_HOPS},
    {CV_FIELD(struct token, generation, NUMBER), .most = MOST_GENERATIONS},
    {0},
};

static const struct cv_field query_fields[] = {
    {CV_FIELD(struct query, generation, NUMBER), .most = MOST_GENERATIONS},
    {0},
};

static const struct cv_field answer_fields[] = {
    {CV_FIELD(struct answer, generation, NUMBER), .most = MOST_GENERATIONS},
    {CV_FIELD(struct answer, agreed, FLAG)},
    {CV_FIELD(struct answer, holds, FLAG)},
    {CV_FIELD(struct answer, last.entries, NUMBER), .most = CV_MOST_ENTRIES},
    {CV_FIELD(struct answer, last.hop, NUMBER), .most = MOST_HOPS},
    {CV_FIELD(struct answer, last.generation, NUMBER), .most = MOST_GENERATIONS},
    {CV_FIELD(struct answer, to, MAYBE)},
    {0},
};

static const struct cv_kind kinds[] = {
    [TOKEN] = CV_KIND("token", struct token, on_token, token_fields),
    [ACK] = CV_SIGNAL("ack", on_ack),
    [QUERY] = CV_KIND("query", struct query, on_query, query_fields),
    [ANSWER] = CV_KIND("answer", struct answer, on_answer, answer_fields),
    {0},
};

static const char *const timers[] = {[NO_ACK] = "no ack", [SILENCE] = "silence", NULL};

static const struct cv_parameter parameters[] = {
    [COORDINATOR] = {"coordinator", "who makes a new token; by default the highest id", NULL, -1, CV_MEMBER, 0},
    [ACKS] = {"acks", "acknowledge the token, to find a dead successor", "no|yes", 0, CV_CHOICE, 0},
    [REGENERATE] = {"regenerate", "look for the token after so many ticks without it; 0: never", NULL, 0, CV_NUMBER, 0},
    [CONFIRM] = {"confirm", "make a new one only if everybody confirms the loss", "yes|no", 0, CV_CHOICE, 0},
    {0},
};

static const struct cv_cost costs[] = {
    {"best: everybody wants", CV_MESSAGES_ARE("1"), CV_LISTED,
     CV_TEXT_SAYS("tables of CS677 and Tanenbaum: Messages per entry/exit: 1 to ∞")},
    {"worst but for idle rounds", CV_MESSAGES_ARE("n"), CV_LISTED, CV_DERIVED_IN("docs/mutex/token-ring.md")},
    {"before an entry, the token is here", CV_DELAY_IS("0"), CV_LISTED,
     CV_TEXT_SAYS("tables of CS677 and Tanenbaum: Delay before entry: 0 to n - 1")},
    {"before an entry, the token has just left", CV_DELAY_IS("n − 1"), CV_LISTED,
     CV_TEXT_SAYS("tables of CS677 and Tanenbaum: Delay before entry: 0 to n - 1")},
    {0},
};

const struct cv_algorithm cv_token_ring = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "token-ring",
    .title = "The token ring",
    .citation = "G. Le Lann, IFIP Congress 1977; A. S. Tanenbaum, M. van Steen, Distributed Systems",
    .topology = CV_RING,
    .assumes = CV_RELIABLE | CV_NO_CRASH,
    .claims = CV_MUTEX_CLAIMS | CV_BOUNDED_WAITING,
    .kinds = kinds,
    .timers = timers,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .state_fields = state_fields,
    .init = init,
    .adopt = adopt,
    .start = start,
    .timeout = timeout,
    .suspect = suspect,
    .trust = trust,
    .recover = recover,
    .request = request,
    .release = release,
    .hints = {.perpetual = true, .counters = counters},
};
