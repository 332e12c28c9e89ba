// SPDX-License-Identifier: MIT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/study/sim_command.h"
#include "core/parse.h"

#define MOST_RUNS 10000000u

enum {
    IDS = OPTIONS_FIRST,
    ATTRIBUTES,
    LABELS,
    START,
    SEED,
    DELAY,
    LOSS,
    DUPLICATE,
    REORDER,
    UNORDERED,
    SERIAL,
    CRASH,
    RECOVER,
    PARTITION,
    ALTERNATE,
    DETECT,
    SUSPECT,
    BLIND,
    GRAPH,
    SET,
    UNTIL,
    RUNS,
    JSON,
    TRACE,
    SVG,
    SHIVIZ,
    DIAGRAM,
    TRANSCRIPT,
    TIMING,
    REQUEST,
    ENTRIES,
    HOLD,
    THINK,
    NAMES,
    VIEWS,
    LAG,
    APP,
    REPLAY,
    ELECTION
};

static const struct option options[] = {
    {"nodes", required_argument, NULL, 'n'},
    {"ids", required_argument, NULL, IDS},
    {"attr", required_argument, NULL, ATTRIBUTES},
    {"labels", required_argument, NULL, LABELS},
    {"start", required_argument, NULL, START},
    {"seed", required_argument, NULL, SEED},
    {"delay", required_argument, NULL, DELAY},
    {"loss", required_argument, NULL, LOSS},
    {"duplicate", required_argument, NULL, DUPLICATE},
    {"reorder", no_argument, NULL, REORDER},
    {"unordered", no_argument, NULL, UNORDERED},
    {"serial", no_argument, NULL, SERIAL},
    {"crash", required_argument, NULL, CRASH},
    {"recover", required_argument, NULL, RECOVER},
    {"partition", required_argument, NULL, PARTITION},
    {"alternate", required_argument, NULL, ALTERNATE},
    {"detect", required_argument, NULL, DETECT},
    {"suspect", required_argument, NULL, SUSPECT},
    {"blind", required_argument, NULL, BLIND},
    {"graph", required_argument, NULL, GRAPH},
    {"set", required_argument, NULL, SET},
    {"until", required_argument, NULL, UNTIL},
    {"runs", required_argument, NULL, RUNS},
    {"json", no_argument, NULL, JSON},
    {"trace", required_argument, NULL, TRACE},
    {"svg", required_argument, NULL, SVG},
    {"shiviz", required_argument, NULL, SHIVIZ},
    {"diagram", no_argument, NULL, DIAGRAM},
    {"transcript", no_argument, NULL, TRANSCRIPT},
    {"timing", no_argument, NULL, TIMING},
    {"request", required_argument, NULL, REQUEST},
    {"entries", required_argument, NULL, ENTRIES},
    {"hold", required_argument, NULL, HOLD},
    {"think", required_argument, NULL, THINK},
    {"names", required_argument, NULL, NAMES},
    {"views", required_argument, NULL, VIEWS},
    {"lag", required_argument, NULL, LAG},
    {"app", required_argument, NULL, APP},
    {"replay", required_argument, NULL, REPLAY},
    {"election", required_argument, NULL, ELECTION},
    {"help", no_argument, NULL, 'h'},
    {0},
};

static int read_number(const char *option, const char *text, uint64_t least, uint64_t most, uint64_t *number,
                       struct cv_complaint *complaint)
{
    if (cv_parse_number(cv_text(text), most, number) && *number >= least)
        return 0;
    return cv_complain(complaint, "%s %s: expected a number of %llu..%llu", option, cv_brief(text).text,
                       (unsigned long long)least, (unsigned long long)most);
}

