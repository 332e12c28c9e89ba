// SPDX-License-Identifier: MIT
#include "show/shiviz.h"

#include <inttypes.h>

#include "show/history.h"
#include "show/phrase.h"

/* The regular expression by which ShiViz reads the file; the second line would separate several runs. */
#define PARSER "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n\n"

int cv_shiviz_begin(struct cv_shiviz *shiviz, FILE *out, const struct cv_scenario *scenario,
                    struct cv_complaint *complaint)
{
    *shiviz = (struct cv_shiviz){.out = out, .scenario = scenario};
    if (scenario->group.nodes > CV_LARGEST_CLOCKED_GROUP)
        return cv_complain(complaint, "--shiviz: vector clocks are kept for up to %u nodes, not for %" PRIu32,
                           CV_LARGEST_CLOCKED_GROUP, scenario->group.nodes);
    if (cv_clocks_init(&shiviz->clocks, scenario->group.nodes))
        return CV_ENOMEM;
    fputs(PARSER, out);
    return 0;
}

static void write_host(struct cv_shiviz *shiviz, cv_node node)
{
    const uint32_t *vector = cv_clocks_vector(&shiviz->clocks, node);
    const char *join = "";
    fprintf(shiviz->out, "P%" PRIu32 " {", cv_view_id(shiviz->scenario, node));
    for (cv_node other = 0; other < shiviz->clocks.nodes; other++) {
        if (!vector[other])
            continue;
        fprintf(shiviz->out, "%s\"P%" PRIu32 "\":%" PRIu32, join, cv_view_id(shiviz->scenario, other), vector[other]);
        join = ", ";
    }
    fputs("}\n", shiviz->out);
}

void cv_shiviz_event(void *context, const struct cv_event *event)
{
    struct cv_shiviz *shiviz = context;
    const bool begins = cv_clocks_event(&shiviz->clocks, event);
    if (shiviz->clocks.out_of_memory || event->node == CV_NOBODY || event->type == CV_EVENT_LOST)
        return;
    const bool another_target = !begins && event->type == CV_EVENT_SEND && shiviz->kind == event->content->kind;
    if (begins) {
        if (shiviz->in_line)
            putc('\n', shiviz->out);
        write_host(shiviz, event->node);
        shiviz->in_line = true;
    } else if (!another_target) {
        fputs("; ", shiviz->out);
    }
    if (another_target)
        fprintf(shiviz->out, ", %" PRIu32, cv_view_id(shiviz->scenario, event->peer));
    else
        cv_phrase_event(shiviz->out, shiviz->scenario, event);
    if (event->type == CV_EVENT_SEND)
        shiviz->kind = event->content->kind;
}

int cv_shiviz_end(struct cv_shiviz *shiviz)
{
    if (shiviz->in_line)
        putc('\n', shiviz->out);
    const int result = shiviz->clocks.out_of_memory ? CV_ENOMEM : 0;
    cv_clocks_free(&shiviz->clocks);
    *shiviz = (struct cv_shiviz){0};
    return result;
}
