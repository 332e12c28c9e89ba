// SPDX-License-Identifier: MIT
#include "sim/share/batches.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define TAG_BATCH 0u
#define TAG_OVER 1u
#define CACHE_LINE 64u
#define FETCHED_LINES 6u
#define SPINS 400u         /* looks before a worker gives up the processor */
#define FEW_SPINS 100u     /* the same if there are more workers than processors */
#define SPINS_PER_LOOK 16u /* looks at shared memory before MPI is asked once */
#define YIELDS 2000u       /* then so many times only if somebody else wants it */
#define LONGEST_REST_NS 200000
#define LONGEST_SLEEP_NS 2000000 /* of a worker whom others wake; it also has to see that the user ends the run */

int batches_init(struct batches *batches, struct cv_ranks *ranks, uint32_t threads)
{
    *batches = (struct batches){.ranks = ranks, .threads = threads, .workers = threads * cv_ranks_count(ranks)};
    batches->inboxes = aligned_alloc(64, threads * sizeof *batches->inboxes);
    if (!batches->inboxes)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < threads; i++) {
        atomic_init(&batches->inboxes[i].last, NULL);
        atomic_init(&batches->inboxes[i].asleep, false);
        sem_init(&batches->inboxes[i].woken, 0, 0);
    }
    batches->crowded = (long)threads > sysconf(_SC_NPROCESSORS_ONLN);
    return 0;
}

void batches_free(struct batches *batches)
{
    for (uint32_t i = 0; batches->inboxes && i < batches->threads; i++)
        for (struct batch *batch = atomic_load(&batches->inboxes[i].last); batch;) {
            struct batch *next = batch->next;
            free(batch);
            batch = next;
        }
    free(batches->inboxes);
    batches->inboxes = NULL;
}

uint32_t batches_first(const struct batches *batches)
{
    return cv_ranks_own(batches->ranks) * batches->threads;
}

struct batch *batch_new(size_t room)
{
    struct batch *batch = malloc(sizeof *batch + room);
    if (batch) {
        batch->room = room;
        batch->head = (struct batch_head){0};
    }
    return batch;
}

static size_t content_bytes(const struct batch_head *head)
{
    return head->message_size + head->pulse_size;
}

/* ---- within this rank ---- */

static void push(struct batches *batches, struct batch *batch)
{
    struct inbox *inbox = &batches->inboxes[batch->head.to - batches_first(batches)];
    batch->next = atomic_load_explicit(&inbox->last, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&inbox->last, &batch->next, batch, memory_order_seq_cst,
                                                  memory_order_relaxed))
        ;
    if (atomic_load(&inbox->asleep) && atomic_exchange(&inbox->asleep, false))
        sem_post(&inbox->woken);
}

/* ---- between ranks ---- */

/* One thread at a time talks to MPI. */
static bool lock(struct batches *batches, bool wait)
{
    while (atomic_exchange_explicit(&batches->locked, 1, memory_order_acquire)) {
        if (!wait)
            return false;
        sched_yield();
    }
    return true;
}

static void unlock(struct batches *batches)
{
    atomic_store_explicit(&batches->locked, 0, memory_order_release);
}

static int send_away(struct batches *batches, struct batch *batch)
{
    const size_t bytes = content_bytes(&batch->head);
    lock(batches, true);
    struct cv_block *block = cv_block_new(batches->ranks, sizeof batch->head + bytes);
    int error = CV_ENOMEM;
    if (block) {
        memcpy(block->bytes, &batch->head, sizeof batch->head);
        memcpy(block->bytes + sizeof batch->head, batch->bytes, bytes);
        block->size = sizeof batch->head + bytes;
        error = cv_ranks_send(batches->ranks, batch->head.to / batches->threads, TAG_BATCH, block);
    }
    unlock(batches);
    free(batch);
    return error;
}

int batches_accept(struct batches *batches, const struct cv_block *block)
{
    if (block->tag == TAG_OVER)
        batches->over++;
    if (block->tag != TAG_BATCH)
        return 0;
    struct batch *batch = batch_new(block->size - sizeof batch->head);
    if (!batch)
        return CV_ENOMEM;
    memcpy(&batch->head, block->bytes, sizeof batch->head);
    memcpy(batch->bytes, block->bytes + sizeof batch->head, block->size - sizeof batch->head);
    push(batches, batch);
    return 0;
}

