// SPDX-License-Identifier: MIT
#include "check/search/state_exchange.h"

#include <stdlib.h>

#include "check/expand/successors.h"
#include "check/search/parcel_kind.h"
#include "check/search/visit.h"

/* A parcel is sent when it has so many words. */
#define FULL_PARCEL ((size_t)1 << 14)
/* Blocks on their way out, for each rank; with more, a rank takes what has come before it goes on. */
#define MOST_UNSENT 16u
#define MOST_SENT_STATES ((size_t)1 << 14)
#define AT_ONCE 32u

enum block_tag { TAG_PARCEL = 1, TAG_ANSWERS, TAG_END, TAG_ANSWERED };

struct exchange *exchange_new(struct model *model, struct cv_ranks *ranks, int *error)
{
    *error = 0;
    if (!ranks || cv_ranks_count(ranks) < 2)
        return NULL;
    struct exchange *exchange = calloc(1, sizeof *exchange);
    *error = CV_ENOMEM;
    if (!exchange)
        return NULL;
    exchange->ranks = ranks;
    exchange->parcels = calloc(cv_ranks_count(ranks), sizeof *exchange->parcels);
    exchange->answers = calloc(cv_ranks_count(ranks), sizeof *exchange->answers);
    exchange->sent = calloc(MOST_SENT_STATES, sizeof *exchange->sent);
    if (!dictionary_init(&exchange->dictionary, model, cv_ranks_count(ranks)) && exchange->parcels &&
        exchange->answers && exchange->sent)
        *error = 0;
    return exchange;
}

void exchange_free(struct exchange *exchange)
{
    if (!exchange)
        return;
    for (uint32_t rank = 0; rank < cv_ranks_count(exchange->ranks); rank++) {
        if (exchange->parcels)
            free(exchange->parcels[rank].words);
        if (exchange->answers)
            free(exchange->answers[rank].words);
    }
    free(exchange->parcels);
    free(exchange->answers);
    free(exchange->sent);
    free(exchange->now.states);
    free(exchange->now.words.words);
    free(exchange->next.states);
    free(exchange->next.words.words);
    dictionary_free(&exchange->dictionary);
    free(exchange);
}

/* ---- sending ---- */

static void send_block(struct exchange *exchange, uint32_t rank, uint32_t tag, struct word_row *parcel)
{
    const size_t bytes = parcel ? parcel->count * sizeof *parcel->words : 0;
    struct cv_block *block = cv_block_new(exchange->ranks, bytes);
    if (block) {
        if (bytes)
            memcpy(block->bytes, parcel->words, bytes);
        block->size = bytes;
    }
    if (!block || cv_ranks_send(exchange->ranks, rank, tag, block))
        cv_ranks_abort(exchange->ranks, 2); /* the others would wait for ever */
    if (parcel)
        parcel->count = 0;
}

static void send_full(struct worker *worker, uint32_t rank)
{
    struct exchange *exchange = worker->crew->exchange;
    if (exchange->parcels[rank].count < FULL_PARCEL)
        return;
    send_block(exchange, rank, TAG_PARCEL, &exchange->parcels[rank]);
    while (cv_ranks_unsent(exchange->ranks) > MOST_UNSENT * cv_ranks_count(exchange->ranks))
        exchange_receive(worker);
}

static enum word_kind kind_of(const struct model *model, uint32_t slot)
{
    const uint32_t nodes = model->setting.nodes;
    return slot < nodes ? WORD_NODE_STATE : slot == nodes ? WORD_BUDGETS : WORD_CONTENTS;
}

/* Explains all numbers of a state. */
static void explain_state(struct exchange *exchange, uint32_t rank, const uint32_t *state, uint32_t slots)
{
    struct dictionary *dictionary = &exchange->dictionary;
    const struct model *model = dictionary->model;
    struct word_row *parcel = &exchange->parcels[rank];
    for (uint32_t slot = 0; slot < slots; slot++) {
        if (slot > model->setting.nodes && !state[slot])
            continue;
        dictionary_explain(dictionary, rank, parcel, kind_of(model, slot), state[slot]);
        if (slot > model->setting.nodes)
            dictionary_explain(dictionary, rank, parcel, WORD_CHANNEL, slot);
    }
}

