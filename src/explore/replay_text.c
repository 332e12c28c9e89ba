// SPDX-License-Identifier: MIT
#include "explore/replay_text.h"

#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "explore/decision_text.h"
#include "explore/explored_events.h"

#define FIRST_LINE "conclave replay "
#define MOST_CHECKED_NODES 16u
#define MOST_CHECKED_BUDGET 255u
#define MOST_CHECKED_CRASHES 15u

/* ---- writing ---- */

/* What a story needs of the checker. */
struct needs {
    uint64_t crashes, missed, suspicions, recoveries, cuts, entries, timeouts;
    bool others; /* something that the checker does not know */
};

/* The links that a partition cuts or joins, one by one, as the checker has them. */
static uint64_t split_links(FILE *out, const struct explored *world, const struct explored_step *step)
{
    const struct cv_scenario *scenario = world->scenario;
    const uint32_t *side = scenario->partitions[step->partition].side;
    uint64_t count = 0;
    for (cv_node one = 0; one < world->nodes; one++)
        for (cv_node other = one + 1; other < world->nodes; other++) {
            if (side[one] == side[other])
                continue;
            count++;
            if (out)
                fprintf(out, "%s %u of %u\n", explored_type_name(step->type), scenario->group.ids[one],
                        scenario->group.ids[other]);
        }
    return count;
}

static void need_step(const struct explored *world, const struct explored_step *step, struct needs *needs)
{
    const bool cut = step->type == EVENT_CUT, whole = step->partition != UINT32_MAX;
    const bool dies = step->type == EVENT_CRASH || step->type == EVENT_MISS || step->decision.sent != CV_WHOLE;
    needs->crashes += dies;
    needs->missed += step->type == EVENT_MISS || (dies && step->decision.missed);
    needs->suspicions += step->type == EVENT_SUSPECT;
    needs->recoveries += step->type == EVENT_RECOVER;
    needs->timeouts += step->type == EVENT_TIMEOUT;
    needs->cuts += cut ? whole ? split_links(NULL, world, step) : 1 : 0;
    needs->others |= step->type == EVENT_VIEW || (world->mutex && step->type == EVENT_START) ||
                     step->type == EVENT_DROP || step->type == EVENT_DUPLICATE;
}

static struct needs needs_of(const struct explored *world)
{
    const struct cv_scenario *scenario = world->scenario;
    struct needs needs = {0};
    uint32_t splits = 0;
    for (uint64_t i = 0; i < world->step_count; i++) {
        need_step(world, &world->steps[i], &needs);
        splits += world->steps[i].partition != UINT32_MAX;
    }
    for (cv_node node = 0; node < world->nodes; node++) {
        const bool dead = cv_scenario_dead(scenario, node);
        needs.crashes += dead;
        needs.missed += dead;
        if (explored_node(world, node)->requests > needs.entries)
            needs.entries = explored_node(world, node)->requests;
    }
    needs.others |= world->present.unlike_checker;
    const bool links = needs.cuts && splits && world->present.cuts != splits; /* a link might be cut twice */
    needs.others |= (world->algorithm->problem != CV_ELECTION && !world->mutex) || world->nodes > MOST_CHECKED_NODES ||
                    scenario->delay.model != CV_DELAY_UNIT || scenario->lag_count || scenario->serial ||
                    scenario->alternate_count || world->views || needs.crashes > MOST_CHECKED_CRASHES ||
                    needs.recoveries > MOST_CHECKED_CRASHES || needs.suspicions > MOST_CHECKED_BUDGET ||
                    needs.cuts > MOST_CHECKED_BUDGET || needs.entries > MOST_CHECKED_BUDGET || links || splits > 2;
    return needs;
}

static void write_number(FILE *out, const char *option, uint64_t number)
{
    if (number)
        fprintf(out, "word --%s\nword %llu\n", option, (unsigned long long)number);
}

static void write_graph(FILE *out, const struct cv_group *group)
{
    const char *join = "";
    fputs("word --graph\nword edges:", out);
    for (cv_node node = 0; node < group->nodes; node++)
        for (uint64_t e = group->edges[node]; e < group->edges[node + 1]; e++)
            if (group->neighbours[e] > node) {
                fprintf(out, "%s%u-%u", join, group->ids[node], group->ids[group->neighbours[e]]);
                join = ",";
            }
    putc('\n', out);
}

/* Every voting set, as --set quorums takes them. */
static void write_quorums(FILE *out, const struct cv_group *group)
{
    fputs("word --set\nword quorums=sets:", out);
    for (cv_node node = 0; node < group->nodes; node++) {
        fprintf(out, "%s%u:", node ? "," : "", group->ids[node]);
        for (uint64_t i = group->quorums[node]; i < group->quorums[node + 1]; i++)
            fprintf(out, "%s%u", i > group->quorums[node] ? "-" : "", group->ids[group->voters[i]]);
    }
    putc('\n', out);
}

