// SPDX-License-Identifier: MIT
#include "model.h"

#include <string.h>

bool model_better(const struct story *story, uint32_t one, uint32_t other)
{
    if (story->attribute[one] != story->attribute[other])
        return story->attribute[one] > story->attribute[other];
    return story->id[one] > story->id[other];
}

/* ---- facts about a group ---- */

static uint32_t alive(const struct story *story)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        count += !story->dead[i];
    return count;
}

static uint32_t callers(const struct story *story)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        count += story->calls[i];
    return count;
}

/* The best of the nodes in `who`. */
static uint32_t best_of(const struct story *story, const bool *who)
{
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < story->nodes; i++)
        if (who[i] && (best == UINT32_MAX || model_better(story, i, best)))
            best = i;
    return best;
}

static uint32_t best_live(const struct story *story)
{
    bool live[MOST_NODES];
    for (uint32_t i = 0; i < story->nodes; i++)
        live[i] = !story->dead[i];
    return best_of(story, live);
}

static uint32_t worst_live(const struct story *story)
{
    uint32_t worst = UINT32_MAX;
    for (uint32_t i = 0; i < story->nodes; i++)
        if (!story->dead[i] && (worst == UINT32_MAX || model_better(story, worst, i)))
            worst = i;
    return worst;
}

/* The nodes that will hold an election if every node wakes all better ones: the live nodes not below a caller. */
static uint32_t participants(const struct story *story, bool *who)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++) {
        who[i] = false;
        for (uint32_t j = 0; j < story->nodes; j++)
            who[i] |= !story->dead[i] && story->calls[j] && !model_better(story, j, i);
        count += who[i];
    }
    return count;
}

static uint64_t nodes_better(const struct story *story, uint32_t node)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        count += model_better(story, i, node);
    return count;
}

static uint64_t live_worse(const struct story *story, uint32_t node)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        count += !story->dead[i] && model_better(story, node, i);
    return count;
}

/* The live nodes in sending order. */
static uint32_t ring_of(const struct story *story, uint32_t *ring)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        if (!story->dead[i])
            ring[count++] = i;
    return count;
}

/* Messages round a ring of one go to oneself and do not count. */
static uint64_t unless_alone(const struct story *story, uint64_t count)
{
    return alive(story) > 1 ? count : 0;
}

/* ---- A1: bully ---- */

/*
 * If the best of all is dead, every node not below a caller asks all better nodes, once, and answers the worse ones;
 * the best live node hears nothing for 2 ticks. If it is alive, it knows that it is the highest and announces at once;
 * it repeats this to nodes that ask later.
 */
static void predict_bully(const struct story *story, bool unit, struct prediction *prediction)
{
    const uint32_t winner = best_live(story), live = alive(story);
    const uint64_t above = nodes_better(story, winner);
    bool who[MOST_NODES];
    const uint64_t q = participants(story, who);
    prediction->counted = unit && (above || q == 1 || (callers(story) == 1 && live == story->nodes));
    prediction->timed = unit && (above || q == 1);
    for (uint32_t i = 0; i < story->nodes; i++)
        prediction->count[0] += who[i] ? nodes_better(story, i) : 0;
    if (story_has(story, "election=all")) /* but the best of all wins at once, without an election */
        for (uint32_t i = 0; i < story->nodes; i++)
            prediction->count[0] += who[i] && nodes_better(story, i) ? story->nodes - 1 - nodes_better(story, i) : 0;
    prediction->count[1] = q * (q - 1) / 2;
    prediction->count[2] = story->nodes - 1 - (story_has(story, "announce=all") ? 0 : above);
    if (!above && q > 2)
        prediction->count[2] += q - 2;
    if (live > 1)
        prediction->time = !above ? 1 : story->calls[winner] ? 3 : 4;
}

/* ---- A2: multicast ---- */

/*
 * If the best node and some others call, the last agreement can reach it in the same tick as the question of a node
 * that the others have woken. The text does not say what an elected node then answers.
 */
