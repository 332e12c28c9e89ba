// SPDX-License-Identifier: MIT
/* The judges, on runs made by hand; and the table of properties. */
#include "judged.h"

#include "property/step_properties.h"

#define NODES 4u

/* A run as a judge sees it. Ids 10, 20, 30, 40; all alive, all follow 40, the first called. */
struct made_up {
    struct cv_algorithm algorithm;
    struct cv_scenario scenario;
    cv_id ids[NODES];
    uint32_t attributes[NODES];
    cv_node callers[NODES];
    struct cv_standing standing[NODES];
    uint32_t part[NODES];
    struct cv_run run;
    struct cv_judgement judgement;
};

static struct cv_standing stand(const void *runtime, cv_node node)
{
    return ((const struct made_up *)runtime)->standing[node];
}

static const struct cv_kind kinds[] = {{"ballot", 0, NULL, false}, {0}};

static void make_up(struct made_up *it)
{
    *it = (struct made_up){.algorithm = {.abi = CV_ABI,
                                         .problem = CV_ELECTION,
                                         .name = "made-up",
                                         .topology = CV_RING,
                                         .claims = CV_ELECTION_CLAIMS,
                                         .kinds = kinds},
                           .ids = {10, 20, 30, 40}};
    it->scenario.algorithm = &it->algorithm;
    it->scenario.group = (struct cv_group){.ids = it->ids, .nodes = NODES, .topology = CV_RING, .bound = 1};
    it->scenario.ids = it->ids;
    it->scenario.callers = it->callers;
    it->scenario.caller_count = 1;
    it->scenario.delay = (struct cv_delay){CV_DELAY_UNIT, 1, 1};
    for (uint32_t i = 0; i < NODES; i++)
        it->standing[i] = (struct cv_standing){.leader = 40, .alive = true, .knows = true};
    it->run = (struct cv_run){.scenario = &it->scenario,
                              .runtime = it,
                              .standing = stand,
                              .ending = CV_QUIET,
                              .calls = 1,
                              .total = 8,
                              .time = 8,
                              .decided = 7};
}

static enum cv_verdict judge(struct made_up *it)
{
    return judged(&it->run, &it->judgement);
}

static const struct cv_finding *finding(const struct made_up *it, const char *name)
{
    return judged_finding(&it->judgement, name);
}

static void expect_violated(struct made_up *it, const char *names)
{
    judge(it);
    judged_violated(&it->judgement, names);
}

static void a_good_run_holds(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    expect_violated(&it, "");
    assert_true(it.judgement.has_leader);
    assert_int_equal(it.judgement.leader, 40);
}

static void the_dead_do_not_count(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.standing[3] = (struct cv_standing){.leader = 7, .alive = false, .knows = true};
    for (uint32_t i = 0; i < 3; i++)
        it.standing[i].leader = 30;
    expect_violated(&it, "");
    assert_int_equal(it.judgement.leader, 30);
}

static void a_leader_that_died_is_not_the_best_alive(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.standing[3].alive = false;
    expect_violated(&it, "best-wins any-caller");
    assert_string_equal(finding(&it, "best-wins")->detail, "node 10 follows 40, the best live node is 30");
}

static void two_leaders_are_no_agreement(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.standing[2].leader = 30;
    expect_violated(&it, "agreement best-wins any-caller");
    assert_string_equal(finding(&it, "agreement")->detail, "node 10 follows 40, node 30 follows 30");
    assert_false(it.judgement.has_leader);
}

static void the_best_is_by_attribute_then_by_id(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.scenario.group.attributes = it.attributes;
    memcpy(it.attributes, (uint32_t[]){5, 9, 9, 1}, sizeof it.attributes);
    expect_violated(&it, "best-wins any-caller");
    for (uint32_t i = 0; i < NODES; i++)
        it.standing[i].leader = 30;
    expect_violated(&it, "");
    for (uint32_t i = 0; i < NODES; i++)
        it.standing[i].leader = 20;
    expect_violated(&it, "best-wins any-caller");
}

static void everyone_must_learn(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.standing[1].knows = false;
    it.standing[2].knows = false;
    expect_violated(&it, "everyone-learns");
    assert_string_equal(finding(&it, "everyone-learns")->detail,
                        "2 of 4 live nodes know no leader, node 20 among them");
    assert_false(it.judgement.has_leader);
}

/* An election that no live node has heard of is not judged. The checker does the same. */
static void who_has_not_heard_of_it_owes_nothing(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    for (uint32_t i = 0; i < NODES; i++)
        it.standing[i] = (struct cv_standing){.alive = i > 0};
    expect_violated(&it, "");
    assert_string_equal(finding(&it, "everyone-learns")->detail, "no live node has heard of the election");
    it.standing[2].active = true;
    expect_violated(&it, "everyone-learns");
    make_up(&it);
    for (uint32_t i = 0; i < NODES; i++)
        it.standing[i].alive = false;
    expect_violated(&it, "");
    assert_false(it.judgement.has_leader);
    assert_string_equal(finding(&it, "everyone-learns")->detail, "no node is alive");
}

