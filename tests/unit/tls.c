// SPDX-License-Identifier: MIT
/* Keys and TLS without sockets: two ends, and the bytes carried between them by hand. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/random.h"
#include "secure/tls.h"

static char directory[] = "/tmp/conclave-tls-XXXXXX";

struct world {
    struct cv_key cluster, stranger;
    char cluster_path[64], stranger_path[64], both_path[64], build_path[64], other_path[64];
};

static struct world world;

static const char *path(char *place, const char *name)
{
    snprintf(place, 64, "%s/%s", directory, name);
    return place;
}

static void write_key(const char *file, const struct cv_key *key)
{
    struct cv_complaint complaint;
    assert_int_equal(cv_key_file_write("output", file, key, &complaint), 0);
}

static void append_file(const char *to, const char *from)
{
    char text[512];
    FILE *source = fopen(from, "r"), *target = fopen(to, "a");
    assert_non_null(fgets(text, sizeof text, source));
    fputs(text, target);
    fclose(source);
    fclose(target);
    chmod(to, 0600);
}

static int make_world(void **state)
{
    struct cv_key build, other;
    *state = &world;
    assert_non_null(mkdtemp(directory));
    assert_int_equal(cv_key_make(&world.cluster, "cluster"), 0);
    assert_int_equal(cv_key_make(&world.stranger, "cluster"), 0);
    assert_true(cv_key_derive(&world.cluster, cv_text("build"), &build));
    assert_true(cv_key_derive(&world.stranger, cv_text("build"), &other));
    write_key(path(world.cluster_path, "cluster.key"), &world.cluster);
    write_key(path(world.stranger_path, "stranger.key"), &world.stranger);
    write_key(path(world.build_path, "build.key"), &build);
    memcpy(other.id, build.id, sizeof other.id); /* claims to be of this cluster */
    write_key(path(world.other_path, "other.key"), &other);
    append_file(path(world.both_path, "both.key"), world.stranger_path);
    append_file(world.both_path, world.cluster_path);
    return 0;
}

static int end_world(void **state)
{
    const struct world *it = *state;
    unlink(it->cluster_path);
    unlink(it->stranger_path);
    unlink(it->both_path);
    unlink(it->build_path);
    unlink(it->other_path);
    return rmdir(directory);
}

/* ---- two ends ---- */

struct pair {
    struct cv_tls_context *contexts[2];
    struct cv_tls *ends[2]; /* the end that connects, the end that is connected to */
    char seen[1 << 16];     /* everything that went over the wire */
    size_t seen_length;
};

static void open_pair(struct pair *pair, enum cv_tls_side caller, const char *caller_key, enum cv_tls_side called,
                      const char *called_key)
{
    struct cv_complaint complaint;
    const struct cv_tls_files files[] = {{.keys = caller_key}, {.keys = called_key}};
    const enum cv_tls_side sides[] = {caller, called};
    pair->seen_length = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(cv_tls_open(&pair->contexts[i], sides[i], &files[i], "", &complaint), 0);
        pair->ends[i] = cv_tls_new(pair->contexts[i], "127.0.0.1", i == 1);
        assert_non_null(pair->ends[i]);
    }
}

static void close_pair(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        cv_tls_free(pair->ends[i]);
        cv_tls_close(pair->contexts[i]);
    }
}

/* Carries bytes both ways until none are left. Returns what came out at the second end. */
static size_t carry(struct pair *pair, char *out, size_t room)
{
    size_t got = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int from = 0; from < 2; from++) {
            char bytes[4096];
            const long count = cv_tls_read(pair->ends[from], bytes, sizeof bytes);
            if (count > 0 && from == 1) {
                assert_true(got + (size_t)count <= room);
                memcpy(out + got, bytes, (size_t)count);
                got += (size_t)count;
            }
            moved |= count > 0;
            const struct cv_text wire = cv_tls_unsent(pair->ends[from]);
            if (!wire.length)
                continue;
            assert_true(pair->seen_length + wire.length <= sizeof pair->seen);
            memcpy(pair->seen + pair->seen_length, wire.start, wire.length);
            pair->seen_length += wire.length;
            assert_true(cv_tls_feed(pair->ends[!from], wire.start, wire.length));
            cv_tls_sent(pair->ends[from], wire.length);
            assert_int_equal(cv_tls_unsent(pair->ends[from]).length, 0);
            moved = true;
        }
    }
    return got;
}

static bool meet(enum cv_tls_side caller, const char *caller_key, enum cv_tls_side called, const char *called_key,
                 char identity[65])
{
    struct pair pair;
    char none[1];
    open_pair(&pair, caller, caller_key, called, called_key);
    carry(&pair, none, 0);
    const bool met = cv_tls_established(pair.ends[0]) && cv_tls_established(pair.ends[1]);
    /* The second end decides: if the two do not meet, it has not accepted the first. */
    assert_true(met || !cv_tls_established(pair.ends[1]));
    assert_true(met || *cv_tls_wrong(pair.ends[0]) || *cv_tls_wrong(pair.ends[1]));
    snprintf(identity, 65, "%s", cv_tls_identity(pair.ends[1]));
    close_pair(&pair);
    return met;
}

