// SPDX-License-Identifier: MIT
#include "explore/tell_ways.h"

#include <stdio.h>
#include <string.h>

#include "core/scenario/label.h"
#include "explore/tell_state.h"

#define MOST_VARIANTS 100u
#define MOST_CHOICES_LISTED 64u

/* What a trial has shown. */
struct trial {
    uint64_t index; /* of the way */
    uint32_t sends, chosen;
    uint32_t ways[CV_MOST_CHOICES], took[CV_MOST_CHOICES];
};

/* Takes the step, and goes back. */
static int try_way(struct explored *world, const struct explored_event *event, const struct explored_script *script,
                   struct trial *trial)
{
    const uint64_t before = world->step_count;
    explored_take(world, event, script);
    const bool astray = explored_went_astray(world);
    *trial = (struct trial){
        .index = explored_way_index(world, event->index), .sends = world->sends, .chosen = world->chosen};
    memcpy(trial->ways, world->ways, sizeof trial->ways);
    memcpy(trial->took, world->took, sizeof trial->took);
    explored_go(world, before);
    return world->out_of_memory ? CV_ENOMEM : astray ? CV_EINPUT : 0;
}

static void tell_variant(struct cv_json *json, uint64_t index, const char *text, const struct trial *choices,
                         const struct explored_script *script)
{
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "index", index);
    cv_json_text(json, "text", text);
    cv_json_open(json, "choices", '[');
    for (uint32_t i = 0; choices && i < choices->chosen; i++)
        cv_json_count(json, NULL, choices->took[i]);
    cv_json_close(json, ']');
    if (script->sent == CV_WHOLE)
        cv_json_null(json, "sent");
    else
        cv_json_count(json, "sent", script->sent);
    cv_json_truth(json, "missed", script->missed);
    cv_json_close(json, '}');
}

/* ---- choices ---- */

static bool choose_next(struct explored_script *script, const struct trial *trial)
{
    for (script->choice_count = trial->chosen; script->choice_count; script->choice_count--) {
        const uint32_t last = script->choice_count - 1, ways = trial->ways[last];
        if (++script->choices[last] < (ways < MOST_CHOICES_LISTED ? ways : MOST_CHOICES_LISTED))
            return true;
        script->choices[last] = 0;
    }
    return false;
}

static void say_choices(const struct explored *world, cv_node node, const struct trial *trial, char text[TELL_TEXT])
{
    size_t used = (size_t)snprintf(text, TELL_TEXT, "%s chooses ", cv_name(world->scenario, node).text);
    for (uint32_t i = 0; i < trial->chosen && used < TELL_TEXT; i++)
        used += (size_t)snprintf(text + used, TELL_TEXT - used, "%s%u of 0..%u", i ? ", then " : "", trial->took[i],
                                 trial->ways[i] - 1);
}

/* Every choice in counting order. Returns how many there are, or CV_ENOMEM. */
static int tell_choices(struct cv_json *json, struct explored *world, const struct explored_event *event)
{
    struct explored_script script = {.choosing = CHOICES_LISTED, .sent = CV_WHOLE};
    struct trial trial;
    char text[TELL_TEXT];
    uint32_t count = 0;
    do {
        const int error = try_way(world, event, &script, &trial);
        if (error)
            return error;
        say_choices(world, event->node, &trial, text);
        if (trial.index != NO_WAY)
            tell_variant(json, trial.index, text, &trial, &script);
    } while (++count < MOST_VARIANTS && choose_next(&script, &trial));
    return (int)count;
}

/* ---- crashes ---- */

static int tell_crashes(struct cv_json *json, struct explored *world, const struct explored_event *event,
                        const struct explored_script *given, uint32_t sends, uint32_t room)
{
    const struct cv_name name = cv_name(world->scenario, event->node);
    struct explored_script script = *given;
    for (uint32_t sent = 1; world->present.alive > 1 && sent < sends; sent++)
        for (uint32_t missed = 0; missed < 2 && room; missed++, room--) {
            struct trial trial;
            char text[TELL_TEXT];
            script.sent = sent;
            script.missed = missed;
            const int error = try_way(world, event, &script, &trial);
            if (error)
                return error;
            snprintf(text, sizeof text, "%s crashes after %u of %u messages%s", name.text, sent, sends,
                     missed ? ", and nobody is told" : "");
            if (trial.index != NO_WAY)
                tell_variant(json, trial.index, text, given->choosing == CHOICES_DRAWN ? NULL : &trial, &script);
        }
    return 0;
}

/* ---- all of it ---- */

int tell_ways(struct cv_json *json, struct explored *world, const struct cv_content *content,
              struct explored_events *events, uint64_t index)
{
    struct explored_event event;
    struct explored_script script;
    struct trial trial = {0};
    char text[TELL_TEXT];
    if (!explored_find_way(world, events, index, &event, &script))
        return CV_EINPUT;
    int error = explored_calls(&event) ? try_way(world, &event, &script, &trial) : 0;
    if (error)
        return error;
    tell_event_text(world, content, &event, text);
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "index", index);
    cv_json_text(json, "text", text);
    cv_json_count(json, "sends", trial.sends);
    cv_json_open(json, "choices", '[');
    for (uint32_t i = 0; i < trial.chosen; i++) {
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "ways", trial.ways[i]);
        cv_json_count(json, "chosen", trial.took[i]);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    cv_json_open(json, "variants", '[');
    int listed = 0;
    if (trial.chosen && script.choosing == CHOICES_DRAWN)
        listed = tell_choices(json, world, &event);
    error = listed < 0 ? listed : 0;
    if (!error && script.sent == CV_WHOLE && explored_calls(&event))
        error = tell_crashes(json, world, &event, &script, trial.sends, MOST_VARIANTS - (uint32_t)listed);
    cv_json_close(json, ']');
    cv_json_close(json, '}');
    return error;
}

void tell_one_way(struct cv_json *json, uint64_t index)
{
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "index", index);
    cv_json_open(json, "variants", '[');
    cv_json_close(json, ']');
    cv_json_close(json, '}');
}
