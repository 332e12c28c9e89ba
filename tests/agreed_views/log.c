// SPDX-License-Identifier: MIT
/* The log of the world: its leader, its entries, and when each node learns of them. */
#include "world.h"

bool world_reaches(const struct world *world, cv_node a, cv_node b)
{
    const struct node *from = &world->nodes[a], *to = &world->nodes[b];
    return a == b || (from->up && to->up && !from->paused && !to->paused && !world->cut[a][b] && !world->cut[b][a]);
}

cv_set world_reach(const struct world *world, cv_node node)
{
    cv_set set = 0;
    for (cv_node other = 0; world->nodes[node].up && !world->nodes[node].paused && other < world->count; other++)
        if (world_reaches(world, node, other))
            set |= cv_set_of(other);
    return set;
}

static void elect(struct world *world)
{
    const bool fine = world->leader != CV_NOBODY && cv_majority(world_reach(world, world->leader), world->voters);
    if (fine && !world_chance(world, 3000)) {
        world->leader_gone = world->now;
        return;
    }
    if (!fine && world->now < world->leader_gone + 150000 + world_draw(world, 150000))
        return;
    const cv_node candidate = (cv_node)world_draw(world, world->count);
    const struct node *node = &world->nodes[candidate];
    if (!cv_set_has(world->voters, candidate) || node->stored != world->entry_count ||
        !cv_majority(world_reach(world, candidate), world->voters))
        return;
    world->leader = candidate;
    world->leader_gone = world->now;
    world->pending_due = 0;
}

static void commit(struct world *world)
{
    if (!world->pending_due || world->now < world->pending_due || world->pending_by != world->leader)
        return;
    const cv_set reached = world_reach(world, world->leader);
    world->pending_due = 0;
    if (!cv_majority(reached, world->voters) || world->entry_count == MOST_ENTRIES) {
        if (world->nodes[world->leader].up)
            cv_agreed_views_refused(&world->nodes[world->leader].views);
        return;
    }
    const struct entry *before = world->entry_count ? &world->entries[world->entry_count - 1] : NULL;
    const uint64_t last = before ? before->epoch : 0;
    world->entries[world->entry_count++] = (struct entry){last + 1 + world_draw(world, 3), world->pending};
    if (before)
        seats_change(world, &before->proposal.seating, &world->pending.seating);
    for (cv_node i = 0; i < world->count; i++)
        if (cv_set_has(reached, i) && (cv_set_has(world->voters, i) || world_chance(world, 2)))
            world->nodes[i].stored = world->entry_count;
}

/* The leader, the agreed entries, and the voters. */
void log_keep(struct world *world)
{
    elect(world);
    commit(world);
    if (world->entry_count)
        seats_follow(world);
}

void log_apply(struct node *node)
{
    struct world *world = node->world;
    if (world->leader == CV_NOBODY || !world_reaches(world, world->leader, node->roster.me) ||
        (!node->belongs && !world_chance(world, 50)))
        return;
    if (node->stored < world->entry_count && world_chance(world, 20))
        node->stored = world->entry_count;
    if (world->now < node->next_apply || node->applied == node->stored)
        return;
    const struct entry *entry = &world->entries[node->applied++];
    node->next_apply = world->now + world_draw(world, world_chance(world, 10) ? 200000 : 4000);
    if (entry->epoch > node->views.epoch)
        seats_take(node, &entry->proposal.seating);
    cv_agreed_views_agreed(&node->views, entry->epoch, &entry->proposal, world_clock_of(node));
    if (world->sabotage == OWN_LENGTH)
        node->views.grants.terms = cv_terms_lease(&world->terms);
}
