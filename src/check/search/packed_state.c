// SPDX-License-Identifier: MIT
#include "check/search/packed_state.h"

#include "check/search/parcel_kind.h"

enum follows { FOLLOWS_STATE = 16, FOLLOWS_QUESTION = 32, FOLLOWS_FINGERPRINT = 64 };

#define MOST_MASKS ((MOST_CHANNELS + 31) / 32)
#define MOST_WORDS (12u + MOST_SLOTS + MOST_MASKS)
static_assert(MOST_SLOTS < 1u << 12 && MOST_WORDS < 1u << 12, "they must fit into the head");

/* Words for a bit for each channel. */
static uint32_t mask_words(uint32_t slots, uint32_t first)
{
    return (slots - first + 31) / 32;
}

/* Returns where the next word goes. */
static uint32_t *put(uint32_t *to, const void *bytes, size_t size)
{
    memcpy(to, bytes, size);
    return to + size / sizeof *to;
}

static uint32_t *put_numbers(uint32_t *to, const uint32_t *state, uint32_t slots, struct dictionary *dictionary,
                             uint32_t rank, struct word_row *parcel)
{
    const uint32_t nodes = dictionary->model->setting.nodes, first = nodes + 1;
    for (uint32_t slot = 0; slot < nodes; slot++)
        dictionary_explain(dictionary, rank, parcel, WORD_NODE_STATE, state[slot]);
    dictionary_explain(dictionary, rank, parcel, WORD_BUDGETS, state[nodes]);
    to = put(to, state, first * sizeof *to);
    uint32_t *masks = to;
    to += mask_words(slots, first);
    memset(masks, 0, (size_t)(to - masks) * sizeof *to);
    for (uint32_t slot = first; slot < slots; slot++) {
        if (!state[slot])
            continue;
        dictionary_explain(dictionary, rank, parcel, WORD_CHANNEL, slot);
        dictionary_explain(dictionary, rank, parcel, WORD_CONTENTS, state[slot]);
        masks[(slot - first) / 32] |= 1u << (slot - first) % 32;
        *to++ = state[slot];
    }
    return to;
}

void packed_state_write(const struct packed_state *packed, const uint32_t *state, struct dictionary *dictionary,
                        uint32_t rank, struct word_row *parcel)
{
    uint32_t words[MOST_WORDS], *to = words + 1, follows = 0;
    to = put(to, &packed->parent, sizeof packed->parent);
    to = put(to, &packed->key.half[0], sizeof packed->key.half[0]);
    if (packed->question != NO_QUESTION) {
        follows |= FOLLOWS_QUESTION;
        *to++ = packed->question;
    }
    if (packed->slots) {
        follows |= FOLLOWS_STATE;
        to = put(to, &packed->key.half[1], sizeof packed->key.half[1]);
        if (packed->key.half[0] != packed->fingerprint.half[0] || packed->key.half[1] != packed->fingerprint.half[1]) {
            follows |= FOLLOWS_FINGERPRINT;
            to = put(to, &packed->fingerprint, sizeof packed->fingerprint);
        }
        to = put_numbers(to, state, packed->slots, dictionary, rank, parcel);
    }
    const uint32_t count = (uint32_t)(to - words);
    words[0] = PARCEL_STATE | follows | packed->slots << 8 | count << 20;
    uint32_t *place = parcel_extend(parcel, dictionary->model, count);
    if (place)
        memcpy(place, words, count * sizeof *words);
}

/* Returns where the next word is. */
static const uint32_t *get(const uint32_t *from, void *bytes, size_t size)
{
    memcpy(bytes, from, size);
    return from + size / sizeof *from;
}

void packed_state_read(const uint32_t *words, struct packed_state *packed)
{
    const uint32_t follows = words[0];
    const uint32_t *from = words + 1;
    *packed = (struct packed_state){.question = NO_QUESTION, .slots = words[0] >> 8 & 0xfff};
    from = get(from, &packed->parent, sizeof packed->parent);
    from = get(from, &packed->key.half[0], sizeof packed->key.half[0]);
    if (follows & FOLLOWS_QUESTION)
        packed->question = *from++;
    if (!(follows & FOLLOWS_STATE))
        return;
    from = get(from, &packed->key.half[1], sizeof packed->key.half[1]);
    packed->fingerprint = packed->key;
    if (follows & FOLLOWS_FINGERPRINT)
        from = get(from, &packed->fingerprint, sizeof packed->fingerprint);
    packed->numbers = from;
}

void packed_state_understand(const struct packed_state *packed, const struct dictionary *dictionary, uint32_t rank,
                             uint32_t *state)
{
    const struct model *model = dictionary->model;
    const uint32_t nodes = model->setting.nodes, first = nodes + 1;
    const uint32_t masks = mask_words(packed->slots, first);
    const uint32_t *numbers = packed->numbers, *contents = numbers + first + masks;
    for (uint32_t slot = 0; slot < nodes; slot++)
        state[slot] = dictionary_own(dictionary, rank, WORD_NODE_STATE, numbers[slot]);
    state[nodes] = dictionary_own(dictionary, rank, WORD_BUDGETS, numbers[nodes]);
    memset(state + first, 0, (model->slots - first) * sizeof *state);
    for (uint32_t i = 0; i < masks; i++)
        for (uint32_t rest = numbers[first + i]; rest; rest &= rest - 1) {
            const uint32_t slot = first + 32 * i + (uint32_t)__builtin_ctz(rest);
            state[dictionary_own(dictionary, rank, WORD_CHANNEL, slot)] =
                dictionary_own(dictionary, rank, WORD_CONTENTS, *contents++);
        }
}