/* Was this state sent in this level, from a parent that is as good? */
static bool was_sent(struct worker *worker, const struct successor *successor, uint64_t parent)
{
    struct crew *crew = worker->crew;
    const uint64_t key = successor->key.half[0], level = crew->search->depth + 1;
    struct sent_state *sent = &crew->exchange->sent[key % MOST_SENT_STATES];
    if (crew->search->table.wide)
        return false;
    if (sent->key == key && sent->level == level && sent->parent <= (parent & TABLE_LOWER_48))
        return true;
    *sent = (struct sent_state){key, parent & TABLE_LOWER_48, level};
    return false;
}

#define STATE_HEAD 13u

void exchange_send(struct worker *worker, const uint32_t *base, const struct successor *successor, uint64_t parent,
                   uint32_t question)
{
    struct exchange *exchange = worker->crew->exchange;
    struct model *model = worker->crew->model;
    const uint32_t rank = exchange_owner(exchange, successor->key.half[0]), slots = model->slots;
    uint32_t state[MOST_SLOTS];
    if (question == NO_QUESTION && was_sent(worker, successor, parent))
        return;
    memcpy(state, base, slots * sizeof *state);
    expand_apply(&worker->expander, successor, state);
    explain_state(exchange, rank, state, slots);
    uint32_t *words = parcel_extend(&exchange->parcels[rank], model, STATE_HEAD + slots);
    if (!words)
        return;
    words[0] = PARCEL_STATE;
    words[1] = question;
    memcpy(words + 2, &successor->fingerprint, sizeof successor->fingerprint);
    memcpy(words + 6, &successor->key, sizeof successor->key);
    memcpy(words + 10, &parent, sizeof parent);
    words[12] = slots;
    memcpy(words + STATE_HEAD, state, slots * sizeof *state);
    send_full(worker, rank);
}

/* ---- states that wait for answers ---- */

void exchange_keep(struct exchange *exchange, const uint32_t *state, struct fingerprint fingerprint,
                   const struct attempt *attempt)
{
    struct undecided_list *list = &exchange->next;
    struct model *model = exchange->dictionary.model;
    const uint32_t slots = model->slots;
    if (list->count == list->room) {
        const size_t room = 2 * list->room + 64;
        struct undecided *larger = realloc(list->states, room * sizeof *larger);
        if (!larger) {
            model->out_of_memory = true;
            return;
        }
        list->states = larger;
        list->room = room;
    }
    uint32_t *words = parcel_extend(&list->words, model, slots);
    if (!words)
        return;
    memcpy(words, state, slots * sizeof *state);
    list->states[list->count++] = (struct undecided){
        .fingerprint = fingerprint, .attempt = *attempt, .slots = slots, .at = list->words.count - slots};
}

uint64_t exchange_turn(struct exchange *exchange)
{
    const struct undecided_list done = exchange->now;
    exchange->now = exchange->next;
    exchange->next = done;
    exchange->next.count = exchange->next.words.count = 0;
    uint64_t count = exchange->now.count;
    cv_ranks_reduce(exchange->ranks, CV_REDUCE_SUM, &count, 1);
    return count;
}

/* ---- receiving ---- */

/* The state in the numbers of this rank. */
static void understand(struct exchange *exchange, uint32_t rank, const uint32_t *words, uint32_t slots, uint32_t *state)
{
    const struct dictionary *dictionary = &exchange->dictionary;
    const struct model *model = dictionary->model;
    const uint32_t nodes = model->setting.nodes;
    memset(state, 0, model->slots * sizeof *state);
    for (uint32_t slot = 0; slot < slots; slot++)
        if (slot <= nodes)
            state[slot] = dictionary_own(dictionary, rank, kind_of(model, slot), words[slot]);
        else if (words[slot])
            state[dictionary_own(dictionary, rank, WORD_CHANNEL, slot)] =
                dictionary_own(dictionary, rank, WORD_CONTENTS, words[slot]);
}