/* Where the values of the options go that are kept as text. */
static const char **place_of(struct sim_request *request, int option)
{
    struct cv_plan *plan = &request->plan;
    switch (option) {
    case 'n':
        return &plan->nodes;
    case IDS:
        return &plan->ids;
    case ATTRIBUTES:
        return &plan->attributes;
    case LABELS:
        return &plan->labels;
    case START:
        return &plan->start;
    case DELAY:
        return &plan->delay;
    case LOSS:
        return &plan->loss;
    case DUPLICATE:
        return &plan->duplicate;
    case DETECT:
        return &plan->detect;
    case GRAPH:
        return &plan->graph;
    case UNTIL:
        return &plan->until;
    case ENTRIES:
        return &plan->entries;
    case HOLD:
        return &plan->hold;
    case THINK:
        return &plan->think;
    case NAMES:
        return &plan->names;
    case VIEWS:
        return &plan->views;
    case APP:
        return &request->app;
    case ELECTION:
        return &request->election;
    case TRACE:
        return &request->trace;
    case SVG:
        return &request->svg;
    case SHIVIZ:
        return &request->shiviz;
    case REPLAY:
        return &request->replay;
    default:
        return NULL;
    }
}

static struct cv_words *list_of(struct cv_plan *plan, int option)
{
    switch (option) {
    case CRASH:
        return &plan->crash;
    case RECOVER:
        return &plan->recover;
    case PARTITION:
        return &plan->partition;
    case ALTERNATE:
        return &plan->alternate;
    case SUSPECT:
        return &plan->suspect;
    case REQUEST:
        return &plan->request;
    case BLIND:
        return &plan->blind;
    case LAG:
        return &plan->lag;
    case SET:
        return &plan->set;
    default:
        return NULL;
    }
}

static bool is_list(int option)
{
    struct cv_plan plan;
    return list_of(&plan, option) != NULL;
}

static bool *switch_of(struct sim_request *request, int option)
{
    switch (option) {
    case REORDER:
        return &request->plan.reorder;
    case UNORDERED:
        return &request->plan.unordered;
    case SERIAL:
        return &request->plan.serial;
    case JSON:
        return &request->json;
    case DIAGRAM:
        return &request->diagram;
    case TRANSCRIPT:
        return &request->transcript;
    case TIMING:
        return &request->timing;
    case 'h':
        return &request->help;
    default:
        return NULL;
    }
}

static int take_option(struct sim_request *request, int option, struct cv_complaint *complaint)
{
    const char **place = place_of(request, option);
    struct cv_words *list = list_of(&request->plan, option);
    bool *flag = switch_of(request, option);
    if (place) {
        *place = optarg;
        return 0;
    }
    if (list)
        return cv_words_add(list, optarg);
    if (flag) {
        *flag = true;
        return 0;
    }
    if (option == SEED)
        return read_number("--seed", optarg, 0, UINT64_MAX - MOST_RUNS, &request->plan.seed, complaint);
    return read_number("--runs", optarg, 1, MOST_RUNS, &request->runs, complaint);
}

/* A replay says itself what is played: besides it only what is to be shown can be asked for. */
static int check_replay(int argc, char **argv, const bool *given, const struct sim_request *request,
                        struct cv_complaint *complaint)
{
    static const int shown[] = {REPLAY, JSON, TRACE, SVG, SHIVIZ, DIAGRAM, TRANSCRIPT, TIMING};
    for (size_t i = 0; options[i].name; i++) {
        bool fits = !given[options[i].val];
        for (size_t j = 0; j < sizeof shown / sizeof *shown; j++)
            fits |= options[i].val == shown[j];
        if (!fits)
            return cv_complain(complaint, "--%s: expected without --replay, which says what is played",
                               options[i].name);
    }
    if (optind < argc)
        return cv_complain(complaint, "%s: expected no algorithm beside --replay %s", cv_brief(argv[optind]).text,
                           cv_brief(request->replay).text);
    return 0;
}

static int read_options(int argc, char **argv, struct sim_request *request, struct cv_complaint *complaint)
{
    struct options reader = {
        .command = "sim", .letters = ":n:h", .table = options, .argc = argc, .argv = argv, .repeats = is_list};
    int option;
    options_begin(&reader);
    while ((option = options_next(&reader, complaint)) >= 0) {
        const int error = take_option(request, option, complaint);
        if (error)
            return error;
    }
    if (option == OPTIONS_WRONG)
        return CV_EINPUT;
    if (request->help)
        return 0;
    if (request->replay)
        return check_replay(argc, argv, reader.given, request, complaint);
    if (optind >= argc)
        return cv_complain(complaint, "sim: expected an algorithm; conclave list shows them all");
    if (optind + 1 < argc)
        return cv_complain(complaint, "%s: expected one algorithm at a time", cv_brief(argv[optind + 1]).text);
    return command_algorithm(argv[optind], &request->plan.algorithm, complaint);
}

