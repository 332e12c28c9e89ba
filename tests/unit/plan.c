// SPDX-License-Identifier: MIT
/* From words to a scenario, or to one clear line of refusal. */
#include "core/scenario/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct cv_kind kinds[] = {{"ballot", 0, NULL, false}, {"result", 0, NULL, false}, {0}};
static const struct cv_parameter parameters[] = {
    {"announce", "", "ring|all|none", 0, CV_CHOICE, 0},
    {"tries", "", NULL, 3, CV_NUMBER, 0},
    {"root", "", NULL, 0, CV_MEMBER, 0},
    {0},
};

static struct cv_algorithm toy(uint32_t topology)
{
    return (struct cv_algorithm){.abi = CV_ABI,
                                 .problem = CV_ELECTION,
                                 .name = "toy",
                                 .topology = topology,
                                 .assumes = CV_BOUNDED_DELAY,
                                 .kinds = kinds,
                                 .parameters = parameters};
}

/* A plan, its scenario, and the complaint if it is refused. */
struct attempt {
    struct cv_algorithm algorithm;
    struct cv_plan plan;
    struct cv_scenario scenario;
    struct cv_complaint complaint;
    int error;
};

static struct attempt *begin(uint32_t topology)
{
    struct attempt *it = calloc(1, sizeof *it);
    assert_non_null(it);
    it->algorithm = toy(topology);
    it->plan = (struct cv_plan){.algorithm = &it->algorithm, .seed = 1};
    return it;
}

static void build(struct attempt *it)
{
    it->error = cv_plan_build(&it->plan, &it->scenario, &it->complaint);
}

static void built(struct attempt *it)
{
    build(it);
    if (it->error)
        fail_msg("%s", it->complaint.text);
}

static void end(struct attempt *it)
{
    cv_scenario_free(&it->scenario);
    cv_plan_free(&it->plan);
    free(it);
}

/* The plan is refused in one line that begins with the option and its value and contains this text. */
static void refused(struct attempt *it, const char *option, const char *value, const char *says)
{
    char begins[256];
    build(it);
    snprintf(begins, sizeof begins, "%s %s", option, value);
    if (it->error != CV_EINPUT)
        fail_msg("%s was accepted", begins);
    if (strncmp(it->complaint.text, begins, strlen(begins)) != 0 || !strstr(it->complaint.text, says) ||
        strchr(it->complaint.text, '\n'))
        fail_msg("%s: expected to hear \"%s\", not \"%s\"", begins, says, it->complaint.text);
    end(it);
}

/* ---- the group ---- */

static void expect_ids(const char *nodes, const char *ids, uint32_t count, const cv_id *expected)
{
    struct attempt *it = begin(CV_RING);
    it->plan.nodes = nodes;
    it->plan.ids = ids;
    built(it);
    assert_int_equal(it->scenario.group.nodes, count);
    for (uint32_t i = 0; expected && i < count; i++)
        assert_int_equal(it->scenario.group.ids[i], expected[i]);
    end(it);
}

static void nodes_and_ids(void **state)
{
    (void)state;
    expect_ids(NULL, NULL, 8, (cv_id[]){1, 2, 3, 4, 5, 6, 7, 8});
    expect_ids("3", NULL, 3, (cv_id[]){1, 2, 3});
    expect_ids(NULL, "0", 1, (cv_id[]){0});
    expect_ids(NULL, "4294967295,0,7", 3, (cv_id[]){4294967295u, 0, 7});
    expect_ids("6", "9,3..5,1..2", 6, (cv_id[]){9, 3, 4, 5, 1, 2});
    expect_ids(NULL, "007", 1, (cv_id[]){7});
    expect_ids("1000", "random", 1000, NULL);
    expect_ids(NULL, "random", 8, NULL);
}

/* A permutation of 1..n, another for another seed. */
static void random_ids(void **state)
{
    (void)state;
    cv_id first[3][50];
    for (uint32_t seed = 0; seed < 3; seed++) {
        struct attempt *it = begin(CV_RING);
        bool seen[51] = {false};
        it->plan.nodes = "50";
        it->plan.ids = "random";
        it->plan.seed = seed;
        built(it);
        for (uint32_t i = 0; i < 50; i++) {
            assert_in_range(it->scenario.ids[i], 1, 50);
            assert_false(seen[it->scenario.ids[i]]);
            seen[it->scenario.ids[i]] = true;
        }
        memcpy(first[seed], it->scenario.ids, sizeof first[seed]);
        end(it);
    }
    assert_memory_not_equal(first[0], first[1], sizeof first[0]);
    assert_memory_not_equal(first[1], first[2], sizeof first[0]);
}

