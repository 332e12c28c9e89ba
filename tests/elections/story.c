// SPDX-License-Identifier: MIT
#include "story.h"

#include <inttypes.h>
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
    *story = (struct story){.algorithm = algorithm, .name = name, .seed = seed};
    cv_random_seed(&story->random, seed, 77);
}

/* ---- the group ---- */

static bool taken(const struct story *story, uint32_t count, uint32_t id)
{
    for (uint32_t i = 0; i < count; i++)
        if (story->id[i] == id)
            return true;
    return false;
}

static void draw_ids(struct story *story)
{
    const uint32_t shape = story_draw(story, 6), first = one_in(story, 2) ? 0 : 1 + story_draw(story, 9);
    for (uint32_t i = 0; i < story->nodes; i++)
        story->id[i] = shape == 1 ? first + story->nodes - 1 - i : first + i;
    if (shape == 0 || shape == 1)
        return; /* in order, or in reverse */
    cv_random_shuffle(&story->random, story->id, story->nodes);
    for (uint32_t i = 0; shape == 2 && i < story->nodes; i++) /* anything at all */
        do
            story->id[i] = one_in(story, 8)   ? 0
                           : one_in(story, 8) ? UINT32_MAX
                                              : (uint32_t)cv_random_next(&story->random);
        while (taken(story, i, story->id[i]));
}

static void draw_attributes(struct story *story)
{
    const uint32_t shape = story_draw(story, 4);
    story->with_attributes = shape < 2;
    for (uint32_t i = 0; i < story->nodes; i++)
        story->attribute[i] = shape == 0   ? story_draw(story, 3) /* many are equal */
                              : shape == 1 ? (uint32_t)cv_random_next(&story->random)
                                           : story->id[i];
}

static void draw_dead(struct story *story)
{
    const uint32_t most = story->nodes - 1;
    uint32_t count = one_in(story, 2) ? most > 0 : most ? story_draw(story, most + 1) : 0;
    uint32_t best = 0;
    for (uint32_t i = 1; i < story->nodes; i++)
        if (story->attribute[i] > story->attribute[best] ||
            (story->attribute[i] == story->attribute[best] && story->id[i] > story->id[best]))
            best = i;
    if (count && !one_in(story, 3)) { /* the old coordinator, as in the texts */
        story->dead[best] = true;
        count--;
    }
    while (count--)
        story->dead[story_draw(story, story->nodes)] = true;
    for (uint32_t i = 0; i < story->nodes; i++)
        if (!story->dead[i])
            return;
    story->dead[0] = false;
}

static uint32_t draw_live(struct story *story)
{
    uint32_t node;
    do
        node = story_draw(story, story->nodes);
    while (story->dead[node]);
    return node;
}

static void draw_callers(struct story *story)
{
    const uint32_t shape = story_draw(story, 4);
    story->all_call = shape == 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        story->calls[i] = !story->dead[i] && (story->all_call || (shape == 1 && one_in(story, 2)));
    if (!story->all_call)
        story->calls[draw_live(story)] = true;
}

void story_draw_group(struct story *story, bool deaths)
{
    static const uint32_t sizes[] = {3, 6, 10, 20, MOST_NODES};
    story->nodes = 1 + story_draw(story, sizes[story_draw(story, 5)]);
    draw_ids(story);
    draw_attributes(story);
    if (deaths && one_in(story, 2))
        draw_dead(story);
    draw_callers(story);
}

/* ---- the graph: connected, from a tree to the complete graph ---- */

static void join(struct story *story, uint32_t one, uint32_t other)
{
    if (one != other)
        story->edge[one][other] = story->edge[other][one] = true;
}

void story_draw_graph(struct story *story)
{
    const uint32_t nodes = story->nodes, shape = story_draw(story, 5);
    for (uint32_t i = 1; i < nodes; i++)
        join(story, i, shape == 0 ? i - 1 : shape == 1 ? 0 : story_draw(story, i));
    if (shape == 2 && nodes > 2)
        join(story, 0, nodes - 1);
    const uint32_t more = shape < 3 ? 0 : shape == 3 ? story_draw(story, 2 * nodes) : story_draw(story, nodes * nodes);
    for (uint32_t i = 0; i < more; i++)
        join(story, story_draw(story, nodes), story_draw(story, nodes));
}

/* ---- the network ---- */

