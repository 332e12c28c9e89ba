// SPDX-License-Identifier: MIT
/*
 * Readers that share across nodes, in random worlds: clients come, go and lose patience, messages of different nodes
 * overtake each other and the algorithm's entries, nodes die and return with new views. Readers become writers and
 * writers readers. The critical section itself is a plain queue. Every grant is checked by counting.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "service/sharing.h"

enum { NODES = 5, CLIENTS = 24, MAIL = 512, GRANTS = 8192, HANDOFFS = 4 };

/* An entry has fences for so many; the numbers between two of them are other nodes'. */
enum { ENTRY_FENCES = 1023, STEP = 8, ENTRY_BITS = 13, EPOCH_BITS = 40 };

struct client {
    bool reader, tries;
    uint64_t arrived;
    uint64_t barrier; /* of a writer that waits: readers that arrive later do not join the generation that is inside */
    uint64_t barred;  /* that generation's entry */
};

struct node {
    struct world *world;
    struct sharing sharing;
    bool alive, inside, wants;
    struct client waiting[CLIENTS];
    uint32_t waiting_count;
    uint64_t holds[CLIENTS]; /* fences */
    uint32_t holding;
    bool shared;
    bool upgrades; /* one of its readers waits to be alone */
    uint32_t refusals;
};

struct channel {
    struct sharing_message words[MAIL];
    uint32_t first, count;
};

struct world {
    struct cv_random random;
    struct node nodes[NODES];
    struct channel channels[NODES][NODES];
    uint32_t size;
    cv_node queue[NODES], holder; /* the section: the nodes that have asked, and the node inside */
    uint32_t queued;
    uint64_t epoch, entries, clients;
    uint64_t fences[GRANTS], highest, highest_writer;
    uint32_t grants, abreast, inherited, exhausted, full;
    uint32_t upgraded, lent_alone, refused, downgraded, taken_over;
    uint64_t permits; /* of every client that shares; 0: any number */
    bool crowd;       /* so many readers that an entry has no fences left for them */
    bool exchanges;   /* readers become writers, and writers readers */
};

static uint32_t pick(struct world *world, uint32_t ways)
{
    return (uint32_t)cv_random_below(&world->random, ways);
}

/* ---- messages ---- */

static void post(struct world *world, cv_node from, cv_node to, const struct sharing_message *message)
{
    struct channel *channel = &world->channels[from][to];
    const struct sharing *sharing = &world->nodes[from].sharing;
    world->exhausted +=
        message->kind == SHARING_REFUSE && sharing->shares && sharing->end - sharing->next < LOAN_FENCES * STEP;
    if (from == to || !world->nodes[to].alive)
        return;
    assert_true(channel->count < MAIL);
    channel->words[(channel->first + channel->count++) % MAIL] = *message;
}

static void tell(void *context, cv_node to, const struct sharing_message *message)
{
    const struct node *node = context;
    for (cv_node other = 0; other < node->world->size; other++)
        if (to == CV_NOBODY || to == other)
            post(node->world, node->sharing.me, other, message);
}

static bool all_quiet(const struct world *world)
{
    for (cv_node from = 0; from < world->size; from++)
        for (cv_node to = 0; to < world->size; to++)
            if (world->channels[from][to].count)
                return false;
    return true;
}

/* ---- what must hold ---- */

static void check_grant(struct world *world, const struct node *node, const struct client *client, uint64_t fence)
{
    uint64_t inside = 0;
    for (cv_node other = 0; other < world->size; other++) {
        const struct node *it = &world->nodes[other];
        assert_true(!it->holding || (it->shared && client->reader)); /* a writer is alone */
        world->abreast += it->holding && it != node;
        inside += it->holding;
    }
    assert_true(!world->permits || inside < world->permits);
    world->full += inside + 1 == world->permits;
    assert_true(fence > world->highest_writer);
    assert_true(client->reader || fence > world->highest);
    for (uint32_t i = 0; i < world->grants; i++)
        assert_true(world->fences[i] != fence);
    for (cv_node other = 0; client->reader && other < world->size; other++) {
        const struct client *first = world->nodes[other].waiting;
        const bool barred = world->nodes[other].waiting_count && first->barrier && first->barrier < client->arrived;
        assert_false(barred && first->barred == fence >> ENTRY_BITS); /* it waits for that writer */
    }
    assert_true(world->grants < GRANTS);
    world->fences[world->grants++] = fence;
    world->highest = fence > world->highest ? fence : world->highest;
    if (!client->reader)
        world->highest_writer = fence;
}

