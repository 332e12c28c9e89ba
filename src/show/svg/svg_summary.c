// SPDX-License-Identifier: MIT
/* Draws a summary of a run that is too large: how many messages of each kind, and when. */
#include "show/svg/svg_summary.h"

#include <inttypes.h>

#include "show/svg/svg_text.h"

#define CHART_WIDTH 900.0
#define CHART_HEIGHT 260.0

static double draw_kinds(struct svg *svg, double y)
{
    const struct cv_kind *kinds = svg->scenario->algorithm->kinds;
    double names = 60;
    uint64_t most = 1;
    for (uint32_t kind = 0; kinds[kind].name; kind++) {
        const double width = svg_text_width(kinds[kind].name, SVG_PLAIN);
        names = width > names ? width : names;
        most = svg->run->count[kind] > most ? svg->run->count[kind] : most;
    }
    svg_text(svg, 28, y, "", "Messages by kind");
    for (uint32_t kind = 0; kinds[kind].name; kind++) {
        const double length = (CHART_WIDTH - names - 130) * (double)svg->run->count[kind] / (double)most;
        char text[32];
        y += 28;
        snprintf(text, sizeof text, "%" PRIu64, svg->run->count[kind]);
        svg_text(svg, 28, y, "dim", kinds[kind].name);
        fprintf(svg->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"16\" rx=\"3\" fill=\"%s\"/>\n",
                40 + names, y - 12, length > 1 ? length : 1, svg_colour(kind));
        svg_text(svg, 50 + names + length, y + 1, "", text);
    }
    return y + 50;
}

static uint64_t sent_in(const struct svg *svg, size_t bin)
{
    uint64_t sent = 0;
    for (uint32_t kind = 0; svg->scenario->algorithm->kinds[kind].name; kind++)
        sent += svg->history->sent[kind][bin];
    return sent;
}

/* A column for each span of time, with the kinds stacked. */
static double draw_times(struct svg *svg, double y)
{
    const struct cv_history *history = svg->history;
    const size_t bins = (size_t)(history->last / history->span) + 1;
    const double step = CHART_WIDTH / (double)bins;
    uint64_t most = 1;
    char text[96];
    for (size_t bin = 0; bin < bins; bin++)
        most = sent_in(svg, bin) > most ? sent_in(svg, bin) : most;
    snprintf(text, sizeof text, "Messages over time, %" PRIu64 " tick%s a column, at most %" PRIu64, history->span,
             history->span == 1 ? "" : "s", most);
    svg_text(svg, 28, y, "", text);
    const double ground = y + 20 + CHART_HEIGHT;
    for (size_t bin = 0; bin < bins; bin++) {
        double top = ground;
        for (uint32_t kind = 0; svg->scenario->algorithm->kinds[kind].name; kind++) {
            const double height = CHART_HEIGHT * (double)history->sent[kind][bin] / (double)most;
            if (history->sent[kind][bin] == 0)
                continue;
            top -= height;
            fprintf(svg->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n",
                    28 + step * (double)bin, top, step > 3 ? step - 1.5 : step, height > 0.5 ? height : 0.5,
                    svg_colour(kind));
        }
    }
    fprintf(svg->out, "<line class=\"life\" x1=\"28\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", ground,
            28 + CHART_WIDTH, ground);
    for (size_t bin = 0; bin <= bins; bin += bins > 8 ? bins / 8 : 1) {
        snprintf(text, sizeof text, "%" PRIu64, bin * history->span);
        svg_text(svg, 28 + step * (double)bin, ground + 17, "tick", text);
    }
    return ground + 34;
}

void svg_summary_draw(struct svg *svg)
{
    char text[96];
    svg->width = CHART_WIDTH + 76;
    const double y = svg_heading(svg) + 26;
    snprintf(text, sizeof text, "Too large to draw message by message: %" PRIu32 " nodes, %" PRIu64 " messages.",
             svg->scenario->group.nodes, svg->run->total);
    svg_text(svg, 28, y, "dim", text);
    svg->height = draw_times(svg, draw_kinds(svg, y + 36)) + 10;
}
