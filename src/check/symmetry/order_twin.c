// SPDX-License-Identifier: MIT
/*
 * A twin is an order that is left out, with the names that make the searched order this one. Nothing says where in a
 * node's state, or in a message, nodes are named. So it is found out: the node of the other name begins in a state of
 * its own; whenever a step is worked out, the twin of the node takes the same step, with the twin of the message, and
 * ends in the twin of the state that the step leads to. It must send to the others' twins what the node sends, enter
 * when it does, and so on; and every state and every message must have one twin, however they come about. Then the
 * searches of both orders are the same, state by state, and what is not wrong in one is not wrong in the other.
 *
 * If a twin does something else, the promise is broken. If only the bytes of a state differ by how it came about, that
 * proves nothing, but the order must be searched. What its steps would do with equal times is tried for twins as well.
 */
#include "check/symmetry/order_twin.h"

#include <stdio.h>
#include <stdlib.h>

#include "check/step/equal_times.h"
#include "check/symmetry/order_symmetry.h"

#define FIRST_NUMBERS 1024u

/* The twin of a fence: both must rise alike. */
struct fence_pair {
    uint64_t one, other;
};

struct twin {
    struct setting setting;                 /* with its order */
    cv_node names[CV_CHECK_MOST_NODES];     /* of the nodes there */
    uint32_t *node_states, *messages;       /* by number here: its number in `twins`, plus 1; 0: not seen yet */
    uint32_t node_state_room, message_room; /* numbers */
    struct fence_pair *fences;              /* in order */
    uint32_t fence_count, fence_room;
};

struct twins {
    struct model *model;
    struct host host;
    struct node_state *scratch;
    struct intern node_states, messages; /* of all of them */
    struct twin *twins;
    uint32_t count, room;
    uint64_t steps; /* that were followed */
    pthread_mutex_t lock;
};

/* ---- who they are ---- */

static void add_twin(void *context, const struct order *order, const cv_node *names)
{
    struct twins *twins = context;
    for (uint32_t i = 0; i < twins->count; i++)
        if (memcmp(twins->twins[i].setting.order.masks, order->masks, order->ranks * sizeof *order->masks) == 0)
            return;
    if (twins->count == twins->room) {
        const uint32_t room = twins->room ? twins->room * 2 : 8;
        struct twin *more = realloc(twins->twins, room * sizeof *more);
        if (!more) {
            twins->model->out_of_memory = true;
            return;
        }
        twins->twins = more;
        twins->room = room;
    }
    struct twin *twin = &twins->twins[twins->count++];
    *twin = (struct twin){.setting = twins->model->setting};
    twin->setting.order = *order;
    memcpy(twin->names, names, twins->model->setting.nodes * sizeof *names);
}

int twins_new(struct twins **out, struct model *model)
{
    struct twins *twins = calloc(1, sizeof *twins);
    size_t largest = 0;
    *out = NULL;
    if (!twins)
        return CV_ENOMEM;
    twins->model = model;
    order_symmetry_twins(&model->setting, add_twin, twins);
    for (cv_node node = 0; node < model->setting.nodes; node++)
        largest = node_state_bytes(&model->setting, node) > largest ? node_state_bytes(&model->setting, node) : largest;
    twins->scratch = calloc(1, largest);
    pthread_mutex_init(&twins->lock, NULL);
    if (intern_init(&twins->node_states) || intern_init(&twins->messages) || host_init(&twins->host, &model->setting) ||
        !twins->scratch || model->out_of_memory) {
        twins_free(twins);
        return CV_ENOMEM;
    }
    if (twins->count)
        *out = twins;
    else
        twins_free(twins);
    return 0;
}

void twins_free(struct twins *twins)
{
    if (!twins)
        return;
    for (uint32_t i = 0; i < twins->count; i++) {
        free(twins->twins[i].node_states);
        free(twins->twins[i].messages);
        free(twins->twins[i].fences);
    }
    intern_free(&twins->node_states);
    intern_free(&twins->messages);
    host_free(&twins->host);
    pthread_mutex_destroy(&twins->lock);
    free(twins->twins);
    free(twins->scratch);
    free(twins);
}

/* ---- what is found out ---- */

static void rename_ids(const struct twins *twins, const struct twin *twin, char *text, size_t size)
{
    const cv_id *ids = twins->model->setting.group.ids;
    size_t used = 0;
    for (cv_node node = 0; node < twins->model->setting.nodes && used < size; node++)
        if (twin->names[node] != node)
            used += (size_t)snprintf(text + used, size - used, "%s%u for %u", used ? ", " : "", ids[twin->names[node]],
                                     ids[node]);
}

