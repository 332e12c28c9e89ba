// SPDX-License-Identifier: MIT
/* Reads the requests to enter, ID@T+HOLD/NAME or a closed loop; and voting sets and clocks. */
#include "core/scenario/plan_mutex.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/index.h"
#include "core/parse.h"
#include "core/scenario/plan.h"

#define LONGEST_TIME (1ull << 40)
#define MOST_ENTRIES 1000000u
#define MOST_NAMES 65536u

static int read_number(const char *option, const char *text, uint64_t usual, uint64_t most, uint64_t *number,
                       struct cv_complaint *complaint)
{
    *number = usual;
    if (!text || cv_parse_number(cv_text(text), most, number))
        return 0;
    return cv_complain(complaint, "%s %s: expected a number of 0..%llu", option, text, (unsigned long long)most);
}

/* ---- requests ---- */

/* ID@T, ID@T+HOLD, ID@T+HOLD/NAME. A name is a number; the highest is the number of names. */
static int read_wish(struct cv_text text, const struct cv_index *index, struct cv_wish *wish,
                     struct cv_complaint *complaint)
{
    struct cv_text id, when, rest = {0}, name = {0};
    uint64_t number, named = 0;
    *wish = (struct cv_wish){.hold = 1};
    if (!cv_text_split(text, '@', &id, &when))
        return cv_complain(complaint, "--request %.*s: expected ID@TIME[+HOLD][/NAME]", (int)text.length, text.start);
    if (!cv_parse_number(id, UINT32_MAX, &number) || cv_index_find(index, (cv_id)number) == CV_NOBODY)
        return cv_complain(complaint, "--request %.*s: there is no node %.*s", (int)text.length, text.start,
                           (int)id.length, id.start);
    wish->node = cv_index_find(index, (cv_id)number);
    cv_text_split(when, '/', &when, &name);
    const bool held = cv_text_split(when, '+', &when, &rest);
    if (!cv_parse_number(when, LONGEST_TIME, &wish->time) ||
        (held && (!cv_parse_number(rest, LONGEST_TIME, &wish->hold) || !wish->hold)) ||
        (name.start && !cv_parse_number(name, MOST_NAMES - 1, &named)))
        return cv_complain(complaint, "--request %.*s: expected ID@TIME[+HOLD][/NAME], HOLD at least 1",
                           (int)text.length, text.start);
    wish->name = (uint32_t)named;
    return 0;
}

static int read_wishes(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                       struct cv_complaint *complaint)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < plan->request.count; i++) {
        count++;
        for (const char *c = plan->request.word[i]; *c; c++)
            count += *c == ',';
    }
    scenario->wishes = calloc(count ? count : 1, sizeof *scenario->wishes);
    if (!scenario->wishes)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < plan->request.count; i++) {
        struct cv_text rest = cv_text(plan->request.word[i]), one;
        while (cv_text_take(&rest, ',', &one)) {
            struct cv_wish *wish = &scenario->wishes[scenario->wish_count];
            const int error = read_wish(one, index, wish, complaint);
            if (error)
                return error;
            scenario->wish_count++;
            if (wish->name >= scenario->names)
                scenario->names = wish->name + 1;
        }
    }
    return 0;
}

static int read_load(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                     struct cv_complaint *complaint)
{
    uint64_t names = 1;
    if (plan->request.count && (plan->entries || plan->hold || plan->think))
        return cv_complain(complaint, "--request %s: expected without --entries, --hold and --think",
                           plan->request.word[0]);
    int error = read_number("--names", plan->names, 1, MOST_NAMES, &names, complaint);
    if (!error)
        error = read_number("--entries", plan->entries, plan->request.count ? 0 : 1, MOST_ENTRIES, &scenario->entries,
                            complaint);
    if (!error)
        error = read_number("--hold", plan->hold, 1, LONGEST_TIME, &scenario->hold, complaint);
    if (!error)
        error = read_number("--think", plan->think, 0, LONGEST_TIME, &scenario->think, complaint);
    if (!error && (!scenario->hold || !names))
        return cv_complain(complaint, "%s: expected at least 1", names ? "--hold 0" : "--names 0");
    scenario->names = (uint32_t)names;
    return error ? error : read_wishes(plan, index, scenario, complaint);
}

