// SPDX-License-Identifier: MIT
#include "sim/share/batches.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/apart.h"

#define TAG_BATCH 0u
#define TAG_OVER 1u
#define MOST_LANES 32u     /* threads that have lanes: nobody would look into more of them */
#define SPINS 400u         /* looks before a worker gives up the processor */
#define FEW_SPINS 100u     /* the same if there are more workers than processors */
#define SPINS_PER_LOOK 16u /* looks at shared memory before MPI is asked once */
#define YIELDS 2000u       /* then so many times only if somebody else wants it */
#define LONGEST_REST_NS 200000
#define LONGEST_SLEEP_NS 2000000 /* of a worker whom others wake; it also has to see that the user ends the run */

/* ---- beginning and end ---- */

/* The ends of all lanes from and to a thread. Without lanes, all goes by the inboxes. */
static bool find_lanes(struct batches *batches, uint32_t thread)
{
    struct inbox *inbox = &batches->inboxes[thread];
    const uint32_t threads = batches->threads;
    inbox->in = cv_new_apart(2 * (size_t)threads * sizeof *inbox->in);
    if (!inbox->in)
        return false;
    inbox->out = inbox->in + threads;
    for (uint32_t other = 0; other < threads; other++) {
        inbox->in[other] = (struct lane_end){batches->lanes ? &batches->lanes[thread * threads + other] : NULL, 0, 0};
        inbox->out[other] = (struct lane_end){batches->lanes ? &batches->lanes[other * threads + thread] : NULL, 0, 0};
    }
    return true;
}

int batches_init(struct batches *batches, struct cv_ranks *ranks, uint32_t threads)
{
    *batches = (struct batches){.ranks = ranks, .threads = threads, .workers = threads * cv_ranks_count(ranks)};
    const size_t lanes = threads > 1 && threads <= MOST_LANES ? (size_t)threads * threads : 0;
    batches->inboxes = cv_new_apart(threads * sizeof *batches->inboxes);
    batches->lanes = lanes ? cv_new_apart(lanes * sizeof *batches->lanes) : NULL;
    if (!batches->inboxes || (lanes && !batches->lanes))
        return CV_ENOMEM;
    for (uint32_t i = 0; i < threads; i++) {
        sem_init(&batches->inboxes[i].woken, 0, 0);
        if (!find_lanes(batches, i))
            return CV_ENOMEM;
    }
    batches->crowded = (long)threads > sysconf(_SC_NPROCESSORS_ONLN);
    return 0;
}

static void free_list(struct batch *batch)
{
    while (batch) {
        struct batch *next = batch->next;
        free(batch);
        batch = next;
    }
}

void batches_free(struct batches *batches)
{
    for (uint32_t i = 0; batches->inboxes && i < batches->threads; i++) {
        free_list(atomic_load(&batches->inboxes[i].last));
        free_list(batches->inboxes[i].opened);
        free(batches->inboxes[i].in);
    }
    free(batches->inboxes);
    free(batches->lanes);
    batches->inboxes = NULL;
    batches->lanes = NULL;
}

uint32_t batches_first(const struct batches *batches)
{
    return cv_ranks_own(batches->ranks) * batches->threads;
}

struct batch *batch_new(size_t room)
{
    room += !room;
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

static struct inbox *inbox_of(struct batches *batches, uint32_t worker)
{
    return &batches->inboxes[worker - batches_first(batches)];
}

static bool is_here(const struct batches *batches, uint32_t worker)
{
    return worker - batches_first(batches) < batches->threads;
}

static void wake(struct inbox *inbox)
{
    if (atomic_load_explicit(&inbox->asleep, memory_order_relaxed) && atomic_exchange(&inbox->asleep, false))
        sem_post(&inbox->woken);
}

static void push(struct inbox *inbox, struct batch *batch)
{
    batch->next = atomic_load_explicit(&inbox->last, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&inbox->last, &batch->next, batch, memory_order_seq_cst,
                                                  memory_order_relaxed))
        ;
    wake(inbox);
}

