// SPDX-License-Identifier: MIT
#include "explore/explored_way.h"

#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "explore/decision_text.h"

#define MOST_INDEX (UINT64_C(1) << 53) /* every language keeps such a number */

/* So many messages a node may have sent before it crashes. */
static uint32_t most_sent(const struct explored *world)
{
    return 4 * world->nodes;
}

static uint64_t crash_ways(const struct explored *world)
{
    return 2 * (uint64_t)most_sent(world) + 3;
}

bool explored_find_way(struct explored *world, const struct explored_events *events, uint64_t index,
                       struct explored_event *event, struct explored_script *script)
{
    const uint64_t all = explored_event_indices(world, events), way = index / all;
    const uint64_t choices = way / crash_ways(world), crash = way % crash_ways(world);
    *script = (struct explored_script){.sent = CV_WHOLE};
    if (!explored_find(world, events, index % all, event))
        return false;
    if (choices) {
        script->choosing = CHOICES_NUMBERED;
        script->number = choices - 1;
    }
    if (crash) {
        script->sent = (uint32_t)((crash - 1) / 2);
        script->missed = (crash - 1) % 2;
    }
    return !way || (explored_calls(event) && (!crash || world->present.alive > 1));
}

static bool read_way(struct explored *world, const struct explored_events *events, char *text,
                     struct explored_event *event, struct explored_script *script)
{
    struct cv_decision decision = {.sent = CV_WHOLE};
    uint64_t index;
    const char *first = strsep(&text, " ");
    if (!cv_parse_number(cv_text(first), UINT64_MAX, &index) || !decision_read_way(text, &decision) ||
        !explored_find(world, events, index, event))
        return false;
    *script = (struct explored_script){.choosing = decision.choice_count ? CHOICES_LISTED : CHOICES_DRAWN,
                                       .choice_count = decision.choice_count,
                                       .missed = decision.missed,
                                       .sent = decision.sent};
    memcpy(script->choices, decision.choices, sizeof script->choices);
    return explored_calls(event) && (script->sent == CV_WHOLE || world->present.alive > 1);
}

bool explored_read_way(struct explored *world, const struct explored_events *events, const char *text,
                       struct explored_event *event, struct explored_script *script)
{
    char *copy = strdup(text);
    world->out_of_memory |= !copy;
    const bool found = copy && read_way(world, events, copy, event, script);
    free(copy);
    return found;
}

uint64_t explored_way_index(const struct explored *world, uint64_t event)
{
    const uint64_t scale = world->event_indices * crash_ways(world);
    uint64_t choices = 0, crash = 0, factor = 1;
    if (world->choosing != CHOICES_DRAWN && world->chosen) {
        for (uint32_t i = 0; i < world->chosen; i++) {
            choices += world->took[i] * factor;
            factor *= world->ways[i];
            if (factor > MOST_INDEX / scale)
                return NO_WAY;
        }
        choices++;
    }
    if (world->script_sent != CV_WHOLE) {
        const uint32_t sent = world->script_sent < world->sends ? world->script_sent : world->sends;
        if (sent > most_sent(world))
            return NO_WAY;
        crash = 1 + 2 * (uint64_t)sent + world->decision.missed;
    }
    return event + world->event_indices * (choices * crash_ways(world) + crash);
}

bool explored_went_astray(const struct explored *world)
{
    for (uint32_t i = 0; world->choosing == CHOICES_LISTED && i < world->decision.choice_count; i++)
        if (i >= world->chosen || world->took[i] != world->decision.choices[i])
            return true;
    return (world->choosing == CHOICES_NUMBERED && (world->choice_number || !world->chosen)) ||
           (world->script_sent != CV_WHOLE && world->script_sent > world->sends);
}
