// SPDX-License-Identifier: MIT
/*
 * Let nodes differ in nothing but their voting sets and their ids, and let ids decide nothing but which of two requests
 * with the same time is first (`alike` in an algorithm's table). Give the nodes other names, so that everybody's voting
 * set is again that of its new name, and of those who ask at the same time the same one has the smaller id. Then
 * whatever can happen with requests in some order can happen under the new names with the new names in that order. So
 * of all orders that can be made of each other one is searched: the one that comes first. (The very first has everybody
 * ask by ascending ids, so that all it takes to tell equal times apart is tried there: see tie.c.)
 */
#include "check/symmetry/order_symmetry.h"

/* So many nodes have 5,040 ways to be named. */
#define MOST_NAMED 7u

struct naming {
    const struct setting *setting;
    const struct order *order;
    cv_node names[MOST_NAMED];
    uint32_t used; /* a bit for each name that is taken */
};

static uint32_t rename_all(const struct naming *naming, uint32_t nodes)
{
    uint32_t named = 0;
    for (uint32_t rest = nodes; rest; rest &= rest - 1)
        named |= 1u << naming->names[__builtin_ctz(rest)];
    return named;
}

static uint32_t voters_of(const struct cv_group *group, cv_node node)
{
    uint32_t voters = 0;
    for (uint64_t i = group->quorums[node]; i < group->quorums[node + 1]; i++)
        voters |= 1u << group->voters[i];
    return voters;
}

static bool keeps_voting_sets(const struct naming *naming)
{
    const struct cv_group *group = &naming->setting->group;
    for (cv_node node = 0; group->quorums && node < group->nodes; node++)
        if (rename_all(naming, voters_of(group, node)) != voters_of(group, naming->names[node]))
            return false;
    return true;
}

/* Who of them has the smaller id stays the same. */
static bool keeps_sides(const struct naming *naming, cv_node one, cv_node other)
{
    const cv_id *ids = naming->setting->group.ids;
    return (ids[one] < ids[other]) == (ids[naming->names[one]] < ids[naming->names[other]]);
}

static bool keeps_ties(const struct naming *naming)
{
    for (uint32_t rank = 0; rank < naming->order->ranks; rank++)
        for (uint32_t rest = naming->order->masks[rank]; rest; rest &= rest - 1)
            for (uint32_t others = rest & (rest - 1); others; others &= others - 1)
                if (!keeps_sides(naming, (cv_node)__builtin_ctz(rest), (cv_node)__builtin_ctz(others)))
                    return false;
    return true;
}

/* Does order_next() come to the order with other names before it comes to this one? */
static bool comes_first(const struct naming *naming)
{
    for (uint32_t rank = 0; rank < naming->order->ranks; rank++) {
        const uint32_t mask = naming->order->masks[rank], named = rename_all(naming, mask);
        if (named != mask)
            return naming->order->strict ? named < mask : named > mask;
    }
    return false;
}

static bool may_be_called(const struct naming *naming, cv_node node, cv_node name)
{
    const cv_node inside = naming->setting->options.inside;
    const uint32_t callers = naming->order->callers;
    return !(naming->used & 1u << name) && (node == inside) == (name == inside) &&
           (callers >> node & 1) == (callers >> name & 1);
}

/* Is there a way to name the rest so that an order results that comes first? */
static bool has_twin(struct naming *naming, cv_node node)
{
    const uint32_t nodes = naming->setting->nodes;
    if (node == nodes)
        return comes_first(naming) && keeps_ties(naming) && keeps_voting_sets(naming);
    for (cv_node name = 0; name < nodes; name++) {
        if (!may_be_called(naming, node, name))
            continue;
        naming->names[node] = name;
        naming->used |= 1u << name;
        const bool found = has_twin(naming, node + 1);
        naming->used &= ~(1u << name);
        if (found)
            return true;
    }
    return false;
}

/* Nodes must not change but by their own steps, or twin.c could not follow them. */
static bool are_alike(const struct setting *setting)
{
    return setting->algorithm->alike && setting->options.symmetry && setting->nodes <= MOST_NAMED && setting->ordered &&
           setting->group.topology == CV_COMPLETE && !setting->timers && !setting->counts;
}

bool order_symmetry_next(const struct setting *setting, struct order *order)
{
    while (order_next(order))
        if (!are_alike(setting) || !has_twin(&(struct naming){.setting = setting, .order = order}, 0))
            return true;
    return false;
}

/* ---- all that are left out ---- */

static void find_twins(struct naming *naming, cv_node node, order_symmetry_twin *found, void *context)
{
    const uint32_t nodes = naming->setting->nodes;
    if (node == nodes) {
        struct order order = *naming->order;
        for (uint32_t rank = 0; rank < order.ranks; rank++)
            order.masks[rank] = rename_all(naming, order.masks[rank]);
        if (memcmp(order.masks, naming->order->masks, sizeof order.masks) != 0 && keeps_ties(naming) &&
            keeps_voting_sets(naming))
            found(context, &order, naming->names);
        return;
    }
    for (cv_node name = 0; name < nodes; name++) {
        if (!may_be_called(naming, node, name))
            continue;
        naming->names[node] = name;
        naming->used |= 1u << name;
        find_twins(naming, node + 1, found, context);
        naming->used &= ~(1u << name);
    }
}

void order_symmetry_twins(const struct setting *setting, order_symmetry_twin *found, void *context)
{
    if (are_alike(setting))
        find_twins(&(struct naming){.setting = setting, .order = &setting->order}, 0, found, context);
}
