// SPDX-License-Identifier: MIT
#include "cli/study/run_options.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/step_limit.h"
#include "core/graph/graph_make.h"
#include "core/parse.h"
#include "run/hosts.h"

#define USUAL_UNTIL_MS 60000u /* when a run is given up, if the bound is short */
#define LONGEST_MS ((uint64_t)1 << 40)

#define FIELD(member) offsetof(struct run_request, member)

static const struct option_row rows[] = {
    {.help = "The group"},
    {"nodes", "N", OPTION_TEXT, FIELD(sim.plan.nodes), .help = "how many nodes, each a process (8)", .letter = 'n'},
    {"ids", "LIST", OPTION_TEXT, FIELD(sim.plan.ids),
     .help = "ids in node order, which is sending order on rings: 3,32,5 or 0..7; random: a permutation of 1..N by "
             "seed (1..N)"},
    {"attr", "LIST", OPTION_TEXT, FIELD(sim.plan.attributes),
     .help = "election attributes in node order: the highest wins (the id itself)"},
    {"labels", "LIST", OPTION_TEXT, FIELD(sim.plan.labels),
     .help = "the nodes' names in output for people: a..j or red,green,blue (the ids)"},
    {"start", "LIST|all", OPTION_TEXT, FIELD(sim.plan.start),
     .help = "the ids that call the election at time 0 (the smallest live id)"},
    {"graph", "GRAPH", OPTION_TEXT, FIELD(sim.plan.graph),
     .help = CV_GRAPH_SPECS "edges:1-2,1-3 or a file of `a b [weight]` lines; for algorithms that run on graphs "
                            "(random:2N)"},
    {"set", "KEY=VALUE", OPTION_WORDS, FIELD(sim.plan.set),
     .help =
         "a parameter of the algorithm; conclave list ALGORITHM shows them; bound=MS is how long a message may take "
         "(250 + N²/4, on a graph 250 + E/2, and the longest --delay); repeatable"},
    {.help = "Synchronizers"},
    {"app", "NAME", OPTION_TEXT, FIELD(sim.inputs.app),
     .help = "the synchronous algorithm that a synchronizer hosts (bellman-ford); --set takes its parameters, too, and "
             "rounds=R, the number of rounds (N-1)"},
    {.help = "Mutual exclusion"},
    {"request", "ID@T[+HOLD][/NAME]", OPTION_WORDS, FIELD(sim.plan.request),
     .help = "node ID requests the critical section NAME (0) after T ms and stays for HOLD ms (1); a list, repeatable"},
    {"entries", "E", OPTION_TEXT, FIELD(sim.plan.entries),
     .help = "without --request: how often each node enters, from time 0 on (1)"},
    {"hold", "H", OPTION_TEXT, FIELD(sim.plan.hold), .help = "how many ms a node stays inside (1)"},
    {"think", "P", OPTION_TEXT, FIELD(sim.plan.think), .help = "how many ms a node pauses before its next request (0)"},
    {"names", "K", OPTION_TEXT, FIELD(sim.plan.names),
     .help = "the number of critical sections, independent of each other (1)"},
    {"views", "on|off", OPTION_TEXT, FIELD(sim.plan.views),
     .help = "begin a new view when a node dies or comes back, as the failure detector reports it (on if any crashes)"},
    {.help = "The network"},
    {"seed", "S", OPTION_NUMBER, FIELD(sim.plan.seed),
     .help = "the seed of random ids, graphs, choices and delays; the order of events is the machine's (1)",
     .most = UINT64_MAX - 1},
    {"delay", "D", OPTION_TEXT, FIELD(sim.plan.delay),
     .help = "how many ms the sender keeps each message back: A..B, or exp:MEAN (none)"},
    {"lag", "P:Q[:KIND]=T", OPTION_WORDS, FIELD(sim.plan.lag),
     .help = "messages from P to Q, or only that kind, are kept back for T ms; * for every node; repeatable"},
    {.help = "What goes wrong; all but --detect and --until repeatable"},
    {"crash", "ID@T", OPTION_WORDS, FIELD(sim.plan.crash),
     .help =
         "the process gets SIGKILL after T ms; @0: there is none from the start, and no node is told; @before:KIND, "
         "@after:KIND: when it first sends such a message"},
    {"recover", "ID@T", OPTION_WORDS, FIELD(sim.plan.recover), .help = "another process takes its place after T ms"},
    {"pause", "ID@T1..T2", OPTION_WORDS, FIELD(pauses),
     .help = "the process gets SIGSTOP after T1 ms and SIGCONT after T2 ms; no node is told"},
    {"partition", "A,B/C,D@T1..T2", OPTION_WORDS, FIELD(sim.plan.partition),
     .help = "from T1 to T2 ms the nodes send nothing across; those messages are lost"},
    {"suspect", "P:Q@T", OPTION_WORDS, FIELD(sim.plan.suspect), .help = "P falsely suspects Q; * for every node"},
    {"blind", "P:Q", OPTION_WORDS, FIELD(sim.plan.blind), .help = "P never learns that Q died; * for every node"},
    {"detect", "D", OPTION_TEXT, FIELD(sim.plan.detect),
     .help = "the failure detector reports a crash to the live nodes after D ms (the bound)"},
    {"until", "T", OPTION_TEXT, FIELD(sim.plan.until),
     .help = "stop after T ms (a minute, ten times the bound, and twice the bound for each round)"},
    STEP_LIMIT_ROW,
    {.help = "Several machines"},
    {"hosts", "FILE", OPTION_TEXT, FIELD(hosts),
     .help = "deal the nodes to these hosts, a line each: [USER@]HOST [slots=N] [address=IP] [conclave=PATH]"},
    {"ssh", "COMMAND", OPTION_TEXT, FIELD(ssh),
     .help = "what starts conclave there, followed by the host, the program and its words (" CV_USUAL_SSH ")"},
    {"place", NULL, OPTION_SWITCH, FIELD(place),
     .help = "be what --hosts starts: serve the experiment at the other end of standard input and output"},
    {.help = "Output"},
    {"json", NULL, OPTION_SWITCH, FIELD(sim.json), .help = "print the result as JSON", .how = true},
    {"diagram", NULL, OPTION_SWITCH, FIELD(sim.diagram), .help = "draw a space-time diagram in the terminal",
     .how = true},
    {"transcript", NULL, OPTION_SWITCH, FIELD(sim.transcript), .help = "print the run step by step", .how = true},
    {"states", NULL, OPTION_SWITCH, FIELD(sim.states),
     .help = "with --transcript, --diagram or --svg: show what each step changes in the node's state", .how = true},
    {"svg", "FILE", OPTION_TEXT, FIELD(sim.svg), .help = "write a space-time diagram as SVG", .how = true,
     .writes = true},
    {"trace", "FILE", OPTION_TEXT, FIELD(sim.trace),
     .help = "write every event as JSON Lines, with Lamport and vector clocks", .how = true, .writes = true},
    {"shiviz", "FILE", OPTION_TEXT, FIELD(sim.shiviz), .help = "write a log for ShiViz", .how = true, .writes = true},
    {"timing", NULL, OPTION_SWITCH, FIELD(sim.timing), .help = "print the wall time, too, with start and end",
     .how = true},
    {0},
};

