// SPDX-License-Identifier: MIT
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/study/check_command.h"
#include "core/parse.h"

#define MOST_THREADS 64u
#define MOST_BUDGET 255u
#define MOST_ENTRIES 255u
#define LEAST_MEMORY (16ull << 20)

enum {
    IDS = OPTIONS_FIRST,
    ATTRIBUTES,
    START,
    LABELS,
    GRAPH,
    SET,
    ENTRIES,
    UNORDERED,
    INSIDE,
    ASK,
    CRASHES,
    MISSED,
    SUSPICIONS,
    RECOVERIES,
    CUTS,
    CUT,
    TIMEOUTS,
    NO_REDUCTION,
    NO_SYMMETRY,
    THREADS,
    MEMORY,
    DEPTH,
    DEPTH_FIRST,
    FINGERPRINTS,
    PROPERTY,
    JSON,
    TRACE,
    SVG,
    DIAGRAM
};

static const struct option options[] = {
    {"nodes", required_argument, NULL, 'n'},
    {"ids", required_argument, NULL, IDS},
    {"attr", required_argument, NULL, ATTRIBUTES},
    {"start", required_argument, NULL, START},
    {"labels", required_argument, NULL, LABELS},
    {"graph", required_argument, NULL, GRAPH},
    {"set", required_argument, NULL, SET},
    {"entries", required_argument, NULL, ENTRIES},
    {"unordered", no_argument, NULL, UNORDERED},
    {"inside", required_argument, NULL, INSIDE},
    {"ask", required_argument, NULL, ASK},
    {"crashes", required_argument, NULL, CRASHES},
    {"missed", required_argument, NULL, MISSED},
    {"suspicions", required_argument, NULL, SUSPICIONS},
    {"recoveries", required_argument, NULL, RECOVERIES},
    {"cuts", required_argument, NULL, CUTS},
    {"cut", required_argument, NULL, CUT},
    {"timeouts", required_argument, NULL, TIMEOUTS},
    {"no-reduction", no_argument, NULL, NO_REDUCTION},
    {"no-symmetry", no_argument, NULL, NO_SYMMETRY},
    {"threads", required_argument, NULL, THREADS},
    {"memory", required_argument, NULL, MEMORY},
    {"depth", required_argument, NULL, DEPTH},
    {"depth-first", no_argument, NULL, DEPTH_FIRST},
    {"fingerprints", required_argument, NULL, FINGERPRINTS},
    {"property", required_argument, NULL, PROPERTY},
    {"json", no_argument, NULL, JSON},
    {"trace", required_argument, NULL, TRACE},
    {"svg", required_argument, NULL, SVG},
    {"diagram", no_argument, NULL, DIAGRAM},
    {"help", no_argument, NULL, 'h'},
    {0},
};

/* Does the option say what is checked? The others say how, or what is shown; a replay needs only the first. */
static bool is_meaning(int option)
{
    return option == 'n' || (option >= IDS && option <= TIMEOUTS);
}

/* Is it one that `conclave sim` reads as well? */
static bool is_shared(int option)
{
    return option == 'n' || (option >= IDS && option <= UNORDERED) || (option >= JSON && option != TRACE);
}

/* ---- values ---- */

static int read_number(const char *name, uint64_t least, uint64_t most, uint32_t *number,
                       struct cv_complaint *complaint)
{
    uint64_t read;
    if (!cv_parse_number(cv_text(optarg), most, &read) || read < least)
        return cv_complain(complaint, "--%s %s: expected a number of %llu..%llu", name, cv_brief(optarg).text,
                           (unsigned long long)least, (unsigned long long)most);
    *number = (uint32_t)read;
    return 0;
}

