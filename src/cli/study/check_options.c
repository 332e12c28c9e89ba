// SPDX-License-Identifier: MIT
#include "cli/study/check_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/study/resumption.h"
#include "cli/study/step_limit.h"
#include "core/parse.h"
#include "ranks/ranks.h"

#define MOST_THREADS 64u
#define MOST_BUDGET 255u
#define MOST_ENTRIES 255u
#define LEAST_MEMORY (16ull << 20)

#define FIELD(member) offsetof(struct check_request, member)

/* ---- values ---- */

/* Reads a size as in 500M or 16G. */
static int take_memory(void *context, const char *value, struct cv_complaint *complaint)
{
    static const char units[] = "KMGT";
    struct check_request *request = context;
    struct cv_text text = cv_text(value);
    uint64_t bytes;
    const char *unit = text.length ? strchr(units, text.start[text.length - 1]) : NULL;
    const unsigned shift = unit ? 10 * (unsigned)(unit - units + 1) : 0;
    text.length -= unit != NULL;
    if (!cv_parse_number(text, UINT64_MAX >> shift, &bytes) || bytes << shift < LEAST_MEMORY)
        return cv_complain(complaint, "--memory %s: expected a size of at least 16M, as in 500M or 16G",
                           cv_brief(value).text);
    request->options.memory = bytes << shift;
    request->has_memory = true;
    return 0;
}

static int take_timeouts(void *context, const char *value, struct cv_complaint *complaint)
{
    bool *any_time = &((struct check_request *)context)->options.any_time;
    *any_time = strcmp(value, "any") == 0;
    if (*any_time || strcmp(value, "accurate") == 0)
        return 0;
    return cv_complain(complaint, "--timeouts %s: expected accurate or any", cv_brief(value).text);
}

static int take_fingerprints(void *context, const char *value, struct cv_complaint *complaint)
{
    bool *wide = &((struct check_request *)context)->options.wide;
    *wide = strcmp(value, "128") == 0;
    if (*wide || strcmp(value, "64") == 0)
        return 0;
    return cv_complain(complaint, "--fingerprints %s: expected 64 or 128", cv_brief(value).text);
}

static int take_property(void *context, const char *value, struct cv_complaint *complaint)
{
    ((struct check_request *)context)->options.property = value;
    if (cv_property_is_checked(value))
        return 0;
    return cv_complain(complaint, "--property %s: expected one of those that conclave check lists",
                       cv_brief(value).text);
}

static int take_inside(void *context, const char *value, struct cv_complaint *complaint)
{
    struct check_request *request = context;
    uint64_t id;
    if (!cv_parse_number(cv_text(value), UINT32_MAX, &id))
        return cv_complain(complaint, "--inside %s: expected a number of 0..%u", cv_brief(value).text, UINT32_MAX);
    request->has_inside = true;
    request->inside = (cv_id)id;
    return 0;
}

static int take_every(void *context, const char *value, struct cv_complaint *complaint)
{
    struct check_request *request = context;
    request->has_every = true;
    return options_read_time("--every", value, &request->checkpoint.every_ms, complaint);
}

static int take_no_reduction(void *context, const char *value, struct cv_complaint *complaint)
{
    struct cv_check_options *options = &((struct check_request *)context)->options;
    (void)value;
    (void)complaint;
    options->reduction = options->symmetry = options->drop_clocks = false;
    options->orders = CV_NO_ORDERS;
    return 0;
}

static int take_no_symmetry(void *context, const char *value, struct cv_complaint *complaint)
{
    (void)value;
    (void)complaint;
    ((struct check_request *)context)->options.symmetry = false;
    return 0;
}

/* ---- the table ---- */

