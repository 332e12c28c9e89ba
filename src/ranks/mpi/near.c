// SPDX-License-Identifier: MIT
#include "ranks/mpi/near.h"

#include <assert.h>
#include <mpi.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64
#define PLACES 8u
#define PLACE_BYTES 512u
#define MOST_RANKS 64 /* of a machine that share memory: there is a lane for each pair */

/* Written by the sender. `turn` is written last: from then on the place is the receiver's. */
struct place {
    _Alignas(CACHE_LINE) _Atomic uint32_t turn; /* blocks that were in this lane, with this one */
    uint32_t size, tag;
    uint32_t after; /* blocks that went by MPI before it */
    unsigned char bytes[PLACE_BYTES - 4 * sizeof(uint32_t)];
};

struct lane {
    _Alignas(CACHE_LINE) _Atomic uint32_t taken; /* by the receiver: so many places are free again */
    struct place places[PLACES];
};

_Static_assert(sizeof(struct place) == PLACE_BYTES, "whole cache lines");

/* Another rank. Numbers count from the start, and start again at 2^32. */
struct peer {
    struct lane *out, *in; /* NULL: it is on another machine */
    uint32_t sent, taken;  /* by lane */
    uint32_t sent_by_mpi, taken_by_mpi;
};

static struct peer *peers;
static int *locals; /* the ranks that have lanes */
static int local_count, next_local;
static int found = -1;
static MPI_Win window = MPI_WIN_NULL;

/* ---- the shared memory ---- */

/* Finds the lanes from and to the other ranks of this machine. They are in the order of `machine`. */
static bool find_lanes(MPI_Comm machine, struct lane *own_lanes, int rank)
{
    int count, own;
    MPI_Group here, all;
    MPI_Comm_size(machine, &count);
    MPI_Comm_rank(machine, &own);
    MPI_Comm_group(machine, &here);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    locals = calloc((size_t)count, sizeof *locals);
    for (int i = 0; locals && i < count; i++) {
        MPI_Aint size;
        int unit, peer;
        struct lane *lanes;
        MPI_Group_translate_ranks(here, 1, &i, all, &peer);
        if (peer == rank || MPI_Win_shared_query(window, i, &size, &unit, &lanes) != MPI_SUCCESS)
            continue;
        peers[peer].in = &own_lanes[i];
        peers[peer].out = &lanes[own];
        locals[local_count++] = peer;
    }
    MPI_Group_free(&here);
    MPI_Group_free(&all);
    return locals != NULL && local_count == count - 1;
}

/* All ranks of the machine must call it. False: they have no memory in common. */
static bool share_memory(MPI_Comm machine, int rank)
{
    int count;
    struct lane *lanes = NULL;
    MPI_Comm_size(machine, &count);
    if (count == 1 || count > MOST_RANKS)
        return true;
    const MPI_Aint bytes = (MPI_Aint)sizeof *lanes * count;
    if (MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, machine, &lanes, &window) != MPI_SUCCESS) {
        window = MPI_WIN_NULL;
        return false;
    }
    memset(lanes, 0, (size_t)bytes);
    MPI_Barrier(machine);
    return MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS && find_lanes(machine, lanes, rank);
}

static void forget_lanes(int size)
{
    for (int i = 0; i < size; i++)
        peers[i].in = peers[i].out = NULL;
    local_count = 0;
}

bool near_join(int rank, int size)
{
    MPI_Comm machine;
    peers = calloc((size_t)size, sizeof *peers);
    if (!peers || MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine))
        return false;
    MPI_Comm_set_errhandler(machine, MPI_ERRORS_RETURN);
    int works = share_memory(machine, rank), all_work = 0;
    MPI_Allreduce(&works, &all_work, 1, MPI_INT, MPI_LAND, machine);
    if (!all_work)
        forget_lanes(size);
    MPI_Comm_free(&machine);
    return true;
}

void near_leave(void)
{
    if (window != MPI_WIN_NULL) {
        MPI_Win_unlock_all(window);
        MPI_Win_free(&window);
    }
    free(peers);
    free(locals);
    peers = NULL;
    locals = NULL;
    local_count = next_local = 0;
    found = -1;
}

/* ---- sending ---- */

bool near_send(const struct cv_block *block)
{
    struct peer *peer = &peers[block->peer];
    struct lane *lane = peer->out;
    if (!lane || block->size > sizeof lane->places->bytes ||
        peer->sent - atomic_load_explicit(&lane->taken, memory_order_acquire) == PLACES)
        return false;
    struct place *place = &lane->places[peer->sent++ % PLACES];
    place->size = (uint32_t)block->size;
    place->tag = block->tag;
    place->after = peer->sent_by_mpi;
    memcpy(place->bytes, block->bytes, block->size);
    atomic_store_explicit(&place->turn, peer->sent, memory_order_release);
    return true;
}

void near_mark(struct cv_block *block)
{
    struct peer *peer = &peers[block->peer];
    block->after = peer->sent;
    peer->sent_by_mpi++;
}

/* ---- receiving ---- */

bool near_takes(const struct cv_block *block)
{
    struct peer *peer = &peers[block->peer];
    if (block->after != peer->taken)
        return false;
    peer->taken_by_mpi++;
    return true;
}

static struct place *next_place(const struct peer *peer)
{
    struct place *place = &peer->in->places[peer->taken % PLACES];
    const bool there = atomic_load_explicit(&place->turn, memory_order_acquire) == peer->taken + 1;
    return there && place->after == peer->taken_by_mpi ? place : NULL;
}

bool near_look(void)
{
    for (int i = 0; i < local_count; i++)
        if (next_place(&peers[locals[i]]))
            return true;
    return false;
}

/* No rank comes twice before another one that has something. */
bool near_find(size_t *size)
{
    assert(found < 0);
    for (int i = 0; i < local_count; i++) {
        const int rank = locals[next_local];
        const struct place *place = next_place(&peers[rank]);
        next_local = next_local + 1 < local_count ? next_local + 1 : 0;
        if (!place)
            continue;
        found = rank;
        *size = place->size;
        return true;
    }
    return false;
}

void near_receive(struct cv_block *block)
{
    struct peer *peer = &peers[found];
    const struct place *place = next_place(peer);
    assert(place && place->size <= block->room);
    block->size = place->size;
    block->tag = place->tag;
    block->peer = (uint32_t)found;
    memcpy(block->bytes, place->bytes, place->size);
    atomic_store_explicit(&peer->in->taken, ++peer->taken, memory_order_release);
    found = -1;
}
