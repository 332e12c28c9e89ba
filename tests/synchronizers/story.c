// SPDX-License-Identifier: MIT
#include "story.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

uint32_t story_draw(struct story *story, uint32_t ways)
{
    return (uint32_t)cv_random_below(&story->random, ways);
}

static bool one_in(struct story *story, uint32_t ways)
{
    return story_draw(story, ways) == 0;
}

void story_begin(struct story *story, const struct cv_algorithm *algorithm, const char *name, uint64_t seed)
{
    memset(story, 0, sizeof *story);
    story->algorithm = algorithm;
    story->name = name;
    story->seed = seed;
    cv_random_seed(&story->random, seed, 79);
    story_unit_network(story);
}

/* ---- the nodes ---- */

void story_draw_group(struct story *story, uint32_t most)
{
    const uint32_t first = story_draw(story, 10), pitch = one_in(story, 2) ? 1 : 7;
    const uint32_t limit = one_in(story, 2) && most > 6 ? 6 : most;
    story->nodes = 1 + story_draw(story, limit);
    for (uint32_t i = 0; i < story->nodes; i++)
        story->id[i] = first + i * pitch;
    if (one_in(story, 2))
        cv_random_shuffle(&story->random, story->id, story->nodes);
    memcpy(story->attribute, story->id, sizeof story->attribute);
    for (uint32_t i = 0; i < MOST_NODES; i++)
        for (uint32_t j = 0; j < MOST_NODES; j++)
            story->weight[i][j] = NO_ARC;
}

static void list_numbers(char *text, size_t room, const uint32_t *numbers, uint32_t count)
{
    size_t used = 0;
    for (uint32_t i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, room - used, "%s%" PRIu32, i ? "," : "", numbers[i]);
}

void story_draw_attributes(struct story *story)
{
    for (uint32_t i = 0; i < story->nodes; i++)
        story->attribute[i] = story_draw(story, 4);
    list_numbers(story->attributes, sizeof story->attributes, story->attribute, story->nodes);
}

uint32_t story_smallest(const struct story *story)
{
    uint32_t smallest = 0;
    for (uint32_t i = 1; i < story->nodes; i++)
        smallest = story->id[i] < story->id[smallest] ? i : smallest;
    return smallest;
}

uint32_t story_degree(const struct story *story, uint32_t node)
{
    uint32_t degree = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        degree += story_joined(story, node, i);
    return degree;
}

/* ---- the graph ---- */

enum weights { ALL_ONE, SMALL, LARGE };

static void join(struct story *story, uint32_t one, uint32_t other, enum weights weights)
{
    if (one == other || story_joined(story, one, other))
        return;
    const uint64_t weight = weights == ALL_ONE ? 1 : story_draw(story, weights == SMALL ? 12 : UINT32_MAX - 1);
    story->weight[one][other] = story->weight[other][one] = weight;
    story->edges++;
}

void story_draw_graph(struct story *story)
{
    uint32_t order[MOST_NODES];
    const uint32_t nodes = story->nodes, shape = story_draw(story, 4), most = nodes * (nodes - 1) / 2;
    const enum weights weights = (enum weights)story_draw(story, 3);
    for (uint32_t i = 0; i < nodes; i++)
        order[i] = i;
    cv_random_shuffle(&story->random, order, nodes);
    for (uint32_t i = 1; i < nodes; i++)
        join(story, order[i], order[shape == 0 ? i - 1 : shape == 1 ? 0 : story_draw(story, i)], weights);
    uint32_t more = one_in(story, 3) ? 0 : one_in(story, 4) ? most * 8 : story_draw(story, 2 * nodes);
    while (more-- && nodes > 1)
        join(story, story_draw(story, nodes), story_draw(story, nodes), weights);
}

/* a(i) leads to b(i) and on to a(i − 1) for nothing, or straight there for 2^(i − 1). The source is a(K). */
void story_gadget(struct story *story, uint32_t rungs)
{
    story->nodes = 2 * rungs + 1;
    for (uint32_t i = 0; i < story->nodes; i++)
        story->id[i] = story->attribute[i] = i + 1;
    for (uint32_t i = 0; i < rungs; i++) {
        const uint32_t a = 2 * i;
        story->weight[a][a + 1] = story->weight[a + 1][a + 2] = 0;
        story->weight[a][a + 2] = UINT64_C(1) << (rungs - i - 1);
    }
    story->edges = 3 * rungs;
    snprintf(story->graph, sizeof story->graph, "gadget:%" PRIu32, rungs);
}

