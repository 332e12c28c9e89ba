// SPDX-License-Identifier: MIT
/* service/http/survey.c: which names the page shows, while names come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/http/survey.h"
#include "service/session.h"

#define NAMES 500u

/* A node with names: nothing but what a survey looks at. */
static struct {
    struct cv_service service;
    struct cv_algorithm_host host;
    struct cv_roster roster;
    struct cv_policy policy;
    struct cv_algorithm algorithm;
    struct cv_instance *all[NAMES];
    struct lock locks[NAMES];
    struct lock_hold holds[NAMES];
    struct session sessions[NAMES];
} node;

static struct survey survey;

/* The i-th name is "n<i>", held by session i since i ms. */
static int set_up(void **state)
{
    (void)state;
    memset(&node, 0, sizeof node);
    node.algorithm.name = "central";
    node.policy.algorithm = &node.algorithm;
    node.roster.ids[0] = 7;
    node.service.host = &node.host;
    node.host.roster = &node.roster;
    node.host.all = node.all;
    for (uint32_t i = 0; i < NAMES; i++) {
        struct cv_instance *instance = calloc(1, sizeof *instance + 16);
        assert_non_null(instance);
        instance->name_length = (size_t)snprintf(instance->name, 16, "n%u", i);
        instance->subject = CV_SUBJECT_LOCK;
        instance->policy = &node.policy;
        instance->user = &node.locks[i];
        instance->place = i;
        node.holds[i] = (struct lock_hold){.owner = i, .origin = 7, .fence = 1000 + i, .since_ms = 1 + i};
        node.locks[i] =
            (struct lock){.service = &node.service, .instance = instance, .holds = &node.holds[i], .holding = 1};
        node.all[i] = instance;
    }
    node.host.count = NAMES;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < NAMES; i++)
        free(node.locks[i].instance);
    return 0;
}

/* As the host does: the last one takes its place. */
static void remove_at(size_t place)
{
    struct cv_instance *gone = node.all[place];
    node.all[place] = node.all[--node.host.count];
    node.all[place]->place = place;
    gone->place = place;
    survey_moved(&survey, gone);
}

/* Looks at the first few names, as if the time had been over then. */
static void look_at_first(size_t count)
{
    const size_t all = node.host.count;
    node.host.count = count;
    while (!survey_work(&survey))
        continue;
    node.host.count = all;
}

static uint32_t shown(const char *name)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < survey.row_count; i++)
        count += strlen(name) == survey.rows[i].name_length &&
                 memcmp(name, survey.rows[i].name, survey.rows[i].name_length) == 0;
    return count;
}

static void finish(void)
{
    while (!survey_work(&survey))
        continue;
}

static void the_longest_come_first(void **state)
{
    (void)state;
    survey_begin(&survey, &node.service, NULL);
    node.holds[NAMES - 1].since_ms = 0;
    node.sessions[3] = (struct session){.number = 33, .wait = {.session = &node.sessions[3], .since_ms = 9000}};
    node.locks[450].first = &node.sessions[3].wait;
    node.locks[450].waiting = 1;
    finish();
    assert_int_equal(survey.in_use, NAMES);
    assert_int_equal(survey.row_count, SURVEY_ROWS);
    assert_string_equal(survey.order[0]->name, "n450"); /* it is waited for */
    assert_int_equal(survey.order[0]->waiters[0].session, 33);
    assert_int_equal(survey.order[0]->waiters[0].since_ms, 9000);
    assert_int_equal(survey.order[0]->holders[0].fence, 1450);
    assert_string_equal(survey.order[1]->name, "n499");
    for (uint32_t i = 2; i < SURVEY_ROWS; i++)
        assert_int_equal(survey.order[i]->holders[0].session, i - 2);
}

static void names_that_go_hide_no_others(void **state)
{
    (void)state;
    node.host.count = 100;
    for (size_t gone = 0; gone < 100; gone++)
        for (size_t looked = 0; looked <= 100; looked += 25) {
            tear_down(NULL);
            set_up(NULL);
            node.host.count = 100;
            survey_begin(&survey, &node.service, NULL);
            look_at_first(looked);
            remove_at(gone);
            finish();
            for (uint32_t i = 0; i < 100; i++) {
                char name[16];
                snprintf(name, sizeof name, "n%u", i);
                if (i != gone)
                    assert_int_equal(shown(name), 1);
            }
        }
}

static void rights_count(void **state)
{
    (void)state;
    char pattern[] = "n1*";
    const struct cv_acl acl = {.names[CV_MAY_OBSERVE] = pattern};
    node.host.count = 20;
    survey_begin(&survey, &node.service, &acl);
    finish();
    assert_int_equal(survey.row_count, 11);
    assert_int_equal(survey.hidden, 9);
    assert_int_equal(survey.in_use, 20);
    assert_int_equal(shown("n2"), 0);
    assert_int_equal(shown("n10"), 1);
}

/* Many readers hold a name, or other members' clients do: a few are shown, all are counted. */
static void many_clients_of_one_name(void **state)
{
    (void)state;
    struct cv_promise promises[SURVEY_PROMISES + 5];
    node.host.count = 2;
    for (uint32_t i = 0; i < 10; i++)
        node.holds[i].next = i < 9 ? &node.holds[i + 1] : NULL;
    node.locks[0].holding = 10;
    node.locks[1].holds = NULL;
    for (uint32_t i = 0; i < SURVEY_PROMISES + 5; i++)
        promises[i] = (struct cv_promise){
            .next = i < SURVEY_PROMISES + 4 ? &promises[i + 1] : NULL, .origin = 3, .owner = i, .fence = 50 + i};
    node.all[1]->promises = promises;
    survey_begin(&survey, &node.service, NULL);
    finish();
    assert_int_equal(survey.order[0]->holding, 10);
    assert_int_equal(survey.order[0]->holder_count, SURVEY_CLIENTS);
    assert_false(survey.order[0]->elsewhere);
    assert_int_equal(survey.order[1]->holding, SURVEY_PROMISES);
    assert_int_equal(survey.order[1]->holder_count, SURVEY_CLIENTS);
    assert_int_equal(survey.order[1]->holders[0].node, 3);
    assert_true(survey.order[1]->elsewhere);
    node.all[1]->promises = NULL;
    survey_begin(&survey, &node.service, NULL);
    finish();
    assert_int_equal(survey.in_use, 1); /* nobody has it any more */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_longest_come_first, set_up, tear_down),
        cmocka_unit_test_setup_teardown(names_that_go_hide_no_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(rights_count, set_up, tear_down),
        cmocka_unit_test_setup_teardown(many_clients_of_one_name, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
