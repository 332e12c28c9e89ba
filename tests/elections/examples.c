// SPDX-License-Identifier: MIT
#include "examples.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/study/sim_command.h"

#define MOST_WORDS 40
#define ANY UINT64_MAX
#define NOBODY UINT64_MAX

/*
 * `leader`: all live nodes follow it; NOBODY: only the winner, if any, knows. The counts are in the order of `kinds`;
 * ANY: the text does not say.
 */
struct example {
    const char *algorithm;
    const char *options;
    uint64_t leader;
    const char *kinds[4];
    uint64_t count[4];
    uint64_t time;
};

#define BULLY                                                                                                          \
    {                                                                                                                  \
        "election", "ok", "coordinator"                                                                                \
    }
#define RING                                                                                                           \
    {                                                                                                                  \
        "election", "elected"                                                                                          \
    }
#define LISTS                                                                                                          \
    {                                                                                                                  \
        "election", "coordinator"                                                                                      \
    }
#define TOKENS                                                                                                         \
    {                                                                                                                  \
        "token", "leader"                                                                                              \
    }
#define SOME_RING "--ids 3,32,5,80,6,12"

static const struct example examples[] = {
    /* Process 7 is down, 4 calls: 5 and 6 answer 4, 6 answers 5; 6 wins. Later 7 comes up and tells all nodes. */
    {"bully", "--ids 0..7 --crash 7@0 --start 4", 6, BULLY, {6, 3, 6}, 4},
    {"bully", "--ids 0..7 --crash 7@0 --start 4 --recover 7@9", 7, BULLY, {6, 3, 6 + 7}, 10},
    /* It recovers just as 6 announces itself: the race must not leave two leaders. */
    {"bully", "--ids 0..5,7,6 --crash 7@0 --start 4 --recover 7@3", 7, BULLY, {ANY, ANY, ANY}, ANY},
    /* The best and the worst case, and all live nodes. */
    {"bully", "--ids 0..7 --crash 7@0 --start 6", 6, BULLY, {1, 0, 6}, 3},
    {"bully", "--ids 0..7 --crash 7@0 --start 0", 6, BULLY, {28, 21, 6}, 4},
    {"bully", "--ids 0..7 --crash 7@0 --start all", 6, BULLY, {28, 21, 6}, 3},
    {"bully", "--ids 0..7 --start 7", 7, BULLY, {0, 0, 7}, 1},
    {"bully", "--ids 0..4 --crash 4@0 --start 0,1,2,3", 3, BULLY, {10, 6, 3}, 3},
    {"bully", "--ids 1..5 --crash 5@0 --start 2", 4, BULLY, {6, 3, 3}, 4},
    /* P4 fails after P3 and P4 have called, before it answers P3; or before it announces itself. */
    {"bully", "--ids 1..5 --crash 5@0 --start 2 --crash 4@after:election", 3, BULLY, {6, 2, 2}, ANY},
    {"bully", "--ids 1..5 --crash 5@0 --start 2 --crash 4@before:coordinator", 3, BULLY, {ANY, ANY, 2}, ANY},
    /* Every winner dies before it tells: n(n-1)(2n-1)/6 elections, C(n, 3) answers, n = 6. */
    {"bully",
     "--ids 0..5 --crash 5@0 --crash 4@before:coordinator --crash 3@before:coordinator --crash 2@before:coordinator "
     "--crash 1@before:coordinator --start 0",
     0,
     BULLY,
     {55, 20, 0},
     ANY},

    {"ring-list", "--ids 0..7 --crash 7@0 --start 2,5", 6, LISTS, {14, 14}, 14},
    {"ring-list", "--ids 0..5 --start 2", 5, LISTS, {6, 6}, 12},
    {"ring-list", "--ids 0..5 --start 2 --set announce=multicast", 5, LISTS, {6, 5}, 7},
    {"ring-list", "--ids 0..5 --crash 5@0 --start 2 --set policy=min", 0, LISTS, {5, 5}, 10},
    /* P4 dies after it has passed the list on; it is missing on the second list, so P2 begins anew. */
    {"ring-list", "--ids 0..5 --crash 5@0 --crash 4@after:election --start 2 --blind *:4", 3, LISTS, {9, 8}, 17},
    /* The caller dies while its list is under way: the first node that finds itself on the list closes it. */
    {"ring-list", "--ids 0..5 --start 2 --crash 2@1 --blind *:2", 5, LISTS, {6, 5}, ANY},

    {"ring-basic", SOME_RING " --start 3", 80, RING, {9, 6}, 15},
    {"ring-basic", SOME_RING " --start 6", 80, RING, {11, 6}, 17},
    {"ring-basic", SOME_RING " --start 80", 80, RING, {6, 6}, 12},
    {"ring-basic", SOME_RING " --start 3,6", 80, RING, {20, 12}, 17},
    {"ring-basic", "--ids 1..8 --start all", 8, RING, {92, 64}, 23},

    {"chang-roberts", SOME_RING " --start 3", 80, RING, {9, 6}, 15},
    {"chang-roberts", SOME_RING " --start 6", 80, RING, {11, 6}, 17},
    {"chang-roberts", SOME_RING " --start 80", 80, RING, {6, 6}, 12},
    {"chang-roberts", SOME_RING " --start 3,6", 80, RING, {ANY, 6}, ANY},
    {"chang-roberts", "--ids 1..8 --start all", 8, RING, {15, 8}, 16},
    {"chang-roberts", "--ids 8,7,6,5,4,3,2,1 --start all", 8, RING, {36, 8}, 16},
    {"chang-roberts", SOME_RING " --start 3 --crash 80@after:election", 32, RING, {ANY, ANY}, ANY},

    {"chang-roberts-token", "--ids 1..8 --start all --set announce=no", NOBODY, TOKENS, {15, 0}, 8},
    {"chang-roberts-token", "--ids 1..8 --start all", 8, TOKENS, {15, 8}, 16},
    {"chang-roberts-token", "--ids 8,7,6,5,4,3,2,1 --start all", 8, TOKENS, {36, 8}, 16},
    {"chang-roberts-token", SOME_RING " --start 3,12", 12, TOKENS, {5 + 6, 6}, 12},
    {"chang-roberts-token", SOME_RING " --start 5", 5, TOKENS, {6, 6}, 12},

    {"franklin", "--ids 1..8 --start all", 8, {"probe", "leader"}, {32, 8}, ANY},
    {"franklin", "--ids 8,4,6,2,7,3,5,1 --start all", 8, {"probe", "leader"}, {64, 8}, ANY}, /* bit reversal */
    {"franklin", "--ids 2,1", 2, {"probe", "leader"}, {8, 2}, ANY},

    {"peterson", "--ids 3,7,1,9,4 --start all", 9, {"alias", "leader"}, {25, 5}, ANY},
    {"peterson", "--ids 8,4,6,2,7,3,5,1 --start all", 8, {"alias", "leader"}, {56, 8}, ANY},
    {"peterson", "--ids 1..8", 8, {"alias", "leader"}, {24, 8}, ANY},

    {"multicast", "--ids 1..5 --start 2", 5, {"election", "agree", "disagree", "coordinator"}, {16, 10, 6, 4}, 4},
    {"multicast", "--ids 1..5 --start 5", 5, {"election", "agree", "disagree", "coordinator"}, {4, 4, 0, 4}, 3},
    {"multicast", "--ids 1..5 --start 1", 5, {"election", "agree", "disagree", "coordinator"}, {20, 10, 10, 4}, 4},
    {"multicast", "--ids 1..5 --start 2 --crash 5@0", 4, {"coordinator"}, {4}, 4},
    {"multicast", "--ids 1..5 --start 2 --crash 5@0 --set timeout=no", NOBODY, {"coordinator"}, {0}, ANY},
    {"multicast", "--ids 1..5 --start 2 --set timeout=no", 5, {"coordinator"}, {4}, 4},
    {"multicast-lean", "--ids 1..5 --start 2", 5, {"election", "disagree", "coordinator"}, {16, 6, 4}, 4},
    {"multicast-lean", "--ids 1..5 --start 5", 5, {"election", "disagree", "coordinator"}, {4, 0, 4}, 3},
    {"multicast-lean", "--ids 1..5 --start 2 --crash 5@0", 4, {"coordinator"}, {4}, 4},

    /* Source a; the node with the most capacity, h, wins. a..j are 1..10. */
    {"wireless",
     "--ids 1..10 --attr 4,6,3,2,1,4,2,8,5,4 --start 1 "
     "--graph edges:1-2,1-10,2-3,2-7,7-10,3-4,3-5,4-5,4-6,5-7,5-6,7-8,8-9,6-9",
     8,
     {"election", "ack", "leader"},
     {19, 19, 9},
     ANY},
    {"wireless", "--ids 1..4 --start 1 --graph line", 4, {"election", "ack", "leader"}, {3, 3, 3}, 9},
    {"wireless", "--ids 1..3 --start 1 --graph complete", 3, {"election", "ack", "leader"}, {4, 4, 2}, 5},

    /* Former bugs. The best node announces itself before nodes that it has not heard of ask each other. */
    {"bully", "--ids 8,1,2,3,4 --start 1", 8, BULLY, {10, 10, 7}, ANY},
    /* A result that is late hears that a better node has come back and been elected. */
    {"chang-roberts",
     "--seed 921725 --ids 0..5 --start all --delay 1..40 --loss 0.4 --duplicate 0.25 --crash 1@after:election "
     "--crash 3@157 --crash 5@0 --recover 5@791",
     5,
     RING,
     {ANY, ANY},
     ANY},
    {"chang-roberts",
     "--seed 518608 --ids 9,11,4,2,3,6,7,5,10,8,12,13 --start 3 --delay 3..3 --loss 0.4 --duplicate 0.25 --crash 10@9 "
     "--crash 3@83 --crash 9@0 --crash 4@0 --crash 2@0 --crash 6@0 --crash 8@0 --crash 12@0 --crash 13@0 "
     "--recover 9@121 --recover 12@110 --detect 0",
     12,
     RING,
     {ANY, ANY},
     ANY},
    {"ring-basic",
     "--seed 1531241 --ids 3,4,5,0,2,1 --start all --delay 2..5 --loss 0.1 --duplicate 0.25 --reorder "
     "--crash 1@before:election --crash 4@after:election --crash 5@0 --recover 4@76 --detect 18",
     4,
     RING,
     {ANY, ANY},
     ANY},
    /* The only caller dies, and is told dead, before or after its ballot is heard. */
    {"chang-roberts", "--ids 0,1 --attr 0,1 --start 0 --crash 0@after:election", 1, RING, {ANY, ANY}, ANY},
    {"chang-roberts", "--ids 9,10,11,12 --start 12 --crash 12@1 --detect 0", 11, RING, {ANY, ANY}, ANY},
    {"multicast", "--ids 6,5 --start 6 --crash 6@before:coordinator", 5, {"coordinator"}, {ANY}, ANY},
    {"multicast", "--ids 9,10,11,12 --start 12 --crash 12@1 --detect 0", 11, {"coordinator"}, {ANY}, ANY},
    {"multicast-lean", "--ids 6,7 --start 7 --crash 7@2", 6, {"coordinator"}, {ANY}, ANY},
    {"multicast-lean", "--ids 9,10,11,12 --start 12 --crash 12@1 --detect 0", 11, {"coordinator"}, {ANY}, ANY},
    /* A node is back, but the detector has not said so when its ballot is heard. */
    {"chang-roberts",
     "--seed 54 --ids 6,4,3,5,2 --attr 4,1,2,5,6 --start 6 --delay 1..9 --crash 5@117 --crash 2@0 --recover 2@142 "
     "--detect 30",
     2,
     RING,
     {ANY, ANY},
     ANY},
    /* Two lists end at once, one begun before the best node was back. */
    {"ring-list",
     "--seed 2003 --ids 11,7,9,1,0,8,5,4,3,6,2,10 --start all --delay 3..3 --crash 6@67 --crash 0@24 --crash 11@0 "
     "--crash 1@0 --crash 10@0 --recover 10@17",
     10,
     LISTS,
     {ANY, ANY},
     ANY},
    /* The channel to a node that is down never hears from it. */
    {"bully", "--ids 4,3 --start 3 --loss 0.1 --crash 4@0", 3, BULLY, {1, 0, 0}, ANY},
};

