// SPDX-License-Identifier: MIT
/* Which messages may reach a handler: the ranges of their fields, and what the algorithms say. */
#include "toy.h"

#include "algorithm/registry.h"
#include "core/scenario/validity.h"

#define NODES 4u

struct body {
    uint64_t number, clock, fence, to;
    uint32_t flag, mode;
    cv_rank rank;
    cv_id id;
    uint32_t nodes;
};

static void ignore(struct cv_self *me, const struct cv_message *message)
{
    (void)me, (void)message;
}

static const struct cv_field fields[] = {
    {CV_FIELD(struct body, number, NUMBER), .most = 9},
    {CV_FIELD(struct body, clock, CLOCK)},
    {CV_FIELD(struct body, fence, FENCE)},
    {CV_FIELD(struct body, to, MAYBE)},
    {CV_FIELD(struct body, flag, FLAG)},
    {CV_FIELD(struct body, mode, MODE), .words = "left|right"},
    {CV_FIELD(struct body, rank, RANK)},
    {CV_FIELD(struct body, id, ID)},
    {CV_FIELD(struct body, nodes, NODES)},
    {CV_FIELD_IDS(struct body)},
    {0},
};
static const struct cv_kind kinds[] = {{"ping", sizeof(struct body), ignore, fields}, {"pong", 0, ignore, NULL}, {0}};

static const cv_id ids[NODES] = {10, 20, 30, 40};
static const int64_t parameters[8] = {0};
static const uint64_t quorums[NODES + 1] = {0, 2, 4, 6, 8};
static const cv_node voters[2 * NODES] = {0, 1, 0, 1, 0, 2, 0, 3};

/* Node 0 of four, which coordinates. */
struct receiver {
    struct cv_group group;
    struct cv_self self;
    const struct cv_algorithm *algorithm;
    uint64_t state[256];
    uint64_t room[64];
};

static void begin(struct receiver *it, const struct cv_algorithm *algorithm, cv_node node)
{
    *it = (struct receiver){
        .group =
            {.ids = ids, .quorums = quorums, .voters = voters, .parameters = parameters, .epoch = 3, .nodes = NODES},
        .algorithm = algorithm};
    it->self = (struct cv_self){.state = it->state, .group = &it->group, .node = node, .outbox = (void *)it->room};
    it->self.room = sizeof it->room;
    if (algorithm->init)
        algorithm->init(&it->self);
}

static enum cv_validity ask(struct receiver *it, cv_node from, uint32_t kind, const void *body, size_t bytes)
{
    uint64_t room[32] = {0};
    struct cv_message *message = (void *)room;
    const char *why = NULL;
    message->to = it->self.node;
    message->from = from;
    message->kind = kind & (CV_MAX_KINDS - 1);
    message->words = (bytes / 4) & CV_MAX_WORDS;
    if (bytes)
        memcpy(message->body, body, bytes);
    const enum cv_validity validity =
        cv_message_validity(it->algorithm, cv_algorithm_kinds(it->algorithm), &it->self, message, &why);
    assert_int_equal(validity != CV_VALID, why != NULL);
    if (validity == CV_VALID && it->algorithm->kinds != kinds) {
        it->self.used = 0;
        it->algorithm->kinds[kind].receive(&it->self, message);
    }
    return validity;
}

static void fields_have_ranges(void **state)
{
    (void)state;
    const struct cv_algorithm algorithm = {.kinds = kinds};
    const struct body good = {9, CV_CLOCK_MASK, 3ull << CV_VIEW_BITS | CV_MOST_ENTRIES, CV_NOBODY, 1, 1, 40, 10, 0xf};
    struct body body[10];
    struct receiver it;
    begin(&it, &algorithm, 0);
    for (int i = 0; i < 10; i++)
        body[i] = good;
    body[1].number = 10;
    body[2].clock++;
    body[3].fence++;
    body[4].to = NODES;
    body[5].flag = 2;
    body[6].mode = 2;
    body[7].rank = cv_rank_make(40, 41);
    body[8].id = 11;
    body[9].nodes = 0x10;
    for (int i = 0; i < 10; i++) {
        const enum cv_validity expected = i == 0 ? CV_VALID : i == 7 || i == 8 ? CV_STRAY : CV_FORGED;
        assert_int_equal(ask(&it, 1, 0, &body[i], sizeof body[i]), expected);
    }
}

static void lengths_kinds_and_senders_are_known(void **state)
{
    (void)state;
    const struct cv_algorithm algorithm = {.kinds = kinds};
    struct {
        struct body body;
        cv_id list[5];
        uint32_t unused;
    } long_one = {{.to = CV_NOBODY, .id = 10}, {10, 20, 30, 40, 10}, 0};
    struct receiver it;
    begin(&it, &algorithm, 0);
    assert_int_equal(ask(&it, 1, 1, NULL, 0), CV_VALID);
    assert_int_equal(ask(&it, NODES, 1, NULL, 0), CV_FORGED);
    assert_int_equal(ask(&it, 1, 2, NULL, 0), CV_FORGED);
    assert_int_equal(ask(&it, 1, 1, &long_one, 4), CV_FORGED);
    assert_int_equal(ask(&it, 1, 0, &long_one, sizeof(struct body) - 4), CV_FORGED);
    assert_int_equal(ask(&it, 1, 0, &long_one, sizeof(struct body) + 16), CV_VALID);
    assert_int_equal(ask(&it, 1, 0, &long_one, sizeof(struct body) + 20), CV_FORGED); /* more ids than members */
    long_one.list[2] = 33;
    assert_int_equal(ask(&it, 1, 0, &long_one, sizeof(struct body) + 20), CV_STRAY);
}

