// SPDX-License-Identifier: MIT
#include "core/scenario/plan.h"
#include "core/graph/graph_make.h"
#include "core/graph/graph_parse.h"
#include "core/scenario/plan_faults.h"
#include "core/scenario/plan_mutex.h"
#include "core/scenario/plan_synchronizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/index.h"
#include "core/parse.h"
#include "core/random.h"
#include "core/scenario/field_check.h"
#include "core/scenario/label.h"
#include "core/scenario/validity.h"

#define LARGEST_GROUP (1u << 30)
#define USUAL_GROUP 8u
#define LONGEST_DELAY (1u << 24)
#define LONGEST_TIME (1ull << 48)

/* The random streams that shape the group; the simulator has its own. */
enum stream { STREAM_IDS = 101, STREAM_GRAPH = 102 };

int cv_words_add(struct cv_words *words, const char *word)
{
    const char **grown = realloc(words->word, (words->count + 1) * sizeof *grown);
    if (!grown)
        return CV_ENOMEM;
    words->word = grown;
    words->word[words->count++] = word;
    return 0;
}

void cv_plan_free(struct cv_plan *plan)
{
    free(plan->set.word);
    free(plan->request.word);
    free(plan->lag.word);
#define FREE(name, list, list_count, argument, meaning) free(plan->name.word);
    CV_FAULTS(FREE)
#undef FREE
    *plan = (struct cv_plan){0};
}

/* ---- lists of numbers ---- */

/* The number of numbers in "1,5,8..12"; 0 if it is no list of numbers. */
static uint64_t list_length(const char *list)
{
    struct cv_text rest = cv_text(list), piece, low, high;
    uint64_t count = 0;
    while (cv_text_take(&rest, ',', &piece)) {
        uint64_t from, to;
        if (cv_text_range(piece, &low, &high)) {
            if (!cv_parse_number(low, UINT32_MAX, &from) || !cv_parse_number(high, UINT32_MAX, &to) || from > to)
                return 0;
            count += to - from + 1;
        } else if (cv_parse_number(piece, UINT32_MAX, &from)) {
            count++;
        } else {
            return 0;
        }
    }
    return count;
}

static void read_list(const char *list, uint32_t *numbers)
{
    struct cv_text rest = cv_text(list), piece, low, high;
    while (cv_text_take(&rest, ',', &piece)) {
        uint64_t from = 0, to = 0;
        if (!cv_text_range(piece, &low, &high))
            low = high = piece;
        cv_parse_number(low, UINT32_MAX, &from);
        cv_parse_number(high, UINT32_MAX, &to);
        for (uint64_t number = from; number <= to; number++)
            *numbers++ = (uint32_t)number;
    }
}

/* A list of exactly `count` numbers; complains by the option's name otherwise. */
static int parse_list(const char *option, const char *list, uint32_t count, uint32_t **numbers,
                      struct cv_complaint *complaint)
{
    const uint64_t length = list_length(list);
    if (!length)
        return cv_complain(complaint, "%s %s: expected numbers of 0..4294967295, such as 3,5,8..12", option,
                           cv_brief(list).text);
    if (length != count)
        return cv_complain(complaint, "%s %s: %llu numbers for %u nodes; expected one for each", option,
                           cv_brief(list).text, (unsigned long long)length, count);
    *numbers = malloc(count * sizeof **numbers);
    if (!*numbers)
        return CV_ENOMEM;
    read_list(list, *numbers);
    return 0;
}

/* ---- the group ---- */

/* The beginning of complaints about a line of the graph. */
struct graph_name {
    char text[sizeof(struct cv_brief) + sizeof "--graph "];
};

static struct graph_name graph_name(const struct cv_plan *plan)
{
    struct graph_name name;
    snprintf(name.text, sizeof name.text, "--graph %s", cv_brief(plan->graph).text);
    return name;
}

/* The room of graphs complains about the topology, but does not know the option. */
static int blame_graph(int error, struct cv_complaint *complaint)
{
    const struct cv_complaint said = *complaint;
    return error == CV_EINPUT ? cv_complain(complaint, "--graph: %.400s", said.text) : error;
}

