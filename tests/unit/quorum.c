// SPDX-License-Identifier: MIT
/* Voting sets: those of the shapes, and those from files. */
#include "core/quorum.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MOST 1100u

static uint64_t size_of(const struct cv_quorums *quorums, cv_node node)
{
    return quorums->starts[node + 1] - quorums->starts[node];
}

static bool has(const struct cv_quorums *quorums, cv_node node, cv_node voter)
{
    for (uint64_t i = quorums->starts[node]; i < quorums->starts[node + 1]; i++)
        if (quorums->voters[i] == voter)
            return true;
    return false;
}

/* Sets are sorted, have only members and none twice; every node is in its own set, and any two sets meet. */
static void expect_good(const struct cv_quorums *quorums, uint32_t nodes, const cv_node *members, uint32_t count)
{
    static bool mine[MOST];
    assert_int_equal(quorums->nodes, nodes);
    assert_int_equal(quorums->starts[0], 0);
    for (uint32_t i = 0, next = 0; i < nodes; i++) {
        const bool member = !members || (next < count && members[next] == i);
        next += member;
        assert_true(member ? has(quorums, i, i) : size_of(quorums, i) == 0);
    }
    for (uint32_t i = 0; i < count; i++) {
        const cv_node node = members ? members[i] : i;
        memset(mine, 0, sizeof mine);
        for (uint64_t at = quorums->starts[node]; at < quorums->starts[node + 1]; at++) {
            const cv_node voter = quorums->voters[at];
            assert_true(at == quorums->starts[node] || quorums->voters[at - 1] < voter);
            assert_true(voter < nodes && size_of(quorums, voter) > 0);
            mine[voter] = true;
        }
        for (uint32_t j = 0; j < count; j++) {
            const cv_node other = members ? members[j] : j;
            bool meet = false;
            for (uint64_t at = quorums->starts[other]; at < quorums->starts[other + 1]; at++)
                meet |= mine[quorums->voters[at]];
            assert_true(meet);
        }
    }
}

static void make(struct cv_quorums *quorums, const char *shape, uint32_t nodes, const cv_node *members, uint32_t count)
{
    struct cv_complaint complaint = {""};
    if (cv_quorums_make(quorums, shape, nodes, members, count, &complaint))
        fail_msg("%s of %u: %s", shape, nodes, complaint.text);
    expect_good(quorums, nodes, members, members ? count : nodes);
}

static void grids_of_any_size_meet(void **state)
{
    (void)state;
    struct cv_quorums quorums;
    for (uint32_t nodes = 1; nodes <= 150; nodes++) {
        uint32_t side = 1;
        make(&quorums, "grid", nodes, NULL, 0);
        while (side * side < nodes)
            side++;
        for (cv_node node = 0; node < nodes; node++)
            assert_true(size_of(&quorums, node) <= 2 * side - 1);
        cv_quorums_free(&quorums);
    }
    make(&quorums, "grid", 1000, NULL, 0);
    cv_quorums_free(&quorums);
}

/* A full square: each set has 2√N − 1 members, and every node is in as many sets. */
static void squares_have_two_sides_less_one(void **state)
{
    (void)state;
    struct cv_quorums quorums;
    for (uint32_t side = 1; side <= 12; side++) {
        make(&quorums, "grid", side * side, NULL, 0);
        uint32_t sets[144] = {0};
        for (cv_node node = 0; node < side * side; node++)
            assert_int_equal(size_of(&quorums, node), 2 * side - 1);
        for (uint64_t i = 0; i < quorums.starts[side * side]; i++)
            sets[quorums.voters[i]]++;
        for (cv_node node = 0; node < side * side; node++)
            assert_int_equal(sets[node], 2 * side - 1);
        cv_quorums_free(&quorums);
    }
}

static void a_grid_is_rows_and_columns(void **state)
{
    (void)state;
    static const cv_node voters[] = {0, 1, 2, 3, /**/ 0, 1, 2, 4, /**/ 0, 1, 2, /**/ 0, 3, 4, /**/ 1, 3, 4};
    static const uint64_t starts[] = {0, 4, 8, 11, 14, 17};
    struct cv_quorums quorums;
    make(&quorums, "grid", 5, NULL, 0);
    assert_memory_equal(quorums.starts, starts, sizeof starts);
    assert_memory_equal(quorums.voters, voters, sizeof voters);
    cv_quorums_free(&quorums);
}

