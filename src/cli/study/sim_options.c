// SPDX-License-Identifier: MIT
#include "cli/study/sim_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/plugin.h"
#include "cli/study/resumption.h"
#include "cli/study/step_limit.h"
#include "cli/study/sweep.h"
#include "core/graph/graph_make.h"
#include "core/parse.h"
#include "guard/guarded.h"

#define MOST_RUNS 10000000u

#define FIELD(member) offsetof(struct sim_request, member)

static int take_every(void *context, const char *value, struct cv_complaint *complaint)
{
    struct sim_request *request = context;
    request->has_every = true;
    return options_read_time("--every", value, &request->checkpoint.every_ms, complaint);
}

static const struct option_row rows[] = {
    {.help = "The group"},
    {"nodes", "N", OPTION_TEXT, FIELD(plan.nodes), .help = "how many nodes (8)", .letter = 'n'},
    {"ids", "LIST", OPTION_TEXT, FIELD(plan.ids),
     .help = "ids in node order, which is sending order on rings: 3,32,5 or 0..7; random: a permutation of 1..N by "
             "seed (1..N)"},
    {"attr", "LIST", OPTION_TEXT, FIELD(plan.attributes),
     .help = "election attributes in node order: the highest wins (the id itself)"},
    {"labels", "LIST", OPTION_TEXT, FIELD(plan.labels),
     .help = "the nodes' names in output for people: a..j or red,green,blue (the ids)"},
    {"start", "LIST|all", OPTION_TEXT, FIELD(plan.start),
     .help = "the ids that call the election at time 0 (the smallest live id)"},
    {"graph", "GRAPH", OPTION_TEXT, FIELD(plan.graph),
     .help = CV_GRAPH_SPECS "edges:1-2,1-3 or a file of `a b [weight]` lines; for algorithms that run on graphs "
                            "(random:2N)"},
    {"set", "KEY=VALUE", OPTION_WORDS, FIELD(plan.set),
     .help = "a parameter of the algorithm; conclave list ALGORITHM shows them; repeatable"},
    {.help = "Synchronizers"},
    {"app", "NAME", OPTION_TEXT, FIELD(inputs.app),
     .help = "the synchronous algorithm that a synchronizer hosts (bellman-ford); --set takes its "
             "parameters, too, and rounds=R, the number of rounds (N-1)"},
    {.help = "Mutual exclusion"},
    {"request", "ID@T[+HOLD][/NAME]", OPTION_WORDS, FIELD(plan.request),
     .help = "node ID requests the critical section NAME (0) at time T and stays for HOLD ticks (1); a "
             "list, repeatable"},
    {"entries", "E", OPTION_TEXT, FIELD(plan.entries),
     .help = "without --request: how often each node enters, from time 0 on (1)"},
    {"hold", "H", OPTION_TEXT, FIELD(plan.hold), .help = "how many ticks a node stays inside (1)"},
    {"think", "P", OPTION_TEXT, FIELD(plan.think), .help = "how many ticks a node pauses before its next request (0)"},
    {"names", "K", OPTION_TEXT, FIELD(plan.names),
     .help = "the number of critical sections, independent of each other (1)"},
    {"views", "on|off", OPTION_TEXT, FIELD(plan.views),
     .help = "begin a new view when a node dies or returns (on if a node crashes)"},
    {"election", "NAME", OPTION_TEXT, FIELD(inputs.election),
     .help = "the algorithm that elects the coordinator of a new view (bully)"},
    {.help = "The network"},
    {"seed", "S", OPTION_NUMBER, FIELD(plan.seed), .help = "the seed of all random choices (1)",
     .most = UINT64_MAX - MOST_RUNS},
    {"delay", "D", OPTION_TEXT, FIELD(plan.delay),
     .help = "how many ticks a message takes: unit, A..B, or exp:MEAN (unit)"},
    {"lag", "P:Q[:KIND]=T", OPTION_WORDS, FIELD(plan.lag),
     .help = "messages from P to Q, or only that kind, take T ticks; * for every node; repeatable"},
    {"loss", "P", OPTION_TEXT, FIELD(plan.loss),
     .help = "probability that a packet is lost below the reliable channel (0)"},
    {"duplicate", "P", OPTION_TEXT, FIELD(plan.duplicate), .help = "probability that a packet arrives twice (0)"},
    {"reorder", NULL, OPTION_SWITCH, FIELD(plan.reorder), .help = "packets overtake each other"},
    {"unordered", NULL, OPTION_SWITCH, FIELD(plan.unordered),
     .help = "messages overtake each other: no channel puts them in order"},
    {"serial", NULL, OPTION_SWITCH, FIELD(plan.serial),
     .help = "a link carries one message at a time; the others wait"},
    {.help = "What goes wrong; all but --detect and --until repeatable"},
#define FAULT(name, list, list_count, argument, text) {#name, argument, OPTION_WORDS, FIELD(plan.name), .help = text},
    CV_FAULTS(FAULT)
#undef FAULT
        {"detect", "D", OPTION_TEXT, FIELD(plan.detect),
         .help = "the failure detector reports a crash to the live nodes after D ticks (1)"},
    {"until", "T", OPTION_TEXT, FIELD(plan.until), .help = "stop at time T"},
    STEP_LIMIT_ROW,
    {.help = "Who computes it; that changes no byte of the output"},
    SWEEP_THREADS_ROW(FIELD(threads), "so many threads, in each rank of mpirun (1)"),
    {"checkpoint", "FILE", OPTION_TEXT, FIELD(checkpoint.path),
     .help =
         "write now and then how far the run is, or which of --runs are done, to go on from there with --resume FILE",
     .how = true, .writes = true},
    {"every", "TIME", OPTION_TAKE, 0, .help = "how often, as in 30s or 5m (5m)", .take = take_every, .how = true},
    {"resume", "FILE", OPTION_TEXT, FIELD(checkpoint.resume),
     .help = "go on from a checkpoint of the same run; of --runs, or of fewer", .how = true},
    {.help = "Output"},
    {"json", NULL, OPTION_SWITCH, FIELD(json), .help = "print the result as JSON", .how = true},
    {"runs", "R", OPTION_NUMBER, FIELD(runs),
     .help = "run R seeds from S on: distribution, confidence interval, worst seed", .least = 1, .most = MOST_RUNS},
    {"diagram", NULL, OPTION_SWITCH, FIELD(diagram), .help = "draw a space-time diagram in the terminal", .how = true},
    {"transcript", NULL, OPTION_SWITCH, FIELD(transcript), .help = "print the run step by step", .how = true},
    {"states", NULL, OPTION_SWITCH, FIELD(states),
     .help = "with --transcript, --diagram or --svg: show what each step changes in the node's state", .how = true},
    {"svg", "FILE", OPTION_TEXT, FIELD(svg), .help = "write a space-time diagram as SVG", .how = true, .writes = true},
    {"trace", "FILE", OPTION_TEXT, FIELD(trace),
     .help = "write every event as JSON Lines, with Lamport and vector clocks", .how = true, .writes = true},
    {"shiviz", "FILE", OPTION_TEXT, FIELD(shiviz), .help = "write a log for ShiViz", .how = true, .writes = true},
    {"timing", NULL, OPTION_SWITCH, FIELD(timing), .help = "print the wall time, too", .how = true},
    {"replay", "FILE", OPTION_TEXT, FIELD(replay),
     .help =
         "instead of an algorithm: play a counterexample of conclave check --trace FILE, or a story of the explorer",
     .how = true},
    {0},
};