static int count_nodes(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    uint64_t nodes = USUAL_GROUP, listed = 0;
    if (plan->nodes && (!cv_parse_number(cv_text(plan->nodes), LARGEST_GROUP, &nodes) || !nodes))
        return cv_complain(complaint, "--nodes %s: expected a number of 1..%u", cv_brief(plan->nodes).text,
                           LARGEST_GROUP);
    if (plan->ids && strcmp(plan->ids, "random") != 0) {
        listed = list_length(plan->ids);
        if (!listed || listed > LARGEST_GROUP)
            return cv_complain(complaint, "--ids %s: expected distinct numbers of 0..4294967295, or random",
                               cv_brief(plan->ids).text);
        if (plan->nodes && listed != nodes)
            return cv_complain(complaint, "--ids %s: %llu ids for %llu nodes; expected one for each",
                               cv_brief(plan->ids).text, (unsigned long long)listed, (unsigned long long)nodes);
        nodes = listed;
    } else if (plan->graph_text && !plan->nodes && !plan->ids) {
        uint32_t named = 0;
        const int error = cv_graph_ids(plan->graph_text, graph_name(plan).text, &scenario->ids, &named, complaint);
        if (error)
            return error;
        nodes = named;
    } else if (plan->graph && !plan->nodes && cv_graph_size(plan->graph)) {
        nodes = cv_graph_size(plan->graph);
        if (nodes > LARGEST_GROUP)
            return cv_complain(complaint, "--graph %s: %llu nodes; expected at most %u", cv_brief(plan->graph).text,
                               (unsigned long long)nodes, LARGEST_GROUP);
    }
    for (const struct cv_kind *kind = plan->algorithm->kinds; kind->name; kind++) {
        const uint64_t rows = cv_kind_has_list(kind) + cv_kind_numbers(kind, 1);
        const uint64_t head = kind->bytes / 4;
        if (rows && head + rows * nodes > CV_MAX_WORDS)
            return cv_complain(complaint, "--nodes %llu: %s puts %s of all nodes into a message; expected at most %u",
                               (unsigned long long)nodes, plan->algorithm->name,
                               cv_kind_has_list(kind) ? "the ids" : "numbers",
                               (unsigned)((CV_MAX_WORDS - head) / rows));
    }
    scenario->group.nodes = (uint32_t)nodes;
    return 0;
}

static int name_nodes(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const uint32_t nodes = scenario->group.nodes;
    if (plan->ids && strcmp(plan->ids, "random") != 0) {
        const int error = parse_list("--ids", plan->ids, nodes, &scenario->ids, complaint);
        if (error)
            return error;
    } else if (!scenario->ids) {
        scenario->ids = malloc(nodes * sizeof *scenario->ids);
        if (!scenario->ids)
            return CV_ENOMEM;
        for (cv_node node = 0; node < nodes; node++)
            scenario->ids[node] = node + 1;
        if (plan->ids) {
            struct cv_random random;
            cv_random_seed(&random, plan->seed, STREAM_IDS);
            cv_random_shuffle(&random, scenario->ids, nodes);
        }
    }
    scenario->group.ids = scenario->ids;
    if (plan->attributes) {
        const int error = parse_list("--attr", plan->attributes, nodes, &scenario->attributes, complaint);
        if (error)
            return error;
    }
    scenario->group.attributes = scenario->attributes;
    for (cv_node node = 0; node < nodes; node++)
        scenario->zero_rank |= cv_group_rank(&scenario->group, node) == 0;
    return plan->labels ? cv_labels_read(plan->labels, scenario, complaint) : 0;
}

/* A list of the user's may repeat an id. Ids of our own making are distinct, so a large group need not be sorted. */
static int index_nodes(const struct cv_plan *plan, const struct cv_scenario *scenario, struct cv_index *index,
                       struct cv_complaint *complaint)
{
    cv_id twice;
    const bool listed = plan->ids && strcmp(plan->ids, "random") != 0;
    const bool mutex = plan->algorithm->problem == CV_MUTEX;
    bool named = mutex || (plan->start && strcmp(plan->start, "all") != 0) || plan->set.count || plan->request.count ||
                 plan->lag.count;
#define NAMES(name, list, list_count, argument, meaning) named |= plan->name.count > 0;
    CV_FAULTS(NAMES)
#undef NAMES
    if (!listed && !named)
        return 0;
    if (cv_index_make(index, scenario->ids, scenario->group.nodes))
        return CV_ENOMEM;
    if (cv_index_duplicate(index, &twice))
        return cv_complain(complaint, "--ids %s: %u stands twice; expected distinct ids", cv_brief(plan->ids).text,
                           twice);
    return 0;
}

