// SPDX-License-Identifier: MIT
#include "core/scenario/fields.h"

#include <inttypes.h>
#include <stdio.h>

#include <conclave/synchronizer.h>

#include "core/scenario/field_text.h"
#include "core/scenario/label.h"

/* The parts of a synchronizer's state; any other has the first alone. */
enum { PART_OWN, PART_ROUND, PART_APP, PART_KEPT, PART_TAIL, PART_END };

/* ---- sizes ---- */

static size_t state_bytes(const struct cv_algorithm *algorithm, const struct cv_group *group, cv_node node)
{
    return algorithm->state_size ? algorithm->state_size(group, node) : algorithm->state_bytes;
}

static size_t align(size_t bytes)
{
    return (bytes + 7) / 8 * 8;
}

static const struct cv_algorithm *algorithm_of(const struct cv_fields *at)
{
    return at->part == PART_APP ? at->scenario->app : at->scenario->algorithm;
}

/* The questions of conclave/algorithm.h are asked by a node. */
static struct cv_self node_of(const struct cv_fields *at)
{
    return (struct cv_self){.group = at->group, .node = at->node};
}

/* How many voting sets the node is in. */
static size_t count_sets(const struct cv_fields *at)
{
    const struct cv_group *group = at->group;
    size_t sets = 0;
    for (uint64_t i = 0; i < group->quorums[group->nodes]; i++)
        sets += group->voters[i] == at->node;
    return sets;
}

static size_t count_entries(const struct cv_fields *at)
{
    const struct cv_self me = node_of(at);
    switch ((enum cv_each)at->each) {
    case CV_EACH_NODE:
        return at->group->nodes;
    case CV_EACH_NEIGHBOUR:
        return cv_degree(&me);
    case CV_EACH_VOTER:
        return cv_quorum_size(&me, at->node);
    case CV_EACH_PLACE:
        return (size_t)cv_field_word_count(at->first->places);
    case CV_EACH_SET:
        return count_sets(at);
    case CV_ONCE:
        break;
    }
    return 1;
}

/* ---- rows ---- */

/* How long the name of a field's row is: "link[0]", "peers[0].request". */
static size_t row_length(const struct cv_field *field)
{
    return strcspn(field->row ? field->row : field->name, "[");
}

static const char *row_name(const struct cv_field *field)
{
    return field->row ? field->row : field->name;
}

bool cv_field_same_row(const struct cv_field *one, const struct cv_field *other)
{
    return one->each && other->name && one->each == other->each && row_length(one) == row_length(other) &&
           strncmp(row_name(one), row_name(other), row_length(one)) == 0;
}

/* Where in an entry of its row a part is. */
static size_t part_offset(const struct cv_fields *at, const struct cv_field *field)
{
    return field->row ? field->offset : field->offset - at->first->offset;
}

/* ---- from one field to the next ---- */

/* Does the synchronizer have a field of the same name as that one of its app? */
static bool is_hidden(const struct cv_fields *at, const struct cv_field *field)
{
    const struct cv_field *own = at->scenario->algorithm->state_fields;
    while (own && own->name && strcmp(own->name, field->name) != 0)
        own++;
    return (own && own->name) || strcmp(field->name, "round") == 0 || strcmp(field->name, "kept") == 0;
}

static void name_it(struct cv_fields *at, const struct cv_field *field)
{
    struct cv_writer writer = cv_writer(at->name, sizeof at->name);
    char row[CV_FIELD_NAME_BYTES];
    if (at->part == PART_APP && is_hidden(at, field))
        cv_writef(&writer, "%s.", at->scenario->app->name);
    snprintf(row, sizeof row, "%.*s", (int)row_length(field), row_name(field));
    cv_field_write_name(&writer, field->each ? row : field->name);
}

static void read_to(struct cv_fields *at)
{
    const size_t end = at->offset + at->bytes;
    at->end = end > at->end ? end : at->end;
}

