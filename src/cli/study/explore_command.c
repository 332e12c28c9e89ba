// SPDX-License-Identifier: MIT
/* `conclave explore`: the page on which a run is taken step by step, served on loopback or written to a file. */
#include <fcntl.h>
#include <inttypes.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithm/registry.h"
#include "cli/command.h"
#include "cli/study/explore_files.h"
#include "cli/study/explore_page.h"
#include "cli/study/explore_serve.h"
#include "cli/study/plugin.h"
#include "cli/study/step_limit.h"
#include "core/parse.h"
#include "show/output.h"

struct request {
    const char *write;
    const char *replay;
    uint32_t port;
    bool no_open;
    struct plugin_list own;
};

static int take_own(void *request, const char *path, struct cv_complaint *complaint)
{
    return plugin_add(&((struct request *)request)->own, path, complaint);
}

#define FIELD(member) offsetof(struct request, member)

static const struct option_row rows[] = {
    {"write", "FILE.html", OPTION_TEXT, FIELD(write), .help = "write the page to a file that needs no server, and end",
     .writes = true},
    {"replay", "FILE...", OPTION_TEXT, FIELD(replay),
     .help =
         "instead of an algorithm: open a counterexample of conclave check --trace, a trace of conclave sim --trace, a "
         "story that the page exported, or the recordings of a live cluster, one file for each node"},
    {"with", "FILE", OPTION_TAKE, 0,
     .help = "with --replay: an algorithm of your own that live nodes recorded, in C or a shared object; repeatable",
     .take = take_own, .repeats = true},
    {"port", "P", OPTION_NUMBER32, FIELD(port), .help = "serve the page at this port (the first free one from 7780 on)",
     .least = 1, .most = 65535},
    {"no-open", NULL, OPTION_SWITCH, FIELD(no_open), .help = "open no browser; the address is printed in any case"},
    STEP_LIMIT_ROW,
    {0},
};

const struct options explore_options = {
    .name = "explore",
    .usage = "[ALGORITHM|./FILE.c|./FILE.so] [SIM-OPTION...] [OPTION...]",
    .about = "Opens a page in the browser on which you take a run step by step: choose what happens, go back, branch,\n"
             "look for what breaks it, share the story. Takes the options of conclave sim that say what is run.",
    .rows = rows,
    .no_words = true,
    .more = "Without an algorithm the page begins with a gallery of the texts' scenarios.\n"
            "\n"
            "  conclave explore bully --ids 0..7 --crash 7@0 --start 4\n"
            "  conclave explore --write conclave.html",
};

/* ---- the options ---- */

/* The row of one of this command's own options; NULL for a word of the scenario. */
static const struct option_row *own_row(const char *word)
{
    const size_t length = strcspn(word, "=");
    for (const struct option_row *row = rows; row->help; row++)
        if (strncmp(word, "--", 2) == 0 && strlen(row->name) == length - 2 &&
            memcmp(word + 2, row->name, length - 2) == 0)
            return row;
    return NULL;
}

/* Splits the words: own options to the front list, everything else to the scenario's. Each list has room for all. */
static void split_words(int argc, char **argv, char **own, int *own_count, char **scenario, int *scenario_count)
{
    *own_count = *scenario_count = 0;
    own[(*own_count)++] = argv[0];
    scenario[(*scenario_count)++] = argv[0];
    for (int i = 1; i < argc; i++) {
        const struct option_row *row = own_row(argv[i]);
        const bool help = strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        if (!row && !help) {
            scenario[(*scenario_count)++] = argv[i];
            continue;
        }
        own[(*own_count)++] = argv[i];
        if (row && row->argument && !strchr(argv[i], '=') && i + 1 < argc)
            own[(*own_count)++] = argv[++i];
    }
    own[*own_count] = scenario[*scenario_count] = NULL;
}

/* Options of sim that say what is shown have no meaning here. */
static int refuse_outputs(const struct sim_request *sim, struct cv_complaint *complaint)
{
    const struct {
        const char *name;
        bool given;
    } outputs[] = {{"json", sim->json},           {"runs", sim->runs != 0},       {"diagram", sim->diagram},
                   {"trace", sim->trace != NULL}, {"svg", sim->svg != NULL},      {"transcript", sim->transcript},
                   {"timing", sim->timing},       {"shiviz", sim->shiviz != NULL}};
    for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++)
        if (outputs[i].given)
            return cv_complain(complaint, "--%s: expected options of conclave sim that say what is run",
                               outputs[i].name);
    return 0;
}

/* Reads the scenario, so that mistakes are told here and not in the page. The words keep their order. */
static int read_scenario(int count, char **words, struct sim_request *sim, struct cv_complaint *complaint)
{
    char **sorted = calloc((size_t)count + 1, sizeof *sorted); /* the reader puts options first */
    if (!sorted)
        return CV_ENOMEM;
    memcpy(sorted, words, (size_t)count * sizeof *sorted);
    int error = sim_read(count, sorted, sim, complaint);
    if (!error)
        error = refuse_outputs(sim, complaint);
    if (!error)
        error = explore_words_try(count - 1, words + 1, complaint);
    free(sorted);
    return error;
}

