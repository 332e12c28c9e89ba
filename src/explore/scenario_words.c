// SPDX-License-Identifier: MIT
/*
 * The options that say what is run, in the words of `conclave sim`. Its options that say what is shown have no meaning
 * here; tests/explore.py compares both tables.
 */
#include "explore/scenario_words.h"

#include <stdlib.h>
#include <string.h>

#include "algorithm/registry.h"
#include "core/parse.h"

enum word_kind { WORD_TEXT, WORD_LIST, WORD_SWITCH, WORD_SEED };

struct word_row {
    const char *name;
    enum word_kind kind;
    size_t offset; /* in the plan */
};

#define PLAN(member) offsetof(struct cv_plan, member)

static const struct word_row rows[] = {
    {"nodes", WORD_TEXT, PLAN(nodes)},
    {"ids", WORD_TEXT, PLAN(ids)},
    {"attr", WORD_TEXT, PLAN(attributes)},
    {"labels", WORD_TEXT, PLAN(labels)},
    {"start", WORD_TEXT, PLAN(start)},
    {"graph", WORD_TEXT, PLAN(graph)},
    {"set", WORD_LIST, PLAN(set)},
    {"request", WORD_LIST, PLAN(request)},
    {"entries", WORD_TEXT, PLAN(entries)},
    {"hold", WORD_TEXT, PLAN(hold)},
    {"think", WORD_TEXT, PLAN(think)},
    {"names", WORD_TEXT, PLAN(names)},
    {"views", WORD_TEXT, PLAN(views)},
    {"seed", WORD_SEED, 0},
    {"delay", WORD_TEXT, PLAN(delay)},
    {"lag", WORD_LIST, PLAN(lag)},
    {"loss", WORD_TEXT, PLAN(loss)},
    {"duplicate", WORD_TEXT, PLAN(duplicate)},
    {"reorder", WORD_SWITCH, PLAN(reorder)},
    {"unordered", WORD_SWITCH, PLAN(unordered)},
    {"serial", WORD_SWITCH, PLAN(serial)},
#define FAULT(name, list, list_count, argument, text) {#name, WORD_LIST, PLAN(name)},
    CV_FAULTS(FAULT)
#undef FAULT
        {"detect", WORD_TEXT, PLAN(detect)},
    {"until", WORD_TEXT, PLAN(until)},
};

static int find_built_in(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    *algorithm = cv_algorithm_find(name);
    return *algorithm ? 0
                      : cv_complain(complaint, "%s: no such algorithm; expected one of those that are built in",
                                    cv_brief(name).text);
}

static char *read_file(void *context, const char *option, const char *path, struct cv_complaint *complaint)
{
    const struct scenario_words *words = context;
    const char *content = json_text(words->sources->files, path);
    if (content)
        return strdup(content);
    if (words->sources->read)
        return words->sources->read(NULL, option, path, complaint);
    cv_complain(complaint, "%s %s: no such file; expected its content among the files", option, cv_brief(path).text);
    return NULL;
}

/* The row of an option, and where its value begins if it stands in the same word. NULL: there is no such option. */
static const struct word_row *find_row(const char *word, const char **value)
{
    const char *name = word + 2;
    const size_t length = strcspn(name, "=");
    *value = name[length] ? name + length + 1 : NULL;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0)
            return &rows[i];
    return NULL;
}

static int take_value(struct scenario_words *words, const struct word_row *row, const char *value,
                      struct cv_complaint *complaint)
{
    void *field = (char *)&words->plan + row->offset;
    if (row->kind == WORD_LIST)
        return cv_words_add(field, value);
    if (row->kind == WORD_SEED)
        return cv_parse_number(cv_text(value), UINT64_MAX, &words->plan.seed)
                   ? 0
                   : cv_complain(complaint, "--seed %s: expected a number", cv_brief(value).text);
    if (*(const char **)field)
        return cv_complain(complaint, "--%s: expected only once", row->name);
    *(const char **)field = value;
    return 0;
}

