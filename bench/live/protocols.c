// SPDX-License-Identifier: MIT
/*
 * How each service is asked for a lock and for its release.
 *
 * conclave   LOCK name; UNLOCK name fence
 * redis      SET name token NX PX 30000; EVALSHA of "delete it if it is still mine", as its documentation recommends
 * etcd       the v3 lock service's Lock and Unlock, over its HTTP/JSON gateway, with a lease for each connection
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

size_t resp_format(char *out, size_t size, size_t count, const char *const *words)
{
    size_t length = (size_t)snprintf(out, size, "*%zu\r\n", count);
    for (size_t i = 0; i < count; i++)
        length += (size_t)snprintf(out + length, size - length, "$%zu\r\n%s\r\n", strlen(words[i]), words[i]);
    return length;
}

/* An answer of one line, or a bulk string. */
size_t resp_answer(const struct connection *connection)
{
    const char *end = memchr(connection->in, '\n', connection->in_length);
    if (!end)
        return 0;
    const size_t line = (size_t)(end - connection->in) + 1;
    const long bulk = *connection->in == '$' ? strtol(connection->in + 1, NULL, 10) : -1;
    const size_t whole = bulk < 0 ? line : line + (size_t)bulk + 2;
    return whole <= connection->in_length ? whole : 0;
}

bool resp_is(const struct connection *connection, size_t length, const char *text)
{
    return length == strlen(text) && memcmp(connection->in, text, length) == 0;
}

static bool resp_is_one(struct connection *connection, size_t length)
{
    return resp_is(connection, length, ":1\r\n");
}

/* ---- conclave ---- */

static void conclave_prepare(struct connection *connection)
{
    (void)connection;
}

static size_t conclave_acquire(struct connection *connection, char *out, size_t size)
{
    return resp_format(out, size, 2, (const char *[]){"LOCK", connection->name[0]});
}

size_t conclave_release(struct connection *connection, char *out, size_t size)
{
    return resp_format(out, size, 3, (const char *[]){"UNLOCK", connection->name[0], connection->key});
}

bool conclave_granted(struct connection *connection, size_t length)
{
    if (*connection->in != ':' || length < 4 || length > 30)
        return false;
    memcpy(connection->key, connection->in + 1, length - 3);
    connection->key[length - 3] = '\0';
    return true;
}

const struct protocol conclave_protocol = {
    .name = "conclave",
    .names = 1,
    .permits = 1,
    .prepare = conclave_prepare,
    .acquire = conclave_acquire,
    .release = conclave_release,
    .answer = resp_answer,
    .granted = conclave_granted,
    .released = resp_is_one,
};

/* ---- Redis ---- */

static char release_script[41]; /* its SHA-1 */

void resp_load(struct connection *connection, const char *source, char sha[41])
{
    char out[1024];
    const size_t length = resp_format(out, sizeof out, 3, (const char *[]){"SCRIPT", "LOAD", source});
    const size_t answer = converse(connection, &redis_protocol, out, length);
    if (answer != 47)
        give_up("Redis does not take the script: %.*s", (int)answer, connection->in);
    memcpy(sha, connection->in + 5, 40);
    drop_answer(connection, answer);
}

void redis_name_token(struct connection *connection)
{
    snprintf(connection->key, sizeof connection->key, "token-of-%08u", connection->number);
}

static void redis_prepare(struct connection *connection)
{
    resp_load(connection,
              "if redis.call('get',KEYS[1])==ARGV[1] then return redis.call('del',KEYS[1]) else return 0 end",
              release_script);
    redis_name_token(connection);
}

static size_t redis_acquire(struct connection *connection, char *out, size_t size)
{
    return resp_format(out, size, 6,
                       (const char *[]){"SET", connection->name[0], connection->key, "NX", "PX", "30000"});
}