void story_unit_network(struct story *story)
{
    story->delay = one_in(story, 2) ? NULL : "unit";
    story->loss = story->duplicate = NULL;
    story->reorder = false;
    story->longest_delay = 1;
}

void story_bounded_network(struct story *story)
{
    static const char *const delays[] = {"1..9", "2..5", "3..3", "1..40"};
    static const uint64_t longest[] = {9, 5, 3, 40};
    const uint32_t choice = story_draw(story, 4);
    story_unit_network(story);
    story->delay = delays[choice];
    story->longest_delay = longest[choice];
}

void story_odd_network(struct story *story)
{
    const uint32_t shape = story_draw(story, 4);
    story_bounded_network(story);
    if (shape == 0)
        return;
    if (shape == 1) {
        story->delay = "exp:3";
        story->longest_delay = 30;
        return;
    }
    story->loss = one_in(story, 3) ? NULL : one_in(story, 2) ? "0.1" : "0.4";
    story->duplicate = one_in(story, 3) ? NULL : "0.25";
    story->reorder = one_in(story, 2) || (!story->loss && !story->duplicate);
    if (one_in(story, 3))
        story->delay = "unit";
}

/* ---- what goes wrong ---- */

static void add_at(struct words *words, uint32_t id, uint64_t time)
{
    snprintf(words->word[words->count++], WORD_BYTES, "%" PRIu32 "@%" PRIu64, id, time);
}

static void add_when(struct words *words, uint32_t id, const char *moment, const char *kind)
{
    snprintf(words->word[words->count++], WORD_BYTES, "%" PRIu32 "@%s:%.12s", id, moment, kind);
}

/* When something goes on: elections among all take a few delays, those round the ring some rounds. */
static uint64_t draw_time(struct story *story)
{
    const bool ring = story->algorithm->topology != CV_COMPLETE;
    const uint64_t busy = (ring ? 3 * (uint64_t)story->nodes + 6 : 12) * story->longest_delay;
    return 1 + story_draw(story, (uint32_t)busy);
}

/* A node crashes, perhaps comes back, perhaps crashes again. */
static void draw_crash(struct story *story, uint32_t node)
{
    const uint32_t moment = story_draw(story, 4);
    const char *kind = story->algorithm->kinds[story_draw(story, cv_algorithm_kinds(story->algorithm))].name;
    uint64_t time = 0;
    if (moment < 2) {
        add_when(&story->crash, story->id[node], moment ? "after" : "before", kind);
    } else {
        time = draw_time(story);
        add_at(&story->crash, story->id[node], time);
    }
    for (int life = 0; life < 2 && one_in(story, 3); life++) {
        time += draw_time(story);
        add_at(&story->recover, story->id[node], time);
        if (!one_in(story, 3))
            return;
        time += draw_time(story);
        add_at(&story->crash, story->id[node], time);
    }
}

void story_draw_crashes(struct story *story)
{
    bool chosen[MOST_NODES] = {false};
    const uint32_t count = 1 + story_draw(story, story->nodes > 4 ? 4 : story->nodes);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t node = draw_live(story);
        if (!chosen[node])
            draw_crash(story, node);
        chosen[node] = true;
    }
    for (uint32_t i = 0; i < story->nodes; i++)
        if (story->dead[i] && one_in(story, 3))
            add_at(&story->recover, story->id[i], draw_time(story));
    if (one_in(story, 2))
        snprintf(story->detect, sizeof story->detect, "%u", one_in(story, 4) ? 0 : 1 + story_draw(story, 30));
}

void story_draw_cut(struct story *story)
{
    story->has_cut = true;
    story->cut.begin = draw_time(story);
    story->cut.end = one_in(story, 3) ? UINT64_MAX : story->cut.begin + draw_time(story);
    for (uint32_t i = 0; i < story->nodes; i++)
        story->cut.inside[i] = one_in(story, 2);
    const uint32_t alone = story_draw(story, story->nodes);
    story->cut.inside[alone] = true;
    if (story->nodes > 1)
        story->cut.inside[(alone + 1) % story->nodes] = false; /* two sides at least */
    else
        story->has_cut = false;
}

void story_set(struct story *story, const char *word)
{
    snprintf(story->set.word[story->set.count++], WORD_BYTES, "%s", word);
}

bool story_has(const struct story *story, const char *word)
{
    for (uint32_t i = 0; i < story->set.count; i++)
        if (strcmp(story->set.word[i], word) == 0)
            return true;
    return false;
}

