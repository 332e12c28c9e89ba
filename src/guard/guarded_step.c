// SPDX-License-Identifier: MIT
#include "guard/guarded_step.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "guard/difference.h"
#include "guard/failure_text.h"
#include "guard/guarded.h"
#include "guard/inspection.h"
#include "guard/region.h"
#include "guard/trap_frame.h"

#define DEEPEST 2u /* a synchronizer, and the app that it hosts */
#define FIRST_OUTBOX_BYTES 4096u
#define MOST_OUTBOX_BYTES ((size_t)256 << 20) /* and as much for each node as its longest message */
#define BYTES_PER_NODE 1024u
#define MOST_CHOICES 4096u
#define ALL_TWICE 1024u /* so many steps of a thread are taken twice, and then */
#define EVERY 16u       /* every one of so many */
#define PAINT_BYTES 8192u
#define GAP_BYTES 256u
#define PAINT_OUTBOX 256u

/* Where a handler works: one for each thread, and one more for an app within it. */
struct workplace {
    struct region self, state, message, outbox; /* what is lent to the handler */
    struct handler_use *use;
    size_t state_bytes;
    size_t most_outbox;
    unsigned char paint; /* what unused memory is filled with before the step; 0: it is left as it is */
    bool again;          /* the step is taken for the second time */
    bool out_of_memory;

    struct {
        uint32_t ways, chosen;
    } choices[MOST_CHOICES];
    uint64_t chosen; /* how often the step chose */

    unsigned char *first; /* state and messages after the first time */
    size_t first_room;
};

static bool every_step, ignores_failures;

static _Thread_local struct workplace *places[DEEPEST];
static _Thread_local uint32_t depth;
static _Thread_local uint64_t taken; /* steps of this thread */
static _Thread_local struct cv_failure_listener *listener;
static _Thread_local bool over_unheard; /* a handler has failed while nobody listened */

static pthread_key_t thread_key;

/* NULL: the algorithm is one of the program's own. */
static const struct shared_object *object_of(const struct guarded *guarded)
{
    return guarded->object.path ? &guarded->object : NULL;
}

/* ---- workplaces ---- */

static void close_place(struct workplace *place)
{
    region_free(&place->self);
    region_free(&place->state);
    region_free(&place->message);
    region_free(&place->outbox);
}

static void leave_thread(void *unused)
{
    (void)unused;
    for (uint32_t i = 0; i < DEEPEST; i++)
        if (places[i]) {
            close_place(places[i]);
            free(places[i]->first);
            free(places[i]);
            places[i] = NULL;
        }
}

static void make_key(void)
{
    pthread_key_create(&thread_key, leave_thread);
}

static struct workplace *enter_place(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    assert(depth < DEEPEST);
    if (!places[depth]) {
        pthread_once(&once, make_key);
        places[depth] = calloc(1, sizeof *places[depth]);
        pthread_setspecific(thread_key, places);
    }
    return places[depth] ? places[depth++] : NULL;
}

/* ---- the questions a handler may ask ---- */

static struct workplace *here(void)
{
    return places[depth - 1];
}

static uint32_t choose(struct cv_self *self, uint32_t ways)
{
    struct workplace *place = here();
    struct cv_self *me = place->use->me;
    const uint64_t at = place->chosen++;
    (void)self;
    if (!ways)
        trap_accuse("calls cv_choose() with 0 ways");
    if (place->again && at < MOST_CHOICES && place->choices[at].ways == ways)
        return place->choices[at].chosen;
    depth--;
    const uint32_t chosen = me->runtime->choose(me, ways);
    depth++;
    if (at < MOST_CHOICES) {
        place->choices[at].ways = ways;
        place->choices[at].chosen = chosen;
    }
    return chosen;
}

static bool present(const struct cv_self *self, cv_node node)
{
    const struct cv_self *me = here()->use->me;
    if (node >= self->group->nodes)
        trap_accuse("calls cv_present() with a node outside the group");
    depth--;
    const bool answer = me->runtime->present(me, node);
    depth++;
    return answer;
}

static bool suspected(const struct cv_self *self, cv_id id)
{
    const struct cv_self *me = here()->use->me;
    (void)self;
    depth--;
    const bool answer = me->runtime->suspected(me, id);
    depth++;
    return answer;
}

static void grow(struct cv_self *self, size_t bytes)
{
    struct workplace *place = here();
    size_t room = self->room;
    while (room - self->used < bytes)
        room *= 2;
    if (room > place->most_outbox)
        trap_accuse("sends without end: the messages of one step fill 256 MB");
    if (!region_extend(&place->outbox, room))
        trap_accuse("sends more in one step than there is memory for");
    self->outbox = place->outbox.lent;
    self->room = room;
}

