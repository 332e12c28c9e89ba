// SPDX-License-Identifier: MIT
/* Transcripts, diagrams, traces and pictures of one run made by hand. */
#include "core/error.h"
#include "show/history.h"
#include "show/phrase.h"
#include "show/shiviz.h"
#include "show/svg/svg.h"
#include "show/text/canvas.h"
#include "show/text/diagram.h"
#include "show/text/transcript.h"
#include "show/trace.h"
#include "tale.h"

static uint32_t sides[4] = {0, 0, 1, 1};
static struct cv_partition partition = {sides, 1, 4};

/* Nodes 3, 32, 5, 80: a call, an answer, a cut, a crash, a leader. */
static void tell(struct tale *tale)
{
    tale->scenario.partitions = &partition;
    tale->scenario.partition_count = 1;
    tale_happens(tale, CV_EVENT_CRASH, 2, CV_NOBODY);
    tale_happens(tale, CV_EVENT_START, 0, CV_NOBODY);
    tale_does(tale, CV_EVENT_CALL, 0, 0);
    const uint64_t one = tale_sends(tale, 0, 1, PING, 0, false);
    const uint64_t two = tale_sends(tale, 0, 2, PING, 0, true);
    const uint64_t three = tale_sends(tale, 0, 3, PING, 0, true);
    tale->time = 1;
    tale_tell(tale, (struct cv_event){.type = CV_EVENT_CUT, .node = CV_NOBODY, .peer = CV_NOBODY});
    tale_hears(tale, 1, 0, one, PING, 0);
    const uint64_t answer = tale_sends(tale, 1, 0, PONG, 0, false);
    tale_loses(tale, 2, 0, two, PING, 0);
    tale_hears(tale, 3, 0, three, PING, 0);
    tale_does(tale, CV_EVENT_CALL, 3, 0);
    const uint64_t four = tale_sends(tale, 3, 0, PING, 3, false);
    tale_loses(tale, 0, 3, four, PING, 3);
    const uint64_t five = tale_sends(tale, 3, 1, PING, 3, true);
    tale_loses(tale, 1, 3, five, PING, 3);
    tale->time = 2;
    tale_hears(tale, 0, 1, answer, PONG, 0);
    tale_happens(tale, CV_EVENT_SUSPECT, 0, 3);
    tale_happens(tale, CV_EVENT_SUSPECT, 1, 3);
    tale_happens(tale, CV_EVENT_TIMEOUT, 0, CV_NOBODY);
    tale_does(tale, CV_EVENT_ELECTED, 0, 3);
    const uint64_t six = tale_sends(tale, 0, 1, PONG, 0, false);
    tale->time = 12;
    tale_hears(tale, 1, 0, six, PONG, 0);
    tale_does(tale, CV_EVENT_ELECTED, 1, 3);
    tale_sends(tale, 1, 0, PONG, 0, false); /* it never arrives */
}

static const char transcript[] = "  1  t=0    5 is down from the start\n"
                                 "  2  t=0    3 calls an election: ping(3) to 32, 5, 80\n"
                                 "  3  t=1   the network splits: 3, 32 | 5, 80\n"
                                 "  4  t=1   32 hears ping(3) from 3, answers pong\n"
                                 "  5  t=1    5 is down: misses ping(3) from 3\n"
                                 "  6  t=1   80 hears ping(3) from 3, calls an election: ping(80) to 3, 32 (cut off)\n"
                                 "  7  t=2    3 hears pong from 32\n"
                                 "  8  t=2   3, 32 suspect 80\n"
                                 "  9  t=2    3 times out (patience), becomes leader: pong to 32\n"
                                 " 10  t=12  32 hears pong from 3, follows 3, passes it on to 3\n";