/* The scenario in the checker's words: all that chance or a file decided is spelled out. */
static void write_checked(FILE *out, const struct explored *world, const struct scenario_words *words,
                          const struct needs *needs)
{
    const struct cv_scenario *scenario = world->scenario;
    fprintf(out, "word %s\nword --ids\nword ", world->algorithm->name);
    for (cv_node node = 0; node < world->nodes; node++)
        fprintf(out, "%s%u", node ? "," : "", scenario->group.ids[node]);
    putc('\n', out);
    if (words->plan.attributes)
        fprintf(out, "word --attr\nword %s\n", words->plan.attributes);
    if (words->plan.labels)
        fprintf(out, "word --labels\nword %s\n", words->plan.labels);
    if (world->graph)
        write_graph(out, &scenario->group);
    for (uint32_t i = 0; i < words->plan.set.count; i++)
        if (strncmp(words->plan.set.word[i], "quorums=", 8) != 0)
            fprintf(out, "word --set\nword %s\n", words->plan.set.word[i]);
    if (scenario->group.quorums)
        write_quorums(out, &scenario->group);
    if (scenario->unordered)
        fputs("word --unordered\n", out);
    if (world->mutex)
        write_number(out, "entries", needs->entries ? needs->entries : 1);
    if (needs->timeouts)
        fputs("word --timeouts\nword any\n", out);
    write_number(out, "crashes", needs->crashes);
    write_number(out, "missed", needs->missed);
    write_number(out, "suspicions", needs->suspicions);
    write_number(out, "recoveries", needs->recoveries);
    write_number(out, "cuts", needs->cuts ? needs->cuts : 1); /* the explorer is always ready for cuts */
    for (cv_node node = 0; node < world->nodes; node++)
        if (cv_scenario_dead(scenario, node))
            fprintf(out, "miss %u\n", scenario->group.ids[node]);
}

static void write_step(FILE *out, const struct explored *world, const struct explored_step *step)
{
    decision_write(out, explored_type_name(step->type), step->serial != 0, &step->decision, world->scenario->group.ids);
}

/* The files that the words name, so that the story is complete. */
static void write_files(FILE *out, const struct cv_plan *plan)
{
    struct cv_plan_file files[CV_MOST_PLAN_FILES];
    const uint32_t count = cv_plan_files(plan, files);
    for (uint32_t i = 0; i < count; i++) {
        fprintf(out, "file %s\n", files[i].name);
        for (const char *line = files[i].text, *end; *line; line = *end ? end + 1 : end) {
            end = line + strcspn(line, "\n");
            fprintf(out, "line %.*s\n", (int)(end - line), line);
        }
    }
}

void replay_text_write(FILE *out, const struct explored *world, const struct scenario_words *words)
{
    const struct needs needs = needs_of(world);
    fprintf(out, FIRST_LINE "%d\n", needs.others ? 2 : 1);
    if (!needs.others)
        write_checked(out, world, words, &needs);
    for (uint32_t i = 0; needs.others && i < words->count; i++)
        fprintf(out, "word %s\n", words->words[i]);
    if (needs.others)
        write_files(out, &words->plan);
    for (uint64_t i = 0; i < world->step_count; i++) {
        const struct explored_step *step = &world->steps[i];
        if (step->type == EVENT_VIEW || (world->mutex && step->type == EVENT_START))
            fprintf(out, "%s\n", explored_type_name(step->type));
        else if (step->partition == UINT32_MAX)
            write_step(out, world, step);
        else if (needs.others)
            fprintf(out, "%s partition %u\n", explored_type_name(step->type), step->partition);
        else
            split_links(out, world, step);
    }
}

/* ---- reading ---- */

static int refuse(const struct replay_lines *lines, const char *line, const char *expected,
                  struct cv_complaint *complaint)
{
    return cv_complain(complaint, "replay: line %llu, %s: expected %s", (unsigned long long)lines->lines.number,
                       cv_brief(line).text, expected);
}

/* Is it an option of the checker that has no meaning here? Each has a value. */
static bool is_budget(const char *word)
{
    static const char *const names[] = {"--crashes", "--missed", "--suspicions", "--recoveries", "--cuts",
                                        "--cut",     "--ask",    "--timeouts",   "--start"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(word, names[i], strlen(names[i])) == 0 && strchr("=", word[strlen(names[i])]))
            return true;
    return false;
}

static bool add_word(struct json_value *list, const char *word)
{
    return json_add_text(list, NULL, word);
}