static const struct cv_runtime runtime = {.choose = choose, .present = present, .suspected = suspected, .grow = grow};

/* ---- the call ---- */

/* What a handler leaves uninitialized is then not what the step before has left there. */
static __attribute__((noinline)) void paint_stack(unsigned char paint)
{
    unsigned char below[PAINT_BYTES];
    memset(below, paint, sizeof below);
    __asm__ volatile("" : : "r"(below) : "memory");
}

/* Its own frame lies where the painter's was, so that the handler's is on painted stack from its first byte on. */
static __attribute__((noinline)) void call_handler(struct handler_use *use, struct cv_self *self,
                                                   const struct cv_message *message)
{
    const struct cv_algorithm *own = use->guarded->own;
    unsigned char gap[GAP_BYTES];
    __asm__ volatile("" : : "r"(gap) : "memory");
    switch (use->handler) {
#define CALL(name, unused)                                                                                             \
    case HANDLER_##name:                                                                                               \
        own->name(self);                                                                                               \
        break;
        NODE_HANDLERS(CALL, _)
#undef CALL
#define CALL(name, type, unused)                                                                                       \
    case HANDLER_##name:                                                                                               \
        own->name(self, (type)use->argument);                                                                          \
        break;
        NUMBER_HANDLERS(CALL, _)
#undef CALL
    case HANDLER_adopt:
        own->adopt(self, (cv_node)use->argument, use->fence);
        break;
    case HANDLER_receive:
        own->kinds[message->kind].receive(self, message);
        break;
    case HANDLER_valid:
        use->valid = own->valid(self, message);
        break;
    case HANDLER_invariant:
        use->complaint = own->invariant(self);
        break;
    }
}

static bool lend(struct workplace *place)
{
    const struct handler_use *use = place->use;
    const struct cv_algorithm *own = use->guarded->own;
    const struct cv_self *me = use->me;
    place->state_bytes = own->state_size ? own->state_size(me->group, me->node) : own->state_bytes;
    const size_t message_bytes = use->message ? cv_message_bytes(use->message) : 0;
    const size_t outbox = place->outbox.bytes ? place->outbox.bytes : FIRST_OUTBOX_BYTES;
    if (!region_lend(&place->self, sizeof(struct cv_self)) || !region_lend(&place->state, place->state_bytes) ||
        !region_lend(&place->message, message_bytes) || !region_lend(&place->outbox, outbox))
        return false;
    memcpy(place->state.lent, me->state, place->state_bytes);
    if (use->message)
        memcpy(place->message.lent, use->message, message_bytes);
    struct cv_self *self = (void *)place->self.lent;
    *self = *me;
    self->state = place->state.lent;
    self->runtime = &runtime;
    self->outbox = place->outbox.lent;
    self->room = place->outbox.bytes;
    self->used = 0;
    place->chosen = 0;
    return true;
}

static void attempt(void *context)
{
    struct workplace *place = context;
    place->out_of_memory = !lend(place);
    if (place->out_of_memory)
        return;
    if (place->paint) {
        memset(place->outbox.lent, place->paint, PAINT_OUTBOX);
        paint_stack(place->paint);
    }
    call_handler(place->use, (void *)place->self.lent, (const void *)place->message.lent);
}

/* ---- what went wrong ---- */

/* The handler went too far: past the end of what, and by how much? */
static bool explain_region(const struct region *region, const char *what, const void *address, char *text, size_t room)
{
    const uintptr_t begin = (uintptr_t)region->lent, at = (uintptr_t)address;
    if (!region_has(region, address))
        return false;
    if (at < begin)
        snprintf(text, room, "the handler reads or writes before the beginning of %s", what);
    else
        snprintf(text, room, "the handler reads or writes past the end of %s: byte %zu of %zu", what,
                 (size_t)(at - begin), region->bytes);
    return true;
}

static bool explain_fault(const struct workplace *place, const struct trap *trap, char *text, size_t room)
{
    const struct shared_object *object = trap->object;
    char name[64];
    if (trap->reason != TRAP_SIGNAL || (trap->number != SIGSEGV && trap->number != SIGBUS))
        return false;
    if (object && shared_object_has_global(object, trap->address)) {
        shared_object_name(object, trap->address, name, sizeof name);
        snprintf(text, room, "the handler writes to a global variable%s%s%s: a step may keep nothing outside its state",
                 *name ? ", `" : "", name, *name ? "`" : "");
        return true;
    }
    return explain_region(&place->state, "its state", trap->address, text, room) ||
           explain_region(&place->message, "the message", trap->address, text, room) ||
           explain_region(&place->outbox, "what it sends", trap->address, text, room) ||
           explain_region(&place->self, "`me`", trap->address, text, room);
}