/* "0:0-1-2,1:1-3" says the same as a file of two lines. */
static char *spell_out_sets(const char *sets)
{
    char *text = malloc(2 * strlen(sets) + 1), *out = text;
    for (; text && *sets; sets++) {
        *out++ = *sets == ',' ? '\n' : *sets == '-' ? ' ' : *sets;
        if (*sets == ':')
            *out++ = ' ';
    }
    if (text)
        *out = '\0';
    return text;
}

/* Only mutual exclusion has requests, and views in which they go on. */
static int check_mutex(struct sim_request *request, struct cv_complaint *complaint)
{
    const struct cv_plan *plan = &request->plan;
    const struct {
        const char *option, *value;
    } given[] = {{"--request", plan->request.count ? plan->request.word[0] : NULL},
                 {"--entries", plan->entries},
                 {"--hold", plan->hold},
                 {"--think", plan->think},
                 {"--names", plan->names},
                 {"--views", plan->views},
                 {"--election", request->election}};
    for (size_t i = 0; i < sizeof given / sizeof *given && plan->algorithm->problem != CV_MUTEX; i++)
        if (given[i].value)
            return cv_complain(complaint, "%s %s: expected a mutual exclusion algorithm; only they take it",
                               given[i].option, cv_brief(given[i].value).text);
    const int error =
        command_algorithm(request->election ? request->election : "bully", &request->plan.election, complaint);
    if (!error && (request->plan.election->problem != CV_ELECTION || request->plan.election->topology == CV_GRAPH))
        return cv_complain(complaint, "--election %s: expected an election that needs no graph",
                           cv_brief(request->election).text);
    return error;
}

/* A synchronizer hosts an app; an app by itself runs on a synchronous network. */
static int choose_app(struct sim_request *request, struct cv_complaint *complaint)
{
    struct cv_plan *plan = &request->plan;
    const uint32_t problem = plan->algorithm->problem;
    if (request->app && problem != CV_SYNCHRONIZER)
        return cv_complain(complaint, "--app %s: %s is no synchronizer; only they host an app",
                           cv_brief(request->app).text, plan->algorithm->name);
    if (problem == CV_SYNCHRONOUS) {
        plan->app = plan->algorithm;
        plan->alone = true;
        return command_algorithm("lockstep", &plan->algorithm, complaint);
    }
    if (problem != CV_SYNCHRONIZER)
        return 0;
    const int error = command_algorithm(request->app ? request->app : "bellman-ford", &plan->app, complaint);
    const struct cv_complaint said = *complaint;
    if (error == CV_EINPUT)
        return cv_complain(complaint, "--app %.400s", said.text);
    if (!error && plan->app->problem != CV_SYNCHRONOUS)
        return cv_complain(complaint, "--app %s: expected a synchronous algorithm; conclave list shows them",
                           cv_brief(request->app).text);
    return error;
}

/* The voting sets of a file. */
static int read_quorums(struct sim_request *request, struct cv_complaint *complaint)
{
    for (uint32_t i = 0; i < request->plan.set.count && request->plan.algorithm->quorums; i++) {
        const char *word = request->plan.set.word[i];
        if (strncmp(word, "quorums=", 8) != 0 || strcmp(word + 8, "grid") == 0 || strcmp(word + 8, "plane") == 0)
            continue;
        free(request->quorums_text);
        request->quorums_text = strncmp(word + 8, "sets:", 5) == 0
                                    ? spell_out_sets(word + 13)
                                    : command_read_file("--set quorums", word + 8, complaint);
        if (!request->quorums_text)
            return CV_EFILE;
    }
    request->plan.quorums_text = request->quorums_text;
    return 0;
}

