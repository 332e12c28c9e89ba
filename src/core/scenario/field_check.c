// SPDX-License-Identifier: MIT
#include "core/scenario/field_check.h"

#include <stdlib.h>

#include "core/scenario/fields.h"

#define MOST_NODES 16u /* whose states are looked at */

/* ---- the tables ---- */

/* What is wrong with a field of a body, or of a state (NULL). */
static const char *field_flaw(const struct cv_algorithm *algorithm, const struct cv_field *field,
                              const struct cv_kind *kind)
{
    const bool list = field->type == CV_FIELD_LIST, row = field->type == CV_FIELD_NUMBERS, state = !kind;
    const uint64_t body_bytes = kind ? kind->bytes : 0;
    if (field->type > CV_FIELD_NUMBERS || field->each > CV_EACH_PLACE)
        return "expected one of enum cv_field_type and of enum cv_each";
    if (list && (state || field->offset != body_bytes || field[1].name))
        return "expected a list after the body, as the last field";
    if (row && (state || field->offset != body_bytes || (field[1].name && field[1].type != CV_FIELD_LIST)))
        return "expected numbers after the body, with no field but the list after them";
    if (!list && !row && field->bytes != 4 && field->bytes != 8)
        return "expected a field of 4 or 8 bytes";
    if (!state && !list && (uint64_t)field->offset + field->bytes > body_bytes)
        return "expected a field within the body";
    if (!state && (field->each || field->row))
        return "expected a row in a state alone";
    if (!field->words && (field->type == CV_FIELD_MODE || field->type == CV_FIELD_MARKS))
        return "expected its words";
    if (!field->places && field->each == CV_EACH_PLACE)
        return "expected its places";
    if (!algorithm->quorums && (field->each == CV_EACH_VOTER || field->each == CV_EACH_SET))
        return "expected an algorithm with voting sets";
    return field->row && !field->each ? "expected a row to say for each of whom it is" : NULL;
}

static int check_table(const char *file, const struct cv_algorithm *algorithm, const struct cv_kind *kind,
                       struct cv_complaint *complaint)
{
    const struct cv_field *fields = kind ? kind->fields : algorithm->state_fields;
    for (const struct cv_field *field = fields; field && field->name; field++) {
        const char *flaw = field_flaw(algorithm, field, kind);
        if (field > fields && cv_field_same_row(field - 1, field) &&
            field->offset != field[-1].offset + field[-1].bytes)
            flaw = "expected the fields of an entry one after the other";
        if (flaw)
            return cv_complain(complaint, "%s: field %s of %s: %s", file, field->name, kind ? kind->name : "the state",
                               flaw);
    }
    return 0;
}

int cv_fields_check_tables(const char *file, const struct cv_algorithm *algorithm, struct cv_complaint *complaint)
{
    int error = check_table(file, algorithm, NULL, complaint);
    for (const struct cv_kind *kind = algorithm->kinds; !error && kind->name; kind++)
        error = check_table(file, algorithm, kind, complaint);
    return error;
}

/* ---- the states ---- */

static int complain_of(const struct cv_scenario *scenario, cv_node node, size_t byte, const char *what,
                       struct cv_complaint *complaint)
{
    return cv_complain(complaint, "%s: byte %zu of the state of node %u of %u %s; expected each in one field",
                       scenario->algorithm->name, byte, scenario->group.ids[node], scenario->group.nodes, what);
}

static int check_state(const struct cv_scenario *scenario, cv_node node, struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    const size_t bytes = algorithm->state_size ? algorithm->state_size(&scenario->group, node) : algorithm->state_bytes;
    unsigned char *named = calloc(bytes + 1, 1);
    int error = named ? 0 : CV_ENOMEM;
    struct cv_fields at = cv_fields_begin(scenario, NULL, node);
    at.gaps = true;
    while (!error && cv_fields_next(&at)) {
        if (at.first && at.first->length && at.base + at.first->length + sizeof(uint32_t) > bytes)
            error = complain_of(scenario, node, (size_t)at.first->length, "is to be the length of a queue", complaint);
        for (size_t i = at.offset; !error && i < at.offset + at.bytes; i++)
            if (i >= bytes)
                error = complain_of(scenario, node, i, "is after its end", complaint);
            else if (named[i]++)
                error = complain_of(scenario, node, i, "is in two fields", complaint);
    }
    for (size_t i = 0; !error && i < bytes; i++)
        if (!named[i])
            error = complain_of(scenario, node, i, "is in no field", complaint);
    free(named);
    return error;
}

int cv_fields_check_states(const struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    int error = 0;
    if (scenario->algorithm->problem == CV_SYNCHRONIZER && !scenario->app)
        return 0; /* its states begin with what it hosts */
    for (cv_node node = 0; !error && node < scenario->group.nodes && node < MOST_NODES; node++)
        error = check_state(scenario, node, complaint);
    return error;
}
