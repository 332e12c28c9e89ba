// SPDX-License-Identifier: MIT
#include "run/experiment.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "run/experiment_parts.h"

#define BETWEEN_LOOKS_NS 500000 /* between two looks at the board */

uint64_t experiment_ns(const struct cv_experiment *experiment)
{
    const uint64_t now = board_now(experiment->board);
    return now > experiment->floor ? now : experiment->floor;
}

void experiment_comes_after(struct cv_experiment *experiment, uint64_t ns)
{
    if (ns > experiment->floor)
        experiment->floor = ns;
}

uint64_t experiment_ms(const struct cv_experiment *experiment)
{
    return board_now(experiment->board) / NS_PER_MS;
}

/* Every process has two files open here. */
static void allow_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static void set_clock(struct cv_experiment *experiment)
{
    experiment->board->epoch_ns = monotonic_ns();
    if (experiment->machines)
        machines_set_clock(experiment);
}

static int make_parts(struct cv_experiment *experiment)
{
    const struct cv_scenario *scenario = experiment->scenario;
    const uint32_t nodes = scenario->group.nodes, slots = nodes + scenario->recovery_count;
    experiment->board = board_make(scenario, slots);
    experiment->children = calloc(slots, sizeof *experiment->children);
    experiment->sources = calloc(slots + 1u, sizeof *experiment->sources);
    if (scenario->partition_count || scenario->group.topology == CV_GRAPH)
        experiment->part = calloc(nodes, sizeof *experiment->part);
    if (!experiment->board || !experiment->children || !experiment->sources ||
        (!experiment->part && (scenario->partition_count || scenario->group.topology == CV_GRAPH)))
        return CV_ENOMEM;
    for (uint32_t slot = 0; slot < slots; slot++) {
        experiment->children[slot] = (struct child){.control = -1, .file = -1, .listener = -1};
        experiment->board->slot[slot].node = slot < nodes ? slot : CV_NOBODY;
    }
    allow_files();
    experiment->faults = memfd_create("conclave run", MFD_CLOEXEC);
    if (experiment->faults < 0)
        return cv_complain(experiment->complaint, "memfd_create: %s", strerror(errno));
    if (getrandom(&experiment->network.key, sizeof experiment->network.key, 0) < 0)
        experiment->network.key = (uint64_t)getpid();
    set_clock(experiment);
    return experiment_views_make(experiment);
}

int experiment_prepare(struct cv_experiment **out, const struct cv_scenario *scenario,
                       const struct cv_experiment_options *options, struct cv_complaint *complaint)
{
    struct cv_experiment *experiment = *out = calloc(1, sizeof *experiment);
    if (!experiment)
        return CV_ENOMEM;
    experiment->scenario = scenario;
    experiment->options = *options;
    experiment->complaint = complaint;
    experiment->network.delay = options->delay;
    experiment->network.delayed = options->delayed;
    experiment->faults = -1;
    experiment->died = agenda_died;
    return make_parts(experiment);
}

static bool is_interrupted(const struct cv_experiment *experiment)
{
    return experiment->options.interrupted && *experiment->options.interrupted;
}

static int rest(struct cv_experiment *experiment)
{
    const struct timespec time = {.tv_nsec = BETWEEN_LOOKS_NS};
    if (experiment->machines)
        return machines_hear(experiment, 1);
    nanosleep(&time, NULL);
    return 0;
}

static bool all_started(const struct cv_experiment *experiment)
{
    for (uint32_t slot = 0; slot < experiment->board->nodes; slot++)
        if (experiment->children[slot].pid && !experiment->board->slot[slot].started)
            return false;
    return true;
}

/* As in the simulator, all calls and requests of time 0 are made before the first message is received. */
static int start_all(struct cv_experiment *experiment)
{
    const uint32_t nodes = experiment->board->nodes;
    int error = 0;
    for (cv_node node = 0; node < nodes; node++)
        if (!cv_scenario_dead(experiment->scenario, node))
            experiment->board->current[node] = node;
    if (experiment->machines)
        machines_announce(experiment);
    for (cv_node node = 0; node < nodes && !error && !is_interrupted(experiment); node++)
        if (!cv_scenario_dead(experiment->scenario, node))
            error = child_start(experiment, node, false);
    if (error)
        return error;
    set_clock(experiment);
    for (cv_node node = 0; node < nodes; node++)
        child_tell(experiment, node, CONTROL_START, 0, NULL, 0);
    while (!error && !all_started(experiment) && !is_interrupted(experiment) && !experiment->board->failed) {
        error = rest(experiment);
        if (!error)
            error = children_reap(experiment);
    }
    if (!error)
        error = agenda_act(experiment); /* of time 0 */
    for (cv_node node = 0; node < nodes && !error; node++)
        child_tell(experiment, node, CONTROL_BEGIN, 0, NULL, 0);
    return error;
}

