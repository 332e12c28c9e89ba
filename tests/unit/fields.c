// SPDX-License-Identifier: MIT
/* The named fields of states: they cover every byte, and read as people expect. */
#include "core/scenario/fields.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "algorithm/registry.h"
#include "core/scenario/field_check.h"
#include "core/scenario/plan.h"

#define STATE_WORDS 512u

/* A scenario and the state of a node in it. */
struct trial {
    struct cv_plan plan;
    struct cv_scenario scenario;
    struct cv_complaint complaint;
    uint64_t state[STATE_WORDS];
    char text[400];
};

static struct trial *begin(const struct cv_algorithm *algorithm, const char *nodes)
{
    struct trial *trial = calloc(1, sizeof *trial);
    assert_non_null(trial);
    trial->plan = (struct cv_plan){.algorithm = algorithm, .nodes = nodes, .seed = 1};
    return trial;
}

static void build(struct trial *trial)
{
    if (cv_plan_build(&trial->plan, &trial->scenario, &trial->complaint))
        fail_msg("%s", trial->complaint.text);
}

static void end(struct trial *trial)
{
    cv_scenario_free(&trial->scenario);
    cv_plan_free(&trial->plan);
    free(trial);
}

/* The state with which the node begins. */
static void init(struct trial *trial, cv_node node)
{
    struct cv_self me = {.state = trial->state, .group = &trial->scenario.group, .node = node};
    memset(trial->state, 0, sizeof trial->state);
    if (trial->scenario.algorithm->init)
        trial->scenario.algorithm->init(&me);
}

/* The value of the node's field of that name. */
static const char *read(struct trial *trial, cv_node node, const char *name)
{
    for (struct cv_fields at = cv_fields_begin(&trial->scenario, NULL, node); cv_fields_next(&at);)
        if (strcmp(at.name, name) == 0)
            return cv_fields_text(&at, trial->state, trial->text, sizeof trial->text);
    fail_msg("no field %s", name);
    return NULL;
}

/* ---- every byte ---- */

/* Every byte is in one field, every name stands once, and every value has a text that fits. */
static void check_scenario(struct trial *trial)
{
    assert_true(cv_fields_named(&trial->scenario));
    if (cv_fields_check_states(&trial->scenario, &trial->complaint))
        fail_msg("%s", trial->complaint.text);
    for (cv_node node = 0; node < trial->scenario.group.nodes; node++) {
        char seen[2048] = "/", quoted[CV_FIELD_NAME_BYTES + 2];
        init(trial, node);
        for (struct cv_fields at = cv_fields_begin(&trial->scenario, NULL, node); cv_fields_next(&at);) {
            snprintf(quoted, sizeof quoted, "/%s/", at.name);
            if (!*at.name || strchr(at.name, '[') || strstr(seen, quoted))
                fail_msg("%s: field '%s'", trial->scenario.algorithm->name, at.name);
            strcat(seen, quoted + 1);
            const char *text = cv_fields_text(&at, trial->state, trial->text, sizeof trial->text);
            if (!*text || strchr(text, '?') || strstr(text, "…"))
                fail_msg("%s: field %s: '%s'", trial->scenario.algorithm->name, at.name, text);
        }
    }
}

static void check_algorithm(const struct cv_algorithm *algorithm, const struct cv_algorithm *app, const char *graph)
{
    for (int digit = '1'; digit <= '9'; digit++) {
        const char nodes[] = {(char)digit, '\0'};
        struct trial *trial = begin(algorithm, nodes);
        trial->plan.app = app;
        trial->plan.graph = graph;
        build(trial);
        check_scenario(trial);
        end(trial);
    }
}

static const char *const graphs[] = {"line", "ring", "star", "complete"};

static void test_fields_cover_every_byte(void **context)
{
    (void)context;
    for (const struct cv_algorithm *const *it = cv_algorithms; *it; it++)
        if ((*it)->problem == CV_ELECTION || (*it)->problem == CV_MUTEX || (*it)->problem == CV_PATHS)
            for (size_t i = 0; i < ((*it)->topology == CV_GRAPH ? sizeof graphs / sizeof *graphs : 1); i++)
                check_algorithm(*it, NULL, (*it)->topology == CV_GRAPH ? graphs[i] : NULL);
}

static void test_fields_cover_every_byte_of_synchronizers(void **context)
{
    (void)context;
    for (const struct cv_algorithm *const *it = cv_algorithms; *it; it++)
        for (const struct cv_algorithm *const *app = cv_algorithms; *app; app++)
            if ((*it)->problem == CV_SYNCHRONIZER && (*app)->problem == CV_SYNCHRONOUS)
                for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
                    check_algorithm(*it, *app, graphs[i]);
}

