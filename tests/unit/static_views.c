// SPDX-License-Identifier: MIT
/*
 * Static views of several nodes over FIFO links with random delays, while nodes are suspected, come back and disagree
 * on the leader. Once all agree again they are in one view, and no epoch ever begins with two sets of members.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "group/static_views.h"

#define NODES 5
#define QUEUE 4096

struct message {
    enum cv_view_message kind;
    struct cv_view view;
};

struct node {
    struct cv_static_views static_views;
    uint64_t reconsiders; /* it wants to decide again */
    uint64_t frozen, began;
};

static struct node nodes[NODES];
static struct message queue[NODES][NODES][QUEUE]; /* from, to */
static uint32_t head[NODES][NODES], tail[NODES][NODES];
static cv_set begun[100000]; /* by epoch: the nodes that have been in a view of that number */
static struct cv_view views[NODES][100000];
static uint64_t clock_ms;

static cv_node who(const void *context)
{
    return (cv_node)((const struct node *)context - nodes);
}

static void deliver_later(void *context, cv_node to, enum cv_view_message kind, const struct cv_view *view)
{
    const cv_node from = who(context);
    assert_true(to < NODES && to != from);
    queue[from][to][tail[from][to]++ % QUEUE] = (struct message){kind, *view};
    assert_true(tail[from][to] - head[from][to] < QUEUE);
}

static void freeze(void *context)
{
    ((struct node *)context)->frozen++;
}

static void nothing(void *context, cv_node to, uint64_t epoch)
{
    (void)context;
    (void)to;
    (void)epoch;
}

static void install(void *context, const struct cv_view *view)
{
    struct node *node = context;
    const cv_node me = who(context);
    assert_true(view->epoch < 100000 && cv_set_has(view->members, me));
    assert_true(node->frozen > node->began); /* the old view is over before the new one begins */
    assert_false(cv_set_has(begun[view->epoch], me));
    node->began = node->frozen;
    begun[view->epoch] |= cv_set_of(me);
    views[me][view->epoch] = *view;
    for (cv_node other = 0; other < NODES; other++) {
        const struct cv_view *theirs = &views[other][view->epoch];
        if (cv_set_has(begun[view->epoch], other) && theirs->members & view->members)
            assert_true(theirs->members == view->members && theirs->base == view->base);
    }
}

static uint64_t unix_ms(void)
{
    return clock_ms;
}

static void start(void)
{
    memset(nodes, 0, sizeof nodes);
    memset(head, 0, sizeof head);
    memset(tail, 0, sizeof tail);
    memset(begun, 0, sizeof begun);
    clock_ms = 1800000000000;
    for (cv_node node = 0; node < NODES; node++) {
        const struct cv_static_views_calls calls = {.send = deliver_later,
                                                    .freeze = freeze,
                                                    .report = nothing,
                                                    .tell = nothing,
                                                    .install = install,
                                                    .unix_ms = unix_ms,
                                                    .context = &nodes[node]};
        cv_static_views_init(&nodes[node].static_views, node, &calls);
    }
}

static bool deliver_one(struct cv_random *random)
{
    const uint64_t first = cv_random_below(random, NODES * NODES);
    for (uint64_t i = 0; i < NODES * NODES; i++) {
        const cv_node from = (cv_node)((first + i) / NODES % NODES), to = (cv_node)((first + i) % NODES);
        if (head[from][to] == tail[from][to])
            continue;
        const struct message kind = queue[from][to][head[from][to]++ % QUEUE];
        nodes[to].reconsiders |= cv_static_views_hear(&nodes[to].static_views, from, kind.kind, &kind.view);
        return true;
    }
    return false;
}

/* All messages arrive, and each node that wants to decide again does. */
static void come_to_rest(struct cv_random *random)
{
    for (int round = 0; round < 1000; round++) {
        while (deliver_one(random))
            continue;
        bool anybody = false;
        for (cv_node node = 0; node < NODES; node++) {
            anybody |= nodes[node].reconsiders;
            if (nodes[node].reconsiders)
                cv_static_views_consider(&nodes[node].static_views);
            nodes[node].reconsiders = 0;
        }
        if (!anybody)
            return;
    }
    fail_msg("the councils do not come to rest");
}

static void tell(cv_node node, cv_node leader, cv_set alive)
{
    nodes[node].reconsiders |= cv_static_views_update(&nodes[node].static_views, leader, alive);
}

static void assert_together(cv_set members, cv_node leader)
{
    const struct cv_view *first = NULL;
    for (cv_node node = 0; node < NODES; node++) {
        const struct cv_static_views *static_views = &nodes[node].static_views;
        if (!cv_set_has(members, node))
            continue;
        assert_false(static_views->frozen);
        assert_true(static_views->view.members == members);
        assert_int_equal(static_views->view.coordinator, leader);
        if (first)
            assert_int_equal(first->epoch, static_views->view.epoch);
        first = &static_views->view;
    }
}

static void agree_in_the_end(void **state)
{
    struct cv_random random;
    (void)state;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        cv_random_seed(&random, seed, 1);
        start();
        for (int step = 0; step < 60; step++) {
            const cv_node node = (cv_node)cv_random_below(&random, NODES);
            clock_ms += cv_random_below(&random, 3);
            if (cv_random_below(&random, 4) == 0) /* its detector and its election say something random */
                tell(node, (cv_node)cv_random_below(&random, NODES),
                     (cv_random_next(&random) & cv_set_first(NODES)) | cv_set_of(node));
            else if (cv_random_below(&random, 8) == 0)
                cv_static_views_consider(&nodes[node].static_views);
            else
                deliver_one(&random);
        }
        for (cv_node node = 0; node < NODES; node++)
            tell(node, NODES - 1, cv_set_first(NODES));
        cv_static_views_renew(&nodes[NODES - 1].static_views); /* as the watchdog does */
        nodes[NODES - 1].reconsiders = 1;
        come_to_rest(&random);
        assert_together(cv_set_first(NODES), NODES - 1);
    }
}

