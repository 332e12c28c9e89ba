// SPDX-License-Identifier: MIT
#include "guard/failure_text.h"

#include "core/scenario/field_text.h"
#include "core/scenario/fields.h"
#include "core/scenario/label.h"

#define STATE_BYTES 320u

struct cv_scenario failure_scene(const struct cv_scenario *known, const struct handler_use *use)
{
    struct cv_scenario scene = known ? *known : (struct cv_scenario){0};
    scene.algorithm = use->guarded->own;
    scene.group = *use->me->group;
    if (scene.algorithm->problem != CV_SYNCHRONIZER)
        scene.app = NULL;
    return scene;
}

static void write_message(struct cv_writer *writer, const struct cv_scenario *scene, const struct handler_use *use)
{
    const struct cv_message *message = use->message;
    const struct cv_kind *kind = &use->guarded->own->kinds[message->kind];
    cv_write(writer, kind->name);
    if (message->words) {
        cv_write(writer, "(");
        cv_body_write(writer, scene, kind, cv_body(message), message->words, false);
        cv_write(writer, ")");
    }
    cv_writef(writer, " from %s", cv_name(scene, message->from).text);
}

static void write_event(struct cv_writer *writer, const struct cv_scenario *scene, const struct handler_use *use)
{
    static const char *const words[] = {
        [HANDLER_init] = "it begins",
        [HANDLER_start] = "it is to start",
        [HANDLER_recover] = "it comes back from a crash",
        [HANDLER_request] = "it wants to enter",
        [HANDLER_release] = "it leaves",
        [HANDLER_finish] = "the last round is over",
        [HANDLER_timeout] = "its timer fires: ",
        [HANDLER_suspect] = "its failure detector suspects ",
        [HANDLER_trust] = "its failure detector trusts again ",
        [HANDLER_pulse] = "a round begins: ",
        [HANDLER_adopt] = "a view begins",
        [HANDLER_receive] = "it receives ",
        [HANDLER_valid] = "`valid` is asked about ",
        [HANDLER_invariant] = "`invariant` is asked",
    };
    cv_write(writer, words[use->handler]);
    switch (use->handler) {
    case HANDLER_timeout:
        cv_write(writer, use->guarded->own->timers[use->argument]);
        break;
    case HANDLER_suspect:
    case HANDLER_trust:
        cv_write(writer, cv_name(scene, (cv_node)use->argument).text);
        break;
    case HANDLER_pulse:
        cv_writef(writer, "%llu", (unsigned long long)use->argument);
        break;
    case HANDLER_receive:
    case HANDLER_valid:
        write_message(writer, scene, use);
        break;
    default:
        break;
    }
}

static void write_state(struct cv_writer *writer, const struct cv_scenario *scene, const struct handler_use *use)
{
    char value[STATE_BYTES];
    const char *between = "";
    for (struct cv_fields at = cv_fields_begin(scene, NULL, use->me->node); cv_fields_next(&at); between = ", ") {
        cv_writef(writer, "%s%s ", between, at.name);
        cv_write(writer, cv_fields_text(&at, use->me->state, value, sizeof value));
    }
}

void failure_text(char *text, size_t room, const struct cv_scenario *scene, const struct handler_use *use,
                  const char *what)
{
    char state[STATE_BYTES];
    struct cv_writer state_writer = cv_writer(state, sizeof state), writer = cv_writer(text, room);
    write_event(&writer, scene, use);
    write_state(&state_writer, scene, use);
    if (*state && use->handler != HANDLER_init) {
        cv_write(&writer, " (its state before: ");
        cv_write(&writer, state);
        cv_write(&writer, ")");
    }
    cv_write(&writer, "; ");
    cv_write(&writer, what);
}
