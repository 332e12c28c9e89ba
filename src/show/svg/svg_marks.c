// SPDX-License-Identifier: MIT
/* Draws the lines of the processes and what happens on them. */
#include "show/svg/svg_marks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "show/history_step.h"
#include "show/phrase.h"
#include "show/svg/svg_arrows.h"
#include "show/svg/svg_axis.h"
#include "show/svg/svg_text.h"

#define MARK_WIDTH 14.0

/* ---- partitions ---- */

static void draw_partition(struct svg *svg, const struct cv_partition *partition)
{
    const uint32_t nodes = svg->scenario->group.nodes;
    const double begin = svg_axis_x(svg, partition->begin), end = svg_axis_x(svg, partition->end);
    const double above = svg->top - svg->pitch * 0.45, height = svg->pitch * (nodes - 0.1);
    char *text = NULL;
    size_t size;
    fprintf(svg->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#b3261e\" fill-opacity=\".06\"/>\n",
            begin, above, end - begin, height);
    for (cv_node node = 0; node + 1 < nodes; node++) {
        const double y = svg_line(svg, node) + svg->pitch / 2;
        if (partition->side[node] != partition->side[node + 1])
            fprintf(svg->out, "<line class=\"cut\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", begin, y, end,
                    y);
    }
    FILE *words = open_memstream(&text, &size);
    if (!words) {
        svg->out_of_memory = true;
        return;
    }
    fputs("split: ", words);
    cv_phrase_sides(words, svg->scenario, partition);
    fclose(words);
    svg_text(svg, begin + 2, above - 5, "small dim", text);
    free(text);
}

void svg_partitions_draw(struct svg *svg)
{
    for (uint32_t i = 0; i < svg->scenario->partition_count; i++)
        if (svg->scenario->partitions[i].begin <= svg->history->last)
            draw_partition(svg, &svg->scenario->partitions[i]);
}

/* ---- lines ---- */

static void draw_piece(struct svg *svg, double begin, double end, double y, bool down)
{
    if (end > begin)
        fprintf(svg->out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
                down ? "dead" : "life", begin, y, end, y);
}

static void tell_entries(char *text, size_t room, const struct cv_history_node *it)
{
    if (it->inside || it->waiting)
        snprintf(text, room, "%s", it->inside ? "is inside" : "still waits");
    else if (it->entries)
        snprintf(text, room, it->entries == 1 ? "entered once" : "entered %" PRIu64 " times", it->entries);
    else
        *text = '\0';
}

static void tell_result(char *text, size_t room, const struct cv_scenario *scenario, cv_node node,
                        const struct cv_history_node *it)
{
    *text = '\0';
    FILE *words = fmemopen(text, room, "w");
    if (!words)
        return;
    cv_phrase_result(words, scenario, node, it->result, it->via);
    fclose(words);
}

/* The state at the end, for the mouse. */
static void write_last_state(struct svg *svg, cv_node node)
{
    char *text = NULL;
    size_t size = 0;
    FILE *words = open_memstream(&text, &size);
    if (!words) {
        svg->out_of_memory = true;
        return;
    }
    cv_phrase_state(words, svg->scenario, svg->history, node, 0);
    fclose(words);
    if (size) {
        fprintf(svg->out, "<title>%s at the end: ", cv_name(svg->scenario, node).text);
        svg_escape(svg->out, text);
        fputs("</title>", svg->out);
    }
    free(text);
}

/* Writes the name on the left, and the leader or the number of entries on the right. */
static void draw_ends(struct svg *svg, cv_node node)
{
    const struct cv_history_node *it = &svg->history->nodes[node];
    const double y = svg_line(svg, node);
    const cv_id id = cv_view_id(svg->scenario, node);
    const bool leads = it->knows && it->leader == id;
    const double half = svg->left / 2 - 12 > 15 ? svg->left / 2 - 12 : 15;
    char text[64];
    fprintf(svg->out,
            "<g><rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%.1f\" fill=\"%s\" stroke=\"%s\"/>\n",
            svg->left - 2 * half, y - 11, 2 * half, 22.0, 11.0,
            leads      ? "#fff3c4"
            : it->down ? "#f3f4f5"
                       : "#ffffff",
            leads ? "#b58900" : "#8c959f");
    snprintf(text, sizeof text, "%s", cv_name(svg->scenario, node).text);
    svg_text(svg, svg->left - half, y + 5, it->down ? "id dim" : "id", text);
    write_last_state(svg, node);
    fputs("</g>\n", svg->out);
    if (svg->scenario->algorithm->problem == CV_MUTEX && !it->down)
        tell_entries(text, sizeof text, it);
    else if (leads)
        snprintf(text, sizeof text, "leads");
    else if (it->knows)
        snprintf(text, sizeof text, "follows %s", cv_name_of(svg->scenario, it->leader).text);
    else if (it->came && !it->down)
        tell_result(text, sizeof text, svg->scenario, node, it);
    else
        snprintf(text, sizeof text, "%s", it->down ? "down" : cv_view_elects(svg->scenario) ? "knows no leader" : "");
    svg_text(svg, svg->right + 8, y + 4.5, leads ? "end" : "end dim", text);
}

