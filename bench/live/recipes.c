// SPDX-License-Identifier: MIT
/*
 * How each service is asked for one of three permits of a semaphore, and for three names at once.
 *
 *            a permit                                           three names
 * conclave   LOCK name PERMITS 3; UNLOCK                        LOCKALL a b c; UNLOCK of each, sent together
 * redis      a script on a sorted set of holders and the        a script that sets three keys if there is none of them,
 *            ends of their time; ZREM                           and one that deletes those that are still its own
 * etcd       a transaction that puts the first of three keys    a transaction that puts three keys if there is none of
 *            that is free, with a lease; one that deletes it    them; one that deletes them if they are its own
 *            if it is its own
 *
 * Redis and etcd have no queue for these: a client that is refused asks again at once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"

static void nothing(struct connection *connection)
{
    (void)connection;
}

static bool is_one(struct connection *connection, size_t length)
{
    return resp_is(connection, length, ":1\r\n");
}

static bool is_zero(struct connection *connection, size_t length)
{
    return resp_is(connection, length, ":0\r\n");
}

/* ---- a permit: conclave ---- */

static size_t permits_ask(struct connection *connection, char *out, size_t size)
{
    return resp_format(out, size, 4, (const char *[]){"LOCK", connection->name[0], "PERMITS", PERMITS});
}

const struct protocol conclave_permits = {
    .name = "conclave-permits",
    .names = 1,
    .permits = 3,
    .prepare = nothing,
    .acquire = permits_ask,
    .release = conclave_release,
    .answer = resp_answer,
    .granted = conclave_granted,
    .released = is_one,
};

/* ---- a permit: Redis ---- */

static char permit_script[41];

static void redis_permits_prepare(struct connection *connection)
{
    resp_load(connection,
              "redis.call('zremrangebyscore',KEYS[1],'-inf',ARGV[1]) "
              "if redis.call('zcard',KEYS[1])>=tonumber(ARGV[2]) then return 0 end "
              "redis.call('zadd',KEYS[1],ARGV[1]+30000,ARGV[3]) redis.call('pexpire',KEYS[1],30000) return 1",
              permit_script);
    redis_name_token(connection);
}

static size_t redis_permits_ask(struct connection *connection, char *out, size_t size)
{
    char now_ms[32];
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(now_ms, sizeof now_ms, "%lld", (long long)now.tv_sec * 1000 + now.tv_nsec / 1000000);
    return resp_format(
        out, size, 7,
        (const char *[]){"EVALSHA", permit_script, "1", connection->name[0], now_ms, PERMITS, connection->key});
}

static size_t redis_permits_release(struct connection *connection, char *out, size_t size)
{
    return resp_format(out, size, 3, (const char *[]){"ZREM", connection->name[0], connection->key});
}

const struct protocol redis_permits = {
    .name = "redis-permits",
    .names = 1,
    .permits = 3,
    .prepare = redis_permits_prepare,
    .acquire = redis_permits_ask,
    .release = redis_permits_release,
    .answer = resp_answer,
    .granted = is_one,
    .released = is_one,
    .refused = is_zero,
};

/* ---- etcd's transactions: a key is free, a key is mine ---- */

struct text {
    char *at;
    size_t left;
};

static void add(struct text *text, const char *format, const char *first, const char *second, const char *third)
{
    const int length = snprintf(text->at, text->left, format, first, second, third);
    if (length < 0 || (size_t)length >= text->left)
        give_up("a transaction is too long");
    text->at += length;
    text->left -= (size_t)length;
}

#define FREE "{\"key\":\"%s\",\"target\":\"CREATE\",\"result\":\"EQUAL\",\"create_revision\":\"0\"}"
#define MINE "{\"key\":\"%s\",\"target\":\"VALUE\",\"result\":\"EQUAL\",\"value\":\"%s\"}"
#define PUT "{\"request_put\":{\"key\":\"%s\",\"value\":\"%s\",\"lease\":\"%s\"}}"
#define DELETE "{\"request_delete_range\":{\"key\":\"%s\"}}"

