// SPDX-License-Identifier: MIT
#include "agreement/world.h"
#include "group/raft/agreement_hear.h"
#include "group/raft/agreement_requests.h"

#include <raft.h>
#include <stdarg.h>
#include <stdio.h>

#include "group/raft/agreement_parts.h"

#define ENVELOPE_BYTES sizeof(struct envelope)

void world_wrong(struct world *world, const char *format, ...)
{
    if (world->wrong[0] != '\0')
        return;
    const int head =
        snprintf(world->wrong, sizeof world->wrong, "seed %llu, %llu ms: ", (unsigned long long)world->seed,
                 (unsigned long long)world->now_ms);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(world->wrong + head, sizeof world->wrong - (size_t)head, format, arguments);
    va_end(arguments);
}

static uint64_t below(struct world *world, uint64_t limit)
{
    return cv_random_below(&world->random, limit);
}

/* ---- what must never happen ---- */

static void check_vote(struct world *world, uint32_t voter, uint64_t term, uint32_t candidate)
{
    uint8_t *vote = &world->nodes[voter].votes[term];
    if (*vote != 0 && *vote != candidate + 1)
        world_wrong(world, "%u votes for %u and %u in term %llu", voter + 1, *vote, candidate + 1,
                    (unsigned long long)term);
    *vote = (uint8_t)(candidate + 1);
}

static void check_leader(struct world *world, uint32_t leader, uint64_t term)
{
    uint8_t *known = &world->leaders[term];
    if (*known != 0 && *known != leader + 1)
        world_wrong(world, "%u and %u lead in term %llu", *known, leader + 1, (unsigned long long)term);
    if (*known != 0)
        return;
    *known = (uint8_t)(leader + 1);
    world->elections++;
    for (uint32_t i = 0; i < world->count; i++) {
        /* A late message of the leader of an earlier term does no harm. */
        if (i != leader && world->nodes[i].claim_ms > world->now_ms && world->nodes[i].claim_term < term)
            world_wrong(world, "%u leads though %u was promised silence until %llu ms", leader + 1, i + 1,
                        (unsigned long long)world->nodes[i].claim_ms);
    }
}

/* Terms of entries, also of those that are still on their way to the disk; 0 if they are not in the log. */
static uint64_t term_at(const struct node *node, uint64_t index)
{
    const struct cv_journal *log = &node->agreement->mirror;
    return log->count > 0 && index >= log->first && index < journal_next(log) ? log->entries[index - log->first].term
                                                                              : 0;
}

/* A member that tells a leader that it has all entries up to an index must have the leader's entries. */
static void check_answer(struct world *world, const struct node *node, const struct node *leader,
                         const struct raft_append_entries_result *result)
{
    if (result->rejected != 0 || !leader->agreement || leader->agreement->raft.state != RAFT_LEADER ||
        leader->agreement->raft.current_term != result->term)
        return;
    for (uint64_t index = 1; index <= result->last_log_index; index++) {
        const uint64_t mine = term_at(node, index), yours = term_at(leader, index);
        if (mine != yours && mine != 0 && yours != 0)
            world_wrong(world, "%u tells %u that it has %llu, but %llu is of term %llu, not %llu", node->number + 1,
                        leader->number + 1, (unsigned long long)result->last_log_index, (unsigned long long)index,
                        (unsigned long long)mine, (unsigned long long)yours);
    }
}

/* A leader counts the members that have an entry of its own term, never those of an entry of an earlier term. */
static void check_commit(struct world *world, struct node *node)
{
    const struct raft *raft = &node->agreement->raft;
    const bool leads = raft->state == RAFT_LEADER;
    if (leads && raft->current_term == node->led_term && raft->commit_index > node->led_commit &&
        term_at(node, raft->commit_index) != raft->current_term)
        world_wrong(world, "%u commits %llu, of an earlier term", node->number + 1,
                    (unsigned long long)raft->commit_index);
    node->led_term = leads ? raft->current_term : 0;
    node->led_commit = raft->commit_index;
}