static void a_death_is_urgent_and_a_return_is_not(void **state)
{
    struct cv_random random;
    (void)state;
    cv_random_seed(&random, 1, 1);
    start();
    for (cv_node node = 0; node < NODES; node++)
        tell(node, 4, cv_set_first(NODES));
    come_to_rest(&random);
    assert_together(cv_set_first(NODES), 4);
    const uint64_t epoch = nodes[4].static_views.view.epoch;
    assert_true(cv_static_views_update(&nodes[4].static_views, 4, cv_set_first(NODES) & ~cv_set_of(1)) == false);
    assert_true(nodes[4].static_views.next.epoch > epoch); /* prepared at once */
    come_to_rest(&random);
    assert_together(cv_set_first(NODES) & ~cv_set_of(1), 4);
    assert_true(cv_static_views_update(&nodes[4].static_views, 4, cv_set_first(NODES))); /* it can wait */
    assert_int_equal(nodes[4].static_views.next.epoch, 0);
    cv_static_views_consider(&nodes[4].static_views);
    come_to_rest(&random);
    assert_together(cv_set_first(NODES), 4);
}

static void bases_rise(void **state)
{
    const uint64_t before = cv_view_base(1800000000000, 0);
    (void)state;
    assert_true(cv_view_base(1800000000001, before) > before);
    assert_true(cv_view_base(1800000000000, before) > before); /* in the same millisecond */
    assert_true(cv_view_base(1700000000000, before) > before); /* even if the clock was set back meanwhile */
    /* No node grants a name half a thousand times in a millisecond. */
    const struct cv_view view = {.epoch = 3, .base = before};
    assert_true(cv_view_fence(&view, 500, 7) < cv_view_base(1800000000001, 0));
    assert_true(cv_view_has_fences(&view));
}

/* At the end there is no fence, and no number wraps. */
static void bases_end(void **state)
{
    (void)state;
    const uint64_t last = CV_FENCE_END - CV_BLOCK;
    for (uint64_t ms = 3900000000000; ms < 4000000000000; ms += 1000000000) { /* in 2093 and 2096 */
        const struct cv_view view = {.base = cv_view_base(ms, 0)};
        assert_int_equal(cv_view_has_fences(&view), ms < 3934700000000);
        assert_true(view.base <= CV_FENCE_END);
    }
    assert_int_equal(cv_view_base(0, last - CV_BLOCK), last);
    assert_int_equal(cv_view_base(0, last), CV_FENCE_END);
    assert_int_equal(cv_view_base(0, UINT64_MAX), CV_FENCE_END);
    assert_int_equal(cv_view_agreed_base((1u << 30) - 1), last);
    assert_int_equal(cv_view_agreed_base(1u << 30), CV_FENCE_END);
    assert_int_equal(cv_view_agreed_base(UINT64_MAX), CV_FENCE_END);
    assert_true(cv_view_has_fences(&(struct cv_view){.base = last}));
    assert_false(cv_view_has_fences(&(struct cv_view){.base = last + 1}));
    assert_false(cv_view_has_fences(&(struct cv_view){.base = UINT64_MAX}));
    const struct cv_view end = {.base = last, .members = cv_set_first(64)};
    assert_int_equal(cv_view_fence(&end, cv_view_places(&end) - 1, 63), CV_FENCE_END - 1);
}

/* Even if a member lets two nodes in at once, or lends another node's fences, no two fences are equal. */
static void fences_differ_by_node(void **state)
{
    (void)state;
    for (uint32_t count = 2; count <= 64; count++) {
        const struct cv_view view = {.epoch = 3, .base = cv_view_agreed_base(3), .members = cv_set_first(count)};
        const uint64_t last = cv_view_places(&view) - 1, step = cv_view_step(&view);
        for (cv_node node = 0; node < count; node++) {
            const uint64_t first = cv_view_fence(&view, 5, node);
            assert_true(node == 0 || first > cv_view_fence(&view, 5, node - 1));
            assert_true(first < cv_view_fence(&view, 6, 0));
            assert_int_equal(first + step, cv_view_fence(&view, 6, node));
            assert_int_equal(cv_view_place(&view, first), 5);
            assert_true(cv_view_fence(&view, last, node) < cv_view_agreed_base(4));
            assert_true(cv_view_gives(&view, first, 16, node));
            assert_true(cv_view_gives(&view, cv_view_fence(&view, last - 15, node), 16, node));
            assert_false(cv_view_gives(&view, cv_view_fence(&view, last - 14, node), 16, node));
            assert_false(cv_view_gives(&view, first, 16, (node + 1) % count));
            assert_false(cv_view_gives(&view, first + CV_BLOCK, 16, node));
            assert_false(cv_view_gives(&view, first - CV_BLOCK, 16, node));
        }
    }
    assert_int_equal(cv_view_node_bits(&(struct cv_view){.members = 1}), 3);
    assert_int_equal(cv_view_node_bits(&(struct cv_view){.members = 1, .alone = true}), 0);
    assert_int_equal(cv_view_node_bits(&(struct cv_view){.members = 1 << 7}), 3);
    assert_int_equal(cv_view_node_bits(&(struct cv_view){.members = 1 << 8}), 4);
    assert_int_equal(cv_view_node_bits(&(struct cv_view){.members = 1ull << 63}), 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fences_differ_by_node),
        cmocka_unit_test(bases_end),
        cmocka_unit_test(agree_in_the_end),
        cmocka_unit_test(a_death_is_urgent_and_a_return_is_not),
        cmocka_unit_test(bases_rise),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
