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

void story_begin(struct story *story, const struct cv_algorithm *algorithm, const struct cv_algorithm *election,
                 const char *name, uint64_t seed)
{
    *story = (struct story){.algorithm = algorithm, .election = election, .name = name, .seed = seed, .names = 1};
    cv_random_seed(&story->random, seed, 78);
    story_unit_network(story);
}

void story_draw_group(struct story *story, uint32_t least, uint32_t most)
{
    const uint32_t first = one_in(story, 2) ? 0 : 1 + story_draw(story, 9), shape = story_draw(story, 3);
    const uint32_t limit = one_in(story, 2) && most > 6 ? 6 : most;
    story->nodes = least + story_draw(story, limit - least + 1);
    for (uint32_t i = 0; i < story->nodes; i++)
        story->id[i] = first + (shape == 1 ? story->nodes - 1 - i : i) * (shape == 2 ? 7 : 1);
    if (shape == 2)
        cv_random_shuffle(&story->random, story->id, story->nodes);
    story->coordinator = 0;
    for (uint32_t i = 1; i < story->nodes; i++)
        if (story->id[i] > story->id[story->coordinator])
            story->coordinator = i;
}

/* ---- the network ---- */

void story_unit_network(struct story *story)
{
    story->delay = story->loss = story->duplicate = NULL;
    story->reorder = false;
    story->unordered = false;
    story->unit = true;
    story->longest_delay = 1;
}

void story_bounded_network(struct story *story)
{
    static const char *const delays[] = {"1..9", "2..5", "3..3", "1..30"};
    static const uint64_t longest[] = {9, 5, 3, 30};
    const uint32_t choice = story_draw(story, 4);
    story_unit_network(story);
    story->delay = delays[choice];
    story->longest_delay = longest[choice];
    story->unit = false;
}

void story_odd_network(struct story *story)
{
    const uint32_t shape = story_draw(story, 4);
    story_bounded_network(story);
    story->unordered = shape < 2 && !(story->algorithm->assumes & CV_FIFO) && one_in(story, 2);
    if (shape == 0)
        return;
    if (shape == 1) {
        story->delay = "exp:3";
        story->longest_delay = 30;
        return;
    }
    story->loss = one_in(story, 3) ? NULL : one_in(story, 2) ? "0.1" : "0.3";
    story->duplicate = one_in(story, 3) ? NULL : "0.25";
    story->reorder = one_in(story, 2) || (!story->loss && !story->duplicate);
    if (one_in(story, 3))
        story->delay = NULL;
}

/* ---- requests ---- */

void story_request(struct story *story, uint32_t node, uint64_t time, uint64_t hold, uint32_t section)
{
    char *word = story->request.word[story->request.count++];
    const int used = snprintf(word, WORD_BYTES, "%" PRIu32 "@%" PRIu64 "+%" PRIu64, story->id[node], time, hold);
    if (section)
        snprintf(word + used, WORD_BYTES - (size_t)used, "/%" PRIu32, section);
}

void story_draw_contention(struct story *story)
{
    story->names = one_in(story, 3) ? 2 + story_draw(story, MOST_NAMES - 1) : 1;
    if (one_in(story, 2)) {
        story->entries = 1 + story_draw(story, 4);
        story->hold = 1 + story_draw(story, one_in(story, 2) ? 3 : 20);
        story->think = one_in(story, 2) ? 0 : story_draw(story, 30);
        return;
    }
    const uint32_t count = 1 + story_draw(story, 30), during = 1 + story_draw(story, 60);
    for (uint32_t i = 0; i < count; i++)
        story_request(story, story_draw(story, story->nodes), story_draw(story, during), 1 + story_draw(story, 15),
                      story_draw(story, (uint32_t)story->names));
}

/* ---- what goes wrong ---- */

static void add_at(struct words *words, uint32_t id, uint64_t time)
{
    snprintf(words->word[words->count++], WORD_BYTES, "%" PRIu32 "@%" PRIu64, id, time);
}

void story_crash(struct story *story, uint32_t node, uint64_t time)
{
    add_at(&story->crash, story->id[node], time);
}

void story_recover(struct story *story, uint32_t node, uint64_t time)
{
    add_at(&story->recover, story->id[node], time);
}

void story_crash_sending(struct story *story, uint32_t node, const char *moment, const char *kind)
{
    snprintf(story->crash.word[story->crash.count++], WORD_BYTES, "%" PRIu32 "@%s:%.12s", story->id[node], moment,
             kind);
}