static const struct option_row rows[] = {
    {.help = "The group"},
    {"nodes", "N", OPTION_TEXT, FIELD(group.plan.nodes), .help = "how many nodes (3)", .letter = 'n'},
    {"ids", "LIST", OPTION_TEXT, FIELD(group.plan.ids),
     .help = "ids in node order (1..N; on rings and graphs every arrangement of these)"},
    {"attr", "LIST", OPTION_TEXT, FIELD(group.plan.attributes),
     .help = "election attributes in node order: the highest wins (the id itself)"},
    {"labels", "LIST", OPTION_TEXT, FIELD(group.plan.labels),
     .help = "the nodes' names in output for people: a..c or red,green,blue (the ids)"},
    {"graph", "GRAPH", OPTION_TEXT, FIELD(group.plan.graph),
     .help = "the graph, as for conclave sim, for algorithms that run on graphs"},
    {"set", "KEY=VALUE", OPTION_WORDS, FIELD(group.plan.set), .help = "a parameter of the algorithm; repeatable"},
    {"app", "NAME", OPTION_TEXT, FIELD(group.inputs.app),
     .help = "synchronizers: the synchronous algorithm that they host (bellman-ford); --set takes its parameters, too, "
             "and rounds=R"},
    {.help = "What happens, in every order"},
    {"start", "LIST|all", OPTION_TEXT, FIELD(group.plan.start),
     .help = "elections: the ids that may call, or not (all)"},
    {"entries", "K", OPTION_TEXT, FIELD(group.plan.entries),
     .help = "mutual exclusion: each node enters up to K times (1)"},
    {"ask", "LIST", OPTION_TEXT, FIELD(ask),
     .help = "mutual exclusion: the ids that may enter; the others only answer (all)"},
    {"inside", "ID", OPTION_TAKE, 0, .help = "mutual exclusion: begin a view in which node ID is inside already",
     .take = take_inside},
    {"crashes", "K", OPTION_NUMBER32, FIELD(options.crashes),
     .help = "up to K nodes die, at any point, even in the middle of a multicast (0)", .most = CV_CHECK_MOST_NODES - 1},
    {"missed", "K", OPTION_NUMBER32, FIELD(options.missed),
     .help = "the failure detector may miss up to K of the crashes (0)", .most = CV_CHECK_MOST_NODES - 1},
    {"suspicions", "K", OPTION_NUMBER32, FIELD(options.suspicions),
     .help = "up to K times the failure detector suspects a live node (0)", .most = MOST_BUDGET},
    {"recoveries", "K", OPTION_NUMBER32, FIELD(options.recoveries),
     .help = "up to K times a dead node comes back, with a fresh state (0)", .most = CV_CHECK_MOST_NODES - 1},
    {"cuts", "K", OPTION_NUMBER32, FIELD(options.cuts), .help = "up to K times a link is cut, and perhaps healed (0)",
     .most = MOST_BUDGET},
    {"cut", "P:Q", OPTION_WORDS, FIELD(cut), .help = "cut only this link, and others given this way; repeatable"},
    {"timeouts", "accurate|any", OPTION_TAKE, 0,
     .help = "timers fire when nothing is under way, in the order they are due; or at any time (accurate)",
     .take = take_timeouts},
    {"delay", "D", OPTION_NUMBER32, FIELD(options.delay),
     .help = "messages take at most D ticks, and timers are on time; instead of --timeouts", .least = 1, .most = 1000},
    {"unordered", NULL, OPTION_SWITCH, FIELD(group.plan.unordered),
     .help = "messages between two nodes overtake each other"},
    {.help = "The search"},
    {"no-reduction", NULL, OPTION_TAKE, 0, .help = "try equivalent orders of events, too", .take = take_no_reduction,
     .how = true},
    {"no-symmetry", NULL, OPTION_TAKE, 0, .help = "try states that differ only in the names of nodes, too",
     .take = take_no_symmetry, .how = true},
    {"depth", "D", OPTION_NUMBER32, FIELD(options.most_depth), .help = "search up to D events deep", .least = 1,
     .most = UINT32_MAX, .how = true},
    {"depth-first", NULL, OPTION_SWITCH, FIELD(options.deep),
     .help = "search depth first: finds deep violations sooner", .how = true},
    STEP_LIMIT_ROW,
    {"threads", "T", OPTION_NUMBER32, FIELD(options.threads), .help = "the number of threads (1)", .least = 1,
     .most = MOST_THREADS, .how = true},
    {"memory", "SIZE", OPTION_TAKE, 0,
     .help = "use no more memory, as in 500M or 16G (three quarters of the free memory)", .take = take_memory,
     .how = true},
    {"disk", "DIR", OPTION_TEXT, FIELD(options.disk),
     .help = "keep the states that wait to be expanded in files there, and more states in memory", .how = true},
    {"checkpoint", "FILE", OPTION_TEXT, FIELD(checkpoint.path),
     .help = "write now and then how far the search is, to go on from there with --resume FILE", .how = true,
     .writes = true},
    {"every", "TIME", OPTION_TAKE, 0, .help = "how often, as in 30s or 5m (5m)", .take = take_every, .how = true},
    {"resume", "FILE", OPTION_TEXT, FIELD(checkpoint.resume), .help = "go on from a checkpoint of the same check",
     .how = true},
    {"property", "NAME", OPTION_TAKE, 0, .help = "look for violations of this property only", .take = take_property,
     .how = true},
    {"fingerprints", "64|128", OPTION_TAKE, 0, .help = "bits of a state's fingerprint (64)", .take = take_fingerprints,
     .how = true},
    {.help = "Output"},
    {"json", NULL, OPTION_SWITCH, FIELD(group.json), .help = "print the result as JSON", .how = true},
    {"trace", "FILE", OPTION_TEXT, FIELD(replay), .help = "write a counterexample, for conclave sim --replay FILE",
     .how = true},
    {"diagram", NULL, OPTION_SWITCH, FIELD(group.diagram), .help = "draw a counterexample in the terminal",
     .how = true},
    {"states", NULL, OPTION_SWITCH, FIELD(group.states),
     .help = "show what each step of a counterexample changes in the node's state", .how = true},
    {"svg", "FILE", OPTION_TEXT, FIELD(group.svg), .help = "write a counterexample as SVG", .how = true},
    {0},
};

