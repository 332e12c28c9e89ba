// SPDX-License-Identifier: MIT
#include "model.h"

#include <inttypes.h>
#include <string.h>

enum app model_find_app(const char *name)
{
    static const char *const names[] = {"bellman-ford", "flood-max", "bfs-tree"};
    for (uint32_t i = 0; i < NO_APP; i++)
        if (strcmp(names[i], name) == 0)
            return (enum app)i;
    return NO_APP;
}

enum synchronizer model_find(const char *name)
{
    static const char *const names[] = {"lockstep", "abd", "alpha", "beta", "gamma"};
    for (uint32_t i = 0; i < NO_SYNCHRONIZER; i++)
        if (strcmp(names[i], name) == 0)
            return (enum synchronizer)i;
    return NO_SYNCHRONIZER;
}

/* ---- apps ---- */

/* The result of a node after round r, from the results of all nodes one round before: the best of all offers. */
static uint64_t best_offer(enum app app, const struct story *story, const uint64_t *before, uint32_t node)
{
    uint64_t best = before[node];
    for (uint32_t i = 0; i < story->nodes; i++) {
        const uint64_t weight = story->weight[i][node];
        if (app == FLOOD_MAX && story_joined(story, i, node) &&
            story_better(story, (uint32_t)before[i], (uint32_t)best))
            best = before[i];
        if (app != FLOOD_MAX && weight != NO_ARC && before[i] != UNKNOWN) {
            const uint64_t offer = before[i] + (app == BFS_TREE ? 1 : weight);
            best = offer < best ? offer : best;
        }
    }
    return best;
}

static uint32_t ways_out(enum app app, const struct story *story, uint32_t node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        count += app == FLOOD_MAX ? story_joined(story, node, i) : story->weight[node][i] != NO_ARC;
    return count;
}

void model_distances(const struct story *story, bool hops, uint64_t distance[MOST_NODES])
{
    static uint64_t between[MOST_NODES][MOST_NODES];
    const uint32_t nodes = story->nodes;
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t j = 0; j < nodes; j++)
            between[i][j] = i == j ? 0 : story->weight[i][j] == NO_ARC ? UNKNOWN : hops ? 1 : story->weight[i][j];
    for (uint32_t k = 0; k < nodes; k++)
        for (uint32_t i = 0; i < nodes; i++)
            for (uint32_t j = 0; j < nodes; j++)
                if (between[i][k] != UNKNOWN && between[k][j] != UNKNOWN &&
                    between[i][k] + between[k][j] < between[i][j])
                    between[i][j] = between[i][k] + between[k][j];
    memcpy(distance, between[story->source], nodes * sizeof *distance);
}

static bool is_right(enum app app, const struct story *story, const uint64_t *result)
{
    uint64_t expected[MOST_NODES];
    if (app != FLOOD_MAX)
        model_distances(story, app == BFS_TREE, expected);
    for (uint32_t i = 0; i < story->nodes; i++) {
        for (uint32_t j = 0; app == FLOOD_MAX && j < story->nodes; j++)
            if (story_better(story, j, (uint32_t)result[i]))
                return false;
        if (app != FLOOD_MAX && result[i] != expected[i])
            return false;
    }
    return true;
}

void model_course(enum app app, const struct story *story, struct course *course)
{
    uint64_t before[MOST_NODES];
    bool news[MOST_NODES];
    memset(course, 0, sizeof *course);
    for (uint32_t i = 0; i < story->nodes; i++) {
        course->result[i] = app == FLOOD_MAX ? i : i == story->source ? 0 : UNKNOWN;
        news[i] = course->result[i] != UNKNOWN;
    }
    for (uint64_t round = 1; round <= story->rounds; round++) {
        memcpy(before, course->result, sizeof before);
        for (uint32_t i = 0; i < story->nodes; i++) {
            const bool quiet = (app == BFS_TREE || story->changed) && !news[i];
            course->sends[round][i] = quiet ? 0 : ways_out(app, story, i);
            course->messages += course->sends[round][i];
        }
        for (uint32_t i = 0; i < story->nodes; i++) {
            course->result[i] = best_offer(app, story, before, i);
            news[i] = course->result[i] != before[i];
        }
    }
    course->right = is_right(app, story, course->result);
}

/* ---- messages ---- */

struct count {
    const char *kind;
    uint64_t expected;
    bool apart; /* it prepares the run, and is not part of the total */
};

