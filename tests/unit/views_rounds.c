// SPDX-License-Identifier: MIT
/* Rounds, results and hosted messages: how transcripts, diagrams, traces and pictures tell them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "algorithm/registry.h"
#include "core/error.h"
#include "core/scenario/plan.h"
#include "property/property.h"
#include "show/history.h"
#include "show/shiviz.h"
#include "show/svg/svg.h"
#include "show/text/diagram.h"
#include "show/text/transcript.h"
#include "show/trace.h"
#include "sim/sim.h"

/* A small run, remembered. */
struct played {
    struct cv_plan plan;
    struct cv_scenario scenario;
    struct cv_sim *sim;
    struct cv_run run;
    struct cv_judgement judgement;
    struct cv_history history;
};

static void play(struct played *it, const char *app, const char *graph, const char *nodes)
{
    struct cv_complaint complaint = {{0}};
    *it = (struct played){.plan = {.algorithm = cv_algorithm_find("alpha"),
                                   .app = cv_algorithm_find(app),
                                   .nodes = nodes,
                                   .graph = graph,
                                   .seed = 1}};
    if (strchr(graph, ' '))
        it->plan.graph_text = graph;
    assert_int_equal(cv_words_add(&it->plan.set, "rounds=1"), 0);
    if (cv_plan_build(&it->plan, &it->scenario, &complaint))
        fail_msg("%s", complaint.text);
    assert_int_equal(cv_history_init(&it->history, it->scenario.group.nodes), 0);
    const struct cv_sim_options options = {.observer = {cv_history_event, &it->history, NULL}};
    assert_int_equal(cv_sim_new(&it->sim, &it->scenario, &options), 0);
    assert_int_equal(cv_sim_run(it->sim, &it->run), 0);
    assert_int_equal(cv_judge(&it->run, &it->judgement, &complaint), 0);
}

static void free_played(struct played *it)
{
    cv_history_free(&it->history);
    cv_sim_free(it->sim);
    cv_scenario_free(&it->scenario);
    cv_plan_free(&it->plan);
}

enum form { TRANSCRIPT, DIAGRAM, PICTURE };

/* The outputs for one round of an app under alpha. */
static char *show(const char *app, const char *graph, const char *nodes, enum form form)
{
    struct played it;
    char *text = NULL;
    size_t size;
    play(&it, app, graph, nodes);
    FILE *out = open_memstream(&text, &size);
    if (form == TRANSCRIPT)
        assert_int_equal(cv_transcript_write(out, &it.scenario, &it.history, false), 0);
    else if (form == DIAGRAM)
        assert_int_equal(cv_diagram_write(out, &it.scenario, &it.history, &(struct cv_diagram_options){.width = 80}),
                         0);
    else
        assert_int_equal(cv_svg_write(out, &it.run, &it.judgement, &it.history, false), 0);
    fclose(out);
    free_played(&it);
    return text;
}

static void a_transcript_tells_rounds_and_results(void **state)
{
    (void)state;
    char *text = show("bellman-ford", "1 2 5", NULL, TRANSCRIPT);
    assert_string_equal(text, "  1  t=0  1 has distance 0, begins round 1: message(round 1: offer 5) to 2\n"
                              "  2  t=0  2 begins round 1: message(round 1: offer ∞) to 1\n"
                              "  3  t=1  1 hears message(round 1: offer ∞) from 2, answers ack\n"
                              "  4  t=1  2 hears message(round 1: offer 5) from 1, answers ack\n"
                              "  5  t=2  1 hears ack from 2, answers safe(1)\n"
                              "  6  t=2  2 hears ack from 1, answers safe(1)\n"
                              "  7  t=3  1 hears safe(1) from 2, is through\n"
                              "  8  t=3  2 hears safe(1) from 1, has distance 5 over 1, is through\n");
    free(text);
}

/* Messages of a multicast differ only in the link, and are shown as one. Ranks are shown as ids. */
static void those_who_do_the_same_share_a_line(void **state)
{
    (void)state;
    char *text = show("flood-max", "star", "4", TRANSCRIPT);
    assert_string_equal(text, "  1  t=0  1 begins round 1, calls an election: message(round 1: best 1) to 2, 3, 4\n"
                              "  2  t=0  2 begins round 1, calls an election: message(round 1: best 2) to 1\n"
                              "  3  t=0  3 begins round 1, calls an election: message(round 1: best 3) to 1\n"
                              "  4  t=0  4 begins round 1, calls an election: message(round 1: best 4) to 1\n"
                              "  5  t=1  1 hears message(round 1: best 2) from 2, answers ack\n"
                              "  6  t=1  1 hears message(round 1: best 3) from 3, answers ack\n"
                              "  7  t=1  1 hears message(round 1: best 4) from 4, answers ack\n"
                              "  8  t=1  2, 3, 4 hear message(round 1: best 1) from 1, answer ack\n"
                              "  9  t=2  1 hears ack from 2, 3\n"
                              " 10  t=2  1 hears ack from 4: safe(1) to 2, 3, 4\n"
                              " 11  t=2  2, 3, 4 hear ack from 1, answer safe(1)\n"
                              " 12  t=3  1 hears safe(1) from 2, 3\n"
                              " 13  t=3  1 hears safe(1) from 4, is through, follows 4\n"
                              " 14  t=3  2 hears safe(1) from 1, is through, becomes leader\n"
                              " 15  t=3  3 hears safe(1) from 1, is through, becomes leader\n"
                              " 16  t=3  4 hears safe(1) from 1, is through, becomes leader\n");
    free(text);
}

