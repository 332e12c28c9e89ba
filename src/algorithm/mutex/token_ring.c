// SPDX-License-Identifier: MIT
/*
 * The token ring, as in A. S. Tanenbaum, M. van Steen: Distributed Systems (after G. Le Lann, 1977).
 *
 * A token goes round a ring. Who holds it may enter, at most once, and then passes it on.
 *
 * Safety    there is one token; a copy of an older one is known by its number and dropped
 * Liveness  the token comes round: at most n − 1 others enter before
 * Cost      1 message an entry when everybody wants, as many as you like when nobody does; 0 to n − 1 message times
 * Assumes   reliable links; a dead successor is skipped, or found out with acks=yes. If the token dies with its holder
 *           a new view begins with another; without views the elected process makes one (regenerate=T), but only
 *           when everybody alive has said that it neither holds the token nor has it coming: silence alone proves
 *           nothing, the holder may just be slow
 * Fence     the token counts the entries
 */
#include <conclave/algorithm.h>

enum kind { TOKEN, ACK, QUERY, ANSWER };
enum timer { NO_ACK, SILENCE };
enum parameter { COORDINATOR, ACKS, REGENERATE, CONFIRM };

#define MOST_HOPS (UINT64_MAX / 2)

struct token {
    uint64_t entries; /* counted */
    uint64_t hop;     /* the token's own number: how often it was passed on or made anew */
};

/* What everybody tells the one who asks for the token. */
struct answer {
    uint64_t holds;
    uint64_t entries;  /* when it last had the token */
    uint64_t received; /* the hop with which the token last came here */
    uint64_t sent;     /* the hop with which it last left, and where to */
    uint64_t to;
};

struct state {
    struct token token; /* as it was last here */
    uint64_t received;
    uint64_t sent;
    cv_node to;
    uint32_t holds;
    uint32_t wants;
    uint32_t inside;

    /* While asking for the token. */
    struct token newest; /* the highest counts anybody told of */
    cv_node newest_to;   /* where it was last sent */
    uint32_t missing;    /* answers */
    uint32_t found;      /* somebody holds it, or it is on its way to somebody alive */
    uint32_t unused;
};

/* The coordinator, or once it is known to be dead the best of the others: whom any election would choose. */
static bool is_elected(const struct cv_self *me)
{
    if (!cv_suspected(me, cv_id_of(me, cv_coordinator(me))))
        return me->node == cv_coordinator(me);
    for (uint32_t i = 0; i < cv_degree(me); i++) {
        const cv_node other = cv_neighbour(me, i);
        if (cv_rank_of(me, other) > cv_my_rank(me) && !cv_suspected(me, cv_id_of(me, other)))
            return false;
    }
    return true;
}

static bool watches(const struct cv_self *me)
{
    return cv_parameter(me, REGENERATE) && is_elected(me);
}

static void watch(struct cv_self *me)
{
    if (watches(me))
        cv_arm(me, SILENCE, (uint64_t)cv_parameter(me, REGENERATE));
}

static void init(struct cv_self *me)
{
    struct state *my = me->state;
    my->to = CV_NOBODY;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    const cv_node first = me->group->members ? me->group->members[0] : 0;
    (void)fence;
    my->inside = me->node == holder;
    my->holds = me->node == (holder == CV_NOBODY ? first : holder);
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
    my->sent = ++my->token.hop;
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

/* The view has begun, and whoever wants to enter now has said so. */
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
    /* Who is alone is its own successor. */
    const bool from_myself = message->from == me->node && token->hop == my->token.hop;
    if (my->holds || (token->hop <= my->token.hop && !from_myself))
        return; /* a copy of one that has been here */
    my->token = *token;
    my->received = token->hop;
    my->holds = true;
    watch(me);
    use(me);
}

static void on_ack(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    if (message->from == my->to)
        cv_cancel(me, NO_ACK);
}

/* The successor does not answer: the token goes to the one behind it, and is the same token. */
static void skip_successor(struct cv_self *me)
{
    struct state *my = me->state;
    cv_node next = my->to;
    my->token.entries++; /* it may have entered, and died before it could say so */
    do
        next = next + 1 < cv_nodes(me) ? next + 1 : 0;
    while (next != me->node && !cv_present(me, next));
    send_token(me, next);
}

static struct answer what_i_know(const struct cv_self *me)
{
    const struct state *my = me->state;
    return (struct answer){my->holds, my->token.entries, my->received, my->sent, my->to};
}

static void weigh(struct cv_self *me, const struct answer *answer)
{
    struct state *my = me->state;
    my->found |= answer->holds != 0;
    if (answer->entries > my->newest.entries)
        my->newest.entries = answer->entries;
    if (answer->received > my->newest.hop) {
        my->newest.hop = answer->received;
        my->newest_to = CV_NOBODY;
    }
    if (answer->sent > my->newest.hop) {
        my->newest.hop = answer->sent;
        my->newest_to = (cv_node)answer->to;
    }
}