/* The checker has 3 nodes unless something else is said. */
static bool names_group(const struct json_value *list)
{
    for (const struct json_value *word = list->first; word; word = word->after)
        if (strncmp(word->text, "-n", 2) == 0 || strncmp(word->text, "--nodes", 7) == 0 ||
            strncmp(word->text, "--ids", 5) == 0)
            return true;
    return false;
}

static int read_words(struct replay_lines *lines, struct json_value *list, struct cv_complaint *complaint)
{
    bool skips = false;
    for (lines->line = text_lines_next(&lines->lines); lines->line && strncmp(lines->line, "word ", 5) == 0;
         lines->line = text_lines_next(&lines->lines)) {
        const char *word = lines->line + 5;
        if (skips) {
            skips = false;
            continue;
        }
        if (lines->version == 1 && strncmp(word, "--inside", 8) == 0)
            return refuse(lines, word, "a story that begins with nobody inside", complaint);
        if (lines->version == 1 && is_budget(word))
            skips = !strchr(word, '=');
        else if (!add_word(list, word))
            return CV_ENOMEM;
    }
    if (lines->version == 1 && !names_group(list) && (!add_word(list, "--nodes") || !add_word(list, "3")))
        return CV_ENOMEM;
    return 0;
}

/* The lines of a file that the words name become its text. */
static int read_file(struct replay_lines *lines, struct json_value *files)
{
    char *text = NULL;
    size_t bytes = 0;
    const char *name = lines->line + 5;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return CV_ENOMEM;
    while ((lines->line = text_lines_next(&lines->lines)) && strncmp(lines->line, "line ", 5) == 0)
        fprintf(out, "%s\n", lines->line + 5);
    const bool good = fclose(out) == 0 && json_add_text(files, name, text);
    free(text);
    return good ? 0 : CV_ENOMEM;
}

int replay_lines_begin(struct replay_lines *lines, const char *text, struct json_value **words,
                       struct json_value **files, struct cv_complaint *complaint)
{
    *lines = (struct replay_lines){.text = strdup(text)};
    *words = calloc(1, sizeof **words);
    *files = calloc(1, sizeof **files);
    if (!lines->text || !*words || !*files)
        return CV_ENOMEM;
    (*words)->type = JSON_LIST;
    (*files)->type = JSON_OBJECT;
    lines->lines.rest = lines->text;
    const char *line = text_lines_next(&lines->lines);
    if (line && (strcmp(line, FIRST_LINE "1") == 0 || strcmp(line, FIRST_LINE "2") == 0))
        lines->version = (uint32_t)(line[strlen(FIRST_LINE)] - '0');
    else
        return refuse(lines, line ? line : "nothing",
                      "a file of conclave check --trace, which begins \"conclave replay 1\", a trace of conclave sim, "
                      "or a recording of a live node",
                      complaint);
    int error = read_words(lines, *words, complaint);
    while (!error && lines->line && strncmp(lines->line, "file ", 5) == 0)
        error = read_file(lines, *files);
    return error;
}

void replay_lines_end(struct replay_lines *lines)
{
    free(lines->text);
    *lines = (struct replay_lines){0};
}

static bool read_decision(char *line, const struct explored *world, struct replay_decision *next)
{
    *next = (struct replay_decision){.decision = {.node = CV_NOBODY, .peer = CV_NOBODY, .sent = CV_WHOLE},
                                     .partition = UINT32_MAX};
    const char *name = strsep(&line, " ");
    while (next->type < EVENT_TYPES && strcmp(name, explored_type_name(next->type)) != 0)
        next->type++;
    if (next->type == EVENT_TYPES)
        return false;
    if (next->type == EVENT_VIEW || (world->mutex && next->type == EVENT_START))
        return !line;
    decision_find(name, &next->decision.type); /* what the checker does not know has no decision */
    if (line && strncmp(line, "partition ", 10) == 0)
        return decision_read_number(line + 10, &next->partition) && next->partition < world->scenario->partition_count;
    return decision_read(line, &world->index, &next->decision);
}

int replay_lines_next(struct replay_lines *lines, const struct explored *world, struct replay_decision *next,
                      struct cv_complaint *complaint)
{
    char *line = lines->line ? lines->line : text_lines_next(&lines->lines);
    lines->line = NULL;
    while (line && strcmp(line, "loop") == 0)
        line = text_lines_next(&lines->lines);
    if (!line)
        return 0;
    char *copy = strdup(line);
    if (!copy)
        return CV_ENOMEM;
    const int result =
        read_decision(line, world, next) ? 1 : refuse(lines, copy, "a decision, as in deliver 2 from 1", complaint);
    free(copy);
    return result;
}
