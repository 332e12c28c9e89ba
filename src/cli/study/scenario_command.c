// SPDX-License-Identifier: MIT
/*
 * `conclave scenario`: replays an example. A scenario file tells a story in # lines; every other line is a verdict
 * that is expected and the options of a simulation:
 *
 *     # Process 4 notices that 7 is down.
 *     held: bully --ids 0..7 --crash 7@0 --start 4
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "cli/study/embedded_files.h"
#include "cli/study/sim_command.h"
#include "cli/study/sim_runs.h"
#include "core/parse.h"

#define MOST_WORDS 128

static const char *title_of(const char *text)
{
    return *text == '#' && text[1] == ' ' ? text + 2 : text;
}

static void list_scenarios(void)
{
    for (const struct embedded_file *file = scenario_files; file->name; file++) {
        const char *title = title_of(file->text);
        printf("%-28s %.*s\n", file->name, (int)strcspn(title, "\n"), title);
    }
    puts("\nconclave scenario NAME replays one; so does conclave scenario ./FILE with one of your own.");
}

/* Splits a line in place; quotes keep spaces together. */
static int split(char *line, char **words, int most)
{
    int count = 0;
    while (*(line += strspn(line, " \t"))) {
        const char quote = *line == '\'' || *line == '"' ? *line++ : '\0';
        char *end = line + (quote ? strcspn(line, (char[2]){quote, '\0'}) : strcspn(line, " \t"));
        if (count == most)
            return -1;
        words[count++] = line;
        line = *end ? end + 1 : end;
        *end = '\0';
    }
    return count;
}

static int verdict_code(const char *line, size_t length)
{
    static const char *const words[] = {"held", "violated", "unfinished"};
    for (int code = 0; code < 3; code++)
        if (strlen(words[code]) == length && memcmp(words[code], line, length) == 0)
            return code;
    return -1;
}

/* A scenario is small: its threads are enough. */
static int run(struct sim_request *request)
{
    struct cv_ranks *alone = cv_ranks_alone();
    if (!alone)
        command_out_of_memory();
    const int code = request->runs ? sim_run_many(request, alone) : sim_run_once(request, alone);
    cv_ranks_leave(alone);
    return code;
}

/* Plays one line with the user's extra options. Clears *as_told if the verdict is not the expected one. */
static int play_line(const char *name, char *line, int extra, char **options, bool *as_told)
{
    char *words[MOST_WORDS];
    const size_t length = strcspn(line, ":");
    const int expected = verdict_code(line, length);
    if (expected < 0 || !line[length])
        return command_refuse("%s: %s: expected held:, violated: or unfinished: and options of conclave sim", name,
                              line);
    words[0] = line;
    printf("$ conclave sim%s\n", line + length + 1);
    int count = split(line + length + 1, words + 1, MOST_WORDS - 2);
    if (count < 0 || count + extra > MOST_WORDS - 2)
        return command_refuse("%s: a line of more than %d words", name, MOST_WORDS - 2);
    for (int i = 0; i < extra; i++)
        words[1 + count + i] = options[i];
    words[1 + count + extra] = NULL;

    struct sim_request request;
    struct cv_complaint complaint = {{0}};
    int error = sim_read(1 + count + extra, words, &request, &complaint);
    if (!error && request.help)
        error = cv_complain(&complaint, "--help: expected options of conclave sim that show or change the run");
    int code = error ? command_fail(error, &complaint) : 0;
    if (!error) {
        request.transcript = !request.diagram && !request.json && !request.runs;
        code = run(&request);
        *as_told &= code == expected;
        code = EXIT_HELD;
    }
    sim_free(&request);
    return code;
}

/* ---- outputs of several runs ---- */

static bool names_output(const char *option)
{
    return strncmp(option, "--", 2) == 0 && sim_writes_file(option + 2, strcspn(option + 2, "="));
}

/* FILE.svg becomes FILE-2.svg for the second run. */
static char *number_file(const char *option, int run)
{
    const char *slash = strrchr(option, '/'), *dot = strrchr(option, '.');
    if (!dot || (slash && dot < slash))
        dot = option + strlen(option);
    char *numbered;
    return asprintf(&numbered, "%.*s-%d%s", (int)(dot - option), option, run, dot) < 0 ? NULL : numbered;
}

static void free_options(char **options, int count)
{
    for (int i = 0; options && i < count; i++)
        free(options[i]);
    free(options);
}