/* 500M, 16G: as many bytes. */
static int read_memory(uint64_t *bytes, struct cv_complaint *complaint)
{
    static const char units[] = "KMGT";
    struct cv_text text = cv_text(optarg);
    const char *unit = text.length ? strchr(units, text.start[text.length - 1]) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    text.length -= unit != NULL;
    if (!cv_parse_number(text, UINT64_MAX >> shift, bytes) || *bytes << shift < LEAST_MEMORY)
        return cv_complain(complaint, "--memory %s: expected a size of at least 16M, as in 500M or 16G",
                           cv_brief(optarg).text);
    *bytes <<= shift;
    return 0;
}

static int read_timeouts(bool *any_time, struct cv_complaint *complaint)
{
    assert(optarg);
    *any_time = strcmp(optarg, "any") == 0;
    if (*any_time || strcmp(optarg, "accurate") == 0)
        return 0;
    return cv_complain(complaint, "--timeouts %s: expected accurate or any", cv_brief(optarg).text);
}

static int read_fingerprints(bool *wide, struct cv_complaint *complaint)
{
    assert(optarg);
    *wide = strcmp(optarg, "128") == 0;
    if (*wide || strcmp(optarg, "64") == 0)
        return 0;
    return cv_complain(complaint, "--fingerprints %s: expected 64 or 128", cv_brief(optarg).text);
}

static int read_property(const char **property, struct cv_complaint *complaint)
{
    static const char *const names[] = {"exclusion",  "fences-rise",  "no-deadlock",     "every-request",
                                        "agreement",  "best-wins",    "everyone-learns", "comes-to-rest",
                                        "any-caller", "one-election", "invariant"};
    assert(optarg);
    *property = optarg;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], optarg) == 0)
            return 0;
    return cv_complain(complaint, "--property %s: expected one of those that conclave check lists",
                       cv_brief(optarg).text);
}

static int take_option(struct check_request *request, int option, struct cv_complaint *complaint)
{
    struct cv_check_options *out = &request->options;
    switch (option) {
    case INSIDE:
        request->has_inside = true;
        return read_number("inside", 0, UINT32_MAX, &request->inside, complaint);
    case ASK:
        request->ask = optarg;
        return 0;
    case CRASHES:
        return read_number("crashes", 0, CV_CHECK_MOST_NODES - 1, &out->crashes, complaint);
    case MISSED:
        return read_number("missed", 0, CV_CHECK_MOST_NODES - 1, &out->missed, complaint);
    case SUSPICIONS:
        return read_number("suspicions", 0, MOST_BUDGET, &out->suspicions, complaint);
    case RECOVERIES:
        return read_number("recoveries", 0, CV_CHECK_MOST_NODES - 1, &out->recoveries, complaint);
    case CUTS:
        return read_number("cuts", 0, MOST_BUDGET, &out->cuts, complaint);
    case CUT:
        return cv_words_add(&request->cut, optarg) ? CV_ENOMEM : 0;
    case TIMEOUTS:
        return read_timeouts(&out->any_time, complaint);
    case NO_REDUCTION:
        out->reduction = out->symmetry = out->drop_clocks = false;
        out->orders = CV_NO_ORDERS;
        return 0;
    case NO_SYMMETRY:
        out->symmetry = false;
        return 0;
    case THREADS:
        return read_number("threads", 1, MOST_THREADS, &out->threads, complaint);
    case MEMORY:
        return read_memory(&out->memory, complaint);
    case DEPTH:
        return read_number("depth", 1, UINT32_MAX, &out->most_depth, complaint);
    case DEPTH_FIRST:
        out->deep = true;
        return 0;
    case FINGERPRINTS:
        return read_fingerprints(&out->wide, complaint);
    case PROPERTY:
        return read_property(&out->property, complaint);
    case TRACE:
        request->replay = optarg;
        return 0;
    default:
        request->help |= option == 'h';
        return 0;
    }
}

/* ---- the command line ---- */

/* The words of options that `conclave sim` reads, collected for it. */
struct passed {
    char **words;
    int count;
};

static void pass(struct passed *passed, const char *word)
{
    passed->words[passed->count++] = (char *)(uintptr_t)word;
}