static void explain(const struct workplace *place, const struct trap *trap, char *text, size_t room)
{
    char why[CV_FAILURE_BYTES] = "";
    if (explain_fault(place, trap, text, room))
        return;
    if (trap->reason == TRAP_ASSERTION) {
        snprintf(text, room, "%s", trap->failure->text);
        return;
    }
    if (trap->reason == TRAP_ACCUSED)
        snprintf(why, sizeof why, "%s", trap->failure->text);
    else
        trap_explain(trap, why, sizeof why);
    snprintf(text, room, "the handler %.600s", why);
}

/* Did the handler leave alone what it was lent to read, and what lies around it? */
static bool is_in_order(const struct workplace *place, char *why, size_t room)
{
    const struct handler_use *use = place->use;
    const struct cv_self *self = (const void *)place->self.lent, *me = use->me;
    const char *what = NULL;
    if (!region_is_whole(&place->state))
        what = "the handler writes to memory next to its state";
    else if (!region_is_whole(&place->message) || !region_is_whole(&place->outbox) || !region_is_whole(&place->self))
        what = "the handler writes to memory that is not its own";
    else if (use->message && memcmp(place->message.lent, use->message, cv_message_bytes(use->message)) != 0)
        what = "the handler writes to the message that it receives";
    else if (handler_only_looks(use->handler) && memcmp(place->state.lent, me->state, place->state_bytes) != 0)
        what = "it writes to the state, and may only look";
    else if (self->state != place->state.lent || self->group != me->group || self->runtime != &runtime ||
             self->outbox != place->outbox.lent || self->node != me->node || self->used > self->room)
        what = "the handler writes to fields of `me` that are the runtime's";
    const bool hosts = use->guarded->own->problem == CV_SYNCHRONIZER; /* it wraps what its app has sent */
    for (size_t i = 0; place->paint && !hosts && !what && i < PAINT_OUTBOX; i++)
        if (i >= self->used && i < place->outbox.bytes && place->outbox.lent[i] != place->paint)
            what = "the handler writes past the end of a message that it sends";
    if (what)
        snprintf(why, room, "%s", what);
    return !what;
}

/* ---- failures ---- */

static const struct cv_scenario *scenario_of(void)
{
    for (const struct trap *trap = trap_current; trap; trap = trap->outer)
        if (trap->failure->scenario)
            return trap->failure->scenario;
    return listener ? listener->scenario : NULL;
}

/* Tells who waits for it. Returns if nobody jumps, and then handlers do nothing more. */
static void tell(const struct cv_failure *failure)
{
    struct trap *outer = trap_current;
    if (outer) {
        memcpy(outer->failure->text, failure->text, sizeof failure->text);
        trap_spring(outer, failure->interrupted ? TRAP_INTERRUPTED : TRAP_TOLD);
    }
    if (listener) {
        listener->over = true;
        listener->failed(listener->context, failure);
        return;
    }
    over_unheard = true;
    if (ignores_failures)
        return;
    fprintf(stderr, "conclave: %s\n", failure->text);
    _exit(EXIT_FAILURE);
}

static void fail(struct workplace *place, const char *what)
{
    struct cv_failure failure = {0};
    const struct cv_scenario scene = failure_scene(scenario_of(), place->use);
    failure_text(failure.text, sizeof failure.text, &scene, place->use, what);
    close_place(place); /* what lies around the lent memory may have been written to */
    depth--;
    tell(&failure);
}

/* Has a handler failed? Whoever calls by cv_trap_call() knows that himself. */
static bool is_over(void)
{
    return !trap_current && (listener ? listener->over : over_unheard);
}

/* Takes the step. False if it failed: that has been told. */
static bool take(struct workplace *place)
{
    struct cv_failure failure;
    struct trap trap;
    const uint32_t level = depth;
    trap_open(&trap, &failure, object_of(place->use->guarded));
    char why[CV_FAILURE_BYTES];
    if (!trap_run(&trap, attempt, place)) {
        depth = level;
        if (trap.reason == TRAP_TOLD || trap.reason == TRAP_INTERRUPTED) {
            close_place(place);
            depth--;
            tell(&failure);
            return false;
        }
        explain(place, &trap, why, sizeof why);
    } else if (place->out_of_memory) {
        snprintf(why, sizeof why, "there is no memory to take the step");
    } else if (is_in_order(place, why, sizeof why) &&
               inspection_passes(place->use, (const void *)place->self.lent, why, sizeof why)) {
        return true;
    }
    fail(place, why);
    return false;
}