static const char *check_counts(const struct cv_run *run, const struct count *counts)
{
    static char wrong[160];
    const struct cv_kind *kinds = run->scenario->algorithm->kinds;
    for (uint32_t kind = 0; kinds[kind].name; kind++) {
        const struct count *it = counts;
        while (it->kind && strcmp(it->kind, kinds[kind].name) != 0)
            it++;
        if (!it->kind || run->count[kind] == it->expected)
            continue;
        snprintf(wrong, sizeof wrong, "%" PRIu64 " messages of kind %s; expected %" PRIu64, run->count[kind], it->kind,
                 it->expected);
        return wrong;
    }
    uint64_t total[2] = {0, false};
    for (; counts->kind; counts++)
        total[counts->apart] += counts->expected;
    if (run->total == total[0] && run->preparing == total[1])
        return NULL;
    snprintf(wrong, sizeof wrong, "%" PRIu64 " messages, %" PRIu64 " before; expected %" PRIu64 ", %" PRIu64,
             run->total, run->preparing, total[0], total[1]);
    return wrong;
}

/* Neighbouring clusters: two of them talk over one edge. */
static uint32_t neighbouring_clusters(const struct story *story)
{
    bool neighbours[MOST_NODES][MOST_NODES] = {{false}};
    uint32_t pairs = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        for (uint32_t j = 0; j < story->nodes; j++)
            if (story_joined(story, i, j))
                neighbours[story->cluster[i]][story->cluster[j]] = true;
    for (uint32_t i = 0; i < story->nodes; i++)
        for (uint32_t j = 0; j < i; j++)
            pairs += neighbours[i][j];
    return pairs;
}

static uint32_t count_clusters(const struct story *story)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        count += story->cluster[i] == i;
    return count;
}

const char *model_messages(enum synchronizer which, const struct story *story, const struct course *course,
                           const struct cv_run *run)
{
    const uint64_t sent = course->messages, edges = story->edges, rounds = story->rounds, others = story->nodes - 1;
    const uint64_t inner = which == GAMMA ? story->nodes - count_clusters(story) : 0;
    const uint64_t between = which == GAMMA ? neighbouring_clusters(story) : 0;
    switch (which) {
    case ALPHA:
        return check_counts(
            run, (const struct count[]){
                     {"message", sent, false}, {"ack", sent, false}, {"safe", 2 * edges * rounds, false}, {0}});
    case BETA:
        return check_counts(run, (const struct count[]){{"message", sent, false},
                                                        {"ack", sent, false},
                                                        {"safe", others * rounds, false},
                                                        {"next", others * rounds, false},
                                                        {"tree", 2 * edges - others, true},
                                                        {"child", others, true},
                                                        {"taken", 2 * (edges - others), true},
                                                        {0}});
    case GAMMA:
        return check_counts(run, (const struct count[]){{"message", sent, false},
                                                        {"ack", sent, false},
                                                        {"safe", inner * rounds, false},
                                                        {"cluster-safe", (inner + 2 * between) * rounds, false},
                                                        {"ready", inner * rounds, false},
                                                        {"pulse", inner * rounds, false},
                                                        {0}});
    default:
        return check_counts(run, (const struct count[]){{"message", sent, false}, {0}});
    }
}

/* ---- time ---- */

static uint64_t later(uint64_t one, uint64_t other)
{
    return one > other ? one : other;
}

/*
 * A node that sends in a round hears of the last acknowledgement two ticks later and is safe; one that has nothing to
 * send is safe at once. Its neighbours know one tick later; the next round begins when it is safe and they all are.
 */
static void alpha_round(const struct story *story, const uint32_t *sends, uint64_t *begun)
{
    uint64_t safe[MOST_NODES];
    for (uint32_t i = 0; i < story->nodes; i++)
        safe[i] = begun[i] + (sends[i] ? 2 : 0);
    for (uint32_t i = 0; i < story->nodes; i++) {
        begun[i] = safe[i];
        for (uint32_t j = 0; j < story->nodes; j++)
            if (story_joined(story, i, j))
                begun[i] = later(begun[i], safe[j] + 1);
    }
}

/*
 * Hops from a node, over nodes of the same group; UINT32_MAX if there is no path. By relaxation until nothing changes.
 */
static void depths(const struct story *story, uint32_t from, const uint32_t *group, uint32_t depth[MOST_NODES])
{
    for (uint32_t i = 0; i < story->nodes; i++)
        depth[i] = i == from ? 0 : UINT32_MAX;
    for (uint32_t round = 0; round < story->nodes; round++)
        for (uint32_t i = 0; i < story->nodes; i++)
            for (uint32_t j = 0; j < story->nodes; j++)
                if (story_joined(story, i, j) && group[i] == group[j] && depth[i] != UINT32_MAX &&
                    depth[i] + 1 < depth[j])
                    depth[j] = depth[i] + 1;
}