/* ---- settings ---- */

bool plan_mutex_knows(const struct cv_plan *plan, const char *key, size_t length)
{
    const struct cv_text text = {key, length};
    return (plan->algorithm->hints.clocked && cv_text_is(text, "clocks")) ||
           (plan->algorithm->quorums && cv_text_is(text, "quorums"));
}

static int read_clocks(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                       struct cv_complaint *complaint)
{
    const char *value = cv_plan_setting(plan, "clocks");
    if (!value || !plan->algorithm->hints.clocked)
        return 0;
    struct cv_text rest = cv_text(value), one, id, clock;
    scenario->clocks = calloc(scenario->group.nodes, sizeof *scenario->clocks);
    if (!scenario->clocks)
        return CV_ENOMEM;
    while (cv_text_take(&rest, ',', &one)) {
        uint64_t number, ticks;
        if (!cv_text_split(one, ':', &id, &clock) || !cv_parse_number(id, UINT32_MAX, &number) ||
            !cv_parse_number(clock, LONGEST_TIME, &ticks) || cv_index_find(index, (cv_id)number) == CV_NOBODY)
            return cv_complain(complaint, "--set clocks=%s: expected ID:CLOCK, for ids of the group", value);
        scenario->clocks[cv_index_find(index, (cv_id)number)] = ticks;
    }
    return 0;
}

static int read_quorums(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                        struct cv_complaint *complaint)
{
    const uint32_t nodes = scenario->group.nodes;
    const char *value = cv_plan_setting(plan, "quorums");
    char name[sizeof(struct cv_brief) + sizeof "--set quorums="];
    int error;
    if (!plan->algorithm->quorums)
        return 0;
    snprintf(name, sizeof name, "--set quorums=%s", cv_brief(value ? value : "grid").text);
    if (plan->quorums_text) {
        error = cv_quorums_parse(&scenario->quorums, plan->quorums_text, index, nodes, scenario->ids, name, complaint);
    } else {
        error = cv_quorums_make(&scenario->quorums, value ? value : "grid", nodes, NULL, nodes, complaint);
        const struct cv_complaint said = *complaint;
        if (error == CV_EINPUT)
            cv_complain(complaint, "%s: %.300s", name, said.text);
    }
    scenario->group.quorums = scenario->quorums.starts;
    scenario->group.voters = scenario->quorums.voters;
    return error;
}

/* The coordinator: the parameter of that name, otherwise the highest id. */
static void find_coordinator(const struct cv_plan *plan, struct cv_scenario *scenario)
{
    scenario->group.coordinator = CV_NOBODY;
    for (uint32_t i = 0; i < cv_algorithm_parameters(plan->algorithm); i++) {
        if (strcmp(plan->algorithm->parameters[i].name, "coordinator") != 0)
            continue;
        cv_node highest = 0;
        for (cv_node node = 1; node < scenario->group.nodes; node++)
            if (scenario->ids[node] > scenario->ids[highest])
                highest = node;
        scenario->group.coordinator = scenario->parameters[i] < 0 ? highest : (cv_node)scenario->parameters[i];
    }
}

int plan_mutex_build(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                     struct cv_complaint *complaint)
{
    if (plan->start)
        return cv_complain(complaint, "--start %s: %s is no election; expected --request or --entries", plan->start,
                           plan->algorithm->name);
    int error = read_load(plan, index, scenario, complaint);
    if (!error)
        error = read_clocks(plan, index, scenario, complaint);
    if (!error)
        error = read_quorums(plan, index, scenario, complaint);
    if (!error && plan->views && strcmp(plan->views, "on") != 0 && strcmp(plan->views, "off") != 0)
        return cv_complain(complaint, "--views %s: expected on or off", plan->views);
    scenario->views = plan->views ? strcmp(plan->views, "on") == 0 : scenario->crash_count > 0;
    scenario->election = plan->election;
    find_coordinator(plan, scenario);
    return error;
}
