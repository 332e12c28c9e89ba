// SPDX-License-Identifier: MIT
/*
 * The author's interface: everything an algorithm may see and do.
 *
 * An algorithm is a table of handlers (`struct cv_algorithm`, at the end of this file) over one flat state
 * per node. A handler reads its state and the event, changes the state and records effects: messages to send,
 * timers to arm, "I have elected 7". It performs none of them; the runtime does, after the handler returned.
 * So the same object code runs in the simulator, in the model checker and between real processes.
 *
 * The rules that make this work:
 *   - state and message bodies are flat: unsigned 32- and 64-bit fields, no pointers, no padding, so that
 *     their bytes are their value and can be copied, hashed, compared and sent;
 *   - a handler depends on nothing but its state, the event and the questions below: no globals, no clock,
 *     no allocation; `cv_choose` is the only randomness;
 *   - a handler cannot fail. What only a bug can do is asserted; a message that no node could have sent never reaches
 *     it, for the ranges of the fields and `valid` say which those are.
 *
 * Everything here is inline: an algorithm in a shared object needs no symbol of ours, only this header.
 */
#ifndef CONCLAVE_ALGORITHM_H
#define CONCLAVE_ALGORITHM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <conclave/cost.h>
#include <conclave/field.h>

/* Changes whenever the layout of a structure in this file does. */
#define CV_ABI 5u

/* ---- names ------------------------------------------------------------------------------------------ */

typedef uint32_t cv_node; /* a place in the group, 0..n-1: where to send */
typedef uint32_t cv_id;   /* a process's own name: unique, any number, what the texts compare */
typedef uint64_t cv_rank; /* (attribute, id): the order in which the best is elected; compare as numbers */

#define CV_NOBODY UINT32_MAX /* no node */
#define CV_NO_WAY UINT32_MAX /* as a weight: the edge leads only the other way */

static inline cv_rank cv_rank_make(uint32_t attribute, cv_id id)
{
    return (cv_rank)attribute << 32 | id;
}

static inline cv_id cv_rank_id(cv_rank rank)
{
    return (cv_id)rank;
}

static inline uint32_t cv_rank_attribute(cv_rank rank)
{
    return (uint32_t)(rank >> 32);
}

/* ---- the group a node lives in ---------------------------------------------------------------------- */

enum cv_topology {
    CV_COMPLETE,  /* everybody reaches everybody */
    CV_RING,      /* a node sends to its successor only */
    CV_RING_BOTH, /* a node sends to its successor and its predecessor */
    CV_GRAPH      /* a node sends to its neighbours in a given graph */
};

struct cv_algorithm;

/* What every member knows from configuration. Nodes stand in ring order: the successor of i is i+1. */
struct cv_group {
    const cv_id *ids;
    const uint32_t *attributes; /* NULL: the attribute is the id itself */
    const uint64_t *edges;      /* CV_GRAPH: the neighbours of i are neighbours[edges[i] .. edges[i+1]), sorted */
    const cv_node *neighbours;
    const uint32_t *weights; /* of neighbours[], or NULL: all 1 */
    const uint32_t *ends;    /* of neighbours[]: which neighbour of that one I am; for synchronizers */
    const uint64_t *quorums; /* the voting set of i is voters[quorums[i] .. quorums[i+1]), sorted; or NULL */
    const cv_node *voters;
    const cv_node *members;           /* who is in the room, sorted; NULL: everybody */
    const cv_node *parents;           /* clusters: the next node towards the head, which is its own; or NULL */
    const unsigned char *preferred;   /* of neighbours[]: do two clusters talk over this edge? */
    const struct cv_algorithm *app;   /* what a synchronizer hosts */
    const struct cv_group *app_group; /* this group, with that algorithm's parameters */
    const int64_t *parameters;        /* values in the order of the algorithm's parameter table */
    uint64_t bound;                   /* D, the longest time a message takes, where the network keeps one */
    uint64_t epoch;                   /* the number of the view: who is in the room changed so often */
    uint64_t rounds;                  /* how many rounds a synchronous algorithm takes */
    uint64_t hosted_at;               /* where in a synchronizer's state that of its app begins */
    uint64_t slot_bytes;              /* what a message of its app takes there */
    uint32_t member_count;
    cv_node coordinator; /* who coordinates in this view, where somebody must */
    uint32_t nodes;
    uint32_t topology; /* enum cv_topology */
    uint32_t absence;  /* nonzero: some node may be down, cut off or suspected; zero saves the question */
    uint32_t unused;
};