/* ---- twice ---- */

static bool is_due(void)
{
    taken++;
    return every_step || taken <= ALL_TWICE || taken % EVERY == 0;
}

static struct step_result result_of(const struct workplace *place)
{
    return (struct step_result){.self = *(const struct cv_self *)(const void *)place->self.lent,
                                .state = place->state.lent,
                                .state_bytes = place->state_bytes,
                                .choices = place->chosen,
                                .valid = place->use->valid,
                                .complaint = place->use->complaint};
}

/* Moves what the step did away from where it is taken again. False if there is no memory. */
static bool keep_first(struct workplace *place, struct step_result *first)
{
    const size_t state_bytes = (first->state_bytes + 7) / 8 * 8, bytes = state_bytes + first->self.used;
    if (place->first_room < bytes || !place->first) {
        unsigned char *larger = realloc(place->first, bytes + 1);
        if (!larger)
            return false;
        place->first = larger;
        place->first_room = bytes;
    }
    memcpy(place->first, first->state, first->state_bytes);
    memcpy(place->first + state_bytes, first->self.outbox, first->self.used);
    first->state = place->first;
    first->self.outbox = place->first + state_bytes;
    return true;
}

static bool take_twice(struct workplace *place)
{
    place->paint = 0x5a;
    if (!take(place))
        return false;
    struct step_result first = result_of(place);
    if (place->chosen > MOST_CHOICES || !keep_first(place, &first))
        return true;
    place->paint = 0xc3;
    place->again = true;
    const bool took = take(place);
    place->again = false;
    if (!took)
        return false;
    const struct step_result second = result_of(place);
    if (difference_is_none(&first, &second))
        return true;
    const struct cv_scenario scene = failure_scene(scenario_of(), place->use);
    char why[CV_FAILURE_BYTES];
    difference_text(why, sizeof why, &scene, place->use, &first, &second);
    fail(place, why);
    return false;
}

/* ---- what counts ---- */

/* Writes what the step did into the runtime's node. */
static void commit(struct workplace *place)
{
    const struct handler_use *use = place->use;
    const struct cv_self *self = (const void *)place->self.lent;
    struct cv_self *me = use->me, result = *self;
    if (handler_only_looks(use->handler))
        return;
    memcpy(me->state, place->state.lent, place->state_bytes);
    result.state = me->state;
    result.runtime = me->runtime;
    result.outbox = me->outbox;
    result.used = me->used;
    result.room = me->room;
    *me = result;
    if (me->room - me->used < self->used)
        me->runtime->grow(me, self->used);
    if (!self->used || me->room - me->used < self->used)
        return; /* the runtime is out of memory, and knows */
    memcpy(me->outbox + me->used, self->outbox, self->used);
    me->used += self->used;
}

void guarded_step(struct handler_use *use)
{
    use->valid = true;
    if (is_over())
        return;
    struct workplace *place = enter_place();
    if (!place)
        return;
    place->use = use;
    place->paint = 0;
    place->again = false;
    place->most_outbox = MOST_OUTBOX_BYTES + (size_t)use->me->group->nodes * BYTES_PER_NODE;
    if (is_due() ? take_twice(place) : take(place)) {
        depth--;
        commit(place);
    }
}

/* ---- the size of a state ---- */

struct size_question {
    const struct cv_algorithm *own;
    const struct cv_group *group;
    cv_node node;
    size_t bytes;
};

static void ask_size(void *context)
{
    struct size_question *question = context;
    question->bytes = question->own->state_size(question->group, question->node);
}

size_t guarded_state_size(const struct guarded *guarded, const struct cv_group *group, cv_node node)
{
    struct size_question question = {guarded->own, group, node, 0};
    struct cv_failure failure;
    struct trap trap;
    trap_open(&trap, &failure, object_of(guarded));
    char why[CV_FAILURE_BYTES];
    if (is_over() || trap_run(&trap, ask_size, &question))
        return question.bytes;
    explain(&(struct workplace){0}, &trap, why, sizeof why);
    snprintf(failure.text, sizeof failure.text, "`state_size` is asked; %.600s", why);
    tell(&failure);
    return 0;
}

/* ---- who hears of failures ---- */

struct cv_failure_listener *cv_failure_listen(struct cv_failure_listener *by)
{
    struct cv_failure_listener *former = listener;
    listener = by;
    return former;
}

void cv_failure_ignore(void)
{
    ignores_failures = true;
}

void cv_guard_every_step(void)
{
    every_step = true;
}
