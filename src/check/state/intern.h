// SPDX-License-Identifier: MIT
/*
 * Keeps each byte string once and gives it a small number. A search meets millions of node states, messages and
 * contents of channels, but few different ones. Several threads may add at once. A stored string never moves, so
 * reading takes no lock.
 */
#ifndef CONCLAVE_CHECK_STATE_INTERN_H
#define CONCLAVE_CHECK_STATE_INTERN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "check/state/arena.h"
#include "check/state/fingerprint.h"

#define INTERN_BLOCK 4096u
#ifndef INTERN_BLOCKS /* WebAssembly has little address space, and says so */
#define INTERN_BLOCKS (1u << 17)
#endif
#define INTERN_NONE UINT32_MAX /* memory ran out */

struct intern_record {
    struct fingerprint fingerprint; /* of the bytes, whatever their number is */
    uint32_t length;
    uint32_t hash;
    unsigned char bytes[] __attribute__((aligned(8)));
};

struct intern {
    pthread_mutex_t lock;
    uint64_t seed;                  /* so that equal bytes of different kinds have different fingerprints */
    struct intern_record ***blocks; /* number to record */
    uint32_t *slots;                /* hash to number + 1 */
    uint32_t slot_count;
    uint32_t count;       /* byte strings */
    _Atomic size_t bytes; /* of memory */
    struct arena records;
};

/* 0 or CV_ENOMEM; free it in both cases. */
int intern_init(struct intern *intern, uint64_t seed);
void intern_free(struct intern *intern);

/* The number of these bytes, new or known; INTERN_NONE if there is no memory. */
uint32_t intern_add(struct intern *intern, const void *bytes, size_t length);

static inline const struct intern_record *intern_record(const struct intern *intern, uint32_t number)
{
    return intern->blocks[number / INTERN_BLOCK][number % INTERN_BLOCK];
}

static inline const void *intern_bytes(const struct intern *intern, uint32_t number)
{
    return intern_record(intern, number)->bytes;
}

#endif
