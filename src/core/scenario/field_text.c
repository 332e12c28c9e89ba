// SPDX-License-Identifier: MIT
#include "core/scenario/field_text.h"

#include <inttypes.h>

#include "core/scenario/label.h"
#include "core/scenario/validity.h"

#define MOST_IDS 16u /* of a list, shown */

uint64_t cv_field_read(const struct cv_field *field, const void *bytes)
{
    const unsigned char *at = (const unsigned char *)bytes + field->offset;
    uint32_t narrow = 0;
    uint64_t wide = 0;
    if (field->bytes == sizeof wide) {
        memcpy(&wide, at, sizeof wide);
        return wide;
    }
    memcpy(&narrow, at, sizeof narrow);
    return narrow;
}

/* ---- words ---- */

uint64_t cv_field_word_count(const char *words)
{
    uint64_t count = 1;
    for (const char *at = words; *at; at++)
        count += *at == '|';
    return count;
}

struct cv_text cv_field_word(const char *words, uint64_t index)
{
    struct cv_text rest = cv_text(words), word = {"?", 1};
    for (uint64_t i = 0; i <= index; i++)
        if (!cv_text_take(&rest, '|', &word))
            return (struct cv_text){"?", 1};
    return word;
}

static void write_text(struct cv_writer *writer, struct cv_text text)
{
    cv_writef(writer, "%.*s", (int)text.length, text.start);
}

static void write_marks(struct cv_writer *writer, const char *words, uint64_t marks)
{
    const char *join = "";
    for (uint64_t i = 0; i < cv_field_word_count(words); i++)
        if (marks >> i & 1) {
            cv_write(writer, join);
            write_text(writer, cv_field_word(words, i));
            join = "+";
        }
}

void cv_field_write_name(struct cv_writer *writer, const char *name)
{
    char piece[2] = "";
    for (const char *at = name; *at; at++) {
        if (*at == '[') {
            while (at[1] && *at != ']')
                at++;
            continue;
        }
        piece[0] = *at == '_' ? ' ' : *at;
        cv_write(writer, piece);
    }
}

/* ---- values ---- */

/* The highest number of that size. */
static bool is_highest(const struct cv_field *field, uint64_t value)
{
    return value == (field->bytes == sizeof value ? UINT64_MAX : UINT32_MAX);
}

bool cv_field_is_blank(const struct cv_field *field, uint64_t value)
{
    switch ((enum cv_field_type)field->type) {
    case CV_FIELD_MAYBE:
        return value == CV_NOBODY;
    case CV_FIELD_CLOCK:
        return is_highest(field, value);
    case CV_FIELD_FLAG:
    case CV_FIELD_RANK:
    case CV_FIELD_TAG:
    case CV_FIELD_MARKS:
    case CV_FIELD_NODES:
    case CV_FIELD_UNUSED:
        return value == 0;
    default:
        return false;
    }
}

/* With its capacity, as in the textbook's figure: [h,8]. */
static void write_rank(struct cv_writer *writer, const struct cv_scenario *scenario, cv_rank rank)
{
    const struct cv_name name = cv_name_of(scenario, cv_rank_id(rank));
    if (scenario->group.attributes)
        cv_writef(writer, "[%s,%" PRIu32 "]", name.text, cv_rank_attribute(rank));
    else
        cv_write(writer, name.text);
}

void cv_fence_write(struct cv_writer *writer, uint64_t fence)
{
    const uint64_t view = fence >> CV_VIEW_BITS, count = fence & ((UINT64_C(1) << CV_VIEW_BITS) - 1);
    if (view)
        cv_writef(writer, "%" PRIu64 "·", view);
    cv_writef(writer, "%" PRIu64, count);
}

void cv_field_write_nodes(struct cv_writer *writer, const struct cv_scenario *scenario, const uint32_t *bits)
{
    const char *join = "";
    for (cv_node node = 0; node < scenario->group.nodes; node++)
        if (cv_bits_has(bits, node)) {
            cv_writef(writer, "%s%s", join, cv_name(scenario, node).text);
            join = ", ";
        }
    cv_write(writer, *join ? "" : "-");
}

/* A set of at most 64 nodes. */
static void write_few_nodes(struct cv_writer *writer, const struct cv_scenario *scenario, uint64_t nodes)
{
    const char *join = "{";
    for (cv_node node = 0; node < 64 && node < scenario->group.nodes; node++)
        if (nodes >> node & 1) {
            cv_writef(writer, "%s%s", join, cv_name(scenario, node).text);
            join = " ";
        }
    cv_write(writer, "}");
}