static void test_quorums_of_all_sizes(void **context)
{
    (void)context;
    static const char sets[] = "1: 1 2\n2: 1 2 3\n3: 2 3\n4: 2 4\n5: 2 5\n6: 2 6\n7: 1 2 7\n";
    for (const struct cv_algorithm *const *it = cv_algorithms; *it; it++)
        for (size_t i = 0; (*it)->quorums && i < 2; i++) {
            struct trial *trial = begin(*it, "7");
            assert_int_equal(cv_words_add(&trial->plan.set, i ? "quorums=file" : "quorums=plane"), 0);
            trial->plan.quorums_text = i ? sets : NULL;
            build(trial);
            check_scenario(trial);
            end(trial);
        }
}

/* ---- a table that is wrong ---- */

/* The algorithm with a table of fields of which one is left out, or named twice. */
static void refuse(const struct cv_algorithm *algorithm, size_t left_out, const char *expected)
{
    struct cv_field fields[32] = {{0}};
    size_t count = 0;
    for (const struct cv_field *field = algorithm->state_fields; field->name; field++)
        if ((size_t)(field - algorithm->state_fields) != left_out)
            fields[count++] = *field;
    if (left_out == SIZE_MAX)
        fields[count++] = algorithm->state_fields[0];
    struct cv_algorithm wrong = *algorithm;
    wrong.state_fields = fields;
    struct trial *trial = begin(&wrong, "3");
    const int error = cv_plan_build(&trial->plan, &trial->scenario, &trial->complaint);
    if (error != CV_EINPUT || !strstr(trial->complaint.text, expected))
        fail_msg("%s without field %zu: %d, %s", algorithm->name, left_out, error, trial->complaint.text);
    end(trial);
}

static void test_forgotten_field(void **context)
{
    (void)context;
    for (const struct cv_algorithm *const *it = cv_algorithms; *it; it++) {
        size_t count = 0;
        while ((*it)->state_fields && (*it)->state_fields[count].name)
            count++;
        if ((*it)->problem == CV_SYNCHRONIZER || (*it)->problem == CV_SYNCHRONOUS)
            continue; /* they need each other: see below */
        for (size_t i = 0; i < count; i++)
            if (!(*it)->state_fields[i].row)
                refuse(*it, i, " is in no field");
        refuse(*it, SIZE_MAX, " is in two fields");
    }
}

static void test_forgotten_field_of_synchronizers(void **context)
{
    (void)context;
    static const char *const names[] = {"alpha", "beta", "gamma", "bellman-ford", "bfs-tree", "flood-max"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct cv_algorithm *whole = cv_algorithm_find(names[i]);
        struct cv_algorithm wrong = *whole;
        const bool app = whole->problem == CV_SYNCHRONOUS;
        wrong.state_fields = whole->state_fields + 1;
        struct trial *trial = begin(app ? cv_algorithm_find("alpha") : &wrong, "3");
        trial->plan.app = app ? &wrong : cv_algorithm_find("flood-max");
        assert_int_equal(cv_plan_build(&trial->plan, &trial->scenario, &trial->complaint), CV_EINPUT);
        assert_non_null(strstr(trial->complaint.text, " is in no field"));
        end(trial);
    }
}

static void test_no_names(void **context)
{
    (void)context;
    struct cv_algorithm nameless = *cv_algorithm_find("bully");
    nameless.state_fields = NULL;
    struct trial *trial = begin(&nameless, "3");
    build(trial);
    assert_false(cv_fields_named(&trial->scenario));
    assert_string_equal(read(trial, 0, "state"), "8 bytes without names");
    end(trial);
}

