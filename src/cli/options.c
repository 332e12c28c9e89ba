// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cli/nearest.h"
#include "core/parse.h"

/* From the first word on: a scenario reads several lines of options, one after the other. */
void options_begin(struct options *options)
{
    memset(options->given, 0, sizeof options->given);
    optind = 0;
    opterr = 0;
}

const char *options_written(const struct options *options)
{
    const char *last = options->argv[optind - 1];
    return optarg && optarg == last ? options->argv[optind - 2] : last;
}

struct options_text options_wrong(const struct option *table, int stopped, const char *word)
{
    struct options_text wrong = {"expected a value"};
    if (stopped == ':')
        return wrong;
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word, "="), word);
    struct nearest nearest = nearest_to(strncmp(name, "--", 2) == 0 ? name + 2 : name);
    for (const struct option *it = table; it->name; it++)
        nearest_offer(&nearest, it->name);
    snprintf(wrong.text, sizeof wrong.text, "no such option%s", nearest_question(&nearest, "--").text);
    return wrong;
}

/* What getopt stopped at, when it returned '?' or ':'. */
static int refuse(const struct options *options, int option, struct cv_complaint *complaint)
{
    const char *word = options->argv[optind - 1];
    const bool is_long = strncmp(word, "--", 2) == 0;
    if (option == ':')
        cv_complain(complaint, "%s: expected a value", cv_brief(word).text);
    else if (is_long && optopt)
        cv_complain(complaint, "%s: expected no value", cv_brief(word).text);
    else
        cv_complain(complaint, "%s: %s; see conclave %s --help",
                    is_long ? cv_brief(word).text : cv_brief((char[3]){'-', (char)optopt, '\0'}).text,
                    options_wrong(options->table, option, is_long ? word : "").text, options->command);
    return OPTIONS_WRONG;
}

/* Its long name; one with a letter need not be written out. */
static const char *name_of(const struct options *options, int option)
{
    const struct option *it = options->table;
    while (it->val != option)
        it++;
    return it->name;
}

int options_next(struct options *options, struct cv_complaint *complaint)
{
    int which = -1;
    const int option = getopt_long(options->argc, options->argv, options->letters, options->table, &which);
    if (option == -1)
        return OPTIONS_END;
    if (option == '?' || option == ':')
        return refuse(options, option, complaint);
    assert(option < OPTIONS_MOST);
    const char *name = name_of(options, option);
    if (which >= 0 && strcspn(options_written(options), "=") != strlen(name) + 2) {
        cv_complain(complaint, "%s: expected --%s, written out", cv_brief(options_written(options)).text, name);
        return OPTIONS_WRONG;
    }
    if (options->given[option] && optarg && !(options->repeats && options->repeats(option))) {
        cv_complain(complaint, "--%s %s: given twice; expected one value", name, cv_brief(optarg).text);
        return OPTIONS_WRONG;
    }
    options->given[option] = true;
    return option;
}