/* ---- in words ---- */

static void write_list(char *text, size_t room, const struct story *story, const uint32_t *numbers, const bool *which)
{
    size_t used = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        if (!which || which[i])
            used += (size_t)snprintf(text + used, room - used, "%s%" PRIu32, used ? "," : "", numbers[i]);
}

static void write_edges(char *text, size_t room, const struct story *story, const char *begin, char between, char end)
{
    size_t used = (size_t)snprintf(text, room, "%s", begin);
    bool more = false;
    for (uint32_t i = 0; i < story->nodes; i++)
        for (uint32_t j = i + 1; j < story->nodes; j++)
            if (story->edge[i][j]) {
                if (more)
                    text[used++] = end;
                more = true;
                used += (size_t)snprintf(text + used, room - used, "%" PRIu32 "%c%" PRIu32, story->id[i], between,
                                         story->id[j]);
            }
}

static void put_in_words(struct story *story)
{
    write_list(story->ids, sizeof story->ids, story, story->id, NULL);
    write_list(story->attributes, sizeof story->attributes, story, story->attribute, NULL);
    if (story->all_call)
        snprintf(story->start, sizeof story->start, "all");
    else
        write_list(story->start, sizeof story->start, story, story->id, story->calls);
    if (story->algorithm->topology == CV_GRAPH && story->nodes > 1) {
        write_edges(story->graph, sizeof story->graph, story, "edges:", '-', ',');
        write_edges(story->graph_lines, sizeof story->graph_lines, story, "", ' ', '\n');
    }
    if (story->has_cut) {
        write_list(story->partition, sizeof story->partition, story, story->id, story->cut.inside);
        const size_t used = strlen(story->partition);
        char *rest = story->partition + used;
        if (story->cut.end == UINT64_MAX)
            snprintf(rest, sizeof story->partition - used, "@%" PRIu64, story->cut.begin);
        else
            snprintf(rest, sizeof story->partition - used, "@%" PRIu64 "..%" PRIu64, story->cut.begin, story->cut.end);
    }
}

int story_plan(struct story *story, struct cv_plan *plan)
{
    put_in_words(story);
    *plan = (struct cv_plan){.algorithm = story->algorithm,
                             .ids = story->ids,
                             .attributes = story->with_attributes ? story->attributes : NULL,
                             .start = story->start,
                             .delay = story->delay,
                             .loss = story->loss,
                             .duplicate = story->duplicate,
                             .detect = *story->detect ? story->detect : NULL,
                             .graph = *story->graph ? story->graph : NULL,
                             .graph_text = *story->graph ? story->graph_lines : NULL,
                             .seed = story->seed,
                             .reorder = story->reorder};
    char dead[WORD_BYTES];
    struct words *crash = &story->crash;
    for (uint32_t i = 0; i < story->nodes; i++) {
        bool told = !story->dead[i];
        snprintf(dead, sizeof dead, "%" PRIu32 "@0", story->id[i]);
        for (uint32_t j = 0; j < crash->count; j++)
            told |= strcmp(crash->word[j], dead) == 0;
        if (!told)
            memcpy(crash->word[crash->count++], dead, sizeof dead);
    }
    if (words_add_to(&plan->crash, crash) || words_add_to(&plan->recover, &story->recover) ||
        words_add_to(&plan->set, &story->set))
        return CV_ENOMEM;
    return story->has_cut ? cv_words_add(&plan->partition, story->partition) : 0;
}

void story_print(FILE *out, const struct story *story)
{
    fprintf(out, "conclave sim %s --seed %" PRIu64, story->name, story->seed);
    words_print_option(out, "--ids", story->ids);
    words_print_option(out, "--attr", story->with_attributes ? story->attributes : NULL);
    words_print_option(out, "--start", story->start);
    words_print_option(out, "--graph", story->graph);
    words_print_option(out, "--delay", story->delay);
    words_print_option(out, "--loss", story->loss);
    words_print_option(out, "--duplicate", story->duplicate);
    fputs(story->reorder ? " --reorder" : "", out);
    words_print(out, "--set", &story->set);
    words_print(out, "--crash", &story->crash);
    words_print(out, "--recover", &story->recover);
    words_print_option(out, "--partition", story->has_cut ? story->partition : NULL);
    words_print_option(out, "--detect", story->detect);
    putc('\n', out);
}