static int connect_nodes(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = plan->algorithm;
    scenario->group.topology = algorithm->topology;
    if (algorithm->topology != CV_GRAPH) {
        if (plan->graph)
            return cv_complain(complaint, "--graph %s: %s runs on %s; expected no graph", cv_brief(plan->graph).text,
                               algorithm->name, algorithm->topology == CV_COMPLETE ? "a complete network" : "a ring");
        return 0;
    }
    struct cv_random random;
    cv_random_seed(&random, plan->seed, STREAM_GRAPH);
    const uint32_t nodes = scenario->group.nodes;
    int error;
    if (plan->graph_text) {
        error =
            cv_graph_parse(&scenario->graph, plan->graph_text, scenario->ids, nodes, graph_name(plan).text, complaint);
    } else if (plan->graph) {
        error = blame_graph(cv_graph_make(&scenario->graph, plan->graph, nodes, &random, complaint), complaint);
    } else {
        const uint64_t all = (uint64_t)nodes * (nodes - 1) / 2, usual = 2 * (uint64_t)nodes;
        char shape[32];
        snprintf(shape, sizeof shape, "random:%llu", (unsigned long long)(usual < all ? usual : all));
        error = cv_graph_make(&scenario->graph, shape, nodes, &random, complaint);
    }
    scenario->group.edges = scenario->graph.edges;
    scenario->group.neighbours = scenario->graph.neighbours;
    scenario->group.weights = scenario->graph.weights;
    return error;
}

/* ---- parameters ---- */

static int64_t choice_of(const char *choices, struct cv_text value)
{
    struct cv_text rest = cv_text(choices), word;
    for (int64_t place = 0; cv_text_take(&rest, '|', &word); place++)
        if (word.length == value.length && memcmp(word.start, value.start, value.length) == 0)
            return place;
    return -1;
}

static int set_parameter(const struct cv_plan *plan, const char *word, const struct cv_parameter *parameter,
                         struct cv_text value, const struct cv_index *index, int64_t *to,
                         struct cv_complaint *complaint)
{
    uint64_t number;
    switch (parameter->type) {
    case CV_CHOICE:
        *to = choice_of(parameter->choices, value);
        return *to >= 0 ? 0 : cv_complain(complaint, "--set %s: expected %s", cv_brief(word).text, parameter->choices);
    case CV_NUMBER:
        if (!cv_parse_number(value, INT64_MAX, &number))
            return cv_complain(complaint, "--set %s: expected a number of 0..%lld", cv_brief(word).text,
                               (long long)INT64_MAX);
        *to = (int64_t)number;
        return 0;
    default:
        if (!cv_parse_number(value, UINT32_MAX, &number) || cv_index_find(index, (cv_id)number) == CV_NOBODY)
            return cv_complain(complaint, "--set %s: expected the id of a node of %s", cv_brief(word).text,
                               plan->algorithm->name);
        *to = cv_index_find(index, (cv_id)number);
        return 0;
    }
}

static void name_parameters(const struct cv_plan *plan, char *names, size_t room)
{
    const struct cv_algorithm *algorithm = plan->algorithm, *app = plan->app;
    size_t used = 0;
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm) && used < room; i++)
        used += (size_t)snprintf(names + used, room - used, "%s%s", used ? ", " : "", algorithm->parameters[i].name);
    for (uint32_t i = 0; app && i < cv_algorithm_parameters(app) && used < room; i++)
        used += (size_t)snprintf(names + used, room - used, "%s%s", used ? ", " : "", app->parameters[i].name);
    if (app && used < room)
        used += (size_t)snprintf(names + used, room - used, "%srounds", used ? ", " : "");
    if (algorithm->hints.clocked && used < room)
        used += (size_t)snprintf(names + used, room - used, "%sclocks", used ? ", " : "");
    if (algorithm->quorums && used < room)
        used += (size_t)snprintf(names + used, room - used, "%squorums", used ? ", " : "");
    if (algorithm->clusters && used < room)
        used += (size_t)snprintf(names + used, room - used, "%sclusters", used ? ", " : "");
    if (algorithm->assumes & CV_BOUNDED_DELAY && used < room)
        used += (size_t)snprintf(names + used, room - used, "%sbound", used ? ", " : "");
    if (!used)
        snprintf(names, room, "none");
}

