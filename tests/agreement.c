// SPDX-License-Identifier: MIT
/*
 * Stories of groups in which everything goes wrong, each by its seed, and the properties of all of them: see
 * agreement/world.h. After the faults, all members must agree again within a few seconds.
 *
 * usage: agreement [--stories N] [--seed S]
 */
#include "agreement/world.h"
#include "group/raft/agreement_requests.h"

#include <stdio.h>

#include "core/parse.h"

#define CHAOS_MS 3000u
#define PEACE_MS 6000u

static uint64_t below(struct world *world, uint64_t limit)
{
    return cv_random_below(&world->random, limit);
}

static void pass(struct world *world, uint32_t ms)
{
    while (ms-- > 0)
        world_step(world);
}

/* ---- what goes wrong ---- */

/* Cuts the side off from the rest; one way: it can hear, but not be heard. */
static void cut_off(struct world *world, uint32_t side, bool one_way)
{
    for (uint32_t i = 0; i < world->count; i++) {
        for (uint32_t j = 0; j < world->count; j++) {
            const bool leaves = (side >> i & 1) > (side >> j & 1), enters = (side >> i & 1) < (side >> j & 1);
            world->cut[i][j] = leaves || (enters && !one_way);
        }
    }
}

/* Every member reaches a majority, and no two the same. */
static void ring_of_majorities(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        for (uint32_t j = 0; j < world->count; j++) {
            const uint32_t apart = (i + world->count - j) % world->count;
            world->cut[i][j] = apart > world->count / 4 + 1 && world->count - apart > world->count / 4 + 1;
        }
    }
}

static void partition(struct world *world)
{
    const struct node *leader = world_leader(world);
    switch (below(world, 6)) {
    case 0:
        cut_off(world, (uint32_t)below(world, 1u << world->count), false);
        break;
    case 1:
        cut_off(world, (uint32_t)below(world, 1u << world->count), true);
        break;
    case 2:
        cut_off(world, leader ? 1u << leader->number : 1, below(world, 2));
        break;
    case 3:
        ring_of_majorities(world);
        break;
    default:
        memset(world->cut, 0, sizeof world->cut);
        break;
    }
}

static void crash_or_start(struct world *world)
{
    const struct node *leader = world_leader(world);
    const uint32_t number = leader && below(world, 2) ? leader->number : (uint32_t)below(world, world->count);
    if (world->nodes[number].agreement) {
        world_crash(world, number);
        if (below(world, 2))
            return; /* and stays away for a while */
    }
    world_start(world, number);
    world->restarts++;
}

static void pause_somebody(struct world *world)
{
    const struct node *leader = world_leader(world);
    const uint32_t number = leader && below(world, 2) ? leader->number : (uint32_t)below(world, world->count);
    world->nodes[number].paused_until_ms = world->now_ms + below(world, 4 * world->election_ms);
}

static void stall_a_disk(struct world *world)
{
    world->nodes[below(world, world->count)].stalled_until_ms = world->now_ms + below(world, 5 * world->election_ms);
}

static void break_a_disk(struct world *world)
{
    struct node *node = &world->nodes[below(world, world->count)];
    if (node->agreement && node->disk.fail_in == 0) {
        node->disk.fail_in = 1 + (uint32_t)below(world, 6);
        node->disk.failure = below(world, 2) ? ENOSPC : EIO;
    }
}

static void change_members(struct world *world)
{
    static const enum cv_seat_role roles[] = {CV_SEAT_VOTER, CV_SEAT_STANDBY, CV_SEAT_SPARE};
    struct node *leader = world_leader(world);
    uint64_t number;
    if (!leader || world->count == world->voters)
        return;
    const uint64_t id = world->voters + 1 + below(world, world->count - world->voters);
    int error = cv_agreement_add(leader->agreement, id, &number);
    if (error != 0 && below(world, 4) == 0)
        error = cv_agreement_remove(leader->agreement, id, &number);
    else if (error != 0)
        error = cv_agreement_assign(leader->agreement, id, roles[below(world, 3)], &number);
    world->changes += error == 0;
}

