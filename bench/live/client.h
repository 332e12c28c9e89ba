// SPDX-License-Identifier: MIT
/* A load generator for lock services: the loop is the same for all of them, what is said differs. */
#ifndef CONCLAVE_BENCH_CLIENT_H
#define CONCLAVE_BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEY_BYTES 512

struct connection {
    int fd;
    unsigned number;
    char name[64];       /* of its lock */
    char key[KEY_BYTES]; /* what the server gave for it: a fence, a key */
    char lease[32];
    char in[16384];
    size_t in_length;
    bool holding;
    uint64_t began_ns;
};

/* Each function writes a request and returns its length, or reads a complete answer. */
struct protocol {
    const char *name;
    void (*prepare)(struct connection *connection); /* once, may wait for answers */
    size_t (*acquire)(struct connection *connection, char *out, size_t size);
    size_t (*release)(struct connection *connection, char *out, size_t size);
    /* The length of the first answer, or 0 if it is not all there. */
    size_t (*answer)(const struct connection *connection);
    /* Was it granted, was it released? Anything else ends the benchmark. */
    bool (*granted)(struct connection *connection, size_t length);
    bool (*released)(struct connection *connection, size_t length);
};

extern const struct protocol conclave_protocol, redis_protocol, etcd_protocol;

/* Sends a request and waits for its answer, which stays at the start of the connection's buffer: its length. */
size_t converse(struct connection *connection, const struct protocol *protocol, const char *request, size_t length);
void drop_answer(struct connection *connection, size_t length);

_Noreturn void give_up(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