static uint32_t compare(const struct example *example, const struct sim_result *result)
{
    const struct cv_scenario *scenario = &result->scenario;
    const struct cv_run *run = &result->run;
    uint32_t wrong = 0;
    for (int i = 0; i < 4 && example->kinds[i]; i++) {
        const uint32_t kind = cv_kind_find(scenario->algorithm, example->kinds[i], strlen(example->kinds[i]));
        if (example->count[i] != ANY && run->count[kind] != example->count[i] && ++wrong)
            printf("FAILED: %" PRIu64 " messages %s; the text has %" PRIu64 "\n", run->count[kind], example->kinds[i],
                   example->count[i]);
    }
    if (example->time != ANY && run->time != example->time && ++wrong)
        printf("FAILED: took %" PRIu64 " ticks; the text has %" PRIu64 "\n", run->time, example->time);
    uint32_t knowing = 0;
    for (cv_node node = 0; node < scenario->group.nodes; node++) {
        const struct cv_standing it = run->standing(run->runtime, node);
        knowing += it.alive && it.knows;
        if (it.alive && example->leader != NOBODY && (!it.knows || it.leader != example->leader) && ++wrong)
            printf("FAILED: node %u does not follow %" PRIu64 "\n", scenario->group.ids[node], example->leader);
    }
    if (example->leader == NOBODY && knowing > 1 && ++wrong)
        printf("FAILED: %u nodes know a leader\n", knowing);
    if (example->leader != NOBODY && result->judgement.verdict != CV_HELD && ++wrong)
        printf("FAILED: %s\n", result->judgement.reason);
    return wrong;
}

