// SPDX-License-Identifier: MIT
/* The members of the world's group, and how they change. */
#include "world.h"

/* The roster as an entry has it. */
void seats_take(struct node *node, const struct cv_seating *seating)
{
    struct cv_roster *roster = &node->roster;
    for (cv_node place = 0; place < MOST_NODES; place++) {
        if (roster->ids[place] != seating->ids[place])
            cv_lease_forget(&node->lease, place);
        roster->ids[place] = seating->ids[place];
        roster->attributes[place] = seating->attributes[place];
    }
    roster->generation = seating->generation;
    roster->standbys = seating->standbys;
}

/*
 * A new node at that place, which knows nothing. The former node is gone, but its clients may still believe in locks.
 */
static void settle_in(struct node *node, const struct cv_seating *seating)
{
    if (node->up)
        world_die(node);
    node->stored = node->applied = 0;
    node->belongs = node->is_new = true;
    node->down_until = node->world->now + world_draw(node->world, 500000);
    seats_take(node, seating);
    for (cv_node other = 0; other < node->world->count; other++)
        world_lose_stream(node->world, node->roster.me, other);
}

void seats_change(struct world *world, const struct cv_seating *before, const struct cv_seating *after)
{
    world->term_changes += before->terms.values[CV_TERM_LEASE] != after->terms.values[CV_TERM_LEASE];
    world->changes += before->generation != after->generation || before->voters != after->voters;
    for (cv_node place = 0; place < world->count; place++) {
        if (before->ids[place] == after->ids[place])
            continue;
        if (after->ids[place] == CV_NO_ID)
            world->nodes[place].belongs = false; /* it may or may not hear of it */
        else
            settle_in(&world->nodes[place], after);
    }
}

/* The log's own voters change one at a time, some time after the entry. */
void seats_follow(struct world *world)
{
    const struct cv_seating *seating = &world->entries[world->entry_count - 1].proposal.seating;
    const cv_set differ = seating->voters ^ world->voters;
    if (!differ || world->leader == CV_NOBODY || !world_chance(world, 100))
        return;
    const cv_set add = differ & seating->voters, one = (add ? add : differ) & -(add ? add : differ);
    const cv_set reached = world_reach(world, world->leader);
    const bool caught_up = !add || world->nodes[__builtin_ctzll(one)].stored == world->entry_count;
    if (one != cv_set_of(world->leader) && caught_up && cv_majority(reached, world->voters) &&
        cv_majority(reached, world->voters ^ one))
        world->voters ^= one;
}

/* A node is to join or to leave, or gets another vote. */
void seats_ask(struct world *world)
{
    struct node *leader = world->leader == CV_NOBODY ? NULL : &world->nodes[world->leader];
    struct cv_change change = {.kind = world_chance(world, 2) ? CV_CHANGE_JOIN : CV_CHANGE_LEAVE};
    if (!leader || !leader->up || leader->paused || !world->entry_count)
        return;
    const struct cv_seating *seating = &world->entries[world->entry_count - 1].proposal.seating;
    const cv_node place = (cv_node)world_draw(world, world->count);
    const bool again = cv_set_has(seating->present, place) && world_chance(world, 2);
    if (change.kind == CV_CHANGE_JOIN && !again && cv_set_count(seating->present) == world->count)
        return;
    if (change.kind == CV_CHANGE_LEAVE && cv_set_count(seating->present) <= 2)
        return;
    change.id = change.kind == CV_CHANGE_LEAVE || again ? seating->ids[place] : ++world->last_id;
    change.attribute = (uint32_t)world_draw(world, 9);
    change.standby = world_chance(world, 3);
    cv_agreed_views_change(&leader->views, &change, world_clock_of(leader));
}

void seats_ask_terms(struct world *world)
{
    static const uint32_t lengths_ms[] = {150, 300, 600, 1200};
    struct node *leader = world->leader == CV_NOBODY ? NULL : &world->nodes[world->leader];
    const struct cv_change change = {
        .kind = CV_CHANGE_TERM, .id = CV_TERM_LEASE, .attribute = lengths_ms[world_draw(world, 4)]};
    if (leader && leader->up && !leader->paused && world->entry_count)
        cv_agreed_views_change(&leader->views, &change, world_clock_of(leader));
}
