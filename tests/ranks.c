// SPDX-License-Identifier: MIT
/*
 * The ranks' own test, for mpirun -n K or alone: blocks of all sizes from every rank to every rank, reductions and
 * broadcasts. The first rank prints "K ranks: ok". Whatever goes wrong is an assertion, and ends the job.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/ranks.h"

static const size_t sizes[] = {0, 1, 8, 1000, 4096, 70000, 3000000, 5};
#define SIZES (sizeof sizes / sizeof *sizes)
#define BLOCKS 300u

/* Short blocks go another way than long ones, as long as that has room, and stay in order. */
static size_t size_of(size_t number)
{
    if (number < SIZES)
        return sizes[number];
    return number % 9 == 7 ? 5000 + number : number * 31 % 1100;
}

static unsigned char pattern(uint32_t from, uint32_t to, size_t number, size_t place)
{
    return (unsigned char)(from * 7 + to * 13 + number * 31 + place * 3 + place / 251);
}

static void send_one(struct cv_ranks *ranks, uint32_t to, size_t number)
{
    const size_t size = size_of(number);
    struct cv_block *block = cv_block_new(ranks, size);
    assert(block && block->room >= size);
    for (size_t place = 0; place < size; place++)
        block->bytes[place] = pattern(cv_ranks_own(ranks), to, number, place);
    block->size = size;
    assert(cv_ranks_send(ranks, to, (uint32_t)number * 100, block) == 0);
}

/* Takes a block, if one is there, and checks it. */
static bool take_one(struct cv_ranks *ranks, size_t *next)
{
    struct cv_block *block;
    assert(cv_ranks_receive(ranks, &block) == 0);
    if (!block)
        return false;
    const size_t number = next[block->peer]++;
    assert(number < BLOCKS && block->size == size_of(number) && block->tag == number * 100);
    for (size_t place = 0; place < block->size; place++)
        assert(block->bytes[place] == pattern(block->peer, cv_ranks_own(ranks), number, place));
    cv_block_free(ranks, block);
    return true;
}

/* Everybody sends to everybody: all at once, or while others send. */
static void exchange(struct cv_ranks *ranks, bool at_once)
{
    const uint32_t own = cv_ranks_own(ranks), count = cv_ranks_count(ranks);
    size_t *next = calloc(count, sizeof *next), left = (size_t)count * BLOCKS;
    assert(next);
    for (size_t number = 0; number < BLOCKS; number++)
        for (uint32_t i = 0; i < count; i++) {
            send_one(ranks, (own + i) % count, number);
            left -= !at_once && take_one(ranks, next);
        }
    while (left)
        if (take_one(ranks, next))
            left--;
        else
            cv_ranks_rest(ranks);
    free(next);
}

static void combine(struct cv_ranks *ranks)
{
    const uint64_t own = cv_ranks_own(ranks), count = cv_ranks_count(ranks), large = UINT64_C(1) << 62;
    uint64_t sums[2] = {own + 1, large / 4 + own}, least = large + own, most = large - own;
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, sums, 2);
    assert(sums[0] == count * (count + 1) / 2 && sums[1] == count * (large / 4) + count * (count - 1) / 2);
    cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &least, 1);
    cv_ranks_reduce_begin(ranks, CV_REDUCE_MOST, &most, 1);
    while (!cv_ranks_reduced(ranks))
        cv_ranks_rest(ranks);
    assert(least == large && most == large);
    for (uint32_t from = 0; from < count; from++) {
        char text[40] = "", expected[40];
        snprintf(expected, sizeof expected, "these are the words of rank %u", from);
        if (own == from)
            memcpy(text, expected, sizeof text);
        cv_ranks_broadcast(ranks, from, text, sizeof text);
        assert(strcmp(text, expected) == 0);
    }
}

int main(void)
{
    struct cv_complaint complaint = {{0}};
    struct cv_ranks *ranks;
    if (cv_ranks_join(&ranks, 0, &complaint)) {
        fprintf(stderr, "%s\n", complaint.text);
        return 2;
    }
    for (int round = 0; round < 3; round++) {
        exchange(ranks, round == 1);
        combine(ranks);
    }
    if (cv_ranks_own(ranks) == 0)
        printf("%u ranks: ok\n", cv_ranks_count(ranks));
    cv_ranks_leave(ranks);
    return 0;
}