/*
 * If all delays are equal, the tree is one of shortest paths. A message of a node reaches the root after as many ticks
 * as the node is deep, and a message of the root takes as long. The nodes in between do not matter.
 */
static void beta_round(const struct story *story, const uint32_t *sends, const uint32_t *depth, bool first,
                       uint64_t *begun)
{
    uint64_t safe = 0;
    for (uint32_t i = 0; i < story->nodes; i++) {
        const bool invites = first && story_degree(story, i) > (i != story->root); /* TREEs take two ticks, too */
        safe = later(safe, begun[i] + (sends[i] || invites ? 2 : 0) + depth[i]);
    }
    for (uint32_t i = 0; i < story->nodes; i++)
        begun[i] = safe + depth[i];
}

/* Is this the edge of the smallest ids between the clusters of its ends? */
static bool is_preferred(const struct story *story, uint32_t one, uint32_t other)
{
    const uint32_t *cluster = story->cluster, *id = story->id;
    if (cluster[one] == cluster[other] || !story_joined(story, one, other))
        return false;
    const uint32_t low = id[one] < id[other] ? id[one] : id[other], high = id[one] ^ id[other] ^ low;
    for (uint32_t i = 0; i < story->nodes; i++)
        for (uint32_t j = 0; j < story->nodes; j++)
            if (cluster[i] == cluster[one] && cluster[j] == cluster[other] && story_joined(story, i, j)) {
                const uint32_t least = id[i] < id[j] ? id[i] : id[j], most = id[i] ^ id[j] ^ least;
                if (least < low || (least == low && most < high))
                    return false;
            }
    return true;
}

/* As beta in each cluster twice; in between, what a node hears over preferred edges. */
static void gamma_round(const struct story *story, const uint32_t *sends, const uint32_t *depth, uint64_t *begun)
{
    uint64_t safe[MOST_NODES] = {0}, ready[MOST_NODES] = {0};
    for (uint32_t i = 0; i < story->nodes; i++) {
        const uint32_t head = story->cluster[i];
        safe[head] = later(safe[head], begun[i] + (sends[i] ? 2 : 0) + depth[i]);
    }
    for (uint32_t i = 0; i < story->nodes; i++) {
        const uint32_t head = story->cluster[i];
        uint64_t heard = safe[head] + depth[i];
        for (uint32_t j = 0; j < story->nodes; j++)
            if (is_preferred(story, i, j))
                heard = later(heard, safe[story->cluster[j]] + depth[j] + 1);
        ready[head] = later(ready[head], heard + depth[i]);
    }
    for (uint32_t i = 0; i < story->nodes; i++)
        begun[i] = ready[story->cluster[i]] + depth[i];
}

/* Rounds begin every `length` ticks, and messages arrive one later. */
static uint64_t clocked_time(const struct story *story, const struct course *course, uint64_t length)
{
    uint64_t last = 0;
    for (uint64_t round = 1; round <= story->rounds; round++)
        for (uint32_t i = 0; i < story->nodes; i++)
            if (course->sends[round][i])
                last = (round - 1) * length + 1;
    return last;
}

/* The tree of beta is built even if no round follows: its last answer arrives. */
static uint64_t tree_time(const struct story *story, const uint32_t *depth)
{
    uint64_t last = 0;
    for (uint32_t i = 0; i < story->nodes; i++) {
        const bool invites = story_degree(story, i) > (i != story->root);
        last = later(last, depth[i] + (invites ? 2 : depth[i] > 0));
    }
    return last;
}

uint64_t model_time(enum synchronizer which, const struct story *story, const struct course *course)
{
    static const uint32_t together[MOST_NODES];
    uint64_t begun[MOST_NODES] = {0}, last = 0;
    uint32_t depth[MOST_NODES] = {0}, inside[MOST_NODES];
    if (which == LOCKSTEP || which == ABD)
        return clocked_time(story, course, which == ABD ? 2 : 1);
    if (which == BETA)
        depths(story, story->root, together, depth);
    for (uint32_t i = 0; i < story->nodes && which == GAMMA; i++) {
        depths(story, story->cluster[i], story->cluster, inside);
        depth[i] = inside[i];
    }
    for (uint32_t i = 0; i < story->nodes && which == BETA; i++)
        begun[i] = depth[i];
    for (uint64_t round = 1; round <= story->rounds; round++) {
        if (which == ALPHA)
            alpha_round(story, course->sends[round], begun);
        else if (which == BETA)
            beta_round(story, course->sends[round], depth, round == 1, begun);
        else
            gamma_round(story, course->sends[round], depth, begun);
    }
    for (uint32_t i = 0; i < story->nodes; i++)
        last = later(last, begun[i]);
    return which == BETA && !story->rounds ? tree_time(story, depth) : last;
}
