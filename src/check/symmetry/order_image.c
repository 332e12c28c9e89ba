// SPDX-License-Identifier: MIT
/*
 * An image is an order that is left out, with the names that map the searched order to it. Nothing says where a node
 * state or a message contains names. So the images of states and messages are found by following steps: the node of the
 * other name begins in a state of its own; whenever a step is computed, that node takes the same step, with the image
 * of the message, and the result is the image of the new state. It must send the images of the messages to the images
 * of the receivers, enter when the node enters, and so on. Every state and every message must have one image, on
 * whatever path it is reached. Then both searches are the same, state by state, and a property holds in both or in
 * neither.
 *
 * If an image takes another step, the promise is broken. If only the bytes of a state depend on the path, that proves
 * nothing, but the order must be searched. Images are tested with equal times, too.
 */
#include "check/symmetry/order_image.h"

#include <stdio.h>
#include <stdlib.h>

#include "check/step/equal_times.h"
#include "check/symmetry/order_symmetry.h"

#define FIRST_NUMBERS 1024u

/* A fence of the searched order and its image. Both must rise together. */
struct fence_pair {
    uint64_t one, other;
};

struct order_image {
    struct setting setting;             /* with the image of the order */
    cv_node names[CV_CHECK_MOST_NODES]; /* by node of the searched order */
    uint32_t *node_states;              /* by number in the model: its number in `images`, plus 1; 0: not seen yet */
    uint32_t *messages;                 /* the same */
    uint32_t node_state_room;
    uint32_t message_room;
    struct fence_pair *fences; /* ascending */
    uint32_t fence_count;
    uint32_t fence_room;
};

struct order_images {
    struct promise_test test; /* first, so that one pointer is the other */
    struct model *model;
    struct runner runner;
    struct node_state *scratch;
    struct intern node_states; /* of all images */
    struct intern messages;    /* of all images */
    struct order_image *list;
    uint32_t count;
    uint32_t room;
    uint64_t steps; /* followed so far */
    pthread_mutex_t lock;
};

/* ---- the images ---- */

static void add_image(void *context, const struct order *order, const cv_node *names)
{
    struct order_images *images = context;
    for (uint32_t i = 0; i < images->count; i++)
        if (memcmp(images->list[i].setting.order.masks, order->masks, order->ranks * sizeof *order->masks) == 0)
            return;
    if (images->count == images->room) {
        const uint32_t room = images->room ? images->room * 2 : 8;
        struct order_image *more = realloc(images->list, room * sizeof *more);
        if (!more) {
            images->model->out_of_memory = true;
            return;
        }
        images->list = more;
        images->room = room;
    }
    struct order_image *image = &images->list[images->count++];
    *image = (struct order_image){.setting = images->model->setting};
    image->setting.order = *order;
    memcpy(image->names, names, images->model->setting.nodes * sizeof *names);
}

static void free_images(struct promise_test *base)
{
    struct order_images *images = (struct order_images *)(void *)base;
    for (uint32_t i = 0; i < images->count; i++) {
        free(images->list[i].node_states);
        free(images->list[i].messages);
        free(images->list[i].fences);
    }
    intern_free(&images->node_states);
    intern_free(&images->messages);
    runner_free(&images->runner);
    pthread_mutex_destroy(&images->lock);
    free(images->list);
    free(images->scratch);
    free(images);
}

static void begin(struct promise_test *base, const struct runner *runner, uint32_t node_state);
static void follow(struct promise_test *base, const struct computed_step *step);

int order_images_register(struct model *model)
{
    struct order_images *images = calloc(1, sizeof *images);
    if (!images)
        return CV_ENOMEM;
    images->test = (struct promise_test){.begin = begin, .follow = follow, .free = free_images};
    images->model = model;
    order_symmetry_images(&model->setting, add_image, images);
    images->scratch = calloc(1, node_state_most_bytes(&model->setting));
    pthread_mutex_init(&images->lock, NULL);
    const bool failed = intern_init(&images->node_states, 0) || intern_init(&images->messages, 0) ||
                        runner_init(&images->runner, &model->setting) || !images->scratch || model->out_of_memory;
    if (failed || !images->count)
        free_images(&images->test);
    else
        model_add_promise_test(model, &images->test);
    return failed ? CV_ENOMEM : 0;
}

/* ---- comparing ---- */

