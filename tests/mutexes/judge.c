// SPDX-License-Identifier: MIT
#include "judge.h"

static bool entered(const struct cv_entry *entry)
{
    return entry->entered != CV_NEVER;
}

static bool together(const struct cv_entry *one, const struct cv_entry *other)
{
    return one->entered < other->left && other->entered < one->left;
}

/* Did `one` enter before `other`? A node that died as it entered made room for another in the same tick. */
static bool earlier(const struct cv_entry *one, const struct cv_entry *other)
{
    return one->entered < other->entered || (one->entered == other->entered && one->left < other->left);
}

static bool asked_earlier(const struct cv_run *run, const struct cv_entry *one, const struct cv_entry *other)
{
    const cv_id *ids = run->scenario->group.ids;
    return one->clock < other->clock || (one->clock == other->clock && ids[one->node] < ids[other->node]);
}

/* How often did a node enter while another waited? */
static uint64_t entries_during(const struct cv_run *run, cv_node node, const struct cv_entry *wait)
{
    uint64_t count = 0;
    for (uint64_t i = 0; i < run->entry_count; i++) {
        const struct cv_entry *it = &run->entries[i];
        count += it->node == node && it->name == wait->name && entered(it) && it->entered >= wait->requested &&
                 it->entered < wait->entered;
    }
    return count;
}

void judge(const struct cv_run *run, struct verdicts *verdicts)
{
    *verdicts = (struct verdicts){0};
    for (uint64_t i = 0; i < run->entry_count; i++) {
        const struct cv_entry *one = &run->entries[i];
        if (!entered(one)) {
            verdicts->unserved += !one->died && run->standing(run->runtime, one->node).alive;
            continue;
        }
        verdicts->entered++;
        for (cv_node node = 0; node < run->scenario->group.nodes && run->scenario->algorithm->topology == CV_RING;
             node++)
            verdicts->overtaken += node != one->node && entries_during(run, node, one) > 1;
        for (uint64_t j = 0; j < run->entry_count; j++) {
            const struct cv_entry *other = &run->entries[j];
            if (i == j || one->name != other->name || !entered(other))
                continue;
            verdicts->overlaps += i < j && together(one, other);
            verdicts->fences += earlier(one, other) && one->fence >= other->fence;
            verdicts->out_of_turn += earlier(one, other) && !asked_earlier(run, one, other);
        }
    }
}
