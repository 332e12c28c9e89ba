// SPDX-License-Identifier: MIT
/*
 * Computes each variable from its definition, without running the algorithm. This is a second, naive model, so that a
 * wrong count shows.
 */
#include "core/formula/theory.h"

#include <stdlib.h>
#include <string.h>

#include "core/formula/formula.h"

struct living {
    const struct cv_scenario *scenario;
    cv_node *node; /* the live nodes, in ring order */
    bool *calls;   /* the node calls */
    uint32_t count;
    uint32_t callers;
    uint32_t best; /* the place of the best node among them */
    uint64_t app_messages;
};

static cv_rank rank(const struct living *living, uint32_t place)
{
    return cv_group_rank(&living->scenario->group, living->node[place]);
}

static int find_living(const struct cv_scenario *scenario, struct living *living)
{
    const uint32_t nodes = scenario->group.nodes;
    *living = (struct living){.scenario = scenario};
    living->node = malloc(nodes * sizeof *living->node);
    living->calls = calloc(nodes, sizeof *living->calls);
    bool *dead = calloc(nodes, sizeof *dead);
    if (!living->node || !living->calls || !dead) {
        free(dead);
        return CV_ENOMEM;
    }
    for (uint32_t i = 0; i < scenario->crash_count; i++)
        if (cv_scenario_dead(scenario, scenario->crashes[i].node))
            dead[scenario->crashes[i].node] = true;
    uint32_t next = 0;
    for (cv_node node = 0; node < nodes; node++) {
        const bool named = next < scenario->caller_count && scenario->callers[next] == node;
        next += named;
        if (dead[node])
            continue;
        const uint32_t place = living->count++;
        living->node[place] = node;
        living->calls[place] = named || scenario->everyone_calls;
        living->callers += living->calls[place];
        if (rank(living, place) > rank(living, living->best))
            living->best = place;
    }
    free(dead);
    return 0;
}

static void free_living(struct living *living)
{
    free(living->node);
    free(living->calls);
}

/* ---- variables ---- */

static double steps_to_best(const struct living *living)
{
    double sum = 0;
    for (uint32_t place = 0; place < living->count; place++)
        if (living->calls[place])
            sum += (living->best + living->count - place) % living->count;
    return sum;
}

/* Goes backwards round the ring from the best caller. The better callers ahead form a stack. */
static double steps_to_next_better_caller(const struct living *living)
{
    uint32_t *stack = malloc((living->count + 1) * sizeof *stack);
    uint32_t best = living->count, depth = 0;
    double sum = 0;
    for (uint32_t place = 0; place < living->count; place++)
        if (living->calls[place] && (best == living->count || rank(living, place) > rank(living, best)))
            best = place;
    for (uint32_t i = 0; stack && best < living->count && i < living->count; i++) {
        const uint32_t place = (best + living->count - i) % living->count;
        if (!living->calls[place])
            continue;
        while (depth && rank(living, stack[depth - 1]) < rank(living, place))
            depth--;
        sum += depth ? (stack[depth - 1] + living->count - place) % living->count : living->count;
        stack[depth++] = place;
    }
    free(stack);
    return sum;
}

/* Franklin: in each round the contenders that are better than both neighbours stay; the last one needs one more. */
static double franklin_rounds(const struct living *living)
{
    cv_rank *contender = malloc((living->count + 1) * sizeof *contender);
    uint32_t count = 0, rounds = 1;
    for (uint32_t place = 0; contender && place < living->count; place++)
        contender[count++] = rank(living, place);
    while (count > 1) {
        uint32_t kept = 0;
        const cv_rank first = contender[0], last = contender[count - 1];
        cv_rank left = last;
        for (uint32_t i = 0; i < count; i++) {
            const cv_rank here = contender[i], right = i + 1 < count ? contender[i + 1] : first;
            if (here > left && here > right)
                contender[kept++] = here;
            left = here;
        }
        count = kept;
        rounds++;
    }
    free(contender);
    return rounds;
}

/* Peterson: a phase keeps the aliases that are better than both the one before and the one after. */
static double peterson_phases(const struct living *living)
{
    return franklin_rounds(living) - 1;
}

static cv_node caller_of(const struct living *living)
{
    for (uint32_t place = 0; place < living->count; place++)
        if (living->calls[place])
            return living->node[place];
    return 0;
}

static double not_below_caller(const struct living *living)
{
    const cv_rank caller = cv_group_rank(&living->scenario->group, caller_of(living));
    double count = 0;
    for (uint32_t place = 0; place < living->count; place++)
        count += rank(living, place) >= caller;
    return count;
}

static double better_than_caller(const struct living *living)
{
    return not_below_caller(living) - 1;
}

static double nodes(const struct living *living)
{
    return living->scenario->group.nodes;
}

static double dead(const struct living *living)
{
    return nodes(living) - living->count;
}