static uint64_t draw_time(struct story *story)
{
    return 1 + story_draw(story, (uint32_t)(20 * story->longest_delay + 40));
}

static void draw_crash(struct story *story, uint32_t node)
{
    const uint32_t moment = story_draw(story, 4), kinds = cv_algorithm_kinds(story->algorithm);
    const char *kind = story->algorithm->kinds[story_draw(story, kinds)].name;
    const uint64_t crashed = draw_time(story);
    if (moment < 2)
        story_crash_sending(story, node, moment ? "after" : "before", kind);
    else
        story_crash(story, node, one_in(story, 8) ? 0 : crashed);
    if (one_in(story, 2))
        add_at(&story->recover, story->id[node], crashed + draw_time(story));
}

/* One node always stays up. */
void story_draw_crashes(struct story *story)
{
    const uint32_t most = story->nodes - 1, count = 1 + story_draw(story, most > 4 ? 4 : most);
    uint32_t node[MOST_NODES];
    for (uint32_t i = 0; i < story->nodes; i++)
        node[i] = i;
    cv_random_shuffle(&story->random, node, story->nodes);
    for (uint32_t i = 0; i < count; i++)
        draw_crash(story, node[i]);
    if (one_in(story, 2))
        snprintf(story->detect, sizeof story->detect, "%u", one_in(story, 4) ? 0 : 1 + story_draw(story, 30));
}

void story_set(struct story *story, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(story->set.word[story->set.count++], WORD_BYTES, format, arguments);
    va_end(arguments);
}

/* ---- in words ---- */

static void put_in_words(struct story *story)
{
    size_t used = 0;
    for (uint32_t i = 0; i < story->nodes; i++)
        used += (size_t)snprintf(story->ids + used, sizeof story->ids - used, "%s%" PRIu32, i ? "," : "", story->id[i]);
    snprintf(story->names_text, sizeof story->names_text, "%" PRIu64, story->names);
    if (story->request.count)
        return;
    snprintf(story->entries_text, sizeof story->entries_text, "%" PRIu64, story->entries);
    snprintf(story->hold_text, sizeof story->hold_text, "%" PRIu64, story->hold);
    snprintf(story->think_text, sizeof story->think_text, "%" PRIu64, story->think);
}

static const char *unless_empty(const char *text)
{
    return *text ? text : NULL;
}

int story_plan(struct story *story, struct cv_plan *plan)
{
    put_in_words(story);
    *plan = (struct cv_plan){.algorithm = story->algorithm,
                             .election = story->election,
                             .ids = story->ids,
                             .delay = story->delay,
                             .loss = story->loss,
                             .duplicate = story->duplicate,
                             .detect = unless_empty(story->detect),
                             .until = unless_empty(story->until),
                             .entries = unless_empty(story->entries_text),
                             .hold = unless_empty(story->hold_text),
                             .think = unless_empty(story->think_text),
                             .names = story->names_text,
                             .views = story->views,
                             .seed = story->seed,
                             .reorder = story->reorder,
                             .unordered = story->unordered};
    if (words_add_to(&plan->crash, &story->crash) || words_add_to(&plan->recover, &story->recover) ||
        words_add_to(&plan->set, &story->set))
        return CV_ENOMEM;
    return words_add_to(&plan->request, &story->request);
}

void story_print(FILE *out, const struct story *story)
{
    fprintf(out, "conclave sim %s --seed %" PRIu64, story->name, story->seed);
    words_print_option(out, "--ids", story->ids);
    words_print(out, "--request", &story->request);
    words_print_option(out, "--entries", story->entries_text);
    words_print_option(out, "--hold", story->hold_text);
    words_print_option(out, "--think", story->think_text);
    words_print_option(out, "--names", story->names > 1 ? story->names_text : NULL);
    words_print_option(out, "--delay", story->delay);
    words_print_option(out, "--loss", story->loss);
    words_print_option(out, "--duplicate", story->duplicate);
    fputs(story->reorder ? " --reorder" : story->unordered ? " --unordered" : "", out);
    words_print(out, "--set", &story->set);
    words_print(out, "--crash", &story->crash);
    words_print(out, "--recover", &story->recover);
    words_print_option(out, "--detect", story->detect);
    words_print_option(out, "--views", story->views);
    words_print_option(out, "--election", story->crash.count ? story->election->name : NULL);
    words_print_option(out, "--until", story->until);
    putc('\n', out);
}
