// SPDX-License-Identifier: MIT
/* Reads a scenario from the words of `conclave sim`. */
#ifndef CONCLAVE_EXPLORE_SCENARIO_WORDS_H
#define CONCLAVE_EXPLORE_SCENARIO_WORDS_H

#include "core/scenario/plan_inputs.h"
#include "explore/json_reader.h"

/* Where words have their algorithms and files from. */
struct word_sources {
    cv_find_algorithm *find;        /* NULL: only the built-in algorithms */
    const struct json_value *files; /* {"NAME":"content"}, or NULL */
    cv_read_file *read;             /* reads a file that is not among them; or NULL */
};

/* A scenario and the words that it was read from. */
struct scenario_words {
    char **words; /* its own */
    uint32_t count;
    struct cv_plan plan;
    struct cv_plan_inputs inputs;
    const struct word_sources *sources; /* while it is read */
    struct cv_scenario scenario;
};

/* Reads them. 0, CV_ENOMEM, CV_EFILE or CV_EINPUT with a complaint. Free in any case. */
int scenario_words_read(struct scenario_words *words, const struct json_value *list, const struct word_sources *sources,
                        struct cv_complaint *complaint);
void scenario_words_free(struct scenario_words *words);

#endif