/* Bytes that nobody uses: from one place to another. */
static bool take_gap(struct cv_fields *at, size_t from, size_t until)
{
    if (from >= until || at->end >= until)
        return false;
    at->first = NULL;
    at->name[0] = '\0';
    at->type = CV_FIELD_UNUSED;
    at->each = CV_ONCE;
    at->count = 1;
    at->offset = from;
    at->bytes = until - from;
    read_to(at);
    return true;
}

static void take_field(struct cv_fields *at)
{
    const struct cv_field *field = at->next;
    at->first = field;
    at->type = field->type;
    at->each = field->each;
    at->offset = field->row ? at->end : at->base + field->offset;
    at->stride = field->bytes;
    name_it(at, field);
    for (at->next++; cv_field_same_row(field, at->next); at->next++)
        at->stride += at->next->bytes;
    const bool there = field->each == CV_ONCE || at->offset < at->size;
    at->count = there ? (uint32_t)count_entries(at) : 0;
    if (field->type == CV_FIELD_NODES && field->each) {
        at->stride = cv_bits_words(at->group->nodes) * sizeof(uint32_t);
        at->count = 1;
    }
    at->bytes = at->count * at->stride;
    read_to(at);
}

/* A state without names is one field. */
static void take_unnamed(struct cv_fields *at)
{
    at->first = at->next = NULL;
    snprintf(at->name, sizeof at->name, "state");
    at->type = CV_FIELD_LIST;
    at->each = CV_ONCE;
    at->count = 1;
    at->offset = at->end;
    at->bytes = at->size - at->end;
    read_to(at);
}

/* The next field of the algorithm's own, or of the app's. A synchronizer's rows without a place come after the app. */
static bool take_own(struct cv_fields *at)
{
    if (!algorithm_of(at)->state_fields && at->end < at->size) {
        take_unnamed(at);
        return true;
    }
    const bool before_app = at->part == PART_OWN && at->host_group->app;
    if (!at->next || !at->next->name || (at->next->row && before_app))
        return (before_app || at->part == PART_APP) && take_gap(at, at->size, align(at->size));
    if (!at->next->row || !take_gap(at, at->end, align(at->end)))
        take_field(at);
    return true;
}

static void take_round(struct cv_fields *at)
{
    static const struct cv_field round = {.name = "round", .bytes = sizeof(uint64_t), .type = CV_FIELD_NUMBER};
    at->base = at->end;
    at->next = &round;
    take_field(at);
}

/* The messages that wait for the end of their round: a slot for each neighbour, in even and in odd rounds. */
static void take_kept(struct cv_fields *at)
{
    at->first = NULL;
    snprintf(at->name, sizeof at->name, "kept");
    at->type = CV_FIELD_LIST;
    at->each = CV_EACH_NEIGHBOUR;
    at->offset = at->end;
    at->stride = at->host_group->slot_bytes;
    at->count = 2 * (uint32_t)count_entries(at);
    at->bytes = at->count * at->stride;
    read_to(at);
}

/* A synchronizer's rows without a place. */
static const struct cv_field *tail_fields(const struct cv_algorithm *algorithm)
{
    const struct cv_field *field = algorithm->state_fields;
    while (field && field->name && !field->row)
        field++;
    return field;
}

/* The next part of a synchronizer's state begins where the one before ends. */
static void begin_part(struct cv_fields *at)
{
    const struct cv_group *group = at->host_group;
    at->end = align(at->size);
    at->part = group->app ? at->part + 1 : PART_END;
    at->group = at->part == PART_APP ? group->app_group : group;
    if (at->part == PART_ROUND) {
        at->size = at->end + sizeof(uint64_t);
    } else if (at->part == PART_APP) {
        at->base = at->end;
        at->size = at->end + state_bytes(group->app, group->app_group, at->node);
        at->next = group->app->state_fields;
    } else if (at->part == PART_KEPT) {
        const struct cv_self me = node_of(at);
        at->size = at->end + 2 * cv_degree(&me) * group->slot_bytes;
    } else if (at->part == PART_TAIL) {
        at->base = 0;
        at->size = state_bytes(at->scenario->algorithm, group, at->node);
        at->next = tail_fields(at->scenario->algorithm);
    }
}

