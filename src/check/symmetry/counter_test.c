// SPDX-License-Identifier: MIT
/*
 * The test takes every computed step again with higher counters: it raises the counters of a family, in the node state
 * and in the message, by the same amount, each family by another. The step must do the same, with its counters raised
 * by the same amounts. Then a state with lowered counters has the same future as the state itself.
 *
 * A step may create counters of a family of which it sees none. Then that family begins, at any number, and only the
 * differences between its counters must be the same. This is sound as long as the family has no counters elsewhere;
 * renumber.c checks that.
 */
#include "check/symmetry/counter_test.h"

#include <stdlib.h>

#include "guard/trap.h"

struct counter_test {
    struct promise_test test; /* first, so that one pointer is the other */
    struct model *model;
    struct runner runner;
    struct node_state *scratch;
    pthread_mutex_t lock;
};

static void free_test(struct promise_test *base)
{
    struct counter_test *test = (struct counter_test *)(void *)base;
    runner_free(&test->runner);
    pthread_mutex_destroy(&test->lock);
    free(test->scratch);
    free(test);
}

static void follow(struct promise_test *base, const struct computed_step *step);

int counter_test_register(struct model *model)
{
    if (!model->setting.renumbers)
        return 0;
    struct counter_test *test = calloc(1, sizeof *test);
    if (!test)
        return CV_ENOMEM;
    *test = (struct counter_test){.test = {.follow = follow, .free = free_test}, .model = model};
    test->scratch = calloc(1, node_state_most_bytes(&model->setting));
    pthread_mutex_init(&test->lock, NULL);
    if (runner_init(&test->runner, &model->setting) || !test->scratch) {
        free_test(&test->test);
        return CV_ENOMEM;
    }
    model_add_promise_test(model, &test->test);
    return 0;
}

/* ---- the counters of a node, or of a message ---- */

enum pass { LOOK, RAISE, LOWER };

struct probe {
    struct cv_counting counting; /* first, so that one pointer is the other */
    const struct setting *setting;
    enum pass pass;
    uint32_t seen;                       /* a bit for each family that has counters other than 0 */
    uint64_t least[CV_CHECK_MOST_NODES]; /* by family: the least of these */
    uint64_t by[CV_CHECK_MOST_NODES];    /* by family: how much it is raised or lowered */
    const unsigned char *begin;          /* counters must be from here */
    const unsigned char *end;            /* to here */
    const char *wrong;                   /* what is wrong, or NULL */
    cv_node node;                        /* the owner */
    void *state;                         /* the owner's state; NULL: a message is visited */
    struct cv_message *message;          /* NULL: a state is visited */
};

static void probe_number(struct cv_counting *counting, uint32_t family, uint64_t *number)
{
    struct probe *probe = (struct probe *)(void *)counting;
    const unsigned char *bytes = (const unsigned char *)number;
    if (bytes < probe->begin || bytes + sizeof *number > probe->end) {
        probe->wrong = "a number is not in the state, nor in the message";
        return;
    }
    if (family >= CV_CHECK_MOST_NODES) {
        probe->wrong = "a family has a number over 15";
        return;
    }
    if (!*number)
        return;
    if (probe->pass == LOOK) {
        const bool first = !(probe->seen & 1u << family);
        probe->least[family] = first || *number < probe->least[family] ? *number : probe->least[family];
        probe->seen |= 1u << family;
    } else if (probe->pass == LOWER && *number - probe->by[family] == 0)
        probe->wrong = "a number does not rise with its family";
    else
        *number += probe->pass == RAISE ? probe->by[family] : -probe->by[family];
}

static void call_counters(void *context)
{
    struct probe *probe = context;
    probe->setting->algorithm->hints.counters(&probe->counting, probe->node, probe->state, probe->message);
}

/* `counters` may fail like any handler. */
static void visit(struct probe *probe)
{
    struct cv_failure failure;
    if (!probe->wrong && !cv_trap_call(call_counters, probe, &failure))
        probe->wrong = "it fails";
}

static void visit_node_state(struct probe *probe, struct node_state *node_state)
{
    if (!(node_state->flags & NODE_ALIVE))
        return;
    probe->node = node_state->node;
    probe->state = node_state->state;
    probe->message = NULL;
    probe->begin = (const unsigned char *)node_state->state;
    probe->end = (const unsigned char *)node_state + node_state_bytes(probe->setting, node_state->node);
    visit(probe);
}

static void visit_message(struct probe *probe, struct cv_message *message)
{
    probe->node = message->from;
    probe->state = NULL;
    probe->message = message;
    probe->begin = (const unsigned char *)message->body;
    probe->end = (const unsigned char *)message + cv_message_bytes(message);
    visit(probe);
}

static void visit_outbox(struct probe *probe, const struct cv_self *me)
{
    for (size_t at = 0; at < me->used;) {
        struct cv_message *message = (void *)(me->outbox + at);
        at += cv_message_bytes(message);
        visit_message(probe, message);
    }
}

/* ---- a step with higher counters ---- */

struct repetition {
    const struct computed_step *step;
    struct cv_message *message; /* a copy; NULL: it is no delivery */
};

/* Copies the node state and the message from before the step. */
static void set_up(struct counter_test *test, struct repetition *repetition)
{
    const struct intern_record *record = intern_record(&test->model->node_states, repetition->step->node_state);
    memcpy(test->scratch, record->bytes, record->length);
    if (repetition->message) {
        const struct cv_message *message = model_message(test->model, repetition->step->argument);
        memcpy(repetition->message, message, cv_message_bytes(message));
    }
}

