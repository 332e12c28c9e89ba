// SPDX-License-Identifier: MIT
/*
 * The author's interface: everything an algorithm may see and do.
 *
 * An algorithm is a table of handlers (`struct cv_algorithm`, at the end of this file) over one flat state per node. A
 * handler reads its state and the event, changes the state and records effects: messages to send, timers to arm, "I
 * have elected 7". The runtime carries them out after the handler has returned. So the same object code runs in the
 * simulator, in the model checker and between real processes.
 *
 * The rules that make this work:
 *   - state and message bodies are flat: unsigned 32- and 64-bit fields, no pointers, no padding, so that
 *     their bytes are their value and can be copied, hashed, compared and sent;
 *   - a handler depends on nothing but its state, the event and the questions below: no globals, no clock,
 *     no allocation; `cv_choose` is the only randomness;
 *   - a handler cannot fail. It asserts what only a bug can break; the checker turns a failed assertion into a
 *     counterexample. A message that no node could have sent never reaches it: the ranges of the fields and `valid`
 *     say which those are.
 *
 * A handler gets `me`, the node that takes the step: `me->state` is its state, `me->node` says which node it is. It
 * reads a message's sender and kind as `message->from` and `message->kind`, and its body with cv_body(). All other
 * questions and effects are functions of this file.
 *
 * Names of nodes are in conclave/names.h, message kinds in conclave/kind.h, the fields of bodies and states in
 * conclave/field.h, costs in conclave/cost.h, what helps the tools in conclave/hints.h, and what only runtimes need in
 * conclave/runtime.h. This header includes them all. Everything is inline: an algorithm in a shared object needs no
 * symbol of ours.
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
#include <conclave/hints.h>
#include <conclave/kind.h>
#include <conclave/names.h>
#include <conclave/runtime.h>

/* Changes whenever the layout of a structure in these headers does. */
#define CV_ABI 7u

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

/* D, the longest time that a message takes. Timeouts are multiples of it. */
static inline uint64_t cv_bound(const struct cv_self *me)
{
    return me->group->bound;
}

/* Is that node up and not suspected, as far as a connection attempt and the detector tell? */
static inline bool cv_present(const struct cv_self *me, cv_node node)
{
    return !me->group->absence || me->runtime->present(me, node);
}

/* Does this node's failure detector suspect that process? */
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

/* Neighbours: in a graph those of the graph, elsewhere all other members of the view. */
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

/* The index of `node` among my neighbours, as cv_neighbour() takes it; cv_degree() if it is none. */
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

/* The weight of the edge to a neighbour; CV_NO_WAY if the edge leads only from there to here. */
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

/* The voting set of a node, which includes the node. Any two voting sets have a member in common. */
static inline uint32_t cv_quorum_size(const struct cv_self *me, cv_node node)
{
    return (uint32_t)(me->group->quorums[node + 1] - me->group->quorums[node]);
}

static inline cv_node cv_voter(const struct cv_self *me, cv_node node, uint32_t index)
{
    assert(index < cv_quorum_size(me, node));
    return me->group->voters[me->group->quorums[node] + index];
}

/* The first member of this view. */
static inline cv_node cv_first_member(const struct cv_self *me)
{
    return me->group->members ? me->group->members[0] : 0;
}

/*
 * The coordinator of this view: the node that the view elected, or the parameter `coordinator`, or the highest id. Only
 * an algorithm with that parameter has one elected when the last one dies.
 */
static inline cv_node cv_coordinator(const struct cv_self *me)
{
    const struct cv_group *group = me->group;
    cv_node highest = cv_first_member(me);
    if (group->coordinator != CV_NOBODY)
        return group->coordinator;
    for (uint32_t i = 0; i < (group->members ? group->member_count : group->nodes); i++) {
        const cv_node node = group->members ? group->members[i] : i;
        highest = group->ids[node] > group->ids[highest] ? node : highest;
    }
    return highest;
}

/* ---- time and fences -------------------------------------------------------------------------------- */

/* The time of the event that this step handles, by Lamport's clock. Messages that the step sends have later times. */
static inline uint64_t cv_clock(const struct cv_self *me)
{
    return me->clock;
}

/* Was the request of `node` at `time` made before that of `other_node` at `other_time`? Ids decide between equal times.
 */