static void bad_groups(void **state)
{
    (void)state;
    static const char *const numbers[] = {"0",
                                          "-1",
                                          "",
                                          " 3",
                                          "3 ",
                                          "3x",
                                          "1e3",
                                          "0x10",
                                          "1073741825",
                                          "4294967296",
                                          "18446744073709551617",
                                          "99999999999999999999999",
                                          "1,2"};
    static const char *const lists[] = {"",     ",",     "1,", ",1", "1,,2",       "1 2", "1..",    "..3",
                                        "3..1", "1...3", "a",  "-1", "4294967296", "1;2", "Random", "0..4294967295"};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct attempt *it = begin(CV_RING);
        it->plan.nodes = numbers[i];
        refused(it, "--nodes", numbers[i], "expected");
    }
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        struct attempt *it = begin(CV_RING);
        it->plan.ids = lists[i];
        refused(it, "--ids", lists[i], "expected");
        it = begin(CV_RING);
        it->plan.nodes = "2";
        it->plan.attributes = lists[i];
        refused(it, "--attr", lists[i], "");
    }
    struct attempt *it = begin(CV_RING);
    it->plan.ids = "5,6,7,6";
    refused(it, "--ids", "5,6,7,6", "6 stands twice");
    it = begin(CV_RING);
    it->plan.ids = "1..4,3";
    refused(it, "--ids", "1..4,3", "3 stands twice");
    it = begin(CV_RING);
    it->plan.ids = "5,6";
    it->plan.nodes = "3";
    refused(it, "--ids", "5,6", "2 ids for 3 nodes");
    it = begin(CV_RING);
    it->plan.nodes = "3";
    it->plan.attributes = "1,1,1,1";
    refused(it, "--attr", "1,1,1,1", "4 numbers for 3 nodes");
}

static void attributes_may_repeat(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_RING);
    it->plan.ids = "5,6,7";
    it->plan.attributes = "9,0,9";
    built(it);
    assert_int_equal(it->scenario.group.attributes[0], 9);
    assert_int_equal(it->scenario.group.attributes[1], 0);
    assert_true(cv_group_rank(&it->scenario.group, 2) > cv_group_rank(&it->scenario.group, 0));
    end(it);
}

/* ---- who calls ---- */

static void callers(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_RING);
    it->plan.ids = "7,3,5";
    built(it); /* the smallest id */
    assert_true(it->scenario.caller_count == 1 && it->scenario.callers[0] == 1 && !it->scenario.everyone_calls);
    end(it);
    it = begin(CV_RING);
    it->plan.ids = "7,3,5";
    cv_words_add(&it->plan.crash, "3@0");
    built(it); /* the smallest live id */
    assert_true(it->scenario.caller_count == 1 && it->scenario.callers[0] == 2);
    end(it);
    it = begin(CV_RING);
    it->plan.ids = "7,3,5";
    it->plan.start = "5,7";
    built(it); /* in node order */
    assert_true(it->scenario.caller_count == 2 && it->scenario.callers[0] == 0 && it->scenario.callers[1] == 2);
    end(it);
    it = begin(CV_RING);
    it->plan.start = "2..4";
    built(it);
    assert_true(it->scenario.caller_count == 3 && it->scenario.callers[2] == 3);
    end(it);
    it = begin(CV_RING);
    it->plan.start = "all";
    built(it);
    assert_true(it->scenario.everyone_calls);
    end(it);
}

static void bad_callers(void **state)
{
    (void)state;
    static const char *const refusals[][2] = {
        {"", "expected"},     {"none", "expected"},      {"9", "no node 9"},
        {"0", "no node 0"},   {"1,1", "1 stands twice"}, {"1,", "expected"},
        {"ALL", "expected"},  {"2", "2 is dead"},        {"0..4294967295", "expected"},
        {"1,all", "expected"}};
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct attempt *it = begin(CV_RING);
        it->plan.start = refusals[i][0];
        cv_words_add(&it->plan.crash, "2@0");
        refused(it, "--start", refusals[i][0], refusals[i][1]);
    }
}

