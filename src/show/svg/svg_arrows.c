// SPDX-License-Identifier: MIT
/* Messages as slanted arrows, and what they say where there is room for it. */
#include "show/svg/svg_arrows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "show/svg/svg_axis.h"
#include "show/svg/svg_marks.h"
#include "show/svg/svg_text.h"

#define MOST_LABELS 160u /* beyond this, no message is labelled: colours show the kinds */
#define APART 6.0        /* between arrows that would overlap */
#define CLEAR 12.0       /* between letters of different labels */
#define CROWD 60u        /* beyond this, only the outer arrows of a fan are labelled */
#define CLEAR_CROWD 24.0

/* An arrow in the picture. */
struct arrow {
    struct svg_point from, to;
    bool lost;   /* it did not arrive */
    bool flying; /* it was still under way */
};

void svg_take(struct svg *svg, double x, double y)
{
    if (svg->taken_count == svg->taken_room) {
        const size_t room = svg->taken_room ? 2 * svg->taken_room : 256;
        struct svg_point *taken = realloc(svg->taken, room * sizeof *taken);
        if (!taken) {
            svg->out_of_memory = true;
            return;
        }
        svg->taken = taken;
        svg->taken_room = room;
    }
    svg->taken[svg->taken_count++] = (struct svg_point){x, y};
}

/* How many earlier messages have the same ends at the same times. */
static unsigned same_way(const struct svg *svg, size_t index)
{
    const struct cv_event *events = svg->history->events;
    const struct cv_flight *flight = &svg->flights[index];
    const struct cv_event *send = &events[flight->sent];
    unsigned count = 0;
    for (size_t i = index; i-- > 0;) {
        const struct cv_event *other = &events[svg->flights[i].sent];
        if (other->time != send->time)
            break;
        if (other->node != send->node || other->peer != send->peer || flight->arrived == CV_NO_EVENT ||
            svg->flights[i].arrived == CV_NO_EVENT)
            continue;
        count += events[flight->arrived].time == events[svg->flights[i].arrived].time;
    }
    return count;
}

/* An arrow that did not arrive ends half way: early if the message was cut off, later if it was still under way. */
static void cut_short(struct arrow *arrow, double share, double most)
{
    const double dx = arrow->to.x - arrow->from.x, dy = arrow->to.y - arrow->from.y;
    const double length = hypot(dx, dy), part = length * share < most ? share : most / length;
    arrow->to = (struct svg_point){arrow->from.x + dx * part, arrow->from.y + dy * part};
}

/* The y of the partition's border that the message could not cross; 0 if there is none. */
static double border(const struct svg *svg, const struct cv_event *send)
{
    const int step = send->peer > send->node ? 1 : -1;
    for (uint32_t i = 0; i < svg->scenario->partition_count; i++) {
        const struct cv_partition *partition = &svg->scenario->partitions[i];
        if (partition->begin > send->time || partition->end <= send->time)
            continue;
        for (cv_node node = send->node; node != send->peer; node += (cv_node)step)
            if (partition->side[node] != partition->side[node + (cv_node)step])
                return svg_line(svg, node) + step * svg->pitch / 2;
    }
    return 0;
}

static struct arrow make_arrow(const struct svg *svg, size_t index)
{
    const struct cv_flight *flight = &svg->flights[index];
    const struct cv_event *send = &svg->history->events[flight->sent];
    const struct cv_event *end = flight->arrived == CV_NO_EVENT ? NULL : &svg->history->events[flight->arrived];
    const double unit = svg_axis_unit(svg), shift = APART * same_way(svg, index);
    struct arrow arrow = {.from = {svg_axis_x(svg, send->time) + shift, svg_line(svg, send->node)},
                          .lost = end && end->type == CV_EVENT_LOST,
                          .flying = !end};
    arrow.to.y = svg_line(svg, send->peer);
    arrow.to.x = end && end->time > send->time ? svg_axis_x(svg, end->time) + shift : arrow.from.x + unit;
    const double wall = arrow.lost ? border(svg, send) : 0;
    if (end && end->time == send->time && wall > 0)
        cut_short(&arrow, (wall - arrow.from.y) / (arrow.to.y - arrow.from.y), INFINITY);
    else if (!end || end->time == send->time)
        cut_short(&arrow, 0.6, 60);
    return arrow;
}

