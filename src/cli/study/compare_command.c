// SPDX-License-Identifier: MIT
/* `conclave compare`: measures the texts' comparison tables. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/compare_election.h"
#include "cli/study/compare_mutex.h"
#include "cli/study/compare_play.h"
#include "cli/study/compare_plot.h"
#include "cli/study/compare_synchronizers.h"
#include "cli/study/job.h"
#include "cli/study/sweep.h"
#include "core/parse.h"
#include "show/comparison_data.h"

#define MOST_SIZES 12u
#define LEAST_NODES 3u
#define MOST_NODES 1000u

/* The problems that can be compared, and the default sizes. */
static const struct problem {
    const char *name;
    int (*plan)(struct cv_comparison *comparison, struct compare_tasks *tasks, const struct plugin_list *own,
                struct cv_complaint *complaint);
    uint32_t sizes[6];
} problems[] = {
    {"mutex", compare_mutex, {4, 9, 16, 25, 49}},
    {"election", compare_election, {4, 9, 16, 25, 49}},
    {"synchronizers", compare_synchronizers, {16, 32, 64, 128, 256}},
};

struct order {
    const struct problem *problem;
    uint32_t sizes[MOST_SIZES + 1]; /* ended by 0 */
    uint64_t seed;
    const char *plot;
    uint32_t threads;
    bool json, csv, help;
    struct plugin_list own;
};

static int take_sizes(void *request, const char *list, struct cv_complaint *complaint)
{
    struct order *order = request;
    struct cv_text rest = cv_text(list), piece, low, high;
    uint64_t first, last, before = 0;
    uint32_t count = 0;
    while (cv_text_take(&rest, ',', &piece)) {
        if (!cv_text_range(piece, &low, &high))
            low = high = piece;
        if (!cv_parse_number(low, MOST_NODES, &first) || !cv_parse_number(high, MOST_NODES, &last) ||
            first < LEAST_NODES || last < first || first <= before)
            return cv_complain(complaint, "--nodes %s: expected rising numbers of %u..%u, as in 4,9,16 or 3..8",
                               cv_brief(list).text, LEAST_NODES, MOST_NODES);
        for (uint64_t size = first; size <= last; size++) {
            if (count == MOST_SIZES)
                return cv_complain(complaint, "--nodes %s: expected at most %u sizes", cv_brief(list).text, MOST_SIZES);
            order->sizes[count++] = (uint32_t)size;
        }
        before = last;
    }
    if (!count)
        return cv_complain(complaint, "--nodes %s: expected at least one size", list);
    return 0;
}

static int take_plot(void *request, const char *name, struct cv_complaint *complaint)
{
    ((struct order *)request)->plot = name;
    return compare_plot_check(name, complaint);
}

static int take_own(void *request, const char *path, struct cv_complaint *complaint)
{
    return plugin_add(&((struct order *)request)->own, path, complaint);
}

#define FIELD(member) offsetof(struct order, member)

static const struct option_row rows[] = {
    {"nodes", "LIST", OPTION_TAKE, 0,
     .help = "sizes of the group, rising, up to 12 of 3..1000: 4,9,16 or 3..8 (4,9,16,25,49; synchronizers "
             "16,32,64,128,256)",
     .take = take_sizes},
    {"seed", "S", OPTION_NUMBER, FIELD(seed), .help = "the seed of all random choices (1)",
     .most = UINT64_MAX - 10000000u},
    SWEEP_THREADS_ROW(FIELD(threads),
                      "so many threads, in each rank of mpirun (1); that changes no byte of the output"),
    {"json", NULL, OPTION_SWITCH, FIELD(json), .help = "print the result as JSON"},
    {"csv", NULL, OPTION_SWITCH, FIELD(csv), .help = "print the measurements as CSV"},
    {"plot", "FILE", OPTION_TAKE, 0,
     .help = "plot messages against n, for synchronizers against time, as FILE.svg or FILE.png; PNG needs "
             "rsvg-convert",
     .take = take_plot},
    {"with", "FILE", OPTION_TAKE, 0,
     .help =
         "compare an algorithm of your own, too, in C or a shared object, with the formulas of its table; repeatable",
     .take = take_own, .repeats = true},
    {0},
};

