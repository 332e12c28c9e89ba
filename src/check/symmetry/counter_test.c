// SPDX-License-Identifier: MIT
/*
 * Every step that is worked out is taken again with higher numbers: those that the node and the message have of a
 * family are raised by the same amount, each family by another. The step must do what it did, with what it makes of
 * these numbers raised by the same amount. Then a state whose numbers are lowered goes on as the state itself does.
 *
 * Where a step makes numbers of a family of which it sees none, that family begins, at whatever number: those it begins
 * with must have the same distances. That is right as long as there are none of it elsewhere: recount.c looks.
 */
#include "check/symmetry/counter_test.h"

#include <stdlib.h>

#include "check/step/trap.h"

struct counting_test {
    struct model *model;
    struct host host;
    struct node_state *scratch;
    pthread_mutex_t lock;
};

int counting_test_new(struct counting_test **out, struct model *model)
{
    size_t largest = 0;
    *out = NULL;
    if (!model->setting.counts)
        return 0;
    struct counting_test *test = calloc(1, sizeof *test);
    if (!test)
        return CV_ENOMEM;
    test->model = model;
    for (cv_node node = 0; node < model->setting.nodes; node++)
        largest = node_state_bytes(&model->setting, node) > largest ? node_state_bytes(&model->setting, node) : largest;
    test->scratch = calloc(1, largest);
    pthread_mutex_init(&test->lock, NULL);
    if (host_init(&test->host, &model->setting) || !test->scratch) {
        counting_test_free(test);
        return CV_ENOMEM;
    }
    *out = test;
    return 0;
}

void counting_test_free(struct counting_test *test)
{
    if (!test)
        return;
    host_free(&test->host);
    pthread_mutex_destroy(&test->lock);
    free(test->scratch);
    free(test);
}

/* ---- the numbers of a node, or of a message ---- */

enum pass { LOOK, RAISE, LOWER };

struct probe {
    struct cv_counting counting; /* first, so that the one is the other */
    const struct setting *setting;
    enum pass pass;
    uint32_t seen;                       /* a bit for each family of which there are numbers other than 0, */
    uint64_t least[CV_CHECK_MOST_NODES]; /* and the least of these */
    uint64_t by[CV_CHECK_MOST_NODES];    /* how much a family is raised, and lowered */
    const unsigned char *begin, *end;    /* where numbers may be */
    const char *wrong;                   /* what is, or NULL */
    cv_node node;                        /* whose it is, */
    void *state;                         /* its state, */
    struct cv_message *message;          /* or else a message */
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
    probe->setting->algorithm->counters(&probe->counting, probe->node, probe->state, probe->message);
}

/* It may fail like any handler. */
static void visit(struct probe *probe)
{
    struct mishap mishap;
    if (!probe->wrong && !guard_call(call_counters, probe, &mishap))
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

/* ---- a step ---- */

struct stage {
    const struct host *host; /* that took it as it is */
    uint32_t node_state;
    enum cv_decision_type type;
    uint32_t argument, alive;
    const struct outcome *outcome;
    struct cv_message *message; /* a copy; NULL: it is no delivery */
};

/* The node and the message before the step. */
static void set_up(struct counting_test *test, struct stage *stage)
{
    const struct intern_record *record = intern_record(&test->model->node_states, stage->node_state);
    memcpy(test->scratch, record->bytes, record->length);
    if (stage->message) {
        const struct cv_message *message = model_message(test->model, stage->argument);
        memcpy(stage->message, message, cv_message_bytes(message));
    }
}

static bool sends_the_same(struct counting_test *test, const struct stage *stage)
{
    const struct cv_self *me = &test->host.self;
    uint32_t sent = 0;
    for (size_t at = 0; at < me->used; sent++) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        at += cv_message_bytes(message);
        if (sent >= stage->outcome->send_count ||
            model_add_message(test->model, message, stage->alive) != stage->outcome->sends[sent].message)
            return false;
    }
    return sent == stage->outcome->send_count;
}

