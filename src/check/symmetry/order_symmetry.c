// SPDX-License-Identifier: MIT
/*
 * Assume that nodes differ only in their voting sets and ids, and that ids decide only which of two requests with the
 * same time is first (`alike` in an algorithm's table). Rename the nodes so that each voting set becomes the voting set
 * of the new name, and so that of two nodes with requests at the same time the same one keeps the smaller id. Then
 * everything that can happen with requests in some order can happen under the new names with the image of that order.
 * So of all orders that are images of each other, one is searched: the one that order_next() gives first. (The very
 * first order has requests by ascending ids, so it tests all that is needed to break ties: see equal_times.c.)
 */
#include "check/symmetry/order_symmetry.h"

#define MOST_NAMED 7u /* nodes; they have 5,040 permutations */

struct order_naming {
    const struct setting *setting;
    const struct order *order;
    cv_node names[MOST_NAMED]; /* by node */
    uint32_t used;             /* a bit for each name that is taken */
};

static uint32_t rename_all(const struct order_naming *naming, uint32_t nodes)
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

static bool keeps_voting_sets(const struct order_naming *naming)
{
    const struct cv_group *group = &naming->setting->group;
    for (cv_node node = 0; group->quorums && node < group->nodes; node++)
        if (rename_all(naming, voters_of(group, node)) != voters_of(group, naming->names[node]))
            return false;
    return true;
}

/* Does the same one of them keep the smaller id? */
static bool keeps_id_order(const struct order_naming *naming, cv_node one, cv_node other)
{
    const cv_id *ids = naming->setting->group.ids;
    return (ids[one] < ids[other]) == (ids[naming->names[one]] < ids[naming->names[other]]);
}

static bool keeps_ties(const struct order_naming *naming)
{
    for (uint32_t rank = 0; rank < naming->order->ranks; rank++)
        for (uint32_t rest = naming->order->masks[rank]; rest; rest &= rest - 1)
            for (uint32_t others = rest & (rest - 1); others; others &= others - 1)
                if (!keeps_id_order(naming, (cv_node)__builtin_ctz(rest), (cv_node)__builtin_ctz(others)))
                    return false;
    return true;
}

/* Does order_next() give the image before this order? */
static bool comes_earlier(const struct order_naming *naming)
{
    for (uint32_t rank = 0; rank < naming->order->ranks; rank++) {
        const uint32_t mask = naming->order->masks[rank], named = rename_all(naming, mask);
        if (named != mask)
            return naming->order->strict ? named < mask : named > mask;
    }
    return false;
}

static bool may_be_called(const struct order_naming *naming, cv_node node, cv_node name)
{
    const cv_node inside = naming->setting->options.inside;
    const uint32_t callers = naming->order->callers;
    return !(naming->used & 1u << name) && (node == inside) == (name == inside) &&
           (callers >> node & 1) == (callers >> name & 1);
}

/* Is there a way to name the other nodes so that the image comes earlier? */
static bool has_earlier_image(struct order_naming *naming, cv_node node)
{
    const uint32_t nodes = naming->setting->nodes;
    if (node == nodes)
        return comes_earlier(naming) && keeps_ties(naming) && keeps_voting_sets(naming);
    for (cv_node name = 0; name < nodes; name++) {
        if (!may_be_called(naming, node, name))
            continue;
        naming->names[node] = name;
        naming->used |= 1u << name;
        const bool found = has_earlier_image(naming, node + 1);
        naming->used &= ~(1u << name);
        if (found)
            return true;
    }
    return false;
}

/* Nodes must change by their own steps only: order_image.c follows these. */
static bool is_symmetric(const struct setting *setting)
{
    return setting->algorithm->hints.alike && setting->options.symmetry && setting->nodes <= MOST_NAMED &&
           setting->ordered && setting->group.topology == CV_COMPLETE && !setting->timers && !setting->renumbers;
}

bool order_symmetry_next(const struct setting *setting, struct order *order)
{
    while (order_next(order))
        if (!is_symmetric(setting) || !has_earlier_image(&(struct order_naming){.setting = setting, .order = order}, 0))
            return true;
    return false;
}

/* ---- the orders that are left out ---- */

static void visit_images(struct order_naming *naming, cv_node node, order_symmetry_visitor *visit, void *context)
{
    const uint32_t nodes = naming->setting->nodes;
    if (node == nodes) {
        struct order order = *naming->order;
        for (uint32_t rank = 0; rank < order.ranks; rank++)
            order.masks[rank] = rename_all(naming, order.masks[rank]);
        if (memcmp(order.masks, naming->order->masks, sizeof order.masks) != 0 && keeps_ties(naming) &&
            keeps_voting_sets(naming))
            visit(context, &order, naming->names);
        return;
    }
    for (cv_node name = 0; name < nodes; name++) {
        if (!may_be_called(naming, node, name))
            continue;
        naming->names[node] = name;
        naming->used |= 1u << name;
        visit_images(naming, node + 1, visit, context);
        naming->used &= ~(1u << name);
    }
}

void order_symmetry_images(const struct setting *setting, order_symmetry_visitor *visit, void *context)
{
    if (is_symmetric(setting))
        visit_images(&(struct order_naming){.setting = setting, .order = &setting->order}, 0, visit, context);
}