/* ---- the network ---- */

static void expect_delay(const char *text, enum cv_delay_model model, uint64_t low, uint64_t high)
{
    struct attempt *it = begin(CV_RING);
    it->plan.delay = text;
    built(it);
    assert_int_equal(it->scenario.delay.model, model);
    assert_int_equal(it->scenario.delay.low, low);
    if (model != CV_DELAY_EXPONENTIAL)
        assert_int_equal(it->scenario.delay.high, high);
    end(it);
}

static void delays(void **state)
{
    (void)state;
    expect_delay(NULL, CV_DELAY_UNIT, 1, 1);
    expect_delay("unit", CV_DELAY_UNIT, 1, 1);
    expect_delay("1..1", CV_DELAY_UNIT, 1, 1);
    expect_delay("1..9", CV_DELAY_UNIFORM, 1, 9);
    expect_delay("7", CV_DELAY_UNIFORM, 7, 7);
    expect_delay("3..16777216", CV_DELAY_UNIFORM, 3, 16777216);
    expect_delay("exp:3", CV_DELAY_EXPONENTIAL, 3, 0);
    static const char *const bad[] = {"",
                                      "9..1",
                                      "0..3",
                                      "0",
                                      "-1..3",
                                      "1..",
                                      "..9",
                                      "1...9",
                                      "exp:",
                                      "exp:0",
                                      "exp:-1",
                                      "exp:1.5",
                                      "exp:3x",
                                      "Unit",
                                      "1..16777217",
                                      "exp",
                                      "1-9",
                                      "1..9 ",
                                      "1..2..3",
                                      "unit,1",
                                      "inf",
                                      "1..99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct attempt *it = begin(CV_RING);
        it->plan.delay = bad[i];
        refused(it, "--delay", bad[i], "expected unit, A..B");
    }
}

static void expect_loss(const char *text, uint64_t p_32)
{
    struct attempt *it = begin(CV_RING);
    it->plan.loss = text;
    it->plan.duplicate = text;
    built(it);
    assert_int_equal(it->scenario.loss_32, p_32);
    assert_int_equal(it->scenario.duplicate_32, p_32);
    end(it);
}

static void chances(void **state)
{
    (void)state;
    expect_loss(NULL, 0);
    expect_loss("0", 0);
    expect_loss("0.0", 0);
    expect_loss("0.5", 1ull << 31);
    expect_loss(".25", 1ull << 30);
    expect_loss("0.99", ((1ull << 32) * 99) / 100);
    expect_loss("0.000000001", 4);
    static const char *const bad[] = {"",    "1",   "1.0",   "1.5",  "2",   "-0.1",         "0.",   ".",   "0.5.5",
                                      "0,5", "50%", "0.995", "1e-3", "nan", "0.0000000001", "0.5x", "+0.5"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct attempt *it = begin(CV_RING);
        it->plan.loss = bad[i];
        refused(it, "--loss", bad[i], "expected a probability of 0..0.99");
        it = begin(CV_RING);
        it->plan.duplicate = bad[i];
        refused(it, "--duplicate", bad[i], "expected a probability of 0..0.99");
    }
}

static void times(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_RING);
    it->plan.detect = "0";
    it->plan.until = "281474976710656";
    built(it);
    assert_int_equal(it->scenario.detect, 0);
    assert_int_equal(it->scenario.until, 1ull << 48);
    end(it);
    it = begin(CV_RING);
    built(it);
    assert_int_equal(it->scenario.detect, 1);
    assert_true(it->scenario.until >= 1000000 && it->scenario.until < CV_NEVER);
    end(it);
    static const char *const bad[] = {"", "-1", "never", "1.5", "281474976710657", "1x", "99999999999999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        it = begin(CV_RING);
        it->plan.detect = bad[i];
        refused(it, "--detect", bad[i], "expected a number of ticks");
        it = begin(CV_RING);
        it->plan.until = bad[i];
        refused(it, "--until", bad[i], "expected a number of ticks");
    }
}