const struct options compare_options = {
    .name = "compare",
    .usage = "mutex|election|synchronizers [OPTION...]",
    .about =
        "Measures every algorithm in the simulator beside formulas: of the texts, of papers, or derived here. The "
        "same seed and options print the same bytes.\n"
        "\n"
        "  mutex           messages and delay of an entry, synchronization delay; and the problems the texts name\n"
        "  election        messages and time\n"
        "  synchronizers   messages and time of a round; and Bellman and Ford's shortest paths without rounds, on a\n"
        "                  graph on which that takes exponentially many messages",
    .rows = rows,
    .more = "Exit codes: 0 every formula was met, 1 one was not, 2 wrong usage or interrupted.\n"
            "\n"
            "  conclave compare mutex --nodes 4,9,16,25 --plot mutex.svg\n"
            "  conclave compare mutex --with ./mine.so",
};

static int find_problem(struct order *order, const char *name, struct cv_complaint *complaint)
{
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++)
        if (strcmp(problems[i].name, name) == 0)
            order->problem = &problems[i];
    if (!order->problem)
        return cv_complain(complaint, "compare%s%s: expected mutex, election or synchronizers", *name ? " " : "",
                           cv_brief(name).text);
    if (!order->sizes[0])
        memcpy(order->sizes, order->problem->sizes, sizeof order->problem->sizes);
    return 0;
}

static int read_order(int argc, char **argv, struct order *order, struct cv_complaint *complaint)
{
    *order = (struct order){.seed = 1};
    const int next = options_read(&compare_options, argc, argv, order, complaint);
    order->help = next == OPTIONS_HELP;
    if (next <= 0)
        return next;
    const int error = find_problem(order, next < argc ? argv[next] : "", complaint);
    if (!error && next + 1 < argc)
        return cv_complain(complaint, "%s: expected one problem at a time", cv_brief(argv[next + 1]).text);
    if (!error && order->json && order->csv)
        return cv_complain(complaint, "--json: expected without --csv, they share standard output");
    return error;
}

static void report(const struct order *order, const struct cv_comparison *comparison)
{
    if (order->json)
        cv_compare_json(stdout, comparison);
    else if (order->csv)
        cv_compare_csv(stdout, comparison);
    else
        cv_compare_text(stdout, comparison, command_colour(), command_width());
}

static int carry_out(const struct order *order, struct cv_ranks *ranks)
{
    assert(order->problem);
    const bool tells = job_tells(ranks);
    struct compare_tasks tasks = {0};
    struct cv_complaint complaint = {{0}};
    struct cv_comparison comparison = {.problem = order->problem->name, .seed = order->seed, .sizes = order->sizes};
    struct cv_output output = {0};
    int code = EXIT_HELD;
    int error = order->problem->plan(&comparison, &tasks, &order->own, &complaint);
    if (!error && order->plot && tells)
        error = cv_output_open(&output, order->plot, &complaint);
    if (!job_settled(ranks, &compare_options, error, false, &complaint, &code))
        goto out;
    command_catch_signals();
    error = compare_measure(&comparison, &tasks, order->threads, ranks, &complaint);
    if (!tells)
        goto out;
    comparison.interrupted = error == CV_EINTERRUPTED;
    if (comparison.interrupted)
        error = 0;
    if (!error && order->plot)
        error = compare_plot(&output, &comparison, &complaint);
    if (error) {
        code = command_fail(error, &complaint);
    } else {
        report(order, &comparison);
        code = !cv_compare_holds(&comparison) ? EXIT_VIOLATED : comparison.interrupted ? EXIT_UNKNOWN : EXIT_HELD;
    }
out:
    cv_output_abort(&output);
    compare_free(&comparison);
    free(tasks.list);
    return code;
}

int command_compare(int argc, char **argv)
{
    struct cv_complaint complaint = {{0}};
    struct order order;
    int code;
    struct cv_ranks *ranks = job_begin(&code);
    if (!ranks)
        return code;
    const int error = read_order(argc, argv, &order, &complaint);
    if (job_settled(ranks, &compare_options, error, order.help, &complaint, &code))
        code = carry_out(&order, ranks);
    return job_end(ranks, code);
}
