// SPDX-License-Identifier: MIT
#include "show/text/transcript_parts.h"

#include <inttypes.h>

void story_begin_line(struct story *story, uint64_t at)
{
    char time[32];
    snprintf(time, sizeof time, "t=%" PRIu64, at);
    fprintf(story->out, "%*" PRIu64 "  %-*s  ", story->number_width, ++story->number, story->time_width + 2, time);
    story->join = "";
}

const char *story_message(struct story *story, const struct cv_event *event, char text[STORY_TEXT])
{
    return cv_content_text(&story->content, event->content, text, STORY_TEXT);
}