static const char diagram[] = "     t   3           32          5           80\n"
                              "     0   ◆ calls     │           ✗ down      │\n"
                              "     1   ╌╌ the network splits: 3, 32 | 5, 80\n"
                              "   0→1   ●──ping 3──▶│──────────╳┊──────────▶◆\n"
                              "     1   │╳──────────│╳─────────────ping 80──●\n"
                              "   1→2   │◀───pong───●           ┊           │\n"
                              "     2   ? 80        ? 80        ┊           │\n"
                              "     2   ◷ patience  │           ┊           │\n"
                              "     2   ★ leads     │           ┊           │\n"
                              "  2→12   ●───pong───▶★           ┊           │\n"
                              "         ★           →3          ✗           ?\n"
                              "         ◆ calls an election   ◷ times out   ? suspects\n"
                              "         ★ knows the leader   ✗ down   ╳ lost\n";

static struct cv_history history;

static void make_history(struct tale *tale)
{
    assert_int_equal(cv_history_init(&history, 4), 0);
    tale_begin(tale, 4, (struct cv_observer){cv_history_event, &history, NULL});
    tell(tale);
}

static void the_transcript(void **state)
{
    (void)state;
    struct tale tale;
    char *text = NULL;
    make_history(&tale);
    tale_written(text, cv_transcript_write(out, &tale.scenario, &history, false));
    assert_string_equal(text, transcript);
    free(text);
    cv_history_free(&history);
}

/* Nodes that are in no list share a side with a huge number, which no loop may count up to. */
static void sides_with_nodes_that_none_names(void **state)
{
    (void)state;
    struct tale tale;
    char *text = NULL;
    uint32_t unnamed[4] = {1, UINT32_MAX, 0, UINT32_MAX};
    make_history(&tale);
    const struct cv_partition split = {unnamed, 1, 4};
    tale_written(text, (cv_phrase_sides(out, &tale.scenario, &split), 0));
    assert_string_equal(text, "5 | 3 | 32, 80");
    free(text);
    cv_history_free(&history);
}

static void the_diagram(void **state)
{
    (void)state;
    struct tale tale;
    char *text = NULL;
    make_history(&tale);
    tale_written(text, cv_diagram_write(out, &tale.scenario, &history, &(struct cv_diagram_options){.width = 60}));
    assert_string_equal(text, diagram);
    free(text);
    cv_history_free(&history);
}

/* The columns of the widest line; escape sequences take none. */
static size_t widest(char *text)
{
    size_t most = 0;
    char *rest;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        size_t columns = cv_canvas_columns(line);
        for (const char *at = line; (at = strchr(at, '\033')); at++)
            columns -= strcspn(at, "m") + 1;
        most = columns > most ? columns : most;
    }
    return most;
}

static void no_line_is_wider_than_the_terminal(void **state)
{
    (void)state;
    struct tale tale;
    make_history(&tale);
    for (unsigned width = 1; width < 200; width++)
        for (int colour = 0; colour < 2; colour++) {
            char *text = NULL;
            const struct cv_diagram_options options = {.width = width, .colour = colour};
            tale_written(text, cv_diagram_write(out, &tale.scenario, &history, &options));
            const size_t most = widest(text);
            if (most > width)
                fail_msg("%zu columns, of %u", most, width);
            free(text);
        }
    cv_history_free(&history);
}

static void a_long_run_is_summed_up(void **state)
{
    (void)state;
    struct tale tale;
    char *text = NULL;
    assert_int_equal(cv_history_init(&history, 2), 0);
    tale_begin(&tale, 2, (struct cv_observer){cv_history_event, &history, NULL});
    for (tale.time = 0; tale.time < 1000; tale.time++)
        tale_hears(&tale, 1, 0, tale_sends(&tale, 0, 1, PING, 0, false), PING, 0);
    tale_written(text, cv_diagram_write(out, &tale.scenario, &history, &(struct cv_diagram_options){.width = 80}));
    assert_non_null(strstr(text, "Too large to draw in 80 columns; messages over time, 16 ticks a block:\n"));
    assert_non_null(strstr(text, "  ping          1000  ████"));
    assert_non_null(strstr(text, "           3        1000           0           ?\n"));
    free(text);
    cv_history_free(&history);
}

