// SPDX-License-Identifier: MIT
#include "check/names.h"

#include <string.h>

static const struct cv_scenario *scenario;
static struct cv_group group;
static uint32_t n;
static const cv_node *new_names;

static void name_node(const struct cv_renaming *renaming, cv_node *node)
{
    (void)renaming;
    *node = *node == CV_NOBODY ? CV_NOBODY : new_names[*node];
}

static void name_row(const struct cv_renaming *renaming, cv_node *row)
{
    cv_node renamed[N];
    for (cv_node i = 0; i < n; i++) {
        renamed[new_names[i]] = row[i];
        name_node(renaming, &renamed[new_names[i]]);
    }
    memcpy(row, renamed, n * sizeof *row);
}

/* The same state with other names. */
static void rename_all(const struct full *from, const cv_node *names, struct full *to)
{
    const struct cv_renaming renaming = {name_node, name_row};
    new_names = names;
    full_copy(to, from, n);
    to->missed = 0;
    memset(to->cut, 0, sizeof to->cut);
    for (cv_node i = 0; i < n; i++) {
        struct node *it = &to->node[names[i]];
        *it = from->node[i];
        to->missed |= (from->missed >> i & 1u) << names[i];
        if (it->alive)
            scenario->algorithm->hints.rename(&renaming, &group, i, it->state, NULL);
        it->suspects = it->missed_loss = it->owed_return = 0;
        for (cv_node j = 0; j < n; j++) {
            it->missed_loss |= (from->node[i].missed_loss >> j & 1u) << names[j];
            it->owed_return |= (from->node[i].owed_return >> j & 1u) << names[j];
            to->cut[names[i]] |= (from->cut[i] >> j & 1u) << names[j];
            it->suspects |= (from->node[i].suspects >> j & 1u) << names[j];
            to->count[names[i]][names[j]] = from->count[i][j];
            memcpy(to->letter[names[i]][names[j]], from->letter[i][j], from->count[i][j] * sizeof(struct letter));
        }
    }
}

/* Tries every permutation of the nodes except the coordinator, and keeps the one whose bytes come first. */
static void choose_names(cv_node *names, uint32_t at, const struct full *original, unsigned char *best)
{
    static struct full other;
    static unsigned char packed[sizeof(struct full) + 64];
    if (at == n) {
        rename_all(original, names, &other);
        const uint32_t length = full_pack(scenario, &other, packed);
        if (memcmp(packed, best, 4) == 0 && memcmp(packed, best, length) < 0)
            memcpy(best, packed, length);
        return;
    }
    for (cv_node i = at; i < n; i++) {
        if ((i != at && i == group.coordinator) || (i != at && at == group.coordinator))
            continue;
        const cv_node one = names[at], two = names[i];
        names[at] = two;
        names[i] = one;
        choose_names(names, at + 1, original, best);
        names[at] = one;
        names[i] = two;
    }
}

void names_choose(const struct cv_scenario *what, const struct cv_group *of, struct full *full)
{
    static struct full original;
    static unsigned char best[sizeof(struct full) + 64];
    cv_node names[N];
    scenario = what;
    group = *of;
    n = group.nodes;
    for (cv_node i = 0; i < n; i++)
        names[i] = i;
    original = *full;
    full_pack(scenario, &original, best);
    choose_names(names, 0, &original, best);
    full_unpack(scenario, full, best);
}
