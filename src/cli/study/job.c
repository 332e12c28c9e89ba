// SPDX-License-Identifier: MIT
#include "cli/study/job.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "core/scenario/plan_inputs.h"
#include "ranks/launch.h"
#include "saved/checkpoint.h"

#define FIRST_WORDS_SECONDS 10 /* for the first rank to say why it cannot begin, and for mpirun to end the others */
#define LAST_WORDS_SECONDS 1   /* for what the first rank has to say when the user ends the job */

int job_not_met(int error, const struct cv_complaint *complaint)
{
    struct cv_launch launch;
    if (!cv_launch_find(&launch) || !launch.rank)
        return command_fail(error, complaint);
    if (launch.here)
        return EXIT_HELD;
    sleep(FIRST_WORDS_SECONDS);
    return command_refuse("rank %u: %s", launch.rank, *complaint->text ? complaint->text : cv_error_text(error));
}

/* Under mpirun standard output is always a terminal, or never. So it has no colours. */
struct cv_ranks *job_begin(int *code)
{
    struct cv_complaint complaint = {{0}};
    struct cv_launch launch;
    struct cv_ranks *ranks;
    cv_launch_find(&launch);
    if (launch.launcher != CV_LAUNCHED_ALONE)
        setenv("NO_COLOR", "1", 1);
    const int error = cv_ranks_join(&ranks, command_line, &complaint);
    if (error)
        *code = job_not_met(error, &complaint);
    return ranks;
}

bool job_tells(const struct cv_ranks *ranks)
{
    return cv_ranks_own(ranks) == 0;
}

bool job_settled(struct cv_ranks *ranks, const struct options *options, int error, bool help,
                 const struct cv_complaint *complaint, int *code)
{
    const uint32_t count = cv_ranks_count(ranks);
    struct cv_complaint heard = *complaint, told = {{0}};
    uint64_t first = error ? cv_ranks_own(ranks) : count; /* the first rank with an error */
    cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &first, 1);
    if (first == 0 || first == count) {
        if (job_tells(ranks))
            return options_settled(options, error, help, complaint, code);
        *code = EXIT_HELD;
        return !error && !help && first == count;
    }
    if (error && !*heard.text)
        snprintf(heard.text, sizeof heard.text, "%s", cv_error_text(error));
    cv_ranks_broadcast(ranks, (uint32_t)first, heard.text, sizeof heard.text);
    snprintf(told.text, sizeof told.text, "rank %u: %.480s", (uint32_t)first, heard.text);
    *code = job_tells(ranks) ? command_fail(CV_EINPUT, &told) : EXIT_HELD;
    return false;
}

int job_compare(struct cv_ranks *ranks, const struct cv_plan *plan, const char *algorithm,
                struct cv_complaint *complaint)
{
    struct cv_plan_file files[CV_MOST_PLAN_FILES];
    uint64_t hashes[2] = {0}, first[2]; /* of the program, and of what it reads */
    if (cv_ranks_count(ranks) < 2)
        return 0;
    hashes[0] = cv_checkpoint_hash_file("/proc/self/exe");
    if (algorithm && strchr(algorithm, '/'))
        hashes[1] = cv_checkpoint_hash_file(algorithm);
    for (uint32_t i = 0, count = cv_plan_files(plan, files); i < count; i++)
        hashes[1] = cv_checkpoint_hash(files[i].text, strlen(files[i].text), hashes[1]);
    memcpy(first, hashes, sizeof first);
    cv_ranks_broadcast(ranks, 0, first, sizeof first);
    if (first[0] != hashes[0])
        return cv_complain(complaint, "another build of conclave than the first rank has; expected the same");
    if (first[1] != hashes[1])
        return cv_complain(complaint, "a file that the command line names is not that of the first rank; expected the "
                                      "same contents");
    return 0;
}

_Noreturn void job_fail(struct cv_ranks *ranks, int error)
{
    command_refuse("rank %u: %s", cv_ranks_own(ranks), cv_error_text(error));
    cv_ranks_abort(ranks, EXIT_UNKNOWN);
}

/* When the user ends a job, ranks may be gone already, and nobody can wait for them. */
int job_end(struct cv_ranks *ranks, int code)
{
    if (command_interrupted && cv_ranks_count(ranks) > 1) {
        if (job_tells(ranks))
            _exit(command_flush(code));
        sleep(LAST_WORDS_SECONDS);
        _exit(EXIT_UNKNOWN);
    }
    if (job_tells(ranks))
        code = command_flush(code);
    else
        code = EXIT_HELD;
    cv_ranks_leave(ranks);
    return code;
}