void cv_field_write(struct cv_writer *writer, const struct cv_scenario *scenario, const struct cv_field *field,
                    uint64_t value)
{
    if (cv_field_is_blank(field, value)) {
        cv_write(writer, field->type == CV_FIELD_FLAG ? "no" : "-");
        return;
    }
    switch ((enum cv_field_type)field->type) {
    case CV_FIELD_FLAG:
        cv_write(writer, "yes");
        break;
    case CV_FIELD_MODE:
        write_text(writer, cv_field_word(field->words, value));
        break;
    case CV_FIELD_MARKS:
        write_marks(writer, field->words, value);
        break;
    case CV_FIELD_NODE:
    case CV_FIELD_MAYBE:
        cv_write(writer, value < scenario->group.nodes ? cv_name(scenario, (cv_node)value).text : "?");
        break;
    case CV_FIELD_ID:
        cv_write(writer, cv_name_of(scenario, (cv_id)value).text);
        break;
    case CV_FIELD_RANK:
        write_rank(writer, scenario, value);
        break;
    case CV_FIELD_TAG:
        cv_writef(writer, "%s·%" PRIu32, cv_name_of(scenario, cv_rank_id(value)).text, cv_rank_attribute(value));
        break;
    case CV_FIELD_NODES:
        write_few_nodes(writer, scenario, value);
        break;
    case CV_FIELD_FENCE:
        cv_fence_write(writer, value);
        break;
    default:
        if (field->type == CV_FIELD_NUMBER && is_highest(field, value))
            cv_write(writer, "∞");
        else
            cv_writef(writer, "%" PRIu64, value);
        break;
    }
}

void cv_field_write_said(struct cv_writer *writer, const struct cv_scenario *scenario, const struct cv_field *field,
                         uint64_t value)
{
    if (field->type == CV_FIELD_RANK && !value && scenario->zero_rank)
        write_rank(writer, scenario, value);
    else
        cv_field_write(writer, scenario, field, value);
}

/* ---- what it can hold ---- */

const char *cv_field_type_name(uint32_t type)
{
    static const char *const names[] = {
        [CV_FIELD_NUMBER] = "number", [CV_FIELD_FLAG] = "flag",     [CV_FIELD_MODE] = "mode",
        [CV_FIELD_NODE] = "node",     [CV_FIELD_MAYBE] = "maybe",   [CV_FIELD_ID] = "id",
        [CV_FIELD_RANK] = "rank",     [CV_FIELD_NODES] = "nodes",   [CV_FIELD_CLOCK] = "clock",
        [CV_FIELD_FENCE] = "fence",   [CV_FIELD_LIST] = "list",     [CV_FIELD_TAG] = "tag",
        [CV_FIELD_MARKS] = "marks",   [CV_FIELD_UNUSED] = "unused", [CV_FIELD_NUMBERS] = "numbers",
    };
    return names[type];
}

void cv_field_describe(struct cv_writer *writer, const struct cv_field *field)
{
    static const char *const words[] = {
        [CV_FIELD_NUMBER] = "number",
        [CV_FIELD_FLAG] = "yes or no",
        [CV_FIELD_NODE] = "node",
        [CV_FIELD_MAYBE] = "node or none",
        [CV_FIELD_ID] = "node",
        [CV_FIELD_RANK] = "rank of a node",
        [CV_FIELD_NODES] = "set of nodes",
        [CV_FIELD_CLOCK] = "clock",
        [CV_FIELD_FENCE] = "fence",
        [CV_FIELD_LIST] = "list of nodes",
        [CV_FIELD_TAG] = "election",
        [CV_FIELD_UNUSED] = "nothing",
        [CV_FIELD_NUMBERS] = "number for each node",
    };
    static const char *const each[] = {
        [CV_ONCE] = "",
        [CV_EACH_NODE] = " for each node",
        [CV_EACH_NEIGHBOUR] = " for each neighbour",
        [CV_EACH_VOTER] = " for each voter",
        [CV_EACH_SET] = " for each voting set",
        [CV_EACH_PLACE] = " for each of ",
    };
    const char *join = "";
    const bool worded = field->type == CV_FIELD_MODE || field->type == CV_FIELD_MARKS;
    for (uint64_t i = 0; worded && i < cv_field_word_count(field->words); i++) {
        cv_write(writer, join);
        write_text(writer, cv_field_word(field->words, i));
        join = field->type == CV_FIELD_MODE ? " | " : " + ";
    }
    cv_write(writer, worded ? "" : words[field->type]);
    cv_write(writer, field->type == CV_FIELD_NODES ? "" : field->length ? ", queued" : each[field->each]);
    join = "";
    for (uint64_t i = 0; field->each == CV_EACH_PLACE && i < cv_field_word_count(field->places); i++) {
        cv_write(writer, join);
        write_text(writer, cv_field_word(field->places, i));
        join = ", ";
    }
}

