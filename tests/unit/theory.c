// SPDX-License-Identifier: MIT
/* The variables of the texts' formulas and the conditions under which these apply, worked out by hand. */
#include "core/formula/theory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include <conclave/synchronizer.h>

#include "core/scenario/plan.h"

static const struct cv_kind kinds[] = {{"ballot", 0, NULL, false}, {0}};
static const struct cv_algorithm app = {.abi = CV_ABI, .problem = CV_SYNCHRONOUS, .name = "app", .kinds = kinds};

/* The words of a plan that matter here; NULL: left out. */
struct words {
    uint32_t topology;
    const char *ids, *attributes, *start, *crash[3], *graph;
    const char *delay, *loss, *set;
    const char *recover, *partition, *suspect;
    bool unordered;
    bool hosts; /* it is a synchronizer with clusters */
    const struct cv_parameter *parameters;
};

static void build(const struct words *words, struct cv_algorithm *algorithm, struct cv_scenario *scenario)
{
    struct cv_complaint complaint = {{0}};
    struct cv_plan plan = {.algorithm = algorithm,
                           .ids = words->ids,
                           .attributes = words->attributes,
                           .start = words->start,
                           .graph = words->graph ? "edges:" : NULL,
                           .graph_text = words->graph,
                           .delay = words->delay,
                           .loss = words->loss,
                           .unordered = words->unordered,
                           .app = words->hosts ? &app : NULL,
                           .seed = 1};
    for (int i = 0; i < 3 && words->crash[i]; i++)
        cv_words_add(&plan.crash, words->crash[i]);
    if (words->recover)
        cv_words_add(&plan.recover, words->recover);
    if (words->partition)
        cv_words_add(&plan.partition, words->partition);
    if (words->suspect)
        cv_words_add(&plan.suspect, words->suspect);
    if (words->set)
        cv_words_add(&plan.set, words->set);
    *algorithm = (struct cv_algorithm){.abi = CV_ABI,
                                       .problem = words->hosts ? CV_SYNCHRONIZER : CV_ELECTION,
                                       .name = "toy",
                                       .topology = words->topology,
                                       .assumes = CV_BOUNDED_DELAY,
                                       .clusters = words->hosts,
                                       .parameters = words->parameters,
                                       .kinds = kinds,
                                       .state_size = words->hosts ? cv_hosted_bytes : NULL};
    if (cv_plan_build(&plan, scenario, &complaint))
        fail_msg("%s", complaint.text);
    cv_plan_free(&plan);
}

static void evaluates(const struct words *words, const char *formula, double value)
{
    const struct cv_cost costs[] = {{"always", CV_MESSAGES_ARE(formula), CV_ALWAYS, CV_DERIVED_HERE}, {0}};
    struct cv_algorithm algorithm;
    struct cv_scenario scenario;
    struct cv_expectation expectation;
    struct cv_complaint complaint = {{0}};
    build(words, &algorithm, &scenario);
    algorithm.costs = costs;
    if (cv_theory_expect(&scenario, 0, CV_MESSAGES, &expectation, &complaint))
        fail_msg("%s: %s", formula, complaint.text);
    assert_non_null(expectation.cost);
    if (expectation.value != value)
        fail_msg("%s is %g, not %g", formula, expectation.value, value);
    cv_scenario_free(&scenario);
}

static const char *const ring = "3,32,5,80,6,12"; /* the texts' example */

static void variables_of_a_ring(void **state)
{
    (void)state;
    const struct words two = {.topology = CV_RING, .ids = ring, .start = "3,6"};
    evaluates(&two, "n", 6);
    evaluates(&two, "d", 0);
    evaluates(&two, "a", 6);
    evaluates(&two, "k", 2);
    evaluates(&two, "δ", 3 + 5); /* to 80: 3 steps from 3, 5 from 6 */
    evaluates(&two, "Σ", 4 + 6); /* from 3 to 6; 6 is the best caller */
    evaluates(&two, "ρ", 3);     /* 32, 80, 12 stay; 80 stays; 80 hears itself */
    evaluates(&two, "f", 2);
    const struct words all = {.topology = CV_RING, .ids = ring, .start = "all", .crash = {"80@0", "5@0"}};
    evaluates(&all, "n", 6);
    evaluates(&all, "d", 2);
    evaluates(&all, "a", 4); /* 3, 32, 6, 12 */
    evaluates(&all, "k", 4);
    evaluates(&all, "δ", 1 + 0 + 3 + 2);
    evaluates(&all, "Σ", 1 + 4 + 1 + 2);
    evaluates(&all, "ρ", 3);
    const struct words alone = {.topology = CV_COMPLETE, .ids = "7"};
    evaluates(&alone, "n + a + k + q", 4);
}