/* The option at hand, as it was written. */
static void pass_option(struct passed *passed, const struct options *reader)
{
    pass(passed, options_written(reader));
    if (optarg && optarg == reader->argv[optind - 1])
        pass(passed, optarg);
}

static bool is_list(int option)
{
    return option == SET || option == CUT;
}

static int read_options(int argc, char **argv, struct check_request *request, struct passed *passed,
                        struct cv_complaint *complaint)
{
    struct options reader = {
        .command = "check", .letters = ":n:h", .table = options, .argc = argc, .argv = argv, .repeats = is_list};
    int option;
    options_begin(&reader);
    while ((option = options_next(&reader, complaint)) >= 0) {
        const int error = take_option(request, option, complaint);
        if (error)
            return error;
        struct passed kept = {request->words, request->word_count};
        if (is_shared(option))
            pass_option(passed, &reader);
        if (is_meaning(option))
            pass_option(&kept, &reader);
        request->word_count = kept.count;
    }
    if (option == OPTIONS_WRONG)
        return CV_EINPUT;
    if (request->help)
        return 0;
    if (optind >= argc)
        return cv_complain(complaint, "check: expected an algorithm; conclave list shows them all");
    if (optind + 1 < argc)
        return cv_complain(complaint, "%s: expected one algorithm at a time", cv_brief(argv[optind + 1]).text);
    if (!reader.given['n'] && !reader.given[IDS]) {
        pass(passed, "--nodes");
        pass(passed, "3");
    }
    request->words[request->word_count++] = argv[optind];
    pass(passed, argv[optind]);
    return 0;
}

/* Three quarters of what is free now. */
static uint64_t usual_memory(void)
{
    uint64_t kilobytes = 0;
    char line[128];
    FILE *file = fopen("/proc/meminfo", "re");
    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "MemAvailable:", 13) == 0)
            kilobytes = strtoull(line + 13, NULL, 10);
    if (file)
        fclose(file);
    if (!kilobytes)
        kilobytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2048;
    const uint64_t bytes = kilobytes * 768;
    return bytes > LEAST_MEMORY ? bytes : LEAST_MEMORY;
}

static char *repeat_command(int argc, char **argv)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fputs("conclave check", out);
    for (int i = 1; i < argc; i++) {
        putc(' ', out);
        command_write_word(out, argv[i]);
    }
    fclose(out);
    return text;
}

int check_read(int argc, char **argv, struct check_request *request, struct cv_complaint *complaint)
{
    *request = (struct check_request){.options = {.threads = 1,
                                                  .reduction = true,
                                                  .symmetry = true,
                                                  .drop_clocks = true,
                                                  .orders = CV_STRICT_ORDERS,
                                                  .callers = UINT32_MAX,
                                                  .inside = CV_NOBODY}};
    request->options.memory = usual_memory();
    request->command = repeat_command(argc, argv);
    request->words = calloc(2 * (size_t)argc + 8, sizeof *request->words);
    struct passed passed = {calloc(2 * (size_t)argc + 8, sizeof *passed.words), 0};
    int error = request->command && request->words && passed.words ? 0 : CV_ENOMEM;
    if (!error) {
        pass(&passed, "sim");
        error = read_options(argc, argv, request, &passed, complaint);
    }
    if (!error && !request->help)
        error = sim_read(passed.count, passed.words, &request->group, complaint);
    free(passed.words);
    return error;
}

void check_free(struct check_request *request)
{
    sim_free(&request->group);
    free(request->command);
    free(request->words);
    free(request->cut.word);
    *request = (struct check_request){0};
}

/* --ask LIST: who may want to enter. */
static int read_askers(struct check_request *request, const struct cv_scenario *scenario,
                       struct cv_complaint *complaint)
{
    struct cv_text rest = cv_text(request->ask), one;
    request->options.callers = 0;
    while (cv_text_take(&rest, ',', &one)) {
        uint64_t id = 0;
        cv_node node = 0;
        const bool read = cv_parse_number(one, UINT32_MAX, &id);
        while (node < scenario->group.nodes && scenario->group.ids[node] != id)
            node++;
        if (!read || node == scenario->group.nodes || scenario->algorithm->problem != CV_MUTEX)
            return cv_complain(complaint, "--ask %s: expected ids of members, and mutual exclusion",
                               cv_brief(request->ask).text);
        request->options.callers |= 1u << node;
    }
    return 0;
}