const char *cv_plan_setting(const struct cv_plan *plan, const char *key)
{
    const size_t length = strlen(key);
    for (uint32_t i = 0; i < plan->set.count; i++)
        if (strncmp(plan->set.word[i], key, length) == 0 && plan->set.word[i][length] == '=')
            return plan->set.word[i] + length + 1;
    return NULL;
}

/* Is the parameter set already? It can have only one value. */
static bool set_before(const struct cv_plan *plan, uint32_t place, struct cv_text key)
{
    struct cv_text other, value;
    for (uint32_t i = 0; i < place; i++)
        if (cv_text_split(cv_text(plan->set.word[i]), '=', &other, &value) && other.length == key.length &&
            memcmp(other.start, key.start, key.length) == 0)
            return true;
    return false;
}

static int set_word(const struct cv_plan *plan, uint32_t place, const struct cv_index *index,
                    struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = plan->algorithm;
    const char *word = plan->set.word[place];
    struct cv_text key, value;
    if (!cv_text_split(cv_text(word), '=', &key, &value))
        return cv_complain(complaint, "--set %s: expected KEY=VALUE", cv_brief(word).text);
    if (set_before(plan, place, key))
        return cv_complain(complaint, "--set %s: %.*s is set twice; expected one value", cv_brief(word).text,
                           key.length < 40 ? (int)key.length : 40, key.start);
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm); i++)
        if (cv_text_is(key, algorithm->parameters[i].name))
            return set_parameter(plan, word, &algorithm->parameters[i], value, index, &scenario->parameters[i],
                                 complaint);
    for (uint32_t i = 0; plan->app && i < cv_algorithm_parameters(plan->app); i++)
        if (cv_text_is(key, plan->app->parameters[i].name))
            return set_parameter(plan, word, &plan->app->parameters[i], value, index, &scenario->app_parameters[i],
                                 complaint);
    if (cv_text_is(key, "bound") && algorithm->assumes & CV_BOUNDED_DELAY) {
        if (!cv_parse_number(value, LONGEST_TIME, &scenario->group.bound) || !scenario->group.bound)
            return cv_complain(complaint, "--set %s: expected a number of ticks, at least 1", cv_brief(word).text);
        return 0;
    }
    if (plan_mutex_knows(plan, key.start, key.length) || plan_synchronizer_knows(plan, key.start, key.length))
        return 0; /* its reader is elsewhere */
    char names[200];
    name_parameters(plan, names, sizeof names);
    return cv_complain(complaint, "--set %s: %s has no such parameter; expected one of: %s", cv_brief(word).text,
                       plan->alone && plan->app ? plan->app->name : algorithm->name, names);
}

/* The default values of an algorithm's parameters. */
static int64_t *usual_parameters(const struct cv_algorithm *algorithm)
{
    const uint32_t count = cv_algorithm_parameters(algorithm);
    int64_t *values = calloc(count + 1u, sizeof *values);
    for (uint32_t i = 0; values && i < count; i++)
        values[i] = cv_parameter_usual(&algorithm->parameters[i]);
    return values;
}

static int set_parameters(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                          struct cv_complaint *complaint)
{
    scenario->parameters = usual_parameters(plan->algorithm);
    scenario->app_parameters = plan->app ? usual_parameters(plan->app) : NULL;
    if (!scenario->parameters || (plan->app && !scenario->app_parameters))
        return CV_ENOMEM;
    scenario->group.parameters = scenario->parameters;
    for (uint32_t i = 0; i < plan->set.count; i++) {
        const int error = set_word(plan, i, index, scenario, complaint);
        if (error)
            return error;
    }
    return 0;
}

/* ---- the network ---- */