/* Any two lines meet once; every node is in K sets of K members. */
static void planes_are_as_small_as_can_be(void **state)
{
    (void)state;
    static const uint32_t orders[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 27, 31};
    for (size_t at = 0; at < sizeof orders / sizeof *orders; at++) {
        const uint32_t order = orders[at], nodes = order * order + order + 1;
        struct cv_quorums quorums;
        make(&quorums, "plane", nodes, NULL, 0);
        uint32_t sets[MOST] = {0};
        for (cv_node node = 0; node < nodes; node++)
            assert_int_equal(size_of(&quorums, node), order + 1);
        for (uint64_t i = 0; i < quorums.starts[nodes]; i++)
            sets[quorums.voters[i]]++;
        for (cv_node node = 0; node < nodes; node++)
            assert_int_equal(sets[node], order + 1);
        for (cv_node node = 1; node < nodes; node++) {
            uint32_t common = 0;
            for (uint64_t i = quorums.starts[0]; i < quorums.starts[1]; i++)
                common += has(&quorums, node, quorums.voters[i]);
            assert_int_equal(common, 1);
        }
        cv_quorums_free(&quorums);
    }
}

static void the_rest_of_a_group_gets_sets_of_its_own(void **state)
{
    (void)state;
    struct cv_quorums quorums;
    cv_node members[40];
    for (uint32_t step = 1; step <= 5; step++)
        for (uint32_t count = 1; count <= 40; count++) {
            for (uint32_t i = 0; i < count; i++)
                members[i] = step - 1 + i * step;
            make(&quorums, "grid", 200, members, count);
            cv_quorums_free(&quorums);
        }
    make(&quorums, "plane", 10, (const cv_node[]){0, 2, 3, 4, 6, 7, 9}, 7);
    for (cv_node node = 0; node < 10; node++)
        assert_int_equal(size_of(&quorums, node), node == 1 || node == 5 || node == 8 ? 0 : 3);
    cv_quorums_free(&quorums);
    make(&quorums, "grid", 5, (const cv_node[]){4}, 1);
    assert_int_equal(size_of(&quorums, 4), 1);
    cv_quorums_free(&quorums);
}

static void refuse_shape(const char *shape, uint32_t nodes, const char *words)
{
    struct cv_quorums quorums;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_quorums_make(&quorums, shape, nodes, NULL, 0, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, words);
    assert_null(quorums.starts);
}

static void shapes_that_are_not_are_refused(void **state)
{
    (void)state;
    refuse_shape("torus", 4, "voting sets 'torus': expected grid, plane or a file");
    refuse_shape("", 4, "voting sets '': expected grid, plane or a file");
    /* 43 = 6² + 6 + 1 and 111 = 10² + 10 + 1, but there are no planes of these orders */
    static const uint32_t sizes[] = {1, 2, 4, 6, 8, 12, 20, 43, 111, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char words[256];
        snprintf(words, sizeof words,
                 "voting sets 'plane': there is none for %u nodes; expected 3, 7, 13, 21, 31, 57, 73, 91 or another "
                 "q² + q + 1, q a power of a prime",
                 sizes[i]);
        refuse_shape("plane", sizes[i], words);
    }
}

/* ---- files; the group has ids 10, 20, 30 ---- */

static int parse(struct cv_quorums *quorums, const char *text, const cv_id *ids, uint32_t nodes,
                 struct cv_complaint *complaint)
{
    struct cv_index index;
    assert_int_equal(cv_index_make(&index, ids, nodes), 0);
    const int error = cv_quorums_parse(quorums, text, &index, nodes, ids, "sets", complaint);
    cv_index_free(&index);
    return error;
}

static const cv_id three[] = {10, 20, 30};

static void accept(const char *text)
{
    struct cv_quorums quorums;
    struct cv_complaint complaint = {""};
    if (parse(&quorums, text, three, 3, &complaint))
        fail_msg("%s", complaint.text);
    static const cv_node voters[] = {0, 1, 0, 1, 2, 1, 2};
    static const uint64_t starts[] = {0, 2, 5, 7};
    expect_good(&quorums, 3, NULL, 3);
    assert_memory_equal(quorums.starts, starts, sizeof starts);
    assert_memory_equal(quorums.voters, voters, sizeof voters);
    cv_quorums_free(&quorums);
}

static void files_are_read(void **state)
{
    (void)state;
    accept("10: 10 20\n20: 10 20 30\n30: 20 30\n");
    accept("30:30 20\n\n  # a comment: of no matter\n20\t: 30 20 10 # all\r\n10 :20\t10");
}

/* V0, V1 and V2 as the text's example has them, the others to match. */
static void the_sets_of_the_text_are_good(void **state)
{
    (void)state;
    static const cv_id ids[] = {0, 1, 2, 3, 4, 5};
    static const char text[] = "0: 0 1 2\n1: 1 3 5\n2: 2 4 5\n3: 0 3 4 5\n4: 1 2 3 4\n5: 0 5 1 2\n";
    struct cv_quorums quorums;
    struct cv_complaint complaint = {""};
    assert_int_equal(parse(&quorums, text, ids, 6, &complaint), 0);
    expect_good(&quorums, 6, NULL, 6);
    cv_quorums_free(&quorums);
}

