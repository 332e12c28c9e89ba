// SPDX-License-Identifier: MIT
#include "explore/decision_text.h"

#include <string.h>

#include "core/parse.h"

char *text_lines_next(struct text_lines *lines)
{
    if (!lines->rest || !*lines->rest)
        return NULL;
    lines->number++;
    return strsep(&lines->rest, "\n");
}

/* ---- names ---- */

static const char *const names[] = {
#define X(constant, name) [constant] = (name),
    CV_DECISIONS(X)
#undef X
};

const char *decision_name(enum cv_decision_type type)
{
    return names[type];
}

bool decision_find(const char *name, enum cv_decision_type *type)
{
    for (uint32_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *type = (enum cv_decision_type)i;
            return true;
        }
    return false;
}

/* ---- writing ---- */

void decision_write(FILE *out, const char *name, bool about, const struct cv_decision *decision, const cv_id *ids)
{
    fprintf(out, "%s %u", name, ids[decision->node]);
    if (decision->peer != CV_NOBODY)
        fprintf(out, " %s %u", about ? "from" : "of", ids[decision->peer]);
    if (decision->type == CV_DECIDE_TIMEOUT)
        fprintf(out, " timer %u", decision->which);
    else if (decision->which)
        fprintf(out, " place %u", decision->which);
    for (uint32_t i = 0; i < decision->choice_count; i++)
        fprintf(out, " chose %u", decision->choices[i]);
    if (decision->sent != CV_WHOLE)
        fprintf(out, " sent %u", decision->sent);
    if (decision->sent != CV_WHOLE && decision->missed)
        fputs(" missed", out);
    putc('\n', out);
}

/* ---- reading ---- */

bool decision_read_number(const char *text, uint32_t *number)
{
    uint64_t read;
    if (!text || !cv_parse_number(cv_text(text), UINT32_MAX, &read))
        return false;
    *number = (uint32_t)read;
    return true;
}

/* One word about how it goes, and its number. */
static bool read_way(char **rest, const char *word, struct cv_decision *decision)
{
    uint32_t number;
    if (strcmp(word, "missed") == 0)
        return decision->missed = true;
    if (!decision_read_number(strsep(rest, " "), &number))
        return false;
    if (strcmp(word, "sent") == 0)
        decision->sent = number;
    else if (strcmp(word, "chose") == 0 && decision->choice_count < CV_MOST_CHOICES)
        decision->choices[decision->choice_count++] = number;
    else
        return false;
    return true;
}

bool decision_read_way(char *line, struct cv_decision *decision)
{
    for (char *word; (word = strsep(&line, " "));)
        if (!read_way(&line, word, decision))
            return false;
    return true;
}

/* One word after the node, and its number. */
static bool read_part(char **rest, const struct cv_index *index, const char *word, struct cv_decision *decision)
{
    uint32_t number;
    if (strcmp(word, "from") != 0 && strcmp(word, "of") != 0 && strcmp(word, "timer") != 0 &&
        strcmp(word, "place") != 0)
        return read_way(rest, word, decision);
    if (!decision_read_number(strsep(rest, " "), &number))
        return false;
    if (strcmp(word, "from") == 0 || strcmp(word, "of") == 0)
        return (decision->peer = cv_index_find(index, number)) != CV_NOBODY;
    decision->which = number;
    return true;
}

bool decision_read(char *line, const struct cv_index *index, struct cv_decision *decision)
{
    uint32_t id;
    decision->node = decision->peer = CV_NOBODY;
    decision->sent = CV_WHOLE;
    if (!decision_read_number(strsep(&line, " "), &id) || (decision->node = cv_index_find(index, id)) == CV_NOBODY)
        return false;
    for (char *word; (word = strsep(&line, " "));)
        if (!read_part(&line, index, word, decision))
            return false;
    return true;
}
