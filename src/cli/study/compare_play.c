// SPDX-License-Identifier: MIT
#include "cli/study/compare_play.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/parse.h"

/* ---- a run ---- */

/* `first` is the first word; NULL: the line has all. */
static int cut(struct compare_play *play, const char *first)
{
    char *rest = NULL;
    int count = 1;
    static char name[] = "sim";
    play->words[0] = name;
    if (first)
        play->words[count++] = play->first = strdup(first);
    if (!play->words[count - 1])
        return 0;
    for (char *word = strtok_r(play->line, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
        if (count < COMPARE_MOST_WORDS - 1)
            play->words[count++] = word;
    return count;
}

static bool is_halted(const struct cv_comparison *comparison)
{
    return __atomic_load_n(comparison->halted, __ATOMIC_RELAXED);
}

/* getopt() and what loads algorithms know one thread only. */
static int read_words(struct compare_play *play, int count, struct cv_complaint *complaint)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    const int error = sim_read(count, play->words, &play->request, complaint);
    pthread_mutex_unlock(&lock);
    return error;
}

static int play_words(const struct cv_comparison *comparison, struct compare_play *play, const char *first,
                      const char *line, struct cv_complaint *complaint)
{
    const struct cv_sim_options options = {.interrupted = comparison->halted};
    *play = (struct compare_play){0};
    if (is_halted(comparison))
        return CV_EINTERRUPTED;
    play->line = strdup(line);
    if (!play->line)
        return CV_ENOMEM;
    const int count = cut(play, first);
    int error = count ? read_words(play, count, complaint) : CV_ENOMEM;
    if (!error)
        error = sim_simulate(&play->request.plan, &options, &play->result, complaint);
    return !error && is_halted(comparison) ? CV_EINTERRUPTED : error;
}

int compare_play(const struct cv_comparison *comparison, struct compare_play *play, const char *line,
                 struct cv_complaint *complaint)
{
    return play_words(comparison, play, NULL, line, complaint);
}

/* Costs are compared in the table, so another cost than its table says is no reason to end here. */
int compare_play_own(const struct cv_comparison *comparison, struct compare_play *play, const char *path,
                     const char *line, struct cv_complaint *complaint)
{
    const int error = play_words(comparison, play, path, line, complaint);
    for (uint32_t i = 0; !error && i < play->result.judgement.finding_count; i++) {
        const struct cv_finding *it = &play->result.judgement.findings[i];
        if (it->verdict == CV_VIOLATED && strncmp(it->name, "textbook-", 9) != 0)
            return cv_complain(complaint, "--with %s: expected an algorithm that keeps its promises; %s: %s; %s",
                               cv_brief(path).text, it->name, it->detail, play->request.command);
    }
    return error;
}

void compare_play_free(struct compare_play *play)
{
    sim_result_free(&play->result);
    sim_free(&play->request);
    free(play->line);
    free(play->first);
    *play = (struct compare_play){0};
}

/* ---- what is found ---- */

static void *grown(void *list, size_t count, size_t *room, size_t size)
{
    if (count < *room)
        return list;
    const size_t wanted = *room ? *room * 2 : 64;
    void *larger = realloc(list, wanted * size);
    if (larger)
        *room = wanted;
    return larger;
}

struct cv_measurement *compare_add_row(struct cv_comparison *comparison)
{
    struct cv_measurement *rows =
        grown(comparison->rows, comparison->row_count, &comparison->row_room, sizeof *comparison->rows);
    if (!rows)
        return NULL;
    comparison->rows = rows;
    rows[comparison->row_count] = (struct cv_measurement){0};
    return &rows[comparison->row_count++];
}

struct cv_demonstration *compare_add_demonstration(struct cv_comparison *comparison)
{
    struct cv_demonstration *list = grown(comparison->demonstrations, comparison->demonstration_count,
                                          &comparison->demonstration_room, sizeof *comparison->demonstrations);
    if (!list)
        return NULL;
    comparison->demonstrations = list;
    list[comparison->demonstration_count] = (struct cv_demonstration){0};
    return &list[comparison->demonstration_count++];
}

void compare_free(struct cv_comparison *comparison)
{
    for (size_t i = 0; i < comparison->row_count; i++) {
        free(comparison->rows[i].command);
        free(comparison->rows[i].own_formula);
    }
    for (size_t i = 0; i < comparison->demonstration_count; i++)
        free(comparison->demonstrations[i].command);
    free(comparison->rows);
    free(comparison->demonstrations);
    while (comparison->kept) {
        struct cv_kept_bytes *next = comparison->kept->next;
        free(comparison->kept);
        comparison->kept = next;
    }
}

bool compare_agrees(const struct cv_measurement *row)
{
    const double slack = 1e-9 * (1 + fabs(row->expected)); /* averages are quotients */
    return row->known &&
           (row->exact ? fabs(row->measured - row->expected) <= slack : row->measured <= row->expected + slack);
}
