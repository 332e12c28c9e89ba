// SPDX-License-Identifier: MIT
#include "stories.h"

#include <stdlib.h>
#include <string.h>

#define USUAL_FAILURES 3u /* told before it gives up */

struct telling telling_read(int argc, char **argv, uint64_t usual_count)
{
    struct telling telling = {.count = usual_count, .seed = 1, .most_failures = USUAL_FAILURES};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--stories") == 0 && i + 1 < argc)
            telling.count = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            telling.seed = strtoull(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--failures") == 0 && i + 1 < argc)
            telling.most_failures = strtoull(argv[++i], NULL, 10);
        else if (strchr(argv[i], '/'))
            telling.file = argv[i];
        else
            telling.name = argv[i];
    }
    return telling;
}

const char *telling_algorithm(const struct telling *telling)
{
    return telling->file ? telling->file : telling->name;
}

int words_add_to(struct cv_words *to, const struct words *words)
{
    int error = 0;
    for (uint32_t i = 0; i < words->count && !error; i++)
        error = cv_words_add(to, words->word[i]);
    return error;
}

void words_print_option(FILE *out, const char *option, const char *value)
{
    if (value && *value)
        fprintf(out, " %s %s", option, value);
}

void words_print(FILE *out, const char *option, const struct words *words)
{
    for (uint32_t i = 0; i < words->count; i++)
        words_print_option(out, option, words->word[i]);
}

int play_run(struct play *play, struct cv_plan *plan, struct cv_observer observer, struct cv_complaint *complaint)
{
    const struct cv_sim_options options = {.observer = observer};
    int error = cv_plan_build(plan, &play->scenario, complaint);
    if (!error)
        error = cv_sim_new(&play->sim, &play->scenario, &options);
    if (!error)
        error = cv_sim_run(play->sim, &play->run);
    if (!error)
        error = cv_judge(&play->run, &play->judgement, complaint);
    cv_plan_free(plan);
    return error;
}

void play_free(struct play *play)
{
    cv_sim_free(play->sim);
    cv_scenario_free(&play->scenario);
}

const struct cv_finding *play_finding(const struct play *play, const char *property)
{
    for (uint32_t i = 0; i < play->judgement.finding_count; i++)
        if (strcmp(play->judgement.findings[i].name, property) == 0)
            return &play->judgement.findings[i];
    return NULL;
}