static void rename_ids(const struct order_images *images, const struct order_image *image, char *text, size_t size)
{
    const cv_id *ids = images->model->setting.group.ids;
    size_t used = 0;
    for (cv_node node = 0; node < images->model->setting.nodes && used < size; node++)
        if (image->names[node] != node)
            used += (size_t)snprintf(text + used, size - used, "%s%u for %u", used ? ", " : "", ids[image->names[node]],
                                     ids[node]);
}

static void complain(struct order_images *images, const struct order_image *image, const struct computed_step *step,
                     const struct cv_message *message)
{
    char names[64] = "", doing[64];
    rename_ids(images, image, names, sizeof names);
    model_describe(images->model, step->runner->self.node, step->type, message, doing, sizeof doing);
    model_doubt_promise(images->model, true,
                        "this algorithm compares ids: `alike` is wrong: with %s, %s has another result", names, doing);
}

static void cannot_tell(struct order_images *images)
{
    model_doubt_promise(images->model, false,
                        "`alike` cannot be confirmed: under other names a state depends on how it came about");
}

/* Notes an image; false if there was another one before. */
static bool note(struct order_images *images, uint32_t **numbers, uint32_t *room, uint32_t number, uint32_t image)
{
    if (number >= *room) {
        uint32_t wanted = *room ? *room : FIRST_NUMBERS;
        while (wanted <= number)
            wanted *= 2;
        uint32_t *more = realloc(*numbers, wanted * sizeof *more);
        if (!more) {
            images->model->out_of_memory = true;
            return true;
        }
        memset(more + *room, 0, (wanted - *room) * sizeof *more);
        *numbers = more;
        *room = wanted;
    }
    if (!(*numbers)[number])
        (*numbers)[number] = image + 1;
    return (*numbers)[number] == image + 1;
}

/* Notes a pair of fences; false if they do not rise together. */
static bool note_fence(struct order_images *images, struct order_image *image, uint64_t one, uint64_t other)
{
    uint32_t at = 0;
    while (at < image->fence_count && image->fences[at].one < one)
        at++;
    if (at < image->fence_count && image->fences[at].one == one)
        return image->fences[at].other == other;
    if ((at && image->fences[at - 1].other >= other) || (at < image->fence_count && image->fences[at].other <= other))
        return false;
    if (image->fence_count == image->fence_room) {
        const uint32_t room = image->fence_room ? image->fence_room * 2 : 16;
        struct fence_pair *more = realloc(image->fences, room * sizeof *more);
        if (!more) {
            images->model->out_of_memory = true;
            return true;
        }
        image->fences = more;
        image->fence_room = room;
    }
    memmove(&image->fences[at + 1], &image->fences[at], (image->fence_count++ - at) * sizeof *image->fences);
    image->fences[at] = (struct fence_pair){one, other};
    return true;
}

/* The next message to a node in an outbox, from offset `at` on; NULL after the last. */
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

enum comparison { THE_SAME, ANOTHER_STATE, ANOTHER_STEP };

static enum comparison compare_messages(struct order_images *images, struct order_image *image,
                                        const struct runner *runner)
{
    const struct model *model = images->model;
    enum comparison comparison = THE_SAME;
    if (runner->self.used != images->runner.self.used)
        return ANOTHER_STEP;
    for (cv_node to = 0; to < model->setting.nodes; to++) {
        size_t here = 0, there = 0;
        for (;;) {
            const struct cv_message *one = next_to(&runner->self, to, &here);
            struct cv_message *other = next_to(&images->runner.self, image->names[to], &there);
            if (!one && !other)
                break;
            if (!one || !other || one->kind != other->kind || one->words != other->words)
                return ANOTHER_STEP;
            const uint32_t number = model_add_message(images->model, one, runner->alive);
            other->clock = setting_clock(&image->setting, runner->alive, other->clock) & CV_CLOCK_MASK;
            const uint32_t its = intern_add(&images->messages, other, cv_message_bytes(other));
            if (its == INTERN_NONE)
                images->model->out_of_memory = true;
            else if (!note(images, &image->messages, &image->message_room, number, its))
                comparison = ANOTHER_STATE;
        }
    }
    return comparison;
}