/* The token is of digits that base64 leaves whole. */
static const char *token(const struct connection *connection)
{
    static char text[16];
    snprintf(text, sizeof text, "%08u", connection->number);
    return text;
}

static bool succeeded(struct connection *connection, size_t length)
{
    return http_is_good(connection, length) && memmem(connection->in, length, "\"succeeded\":true", 16);
}

static bool failed(struct connection *connection, size_t length)
{
    return http_is_good(connection, length) && !succeeded(connection, length);
}

/* ---- a permit: etcd ---- */

/* A slot of the semaphore is a key: four letters, which base64 leaves whole, after the name. */
static void write_slot(char slot[48], const struct connection *connection, unsigned which)
{
    snprintf(slot, 48, "%sslt%u", connection->name[0], which);
}

/* If the first slot is not free, a transaction in the transaction tries the next. */
static size_t etcd_permits_ask(struct connection *connection, char *out, size_t size)
{
    char body[1536], slot[48];
    struct text text = {body, sizeof body};
    for (unsigned i = 0; i < etcd_permits.permits; i++) {
        write_slot(slot, connection, i);
        add(&text, i ? ",\"failure\":[{\"request_txn\":{\"compare\":[" FREE "]" : "{\"compare\":[" FREE "]", slot, NULL,
            NULL);
        add(&text, ",\"success\":[" PUT "]", slot, token(connection), connection->lease);
    }
    for (unsigned i = 1; i < etcd_permits.permits; i++)
        add(&text, "}}]", NULL, NULL, NULL);
    add(&text, "}", NULL, NULL, NULL);
    return http_post(out, size, "/v3/kv/txn", body);
}

/* How deep the answer is says which slot it got. */
static bool etcd_permits_granted(struct connection *connection, size_t length)
{
    unsigned depth = 0;
    const char *at = connection->in, *end = connection->in + length;
    while ((at = memmem(at, (size_t)(end - at), "response_txn", 12))) {
        depth++;
        at += 12;
    }
    write_slot(connection->key, connection, depth);
    return succeeded(connection, length);
}

static size_t etcd_permits_release(struct connection *connection, char *out, size_t size)
{
    char body[512];
    struct text text = {body, sizeof body};
    add(&text, "{\"compare\":[" MINE "]", connection->key, token(connection), NULL);
    add(&text, ",\"success\":[" DELETE "]}", connection->key, NULL, NULL);
    return http_post(out, size, "/v3/kv/txn", body);
}

const struct protocol etcd_permits = {
    .name = "etcd-permits",
    .names = 1,
    .permits = 3,
    .prepare = etcd_lease,
    .acquire = etcd_permits_ask,
    .release = etcd_permits_release,
    .answer = http_answer,
    .granted = etcd_permits_granted,
    .released = succeeded,
    .refused = failed,
};

/* ---- three names: conclave ---- */

static size_t all_ask(struct connection *connection, char *out, size_t size)
{
    return resp_format(out, size, 1 + NAMES,
                       (const char *[]){"LOCKALL", connection->name[0], connection->name[1], connection->name[2]});
}

