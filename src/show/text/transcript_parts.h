// SPDX-License-Identifier: MIT
/* What the parts of a transcript share. For the files of this room. */
#ifndef CONCLAVE_SHOW_TEXT_TRANSCRIPT_PARTS_H
#define CONCLAVE_SHOW_TEXT_TRANSCRIPT_PARTS_H

#include "show/content.h"
#include "show/history_step.h"
#include "show/text/transcript.h"

#define STORY_TEXT 200u

struct story {
    FILE *out;
    const struct cv_scenario *scenario;
    const struct cv_history *history;
    struct cv_content content;
    bool *down;    /* per node, at the current step */
    cv_node *some; /* room for the nodes that a line names */
    size_t some_room;
    uint64_t number;  /* of the line */
    const char *join; /* what separates the next effect of the node */
    int number_width; /* of the column of numbers */
    int time_width;   /* of the column of times */
    int id_width;     /* of the column of ids */
    bool states;      /* tell what changes in them */
};

/* Prints the number and the time. */
void story_begin_line(struct story *story, uint64_t time);
const char *story_message(struct story *story, const struct cv_event *event, char text[STORY_TEXT]);

#endif
