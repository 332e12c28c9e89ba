// SPDX-License-Identifier: MIT
#include "show/state_changes.h"

#include <stdlib.h>

#include "core/error.h"

/* The last two states of a node. One of another size, of another view, is not compared. */
struct cv_seen_state {
    unsigned char *now, *before;
    size_t bytes;        /* of both */
    cv_node coordinator; /* of its view: states depend on it */
    bool comparable;     /* `before` is there */
    uint64_t count;      /* of states so far */
};

static size_t state_bytes(const struct cv_scenario *scenario, const struct cv_group *group, cv_node node)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    return algorithm->state_size ? algorithm->state_size(group, node) : algorithm->state_bytes;
}

static uint32_t name_count(const struct cv_scenario *scenario)
{
    return scenario->names ? scenario->names : 1;
}

static struct cv_seen_state *seen_of(const struct cv_state_changes *changes, const struct cv_snapshot *snapshot)
{
    return &changes->seen[(size_t)snapshot->name * changes->scenario->group.nodes + snapshot->node];
}

int cv_state_changes_init(struct cv_state_changes *changes, const struct cv_scenario *scenario)
{
    *changes = (struct cv_state_changes){.scenario = scenario};
    changes->seen = calloc((size_t)scenario->group.nodes * name_count(scenario), sizeof *changes->seen);
    changes->out_of_memory = !changes->seen;
    return changes->seen ? 0 : CV_ENOMEM;
}

void cv_state_changes_free(struct cv_state_changes *changes)
{
    for (size_t i = 0; changes->seen && i < (size_t)changes->scenario->group.nodes * name_count(changes->scenario);
         i++) {
        free(changes->seen[i].now);
        free(changes->seen[i].before);
    }
    free(changes->seen);
    *changes = (struct cv_state_changes){0};
}

/* Makes room for a state of that size. */
static bool resize(struct cv_seen_state *seen, size_t bytes)
{
    free(seen->now);
    free(seen->before);
    *seen = (struct cv_seen_state){.now = malloc(bytes), .before = malloc(bytes), .bytes = bytes, .count = seen->count};
    return seen->now && seen->before;
}

bool cv_state_changes_look(struct cv_state_changes *changes, const struct cv_snapshot *snapshot)
{
    const size_t bytes = state_bytes(changes->scenario, snapshot->group, snapshot->node);
    struct cv_seen_state *seen = seen_of(changes, snapshot);
    if (!bytes || changes->out_of_memory)
        return false;
    const bool known = seen->bytes == bytes;
    if (known && memcmp(seen->now, snapshot->state, bytes) == 0)
        return false;
    if (!known && !resize(seen, bytes)) {
        changes->out_of_memory = true;
        return false;
    }
    unsigned char *before = seen->now;
    seen->now = seen->before;
    seen->before = before;
    seen->comparable = known;
    seen->count++;
    seen->coordinator = snapshot->group->coordinator;
    memcpy(seen->now, snapshot->state, bytes);
    return true;
}

const void *cv_state_changes_last(const struct cv_state_changes *changes, cv_node node, uint32_t name,
                                  struct cv_group *group)
{
    const struct cv_seen_state *seen =
        changes->seen ? seen_of(changes, &(struct cv_snapshot){.node = node, .name = name}) : NULL;
    if (!seen)
        return NULL;
    *group = changes->scenario->group;
    group->coordinator = seen->coordinator;
    return seen->bytes && seen->bytes == state_bytes(changes->scenario, group, node) ? seen->now : NULL;
}

uint64_t cv_state_changes_count(const struct cv_state_changes *changes, const struct cv_snapshot *snapshot)
{
    return seen_of(changes, snapshot)->count;
}

void cv_state_changes_tell(const struct cv_state_changes *changes, const struct cv_snapshot *snapshot, bool all,
                           void (*tell)(void *context, const struct cv_field_change *change), void *context)
{
    const struct cv_seen_state *seen = seen_of(changes, snapshot);
    char text[CV_CHANGE_TEXT], before[CV_CHANGE_TEXT];
    for (struct cv_fields at = cv_fields_begin(changes->scenario, snapshot->group, snapshot->node);
         cv_fields_next(&at);) {
        struct cv_field_change change = {.field = &at, .state = seen->now};
        if (!all && seen->comparable && memcmp(seen->now + at.offset, seen->before + at.offset, at.bytes) == 0)
            continue;
        change.text = cv_fields_text(&at, seen->now, text, sizeof text);
        if (seen->comparable)
            change.before = cv_fields_text(&at, seen->before, before, sizeof before);
        if (all || !change.before || strcmp(change.text, change.before) != 0)
            tell(context, &change);
    }
}