static int parse_delay(const char *text, struct cv_delay *delay, struct cv_complaint *complaint)
{
    struct cv_text low, high;
    *delay = (struct cv_delay){CV_DELAY_UNIT, 1, 1};
    if (!text || strcmp(text, "unit") == 0)
        return 0;
    if (strncmp(text, "exp:", 4) == 0) {
        delay->model = CV_DELAY_EXPONENTIAL;
        if (cv_parse_number(cv_text(text + 4), LONGEST_DELAY, &delay->low) && delay->low)
            return 0;
    } else {
        delay->model = CV_DELAY_UNIFORM;
        if (!cv_text_range(cv_text(text), &low, &high))
            low = high = cv_text(text);
        if (cv_parse_number(low, LONGEST_DELAY, &delay->low) && cv_parse_number(high, LONGEST_DELAY, &delay->high) &&
            delay->low && delay->low <= delay->high) {
            if (delay->high == 1)
                delay->model = CV_DELAY_UNIT;
            return 0;
        }
    }
    return cv_complain(complaint, "--delay %s: expected unit, A..B with 1 <= A <= B <= %u, or exp:MEAN",
                       cv_brief(text).text, LONGEST_DELAY);
}

static int parse_chance(const char *option, const char *text, uint64_t *p_32, struct cv_complaint *complaint)
{
    if (text && (!cv_parse_probability(cv_text(text), p_32) || *p_32 > (1ull << 32) - (1ull << 32) / 100))
        return cv_complain(complaint, "%s %s: expected a probability of 0..0.99", option, cv_brief(text).text);
    return 0;
}

static int parse_time(const char *option, const char *text, uint64_t usual, uint64_t *time,
                      struct cv_complaint *complaint)
{
    *time = usual;
    if (text && !cv_parse_number(cv_text(text), LONGEST_TIME, time))
        return cv_complain(complaint, "%s %s: expected a number of ticks, at most 2^48", option, cv_brief(text).text);
    return 0;
}

static int plan_network(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    int error = parse_delay(plan->delay, &scenario->delay, complaint);
    if (!error)
        error = parse_chance("--loss", plan->loss, &scenario->loss_32, complaint);
    if (!error)
        error = parse_chance("--duplicate", plan->duplicate, &scenario->duplicate_32, complaint);
    if (!error)
        error = parse_time("--detect", plan->detect, 1, &scenario->detect, complaint);
    scenario->reorder = plan->reorder;
    scenario->unordered = plan->unordered;
    scenario->serial = plan->serial;
    if (!error && plan->serial && (plan->unordered || cv_scenario_raw(scenario)))
        return cv_complain(complaint, "--serial: one message after the other; expected without --unordered, --loss, "
                                      "--duplicate and --reorder");
    if (!error && plan->unordered && cv_scenario_raw(scenario))
        return cv_complain(complaint, "--unordered: the reliable channel under --loss, --duplicate and --reorder keeps "
                                      "order; expected the one or the other");
    return error;
}

struct cv_point *cv_plan_points(const struct cv_plan *plan, uint32_t nodes)
{
    struct cv_random random;
    if (!plan->graph || plan->graph_text || strncmp(plan->graph, "geometric:", 10) != 0)
        return NULL;
    struct cv_point *points = malloc(nodes * sizeof *points);
    cv_random_seed(&random, plan->seed, STREAM_GRAPH);
    if (points)
        cv_plane_points(points, nodes, &random);
    return points;
}

/* ---- the callers ---- */

static int ascending(const void *one, const void *other)
{
    const cv_node a = *(const cv_node *)one, b = *(const cv_node *)other;
    return (a > b) - (a < b);
}

static int plan_usual_caller(struct cv_scenario *scenario)
{
    scenario->callers = malloc(sizeof *scenario->callers);
    if (!scenario->callers)
        return CV_ENOMEM;
    for (cv_node node = 0; node < scenario->group.nodes; node++)
        if (!cv_scenario_dead(scenario, node) &&
            (!scenario->caller_count || scenario->ids[node] < scenario->ids[scenario->callers[0]])) {
            scenario->callers[0] = node;
            scenario->caller_count = 1;
        }
    return 0;
}

