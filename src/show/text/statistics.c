// SPDX-License-Identifier: MIT
#include "show/text/statistics.h"

#include <math.h>
#include <stdlib.h>

#include "core/error.h"
#include "show/json.h"

int cv_sample_add(struct cv_sample *sample, uint64_t value)
{
    if (sample->count == sample->capacity) {
        const uint64_t capacity = sample->capacity ? sample->capacity * 2 : 256;
        uint64_t *values = realloc(sample->values, capacity * sizeof *values);
        if (!values)
            return CV_ENOMEM;
        sample->values = values;
        sample->capacity = capacity;
    }
    sample->values[sample->count++] = value;
    return 0;
}

void cv_sample_free(struct cv_sample *sample)
{
    free(sample->values);
    *sample = (struct cv_sample){0};
}

static int ascending(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

/* Student's t for 95 %, two-sided: from the table up to 10 degrees of freedom, then by Cornish and Fisher's series. */
static double student_t(uint64_t freedom)
{
    static const double table[] = {0, 12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228};
    if (freedom < sizeof table / sizeof *table)
        return table[freedom];
    const double z = 1.959964, v = (double)freedom;
    return z + (z * z * z + z) / (4 * v) + (5 * pow(z, 5) + 16 * z * z * z + 3 * z) / (96 * v * v);
}

/* Sorts the sample. */
static struct cv_summary summarize(struct cv_sample *sample)
{
    struct cv_summary summary = {.count = sample->count};
    if (!sample->count)
        return summary;
    qsort(sample->values, sample->count, sizeof *sample->values, ascending);
    summary.least = sample->values[0];
    summary.median = sample->values[(sample->count - 1) / 2];
    summary.most = sample->values[sample->count - 1];
    double sum = 0, squares = 0;
    for (uint64_t i = 0; i < sample->count; i++)
        sum += (double)sample->values[i];
    summary.mean = sum / (double)sample->count;
    for (uint64_t i = 0; i < sample->count; i++) {
        const double off = (double)sample->values[i] - summary.mean;
        squares += off * off;
    }
    summary.deviation = sample->count > 1 ? sqrt(squares / (double)(sample->count - 1)) : 0;
    const double error =
        sample->count > 1 ? student_t(sample->count - 1) * summary.deviation / sqrt((double)sample->count) : 0;
    summary.low = summary.mean - error;
    summary.high = summary.mean + error;
    return summary;
}

static void text_summary(FILE *out, const char *name, struct cv_sample *sample)
{
    const struct cv_summary it = summarize(sample);
    if (it.count)
        fprintf(out, "%-9s mean %.6g (95 %%: %.6g to %.6g), deviation %.4g, least %llu, median %llu, most %llu\n", name,
                it.mean, it.low, it.high, it.deviation, (unsigned long long)it.least, (unsigned long long)it.median,
                (unsigned long long)it.most);
}

void cv_survey_text(FILE *out, struct cv_survey *survey)
{
    fprintf(out, "%s, %u node%s, %llu run%s from seed %llu on\n", survey->algorithm->title, survey->nodes,
            survey->nodes == 1 ? "" : "s", (unsigned long long)survey->runs, survey->runs == 1 ? "" : "s",
            (unsigned long long)survey->seed);
    text_summary(out, "messages", &survey->messages);
    text_summary(out, "time", &survey->time);
    text_summary(out, "decided", &survey->decided);
    fprintf(out, "verdicts  %llu held, %llu violated, %llu unfinished\n", (unsigned long long)survey->verdicts[CV_HELD],
            (unsigned long long)survey->verdicts[CV_VIOLATED], (unsigned long long)survey->verdicts[CV_UNFINISHED]);
    fprintf(out, "worst     seed %llu: %s, %llu messages%s%s\n", (unsigned long long)survey->worst_seed,
            cv_verdict_name(survey->worst_verdict), (unsigned long long)survey->worst_messages,
            *survey->worst_reason ? "; " : "", survey->worst_reason);
    if (survey->timed)
        fprintf(out, "seconds   %.3f\n", survey->seconds);
    fprintf(out, "again     %s\n", survey->worst_command);
}

static void json_summary(struct cv_json *json, const char *key, struct cv_sample *sample)
{
    const struct cv_summary it = summarize(sample);
    if (!it.count) {
        cv_json_null(json, key);
        return;
    }
    cv_json_open(json, key, '{');
    cv_json_count(json, "count", it.count);
    cv_json_real(json, "mean", it.mean);
    cv_json_real(json, "deviation", it.deviation);
    cv_json_open(json, "confidence95", '[');
    cv_json_real(json, NULL, it.low);
    cv_json_real(json, NULL, it.high);
    cv_json_close(json, ']');
    cv_json_count(json, "min", it.least);
    cv_json_count(json, "median", it.median);
    cv_json_count(json, "max", it.most);
    cv_json_close(json, '}');
}

void cv_survey_json(FILE *out, struct cv_survey *survey)
{
    struct cv_json json = {.out = out};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_text(&json, "algorithm", survey->algorithm->name);
    cv_json_count(&json, "nodes", survey->nodes);
    cv_json_count(&json, "seed", survey->seed);
    cv_json_count(&json, "runs", survey->runs);
    cv_json_text(&json, "verdict", cv_verdict_name(survey->worst_verdict));
    cv_json_open(&json, "verdicts", '{');
    for (enum cv_verdict verdict = CV_HELD; verdict <= CV_UNFINISHED; verdict++)
        cv_json_count(&json, cv_verdict_name(verdict), survey->verdicts[verdict]);
    cv_json_close(&json, '}');
    json_summary(&json, "messages", &survey->messages);
    json_summary(&json, "time", &survey->time);
    json_summary(&json, "decided", &survey->decided);
    cv_json_open(&json, "worst", '{');
    cv_json_count(&json, "seed", survey->worst_seed);
    cv_json_text(&json, "verdict", cv_verdict_name(survey->worst_verdict));
    cv_json_text(&json, "reason", survey->worst_reason);
    cv_json_count(&json, "messages", survey->worst_messages);
    cv_json_text(&json, "command", survey->worst_command);
    cv_json_close(&json, '}');
    if (survey->timed)
        cv_json_real(&json, "seconds", survey->seconds);
    cv_json_close(&json, '}');
    putc('\n', out);
}