static void predict_multicast(const struct story *story, bool unit, struct prediction *prediction)
{
    const bool lean = strcmp(story->algorithm->name, "multicast-lean") == 0;
    const uint64_t others = story->nodes - 1;
    bool who[MOST_NODES];
    const uint64_t q = participants(story, who);
    if (story_has(story, "timeout=no") && alive(story) < story->nodes) { /* the first version waits for ever */
        prediction->everyone_knows = false;
        prediction->hangs = true;
        return;
    }
    const bool everybody = callers(story) == alive(story), best_calls = story->calls[best_live(story)];
    prediction->timed = unit;
    prediction->counted =
        unit && (lean || !best_calls || everybody || callers(story) == 1 || alive(story) < story->nodes);
    prediction->count[0] = q * others;
    for (uint32_t i = 0; i < story->nodes && !lean; i++)
        prediction->count[1] += who[i] ? live_worse(story, i) : 0;
    prediction->count[lean ? 1 : 2] = q * (q - 1) / 2;
    prediction->count[lean ? 2 : 3] = others;
    if (alive(story) > 1)
        prediction->time = best_calls ? 3 : 4;
}

/* ---- A3: ring with a list ---- */

/* "Forwards the message (unless he is the leader)": from each caller to the leader, or all the way round from it. */
static void end_at_leader(const struct story *story, struct prediction *prediction)
{
    uint32_t ring[MOST_NODES];
    const uint32_t a = ring_of(story, ring), best = best_live(story);
    uint64_t longest = 0;
    for (uint32_t i = 0; i < a; i++) {
        uint64_t distance = 0;
        while (story->calls[ring[i]] && ring[(i + distance) % a] != best)
            distance++;
        if (!story->calls[ring[i]])
            continue;
        distance = distance ? distance : a;
        prediction->count[1] += unless_alone(story, distance);
        longest = distance > longest ? distance : longest;
    }
    prediction->everyone_knows = longest >= a - 1;
    prediction->knowing = (uint32_t)longest + 1;
    prediction->time = a + longest;
}

static void predict_ring_list(const struct story *story, bool unit, struct prediction *prediction)
{
    const uint64_t a = alive(story), k = callers(story);
    const bool multicast = story_has(story, "announce=multicast");
    if (story_has(story, "policy=min"))
        prediction->leader = story->id[worst_live(story)];
    prediction->counted = true;
    prediction->timed = unit && a > 1;
    prediction->count[0] = unless_alone(story, k * a);
    if (story_has(story, "poll=yes")) /* every list tries every dead node once, on its way round */
        prediction->count[2] = 2 * k * (story->nodes - a);
    if (story_has(story, "stop=leader")) {
        end_at_leader(story, prediction);
        return;
    }
    prediction->count[1] = multicast ? k * (story->nodes - 1) : unless_alone(story, k * a);
    prediction->time = multicast ? a + 1 : 2 * a;
}

/* ---- A4: ring, basic version ---- */

static void predict_ring_basic(const struct story *story, bool unit, struct prediction *prediction)
{
    uint32_t ring[MOST_NODES];
    const uint32_t a = ring_of(story, ring), best = best_live(story);
    uint64_t k = 0, steps = 0, longest = 0;
    for (uint32_t i = 0; i < a; i++) {
        if (!story->calls[ring[i]])
            continue;
        uint64_t distance = 0;
        while (ring[(i + distance) % a] != best)
            distance++;
        k++;
        steps += distance;
        longest = distance > longest ? distance : longest;
    }
    prediction->counted = true;
    prediction->timed = unit;
    prediction->count[0] = unless_alone(story, k * a + steps);
    prediction->count[1] = unless_alone(story, k * a);
    prediction->time = 2ull * a + longest;
}

/* ---- A5: Chang and Roberts, tokens ---- */