struct cv_fields cv_fields_begin(const struct cv_scenario *scenario, const struct cv_group *group, cv_node node)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    const struct cv_group *its = group ? group : &scenario->group;
    return (struct cv_fields){.scenario = scenario,
                              .group = its,
                              .host_group = its,
                              .next = algorithm->state_fields,
                              .size = its->app ? algorithm->state_bytes : state_bytes(algorithm, its, node),
                              .node = node};
}

/* One step, gaps included. */
static bool step(struct cv_fields *at)
{
    while (at->part != PART_END) {
        const bool own = at->part == PART_OWN || at->part == PART_APP || at->part == PART_TAIL;
        if (own && take_own(at))
            return true;
        begin_part(at);
        if (at->part == PART_ROUND)
            take_round(at);
        else if (at->part == PART_KEPT)
            take_kept(at);
        else
            continue;
        return true;
    }
    return false;
}

bool cv_fields_next(struct cv_fields *at)
{
    while (step(at))
        if (at->gaps || at->type != CV_FIELD_UNUSED)
            return true;
    return false;
}

bool cv_fields_named(const struct cv_scenario *scenario)
{
    const struct cv_algorithm *algorithm = scenario->algorithm, *app = scenario->app;
    for (cv_node node = 0; node < scenario->group.nodes; node++) {
        const size_t own = app ? algorithm->state_bytes : state_bytes(algorithm, &scenario->group, node);
        if ((own && !algorithm->state_fields) ||
            (app && state_bytes(app, &scenario->app_group, node) && !app->state_fields))
            return false;
    }
    return true;
}

/* ---- the text of a row ---- */

static bool is_queue(const struct cv_fields *at)
{
    return at->first->length != 0;
}

static cv_node entry_node(const struct cv_fields *at, uint32_t entry)
{
    const struct cv_self me = node_of(at);
    return at->each == CV_EACH_NEIGHBOUR ? cv_neighbour(&me, entry)
           : at->each == CV_EACH_VOTER   ? cv_voter(&me, at->node, entry)
                                         : entry;
}

/* The part of a queue's entry that says who waits. */
static const struct cv_field *waiting_part(const struct cv_fields *at)
{
    for (const struct cv_field *field = at->first; field < at->next; field++)
        if (field->type == CV_FIELD_NODE || field->type == CV_FIELD_MAYBE)
            return field;
    return at->first;
}

static uint64_t read_part(const struct cv_fields *at, const struct cv_field *part, const unsigned char *entry)
{
    const struct cv_field moved = {.offset = (uint32_t)part_offset(at, part), .bytes = part->bytes};
    return cv_field_read(&moved, entry);
}

/* Whom the entry is about. */
static void write_label(struct cv_writer *writer, const struct cv_fields *at, uint32_t entry,
                        const unsigned char *bytes)
{
    if (is_queue(at)) {
        const struct cv_field *part = waiting_part(at);
        cv_field_write(writer, at->scenario, part, read_part(at, part, bytes));
    } else if (at->each == CV_EACH_PLACE) {
        const struct cv_text word = cv_field_word(at->first->places, entry);
        cv_writef(writer, "%.*s", (int)word.length, word.start);
    } else {
        cv_write(writer, cv_name(at->scenario, entry_node(at, entry)).text);
    }
}

static const char *part_name(const struct cv_field *part)
{
    const char *dot = strchr(part->name, '.');
    return dot ? dot + 1 : part->name;
}