static inline bool cv_before(const struct cv_self *me, uint64_t time, cv_node node, uint64_t other_time,
                             cv_node other_node)
{
    return time < other_time || (time == other_time && cv_id_of(me, node) < cv_id_of(me, other_node));
}

#define CV_FENCE_END (1ull << 53) /* fences are below, so that every language keeps them exactly */
#define CV_VIEW_BITS 34u          /* bits of an entry's fence below the epoch of its view */

/* The fence of a count in this view. Every fence of a later view is higher. */
static inline uint64_t cv_fence(const struct cv_self *me, uint64_t count)
{
    return me->group->epoch << CV_VIEW_BITS | count;
}

/* The most entries of a view: a fence has no room for many more. */
#define CV_MOST_ENTRIES ((1ull << (CV_VIEW_BITS - 1)) - 1)

/* The next fence of this view, after the highest fence that this node has heard of. */
static inline uint64_t cv_fence_after(const struct cv_self *me, uint64_t highest)
{
    return (highest < cv_fence(me, 0) ? cv_fence(me, 0) : highest) + 1;
}

/* The fence of a request made at that time: requests are ordered by (time, id), and so are their fences. */
static inline uint64_t cv_request_fence(const struct cv_self *me, uint64_t time)
{
    uint64_t smaller = 0;
    for (cv_node node = 0; node < cv_nodes(me); node++)
        smaller += cv_id_of(me, node) < cv_my_id(me);
    return cv_fence(me, time * cv_nodes(me) + smaller);
}

/* ---- sets of nodes ---------------------------------------------------------------------------------- */

/* A set of nodes has a bit for each. In a state it is `uint32_t waiting[]`, of cv_bits_words(nodes) words. */
static inline uint32_t cv_bits_words(uint32_t nodes)
{
    return (nodes + 31) / 32;
}

static inline bool cv_bits_has(const uint32_t *bits, cv_node node)
{
    return bits[node / 32] >> node % 32 & 1;
}

static inline void cv_bits_add(uint32_t *bits, cv_node node)
{
    bits[node / 32] |= 1u << node % 32;
}

/* Takes the lowest node out of a set of that many words, from word *word on; CV_NOBODY if the set has none there. */
static inline cv_node cv_bits_take(uint32_t *bits, uint32_t words, uint32_t *word)
{
    for (; *word < words; ++*word)
        if (bits[*word]) {
            const uint32_t bit = (uint32_t)__builtin_ctz(bits[*word]);
            bits[*word] &= bits[*word] - 1;
            return *word * 32 + bit;
        }
    return CV_NOBODY;
}

/* ---- what a handler may do -------------------------------------------------------------------------- */

static inline const void *cv_body(const struct cv_message *message)
{
    return message->body;
}

static inline void cv_send_bytes(struct cv_self *me, cv_node to, uint32_t kind, const void *body, size_t bytes)
{
    me->clock++;
    memcpy(cv_post(me, to, kind, bytes)->body, body, bytes);
}

/* Sends a body, given by the address of its structure: cv_send(me, to, KIND, &(struct body){1, 2}). */
#define cv_send(me, to, kind, ...) cv_send_bytes((me), (to), (kind), (__VA_ARGS__), sizeof *(__VA_ARGS__))

/* Sends a message that is nothing but its kind. */
static inline void cv_signal(struct cv_self *me, cv_node to, uint32_t kind)
{
    me->clock++;
    cv_post(me, to, kind, 0);
}

/* Sends the same to so many nodes from `first` on, an event for each: only if `me->rows`. */
static inline void cv_send_row(struct cv_self *me, cv_node first, uint32_t count, uint32_t kind, const void *body,
                               size_t bytes)
{
    if (!count)
        return;
    me->clock++;
    cv_post_row(me, first, count, 1, kind, body, bytes);
    me->clock += count - 1;
}

