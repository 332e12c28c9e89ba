// SPDX-License-Identifier: MIT
/* Two nodes and their file, which is slow, out of reach, or written to by a process that has died since. */
#include <string.h>

#include "group/disk_paxos/disk_paxos_block.h"
#include "group/proposal.h"
#include "world.h"

#define RENEW_US 50000u
#define LOOK_US 300000u

static uint64_t io_us(struct world *world)
{
    return 200 + world_draw(world, world_draw(world, 30) ? 4000 : 250000);
}

static void begin_errand(void *context, const struct cv_disk_paxos_block *block)
{
    struct node *node = context;
    struct world *world = node->world;
    node->errand = (struct errand){
        .busy = true, .writes = block != NULL, .due = world->now + io_us(world), .fails = node->fileless};
    if (block)
        cv_disk_paxos_write(block, &node->roster, node->roster.me, node->errand.bytes);
}

/* Both agree on the same. */
static void note_entry(struct world *world, uint64_t epoch, const struct cv_proposal *proposal)
{
    for (uint32_t i = 0; i < world->entry_count; i++)
        if (world->entries[i].epoch == epoch) {
            if (cv_disk_paxos_pack(&world->entries[i].proposal) != cv_disk_paxos_pack(proposal))
                world->violation = "two entries with the same number are agreed";
            return;
        }
    if (world->entry_count < MOST_ENTRIES)
        world->entries[world->entry_count++] = (struct entry){epoch, *proposal};
}

static void agreed(void *context, uint64_t epoch, const struct cv_proposal *proposal)
{
    struct node *node = context;
    const cv_node me = node->roster.me, other = node->tie.other;
    note_entry(node->world, epoch, proposal);
    if (proposal->proposer == me && cv_set_has(proposal->members, other) && !cv_set_has(node->suspected, other))
        world_post(node->world,
                   (struct letter){
                       .kind = ENTRY, .from = me, .to = other, .epoch = epoch, .number = cv_disk_paxos_pack(proposal)},
                   true);
    cv_agreed_views_agreed(&node->views, epoch, proposal, world_clock_of(node));
}

void tie_hear(struct node *node, const struct letter *letter)
{
    struct cv_proposal proposal;
    if (cv_disk_paxos_unpack((uint32_t)letter->number, &node->roster, &proposal))
        cv_disk_paxos_hear(&node->tie, letter->epoch, &proposal);
    else
        node->world->violation = "an entry that makes no sense is told of";
}

static void refused(void *context)
{
    cv_agreed_views_refused(&((struct node *)context)->views);
}

static void other_wrote(void *context)
{
    struct node *node = context;
    if (node->world->sabotage != WRITING_UNSEEN)
        cv_grants_lend(&node->views.grants, node->tie.other, node->tie.theirs.lease, world_clock_of(node));
}

static void renewed(void *context, uint64_t asked_us)
{
    struct node *node = context;
    if (node->world->sabotage == RENEWED_OUTSIDE ||
        cv_grants_ask(&node->views.grants, node->roster.me, node->views.view.epoch, node->lease.terms,
                      world_clock_of(node)))
        world_granted(node, CV_DISK_PAXOS_VOTER, asked_us, node->lease.terms.length_us);
}

void tie_start(struct node *node)
{
    const struct cv_disk_paxos_calls calls = {.start = begin_errand,
                                              .agreed = agreed,
                                              .refused = refused,
                                              .other_wrote = other_wrote,
                                              .renewed = renewed,
                                              .context = node};
    cv_disk_paxos_init(&node->tie, &calls, node->roster.me, RENEW_US, LOOK_US, world_draw(node->world, 1u << 30));
    node->errand = (struct errand){0};
}

/* A write under way may reach the file though its process does not wait for it any more. */
void tie_die(struct node *node)
{
    struct world *world = node->world;
    const cv_node me = node->roster.me;
    if (world->sabotage == BLOCK_LOST)
        memcpy(world->file[me], world->old_file[me], sizeof world->file[me]);
    else if (node->errand.busy && node->errand.writes && !node->errand.wrote && world_draw(world, 2))
        memcpy(world->file[me], node->errand.bytes, sizeof world->file[me]);
}

