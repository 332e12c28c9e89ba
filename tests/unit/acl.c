// SPDX-License-Identifier: MIT
/* The rights of clients, as a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "secure/acl.h"

static void set(struct cv_acls *acls, const char *identities, const char *key, const char *value)
{
    struct cv_complaint complaint;
    assert_int_equal(cv_acls_set(acls, identities, key, value, &complaint), 0);
}

static void test_matrix(void **state)
{
    (void)state;
    struct cv_acls acls = {0};
    set(&acls, "build", "lock", "build-* deploy");
    set(&acls, "build", "lock", "late");
    set(&acls, "build", "elect", "db");
    set(&acls, "watch*", "observe", "*");
    set(&acls, "boss", "admin", "yes");
    set(&acls, "nobody", "admin", "no");
    const struct {
        const char *identity, *name;
        bool known, lock, elect, observe, admin;
    } cases[] = {
        {"build", "build-1", true, true, false, true, false},  {"build", "build", true, false, false, false, false},
        {"build", "deploy", true, true, false, true, false},   {"build", "deploy2", true, false, false, false, false},
        {"build", "late", true, true, false, true, false},     {"build", "db", true, false, true, true, false},
        {"watcher", "db", true, false, false, true, false},    {"watch", "db", true, false, false, true, false},
        {"boss", "anything", true, true, true, true, true},    {"nobody", "db", true, false, false, false, false},
        {"builder", "build-1", false, true, true, true, true}, {"", "db", false, true, true, true, true},
        {"cluster", "db", true, true, true, true, true},       {"local", "db", true, true, true, true, true},
        {"anonymous", "db", false, true, true, true, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct cv_acl *acl;
        const struct cv_text name = cv_text(cases[i].name);
        const bool found = cv_acls_find(&acls, cases[i].identity, &acl);
        const bool right = found == cases[i].known && cv_acl_allows(acl, CV_MAY_LOCK, name) == cases[i].lock &&
                           cv_acl_allows(acl, CV_MAY_ELECT, name) == cases[i].elect &&
                           cv_acl_allows(acl, CV_MAY_OBSERVE, name) == cases[i].observe &&
                           cv_acl_allows(acl, CV_MAY_ADMIN, name) == cases[i].admin &&
                           cv_acl_allows(acl, CV_MAY_TALK, name);
        if (!right)
            fail_msg("%s on %s", cases[i].identity, cases[i].name);
    }
    cv_acls_free(&acls);
}

static void test_without_sections_everybody_may(void **state)
{
    (void)state;
    const struct cv_acls none = {0};
    const struct cv_acl *acl;
    assert_true(cv_acls_find(&none, "anybody", &acl));
    assert_null(acl);
}

static void test_first_section_counts_but_not_for_the_cluster(void **state)
{
    (void)state;
    struct cv_acls acls = {0};
    const struct cv_acl *acl;
    set(&acls, "build", "lock", "a");
    set(&acls, "*", "lock", "b");
    assert_true(cv_acls_find(&acls, "build", &acl));
    assert_false(cv_acl_allows(acl, CV_MAY_LOCK, cv_text("b")));
    assert_true(cv_acls_find(&acls, "local", &acl));
    assert_false(cv_acl_allows(acl, CV_MAY_LOCK, cv_text("a")));
    assert_true(cv_acls_find(&acls, "cluster", &acl));
    assert_null(acl);
    cv_acls_free(&acls);
}

/* A name that is too long for a pattern must not match it. */
static void test_strange_names(void **state)
{
    (void)state;
    struct cv_acls acls = {0};
    const struct cv_acl *acl;
    char longest[1000];
    set(&acls, "build", "lock", "a* *z");
    assert_true(cv_acls_find(&acls, "build", &acl));
    memset(longest, 'a', sizeof longest);
    assert_true(cv_acl_allows(acl, CV_MAY_LOCK, (struct cv_text){longest, 512}));
    assert_false(cv_acl_allows(acl, CV_MAY_LOCK, (struct cv_text){longest, 513}));
    assert_false(cv_acl_allows(acl, CV_MAY_LOCK, (struct cv_text){"a\0b", 3}));
    assert_false(cv_acl_allows(acl, CV_MAY_LOCK, (struct cv_text){"", 0}));
    cv_acls_free(&acls);
}

static void test_complaints(void **state)
{
    (void)state;
    struct cv_acls acls = {0};
    struct cv_complaint complaint;
    assert_int_equal(cv_acls_set(&acls, "build", "luck", "x", &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, "[acl build] luck: expected lock, elect, observe or admin");
    assert_int_equal(cv_acls_set(&acls, "build", "admin", "maybe", &complaint), CV_EINPUT);
    assert_string_equal(complaint.text, "[acl build] admin = maybe: expected yes or no");
    cv_acls_free(&acls);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_matrix),
        cmocka_unit_test(test_without_sections_everybody_may),
        cmocka_unit_test(test_first_section_counts_but_not_for_the_cluster),
        cmocka_unit_test(test_strange_names),
        cmocka_unit_test(test_complaints),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
