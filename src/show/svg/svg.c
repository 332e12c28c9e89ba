// SPDX-License-Identifier: MIT
#include "show/svg/svg.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/error.h"
#include "show/svg/svg_arrows.h"
#include "show/svg/svg_axis.h"
#include "show/svg/svg_bars.h"
#include "show/svg/svg_legend.h"
#include "show/svg/svg_marks.h"
#include "show/svg/svg_network.h"
#include "show/svg/svg_parts.h"
#include "show/svg/svg_summary.h"
#include "show/svg/svg_text.h"

/* The more nodes, the closer their lines. */
static double pitch_of(uint32_t nodes)
{
    const double pitch = 620.0 / nodes;
    return pitch > 62 ? 62 : pitch < 26 ? 26 : pitch;
}

/* Lays out the picture; CV_EINPUT if it does not fit. */
static int lay_out(struct svg *svg)
{
    const struct cv_history *history = svg->history;
    const uint32_t nodes = svg->scenario->group.nodes;
    cv_node widest = 0;
    for (cv_node node = 0; node < nodes; node++)
        if (strlen(cv_name(svg->scenario, node).text) > strlen(cv_name(svg->scenario, widest).text))
            widest = node;
    if (history->truncated || nodes > SVG_MOST_NODES || svg->flight_count > SVG_MOST_MESSAGES)
        return CV_EINPUT;
    svg->left = 28 + svg_text_width(cv_name(svg->scenario, widest).text, SVG_PLAIN) + 22;
    svg->pitch = pitch_of(nodes);
    int error = svg_axis_make(svg);
    if (!error && svg->flight_count > SVG_FEW_MESSAGES &&
        (double)svg->flight_count / (double)svg_axis_instants(svg) > SVG_MOST_AT_ONCE)
        error = CV_EINPUT;
    const double ends = svg_tells_results(svg) ? 190 : 130; /* the result of a node, after its line */
    svg->width = svg->right + ends > 760 ? svg->right + ends : 760;
    return error;
}

static void draw_diagram(struct svg *svg)
{
    svg->top = svg_heading(svg) + (svg->scenario->partition_count || svg_has_views(svg) ? 44 : 28);
    svg_axis_draw(svg);
    svg_partitions_draw(svg);
    svg_lines_draw(svg);
    svg_bars_draw(svg);
    svg_arrows_draw(svg);
    svg_fences_draw(svg);
    svg_states_draw(svg);
    svg_marks_draw(svg);
    svg_labels_draw(svg);
    double y = svg_line(svg, svg->scenario->group.nodes - 1) + svg->pitch * 0.55 + 52;
    y = svg_legend_draw(svg, y);
    svg->height = svg_network_draw(svg, y + 10) + 12;
}

/* The size is written first but known last, so the body is made in memory. */
static int draw(struct svg *svg, FILE *out)
{
    char *body = NULL;
    size_t size = 0;
    svg->out = open_memstream(&body, &size);
    if (!svg->out)
        return CV_ENOMEM;
    int error = lay_out(svg);
    if (!error)
        draw_diagram(svg);
    else if (error == CV_EINPUT)
        svg_summary_draw(svg);
    error = error == CV_ENOMEM || svg->out_of_memory ? CV_ENOMEM : 0;
    if (fclose(svg->out) != 0)
        error = CV_ENOMEM;
    if (!error) {
        svg_open(svg, out);
        fwrite(body, 1, size, out);
        fputs("</svg>\n", out);
    }
    free(body);
    return error;
}

int cv_svg_write(FILE *out, const struct cv_run *run, const struct cv_judgement *judgement,
                 const struct cv_history *history, bool states)
{
    struct svg svg = {
        .run = run, .judgement = judgement, .scenario = run->scenario, .history = history, .states = states};
    int error = cv_content_learn(&svg.content, run->scenario, history);
    if (!error) {
        svg.flights = cv_history_flights(history, &svg.flight_count);
        error = svg.flights ? draw(&svg, out) : CV_ENOMEM;
    }
    svg_axis_free(&svg);
    cv_content_free(&svg.content);
    free(svg.flights);
    free(svg.taken);
    return error;
}
