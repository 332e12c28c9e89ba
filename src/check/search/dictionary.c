// SPDX-License-Identifier: MIT
#include "check/search/dictionary.h"

#include <stdlib.h>

#include "check/search/parcel_kind.h"

int dictionary_init(struct dictionary *dictionary, struct model *model, uint32_t ranks)
{
    *dictionary = (struct dictionary){.model = model, .ranks = ranks};
    dictionary->others = calloc(ranks, sizeof *dictionary->others);
    return dictionary->others ? 0 : CV_ENOMEM;
}

void dictionary_free(struct dictionary *dictionary)
{
    for (uint32_t rank = 0; dictionary->others && rank < dictionary->ranks; rank++)
        for (uint32_t kind = 0; kind < WORD_KINDS; kind++) {
            free(dictionary->others[rank].words[kind].told);
            free(dictionary->others[rank].words[kind].meaning);
        }
    free(dictionary->others);
    *dictionary = (struct dictionary){0};
}

uint32_t *parcel_extend(struct word_row *parcel, struct model *model, size_t words)
{
    if (parcel->count + words > parcel->room) {
        const size_t room = 2 * (parcel->count + words) + 1024;
        uint32_t *larger = realloc(parcel->words, room * sizeof *larger);
        if (!larger) {
            model->out_of_memory = true;
            return NULL;
        }
        parcel->words = larger;
        parcel->room = room;
    }
    parcel->count += words;
    return parcel->words + parcel->count - words;
}

/* ---- explaining ---- */

/* Notes that the rank is told; false if it was before. */
static bool note_told(struct dictionary *dictionary, uint32_t rank, enum word_kind kind, uint32_t number)
{
    uint8_t **told = &dictionary->others[rank].words[kind].told;
    uint32_t *room = &dictionary->others[rank].words[kind].told_room;
    if (number >= *room) {
        const uint32_t wanted = 2 * number + 1024;
        uint8_t *larger = realloc(*told, wanted);
        if (!larger) {
            dictionary->model->out_of_memory = true;
            return false;
        }
        memset(larger + *room, 0, wanted - *room);
        *told = larger;
        *room = wanted;
    }
    const bool fresh = !(*told)[number];
    (*told)[number] = 1;
    return fresh;
}

static void write_word(struct dictionary *dictionary, struct word_row *parcel, enum word_kind kind, uint32_t number,
                       const void *bytes, uint32_t length)
{
    const uint32_t words = (length + 3) / 4;
    uint32_t *to = parcel_extend(parcel, dictionary->model, 4 + words);
    if (!to)
        return;
    to[0] = PARCEL_WORD;
    to[1] = (uint32_t)kind;
    to[2] = number;
    to[3] = length;
    memset(to + 4, 0, words * sizeof *to);
    memcpy(to + 4, bytes, length);
}

/* The contents of a channel are explained by its first message and the contents after it, which come before. */
static void explain_contents(struct dictionary *dictionary, uint32_t rank, struct word_row *parcel, uint32_t number)
{
    const struct contents *list = model_contents(dictionary->model, number);
    const uint32_t pair[2] = {list->first, list->rest};
    dictionary_explain(dictionary, rank, parcel, WORD_MESSAGE, list->first);
    if (list->rest)
        dictionary_explain(dictionary, rank, parcel, WORD_CONTENTS, list->rest);
    write_word(dictionary, parcel, WORD_CONTENTS, number, pair, sizeof pair);
}

void dictionary_tell(struct dictionary *dictionary, uint32_t rank, struct word_row *parcel, enum word_kind kind,
                     uint32_t number)
{
    const struct model *model = dictionary->model;
    if (!note_told(dictionary, rank, kind, number))
        return;
    if (kind == WORD_CONTENTS) {
        explain_contents(dictionary, rank, parcel, number);
    } else if (kind == WORD_CHANNEL) {
        const uint32_t pair[2] = {model->from[number], model->to[number]};
        write_word(dictionary, parcel, kind, number, pair, sizeof pair);
    } else {
        const struct intern *interns[] = {[WORD_NODE_STATE] = &model->node_states,
                                          [WORD_MESSAGE] = &model->messages,
                                          [WORD_BUDGETS] = &model->budget_sets};
        const struct intern_record *record = intern_record(interns[kind], number);
        write_word(dictionary, parcel, kind, number, record->bytes, record->length);
    }
}

/* ---- learning ---- */

static void note_meaning(struct dictionary *dictionary, uint32_t rank, enum word_kind kind, uint32_t number,
                         uint32_t own)
{
    uint32_t **meaning = &dictionary->others[rank].words[kind].meaning;
    uint32_t *room = &dictionary->others[rank].words[kind].meaning_room;
    if (number >= *room) {
        const uint32_t wanted = 2 * number + 1024;
        uint32_t *larger = realloc(*meaning, wanted * sizeof *larger);
        if (!larger) {
            dictionary->model->out_of_memory = true;
            return;
        }
        memset(larger + *room, 0, (wanted - *room) * sizeof *larger);
        *meaning = larger;
        *room = wanted;
    }
    (*meaning)[number] = own;
}

/* The own number of what the words stand for. */
static uint32_t own_number(struct dictionary *dictionary, uint32_t rank, enum word_kind kind, const uint32_t *words,
                           uint32_t length)
{
    struct model *model = dictionary->model;
    uint64_t *aligned = malloc(length + sizeof *aligned); /* what follows a header of four bytes is not */
    uint32_t number = 0;
    if (!aligned) {
        model->out_of_memory = true;
        return 0;
    }
    memcpy(aligned, words, length);
    switch (kind) {
    case WORD_NODE_STATE:
        number = model_add_node_state(model, (const struct node_state *)(const void *)aligned);
        break;
    case WORD_MESSAGE:
        number = model_keep_message(model, (const struct cv_message *)(const void *)aligned, length);
        break;
    case WORD_BUDGETS:
        number = model_add_budgets(model, (const struct budgets *)(const void *)aligned);
        break;
    case WORD_CONTENTS:
        number = model_put_back(model, dictionary_own(dictionary, rank, WORD_MESSAGE, words[0]),
                                words[1] ? dictionary_own(dictionary, rank, WORD_CONTENTS, words[1]) : 0);
        break;
    case WORD_CHANNEL:
        number = model_channel(model, words[0], words[1]);
        break;
    case WORD_KINDS:
        break;
    }
    free(aligned);
    return number;
}

size_t dictionary_learn(struct dictionary *dictionary, uint32_t rank, const uint32_t *words)
{
    const enum word_kind kind = (enum word_kind)words[0];
    const uint32_t own = own_number(dictionary, rank, kind, words + 3, words[2]);
    note_meaning(dictionary, rank, kind, words[1], own);
    return 3 + (words[2] + 3) / 4;
}
