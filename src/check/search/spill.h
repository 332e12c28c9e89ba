// SPDX-License-Identifier: MIT
/*
 * Files without a name in the directory of --disk. They end with the process, however it ends: a killed search leaves
 * nothing behind.
 */
#ifndef CONCLAVE_CHECK_SEARCH_SPILL_H
#define CONCLAVE_CHECK_SEARCH_SPILL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What all files of a search share. */
struct spill_place {
    const char *directory;  /* NULL: the search keeps to memory */
    _Atomic uint64_t bytes; /* of all files */
    _Atomic uint64_t most;  /* of all files at once, so far */
    _Atomic int error;      /* errno of the first operation that failed; 0: all went well */
};

struct spill {
    struct spill_place *place;
    int file;       /* -1: not opened yet */
    uint64_t bytes; /* that were written and not taken away again */
    uint64_t held;  /* the length of the file, which may be longer */
};

/* Can files be made there? 0 or errno. */
int spill_try(const char *directory);

/* The file is opened when something is written. */
void spill_init(struct spill *spill, struct spill_place *place);
void spill_close(struct spill *spill);

/* Each returns false, and notes the error at the place, if the file system refuses. */
bool spill_append(struct spill *spill, const void *bytes, size_t count);
bool spill_read(struct spill *spill, uint64_t at, void *bytes, size_t count);

/* Takes the last bytes away from the end. The file becomes shorter now and then, so that the disk has room again. */
bool spill_take(struct spill *spill, void *bytes, size_t count);

/* Makes it empty. */
void spill_clear(struct spill *spill);

#endif
