// SPDX-License-Identifier: MIT
/*
 * Toy algorithms for tests of the simulator: a test fills in the handlers it needs, plans a run in the words of the
 * command line, and compares its events with an expected text.
 */
#ifndef CONCLAVE_TESTS_TOY_H
#define CONCLAVE_TESTS_TOY_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/scenario/plan.h"
#include "property/property.h"
#include "sim/sim.h"

#define BOOK_BYTES 65536u
#define ALL_EVENTS UINT32_MAX
#define ONLY(type) (1u << (type))

struct toy {
    struct cv_algorithm algorithm;
    struct cv_plan plan;
    struct cv_sim_options options;
    bool unwatched;
    uint32_t noted; /* a bit per type of event that is written down */

    struct cv_scenario scenario;
    struct cv_sim *sim;
    struct cv_run run;
    struct cv_judgement judgement;
    char book[BOOK_BYTES]; /* "1 receive 1>2 ping; 1 crash 3; " */
    size_t used;
};

static inline void toy_note(void *context, const struct cv_event *event)
{
    struct toy *toy = context;
    if (!(toy->noted & ONLY(event->type)))
        return;
    const cv_id *ids = toy->scenario.group.ids;
    const struct cv_kind *kinds = toy->algorithm.kinds;
    const unsigned node = event->node == CV_NOBODY ? 0 : ids[event->node];
    const unsigned peer = event->peer == CV_NOBODY ? 0 : ids[event->peer];
    char *end = toy->book + toy->used;
    const size_t room = BOOK_BYTES - toy->used;
    int length = snprintf(end, room, "%llu %s", (unsigned long long)event->time, cv_event_name(event->type));
    assert_true(length > 0 && (size_t)length + 64 < room);
    switch (event->type) {
    case CV_EVENT_SEND:
        length += sprintf(end + length, " %u>%u %s", node, peer, kinds[event->content->kind].name);
        break;
    case CV_EVENT_RECEIVE:
    case CV_EVENT_LOST:
        length += sprintf(end + length, " %u>%u %s", peer, node, kinds[event->content->kind].name);
        break;
    case CV_EVENT_SUSPECT:
    case CV_EVENT_TRUST:
        length += sprintf(end + length, " %u:%u", node, peer);
        break;
    case CV_EVENT_ELECTED:
        length += sprintf(end + length, " %u=%llu", node, (unsigned long long)event->detail);
        break;
    case CV_EVENT_TIMEOUT:
    case CV_EVENT_NOTE:
        length += sprintf(end + length, " %u %s", node, event->text);
        break;
    case CV_EVENT_CUT:
    case CV_EVENT_HEAL:
        break;
    default:
        length += sprintf(end + length, " %u", node);
    }
    toy->used += (size_t)length + (size_t)sprintf(end + length, "; ");
}

/* A toy with nothing in it. */
static inline struct toy *toy_new(void)
{
    struct toy *toy = calloc(1, sizeof *toy);
    assert_non_null(toy);
    toy->algorithm = (struct cv_algorithm){.abi = CV_ABI,
                                           .problem = CV_ELECTION,
                                           .name = "toy",
                                           .title = "A toy",
                                           .citation = "this test",
                                           .topology = CV_COMPLETE};
    toy->plan = (struct cv_plan){.nodes = "3", .seed = 1};
    toy->noted = ALL_EVENTS;
    return toy;
}

/* Another word of an option that may be given several times. */
static inline void toy_say(struct cv_words *words, const char *word)
{
    assert_int_equal(cv_words_add(words, word), 0);
}

static inline void toy_run(struct toy *toy)
{
    struct cv_complaint complaint = {{0}};
    toy->plan.algorithm = &toy->algorithm;
    if (!toy->unwatched)
        toy->options.observer = (struct cv_observer){toy_note, toy, NULL};
    if (cv_plan_build(&toy->plan, &toy->scenario, &complaint))
        fail_msg("%s", complaint.text);
    assert_int_equal(cv_sim_new(&toy->sim, &toy->scenario, &toy->options), 0);
    assert_int_equal(cv_sim_run(toy->sim, &toy->run), 0);
    assert_int_equal(cv_judge(&toy->run, &toy->judgement, &complaint), 0);
}

static inline void toy_expect(const struct toy *toy, const char *book)
{
    assert_string_equal(toy->book, book);
}

/* How often a text occurs in the book. */
static inline unsigned toy_count(const struct toy *toy, const char *what)
{
    unsigned count = 0;
    for (const char *at = toy->book; (at = strstr(at, what)); at++)
        count++;
    return count;
}

static inline const struct cv_finding *toy_finding(const struct toy *toy, const char *name)
{
    for (uint32_t i = 0; i < toy->judgement.finding_count; i++)
        if (strcmp(toy->judgement.findings[i].name, name) == 0)
            return &toy->judgement.findings[i];
    fail_msg("no finding %s", name);
    return NULL;
}

static inline void toy_free(struct toy *toy)
{
    cv_sim_free(toy->sim);
    cv_scenario_free(&toy->scenario);
    cv_plan_free(&toy->plan);
    free(toy);
}

#endif
