// SPDX-License-Identifier: MIT
/*
 * Stories of a group with agreed views: at every step all nodes that may grant are in one view, and at most one client
 * believes that it holds the lock. With --sabotage something is broken on purpose, and the test must find it.
 *
 *     agreed_views [--tied] [--sabotage] [--stories N] [--seed S]
 *
 * One sabotage shows so rarely that only runs of many stories try it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agreed_views/world.h"

#define STORY_US 12000000u
#define MOST_STORIES 20000u /* stories until a sabotage must have been found */

static const char *const names[SABOTAGES] = {
    [CLOCKS_BEYOND] = "clocks that drift three times as much as stated",
    [ENTRIES_FORGOT] = "a voter that forgets what was agreed",
    [NO_QUARANTINE] = "a member that returns at once",
    [BLIND_REPORT] = "a member that does not look at the clock",
    [OLD_VOTERS] = "leases counted by voters of the past",
    [WRITING_UNSEEN] = "one of two that takes no notice of what the other writes",
    [RENEWED_UNREAD] = "one of two that renews its lease unread",
    [RENEWED_OUTSIDE] = "one of two that was left out and does not wait",
    [BLOCK_LOST] = "one of two that forgets what it wrote",
    [OWN_LENGTH] = "a voter that counts leases by its own terms",
    [RECOUNTED] = "a lease that is longer after the fact",
    [SHORT_MEMORY] = "a member that returns and waits by the last terms alone",
    [FORMER_DROPPED] = "former terms that are forgotten at once",
};

static bool tied, sabotaged;

static uint64_t number(int argc, char **argv, const char *name, uint64_t fallback)
{
    for (int i = 1; i + 1 < argc; i++)
        if (strcmp(argv[i], name) == 0)
            return strtoull(argv[i + 1], NULL, 10);
    return fallback;
}

static int tell_stories(struct world *world, uint64_t seed, uint64_t stories)
{
    uint64_t grants = 0, views = 0, lapses = 0, entries = 0, changes = 0, term_changes = 0;
    for (uint64_t last = seed + stories; seed < last; seed++) {
        world_play(world, seed, tied, NOTHING_BROKEN, STORY_US);
        if (world->violation) {
            printf("seed %" PRIu64 ", %" PRIu64 " us: %s\n", seed, world->now, world->violation);
            return 1;
        }
        grants += world->grants;
        views += world->views;
        lapses += world->lapses;
        entries += world->entry_count;
        changes += world->changes;
        term_changes += world->term_changes;
    }
    printf("%" PRIu64 " stories: %" PRIu64 " entries agreed, %" PRIu64 " times a member began a view, %" PRIu64
           " grants, %" PRIu64 " lost in time, %" PRIu64 " changes of who belongs and who votes, %" PRIu64
           " of the length of leases\n",
           stories, entries, views, grants, lapses, changes, term_changes);
    if (grants >= 10 * stories && views >= 10 * stories && lapses > 0 &&
        (tied || (changes >= stories && term_changes >= stories)))
        return 0;
    printf("hardly anything happened\n");
    return 1;
}

static int find_sabotage(struct world *world, enum sabotage sabotage, uint64_t seed)
{
    for (uint64_t i = 0; i < MOST_STORIES; i++) {
        world_play(world, seed + i, tied, sabotage, STORY_US);
        if (!world->violation)
            continue;
        printf("%s: %s, in the story of seed %" PRIu64 "\n", names[sabotage], world->violation, seed + i);
        return 0;
    }
    printf("%s: not found in %u stories\n", names[sabotage], MOST_STORIES);
    return 1;
}

/* Two nodes with a file have no log whose entries could be forgotten, and always the same voters. */
static bool fits(enum sabotage sabotage, uint64_t stories)
{
    if (tied)
        return sabotage != ENTRIES_FORGOT && sabotage != OLD_VOTERS && sabotage < OWN_LENGTH;
    return (sabotage < WRITING_UNSEEN || sabotage >= OWN_LENGTH) && (sabotage != ENTRIES_FORGOT || stories >= 10000);
}

int main(int argc, char **argv)
{
    const uint64_t seed = number(argc, argv, "--seed", 1), stories = number(argc, argv, "--stories", 100);
    struct world *world = malloc(sizeof *world);
    if (!world)
        return 2;
    for (int i = 1; i < argc; i++) {
        tied |= strcmp(argv[i], "--tied") == 0;
        sabotaged |= strcmp(argv[i], "--sabotage") == 0;
    }
    int code = tell_stories(world, seed, stories);
    for (enum sabotage sabotage = NOTHING_BROKEN + 1; sabotage < SABOTAGES; sabotage++)
        if (sabotaged && fits(sabotage, stories))
            code |= find_sabotage(world, sabotage, seed);
    free(world);
    return code;
}