static void transfer(struct world *world)
{
    struct node *leader = world_leader(world);
    uint64_t number;
    if (leader && cv_agreement_transfer(leader->agreement, below(world, world->voters + 1), &number) == 0) {
        leader->claim_ms = 0;
        world->transfers++;
    }
}

static void misbehave(struct world *world)
{
    static void (*const deeds[])(struct world *) = {
        partition,    partition,    partition, crash_or_start, crash_or_start, pause_somebody, stall_a_disk,
        stall_a_disk, break_a_disk, transfer,  change_members, change_members, change_members, change_members};
    deeds[below(world, sizeof deeds / sizeof *deeds)](world);
}

/* ---- a story ---- */

static void chaos(struct world *world)
{
    world->loss_32 = below(world, 2) ? below(world, UINT32_MAX / 4) : 0;
    world->duplicate_32 = below(world, 2) ? below(world, UINT32_MAX / 4) : 0;
    const uint64_t every_ms = 20 + below(world, 300), propose_ms = 1 + below(world, 20);
    for (uint32_t ms = 0; ms < CHAOS_MS && world->wrong[0] == '\0'; ms++) {
        world_step(world);
        if (below(world, every_ms) == 0)
            misbehave(world);
        struct node *node = &world->nodes[below(world, world->count)];
        if (below(world, propose_ms) == 0 && node->agreement && node->paused_until_ms <= world->now_ms)
            world_propose(node);
    }
}

static bool everybody_knows(const struct world *world, uint64_t index)
{
    for (uint32_t i = 0; i < world->voters; i++) {
        if (world->nodes[i].last_index < index)
            return false;
    }
    return true;
}

/*
 * All faults are over: an entry proposed now must reach every member, and no acknowledged entry may be missing. If
 * messages take nearly as long as members wait for a leader, the leader may be deposed with the entry, and the next one
 * is asked.
 */
static void peace(struct world *world)
{
    world_heal(world);
    uint64_t entry = 0, term = 0;
    for (uint32_t ms = 0; ms < PEACE_MS && world->wrong[0] == '\0'; ms++) {
        struct node *leader = world_leader(world);
        const uint64_t leads = leader ? cv_agreement_status(leader->agreement).term : 0;
        if (ms > PEACE_MS / 2 && leads > term && !world->acknowledged[entry] && world_propose(leader)) {
            entry = world->proposed;
            term = leads;
        }
        world_step(world);
        if (entry != 0 && world->acknowledged[entry] && everybody_knows(world, world->highest_index))
            break;
    }
    if (entry == 0 || !world->acknowledged[entry])
        world_wrong(world, "nothing is agreed on any more");
    else if (!everybody_knows(world, world->highest_index))
        world_wrong(world, "not everybody learns what is agreed on");
}

/* And the members. */
static void check_seats(struct world *world)
{
    struct node *leader = world_leader(world);
    struct cv_seat known[MAX_NODES], seats[MAX_NODES];
    if (!leader)
        return;
    const size_t count = cv_agreement_seats(leader->agreement, known, MAX_NODES);
    for (uint32_t i = 0; i < world->voters; i++) {
        if (cv_agreement_seats(world->nodes[i].agreement, seats, MAX_NODES) != count)
            world_wrong(world, "%u and %u do not agree on how many they are", leader->number + 1, i + 1);
        for (size_t j = 0; j < count; j++) {
            if (known[j].id != seats[j].id || known[j].role != seats[j].role)
                world_wrong(world, "%u and %u do not agree on who they are", leader->number + 1, i + 1);
        }
    }
}

static bool tell_story(uint64_t seed, struct world *world, uint64_t totals[8])
{
    world_open(world, seed, (uint32_t[]){3, 5, 3, 2, 1}[seed % 5], seed % 3 == 0 ? 2 : 0);
    chaos(world);
    peace(world);
    check_seats(world);
    const uint64_t story[8] = {world->acknowledgements, world->elections,      world->crashes,  world->restarts,
                               world->changes,          world->snapshots_sent, world->transfers};
    for (uint32_t i = 0; i < 7; i++)
        totals[i] += story[i];
    for (uint32_t i = 0; i < world->count; i++)
        totals[7] += world->nodes[i].disk.torn_tail;
    world_close(world);
    if (world->wrong[0] != '\0')
        printf("%s\n", world->wrong);
    return world->wrong[0] == '\0';
}

