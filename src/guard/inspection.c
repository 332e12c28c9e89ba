// SPDX-License-Identifier: MIT
#include "guard/inspection.h"

#include <stdarg.h>
#include <stdio.h>

#include "core/scenario/validity.h"

struct inspection {
    const struct handler_use *use;
    const struct cv_self *after;
    char *why;
    size_t room;
};

static __attribute__((format(printf, 2, 3))) bool object(const struct inspection *inspection, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(inspection->why, inspection->room, format, arguments);
    va_end(arguments);
    return false;
}

/* ---- messages ---- */

static bool length_passes(const struct inspection *inspection, const struct cv_message *message)
{
    const struct cv_algorithm *own = inspection->use->guarded->own;
    const struct cv_kind *kind = &own->kinds[message->kind];
    const uint64_t bytes = message->words * 4;
    const uint64_t least = kind->bytes + cv_kind_numbers(kind, inspection->use->me->group->nodes) * 4;
    const bool open = cv_kind_has_list(kind) || (own->problem == CV_SYNCHRONIZER && message->kind == 0);
    if (open ? bytes >= least : bytes == least)
        return true;
    return object(inspection, "the handler sends `%s` with %llu bytes; its table says %s%llu", kind->name,
                  (unsigned long long)bytes, open ? "at least " : "", (unsigned long long)least);
}

/*
 * An app sends to neighbours, one message each, when a round begins. Its synchronizer relies on it. Most send in the
 * order of their neighbours: then no message before this one went to a higher node.
 */
static bool app_passes(const struct inspection *inspection, size_t at, cv_node highest)
{
    const struct cv_self *after = inspection->after;
    const struct cv_message *message = (const void *)(after->outbox + at);
    if (inspection->use->handler != HANDLER_pulse)
        return object(inspection, "the handler sends; a synchronous algorithm sends in `pulse` alone");
    if (cv_neighbour_index(after, message->to) == cv_degree(after))
        return object(inspection, "the handler sends to node %u, which is no neighbour",
                      after->group->ids[message->to]);
    for (size_t other = 0; other < at && message->to <= highest;) {
        const struct cv_message *earlier = (const void *)(after->outbox + other);
        if (earlier->to == message->to)
            return object(inspection, "the handler sends two messages to node %u in one round",
                          after->group->ids[message->to]);
        other += cv_message_bytes(earlier);
    }
    return true;
}

static bool messages_pass(const struct inspection *inspection)
{
    const struct guarded *guarded = inspection->use->guarded;
    const struct cv_self *after = inspection->after;
    cv_node highest = 0;
    for (size_t at = 0; at < after->used;) {
        const struct cv_message *message = (const void *)(after->outbox + at);
        if (after->used - at < sizeof *message || after->used - at < cv_message_bytes(message) ||
            message->to >= after->group->nodes || message->from != after->node)
            return object(inspection, "the handler writes past the end of a message that it sends");
        if (message->kind >= guarded->kind_count)
            return object(inspection, "the handler sends a message of kind %u; its table has %u kinds",
                          (unsigned)message->kind, guarded->kind_count);
        if (!length_passes(inspection, message))
            return false;
        if (guarded->own->problem == CV_SYNCHRONOUS && !app_passes(inspection, at, highest))
            return false;
        highest = message->to > highest ? message->to : highest;
        at += cv_message_bytes(message);
    }
    return true;
}

/* ---- effects ---- */

static bool has_effects(const struct inspection *inspection)
{
    return inspection->after->used || inspection->after->effects != inspection->use->me->effects;
}

static bool timers_pass(const struct inspection *inspection)
{
    const struct cv_self *before = inspection->use->me, *after = inspection->after;
    const uint32_t used =
        (before->timers_armed ^ after->timers_armed) | (before->timers_cancelled ^ after->timers_cancelled);
    const uint32_t count = inspection->use->guarded->timer_count;
    if (!(after->effects & CV_DID_TIMER) || !(used >> count))
        return true;
    return object(inspection, "the handler sets timer %u; its table has %u timers",
                  (unsigned)(31 - __builtin_clz(used)), count);
}

static bool note_passes(const struct inspection *inspection)
{
    const struct shared_object *from = &inspection->use->guarded->object;
    const uintptr_t note = (uintptr_t)inspection->after->note;
    if (!from->path || !(inspection->after->effects & CV_DID_NOTE) ||
        inspection->after->note == inspection->use->me->note || note - from->begin < from->end - from->begin)
        return true;
    return object(inspection, "the handler calls cv_note() with a text that does not live for ever");
}

// NOLINTNEXTLINE(readability-non-const-parameter): it is written to, by way of the structure
bool inspection_passes(const struct handler_use *use, const struct cv_self *after, char *why, size_t room)
{
    const struct inspection inspection = {use, after, why, room};
    if (use->handler == HANDLER_init && has_effects(&inspection))
        return object(&inspection, "`init` sends or records effects; it may only fill in the state");
    if (handler_only_looks(use->handler) && has_effects(&inspection))
        return object(&inspection, "it sends or records effects; it may only look");
    return messages_pass(&inspection) && timers_pass(&inspection) && note_passes(&inspection);
}