static void somebody_must_call_and_only_once_at_a_time(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.run.calls = 0;
    expect_violated(&it, "somebody-calls");
    make_up(&it);
    it.standing[1].recalled = true;
    expect_violated(&it, "one-election");
    assert_string_equal(finding(&it, "one-election")->detail, "node 20 called while its own election was under way");
}

/* If the result depends on the callers, the best of them must win. */
static void without_any_caller_the_best_caller_wins(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.algorithm.claims = CV_ELECTION_CLAIMS & ~(uint32_t)CV_ANY_CALLER;
    it.callers[0] = 1;
    it.callers[1] = 2;
    it.scenario.caller_count = 2;
    expect_violated(&it, "best-wins");
    for (uint32_t i = 0; i < NODES; i++)
        it.standing[i].leader = 30;
    expect_violated(&it, "");
    assert_int_equal(finding(&it, "any-caller")->verdict, CV_DISCLAIMED);
    it.scenario.everyone_calls = true;
    it.scenario.caller_count = 0;
    expect_violated(&it, "best-wins");
}

static void what_is_not_claimed_is_not_held_against_it(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.algorithm.claims = CV_ONE_CALL;
    it.standing[0].leader = 10;
    it.standing[1].knows = false;
    expect_violated(&it, "");
    assert_int_equal(finding(&it, "agreement")->verdict, CV_DISCLAIMED);
    assert_int_equal(finding(&it, "best-wins")->verdict, CV_DISCLAIMED);
    assert_int_equal(finding(&it, "everyone-learns")->verdict, CV_DISCLAIMED);
}

/* A parameter that is not the default may give up claims. */
static void a_parameter_drops_claims(void **state)
{
    (void)state;
    static const struct cv_parameter parameters[] = {{"announce", "", "yes|no", 0, CV_CHOICE, CV_EVERYONE_LEARNS},
                                                     {"other", "", NULL, 5, CV_NUMBER, CV_AGREEMENT},
                                                     {0}};
    struct made_up it;
    int64_t values[] = {0, 5};
    make_up(&it);
    it.algorithm.parameters = parameters;
    it.scenario.parameters = values;
    it.standing[1].knows = false;
    expect_violated(&it, "everyone-learns");
    values[0] = 1;
    expect_violated(&it, "");
    assert_int_equal(finding(&it, "agreement")->verdict, CV_HELD);
    values[1] = 6;
    expect_violated(&it, "");
    assert_int_equal(finding(&it, "agreement")->verdict, CV_DISCLAIMED);
}

/* Each component of the network by itself. A component in which no node called owes nothing. */
static void parts_are_judged_by_themselves(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    memcpy(it.part, (uint32_t[]){0, 0, 2, 2}, sizeof it.part);
    it.run.component = it.part;
    it.standing[0].leader = it.standing[1].leader = 20;
    expect_violated(&it, "agreement best-wins any-caller"); /* it claims nothing else */
    it.algorithm.claims |= CV_PER_COMPONENT;
    expect_violated(&it, "");
    assert_false(it.judgement.has_leader); /* two leaders: there is none that all follow */
    it.standing[2].knows = it.standing[3].knows = false;
    expect_violated(&it, "");
    it.standing[3].knows = true;
    expect_violated(&it, "everyone-learns");
    it.standing[0].leader = 10;
    expect_violated(&it, "agreement best-wins everyone-learns any-caller");
}

/* A run that is not at rest may still become right, unless it repeats for ever. */
static void an_unfinished_run_is_not_violated(void **state)
{
    (void)state;
    static const enum cv_ending endings[] = {CV_OUT_OF_TIME, CV_INTERRUPTED, CV_REPEATS};
    static const enum cv_verdict verdicts[] = {CV_UNFINISHED, CV_UNFINISHED, CV_VIOLATED};
    for (int i = 0; i < 3; i++) {
        struct made_up it;
        make_up(&it);
        it.run.ending = endings[i];
        it.run.now = 12345;
        it.run.period = 678;
        it.standing[2].leader = 30;
        it.standing[1].knows = false;
        assert_int_equal(judge(&it), verdicts[i]);
        assert_int_equal(finding(&it, "agreement")->verdict, verdicts[i]);
        assert_int_equal(finding(&it, "everyone-learns")->verdict, verdicts[i]);
        assert_non_null(strstr(it.judgement.reason, i == 2 ? "678" : "12345"));
        /* Even if nothing is violated so far, the run is not over, or never will be. */
        make_up(&it);
        it.run.ending = endings[i];
        it.run.now = 6;
        it.scenario.until = 500;
        assert_int_equal(judge(&it), i == 2 ? CV_VIOLATED : CV_UNFINISHED);
        static const char *const reasons[] = {"comes-to-rest: something is still under way; given up at time 500",
                                              "comes-to-rest: something is still under way; interrupted at time 6",
                                              "comes-to-rest: messages go round for ever"};
        assert_memory_equal(it.judgement.reason, reasons[i], strlen(reasons[i]));
    }
}