/* ---- examples ---- */

/* Members without faults, one of which leads. */
static struct node *begin_with(struct world *world, uint32_t voters, uint32_t joiners)
{
    world_open(world, 1, voters, joiners);
    world->delay_ms = 1;
    world_heal(world);
    pass(world, 1000);
    struct node *leader = world_leader(world);
    if (!leader)
        world_wrong(world, "nobody leads");
    return leader ? leader : &world->nodes[0];
}

static struct node *begin(struct world *world)
{
    return begin_with(world, 3, 0);
}

/* Pre-vote: a member that was cut off for a while does not disturb the others when it is back. */
static void a_return_changes_nothing(struct world *world)
{
    const struct node *leader = begin(world);
    const uint64_t term = cv_agreement_status(leader->agreement).term;
    cut_off(world, 1u << ((leader->number + 1) % 3), false);
    pass(world, 1000);
    world_heal(world);
    pass(world, 500);
    if (world_leader(world) != leader || cv_agreement_status(leader->agreement).term != term)
        world_wrong(world, "a return has deposed the leader");
}

/* A member that restarts has forgotten its leader, and must not vote for a third member against it. */
static void a_restart_breaks_no_promise(struct world *world)
{
    const struct node *leader = begin(world);
    const uint32_t forgetful = (leader->number + 1) % 3, third = (leader->number + 2) % 3;
    world->cut[leader->number][third] = world->cut[third][leader->number] = true;
    for (uint32_t round = 0; round < 200; round++) {
        pass(world, 25);
        world_crash(world, forgetful);
        world_start(world, forgetful);
        world->nodes[forgetful].disk_chance = 100;
    }
}

/*
 * Figure 8 of the paper, (c): a majority has an entry of an earlier term, and the leader has none of its own term yet.
 */
static void earlier_terms_are_not_counted(struct world *world)
{
    struct node *leader = begin(world);
    /* The entry reaches no other member; its leader is killed when it has it on disk, and comes back. */
    cut_off(world, 1u << leader->number, false);
    world_propose(leader);
    pass(world, 5);
    world_crash(world, leader->number);
    world_start(world, leader->number);
    cut_off(world, 1u << ((leader->number + 1) % 3), false);
    for (uint32_t ms = 0; ms < 1000; ms++) {
        const uint64_t term = leader->highest_term;
        leader->disk_chance = 100;
        pass(world, 1);
        /* Its vote for itself is on disk; the disk writes nothing else for a while. */
        if (leader->highest_term > term) {
            leader->disk_chance = 0;
            pass(world, 60);
        }
    }
    world_heal(world);
    pass(world, 1000);
}

/* An entry of a dead leader gets to a member's disk when there is another leader, which must not count it. */
static void a_late_disk_answers_nobody(struct world *world)
{
    struct node *leader = begin_with(world, 5, 0);
    struct node *late = &world->nodes[(leader->number + 1) % 5];
    cut_off(world, 1u << leader->number | 1u << late->number, false);
    late->stalled_until_ms = world->now_ms + 10000;
    world_propose(leader);
    pass(world, 5);
    world_crash(world, leader->number);
    memset(world->cut, 0, sizeof world->cut);
    for (uint32_t ms = 0; ms < 2000 && !world_leader(world); ms++)
        pass(world, 1);
    pass(world, 3);
    late->stalled_until_ms = 0;
    pass(world, 100);
    if (!world_leader(world))
        world_wrong(world, "nobody takes over");
}

