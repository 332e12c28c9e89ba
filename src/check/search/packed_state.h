// SPDX-License-Identifier: MIT
/*
 * A state on its way to another rank. Most channels are empty, so only those that are not have a number:
 *
 *     head         1  PARCEL_STATE, what follows, the slots of the state, and the words of all this
 *     parent       2
 *     key          2  the first half
 *     question     1  if the owner is asked
 *     second half  2  of the key, if the state follows
 *     fingerprint  4  if the state follows and its key is another
 *     numbers         if the state follows: the nodes, the budgets, a bit for each channel in use, their contents
 *
 * If the owner has got the same state before, the state does not follow.
 */
#ifndef CONCLAVE_CHECK_SEARCH_PACKED_STATE_H
#define CONCLAVE_CHECK_SEARCH_PACKED_STATE_H

#include "check/search/dictionary.h"

#define NO_QUESTION UINT32_MAX

struct packed_state {
    struct fingerprint key, fingerprint;
    uint64_t parent;
    uint32_t question;       /* or NO_QUESTION */
    uint32_t slots;          /* 0: the state does not follow */
    const uint32_t *numbers; /* where they follow */
};

/* Adds it to what goes to that rank, after the meaning of its numbers. `state`: its slots. */
void packed_state_write(const struct packed_state *packed, const uint32_t *state, struct dictionary *dictionary,
                        uint32_t rank, struct word_row *parcel);

/* How many words it has, by the first. */
static inline uint32_t packed_state_words(uint32_t head)
{
    return head >> 20;
}

/* Its key, as far as the table looks for it. */
static inline struct fingerprint packed_state_home(const uint32_t *words)
{
    struct fingerprint key = {.half = {0}};
    memcpy(&key, words + 3, sizeof key.half[0]);
    return key;
}

void packed_state_read(const uint32_t *words, struct packed_state *packed);

/* The state in the numbers of this rank. */
void packed_state_understand(const struct packed_state *packed, const struct dictionary *dictionary, uint32_t rank,
                             uint32_t *state);

#endif
