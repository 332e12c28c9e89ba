// SPDX-License-Identifier: MIT
#include "core/scenario/synchronous_run.h"

#include <stdlib.h>

#include "core/error.h"
#include "core/random.h"

#define FIRST_ROOM 65536u
#define CHOICES 4 /* the random stream */

/* The node that takes a step, and the answers to its questions. */
struct stepping {
    struct cv_self self;
    struct cv_random random;
    struct cv_lockstep *lockstep;
    bool exhausted; /* memory ran out */
};

static struct stepping *stepping_of(const struct cv_self *me)
{
    return (struct stepping *)(uintptr_t)((const char *)me - offsetof(struct stepping, self));
}

static uint32_t choose(struct cv_self *me, uint32_t ways)
{
    struct stepping *stepping = stepping_of(me);
    stepping->lockstep->chose = true;
    return (uint32_t)cv_random_below(&stepping->random, ways);
}

/* A handler cannot be told that memory ran out. Further messages overwrite the earlier ones, and the run ends. */
static void grow(struct cv_self *me, size_t bytes)
{
    size_t room = me->room;
    while (room - me->used < bytes)
        room *= 2;
    unsigned char *larger = realloc(me->outbox, room);
    if (larger) {
        me->outbox = larger;
        me->room = room;
    } else {
        me->used = 0;
        stepping_of(me)->exhausted = true;
    }
}

static bool is_present(const struct cv_self *me, cv_node node)
{
    (void)me;
    (void)node;
    return true;
}

static bool is_suspected(const struct cv_self *me, cv_id id)
{
    (void)me;
    (void)id;
    return false;
}

static const struct cv_runtime runtime = {
    .choose = choose, .present = is_present, .suspected = is_suspected, .grow = grow};

static struct cv_self *step_of(struct stepping *stepping, cv_node node)
{
    const struct cv_lockstep *lockstep = stepping->lockstep;
    stepping->self.node = node;
    stepping->self.state = lockstep->states + lockstep->places[node];
    return &stepping->self;
}

static int lay_out(struct cv_lockstep *lockstep, const struct cv_group *group, const struct cv_algorithm *app)
{
    uint64_t bytes = 0;
    lockstep->places = malloc(((size_t)group->nodes + 1) * sizeof *lockstep->places);
    if (!lockstep->places)
        return CV_ENOMEM;
    for (cv_node node = 0; node < group->nodes; node++) {
        lockstep->places[node] = bytes;
        bytes += ((app->state_size ? app->state_size(group, node) : app->state_bytes) + 7) / 8 * 8;
    }
    lockstep->places[group->nodes] = bytes;
    lockstep->states = calloc(bytes ? bytes : 1, 1);
    return lockstep->states ? 0 : CV_ENOMEM;
}

/* The outbox has all messages of a round, in the order of their senders. The nodes receive them in this order. */
static void deliver(struct stepping *stepping, const struct cv_algorithm *app)
{
    struct cv_self *me = &stepping->self;
    const size_t used = me->used;
    for (size_t at = 0; at < used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        stepping->lockstep->messages++;
        app->kinds[message->kind].receive(step_of(stepping, message->to), message);
        assert(me->used == used); /* a synchronous algorithm sends when a round begins */
    }
    me->used = 0;
}

int cv_lockstep_run(struct cv_lockstep *lockstep, const struct cv_scenario *scenario)
{
    const struct cv_algorithm *app = scenario->app;
    const struct cv_group *group = &scenario->app_group;
    struct stepping stepping = {.lockstep = lockstep, .self = {.group = group, .runtime = &runtime}};
    *lockstep = (struct cv_lockstep){0};
    cv_random_seed(&stepping.random, scenario->seed, CHOICES);
    stepping.self.outbox = malloc(FIRST_ROOM);
    stepping.self.room = FIRST_ROOM;
    if (!stepping.self.outbox || lay_out(lockstep, group, app)) {
        free(stepping.self.outbox);
        return CV_ENOMEM;
    }
    for (cv_node node = 0; app->init && node < group->nodes; node++)
        app->init(step_of(&stepping, node));
    for (uint64_t round = 1; round <= group->rounds && !stepping.exhausted; round++) {
        for (cv_node node = 0; node < group->nodes; node++)
            app->pulse(step_of(&stepping, node), round);
        deliver(&stepping, app);
    }
    for (cv_node node = 0; app->finish && node < group->nodes; node++)
        app->finish(step_of(&stepping, node));
    free(stepping.self.outbox);
    return stepping.exhausted ? CV_ENOMEM : 0;
}

void cv_lockstep_free(struct cv_lockstep *lockstep)
{
    free(lockstep->states);
    free(lockstep->places);
    *lockstep = (struct cv_lockstep){0};
}