static bool is_the_same(struct counting_test *test, const struct stage *stage, const char *broken)
{
    const struct cv_self *one = &stage->host->self, *other = &test->host.self;
    const uint32_t seen = ~(uint32_t)CV_DID_NOTE;
    return (one->effects & seen) == (other->effects & seen) && stage->host->chosen == test->host.chosen &&
           (broken != NULL) == ((stage->outcome->flags & OUTCOME_BROKEN) != 0) &&
           (!(one->effects & CV_DID_ENTER) || one->fence == other->fence) && sends_the_same(test, stage) &&
           model_add_node_state(test->model, test->scratch) == stage->outcome->node_state;
}

/* Looks at the numbers of what a step leads to. */
static void look(struct probe *probe, struct node_state *node_state, const struct cv_self *me)
{
    probe->pass = LOOK;
    probe->seen = 0;
    visit_node_state(probe, node_state);
    visit_outbox(probe, me);
}

/* A step as it is: of which families it sees numbers, and which begin with it, at which number. */
struct families {
    uint32_t seen, begun;
    uint64_t least[CV_CHECK_MOST_NODES];
};

static void try_raised(struct counting_test *test, struct stage *stage, const struct families *families,
                       struct probe *probe)
{
    struct host *host = &test->host;
    set_up(test, stage);
    probe->pass = RAISE;
    visit_node_state(probe, test->scratch);
    if (stage->message)
        visit_message(probe, stage->message);
    host->leap = stage->host->leap;
    host->script_length = stage->host->chosen;
    memcpy(host->script, stage->host->script, sizeof host->script);
    const char *broken = host_step(host, test->scratch, stage->alive, stage->type, stage->argument, stage->message);
    look(probe, test->scratch, &host->self);
    for (uint32_t rest = families->begun & probe->seen; rest; rest &= rest - 1) {
        const uint32_t family = (uint32_t)__builtin_ctz(rest);
        probe->by[family] = probe->least[family] - families->least[family];
    }
    probe->pass = LOWER;
    visit_node_state(probe, test->scratch);
    visit_outbox(probe, &host->self);
    if (!probe->wrong && !is_the_same(test, stage, broken))
        probe->wrong = "more is made of numbers than to compare them";
}

/* Amounts that differ from family to family, from step to step; not too far away, since numbers have their limits. */
#define ROUNDS 2u
#define FAR_AWAY (1u << 20)

static const char *try_step(struct counting_test *test, struct stage *stage)
{
    struct probe probe = {.counting.count = probe_number, .setting = &test->model->setting};
    struct families families;
    set_up(test, stage);
    const uint64_t hash = (uint64_t)stage->node_state * 0x9e3779b97f4a7c15u + stage->argument;
    visit_node_state(&probe, test->scratch);
    if (stage->message)
        visit_message(&probe, stage->message);
    families.seen = probe.seen;
    memcpy(test->scratch, model_node_state(test->model, stage->outcome->node_state),
           intern_record(&test->model->node_states, stage->outcome->node_state)->length);
    look(&probe, test->scratch, &stage->host->self);
    families.begun = probe.seen & ~families.seen;
    memcpy(families.least, probe.least, sizeof families.least);
    stage->outcome->detail->begun = families.begun;
    for (uint32_t round = 0; round < ROUNDS && families.seen && !probe.wrong; round++) {
        for (uint32_t family = 0; family < CV_CHECK_MOST_NODES; family++)
            probe.by[family] = round ? FAR_AWAY + (hash >> family) % 61 : 1 + (hash >> family) % 7;
        try_raised(test, stage, &families, &probe);
    }
    return probe.wrong;
}

void counting_follow(struct counting_test *test, const struct host *host, uint32_t node_state,
                     enum cv_decision_type type, uint32_t argument, uint32_t alive, const struct outcome *outcome)
{
    struct model *model = test->model;
    const struct cv_message *message = type == CV_DECIDE_DELIVER ? model_message(model, argument) : NULL;
    struct stage stage = {host, node_state, type, argument, alive, outcome, NULL};
    if (message && !(stage.message = malloc(cv_message_bytes(message)))) {
        model->out_of_memory = true;
        return;
    }
    pthread_mutex_lock(&test->lock);
    const char *wrong = try_step(test, &stage);
    pthread_mutex_unlock(&test->lock);
    free(stage.message);
    if (wrong) {
        char doing[64];
        model_describe(model, model_node_state(model, node_state)->node, type, message, doing, sizeof doing);
        model->miscounted = true;
        model_break_promise(model, true, "`counters` is wrong: %s: %s", doing, wrong);
    }
}
