// SPDX-License-Identifier: MIT
/*
 * Suzuki and Kasami's broadcast algorithm: mutual exclusion of one's own.
 * I. Suzuki, T. Kasami: A Distributed Mutual Exclusion Algorithm, ACM TOCS 3(4), 1985.
 *
 *     cc -shared -fPIC -I include -o sk.so examples/suzuki_kasami.c
 *     conclave sim ./sk.so -n 5
 *
 * Who holds the token may enter. Who wants it asks all others, and numbers its requests. The token says of each node
 * which of its requests was served last, and who waits for it. On leaving, its holder adds the nodes whose requests it
 * has heard of and which the token does not know, and sends it to the first.
 *
 * Safety    there is one token
 * Liveness  a request reaches every node, so also the one that holds the token or will; whoever waits moves up
 * Cost      n messages an entry, n − 1 requests and the token; none if the token is there already
 * Assumes   reliable links in a group that knows itself; their order does not matter, as requests have numbers
 * Fence     the entries so far, which the token counts
 */
#include <conclave/algorithm.h>

enum kind { REQUEST, TOKEN };

struct request {
    uint32_t number; /* of the sender's requests */
};

struct token {
    uint64_t entries; /* so far; after it come the number served last of each node, and who waits */
};

struct state {
    uint64_t entries; /* as the token says, if it is here */
    uint32_t holds;   /* the token is here */
    uint32_t inside;
    uint32_t waiting; /* so many nodes wait for the token, if it is here */
    uint32_t unused;  /* fills a gap */
    uint32_t rows[];  /* for each node: requested, served, waits; each row begins at a whole 64-bit word */
};

static size_t row_words(uint32_t nodes)
{
    return (nodes + 1) / 2 * 2;
}

static size_t state_size(const struct cv_group *group, cv_node node)
{
    (void)node;
    return sizeof(struct state) + (2 * row_words(group->nodes) + group->nodes) * sizeof(uint32_t);
}

/* The highest number of each node's requests that this one has heard of. */
static uint32_t *requested(const struct cv_self *me)
{
    struct state *my = me->state;
    return my->rows;
}

/* The number of each node's last request that was served, if the token is here. */
static uint32_t *served(const struct cv_self *me)
{
    return requested(me) + row_words(cv_nodes(me));
}

static cv_id *queue(const struct cv_self *me)
{
    return served(me) + row_words(cv_nodes(me));
}

static void enter(struct cv_self *me)
{
    struct state *my = me->state;
    my->inside = true;
    cv_enter(me, cv_fence(me, ++my->entries));
}

static void forget_token(struct cv_self *me)
{
    struct state *my = me->state;
    memset(served(me), 0, (row_words(cv_nodes(me)) + cv_nodes(me)) * sizeof(uint32_t));
    my->entries = my->holds = my->waiting = 0;
}

static void send_token(struct cv_self *me, cv_node to)
{
    const struct state *my = me->state;
    cv_send_numbers(me, to, TOKEN, &(struct token){my->entries}, sizeof(struct token), served(me),
                    (struct cv_list){queue(me), my->waiting});
    forget_token(me);
}

static bool is_unserved(const struct cv_self *me, cv_node node)
{
    return requested(me)[node] == served(me)[node] + 1;
}

static void adopt(struct cv_self *me, cv_node holder, uint64_t fence)
{
    struct state *my = me->state;
    (void)fence;
    my->holds = me->node == (holder == CV_NOBODY ? cv_first_member(me) : holder);
    my->inside = me->node == holder;
}

static void request(struct cv_self *me)
{
    const struct state *my = me->state;
    if (my->holds)
        enter(me);
    else
        cv_multicast(me, REQUEST, &(struct request){++requested(me)[me->node]});
}

static void on_request(struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct request *theirs = cv_body(message);
    if (theirs->number > requested(me)[message->from])
        requested(me)[message->from] = theirs->number;
    if (my->holds && !my->inside && is_unserved(me, message->from))
        send_token(me, message->from);
}

