// SPDX-License-Identifier: MIT
/*
 * The x of an instant. Time is linear, unless a run mostly waits: then a long wait is shortened and the axis is broken
 * there.
 */
#include "show/svg/svg_axis.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/error.h"
#include "show/history_step.h"
#include "show/svg/svg_text.h"

#define COMFORTABLE_WIDTH 1150.0
#define COMFORTABLE_UNIT 60.0
#define SMALLEST_UNIT 16.0
#define LARGEST_UNIT 150.0
#define LONGEST_WAIT 4u /* ticks, on a broken axis */

struct svg_axis {
    uint64_t *times; /* the instants at which anything happens, rising */
    double *x;
    size_t count;
    bool broken;
    double unit;
};

static int by_value(const void *one, const void *other)
{
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return (a > b) - (a < b);
}

static bool collect(struct svg *svg, struct svg_axis *axis)
{
    const struct cv_history *history = svg->history;
    axis->times = malloc((history->count + 2) * sizeof *axis->times);
    axis->x = malloc((history->count + 2) * sizeof *axis->x);
    if (!axis->times || !axis->x)
        return false;
    size_t count = 0;
    axis->times[count++] = 0;
    axis->times[count++] = svg->run->time;
    for (size_t i = 0; i < history->count; i++)
        if (!cv_step_is_idle_timeout(history, i))
            axis->times[count++] = history->events[i].time;
    qsort(axis->times, count, sizeof *axis->times, by_value);
    for (size_t i = 0; i < count; i++)
        if (!i || axis->times[i] != axis->times[axis->count - 1])
            axis->times[axis->count++] = axis->times[i];
    return true;
}

/* Ticks as they are drawn. */
static uint64_t drawn_gap(const struct svg_axis *axis, size_t index)
{
    const uint64_t gap = axis->times[index] - axis->times[index - 1];
    return axis->broken && gap > LONGEST_WAIT ? LONGEST_WAIT : gap;
}

static double clamp(double value, double least, double most)
{
    return value < least ? least : value > most ? most : value;
}

int svg_axis_make(struct svg *svg)
{
    struct svg_axis *axis = calloc(1, sizeof *axis);
    svg->axis = axis;
    if (!axis || !collect(svg, axis))
        return CV_ENOMEM;
    const uint64_t span = axis->times[axis->count - 1];
    uint64_t drawn = 0, longest = 0;
    for (size_t i = 1; i < axis->count; i++)
        longest = axis->times[i] - axis->times[i - 1] > longest ? axis->times[i] - axis->times[i - 1] : longest;
    axis->broken = longest > 2 * LONGEST_WAIT && COMFORTABLE_WIDTH / (double)span < COMFORTABLE_UNIT;

    for (size_t i = 1; i < axis->count; i++)
        drawn += drawn_gap(axis, i);
    if (drawn > SVG_MOST_TICKS)
        return CV_EINPUT;
    axis->unit = clamp(COMFORTABLE_WIDTH / (double)(drawn ? drawn : 1), SMALLEST_UNIT, LARGEST_UNIT);
    axis->x[0] = svg->left + 26;
    for (size_t i = 1; i < axis->count; i++)
        axis->x[i] = axis->x[i - 1] + axis->unit * (double)drawn_gap(axis, i);
    svg->right = axis->x[axis->count - 1] + (svg_tells_results(svg) ? 54 : 34); /* room for marks side by side */
    return 0;
}

void svg_axis_free(struct svg *svg)
{
    if (!svg->axis)
        return;
    free(svg->axis->times);
    free(svg->axis->x);
    free(svg->axis);
    svg->axis = NULL;
}

double svg_axis_unit(const struct svg *svg)
{
    return svg->axis->unit;
}

size_t svg_axis_instants(const struct svg *svg)
{
    return svg->axis->count;
}

double svg_axis_x(const struct svg *svg, uint64_t time)
{
    const struct svg_axis *axis = svg->axis;
    size_t low = 0, high = axis->count;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        if (axis->times[middle] <= time)
            low = middle;
        else
            high = middle;
    }
    return time > axis->times[axis->count - 1] ? svg->right : axis->x[low];
}

/* Labels every tick if there is room, otherwise every 2nd, 5th, 10th, ... */
static uint64_t step_of_ticks(const struct svg_axis *axis)
{
    uint64_t step = 1;
    for (unsigned i = 0; axis->unit * (double)step < 34; i++)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

static void draw_tick(struct svg *svg, double x, uint64_t time, double bottom)
{
    char text[32];
    fprintf(svg->out, "<line class=\"grid\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x,
            svg->top - svg->pitch * 0.45, x, bottom);
    snprintf(text, sizeof text, "%" PRIu64, time);
    svg_text(svg, x, bottom + 16, "tick", text);
}

void svg_axis_draw(struct svg *svg)
{
    const struct svg_axis *axis = svg->axis;
    const double bottom = svg_line(svg, svg->scenario->group.nodes - 1) + svg->pitch * 0.55;
    const uint64_t step = step_of_ticks(axis);
    double last = -100;
    if (!axis->broken)
        for (uint64_t time = 0; time <= axis->times[axis->count - 1]; time += step)
            draw_tick(svg, axis->x[0] + axis->unit * (double)time, time, bottom);
    for (size_t i = 0; axis->broken && i < axis->count; i++) {
        if (axis->x[i] - last >= 34) {
            draw_tick(svg, axis->x[i], axis->times[i], bottom);
            last = axis->x[i];
        }
        if (i && axis->times[i] - axis->times[i - 1] > LONGEST_WAIT)
            svg_text(svg, (axis->x[i] + axis->x[i - 1]) / 2, bottom + 16, "tick", "≈");
    }
    svg_text(svg, 28, bottom + 16, "small dim", "time");
}