static void predict_tokens(const struct story *story, bool unit, struct prediction *prediction)
{
    uint32_t ring[MOST_NODES];
    const uint32_t a = ring_of(story, ring);
    const bool announce = !story_has(story, "announce=no");
    uint64_t steps = 0;
    for (uint32_t i = 0; i < a; i++) {
        if (!story->calls[ring[i]])
            continue;
        uint32_t distance = 1;
        for (; distance < a; distance++) {
            const uint32_t there = ring[(i + distance) % a];
            if (story->calls[there] && model_better(story, there, ring[i]))
                break;
        }
        steps += distance;
    }
    prediction->leader = story->id[best_of(story, story->calls)];
    prediction->everyone_knows = announce || a == 1;
    prediction->counted = true;
    prediction->timed = unit;
    prediction->count[0] = unless_alone(story, steps);
    prediction->count[1] = announce ? unless_alone(story, a) : 0;
    prediction->time = announce ? 2ull * a : a;
}

/* ---- A6: Chang and Roberts, participants ---- */

struct ballot {
    uint32_t at;   /* the place it is about to reach */
    uint32_t rank; /* the node it speaks for */
    bool elected;
};

/* Every message of the ring, tick by tick, in the order it was sent. */
static void predict_chang_roberts(const struct story *story, bool unit, struct prediction *prediction)
{
    uint32_t ring[MOST_NODES];
    struct ballot now[MOST_NODES * 2], next[MOST_NODES * 2];
    bool participating[MOST_NODES] = {false};
    const uint32_t a = ring_of(story, ring);
    const bool one = callers(story) == 1, all = callers(story) == a;
    uint32_t under_way = 0;
    for (uint32_t i = 0; i < a; i++)
        if (story->calls[ring[i]]) {
            participating[i] = true;
            next[under_way++] = (struct ballot){(i + 1) % a, ring[i], false};
            prediction->count[0]++;
        }
    while (under_way) {
        const uint32_t due = under_way;
        memcpy(now, next, sizeof now);
        under_way = 0;
        prediction->time++;
        for (uint32_t i = 0; i < due; i++) {
            const uint32_t at = now[i].at, me = ring[at], rank = now[i].rank;
            struct ballot reply = {(at + 1) % a, rank, now[i].elected};
            if (now[i].elected) {
                participating[at] = false;
                if (rank == me)
                    continue;
            } else if (rank == me) {
                reply.elected = true;
            } else if (model_better(story, me, rank)) {
                if (participating[at])
                    continue;
                reply.rank = me;
                participating[at] = true;
            } else {
                participating[at] = true;
            }
            next[under_way++] = reply;
            prediction->count[reply.elected]++;
        }
    }
    for (uint32_t kind = 0; kind < 2; kind++)
        prediction->count[kind] = unless_alone(story, prediction->count[kind]);
    prediction->counted =
        unit || one || all; /* with several callers the delays decide which messages overtake others */
    prediction->timed = unit;
    prediction->most_messages = (uint64_t)a * (a + 1) / 2 + a;
    prediction->most_time = unit ? 3ull * a - 1 : 0;
}

/* ---- A7, A8: Franklin and Peterson ---- */

/* Keeps of `count` contenders in a circle those better than both neighbours. */
static uint32_t local_maxima(const struct story *story, uint32_t *contender, uint32_t count)
{
    uint32_t before[MOST_NODES], kept = 0;
    memcpy(before, contender, count * sizeof *before);
    for (uint32_t i = 0; i < count; i++)
        if (model_better(story, before[i], before[(i + count - 1) % count]) &&
            model_better(story, before[i], before[(i + 1) % count]))
            contender[kept++] = before[i];
    return kept;
}

static void predict_franklin(const struct story *story, bool unit, struct prediction *prediction)
{
    uint32_t contender[MOST_NODES];
    const uint32_t a = ring_of(story, contender);
    const bool announce = !story_has(story, "announce=no");
    uint64_t rounds = 1;
    (void)unit;
    for (uint32_t count = a; count > 1; rounds++)
        count = local_maxima(story, contender, count);
    prediction->everyone_knows = announce || a == 1;
    prediction->counted = true;
    prediction->count[0] = unless_alone(story, 2 * a * rounds);
    prediction->count[1] = announce ? unless_alone(story, a) : 0;
}

