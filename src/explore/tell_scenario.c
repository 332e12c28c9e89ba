// SPDX-License-Identifier: MIT
#include "explore/tell_scenario.h"

#include <stdlib.h>
#include <string.h>

#include "algorithm/registry.h"
#include "core/formula/theory_symbols.h"
#include "core/parse.h"
#include "core/scenario/field_text.h"
#include "core/scenario/fields.h"
#include "core/scenario/label.h"
#include "property/properties.h"
#include "show/algorithm_words.h"

static const char *topology_name(uint32_t topology)
{
    static const char *const names[] = {"complete", "ring", "ring-both", "graph"};
    return names[topology];
}

/* ---- the catalogue ---- */

/* A list of words with bars between them: "lower|all". */
static void tell_words(struct cv_json *json, const char *key, const char *words)
{
    struct cv_text rest = cv_text(words), one;
    char word[64];
    cv_json_open(json, key, '[');
    while (cv_text_take(&rest, '|', &one)) {
        const size_t length = one.length < sizeof word ? one.length : sizeof word - 1;
        memcpy(word, one.start, length);
        word[length] = '\0';
        cv_json_text(json, NULL, word);
    }
    cv_json_close(json, ']');
}

static void tell_parameters(struct cv_json *json, const struct cv_algorithm *algorithm)
{
    cv_json_open(json, "parameters", '[');
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm); i++) {
        const struct cv_parameter *it = &algorithm->parameters[i];
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", it->name);
        cv_json_text(json, "meaning", it->meaning);
        cv_json_text(json, "kind", it->type == CV_CHOICE ? "choice" : it->type == CV_MEMBER ? "id" : "number");
        if (it->type == CV_CHOICE)
            tell_words(json, "values", it->choices);
        if (it->type == CV_NUMBER && it->fallback >= 0)
            cv_json_count(json, "default", (uint64_t)it->fallback);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void tell_costs(struct cv_json *json, const struct cv_algorithm *algorithm)
{
    cv_json_open(json, "cost", '[');
    for (const struct cv_cost *cost = algorithm->costs; cost && cost->label; cost++) {
        char symbols[512];
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "label", cost->label);
        cv_json_text(json, "measure", cost->measure == CV_MESSAGES ? "messages" : "delay");
        cv_json_text(json, "relation", cost->exact ? "=" : "<=");
        cv_json_text(json, "formula", cost->formula);
        cv_theory_symbols(algorithm, cost->formula, symbols, sizeof symbols);
        cv_json_text(json, "symbols", symbols);
        cv_json_text(json, "source", cv_source_name(cost));
        cv_json_text(json, "where", cost->where);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void tell_algorithm(struct cv_json *json, const struct cv_algorithm *algorithm)
{
    cv_json_open(json, NULL, '{');
    cv_json_algorithm(json, algorithm, topology_name(algorithm->topology));
    tell_parameters(json, algorithm);
    tell_costs(json, algorithm);
    cv_json_close(json, '}');
}

void tell_catalogue(struct cv_json *json)
{
    cv_json_open(json, NULL, '{');
    cv_json_open(json, "algorithms", '[');
    for (const struct cv_algorithm *const *each = cv_algorithms; *each; each++)
        tell_algorithm(json, *each);
    cv_json_close(json, ']');
    cv_json_close(json, '}');
}

/* ---- the scenario ---- */

/* Nodes that lie somewhere have places in the unit square. */
static void tell_nodes(struct cv_json *json, const struct scenario_words *words, const struct explored *world)
{
    const struct cv_scenario *scenario = world->scenario;
    struct cv_point *points = cv_plan_points(&words->plan, world->nodes);
    cv_json_open(json, "nodes", '[');
    for (cv_node node = 0; node < world->nodes; node++) {
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "node", node);
        cv_json_count(json, "id", scenario->group.ids[node]);
        cv_json_text(json, "label", cv_name(scenario, node).text);
        if (scenario->group.attributes)
            cv_json_count(json, "attr", scenario->group.attributes[node]);
        if (points) {
            cv_json_real(json, "x", (double)points[node].x / (double)CV_PLANE_SIDE);
            cv_json_real(json, "y", (double)points[node].y / (double)CV_PLANE_SIDE);
        }
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    free(points);
}

/* Every link once, with its weight; one that a path may use in one direction only has the end that it leads to last. */
static void tell_edges(struct cv_json *json, const struct cv_group *group)
{
    cv_json_open(json, "edges", '[');
    for (cv_node node = 0; group->edges && node < group->nodes; node++)
        for (uint64_t e = group->edges[node]; e < group->edges[node + 1]; e++) {
            if (group->neighbours[e] < node)
                continue;
            cv_json_open(json, NULL, '[');
            cv_json_count(json, NULL, node);
            cv_json_count(json, NULL, group->neighbours[e]);
            cv_json_count(json, NULL, group->weights && group->weights[e] != CV_NO_WAY ? group->weights[e] : 1);
            cv_json_close(json, ']');
        }
    cv_json_close(json, ']');
}

static void tell_quorums(struct cv_json *json, const struct cv_group *group)
{
    cv_json_open(json, "quorums", '[');
    for (cv_node node = 0; group->quorums && node < group->nodes; node++)
        cv_json_numbers(json, NULL, group->voters + group->quorums[node],
                        group->quorums[node + 1] - group->quorums[node]);
    cv_json_close(json, ']');
}

static cv_node head_of(const struct cv_group *group, cv_node node)
{
    while (group->parents[node] != node)
        node = group->parents[node];
    return node;
}

/* The parents make the trees: a head is its own. */
static void tell_clusters(struct cv_json *json, const struct cv_group *group)
{
    cv_json_open(json, "clusters", '[');
    for (cv_node head = 0; group->parents && head < group->nodes; head++) {
        if (group->parents[head] != head)
            continue;
        cv_json_open(json, NULL, '{');
        cv_json_count(json, "head", head);
        cv_json_open(json, "members", '[');
        for (cv_node node = 0; node < group->nodes; node++)
            if (head_of(group, node) == head)
                cv_json_count(json, NULL, node);
        cv_json_close(json, ']');
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    if (group->parents)
        cv_json_numbers(json, "parents", group->parents, group->nodes);
}

/* The edges over which two clusters talk, each once. */
static void tell_preferred(struct cv_json *json, const struct cv_group *group)
{
    cv_json_open(json, "preferred", '[');
    for (cv_node node = 0; group->preferred && node < group->nodes; node++)
        for (uint64_t e = group->edges[node]; e < group->edges[node + 1]; e++)
            if (group->preferred[e] && group->neighbours[e] > node)
                cv_json_numbers(json, NULL, (const uint32_t[]){node, group->neighbours[e]}, 2);
    cv_json_close(json, ']');
}

static void tell_kinds(struct cv_json *json, const struct cv_algorithm *algorithm)
{
    cv_json_open(json, "kinds", '[');
    for (const struct cv_kind *kind = algorithm->kinds; kind->name; kind++) {
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", kind->name);
        cv_json_open(json, "fields", '[');
        for (const struct cv_field *field = kind->fields; field && field->name; field++) {
            cv_json_open(json, NULL, '{');
            cv_json_text(json, "name", field->name);
            cv_json_text(json, "kind", cv_field_type_name(field->type));
            cv_json_close(json, '}');
        }
        cv_json_close(json, ']');
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void tell_state_fields(struct cv_json *json, const struct cv_scenario *scenario)
{
    cv_json_open(json, "state", '[');
    for (struct cv_fields at = cv_fields_begin(scenario, NULL, 0); cv_fields_next(&at);) {
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", at.name);
        cv_json_text(json, "kind", cv_field_type_name(at.type));
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static bool is_judged(const struct explored *world, const struct cv_property *property)
{
    const uint32_t problem = world->algorithm->problem;
    return property->problem == problem || (property->claim && property->claim & world->claims);
}

static void tell_properties(struct cv_json *json, const struct explored *world)
{
    cv_json_open(json, "properties", '[');
    for (uint32_t i = 0; i < CV_PROPERTY_COUNT; i++) {
        const struct cv_property *property = cv_property((enum cv_property_number)i);
        if (!is_judged(world, property))
            continue;
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", property->name);
        cv_json_text(json, "kind", property->kind);
        cv_json_truth(json, "claimed", !property->claim || property->claim & world->claims);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

void tell_scenario(struct cv_json *json, const struct scenario_words *words, const struct explored *world)
{
    const struct cv_scenario *scenario = world->scenario;
    const struct cv_algorithm *asked = scenario->alone ? scenario->app : scenario->algorithm;
    cv_json_open(json, NULL, '{');
    cv_json_count(json, "schema", 1);
    cv_json_open(json, "words", '[');
    for (uint32_t i = 0; i < words->count && !world->recorded; i++)
        cv_json_text(json, NULL, words->words[i]);
    cv_json_close(json, ']');
    cv_json_truth(json, "recorded", world->recorded);
    cv_json_text(json, "algorithm", asked->name);
    cv_json_text(json, "title", asked->title);
    cv_json_text(json, "citation", asked->citation);
    cv_json_text(json, "problem", cv_problem_name(asked->problem));
    cv_json_text(json, "app", scenario->app ? scenario->app->name : NULL);
    cv_json_text(json, "topology", topology_name(scenario->group.topology));
    cv_json_count(json, "bound", scenario->group.bound);
    if (scenario->app)
        cv_json_count(json, "rounds", scenario->group.rounds);
    cv_json_bits(json, "assumes", cv_assumption_words, asked->assumes);
    tell_nodes(json, words, world);
    tell_edges(json, &scenario->group);
    tell_quorums(json, &scenario->group);
    tell_clusters(json, &scenario->group);
    tell_preferred(json, &scenario->group);
    tell_kinds(json, scenario->algorithm);
    tell_state_fields(json, scenario);
    cv_json_open(json, "timers", '[');
    for (uint32_t i = 0; i < world->timers; i++)
        cv_json_text(json, NULL, world->algorithm->timers[i]);
    cv_json_close(json, ']');
    tell_properties(json, world);
    cv_json_close(json, '}');
}
