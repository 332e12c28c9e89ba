// SPDX-License-Identifier: MIT
#include "check/search/state_exchange.h"

#include <assert.h>
#include <stdlib.h>

#include "check/expand/successors.h"
#include "check/search/parcel_kind.h"
#include "check/search/visit.h"

/* A parcel is sent when it has so many words. */
#define FULL_PARCEL ((size_t)1 << 14)
/* Blocks on their way out, for each rank; with more, a rank takes what has come before it goes on. */
#define MOST_UNSENT 16u
#define AT_ONCE 32u
#define LOOK_EVERY 192u

enum block_tag { TAG_PARCEL = 1, TAG_ANSWERS, TAG_END, TAG_ANSWERED, TAG_CALL };

struct exchange *exchange_new(struct model *model, struct cv_ranks *ranks, bool symmetric, int *error)
{
    *error = 0;
    if (!ranks || cv_ranks_count(ranks) < 2)
        return NULL;
    struct exchange *exchange = calloc(1, sizeof *exchange);
    *error = CV_ENOMEM;
    if (!exchange)
        return NULL;
    exchange->ranks = ranks;
    exchange->own = cv_ranks_own(ranks);
    ownership_init(&exchange->ownership, model, cv_ranks_count(ranks), symmetric);
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
    ownership_free(&exchange->ownership);
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

/* What is known of a state of another rank that this one finds again. */
enum sent_before { NOT_SENT, SENT_FROM_ANOTHER, SENT_FROM_AS_GOOD };

/* Was this state sent in this level, and from a parent that is as good? */
static enum sent_before was_sent(struct worker *worker, uint64_t key, uint64_t parent)
{
    struct crew *crew = worker->crew;
    const uint64_t info = table_info(parent, crew->search->depth + 1);
    struct sent_state *sent = &crew->exchange->sent[key % MOST_SENT_STATES];
    if (crew->search->table.wide)
        return NOT_SENT;
    const bool same = sent->key == key && (sent->info & 0xffff) == (info & 0xffff);
    if (same && sent->info <= info)
        return SENT_FROM_AS_GOOD;
    *sent = (struct sent_state){key, info};
    return same ? SENT_FROM_ANOTHER : NOT_SENT;
}

void exchange_send(struct worker *worker, uint32_t owner, const uint32_t *base, const struct successor *successor,
                   uint64_t parent, uint32_t question)
{
    struct exchange *exchange = worker->crew->exchange;
    const struct model *model = worker->crew->model;
    const enum sent_before before = was_sent(worker, successor->key.half[0], parent);
    uint32_t state[MOST_SLOTS];
    if (before == SENT_FROM_AS_GOOD && question == NO_QUESTION)
        return;
    struct packed_state packed = {
        .key = successor->key, .fingerprint = successor->fingerprint, .parent = parent, .question = question};
    if (before == NOT_SENT) {
        packed.slots = model->slots;
        memcpy(state, base, packed.slots * sizeof *state);
        expand_apply(&worker->expander, successor, state);
    }
    packed_state_write(&packed, state, &exchange->dictionary, owner, &exchange->parcels[owner]);
    send_full(worker, owner);
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

/* A state of this rank has come. One that does not follow is in the table. */
static void take_state(struct worker *worker, uint32_t rank, const uint32_t *words)
{
    struct exchange *exchange = worker->crew->exchange;
    struct packed_state packed;
    uint32_t state[MOST_SLOTS];
    packed_state_read(words, &packed);
    const enum table_answer answer = visit_add(worker, packed.key, packed.parent);
    if (answer == TABLE_NEW && packed.slots) {
        packed_state_understand(&packed, &exchange->dictionary, rank, state);
        visit_queue(worker, state, packed.fingerprint);
    }
    if (packed.question != NO_QUESTION && answer != TABLE_OLD) {
        uint32_t *number = parcel_extend(&exchange->answers[rank], worker->crew->model, 1);
        if (number)
            *number = packed.question;
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

static void expect_state(struct worker *worker, uint32_t rank, const uint32_t *words, struct arrivals *arrivals)
{
    table_expect(&worker->crew->search->table, packed_state_home(words));
    arrivals->states[arrivals->count++] = words;
    if (arrivals->count == AT_ONCE)
        take_arrivals(worker, rank, arrivals);
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
        switch ((enum parcel_kind)(words[at] & PARCEL_KIND)) {
        case PARCEL_WORD:
            at += 1 + dictionary_learn(&worker->crew->exchange->dictionary, block->peer, words + at + 1);
            break;
        case PARCEL_STATE:
            expect_state(worker, block->peer, words + at, &arrivals);
            at += packed_state_words(words[at]);
            break;
        case PARCEL_OBSERVED:
            at += 1 + take_observed(worker, block->peer, words + at + 1);
            break;
        case PARCEL_KIND:
            assert(false);
        }
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
    case TAG_CALL:
        worker->crew->wants_save = true;
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

void exchange_look(struct worker *worker, uint32_t states)
{
    struct exchange *exchange = worker->crew->exchange;
    exchange->unseen += states;
    if (exchange->unseen < LOOK_EVERY)
        return;
    exchange->unseen = 0;
    exchange_receive(worker);
}

/* ---- meeting ---- */

void exchange_call(struct exchange *exchange)
{
    for (uint32_t rank = 0; rank < cv_ranks_count(exchange->ranks); rank++)
        if (rank != cv_ranks_own(exchange->ranks))
            send_block(exchange, rank, TAG_CALL, NULL);
}

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