/* Sends a body to so many of the other members, in ring order from the next one on: an event for each. */
static inline void cv_send_around_bytes(struct cv_self *me, uint32_t count, uint32_t kind, const void *body,
                                        size_t bytes)
{
    const cv_node *members = me->group->members;
    const uint32_t others = cv_degree(me);
    uint32_t next = members ? 0 : me->node;
    assert(count <= others);
    if (me->rows && !members && bytes <= CV_ROW_BODY) {
        const uint32_t onward = count < others - next ? count : others - next;
        cv_send_row(me, me->node + 1, onward, kind, body, bytes);
        cv_send_row(me, 0, count - onward, kind, body, bytes);
        return;
    }
    while (members && next < others && members[next] < me->node)
        next++;
    for (uint32_t i = 0; i < count; i++)
        cv_send_bytes(me, cv_neighbour(me, (next + i) % others), kind, body, bytes);
}

#define cv_send_around(me, count, kind, ...)                                                                           \
    cv_send_around_bytes((me), (count), (kind), (__VA_ARGS__), sizeof *(__VA_ARGS__))

/* Takes the lowest nodes without a gap out of a set: *first, and so many in all; 0: the set has none there. */
static inline uint32_t cv_bits_take_run(uint32_t *bits, uint32_t words, uint32_t *word, cv_node *first)
{
    uint32_t count = 0;
    for (; *word < words; ++*word) {
        const uint32_t here = bits[*word], from = here ? (uint32_t)__builtin_ctz(here) : 0;
        if (count && (!here || from))
            break;
        if (!here)
            continue;
        if (!count)
            *first = *word * 32 + from;
        const uint32_t beyond = ~(here >> from), run = beyond ? (uint32_t)__builtin_ctz(beyond) : 32;
        bits[*word] = run == 32 ? 0 : here & ~(((1u << run) - 1) << from);
        count += run;
        if (from + run < 32)
            break;
    }
    return count;
}

/* Sends a signal to every node of a set of that many words, and empties it. */
static inline void cv_signal_each(struct cv_self *me, uint32_t *bits, uint32_t words, uint32_t kind)
{
    uint32_t word = 0;
    cv_node first = 0;
    for (uint32_t count; (count = cv_bits_take_run(bits, words, &word, &first));) {
        if (me->rows && count > 2)
            cv_send_row(me, first, count, kind, NULL, 0);
        else
            for (uint32_t i = 0; i < count; i++)
                cv_signal(me, first + i, kind);
    }
}