/* ---- messages --------------------------------------------------------------------------------------- */

/* A message as it travels: this header, then the body of `words` 32-bit words. */
struct cv_message {
    cv_node to;
    cv_node from;
    uint64_t clock : 40; /* the sender's Lamport clock at the send */
    uint64_t kind : 6;
    uint64_t words : 18;
    uint64_t body[];
};

#define CV_MAX_KINDS 64u
#define CV_MAX_WORDS ((1u << 18) - 1u)

static inline const void *cv_body(const struct cv_message *message)
{
    return message->body;
}

/* The bytes a message occupies in a queue: the header and the body, in whole 64-bit words. */
static inline size_t cv_message_bytes(const struct cv_message *message)
{
    return sizeof *message + ((size_t)message->words + 1) / 2 * 8;
}

/* ---- one step of one node --------------------------------------------------------------------------- */

#define CV_MAX_TIMERS 4u

enum cv_effect {
    CV_DID_ELECT = 1u << 0,  /* elected: `elected` is the leader */
    CV_DID_FORGET = 1u << 1, /* no leader is known any more */
    CV_DID_CALL = 1u << 2,   /* began an election of its own */
    CV_DID_YIELD = 1u << 3,  /* its own election is over, without a result */
    CV_DID_RECALL = 1u << 4, /* called although its own election was still under way */
    CV_DID_ENTER = 1u << 5,  /* entered the critical section with `fence` */
    CV_DID_TIMER = 1u << 6,  /* armed or cancelled a timer */
    CV_DID_NOTE = 1u << 7,   /* `note` tells the trace what just happened */
    CV_DID_PULSE = 1u << 8,  /* began round `round`; one more than there are: it is done */
    CV_DID_RESULT = 1u << 9  /* came to `result`, by way of `via` */
};

/* Where a node stands with the critical section. */
enum cv_region {
    CV_REMAINDER,
    CV_TRYING, /* it has requested, and is not inside yet */
    CV_CRITICAL
};

struct cv_self;

/* The questions a node may ask its runtime. */
struct cv_runtime {
    uint32_t (*choose)(struct cv_self *me, uint32_t ways);
    bool (*present)(const struct cv_self *me, cv_node node);
    bool (*suspected)(const struct cv_self *me, cv_id id);
    void (*grow)(struct cv_self *me, size_t bytes); /* makes room for so many more bytes in the outbox */
};

/* The node taking a step, with the effects it has recorded so far. Use the functions below, not the fields. */
struct cv_self {
    void *state;
    const struct cv_group *group;
    const struct cv_runtime *runtime;
    unsigned char *outbox;
    size_t used; /* bytes of messages in the outbox */
    size_t room;
    uint64_t clock; /* Lamport's */
    uint64_t fence;
    uint64_t round;
    uint64_t received; /* messages of the round before */
    uint64_t result;
    const char *note;
    uint64_t timer_delay[CV_MAX_TIMERS];
    uint32_t timers_armed; /* a bit per timer: armed, or cancelled, by this step */
    uint32_t timers_cancelled;
    uint32_t effects; /* enum cv_effect */
    uint32_t calling; /* an election of its own is under way */
    uint32_t knows;   /* `elected` is the leader it knows */
    cv_id elected;
    cv_node node;
    cv_node via;
    uint32_t region; /* enum cv_region: for `valid` alone */
    uint32_t unused;
};

/* ---- who am I, whom do I know ----------------------------------------------------------------------- */

static inline uint32_t cv_nodes(const struct cv_self *me)
{
    return me->group->nodes;
}

static inline cv_id cv_id_of(const struct cv_self *me, cv_node node)
{
    assert(node < me->group->nodes);
    return me->group->ids[node];
}

static inline cv_id cv_my_id(const struct cv_self *me)
{
    return cv_id_of(me, me->node);
}

static inline cv_rank cv_group_rank(const struct cv_group *group, cv_node node)
{
    return cv_rank_make(group->attributes ? group->attributes[node] : group->ids[node], group->ids[node]);
}

