// SPDX-License-Identifier: MIT
/*
 * A search that several ranks share. Every state belongs to a rank (state_owner.h): that rank has it in its table and
 * expands it. A rank that finds a state of another one sends it there. All ranks expand the same level at the same
 * time, and meet at its end.
 *
 * The reduction may leave out events only if one of those it takes leads to a state that is not expanded yet. Whether
 * that is so the owner of the state knows. Where no state of its own decides it, a rank asks, and goes on with other
 * states until all answers have come.
 */
#ifndef CONCLAVE_CHECK_SEARCH_STATE_EXCHANGE_H
#define CONCLAVE_CHECK_SEARCH_STATE_EXCHANGE_H

#include "check/search/packed_state.h"
#include "check/search/state_owner.h"
#include "check/state/table.h"
#include "ranks/ranks.h"

struct worker;
struct successor;

/* How far the reduction of a state has come: which events were tried. */
struct attempt {
    enum { ATTEMPT_MESSAGES, ATTEMPT_NODES, ATTEMPT_ALL } phase;
    uint32_t slot;  /* the channel tried last */
    uint32_t tried; /* a bit for each node tried */
};

/* A state that waits for an answer. */
struct undecided {
    struct fingerprint fingerprint;
    struct attempt attempt;
    bool open;      /* the answer: one of the successors is not expanded yet */
    uint32_t slots; /* of the state */
    size_t at;      /* of the state in `words` */
};

struct undecided_list {
    struct undecided *states;
    size_t count, room;
    struct word_row words;
};

#define MOST_SENT_STATES ((size_t)1 << 15)

/* A state of another rank that was sent in this level. */
struct sent_state {
    uint64_t key;
    uint64_t info; /* its parent and level, as in struct slot */
};

struct exchange {
    struct cv_ranks *ranks;
    uint32_t own; /* this rank */
    struct ownership ownership;
    struct dictionary dictionary;
    struct word_row *parcels; /* by rank: what goes there */
    struct word_row *answers; /* by rank: the questions that are answered by yes */
    struct sent_state *sent;
    struct undecided_list now;  /* states whose answers have come */
    struct undecided_list next; /* states that wait for theirs */
    uint32_t unseen;            /* states expanded since this rank has looked what has come */
    uint32_t ended;             /* ranks that have sent all they had to send */
    uint32_t answered;          /* ranks that have answered all that was asked */
};

/* NULL if there is one rank, or no memory: then `error` is CV_ENOMEM. `symmetric`: as ownership_init() takes it. */
struct exchange *exchange_new(struct model *model, struct cv_ranks *ranks, bool symmetric, int *error);
void exchange_free(struct exchange *exchange);

/* The cache fetches what sending a state with that key needs. */
static inline void exchange_expect(const struct exchange *exchange, struct fingerprint key)
{
    __builtin_prefetch(&exchange->sent[key.half[0] % MOST_SENT_STATES], 1);
}

/* Sends a successor of the state to its owner. `question`: the owner tells whether it is not expanded yet. */
void exchange_send(struct worker *worker, uint32_t owner, const uint32_t *base, const struct successor *successor,
                   uint64_t parent, uint32_t question);

/* Keeps a state until its answer has come. The number of its question is the number of states before it. */
void exchange_keep(struct exchange *exchange, const uint32_t *state, struct fingerprint fingerprint,
                   const struct attempt *attempt);

/* Takes what has come from other ranks. */
void exchange_receive(struct worker *worker);
/* The same now and then, for a rank that has expanded so many states more: to look takes as long as some of them. */
void exchange_look(struct worker *worker, uint32_t states);

/* Calls all ranks together before the end of the level, to write a checkpoint: `wants_save` is set there. */
void exchange_call(struct exchange *exchange);

/* Waits until everything that any rank has sent is there, with all answers. Every rank must call it. */
void exchange_finish(struct worker *worker);

/* Makes the states that waited ready. Returns how many there are in all ranks. Every rank must call it. */
uint64_t exchange_turn(struct exchange *exchange);

/* Tells all ranks what this one has observed and they have not. Every rank must call it. */
void exchange_observations(struct worker *worker);

#endif