/* The only other voter is killed before it learns that it is one. It must vote nevertheless, or no member can lead. */
static void whoever_is_asked_votes(struct world *world)
{
    struct node *leader = begin_with(world, 1, 1);
    struct node *other = &world->nodes[1];
    struct cv_seat seats[2] = {{0}};
    uint64_t number;
    cv_agreement_add(leader->agreement, 2, &number);
    pass(world, 100);
    cv_agreement_assign(leader->agreement, 2, CV_SEAT_STANDBY, &number);
    pass(world, 500);
    other->stalled_until_ms = world->now_ms + 10000;
    cv_agreement_assign(leader->agreement, 2, CV_SEAT_VOTER, &number);
    for (uint32_t ms = 0; ms < 500 && seats[1].role != CV_SEAT_VOTER; ms++) {
        pass(world, 1);
        cv_agreement_seats(leader->agreement, seats, 2);
    }
    if (seats[1].role != CV_SEAT_VOTER)
        world_wrong(world, "nobody is made a voter");
    world_crash(world, other->number);
    pass(world, 500);
    world_heal(world);
    pass(world, 2000);
    if (!world_leader(world))
        world_wrong(world, "nobody leads any more");
}

/* A full disk ends its own member, and no other. */
static void a_full_disk_ends_one(struct world *world)
{
    struct node *leader = begin(world);
    leader->disk.fail_in = 1;
    leader->disk.failure = ENOSPC;
    world_propose(leader);
    pass(world, 1000);
    uint64_t number;
    if (!leader->failed || cv_agreement_status(leader->agreement).leads || cv_agreement_heard_ms(leader->agreement) ||
        cv_agreement_propose(leader->agreement, "x", 1, &number) != CV_EFILE)
        world_wrong(world, "a full disk is not the end");
    if (!world_leader(world) || world_leader(world) == leader)
        world_wrong(world, "nobody takes over");
}

/*
 * Both members that are left must have missed the leader, so most failovers take 1.3 to 2 times the election timeout.
 */
static void failover_is_fast(struct world *world)
{
    uint32_t fast = 0;
    begin(world);
    for (uint32_t round = 0; round < 40 && world->wrong[0] == '\0'; round++) {
        const uint32_t dead = world_leader(world)->number;
        const uint64_t killed_ms = world->now_ms;
        world_crash(world, dead);
        while (!world_leader(world) && world->now_ms < killed_ms + 5000)
            pass(world, 1);
        fast += world->now_ms - killed_ms <= 2 * world->election_ms;
        world_heal(world);
        pass(world, 500);
        if (!world_leader(world))
            world_wrong(world, "nobody takes over");
    }
    if (fast < 30)
        world_wrong(world, "only %u of 40 failovers are fast", fast);
}

static uint64_t tell_examples(struct world *world)
{
    static void (*const examples[])(struct world *) = {a_return_changes_nothing,
                                                       a_restart_breaks_no_promise,
                                                       earlier_terms_are_not_counted,
                                                       a_late_disk_answers_nobody,
                                                       whoever_is_asked_votes,
                                                       a_full_disk_ends_one,
                                                       failover_is_fast};
    uint64_t failures = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++) {
        examples[i](world);
        world_close(world);
        if (world->wrong[0] != '\0') {
            printf("example %zu: %s\n", i + 1, world->wrong);
            failures++;
        }
    }
    return failures;
}

int main(int argc, char **argv)
{
    uint64_t stories = 600, seed = 1, totals[8] = {0};
    for (int i = 1; i < argc; i += 2) {
        uint64_t *value = strcmp(argv[i], "--stories") == 0 ? &stories : strcmp(argv[i], "--seed") == 0 ? &seed : NULL;
        if (!value || i + 1 == argc || !cv_parse_number(cv_text(argv[i + 1]), UINT32_MAX, value)) {
            fprintf(stderr, "usage: agreement [--stories N] [--seed S]\n");
            return 2;
        }
    }
    struct world *world = malloc(sizeof *world);
    uint64_t failures = tell_examples(world);
    for (uint64_t i = 0; i < stories && failures < 5; i++)
        failures += !tell_story(seed + i, world, totals);
    free(world);
    static const char *const names[8] = {"entries", "leaders",        "crashes",   "returns",
                                         "changes", "snapshots sent", "transfers", "torn writes"};
    printf("%llu stories", (unsigned long long)stories);
    for (uint32_t i = 0; i < 8; i++) {
        printf(", %llu %s", (unsigned long long)totals[i], names[i]);
        /* A story in which nothing happens proves nothing. */
        if (stories >= 100 && totals[i] == 0) {
            printf("\nno %s in all these stories", names[i]);
            failures++;
        }
    }
    printf("\n");
    return failures > 0;
}