/* Reads the word at *at and its value; *at becomes the last of them. */
static int take_option(struct scenario_words *words, uint32_t *at, struct cv_complaint *complaint)
{
    static const struct word_row app = {"app", WORD_TEXT, 0}, election = {"election", WORD_TEXT, 0};
    const char *word = words->words[*at], *value = NULL;
    const bool letter = strncmp(word, "-n", 2) == 0;
    const struct word_row *row = NULL;
    if (letter) {
        row = &rows[0];
        value = word[2] ? word + 2 : NULL;
    } else if (strncmp(word, "--", 2) == 0) {
        row = find_row(word, &value);
        if (strncmp(word, "--app", 5) == 0 && strchr("=", word[5]))
            row = &app;
        if (strncmp(word, "--election", 10) == 0 && strchr("=", word[10]))
            row = &election;
    }
    if (!row)
        return cv_complain(complaint, "%s: no such option here", cv_brief(word).text);
    if (row->kind == WORD_SWITCH) {
        *(bool *)(void *)((char *)&words->plan + row->offset) = true;
        return value ? cv_complain(complaint, "--%s: expected without a value", row->name) : 0;
    }
    if (!value && *at + 1 < words->count)
        value = words->words[++*at];
    if (!value)
        return cv_complain(complaint, "--%s: expected a value after it", row->name);
    if (row == &app)
        words->inputs.app = value;
    else if (row == &election)
        words->inputs.election = value;
    else
        return take_value(words, row, value, complaint);
    return 0;
}

static int keep_words(struct scenario_words *words, const struct json_value *list, struct cv_complaint *complaint)
{
    words->words = calloc(json_count(list) + 1, sizeof *words->words);
    if (!words->words)
        return CV_ENOMEM;
    for (const struct json_value *word = list ? list->first : NULL; word; word = word->after) {
        if (word->type != JSON_TEXT)
            return cv_complain(complaint, "words: expected a list of texts");
        words->words[words->count] = strdup(word->text);
        if (!words->words[words->count++])
            return CV_ENOMEM;
    }
    return 0;
}

static int read_words(struct scenario_words *words, cv_find_algorithm *find, struct cv_complaint *complaint)
{
    const char *algorithm = NULL;
    for (uint32_t i = 0; i < words->count; i++) {
        const bool option = words->words[i][0] == '-' && words->words[i][1];
        if (!option && algorithm)
            return cv_complain(complaint, "%s: expected one algorithm at a time", cv_brief(words->words[i]).text);
        const int error = option ? take_option(words, &i, complaint) : 0;
        if (error)
            return error;
        if (!option)
            algorithm = words->words[i];
    }
    if (!algorithm)
        return cv_complain(complaint, "explore: expected an algorithm");
    return find(algorithm, &words->plan.algorithm, complaint);
}

/* What the simulator plays and the explorer does not. */
static int refuse_others(const struct scenario_words *words, struct cv_complaint *complaint)
{
    const struct cv_plan *plan = &words->plan;
    static const char channel[] = "the explorer's channels are reliable; lose or double a message yourself where you "
                                  "want it";
    if (words->scenario.names > 1)
        return cv_complain(complaint, "--names %s: expected 1; the explorer shows one critical section",
                           cv_brief(plan->names).text);
    if (words->scenario.loss_32)
        return cv_complain(complaint, "--loss %s: expected 0; %s", cv_brief(plan->loss).text, channel);
    if (words->scenario.duplicate_32)
        return cv_complain(complaint, "--duplicate %s: expected 0; %s", cv_brief(plan->duplicate).text, channel);
    if (words->scenario.reorder)
        return cv_complain(complaint, "--reorder: expected none; the explorer's channels keep the order of packets; "
                                      "--unordered lets messages overtake each other");
    return 0;
}

int scenario_words_read(struct scenario_words *words, const struct json_value *list, const struct word_sources *sources,
                        struct cv_complaint *complaint)
{
    *words = (struct scenario_words){.plan.seed = 1, .sources = sources};
    words->inputs.find = sources->find ? sources->find : find_built_in;
    words->inputs.read = read_file;
    words->inputs.context = words;
    int error = keep_words(words, list, complaint);
    if (!error)
        error = read_words(words, words->inputs.find, complaint);
    if (!error)
        error = cv_plan_read_inputs(&words->plan, &words->inputs, complaint);
    if (!error)
        error = cv_plan_build(&words->plan, &words->scenario, complaint);
    if (!error)
        error = refuse_others(words, complaint);
    words->sources = NULL;
    return error;
}

void scenario_words_free(struct scenario_words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        free(words->words[i]);
    free(words->words);
    cv_scenario_free(&words->scenario);
    cv_plan_inputs_free(&words->inputs);
    cv_plan_free(&words->plan);
    *words = (struct scenario_words){0};
}