/* A number for each of four nodes comes before the list. */
static void numbers_come_before_the_list(void **state)
{
    (void)state;
    static const struct cv_field row[] = {{CV_FIELD_ROW(uint32_t, "served")}, {0}};
    static const struct cv_field both[] = {{CV_FIELD_ROW(uint32_t, "served")}, {CV_FIELD_IDS(uint32_t)}, {0}};
    static const struct cv_kind rows[] = {{"row", 4, ignore, row}, {"both", 4, ignore, both}, {0}};
    const struct cv_algorithm algorithm = {.kinds = rows};
    const uint32_t body[] = {7, 1, 2, 3, 4, 10, 20};
    struct receiver it;
    begin(&it, &algorithm, 0);
    assert_int_equal(ask(&it, 1, 0, body, 20), CV_VALID);
    assert_int_equal(ask(&it, 1, 0, body, 16), CV_FORGED);
    assert_int_equal(ask(&it, 1, 0, body, 24), CV_FORGED);
    assert_int_equal(ask(&it, 1, 1, body, 16), CV_FORGED);
    assert_int_equal(ask(&it, 1, 1, body, 20), CV_VALID);
    assert_int_equal(ask(&it, 1, 1, body, 28), CV_VALID);
    assert_int_equal(ask(&it, 1, 1, (const uint32_t[]){7, 1, 2, 3, 4, 11}, 24), CV_STRAY);
}

/* ---- the algorithms ---- */

static void central_lets_each_wait_once(void **state)
{
    (void)state;
    enum { REQUEST, GRANT, RELEASE };
    const uint64_t fence = 3ull << CV_VIEW_BITS | 1;
    struct receiver it;
    begin(&it, cv_algorithm_find("central"), 0);
    assert_int_equal(ask(&it, 1, REQUEST, NULL, 0), CV_VALID);
    assert_int_equal(ask(&it, 2, REQUEST, NULL, 0), CV_VALID);
    assert_int_equal(ask(&it, 2, REQUEST, NULL, 0), CV_FORGED);
    assert_int_equal(ask(&it, 3, REQUEST, NULL, 0), CV_VALID);
    assert_int_equal(ask(&it, 2, REQUEST, NULL, 0), CV_FORGED);
    assert_int_equal(ask(&it, 3, RELEASE, NULL, 0), CV_FORGED);
    assert_int_equal(ask(&it, 1, RELEASE, NULL, 0), CV_VALID);
    assert_int_equal(ask(&it, 1, GRANT, &fence, 8), CV_FORGED);
    begin(&it, cv_algorithm_find("central"), 1);
    assert_int_equal(ask(&it, 2, REQUEST, NULL, 0), CV_FORGED); /* this one does not coordinate */
    assert_int_equal(ask(&it, 0, GRANT, &fence, 8), CV_FORGED); /* nor did it ask */
    it.self.region = CV_TRYING;
    assert_int_equal(ask(&it, 2, GRANT, &fence, 8), CV_FORGED);
    assert_int_equal(ask(&it, 0, GRANT, &fence, 8), CV_VALID);
}

static void a_voter_keeps_a_place_for_each_of_its_sets(void **state)
{
    (void)state;
    static const char *const names[] = {"maekawa", "maekawa-plain"};
    enum { REQUEST, REPLY, RELEASE, FAIL };
    for (int i = 0; i < 2; i++) {
        const uint64_t time = 7;
        const size_t bytes = i == 0 ? 8 : 0;
        struct receiver it;
        begin(&it, cv_algorithm_find(names[i]), 0);
        it.group.nodes = 3;
        assert_int_equal(ask(&it, 0, REQUEST, &time, bytes), CV_VALID);
        for (cv_node node = 1; node < 3; node++) {
            assert_int_equal(ask(&it, node, REQUEST, &time, bytes), CV_VALID);
            assert_int_equal(ask(&it, node, REQUEST, &time, bytes), CV_FORGED);
        }
        assert_int_equal(ask(&it, 1, REPLY, &time, 8), CV_FORGED); /* nothing was asked for */
        begin(&it, cv_algorithm_find(names[i]), 3);
        assert_int_equal(ask(&it, 1, REQUEST, &time, bytes), CV_FORGED); /* it is not in that set */
    }
    struct receiver it;
    begin(&it, cv_algorithm_find("maekawa"), 3);
    it.algorithm->request(&it.self);
    it.self.region = CV_TRYING;
    const uint64_t highest = 5;
    assert_int_equal(ask(&it, 1, REPLY, &highest, 8), CV_FORGED); /* not one of its voters */
    assert_int_equal(ask(&it, 1, FAIL, NULL, 0), CV_FORGED);
    assert_int_equal(ask(&it, 0, REPLY, &highest, 8), CV_VALID);
    assert_int_equal(ask(&it, 0, REPLY, &highest, 8), CV_FORGED); /* a vote for each voter */
}

