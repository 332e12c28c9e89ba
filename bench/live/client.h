// SPDX-License-Identifier: MIT
/* A load generator for lock services: the loop is the same for all of them, what is said differs. */
#ifndef CONCLAVE_BENCH_CLIENT_H
#define CONCLAVE_BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_BYTES 512
#define NAMES 3 /* that a connection takes at once, at most */
#define PERMITS "3"

struct connection {
    int fd;
    unsigned number;
    char name[NAMES][32];  /* of its locks */
    unsigned index[NAMES]; /* which of all names they are */
    char key[KEY_BYTES];   /* what the server gave for it: a fence, a key */
    char lease[32];
    char in[16384];
    size_t in_length;
    bool holding;
    uint64_t began_ns;
};

/* Each function writes a request and returns its length, or reads a complete answer. */
struct protocol {
    const char *name;
    unsigned names;                                 /* that a connection takes at once */
    unsigned permits;                               /* so many may hold a name together */
    void (*prepare)(struct connection *connection); /* once, may wait for answers */
    size_t (*acquire)(struct connection *connection, char *out, size_t size);
    size_t (*release)(struct connection *connection, char *out, size_t size);
    /* The length of the first answer, or 0 if it is not all there. */
    size_t (*answer)(const struct connection *connection);
    /* Was it granted, was it released? Anything else ends the benchmark. */
    bool (*granted)(struct connection *connection, size_t length);
    bool (*released)(struct connection *connection, size_t length);
    /* Has it to be asked for again, because there is no queue? NULL: there is one. */
    bool (*refused)(struct connection *connection, size_t length);
};

extern const struct protocol conclave_protocol, redis_protocol, etcd_protocol;
extern const struct protocol conclave_permits, redis_permits, etcd_permits;
extern const struct protocol conclave_all, redis_all, etcd_all;

/* What the protocols have in common. */
size_t resp_format(char *out, size_t size, size_t count, const char *const *words);
size_t resp_answer(const struct connection *connection);
bool resp_is(const struct connection *connection, size_t length, const char *text);
size_t conclave_release(struct connection *connection, char *out, size_t size);
bool conclave_granted(struct connection *connection, size_t length);
void resp_load(struct connection *connection, const char *source, char sha[41]); /* a script of Redis */
void redis_name_token(struct connection *connection);
size_t http_post(char *out, size_t size, const char *path, const char *body);
size_t http_answer(const struct connection *connection);
bool http_is_good(const struct connection *connection, size_t length);
void etcd_lease(struct connection *connection);

/* Sends a request and waits for its answer, which stays at the start of the connection's buffer: its length. */
size_t converse(struct connection *connection, const struct protocol *protocol, const char *request, size_t length);
void drop_answer(struct connection *connection, size_t length);

_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
