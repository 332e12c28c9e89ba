// SPDX-License-Identifier: MIT
/* The steps of nodes: each begins with an event, runs a handler, and ends with its effects carried out. */
#ifndef CONCLAVE_SIM_ENGINE_H
#define CONCLAVE_SIM_ENGINE_H

#include "sim/world.h"

/* Begins a step of a node that is not the receipt of a message: one tick of its clock, if it is an event at all. */
struct cv_self *world_begin(struct cv_sim *sim, cv_node node, struct cv_event *event);

/* Carries out what the step recorded. */
void world_finish(struct cv_sim *sim);
void world_deliver(struct cv_sim *sim, const struct cv_message *message, uint64_t serial);

static inline void world_open(struct cv_sim *sim, cv_node node, struct node *it)
{
    struct cv_self *me = &sim->self;
    me->state = it + 1;
    me->node = node;
    me->clock = it->clock;
    me->calling = it->flags & NODE_CALLING;
    me->knows = it->flags & NODE_KNOWS;
    me->elected = me->knows ? sim->leaders[node] : 0;
}

/* A step begins with an empty outbox and no effects. */
static inline void world_use_outbox(struct cv_sim *sim)
{
    struct cv_self *me = &sim->self;
    me->outbox = sim->outbox;
    me->room = sim->outbox_room;
    me->used = 0;
    me->effects = 0;
}

/* Carries out the effects of a step other than messages. They are rare on the quick way, so this is no part of it. */
void world_apply(struct cv_sim *sim, struct node *it);

/* Would a real node give that message to its handler? */
bool world_can_be(struct cv_sim *sim, const struct cv_message *message);

static inline bool world_interrupted(const struct cv_sim *sim)
{
    return sim->out_of_memory ||
           (sim->options.interrupted && __atomic_load_n(sim->options.interrupted, __ATOMIC_RELAXED));
}

/* ---- a run, piece by piece ---- */

/* What happens before the first tick. */
void world_begin_run(struct cv_sim *sim);

/* No message is under way and no timer is armed: time leaps to the next planned event. */
bool world_idle(const struct cv_sim *sim);

/* The next tick at which something happens; `planned` is when the next fault does. CV_NEVER: none. */
uint64_t world_next_tick(const struct cv_sim *sim, uint64_t planned);

/* That tick; on the quick way also those after it, up to `pause` and the horizon. */
void world_play_tick(struct cv_sim *sim, uint64_t next, uint64_t planned);
void world_tell_progress(const struct cv_sim *sim);

/* Fills in what the judges need, after the last tick. */
void world_settle(struct cv_sim *sim, struct cv_run *run);

/* Tells the observer, if there is one. */
void world_tell(struct cv_sim *sim, const struct cv_event *event);

#endif