/* "1-2-3/4-5" says the same as a file of two lines. */
static char *spell_out_clusters(const char *clusters)
{
    char *text = strdup(clusters);
    for (char *c = text; c && *c; c++)
        *c = *c == '/' ? '\n' : *c == '-' ? ' ' : *c;
    return text;
}

/* The clusters of a file; a number says how to grow them. */
static int read_clusters(struct sim_request *request, struct cv_complaint *complaint)
{
    const char *value = request->plan.algorithm->clusters ? cv_plan_setting(&request->plan, "clusters") : NULL;
    if (!value || value[strspn(value, "0123456789")] == '\0')
        return 0;
    request->clusters_text = strncmp(value, "sets:", 5) == 0 ? spell_out_clusters(value + 5)
                                                             : command_read_file("--set clusters", value, complaint);
    request->plan.clusters_text = request->clusters_text;
    return request->clusters_text ? 0 : CV_EFILE;
}

/* "1-2,1-3:7" says the same as a file of three lines. */
static char *spell_out(const char *edges)
{
    char *text = strdup(edges);
    for (char *c = text; c && *c; c++)
        *c = *c == ',' ? '\n' : *c == '-' || *c == ':' ? ' ' : *c;
    return text;
}

/* A graph that is not one of the shapes is a list of edges or a file. */
static int read_graph(struct sim_request *request, struct cv_complaint *complaint)
{
    static const char *const shapes[] = {"ring", "line", "star", "tree", "complete", NULL};
    const char *graph = request->plan.graph;
    if (!graph || strncmp(graph, "grid:", 5) == 0 || strncmp(graph, "random:", 7) == 0 ||
        strncmp(graph, "geometric:", 10) == 0 || strncmp(graph, "gadget:", 7) == 0)
        return 0;
    for (const char *const *shape = shapes; *shape; shape++)
        if (strcmp(graph, *shape) == 0)
            return 0;
    request->graph_text =
        strncmp(graph, "edges:", 6) == 0 ? spell_out(graph + 6) : command_read_file("--graph", graph, complaint);
    request->plan.graph_text = request->graph_text;
    return request->graph_text ? 0 : CV_EFILE;
}

/* The command that repeats a run: as given, but for the seed and the number of runs, which the reports add. */
static char *repeat_command(int argc, char **argv)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("conclave sim", out);
    for (int i = 1; i < argc; i++) {
        const bool skipped = strcmp(argv[i], "--seed") == 0 || strcmp(argv[i], "--runs") == 0;
        if (skipped || strncmp(argv[i], "--seed=", 7) == 0 || strncmp(argv[i], "--runs=", 7) == 0) {
            i += skipped;
            continue;
        }
        putc(' ', out);
        command_write_word(out, argv[i]);
    }
    fclose(out);
    return text;
}

static int check_outputs(const struct sim_request *request, struct cv_complaint *complaint)
{
    if (request->runs && (request->trace || request->svg || request->shiviz || request->diagram || request->transcript))
        return cv_complain(complaint, "--runs %llu: pictures and traces show one run; expected the one or the other",
                           (unsigned long long)request->runs);
    if (request->json && (request->diagram || request->transcript))
        return cv_complain(complaint,
                           "--json: expected without --diagram and --transcript, they share standard output");
    return 0;
}

int sim_read(int argc, char **argv, struct sim_request *request, struct cv_complaint *complaint)
{
    *request = (struct sim_request){.plan.seed = 1};
    request->command = repeat_command(argc, argv);
    if (!request->command)
        return CV_ENOMEM;
    int error = read_options(argc, argv, request, complaint);
    if (!error && !request->help)
        error = check_outputs(request, complaint);
    if (error || request->help || request->replay)
        return error;
    if (!error)
        error = check_mutex(request, complaint);
    if (!error)
        error = choose_app(request, complaint);
    if (!error)
        error = read_quorums(request, complaint);
    if (!error)
        error = read_clusters(request, complaint);
    return error ? error : read_graph(request, complaint);
}

void sim_free(struct sim_request *request)
{
    cv_plan_free(&request->plan);
    free(request->graph_text);
    free(request->quorums_text);
    free(request->clusters_text);
    free(request->command);
    *request = (struct sim_request){0};
}