/* By attribute the order is 5, 12 and 32 (equal, so by id), 80, 6, 3. */
static void the_order_is_by_attribute(void **state)
{
    (void)state;
    struct words it = {.topology = CV_COMPLETE, .ids = ring, .attributes = "1,7,9,3,2,7", .start = "80"};
    evaluates(&it, "q", 4);
    evaluates(&it, "h", 3);
    it.crash[0] = "5@0";
    evaluates(&it, "q", 3);
    it.start = "5";
    it.crash[0] = NULL;
    evaluates(&it, "q", 1);
    evaluates(&it, "h", 0);
    it.start = "12";
    evaluates(&it, "h", 2);
}

static void variables_of_a_graph(void **state)
{
    (void)state;
    struct words it = {.topology = CV_GRAPH, .graph = "1 2\n2 3\n3 4\n2 4\n", .start = "1"};
    evaluates(&it, "E", 4);
    evaluates(&it, "ecc", 2);
    evaluates(&it, "w", 2); /* 3 and 4 are two steps away and know each other */
    it.graph = "1 2\n1 3\n1 4\n";
    evaluates(&it, "ecc", 1);
    evaluates(&it, "w", 0);
    it.start = "2";
    evaluates(&it, "ecc", 2);
    evaluates(&it, "w", 0);
}

/* 1 - 2 - 3 - 4 - 5 with 6 at 3: balls are {1, 2}, {3, 4, 6} and {5}; h is a height, not a number of better nodes. */
static void variables_of_a_synchronizer(void **state)
{
    (void)state;
    static const struct cv_parameter parameters[] = {{"root", "a root", NULL, 0, CV_MEMBER, 0}, {0}};
    struct words it = {
        .topology = CV_GRAPH, .graph = "1 2\n2 3\n3 4\n4 5\n3 6\n", .delay = "2..7", .set = "rounds=9", .hosts = true};
    evaluates(&it, "R", 9);
    evaluates(&it, "D", 7);
    evaluates(&it, "c", 3);
    evaluates(&it, "P", 2);
    evaluates(&it, "h", 1);
    evaluates(&it, "2E·R + n", 2 * 5 * 9 + 6);
    it.set = "clusters=1";
    evaluates(&it, "R", 5);
    evaluates(&it, "c", 1);
    evaluates(&it, "P", 0);
    evaluates(&it, "h", 4); /* around 1 */
    it.parameters = parameters;
    it.set = "root=3";
    evaluates(&it, "h", 2);
    it.set = "bound=5";
    evaluates(&it, "D", 5);
    evaluates(&it, "h", 4); /* the smallest id */
}

static void expect_conditions(const struct words *words, uint32_t expected)
{
    struct cv_algorithm algorithm;
    struct cv_scenario scenario;
    build(words, &algorithm, &scenario);
    const uint32_t hold = cv_theory_conditions(&scenario);
    if (hold != (expected | CV_ALWAYS))
        fail_msg("conditions %#x hold, not %#x", hold, expected | CV_ALWAYS);
    cv_scenario_free(&scenario);
}

#define CALM (CV_STEADY | CV_ALL_ALIVE | CV_UNIT_DELAY | CV_TOP_ALIVE | CV_ENOUGH_PATIENCE | CV_USUAL)