static double alive(const struct living *living)
{
    return living->count;
}

static double callers(const struct living *living)
{
    return living->callers;
}

static double edges(const struct living *living)
{
    return living->scenario->graph.edges ? (double)cv_graph_edge_count(&living->scenario->graph) : 0;
}

static double eccentricity(const struct living *living)
{
    bool branching;
    return living->scenario->graph.edges
               ? cv_graph_eccentricity(&living->scenario->graph, caller_of(living), &branching)
               : 0;
}

static double waiting_at_the_rim(const struct living *living)
{
    bool branching = false;
    if (living->scenario->graph.edges)
        cv_graph_eccentricity(&living->scenario->graph, caller_of(living), &branching);
    return branching ? 2 : 0;
}

/* The number of planned entries: of all nodes, or of all but the coordinator. */
static double entries_of(const struct living *living, cv_node but)
{
    const struct cv_scenario *scenario = living->scenario;
    double count = 0;
    for (uint32_t place = 0; place < living->count; place++)
        if (living->node[place] != but)
            count += (double)scenario->entries * scenario->names;
    for (uint32_t i = 0; i < scenario->wish_count; i++)
        count += scenario->wishes[i].node != but;
    return count;
}

static double entries(const struct living *living)
{
    return entries_of(living, CV_NOBODY);
}

static double entries_of_others(const struct living *living)
{
    const cv_node coordinator = living->scenario->group.coordinator;
    const bool gone = coordinator != CV_NOBODY && cv_scenario_dead(living->scenario, coordinator);
    return entries_of(living, gone ? living->node[living->best] : coordinator);
}

/* The votes of other nodes that all planned entries need. */
static double votes(const struct living *living)
{
    const struct cv_scenario *scenario = living->scenario;
    const uint64_t *starts = scenario->group.quorums;
    double count = 0;
    for (uint32_t place = 0; starts && place < living->count; place++) {
        const cv_node node = living->node[place];
        count += (double)scenario->entries * scenario->names * (double)(starts[node + 1] - starts[node] - 1);
    }
    for (uint32_t i = 0; starts && i < scenario->wish_count; i++)
        count += (double)(starts[scenario->wishes[i].node + 1] - starts[scenario->wishes[i].node] - 1);
    return count;
}

static double rounds(const struct living *living)
{
    return (double)living->scenario->group.rounds;
}

static double app_messages(const struct living *living)
{
    return (double)living->app_messages;
}

static double bound(const struct living *living)
{
    return (double)living->scenario->group.bound;
}

static double clusters(const struct living *living)
{
    return living->scenario->clusters.count;
}

static double preferred_edges(const struct living *living)
{
    return (double)living->scenario->clusters.preferred_edges;
}

/* The height of the clusters' trees, or of the breadth-first tree around the member that the parameters name. */
static double tree_height(const struct living *living)
{
    const struct cv_scenario *scenario = living->scenario;
    double height = scenario->clusters.height;
    for (uint32_t i = 0; i < cv_algorithm_parameters(scenario->algorithm); i++)
        if (scenario->algorithm->parameters[i].type == CV_MEMBER)
            height = cv_graph_eccentricity(&scenario->graph, (cv_node)scenario->parameters[i], NULL);
    return height;
}

struct variable {
    const char *name;
    double (*value)(const struct living *living);
};

/* In the formulas of synchronizers these names have a meaning of their own. */
static const struct variable of_synchronizers[] = {
    {"R", rounds}, {"M", app_messages}, {"D", bound}, {"c", clusters}, {"P", preferred_edges}, {"h", tree_height}, {0},
};

static const struct variable variables[] = {
    {"n", nodes},
    {"d", dead},
    {"a", alive},
    {"k", callers},
    {"q", not_below_caller},
    {"h", better_than_caller},
    {"δ", steps_to_best},
    {"Σ", steps_to_next_better_caller},
    {"ρ", franklin_rounds},
    {"f", peterson_phases},
    {"E", edges},
    {"ecc", eccentricity},
    {"w", waiting_at_the_rim},
    {"e", entries},
    {"x", entries_of_others},
    {"V", votes},
    {0},
};

static const struct variable *find_variable(const struct variable *variable, const char *name, size_t length)
{
    while (variable->name && (strlen(variable->name) != length || memcmp(variable->name, name, length) != 0))
        variable++;
    return variable->name ? variable : NULL;
}

static bool look_up(void *context, const char *name, size_t length, double *value)
{
    const struct living *living = context;
    const struct cv_scenario *scenario = living->scenario;
    const bool synchronizer = scenario->algorithm->problem == CV_SYNCHRONIZER;
    const struct variable *variable = synchronizer ? find_variable(of_synchronizers, name, length) : NULL;
    if (!variable)
        variable = find_variable(variables, name, length);
    if (variable) {
        *value = variable->value(living);
        return true;
    }
    for (uint32_t i = 0; i < cv_algorithm_parameters(scenario->algorithm); i++) {
        const char *parameter = scenario->algorithm->parameters[i].name;
        if (strlen(parameter) == length && memcmp(parameter, name, length) == 0) {
            *value = (double)scenario->parameters[i];
            return true;
        }
    }
    return false;
}