/* The length of so many lines, or 0 if they are not all there. */
static size_t lines(const struct connection *connection, unsigned count)
{
    const char *at = connection->in, *end = connection->in + connection->in_length;
    while (count && (at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        count--;
    }
    return at && !count ? (size_t)(at - connection->in) : 0;
}

/* An array of fences, then an answer for each UNLOCK; an error is one line. */
static size_t all_answer(const struct connection *connection)
{
    return lines(connection, connection->holding ? NAMES : *connection->in == '*' ? 1 + NAMES : 1);
}

/* Keeps the fences as they came, a line each. */
static bool all_granted(struct connection *connection, size_t length)
{
    const size_t head = strlen("*3\r\n");
    if (length <= head || length - head >= sizeof connection->key || memcmp(connection->in, "*3\r\n", head) != 0)
        return false;
    memcpy(connection->key, connection->in + head, length - head);
    connection->key[length - head] = '\0';
    return true;
}

static size_t all_release(struct connection *connection, char *out, size_t size)
{
    size_t length = 0;
    const char *at = connection->key;
    for (unsigned i = 0; i < NAMES; i++) {
        char fence[24];
        snprintf(fence, sizeof fence, "%lld", strtoll(at + 1, NULL, 10));
        at = strchr(at, '\n') + 1;
        length += resp_format(out + length, size - length, 3, (const char *[]){"UNLOCK", connection->name[i], fence});
    }
    return length;
}

static bool all_released(struct connection *connection, size_t length)
{
    return resp_is(connection, length, ":1\r\n:1\r\n:1\r\n");
}

const struct protocol conclave_all = {
    .name = "conclave-all",
    .names = NAMES,
    .permits = 1,
    .prepare = nothing,
    .acquire = all_ask,
    .release = all_release,
    .answer = all_answer,
    .granted = all_granted,
    .released = all_released,
};

/* ---- three names: Redis ---- */

static char set_script[41], delete_script[41];

static void redis_all_prepare(struct connection *connection)
{
    resp_load(connection,
              "if redis.call('exists',unpack(KEYS))>0 then return 0 end "
              "for _,k in ipairs(KEYS) do redis.call('set',k,ARGV[1],'PX',30000) end return 1",
              set_script);
    resp_load(connection,
              "local n=0 for _,k in ipairs(KEYS) do "
              "if redis.call('get',k)==ARGV[1] then n=n+redis.call('del',k) end end return n",
              delete_script);
    redis_name_token(connection);
}

static size_t run_script(struct connection *connection, char *out, size_t size, const char *script)
{
    return resp_format(out, size, 7,
                       (const char *[]){"EVALSHA", script, "3", connection->name[0], connection->name[1],
                                        connection->name[2], connection->key});
}

static size_t redis_all_ask(struct connection *connection, char *out, size_t size)
{
    return run_script(connection, out, size, set_script);
}

static size_t redis_all_release(struct connection *connection, char *out, size_t size)
{
    return run_script(connection, out, size, delete_script);
}

static bool redis_all_released(struct connection *connection, size_t length)
{
    return resp_is(connection, length, ":3\r\n");
}

const struct protocol redis_all = {
    .name = "redis-all",
    .names = NAMES,
    .permits = 1,
    .prepare = redis_all_prepare,
    .acquire = redis_all_ask,
    .release = redis_all_release,
    .answer = resp_answer,
    .granted = is_one,
    .released = redis_all_released,
    .refused = is_zero,
};

/* ---- three names: etcd ---- */

static size_t etcd_all_ask(struct connection *connection, char *out, size_t size)
{
    char body[1536];
    struct text text = {body, sizeof body};
    for (unsigned i = 0; i < NAMES; i++)
        add(&text, i ? "," FREE : "{\"compare\":[" FREE, connection->name[i], NULL, NULL);
    for (unsigned i = 0; i < NAMES; i++)
        add(&text, i ? "," PUT : "],\"success\":[" PUT, connection->name[i], token(connection), connection->lease);
    add(&text, "]}", NULL, NULL, NULL);
    return http_post(out, size, "/v3/kv/txn", body);
}

static size_t etcd_all_release(struct connection *connection, char *out, size_t size)
{
    char body[1536];
    struct text text = {body, sizeof body};
    for (unsigned i = 0; i < NAMES; i++)
        add(&text, i ? "," MINE : "{\"compare\":[" MINE, connection->name[i], token(connection), NULL);
    for (unsigned i = 0; i < NAMES; i++)
        add(&text, i ? "," DELETE : "],\"success\":[" DELETE, connection->name[i], NULL, NULL);
    add(&text, "]}", NULL, NULL, NULL);
    return http_post(out, size, "/v3/kv/txn", body);
}

const struct protocol etcd_all = {
    .name = "etcd-all",
    .names = NAMES,
    .permits = 1,
    .prepare = etcd_lease,
    .acquire = etcd_all_ask,
    .release = etcd_all_release,
    .answer = http_answer,
    .granted = succeeded,
    .released = succeeded,
    .refused = failed,
};