/* A member's messages must agree with all its earlier ones, also those before a crash. */
static void check_message(struct world *world, uint32_t from, uint32_t to, const void *bytes, size_t length)
{
    struct raft_message message;
    if (length < ENVELOPE_BYTES ||
        cv_raft_decode((const unsigned char *)bytes + ENVELOPE_BYTES, length - ENVELOPE_BYTES, &message) != 0) {
        world_wrong(world, "%u sends what cannot be read", from + 1);
        return;
    }
    struct node *node = &world->nodes[from];
    /* Pre-vote: a candidate asks for the votes of the next term; the answer repeats that term. */
    const bool question = message.type == RAFT_IO_REQUEST_VOTE && message.request_vote.pre_vote;
    const bool answer =
        message.type == RAFT_IO_REQUEST_VOTE_RESULT && message.request_vote_result.pre_vote == raft_tribool_true;
    const uint64_t term = answer ? node->highest_term : cv_raft_term(&message) - question;
    if (term >= MAX_TERMS)
        world_wrong(world, "term %llu", (unsigned long long)term);
    else if (term < node->highest_term)
        world_wrong(world, "%u goes back from term %llu to %llu", from + 1, (unsigned long long)node->highest_term,
                    (unsigned long long)term);
    else if (message.type == RAFT_IO_REQUEST_VOTE && !question)
        check_vote(world, from, term, from);
    else if (message.type == RAFT_IO_REQUEST_VOTE_RESULT && message.request_vote_result.vote_granted && !answer)
        check_vote(world, from, term, to);
    else if (message.type == RAFT_IO_APPEND_ENTRIES || message.type == RAFT_IO_INSTALL_SNAPSHOT)
        check_leader(world, from, term);
    if (message.type == RAFT_IO_APPEND_ENTRIES_RESULT)
        check_answer(world, node, &world->nodes[to], &message.append_entries_result);
    world->snapshots_sent += message.type == RAFT_IO_INSTALL_SNAPSHOT;
    node->highest_term = term;
    cv_raft_discard(&message);
}

/* ---- the members' calls ---- */

static void transmit(struct world *world, uint32_t from, uint32_t to, const void *bytes, size_t length)
{
    if (world->packet_count == world->packet_capacity) {
        world->packet_capacity = 2 * world->packet_capacity + 64;
        world->packets = realloc(world->packets, world->packet_capacity * sizeof *world->packets);
    }
    struct packet *packet = &world->packets[world->packet_count++];
    *packet = (struct packet){.arrives_ms = world->now_ms + 1 + below(world, world->delay_ms),
                              .from = from,
                              .to = to,
                              .length = length,
                              .bytes = malloc(length)};
    memcpy(packet->bytes, bytes, length);
}

static void on_send(void *context, uint64_t to, const void *bytes, size_t length)
{
    struct node *node = context;
    struct world *world = node->world;
    if (to == 0 || to > world->count) {
        world_wrong(world, "%u sends to %llu", node->number + 1, (unsigned long long)to);
        return;
    }
    check_message(world, node->number, (uint32_t)to - 1, bytes, length);
    do {
        if (!world->cut[node->number][to - 1] && !cv_random_chance(&world->random, world->loss_32))
            transmit(world, node->number, (uint32_t)to - 1, bytes, length);
    } while (cv_random_chance(&world->random, world->duplicate_32));
}

static void on_committed(void *context, uint64_t index, const void *bytes, size_t length)
{
    struct node *node = context;
    struct world *world = node->world;
    uint64_t entry = 0;
    if (length != ENTRY_BYTES || index >= MAX_INDEX) {
        world_wrong(world, "%u is told entry %llu of %zu bytes", node->number + 1, (unsigned long long)index, length);
        return;
    }
    memcpy(&entry, bytes, sizeof entry);
    if (index <= node->last_index)
        world_wrong(world, "%u is told entry %llu after %llu", node->number + 1, (unsigned long long)index,
                    (unsigned long long)node->last_index);
    if (world->entries[index] != 0 && world->entries[index] != entry)
        world_wrong(world, "%u is told %llu at index %llu, which is %llu", node->number + 1, (unsigned long long)entry,
                    (unsigned long long)index, (unsigned long long)world->entries[index]);
    world->entries[index] = entry;
    if (index > world->highest_index)
        world->highest_index = index;
    if (entry < MAX_INDEX)
        world->seen[entry] = true;
    node->last_index = index;
}