/* The options of one run of several, each run with files of its own. Free with free_options(). */
static char **own_options(int count, char **options, int run)
{
    char **own = calloc((size_t)count + 1, sizeof *own);
    for (int i = 0; own && i < count; i++) {
        const bool file = run && ((names_output(options[i]) && strchr(options[i], '=')) ||
                                  (i && names_output(options[i - 1]) && !strchr(options[i - 1], '=')));
        own[i] = file ? number_file(options[i], run) : strdup(options[i]);
        if (!own[i]) {
            free_options(own, i);
            return NULL;
        }
    }
    return own;
}

static int count_runs(const char *text)
{
    int runs = 0;
    for (; *text; text += strcspn(text, "\n"), text += *text == '\n')
        runs += *text != '#' && *text != '\n';
    return runs;
}

static int play_own(const char *name, char *line, int extra, char **options, int run, bool *as_told)
{
    char **own = own_options(extra, options, run);
    const int code =
        own ? play_line(name, line, extra, own, as_told) : command_fail(CV_ENOMEM, &(struct cv_complaint){{0}});
    free_options(own, extra);
    return code;
}

static int play(const char *name, char *text, int extra, char **options)
{
    const int runs = count_runs(text);
    bool as_told = true;
    int played = 0, code = EXIT_HELD;
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line && !code; line = strtok_r(NULL, "\n", &rest)) {
        if (*line == '#') {
            puts(line[1] == ' ' ? line + 2 : line + 1);
        } else if (*line) {
            putchar('\n');
            played++;
            code = play_own(name, line, extra, options, runs > 1 ? played : 0, &as_told);
            putchar('\n');
        }
    }
    if (!runs)
        return command_refuse("%s: nothing to play; expected a line such as held: bully -n 5", name);
    return code ? code : as_told ? EXIT_HELD : EXIT_VIOLATED;
}

static char *find_text(const char *name, struct cv_complaint *complaint)
{
    if (strchr(name, '/'))
        return command_read_file("scenario", name, complaint);
    for (const struct embedded_file *file = scenario_files; file->name; file++)
        if (strcmp(file->name, name) == 0)
            return strdup(file->text);
    struct nearest nearest = nearest_to(name);
    for (const struct embedded_file *file = scenario_files; file->name; file++)
        nearest_offer(&nearest, file->name);
    cv_complain(complaint, "%s: no such scenario%s; conclave scenario lists them all", cv_brief(name).text,
                nearest_question(&nearest, "").text);
    return NULL;
}

static const struct option_row no_rows[] = {{0}};

const struct options scenario_options = {
    .name = "scenario",
    .usage = "[NAME|./FILE [SIM-OPTION...]]",
    .about = "Replays an example of the texts, told step by step; without a name lists them all. Further options are "
             "added to those of the scenario: --diagram, --json, --delay 1..9. Of several runs each writes a file of "
             "its own: --svg FILE.svg gives FILE-1.svg, FILE-2.svg, ...",
    .rows = no_rows,
    .more = "Exit codes: 0 every run ended as the scenario says, 1 one did not, 2 wrong usage.",
};

const struct options tour_options = {
    .name = "tour",
    .usage = "",
    .about = "Replays three of the texts' examples.",
    .rows = no_rows,
};

int command_scenario(int argc, char **argv)
{
    struct cv_complaint complaint = {{0}};
    if (argc < 2) {
        list_scenarios();
        return EXIT_HELD;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        options_help(&scenario_options, stdout);
        return EXIT_HELD;
    }
    if (argv[1][0] == '-')
        return command_refuse("%s: expected the name of a scenario; see conclave scenario --help", argv[1]);
    char *text = find_text(argv[1], &complaint);
    if (!text)
        return command_fail(CV_EINPUT, &complaint);
    command_catch_signals();
    const int code = play(argv[1], text, argc - 2, argv + 2);
    free(text);
    return code;
}

/* Three of the texts' examples. */
int command_tour(int argc, char **argv)
{
    static const char *const stops[] = {"bully-example", "ring-p4-dies", "wireless-example"};
    if (argc > 1 && strcmp(argv[1], "--help") != 0 && strcmp(argv[1], "-h") != 0)
        return command_refuse("%s: the tour takes no options", argv[1]);
    if (argc > 1) {
        options_help(&tour_options, stdout);
        return EXIT_HELD;
    }
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        struct cv_complaint complaint = {{0}};
        char *text = find_text(stops[i], &complaint);
        const int code = text ? play(stops[i], text, 0, NULL) : command_fail(CV_EINPUT, &complaint);
        free(text);
        if (code)
            return code;
    }
    puts("More: conclave scenario, conclave list, conclave sim --help");
    return EXIT_HELD;
}
