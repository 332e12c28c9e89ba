// SPDX-License-Identifier: MIT
#include "core/scenario.h"

#include <stdlib.h>

#include "core/channel.h"

/* How often a lost packet may have to be sent again before we call a message late: once in 2^40 channels' lives. */
#define RARE_BITS 40u

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

bool cv_scenario_dead(const struct cv_scenario *scenario, cv_node node)
{
    for (uint32_t i = 0; i < scenario->crash_count; i++) {
        const struct cv_crash *crash = &scenario->crashes[i];
        if (crash->node == node && crash->moment == CV_AT && crash->time == 0)
            return true;
    }
    return false;
}

/* The delay that one packet does not exceed. An exponential delay has no bound; 28 means are exceeded once in 10^12. */
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

/* With loss p a packet is sent up to so many times, until p^tries is about 2^-40. */
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
        link *= 3; /* to the one end, across, and on from the other */
    if (cv_scenario_raw(scenario))
        link += tries(scenario->loss_32) * CV_CHANNEL_PATIENCE * cv_scenario_retry(scenario);
    return link;
}

uint32_t cv_scenario_claims(const struct cv_scenario *scenario)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    uint32_t claims = algorithm->claims;
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm); i++) {
        const struct cv_parameter *parameter = &algorithm->parameters[i];
        const int64_t usual = parameter->type == CV_NUMBER   ? parameter->fallback
                              : parameter->type == CV_CHOICE ? 0
                                                             : -1;
        if (scenario->parameters[i] != usual)
            claims &= ~parameter->drops;
    }
    return claims;
}

void cv_scenario_free(struct cv_scenario *scenario)
{
    for (uint32_t i = 0; i < scenario->partition_count; i++)
        free(scenario->partitions[i].side);
    cv_graph_free(&scenario->graph);
    free(scenario->ids);
    free(scenario->attributes);
    free(scenario->parameters);
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