/* The bound for timeouts is the network's worst case. */
static void the_bound_fits_the_network(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_RING);
    built(it);
    assert_int_equal(it->scenario.group.bound, 1);
    end(it);
    it = begin(CV_RING);
    it->plan.delay = "2..9";
    built(it);
    assert_int_equal(it->scenario.group.bound, 9);
    end(it);
    it = begin(CV_COMPLETE);
    it->plan.delay = "2..9";
    cv_words_add(&it->plan.alternate, "1:2");
    built(it);
    assert_true(it->scenario.group.bound >= 27); /* three links in a row */
    end(it);
    it = begin(CV_RING);
    it->plan.delay = "2..9";
    it->plan.loss = "0.5";
    built(it);
    assert_true(it->scenario.group.bound > 40 * 18); /* a packet may be lost many times */
    end(it);
    it = begin(CV_RING);
    it->plan.delay = "2..9";
    cv_words_add(&it->plan.set, "bound=4");
    built(it); /* the user's own bound */
    assert_int_equal(it->scenario.group.bound, 4);
    end(it);
}

/* ---- parameters ---- */

static void settings(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_RING);
    it->plan.ids = "7,3,5";
    built(it);
    assert_true(it->scenario.parameters[0] == 0 && it->scenario.parameters[1] == 3 && it->scenario.parameters[2] == -1);
    end(it);
    it = begin(CV_RING);
    it->plan.ids = "7,3,5";
    cv_words_add(&it->plan.set, "announce=none");
    cv_words_add(&it->plan.set, "tries=9223372036854775807");
    cv_words_add(&it->plan.set, "root=5");
    built(it);
    assert_true(it->scenario.parameters[0] == 2 && it->scenario.parameters[1] == INT64_MAX &&
                it->scenario.parameters[2] == 2);
    end(it);
}

static void bad_settings(void **state)
{
    (void)state;
    static const char *const refusals[][2] = {
        {"", "expected KEY=VALUE"},
        {"announce", "expected KEY=VALUE"},
        {"=all", "no such parameter"},
        {"announce=", "expected ring|all|none"},
        {"announce=al", "expected ring|all|none"},
        {"announce=all|none", "expected ring|all|none"},
        {"announce=ALL", "expected ring|all|none"},
        {"tries=", "expected a number"},
        {"tries=-1", "expected a number"},
        {"tries=9223372036854775808", "expected a number"},
        {"root=1", "expected the id of a node"},
        {"root=x", "expected the id of a node"},
        {"bound=0", "at least 1"},
        {"bound=", "at least 1"},
        {"nonsense=1", "announce, tries, root, bound"},
        {"Announce=all", "announce, tries, root, bound"},
    };
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) {
        struct attempt *it = begin(CV_RING);
        it->plan.ids = "7,3,5";
        cv_words_add(&it->plan.set, refusals[i][0]);
        refused(it, "--set", refusals[i][0], refusals[i][1]);
    }
    struct attempt *it = begin(CV_RING);
    cv_words_add(&it->plan.set, "announce=all");
    cv_words_add(&it->plan.set, "announce=none");
    refused(it, "--set", "announce=none", "announce is set twice");
}

/* ---- what goes wrong ---- */

static void crashes_and_recoveries(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_RING);
    cv_words_add(&it->plan.crash, "2@0");
    cv_words_add(&it->plan.crash, "3@17");
    cv_words_add(&it->plan.crash, "4@before:ballot");
    cv_words_add(&it->plan.crash, "5@after:result");
    cv_words_add(&it->plan.recover, "3@18");
    cv_words_add(&it->plan.recover, "4@1");
    built(it);
    const struct cv_crash *crash = it->scenario.crashes;
    assert_int_equal(it->scenario.crash_count, 4);
    assert_true(crash[0].node == 1 && crash[0].moment == CV_AT && crash[0].time == 0);
    assert_true(crash[1].node == 2 && crash[1].time == 17);
    assert_true(crash[2].node == 3 && crash[2].moment == CV_BEFORE && crash[2].kind == 0);
    assert_true(crash[3].node == 4 && crash[3].moment == CV_AFTER && crash[3].kind == 1);
    assert_true(cv_scenario_dead(&it->scenario, 1) && !cv_scenario_dead(&it->scenario, 2));
    assert_int_equal(it->scenario.recovery_count, 2);
    end(it);
}