void svg_lines_draw(struct svg *svg)
{
    const uint32_t nodes = svg->scenario->group.nodes;
    for (cv_node node = 0; node < nodes; node++) {
        double since = svg->left;
        bool down = false;
        for (size_t i = 0; i < svg->history->count; i++) {
            const struct cv_event *event = &svg->history->events[i];
            if (event->node != node || (event->type != CV_EVENT_CRASH && event->type != CV_EVENT_RECOVER))
                continue;
            const double now = event->time ? svg_axis_x(svg, event->time) : svg->left;
            draw_piece(svg, since, now, svg_line(svg, node), down);
            since = now;
            down = event->type == CV_EVENT_CRASH;
        }
        draw_piece(svg, since, svg->right, svg_line(svg, node), down);
        draw_ends(svg, node);
    }
}

/* ---- states ---- */

#define STATE_RADIUS 8.0 /* where the mouse finds it */

/* Writes as much of what changed as there is room for before the next change of that node; at least its first words. */
static void write_change(struct svg *svg, const struct cv_history_change *change, double x, double y)
{
    const struct cv_history_change *end = svg->history->changes + svg->history->change_count, *next = change + 1;
    char text[64];
    while (next < end && (next->node != change->node || !*next->brief))
        next++;
    const double until = next < end ? svg_axis_x(svg, svg->history->events[next->event].time) : svg->right;
    snprintf(text, sizeof text, "%s", change->brief);
    for (char *comma = strrchr(text, ','); comma && x + svg_text_width(text, SVG_SMALL) + 6 > until;
         comma = strrchr(text, ','))
        *comma = '\0';
    svg_text(svg, x + 3, y + 14, "note", text);
    for (size_t letter = 0; letter <= strlen(text); letter++)
        svg_take(svg, x + (double)letter * 7, y + 10);
}

void svg_states_draw(struct svg *svg)
{
    for (size_t i = 0; i < svg->history->change_count; i++) {
        const struct cv_history_change *change = &svg->history->changes[i];
        const uint64_t time = svg->history->events[change->event].time;
        const double x = svg_axis_x(svg, time), y = svg_line(svg, change->node);
        fprintf(svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill-opacity=\"0\"><title>%" PRIu64 ": %s: ", x,
                y, STATE_RADIUS, time, cv_name(svg->scenario, change->node).text);
        svg_escape(svg->out, change->text);
        fputs("</title></circle>\n", svg->out);
        if (svg->states && *change->brief)
            write_change(svg, change, x, y);
    }
}

/* ---- marks ---- */

static void draw_star(FILE *out, double x, double y, double radius)
{
    fputs("<polygon class=\"mark\" fill=\"#f5c518\" points=\"", out);
    for (int i = 0; i < 10; i++) {
        const double angle = -1.5707963267948966 + i * 0.6283185307179586, r = i % 2 ? radius * 0.42 : radius;
        fprintf(out, "%s%.1f,%.1f", i ? " " : "", x + r * cos(angle), y + r * sin(angle));
    }
    fputs("\"/>", out);
}

void svg_mark_draw(struct svg *svg, enum svg_mark mark, double x, double y)
{
    FILE *out = svg->out;
    switch (mark) {
    case SVG_CALL:
        fprintf(out, "<path class=\"mark\" fill=\"#1f2328\" d=\"M%.1f %.1fl5.5 5.5-5.5 5.5-5.5-5.5z\"/>", x, y - 5.5);
        break;
    case SVG_TIMEOUT:
        fprintf(out,
                "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"#fff\"/>"
                "<path class=\"mark\" fill=\"none\" d=\"M%.1f %.1fv-3.6m0 3.6h2.6\"/>",
                x, y, x, y);
        break;
    case SVG_SUSPECT:
        fprintf(out,
                "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"6.5\" fill=\"#ffe3cc\"/>"
                "<text x=\"%.1f\" y=\"%.1f\" style=\"font-size:10px;font-weight:700;text-anchor:middle\">?</text>",
                x, y, x, y + 3.6);
        break;
    case SVG_ELECTED:
        draw_star(out, x, y, 8);
        break;
    case SVG_WAIT:
    case SVG_INSIDE:
        fprintf(out, "<rect class=\"%s\" x=\"%.1f\" y=\"%.1f\" width=\"14\" height=\"10\"/>",
                mark == SVG_WAIT ? "wait" : "inside", x - 7, y - 5);
        break;
    case SVG_PULSE:
        fprintf(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"7.5\" fill=\"#fff\"/>", x, y);
        break;
    case SVG_RESULT:
        fprintf(out, "<text class=\"beside\" x=\"%.1f\" y=\"%.1f\">=</text>", x - 3.5, y + 4);
        break;
    case SVG_CRASH:
    case SVG_LOST:
        fprintf(out,
                "<path stroke=\"#b3261e\" stroke-width=\"%.1f\" stroke-linecap=\"round\" d=\"M%.1f %.1fl%.1f %.1fm0 "
                "-%.1fl-%.1f %.1f\"/>",
                mark == SVG_CRASH ? 3.0 : 2.0, x - (mark == SVG_CRASH ? 6.0 : 3.5), y - (mark == SVG_CRASH ? 6.0 : 3.5),
                mark == SVG_CRASH ? 12.0 : 7.0, mark == SVG_CRASH ? 12.0 : 7.0, mark == SVG_CRASH ? 12.0 : 7.0,
                mark == SVG_CRASH ? 12.0 : 7.0, mark == SVG_CRASH ? 12.0 : 7.0);
        break;
    case SVG_RECOVER:
        fprintf(out, "<circle class=\"mark\" cx=\"%.1f\" cy=\"%.1f\" r=\"5.5\" fill=\"#2da44e\"/>", x, y);
        break;
    case SVG_MARKS:
        break;
    }
    svg->drawn_marks[mark] = true;
}