/* Aliases in sending order: each red process looks at the one before it and the one before that. */
static void predict_peterson(const struct story *story, bool unit, struct prediction *prediction)
{
    uint32_t alias[MOST_NODES], before[MOST_NODES];
    const uint32_t a = ring_of(story, alias);
    const bool announce = !story_has(story, "announce=no");
    uint64_t phases = 0;
    (void)unit;
    for (uint32_t count = a; count > 1; phases++) {
        uint32_t red = 0;
        memcpy(before, alias, count * sizeof *before);
        for (uint32_t i = 0; i < count; i++) {
            const uint32_t nearer = before[(i + count - 1) % count], beyond = before[(i + 2 * count - 2) % count];
            if (model_better(story, nearer, before[i]) && (beyond == nearer || model_better(story, nearer, beyond)))
                alias[red++] = nearer;
        }
        count = red;
    }
    prediction->everyone_knows = announce || a == 1;
    prediction->counted = true;
    prediction->count[0] = unless_alone(story, 2 * a * phases + a);
    prediction->count[1] = announce ? unless_alone(story, a) : 0;
}

/* ---- A9: wireless ---- */

static void predict_wireless(const struct story *story, bool unit, struct prediction *prediction)
{
    uint32_t distance[MOST_NODES], farthest = 0, degree[MOST_NODES] = {0};
    uint64_t edges = 0, waits = 0;
    if (callers(story) != 1 || alive(story) < story->nodes)
        return;
    for (uint32_t i = 0; i < story->nodes; i++) {
        distance[i] = story->calls[i] ? 0 : UINT32_MAX;
        for (uint32_t j = 0; j < story->nodes; j++)
            degree[i] += story->edge[i][j];
        edges += degree[i];
    }
    edges /= 2;
    for (uint32_t round = 0; round < story->nodes; round++)
        for (uint32_t i = 0; i < story->nodes; i++)
            for (uint32_t j = 0; j < story->nodes; j++)
                if (story->edge[i][j] && distance[i] == round && distance[j] > round + 1)
                    distance[j] = farthest = round + 1;
    for (uint32_t i = 0; i < story->nodes; i++)
        waits |= distance[i] == farthest && degree[i] > 1;
    prediction->counted = true;
    prediction->timed = unit;
    prediction->count[0] = prediction->count[1] = 2 * edges - (story->nodes - 1);
    prediction->count[2] = story->nodes - 1;
    prediction->time = 3ull * farthest + (farthest && waits ? 2 : 0);
}

static const struct model models[] = {
    {"bully",
     {"election", "ok", "coordinator"},
     {"announce=all", "election=all"},
     {"election=all"},
     true,
     predict_bully},
    {"ring-list",
     {"election", "coordinator", "poll"},
     {"announce=multicast", "policy=min", "list=living", "stop=leader", "poll=yes"},
     {"list=living", "poll=yes"},
     true,
     predict_ring_list},
    {"ring-basic", {"election", "elected"}, {NULL}, {NULL}, true, predict_ring_basic},
    {"chang-roberts", {"election", "elected"}, {NULL}, {NULL}, true, predict_chang_roberts},
    {"chang-roberts-token", {"token", "leader"}, {"announce=no"}, {NULL}, false, predict_tokens},
    {"franklin", {"probe", "leader"}, {"announce=no"}, {NULL}, false, predict_franklin},
    {"peterson", {"alias", "leader"}, {"announce=no"}, {NULL}, false, predict_peterson},
    {"multicast", {"election", "agree", "disagree", "coordinator"}, {"timeout=no"}, {NULL}, true, predict_multicast},
    {"multicast-lean", {"election", "disagree", "coordinator"}, {NULL}, {NULL}, true, predict_multicast},
    {"wireless", {"election", "ack", "leader"}, {NULL}, {NULL}, true, predict_wireless},
};

const struct model *model_find(const char *algorithm)
{
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        if (strcmp(models[i].algorithm, algorithm) == 0)
            return &models[i];
    return NULL;
}

void model_predict(const struct model *model, const struct story *story, bool unit, struct prediction *prediction)
{
    *prediction = (struct prediction){.leader = story->id[best_live(story)], .everyone_knows = true};
    model->predict(story, unit, prediction);
}