static void bad_crashes(void **state)
{
    (void)state;
    static const char *const crashes[][2] = {
        {"", "expected ID@TIME"},
        {"2", "expected ID@TIME"},
        {"2@", "expected ID@TIME"},
        {"@3", "id"},
        {"9@3", "no node 9"},
        {"x@3", "not an id"},
        {"2@-1", "expected ID@TIME"},
        {"2@3x", "expected ID@TIME"},
        {"2@before", "expected ID@TIME"},
        {"2@before:", "ballot"},
        {"2@before:token", "ballot"},
        {"2@during:ballot", "expected ID@TIME"},
        {"2@after:Ballot", "ballot"},
        {"4294967298@1", "not an id"},
        {"2@999999999999999999999", "expected ID@TIME"},
    };
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) {
        struct attempt *it = begin(CV_RING);
        cv_words_add(&it->plan.crash, crashes[i][0]);
        refused(it, "--crash", crashes[i][0], crashes[i][1]);
    }
    static const char *const recoveries[][2] = {
        {"3@9", "does not crash before"},
        {"2@5", "does not crash before"},
        {"2@4", "does not crash before"},
        {"2", "expected ID@TIME"},
        {"9@9", "no node 9"},
        {"2@soon", "expected ID@TIME"},
        {"2@", "expected ID@TIME"},
    };
    for (size_t i = 0; i < sizeof recoveries / sizeof *recoveries; i++) {
        struct attempt *it = begin(CV_RING);
        cv_words_add(&it->plan.crash, "2@5");
        cv_words_add(&it->plan.recover, recoveries[i][0]);
        refused(it, "--recover", recoveries[i][0], recoveries[i][1]);
    }
}

static void partitions(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_COMPLETE);
    it->plan.nodes = "5";
    cv_words_add(&it->plan.partition, "1,5/3@4..9");
    cv_words_add(&it->plan.partition, "2@7");
    cv_words_add(&it->plan.partition, "2@8..");
    built(it);
    const struct cv_partition *cut = it->scenario.partitions;
    assert_int_equal(it->scenario.partition_count, 3);
    assert_true(cut[0].begin == 4 && cut[0].end == 9);
    assert_true(cut[0].side[0] == cut[0].side[4] && cut[0].side[1] == cut[0].side[3]);
    assert_true(cut[0].side[0] != cut[0].side[2] && cut[0].side[2] != cut[0].side[1] &&
                cut[0].side[0] != cut[0].side[1]);
    assert_true(cut[1].begin == 7 && cut[1].end == CV_NEVER && cut[2].begin == 8 && cut[2].end == CV_NEVER);
    end(it);
    static const char *const bad[][2] = {
        {"", "expected A,B/C,D@FROM..TO"},
        {"1,2/3", "expected A,B/C,D@FROM..TO"},
        {"1/2@", "expected A,B/C,D@FROM..TO"},
        {"1/2@9..4", "FROM < TO"},
        {"1/2@4..4", "FROM < TO"},
        {"1/9@4..9", "no node 9"},
        {"1,1/2@4..9", "1 stands twice"},
        {"1/2,1@4..9", "1 stands twice"},
        {"1//2@4..9", "id"},
        {"@4..9", "id"},
        {"1,/2@4..9", "id"},
        {"1/2@x..9", "FROM < TO"},
        {"1/2@..9", "FROM < TO"},
        {"1,2,3,4,5@4..9", "cuts nothing"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        it = begin(CV_COMPLETE);
        it->plan.nodes = "5";
        cv_words_add(&it->plan.partition, bad[i][0]);
        refused(it, "--partition", bad[i][0], bad[i][1]);
    }
}