/* A state of this rank has come. */
static void take_state(struct worker *worker, uint32_t rank, const uint32_t *words)
{
    struct exchange *exchange = worker->crew->exchange;
    struct fingerprint fingerprint, key;
    uint64_t parent;
    uint32_t state[MOST_SLOTS];
    memcpy(&fingerprint, words + 1, sizeof fingerprint);
    memcpy(&key, words + 5, sizeof key);
    memcpy(&parent, words + 9, sizeof parent);
    const enum table_answer answer = visit_add(worker, key, parent);
    if (answer == TABLE_NEW) {
        understand(exchange, rank, words + STATE_HEAD - 1, words[11], state);
        visit_queue(worker, state, fingerprint);
    }
    if (words[0] != NO_QUESTION && answer != TABLE_OLD) {
        uint32_t *number = parcel_extend(&exchange->answers[rank], worker->crew->model, 1);
        if (number)
            *number = words[0];
    }
}

/* States that have come. While one is looked up, the cache fetches what the others need. */
struct arrivals {
    const uint32_t *states[AT_ONCE];
    uint32_t count;
};

static void take_arrivals(struct worker *worker, uint32_t rank, struct arrivals *arrivals)
{
    for (uint32_t i = 0; i < arrivals->count; i++)
        take_state(worker, rank, arrivals->states[i]);
    arrivals->count = 0;
}

/* Returns how many words the state has after the first. */
static size_t expect_state(struct worker *worker, uint32_t rank, const uint32_t *words, struct arrivals *arrivals)
{
    struct fingerprint key;
    memcpy(&key, words + 5, sizeof key);
    table_expect(&worker->crew->search->table, key);
    arrivals->states[arrivals->count++] = words;
    if (arrivals->count == AT_ONCE)
        take_arrivals(worker, rank, arrivals);
    return STATE_HEAD - 1 + words[11];
}

static size_t take_observed(struct worker *worker, uint32_t rank, const uint32_t *words)
{
    const struct dictionary *dictionary = &worker->crew->exchange->dictionary;
    struct model *model = worker->crew->model;
    const uint8_t type = (uint8_t)(words[4] >> 24);
    const struct observed observed = {
        .after = dictionary_own(dictionary, rank, WORD_NODE_STATE, words[1]),
        .argument = type == CV_DECIDE_DELIVER ? dictionary_own(dictionary, rank, WORD_MESSAGE, words[2]) : words[2],
        .alive = words[3],
        .receivers = (uint16_t)words[4],
        .cause = (uint8_t)(words[4] >> 16),
        .type = type};
    if (observed_add(&model->observations, dictionary_own(dictionary, rank, WORD_NODE_STATE, words[0]), observed))
        model->out_of_memory = true;
    return 5;
}

static void take_parcel(struct worker *worker, const struct cv_block *block)
{
    const uint32_t *words = (const uint32_t *)(const void *)block->bytes;
    const size_t count = block->size / sizeof *words;
    struct arrivals arrivals = {.count = 0};
    for (size_t at = 0; at < count;) {
        const enum parcel_kind kind = (enum parcel_kind)words[at++];
        if (kind == PARCEL_WORD)
            at += dictionary_learn(&worker->crew->exchange->dictionary, block->peer, words + at);
        else if (kind == PARCEL_STATE)
            at += expect_state(worker, block->peer, words + at, &arrivals);
        else
            at += take_observed(worker, block->peer, words + at);
    }
    take_arrivals(worker, block->peer, &arrivals);
}

static void take_answers(struct exchange *exchange, const struct cv_block *block)
{
    const uint32_t *words = (const uint32_t *)(const void *)block->bytes;
    for (size_t i = 0; i < block->size / sizeof *words; i++)
        if (words[i] < exchange->next.count)
            exchange->next.states[words[i]].open = true;
}