static void complain(struct twins *twins, const struct twin *twin, const struct host *host, enum cv_decision_type type,
                     const struct cv_message *message)
{
    char names[64] = "", doing[64];
    rename_ids(twins, twin, names, sizeof names);
    model_describe(twins->model, host->self.node, type, message, doing, sizeof doing);
    model_break_promise(twins->model, true,
                        "this algorithm compares ids: `alike` is wrong: with %s, %s has another result", names, doing);
}

static void cannot_tell(struct twins *twins)
{
    model_break_promise(twins->model, false,
                        "`alike` cannot be confirmed: under other names a state depends on how it came about");
}

/* Notes a twin, or compares it with what it was before. */
static bool note(struct twins *twins, uint32_t **numbers, uint32_t *room, uint32_t number, uint32_t twin)
{
    if (number >= *room) {
        uint32_t wanted = *room ? *room : FIRST_NUMBERS;
        while (wanted <= number)
            wanted *= 2;
        uint32_t *more = realloc(*numbers, wanted * sizeof *more);
        if (!more) {
            twins->model->out_of_memory = true;
            return true;
        }
        memset(more + *room, 0, (wanted - *room) * sizeof *more);
        *numbers = more;
        *room = wanted;
    }
    if (!(*numbers)[number])
        (*numbers)[number] = twin + 1;
    return (*numbers)[number] == twin + 1;
}

/* Both fences rise alike. */
static bool note_fence(struct twins *twins, struct twin *twin, uint64_t one, uint64_t other)
{
    uint32_t at = 0;
    while (at < twin->fence_count && twin->fences[at].one < one)
        at++;
    if (at < twin->fence_count && twin->fences[at].one == one)
        return twin->fences[at].other == other;
    if ((at && twin->fences[at - 1].other >= other) || (at < twin->fence_count && twin->fences[at].other <= other))
        return false;
    if (twin->fence_count == twin->fence_room) {
        const uint32_t room = twin->fence_room ? twin->fence_room * 2 : 16;
        struct fence_pair *more = realloc(twin->fences, room * sizeof *more);
        if (!more) {
            twins->model->out_of_memory = true;
            return true;
        }
        twin->fences = more;
        twin->fence_room = room;
    }
    memmove(&twin->fences[at + 1], &twin->fences[at], (twin->fence_count++ - at) * sizeof *twin->fences);
    twin->fences[at] = (struct fence_pair){one, other};
    return true;
}

/* The next message to a node in an outbox, from `at` on; NULL after the last. */
static struct cv_message *next_to(const struct cv_self *me, cv_node to, size_t *at)
{
    while (*at < me->used) {
        struct cv_message *message = (void *)(me->outbox + *at);
        *at += cv_message_bytes(message);
        if (message->to == to)
            return message;
    }
    return NULL;
}

enum likeness { THE_SAME, ANOTHER_STATE, ANOTHER_STEP };

static enum likeness compare_messages(struct twins *twins, struct twin *twin, const struct host *host)
{
    const struct model *model = twins->model;
    enum likeness likeness = THE_SAME;
    if (host->self.used != twins->host.self.used)
        return ANOTHER_STEP;
    for (cv_node to = 0; to < model->setting.nodes; to++) {
        size_t here = 0, there = 0;
        for (;;) {
            const struct cv_message *one = next_to(&host->self, to, &here);
            struct cv_message *other = next_to(&twins->host.self, twin->names[to], &there);
            if (!one && !other)
                break;
            if (!one || !other || one->kind != other->kind || one->words != other->words)
                return ANOTHER_STEP;
            const uint32_t number = model_add_message(twins->model, one, host->alive);
            other->clock = clock_of(&twin->setting, host->alive, other->clock) & ((1ull << 40) - 1);
            const uint32_t its = intern_add(&twins->messages, other, cv_message_bytes(other));
            if (its == INTERN_NONE)
                twins->model->out_of_memory = true;
            else if (!note(twins, &twin->messages, &twin->message_room, number, its))
                likeness = ANOTHER_STATE;
        }
    }
    return likeness;
}

