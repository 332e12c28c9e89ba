// SPDX-License-Identifier: MIT
#include "ranks/mpi/near.h"

#include <assert.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "core/lane.h"

#define MOST_RANKS 64 /* of a machine that share memory: there is a lane for each pair */

/* What a rank tells the others of its memory: whose, and how to open it. It is also written there, to be recognized. */
struct label {
    int32_t rank, process, file; /* `file` < 0: it has none */
    int32_t unused;
    int64_t begun[2];
};

/* A rank's memory: a lane from each rank of the machine. */
struct memory {
    _Alignas(LANE_LINE) struct label label;
    struct lane lanes[];
};

/* Another rank. The other way is MPI's. */
struct peer {
    struct lane_end out, in;
};

static struct peer *peers;
static struct memory **memories; /* of the ranks of this machine */
static int *locals;              /* the ranks that have lanes */
static int memory_count, local_count, next_local;
static int found = -1;

/* ---- the shared memory ---- */

static size_t memory_bytes(void)
{
    return sizeof(struct memory) + (size_t)memory_count * sizeof(struct lane);
}

static struct memory *map(int file)
{
    void *memory = mmap(NULL, memory_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Memory that has no name, so that nothing is left behind, however this process ends. */
static struct memory *make_memory(struct label *label, int rank)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *label = (struct label){rank, (int32_t)getpid(), memfd_create("lanes", MFD_CLOEXEC), 0, {now.tv_sec, now.tv_nsec}};
    struct memory *memory = NULL;
    if (label->file >= 0 && !posix_fallocate(label->file, 0, (off_t)memory_bytes()))
        memory = map(label->file);
    if (memory)
        memory->label = *label;
    return memory;
}

/* Another rank's memory; NULL: it cannot be opened, or is not what the label says. */
static struct memory *open_memory(const struct label *label)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", label->process, label->file);
    const int file = label->file < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (file < 0)
        return NULL;
    struct memory *memory = lseek(file, 0, SEEK_END) == (off_t)memory_bytes() ? map(file) : NULL;
    close(file);
    if (memory && memcmp(&memory->label, label, sizeof *label) != 0) {
        munmap(memory, memory_bytes());
        return NULL;
    }
    return memory;
}

/* The lanes from and to the other ranks of this machine, whose labels these are. */
static bool find_lanes(const struct label *labels, int own)
{
    for (int i = 0; i < memory_count; i++) {
        if (i == own)
            continue;
        memories[i] = open_memory(&labels[i]);
        if (!memories[i])
            return false;
        peers[labels[i].rank].in.lane = &memories[own]->lanes[i];
        peers[labels[i].rank].out.lane = &memories[i]->lanes[own];
        locals[local_count++] = labels[i].rank;
    }
    return true;
}

static void forget_lanes(int size)
{
    for (int i = 0; i < size; i++)
        peers[i].in.lane = peers[i].out.lane = NULL;
    for (int i = 0; memories && i < memory_count; i++)
        if (memories[i])
            munmap(memories[i], memory_bytes());
    free(memories);
    free(locals);
    memories = NULL;
    locals = NULL;
    memory_count = local_count = next_local = 0;
}

/* All ranks of the machine share memory, or none does: each must call it, whatever it has come to. */
static bool share_memory(MPI_Comm machine, int rank, int size)
{
    int own, works, all_work = 0;
    MPI_Comm_size(machine, &memory_count);
    MPI_Comm_rank(machine, &own);
    if (memory_count == 1 || memory_count > MOST_RANKS) {
        memory_count = 0;
        return true;
    }
    struct label label = {.file = -1}, labels[MOST_RANKS];
    memories = calloc((size_t)memory_count, sizeof *memories);
    locals = calloc((size_t)memory_count, sizeof *locals);
    works = memories && locals && (memories[own] = make_memory(&label, rank));
    if (!works && label.file >= 0) {
        close(label.file);
        label.file = -1;
    }
    if (MPI_Allgather(&label, sizeof label, MPI_BYTE, labels, sizeof label, MPI_BYTE, machine) != MPI_SUCCESS)
        return false;
    works = works && find_lanes(labels, own);
    if (MPI_Allreduce(&works, &all_work, 1, MPI_INT, MPI_LAND, machine) != MPI_SUCCESS)
        return false;
    if (label.file >= 0)
        close(label.file);
    if (!all_work)
        forget_lanes(size);
    return true;
}

bool near_join(int rank, int size)
{
    MPI_Comm machine;
    peers = calloc((size_t)size, sizeof *peers);
    if (!peers || MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &machine))
        return false;
    const bool joined = share_memory(machine, rank, size);
    MPI_Comm_free(&machine);
    return joined;
}

void near_leave(void)
{
    forget_lanes(0);
    free(peers);
    peers = NULL;
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
