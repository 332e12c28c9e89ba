// SPDX-License-Identifier: MIT
#include "ranks/mpi/near.h"

#include <assert.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "core/lane.h"

#define MOST_RANKS 64 /* of a machine that share memory: there is a lane for each pair */

/* Another rank. The other way is MPI's. */
struct peer {
    struct lane_end out, in;
};

static struct peer *peers;
static int *locals; /* the ranks that have lanes */
static int local_count, next_local;
static int found = -1;
static MPI_Win window = MPI_WIN_NULL;

/* ---- the shared memory ---- */

/* Memory is shared by pages, so that where it begins is as uneven for every rank. */
static struct lane *first_lane(void *memory)
{
    return (void *)(((uintptr_t)memory + LANE_LINE - 1) / LANE_LINE * LANE_LINE);
}

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
        void *memory;
        MPI_Group_translate_ranks(here, 1, &i, all, &peer);
        if (peer == rank || MPI_Win_shared_query(window, i, &size, &unit, &memory) != MPI_SUCCESS)
            continue;
        peers[peer].in.lane = &own_lanes[i];
        peers[peer].out.lane = first_lane(memory) + own;
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
    void *memory = NULL;
    MPI_Comm_size(machine, &count);
    if (count == 1 || count > MOST_RANKS)
        return true;
    const MPI_Aint bytes = (MPI_Aint)sizeof(struct lane) * count + LANE_LINE;
    if (MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, machine, &memory, &window) != MPI_SUCCESS) {
        window = MPI_WIN_NULL;
        return false;
    }
    memset(memory, 0, (size_t)bytes);
    MPI_Barrier(machine);
    return MPI_Win_lock_all(MPI_MODE_NOCHECK, window) == MPI_SUCCESS && find_lanes(machine, first_lane(memory), rank);
}

static void forget_lanes(int size)
{
    for (int i = 0; i < size; i++)
        peers[i].in.lane = peers[i].out.lane = NULL;
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
    struct lane_end *out = &peers[block->peer].out;
    struct lane_place *place = lane_find_free(out, block->size);
    if (!place)
        return false;
    place->tag = block->tag;
    memcpy(place->bytes, block->bytes, block->size);
    lane_put(out, place, block->size);
    return true;
}

void near_mark(struct cv_block *block)
{
    struct lane_end *out = &peers[block->peer].out;
    block->after = out->count;
    out->other_ways++;
}

/* ---- receiving ---- */

bool near_takes(const struct cv_block *block)
{
    struct lane_end *in = &peers[block->peer].in;
    if (block->after != in->count)
        return false;
    in->other_ways++;
    return true;
}

bool near_look(void)
{
    for (int i = 0; i < local_count; i++)
        if (lane_look(&peers[locals[i]].in))
            return true;
    return false;
}

/* No rank comes twice before another one that has something. */
bool near_find(size_t *size)
{
    assert(found < 0);
    for (int i = 0; i < local_count; i++) {
        const int rank = locals[next_local];
        const struct lane_place *place = lane_look(&peers[rank].in);
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
    struct lane_end *in = &peers[found].in;
    const struct lane_place *place = lane_look(in);
    assert(place && place->size <= block->room);
    block->size = place->size;
    block->tag = place->tag;
    block->peer = (uint32_t)found;
    memcpy(block->bytes, place->bytes, place->size);
    lane_take(in);
    found = -1;
}
