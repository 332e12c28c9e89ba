// SPDX-License-Identifier: MIT
#include "core/scenario/scenario.h"

#include <stdlib.h>
#include <string.h>

#include "core/link/channel.h"
#include "core/parse.h"

/* The bound of a message's delay allows for losses in a row, down to a probability of 2^-40. */
#define RARE_BITS 40u

const char *cv_problem_name(uint32_t problem)
{
    static const char *const names[] = {"election", "mutex", "synchronizer", "synchronous", "paths"};
    return names[problem];
}

uint32_t cv_algorithm_kinds(const struct cv_algorithm *algorithm)
{
    uint32_t count = 0;
    while (algorithm->kinds && algorithm->kinds[count].name)
        count++;
    return count;
}

uint32_t cv_algorithm_timers(const struct cv_algorithm *algorithm)
{
    uint32_t count = 0;
    while (algorithm->timers && algorithm->timers[count])
        count++;
    return count;
}

uint32_t cv_algorithm_parameters(const struct cv_algorithm *algorithm)
{
    uint32_t count = 0;
    while (algorithm->parameters && algorithm->parameters[count].name)
        count++;
    return count;
}

int64_t cv_parameter_usual(const struct cv_parameter *parameter)
{
    return parameter->type == CV_NUMBER ? parameter->fallback : parameter->type == CV_CHOICE ? 0 : -1;
}

bool cv_scenario_dead(const struct cv_scenario *scenario, cv_node node)
{
    for (uint32_t i = 0; i < scenario->crash_count; i++) {
        const struct cv_crash *crash = &scenario->crashes[i];
        if (crash->node == node && crash->moment == CV_AT && crash->time == 0)
            return true;
    }
    return false;
}

/* The longest delay of a packet. An exponential delay has no bound; it exceeds 28 means once in 10^12 packets. */
uint64_t cv_delay_bound(const struct cv_delay *delay)
{
    switch (delay->model) {
    case CV_DELAY_UNIT:
        return 1;
    case CV_DELAY_UNIFORM:
        return delay->high;
    default:
        return delay->low * 28 + 1;
    }
}

/* The number of times that a packet is sent at most, with loss p, until p^tries is about 2^-40. */
static uint64_t tries(uint64_t loss_32)
{
    uint64_t count = 1;
    double failed = 1;
    const double once = (double)loss_32 / 4294967296.0;
    while (loss_32 && failed > 1.0 / (double)(1ull << RARE_BITS) && count < 1000000) {
        failed *= once;
        count++;
    }
    return count;
}

uint64_t cv_scenario_retry(const struct cv_scenario *scenario)
{
    const uint64_t link = cv_delay_bound(&scenario->delay);
    return 2 * (scenario->reorder ? 4 * link : link) + 1;
}

uint64_t cv_scenario_bound(const struct cv_scenario *scenario)
{
    uint64_t link = cv_delay_bound(&scenario->delay);
    for (uint32_t i = 0; i < scenario->lag_count; i++)
        link = scenario->lags[i].ticks > link ? scenario->lags[i].ticks : link;
    if (scenario->reorder)
        link *= 4;
    if (scenario->alternate_count)
        link *= 3; /* to one end of the alternate link, across it, and on from the other end */
    if (cv_scenario_raw(scenario))
        link += tries(scenario->loss_32) * CV_CHANNEL_PATIENCE * cv_scenario_retry(scenario);
    return link;
}

static uint32_t claims_with(const struct cv_algorithm *algorithm, const int64_t *values)
{
    uint32_t claims = algorithm->claims;
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm); i++)
        if (values[i] != cv_parameter_usual(&algorithm->parameters[i]))
            claims &= ~algorithm->parameters[i].drops;
    return claims;
}

uint32_t cv_scenario_claims(const struct cv_scenario *scenario)
{
    const uint32_t claims = claims_with(scenario->algorithm, scenario->parameters);
    return scenario->app ? claims | claims_with(scenario->app, scenario->app_parameters) : claims;
}

static bool find_source(const struct cv_algorithm *algorithm, const int64_t *values, cv_node *source)
{
    for (uint32_t i = 0; algorithm && i < cv_algorithm_parameters(algorithm); i++)
        if (strcmp(algorithm->parameters[i].name, "source") == 0 && algorithm->parameters[i].type == CV_MEMBER) {
            *source = (cv_node)values[i];
            return true;
        }
    return false;
}

cv_node cv_scenario_source(const struct cv_scenario *scenario)
{
    cv_node source = 0;
    if (find_source(scenario->app, scenario->app_parameters, &source) ||
        find_source(scenario->algorithm, scenario->parameters, &source))
        return source;
    for (cv_node node = 1; node < scenario->group.nodes; node++)
        if (scenario->ids[node] < scenario->ids[source])
            source = node;
    return source;
}

void cv_scenario_free(struct cv_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->partition_count; i++)
        free(scenario->partitions[i].side);
    cv_graph_free(&scenario->graph);
    free(scenario->ids);
    free(scenario->attributes);
    free(scenario->labels);
    free(scenario->parameters);
    free(scenario->app_parameters);
    free(scenario->ends);
    cv_clusters_free(&scenario->clusters);
    free(scenario->callers);
    free(scenario->crashes);
    free(scenario->recoveries);
    free(scenario->partitions);
    free(scenario->alternates);
    free(scenario->suspicions);
    free(scenario->blindness);
    free(scenario->lags);
    free(scenario->wishes);
    free(scenario->clocks);
    cv_quorums_free(&scenario->quorums);
    *scenario = (struct cv_scenario){0};
}

uint32_t cv_kind_find(const struct cv_algorithm *algorithm, const char *name, size_t length)
{
    const uint32_t count = cv_algorithm_kinds(algorithm);
    for (uint32_t kind = 0; kind < count; kind++)
        if (cv_text_is((struct cv_text){name, length}, algorithm->kinds[kind].name))
            return kind;
    return CV_MAX_KINDS;
}
