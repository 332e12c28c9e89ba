// SPDX-License-Identifier: MIT
#include "cli/study/compare_tasks.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/compare_play.h"
#include "cli/study/job.h"
#include "cli/study/sweep.h"

int compare_add_task(struct compare_tasks *tasks, const struct compare_task *task)
{
    if (tasks->count == tasks->room) {
        const size_t room = tasks->room ? tasks->room * 2 : 64;
        struct compare_task *list = realloc(tasks->list, room * sizeof *list);
        if (!list)
            return CV_ENOMEM;
        tasks->list = list;
        tasks->room = room;
    }
    tasks->list[tasks->count++] = *task;
    return 0;
}

/* ---- rows as bytes ---- */

/* Puts the row as it is, and its texts after it: their addresses mean nothing elsewhere. */
static void put_row(struct sweep_bytes *bytes, const struct cv_measurement *row)
{
    sweep_put(bytes, row, sizeof *row);
    sweep_put_text(bytes, row->algorithm);
    sweep_put_text(bytes, row->load);
    sweep_put_text(bytes, row->quantity);
    sweep_put_text(bytes, row->formula);
    sweep_put_text(bytes, row->where);
    sweep_put_text(bytes, row->remark);
    sweep_put_text(bytes, row->command);
}

static char *own_copy(const char *text)
{
    char *copy = text ? strdup(text) : NULL;
    if (text && !copy)
        command_out_of_memory();
    return copy;
}

static bool get_row(struct sweep_reader *reader, struct cv_comparison *comparison)
{
    struct cv_measurement *row = compare_add_row(comparison);
    if (!row)
        return false;
    sweep_get(reader, row, sizeof *row);
    row->algorithm = sweep_get_text(reader);
    row->load = sweep_get_text(reader);
    row->quantity = sweep_get_text(reader);
    row->formula = sweep_get_text(reader);
    row->own_formula = NULL;
    row->where = sweep_get_text(reader);
    row->remark = sweep_get_text(reader);
    row->command = own_copy(sweep_get_text(reader));
    return true;
}

static void put_demonstration(struct sweep_bytes *bytes, const struct cv_demonstration *it)
{
    sweep_put(bytes, it, sizeof *it);
    sweep_put_text(bytes, it->problem);
    sweep_put_text(bytes, it->algorithm);
    sweep_put_text(bytes, it->circumstance);
    sweep_put_text(bytes, it->command);
}

static bool get_demonstration(struct sweep_reader *reader, struct cv_comparison *comparison)
{
    struct cv_demonstration *it = compare_add_demonstration(comparison);
    if (!it)
        return false;
    sweep_get(reader, it, sizeof *it);
    it->problem = sweep_get_text(reader);
    it->algorithm = sweep_get_text(reader);
    it->circumstance = sweep_get_text(reader);
    it->command = own_copy(sweep_get_text(reader));
    return true;
}

/* ---- the tasks ---- */

struct measuring {
    struct cv_comparison *comparison;
    const struct compare_tasks *tasks;
    struct cv_complaint *complaint;
    int error;
};

static void compute(void *context, uint64_t task, const volatile sig_atomic_t *halted, struct sweep_bytes *bytes)
{
    const struct measuring *measuring = context;
    const struct compare_task *it = &measuring->tasks->list[task];
    struct cv_complaint complaint = {{0}};
    struct cv_comparison part = {.problem = measuring->comparison->problem,
                                 .seed = measuring->comparison->seed,
                                 .sizes = measuring->comparison->sizes,
                                 .halted = halted};
    const int error = it->measure(&part, it, &complaint);
    sweep_put_number(bytes, (uint64_t)(int64_t)error);
    sweep_put_text(bytes, complaint.text);
    sweep_put_number(bytes, error ? 0 : part.row_count);
    for (size_t i = 0; i < part.row_count && !error; i++)
        put_row(bytes, &part.rows[i]);
    sweep_put_number(bytes, error ? 0 : part.demonstration_count);
    for (size_t i = 0; i < part.demonstration_count && !error; i++)
        put_demonstration(bytes, &part.demonstrations[i]);
    compare_free(&part);
}

/* The texts of the rows stay where they are, so the comparison keeps the bytes. */
static bool keep(struct cv_comparison *comparison, struct sweep_reader *result)
{
    struct cv_kept_bytes *kept = malloc(sizeof *kept + result->left);
    if (!kept)
        return false;
    memcpy(kept->bytes, result->at, result->left);
    kept->next = comparison->kept;
    comparison->kept = kept;
    result->at = kept->bytes;
    return true;
}

static bool take(void *context, uint64_t task, struct sweep_reader *result)
{
    struct measuring *measuring = context;
    (void)task;
    if (!keep(measuring->comparison, result)) {
        measuring->error = CV_ENOMEM;
        return false;
    }
    measuring->error = (int)(int64_t)sweep_get_number(result);
    snprintf(measuring->complaint->text, sizeof measuring->complaint->text, "%s", sweep_get_text(result));
    for (uint64_t left = sweep_get_number(result); left && !measuring->error; left--)
        measuring->error = get_row(result, measuring->comparison) ? 0 : CV_ENOMEM;
    for (uint64_t left = measuring->error ? 0 : sweep_get_number(result); left && !measuring->error; left--)
        measuring->error = get_demonstration(result, measuring->comparison) ? 0 : CV_ENOMEM;
    return !measuring->error;
}

int compare_measure(struct cv_comparison *comparison, const struct compare_tasks *tasks, uint32_t threads,
                    struct cv_ranks *ranks, struct cv_complaint *complaint)
{
    struct measuring measuring = {.comparison = comparison, .tasks = tasks, .complaint = complaint};
    const struct sweep sweep = {.count = tasks->count,
                                .threads = threads,
                                .unit = "measurements",
                                .context = &measuring,
                                .compute = compute,
                                .take = take};
    const int error = sweep_run(&sweep, ranks);
    if (error && !job_tells(ranks))
        job_fail(ranks, error);
    return error ? error : measuring.error ? measuring.error : command_interrupted ? CV_EINTERRUPTED : 0;
}