/* From thread to thread: by a lane, if the batch is short. Returns whether it was copied. */
static bool hand_over(struct batches *batches, struct batch *batch)
{
    const uint32_t first = batches_first(batches);
    struct inbox *inbox = inbox_of(batches, batch->head.to);
    struct lane_end *out = &inbox_of(batches, batch->head.from)->out[batch->head.to - first];
    const size_t size = sizeof *batch + content_bytes(&batch->head);
    struct lane_place *place = lane_find_free(out, size);
    if (!place) {
        batch->after = out->count;
        out->other_ways++;
        push(inbox, batch);
        return false;
    }
    memcpy(place->bytes, batch, size);
    ((struct batch *)(void *)place->bytes)->room = 0;
    lane_put(out, place, size);
    wake(inbox);
    return true;
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
    push(inbox_of(batches, batch->head.to), batch);
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

int batches_send(struct batches *batches, struct batch *batch, bool *copied)
{
    *copied = false;
    if (!is_here(batches, batch->head.to))
        return send_away(batches, batch);
    *copied = hand_over(batches, batch);
    return 0;
}

/* Takes all that is in the inbox. */
static void open_inbox(struct inbox *inbox)
{
    if (!atomic_load_explicit(&inbox->last, memory_order_relaxed))
        return;
    struct batch *batch = atomic_exchange_explicit(&inbox->last, NULL, memory_order_acquire);
    while (batch) {
        struct batch *before = batch->next;
        batch->next = inbox->opened;
        inbox->opened = batch;
        batch = before;
    }
}

static struct batch *look_into(const struct lane_end *in)
{
    struct lane_place *place = lane_look(in);
    if (!place)
        return NULL;
    /* All of it is fetched from the other core at once, not one cache line after the other. */
    for (size_t line = LANE_LINE; line < place->size; line += LANE_LINE)
        __builtin_prefetch((const unsigned char *)place + line);
    return (struct batch *)(void *)place->bytes;
}

/* The oldest batch of the inbox, or one that its sender sent before it. */
static struct batch *take_opened(struct batches *batches, struct inbox *inbox)
{
    struct batch *batch = inbox->opened;
    if (is_here(batches, batch->head.from)) {
        struct lane_end *in = &inbox->in[batch->head.from - batches_first(batches)];
        if (in->count != (uint32_t)batch->after)
            return look_into(in);
        in->other_ways++;
    }
    inbox->opened = batch->next;
    return batch;
}

struct batch *batches_take(struct batches *batches, uint32_t worker, int *error)
{
    struct inbox *inbox = inbox_of(batches, worker);
    struct batch *batch = NULL;
    *error = 0;
    if (inbox->opened)
        return take_opened(batches, inbox);
    for (uint32_t other = 0; batches->lanes && !batch && other < batches->threads; other++)
        batch = look_into(&inbox->in[other]);
    if (batch)
        return batch;
    *error = look_outside(batches);
    open_inbox(inbox);
    return inbox->opened ? take_opened(batches, inbox) : NULL;
}

bool batches_leave(struct batches *batches, uint32_t worker, const struct batch *batch)
{
    if (batch->room)
        return true;
    lane_take(&inbox_of(batches, worker)->in[batch->head.from - batches_first(batches)]);
    return false;
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

/* Is there something for a worker that does nothing but look? Of several threads of a rank nobody asks MPI. */
static bool has_mail(const struct batches *batches, const struct inbox *inbox)
{
    for (uint32_t other = 0; batches->lanes && other < batches->threads; other++)
        if (lane_look(&inbox->in[other]))
            return true;
    return atomic_load_explicit(&inbox->last, memory_order_relaxed) ||
           (batches->threads == 1 && cv_ranks_glance(batches->ranks));
}

/*
 * A batch that comes just now may not wake this worker: its sender did not yet see that it sleeps. Then it sleeps to
 * the end. To make sure of it, every sender would have to wait until what it wrote has arrived.
 */
static void sleep_until_woken(const struct batches *batches, struct inbox *inbox)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += LONGEST_SLEEP_NS;
    if (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    atomic_store(&inbox->asleep, true);
    if (!has_mail(batches, inbox))
        sem_clockwait(&inbox->woken, CLOCK_MONOTONIC, &until);
    atomic_store(&inbox->asleep, false);
}

void batches_wait(struct batches *batches, uint32_t worker, uint32_t *rests)
{
    struct inbox *inbox = inbox_of(batches, worker);
    const bool alone = cv_ranks_count(batches->ranks) == 1;
    const uint32_t spins = alone ? FEW_SPINS : *rests + SPINS_PER_LOOK;
    if (alone && *rests >= (batches->crowded ? FEW_SPINS : SPINS + YIELDS)) {
        ++*rests;
        sleep_until_woken(batches, inbox);
        return;
    }
    do
        batches_rest(rests);
    while (*rests < spins && !has_mail(batches, inbox));
}
