// SPDX-License-Identifier: MIT
#include "show/output.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char directory[64];

static int enter(void **state)
{
    (void)state;
    strcpy(directory, "/tmp/conclave-output-XXXXXX");
    return mkdtemp(directory) && chdir(directory) == 0 ? 0 : -1;
}

static size_t files(void)
{
    size_t count = 0;
    DIR *list = opendir(".");
    assert_non_null(list);
    for (const struct dirent *entry; (entry = readdir(list));)
        count += entry->d_name[0] != '.';
    closedir(list);
    return count;
}

static int leave(void **state)
{
    (void)state;
    unlink("file");
    unlink("link");
    rmdir("inside");
    return chdir("/") == 0 && rmdir(directory) == 0 ? 0 : -1;
}

static void write_file(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static void expect_file(const char *name, const char *text)
{
    char content[64] = "";
    FILE *file = fopen(name, "r");
    assert_non_null(file);
    content[fread(content, 1, sizeof content - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(content, text);
}

static void a_file_appears_when_it_is_complete(void **state)
{
    (void)state;
    struct cv_output output;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_output_open(&output, "file", &complaint), 0);
    fputs("all of it", output.file);
    fflush(output.file);
    assert_int_equal(access("file", F_OK), -1);
    assert_int_equal(files(), 1); /* under another name */
    assert_int_equal(cv_output_commit(&output, &complaint), 0);
    expect_file("file", "all of it");
    assert_int_equal(files(), 1);
}

static void what_was_there_stays_until_then(void **state)
{
    (void)state;
    struct cv_output output;
    struct cv_complaint complaint = {""};
    write_file("file", "before");
    chmod("file", 0640);
    assert_int_equal(cv_output_open(&output, "file", &complaint), 0);
    fputs("half", output.file);
    cv_output_abort(&output);
    cv_output_abort(&output); /* does no harm */
    expect_file("file", "before");
    assert_int_equal(files(), 1);
    assert_int_equal(cv_output_open(&output, "file", &complaint), 0);
    fputs("after", output.file);
    assert_int_equal(cv_output_commit(&output, &complaint), 0);
    expect_file("file", "after");
    struct stat status;
    assert_int_equal(stat("file", &status), 0);
    assert_int_equal(status.st_mode & 0777, 0640);
}

static void a_link_stays_a_link(void **state)
{
    (void)state;
    struct cv_output output;
    struct cv_complaint complaint = {""};
    struct stat status;
    write_file("file", "before");
    assert_int_equal(symlink("file", "link"), 0);
    assert_int_equal(cv_output_open(&output, "link", &complaint), 0);
    fputs("after", output.file);
    assert_int_equal(cv_output_commit(&output, &complaint), 0);
    assert_int_equal(lstat("link", &status), 0);
    assert_true(S_ISLNK(status.st_mode));
    expect_file("file", "after");
}

static void a_full_disk_is_told(void **state)
{
    (void)state;
    struct cv_output output;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_output_open(&output, "/dev/full", &complaint), 0);
    fputs("a few bytes, which stay in the buffer", output.file);
    assert_int_equal(cv_output_commit(&output, &complaint), CV_EFILE);
    assert_string_equal(complaint.text, "cannot write /dev/full: No space left on device");
    assert_int_equal(cv_output_open(&output, "/dev/full", &complaint), 0);
    for (int i = 0; i < 100000; i++)
        fputs("many bytes, which do not", output.file);
    complaint.text[0] = '\0';
    assert_int_equal(cv_output_commit(&output, &complaint), CV_EFILE);
    assert_string_equal(complaint.text, "cannot write /dev/full: No space left on device");
}

static void expect_refusal(const char *name, const char *text)
{
    struct cv_output output;
    struct cv_complaint complaint = {""};
    assert_int_equal(cv_output_open(&output, name, &complaint), CV_EFILE);
    assert_string_equal(complaint.text, text);
    assert_null(output.file);
    cv_output_abort(&output);
}

static void what_cannot_be_written_is_told_at_once(void **state)
{
    (void)state;
    mkdir("inside", 0777);
    expect_refusal("nowhere/file", "cannot write nowhere/file: No such file or directory");
    expect_refusal("inside", "cannot write inside: Is a directory");
    expect_refusal("", "cannot write : No such file or directory");
    assert_int_equal(files(), 1);
    if (geteuid() == 0)
        return; /* root may write anywhere */
    chmod("inside", 0555);
    expect_refusal("inside/file", "cannot write inside/file: Permission denied");
    write_file("file", "mine");
    chmod("file", 0444);
    expect_refusal("file", "cannot write file: Permission denied");
}

static void a_name_may_be_as_long_as_names_get(void **state)
{
    (void)state;
    char name[256];
    struct cv_output output;
    struct cv_complaint complaint = {""};
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    assert_int_equal(cv_output_open(&output, name, &complaint), 0);
    assert_int_equal(cv_output_commit(&output, &complaint), 0);
    assert_int_equal(unlink(name), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_file_appears_when_it_is_complete, enter, leave),
        cmocka_unit_test_setup_teardown(what_was_there_stays_until_then, enter, leave),
        cmocka_unit_test_setup_teardown(a_link_stays_a_link, enter, leave),
        cmocka_unit_test_setup_teardown(a_full_disk_is_told, enter, leave),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_is_told_at_once, enter, leave),
        cmocka_unit_test_setup_teardown(a_name_may_be_as_long_as_names_get, enter, leave),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