/* Gives what has come from other ranks to the workers of this one. */
static int look_outside(struct batches *batches)
{
    struct cv_block *block;
    int error = 0;
    if (cv_ranks_count(batches->ranks) == 1 || !lock(batches, false))
        return 0;
    while (!error && !(error = cv_ranks_receive(batches->ranks, &block)) && block) {
        error = batches_accept(batches, block);
        cv_block_free(batches->ranks, block);
    }
    unlock(batches);
    return error;
}

int batches_drain(struct batches *batches)
{
    struct cv_ranks *ranks = batches->ranks;
    uint32_t rests = 0;
    for (uint32_t rank = 0; rank < cv_ranks_count(ranks); rank++) {
        if (rank == cv_ranks_own(ranks))
            continue;
        struct cv_block *block = cv_block_new(ranks, 1);
        if (!block || cv_ranks_send(ranks, rank, TAG_OVER, block))
            return CV_ENOMEM;
    }
    while (batches->over + 1 < cv_ranks_count(ranks)) {
        struct cv_block *block;
        if (cv_ranks_receive(ranks, &block))
            return CV_ENOMEM;
        if (!block) {
            batches_rest(&rests);
            continue;
        }
        batches->over += block->tag == TAG_OVER;
        cv_block_free(ranks, block);
    }
    return 0;
}

/* ---- for workers ---- */

int batches_send(struct batches *batches, struct batch *batch)
{
    if (batch->head.to - batches_first(batches) >= batches->threads)
        return send_away(batches, batch);
    push(batches, batch);
    return 0;
}

struct batch *batches_take(struct batches *batches, uint32_t worker, int *error)
{
    struct inbox *inbox = &batches->inboxes[worker - batches_first(batches)];
    *error = look_outside(batches);
    if (!atomic_load_explicit(&inbox->last, memory_order_relaxed))
        return NULL;
    struct batch *batch = atomic_exchange_explicit(&inbox->last, NULL, memory_order_acquire), *oldest = NULL;
    while (batch) {
        /* All of a small batch is fetched from the other core at once, not one cache line after the other. */
        for (size_t line = 0; line < FETCHED_LINES; line++)
            __builtin_prefetch((const unsigned char *)batch + line * CACHE_LINE, 1);
        struct batch *before = batch->next;
        batch->next = oldest;
        oldest = batch;
        batch = before;
    }
    return oldest;
}

void batches_rest(uint32_t *rests)
{
    const uint32_t count = ++*rests;
    if (count < SPINS) {
#if defined __x86_64__
        __builtin_ia32_pause();
#endif
        return;
    }
    if (count < SPINS + YIELDS) {
        sched_yield();
        return;
    }
    const long wanted = (long)(count - SPINS - YIELDS) * 1000;
    const struct timespec pause = {.tv_nsec = wanted < LONGEST_REST_NS ? wanted : LONGEST_REST_NS};
    nanosleep(&pause, NULL);
}

/* Either this worker sees the batch, or its sender sees that this one sleeps. */
static void sleep_until_woken(struct inbox *inbox)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LONGEST_SLEEP_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    atomic_store(&inbox->asleep, true);
    if (!atomic_load(&inbox->last))
        sem_clockwait(&inbox->woken, CLOCK_MONOTONIC, &until);
    atomic_store(&inbox->asleep, false);
}

/* Is there something for a worker that does nothing but look? Of several threads of a rank nobody asks MPI. */
static bool has_mail(const struct batches *batches, struct inbox *inbox)
{
    return atomic_load_explicit(&inbox->last, memory_order_relaxed) ||
           (batches->threads == 1 && cv_ranks_glance(batches->ranks));
}

void batches_wait(struct batches *batches, uint32_t worker, uint32_t *rests)
{
    struct inbox *inbox = &batches->inboxes[worker - batches_first(batches)];
    const bool alone = cv_ranks_count(batches->ranks) == 1;
    const uint32_t spins = alone ? FEW_SPINS : *rests + SPINS_PER_LOOK;
    if (alone && *rests >= (batches->crowded ? FEW_SPINS : SPINS + YIELDS)) {
        ++*rests;
        sleep_until_woken(inbox);
        return;
    }
    do
        batches_rest(rests);
    while (*rests < spins && !has_mail(batches, inbox));
}
