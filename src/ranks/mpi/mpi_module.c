// SPDX-License-Identifier: MIT
/* A module by which ranks talk over MPI. It is compiled once for each MPI library; the program loads the right one. */
#include <assert.h>
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "ranks/module.h"
#include "ranks/mpi/near.h"

#define MOST_COMING 64        /* blocks that are being received at once */
#define WORD sizeof(uint64_t) /* block->after travels before the bytes */

_Static_assert(offsetof(struct cv_block, bytes) == offsetof(struct cv_block, after) + WORD, "they are sent as one");

/* Blocks that went to a rank of this machine at once. */
static struct cv_block *gone;

/* Blocks on their way out. Their requests stand in a row, as MPI_Testany() wants them. */
static struct {
    MPI_Request *requests;
    struct cv_block **blocks;
    int count, room;
} sends;

/* Blocks on their way in, in the order in which they were found: a ring. */
static struct {
    MPI_Request request;
    struct cv_block *block;
} coming[MOST_COMING];
static unsigned first_coming, coming_count;

/* The block that find() has found. */
static MPI_Message found;
static MPI_Status found_status;

static MPI_Request together = MPI_REQUEST_NULL; /* the reduction or the broadcast */

static bool join(uint32_t *rank, uint32_t *size)
{
    int provided, own, count;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided) != MPI_SUCCESS ||
        MPI_Comm_rank(MPI_COMM_WORLD, &own) != MPI_SUCCESS || MPI_Comm_size(MPI_COMM_WORLD, &count) != MPI_SUCCESS)
        return false;
    *rank = (uint32_t)own;
    *size = (uint32_t)count;
    return near_join(own, count);
}

static void end_all(int code)
{
    MPI_Abort(MPI_COMM_WORLD, code);
}

static bool make_room(void)
{
    if (sends.count < sends.room)
        return true;
    const int wanted = sends.room ? sends.room * 2 : 64;
    MPI_Request *requests = realloc(sends.requests, (size_t)wanted * sizeof *requests);
    if (requests)
        sends.requests = requests;
    struct cv_block **blocks = realloc(sends.blocks, (size_t)wanted * sizeof *blocks);
    if (blocks)
        sends.blocks = blocks;
    if (!requests || !blocks)
        return false;
    sends.room = wanted;
    return true;
}

static bool send_block(struct cv_block *block)
{
    if (near_send(block)) {
        block->next = gone;
        gone = block;
        return true;
    }
    if (!make_room())
        return false;
    near_mark(block);
    MPI_Isend(&block->after, (int)(WORD + block->size), MPI_BYTE, (int)block->peer, (int)block->tag, MPI_COMM_WORLD,
              &sends.requests[sends.count]);
    sends.blocks[sends.count++] = block;
    return true;
}

static struct cv_block *take_sent(void)
{
    int which = MPI_UNDEFINED, done = 0;
    struct cv_block *block = gone;
    if (gone)
        gone = gone->next;
    if (block || !sends.count)
        return block;
    MPI_Testany(sends.count, sends.requests, &which, &done, MPI_STATUS_IGNORE);
    if (!done || which == MPI_UNDEFINED)
        return NULL;
    block = sends.blocks[which];
    sends.count--;
    sends.blocks[which] = sends.blocks[sends.count];
    sends.requests[which] = sends.requests[sends.count];
    return block;
}

static void leave(void)
{
    near_leave();
    MPI_Finalize();
    while (gone)
        free(take_sent());
    free(sends.requests);
    free(sends.blocks);
    memset(&sends, 0, sizeof sends);
}

static uint32_t count_unsent(void)
{
    return (uint32_t)sends.count;
}

static bool find_block(size_t *size)
{
    int there = 0, bytes = 0;
    if (coming_count == MOST_COMING)
        return false;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &found, &found_status);
    if (!there)
        return false;
    MPI_Get_count(&found_status, MPI_BYTE, &bytes);
    *size = (size_t)bytes - WORD;
    return true;
}

static void receive_block(struct cv_block *block)
{
    const unsigned place = (first_coming + coming_count++) % MOST_COMING;
    int bytes = 0;
    MPI_Get_count(&found_status, MPI_BYTE, &bytes);
    assert((size_t)bytes <= WORD + block->room);
    block->size = (size_t)bytes - WORD;
    block->peer = (uint32_t)found_status.MPI_SOURCE;
    block->tag = (uint32_t)found_status.MPI_TAG;
    coming[place].block = block;
    MPI_Imrecv(&block->after, bytes, MPI_BYTE, &found, &coming[place].request);
}

static struct cv_block *take_received(void)
{
    int done = 0;
    if (!coming_count)
        return NULL;
    struct cv_block *block = coming[first_coming].block;
    MPI_Test(&coming[first_coming].request, &done, MPI_STATUS_IGNORE);
    if (!done || !near_takes(block))
        return NULL;
    first_coming = (first_coming + 1) % MOST_COMING;
    coming_count--;
    return block;
}

static void reduce(enum cv_reduction reduction, uint64_t *numbers, uint32_t count)
{
    MPI_Op operation = reduction == CV_REDUCE_SUM ? MPI_SUM : reduction == CV_REDUCE_LEAST ? MPI_MIN : MPI_MAX;
    assert(together == MPI_REQUEST_NULL);
    MPI_Iallreduce(MPI_IN_PLACE, numbers, (int)count, MPI_UINT64_T, operation, MPI_COMM_WORLD, &together);
}

static void broadcast(uint32_t from, void *bytes, size_t size)
{
    assert(together == MPI_REQUEST_NULL);
    MPI_Ibcast(bytes, (int)size, MPI_BYTE, (int)from, MPI_COMM_WORLD, &together);
}

static bool is_done(void)
{
    int done = 0;
    MPI_Test(&together, &done, MPI_STATUS_IGNORE);
    return done;
}

extern const struct ranks_module conclave_ranks_module;

__attribute__((visibility("default"))) const struct ranks_module conclave_ranks_module = {
    .version = RANKS_MODULE_VERSION,
#ifdef OPEN_MPI
    .library = "Open MPI",
#else
    .library = "MPICH",
#endif
    .join = join,
    .leave = leave,
    .abort = end_all,
    .send = send_block,
    .take_sent = take_sent,
    .count_unsent = count_unsent,
    .find = find_block,
    .receive = receive_block,
    .take_received = take_received,
    .find_near = near_find,
    .receive_near = near_receive,
    .is_near = near_look,
    .reduce = reduce,
    .broadcast = broadcast,
    .is_done = is_done,
};