/* ---- clusters ---- */

#define NO_CLUSTER UINT32_MAX

/* Takes in layer after layer, while each has at least k − 1 times as many nodes as all before it together. */
static void grow_ball(struct story *story, uint32_t head, uint32_t k)
{
    uint32_t members = 1;
    story->cluster[head] = head;
    for (;;) {
        bool layer[MOST_NODES] = {false};
        uint32_t count = 0;
        for (uint32_t i = 0; i < story->nodes; i++)
            for (uint32_t j = 0; j < story->nodes && story->cluster[i] == NO_CLUSTER; j++)
                layer[i] = layer[i] || (story->cluster[j] == head && story_joined(story, i, j));
        for (uint32_t i = 0; i < story->nodes; i++)
            count += layer[i];
        if (!count || count < (k - 1) * members)
            return;
        members += count;
        for (uint32_t i = 0; i < story->nodes; i++)
            story->cluster[i] = layer[i] ? head : story->cluster[i];
    }
}

static void grow_balls(struct story *story, uint32_t k)
{
    for (uint32_t i = 0; i < story->nodes; i++)
        story->cluster[i] = NO_CLUSTER;
    for (uint32_t i = 0; i < story->nodes; i++)
        if (story->cluster[i] == NO_CLUSTER)
            grow_ball(story, i, k);
}

/* Random heads, and to each of them random neighbours of its nodes. */
static void scatter(struct story *story)
{
    uint32_t left = story->nodes;
    const uint32_t share = 1 + story_draw(story, 6);
    for (uint32_t i = 0; i < story->nodes; i++) {
        const bool heads = i == 0 || one_in(story, share);
        story->cluster[i] = heads ? i : NO_CLUSTER;
        left -= heads;
    }
    while (left) {
        const uint32_t one = story_draw(story, story->nodes), other = story_draw(story, story->nodes);
        if (story->cluster[one] != NO_CLUSTER || story->cluster[other] == NO_CLUSTER ||
            !story_joined(story, one, other))
            continue;
        story->cluster[one] = story->cluster[other];
        left--;
    }
}

/* "1-2-3/4-5": a cluster each, its head first; and the same as the lines of a file. */
static void put_clusters(struct story *story)
{
    char list[sizeof story->clusters_text] = "";
    size_t used = 0;
    for (uint32_t head = 0; head < story->nodes; head++) {
        if (story->cluster[head] != head)
            continue;
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%" PRIu32, used ? "/" : "", story->id[head]);
        for (uint32_t i = 0; i < story->nodes; i++)
            if (i != head && story->cluster[i] == head)
                used += (size_t)snprintf(list + used, sizeof list - used, "-%" PRIu32, story->id[i]);
    }
    for (size_t i = 0; i <= used; i++)
        story->clusters_text[i] = (char)(list[i] == '/' ? '\n' : list[i] == '-' ? ' ' : list[i]);
    story_set(story, "clusters=sets:%s", list);
}

void story_draw_clusters(struct story *story)
{
    if (one_in(story, 2)) {
        const uint32_t k = 1 + story_draw(story, one_in(story, 4) ? story->nodes + 2 : 4);
        grow_balls(story, k);
        story_set(story, "clusters=%" PRIu32, k);
        return;
    }
    scatter(story);
    put_clusters(story);
}

/* ---- the app ---- */

void story_host(struct story *story, const struct cv_algorithm *app, const char *name)
{
    story->app = app;
    story->app_name = name;
}

void story_draw_rounds(struct story *story)
{
    story->rounds = story->nodes - 1;
    if (one_in(story, 3)) {
        story->rounds = story_draw(story, story->nodes + 4);
        story_set(story, "rounds=%" PRIu64, story->rounds);
    }
}

/* ---- the network ---- */