static bool sends_same(struct counter_test *test, const struct repetition *repetition)
{
    const struct cv_self *me = &test->runner.self;
    uint32_t sent = 0;
    for (size_t at = 0; at < me->used; sent++) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        if (sent >= repetition->step->outcome->send_count ||
            model_add_message(test->model, message, repetition->step->alive) !=
                repetition->step->outcome->sends[sent].message)
            return false;
    }
    return sent == repetition->step->outcome->send_count;
}

static bool has_same_result(struct counter_test *test, const struct repetition *repetition, const char *broken)
{
    const struct cv_self *one = &repetition->step->runner->self, *other = &test->runner.self;
    const uint32_t seen = ~(uint32_t)CV_DID_NOTE;
    return (one->effects & seen) == (other->effects & seen) &&
           repetition->step->runner->chosen == test->runner.chosen &&
           (broken != NULL) == ((repetition->step->outcome->flags & OUTCOME_BROKEN) != 0) &&
           (!(one->effects & CV_DID_ENTER) || one->fence == other->fence) && sends_same(test, repetition) &&
           model_add_node_state(test->model, test->scratch) == repetition->step->outcome->node_state;
}

/* Looks at the counters after a step. */
static void look(struct probe *probe, struct node_state *node_state, const struct cv_self *me)
{
    probe->pass = LOOK;
    probe->seen = 0;
    visit_node_state(probe, node_state);
    visit_outbox(probe, me);
}

struct families {
    uint32_t seen;                       /* a bit for each family that the step sees */
    uint32_t begun;                      /* a bit for each family that begins with the step */
    uint64_t least[CV_CHECK_MOST_NODES]; /* the least counter after the step */
};

static void try_raised(struct counter_test *test, struct repetition *repetition, const struct families *families,
                       struct probe *probe)
{
    struct runner *runner = &test->runner;
    set_up(test, repetition);
    probe->pass = RAISE;
    visit_node_state(probe, test->scratch);
    if (repetition->message)
        visit_message(probe, repetition->message);
    runner->clock_ahead = repetition->step->runner->clock_ahead;
    runner->script_length = repetition->step->runner->chosen;
    memcpy(runner->script, repetition->step->runner->script, sizeof runner->script);
    const char *broken = runner_step(runner, test->scratch, repetition->step->alive, repetition->step->type,
                                     repetition->step->argument, repetition->message);
    look(probe, test->scratch, &runner->self);
    for (uint32_t rest = families->begun & probe->seen; rest; rest &= rest - 1) {
        const uint32_t family = (uint32_t)__builtin_ctz(rest);
        probe->by[family] = probe->least[family] - families->least[family];
    }
    probe->pass = LOWER;
    visit_node_state(probe, test->scratch);
    visit_outbox(probe, &runner->self);
    if (!probe->wrong && !has_same_result(test, repetition, broken))
        probe->wrong = "more is made of numbers than to compare them";
}

/* The amounts differ by family and step. They are not too large, since counters may have limits. */
#define ROUNDS 2u
#define FAR_AWAY (1u << 20)

static const char *try_step(struct counter_test *test, struct repetition *repetition)
{
    struct probe probe = {.counting.count = probe_number, .setting = &test->model->setting};
    struct families families;
    set_up(test, repetition);
    const uint64_t hash = (uint64_t)repetition->step->node_state * 0x9e3779b97f4a7c15u + repetition->step->argument;
    visit_node_state(&probe, test->scratch);
    if (repetition->message)
        visit_message(&probe, repetition->message);
    families.seen = probe.seen;
    memcpy(test->scratch, model_node_state(test->model, repetition->step->outcome->node_state),
           intern_record(&test->model->node_states, repetition->step->outcome->node_state)->length);
    look(&probe, test->scratch, &repetition->step->runner->self);
    families.begun = probe.seen & ~families.seen;
    memcpy(families.least, probe.least, sizeof families.least);
    repetition->step->outcome->detail->begun = families.begun;
    for (uint32_t round = 0; round < ROUNDS && families.seen && !probe.wrong; round++) {
        for (uint32_t family = 0; family < CV_CHECK_MOST_NODES; family++)
            probe.by[family] = round ? FAR_AWAY + (hash >> family) % 61 : 1 + (hash >> family) % 7;
        try_raised(test, repetition, &families, &probe);
    }
    return probe.wrong;
}

static void follow(struct promise_test *base, const struct computed_step *step)
{
    struct counter_test *test = (struct counter_test *)(void *)base;
    struct model *model = test->model;
    const struct cv_message *message = step->type == CV_DECIDE_DELIVER ? model_message(model, step->argument) : NULL;
    struct repetition repetition = {step, NULL};
    if (message && !(repetition.message = malloc(cv_message_bytes(message)))) {
        model->out_of_memory = true;
        return;
    }
    pthread_mutex_lock(&test->lock);
    const char *wrong = try_step(test, &repetition);
    pthread_mutex_unlock(&test->lock);
    free(repetition.message);
    if (wrong) {
        char doing[64];
        model_describe(model, model_node_state(model, step->node_state)->node, step->type, message, doing,
                       sizeof doing);
        model->counters_fail = true;
        model_doubt_promise(model, true, "`counters` is wrong: %s: %s", doing, wrong);
    }
}