static void on_leader(void *context, uint64_t leader, uint64_t term)
{
    struct node *node = context;
    struct world *world = node->world;
    if (leader == 0 || term >= MAX_TERMS)
        return;
    check_leader(world, (uint32_t)leader - 1, term);
    if (leader == node->number + 1 && term > world->acknowledged_term && node->last_index < world->acknowledged_index)
        world_wrong(world, "%u leads, but does not know all that is agreed on", node->number + 1);
}

static void on_decided(void *context, uint64_t number, bool done)
{
    struct node *node = context;
    const uint64_t entry = node->pending[number % 16].number == number ? node->pending[number % 16].entry : 0;
    if (entry == 0 || !done)
        return;
    node->world->acknowledged[entry] = true;
    node->world->acknowledged_index = node->last_index;
    node->world->acknowledged_term = cv_agreement_status(node->agreement).term;
    node->world->acknowledgements++;
    if (!node->world->seen[entry])
        world_wrong(node->world, "%u takes %llu for done, which it was not told", node->number + 1,
                    (unsigned long long)entry);
}

static void on_failed(void *context, const char *why)
{
    struct node *node = context;
    node->failed = true;
    if (node->disk.fail_in == 0)
        world_wrong(node->world, "%u fails: %s", node->number + 1, why);
}

static void on_wake(void *context)
{
    (void)context;
}

static uint64_t on_now(void *context)
{
    return ((struct node *)context)->world->now_ms;
}

/* ---- members ---- */

void world_start(struct world *world, uint32_t number)
{
    struct node *node = &world->nodes[number];
    struct cv_seat seats[MAX_NODES];
    for (uint32_t i = 0; i < world->voters; i++)
        seats[i] = (struct cv_seat){i + 1, CV_SEAT_VOTER};
    const struct cv_agreement_options options = {
        .id = number + 1,
        .directory = "fake",
        .files = &node->disk.files,
        .seats = seats,
        .seat_count = node->joins ? 0 : world->voters,
        .election_ms = world->election_ms,
        .heartbeat_ms = world->heartbeat_ms,
        .seed = world->seed * 1000 + ++node->incarnation,
    };
    const struct cv_agreement_calls calls = {on_send, on_committed, on_leader, on_decided,  on_failed,
                                             on_wake, on_now,       node,      .fits = NULL};
    struct cv_complaint complaint = {{0}};
    node->last_index = 0;
    node->failed = false;
    node->paused_until_ms = node->stalled_until_ms = 0;
    node->tick_ms = world->now_ms + below(world, 5);
    node->disk_chance = (uint32_t[]){100, 50, 10, 3}[below(world, 4)];
    memset(node->pending, 0, sizeof node->pending);
    if (cv_agreement_open(&node->agreement, &options, &calls, &complaint) != 0)
        world_wrong(world, "%u does not start: %s", number + 1, complaint.text);
}

void world_crash(struct world *world, uint32_t number)
{
    struct node *node = &world->nodes[number];
    node->disk.dead = true;
    cv_agreement_close(node->agreement);
    node->agreement = NULL;
    node->failed = false;
    fake_crash(&node->disk, &world->random);
    world->crashes++;
}

struct node *world_leader(struct world *world)
{
    struct node *best = NULL;
    uint64_t term = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        struct node *node = &world->nodes[i];
        if (!node->agreement || node->paused_until_ms > world->now_ms)
            continue;
        const struct cv_agreement_status status = cv_agreement_status(node->agreement);
        if (status.leads && status.term > term) {
            best = node;
            term = status.term;
        }
    }
    return best;
}

bool world_propose(struct node *node)
{
    struct world *world = node->world;
    unsigned char bytes[ENTRY_BYTES] = {0};
    const uint64_t entry = world->proposed + 1;
    uint64_t number;
    if (entry >= MAX_INDEX)
        return false;
    memcpy(bytes, &entry, sizeof entry);
    if (cv_agreement_propose(node->agreement, bytes, sizeof bytes, &number) != 0)
        return false;
    world->proposed = entry;
    node->pending[number % 16] = (struct proposal){number, entry};
    return true;
}