static void write_block(struct node *node)
{
    struct world *world = node->world;
    const cv_node me = node->roster.me;
    memcpy(world->old_file[me], world->file[me], sizeof world->file[me]);
    memcpy(world->file[me], node->errand.bytes, sizeof world->file[me]);
    node->errand.wrote = true;
    if (world->sabotage == RENEWED_UNREAD && node->views.view.epoch == node->tie.mine.epoch &&
        node->tie.step == CV_DISK_PAXOS_PROMISE && cv_set_has(node->tie.mine.entry.members, me))
        world_granted(node, CV_DISK_PAXOS_VOTER, node->tie.asked_us, node->lease.terms.length_us);
}

static void read_blocks(struct node *node)
{
    struct world *world = node->world;
    for (cv_node i = 0; i < CV_DISK_PAXOS_MEMBERS; i++)
        if (cv_disk_paxos_read(world->file[i], &node->roster, i, &node->errand.read[i]))
            world->violation = "a block cannot be read";
    node->errand.has_read = true;
}

static void go_on(struct node *node)
{
    struct world *world = node->world;
    struct errand *errand = &node->errand;
    if (!errand->busy || world->now < errand->due)
        return;
    errand->due = world->now + io_us(world);
    /* A write that fails may have happened. */
    if (errand->writes && !errand->wrote && (!errand->fails || world_draw(world, 2))) {
        write_block(node);
    } else if (!errand->fails && !errand->has_read) {
        read_blocks(node);
    } else {
        errand->busy = false;
        node->tie.noting &= errand->fails || !errand->writes;
        cv_disk_paxos_done(&node->tie, errand->fails ? NULL : errand->read, "out of reach", world_clock_of(node));
    }
}

void tie_step(struct node *node)
{
    const uint64_t now = world_clock_of(node), granted = node->lease.asked_us[node->tie.other];
    go_on(node);
    node->tie.noting |= !world_draw(node->world, 2000); /* the rest of the block may change at any time */
    cv_disk_paxos_tick(&node->tie, now < node->lease_end_us && now > granted + node->lease.terms.length_us / 2, now);
}

static bool is_free(const struct node *node)
{
    return node->world->sabotage == RENEWED_OUTSIDE ||
           !cv_grants_left(&node->views.grants, cv_set_of(node->tie.other), world_clock_of(node));
}

bool tie_propose(struct node *node, const struct cv_proposal *proposal)
{
    return cv_disk_paxos_propose(&node->tie, proposal, is_free(node), world_clock_of(node));
}

bool tie_leads(const struct node *node)
{
    return cv_disk_paxos_leads(&node->tie, cv_set_has(node->ready & ~node->suspected, node->tie.other), is_free(node));
}

/* ---- the end of a story ---- */

static uint32_t count_serving(const struct world *world)
{
    return (uint32_t)world_may_grant(&world->nodes[0]) + (uint32_t)world_may_grant(&world->nodes[1]);
}

/* A slow file costs a lease now and then, but that many nodes must serve before long. */
static void await(struct world *world, uint32_t serving, const char *violation)
{
    const uint64_t end = world->now + 5000000;
    world_run(world, world->now + 1000000, false); /* earlier grants are over */
    while (!world->violation && count_serving(world) != serving) {
        world_run(world, world->now + 5000, false);
        if (world->now > end)
            world->violation = violation;
    }
}

void tie_judge(struct world *world)
{
    const cv_node victim = (cv_node)world_draw(world, CV_DISK_PAXOS_MEMBERS);
    struct node *node = &world->nodes[victim];
    const bool dies = world_draw(world, 2);
    memset(world->cut, dies ? 0 : 1, sizeof world->cut);
    world->nodes[0].fileless = world->nodes[1].fileless = false;
    if (dies && node->up)
        world_die(node);
    if (dies)
        node->down_until = UINT64_MAX;
    await(world, 1, "not one goes on when the other is gone");
    memset(world->cut, 0, sizeof world->cut);
    node->down_until = 0;
    await(world, 2, "not both serve when all is well again");
}