/* Is everything over, or all that counts? */
static bool is_over(const struct cv_experiment *experiment, bool *at_last_exit)
{
    const bool perpetual = experiment->scenario->algorithm->hints.perpetual;
    if (experiment->agenda_count || experiment->views.changing)
        return false;
    if (experiment->machines) {
        *at_last_exit = perpetual && machines_clients_done(experiment);
        return *at_last_exit || machines_quiet(experiment);
    }
    *at_last_exit = perpetual && board_clients_done(experiment->board);
    return *at_last_exit || board_quiet(experiment->board);
}

static int watch(struct cv_experiment *experiment, enum cv_ending *ending, bool *at_last_exit)
{
    for (;;) {
        int error = children_reap(experiment);
        if (!error)
            error = agenda_act(experiment);
        if (!error)
            error = experiment_views_act(experiment);
        if (error)
            return error;
        if (is_interrupted(experiment)) {
            *ending = CV_INTERRUPTED;
            return 0;
        }
        if (experiment->board->failed) {
            *ending = CV_FAILED;
            return 0;
        }
        if (is_over(experiment, at_last_exit)) {
            *ending = CV_QUIET;
            return 0;
        }
        if (experiment_ms(experiment) > experiment->scenario->until) {
            *ending = CV_OUT_OF_TIME;
            return 0;
        }
        error = rest(experiment);
        if (error)
            return error;
    }
}

/* ---- what they recorded ---- */

static int read_log(struct account_source *source, int file, cv_node node)
{
    struct stat status;
    source->node = node;
    if (file < 0 || fstat(file, &status) || !status.st_size)
        return 0;
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return CV_ENOMEM;
    source->bytes = bytes;
    source->size = (size_t)status.st_size;
    return 0;
}

static int gather(struct cv_experiment *experiment, bool at_last_exit)
{
    const uint32_t slots = experiment->board->slots;
    int error = read_log(&experiment->sources[slots], experiment->faults, CV_NOBODY);
    for (uint32_t slot = 0; slot < slots && !error && !experiment->machines; slot++)
        error =
            read_log(&experiment->sources[slot], experiment->children[slot].file, experiment->board->slot[slot].node);
    return error ? error
                 : account_make(&experiment->account, experiment->scenario, experiment->sources, slots + 1,
                                &experiment->options.observer, at_last_exit);
}

int cv_experiment_run(struct cv_experiment **out, const struct cv_scenario *scenario,
                      const struct cv_experiment_options *options, struct cv_run *run, struct cv_complaint *complaint)
{
    enum cv_ending ending = CV_INTERRUPTED;
    bool at_last_exit = false;
    int error = experiment_prepare(out, scenario, options, complaint);
    struct cv_experiment *experiment = *out;
    if (!error)
        error = agenda_make(experiment);
    if (!error && options->place_count)
        error = machines_make(experiment);
    if (!error)
        error = start_all(experiment);
    if (!error)
        error = watch(experiment, &ending, &at_last_exit);
    if (error)
        return error;
    const uint64_t now_ms = experiment_ms(experiment);
    if (experiment->part)
        agenda_parts(experiment, experiment->part);
    error = children_end(experiment);
    if (!error)
        error = gather(experiment, at_last_exit);
    *run = experiment->account.run;
    run->ending = ending;
    run->now = now_ms;
    run->component = experiment->part;
    if (!error && experiment->board->failed == RUN_CANNOT_BEGIN && run->broken)
        return cv_complain(complaint, "%s: a node cannot begin: %s", scenario->algorithm->name, run->broken);
    return error;
}

void cv_experiment_free(struct cv_experiment *experiment)
{
    if (!experiment)
        return;
    for (uint32_t slot = 0; experiment->board && experiment->children && slot < experiment->board->slots; slot++) {
        if (!experiment->machines)
            child_kill(experiment, slot);
        if (experiment->children[slot].listener >= 0)
            close(experiment->children[slot].listener);
        if (experiment->children[slot].file >= 0)
            close(experiment->children[slot].file);
    }
    for (uint32_t i = 0; experiment->board && experiment->sources && i <= experiment->board->slots; i++)
        if (experiment->sources[i].bytes && (!experiment->machines || i == experiment->board->slots))
            munmap((void *)(uintptr_t)experiment->sources[i].bytes, experiment->sources[i].size);
    machines_free(experiment);
    if (experiment->faults >= 0)
        close(experiment->faults);
    account_free(&experiment->account);
    agenda_free(experiment);
    experiment_views_free(experiment);
    log_free(&experiment->log);
    free(experiment->sources);
    free(experiment->children);
    free(experiment->part);
    board_free(experiment->board);
    free(experiment);
}
