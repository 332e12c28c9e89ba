// SPDX-License-Identifier: MIT
/*
 * A command that mpirun may have started in several ranks. All of them read the same command line. The first rank alone
 * prints, and its exit code counts.
 */
#ifndef CONCLAVE_CLI_STUDY_JOB_H
#define CONCLAVE_CLI_STUDY_JOB_H

#include "cli/options.h"
#include "ranks/ranks.h"

/*
 * For a rank that did not meet the others: tells why, and returns the exit code. Usually all have the same to tell. One
 * on each machine does, and the first before those elsewhere.
 */
int job_not_met(int error, const struct cv_complaint *complaint);

/* Meets the other ranks, if there are any. NULL: that failed, and the command ends with that exit code. */
struct cv_ranks *job_begin(int *code);

/*
 * As options_settled(), for all ranks at once: if a rank cannot go on, none does, and the first tells why. True: go on.
 * Otherwise the command ends with that exit code.
 */
bool job_settled(struct cv_ranks *ranks, const struct options *options, int error, bool help,
                 const struct cv_complaint *complaint, int *code);

/* Does this rank print? */
bool job_tells(const struct cv_ranks *ranks);

/* A rank that is not the first cannot go on: tells why, and ends all. */
_Noreturn void job_fail(struct cv_ranks *ranks, int error);

/* Flushes what was printed and leaves the others. Returns the exit code of this rank. */
int job_end(struct cv_ranks *ranks, int code);

#endif