static void refuse_field(struct cv_field field, const char *expected)
{
    const struct cv_field fields[2] = {field};
    struct cv_algorithm wrong = *cv_algorithm_find("bully");
    struct cv_complaint complaint = {{0}};
    wrong.state_fields = fields;
    assert_int_equal(cv_fields_check_tables("./mine.so", &wrong, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, expected);
}

static void test_tables_that_say_nothing(void **context)
{
    (void)context;
    refuse_field((struct cv_field){.name = "mode", .bytes = 4, .type = CV_FIELD_MODE},
                 "./mine.so: field mode of the state: expected its words");
    refuse_field((struct cv_field){.name = "link", .bytes = 4, .each = CV_EACH_PLACE},
                 "./mine.so: field link of the state: expected its places");
    refuse_field((struct cv_field){.name = "said", .bytes = 4, .each = CV_EACH_VOTER},
                 "./mine.so: field said of the state: expected an algorithm with voting sets");
    refuse_field((struct cv_field){.name = "token", .bytes = 24},
                 "./mine.so: field token of the state: expected a field of 4 or 8 bytes");
    refuse_field((struct cv_field){.name = "mode", .bytes = 4, .type = 99},
                 "./mine.so: field mode of the state: expected one of enum cv_field_type and of enum cv_each");
    refuse_field((struct cv_field){.name = "ids", .type = CV_FIELD_LIST},
                 "./mine.so: field ids of the state: expected a list after the body, as the last field");
    refuse_field((struct cv_field){.name = "failed", .bytes = 4, .row = "queue"},
                 "./mine.so: field failed of the state: expected a row to say for each of whom it is");
    const struct cv_field apart[] = {{.name = "peers[0].later", .offset = 16, .bytes = 8, .each = CV_EACH_NODE},
                                     {.name = "peers[0].request", .offset = 8, .bytes = 8, .each = CV_EACH_NODE},
                                     {0}};
    struct cv_algorithm wrong = *cv_algorithm_find("lamport");
    struct cv_complaint told = {{0}};
    wrong.state_fields = apart;
    assert_int_equal(cv_fields_check_tables("./mine.so", &wrong, &told), CV_EINPUT);
    assert_non_null(strstr(told.text, "expected the fields of an entry one after the other"));
    for (const struct cv_algorithm *const *it = cv_algorithms; *it; it++) {
        struct cv_complaint complaint = {{0}};
        if (cv_fields_check_tables((*it)->name, *it, &complaint))
            fail_msg("%s", complaint.text);
    }
}

/* ---- what people read ---- */

static void test_words_and_nodes(void **context)
{
    (void)context;
    struct trial *trial = begin(cv_algorithm_find("bully"), "3");
    trial->plan.labels = "a..c";
    build(trial);
    init(trial, 0);
    assert_string_equal(read(trial, 0, "mode"), "idle");
    assert_string_equal(read(trial, 0, "leader"), "-");
    const uint32_t waiting_for_c[] = {3, 2};
    memcpy(trial->state, waiting_for_c, sizeof waiting_for_c);
    assert_string_equal(read(trial, 0, "mode"), "waiting");
    assert_string_equal(read(trial, 0, "leader"), "c");
    end(trial);
}

static void test_ranks_tags_and_links(void **context)
{
    (void)context;
    struct trial *trial = begin(cv_algorithm_find("wireless"), "4");
    trial->plan.labels = "a..d";
    trial->plan.attributes = "4,6,3,8";
    trial->plan.graph = "complete";
    build(trial);
    init(trial, 1);
    assert_string_equal(read(trial, 1, "tag"), "-");
    assert_string_equal(read(trial, 1, "best"), "[b,6]");
    assert_string_equal(read(trial, 1, "proven"), "-");
    assert_string_equal(read(trial, 1, "link"), "-");
    trial->state[0] = cv_rank_make(2, 1);
    trial->state[1] = cv_rank_make(8, 4);
    uint32_t *words = (uint32_t *)trial->state;
    words[6] = 0;
    words[7] = 2;
    words[9] = 1;
    words[10] = 1;
    words[12] = 6;
    assert_string_equal(read(trial, 1, "tag"), "a·2");
    assert_string_equal(read(trial, 1, "best"), "[d,8]");
    assert_string_equal(read(trial, 1, "parent"), "a");
    assert_string_equal(read(trial, 1, "phase"), "building");
    assert_string_equal(read(trial, 1, "shaken"), "yes");
    assert_string_equal(read(trial, 1, "link"), "a: awaited, d: child+stranger");
    end(trial);
}

static void test_rows_of_structures(void **context)
{
    (void)context;
    struct trial *trial = begin(cv_algorithm_find("lamport"), "3");
    trial->plan.ids = "7,8,9";
    build(trial);
    init(trial, 0);
    assert_string_equal(read(trial, 0, "peers"), "-");
    trial->state[3] = 5; /* the request of 8 */
    trial->state[4] = 1; /* something later */
    trial->state[6] = 1;
    assert_string_equal(read(trial, 0, "peers"), "8 (request 5, later), 9 (later)");
    end(trial);
}

static void test_queues(void **context)
{
    (void)context;
    struct trial *trial = begin(cv_algorithm_find("maekawa"), "3");
    trial->plan.labels = "x,y,z";
    assert_int_equal(cv_words_add(&trial->plan.set, "quorums=file"), 0);
    trial->plan.quorums_text = "1: 1 2 3\n2: 1 2 3\n3: 1 2 3\n";
    build(trial);
    init(trial, 0);
    assert_string_equal(read(trial, 0, "queue"), "-");
    assert_string_equal(read(trial, 0, "voted.node"), "-");
    uint32_t *words = (uint32_t *)trial->state;
    words[13] = 2;         /* two wait */
    words[14 + 1] = 1 | 4; /* what y said */
    trial->state[9] = 4;   /* the queue: z at 4 */
    words[20] = 2;
    trial->state[11] = 6; /* and x at 6, which has failed */
    words[24] = 0;
    words[25] = 1;
    assert_string_equal(read(trial, 0, "said"), "y: voted+inquired");
    assert_string_equal(read(trial, 0, "queue"), "z (time 4), x (time 6, failed)");
    words[13] = 77; /* a broken length does not lead astray */
    read(trial, 0, "queue");
    end(trial);
}

static void test_sets_places_and_fences(void **context)
{
    (void)context;
    struct trial *trial = begin(cv_algorithm_find("ricart-agrawala"), "9");
    build(trial);
    init(trial, 0);
    assert_string_equal(read(trial, 0, "deferred"), "-");
    ((uint32_t *)trial->state)[4] = 1u << 2 | 1u << 8;
    assert_string_equal(read(trial, 0, "deferred"), "3, 9");
    end(trial);

    trial = begin(cv_algorithm_find("franklin"), "3");
    build(trial);
    init(trial, 0);
    trial->state[3] = cv_rank_make(2, 2);
    ((uint32_t *)trial->state)[11] = 1;
    assert_string_equal(read(trial, 0, "heard"), "odd right: 2");
    assert_string_equal(read(trial, 0, "has"), "odd right");
    end(trial);

    trial = begin(cv_algorithm_find("maekawa-plain"), "4");
    build(trial);
    trial->state[0] = UINT64_C(2) << CV_VIEW_BITS | 7;
    assert_string_equal(read(trial, 0, "highest"), "2·7");
    end(trial);
}

static void test_synchronizer_and_app(void **context)
{
    (void)context;
    struct trial *trial = begin(cv_algorithm_find("beta"), "3");
    trial->plan.app = cv_algorithm_find("bellman-ford");
    trial->plan.graph = "line";
    trial->plan.labels = "a..c";
    build(trial);
    init(trial, 1);
    assert_string_equal(read(trial, 1, "parent"), "-");
    assert_string_equal(read(trial, 1, "round"), "0");
    assert_string_equal(read(trial, 1, "distance"), "∞");
    assert_string_equal(read(trial, 1, "kept"), "-");
    assert_string_equal(read(trial, 1, "child"), "-");
    trial->state[3] = 2;  /* the round */
    trial->state[4] = 11; /* the distance */
    uint32_t *slots = (uint32_t *)(trial->state + 6);
    slots[0] = 2; /* an offer of this round, of a */
    slots[2] = 7;
    slots[4] = 0; /* none of c */
    slots[12] = 3;
    slots[14] = 9;                               /* c is a round ahead */
    ((uint32_t *)(trial->state + 14))[1] = true; /* c is a child */
    assert_string_equal(read(trial, 1, "round"), "2");
    assert_string_equal(read(trial, 1, "distance"), "11");
    assert_string_equal(read(trial, 1, "kept"), "a: offer 7, c: offer 9 (round 3)");
    assert_string_equal(read(trial, 1, "child"), "c");
    end(trial);
}

static void test_long_texts_are_cut_short(void **context)
{
    (void)context;
    struct trial *trial = begin(cv_algorithm_find("ricart-agrawala"), "9");
    build(trial);
    init(trial, 0);
    ((uint32_t *)trial->state)[4] = 0x1ff;
    struct cv_fields at = cv_fields_begin(&trial->scenario, NULL, 0);
    while (cv_fields_next(&at) && strcmp(at.name, "deferred") != 0)
        continue;
    assert_string_equal(cv_fields_text(&at, trial->state, trial->text, 12), "1, 2, 3…");
    end(trial);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_cover_every_byte),
        cmocka_unit_test(test_fields_cover_every_byte_of_synchronizers),
        cmocka_unit_test(test_quorums_of_all_sizes),
        cmocka_unit_test(test_forgotten_field),
        cmocka_unit_test(test_forgotten_field_of_synchronizers),
        cmocka_unit_test(test_no_names),
        cmocka_unit_test(test_tables_that_say_nothing),
        cmocka_unit_test(test_words_and_nodes),
        cmocka_unit_test(test_ranks_tags_and_links),
        cmocka_unit_test(test_rows_of_structures),
        cmocka_unit_test(test_queues),
        cmocka_unit_test(test_sets_places_and_fences),
        cmocka_unit_test(test_synchronizer_and_app),
        cmocka_unit_test(test_long_texts_are_cut_short),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
