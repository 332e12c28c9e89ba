// SPDX-License-Identifier: MIT
/* The results of tasks as bytes, so that they can travel between threads and ranks. */
#ifndef CONCLAVE_CLI_STUDY_SWEEP_BYTES_H
#define CONCLAVE_CLI_STUDY_SWEEP_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sweep_bytes {
    unsigned char *bytes;
    size_t size, room;
    bool out_of_memory; /* something is missing */
};

void sweep_put(struct sweep_bytes *bytes, const void *value, size_t size);
void sweep_put_number(struct sweep_bytes *bytes, uint64_t number);
/* NULL is a text of its own. */
void sweep_put_text(struct sweep_bytes *bytes, const char *text);

/* Reads what was put, in the same order. */
struct sweep_reader {
    const unsigned char *at;
    size_t left;
};

void sweep_get(struct sweep_reader *reader, void *value, size_t size);
uint64_t sweep_get_number(struct sweep_reader *reader);
/* Inside the bytes; NULL if that was put. */
const char *sweep_get_text(struct sweep_reader *reader);

#endif