void story_unit_network(struct story *story)
{
    story->delay = story->loss = story->duplicate = NULL;
    story->reorder = story->unordered = false;
    story->unit = true;
    story->shortest_delay = story->longest_delay = 1;
}

void story_bounded_network(struct story *story)
{
    static const char *const delays[] = {"1..9", "2..5", "3..3", "1..30"};
    static const uint64_t shortest[] = {1, 2, 3, 1}, longest[] = {9, 5, 3, 30};
    const uint32_t choice = story_draw(story, 4);
    story_unit_network(story);
    story->delay = delays[choice];
    story->shortest_delay = shortest[choice];
    story->longest_delay = longest[choice];
    story->unit = false;
}

void story_odd_network(struct story *story)
{
    const uint32_t shape = story_draw(story, 4);
    story_bounded_network(story);
    if (shape == 0)
        return;
    story->shortest_delay = story->longest_delay = 0;
    if (shape == 1) {
        story->delay = "exp:4";
        return;
    }
    story->loss = one_in(story, 3) ? NULL : one_in(story, 2) ? "0.1" : "0.3";
    story->duplicate = one_in(story, 3) ? NULL : "0.25";
    story->reorder = one_in(story, 2) || (!story->loss && !story->duplicate);
    if (one_in(story, 3))
        story->delay = NULL;
}

void story_set(struct story *story, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(story->set.word[story->set.count++], WORD_BYTES, format, arguments);
    va_end(arguments);
}

/* ---- in words ---- */

/* Edges as the command line lists them, and the same as the lines of a file. */
static void put_edges(struct story *story)
{
    if (strncmp(story->graph, "gadget", 6) == 0 || story->nodes == 1)
        return;
    size_t used = (size_t)snprintf(story->graph, sizeof story->graph, "edges:");
    for (uint32_t i = 0; i < story->nodes; i++)
        for (uint32_t j = i + 1; j < story->nodes; j++)
            if (story_joined(story, i, j))
                used += (size_t)snprintf(story->graph + used, sizeof story->graph - used,
                                         "%s%" PRIu32 "-%" PRIu32 ":%" PRIu64, used > 6 ? "," : "", story->id[i],
                                         story->id[j], story->weight[i][j]);
    for (size_t i = 6; i <= used; i++) {
        const char c = story->graph[i];
        story->graph_text[i - 6] = (char)(c == ',' ? '\n' : c == '-' || c == ':' ? ' ' : c);
    }
}

int story_plan(struct story *story, struct cv_plan *plan)
{
    list_numbers(story->ids, sizeof story->ids, story->id, story->nodes);
    put_edges(story);
    *plan = (struct cv_plan){.algorithm = story->algorithm,
                             .app = story->app,
                             .ids = story->ids,
                             .attributes = *story->attributes ? story->attributes : NULL,
                             .graph = *story->graph ? story->graph : "line",
                             .graph_text = *story->graph_text ? story->graph_text : NULL,
                             .clusters_text = *story->clusters_text ? story->clusters_text : NULL,
                             .delay = story->delay,
                             .loss = story->loss,
                             .duplicate = story->duplicate,
                             .seed = story->seed,
                             .reorder = story->reorder,
                             .unordered = story->unordered};
    const int error = *story->crash ? cv_words_add(&plan->crash, story->crash) : 0;
    return error ? error : words_add_to(&plan->set, &story->set);
}

void story_print(FILE *out, const struct story *story)
{
    fprintf(out, "conclave sim %s --seed %" PRIu64, story->name, story->seed);
    words_print_option(out, "--app", story->app_name);
    words_print_option(out, "--ids", story->ids);
    words_print_option(out, "--attr", story->attributes);
    words_print_option(out, "--graph", *story->graph ? story->graph : "line");
    words_print_option(out, "--delay", story->delay);
    words_print_option(out, "--loss", story->loss);
    words_print_option(out, "--duplicate", story->duplicate);
    fputs(story->reorder ? " --reorder" : "", out);
    fputs(story->unordered ? " --unordered" : "", out);
    words_print(out, "--set", &story->set);
    words_print_option(out, "--crash", story->crash);
    putc('\n', out);
}
