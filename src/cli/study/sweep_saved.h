// SPDX-License-Identifier: MIT
/*
 * The checkpoint of a sweep: the results that were taken, as whoever took them keeps them, and those whose turn has not
 * come. It knows nothing of threads and ranks, so a sweep goes on with any number of them.
 */
#ifndef CONCLAVE_CLI_STUDY_SWEEP_SAVED_H
#define CONCLAVE_CLI_STUDY_SWEEP_SAVED_H

#include "cli/study/sweep_bytes.h"
#include "core/hash_map.h"
#include "saved/checkpoint.h"

struct sweep_saved {
    struct cv_checkpoint *checkpoint;
    void *context;
    /* Write and read what became of the results that were taken. False: the file makes no sense. */
    void (*save)(void *context, struct file_writer *writer);
    bool (*restore)(void *context, struct file_reader *reader);

    /* Where the sweep goes on: */
    uint64_t taken;             /* results */
    struct cv_hash_map waiting; /* parcels whose turn has not come, by their first task plus 1 */
    struct sweep_range {
        uint64_t first, count;
    } * known; /* the tasks of those parcels, ascending */
    size_t known_count;
};

/*
 * The first rank's: opens the checkpoint and reads where the sweep goes on, if it does. `count` is the number of tasks.
 * 0, CV_ENOMEM, or CV_EINPUT and a complaint. Close it in any case.
 */
int sweep_saved_open(struct sweep_saved *saved, uint64_t count, struct cv_complaint *complaint);
void sweep_saved_close(struct sweep_saved *saved);

/* Writes a checkpoint. */
void sweep_saved_write(const struct sweep_saved *saved, uint64_t taken, const struct cv_hash_map *waiting);

#endif