static inline cv_rank cv_rank_of(const struct cv_self *me, cv_node node)
{
    return cv_group_rank(me->group, node);
}

static inline cv_rank cv_my_rank(const struct cv_self *me)
{
    return cv_rank_of(me, me->node);
}

static inline int64_t cv_parameter(const struct cv_self *me, uint32_t index)
{
    return me->group->parameters[index];
}

/* D: no message takes longer. Timeouts are multiples of it. */
static inline uint64_t cv_bound(const struct cv_self *me)
{
    return me->group->bound;
}

/* Would that node be skipped? Not if it is up and not suspected: what trying to connect, or the detector, tells. */
static inline bool cv_present(const struct cv_self *me, cv_node node)
{
    return !me->group->absence || me->runtime->present(me, node);
}

/* Does this node's failure detector hold that process for dead? */
static inline bool cv_suspected(const struct cv_self *me, cv_id id)
{
    return __builtin_expect(me->group->absence, 0) && me->runtime->suspected(me, id);
}

/* The next present node in ring order; the node itself when it is alone. */
static inline cv_node cv_successor(const struct cv_self *me)
{
    cv_node next = me->node + 1 < me->group->nodes ? me->node + 1 : 0;
    while (__builtin_expect(me->group->absence, 0) && next != me->node && !me->runtime->present(me, next))
        next = next + 1 < me->group->nodes ? next + 1 : 0;
    return next;
}

static inline cv_node cv_predecessor(const struct cv_self *me)
{
    cv_node previous = me->node;
    do
        previous = previous > 0 ? previous - 1 : me->group->nodes - 1;
    while (previous != me->node && !cv_present(me, previous));
    return previous;
}

/* Neighbours: in a graph those of the graph, elsewhere everybody else who is in the room. */
static inline uint32_t cv_degree(const struct cv_self *me)
{
    const struct cv_group *group = me->group;
    if (group->edges)
        return (uint32_t)(group->edges[me->node + 1] - group->edges[me->node]);
    return (group->members ? group->member_count : group->nodes) - 1;
}

static inline cv_node cv_neighbour(const struct cv_self *me, uint32_t index)
{
    const struct cv_group *group = me->group;
    assert(index < cv_degree(me));
    if (group->edges)
        return group->neighbours[group->edges[me->node] + index];
    if (group->members)
        return group->members[index + (group->members[index] >= me->node)];
    return index + (index >= me->node);
}

/* Where `node` stands among my neighbours: the index that cv_neighbour() takes, or cv_degree() if nowhere. */
static inline uint32_t cv_neighbour_index(const struct cv_self *me, cv_node node)
{
    uint32_t low = 0, high = cv_degree(me);
    const uint32_t degree = high;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (cv_neighbour(me, middle) < node)
            low = middle + 1;
        else
            high = middle;
    }
    return low < degree && cv_neighbour(me, low) == node ? low : degree;
}

/* What the edge to a neighbour costs; CV_NO_WAY if it leads only from there to here. */
static inline uint32_t cv_weight(const struct cv_self *me, uint32_t index)
{
    const struct cv_group *group = me->group;
    assert(index < cv_degree(me));
    return group->weights ? group->weights[group->edges[me->node] + index] : 1;
}

/* How many rounds a synchronous algorithm takes. */
static inline uint64_t cv_rounds(const struct cv_self *me)
{
    return me->group->rounds;
}

/* The voting set of a node, itself included: any two have a member in common. */
static inline uint32_t cv_quorum_size(const struct cv_self *me, cv_node node)
{
    return (uint32_t)(me->group->quorums[node + 1] - me->group->quorums[node]);
}

static inline cv_node cv_voter(const struct cv_self *me, cv_node node, uint32_t index)
{
    assert(index < cv_quorum_size(me, node));
    return me->group->voters[me->group->quorums[node] + index];
}

/* Who coordinates in this view. */
static inline cv_node cv_coordinator(const struct cv_self *me)
{
    return me->group->coordinator;
}

/* The fence of a count in this view: every one of a later view is higher. */
static inline uint64_t cv_fence(const struct cv_self *me, uint64_t count)
{
    return me->group->epoch << 40 | count;
}