/* Remembers an option that says what is run: --replay takes only options that say what is shown. */
static void note(void *context, const struct option_row *row, char **words, int count)
{
    struct sim_request *request = context;
    if (row->how)
        return;
    if (strcmp(row->name, "runs") != 0) /* their number may differ */
        resumption_add_option(&request->identity, row, words, count);
    if (!request->subject)
        request->subject = row->name;
    for (int i = 0; i < count; i++)
        if (cv_words_add(&request->words, words[i]))
            command_out_of_memory();
}

const struct options sim_options = {
    .name = "sim",
    .usage = "ALGORITHM|./FILE.c|./FILE.so [OPTION...]",
    .about = "Runs an algorithm in virtual time. The same seed and options print the same bytes.",
    .rows = rows,
    .more = "Exit codes: 0 held, 1 violated, 2 wrong usage or unfinished.\n"
            "\n"
            "  conclave sim bully --ids 0..7 --crash 7@0 --start 4 --diagram\n"
            "  conclave sim ricart-agrawala -n 4 --entries 2 --hold 3 --diagram",
    .note = note,
};

bool sim_writes_file(const char *name, size_t length)
{
    for (const struct option_row *row = rows; row->help; row++)
        if (row->writes && strlen(row->name) == length && memcmp(row->name, name, length) == 0)
            return true;
    return false;
}