static void make_token(struct cv_self *me)
{
    struct state *my = me->state;
    my->token.hop = (my->newest.hop > my->token.hop ? my->newest.hop : my->token.hop) + 1;
    if (my->newest.entries > my->token.entries)
        my->token.entries = my->newest.entries;
    my->token.entries += cv_nodes(me); /* each of the dead may have entered once more, and told nobody */
    my->holds = true;
    cv_note(me, "makes a new token");
    watch(me);
    use(me);
}

/* All have answered. A token last sent to somebody alive is on its way; sent to the dead, or kept there, it is lost. */
static void conclude(struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->found || (my->newest_to != CV_NOBODY && !cv_suspected(me, cv_id_of(me, my->newest_to))))
        watch(me);
    else
        make_token(me);
}

static void ask_everybody(struct cv_self *me)
{
    struct state *my = me->state;
    my->newest = (struct token){0};
    my->newest_to = CV_NOBODY;
    my->found = false;
    my->missing = 0;
    const struct answer mine = what_i_know(me);
    weigh(me, &mine);
    for (uint32_t i = 0; i < cv_degree(me); i++)
        if (cv_present(me, cv_neighbour(me, i))) {
            my->missing++;
            cv_signal(me, cv_neighbour(me, i), QUERY);
        }
    if (!my->missing)
        conclude(me);
}

static void timeout(struct cv_self *me, uint32_t timer)
{
    const struct state *my = me->state;
    if (timer == NO_ACK)
        skip_successor(me);
    else if (my->holds)
        watch(me);
    else if (cv_parameter(me, CONFIRM) == 0)
        ask_everybody(me);
    else
        make_token(me);
}

static void on_query(struct cv_self *me, const struct cv_message *message)
{
    const struct answer answer = what_i_know(me);
    cv_send(me, message->from, ANSWER, &answer);
}

static void on_answer(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    weigh(me, cv_body(message));
    if (my->missing && --my->missing == 0)
        conclude(me);
}

/* The dead may have passed the token on with their last breath: it is not asked for before that has arrived. */
static void suspect(struct cv_self *me, cv_node node)
{
    struct state *my = me->state;
    (void)node;
    my->missing = 0;
    if (watches(me))
        cv_arm(me, SILENCE, (uint64_t)cv_parameter(me, REGENERATE) + cv_bound(me));
}

/* The hops. */
static void counters(struct cv_counting *counting, cv_node node, void *state, struct cv_message *message)
{
    struct state *my = state;
    (void)node;
    if (my) {
        counting->count(counting, 0, &my->token.hop);
        counting->count(counting, 0, &my->received);
        counting->count(counting, 0, &my->sent);
        counting->count(counting, 0, &my->newest.hop);
    } else if (message->kind == TOKEN) {
        counting->count(counting, 0, &((struct token *)(void *)message->body)->hop);
    } else if (message->kind == ANSWER) {
        struct answer *answer = (struct answer *)(void *)message->body;
        counting->count(counting, 0, &answer->received);
        counting->count(counting, 0, &answer->sent);
    }
}

static const struct cv_field token_fields[] = {
    {CV_FIELD(struct token, entries), .type = CV_FIELD_NUMBER, .most = CV_MOST_ENTRIES},
    {CV_FIELD(struct token, hop), .type = CV_FIELD_NUMBER, .most = MOST_HOPS},
    {0},
};

static const struct cv_field answer_fields[] = {
    {CV_FIELD(struct answer, holds), .type = CV_FIELD_FLAG},
    {CV_FIELD(struct answer, entries), .type = CV_FIELD_NUMBER, .most = CV_MOST_ENTRIES},
    {CV_FIELD(struct answer, received), .type = CV_FIELD_NUMBER, .most = MOST_HOPS},
    {CV_FIELD(struct answer, sent), .type = CV_FIELD_NUMBER, .most = MOST_HOPS},
    {CV_FIELD(struct answer, to), .type = CV_FIELD_MAYBE},
    {0},
};

static const struct cv_kind kinds[] = {
    [TOKEN] = {"token", sizeof(struct token), on_token, token_fields},
    [ACK] = {"ack", 0, on_ack, false},
    [QUERY] = {"query", 0, on_query, false},
    [ANSWER] = {"answer", sizeof(struct answer), on_answer, answer_fields},
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
    {"best: everybody wants", "1", CV_MESSAGES, true, CV_LISTED, 0},
    {"worst but for idle rounds", "n", CV_MESSAGES, true, CV_LISTED, 0},
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
    .perpetual = true,
    .kinds = kinds,
    .timers = timers,
    .parameters = parameters,
    .costs = costs,
    .state_bytes = sizeof(struct state),
    .init = init,
    .adopt = adopt,
    .start = start,
    .timeout = timeout,
    .suspect = suspect,
    .request = request,
    .release = release,
    .counters = counters,
};
