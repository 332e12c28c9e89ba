// SPDX-License-Identifier: MIT
#include "run/board.h"

#include <sys/mman.h>
#include <time.h>

static size_t whole_lines(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

struct board *board_make(const struct cv_scenario *scenario, uint32_t slots)
{
    const uint32_t nodes = scenario->group.nodes, names = scenario->names ? scenario->names : 1;
    const size_t at_slots = whole_lines(sizeof(struct board));
    const size_t at_current = at_slots + whole_lines(slots * sizeof(struct process_slot));
    const size_t at_sent = at_current + whole_lines(nodes * sizeof(uint32_t));
    const size_t at_remaining = at_sent + whole_lines((size_t)slots * slots * sizeof(uint64_t));
    const size_t bytes = at_remaining + (size_t)nodes * names * sizeof(uint64_t);
    unsigned char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    struct board *board = (void *)memory;
    board->bytes = bytes;
    board->nodes = nodes;
    board->slots = slots;
    board->names = names;
    board->slot = (void *)(memory + at_slots);
    board->current = (void *)(memory + at_current);
    board->sent = (void *)(memory + at_sent);
    board->remaining = (void *)(memory + at_remaining);
    for (cv_node node = 0; node < nodes; node++)
        board->current[node] = NO_SLOT;
    for (size_t i = 0; i < (size_t)nodes * names; i++)
        board->remaining[i] = scenario->entries;
    return board;
}

void board_free(struct board *board)
{
    if (board)
        munmap(board, board->bytes);
}

/* A slot that dies as planned in between has something to do. */
bool board_quiet(const struct board *board)
{
    uint64_t closed = 0, opened = 0;
    for (uint32_t to = 0; to < board->slots; to++)
        if (board->slot[to].state == SLOT_LIVE)
            closed += board->slot[to].own_closed + board->slot[to].closed;
    for (uint32_t to = 0; to < board->slots; to++) {
        if (board->slot[to].state == SLOT_DYING)
            return false;
        if (board->slot[to].state != SLOT_LIVE)
            continue;
        opened += board->slot[to].own_opened;
        for (uint32_t from = 0; from < board->slots; from++)
            opened += *board_sent(board, to, from);
    }
    return opened == closed;
}

bool board_clients_done(const struct board *board)
{
    uint64_t closed = 0, opened = 0;
    for (uint32_t i = 0; i < board->slots; i++)
        if (board->slot[i].state == SLOT_LIVE)
            closed += board->slot[i].client_closed;
    for (uint32_t i = 0; i < board->slots; i++)
        if (board->slot[i].state == SLOT_LIVE)
            opened += board->slot[i].client_opened;
    return opened == closed;
}

uint64_t monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Where the clock of another machine was measured a little late, the first steps may seem to be before the run. */
uint64_t board_now(const struct board *board)
{
    const uint64_t now = monotonic_ns(), epoch = board->epoch_ns;
    return now > epoch ? now - epoch : 0;
}
