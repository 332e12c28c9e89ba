// SPDX-License-Identifier: MIT
/*
 * What numbers of other ranks mean. Every rank numbers node states, messages, contents and budgets by itself. What it
 * sends to another rank has its own numbers, and before the first use of a number come the bytes that it stands for. So
 * a state travels as a few numbers, and is understood by looking them up.
 */
#ifndef CONCLAVE_CHECK_SEARCH_DICTIONARY_H
#define CONCLAVE_CHECK_SEARCH_DICTIONARY_H

#include "check/state/model.h"

enum word_kind { WORD_NODE_STATE, WORD_MESSAGE, WORD_CONTENTS, WORD_BUDGETS, WORD_CHANNEL, WORD_KINDS };

/* Numbers on their way to a rank, or from it. */
struct word_row {
    uint32_t *words;
    size_t count, room;
};

/* What one other rank knows of this one's numbers, and this one of that one's. */
struct acquaintance {
    struct {
        uint8_t *told; /* by own number: the other rank has been told */
        uint32_t told_room;
        uint32_t *meaning; /* by the other's number: the own one */
        uint32_t meaning_room;
    } words[WORD_KINDS];
};

struct dictionary {
    struct model *model;
    struct acquaintance *others; /* by rank */
    uint32_t ranks;
};

/* 0 or CV_ENOMEM; free it in both cases. */
int dictionary_init(struct dictionary *dictionary, struct model *model, uint32_t ranks);
void dictionary_free(struct dictionary *dictionary);

/* Room for so many words at the end of a parcel; NULL, and the model is out of memory. */
uint32_t *parcel_extend(struct word_row *parcel, struct model *model, size_t words);

/* Adds to a parcel what the number means. */
void dictionary_tell(struct dictionary *dictionary, uint32_t rank, struct word_row *parcel, enum word_kind kind,
                     uint32_t number);

/* The same, unless that rank knows it. */
static inline void dictionary_explain(struct dictionary *dictionary, uint32_t rank, struct word_row *parcel,
                                      enum word_kind kind, uint32_t number)
{
    const struct acquaintance *other = &dictionary->others[rank];
    if (__builtin_expect(number >= other->words[kind].told_room || !other->words[kind].told[number], 0))
        dictionary_tell(dictionary, rank, parcel, kind, number);
}

/* Reads what dictionary_tell() has written, without its first word. Returns how many words that were. */
size_t dictionary_learn(struct dictionary *dictionary, uint32_t rank, const uint32_t *words);

/* The own number for one of that rank. */
static inline uint32_t dictionary_own(const struct dictionary *dictionary, uint32_t rank, enum word_kind kind,
                                      uint32_t number)
{
    return dictionary->others[rank].words[kind].meaning[number];
}

#endif