/* May a check that goes on have another value of that option? Threads, memory and output do not count. */
static bool may_differ(const struct option_row *row)
{
    static const char *const names[] = {"threads", "memory", "disk", "checkpoint", "every",  "resume",
                                        "json",    "trace",  "svg",  "diagram",    "states", "labels"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(row->name, names[i]) == 0)
            return true;
    return false;
}

/* Keeps the options that say what is checked: the file of a counterexample needs only these. */
static void note(void *context, const struct option_row *row, char **words, int count)
{
    struct check_request *request = context;
    for (int i = 0; i < count && !row->how; i++)
        request->words[request->word_count++] = words[i];
    if (!may_differ(row))
        resumption_add_option(&request->identity, row, words, count);
}

const struct options check_options = {
    .name = "check",
    .usage = "ALGORITHM|./FILE.c|./FILE.so [OPTION...]",
    .about = "Tries every order of events of a small group and judges every state and every end. Prints a "
             "violation step by step, as short as possible.",
    .rows = rows,
    .more = "Exit codes: 0 held, 1 violated, 2 wrong usage or unfinished.\n"
            "\n"
            "  conclave check bully -n 4 --crashes 1\n"
            "  conclave check maekawa-plain -n 3 --diagram",
    .note = note,
};

/* Three quarters of the free memory. */
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

static int settle_checkpoint(struct check_request *request, const char *algorithm, struct cv_complaint *complaint)
{
    struct cv_checkpoint *checkpoint = &request->checkpoint;
    const char *path = checkpoint->path ? checkpoint->path : checkpoint->resume;
    if (request->has_every && !checkpoint->path)
        return cv_complain(complaint, "--every: expected with --checkpoint FILE");
    if (!path)
        return 0;
    if (request->options.deep)
        return cv_complain(complaint, "--%s %s: expected without --depth-first",
                           checkpoint->path ? "checkpoint" : "resume", cv_brief(path).text);
    resumption_add_program(&request->identity, algorithm);
    char *command = request->go_on;
    request->go_on = resumption_command(command, path);
    free(command);
    return request->identity && request->go_on ? 0 : CV_ENOMEM;
}