/* In every other world, members tick only when they must, or at another member's heartbeat. */
static uint64_t next_tick_ms(const struct world *world, const struct node *node)
{
    const uint64_t due = cv_agreement_due_ms(node->agreement), beat = world->now_ms + 33;
    if (world->seed % 2)
        return world->now_ms + 5;
    return due < world->now_ms + 1 ? world->now_ms + 1 : due < beat ? due : beat;
}

static void run_node(struct world *world, struct node *node)
{
    if (!node->agreement || node->paused_until_ms > world->now_ms)
        return;
    while (node->stalled_until_ms <= world->now_ms && below(world, 100) < node->disk_chance &&
           cv_agreement_work(node->agreement))
        ;
    cv_agreement_settle(node->agreement);
    if (node->tick_ms <= world->now_ms) {
        cv_agreement_tick(node->agreement);
        node->tick_ms = next_tick_ms(world, node);
    }
    check_commit(world, node);
    const uint64_t heard = cv_agreement_heard_ms(node->agreement);
    if (heard > 0 && heard + world->election_ms > node->claim_ms) {
        node->claim_ms = heard + world->election_ms;
        node->claim_term = cv_agreement_status(node->agreement).term;
    }
}

/* ---- the world ---- */

static bool is_due(const struct world *world, const struct packet *packet)
{
    const struct node *node = &world->nodes[packet->to];
    /* A paused member receives it when it wakes, as from a socket. */
    return packet->arrives_ms <= world->now_ms && (!node->agreement || node->paused_until_ms <= world->now_ms);
}

static void hand_over(struct world *world, struct packet packet)
{
    const struct node *node = &world->nodes[packet.to];
    if (node->agreement && !node->failed &&
        cv_agreement_hear(node->agreement, packet.from + 1, packet.bytes, packet.length) == CV_EINPUT)
        world_wrong(world, "%u does not understand %u", packet.to + 1, packet.from + 1);
    free(packet.bytes);
}

static void deliver(struct world *world)
{
    for (size_t i = 0; i < world->packet_count;) {
        if (is_due(world, &world->packets[i])) {
            const struct packet packet = world->packets[i];
            world->packets[i] = world->packets[--world->packet_count];
            hand_over(world, packet);
        } else {
            i++;
        }
    }
}

void world_step(struct world *world)
{
    world->now_ms++;
    deliver(world);
    for (uint32_t i = 0; i < world->count; i++)
        run_node(world, &world->nodes[i]);
}

void world_heal(struct world *world)
{
    memset(world->cut, 0, sizeof world->cut);
    world->loss_32 = world->duplicate_32 = 0;
    for (uint32_t i = 0; i < world->count; i++) {
        struct node *node = &world->nodes[i];
        node->paused_until_ms = node->stalled_until_ms = 0;
        if (node->failed)
            world_crash(world, i);
        node->disk.fail_in = 0;
        if (!node->agreement) {
            world_start(world, i);
            world->restarts++;
        }
        node->disk_chance = 100;
    }
}

void world_open(struct world *world, uint64_t seed, uint32_t voters, uint32_t joiners)
{
    *world = (struct world){.seed = seed, .voters = voters, .count = voters + joiners, .now_ms = 1000};
    cv_random_seed(&world->random, seed, 0);
    world->election_ms = 100;
    world->heartbeat_ms = 20;
    world->delay_ms = (uint32_t[]){1, 5, 20, 60}[below(world, 4)];
    for (uint32_t i = 0; i < world->count; i++) {
        world->nodes[i] = (struct node){.world = world, .number = i, .joins = i >= voters};
        fake_init(&world->nodes[i].disk);
        world_start(world, i);
    }
}

void world_close(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        if (world->nodes[i].agreement)
            cv_agreement_close(world->nodes[i].agreement);
        fake_free(&world->nodes[i].disk);
    }
    while (world->packet_count > 0)
        free(world->packets[--world->packet_count].bytes);
    free(world->packets);
}