static void conditions(void **state)
{
    (void)state;
    struct words it = {.topology = CV_COMPLETE, .ids = ring};
    expect_conditions(&it, CALM | CV_ONE_CALLER);
    it.start = "3,6";
    expect_conditions(&it, CALM);
    it.start = "all";
    expect_conditions(&it, CALM | CV_ALL_CALL);
    it.start = ring;
    expect_conditions(&it, CALM | CV_ALL_CALL);
    it.start = "80";
    expect_conditions(&it, CALM | CV_ONE_CALLER | CV_TOP_CALLS);
    it.start = "3,80";
    expect_conditions(&it, CALM);
    it = (struct words){.topology = CV_COMPLETE, .ids = ring, .crash = {"80@0"}};
    expect_conditions(&it, (CALM & ~(uint32_t)(CV_ALL_ALIVE | CV_TOP_ALIVE)) | CV_ONE_CALLER | CV_TOP_DEAD |
                               CV_ONLY_TOP_DEAD);
    it.start = "all";
    expect_conditions(&it,
                      (CALM & ~(uint32_t)(CV_ALL_ALIVE | CV_TOP_ALIVE)) | CV_ALL_CALL | CV_TOP_DEAD | CV_ONLY_TOP_DEAD);
    it.crash[1] = "3@0";
    expect_conditions(&it, (CALM & ~(uint32_t)(CV_ALL_ALIVE | CV_TOP_ALIVE)) | CV_ALL_CALL | CV_TOP_DEAD);
    it.crash[0] = "5@0";
    expect_conditions(&it, (CALM & ~(uint32_t)CV_ALL_ALIVE) | CV_ALL_CALL);
    it = (struct words){.topology = CV_COMPLETE, .ids = "7"};
    expect_conditions(&it, CALM | CV_ONE_CALLER | CV_ALL_CALL | CV_TOP_CALLS);
}

static void what_is_not_steady(void **state)
{
    (void)state;
    const uint32_t one = CALM | CV_ONE_CALLER, troubled = one & ~(uint32_t)CV_STEADY;
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .crash = {"80@1"}}, troubled);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .crash = {"80@before:ballot"}}, troubled);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .partition = "3/5@9"}, troubled);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .suspect = "3:5@9"}, troubled);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .unordered = true}, troubled);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .crash = {"5@0"}, .recover = "5@9"},
                      troubled & ~(uint32_t)CV_ALL_ALIVE);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .delay = "1..9"},
                      one & ~(uint32_t)CV_UNIT_DELAY);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .loss = "0.1"},
                      one & ~(uint32_t)CV_UNIT_DELAY);
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .delay = "1..9", .set = "bound=8"},
                      one & ~(uint32_t)(CV_UNIT_DELAY | CV_ENOUGH_PATIENCE));
    expect_conditions(&(struct words){.topology = CV_COMPLETE, .ids = ring, .set = "bound=8"}, one);
}

/* The values of numbers and choices matter; a member's does not, since all members are equal. */
static void what_is_not_usual(void **state)
{
    (void)state;
    static const struct cv_parameter parameters[] = {{"length", "a number", NULL, -1, CV_NUMBER, 0},
                                                     {"way", "a choice", "short|long", 0, CV_CHOICE, 0},
                                                     {"root", "a member", NULL, 0, CV_MEMBER, 0},
                                                     {0}};
    const uint32_t one = CALM | CV_ONE_CALLER, unusual = one & ~(uint32_t)CV_USUAL;
    struct words it = {.topology = CV_COMPLETE, .ids = ring, .parameters = parameters};
    expect_conditions(&it, one);
    it.set = "length=0";
    expect_conditions(&it, unusual | CV_CHOSEN(0));
    it.set = "way=long";
    expect_conditions(&it, unusual | CV_CHOSEN(1));
    it.set = "way=short";
    expect_conditions(&it, one);
    it.set = "root=80";
    expect_conditions(&it, one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(variables_of_a_ring),  cmocka_unit_test(the_order_is_by_attribute),
        cmocka_unit_test(variables_of_a_graph), cmocka_unit_test(variables_of_a_synchronizer),
        cmocka_unit_test(conditions),           cmocka_unit_test(what_is_not_steady),
        cmocka_unit_test(what_is_not_usual),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