/* The twin has taken the step in `scratch`: has it done what the node did that is at that place now? */
static enum likeness compare(struct twins *twins, struct twin *twin, const struct host *host, uint32_t node_state)
{
    const struct node_state *one = model_node_state(twins->model, node_state), *other = twins->scratch;
    const struct host *its = &twins->host;
    const uint32_t seen = ~(uint32_t)CV_DID_NOTE;
    if ((host->self.effects & seen) != (its->self.effects & seen) || one->flags != other->flags ||
        one->left != other->left || one->clock != other->clock || host->late != its->late ||
        host->chosen != its->chosen)
        return ANOTHER_STEP;
    if (host->self.effects & CV_DID_ENTER && !note_fence(twins, twin, host->self.fence, its->self.fence))
        return ANOTHER_STEP;
    const enum likeness likeness = compare_messages(twins, twin, host);
    if (likeness != THE_SAME)
        return likeness;
    const uint32_t number = intern_add(&twins->node_states, other, node_state_bytes(&twin->setting, other->node));
    if (number == INTERN_NONE) {
        twins->model->out_of_memory = true;
        return THE_SAME;
    }
    return note(twins, &twin->node_states, &twin->node_state_room, node_state, number) ? THE_SAME : ANOTHER_STATE;
}

void twins_begin(struct twins *twins, const struct host *host, cv_node node, uint32_t node_state)
{
    pthread_mutex_lock(&twins->lock);
    for (uint32_t i = 0; i < twins->count; i++) {
        struct twin *twin = &twins->twins[i];
        twins->host.setting = &twin->setting;
        twins->host.late = false; /* of an earlier step */
        if (!host_begin(&twins->host, twins->scratch, twin->names[node]))
            continue; /* so does the node of that name */
        note_fence(twins, twin, FIRST_FENCE, FIRST_FENCE);
        if (compare(twins, twin, host, node_state) != THE_SAME)
            model_break_promise(twins->model, true,
                                "this algorithm compares ids: `alike` is wrong: node %u begins otherwise than node %u",
                                twin->setting.group.ids[twin->names[node]], twin->setting.group.ids[node]);
    }
    pthread_mutex_unlock(&twins->lock);
}

static const void *known(const struct intern *intern, const uint32_t *numbers, uint32_t room, uint32_t number)
{
    return number < room && numbers[number] ? intern_bytes(intern, numbers[number] - 1) : NULL;
}

static void follow(struct twins *twins, struct twin *twin, const struct host *host, uint32_t node_state,
                   enum cv_decision_type type, uint32_t argument, uint32_t alive, const struct outcome *outcome)
{
    struct host *its = &twins->host;
    const bool delivery = type == CV_DECIDE_DELIVER;
    const struct node_state *before = known(&twins->node_states, twin->node_states, twin->node_state_room, node_state);
    const struct cv_message *message =
        delivery ? known(&twins->messages, twin->messages, twin->message_room, argument) : NULL;
    if (!before || (delivery && !message)) {
        cannot_tell(twins); /* it did not come about by a step */
        return;
    }
    const size_t length = node_state_bytes(&twin->setting, before->node);
    its->setting = &twin->setting;
    if (!host->chosen && !host->leap) {
        const struct trial trial = {its, twins->scratch, before, length, type, argument, alive, message};
        if (twin->setting.order.strict && equal_times_matter(&trial))
            twins->model->tied = true;
    }
    memcpy(twins->scratch, before, length);
    its->leap = host->leap;
    its->script_length = host->chosen;
    memcpy(its->script, host->script, sizeof its->script);
    const char *broken = host_step(its, twins->scratch, alive, type, argument, message);
    const bool judged_alike = (broken != NULL) == ((outcome->flags & OUTCOME_BROKEN) != 0);
    const enum likeness likeness = judged_alike ? compare(twins, twin, host, outcome->node_state) : ANOTHER_STEP;
    if (likeness == ANOTHER_STEP)
        complain(twins, twin, host, type, delivery ? model_message(twins->model, argument) : NULL);
    else if (likeness == ANOTHER_STATE)
        cannot_tell(twins);
}

void twins_follow(struct twins *twins, const struct host *host, uint32_t node_state, enum cv_decision_type type,
                  uint32_t argument, uint32_t alive, const struct outcome *outcome)
{
    pthread_mutex_lock(&twins->lock);
    const uint32_t some = sample_some(twins->model->before + twins->steps++, twins->count);
    for (uint32_t i = 0; i < some && !twins->model->unlike; i++)
        follow(twins, &twins->twins[i], host, node_state, type, argument, alive, outcome);
    pthread_mutex_unlock(&twins->lock);
}
