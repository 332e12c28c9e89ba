// SPDX-License-Identifier: MIT
#include "show/phrase.h"

#include <inttypes.h>

#include "core/scenario/field_text.h"

#define SHORTEST_RUN 4u /* "0..3" is easier to read than "0, 1, 2, 3"; "0..2" is not */

void cv_phrase_text(FILE *out, const char *text)
{
    for (; text && *text; text++)
        putc((unsigned char)*text < 0x20 || *text == 0x7f ? ' ' : *text, out);
}

/* Does that node continue a range of ids? Labels have no order. */
static bool follows_on(const struct cv_scenario *scenario, cv_node one, cv_node next)
{
    return !scenario->labels && cv_view_id(scenario, next) == cv_view_id(scenario, one) + 1;
}

void cv_phrase_nodes(FILE *out, const struct cv_scenario *scenario, const cv_node *nodes, size_t count)
{
    for (size_t i = 0; i < count;) {
        size_t end = i + 1;
        while (end < count && follows_on(scenario, nodes[end - 1], nodes[end]))
            end++;
        fprintf(out, "%s%s", i ? ", " : "", cv_name(scenario, nodes[i]).text);
        if (end - i < SHORTEST_RUN) {
            i++;
            continue;
        }
        fprintf(out, "..%s", cv_name(scenario, nodes[end - 1]).text);
        i = end;
    }
}

/* Prints the nodes of a side in node order, with ranges of ids shortened. */
static void phrase_side(FILE *out, const struct cv_scenario *scenario, const uint32_t *side, uint32_t which)
{
    const uint32_t nodes = scenario->group.nodes;
    const char *join = "";
    for (cv_node node = 0; node < nodes; node++) {
        if (side[node] != which)
            continue;
        cv_node last = node;
        while (last + 1 < nodes && side[last + 1] == which && follows_on(scenario, last, last + 1))
            last++;
        fprintf(out, "%s%s", join, cv_name(scenario, node).text);
        join = ", ";
        if (last - node + 1 < SHORTEST_RUN)
            continue;
        fprintf(out, "..%s", cv_name(scenario, last).text);
        node = last;
    }
}

/* The lowest side that is not below `least`; UINT64_MAX if there is none. Unnamed nodes have the highest number. */
static uint64_t next_side(const struct cv_partition *partition, uint32_t nodes, uint64_t least)
{
    uint64_t lowest = UINT64_MAX;
    for (cv_node node = 0; node < nodes; node++)
        if (partition->side[node] >= least && partition->side[node] < lowest)
            lowest = partition->side[node];
    return lowest;
}

void cv_phrase_sides(FILE *out, const struct cv_scenario *scenario, const struct cv_partition *partition)
{
    const uint32_t nodes = scenario->group.nodes;
    const char *join = "";
    for (uint64_t side = next_side(partition, nodes, 0); side != UINT64_MAX;
         side = next_side(partition, nodes, side + 1)) {
        fputs(join, out);
        phrase_side(out, scenario, partition->side, (uint32_t)side);
        join = " | ";
    }
}

const struct cv_partition *cv_phrase_partition(const struct cv_scenario *scenario, const struct cv_event *event)
{
    for (uint32_t i = 0; i < scenario->partition_count; i++) {
        const struct cv_partition *partition = &scenario->partitions[i];
        if ((event->type == CV_EVENT_CUT ? partition->begin : partition->end) == event->time)
            return partition;
    }
    return NULL;
}

static void phrase_peer(FILE *out, const struct cv_scenario *scenario, const char *verb, const struct cv_event *event,
                        const char *preposition)
{
    fprintf(out, "%s ", verb);
    if (event->content)
        cv_phrase_text(out, cv_view_kind(scenario, event->content));
    fprintf(out, "%s%s", preposition, cv_name(scenario, event->peer).text);
}

/* Which critical section, where there are several. */
static void phrase_section(FILE *out, const struct cv_scenario *scenario, const struct cv_event *event)
{
    if (scenario->names > 1)
        fprintf(out, " section %" PRIu32, event->name);
}

void cv_phrase_members(FILE *out, const struct cv_scenario *scenario, const struct cv_event *event, const bool *down)
{
    fputs(": ", out);
    const char *join = "";
    for (cv_node node = 0, last; node < scenario->group.nodes; node = last + 1) {
        last = node;
        if (down[node])
            continue;
        while (last + 1 < scenario->group.nodes && !down[last + 1] && follows_on(scenario, last, last + 1))
            last++;
        fprintf(out, "%s%s", join, cv_name(scenario, node).text);
        join = ", ";
        if (last - node + 1 < SHORTEST_RUN)
            last = node;
        else
            fprintf(out, "..%s", cv_name(scenario, last).text);
    }
    if (event->peer != CV_NOBODY)
        fprintf(out, "; %s coordinates", cv_name(scenario, event->peer).text);
}

