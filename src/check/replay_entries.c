// SPDX-License-Identifier: MIT
#include "check/replay_entries.h"

#include <stdlib.h>

void replay_entries_free(struct replay_entries *entries)
{
    free(entries->entries);
}

static struct cv_entry *open_entry(const struct replay_entries *entries, cv_node node)
{
    return entries->open[node] ? &entries->entries[entries->open[node] - 1] : NULL;
}

struct cv_entry *replay_entries_request(struct replay_entries *entries, cv_node node, uint64_t now, uint64_t entered)
{
    if (entries->count == entries->room) {
        const uint64_t room = entries->room ? entries->room * 2 : 16;
        struct cv_entry *larger = realloc(entries->entries, room * sizeof *larger);
        if (!larger)
            return NULL;
        entries->entries = larger;
        entries->room = room;
    }
    entries->entries[entries->count++] =
        (struct cv_entry){.node = node, .requested = now, .entered = entered, .left = CV_NEVER};
    entries->open[node] = entries->count;
    return open_entry(entries, node);
}

bool replay_entries_enter(struct replay_entries *entries, cv_node node, uint64_t now, uint64_t fence)
{
    struct cv_entry *entry = open_entry(entries, node);
    if (!entry || entry->entered != CV_NEVER)
        entry = replay_entries_request(entries, node, now, now);
    if (!entry)
        return false;
    entry->entered = now;
    entry->fence = fence;
    return true;
}

void replay_entries_end(struct replay_entries *entries, cv_node node, uint64_t now, bool died)
{
    struct cv_entry *entry = open_entry(entries, node);
    if (!entry)
        return;
    entry->died = died;
    if (entry->entered != CV_NEVER)
        entry->left = now;
    entries->open[node] = 0;
    if (!died)
        entries->last_exit = now;
}