/* ---- conditions ---- */

static bool is_steady(const struct cv_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->crash_count; i++)
        if (!cv_scenario_dead(scenario, scenario->crashes[i].node))
            return false;
    return !scenario->recovery_count && !scenario->partition_count && !scenario->suspicion_count &&
           !scenario->unordered;
}

/* CV_USUAL, or CV_CHOSEN() for each of the parameters that are not the default. */
static uint32_t choices(const struct cv_scenario *scenario)
{
    uint32_t chosen = 0;
    bool usual = true;
    for (uint32_t i = 0; i < cv_algorithm_parameters(scenario->algorithm); i++) {
        const struct cv_parameter *parameter = &scenario->algorithm->parameters[i];
        if (parameter->type == CV_MEMBER || scenario->parameters[i] == cv_parameter_usual(parameter))
            continue;
        usual = false;
        chosen |= i < 16 ? CV_CHOSEN(i) : 0;
    }
    return usual ? CV_USUAL : chosen;
}

static cv_node best_of_all(const struct cv_group *group)
{
    cv_node best = 0;
    for (cv_node node = 1; node < group->nodes; node++)
        if (cv_group_rank(group, node) > cv_group_rank(group, best))
            best = node;
    return best;
}

static uint32_t conditions(const struct cv_scenario *scenario, const struct living *living)
{
    const cv_node top = best_of_all(&scenario->group);
    const bool top_dead = cv_scenario_dead(scenario, top);
    const uint32_t dead_count = scenario->group.nodes - living->count;
    uint32_t hold = CV_ALWAYS;
    hold |= is_steady(scenario) ? CV_STEADY : 0;
    hold |= dead_count == 0 ? CV_ALL_ALIVE : 0;
    hold |= living->callers == 1 ? CV_ONE_CALLER : 0;
    hold |= living->callers == living->count && living->count ? CV_ALL_CALL : 0;
    const bool unit = scenario->delay.model == CV_DELAY_UNIT && !scenario->lag_count && !scenario->serial &&
                      !cv_scenario_raw(scenario);
    hold |= unit ? CV_UNIT_DELAY : 0;
    hold |= top_dead ? CV_TOP_DEAD : CV_TOP_ALIVE;
    hold |= top_dead && dead_count == 1 ? CV_ONLY_TOP_DEAD : 0;
    hold |= living->callers == 1 && caller_of(living) == top ? CV_TOP_CALLS : 0;
    hold |= scenario->group.bound >= cv_scenario_bound(scenario) ? CV_ENOUGH_PATIENCE : 0;
    hold |= scenario->app && living->app_messages &&
                    living->app_messages == 2 * cv_graph_edge_count(&scenario->graph) * scenario->group.rounds
                ? CV_ALL_SEND
                : 0;
    hold |= choices(scenario);
    if (scenario->slow_gadget && cv_scenario_source(scenario) == 0)
        hold |= scenario->serial ? CV_SERIAL_GADGET : CV_SLOW_GADGET;
    return hold;
}

uint32_t cv_theory_conditions(const struct cv_scenario *scenario)
{
    struct living living;
    const uint32_t hold = find_living(scenario, &living) ? CV_ALWAYS : conditions(scenario, &living);
    free_living(&living);
    return hold;
}

/* Alone on a ring a node is its own neighbour. The formulas count what it sends to itself, the runtimes do not. */
static bool talks_to_itself(const struct cv_scenario *scenario, const struct living *living, enum cv_measure measure)
{
    const uint32_t topology = scenario->group.topology;
    return measure == CV_MESSAGES && living->count == 1 && (topology == CV_RING || topology == CV_RING_BOTH);
}

int cv_theory_expect(const struct cv_scenario *scenario, uint64_t app_sends, enum cv_measure measure,
                     struct cv_expectation *expectation, struct cv_complaint *complaint)
{
    struct living living;
    *expectation = (struct cv_expectation){0};
    int error = find_living(scenario, &living);
    living.app_messages = app_sends;
    const uint32_t hold = error || talks_to_itself(scenario, &living, measure) ? 0 : conditions(scenario, &living);
    for (const struct cv_cost *cost = scenario->algorithm->costs; !error && cost && cost->label; cost++) {
        if (cost->measure != measure || cost->when == CV_LISTED || (cost->when & hold) != cost->when)
            continue;
        const struct cv_formula_names names = {look_up, &living};
        error = cv_formula_evaluate(cost->formula, &names, &expectation->value, complaint);
        expectation->cost = error ? NULL : cost;
        break;
    }
    free_living(&living);
    return error;
}