/* "h (request 5, later)": what there is of the parts of an entry. */
static void write_parts(struct cv_writer *writer, const struct cv_fields *at, const unsigned char *bytes)
{
    const char *join = " (";
    for (const struct cv_field *part = at->first; part < at->next; part++) {
        const uint64_t value = read_part(at, part, bytes);
        if (cv_field_is_blank(part, value) || (is_queue(at) && part == waiting_part(at)))
            continue;
        cv_write(writer, join);
        cv_field_write_name(writer, part_name(part));
        if (part->type != CV_FIELD_FLAG) {
            cv_write(writer, " ");
            cv_field_write(writer, at->scenario, part, value);
        }
        join = ", ";
    }
    cv_write(writer, *join == ',' ? ")" : "");
}

static bool is_blank(const struct cv_fields *at, const unsigned char *bytes)
{
    for (const struct cv_field *part = at->first; part < at->next; part++)
        if (!cv_field_is_blank(part, read_part(at, part, bytes)))
            return false;
    return true;
}

/* Entries without anything are left out: "b: child, c: awaited". */
static void write_row(struct cv_writer *writer, const struct cv_fields *at, const unsigned char *state)
{
    const char *join = "";
    uint32_t count = at->count;
    if (is_queue(at)) {
        uint32_t length;
        memcpy(&length, state + at->base + at->first->length, sizeof length);
        count = length < count ? length : count;
    }
    for (uint32_t i = 0; i < count; i++) {
        const unsigned char *bytes = state + at->offset + i * at->stride;
        if (!is_queue(at) && is_blank(at, bytes))
            continue;
        cv_write(writer, join);
        join = ", ";
        write_label(writer, at, i, bytes);
        if (at->next - at->first > 1) {
            write_parts(writer, at, bytes);
        } else if (!is_queue(at) && at->type != CV_FIELD_FLAG) {
            cv_write(writer, ": ");
            cv_field_write(writer, at->scenario, at->first, read_part(at, at->first, bytes));
        }
    }
    cv_write(writer, *join ? "" : "-");
}

/* A message of an earlier round has been handed over. */
static void write_kept(struct cv_writer *writer, const struct cv_fields *at, const unsigned char *state)
{
    const struct cv_algorithm *app = at->host_group->app;
    const uint32_t kinds = cv_algorithm_kinds(app), degree = at->count / 2;
    const char *join = "";
    uint64_t round;
    memcpy(&round, state + at->host_group->hosted_at, sizeof round);
    for (uint32_t i = 0; i < at->count; i++) {
        const unsigned char *slot = state + at->offset + i * at->stride;
        struct cv_envelope envelope;
        memcpy(&envelope, slot, sizeof envelope);
        if (!envelope.round || envelope.round < round || envelope.kind >= kinds)
            continue;
        const struct cv_kind *kind = &app->kinds[envelope.kind];
        cv_writef(writer, "%s%s: %s", join, cv_name(at->scenario, entry_node(at, i % degree)).text, kind->name);
        cv_write(writer, kind->fields ? " " : "");
        cv_body_write(writer, at->scenario, kind, slot + sizeof envelope, kind->bytes / 4, true);
        if (envelope.round > round)
            cv_writef(writer, " (round %" PRIu32 ")", envelope.round);
        join = ", ";
    }
    cv_write(writer, *join ? "" : "-");
}

const char *cv_fields_text(const struct cv_fields *at, const void *state, char *text, size_t room)
{
    struct cv_writer writer = cv_writer(text, room);
    const unsigned char *bytes = state;
    if (at->part == PART_KEPT)
        write_kept(&writer, at, bytes);
    else if (!at->first)
        cv_writef(&writer, "%zu bytes without names", at->bytes);
    else if (at->type == CV_FIELD_NODES && at->each)
        cv_field_write_nodes(&writer, at->scenario, (const uint32_t *)(const void *)(bytes + at->offset));
    else if (at->each)
        write_row(&writer, at, bytes);
    else
        cv_field_write(&writer, at->scenario, at->first, cv_fields_number(at, state));
    return text;
}

uint64_t cv_fields_number(const struct cv_fields *at, const void *state)
{
    const struct cv_field here = {.offset = (uint32_t)at->offset, .bytes = (uint32_t)at->stride};
    return at->first && !at->each ? cv_field_read(&here, state) : 0;
}