/* So many entries of a view at most: a fence has no room for many more. */
#define CV_MOST_ENTRIES ((1ull << 39) - 1)

/* The fence of a request made at that time: requests are ordered by (time, id), and so are their fences. */
static inline uint64_t cv_request_fence(const struct cv_self *me, uint64_t time)
{
    uint64_t smaller = 0;
    for (cv_node node = 0; node < cv_nodes(me); node++)
        smaller += cv_id_of(me, node) < cv_my_id(me);
    return cv_fence(me, time * cv_nodes(me) + smaller);
}

/* ---- what a handler may do -------------------------------------------------------------------------- */

/* Room in the outbox for a message of so many body bytes, its header filled in. */
static inline struct cv_message *cv_post(struct cv_self *me, cv_node to, uint32_t kind, size_t bytes)
{
    assert(to < me->group->nodes && kind < CV_MAX_KINDS && bytes % 4 == 0 && bytes / 4 <= CV_MAX_WORDS);
    const size_t size = sizeof(struct cv_message) + (bytes + 7) / 8 * 8;
    if (__builtin_expect(me->room - me->used < size, 0))
        me->runtime->grow(me, size);
    struct cv_message *message = (struct cv_message *)(void *)(me->outbox + me->used);
    me->used += size;
    message->to = to;
    message->from = me->node;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    /* The bit-fields with one store: set one by one they are read, changed and written one by one. */
    const uint64_t fields =
        (me->clock & ((1ull << 40) - 1)) | (uint64_t)(kind & (CV_MAX_KINDS - 1)) << 40 | (uint64_t)(bytes / 4) << 46;
    memcpy(&message->from + 1, &fields, sizeof fields);
#else
    message->clock = me->clock & ((1ull << 40) - 1);
    message->kind = kind & (CV_MAX_KINDS - 1);
    message->words = (bytes / 4) & CV_MAX_WORDS;
#endif
    if (bytes % 8)
        message->body[bytes / 8] = 0; /* the unused half word: bytes are the value */
    return message;
}

static inline void cv_send_bytes(struct cv_self *me, cv_node to, uint32_t kind, const void *body, size_t bytes)
{
    me->clock++;
    memcpy(cv_post(me, to, kind, bytes)->body, body, bytes);
}

/* The time of the event that this step handles, by Lamport's clock. What the step sends is later. */
static inline uint64_t cv_clock(const struct cv_self *me)
{
    return me->clock;
}

/* Sends a body, given by the address of its structure: cv_send(me, to, KIND, &(struct body){1, 2}). */
#define cv_send(me, to, kind, ...) cv_send_bytes((me), (to), (kind), (__VA_ARGS__), sizeof *(__VA_ARGS__))

/* Sends a message that is nothing but its kind. */
static inline void cv_signal(struct cv_self *me, cv_node to, uint32_t kind)
{
    me->clock++;
    cv_post(me, to, kind, 0);
}

/* Sends one message to every neighbour: one event, so one tick of the Lamport clock. */
static inline void cv_multicast_bytes(struct cv_self *me, uint32_t kind, const void *body, size_t bytes)
{
    me->clock++;
    const uint32_t degree = cv_degree(me);
    for (uint32_t i = 0; i < degree; i++) {
        struct cv_message *message = cv_post(me, cv_neighbour(me, i), kind, bytes);
        if (bytes)
            memcpy(message->body, body, bytes);
    }
}

#define cv_multicast(me, kind, ...) cv_multicast_bytes((me), (kind), (__VA_ARGS__), sizeof *(__VA_ARGS__))

static inline void cv_multicast_signal(struct cv_self *me, uint32_t kind)
{
    cv_multicast_bytes(me, kind, NULL, 0);
}

/*
 * A list of ids behind a body: `cv_send_list` sends the body and `count` ids, one of them appended when `last`
 * is given; `cv_list` finds the ids of a received message behind a body of `head` bytes.
 */
struct cv_list {
    const cv_id *ids;
    uint64_t count;
};

static inline struct cv_list cv_list(const struct cv_message *message, size_t head)
{
    const unsigned char *bytes = cv_body(message);
    assert(message->words * 4 >= head);
    return (struct cv_list){(const cv_id *)(const void *)(bytes + head), (message->words * 4 - head) / 4};
}

