// SPDX-License-Identifier: MIT
/*
 * A test of something that an algorithm's table promises and a reduction relies on. The room above registers its tests
 * with the model; the stepper passes every step that it computes to all of them. A test that fails calls
 * model_doubt_promise().
 */
#ifndef CONCLAVE_CHECK_STATE_PROMISE_TEST_H
#define CONCLAVE_CHECK_STATE_PROMISE_TEST_H

#include <stdint.h>

struct runner;
struct computed_step;

struct promise_test {
    struct promise_test *next;
    /* A node has begun, as its runner shows; `node_state` is its number. NULL: the test does not need it. */
    void (*begin)(struct promise_test *test, const struct runner *runner, uint32_t node_state);
    /* A step was computed. Several threads may call it at once. */
    void (*follow)(struct promise_test *test, const struct computed_step *step);
    void (*free)(struct promise_test *test);
};

#endif
