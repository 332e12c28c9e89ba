// SPDX-License-Identifier: MIT
/* Waiting, entering, leaving and views: how transcripts, diagrams, traces and pictures tell them. */
#include "core/error.h"
#include "show/history.h"
#include "show/svg/svg.h"
#include "show/text/diagram.h"
#include "show/text/transcript.h"
#include "show/trace.h"
#include "tale.h"

static struct cv_algorithm mutex;

/* Nodes 3, 32, 5: 3 is inside, 32 waits, 5 dies; a view begins, 32 asks again, 3 leaves, 32 stays inside. */
static void tell(struct tale *tale)
{
    mutex = tale_algorithm;
    mutex.problem = CV_MUTEX;
    tale->scenario.algorithm = &mutex;
    tale->scenario.names = 1;
    tale->scenario.views = true;
    tale->scenario.crash_count = 1;
    tale_wants(tale, 0, NULL);
    tale_does(tale, CV_EVENT_ENTER, 0, 1);
    tale->time = 1;
    tale_wants(tale, 1, NULL);
    const uint64_t one = tale_sends(tale, 1, 0, PONG, 0, false);
    tale->time = 2;
    tale_hears(tale, 0, 1, one, PONG, 0);
    tale_happens(tale, CV_EVENT_CRASH, 2, CV_NOBODY);
    tale->time = 3;
    tale_tell(tale, (struct cv_event){.type = CV_EVENT_VIEW, .node = CV_NOBODY, .peer = 0, .detail = 1});
    tale_wants(tale, 1, "again");
    tale->time = 4;
    tale->clock[0]++;
    tale_does(tale, CV_EVENT_LEAVE, 0, 0);
    const uint64_t two = tale_sends(tale, 0, 1, PONG, 0, false);
    tale->time = 5;
    tale_hears(tale, 1, 0, two, PONG, 0);
    tale_does(tale, CV_EVENT_ENTER, 1, (1ull << CV_VIEW_BITS) + 7);
}

static const char transcript[] = "  1  t=0   3 wants to enter, enters (fence 1)\n"
                                 "  2  t=1  32 wants to enter: pong to 3\n"
                                 "  3  t=2   3 hears pong from 32\n"
                                 "  4  t=2   5 crashes\n"
                                 "  5  t=3  view 1 begins: 3, 32; 3 coordinates\n"
                                 "  6  t=3  32 still wants to enter\n"
                                 "  7  t=4   3 leaves: pong to 32\n"
                                 "  8  t=5  32 hears pong from 3, enters (fence 1·7)\n";

static const char diagram[] = " t   3           32          5\n"
                              " 0   ░ wants     │           │\n"
                              "     █ 1         │           │\n"
                              " 1   █           ░ wants     │\n"
                              " 2   █◀───pong───●           │\n"
                              "     █           ░           ✗ crashes\n"
                              " 3   ╌╌ view 1 begins: 3, 32; 3 coordinates\n"
                              "     █           ░ again     ┊\n"
                              " 4   ▀ leaves    ░           ┊\n"
                              " 5   ●───pong───▶░           ┊\n"
                              "     │           █ 1·7       ┊\n"
                              "                 █           ✗\n"
                              "     ░ waits   █ inside, with its fence   ▀ leaves   ✗ down\n";

static struct cv_history history;

static void make_history(struct tale *tale)
{
    assert_int_equal(cv_history_init(&history, 3), 0);
    tale_begin(tale, 3, (struct cv_observer){cv_history_event, &history, NULL});
    tell(tale);
}

static void the_transcript(void **state)
{
    struct tale tale;
    char *text = NULL;
    size_t size;
    (void)state;
    make_history(&tale);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(cv_transcript_write(out, &tale.scenario, &history, false), 0);
    fclose(out);
    assert_string_equal(text, transcript);
    free(text);
    cv_history_free(&history);
}

static void the_diagram(void **state)
{
    struct tale tale;
    char *text = NULL;
    size_t size;
    (void)state;
    make_history(&tale);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(cv_diagram_write(out, &tale.scenario, &history, &(struct cv_diagram_options){.width = 80}), 0);
    fclose(out);
    assert_string_equal(text, diagram);
    free(text);
    cv_history_free(&history);
}

static void the_counts(void **state)
{
    struct tale tale;
    (void)state;
    make_history(&tale);
    assert_int_equal(history.nodes[0].entries, 1);
    assert_int_equal(history.nodes[0].inside, 0);
    assert_int_equal(history.nodes[1].waiting, 0); /* asking again is no second request */
    assert_int_equal(history.nodes[1].inside, 1);
    cv_history_free(&history);
}

static void the_trace(void **state)
{
    struct tale tale;
    struct cv_trace trace;
    char *text = NULL;
    size_t size;
    (void)state;
    FILE *out = open_memstream(&text, &size);
    tale_begin(&tale, 3, (struct cv_observer){cv_trace_event, &trace, NULL});
    assert_int_equal(cv_trace_begin(&trace, out, &tale.scenario, NULL), 0);
    tell(&tale);
    assert_int_equal(cv_trace_end(&trace, NULL, NULL), 0);
    fclose(out);
    assert_non_null(strstr(text, "\"event\":\"enter\",\"node\":3,\"lamport\":1,\"vector\":{\"3\":1},\"fence\":1}"));
    assert_non_null(strstr(text, "{\"time\":3,\"event\":\"view\",\"coordinator\":3,\"view\":1}"));
    assert_non_null(strstr(text, "\"event\":\"leave\",\"node\":3"));
    assert_non_null(strstr(text, "\"fence\":17179869191"));
    free(text);
}

/* Two bars while waiting, two while inside, the fences at them, a line where the view begins. */
static void the_picture(void **state)
{
    struct tale tale;
    char *text = NULL;
    size_t size;
    (void)state;
    make_history(&tale);
    FILE *out = open_memstream(&text, &size);
    const struct cv_run run = {.scenario = &tale.scenario, .total = 2, .time = 5};
    const struct cv_judgement judgement = {.verdict = CV_HELD};
    assert_int_equal(cv_svg_write(out, &run, &judgement, &history, false), 0);
    fclose(out);
    assert_non_null(strstr(text, "<title>32 waits from 1 to 5</title>"));
    assert_non_null(strstr(text, "<title>3 is inside from 0 to 4, fence 1</title>"));
    assert_non_null(strstr(text, "<title>32 is inside from 5 on, fence 17179869191</title>"));
    assert_non_null(strstr(text, ">1·7</text>"));
    assert_non_null(strstr(text, ">view 1</text>"));
    assert_non_null(strstr(text, ">entered once</text>"));
    assert_non_null(strstr(text, ">is inside</text>"));
    free(text);
    cv_history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_transcript), cmocka_unit_test(the_diagram), cmocka_unit_test(the_counts),
        cmocka_unit_test(the_trace),      cmocka_unit_test(the_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