const struct options run_options = {
    .name = "run",
    .usage = "ALGORITHM|./FILE.c|./FILE.so [OPTION...]",
    .about = "Runs an algorithm between real processes, one for each node, on this machine or on several. Takes the "
             "options\n"
             "of conclave sim that mean something there, and prints the same report. Times are milliseconds.",
    .rows = rows,
    .more = "Exit codes: 0 held, 1 violated, 2 wrong usage or unfinished.\n"
            "\n"
            "  conclave run chang-roberts -n 200\n"
            "  conclave run bully --crash 8@40 --diagram\n"
            "  conclave run alpha --app bfs-tree --graph grid:3x3 --delay 1..20\n"
            "  conclave run bully -n 12 --hosts hosts.txt",
};

/* ---- options of the simulator that mean nothing here ---- */

static const struct {
    const char *name, *why;
} meaningless[] = {
    {"loss", "sockets lose nothing"},
    {"duplicate", "sockets double nothing"},
    {"reorder", "sockets keep the order"},
    {"unordered", "sockets keep the order"},
    {"serial", "a socket carries what fits"},
    {"alternate", "a cut is a cut"},
    {"election", "the best live node coordinates a new view"},
    {"runs", "a seed does not fix the order of events"},
    {"replay", "the order of events is the machine's"},
};

static int refuse_meaningless(int argc, char **argv, struct cv_complaint *complaint)
{
    for (int i = 1; i < argc; i++) {
        const size_t length = strcspn(argv[i], "=");
        for (size_t m = 0; m < sizeof meaningless / sizeof *meaningless; m++)
            if (strncmp(argv[i], "--", 2) == 0 && strlen(meaningless[m].name) == length - 2 &&
                memcmp(argv[i] + 2, meaningless[m].name, length - 2) == 0)
                return cv_complain(complaint, "--%s: between real processes %s; expected it with conclave sim",
                                   meaningless[m].name, meaningless[m].why);
    }
    return 0;
}

int run_read(int argc, char **argv, struct run_request *request, struct cv_complaint *complaint)
{
    static const char *const without[] = {"--seed", NULL}; /* the report adds it itself */
    *request = (struct run_request){.sim.plan.seed = 1};
    request->sim.command = command_repeat("run", argc, argv, without);
    if (!request->sim.command)
        return CV_ENOMEM;
    int error = refuse_meaningless(argc, argv, complaint);
    if (error)
        return error;
    const int next = options_read(&run_options, argc, argv, request, complaint);
    request->sim.help = next == OPTIONS_HELP;
    request->argc = argc;
    request->argv = argv;
    if (next <= 0)
        return next;
    if (request->place)
        return argc == 2 ? 0 : cv_complain(complaint, "--place: expected alone; the experiment tells it the rest");
    if (request->ssh && !request->hosts)
        return cv_complain(complaint, "--ssh: expected beside --hosts");
    if (request->sim.states && !request->sim.svg && !request->sim.diagram && !request->sim.transcript)
        return cv_complain(complaint, "--states: expected beside --transcript, --diagram or --svg, which show them");
    request->algorithm = next < argc ? argv[next] : NULL;
    error = sim_read_algorithm(&request->sim, "run", argc - next, argv + next, complaint);
    request->sim.words.count = 0; /* a trace of this run tells what happened, not how to simulate it */
    return error ? error : sim_settle(&request->sim, complaint);
}