static void on_token(struct cv_self *me, const struct cv_message *message)
{
    struct state *my = me->state;
    const struct token *token = cv_body(message);
    const struct cv_list list = cv_list_after_numbers(me, message, sizeof *token);
    memcpy(served(me), cv_numbers(message, sizeof *token), cv_nodes(me) * sizeof(uint32_t));
    memcpy(queue(me), list.ids, list.count * sizeof *list.ids);
    my->entries = token->entries;
    my->waiting = (uint32_t)list.count;
    my->holds = true;
    enter(me);
}

static void release(struct cv_self *me)
{
    struct state *my = me->state;
    my->inside = false;
    served(me)[me->node] = requested(me)[me->node];
    for (uint32_t i = 1; i < cv_nodes(me); i++) {
        const cv_node node = (me->node + i) % cv_nodes(me);
        if (is_unserved(me, node) && !cv_list_has((struct cv_list){queue(me), my->waiting}, cv_id_of(me, node)))
            queue(me)[my->waiting++] = cv_id_of(me, node);
    }
    if (!my->waiting)
        return;
    cv_node first = 0;
    while (cv_id_of(me, first) != queue(me)[0])
        first++;
    memmove(queue(me), queue(me) + 1, --my->waiting * sizeof(cv_id));
    send_token(me, first);
}

/* The token comes to a node that waits for it, and serves its last request. */
static bool valid(const struct cv_self *me, const struct cv_message *message)
{
    const struct state *my = me->state;
    const struct request *theirs = cv_body(message);
    if (message->kind == REQUEST)
        return theirs->number > 0;
    return !my->holds && me->region == CV_TRYING &&
           cv_numbers(message, sizeof(struct token))[me->node] + 1 == requested(me)[me->node];
}

#define ROW(called, what)                                                                                              \
    .name = (called), .row = (called), .bytes = sizeof(uint32_t), .type = CV_FIELD_##what, .each = CV_EACH_NODE

static const struct cv_field state_fields[] = {
    {CV_FIELD(struct state, entries, NUMBER)},
    {CV_FIELD(struct state, holds, FLAG)},
    {CV_FIELD(struct state, inside, FLAG)},
    {CV_FIELD(struct state, waiting, NUMBER)},
    {CV_FIELD(struct state, unused, UNUSED)},
    {ROW("requested", NUMBER)},
    {ROW("served", NUMBER)},
    {ROW("queue", ID), .length = offsetof(struct state, waiting)},
    {0},
};

static const struct cv_field request_fields[] = {{CV_FIELD(struct request, number, NUMBER)}, {0}};

static const struct cv_field token_fields[] = {
    {CV_FIELD(struct token, entries, NUMBER)},
    {CV_FIELD_ROW(struct token, "served")},
    {CV_FIELD_IDS(struct token)},
    {0},
};

static const struct cv_kind kinds[] = {
    [REQUEST] = CV_KIND("request", struct request, on_request, request_fields),
    [TOKEN] = CV_KIND("token", struct token, on_token, token_fields),
    {0},
};

#define PAPER CV_PAPER_SAYS("Suzuki and Kasami 1985: N messages, or 0 if the token is there")

static const struct cv_cost costs[] = {
    {"best: the token is here", CV_MESSAGES_ARE("0"), CV_LISTED, PAPER},
    {"worst", CV_MESSAGES_ARE("n"), CV_LISTED, PAPER},
    {"at most n an entry", CV_MESSAGES_AT_MOST("n·e"), CV_STEADY | CV_ALL_ALIVE, PAPER},
    {0},
};

const struct cv_algorithm conclave_algorithm = {
    .abi = CV_ABI,
    .problem = CV_MUTEX,
    .name = "suzuki-kasami",
    .title = "Suzuki and Kasami's broadcast algorithm",
    .citation = "I. Suzuki, T. Kasami: A Distributed Mutual Exclusion Algorithm, ACM TOCS 3(4), 1985",
    .topology = CV_COMPLETE,
    .assumes = CV_RELIABLE | CV_NO_CRASH | CV_KNOWN_GROUP,
    .claims = CV_MUTEX_CLAIMS | CV_BOUNDED_WAITING,
    .kinds = kinds,
    .costs = costs,
    .state_size = state_size,
    .state_fields = state_fields,
    .request = request,
    .release = release,
    .adopt = adopt,
    .valid = valid,
};