static inline bool cv_list_has(struct cv_list list, cv_id id)
{
    for (uint64_t i = 0; i < list.count; i++)
        if (list.ids[i] == id)
            return true;
    return false;
}

static inline void cv_send_list(struct cv_self *me, cv_node to, uint32_t kind, const void *body, size_t head,
                                struct cv_list list, const cv_id *last)
{
    const size_t bytes = head + (list.count + (last != NULL)) * sizeof(cv_id);
    me->clock++;
    unsigned char *out = (unsigned char *)cv_post(me, to, kind, bytes)->body;
    if (head)
        memcpy(out, body, head);
    if (list.count)
        memcpy(out + head, list.ids, list.count * sizeof(cv_id));
    if (last)
        memcpy(out + head + list.count * sizeof(cv_id), last, sizeof *last);
}

/* Arms a timer, or arms it anew. Timers fire after the messages of their instant. */
static inline void cv_arm(struct cv_self *me, uint32_t timer, uint64_t delay)
{
    assert(timer < CV_MAX_TIMERS);
    me->timer_delay[timer] = delay;
    me->timers_armed |= 1u << timer;
    me->timers_cancelled &= ~(1u << timer);
    me->effects |= CV_DID_TIMER;
}

static inline void cv_cancel(struct cv_self *me, uint32_t timer)
{
    assert(timer < CV_MAX_TIMERS);
    me->timers_cancelled |= 1u << timer;
    me->timers_armed &= ~(1u << timer);
    me->effects |= CV_DID_TIMER;
}

/* One of 0..ways-1: drawn by the simulator, enumerated by the checker. */
static inline uint32_t cv_choose(struct cv_self *me, uint32_t ways)
{
    return me->runtime->choose(me, ways);
}

/* This node now holds an election of its own; it ends with cv_elected() or cv_yield(). */
static inline void cv_call(struct cv_self *me)
{
    me->effects |= me->calling ? CV_DID_CALL | CV_DID_RECALL : CV_DID_CALL;
    me->calling = 1;
}

/* Its own election is over without a result: somebody better takes over. */
static inline void cv_yield(struct cv_self *me)
{
    me->effects |= CV_DID_YIELD;
    me->calling = 0;
}

/* This node knows the leader. */
static inline void cv_elected(struct cv_self *me, cv_id leader)
{
    me->elected = leader;
    me->knows = 1;
    me->effects = (me->effects & ~(uint32_t)CV_DID_FORGET) | CV_DID_ELECT;
    me->calling = 0;
}

/* The leader this node knows, if it knows one. */
static inline bool cv_knows_leader(const struct cv_self *me)
{
    return me->knows;
}

static inline cv_id cv_leader(const struct cv_self *me)
{
    return me->elected;
}

static inline bool cv_follows(const struct cv_self *me, cv_id leader)
{
    return cv_knows_leader(me) && cv_leader(me) == leader;
}

/* The leader this node knew is gone, or in doubt. */
static inline void cv_no_leader(struct cv_self *me)
{
    me->knows = 0;
    me->effects = (me->effects & ~(uint32_t)CV_DID_ELECT) | CV_DID_FORGET;
}

/* This node is inside the critical section; the fence is higher than that of every entry before. */
static inline void cv_enter(struct cv_self *me, uint64_t fence)
{
    me->fence = fence;
    me->effects |= CV_DID_ENTER;
}

/* This node has come to a number, better than the one before: a distance, say, learnt from a neighbour. */
static inline void cv_result(struct cv_self *me, uint64_t result, cv_node via)
{
    me->result = result;
    me->via = via;
    me->effects |= CV_DID_RESULT;
}

/* A word for the trace about what just happened here: a string that lives for ever. */
static inline void cv_note(struct cv_self *me, const char *text)
{
    me->note = text;
    me->effects |= CV_DID_NOTE;
}

/* ---- the algorithm's table -------------------------------------------------------------------------- */

enum cv_problem { CV_ELECTION, CV_MUTEX, CV_SYNCHRONIZER, CV_SYNCHRONOUS, CV_PATHS };

