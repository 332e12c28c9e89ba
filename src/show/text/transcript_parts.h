// SPDX-License-Identifier: MIT
/* What the parts of a transcript share. Of this room's transcript alone. */
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
    bool *down;    /* per node, as the story goes */
    cv_node *some; /* room for the nodes that a line names */
    size_t some_room;
    uint64_t number;  /* of the line */
    const char *join; /* what stands before the next thing the node does */
    int number_width, time_width, id_width;
};

/* Number and time. */
void story_begin_line(struct story *story, uint64_t time);
const char *story_message(struct story *story, const struct cv_event *event, char text[STORY_TEXT]);

#endif