/* ---- the browser ---- */

static void open_browser(const char *address)
{
    const char *chosen = getenv("BROWSER");
    char *words[] = {(char *)(uintptr_t)(chosen && *chosen ? chosen : "xdg-open"), (char *)(uintptr_t)address, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    if (posix_spawn_file_actions_init(&actions))
        return;
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
}

static void ready(void *context, uint32_t port)
{
    const struct request *request = context;
    char address[40];
    snprintf(address, sizeof address, "http://127.0.0.1:%" PRIu32 "/", port);
    printf("Explore at %s until you press Ctrl-C.\n", address);
    fflush(stdout);
    if (!request->no_open && (getenv("BROWSER") || getenv("DISPLAY") || getenv("WAYLAND_DISPLAY")))
        open_browser(address);
}

/* ---- the command ---- */

static int write_page(const char *path, const char *page, size_t length, struct cv_complaint *complaint)
{
    struct cv_output output = {0};
    int error = cv_output_open(&output, path, complaint);
    if (!error) {
        fwrite(page, 1, length, output.file);
        error = cv_output_commit(&output, complaint);
    }
    cv_output_abort(&output);
    return error;
}

static int explore(const struct request *request, const struct explore_start *start, struct cv_complaint *complaint)
{
    char *page = NULL;
    size_t length = 0;
    int error = explore_page_make(start, &page, &length, complaint);
    if (!error && request->write) {
        error = write_page(request->write, page, length, complaint);
    } else if (!error) {
        const struct explore_site site = {.page = page,
                                          .length = length,
                                          .engine = start->served,
                                          .port = request->port,
                                          .ready = ready,
                                          .context = (void *)(uintptr_t)request};
        error = explore_serve(&site, complaint);
    }
    free(page);
    return error;
}

/* Does the user bring this algorithm? The page's own engine has only those that are built in. */
static bool is_own(const struct cv_algorithm *algorithm)
{
    return algorithm && cv_algorithm_find(algorithm->name) != algorithm;
}

static bool needs_program(const struct cv_plan *plan)
{
    return is_own(plan->algorithm) || is_own(plan->app) || is_own(plan->election);
}

static int start_page(const struct request *request, struct explore_start *start, struct cv_complaint *complaint)
{
    start->served = request->own.count || (start->plan && needs_program(start->plan));
    if (start->served && request->write)
        return cv_complain(complaint,
                           "--write %s: expected a built-in algorithm; one of your own needs the program "
                           "that loads it",
                           cv_brief(request->write).text);
    return explore(request, start, complaint);
}

/* The other words are further recordings: a shell makes many words of one pattern. */
static int explore_replay(const struct request *request, int count, char **words, struct cv_complaint *complaint)
{
    struct explore_files files;
    words[0] = (char *)(uintptr_t)request->replay;
    int error = explore_files_read(&files, count, words, complaint);
    if (!error) {
        struct explore_start start = {.count = files.count,
                                      .replay = files.recorded ? NULL : files.texts[0],
                                      .recordings = files.recorded ? files.texts : NULL,
                                      .plan = files.recorded ? NULL : &files.story->words.plan};
        error = start_page(request, &start, complaint);
    }
    explore_files_free(&files);
    return error;
}

static int explore_words(const struct request *request, int count, char **words, struct cv_complaint *complaint)
{
    struct sim_request sim = {0};
    struct explore_start start = {0};
    int error = 0;
    if (request->own.count && !request->replay)
        return cv_complain(complaint, "--with %s: expected --replay with recordings of live nodes",
                           cv_brief(request->own.paths[0]).text);
    plugin_know(&request->own);
    if (request->replay)
        return explore_replay(request, count, words, complaint);
    if (count > 1) {
        error = read_scenario(count, words, &sim, complaint);
        start = (struct explore_start){.plan = &sim.plan, .count = count - 1, .words = words + 1};
    }
    if (!error)
        error = start_page(request, &start, complaint);
    sim_free(&sim);
    return error;
}

int command_explore(int argc, char **argv)
{
    struct request request = {0};
    struct cv_complaint complaint = {{0}};
    char **own = calloc((size_t)argc + 1, sizeof *own), **words = calloc((size_t)argc + 1, sizeof *words);
    int own_count, count, code;
    if (!own || !words)
        command_out_of_memory();
    split_words(argc, argv, own, &own_count, words, &count);
    if (options_take(&explore_options, own_count, own, &request, &code)) {
        const int error = explore_words(&request, count, words, &complaint);
        code = error ? command_fail(error, &complaint) : EXIT_HELD;
    }
    free(own);
    free(words);
    return code;
}
