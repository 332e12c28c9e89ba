// SPDX-License-Identifier: MIT
#include "show/clocks.h"

#include "tale.h"

static struct cv_clocks clocks;
static unsigned begun; /* atomic events */

static void watch(void *context, const struct cv_event *event)
{
    (void)context;
    begun += cv_clocks_event(&clocks, event);
}

static void begin(struct tale *tale, uint32_t nodes)
{
    assert_int_equal(cv_clocks_init(&clocks, nodes), 0);
    begun = 0;
    tale_begin(tale, nodes, (struct cv_observer){watch, NULL, NULL});
}

static void expect(cv_node node, uint32_t a, uint32_t b, uint32_t c)
{
    const uint32_t *vector = cv_clocks_vector(&clocks, node);
    if (vector[0] != a || vector[1] != b || vector[2] != c)
        fail_msg("node %u knows %u %u %u, not %u %u %u", node, vector[0], vector[1], vector[2], a, b, c);
}

static void a_message_brings_what_its_sender_knew_then(void **state)
{
    (void)state;
    struct tale tale;
    begin(&tale, 3);
    tale_happens(&tale, CV_EVENT_START, 0, CV_NOBODY);
    expect(0, 1, 0, 0);
    const uint64_t first = tale_sends(&tale, 0, 1, PING, 0, false);
    expect(0, 2, 0, 0);
    const uint64_t second = tale_sends(&tale, 0, 1, PONG, 0, false);
    expect(0, 3, 0, 0);
    tale_hears(&tale, 1, 0, first, PING, 0);
    expect(1, 2, 1, 0);
    const uint64_t third = tale_sends(&tale, 1, 2, PING, 0, false);
    tale_hears(&tale, 1, 0, second, PONG, 0);
    expect(1, 3, 3, 0);
    tale_hears(&tale, 2, 1, third, PING, 0);
    expect(2, 2, 2, 1); /* not the second: that was heard after the third was sent */
    cv_clocks_free(&clocks);
}

static void a_step_and_its_effects_are_one_event(void **state)
{
    (void)state;
    struct tale tale;
    begin(&tale, 3);
    tale_happens(&tale, CV_EVENT_TIMEOUT, 1, CV_NOBODY);
    tale_does(&tale, CV_EVENT_CALL, 1, 0);
    tale_does(&tale, CV_EVENT_ELECTED, 1, 32);
    expect(1, 0, 1, 0);
    tale_happens(&tale, CV_EVENT_TIMEOUT, 1, CV_NOBODY);
    expect(1, 0, 2, 0);
    assert_int_equal(begun, 2);
    cv_clocks_free(&clocks);
}

static void a_multicast_is_one_event_even_if_parts_of_it_are_lost(void **state)
{
    (void)state;
    struct tale tale;
    begin(&tale, 3);
    const uint64_t one = tale_sends(&tale, 0, 1, PING, 0, false);
    tale_loses(&tale, 1, 0, one, PING, 0);
    const uint64_t other = tale_sends(&tale, 0, 2, PING, 0, true);
    expect(0, 1, 0, 0);
    expect(1, 0, 0, 0);
    tale_hears(&tale, 2, 0, other, PING, 0);
    expect(2, 1, 0, 1);
    assert_int_equal(begun, 2);
    assert_int_equal(clocks.sent.count, 0); /* the messages have arrived, and are forgotten */
    cv_clocks_free(&clocks);
}

/* As a live node records it: a message that could not be sent has the number 0. */
static void a_message_that_could_not_be_sent_reaches_no_node(void **state)
{
    (void)state;
    struct tale tale;
    begin(&tale, 3);
    for (uint64_t clock = 1; clock <= 2; clock++)
        assert_true(cv_clocks_event(&clocks, &(struct cv_event){.type = CV_EVENT_SEND, .peer = 1, .clock = clock}));
    expect(0, 2, 0, 0);
    assert_true(
        cv_clocks_event(&clocks, &(struct cv_event){.type = CV_EVENT_RECEIVE, .node = 1, .peer = 0, .clock = 3}));
    expect(1, 0, 1, 0);
    assert_int_equal(clocks.sent.count, 0);
    cv_clocks_free(&clocks);
}