static void a_history_forgets_when_there_is_too_much_but_counts_on(void **state)
{
    (void)state;
    struct tale tale;
    const uint64_t many = (1u << 19) + 10;
    assert_int_equal(cv_history_init(&history, 2), 0);
    tale_begin(&tale, 2, (struct cv_observer){cv_history_event, &history, NULL});
    for (tale.time = 0; tale.time < many; tale.time++)
        tale_hears(&tale, 1, 0, tale_sends(&tale, 0, 1, PONG, 0, false), PONG, 0);
    assert_true(history.truncated);
    assert_false(history.out_of_memory);
    assert_int_equal(history.nodes[0].sent, many);
    assert_int_equal(history.nodes[1].received, many);
    uint64_t sent = 0;
    for (unsigned i = 0; i < CV_HISTORY_BINS; i++)
        sent += history.sent[PONG][i];
    assert_int_equal(sent, many);
    cv_history_free(&history);
}

static const char traced[] =
    "{\"schema\":1,\"type\":\"header\",\"algorithm\":\"tale\",\"title\":\"A tale <told> & heard\",\"seed\":0,"
    "\"nodes\":[3,32,5,80],\"kinds\":[\"ping\",\"pong\"],\"vectors\":true}\n"
    "{\"time\":0,\"event\":\"crash\",\"node\":5,\"lamport\":0,\"vector\":{\"5\":1},\"text\":\"patience\"}\n"
    "{\"time\":0,\"event\":\"start\",\"node\":3,\"lamport\":1,\"vector\":{\"3\":1},\"text\":\"patience\"}\n"
    "{\"time\":0,\"event\":\"call\",\"node\":3,\"lamport\":1,\"vector\":{\"3\":1}}\n"
    "{\"time\":0,\"event\":\"send\",\"node\":3,\"lamport\":2,\"vector\":{\"3\":2},\"messages\":[1,2,3],"
    "\"to\":[32,5,80],\"kind\":\"ping\",\"body\":[3,3]}\n"
    "{\"time\":1,\"event\":\"cut\"}\n"
    "{\"time\":1,\"event\":\"receive\",\"node\":32,\"lamport\":3,\"vector\":{\"3\":2,\"32\":1},\"message\":1,"
    "\"from\":3,\"kind\":\"ping\",\"body\":[3,3]}\n"
    "{\"time\":1,\"event\":\"send\",\"node\":32,\"lamport\":4,\"vector\":{\"3\":2,\"32\":2},\"message\":4,\"to\":3,"
    "\"kind\":\"pong\"}\n"
    "{\"time\":1,\"event\":\"lost\",\"node\":5,\"lamport\":0,\"message\":2,\"from\":3,\"kind\":\"ping\",\"body\":[3,3]}"
    "\n"
    "{\"time\":1,\"event\":\"receive\",\"node\":80,\"lamport\":3,\"vector\":{\"3\":2,\"80\":1},\"message\":3,"
    "\"from\":3,\"kind\":\"ping\",\"body\":[3,3]}\n"
    "{\"time\":1,\"event\":\"call\",\"node\":80,\"lamport\":3,\"vector\":{\"3\":2,\"80\":1}}\n"
    "{\"time\":1,\"event\":\"send\",\"node\":80,\"lamport\":4,\"vector\":{\"3\":2,\"80\":2},\"messages\":[5,6],"
    "\"to\":[3,32],\"kind\":\"ping\",\"body\":[80,80]}\n"
    "{\"time\":1,\"event\":\"lost\",\"node\":3,\"lamport\":2,\"message\":5,\"from\":80,\"kind\":\"ping\","
    "\"body\":[80,80]}\n"
    "{\"time\":1,\"event\":\"lost\",\"node\":32,\"lamport\":4,\"message\":6,\"from\":80,\"kind\":\"ping\","
    "\"body\":[80,80]}\n";

