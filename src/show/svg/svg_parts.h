// SPDX-License-Identifier: MIT
/* The parts a picture is put together from. Of this room's SVG alone. */
#ifndef CONCLAVE_SHOW_SVG_SVG_PARTS_H
#define CONCLAVE_SHOW_SVG_SVG_PARTS_H

#include "show/content.h"
#include "show/svg/svg.h"

/* Beyond this nobody sees anything in a diagram. */
#define SVG_MOST_NODES 64u
#define SVG_MOST_MESSAGES 4000u
#define SVG_FEW_MESSAGES 400u /* that many are drawn in any case; of more, so many an instant: */
#define SVG_MOST_AT_ONCE 40.0
#define SVG_MOST_TICKS 1200u

#define SVG_SMALL 12.0 /* sizes of letters */
#define SVG_PLAIN 14.0

struct svg_point {
    double x, y;
};

struct svg {
    FILE *out;
    const struct cv_run *run;
    const struct cv_judgement *judgement;
    const struct cv_scenario *scenario;
    const struct cv_history *history;
    struct cv_content content;
    struct cv_flight *flights;
    size_t flight_count;

    /* Where things are. */
    double width, height;
    double left, right; /* where lines begin and end */
    double top, pitch;  /* of the first line, and from line to line */
    struct svg_axis *axis;

    /* Places that are taken: no label is put there. */
    struct svg_point *taken;
    size_t taken_count, taken_room;

    bool drawn_marks[16]; /* enum svg_mark: what the legend explains */
    bool out_of_memory;
};

enum svg_mark {
    SVG_CALL,
    SVG_TIMEOUT,
    SVG_SUSPECT,
    SVG_ELECTED,
    SVG_WAIT,
    SVG_INSIDE,
    SVG_PULSE,
    SVG_RESULT,
    SVG_CRASH,
    SVG_RECOVER,
    SVG_LOST,
    SVG_MARKS
};

/* Are there results, which take more room than what becomes of a node elsewhere? */
static inline bool svg_tells_results(const struct svg *svg)
{
    const uint32_t problem = svg->scenario->algorithm->problem;
    return problem == CV_SYNCHRONIZER || problem == CV_PATHS;
}

static inline double svg_line(const struct svg *svg, cv_node node)
{
    return svg->top + node * svg->pitch;
}

/* ---- svg_text.c ---- */

/* Text with what XML reserves escaped, and without what it forbids. */
void svg_escape(FILE *out, const char *text);
/* The width of a text, about. */
double svg_text_width(const char *text, double size);
/* A text element of that class. */
void svg_text(struct svg *svg, double x, double y, const char *class, const char *text);
const char *svg_colour(uint32_t kind);
/* The beginning of the file, up to the ground that everything is drawn on. */
void svg_open(const struct svg *svg, FILE *out);
/* Title and verdict; returns where the picture may begin below. */
double svg_heading(struct svg *svg);

/* ---- svg_axis.c ---- */

/* 0, CV_ENOMEM, or CV_EINPUT if there are too many instants. Sets svg->right. */
int svg_axis_make(struct svg *svg);
void svg_axis_free(struct svg *svg);
double svg_axis_x(const struct svg *svg, uint64_t time);
/* The distance of two instants that follow each other, at least. */
double svg_axis_unit(const struct svg *svg);
/* At how many instants anything happens. */
size_t svg_axis_instants(const struct svg *svg);
void svg_axis_draw(struct svg *svg);

/* ---- svg_marks.c ---- */

void svg_partitions_draw(struct svg *svg);
void svg_lines_draw(struct svg *svg);
void svg_marks_draw(struct svg *svg);
/* One mark of the legend. */
void svg_mark_draw(struct svg *svg, enum svg_mark mark, double x, double y);

/* ---- svg_bars.c ---- */

/* Mutual exclusion: waiting and being inside as bars along the lines; and where views begin. */
void svg_bars_draw(struct svg *svg);
/* The fences, over the arrows. */
void svg_fences_draw(struct svg *svg);
/* Does a view begin in this run? */
bool svg_has_views(const struct svg *svg);

/* ---- svg_arrows.c ---- */

void svg_arrows_draw(struct svg *svg);
/* What the arrows say, where there is room. After the marks. */
void svg_labels_draw(struct svg *svg);
/* Keeps labels away from there. */
void svg_take(struct svg *svg, double x, double y);

/* ---- svg_legend.c ---- */

/* The kinds and marks; returns where the picture ends. */
double svg_legend_draw(struct svg *svg, double y);

/* ---- svg_network.c ---- */

/* The graph, for algorithms that run on one; returns where the picture ends. */
double svg_network_draw(struct svg *svg, double y);

/* ---- svg_summary.c ---- */

void svg_summary_draw(struct svg *svg);

#endif