/* Once every message has arrived, all nodes with readers inside know of a waiting writer. */
static void set_barriers(struct world *world)
{
    for (cv_node other = 0; all_quiet(world) && other < world->size; other++) {
        struct node *node = &world->nodes[other];
        struct client *first = node->waiting;
        if (!node->alive || !node->waiting_count || first->reader || first->tries || first->barrier)
            continue;
        for (cv_node inside = 0; inside < world->size; inside++)
            if (world->nodes[inside].holding && world->nodes[inside].shared) {
                first->barrier = world->clients;
                first->barred = world->nodes[inside].holds[0] >> ENTRY_BITS;
            }
    }
}

/* ---- nodes ---- */

static struct sharing_queue queue_of(const struct node *node)
{
    return (struct sharing_queue){.upgrades = node->upgrades,
                                  .inside = node->inside,
                                  .wants = node->wants,
                                  .waits = node->waiting_count,
                                  .reader = node->waiting_count && node->waiting[0].reader,
                                  .firm = node->waiting_count && !node->waiting[0].tries,
                                  .shared = node->shared,
                                  .permits = node->waiting_count && node->waiting[0].reader ? node->world->permits : 0,
                                  .held = node->holding && node->shared ? node->world->permits : 0,
                                  .holding = node->holding,
                                  .handoffs = HANDOFFS};
}

static void stop_waiting(struct node *node, uint32_t place)
{
    node->waiting_count--;
    memmove(&node->waiting[place], &node->waiting[place + 1], (node->waiting_count - place) * sizeof *node->waiting);
}

static void let_in(struct world *world, struct node *node, const struct sharing_queue *queue)
{
    const struct client client = node->waiting[0];
    assert_false(node->upgrades); /* nobody comes in while one waits to be alone */
    const uint64_t fence = sharing_grant(&node->sharing, queue);
    check_grant(world, node, &client, fence);
    node->shared = client.reader;
    node->holds[node->holding++] = fence;
    stop_waiting(node, 0);
}

/* The reader leaves no gap, and nobody else is inside. */
static void upgrade(struct world *world, struct node *node, const struct sharing_queue *queue)
{
    for (cv_node other = 0; other < world->size; other++)
        assert_true(world->nodes[other].holding == (node->sharing.me == other));
    assert_true(node->shared && node->upgrades);
    const uint64_t fence = sharing_exchange(&node->sharing, queue, false);
    assert_true(fence > world->highest);
    world->highest = world->highest_writer = fence;
    world->upgraded++;
    world->lent_alone += !node->inside;
    node->upgrades = node->shared = false;
    node->holds[0] = fence;
    sharing_upgraded(&node->sharing, queue);
}

static void downgrade(struct world *world, struct node *node)
{
    const struct sharing_queue queue = queue_of(node);
    if (!sharing_can_downgrade(&node->sharing, &queue))
        return;
    const uint64_t fence = sharing_exchange(&node->sharing, &queue, true);
    assert_true(fence > world->highest);
    world->highest = fence;
    world->downgraded++;
    node->shared = true;
    node->holds[0] = fence;
    for (cv_node other = 0; node->inside && other < world->size; other++)
        world->nodes[other].waiting[0].barrier = 0; /* a new generation: who waits has to tell it again */
    sharing_downgraded(&node->sharing, &queue);
}

/* Only one that comes later is refused; it may be over by the time that is heard. */
static void refuse_upgrade(struct world *world, struct node *node)
{
    assert_true(node->upgrades);
    node->upgrades = false;
    world->refused++;
}

static void serve(struct world *world, struct node *node)
{
    for (;;) {
        const struct sharing_queue queue = queue_of(node);
        switch (sharing_next_turn(&node->sharing, &queue)) {
        case TURN_GRANT:
            let_in(world, node, &queue);
            break;
        case TURN_UPGRADE:
            upgrade(world, node, &queue);
            break;
        case TURN_UPGRADING:
            refuse_upgrade(world, node);
            break;
        case TURN_LEAVE:
            assert_true(world->holder == node->sharing.me && !node->holding);
            node->inside = false;
            world->holder = CV_NOBODY;
            break;
        case TURN_REQUEST:
            assert_false(node->wants || node->inside);
            node->wants = true;
            world->queue[world->queued++] = node->sharing.me;
            break;
        default:
            return;
        }
    }
}

static void enter(struct world *world)
{
    if (world->holder != CV_NOBODY || !world->queued)
        return;
    struct node *node = &world->nodes[world->queue[0]];
    world->queued--;
    memmove(world->queue, world->queue + 1, world->queued * sizeof *world->queue);
    world->holder = node->sharing.me;
    node->wants = false;
    node->inside = true;
    world->entries++;
    assert_false(node->sharing.borrows);
    const uint64_t first = (world->epoch << EPOCH_BITS | world->entries << ENTRY_BITS) + node->sharing.me;
    sharing_enter(&node->sharing, &(struct sharing_fences){first, first + ENTRY_FENCES * STEP, STEP}, world->entries);
    serve(world, node);
}