/* ---- bodies ---- */

static void write_list(struct cv_writer *writer, const struct cv_scenario *scenario, const cv_id *ids, uint64_t count)
{
    cv_write(writer, "[");
    for (uint64_t i = 0; i < count && i < MOST_IDS; i++)
        cv_writef(writer, "%s%s", i ? " " : "", cv_name_of(scenario, ids[i]).text);
    cv_write(writer, count > MOST_IDS ? " …]" : "]");
}

void cv_field_write_numbers(struct cv_writer *writer, const uint32_t *numbers, uint64_t count)
{
    cv_write(writer, "(");
    for (uint64_t i = 0; i < count && i < MOST_IDS; i++)
        cv_writef(writer, "%s%" PRIu32, i ? " " : "", numbers[i]);
    cv_write(writer, count > MOST_IDS ? " …)" : ")");
}

/* Among other fields a bare number says too little; words, ranks and elections speak for themselves. */
static bool wants_name(const struct cv_kind *kind, const struct cv_field *field)
{
    switch ((enum cv_field_type)field->type) {
    case CV_FIELD_NUMBER:
    case CV_FIELD_NUMBERS:
    case CV_FIELD_CLOCK:
    case CV_FIELD_FENCE:
    case CV_FIELD_NODE:
    case CV_FIELD_MAYBE:
    case CV_FIELD_ID:
        return kind->fields[1].name;
    default:
        return false;
    }
}

/* What is left out: gaps, flags that are not set, and, in brief, flags and elections beside other fields. */
static bool is_left_out(const struct cv_kind *kind, const struct cv_field *field, uint64_t value, bool brief)
{
    const bool flag = field->type == CV_FIELD_FLAG;
    return field->type == CV_FIELD_UNUSED || (flag && !value) ||
           (brief && kind->fields[1].name && (flag || field->type == CV_FIELD_TAG));
}

/* A flag that is set is shown by its name. */
static void write_part(struct cv_writer *writer, const struct cv_scenario *scenario, const struct cv_kind *kind,
                       const struct cv_field *field, uint64_t value, bool brief)
{
    if (field->type == CV_FIELD_FLAG || (!brief && wants_name(kind, field)))
        cv_field_write_name(writer, field->name);
    if (field->type == CV_FIELD_FLAG)
        return;
    cv_write(writer, !brief && wants_name(kind, field) ? " " : "");
    cv_field_write_said(writer, scenario, field, value);
}

static void write_row(struct cv_writer *writer, const struct cv_kind *kind, const struct cv_field *field,
                      const uint32_t *numbers, uint64_t count, bool brief)
{
    if (!brief && wants_name(kind, field)) {
        cv_field_write_name(writer, field->name);
        cv_write(writer, " ");
    }
    cv_field_write_numbers(writer, numbers, count);
}

void cv_body_write(struct cv_writer *writer, const struct cv_scenario *scenario, const struct cv_kind *kind,
                   const void *body, uint64_t words, bool brief)
{
    const char *join = "";
    for (const struct cv_field *field = kind->fields; field && field->name; field++) {
        const bool list = field->type == CV_FIELD_LIST, numbers = field->type == CV_FIELD_NUMBERS;
        const uint64_t row = list || numbers ? cv_kind_numbers(kind, scenario->group.nodes) : 0;
        const uint64_t head = field->offset / 4;
        if (field->offset + field->bytes + row * 4 > words * 4)
            continue;
        const uint64_t value = list || numbers ? 1 : cv_field_read(field, body);
        if (is_left_out(kind, field, value, brief))
            continue;
        cv_write(writer, join);
        join = brief ? " " : ", ";
        if (list)
            write_list(writer, scenario, (const cv_id *)body + head + row, words - head - row);
        else if (numbers)
            write_row(writer, kind, field, (const uint32_t *)body + head, row, brief);
        else
            write_part(writer, scenario, kind, field, value, brief);
    }
}