static uint32_t play(const struct example *example, const struct cv_algorithm *algorithm)
{
    char line[1024], *words[MOST_WORDS] = {NULL}, *rest = NULL;
    struct sim_request request;
    struct sim_result result = {0};
    struct cv_complaint complaint = {{0}};
    int count = 0;
    uint32_t wrong;
    snprintf(line, sizeof line, "sim %s %s", example->algorithm, example->options);
    for (char *word = strtok_r(line, " ", &rest); word && count < MOST_WORDS - 1; word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    int error = sim_read(count, words, &request, &complaint);
    request.plan.algorithm = algorithm;
    if (!error)
        error = sim_simulate(&request.plan, NULL, &result, &complaint);
    if (error) {
        printf("FAILED: %s\n", complaint.text);
        wrong = 1;
    } else {
        wrong = compare(example, &result);
    }
    if (wrong)
        printf("  conclave sim %s %s\n", example->algorithm, example->options);
    sim_result_free(&result);
    sim_free(&request);
    return wrong;
}

uint32_t examples_play(const char *name, const struct cv_algorithm *algorithm)
{
    uint32_t wrong = 0;
    for (size_t i = 0; i < sizeof examples / sizeof *examples; i++)
        if (strcmp(examples[i].algorithm, name) == 0)
            wrong += play(&examples[i], algorithm);
    return wrong;
}