static void deliver(struct world *world, cv_node from, cv_node to)
{
    struct channel *channel = &world->channels[from][to];
    struct node *node = &world->nodes[to];
    if (!channel->count)
        return;
    const struct sharing_message message = channel->words[channel->first];
    channel->first = (channel->first + 1) % MAIL;
    channel->count--;
    const struct sharing_queue queue = queue_of(node);
    sharing_hear(&node->sharing, &queue, from, &message);
    serve(world, node);
}

/* ---- views ---- */

static void begin_view(struct world *world)
{
    cv_set sharers = 0;
    uint64_t generation = 0;
    cv_node holder = CV_NOBODY, writer = CV_NOBODY;
    for (cv_node other = 0; other < world->size; other++) {
        struct node *node = &world->nodes[other];
        if (pick(world, 3) == 0) { /* it dies, or one that was dead is back */
            *node = (struct node){.world = world, .alive = !node->alive || other == 0};
            node->sharing = (struct sharing){.tell = tell, .context = node, .me = other, .step = STEP};
            sharing_forget(&node->sharing);
        }
        if (!node->alive || (!node->inside && !node->sharing.borrows))
            continue;
        const bool alone = node->sharing.borrows && node->holding && !node->shared;
        const uint64_t sharing = node->sharing.shares || node->sharing.borrows ? node->sharing.generation : 0;
        assert_true(holder == CV_NOBODY || (sharing && sharing == generation)); /* all clients inside share */
        if (holder == CV_NOBODY || node->inside)
            holder = other;
        generation = sharing;
        sharers |= sharing ? cv_set_of(other) : 0;
        writer = alone ? other : writer;
    }
    if (writer != CV_NOBODY) {
        world->taken_over += holder != writer;
        holder = writer;
        sharers = 0;
    }
    memset(world->channels, 0, sizeof world->channels);
    world->queued = 0;
    world->entries = 0;
    world->epoch++;
    world->inherited += holder != CV_NOBODY && world->nodes[holder].sharing.borrows;
    world->holder = holder;
    for (cv_node other = 0; other < world->size; other++) {
        struct node *node = &world->nodes[other];
        assert_true(!node->holding || holder == other || cv_set_has(sharers, other));
        node->wants = false;
        node->inside = holder == other;
        struct client *first = node->waiting;
        first->barrier = sharers && first->barred == generation >> ENTRY_BITS ? first->barrier : 0;
        first->barred = world->epoch << (EPOCH_BITS - ENTRY_BITS); /* the generation goes on */
    }
    const uint64_t start = (world->epoch << EPOCH_BITS) + (holder == CV_NOBODY ? 0 : holder);
    const struct sharing_fences fences = {start, start + ENTRY_FENCES * STEP, STEP};
    for (cv_node other = 0; other < world->size; other++) {
        struct node *node = &world->nodes[other];
        const struct sharing_queue queue = queue_of(node);
        if (!node->alive)
            continue;
        sharing_resume(&node->sharing, &queue, holder, sharers, &fences, 0);
        if (node->upgrades)
            sharing_upgrade(&node->sharing, &queue);
    }
    for (cv_node other = 0; other < world->size; other++)
        if (world->nodes[other].alive)
            serve(world, &world->nodes[other]);
}

/* ---- stories ---- */

static void arrive(struct world *world, struct node *node, uint32_t writers)
{
    if (!node->alive || node->waiting_count == CLIENTS || node->holding + node->waiting_count >= CLIENTS)
        return;
    node->waiting[node->waiting_count++] = (struct client){
        .reader = pick(world, 100) >= writers, .tries = pick(world, 8) == 0, .arrived = ++world->clients};
    serve(world, node);
}

/* One of the node's readers wants to be alone, or does not any more; its writer wants to share. */
static void exchange(struct world *world, struct node *node)
{
    const struct sharing_queue queue = queue_of(node);
    if (!node->holding || world->permits)
        return;
    if (!node->shared) {
        downgrade(world, node);
    } else if (!node->upgrades) {
        node->upgrades = true;
        sharing_upgrade(&node->sharing, &queue);
    } else if (pick(world, 8) == 0) {
        sharing_stay(&node->sharing, &queue);
        node->upgrades = pick(world, 2); /* and again at once: the answer to the first may be on its way */
        if (node->upgrades)
            sharing_upgrade(&node->sharing, &queue);
    }
    serve(world, node);
}

