// SPDX-License-Identifier: MIT
/*
 * Judges an election. In the texts' words: there is one leader, it is the best of the live nodes, all live nodes know
 * it, and it does not depend on the caller. With timeouts several nodes may lead for a while, so a run is judged when
 * it has come to rest.
 */
#include "property/election.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/scenario/label.h"

/* The result in one connected component of the network. Usually there is only one. */
struct component {
    cv_rank best;     /* of the live nodes that count */
    bool has_best;    /* there is such a node */
    bool takes_part;  /* a live node called, or knows a leader */
    cv_node follower; /* the first live node that knows a leader, or CV_NOBODY */
    cv_id leader;     /* its leader */
};

struct tally {
    const struct cv_run *run;
    uint32_t claims;
    struct component *components; /* by number; one if the network is whole */
    cv_node disagrees;            /* the first live node that follows another leader than its component */
    cv_node misled;               /* the first live node that does not follow the best */
    cv_node ignorant;             /* the first live node that knows no leader */
    cv_node recalled;             /* the first node that held two elections of its own */
    uint32_t ignorant_count;
    uint32_t alive;
    uint32_t taking_part;
};

static struct component *component_of(const struct tally *tally, cv_node node)
{
    return &tally->components[tally->run->component && tally->run->component[node] != UINT32_MAX
                                  ? tally->run->component[node]
                                  : 0];
}

static struct cv_name name(const struct tally *tally, cv_node node)
{
    return cv_name(tally->run->scenario, node);
}

static struct cv_name name_of(const struct tally *tally, cv_id id)
{
    return cv_name_of(tally->run->scenario, id);
}

/* Does the node count for "the best"? If the result depends on the callers, only they do. */
static bool counts(const struct tally *tally, bool calls)
{
    return (tally->claims & CV_ANY_CALLER) || calls;
}

/* First pass: the best node and the leader of each component. */
static void survey(struct tally *tally)
{
    const struct cv_run *run = tally->run;
    const struct cv_scenario *scenario = run->scenario;
    uint32_t next = 0;
    for (cv_node node = 0; node < scenario->group.nodes; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        const bool named = next < scenario->caller_count && scenario->callers[next] == node;
        const bool calls = named || scenario->everyone_calls;
        struct component *component = component_of(tally, node);
        next += named;
        if (!it.alive)
            continue;
        tally->alive++;
        const cv_rank rank = cv_group_rank(&scenario->group, node);
        if (counts(tally, calls) && (!component->has_best || rank > component->best)) {
            component->best = rank;
            component->has_best = true;
        }
        component->takes_part |= calls || it.knows || (it.active && tally->claims & CV_ANY_CALLER);
        if (it.knows && component->follower == CV_NOBODY) {
            component->follower = node;
            component->leader = it.leader;
        }
    }
}

/* Second pass: the first nodes that deviate from these. */
static void find_deviations(struct tally *tally)
{
    const struct cv_run *run = tally->run;
    for (cv_node node = 0; node < run->scenario->group.nodes; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        const struct component *component = component_of(tally, node);
        if (it.recalled && tally->recalled == CV_NOBODY)
            tally->recalled = node;
        if (!it.alive || !component->takes_part)
            continue;
        tally->taking_part++;
        if (!it.knows) {
            tally->ignorant_count++;
            if (tally->ignorant == CV_NOBODY)
                tally->ignorant = node;
            continue;
        }
        if (it.leader != component->leader && tally->disagrees == CV_NOBODY)
            tally->disagrees = node;
        if ((!component->has_best || it.leader != cv_rank_id(component->best)) && tally->misled == CV_NOBODY)
            tally->misled = node;
    }
}

/*
 * The verdict on a property that must hold at rest. It is disclaimed if the algorithm does not claim it, or if there
 * were too few rounds.
 */
static enum cv_verdict verdict_at_rest(const struct tally *tally, enum cv_property_number property, bool good)
{
    if (!(tally->claims & cv_property(property)->claim) || (!good && cv_scenario_cut_short(tally->run->scenario)))
        return CV_DISCLAIMED;
    return good ? verdict_if_missing(tally->run) == CV_VIOLATED ? CV_HELD : CV_UNFINISHED
                : verdict_if_missing(tally->run);
}

static void judge_agreement(const struct tally *tally, struct cv_judgement *judgement)
{
    const cv_node deviating = tally->disagrees;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_AGREEMENT,
                                         verdict_at_rest(tally, CV_PROPERTY_AGREEMENT, deviating == CV_NOBODY));
    if (deviating == CV_NOBODY)
        return;
    const struct component *component = component_of(tally, deviating);
    snprintf(finding->detail, sizeof finding->detail, "node %s follows %s, node %s follows %s",
             name(tally, component->follower).text, name_of(tally, component->leader).text, name(tally, deviating).text,
             name_of(tally, tally->run->standing(tally->run->runtime, deviating).leader).text);
}