static void the_trace(void **state)
{
    (void)state;
    struct tale tale;
    char *text = NULL;
    size_t size;
    struct cv_trace trace;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tale_begin(&tale, 4, (struct cv_observer){cv_trace_event, &trace, NULL});
    assert_int_equal(cv_trace_begin(&trace, out, &tale.scenario, NULL), 0);
    tell(&tale);
    const struct cv_run run = {.scenario = &tale.scenario, .time = 12, .total = 8};
    const struct cv_judgement judgement = {.verdict = CV_VIOLATED, .reason = "a \"reason\""};
    assert_int_equal(cv_trace_end(&trace, &run, &judgement), 0);
    fclose(out);
    assert_memory_equal(text, traced, sizeof traced - 1);
    assert_non_null(strstr(text, "\n{\"type\":\"end\",\"verdict\":\"violated\",\"reason\":\"a \\\"reason\\\"\","
                                 "\"leader\":null,\"time\":12,\"messages\":8}\n"));
    free(text);
}

static const char logged[] = "(?<host>\\S*) (?<clock>{.*})\\n(?<event>.*)\n"
                             "\n"
                             "P5 {\"P5\":1}\n"
                             "is down from the start\n"
                             "P3 {\"P3\":1}\n"
                             "is asked to call an election; calls an election\n"
                             "P3 {\"P3\":2}\n"
                             "sends ping to 32, 5, 80\n"
                             "P32 {\"P3\":2, \"P32\":1}\n"
                             "hears ping from 3\n"
                             "P32 {\"P3\":2, \"P32\":2}\n"
                             "sends pong to 3\n"
                             "P80 {\"P3\":2, \"P80\":1}\n"
                             "hears ping from 3; calls an election\n"
                             "P80 {\"P3\":2, \"P80\":2}\n"
                             "sends ping to 3, 32\n";

static void the_log_for_shiviz(void **state)
{
    (void)state;
    struct tale tale;
    char *text = NULL;
    size_t size;
    struct cv_shiviz shiviz;
    struct cv_complaint complaint = {""};
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    tale_begin(&tale, 4, (struct cv_observer){cv_shiviz_event, &shiviz, NULL});
    assert_int_equal(cv_shiviz_begin(&shiviz, out, &tale.scenario, &complaint), 0);
    tell(&tale);
    assert_int_equal(cv_shiviz_end(&shiviz), 0);
    tale.scenario.group.nodes = 257;
    assert_int_equal(cv_shiviz_begin(&shiviz, out, &tale.scenario, &complaint), CV_EINPUT);
    assert_int_equal(cv_shiviz_end(&shiviz), 0);
    fclose(out);
    assert_memory_equal(text, logged, sizeof logged - 1);
    free(text);
}

static void the_picture(void **state)
{
    (void)state;
    struct tale tale;
    char *text = NULL;
    make_history(&tale);
    const struct cv_run run = {.scenario = &tale.scenario, .time = 12, .total = 8, .count = {5, 3}};
    const struct cv_judgement judgement = {.verdict = CV_VIOLATED, .reason = "5 < 7 & so on"};
    tale_written(text, cv_svg_write(out, &run, &judgement, &history, false));
    assert_non_null(strstr(text, "A tale &lt;told&gt; &amp; heard"));
    assert_non_null(strstr(text, "5 &lt; 7 &amp; so on"));
    assert_non_null(strstr(text, "<title>ping(3) from 3 to 32, sent at 0, heard at 1</title>"));
    assert_non_null(strstr(text, "<title>pong from 32 to 3, sent at 12, still on the way</title>"));
    assert_non_null(strstr(text, "split: 3, 32 | 5, 80"));
    free(text);
    cv_history_free(&history);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_transcript),
        cmocka_unit_test(sides_with_nodes_that_none_names),
        cmocka_unit_test(the_diagram),
        cmocka_unit_test(no_line_is_wider_than_the_terminal),
        cmocka_unit_test(a_long_run_is_summed_up),
        cmocka_unit_test(a_history_forgets_when_there_is_too_much_but_counts_on),
        cmocka_unit_test(the_trace),
        cmocka_unit_test(the_log_for_shiviz),
        cmocka_unit_test(the_picture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