static void leave(struct world *world, struct node *node, bool busy)
{
    if (node->upgrades &&
        node->holding == 1) { /* its last reader waits to be alone, and gets it if it does not give up */
        const struct sharing_queue queue = queue_of(node);
        if (busy ? pick(world, 8) : !world->crowd)
            return;
        node->upgrades = false;
        sharing_stay(&node->sharing, &queue);
    }
    node->holds[pick(world, node->holding)] = node->holds[node->holding - 1];
    node->holding--;
    serve(world, node);
}

static void step(struct world *world, bool busy, uint32_t writers)
{
    struct node *node = &world->nodes[pick(world, world->size)];
    const uint32_t what = pick(world, 100);
    if (what < 50) {
        deliver(world, pick(world, world->size), pick(world, world->size));
    } else if (what < 60) {
        enter(world);
    } else if (what < (writers || !busy ? 80 : 73) && node->holding) {
        leave(world, node, busy);
    } else if (what < 96 && busy && world->exchanges && pick(world, 4) == 0) {
        exchange(world, node);
    } else if (what < 96 && busy) {
        arrive(world, node, writers);
    } else if (what < 98 && busy && node->waiting_count) {
        stop_waiting(node, pick(world, node->waiting_count));
        serve(world, node);
    } else if (busy && what == 99 && pick(world, world->exchanges ? 2 : writers ? 6 : 60) == 0) {
        begin_view(world);
    }
    set_barriers(world);
}

static bool at_rest(const struct world *world)
{
    for (cv_node other = 0; other < world->size; other++) {
        const struct node *node = &world->nodes[other];
        if (node->waiting_count || node->holding || node->inside || node->wants || node->sharing.borrows)
            return false;
        assert_true(node->sharing.upgrader == CV_NOBODY && !node->sharing.alone);
    }
    return all_quiet(world);
}

static void tell_story(struct world *world, uint64_t seed)
{
    memset(world, 0, sizeof *world);
    cv_random_seed(&world->random, seed, 1);
    world->size = 2 + pick(world, NODES - 1);
    world->holder = CV_NOBODY;
    world->epoch = 1;
    for (cv_node node = 0; node < world->size; node++) {
        world->nodes[node] = (struct node){.world = world, .alive = true};
        world->nodes[node].sharing =
            (struct sharing){.tell = tell, .context = &world->nodes[node], .me = node, .step = STEP};
        sharing_forget(&world->nodes[node].sharing);
    }
    const bool crowd = world->crowd = seed % 16 == 0; /* now and then readers alone */
    world->exchanges = seed % 2 == 1;
    world->permits = seed % 3 == 1 ? 1 + pick(world, 4) : 0;
    const uint32_t writers = crowd ? 0 : pick(world, 40);
    for (uint32_t i = 0; i < (crowd ? 12000u : 3000u); i++)
        step(world, true, writers);
    uint32_t left = 200000;
    while (left && !at_rest(world)) {
        step(world, false, 0);
        left--;
    }
    assert_true(left); /* every client has been served and has left */
}

static void readers_share_writers_do_not(void **state)
{
    const char *stories = getenv("CONCLAVE_STORIES");
    const uint64_t count = stories ? strtoull(stories, NULL, 10) : 2000;
    struct world *world = malloc(sizeof *world);
    uint64_t abreast = 0, inherited = 0, exhausted = 0, full = 0;
    uint64_t upgraded = 0, lent_alone = 0, refused = 0, downgraded = 0, taken_over = 0;
    (void)state;
    assert_non_null(world);
    for (uint64_t seed = 1; seed <= count; seed++) {
        tell_story(world, seed);
        abreast += world->abreast;
        inherited += world->inherited;
        exhausted += world->exhausted;
        full += world->full;
        upgraded += world->upgraded;
        lent_alone += world->lent_alone;
        refused += world->refused;
        downgraded += world->downgraded;
        taken_over += world->taken_over;
    }
    print_message("%llu grants beside readers of another node, %llu lenders gone, %llu times no fences left, "
                  "%llu last permits\n",
                  (unsigned long long)abreast, (unsigned long long)inherited, (unsigned long long)exhausted,
                  (unsigned long long)full);
    print_message("%llu upgrades, %llu of them by a loan, %llu refused, %llu downgrades, %llu views with one alone\n",
                  (unsigned long long)upgraded, (unsigned long long)lent_alone, (unsigned long long)refused,
                  (unsigned long long)downgraded, (unsigned long long)taken_over);
    assert_true(abreast > 10 * count && inherited > count / 10 && exhausted > count / 100 && full > count);
    assert_true(upgraded > count && lent_alone > count / 10 && refused > count / 10 && downgraded > count &&
                taken_over > count / 500);
    free(world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(readers_share_writers_do_not)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
