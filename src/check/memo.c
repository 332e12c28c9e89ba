// SPDX-License-Identifier: MIT
#include "check/memo.h"

#include "check/memory.h"
#include "core/error.h"

#define FIRST_ENTRIES 1024u

int memo_init(struct memo *memo)
{
    *memo = (struct memo){.entries = memory_map(FIRST_ENTRIES * sizeof *memo->entries), .mask = FIRST_ENTRIES - 1};
    return memo->entries ? 0 : CV_ENOMEM;
}

void memo_free(struct memo *memo)
{
    if (memo->entries)
        memory_unmap(memo->entries, memo_bytes(memo));
    *memo = (struct memo){0};
}

static void place(struct memo *memo, struct memo_entry entry)
{
    size_t at = memo_place(memo, entry.one, entry.other);
    while (memo->entries[at].result)
        at = (at + 1) & memo->mask;
    memo->entries[at] = entry;
}

int memo_add(struct memo *memo, uint64_t one, uint64_t other, uint64_t result)
{
    if (++memo->count > memo->mask / 2) {
        const struct memo old = *memo;
        memo->mask = old.mask * 2 + 1;
        memo->entries = memory_map(memo_bytes(memo));
        if (!memo->entries) {
            *memo = old;
            return CV_ENOMEM;
        }
        for (size_t i = 0; i <= old.mask; i++)
            if (old.entries[i].result)
                place(memo, old.entries[i]);
        memory_unmap(old.entries, memo_bytes(&old));
    }
    place(memo, (struct memo_entry){one, other, result});
    return 0;
}

void memo_change(struct memo *memo, uint64_t one, uint64_t other, uint64_t result)
{
    size_t at = memo_place(memo, one, other);
    while (memo->entries[at].one != one || memo->entries[at].other != other)
        at = (at + 1) & memo->mask;
    memo->entries[at].result = result;
}