/* What the text takes for granted. */
enum cv_assumption {
    CV_RELIABLE = 1u << 0,      /* every message arrives, once */
    CV_FIFO = 1u << 1,          /* messages between two nodes arrive in the order they were sent */
    CV_NO_CRASH = 1u << 2,      /* nobody dies during a run */
    CV_BOUNDED_DELAY = 1u << 3, /* no message takes longer than D; timeouts rely on it */
    CV_KNOWN_GROUP = 1u << 4,   /* everybody knows everybody's id and address */
    CV_DETECTOR = 1u << 5,      /* crashes are told, truly and to all */
    CV_CONNECTED = 1u << 6,     /* the graph is in one piece */
    CV_NO_RECOVERY = 1u << 7,   /* a node that dies does not come back during a run */
    CV_FIFO_RECOVERY = 1u << 8 /* if a node comes back, messages between two nodes arrive in the order they were sent */
};

/* What the algorithm promises when its assumptions hold. The runtimes judge each run by it. */
enum cv_claim {
    CV_AGREEMENT = 1u << 0,       /* no two live nodes know different leaders */
    CV_BEST_WINS = 1u << 1,       /* the leader is the best live node */
    CV_EVERYONE_LEARNS = 1u << 2, /* every live node gets to know a leader */
    CV_ANY_CALLER = 1u << 3,      /* the result does not depend on who calls */
    CV_ONE_CALL = 1u << 4,        /* a node never holds two elections of its own */
    CV_PER_COMPONENT = 1u << 5,   /* all of this in every connected part of the network by itself */

    CV_EXCLUSION = 1u << 6,        /* never two inside at once */
    CV_FENCES_RISE = 1u << 7,      /* each entry's fence is higher than all before */
    CV_NO_DEADLOCK = 1u << 8,      /* never does everybody wait for ever */
    CV_EVERY_REQUEST = 1u << 9,    /* every request of a live node is served */
    CV_BOUNDED_WAITING = 1u << 10, /* nobody is overtaken by the same node twice in a row for ever: see the property */
    CV_REQUEST_ORDER = 1u << 11,   /* entries in the order in which the requests happened */

    CV_WHOLE_ROUNDS = 1u << 12,     /* a round begins when all messages of the one before have arrived */
    CV_CLOSE_ROUNDS = 1u << 13,     /* the rounds of neighbours differ by one at most */
    CV_LIKE_SYNCHRONOUS = 1u << 14, /* the states at the end are those of the synchronous run */
    CV_SHORTEST_PATHS = 1u << 15,   /* the results are the distances from the source */
    CV_FEWEST_HOPS = 1u << 16       /* the same, every edge counted as one */
};

#define CV_SYNCHRONIZER_CLAIMS (CV_WHOLE_ROUNDS | CV_CLOSE_ROUNDS | CV_LIKE_SYNCHRONOUS)
#define CV_MUTEX_CLAIMS (CV_EXCLUSION | CV_FENCES_RISE | CV_NO_DEADLOCK | CV_EVERY_REQUEST)
#define CV_ELECTION_CLAIMS (CV_AGREEMENT | CV_BEST_WINS | CV_EVERYONE_LEARNS | CV_ANY_CALLER | CV_ONE_CALL)

enum cv_clock_use {
    CV_CLOCKED = 1,     /* Lamport's clock tells the time of requests, or whatever else */
    CV_CLOCKS_REQUESTS, /* requests are put in order by their times; is some other time later than my own request? */
    CV_CLOCKS_ORDER     /* requests are put in order by their times, and that is all */
};

struct cv_kind {
    const char *name;
    uint64_t bytes; /* of the body, without its list */
    void (*receive)(struct cv_self *me, const struct cv_message *message);
    const struct cv_field *fields; /* of the body, up to one without a name; or NULL */
};

enum cv_parameter_type {
    CV_NUMBER, /* a number of at least 0 */
    CV_CHOICE, /* one of the words of `choices`; the value is the word's place */
    CV_MEMBER  /* a member's id; the value is its place; by default the one the algorithm picks, -1 */
};

struct cv_parameter {
    const char *name;
    const char *meaning;
    const char *choices; /* CV_CHOICE: "lower|all", the first is the default */
    int64_t fallback;    /* CV_NUMBER: the default */
    uint32_t type;       /* enum cv_parameter_type */
    uint32_t drops;      /* claims (enum cv_claim) given up when it is not the default */
};