static void the_detector(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_COMPLETE);
    cv_words_add(&it->plan.suspect, "1:2@5");
    cv_words_add(&it->plan.suspect, "*:3@0");
    cv_words_add(&it->plan.blind, "4:*");
    cv_words_add(&it->plan.alternate, "7:8");
    built(it);
    assert_true(it->scenario.suspicions[0].pair.one == 0 && it->scenario.suspicions[0].pair.other == 1 &&
                it->scenario.suspicions[0].time == 5);
    assert_true(it->scenario.suspicions[1].pair.one == CV_NOBODY && it->scenario.suspicions[1].pair.other == 2);
    assert_true(it->scenario.blindness[0].one == 3 && it->scenario.blindness[0].other == CV_NOBODY);
    assert_true(it->scenario.alternates[0].one == 6 && it->scenario.alternates[0].other == 7);
    end(it);
    static const char *const bad[][2] = {{"", "expected"},     {"1", "expected"},        {"1:", "id"},
                                         {":1", "id"},         {"1:1", "two different"}, {"1:9", "no node 9"},
                                         {"9:1", "no node 9"}, {"1:2:3", "id"},          {"**:1", "id"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        it = begin(CV_COMPLETE);
        cv_words_add(&it->plan.blind, bad[i][0]);
        refused(it, "--blind", bad[i][0], bad[i][1]);
        it = begin(CV_COMPLETE);
        cv_words_add(&it->plan.alternate, bad[i][0]);
        refused(it, "--alternate", bad[i][0], bad[i][1]);
    }
    static const char *const unsuspected[][2] = {{"1:2", "expected P:Q@TIME"},
                                                 {"1:2@", "expected P:Q@TIME"},
                                                 {"1:9@3", "no node 9"},
                                                 {"1@3", "P:Q"},
                                                 {"1:1@3", "two different"}};
    for (size_t i = 0; i < sizeof unsuspected / sizeof *unsuspected; i++) {
        it = begin(CV_COMPLETE);
        cv_words_add(&it->plan.suspect, unsuspected[i][0]);
        refused(it, "--suspect", unsuspected[i][0], unsuspected[i][1]);
    }
    it = begin(CV_COMPLETE);
    cv_words_add(&it->plan.alternate, "*:1");
    refused(it, "--alternate", "*:1", "not an id");
}

/* ---- graphs ---- */

static void graphs(void **state)
{
    (void)state;
    struct attempt *it = begin(CV_GRAPH);
    built(it); /* connected, 2n edges */
    assert_int_equal(it->scenario.group.nodes, 8);
    assert_int_equal(cv_graph_edge_count(&it->scenario.graph), 16);
    end(it);
    it = begin(CV_GRAPH);
    it->plan.graph = "edges:";
    it->plan.graph_text = "5 7\n7 9\n";
    built(it); /* the nodes are those of the file */
    assert_int_equal(it->scenario.group.nodes, 3);
    assert_int_equal(it->scenario.ids[2], 9);
    end(it);
    it = begin(CV_GRAPH);
    it->plan.nodes = "1";
    built(it);
    assert_int_equal(cv_graph_edge_count(&it->scenario.graph), 0);
    end(it);
    it = begin(CV_RING);
    it->plan.graph = "line";
    refused(it, "--graph", "line", "toy runs on a ring");
    it = begin(CV_COMPLETE);
    it->plan.graph = "line";
    refused(it, "--graph", "line", "toy runs on a complete network");
    it = begin(CV_GRAPH);
    it->plan.nodes = "4";
    it->plan.graph = "two.txt";
    it->plan.graph_text = "1 2\n3 4\n";
    refused(it, "--graph", "two.txt", "2 parts");
    it = begin(CV_GRAPH);
    it->plan.nodes = "4";
    it->plan.start = "2,3";
    it->plan.graph = "two.txt";
    it->plan.graph_text = "1 2\n3 4\n";
    built(it); /* each part has a caller */
    end(it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_and_ids),
        cmocka_unit_test(random_ids),
        cmocka_unit_test(bad_groups),
        cmocka_unit_test(attributes_may_repeat),
        cmocka_unit_test(callers),
        cmocka_unit_test(bad_callers),
        cmocka_unit_test(delays),
        cmocka_unit_test(chances),
        cmocka_unit_test(times),
        cmocka_unit_test(the_bound_fits_the_network),
        cmocka_unit_test(settings),
        cmocka_unit_test(bad_settings),
        cmocka_unit_test(crashes_and_recoveries),
        cmocka_unit_test(bad_crashes),
        cmocka_unit_test(partitions),
        cmocka_unit_test(the_detector),
        cmocka_unit_test(graphs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