static int read_options(int argc, char **argv, struct sim_request *request, struct cv_complaint *complaint)
{
    const int next = options_read(&sim_options, argc, argv, request, complaint);
    request->help = next == OPTIONS_HELP;
    if (next <= 0)
        return next;
    if (request->states && !request->svg && !request->diagram && !request->transcript)
        return cv_complain(complaint, "--states: expected beside --transcript, --diagram or --svg, which show them");
    if (request->replay && request->subject)
        return cv_complain(complaint, "--%s: expected without --replay, which says what is played", request->subject);
    if (request->replay && next < argc)
        return cv_complain(complaint, "%s: expected no algorithm beside --replay %s", cv_brief(argv[next]).text,
                           cv_brief(request->replay).text);
    return request->replay ? 0 : sim_read_algorithm(request, "sim", argc - next, argv + next, complaint);
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

/* What the files hold that the options name belongs to what is run. */
static int settle_checkpoint(struct sim_request *request, struct cv_complaint *complaint)
{
    struct cv_checkpoint *checkpoint = &request->checkpoint;
    const char *path = checkpoint->path ? checkpoint->path : checkpoint->resume;
    struct cv_plan_file files[CV_MOST_PLAN_FILES];
    uint64_t hash = 0;
    if (request->has_every && !checkpoint->path)
        return cv_complain(complaint, "--every: expected with --checkpoint FILE");
    if (!path)
        return 0;
    if (request->replay)
        return cv_complain(complaint, "--%s %s: expected without --replay", checkpoint->path ? "checkpoint" : "resume",
                           cv_brief(path).text);
    const uint32_t count = cv_plan_files(&request->plan, files);
    for (uint32_t i = 0; i < count; i++)
        hash = cv_checkpoint_hash(files[i].text, strlen(files[i].text), hash);
    char *command = request->go_on;
    request->go_on = resumption_command(command, path);
    free(command);
    resumption_add_program(&request->identity, request->words.word[0]);
    resumption_add_hash(&request->identity, "files", hash);
    checkpoint->identity = request->identity;
    checkpoint->kind = request->runs ? "sweep" : "run";
    checkpoint->tell = resumption_tell_failure;
    return request->identity && request->go_on ? 0 : CV_ENOMEM;
}

static int prepare(int argc, char **argv, struct sim_request *request)
{
    static const char *const without[] = {"--seed",  "--runs",   "--threads", "--checkpoint",
                                          "--every", "--resume", NULL}; /* the reports add what they need */
    static const char *const resume[] = {"--resume", NULL};
    *request = (struct sim_request){.plan.seed = 1, .checkpoint.every_ms = CV_USUAL_EVERY_MS};
    request->command = command_repeat("sim", argc, argv, without);
    request->go_on = command_repeat("sim", argc, argv, resume);
    request->identity = strdup("");
    return request->command && request->go_on && request->identity ? 0 : CV_ENOMEM;
}

int sim_read(int argc, char **argv, struct sim_request *request, struct cv_complaint *complaint)
{
    int error = prepare(argc, argv, request);
    if (!error)
        error = read_options(argc, argv, request, complaint);
    if (error || request->help)
        return error;
    error = sim_settle(request, complaint);
    return error ? error : settle_checkpoint(request, complaint);
}

int sim_read_algorithm(struct sim_request *request, const char *command, int count, char **words,
                       struct cv_complaint *complaint)
{
    if (count < 1)
        return cv_complain(complaint, "%s: expected an algorithm; conclave list shows them all", command);
    if (count > 1)
        return cv_complain(complaint, "%s: expected one algorithm at a time", cv_brief(words[1]).text);
    struct cv_words *all = &request->words;
    if (cv_words_add(all, words[0]))
        return CV_ENOMEM;
    memmove(all->word + 1, all->word, (all->count - 1) * sizeof *all->word); /* it stands before its options */
    all->word[0] = words[0];
    cv_failure_ignore(); /* the runtimes tell of failures; a judge that takes a step has nobody to tell */
    return plugin_find(words[0], &request->plan.algorithm, complaint);
}

static char *read_file(void *context, const char *option, const char *path, struct cv_complaint *complaint)
{
    (void)context;
    return command_read_file(option, path, complaint);
}

int sim_settle(struct sim_request *request, struct cv_complaint *complaint)
{
    const int error = check_outputs(request, complaint);
    if (error || request->replay)
        return error;
    request->inputs.find = plugin_find;
    request->inputs.read = read_file;
    return cv_plan_read_inputs(&request->plan, &request->inputs, complaint);
}

void sim_free(struct sim_request *request)
{
    cv_plan_free(&request->plan);
    cv_plan_inputs_free(&request->inputs);
    free(request->command);
    free(request->identity);
    free(request->go_on);
    free(request->words.word);
    *request = (struct sim_request){0};
}