int check_resume(struct check_request *request, const struct cv_scenario *scenario, const struct cv_ranks *ranks,
                 struct cv_complaint *complaint)
{
    struct cv_checkpoint *checkpoint = &request->checkpoint;
    const struct cv_group *group = &scenario->group;
    if (!checkpoint->path && !checkpoint->resume)
        return 0;
    uint64_t graph = cv_checkpoint_hash(group->ids, group->nodes * sizeof *group->ids, 0);
    if (group->edges) {
        graph = cv_checkpoint_hash(group->edges, (group->nodes + 1) * sizeof *group->edges, graph);
        graph = cv_checkpoint_hash(group->neighbours, group->edges[group->nodes] * sizeof *group->neighbours, graph);
    }
    resumption_add_hash(&request->identity, "group", graph);
    if (!request->identity)
        return CV_ENOMEM;
    checkpoint->identity = request->identity;
    checkpoint->kind = "check";
    checkpoint->tell = resumption_tell_failure;
    request->options.checkpoint = checkpoint;
    return !ranks || !cv_ranks_own(ranks) ? cv_checkpoint_open(checkpoint, complaint) : 0;
}

int check_read(int argc, char **argv, struct check_request *request, struct cv_complaint *complaint)
{
    *request = (struct check_request){.group.plan.seed = 1,
                                      .options = {.threads = 1,
                                                  .reduction = true,
                                                  .symmetry = true,
                                                  .drop_clocks = true,
                                                  .orders = CV_STRICT_ORDERS,
                                                  .callers = UINT32_MAX,
                                                  .inside = CV_NOBODY}};
    request->options.memory = usual_memory();
    static const char *const without[] = {"--resume", "--threads", NULL}, *const resume[] = {"--resume", NULL};
    request->checkpoint.every_ms = CV_USUAL_EVERY_MS;
    request->identity = strdup("");
    request->command = command_repeat("check", argc, argv, without);
    request->go_on = command_repeat("check", argc, argv, resume);
    request->words = calloc((size_t)argc + 1, sizeof *request->words);
    if (!request->command || !request->go_on || !request->words || !request->identity)
        return CV_ENOMEM;
    const int next = options_read(&check_options, argc, argv, request, complaint);
    request->help = next == OPTIONS_HELP;
    if (next <= 0)
        return next;
    int error = sim_read_algorithm(&request->group, "check", argc - next, argv + next, complaint);
    if (!error)
        error = settle_checkpoint(request, argv[next], complaint);
    if (error)
        return error;
    request->words[request->word_count++] = argv[next];
    if (!request->group.plan.nodes && !request->group.plan.ids)
        request->group.plan.nodes = "3";
    return sim_settle(&request->group, complaint);
}

void check_free(struct check_request *request)
{
    sim_free(&request->group);
    free(request->command);
    free(request->words);
    free(request->identity);
    free(request->go_on);
    cv_checkpoint_close(&request->checkpoint);
    free(request->cut.word);
    *request = (struct check_request){0};
}

/* --ask LIST: the nodes that may want to enter. */
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
    if (scenario->group.nodes > CV_CHECK_MOST_NODES)
        return cv_complain(complaint, "--nodes %u: expected at most %u; every order of events is tried",
                           scenario->group.nodes, CV_CHECK_MOST_NODES);
    if (request->options.delay && (scenario->algorithm->hints.clocked || scenario->algorithm->hints.counters))
        return cv_complain(complaint, "--delay %u: expected an algorithm without Lamport clocks and `counters`",
                           request->options.delay);
    if (request->options.delay && (request->options.any_time || request->options.crashes ||
                                   request->options.suspicions || request->options.cuts || request->cut.count))
        return cv_complain(complaint, "--delay %u: expected without faults, and without --timeouts any",
                           request->options.delay);
    if (request->options.disk && request->options.deep)
        return cv_complain(complaint, "--disk %s: expected without --depth-first, by which few states wait",
                           cv_brief(request->options.disk).text);
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

/* --cut P:Q: the only links that may be cut. Without --cuts, one cut is allowed. */
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
