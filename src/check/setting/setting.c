// SPDX-License-Identifier: MIT
#include "check/setting/setting.h"

#include "core/scenario/validity.h"

int setting_init(struct setting *setting, const struct cv_scenario *scenario, const struct cv_check_options *options)
{
    *setting = (struct setting){.scenario = scenario,
                                .algorithm = scenario->algorithm,
                                .options = *options,
                                .group = scenario->group,
                                .nodes = scenario->group.nodes,
                                .kinds = cv_algorithm_kinds(scenario->algorithm),
                                .timers = cv_algorithm_timers(scenario->algorithm),
                                .claims = cv_scenario_claims(scenario)};
    assert(setting->nodes <= CV_CHECK_MOST_NODES);
    setting->group.absence = options->crashes || options->suspicions || options->cuts;
    setting->may_partition = scenario->group.topology == CV_GRAPH || options->cuts;
    setting->group.epoch += options->inside != CV_NOBODY;
    setting->validates = cv_scenario_keeps_assumptions(scenario) &&
                         (!setting->group.absence || !(scenario->algorithm->assumes & CV_NO_CRASH)) && !options->cuts &&
                         !options->recoveries;
    setting->renumbers = scenario->algorithm->hints.counters && !options->no_counters;
    setting->predicts = options->reduction && !setting->renumbers;
    setting->renames = options->symmetry && scenario->algorithm->hints.rename &&
                       scenario->group.topology == CV_COMPLETE &&
                       scenario->algorithm->problem == CV_MUTEX; /* the result of an election depends on ids */
    setting->forgets_clocks = options->orders && scenario->algorithm->hints.clocked == CV_CLOCKS_ORDER;
    setting->ordered = options->orders && scenario->algorithm->hints.clocked > CV_CLOCKED && !setting->group.absence &&
                       !options->most_depth &&
                       order_first(&setting->order, options->callers & ((1u << setting->nodes) - 1), scenario->entries,
                                   options->orders == CV_STRICT_ORDERS && setting->forgets_clocks);
    setting->forgets_clocks &= setting->ordered;
    setting->drops_clocks = scenario->algorithm->hints.clocked && options->drop_clocks && !setting->ordered;
    setting->caps_clocks = setting->drops_clocks && scenario->algorithm->hints.clocked == CV_CLOCKS_REQUESTS;
    setting->all_start = scenario->algorithm->problem != CV_ELECTION && scenario->algorithm->problem != CV_MUTEX;
    setting->has_results = setting->claims & (CV_SHORTEST_PATHS | CV_FEWEST_HOPS);
    setting->any_caller = setting->claims & CV_ANY_CALLER;
    const bool election = scenario->algorithm->problem == CV_ELECTION;
    setting->best_always = election && !setting->timers && setting->claims & CV_BEST_WINS && setting->any_caller;
    setting->agree_always = election && setting->timers && setting->claims & CV_AGREEMENT;
    cv_rank best = 0;
    for (cv_node node = 0; node < setting->nodes; node++)
        if (node == 0 || cv_group_rank(&setting->group, node) > best)
            best = cv_group_rank(&setting->group, node);
    setting->best = cv_rank_id(best);
    return cv_index_make(&setting->index, setting->group.ids, setting->nodes);
}

void setting_free(struct setting *setting)
{
    cv_index_free(&setting->index);
}

static uint32_t reach_directly(const struct setting *setting, const struct cv_links *cut_links, uint32_t alive,
                               cv_node node)
{
    uint32_t reached = alive;
    for (cv_node other = 0; !cv_links_are_none(cut_links) && other < setting->nodes; other++)
        reached &= ~((uint32_t)cv_links_have(cut_links, node, other) << other);
    return reached;
}

uint32_t setting_reach(const struct setting *setting, const struct cv_links *cut_links, uint32_t alive, cv_node node)
{
    const struct cv_group *group = &setting->group;
    if (group->topology != CV_GRAPH)
        return reach_directly(setting, cut_links, alive, node);
    uint32_t reached = alive & 1u << node, before = 0;
    while (reached != before) {
        before = reached;
        for (uint32_t rest = before; rest; rest &= rest - 1) {
            const uint32_t at = (uint32_t)__builtin_ctz(rest);
            for (uint64_t e = group->edges[at]; e < group->edges[at + 1]; e++)
                if (!cv_links_have(cut_links, at, group->neighbours[e]))
                    reached |= alive & 1u << group->neighbours[e];
        }
    }
    return reached;
}

size_t setting_state_bytes(const struct setting *setting, cv_node node)
{
    const struct cv_algorithm *algorithm = setting->algorithm;
    const size_t bytes = algorithm->state_size ? algorithm->state_size(&setting->group, node) : algorithm->state_bytes;
    return (bytes + 7) / 8 * 8;
}

void setting_components(const struct setting *setting, const struct cv_links *cut_links, uint32_t alive,
                        uint32_t *components)
{
    for (cv_node node = 0; node < setting->nodes; node++)
        components[node] = alive & 1u << node ? node : UINT32_MAX;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t rest = alive; rest; rest &= rest - 1) {
            const cv_node node = (cv_node)__builtin_ctz(rest);
            for (uint32_t near = setting_reach(setting, cut_links, alive, node); near; near &= near - 1) {
                const uint32_t theirs = components[__builtin_ctz(near)];
                changed |= theirs < components[node];
                components[node] = theirs < components[node] ? theirs : components[node];
            }
        }
    }
}