static void judge_best(const struct tally *tally, struct cv_judgement *judgement)
{
    const cv_node deviating = tally->misled;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_BEST_WINS,
                                         verdict_at_rest(tally, CV_PROPERTY_BEST_WINS, deviating == CV_NOBODY));
    if (deviating == CV_NOBODY)
        return;
    const struct component *component = component_of(tally, deviating);
    const cv_id leader = tally->run->standing(tally->run->runtime, deviating).leader;
    if (component->has_best)
        snprintf(finding->detail, sizeof finding->detail, "node %s follows %s, the best live %s is %s",
                 name(tally, deviating).text, name_of(tally, leader).text,
                 tally->claims & CV_ANY_CALLER ? "node" : "caller", name_of(tally, cv_rank_id(component->best)).text);
    else
        snprintf(finding->detail, sizeof finding->detail, "node %s follows %s, but no caller is alive",
                 name(tally, deviating).text, name_of(tally, leader).text);
}

static void judge_everyone(const struct tally *tally, struct cv_judgement *judgement)
{
    const bool claimed = tally->claims & CV_EVERYONE_LEARNS, all = tally->ignorant == CV_NOBODY;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_EVERYONE_LEARNS,
                                         !claimed ? CV_DISCLAIMED
                                         : all    ? CV_HELD
                                                  : verdict_if_missing(tally->run));
    if (!tally->taking_part)
        snprintf(finding->detail, sizeof finding->detail, "%s",
                 tally->alive ? "no live node has heard of the election" : "no node is alive");
    else if (!all)
        snprintf(finding->detail, sizeof finding->detail, "%u of %u live nodes know no leader, node %s among them",
                 tally->ignorant_count, tally->alive, name(tally, tally->ignorant).text);
}

/* The leader is the best of all live nodes, not only of the callers. */
static void judge_any_caller(const struct tally *tally, struct cv_judgement *judgement)
{
    const bool good = tally->misled == CV_NOBODY;
    struct cv_finding *finding =
        cv_find(judgement, CV_PROPERTY_ANY_CALLER, verdict_at_rest(tally, CV_PROPERTY_ANY_CALLER, good));
    if (!(tally->claims & CV_ANY_CALLER))
        snprintf(finding->detail, sizeof finding->detail, "the result depends on who calls");
    else if (!good)
        snprintf(finding->detail, sizeof finding->detail, "the leader is not the best of all live nodes");
}

/* The texts' liveness has two halves: every node learns the leader, and the run terminates. */
static void judge_rest(const struct tally *tally, struct cv_judgement *judgement)
{
    const enum cv_ending ending = tally->run->ending;
    struct cv_finding *finding = cv_find(judgement, CV_PROPERTY_COMES_TO_REST,
                                         ending == CV_QUIET     ? CV_HELD
                                         : ending == CV_REPEATS ? CV_VIOLATED
                                                                : CV_UNFINISHED);
    if (ending != CV_QUIET)
        snprintf(finding->detail, sizeof finding->detail, "%s",
                 ending == CV_REPEATS ? "messages go round for ever" : "something is still under way");
}

static void judge_calls(const struct tally *tally, struct cv_judgement *judgement)
{
    const struct cv_run *run = tally->run;
    struct cv_finding *once =
        cv_find(judgement, CV_PROPERTY_ONE_ELECTION, tally->recalled == CV_NOBODY ? CV_HELD : CV_VIOLATED);
    if (tally->recalled != CV_NOBODY)
        snprintf(once->detail, sizeof once->detail, "node %s called while its own election was under way",
                 name(tally, tally->recalled).text);
    struct cv_finding *some =
        cv_find(judgement, CV_PROPERTY_SOMEBODY_CALLS, run->calls ? CV_HELD : verdict_if_missing(run));
    if (!run->calls)
        snprintf(some->detail, sizeof some->detail, "no live node ever called an election");
}

/* The leader of the whole group, if all live nodes that must know one know the same. */
static void name_leader(const struct tally *tally, uint32_t components, struct cv_judgement *judgement)
{
    const bool all_must_know = tally->claims & CV_EVERYONE_LEARNS;
    bool one = (tally->ignorant == CV_NOBODY || !all_must_know) && tally->disagrees == CV_NOBODY;
    for (uint32_t i = 0; i < components; i++) {
        const struct component *component = &tally->components[i];
        if (component->follower == CV_NOBODY)
            continue;
        one &= !judgement->has_leader || judgement->leader == component->leader;
        judgement->has_leader = true;
        judgement->leader = component->leader;
    }
    judgement->has_leader &= one;
}

int cv_judge_election(const struct cv_run *run, struct cv_judgement *judgement)
{
    const uint32_t claims = cv_scenario_claims(run->scenario);
    struct cv_run whole = *run;
    if (!(claims & CV_PER_COMPONENT))
        whole.component = NULL;
    const uint32_t components = whole.component ? run->scenario->group.nodes : 1;
    struct tally tally = {.run = &whole,
                          .claims = claims,
                          .components = calloc(components, sizeof *tally.components),
                          .disagrees = CV_NOBODY,
                          .misled = CV_NOBODY,
                          .ignorant = CV_NOBODY,
                          .recalled = CV_NOBODY};
    if (!tally.components)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < components; i++)
        tally.components[i].follower = CV_NOBODY;
    survey(&tally);
    find_deviations(&tally);
    judge_agreement(&tally, judgement);
    judge_best(&tally, judgement);
    judge_everyone(&tally, judgement);
    judge_rest(&tally, judgement);
    judge_any_caller(&tally, judgement);
    judge_calls(&tally, judgement);
    name_leader(&tally, components, judgement);
    free(tally.components);
    return 0;
}
