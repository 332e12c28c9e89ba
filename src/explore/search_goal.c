// SPDX-License-Identifier: MIT
#include "explore/search_goal.h"

#include <string.h>

#define MOST_STATES 1000000u
#define MOST_BUDGET 255u /* as the checker's */

int search_goal_read(struct search_goal *goal, const struct json_value *from, struct cv_complaint *complaint)
{
    const char *kind = json_text(from, "kind"), *name = json_text(from, "name");
    *goal = (struct search_goal){.leaders = json_number(from, "leaders", 0),
                                 .different = json_number(from, "different", 0),
                                 .inside = json_number(from, "inside", 0),
                                 .waiting = json_number(from, "waiting", 0),
                                 .know = json_number(from, "know", 0),
                                 .leader = json_number(from, "leader", UINT64_MAX),
                                 .leader_of = json_number(from, "of", UINT64_MAX)};
    if (!kind || strcmp(kind, "violation") == 0) {
        goal->properties = UINT32_MAX;
        return 0;
    }
    goal->state = strcmp(kind, "state") == 0;
    for (uint32_t i = 0; strcmp(kind, "property") == 0 && name && i < CV_PROPERTY_COUNT; i++)
        if (strcmp(cv_property((enum cv_property_number)i)->name, name) == 0)
            goal->properties = 1u << i;
    if (goal->state || goal->properties)
        return 0;
    return cv_complain(complaint, "goal: expected kind violation, state, or property with the name of one");
}

static uint64_t budget(const struct json_value *from, const char *name)
{
    const uint64_t given = json_number(from, name, 0);
    return given < MOST_BUDGET ? given : MOST_BUDGET;
}

void search_limits_read(struct search_limits *limits, const struct json_value *from)
{
    const char *timeouts = json_text(from, "timeouts");
    *limits = (struct search_limits){
        .crashes = budget(from, "crashes"),
        .misses = budget(from, "missed"),
        .suspicions = budget(from, "suspicions"),
        .cuts = budget(from, "cuts"),
        .recoveries = budget(from, "recoveries"),
        .drops = budget(from, "drops"),
        .duplicates = budget(from, "duplicates"),
        .states = json_number(from, "states", 200000),
        .depth = json_number(from, "depth", UINT32_MAX),
        .any_time = timeouts && strcmp(timeouts, "any") == 0,
        .full = json_number(from, "full", 0) != 0,
    };
    if (limits->states > MOST_STATES)
        limits->states = MOST_STATES;
}

/* Does no live node before this one follow the same leader? */
static bool is_first_follower(const struct goal_node *nodes, cv_node node)
{
    for (cv_node other = 0; other < node; other++)
        if (nodes[other].flags & EXPLORED_ALIVE && nodes[other].flags & EXPLORED_KNOWS &&
            nodes[other].leader == nodes[node].leader)
            return false;
    return true;
}

bool search_goal_is_met(const struct search_goal *goal, const struct cv_group *group, const struct goal_node *nodes)
{
    uint64_t leaders = 0, different = 0, inside = 0, waiting = 0, know = 0;
    for (cv_node node = 0; node < group->nodes; node++) {
        const struct goal_node *it = &nodes[node];
        if (!(it->flags & EXPLORED_ALIVE))
            continue;
        const bool knows = it->flags & EXPLORED_KNOWS;
        leaders += knows && it->leader == group->ids[node];
        know += knows;
        different += knows && goal->different && is_first_follower(nodes, node);
        inside += (it->flags & EXPLORED_INSIDE) != 0;
        waiting += (it->flags & EXPLORED_WAITING) != 0;
    }
    const bool follows = goal->leader_of >= group->nodes || (nodes[goal->leader_of].flags & EXPLORED_KNOWS &&
                                                             nodes[goal->leader_of].leader == goal->leader);
    return leaders >= goal->leaders && different >= goal->different && inside >= goal->inside &&
           waiting >= goal->waiting && know >= goal->know && follows;
}

uint32_t search_goal_claimed(uint32_t violations, uint32_t claims)
{
    for (uint32_t i = 0; violations && i < CV_PROPERTY_COUNT; i++) {
        const uint32_t claim = cv_property((enum cv_property_number)i)->claim;
        if (claim && !(claim & claims) && i != CV_PROPERTY_EVERY_REQUEST)
            violations &= ~(1u << i);
    }
    return violations;
}
