// SPDX-License-Identifier: MIT
#include "core/scenario/validity.h"

#include "core/scenario/field_text.h"

/* ---- fields ---- */

static bool knows(const struct cv_group *group, cv_id id)
{
    for (cv_node node = 0; node < group->nodes; node++)
        if (group->ids[node] == id)
            return true;
    return false;
}

/* Members, and so ids, may come and go while a message is under way. */
static enum cv_validity check_list(const struct cv_group *group, const struct cv_kind *kind,
                                   const struct cv_message *message)
{
    const struct cv_list list = cv_list(message, kind->bytes + cv_kind_numbers(kind, group->nodes) * 4);
    for (uint64_t i = 0; i < list.count; i++)
        if (!knows(group, list.ids[i]))
            return CV_STRAY;
    return list.count <= group->nodes ? CV_VALID : CV_FORGED;
}

static enum cv_validity range(bool within)
{
    return within ? CV_VALID : CV_FORGED;
}

static enum cv_validity check_field(const struct cv_group *group, const struct cv_kind *kind,
                                    const struct cv_field *field, const struct cv_message *message)
{
    if (field->type == CV_FIELD_LIST)
        return check_list(group, kind, message);
    if (field->type == CV_FIELD_NUMBERS)
        return CV_VALID;
    const uint64_t value = cv_field_read(field, cv_body(message));
    switch ((enum cv_field_type)field->type) {
    case CV_FIELD_NUMBER:
        return range(!field->most || value <= field->most);
    case CV_FIELD_FLAG:
        return range(value <= 1);
    case CV_FIELD_MODE:
        return range(value < cv_field_word_count(field->words));
    case CV_FIELD_NODE:
        return range(value < group->nodes);
    case CV_FIELD_MAYBE:
        return range(value < group->nodes || value == CV_NOBODY);
    case CV_FIELD_ID:
        return value <= UINT32_MAX && knows(group, (cv_id)value) ? CV_VALID : CV_STRAY;
    case CV_FIELD_RANK:
    case CV_FIELD_TAG:
        return !value || knows(group, cv_rank_id(value)) ? CV_VALID : CV_STRAY;
    case CV_FIELD_NODES:
        return range(group->nodes >= 64 || !(value >> group->nodes));
    case CV_FIELD_CLOCK:
        return range(value <= CV_CLOCK_MASK);
    case CV_FIELD_FENCE:
        return range(value <= (group->epoch << CV_VIEW_BITS | CV_MOST_ENTRIES));
    case CV_FIELD_MARKS:
        return range(!(value >> cv_field_word_count(field->words)));
    case CV_FIELD_UNUSED:
        return range(!value);
    case CV_FIELD_LIST:
    case CV_FIELD_NUMBERS:
        break;
    }
    return CV_VALID;
}

/* ---- messages ---- */

/* The first kind of a synchronizer carries the messages of its app, which have any length. */
bool cv_message_fits(const struct cv_algorithm *algorithm, uint32_t nodes, const struct cv_message *message)
{
    const struct cv_kind *kind = &algorithm->kinds[message->kind];
    const uint64_t bytes = message->words * 4, least = kind->bytes + cv_kind_numbers(kind, nodes) * 4;
    const bool carries = algorithm->problem == CV_SYNCHRONIZER && message->kind == 0;
    return carries || cv_kind_has_list(kind) ? bytes >= least : bytes == least;
}

static bool comes_from_elsewhere(const struct cv_self *me, const struct cv_message *message)
{
    const bool graph = me->group->edges && message->from != me->node;
    return message->from >= me->group->nodes || (graph && cv_neighbour_index(me, message->from) == cv_degree(me));
}

static enum cv_validity refuse(const char **why, enum cv_validity validity, const char *reason)
{
    *why = reason;
    return validity;
}

enum cv_validity cv_message_validity(const struct cv_algorithm *algorithm, uint32_t kinds, const struct cv_self *me,
                                     const struct cv_message *message, const char **why)
{
    if (message->kind >= kinds)
        return refuse(why, CV_FORGED, "a message of no known kind");
    const struct cv_kind *kind = &algorithm->kinds[message->kind];
    if (!cv_message_fits(algorithm, me->group->nodes, message))
        return refuse(why, CV_FORGED, "a message of the wrong length");
    if (comes_from_elsewhere(me, message))
        return refuse(why, CV_FORGED, "a message of a node that has no link to this one");
    for (const struct cv_field *field = kind->fields; field && field->name; field++) {
        const enum cv_validity validity = check_field(me->group, kind, field, message);
        if (validity != CV_VALID)
            return refuse(why, validity,
                          validity == CV_STRAY ? "a message that names an unknown member"
                                               : "a message with a field out of its range");
    }
    if (algorithm->valid && !algorithm->valid(me, message))
        return refuse(why, CV_FORGED, "a message that its sender could not send to this node now");
    return CV_VALID;
}

bool cv_scenario_keeps_assumptions(const struct cv_scenario *scenario)
{
    const uint32_t assumes = scenario->algorithm->assumes;
    const bool changes = scenario->crash_count || scenario->recovery_count || scenario->suspicion_count;
    const bool loses = scenario->partition_count != 0;
    return (!changes || scenario->views || !(assumes & CV_NO_CRASH)) && (!loses || !(assumes & CV_RELIABLE)) &&
           (!scenario->unordered || !(assumes & CV_FIFO)) &&
           (!scenario->recovery_count || scenario->views || !(assumes & CV_NO_RECOVERY)) &&
           (!scenario->recovery_count || !scenario->unordered || !(assumes & CV_FIFO_RECOVERY));
}
