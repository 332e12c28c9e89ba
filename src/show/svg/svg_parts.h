// SPDX-License-Identifier: MIT
/* What the parts of a picture share. For the files of this room. */
#ifndef CONCLAVE_SHOW_SVG_SVG_PARTS_H
#define CONCLAVE_SHOW_SVG_SVG_PARTS_H

#include "show/content.h"
#include "show/svg/svg.h"

/* A larger run is drawn as a summary. */
#define SVG_MOST_NODES 64u
#define SVG_MOST_MESSAGES 4000u
#define SVG_FEW_MESSAGES 400u /* up to so many are always drawn; more, up to this average per instant: */
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
    bool states; /* say what changes in them */
    struct cv_content content;
    struct cv_flight *flights;
    size_t flight_count;

    /* Where things are. */
    double width, height;
    double left;  /* where lines begin */
    double right; /* where lines end */
    double top;   /* the y of the first line */
    double pitch; /* from one line to the next */
    struct svg_axis *axis;

    /* Places that are taken: no label goes there. */
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

/* Do nodes have results? These take more room. */
static inline bool svg_tells_results(const struct svg *svg)
{
    const uint32_t problem = svg->scenario->algorithm->problem;
    return problem == CV_SYNCHRONIZER || problem == CV_PATHS;
}

static inline double svg_line(const struct svg *svg, cv_node node)
{
    return svg->top + node * svg->pitch;
}

#endif
