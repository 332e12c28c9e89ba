// SPDX-License-Identifier: MIT
/*
 * A command that mpirun may have started in several ranks. All of them read the same command line. The first rank alone
 * prints, and its exit code counts.
 */
#ifndef CONCLAVE_CLI_STUDY_JOB_H
#define CONCLAVE_CLI_STUDY_JOB_H

#include "cli/options.h"
#include "core/scenario/plan.h"
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

/*
 * All ranks read the same command line, but perhaps not the same files. 0, or CV_EINPUT and a complaint if this rank
 * has another program, or other contents of a file that the plan or the algorithm's name tells, than the first. All
 * ranks must ask, and settle the answer.
 */
int job_compare(struct cv_ranks *ranks, const struct cv_plan *plan, const char *algorithm,
                struct cv_complaint *complaint);

/* Does this rank print? */
bool job_tells(const struct cv_ranks *ranks);

/* A rank that is not the first cannot go on: tells why, and ends all. */
_Noreturn void job_fail(struct cv_ranks *ranks, int error);

/* Flushes what was printed and leaves the others. Returns the exit code of this rank. */
int job_end(struct cv_ranks *ranks, int code);

#endif