static void test_who_meets(void **state)
{
    const struct world *it = *state;
    const struct {
        enum cv_tls_side caller, called;
        const char *caller_key, *called_key;
        const char *identity; /* NULL: they do not meet */
    } cases[] = {
        {CV_TLS_CLIENT, CV_TLS_NODE, it->build_path, it->cluster_path, "build"},
        {CV_TLS_CLIENT, CV_TLS_NODE, it->cluster_path, it->cluster_path, "cluster"},
        {CV_TLS_CLIENT, CV_TLS_NODE, it->build_path, it->stranger_path, NULL},
        {CV_TLS_CLIENT, CV_TLS_NODE, it->other_path, it->cluster_path, NULL},
        {CV_TLS_CLIENT, CV_TLS_NODE, it->stranger_path, it->cluster_path, NULL},
        /* A client's key is no member's, though it was derived from the same one. */
        {CV_TLS_CLIENT, CV_TLS_MEMBER, it->build_path, it->cluster_path, NULL},
        {CV_TLS_CLIENT, CV_TLS_MEMBER, it->cluster_path, it->cluster_path, NULL},
        {CV_TLS_MEMBER, CV_TLS_MEMBER, it->cluster_path, it->cluster_path, "cluster"},
        {CV_TLS_MEMBER, CV_TLS_MEMBER, it->stranger_path, it->cluster_path, NULL},
        {CV_TLS_MEMBER, CV_TLS_NODE, it->cluster_path, it->cluster_path, NULL},
        /* During a rotation both keys are accepted, the first is used. */
        {CV_TLS_MEMBER, CV_TLS_MEMBER, it->cluster_path, it->both_path, "cluster"},
        {CV_TLS_MEMBER, CV_TLS_MEMBER, it->stranger_path, it->both_path, "cluster"},
        {CV_TLS_MEMBER, CV_TLS_MEMBER, it->both_path, it->cluster_path, NULL},
        {CV_TLS_CLIENT, CV_TLS_NODE, it->build_path, it->both_path, "build"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char identity[65];
        const bool met = meet(cases[i].caller, cases[i].caller_key, cases[i].called, cases[i].called_key, identity);
        if (met != (cases[i].identity != NULL))
            fail_msg("case %zu: they %s", i, met ? "met" : "did not meet");
        assert_string_equal(identity, cases[i].identity ? cases[i].identity : "");
    }
}

static void test_nothing_is_readable_on_the_wire(void **state)
{
    const struct world *it = *state;
    struct pair pair;
    char out[64];
    open_pair(&pair, CV_TLS_CLIENT, it->build_path, CV_TLS_NODE, it->cluster_path);
    carry(&pair, out, sizeof out);
    assert_true(cv_tls_write(pair.ends[0], "LOCK treasure", 13));
    assert_int_equal(carry(&pair, out, sizeof out), 13);
    assert_memory_equal(out, "LOCK treasure", 13);
    assert_null(memmem(pair.seen, pair.seen_length, "treasure", 8));
    assert_non_null(memmem(pair.seen, pair.seen_length, "build.", 6)); /* names of keys are no secret */
    close_pair(&pair);
}

/* With one bit changed anywhere, the output is never wrong, only shorter. */
static void test_tampering_is_noticed(void **state)
{
    const struct world *it = *state;
    struct cv_random random;
    cv_random_seed(&random, 1, 0);
    for (int round = 0; round < 200; round++) {
        struct pair pair;
        char out[64];
        open_pair(&pair, CV_TLS_CLIENT, it->build_path, CV_TLS_NODE, it->cluster_path);
        carry(&pair, out, sizeof out);
        assert_true(cv_tls_write(pair.ends[0], "LOCK treasure", 13));
        const struct cv_text wire = cv_tls_unsent(pair.ends[0]);
        char *bytes = malloc(wire.length);
        memcpy(bytes, wire.start, wire.length);
        bytes[cv_random_below(&random, wire.length)] ^= (char)(1 << cv_random_below(&random, 8));
        assert_true(cv_tls_feed(pair.ends[1], bytes, wire.length));
        assert_true(cv_tls_read(pair.ends[1], out, sizeof out) <= 0);
        free(bytes);
        close_pair(&pair);
    }
}

/* Random bytes, alone and after a good beginning, in pieces of any size: refused or waited for, never accepted. */
static void test_garbage_is_not_let_in(void **state)
{
    const struct world *it = *state;
    struct cv_random random;
    cv_random_seed(&random, 2, 0);
    for (int round = 0; round < 500; round++) {
        struct pair pair;
        char out[64], garbage[300];
        open_pair(&pair, CV_TLS_CLIENT, it->build_path, CV_TLS_NODE, it->cluster_path);
        cv_tls_read(pair.ends[0], out, sizeof out);
        const struct cv_text hello = cv_tls_unsent(pair.ends[0]);
        const size_t head = cv_random_below(&random, hello.length), length = 1 + cv_random_below(&random, 299);
        for (size_t i = 0; i < length; i++)
            garbage[i] = (char)cv_random_below(&random, 256);
        if (round % 3)
            cv_tls_feed(pair.ends[1], hello.start, head);
        for (size_t at = 0; at < length;) {
            size_t piece = 1 + cv_random_below(&random, 40);
            piece = piece < length - at ? piece : length - at;
            cv_tls_feed(pair.ends[1], garbage + at, piece);
            assert_true(cv_tls_read(pair.ends[1], out, sizeof out) <= 0);
            at += piece;
        }
        assert_false(cv_tls_established(pair.ends[1]));
        assert_false(cv_tls_write(pair.ends[1], "secret", 6));
        close_pair(&pair);
    }
}

/* ---- files ---- */

static void refuses(const char *text, mode_t mode, const char *expected)
{
    char file[64];
    struct cv_keys keys;
    struct cv_complaint complaint = {""};
    path(file, "bad.key");
    const int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    chmod(file, mode);
    assert_int_equal(cv_key_file_read("--key", file, &keys, &complaint), CV_EINPUT);
    unlink(file);
    if (!strstr(complaint.text, expected))
        fail_msg("'%s' does not say '%s'", complaint.text, expected);
}

static void test_files_are_read_strictly(void **state)
{
    (void)state;
#define SECRET "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
    refuses("conclave-key cluster 01234567 " SECRET "\n", 0640, "its mode is 0640, expected 0600");
    refuses("conclave-key cluster 01234567 " SECRET "\n", 0604, "its mode is 0604");
    refuses("", 0600, "expected a key");
    refuses("# nothing\n\n", 0600, "expected a key");
    refuses("conclave-key cluster 01234567 " SECRET "0\n", 0600, "line 1: expected conclave-key NAME ID SECRET");
    refuses("\nconclave-key cluster 0123456 " SECRET "\n", 0600, "line 2: expected");
    refuses("conclave-key a/b 01234567 " SECRET "\n", 0600, "line 1: expected");
    refuses("conclave-key cluster 01234567 " SECRET " more\n", 0600, "line 1: expected");
    refuses("conclave-key cluster 0123456g " SECRET "\n", 0600, "line 1: expected");
    refuses("something else\n", 0600, "line 1: expected");
}

static void test_clients_keys_are_their_own(void **state)
{
    const struct world *it = *state;
    struct cv_key build, builder, again, members;
    assert_true(cv_key_derive(&it->cluster, cv_text("build"), &build));
    assert_true(cv_key_derive(&it->cluster, cv_text("builder"), &builder));
    assert_true(cv_key_derive(&it->cluster, cv_text("build"), &again));
    assert_true(cv_key_of_members(&it->cluster, &members));
    assert_memory_equal(build.secret, again.secret, CV_KEY_BYTES);
    assert_memory_not_equal(build.secret, builder.secret, CV_KEY_BYTES);
    assert_memory_not_equal(members.secret, it->cluster.secret, CV_KEY_BYTES);
    assert_true(cv_key_derive(&it->cluster, cv_text("cluster"), &again));
    assert_memory_not_equal(members.secret, again.secret, CV_KEY_BYTES);
}

/* HKDF-Expand of RFC 5869 for the key 0, 1, ... 31 and the information "conclave client build", as Python's hmac has
 * it. */
static void test_derivation_is_hkdf_expand(void **state)
{
    (void)state;
    struct cv_key cluster = {.name = "cluster", .id = "00000000"}, key;
    for (unsigned i = 0; i < CV_KEY_BYTES; i++)
        cluster.secret[i] = (unsigned char)i;
    assert_true(cv_key_derive(&cluster, cv_text("build"), &key));
    assert_true(cv_key_is(&key, cv_text("1b310d0ed1d985bfe560e9e343df2f1be345428bf60e4a3fcdf14878607065de")));
    assert_false(cv_key_is(&key, cv_text(SECRET)));
    assert_false(cv_key_is(&key, cv_text("short")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_meets),
        cmocka_unit_test(test_nothing_is_readable_on_the_wire),
        cmocka_unit_test(test_tampering_is_noticed),
        cmocka_unit_test(test_garbage_is_not_let_in),
        cmocka_unit_test(test_files_are_read_strictly),
        cmocka_unit_test(test_clients_keys_are_their_own),
        cmocka_unit_test(test_derivation_is_hkdf_expand),
    };
    return cmocka_run_group_tests(tests, make_world, end_world);
}