int check_fits(const struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    if (algorithm->problem != CV_ELECTION && algorithm->problem != CV_MUTEX)
        return cv_complain(complaint, "check %s: expected an election or mutual exclusion", algorithm->name);
    if (scenario->group.nodes > CV_CHECK_MOST_NODES)
        return cv_complain(complaint, "--nodes %u: expected at most %u; every order of events is tried",
                           scenario->group.nodes, CV_CHECK_MOST_NODES);
    if (scenario->entries > MOST_ENTRIES)
        return cv_complain(complaint, "--entries %llu: expected at most %u", (unsigned long long)scenario->entries,
                           MOST_ENTRIES);
    if (request->options.crashes >= scenario->group.nodes + request->options.recoveries)
        return cv_complain(complaint, "--crashes %u: expected fewer than there are nodes (%u)%s: one is always left",
                           request->options.crashes, scenario->group.nodes,
                           request->options.recoveries ? " and recoveries" : "");
    if (request->options.recoveries > request->options.crashes)
        return cv_complain(complaint, "--recoveries %u: expected no more than --crashes", request->options.recoveries);
    if (request->options.missed > request->options.crashes)
        return cv_complain(complaint, "--missed %u: expected no more than --crashes", request->options.missed);
    return 0;
}

static cv_node node_of(const struct cv_scenario *scenario, struct cv_text id)
{
    uint64_t number = 0;
    if (!cv_parse_number(id, UINT32_MAX, &number))
        return CV_NOBODY;
    for (cv_node node = 0; node < scenario->group.nodes; node++)
        if (scenario->group.ids[node] == number)
            return node;
    return CV_NOBODY;
}

/* --cut P:Q: the links that may be cut, if not all. One is cut once if nothing else is said. */
static int read_cuts(struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    request->options.may_be_cut = (struct cv_links){0};
    for (uint32_t i = 0; i < request->cut.count; i++) {
        struct cv_text rest = cv_text(request->cut.word[i]), one;
        const cv_node node = cv_text_take(&rest, ':', &one) ? node_of(scenario, one) : CV_NOBODY;
        const cv_node other = cv_text_take(&rest, ':', &one) ? node_of(scenario, one) : CV_NOBODY;
        if (node == CV_NOBODY || other == CV_NOBODY || node == other || cv_text_take(&rest, ':', &one))
            return cv_complain(complaint, "--cut %s: expected the ids of two members, as in 1:2",
                               cv_brief(request->cut.word[i]).text);
        if (!cv_links_have(&request->options.may_be_cut, node, other))
            cv_links_flip(&request->options.may_be_cut, node, other);
    }
    if (request->cut.count && !request->options.cuts)
        request->options.cuts = 1;
    return 0;
}

int check_settle(struct check_request *request, const struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    request->options.inside = CV_NOBODY;
    if (read_cuts(request, scenario, complaint))
        return CV_EINPUT;
    for (cv_node node = 0; request->has_inside && node < scenario->group.nodes; node++)
        if (algorithm->problem == CV_MUTEX && scenario->group.ids[node] == request->inside)
            request->options.inside = node;
    if (request->has_inside && request->options.inside == CV_NOBODY)
        return cv_complain(complaint, "--inside %u: expected the id of a member, and mutual exclusion",
                           request->inside);
    if (request->ask)
        return read_askers(request, scenario, complaint);
    if (algorithm->problem == CV_ELECTION && request->group.plan.start && !scenario->everyone_calls) {
        request->options.callers = 0;
        for (uint32_t i = 0; i < scenario->caller_count; i++)
            request->options.callers |= 1u << scenario->callers[i];
    }
    return 0;
}