static void a_diagram_marks_rounds_and_results(void **state)
{
    (void)state;
    char *text = show("bellman-ford", "1 2 5", NULL, DIAGRAM);
    assert_string_equal(text, " t  1           2\n"
                              " 0  = 0         ◎ 1\n"
                              "    ◎ 1         │\n"
                              " 1  │◀─offer ∞──●\n"
                              "    ●─offer 5──▶│\n"
                              " 2  │◀───ack────●\n"
                              "    ●───ack────▶│\n"
                              " 3  │◀──safe 1──●\n"
                              "    ◎ done      │\n"
                              "    ●──safe 1──▶│\n"
                              "    │           = 5\n"
                              "    │           ◎ done\n"
                              "    =0          =5\n"
                              "    ◎ begins a round   = has come to\n");
    free(text);
}

static void a_picture_has_rounds_results_and_weights(void **state)
{
    (void)state;
    char *text = show("bellman-ford", "1 2 5", NULL, PICTURE);
    assert_non_null(strstr(text, "<title>0: 2 begins round 1</title>"));
    assert_non_null(strstr(text, "<title>3: 2 has distance 5 over 1</title>"));
    assert_non_null(strstr(text, "<title>3: 2 is through</title>"));
    assert_non_null(strstr(text, "<title>message(round 1: offer 5) from 1 to 2, sent at 0, heard at 1</title>"));
    assert_non_null(strstr(text, ">alpha with bellman-ford, 2 nodes, seed 1</text>"));
    assert_non_null(strstr(text, ">has distance 5 over 1</text>"));
    assert_non_null(strstr(text, "class=\"label\">5</text>"));
    assert_null(strstr(text, "knows no leader"));
    free(text);
}

/* The app's kind and words stand apart from the envelope. */
static void a_trace_has_rounds_results_and_the_message_inside(void **state)
{
    (void)state;
    struct played it;
    struct cv_trace trace;
    char *text = NULL;
    size_t size;
    play(&it, "bellman-ford", "1 2 5", NULL);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(cv_trace_begin(&trace, out, &it.scenario, NULL), 0);
    for (size_t i = 0; i < it.history.count; i++)
        cv_trace_event(&trace, &it.history.events[i]);
    assert_int_equal(cv_trace_end(&trace, &it.run, &it.judgement), 0);
    fclose(out);
    assert_non_null(strstr(text, "\"title\":\"The alpha synchronizer\",\"app\":\"bellman-ford\""));
    assert_non_null(strstr(text, "{\"time\":0,\"event\":\"pulse\",\"node\":1,\"lamport\":1,\"vector\":{\"1\":1},"
                                 "\"round\":1}\n"));
    assert_non_null(strstr(text, "\"message\":1,\"to\":2,\"kind\":\"message\",\"round\":1,\"app\":\"offer\","
                                 "\"body\":[5,0],\"fields\":{\"distance\":5}}\n"));
    assert_non_null(strstr(text, "\"fields\":{\"distance\":null}}\n")); /* infinity */
    assert_non_null(strstr(text, "\"event\":\"result\",\"node\":2"));
    assert_non_null(strstr(text, "\"via\":1,\"result\":5}\n"));
    free(text);
    free_played(&it);
}

/* One step is one line: a result and the round that the node begins are no events of their own. */
static void shiviz_tells_a_step_in_one_line(void **state)
{
    (void)state;
    struct played it;
    struct cv_shiviz shiviz;
    struct cv_complaint complaint;
    char *text = NULL;
    size_t size;
    play(&it, "bellman-ford", "1 2 5", NULL);
    FILE *out = open_memstream(&text, &size);
    assert_int_equal(cv_shiviz_begin(&shiviz, out, &it.scenario, &complaint), 0);
    for (size_t i = 0; i < it.history.count; i++)
        cv_shiviz_event(&shiviz, &it.history.events[i]);
    assert_int_equal(cv_shiviz_end(&shiviz), 0);
    fclose(out);
    assert_non_null(strstr(text, "P1 {\"P1\":1}\nstarts; has distance 0; begins round 1\n"));
    assert_non_null(strstr(text, "\nhears safe from 1; has distance 5 over 1; is through\n"));
    free(text);
    free_played(&it);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_transcript_tells_rounds_and_results),
        cmocka_unit_test(those_who_do_the_same_share_a_line),
        cmocka_unit_test(a_diagram_marks_rounds_and_results),
        cmocka_unit_test(a_picture_has_rounds_results_and_weights),
        cmocka_unit_test(a_trace_has_rounds_results_and_the_message_inside),
        cmocka_unit_test(shiviz_tells_a_step_in_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
