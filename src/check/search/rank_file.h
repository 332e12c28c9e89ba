// SPDX-License-Identifier: MIT
/*
 * One file of all ranks. The first rank writes it: its own section, then those of the others, which send them in
 * blocks, one rank after the other. It also reads the file, and all ranks get the same bytes at the same time. So
 * nobody needs the file but the first rank, and nobody has more of it in memory than a piece.
 */
#ifndef CONCLAVE_CHECK_SEARCH_RANK_FILE_H
#define CONCLAVE_CHECK_SEARCH_RANK_FILE_H

#include "ranks/ranks.h"
#include "saved/checkpoint.h"

/* The first rank: adds the sections of the others, in their order. */
void rank_file_gather(struct cv_ranks *ranks, struct file_writer *writer);
/* The first rank: the file is written, or cannot be. */
void rank_file_end(struct cv_ranks *ranks);

/* The others: write their section if the first rank asks for it. Returns when the file is written, or cannot be. */
void rank_file_serve(struct cv_ranks *ranks, void (*write)(void *context, struct file_writer *writer), void *context);

struct rank_reading {
    struct cv_ranks *ranks;
    struct file_reader *file; /* NULL: this is not the first rank */
    bool failed;
};

/*
 * A reader of what is left of the first rank's file. Every rank must call it, and read to the end: with
 * rank_file_finish() if it does not need the rest. NULL: no memory in one of them.
 */
struct file_reader *rank_file_reader(struct rank_reading *reading);
/* Skips the rest, and closes the reader. */
void rank_file_finish(struct file_reader *reader);

/* All ranks get the parts that the first has found in its checkpoint. */
void rank_file_share_parts(struct cv_ranks *ranks, struct cv_checkpoint *checkpoint);

#endif
