// SPDX-License-Identifier: MIT
/*
 * A counterexample as a text: what was checked, word by word, then what happens, a decision per line, in ids.
 *
 *     conclave replay 1
 *     word bully
 *     word --nodes
 *     word 3
 *     start 1
 *     deliver 2 from 1
 *     timeout 2 timer 0
 *     deliver 3 from 1 sent 2
 *     loop
 *     ...
 */
#include "cli/study/replay_file.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/index.h"
#include "core/parse.h"
#include "explore/decision_text.h"
#include "show/output.h"

#define FIRST_LINE "conclave replay 1"
#define MOST_LINES 1000000u

/* ---- writing ---- */

int replay_write(const char *path, const struct check_report *report, struct cv_complaint *complaint)
{
    const struct cv_trail *trail = &report->result->trail;
    struct cv_output output = {0};
    const int error = cv_output_open(&output, path, complaint);
    if (error)
        return error;
    fprintf(output.file, FIRST_LINE "\n");
    for (int i = 0; i < report->request->word_count; i++)
        fprintf(output.file, "word %s\n", report->request->words[i]);
    if (*report->request->ids)
        fprintf(output.file, "word --ids\nword %s\n", report->request->ids);
    for (uint64_t i = 0; i < trail->count; i++) {
        if (i == trail->loop)
            fputs("loop\n", output.file);
        const struct cv_decision *decision = &trail->decisions[i];
        decision_write(output.file, decision_name(decision->type), decision->type == CV_DECIDE_DELIVER, decision,
                       report->scenario->group.ids);
    }
    return cv_output_commit(&output, complaint);
}

/* ---- reading ---- */

struct lines {
    const char *path;
    struct text_lines text;
    struct cv_complaint *complaint;
};

static int refuse(const struct lines *lines, const char *line, const char *expected)
{
    return cv_complain(lines->complaint, "--replay %s: line %llu, %s: expected %s", cv_brief(lines->path).text,
                       (unsigned long long)lines->text.number, cv_brief(line).text, expected);
}

static bool read_decision(char *line, const struct cv_index *index, struct cv_decision *decision)
{
    *decision = (struct cv_decision){0};
    return decision_find(strsep(&line, " "), &decision->type) && decision_read(line, index, decision);
}

static int read_trail(struct lines *lines, char *line, const struct cv_index *index, struct cv_trail *trail)
{
    uint64_t room = 0;
    trail->loop = CV_NEVER;
    for (; line; line = text_lines_next(&lines->text)) {
        char *copy;
        if (strcmp(line, "loop") == 0 && trail->loop == CV_NEVER) {
            trail->loop = trail->count;
            continue;
        }
        if (trail->count == room) {
            room = room ? room * 2 : 64;
            struct cv_decision *decisions = realloc(trail->decisions, room * sizeof *decisions);
            if (!decisions)
                return CV_ENOMEM;
            trail->decisions = decisions;
        }
        copy = strdup(line);
        if (!copy)
            return CV_ENOMEM;
        const bool good = read_decision(line, index, &trail->decisions[trail->count]);
        const int error = good ? 0 : refuse(lines, copy, "a decision, as in deliver 2 from 1");
        free(copy);
        if (error)
            return error;
        trail->count++;
    }
    return trail->loop != CV_NEVER && trail->loop >= trail->count ? refuse(lines, "loop", "decisions after it") : 0;
}

/* Reads the words of the check, up to the first line of another kind. */
static int read_words(struct lines *lines, struct replay_file *file, char **line)
{
    int count = 1;
    static char name[] = "check";
    file->words[0] = name;
    for (*line = text_lines_next(&lines->text); *line && strncmp(*line, "word ", 5) == 0;
         *line = text_lines_next(&lines->text))
        file->words[count++] = *line + 5;
    const int error = check_read(count, file->words, &file->request, lines->complaint);
    if (!error && file->request.help)
        return refuse(lines, "--help", "the options of a check");
    return error;
}

int replay_load(const char *path, struct replay_file *file, struct cv_complaint *complaint)
{
    struct cv_index index = {0};
    size_t line_count = 1;
    *file = (struct replay_file){.text = command_read_file("--replay", path, complaint)};
    if (!file->text)
        return CV_EFILE;
    for (const char *c = file->text; *c; c++)
        line_count += *c == '\n';
    struct lines lines = {.path = path, .text.rest = file->text, .complaint = complaint};
    char *line = text_lines_next(&lines.text);
    if (!line || strcmp(line, FIRST_LINE) != 0 || line_count > MOST_LINES)
        return refuse(&lines, line ? line : "nothing",
                      "a file of conclave check --trace, which begins \"" FIRST_LINE "\"");
    file->words = calloc(line_count + 1, sizeof *file->words);
    int error = file->words ? read_words(&lines, file, &line) : CV_ENOMEM;
    if (!error)
        error = cv_plan_build(&file->request.group.plan, &file->scenario, complaint);
    if (!error)
        error = check_fits(&file->request, &file->scenario, complaint);
    if (!error)
        error = check_settle(&file->request, &file->scenario, complaint);
    if (!error)
        error = cv_index_make(&index, file->scenario.group.ids, file->scenario.group.nodes);
    if (!error)
        error = read_trail(&lines, line, &index, &file->trail);
    cv_index_free(&index);
    return error;
}

void replay_unload(struct replay_file *file)
{
    free(file->trail.decisions);
    cv_scenario_free(&file->scenario);
    check_free(&file->request);
    free(file->words);
    free(file->text);
    *file = (struct replay_file){0};
}