void run_free(struct run_request *request)
{
    sim_free(&request->sim);
    free(request->pauses.word);
    request->pauses = (struct cv_words){0};
}

/* ---- the scenario ---- */

static int read_pause(const struct cv_scenario *scenario, const char *word, struct cv_pause *pause,
                      struct cv_complaint *complaint)
{
    struct cv_text id, when, begin, end;
    uint64_t number;
    if (!cv_text_split(cv_text(word), '@', &id, &when) || !cv_text_range(when, &begin, &end) ||
        !cv_parse_number(begin, LONGEST_MS, &pause->begin) || !cv_parse_number(end, LONGEST_MS, &pause->end) ||
        pause->begin >= pause->end || !cv_parse_number(id, UINT32_MAX, &number))
        return cv_complain(complaint, "--pause %s: expected ID@T1..T2 with T1 < T2", cv_brief(word).text);
    for (pause->node = 0; pause->node < scenario->group.nodes; pause->node++)
        if (scenario->ids[pause->node] == number)
            return 0;
    return cv_complain(complaint, "--pause %s: there is no node %llu", cv_brief(word).text, (unsigned long long)number);
}

static int read_pauses(const struct run_request *request, const struct cv_scenario *scenario,
                       struct cv_experiment_options *options, struct cv_complaint *complaint)
{
    struct cv_pause *pauses = calloc(request->pauses.count + 1u, sizeof *pauses);
    options->pauses = pauses;
    if (!pauses)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < request->pauses.count; i++) {
        const int error = read_pause(scenario, request->pauses.word[i], &pauses[i], complaint);
        if (error)
            return error;
        options->pause_count++;
    }
    return 0;
}

static int check(const struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    if (scenario->group.nodes > CV_MOST_PROCESSES)
        return cv_complain(complaint, "--nodes %u: expected at most %u, each a process", scenario->group.nodes,
                           CV_MOST_PROCESSES);
    if (scenario->alone)
        return cv_complain(complaint, "%s: no network is synchronous; expected alpha, beta, gamma or abd with --app %s",
                           scenario->app->name, scenario->app->name);
    if (strcmp(scenario->algorithm->name, "lockstep") == 0)
        return cv_complain(complaint, "lockstep: no network is synchronous; expected alpha, beta, gamma or abd");
    if (scenario->views && scenario->names > CV_MOST_NAMES_IN_VIEWS)
        return cv_complain(complaint, "--names %u: expected at most %u where views change, or --views off",
                           scenario->names, CV_MOST_NAMES_IN_VIEWS);
    return 0;
}

/*
 * How long a message may take on a busy machine. If all nodes send to all others, it works off N² messages; on a graph
 * they send to their neighbours.
 */
static uint64_t usual_bound_ms(const struct cv_scenario *scenario)
{
    const struct cv_group *group = &scenario->group;
    const uint64_t links =
        group->topology == CV_GRAPH ? group->edges[group->nodes] : (uint64_t)group->nodes * group->nodes;
    return 250 + links / 4;
}

/*
 * Real time: the network adds what it takes, senders add the delay. A message may take longer than one tick, so the
 * formulas are those of an asynchronous network, and timeouts allow for a busy machine.
 */
static void use_real_time(const struct run_request *request, struct cv_scenario *scenario,
                          struct cv_experiment_options *options)
{
    const struct cv_plan *plan = &request->sim.plan;
    options->delay = scenario->delay;
    options->delayed = plan->delay && strcmp(plan->delay, "unit") != 0;
    if (!plan->lag.count) { /* those of the gadget */
        scenario->lag_count = 0;
        scenario->slow_gadget = false;
    }
    scenario->delay = (struct cv_delay){
        CV_DELAY_UNIFORM, 1, usual_bound_ms(scenario) + (options->delayed ? cv_delay_bound(&options->delay) : 0)};
    if (!cv_plan_setting(plan, "bound"))
        scenario->group.bound = cv_scenario_bound(scenario);
    scenario->app_group.bound = scenario->group.bound;
    if (!plan->detect)
        scenario->detect = scenario->group.bound;
    if (!plan->until)
        scenario->until = USUAL_UNTIL_MS + (10 + 2 * scenario->group.rounds) * scenario->group.bound;
}

int run_build(const struct run_request *request, struct cv_scenario *scenario, struct cv_experiment_options *options,
              struct cv_complaint *complaint)
{
    int error = cv_plan_build(&request->sim.plan, scenario, complaint);
    if (!error)
        error = check(scenario, complaint);
    if (!error)
        error = read_pauses(request, scenario, options, complaint);
    if (!error)
        use_real_time(request, scenario, options);
    return error;
}
