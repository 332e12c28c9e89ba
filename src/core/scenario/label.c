// SPDX-License-Identifier: MIT
#include "core/scenario/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"

_Static_assert(sizeof(struct cv_name) == CV_LABEL_BYTES, "a scenario keeps labels as they are named");

struct cv_name cv_name(const struct cv_scenario *scenario, cv_node node)
{
    struct cv_name name;
    if (scenario->labels)
        memcpy(name.text, scenario->labels[node], sizeof name.text);
    else
        snprintf(name.text, sizeof name.text, "%u", scenario->group.ids[node]);
    return name;
}

struct cv_name cv_name_of(const struct cv_scenario *scenario, cv_id id)
{
    struct cv_name name;
    for (cv_node node = 0; scenario->labels && node < scenario->group.nodes; node++)
        if (scenario->group.ids[node] == id)
            return cv_name(scenario, node);
    snprintf(name.text, sizeof name.text, "%u", id);
    return name;
}

size_t cv_longest_name(const struct cv_scenario *scenario)
{
    size_t longest = 1;
    for (cv_node node = 0; node < scenario->group.nodes; node++) {
        const size_t length = strlen(cv_name(scenario, node).text);
        longest = length > longest ? length : longest;
    }
    return longest;
}

/* ---- reading ---- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A word begins with a letter, so that it cannot be taken for an id. */
static bool is_label(struct cv_text word)
{
    for (size_t i = 1; i < word.length; i++)
        if (!is_letter(word.start[i]) && !(word.start[i] >= '0' && word.start[i] <= '9') && word.start[i] != '-' &&
            word.start[i] != '_')
            return false;
    return word.length && word.length <= CV_LONGEST_LABEL && is_letter(word.start[0]);
}

/* "a..j" into its letters; 0 if it is something else. */
static uint32_t letters(const char *text, char *first)
{
    struct cv_text low, high;
    if (!cv_text_range(cv_text(text), &low, &high) || low.length != 1 || high.length != 1 || !is_letter(*low.start) ||
        !is_letter(*high.start) || *low.start > *high.start || (*low.start <= 'Z') != (*high.start <= 'Z'))
        return 0;
    *first = *low.start;
    return (uint32_t)(*high.start - *low.start) + 1;
}

static int add_label(struct cv_scenario *scenario, uint32_t place, const char *text, struct cv_text word,
                     struct cv_complaint *complaint)
{
    if (!is_label(word))
        return cv_complain(complaint,
                           "--labels %s: '%s': expected a letter or a word of up to %u letters and digits, a letter "
                           "first; a..j or red,green,blue",
                           cv_brief(text).text, cv_brief_text(word).text, CV_LONGEST_LABEL);
    for (uint32_t i = 0; i < place; i++)
        if (cv_text_is(word, scenario->labels[i]))
            return cv_complain(complaint, "--labels %s: %s stands twice; expected distinct labels", cv_brief(text).text,
                               scenario->labels[i]);
    if (place < scenario->group.nodes)
        memcpy(scenario->labels[place], word.start, word.length);
    return 0;
}

int cv_labels_read(const char *text, struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    const uint32_t nodes = scenario->group.nodes;
    char first = 'a';
    uint32_t count = letters(text, &first);
    const bool range = count > 0;
    struct cv_text rest = cv_text(text), word;
    scenario->labels = calloc(nodes, sizeof *scenario->labels);
    if (!scenario->labels)
        return CV_ENOMEM;
    for (uint32_t i = 0; range && i < count && i < nodes; i++)
        scenario->labels[i][0] = (char)(first + (char)i);
    for (int error; !range && cv_text_take(&rest, ',', &word); count++)
        if (count < nodes && (error = add_label(scenario, count, text, word, complaint)))
            return error;
    if (count != nodes)
        return cv_complain(complaint, "--labels %s: %u labels; expected one for each of the %u nodes",
                           cv_brief(text).text, count, nodes);
    return 0;
}