/* Sends one message to every neighbour: one event, so one tick of the Lamport clock. */
static inline void cv_multicast_bytes(struct cv_self *me, uint32_t kind, const void *body, size_t bytes)
{
    me->clock++;
    if (me->rows && bytes <= CV_ROW_BODY && !me->group->members) {
        cv_post_row(me, 0, me->node, 0, kind, body, bytes);
        cv_post_row(me, me->node + 1, me->group->nodes - me->node - 1, 0, kind, body, bytes);
        return;
    }
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
 * A list of ids after a body: `cv_send_list` sends the body and the list, and appends the id `last` if it is given;
 * `cv_list` finds the ids of a received message after a body of `head` bytes.
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

/*
 * Numbers after a body, one for each node, and perhaps a list of ids after them: `cv_send_numbers` sends all three,
 * `cv_numbers` finds the numbers of a received message after a body of `head` bytes, `cv_list_after_numbers` the list.
 */
static inline void cv_send_numbers(struct cv_self *me, cv_node to, uint32_t kind, const void *body, size_t head,
                                   const uint32_t *numbers, struct cv_list list)
{
    const size_t row = cv_nodes(me) * sizeof *numbers, ids = list.count * sizeof *list.ids;
    me->clock++;
    unsigned char *out = (unsigned char *)cv_post(me, to, kind, head + row + ids)->body;
    if (head)
        memcpy(out, body, head);
    memcpy(out + head, numbers, row);
    if (ids)
        memcpy(out + head + row, list.ids, ids);
}

static inline const uint32_t *cv_numbers(const struct cv_message *message, size_t head)
{
    return (const uint32_t *)(const void *)((const unsigned char *)cv_body(message) + head);
}

static inline struct cv_list cv_list_after_numbers(const struct cv_self *me, const struct cv_message *message,
                                                   size_t head)
{
    return cv_list(message, head + cv_nodes(me) * sizeof(uint32_t));
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

/* One of 0..ways-1. The simulator draws it; the checker tries all. */
static inline uint32_t cv_choose(struct cv_self *me, uint32_t ways)
{
    return me->runtime->choose(me, ways);
}

/* This node begins an election of its own. It ends with cv_elected() or cv_yield(). */
static inline void cv_call(struct cv_self *me)
{
    me->effects |= me->calling ? CV_DID_CALL | CV_DID_RECALL : CV_DID_CALL;
    me->calling = 1;
}

/* Does this node hold an election of its own? */
static inline bool cv_calling(const struct cv_self *me)
{
    return me->calling;
}

/* This node's own election ends without a result: a better node takes over. */
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

/* This node knows no leader any more: the last one is gone, or in doubt. */
static inline void cv_no_leader(struct cv_self *me)
{
    me->knows = 0;
    me->effects = (me->effects & ~(uint32_t)CV_DID_ELECT) | CV_DID_FORGET;
}

/* This node enters the critical section. The fence is higher than that of every entry before. */
static inline void cv_enter(struct cv_self *me, uint64_t fence)
{
    me->fence = fence;
    me->effects |= CV_DID_ENTER;
}

/* This node has a new result, better than its last one: a distance, say, that it learnt from the neighbour `via`. */
static inline void cv_result(struct cv_self *me, uint64_t result, cv_node via)
{
    me->result = result;
    me->via = via;
    me->effects |= CV_DID_RESULT;
}

/* Writes a remark to the trace. The string must live for ever. */
static inline void cv_note(struct cv_self *me, const char *text)
{
    me->note = text;
    me->effects |= CV_DID_NOTE;
}

/* ---- the algorithm's table -------------------------------------------------------------------------- */

enum cv_problem { CV_ELECTION, CV_MUTEX, CV_SYNCHRONIZER, CV_SYNCHRONOUS, CV_PATHS };

/* What the algorithm takes for granted. */
enum cv_assumption {
    CV_RELIABLE = 1u << 0,      /* every message arrives, once */
    CV_FIFO = 1u << 1,          /* messages between two nodes arrive in the order they were sent */
    CV_NO_CRASH = 1u << 2,      /* no node dies during a run */
    CV_BOUNDED_DELAY = 1u << 3, /* no message takes longer than D; timeouts rely on it */
    CV_KNOWN_GROUP = 1u << 4,   /* every node knows the id and address of every other */
    CV_DETECTOR = 1u << 5,      /* the failure detector tells every node of every crash, and of nothing else */
    CV_CONNECTED = 1u << 6,     /* the graph is in one piece */
    CV_NO_RECOVERY = 1u << 7,   /* a node that dies does not come back during a run */
    CV_FIFO_RECOVERY = 1u << 8 /* if a node comes back, messages between two nodes arrive in the order they were sent */
};

/* What the algorithm promises when its assumptions hold. The runtimes judge each run by it. */
enum cv_claim {
    CV_AGREEMENT = 1u << 0,       /* no two live nodes know different leaders */
    CV_BEST_WINS = 1u << 1,       /* the leader is the best live node */
    CV_EVERYONE_LEARNS = 1u << 2, /* every live node gets to know a leader */
    CV_ANY_CALLER = 1u << 3,      /* the result does not depend on the caller */
    CV_ONE_CALL = 1u << 4,        /* a node never holds two elections of its own */
    CV_PER_COMPONENT = 1u << 5,   /* the claims hold in every connected component of the network by itself */

    CV_EXCLUSION = 1u << 6,        /* no two nodes are inside at once */
    CV_FENCES_RISE = 1u << 7,      /* each entry's fence is higher than all before */
    CV_NO_DEADLOCK = 1u << 8,      /* the nodes that want to enter never all wait for ever */
    CV_EVERY_REQUEST = 1u << 9,    /* every request of a live node is served */
    CV_BOUNDED_WAITING = 1u << 10, /* a node that waits is overtaken a bounded number of times: see property/mutex.c */
    CV_REQUEST_ORDER = 1u << 11,   /* nodes enter in the order in which their requests happened */

    CV_WHOLE_ROUNDS = 1u << 12,     /* a round begins when all messages of the one before have arrived */
    CV_CLOSE_ROUNDS = 1u << 13,     /* the rounds of neighbours differ by one at most */
    CV_LIKE_SYNCHRONOUS = 1u << 14, /* the final states are those of the synchronous run */
    CV_SHORTEST_PATHS = 1u << 15,   /* the results are the distances from the source */
    CV_FEWEST_HOPS = 1u << 16       /* the results are the numbers of edges from the source */
};

#define CV_SYNCHRONIZER_CLAIMS (CV_WHOLE_ROUNDS | CV_CLOSE_ROUNDS | CV_LIKE_SYNCHRONOUS)
#define CV_MUTEX_CLAIMS (CV_EXCLUSION | CV_FENCES_RISE | CV_NO_DEADLOCK | CV_EVERY_REQUEST)
#define CV_ELECTION_CLAIMS (CV_AGREEMENT | CV_BEST_WINS | CV_EVERYONE_LEARNS | CV_ANY_CALLER | CV_ONE_CALL)

enum cv_parameter_type {
    CV_NUMBER, /* a number of at least 0 */
    CV_CHOICE, /* one of the words of `choices`; the value is the word's index */
    CV_MEMBER  /* a member's id; the value is its node; by default -1, and the algorithm picks one */
};

struct cv_parameter {
    const char *name;
    const char *meaning;
    const char *choices; /* CV_CHOICE: "lower|all", the first is the default */
    int64_t fallback;    /* CV_NUMBER: the default */
    uint32_t type;       /* enum cv_parameter_type */
    uint32_t drops;      /* claims (enum cv_claim) that do not hold if the value is not the default */
};

/*
 * The table. Handlers that are NULL do nothing. Kinds, timers, parameters and costs end with an entry that begins with
 * NULL.
 */
struct cv_algorithm {
    uint32_t abi;         /* CV_ABI */
    uint32_t problem;     /* enum cv_problem */
    const char *name;     /* "chang-roberts" */
    const char *title;    /* a few words */
    const char *citation; /* the paper or book */
    uint32_t topology;    /* enum cv_topology */
    uint32_t assumes;     /* enum cv_assumption, or'ed */
    uint32_t claims;      /* enum cv_claim, or'ed */
    uint32_t quorums;     /* the algorithm needs voting sets */
    uint32_t clusters;    /* the algorithm needs clusters */
    uint32_t unused;
    const struct cv_kind *kinds;
    const char *const *timers;             /* names of the timers, for the trace */
    const struct cv_parameter *parameters; /* settings of the user */
    const struct cv_cost *costs;           /* formulas; every run is compared with them */

    /*
     * The size of a node's state in bytes, or a function of the group that returns it. The state is zeroed before
     * `init`. A synchronizer gives both: the size of its own part, and by conclave/synchronizer.h that of the whole.
     */
    size_t state_bytes;
    size_t (*state_size)(const struct cv_group *group, cv_node node);
    const struct cv_field *state_fields; /* every byte of it, up to one without a name; of a synchronizer its own */

    void (*init)(struct cv_self *me);                                  /* fills in what is not zero; may not send */
    void (*start)(struct cv_self *me);                                 /* this node calls the election */
    void (*recover)(struct cv_self *me);                               /* it is back from a crash, its state is fresh */
    void (*timeout)(struct cv_self *me, uint32_t timer);               /* a timer fired */
    void (*suspect)(struct cv_self *me, cv_node node);                 /* the failure detector: that node is gone */
    void (*trust)(struct cv_self *me, cv_node node);                   /* the failure detector: that node is back */
    void (*request)(struct cv_self *me);                               /* mutex: this node wants to enter */
    void (*release)(struct cv_self *me);                               /* mutex: this node leaves */
    void (*adopt)(struct cv_self *me, cv_node holder, uint64_t fence); /* a view begins; `holder` is inside */
    void (*pulse)(struct cv_self *me, uint64_t round);                 /* synchronous: a round begins, from 1 on */
    void (*finish)(struct cv_self *me);                                /* synchronous: the last round is over */

    /*
     * Can that sender have sent that message to this node, in this state, if all nodes keep to the algorithm and its
     * assumptions hold? Length and fields have been checked before. If not, a real node refuses the message and cuts
     * its sender off; in the simulator and in the checker it is a counterexample. NULL: every message is possible.
     */
    bool (*valid)(const struct cv_self *me, const struct cv_message *message);

    /* NULL, or a sentence that says what is wrong with this node's state. Runs after every step in tests. */
    const char *(*invariant)(const struct cv_self *me);

    struct cv_hints hints;
};

#endif