/* The image took the step in `scratch`, the node ended in `node_state`: did both do the same? */
static enum comparison compare(struct order_images *images, struct order_image *image, const struct runner *runner,
                               uint32_t node_state)
{
    const struct node_state *one = model_node_state(images->model, node_state), *other = images->scratch;
    const struct runner *its = &images->runner;
    const uint32_t seen = ~(uint32_t)CV_DID_NOTE;
    if ((runner->self.effects & seen) != (its->self.effects & seen) || one->flags != other->flags ||
        one->requests_left != other->requests_left || one->clock != other->clock || runner->overdue != its->overdue ||
        runner->chosen != its->chosen)
        return ANOTHER_STEP;
    if (runner->self.effects & CV_DID_ENTER && !note_fence(images, image, runner->self.fence, its->self.fence))
        return ANOTHER_STEP;
    const enum comparison comparison = compare_messages(images, image, runner);
    if (comparison != THE_SAME)
        return comparison;
    const uint32_t number = intern_add(&images->node_states, other, node_state_bytes(&image->setting, other->node));
    if (number == INTERN_NONE) {
        images->model->out_of_memory = true;
        return THE_SAME;
    }
    return note(images, &image->node_states, &image->node_state_room, node_state, number) ? THE_SAME : ANOTHER_STATE;
}

static void begin(struct promise_test *base, const struct runner *runner, uint32_t node_state)
{
    struct order_images *images = (struct order_images *)(void *)base;
    const cv_node node = runner->self.node;
    pthread_mutex_lock(&images->lock);
    for (uint32_t i = 0; i < images->count; i++) {
        struct order_image *image = &images->list[i];
        images->runner.setting = &image->setting;
        images->runner.overdue = false; /* of an earlier step */
        if (!runner_begin(&images->runner, images->scratch, image->names[node]))
            continue; /* the node of that name fails, too */
        note_fence(images, image, FIRST_FENCE, FIRST_FENCE);
        if (compare(images, image, runner, node_state) != THE_SAME)
            model_doubt_promise(images->model, true,
                                "this algorithm compares ids: `alike` is wrong: node %u begins otherwise than node %u",
                                image->setting.group.ids[image->names[node]], image->setting.group.ids[node]);
    }
    pthread_mutex_unlock(&images->lock);
}

/* The bytes of an image; NULL if it is not known. */
static const void *known(const struct intern *intern, const uint32_t *numbers, uint32_t room, uint32_t number)
{
    return number < room && numbers[number] ? intern_bytes(intern, numbers[number] - 1) : NULL;
}

static void follow_in(struct order_images *images, struct order_image *image, const struct computed_step *step)
{
    struct runner *its = &images->runner;
    const struct runner *runner = step->runner;
    const bool delivery = step->type == CV_DECIDE_DELIVER;
    const struct node_state *before =
        known(&images->node_states, image->node_states, image->node_state_room, step->node_state);
    const struct cv_message *message =
        delivery ? known(&images->messages, image->messages, image->message_room, step->argument) : NULL;
    if (!before || (delivery && !message)) {
        cannot_tell(images); /* no step led to it */
        return;
    }
    const size_t length = node_state_bytes(&image->setting, before->node);
    its->setting = &image->setting;
    if (!runner->chosen && !runner->clock_ahead) {
        const struct trial trial = {its,        images->scratch, before,      length,
                                    step->type, step->argument,  step->alive, message};
        if (image->setting.order.strict && equal_times_matter(&trial))
            images->model->equal_times_differ = true;
    }
    memcpy(images->scratch, before, length);
    its->clock_ahead = runner->clock_ahead;
    its->script_length = runner->chosen;
    memcpy(its->script, runner->script, sizeof its->script);
    const char *broken = runner_step(its, images->scratch, step->alive, step->type, step->argument, message);
    const bool judged_equally = (broken != NULL) == ((step->outcome->flags & OUTCOME_BROKEN) != 0);
    const enum comparison comparison =
        judged_equally ? compare(images, image, runner, step->outcome->node_state) : ANOTHER_STEP;
    if (comparison == ANOTHER_STEP)
        complain(images, image, step, delivery ? model_message(images->model, step->argument) : NULL);
    else if (comparison == ANOTHER_STATE)
        cannot_tell(images);
}

static void follow(struct promise_test *base, const struct computed_step *step)
{
    struct order_images *images = (struct order_images *)(void *)base;
    pthread_mutex_lock(&images->lock);
    const uint32_t some = sample_some(images->model->before + images->steps++, images->count);
    for (uint32_t i = 0; i < some && !images->model->promise_doubted; i++)
        follow_in(images, &images->list[i], step);
    pthread_mutex_unlock(&images->lock);
}