void cv_phrase_state(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history, cv_node node,
                     uint32_t name)
{
    struct cv_group group;
    const void *state = cv_state_changes_last(&history->states, node, name, &group);
    const char *join = "";
    char text[CV_CHANGE_TEXT];
    for (struct cv_fields at = cv_fields_begin(scenario, &group, node); state && cv_fields_next(&at);) {
        fprintf(out, "%s%s %s", join, at.name, cv_fields_text(&at, state, text, sizeof text));
        join = ", ";
    }
}

static const char *result_word(const struct cv_scenario *scenario)
{
    const uint32_t claims = cv_scenario_claims(scenario);
    return claims & CV_SHORTEST_PATHS ? "has distance" : claims & CV_FEWEST_HOPS ? "has depth" : "comes to";
}

void cv_phrase_result(FILE *out, const struct cv_scenario *scenario, cv_node node, uint64_t result, cv_node via)
{
    fprintf(out, "%s %" PRIu64, result_word(scenario), result);
    if (via != node && via != CV_NOBODY)
        fprintf(out, " over %s", cv_name(scenario, via).text);
}

void cv_phrase_event(FILE *out, const struct cv_scenario *scenario, const struct cv_event *event)
{
    char fence[48];
    struct cv_writer writer = cv_writer(fence, sizeof fence);
    switch (event->type) {
    case CV_EVENT_START:
        fputs(scenario->algorithm->problem == CV_ELECTION ? "is asked to call an election" : "starts", out);
        break;
    case CV_EVENT_SEND:
        phrase_peer(out, scenario, "sends", event, " to ");
        break;
    case CV_EVENT_RECEIVE:
        phrase_peer(out, scenario, "hears", event, " from ");
        break;
    case CV_EVENT_LOST:
        phrase_peer(out, scenario, "misses", event, " from ");
        break;
    case CV_EVENT_TIMEOUT:
        fputs("times out", out);
        if (event->text) {
            fputs(" (", out);
            cv_phrase_text(out, event->text);
            putc(')', out);
        }
        break;
    case CV_EVENT_CRASH:
        fputs(event->time || event->clock ? "crashes" : "is down from the start", out);
        break;
    case CV_EVENT_RECOVER:
        fputs("comes back", out);
        break;
    case CV_EVENT_SUSPECT:
        phrase_peer(out, scenario, "suspects", event, "");
        break;
    case CV_EVENT_TRUST:
        phrase_peer(out, scenario, "finds", event, "");
        fputs(" back", out);
        break;
    case CV_EVENT_CALL:
        fputs("calls an election", out);
        break;
    case CV_EVENT_YIELD:
        fputs("gives up its own election", out);
        break;
    case CV_EVENT_ELECTED:
        if (event->detail == cv_view_id(scenario, event->node))
            fputs("becomes leader", out);
        else
            fprintf(out, "follows %s", cv_name_of(scenario, (cv_id)event->detail).text);
        break;
    case CV_EVENT_FORGET:
        fputs("knows no leader any more", out);
        break;
    case CV_EVENT_REQUEST:
        fputs(event->text ? "still wants to enter" : "wants to enter", out);
        phrase_section(out, scenario, event);
        break;
    case CV_EVENT_ENTER:
        fputs("enters", out);
        phrase_section(out, scenario, event);
        cv_fence_write(&writer, event->detail);
        fprintf(out, " (fence %s)", fence);
        break;
    case CV_EVENT_LEAVE:
        fputs("leaves", out);
        phrase_section(out, scenario, event);
        break;
    case CV_EVENT_VIEW:
        fprintf(out, "view %" PRIu64 " begins", event->detail);
        break;
    case CV_EVENT_PULSE:
        if (event->detail > scenario->group.rounds)
            fputs("is through", out);
        else
            fprintf(out, "begins round %" PRIu64, event->detail);
        break;
    case CV_EVENT_RESULT:
        cv_phrase_result(out, scenario, event->node, event->detail, event->peer);
        break;
    case CV_EVENT_NOTE:
        cv_phrase_text(out, event->text);
        break;
    case CV_EVENT_CUT:
        fputs(event->text ? event->text : "the network splits", out);
        break;
    case CV_EVENT_HEAL:
        fputs(event->text ? event->text : "the network is joined again", out);
        break;
    default:
        fputs(cv_event_name(event->type), out);
        break;
    }
}