static void take_block(struct worker *worker, const struct cv_block *block)
{
    struct exchange *exchange = worker->crew->exchange;
    switch ((enum block_tag)block->tag) {
    case TAG_PARCEL:
        take_parcel(worker, block);
        break;
    case TAG_ANSWERS:
        take_answers(exchange, block);
        break;
    case TAG_END:
        exchange->ended++;
        break;
    case TAG_ANSWERED:
        exchange->answered++;
        break;
    }
}

static bool receive(struct worker *worker)
{
    struct exchange *exchange = worker->crew->exchange;
    struct cv_block *block = NULL;
    if (cv_ranks_receive(exchange->ranks, &block))
        cv_ranks_abort(exchange->ranks, 2);
    if (!block)
        return false;
    take_block(worker, block);
    cv_block_free(exchange->ranks, block);
    return true;
}

void exchange_receive(struct worker *worker)
{
    while (receive(worker))
        ;
}

/* ---- meeting ---- */

/* Sends what is left, and then that it was all. Blocks from one rank come in order. */
static void send_rest(struct exchange *exchange, struct word_row *parcels, uint32_t tag, uint32_t end)
{
    for (uint32_t rank = 0; rank < cv_ranks_count(exchange->ranks); rank++) {
        if (rank == cv_ranks_own(exchange->ranks))
            continue;
        if (parcels[rank].count)
            send_block(exchange, rank, tag, &parcels[rank]);
        send_block(exchange, rank, end, NULL);
    }
}

static void wait_for(struct worker *worker, const uint32_t *count)
{
    struct exchange *exchange = worker->crew->exchange;
    while (*count < cv_ranks_count(exchange->ranks) - 1)
        if (!receive(worker))
            cv_ranks_rest(exchange->ranks);
}

void exchange_finish(struct worker *worker)
{
    struct exchange *exchange = worker->crew->exchange;
    send_rest(exchange, exchange->parcels, TAG_PARCEL, TAG_END);
    wait_for(worker, &exchange->ended);
    exchange->ended = 0;
    if (!worker->crew->gain.on) /* nobody has asked anything */
        return;
    send_rest(exchange, exchange->answers, TAG_ANSWERS, TAG_ANSWERED);
    wait_for(worker, &exchange->answered);
    exchange->answered = 0;
}

static void tell_observation(struct exchange *exchange, uint32_t rank, uint32_t node_state, const struct observed *it)
{
    struct dictionary *dictionary = &exchange->dictionary;
    struct word_row *parcel = &exchange->parcels[rank];
    dictionary_explain(dictionary, rank, parcel, WORD_NODE_STATE, node_state);
    dictionary_explain(dictionary, rank, parcel, WORD_NODE_STATE, it->after);
    if (it->type == CV_DECIDE_DELIVER)
        dictionary_explain(dictionary, rank, parcel, WORD_MESSAGE, it->argument);
    uint32_t *words = parcel_extend(parcel, dictionary->model, 6);
    if (!words)
        return;
    words[0] = PARCEL_OBSERVED;
    words[1] = node_state;
    words[2] = it->after;
    words[3] = it->argument;
    words[4] = it->alive;
    words[5] = it->receivers | (uint32_t)it->cause << 16 | (uint32_t)it->type << 24;
}

/* Those of others that come meanwhile lie before the own ones in the lists: they are not told again. */
void exchange_observations(struct worker *worker)
{
    struct exchange *exchange = worker->crew->exchange;
    struct model *model = worker->crew->model;
    const uint32_t node_states = model->node_states.count;
    for (uint32_t number = 0; number < node_states; number++) {
        const struct observed *known = observed_of(&model->observations, number);
        for (const struct observed *it = observed_newest(&model->observations, number); it != known; it = it->next)
            for (uint32_t rank = 0; rank < cv_ranks_count(exchange->ranks); rank++)
                if (rank != cv_ranks_own(exchange->ranks))
                    tell_observation(exchange, rank, number, it);
    }
    exchange_finish(worker);
}
