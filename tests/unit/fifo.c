// SPDX-License-Identifier: MIT
/* Channels in order, against a table of every channel's last message. */
#include "sim/fifo.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "core/random.h"

#define NODES 40u

enum network { ANY, RING, GRAPH };

/* A node's neighbours are at most three places away; but some messages go to other nodes. */
static void use_graph(struct fifo *fifo)
{
    static uint64_t edges[NODES + 1];
    static uint32_t neighbours[NODES * 6];
    uint32_t count = 0;
    for (uint32_t node = 0; node < NODES; node++) {
        edges[node] = count;
        for (uint32_t other = node < 3 ? 0 : node - 3; other < NODES && other <= node + 3; other++)
            if (other != node)
                neighbours[count++] = other;
    }
    edges[NODES] = count;
    assert_int_equal(fifo_use_graph(fifo, edges, neighbours), 0);
    assert_non_null(fifo->links);
}

static void play(enum network network, uint64_t seed, uint64_t longest)
{
    static uint64_t last[NODES][NODES];
    const bool ring = network == RING;
    struct fifo fifo;
    struct cv_random random;
    cv_random_seed(&random, seed, 0);
    assert_int_equal(fifo_init(&fifo, NODES, ring), 0);
    if (network == GRAPH)
        use_graph(&fifo);
    for (uint32_t i = 0; i < NODES * NODES; i++)
        last[i / NODES][i % NODES] = 0;
    uint64_t now = 0;
    for (int i = 0; i < 20000; i++) {
        const uint32_t from = (uint32_t)cv_random_below(&random, NODES);
        const uint32_t to = network != ANY && cv_random_below(&random, 3) ? (from + 1) % NODES
                                                                          : (uint32_t)cv_random_below(&random, NODES);
        uint64_t due = now + 1 + cv_random_below(&random, longest);
        const uint64_t wanted = due > last[from][to] ? due : last[from][to];
        assert_int_equal(fifo_order(&fifo, from, to, now, &due), 0);
        assert_int_equal(due, wanted);
        last[from][to] = due;
        now += cv_random_below(&random, 3);
    }
    fifo_free(&fifo);
}

static void no_message_overtakes_another_on_its_channel(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 5; seed++)
        for (enum network network = ANY; network <= GRAPH; network++) {
            play(network, seed, 2);
            play(network, seed, 100);
            play(network, seed, 100000); /* nearly all messages are under way at once */
        }
}

/* Channels without messages under way are forgotten. */
static void the_table_is_as_large_as_the_traffic(void **state)
{
    (void)state;
    struct fifo fifo;
    assert_int_equal(fifo_init(&fifo, 100000, false), 0);
    for (uint64_t now = 0; now < 100000; now++) {
        uint64_t due = now + 3;
        assert_int_equal(fifo_order(&fifo, (uint32_t)now, (uint32_t)(now * 7 % 100000), now, &due), 0);
        assert_int_equal(due, now + 3);
    }
    assert_true(fifo.capacity <= 256);
    fifo_free(&fifo);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_message_overtakes_another_on_its_channel),
        cmocka_unit_test(the_table_is_as_large_as_the_traffic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
