// SPDX-License-Identifier: MIT
/*
 * Finds runs that repeat for ever. If nothing is random and nothing is planned any more, a world that returns to an
 * earlier state repeats the steps in between for ever. This proves a liveness violation, which a longer simulation
 * never could. Brent's algorithm: compare with one remembered tick, and remember a later one whenever the distance has
 * doubled.
 */
#include "sim/repeat.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "sim/faults.h"
#include "sim/workload.h"
#include "sim/world.h"

#define LARGEST_GROUP 1024u

struct repeat {
    XXH3_state_t *hash;
    XXH128_hash_t remembered;
    uint64_t remembered_at;
    uint64_t patience; /* ticks until another tick is remembered */
};

int repeat_init(struct cv_sim *sim)
{
    const struct cv_scenario *scenario = sim->scenario;
    if (sim->plain || sim->algorithm->hints.clocked || scenario->delay.model != CV_DELAY_UNIT ||
        cv_scenario_raw(scenario) || scenario->lag_count || scenario->serial || scenario->group.nodes > LARGEST_GROUP ||
        scenario->names > 1)
        return 0;
    sim->repeat = calloc(1, sizeof *sim->repeat);
    if (!sim->repeat)
        return CV_ENOMEM;
    sim->repeat->patience = 1;
    sim->repeat->hash = XXH3_createState();
    return sim->repeat->hash ? 0 : CV_ENOMEM;
}

void repeat_free(struct cv_sim *sim)
{
    if (sim->repeat)
        XXH3_freeState(sim->repeat->hash);
    free(sim->repeat);
}

static void hash_node(struct cv_sim *sim, cv_node node)
{
    XXH3_state_t *hash = sim->repeat->hash;
    const struct node *it = world_node(sim, node);
    const size_t bytes = sim->places ? sim->places[node + 1] - sim->places[node] : sim->stride;
    const uint32_t shown[2] = {it->flags, sim->leaders[node]};
    XXH3_128bits_update(hash, shown, sizeof shown);
    XXH3_128bits_update(hash, it + 1, bytes - sizeof *it);
    for (uint32_t timer = 0; timer < sim->timers; timer++) {
        const uint64_t due = sim->timer_due[(size_t)node * sim->timers + timer];
        const uint64_t left = due ? due - sim->now : 0;
        XXH3_128bits_update(hash, &left, sizeof left);
    }
}

/* Adds a message as its receiver will see it: without its number, and with its time counted from now. */
static void hash_message(XXH3_state_t *hash, uint64_t left, const struct cv_message *message)
{
    const uint64_t shown[4] = {left, (uint64_t)message->to << 32 | message->from, message->kind, message->words};
    XXH3_128bits_update(hash, shown, sizeof shown);
    XXH3_128bits_update(hash, message->body, message->words * 4ul);
}

static XXH128_hash_t fingerprint(struct cv_sim *sim)
{
    XXH3_state_t *hash = sim->repeat->hash;
    XXH3_128bits_reset(hash);
    for (cv_node node = 0; node < sim->group.nodes; node++)
        hash_node(sim, node);
    for (uint64_t left = 1; left <= sim->mail.mask; left++) {
        struct calendar_list *list = &sim->mail.near[(sim->now + left) & sim->mail.mask];
        for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
            while (part.at < part.end) {
                const struct cv_message *message = (const void *)part.at;
                part.at += cv_message_bytes(message) + sizeof(struct trailer);
                hash_message(hash, left, message);
            }
    }
    return XXH3_128bits_digest(hash);
}

bool repeat_found(struct cv_sim *sim, uint64_t *period)
{
    struct repeat *repeat = sim->repeat;
    if (sim->chose || faults_next(sim) != CV_NEVER || (sim->load && sim->load->planned) ||
        (!sim->mail.pending && !sim->timers_active))
        return false;
    const XXH128_hash_t here = fingerprint(sim);
    if (XXH128_isEqual(here, repeat->remembered)) {
        *period = sim->now - repeat->remembered_at;
        return true;
    }
    if (sim->now - repeat->remembered_at >= repeat->patience) {
        repeat->remembered = here;
        repeat->remembered_at = sim->now;
        repeat->patience *= 2;
    }
    return false;
}
