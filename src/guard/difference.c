// SPDX-License-Identifier: MIT
#include "guard/difference.h"

#include <stdio.h>
#include <string.h>

#include "core/scenario/field_text.h"
#include "core/scenario/fields.h"
#include "core/scenario/label.h"

#define VALUE_BYTES 80u

static bool same_texts(const char *one, const char *other)
{
    return one == other || (one && other && strcmp(one, other) == 0);
}

static bool same_timers(const struct cv_self *first, const struct cv_self *second)
{
    if (first->timers_armed != second->timers_armed || first->timers_cancelled != second->timers_cancelled)
        return false;
    for (uint32_t timer = 0; timer < CV_MAX_TIMERS; timer++)
        if (first->timers_armed & 1u << timer && first->timer_delay[timer] != second->timer_delay[timer])
            return false;
    return true;
}

static bool same_effects(const struct cv_self *first, const struct cv_self *second)
{
    return first->effects == second->effects && first->knows == second->knows && first->calling == second->calling &&
           (!second->knows || first->elected == second->elected) && first->clock == second->clock &&
           same_timers(first, second) && (!(second->effects & CV_DID_ENTER) || first->fence == second->fence) &&
           (!(second->effects & CV_DID_RESULT) || (first->result == second->result && first->via == second->via));
}

bool difference_is_none(const struct step_result *first, const struct step_result *second)
{
    return first->state_bytes == second->state_bytes && memcmp(first->state, second->state, first->state_bytes) == 0 &&
           first->self.used == second->self.used &&
           (!first->self.used || memcmp(first->self.outbox, second->self.outbox, first->self.used) == 0) &&
           same_effects(&first->self, &second->self) && first->choices == second->choices &&
           first->valid == second->valid && same_texts(first->complaint, second->complaint);
}

/* ---- in words ---- */

static size_t first_other_byte(const unsigned char *one, const unsigned char *other, size_t bytes)
{
    size_t at = 0;
    while (at < bytes && one[at] == other[at])
        at++;
    return at;
}

static bool state_text(struct cv_writer *writer, const struct cv_scenario *scene, const struct handler_use *use,
                       const struct step_result *first, const struct step_result *second)
{
    const size_t byte = first_other_byte(first->state, second->state, first->state_bytes);
    char once[VALUE_BYTES], again[VALUE_BYTES];
    if (byte == first->state_bytes)
        return false;
    for (struct cv_fields at = cv_fields_begin(scene, NULL, use->me->node); cv_fields_next(&at);)
        if (byte - at.offset < at.bytes) {
            cv_writef(writer, "`%s` is ", at.name);
            cv_write(writer, cv_fields_text(&at, first->state, once, sizeof once));
            cv_write(writer, ", then ");
            cv_write(writer, cv_fields_text(&at, second->state, again, sizeof again));
            return true;
        }
    cv_writef(writer, "byte %zu of the state differs", byte);
    return true;
}

static uint64_t count_messages(const struct cv_self *self)
{
    uint64_t count = 0;
    for (size_t at = 0; at < self->used; count++)
        at += cv_message_bytes((const void *)(self->outbox + at));
    return count;
}

static void body_text(struct cv_writer *writer, const struct cv_scenario *scene, const struct handler_use *use,
                      const struct cv_message *once, const struct cv_message *again)
{
    const struct cv_kind *kind = &use->guarded->own->kinds[once->kind];
    const unsigned char *one = cv_body(once), *other = cv_body(again);
    const size_t byte = first_other_byte(one, other, (size_t)once->words * 4);
    cv_writef(writer, "`%s` to %s ", kind->name, cv_name(scene, once->to).text);
    if (memcmp(once, again, sizeof *once) != 0) {
        cv_write(writer, "goes elsewhere, or is another message");
        return;
    }
    for (const struct cv_field *field = kind->fields; field && field->name; field++)
        if (field->type != CV_FIELD_LIST && field->type != CV_FIELD_NUMBERS && byte - field->offset < field->bytes) {
            cv_writef(writer, "has `%s` ", field->name);
            cv_field_write_said(writer, scene, field, cv_field_read(field, one));
            cv_write(writer, ", then ");
            cv_field_write_said(writer, scene, field, cv_field_read(field, other));
            return;
        }
    cv_writef(writer, "differs in byte %zu of its body", byte);
}

static bool messages_text(struct cv_writer *writer, const struct cv_scenario *scene, const struct handler_use *use,
                          const struct cv_self *first, const struct cv_self *second)
{
    const uint64_t once = count_messages(first), again = count_messages(second);
    if (once != again) {
        cv_writef(writer, "it sends %llu messages, then %llu", (unsigned long long)once, (unsigned long long)again);
        return true;
    }
    for (size_t at = 0; at < first->used && at < second->used;) {
        const struct cv_message *one = (const void *)(first->outbox + at), *other = (const void *)(second->outbox + at);
        const size_t bytes = cv_message_bytes(one);
        if (memcmp(one, other, bytes) != 0) {
            body_text(writer, scene, use, one, other);
            return true;
        }
        at += bytes;
    }
    return false;
}

static void effects_text(struct cv_writer *writer, const struct cv_scenario *scene, const struct cv_self *first,
                         const struct cv_self *second)
{
    const uint32_t both = first->effects & second->effects;
    if (both & CV_DID_ELECT && first->elected != second->elected)
        cv_writef(writer, "it elects %s, then %s", cv_name_of(scene, first->elected).text,
                  cv_name_of(scene, second->elected).text);
    else if (both & CV_DID_ENTER && first->fence != second->fence)
        cv_writef(writer, "it enters with fence %llu, then %llu", (unsigned long long)first->fence,
                  (unsigned long long)second->fence);
    else if (both & CV_DID_RESULT && first->result != second->result)
        cv_writef(writer, "its result is %llu, then %llu", (unsigned long long)first->result,
                  (unsigned long long)second->result);
    else if (!same_timers(first, second))
        cv_write(writer, "it sets other timers");
    else
        cv_write(writer, "it has other effects or another answer");
}

void difference_text(char *text, size_t room, const struct cv_scenario *scene, const struct handler_use *use,
                     const struct step_result *first, const struct step_result *second)
{
    struct cv_writer writer = cv_writer(text, room);
    cv_write(&writer, "the step does something else when it is taken again: ");
    if (!state_text(&writer, scene, use, first, second) &&
        !messages_text(&writer, scene, use, &first->self, &second->self))
        effects_text(&writer, scene, &first->self, &second->self);
    cv_write(&writer, "; it depends on more than its state and what happened");
}