static void refuse(const char *text, const char *words)
{
    struct cv_quorums quorums;
    struct cv_complaint complaint = {""};
    assert_int_equal(parse(&quorums, text, three, 3, &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, words);
    assert_null(quorums.starts);
    assert_null(quorums.voters);
}

static void wrong_files_are_refused(void **state)
{
    (void)state;
    refuse("", "sets: 10 has no voting set");
    refuse("10: 10\n30: 30 10\n", "sets: 20 has no voting set");
    refuse("10: 10\n\n20 10\n", "sets:3: expected a node and its voting set: id: id id …");
    refuse("10 # 20: 10\n", "sets:1: expected a node and its voting set: id: id id …");
    refuse("10: 10\n: 10\n", "sets:2: id '' is not a number from 0 to 4294967295");
    refuse("10: 10\nx: 10\n", "sets:2: id 'x' is not a number from 0 to 4294967295");
    refuse("10 20: 10\n", "sets:1: id '10 20' is not a number from 0 to 4294967295");
    refuse("10: 10\n40: 10\n", "sets:2: id 40 is not in the group");
    refuse("10: 10\n#\n20: 20 10\n10: 10 20\n", "sets:4: the set of 10 stands in line 1 already");
    refuse("10: 10\n20: 20 10 -3\n30: 30 10\n", "sets:2: id '-3' is not a number from 0 to 4294967295");
    refuse("10: 10\n20: 20, 10\n30: 30 10\n", "sets:2: id '20,' is not a number from 0 to 4294967295");
    refuse("10: 10\n20: 20 10 4294967296\n30: 30 10\n", "sets:2: id '4294967296' is not a number from 0 to 4294967295");
    refuse("10: 10\n20: 20 10\n30: 30 10 11\n", "sets:3: id 11 is not in the group");
    refuse("10: 10\n20: 20 10 20\n30: 30 10\n", "sets:2: id 20 stands twice");
    refuse("10: 10\n20: 10\n30: 30 10\n", "sets:2: 20 is not in its own voting set");
    refuse("10: 10\n20: 20 10\n30:\n", "sets:3: 30 is not in its own voting set");
}

static void sets_that_do_not_meet_are_named(void **state)
{
    (void)state;
    refuse("10: 10 20\n20: 20\n30: 30 10\n", "sets:3: the voting sets of 30 and 20 (line 2) have no member in common");
    refuse("30: 30\n\n20: 20 10\n10: 10 30\n",
           "sets:3: the voting sets of 20 and 30 (line 1) have no member in common");
    refuse("10: 10\n20: 20\n30: 30\n", "sets:2: the voting sets of 20 and 10 (line 1) have no member in common");
}

/* Sets of a shape, written to a file, are read back the same. With one voter struck out they are refused. */
static void large_files_are_read_and_checked(void **state)
{
    (void)state;
    enum { NODES = 993 }; /* a plane of order 31: any two sets have one voter in common */
    cv_id ids[NODES];
    struct cv_quorums made, read;
    struct cv_complaint complaint = {""};
    char *text = malloc(NODES * 33u * 5u + 1), *end = text;
    assert_non_null(text);
    make(&made, "plane", NODES, NULL, 0);
    char *strike = NULL;
    for (cv_node node = 0; node < NODES; node++) {
        ids[node] = node;
        end += sprintf(end, "%u:", node);
        for (uint64_t i = made.starts[node]; i < made.starts[node + 1]; i++) {
            if (node == 500 && made.voters[i] != 500)
                strike = end;
            end += sprintf(end, " %u", made.voters[i]);
        }
        *end++ = '\n';
    }
    *end = '\0';
    assert_int_equal(parse(&read, text, ids, NODES, &complaint), 0);
    assert_memory_equal(read.starts, made.starts, (NODES + 1) * sizeof *made.starts);
    assert_memory_equal(read.voters, made.voters, made.starts[NODES] * sizeof *made.voters);
    cv_quorums_free(&read);
    assert_non_null(strike);
    do
        *strike++ = ' ';
    while (*strike != ' ' && *strike != '\n');
    assert_int_equal(parse(&read, text, ids, NODES, &complaint), CV_EINPUT);
    assert_non_null(strstr(complaint.text, "have no member in common"));
    cv_quorums_free(&made);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(grids_of_any_size_meet),
        cmocka_unit_test(squares_have_two_sides_less_one),
        cmocka_unit_test(a_grid_is_rows_and_columns),
        cmocka_unit_test(planes_are_as_small_as_can_be),
        cmocka_unit_test(the_rest_of_a_group_gets_sets_of_its_own),
        cmocka_unit_test(shapes_that_are_not_are_refused),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(the_sets_of_the_text_are_good),
        cmocka_unit_test(wrong_files_are_refused),
        cmocka_unit_test(sets_that_do_not_meet_are_named),
        cmocka_unit_test(large_files_are_read_and_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