static void write_tooltip(struct svg *svg, size_t index)
{
    const struct cv_flight *flight = &svg->flights[index];
    const struct cv_event *send = &svg->history->events[flight->sent];
    const struct cv_event *end = flight->arrived == CV_NO_EVENT ? NULL : &svg->history->events[flight->arrived];
    char text[256];
    fputs("<title>", svg->out);
    svg_escape(svg->out, cv_content_text(&svg->content, send->content, text, sizeof text));
    fprintf(svg->out, " from %s to %s, sent at %" PRIu64, cv_name(svg->scenario, send->node).text,
            cv_name(svg->scenario, send->peer).text, send->time);
    if (end && end->time > send->time)
        fprintf(svg->out, ", %s at %" PRIu64, end->type == CV_EVENT_LOST ? "lost" : "heard", end->time);
    else
        fputs(end ? ", lost" : ", still on the way", svg->out);
    fputs("</title>", svg->out);
}

/* Draws a message to oneself as a loop above the line. */
static void draw_shaft(struct svg *svg, const struct arrow *arrow, uint32_t kind, bool loop)
{
    const double dx = arrow->to.x - arrow->from.x, dy = arrow->to.y - arrow->from.y;
    const double length = hypot(dx, dy) > 1 ? hypot(dx, dy) : 1, short_of = arrow->lost || arrow->flying ? 0 : 3;
    const double x = arrow->to.x - dx / length * short_of, y = arrow->to.y - dy / length * short_of;
    fprintf(svg->out, "<path class=\"arrow%s%s\" stroke=\"%s\"", arrow->lost || arrow->flying ? " gone" : "",
            svg->flight_count > 2 * MOST_LABELS ? " thin" : "", svg_colour(kind));
    if (!arrow->lost && !arrow->flying)
        fprintf(svg->out, " marker-end=\"url(#k%" PRIu32 ")\"", kind);
    if (loop)
        fprintf(svg->out, " d=\"M%.1f %.1fQ%.1f %.1f %.1f %.1f\">", arrow->from.x, arrow->from.y,
                (arrow->from.x + arrow->to.x) / 2, arrow->from.y - svg->pitch * 0.6, arrow->to.x, arrow->to.y - 2);
    else
        fprintf(svg->out, " d=\"M%.1f %.1fL%.1f %.1f\">", arrow->from.x, arrow->from.y, x, y);
}

static void write_heads(struct svg *svg)
{
    fputs("<defs>\n", svg->out);
    for (uint32_t kind = 0; svg->scenario->algorithm->kinds[kind].name; kind++)
        fprintf(svg->out,
                "<marker id=\"k%" PRIu32 "\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"9\" "
                "markerHeight=\"9\" markerUnits=\"userSpaceOnUse\" orient=\"auto\">"
                "<path d=\"M0 1.2L10 5L0 8.8L2.4 5z\" fill=\"%s\"/></marker>\n",
                kind, svg_colour(kind));
    fputs("</defs>\n", svg->out);
}

void svg_arrows_draw(struct svg *svg)
{
    write_heads(svg);
    for (size_t i = 0; i < svg->flight_count; i++) {
        const struct cv_event *send = &svg->history->events[svg->flights[i].sent];
        const struct arrow arrow = make_arrow(svg, i);
        draw_shaft(svg, &arrow, (uint32_t)send->content->kind, send->node == send->peer);
        write_tooltip(svg, i);
        fputs("</path>\n", svg->out);
        fprintf(svg->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" fill=\"%s\"/>\n", arrow.from.x, arrow.from.y,
                svg_colour((uint32_t)send->content->kind));
        if (arrow.lost) {
            svg_mark_draw(svg, SVG_LOST, arrow.to.x, arrow.to.y);
            putc('\n', svg->out);
        }
    }
}

/* ---- labels ---- */

static bool is_free(const struct svg *svg, struct svg_point place)
{
    const double clear = svg->flight_count > CROWD ? CLEAR_CROWD : CLEAR;
    for (size_t i = 0; i < svg->taken_count; i++) {
        const double dx = svg->taken[i].x - place.x, dy = svg->taken[i].y - place.y;
        if (dx * dx + dy * dy < clear * clear)
            return false;
    }
    return true;
}

/* The positions of the letters along the arrow, a little above or below it. */
#define LETTERS 40u