static void a_crash_counts_and_the_rest_of_the_life_goes_on_counting(void **state)
{
    (void)state;
    struct tale tale;
    begin(&tale, 3);
    tale_happens(&tale, CV_EVENT_CRASH, 2, CV_NOBODY);
    expect(2, 0, 0, 1);
    tale_happens(&tale, CV_EVENT_RECOVER, 2, CV_NOBODY);
    tale_does(&tale, CV_EVENT_CALL, 2, 0);
    expect(2, 0, 0, 2);
    tale_tell(&tale, (struct cv_event){.type = CV_EVENT_CUT, .node = CV_NOBODY, .peer = CV_NOBODY});
    expect(2, 0, 0, 2);
    cv_clocks_free(&clocks);
}

/* Against a naive model: vectors kept with every message for ever. */
static void random_runs_agree_with_a_naive_model(void **state)
{
    (void)state;
    enum { NODES = 5, STEPS = 20000 };
    static uint32_t told[STEPS][NODES], model[NODES][NODES];
    static struct {
        uint64_t number;
        cv_node from, to;
    } flying[STEPS];
    size_t flying_count = 0;
    struct tale tale;
    memset(model, 0, sizeof model);
    begin(&tale, NODES);
    uint64_t chance = 42;
    for (unsigned step = 0; step < STEPS; step++) {
        chance = chance * 6364136223846793005u + 1442695040888963407u;
        const uint64_t draw = chance >> 33;
        if (draw % 3 && flying_count) {
            const size_t which = (size_t)(draw / 3) % flying_count;
            const cv_node to = flying[which].to, from = flying[which].from;
            const uint64_t number = flying[which].number;
            flying[which] = flying[--flying_count];
            if (draw % 17 == 1) {
                tale_loses(&tale, to, from, number, PING, 0);
                continue;
            }
            tale_hears(&tale, to, from, number, PING, 0);
            model[to][to]++;
            for (unsigned i = 0; i < NODES; i++)
                model[to][i] = told[number][i] > model[to][i] ? told[number][i] : model[to][i];
        } else if (tale.sent + 1 < STEPS) {
            const cv_node from = (cv_node)(draw / 3 % NODES), to = (cv_node)(draw / 64 % NODES);
            const uint64_t number = tale_sends(&tale, from, to, PING, 0, false);
            model[from][from]++;
            memcpy(told[number], model[from], sizeof told[number]);
            flying[flying_count].number = number;
            flying[flying_count].from = from;
            flying[flying_count++].to = to;
        }
        for (cv_node node = 0; node < NODES; node++)
            assert_memory_equal(cv_clocks_vector(&clocks, node), model[node], sizeof model[node]);
    }
    assert_int_equal(clocks.sent.count, flying_count);
    cv_clocks_free(&clocks);
}

static void large_groups_have_no_vectors(void **state)
{
    (void)state;
    assert_int_equal(cv_clocks_init(&clocks, CV_LARGEST_CLOCKED_GROUP + 1), 0);
    assert_false(cv_clocks_event(&clocks, &(struct cv_event){.type = CV_EVENT_START, .node = 0, .peer = CV_NOBODY}));
    assert_null(cv_clocks_vector(&clocks, 0));
    cv_clocks_free(&clocks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_message_brings_what_its_sender_knew_then),
        cmocka_unit_test(a_step_and_its_effects_are_one_event),
        cmocka_unit_test(a_multicast_is_one_event_even_if_parts_of_it_are_lost),
        cmocka_unit_test(a_message_that_could_not_be_sent_reaches_no_node),
        cmocka_unit_test(a_crash_counts_and_the_rest_of_the_life_goes_on_counting),
        cmocka_unit_test(random_runs_agree_with_a_naive_model),
        cmocka_unit_test(large_groups_have_no_vectors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