static int plan_callers(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                        struct cv_complaint *complaint)
{
    if (!plan->start)
        return plan_usual_caller(scenario);
    if (strcmp(plan->start, "all") == 0) {
        scenario->everyone_calls = true;
        return 0;
    }
    const uint64_t count = list_length(plan->start);
    if (!count || count > scenario->group.nodes)
        return cv_complain(complaint, "--start %s: expected ids of the group, each once, or all",
                           cv_brief(plan->start).text);
    scenario->callers = malloc(count * sizeof *scenario->callers);
    if (!scenario->callers)
        return CV_ENOMEM;
    read_list(plan->start, scenario->callers);
    scenario->caller_count = (uint32_t)count;
    for (uint32_t i = 0; i < count; i++) {
        const cv_id id = scenario->callers[i];
        scenario->callers[i] = cv_index_find(index, id);
        if (scenario->callers[i] == CV_NOBODY)
            return cv_complain(complaint, "--start %s: there is no node %u; expected ids of the group",
                               cv_brief(plan->start).text, id);
        if (cv_scenario_dead(scenario, scenario->callers[i]))
            return cv_complain(complaint, "--start %s: node %u is dead from the start; expected callers that live",
                               cv_brief(plan->start).text, id);
    }
    qsort(scenario->callers, count, sizeof *scenario->callers, ascending);
    for (uint32_t i = 1; i < count; i++)
        if (scenario->callers[i] == scenario->callers[i - 1])
            return cv_complain(complaint, "--start %s: node %u stands twice; expected each caller once",
                               cv_brief(plan->start).text, scenario->ids[scenario->callers[i]]);
    return 0;
}

/*
 * A caller reaches only its own component of a graph. Each component needs a caller, or it never hears of an election.
 */
static int check_reach(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const uint32_t nodes = scenario->group.nodes;
    if (scenario->group.topology != CV_GRAPH || plan->algorithm->problem != CV_ELECTION)
        return 0;
    assert(nodes > 0);
    uint32_t *part = malloc(nodes * sizeof *part), parts = 0, reached = 0;
    bool *called = calloc(nodes, sizeof *called);
    if (part && called)
        parts = cv_graph_components(&scenario->graph, part);
    for (uint32_t i = 0; parts && i < (scenario->everyone_calls ? nodes : scenario->caller_count); i++) {
        const uint32_t here = part[scenario->everyone_calls ? i : scenario->callers[i]];
        reached += !called[here];
        called[here] = true;
    }
    free(part);
    free(called);
    if (!parts)
        return CV_ENOMEM;
    if (reached < parts)
        return cv_complain(complaint,
                           "--graph %s: the graph falls into %u parts and only %u of them have a caller; expected a "
                           "connected graph, or a node of each part in --start",
                           cv_brief(plan->graph ? plan->graph : "random").text, parts, reached);
    return 0;
}

static int fill(const struct cv_plan *plan, struct cv_index *index, struct cv_scenario *scenario,
                struct cv_complaint *complaint)
{
    int error = count_nodes(plan, scenario, complaint);
    if (!error)
        error = name_nodes(plan, scenario, complaint);
    if (!error)
        error = index_nodes(plan, scenario, index, complaint);
    if (!error)
        error = connect_nodes(plan, scenario, complaint);
    if (!error)
        error = plan_network(plan, scenario, complaint);
    if (!error)
        error = plan_faults_build(plan, index, scenario, complaint);
    if (error)
        return error;
    scenario->group.bound = cv_scenario_bound(scenario);
    error = set_parameters(plan, index, scenario, complaint);
    const uint32_t problem = plan->algorithm->problem;
    if (!error && problem == CV_MUTEX)
        error = plan_mutex_build(plan, index, scenario, complaint);
    else if (!error && (problem == CV_SYNCHRONIZER || problem == CV_PATHS))
        error = plan_synchronizer_build(plan, index, scenario, complaint);
    else if (!error)
        error = plan_callers(plan, index, scenario, complaint);
    if (!error)
        error = check_reach(plan, scenario, complaint);
    const uint64_t length = scenario->app ? 1 + scenario->group.rounds : 1; /* a round may cross the network */
    uint64_t patience;
    if (__builtin_mul_overflow(100 * length * scenario->group.nodes, scenario->group.bound, &patience) ||
        patience > LONGEST_TIME)
        patience = LONGEST_TIME;
    patience += 1000000;
    return error ? error : parse_time("--until", plan->until, patience, &scenario->until, complaint);
}

int cv_plan_build(const struct cv_plan *plan, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    struct cv_index index = {0};
    *scenario = (struct cv_scenario){.algorithm = plan->algorithm, .seed = plan->seed};
    const int error = fill(plan, &index, scenario, complaint);
    cv_index_free(&index);
    return error ? error : cv_fields_check_states(scenario, complaint);
}
