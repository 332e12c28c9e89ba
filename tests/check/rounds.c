// SPDX-License-Identifier: MIT
#include "check/rounds.h"

#include <stdlib.h>
#include <string.h>

bool are_paths(const struct cv_scenario *scenario)
{
    return cv_scenario_claims(scenario) & (CV_SHORTEST_PATHS | CV_FEWEST_HOPS);
}

/* ---- rounds ---- */

static uint64_t round_of(const struct cv_scenario *scenario, const struct full *full, cv_node i)
{
    return full->node[i].state[scenario->group.hosted_at / 8];
}

static bool are_neighbours(const struct cv_group *group, cv_node i, cv_node j)
{
    for (uint64_t e = group->edges[i]; e < group->edges[i + 1]; e++)
        if (group->neighbours[e] == j)
            return true;
    return false;
}

bool are_apart(const struct cv_scenario *scenario, const struct full *full)
{
    for (cv_node i = 0; i < scenario->group.nodes; i++)
        for (cv_node j = 0; j < scenario->group.nodes; j++)
            if (are_neighbours(&scenario->group, i, j) && round_of(scenario, full, i) > round_of(scenario, full, j) + 1)
                return true;
    return false;
}

/* The first word of a message of the app is its round. */
bool is_late(const struct cv_scenario *scenario, const struct full *full)
{
    for (cv_node i = 0; i < scenario->group.nodes; i++)
        for (cv_node j = 0; j < scenario->group.nodes; j++)
            for (uint32_t k = 0; k < full->count[i][j]; k++)
                if (full->letter[i][j][k].kind == 0 &&
                    (uint32_t)full->letter[i][j][k].body[0] < round_of(scenario, full, j))
                    return true;
    return false;
}

/* ---- the synchronous run ---- */

static uint32_t choose(struct cv_self *me, uint32_t ways)
{
    (void)me;
    (void)ways;
    abort(); /* there is no one result */
}

static bool present(const struct cv_self *me, cv_node node)
{
    (void)me;
    (void)node;
    return true;
}

static bool suspected(const struct cv_self *me, cv_id id)
{
    (void)me;
    (void)id;
    return false;
}

static void grow(struct cv_self *me, size_t bytes)
{
    (void)me;
    (void)bytes;
    abort();
}

static bool is_like_synchronous(const struct cv_scenario *scenario, const struct full *full)
{
    static const struct cv_runtime runtime = {choose, present, suspected, grow};
    static uint64_t states[N][STATE / 8], outbox[4096];
    const struct cv_algorithm *app = scenario->app;
    const struct cv_group *group = &scenario->app_group;
    struct cv_self me = {.group = group, .runtime = &runtime, .outbox = (unsigned char *)outbox, .room = sizeof outbox};
    memset(states, 0, sizeof states);
    for (uint64_t round = 0; round <= group->rounds + 1; round++) {
        me.used = 0;
        for (me.node = 0; me.node < group->nodes; me.node++) {
            me.state = states[me.node];
            if (round == 0 && app->init)
                app->init(&me);
            else if (round && round <= group->rounds)
                app->pulse(&me, round);
            else if (round && app->finish)
                app->finish(&me);
        }
        for (size_t at = 0; at < me.used;) {
            const struct cv_message *message = (const void *)(me.outbox + at);
            at += cv_message_bytes(message);
            me.node = message->to;
            me.state = states[me.node];
            app->kinds[message->kind].receive(&me, message);
        }
    }
    for (cv_node i = 0; i < group->nodes; i++) {
        const size_t bytes = app->state_size ? app->state_size(group, i) : app->state_bytes;
        if (round_of(scenario, full, i) != group->rounds + 1 ||
            memcmp(full->node[i].state + scenario->group.hosted_at / 8 + 1, states[i], bytes) != 0)
            return false;
    }
    return true;
}

/* ---- Floyd ---- */

#define FAR (UINT64_MAX / 4)

static bool are_distances(const struct cv_scenario *scenario, const struct full *full)
{
    const struct cv_group *group = &scenario->group;
    const bool hops = !(cv_scenario_claims(scenario) & CV_SHORTEST_PATHS);
    const cv_node source = cv_scenario_source(scenario);
    uint64_t edge[N][N], far[N][N];
    for (cv_node i = 0; i < N; i++)
        for (cv_node j = 0; j < N; j++)
            far[i][j] = edge[i][j] = i == j ? 0 : FAR;
    for (cv_node i = 0; i < group->nodes; i++)
        for (uint64_t e = group->edges[i]; e < group->edges[i + 1]; e++)
            if (!group->weights || group->weights[e] != CV_NO_WAY)
                far[i][group->neighbours[e]] = edge[i][group->neighbours[e]] =
                    hops || !group->weights ? 1 : group->weights[e];
    for (cv_node k = 0; k < group->nodes; k++)
        for (cv_node i = 0; i < group->nodes; i++)
            for (cv_node j = 0; j < group->nodes; j++)
                if (far[i][k] + far[k][j] < far[i][j])
                    far[i][j] = far[i][k] + far[k][j];
    for (cv_node i = 0; i < group->nodes; i++) {
        const struct node *it = &full->node[i];
        if (it->result != (far[source][i] < FAR ? far[source][i] + 1 : 0))
            return false;
        if (it->result && i != source && far[source][it->via] + edge[it->via][i] != far[source][i])
            return false;
    }
    return true;
}

bool is_right(const struct cv_scenario *scenario, const struct full *full)
{
    return (!scenario->app || is_like_synchronous(scenario, full)) &&
           (!are_paths(scenario) || are_distances(scenario, full));
}