static void the_costs_are_compared_with_the_text(void **state)
{
    (void)state;
    static const struct cv_cost exact[] = {{"listed", CV_MESSAGES_ARE("1"), CV_LISTED, CV_DERIVED_HERE},
                                           {"not here", CV_MESSAGES_ARE("2"), CV_TOP_DEAD, CV_DERIVED_HERE},
                                           {"here", CV_MESSAGES_ARE("2n"), CV_STEADY, CV_DERIVED_HERE},
                                           {"later", CV_MESSAGES_ARE("3"), CV_ALWAYS, CV_DERIVED_HERE},
                                           {"time", CV_DELAY_AT_MOST("2n + 1"), CV_UNIT_DELAY, CV_DERIVED_HERE},
                                           {0}};
    struct made_up it;
    make_up(&it);
    it.algorithm.costs = exact;
    expect_violated(&it, "");
    assert_string_equal(it.judgement.messages.cost->label, "here");
    assert_true(it.judgement.messages_hold && it.judgement.delay_holds);
    for (it.run.total = 7; it.run.total <= 9; it.run.total += 2) {
        expect_violated(&it, "textbook-messages");
        assert_false(it.judgement.messages_hold);
    }
    it.run.total = 8;
    it.run.time = 9;
    expect_violated(&it, "");
    it.run.time = 10;
    expect_violated(&it, "textbook-delay");
    it.run.ending = CV_OUT_OF_TIME;
    assert_int_equal(judge(&it), CV_UNFINISHED);
    it.scenario.delay = (struct cv_delay){CV_DELAY_UNIFORM, 1, 9};
    it.run.ending = CV_QUIET;
    expect_violated(&it, ""); /* the text gives no time */
    assert_null(it.judgement.delay.cost);
}

static const char *never(const struct cv_self *me)
{
    (void)me;
    return NULL;
}

static void a_broken_invariant_is_a_violation(void **state)
{
    (void)state;
    struct made_up it;
    make_up(&it);
    it.algorithm.invariant = never;
    it.run.checked = true;
    expect_violated(&it, "");
    it.run.broken = "two and two is five";
    it.run.broken_node = 2;
    it.run.broken_time = 99;
    it.run.ending = CV_OUT_OF_TIME;
    expect_violated(&it, "invariant");
    assert_string_equal(finding(&it, "invariant")->detail, "at time 99 on node 30: two and two is five");
}

static void every_property_has_one_row(void **state)
{
    (void)state;
    uint32_t claims = 0;
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++) {
        const struct cv_property *row = cv_property((enum cv_property_number)i);
        assert_false(claims & row->claim);
        claims |= row->claim;
        for (uint32_t other = 0; other < i; other++)
            assert_string_not_equal(cv_property((enum cv_property_number)other)->name, row->name);
        assert_int_equal(cv_property_is_checked(row->name), row->checked);
    }
    /* CV_PER_COMPONENT is no property; it says where the others hold. */
    assert_int_equal(claims | CV_PER_COMPONENT, 2 * CV_FEWEST_HOPS - 1);
    assert_false(cv_property_is_checked("exclusions"));
}

static void a_step_shows_what_it_violates(void **state)
{
    (void)state;
    uint32_t judged = 0;
    for (size_t i = 0; i < CV_STEP_PROPERTIES; i++)
        judged |= 1u << cv_step_properties[i];
    const struct cv_step_facts all = {.broken = true,
                                      .entered = true,
                                      .others_inside = true,
                                      .fence_rises = false,
                                      .recalled = true,
                                      .misled = true,
                                      .disagrees = true,
                                      .hasty = true,
                                      .apart = true};
    assert_int_equal(cv_judge_step(&all), judged);
    assert_int_equal(cv_judge_step(&(struct cv_step_facts){.entered = true, .fence_rises = true}), 0);
    assert_int_equal(cv_judge_step(&(struct cv_step_facts){.entered = true}), 1u << CV_PROPERTY_FENCES_RISE);
    assert_int_equal(cv_judge_step(&(struct cv_step_facts){.others_inside = true}), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_good_run_holds),
        cmocka_unit_test(the_dead_do_not_count),
        cmocka_unit_test(a_leader_that_died_is_not_the_best_alive),
        cmocka_unit_test(two_leaders_are_no_agreement),
        cmocka_unit_test(the_best_is_by_attribute_then_by_id),
        cmocka_unit_test(everyone_must_learn),
        cmocka_unit_test(who_has_not_heard_of_it_owes_nothing),
        cmocka_unit_test(somebody_must_call_and_only_once_at_a_time),
        cmocka_unit_test(without_any_caller_the_best_caller_wins),
        cmocka_unit_test(what_is_not_claimed_is_not_held_against_it),
        cmocka_unit_test(a_parameter_drops_claims),
        cmocka_unit_test(parts_are_judged_by_themselves),
        cmocka_unit_test(an_unfinished_run_is_not_violated),
        cmocka_unit_test(the_costs_are_compared_with_the_text),
        cmocka_unit_test(a_broken_invariant_is_a_violation),
        cmocka_unit_test(every_property_has_one_row),
        cmocka_unit_test(a_step_shows_what_it_violates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