/* The mark of an event; SVG_MARKS if it has none. */
static enum svg_mark mark_of(const struct cv_event *event)
{
    switch (event->type) {
    case CV_EVENT_CALL:
        return SVG_CALL;
    case CV_EVENT_TIMEOUT:
        return SVG_TIMEOUT;
    case CV_EVENT_SUSPECT:
        return SVG_SUSPECT;
    case CV_EVENT_PULSE:
        return SVG_PULSE;
    case CV_EVENT_RESULT:
        return SVG_RESULT;
    case CV_EVENT_ELECTED:
        return SVG_ELECTED;
    case CV_EVENT_CRASH:
        return SVG_CRASH;
    case CV_EVENT_RECOVER:
        return SVG_RECOVER;
    default:
        return SVG_MARKS;
    }
}

/* The marks of a node at one instant, which stand side by side. */
struct instant {
    uint64_t time;
    double used;    /* the offset of the next mark */
    uint32_t marks; /* a bit per mark: one of each is enough */
    bool any;
};

/* Writes the number of a round or result; returns how much wider the mark becomes. */
static double draw_number(struct svg *svg, const struct cv_event *event, double x, double y)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRIu64, event->detail);
    if (event->type == CV_EVENT_PULSE)
        fprintf(svg->out,
                "<text x=\"%.1f\" y=\"%.1f\" style=\"font-size:10px;font-weight:700;text-anchor:middle\">%s</text>", x,
                y + 3.5, event->detail > svg->scenario->group.rounds ? "✓" : text);
    if (event->type != CV_EVENT_RESULT)
        return 0;
    svg_text(svg, x + 4, y + 4, "beside", text);
    return svg_text_width(text, 11);
}

static void draw_event(struct svg *svg, const struct cv_event *event, struct instant *instant)
{
    const enum svg_mark mark = mark_of(event);
    if (!instant->any || instant->time != event->time)
        *instant = (struct instant){.time = event->time, .any = true};
    if (event->type == CV_EVENT_RECEIVE && instant->used < MARK_WIDTH)
        instant->used = MARK_WIDTH; /* the arrow's head stands in the first place */
    if (event->type == CV_EVENT_NOTE && svg->scenario->app)
        svg_text(svg, svg_axis_x(svg, event->time) + 6, svg_line(svg, event->node) - 6, "note", event->text);
    if (mark == SVG_MARKS || instant->marks & 1u << mark)
        return;
    const double x = svg_axis_x(svg, event->time) + instant->used, y = svg_line(svg, event->node);
    instant->marks |= 1u << mark;
    fputs("<g>", svg->out);
    svg_mark_draw(svg, mark, x, y);
    instant->used += MARK_WIDTH + draw_number(svg, event, x, y);
    char *text = NULL;
    size_t size;
    FILE *words = open_memstream(&text, &size);
    if (words) {
        cv_phrase_event(words, svg->scenario, event);
        fclose(words);
        fprintf(svg->out, "<title>%" PRIu64 ": %s ", event->time, cv_name(svg->scenario, event->node).text);
        svg_escape(svg->out, text);
        fputs("</title>", svg->out);
        free(text);
    } else {
        svg->out_of_memory = true;
    }
    fputs("</g>\n", svg->out);
    svg_take(svg, x, y);
}

void svg_marks_draw(struct svg *svg)
{
    struct instant *instants = calloc(svg->scenario->group.nodes, sizeof *instants);
    svg->out_of_memory |= !instants;
    for (size_t i = 0; instants && i < svg->history->count; i++) {
        const struct cv_event *event = &svg->history->events[i];
        if (event->node != CV_NOBODY && !cv_step_is_idle_timeout(svg->history, i))
            draw_event(svg, event, &instants[event->node]);
    }
    free(instants);
}