/*
 * Some numbers grow for ever, and all that matters is how they compare with others of their family: how often a token
 * was passed on, which attempt a vote is for. An algorithm that shows them to the checker lets it count them from the
 * lowest on, so that what goes round comes round. 0 stands for "never" and stays 0.
 */
struct cv_counting {
    void (*count)(struct cv_counting *counting, uint32_t family, uint64_t *number);
};

/*
 * Other names for all nodes but the coordinator, for mutual exclusion that never compares ids: in a field, in one per
 * node. The checker tries every step under other names, too, and tells if that is not so.
 */
struct cv_renaming {
    void (*node)(const struct cv_renaming *renaming, cv_node *node);
    void (*row)(const struct cv_renaming *renaming, cv_node *row);
};

/* The table. Handlers that are NULL do nothing. Kinds, timers, parameters and costs end with an entry that begins with
 * NULL. */
struct cv_algorithm {
    uint32_t abi;     /* CV_ABI */
    uint32_t problem; /* enum cv_problem */
    const char *name;
    const char *title;
    const char *citation;
    uint32_t topology;  /* enum cv_topology */
    uint32_t assumes;   /* enum cv_assumption, or'ed */
    uint32_t claims;    /* enum cv_claim, or'ed */
    uint32_t clocked;   /* enum cv_clock_use; 0: the Lamport clock is not part of the algorithm, only of its trace */
    uint32_t alike;     /* nodes differ only in voting sets and in ids, and ids only decide between equal times */
    uint32_t perpetual; /* messages go round for ever: a run ends when there is nothing left to do */
    uint32_t quorums;   /* it needs voting sets */
    uint32_t clusters;  /* it needs clusters */
    uint32_t preparing; /* the kinds from this one on prepare the run, and are counted apart; 0: none */
    uint32_t unused;
    uint64_t answers; /* a bit per kind: it answers a request of the receiver, and each node answers once */
    const struct cv_kind *kinds;
    const char *const *timers;
    const struct cv_parameter *parameters;
    const struct cv_cost *costs;

    /*
     * The state of a node: so many bytes, zeroed before `init`; or a function of the group. A synchronizer gives
     * both: the bytes of its own part, and with conclave/synchronizer.h those of all.
     */
    size_t state_bytes;
    size_t (*state_size)(const struct cv_group *group, cv_node node);

    void (*init)(struct cv_self *me);                                  /* fills in what is not zero; may not send */
    void (*start)(struct cv_self *me);                                 /* this node calls the election */
    void (*recover)(struct cv_self *me);                               /* back from a crash, with a fresh state */
    void (*timeout)(struct cv_self *me, uint32_t timer);               /* a timer fired */
    void (*suspect)(struct cv_self *me, cv_node node);                 /* the failure detector: that node is gone */
    void (*trust)(struct cv_self *me, cv_node node);                   /* the failure detector: that node is back */
    void (*request)(struct cv_self *me);                               /* mutex: this node wants to enter */
    void (*release)(struct cv_self *me);                               /* mutex: this node leaves */
    void (*adopt)(struct cv_self *me, cv_node holder, uint64_t fence); /* a view begins; CV_NOBODY is inside */
    void (*pulse)(struct cv_self *me, uint64_t round);                 /* synchronous: a round begins, from 1 on */
    void (*finish)(struct cv_self *me);                                /* synchronous: the last round is over */

    /*
     * Can that message have been sent to this node, in this state, by that sender, if all keep to the algorithm and to
     * what it assumes? Its length and its fields are right. A real node handles no message that cannot, and cuts its
     * sender off; in the simulator and in the checker it is a counterexample. NULL: it always can.
     */
    bool (*valid)(const struct cv_self *me, const struct cv_message *message);

    /* NULL, or a sentence that says what is wrong with this node's state. Runs after every step in tests. */
    const char *(*invariant)(const struct cv_self *me);

    /* Shows the numbers of that kind in a node's state, or else in a message. */
    void (*counters)(struct cv_counting *counting, cv_node node, void *state, struct cv_message *message);

    /* Renames the nodes in a node's state, or else in the body of a message. */
    void (*rename)(const struct cv_renaming *renaming, const struct cv_group *group, cv_node node, void *state,
                   struct cv_message *message);
};

#endif