static size_t redis_release(struct connection *connection, char *out, size_t size)
{
    return resp_format(out, size, 5,
                       (const char *[]){"EVALSHA", release_script, "1", connection->name[0], connection->key});
}

static bool redis_granted(struct connection *connection, size_t length)
{
    return resp_is(connection, length, "+OK\r\n");
}

const struct protocol redis_protocol = {
    .name = "redis",
    .names = 1,
    .permits = 1,
    .prepare = redis_prepare,
    .acquire = redis_acquire,
    .release = redis_release,
    .answer = resp_answer,
    .granted = redis_granted,
    .released = resp_is_one,
};

/* ---- etcd ---- */

size_t http_post(char *out, size_t size, const char *path, const char *body)
{
    return (size_t)snprintf(out, size,
                            "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                            "Content-Length: %zu\r\n\r\n%s",
                            path, strlen(body), body);
}

size_t http_answer(const struct connection *connection)
{
    const char *head_end = memmem(connection->in, connection->in_length, "\r\n\r\n", 4);
    if (!head_end)
        return 0;
    const size_t head = (size_t)(head_end - connection->in) + 4;
    const char *field = memmem(connection->in, head, "Content-Length: ", 16);
    if (!field)
        give_up("etcd answered without a length: %.*s", (int)head, connection->in);
    const size_t whole = head + strtoul(field + 16, NULL, 10);
    return whole <= connection->in_length ? whole : 0;
}

bool http_is_good(const struct connection *connection, size_t length)
{
    return length > 15 && memcmp(connection->in, "HTTP/1.1 200 OK", 15) == 0;
}

/* The text that a member of a JSON object has. */
static bool json_text(const struct connection *connection, size_t length, const char *member, char *text, size_t size)
{
    char quoted[32];
    snprintf(quoted, sizeof quoted, "\"%s\":\"", member);
    const char *start = memmem(connection->in, length, quoted, strlen(quoted));
    const char *end = start ? memchr(start + strlen(quoted), '"', 400) : NULL;
    if (!end || (size_t)(end - start) >= size)
        return false;
    start += strlen(quoted);
    memcpy(text, start, (size_t)(end - start));
    text[end - start] = '\0';
    return true;
}

void etcd_lease(struct connection *connection)
{
    char out[512];
    const size_t length = http_post(out, sizeof out, "/v3/lease/grant", "{\"TTL\":\"600\"}");
    const size_t answer = converse(connection, &etcd_protocol, out, length);
    if (!http_is_good(connection, answer) ||
        !json_text(connection, answer, "ID", connection->lease, sizeof connection->lease))
        give_up("etcd grants no lease: %.*s", (int)answer, connection->in);
    drop_answer(connection, answer);
}

/* Names are of letters that base64 leaves whole: four letters stand for three bytes. */
static size_t etcd_acquire(struct connection *connection, char *out, size_t size)
{
    char body[256];
    snprintf(body, sizeof body, "{\"name\":\"%s\",\"lease\":\"%s\"}", connection->name[0], connection->lease);
    return http_post(out, size, "/v3/lock/lock", body);
}

static size_t etcd_release(struct connection *connection, char *out, size_t size)
{
    char body[KEY_BYTES + 32];
    snprintf(body, sizeof body, "{\"key\":\"%s\"}", connection->key);
    return http_post(out, size, "/v3/lock/unlock", body);
}

static bool etcd_granted(struct connection *connection, size_t length)
{
    return http_is_good(connection, length) &&
           json_text(connection, length, "key", connection->key, sizeof connection->key);
}

static bool etcd_released(struct connection *connection, size_t length)
{
    return http_is_good(connection, length);
}

const struct protocol etcd_protocol = {
    .name = "etcd",
    .names = 1,
    .permits = 1,
    .prepare = etcd_lease,
    .acquire = etcd_acquire,
    .release = etcd_release,
    .answer = http_answer,
    .granted = etcd_granted,
    .released = etcd_released,
};
