// SPDX-License-Identifier: MIT
/*
 * A shared run between two ticks, as records that say to which node they belong: so any number of workers can go on.
 * All ticks up to the pause are played, and what is under way waits in the calendars.
 */
#ifndef CONCLAVE_SIM_SHARE_RUN_SAVED_H
#define CONCLAVE_SIM_SHARE_RUN_SAVED_H

#include "saved/checkpoint.h"
#include "sim/share/worker.h"

/* Takes records; each comes whole. */
struct record_sink {
    void (*put)(void *context, const void *bytes, size_t size);
    void *context;
};

/* Writes the first record: what was counted, all in all, and the time. */
void run_write_head(const struct cv_sim *sum, uint64_t now, const struct record_sink *sink);

/* Writes what the workers of this rank have. Without memory it puts NULL. */
void run_write(const struct cv_sim *world, const struct share_worker *workers, uint32_t count,
               const struct record_sink *sink);

/* Fills workers that have not begun. */
struct run_loader {
    struct cv_sim *world;
    struct share_worker *workers;
    uint32_t count;
    uint64_t *entries; /* by node: the entry that its client waits for or is in, as it was saved */
    bool failed;       /* no memory */
    bool begun;        /* the head was read */
};

int run_loader_init(struct run_loader *loader, struct cv_sim *world, struct share_worker *workers, uint32_t count);
/* Gives a record to the worker of this rank that needs it, if any. False: it does not fit the run. */
bool run_load(struct run_loader *loader, const unsigned char *bytes, size_t size);
void run_loader_free(struct run_loader *loader);

#endif