static size_t letters_of(const struct arrow *arrow, double share, double side, double width,
                         struct svg_point letters[LETTERS])
{
    const double dx = arrow->to.x - arrow->from.x, dy = arrow->to.y - arrow->from.y, length = hypot(dx, dy);
    const size_t wanted = (size_t)(width / 7) + 2, count = wanted < LETTERS ? wanted : LETTERS;
    for (size_t i = 0; i < count; i++) {
        const double along = share + width * ((double)i / (double)(count - 1) - 0.5) / length;
        letters[i] = (struct svg_point){arrow->from.x + dx * along + dy / length * side,
                                        arrow->from.y + dy * along - dx / length * side};
    }
    return count;
}

static bool try_label(struct svg *svg, const struct arrow *arrow, const char *text, uint32_t kind, double share,
                      bool above)
{
    const double dx = arrow->to.x - arrow->from.x, dy = arrow->to.y - arrow->from.y, length = hypot(dx, dy);
    const double width = svg_text_width(text, SVG_SMALL), nearest = (share < 0.5 ? share : 1 - share) * length;
    struct svg_point letters[LETTERS];
    if (nearest < width / 2 + 5)
        return false;
    const size_t count = letters_of(arrow, share, above ? 7 : -8, width, letters);
    for (size_t i = 0; i < count; i++)
        if (!is_free(svg, letters[i]))
            return false;
    fprintf(svg->out,
            "<text class=\"label\" style=\"fill:%s\" transform=\"translate(%.1f %.1f) rotate(%.1f)\" y=\"%d\">",
            svg_colour(kind), arrow->from.x + dx * share, arrow->from.y + dy * share, atan2(dy, dx) * 57.29577951308232,
            above ? -4 : 12);
    svg_escape(svg->out, text);
    fputs("</text>\n", svg->out);
    for (size_t i = 0; i < count; i++)
        svg_take(svg, letters[i].x, letters[i].y);
    return true;
}

/* Puts the label at the first free place along the arrow. False if there is none. */
static bool draw_label(struct svg *svg, const struct arrow *arrow, const char *text, uint32_t kind)
{
    static const double shares[] = {0.5, 0.56, 0.44, 0.62, 0.38, 0.72, 0.28};
    for (size_t i = 0; i < 2 * sizeof shares / sizeof *shares; i++)
        if (try_label(svg, arrow, text, kind, shares[i / 2], i % 2 == 0))
            return true;
    return false;
}

/* A multicast is a fan of arrows. Only the nearest and the farthest arrow on each side get a label. */
static bool is_repetition(const struct svg *svg, size_t index)
{
    const struct cv_event *events = svg->history->events, *send = &events[svg->flights[index].sent];
    const bool down = send->peer > send->node;
    size_t nearer = 0, farther = 0;
    for (size_t i = 0; i < svg->flight_count; i++) {
        const struct cv_event *other = &events[svg->flights[i].sent];
        if (other->node != send->node || other->time != send->time || (other->peer > other->node) != down ||
            !cv_content_same(svg->scenario, other->content, send->content))
            continue;
        nearer += down ? other->peer < send->peer : other->peer > send->peer;
        farther += down ? other->peer > send->peer : other->peer < send->peer;
    }
    return nearer && farther && nearer + farther > 2;
}

void svg_labels_draw(struct svg *svg)
{
    for (size_t i = 0; i < svg->flight_count && svg->flight_count <= MOST_LABELS; i++) {
        const struct cv_event *send = &svg->history->events[svg->flights[i].sent];
        const struct arrow arrow = make_arrow(svg, i);
        const uint32_t number = (uint32_t)send->content->kind;
        const char *kind = cv_content_kind(&svg->content, send->content);
        char numbers[64], text[112];
        if (send->node == send->peer || is_repetition(svg, i))
            continue;
        cv_content_numbers(&svg->content, send->content, numbers, sizeof numbers);
        if (strchr(numbers, ' ') != strrchr(numbers, ' '))
            numbers[0] = '\0'; /* the tooltip shows more than two */
        snprintf(text, sizeof text, "%.40s%s%s", kind, *numbers ? " " : "", numbers);
        /* In little room the numbers come first: the colour shows the kind. */
        if (!draw_label(svg, &arrow, text, number) && *numbers && svg->flight_count <= CROWD &&
            !draw_label(svg, &arrow, numbers, number))
            draw_label(svg, &arrow, kind, number);
    }
}