/* Without a view, a node that has crashed and come back asks again, though its voters still have its last request. */
static void a_node_that_comes_back_has_one_place_in_a_queue(void **state)
{
    (void)state;
    static const char *const names[] = {"maekawa", "maekawa-plain"};
    enum { REQUEST };
    for (int i = 0; i < 2; i++) {
        struct receiver it;
        begin(&it, cv_algorithm_find(names[i]), 0);
        it.group.nodes = 3;
        it.group.absence = 1;
        unsigned char *bytes = (unsigned char *)it.state;
        const size_t used = it.algorithm->state_size(&it.group, 0);
        assert_true(used < sizeof it.state);
        memset(bytes + used, 0xa5, sizeof it.state - used);
        for (uint64_t time = 1; time < 40; time++) {
            uint64_t room[8] = {0};
            struct cv_message *message = (void *)room;
            message->from = (cv_node)(time % 3);
            message->words = i == 0 ? 2 : 0;
            message->body[0] = time;
            it.algorithm->kinds[REQUEST].receive(&it.self, message);
            it.self.used = 0;
        }
        for (size_t at = used; at < sizeof it.state; at++)
            assert_int_equal(bytes[at], 0xa5); /* no handler has written beyond its state */
    }
}

static void a_probe_comes_from_one_of_two_sides(void **state)
{
    (void)state;
    struct {
        cv_rank rank;
        uint32_t round, side;
    } probe = {cv_rank_make(20, 20), 1, 2};
    struct receiver it;
    begin(&it, cv_algorithm_find("franklin"), 0);
    assert_int_equal(ask(&it, 1, 0, &probe, sizeof probe), CV_FORGED);
    probe.side = 1;
    assert_int_equal(ask(&it, 1, 0, &probe, sizeof probe), CV_VALID);
}

static void an_ok_answers_a_request(void **state)
{
    (void)state;
    struct receiver it;
    begin(&it, cv_algorithm_find("ricart-agrawala"), 0);
    assert_int_equal(ask(&it, 1, 1, NULL, 0), CV_FORGED);
    it.algorithm->request(&it.self);
    it.self.region = CV_TRYING;
    assert_int_equal(ask(&it, 1, 1, NULL, 0), CV_VALID);
    assert_true(it.algorithm->hints.answers & 1u << 1);
}

/* ---- the simulator ---- */

static void say_too_much(struct cv_self *me)
{
    const struct body body = {.to = CV_NOBODY, .id = 1, .number = 10};
    cv_send(me, cv_successor(me), 0, &body);
}

static bool never(const struct cv_self *me, const struct cv_message *message)
{
    (void)me, (void)message;
    return false;
}

/*
 * Watched or not, by fields or by `valid`: a message that no node can have sent is a finding, and no handler sees it.
 */
static void what_cannot_be_is_found(void **state)
{
    (void)state;
    for (int way = 0; way < 4; way++) {
        struct toy *toy = toy_new();
        toy->unwatched = way & 1;
        toy->algorithm.kinds = kinds;
        toy->algorithm.start = say_too_much;
        toy->algorithm.valid = way & 2 ? never : NULL;
        toy->plan.start = "1";
        toy_run(toy);
        assert_string_equal(toy_finding(toy, "invariant")->detail,
                            "at time 1 on node 2: a message with a field out of its range");
        assert_int_equal(toy->judgement.verdict, CV_VIOLATED);
        toy_free(toy);
    }
}

/* A node that comes back has forgotten its requests, so an answer to one is no finding. */
static void faults_that_are_not_assumed_excuse_everything(void **state)
{
    (void)state;
    struct toy *toy = toy_new();
    toy->algorithm.kinds = kinds;
    toy->algorithm.assumes = CV_NO_CRASH;
    toy->algorithm.start = say_too_much;
    toy->plan.start = "1";
    toy_say(&toy->plan.crash, "3@9");
    toy_run(toy);
    assert_false(toy->run.checked);
    toy_free(toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fields_have_ranges),
        cmocka_unit_test(lengths_kinds_and_senders_are_known),
        cmocka_unit_test(numbers_come_before_the_list),
        cmocka_unit_test(central_lets_each_wait_once),
        cmocka_unit_test(a_voter_keeps_a_place_for_each_of_its_sets),
        cmocka_unit_test(a_node_that_comes_back_has_one_place_in_a_queue),
        cmocka_unit_test(a_probe_comes_from_one_of_two_sides),
        cmocka_unit_test(an_ok_answers_a_request),
        cmocka_unit_test(what_cannot_be_is_found),
        cmocka_unit_test(faults_that_are_not_assumed_excuse_everything),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
