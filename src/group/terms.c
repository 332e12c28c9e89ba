// SPDX-License-Identifier: MIT
#include "group/terms.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "group/lease_times.h"

#define LARGEST_MS 3600000u

static const struct {
    const char *name;
    uint32_t least, largest;
} table[CV_TERMS] = {
    [CV_TERM_LEASE] = {"lease", CV_LEASE_LEAST_MS, LARGEST_MS},
    [CV_TERM_DRIFT] = {"drift", 0, CV_DRIFT_LARGEST_PPM},
    [CV_TERM_BOUND] = {"bound", 1, LARGEST_MS},
    [CV_TERM_VOTERS] = {"voters", 1, CV_MOST_VOTERS},
};

const char *cv_term_name(enum cv_term_key key)
{
    return table[key].name;
}

enum cv_term_key cv_term_find(const char *name)
{
    enum cv_term_key key = 0;
    while (key < CV_TERMS && strcmp(table[key].name, name) != 0)
        key++;
    return key;
}

bool cv_term_fits(enum cv_term_key key, uint32_t value)
{
    return value >= table[key].least && value <= table[key].largest;
}

/* Reads a percentage, with or without its sign. */
static int parse_drift(const char *text, uint32_t *value, struct cv_complaint *complaint)
{
    char *end;
    const double percent = strtod(text, &end);
    end += *end == '%';
    if (end == text || *end || !(percent >= 0 && percent <= 20))
        return cv_complain(complaint, "[group] drift = %s: expected a percentage of 0 to 20", cv_brief(text).text);
    *value = (uint32_t)(percent * 10000 + 0.5);
    return 0;
}

int cv_term_parse(enum cv_term_key key, const char *text, uint32_t *value, struct cv_complaint *complaint)
{
    uint64_t number;
    if (key == CV_TERM_DRIFT)
        return parse_drift(text, value, complaint);
    if (!cv_parse_number(cv_text(text), table[key].largest, &number) || number < table[key].least)
        return cv_complain(complaint, "[group] %s = %s: expected a number of %u to %u", table[key].name,
                           cv_brief(text).text, table[key].least, table[key].largest);
    *value = (uint32_t)number;
    return 0;
}

const char *cv_term_text(enum cv_term_key key, uint32_t value, char text[CV_TERM_BYTES])
{
    if (key == CV_TERM_DRIFT)
        snprintf(text, CV_TERM_BYTES, "%g", (double)value / 10000);
    else
        snprintf(text, CV_TERM_BYTES, "%u", value);
    return text;
}

struct cv_lease_terms cv_terms_lease(const struct cv_terms *terms)
{
    return (struct cv_lease_terms){(uint64_t)terms->values[CV_TERM_LEASE] * 1000, terms->values[CV_TERM_DRIFT]};
}
