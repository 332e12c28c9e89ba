// SPDX-License-Identifier: MIT
/* Mutual exclusion along the processes' lines: a light bar while one waits, a solid one while it is inside. */
#include "show/svg/svg_bars.h"

#include <inttypes.h>

#include "core/scenario/field_text.h"
#include "show/svg/svg_arrows.h"
#include "show/svg/svg_axis.h"
#include "show/svg/svg_text.h"

#define BAR_HEIGHT 14.0

/* ---- bars ---- */

/* The x where the bar that begins with this event ends: at the event that ends it, or at the right border. */
static const struct cv_event *end_of(const struct svg *svg, const struct cv_event *begin)
{
    const struct cv_event *events = svg->history->events;
    for (const struct cv_event *event = begin + 1; event < events + svg->history->count; event++) {
        if (event->node != begin->node)
            continue;
        if (event->type == CV_EVENT_CRASH)
            return event;
        if (event->name == begin->name &&
            event->type == (begin->type == CV_EVENT_REQUEST ? CV_EVENT_ENTER : CV_EVENT_LEAVE))
            return event;
    }
    return NULL;
}

/* Bars of several critical sections lie beside each other. */
static double height_of(const struct svg *svg)
{
    const uint32_t names = svg->scenario->names > 1 ? svg->scenario->names : 1;
    const double height = svg->pitch * 0.5 / names;
    return height < 2 ? 2 : height > BAR_HEIGHT ? BAR_HEIGHT : height;
}

static double top_of(const struct svg *svg, const struct cv_event *event)
{
    const uint32_t names = svg->scenario->names > 1 ? svg->scenario->names : 1;
    return svg_line(svg, event->node) + height_of(svg) * (event->name - names / 2.0);
}

static void draw_bar(struct svg *svg, const struct cv_event *begin)
{
    const bool waits = begin->type == CV_EVENT_REQUEST;
    const struct cv_event *end = end_of(svg, begin);
    const double from = svg_axis_x(svg, begin->time), to = end ? svg_axis_x(svg, end->time) : svg->right;
    if (to <= from)
        return;
    fprintf(svg->out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"><title>%s",
            waits ? "wait" : "inside", from, top_of(svg, begin), to - from,
            height_of(svg) - (svg->scenario->names > 1 ? 1.5 : 0), cv_name(svg->scenario, begin->node).text);
    fprintf(svg->out, waits ? " waits from %" PRIu64 : " is inside from %" PRIu64, begin->time);
    if (end)
        fprintf(svg->out, " to %" PRIu64, end->time);
    else
        fputs(" on", svg->out);
    if (!waits)
        fprintf(svg->out, ", fence %" PRIu64, begin->detail);
    if (svg->scenario->names > 1)
        fprintf(svg->out, ", section %" PRIu32, begin->name);
    fputs("</title></rect>\n", svg->out);
    svg->drawn_marks[waits ? SVG_WAIT : SVG_INSIDE] = true;
}

/* ---- views ---- */

static void draw_view(struct svg *svg, const struct cv_event *event)
{
    const double x = svg_axis_x(svg, event->time), above = svg->top - svg->pitch * 0.45;
    char text[48];
    fprintf(svg->out, "<line class=\"view\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x, above, x,
            svg_line(svg, svg->scenario->group.nodes - 1) + svg->pitch * 0.55);
    snprintf(text, sizeof text, "view %" PRIu64, event->detail);
    svg_text(svg, x + 3, above - 5, "small dim", text);
}

bool svg_has_views(const struct svg *svg)
{
    return svg->scenario->views && svg->scenario->crash_count;
}

void svg_bars_draw(struct svg *svg)
{
    for (size_t i = 0; i < svg->history->count; i++) {
        const struct cv_event *event = &svg->history->events[i];
        if (event->type == CV_EVENT_VIEW)
            draw_view(svg, event);
        else if (event->type == CV_EVENT_ENTER || (event->type == CV_EVENT_REQUEST && !event->text))
            draw_bar(svg, event);
    }
}

/* Puts the fence into the bar if it fits, otherwise above its beginning. */
void svg_fences_draw(struct svg *svg)
{
    for (size_t i = 0; i < svg->history->count; i++) {
        const struct cv_event *event = &svg->history->events[i];
        char text[48];
        if (event->type != CV_EVENT_ENTER)
            continue;
        const struct cv_event *end = end_of(svg, event);
        const double x = svg_axis_x(svg, event->time), to = end ? svg_axis_x(svg, end->time) : svg->right;
        struct cv_writer writer = cv_writer(text, sizeof text);
        cv_fence_write(&writer, event->detail);
        const double width = svg_text_width(text, 11);
        const bool inside = to - x > width + 14 && height_of(svg) >= BAR_HEIGHT - 2;
        const double y = top_of(svg, event) + (inside ? height_of(svg) - 3 : -3);
        svg_text(svg, x + (inside ? 8 : 1), y, inside ? "fence" : "beside", text);
        for (unsigned letter = 0; letter * 7 <= width + 6; letter++)
            svg_take(svg, x + letter * 7, y - 4);
    }
}
