// SPDX-License-Identifier: MIT
#include "cli/options.h"

#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/nearest.h"
#include "core/parse.h"
#include "core/scenario/plan.h"
#include "show/json.h"

/* ---- times ---- */

static bool parse_time(const char *text, uint64_t *time_ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    const char *digits_end = text + strspn(text, "0123456789.");
    char *end;
    const double number = strtod(text, &end);
    if (end == text || end != digits_end)
        return false; /* no signs, no exponents, no hexadecimals */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && number * units[i].ms <= 1e12) {
            *time_ms = (uint64_t)(number * units[i].ms + 0.5);
            return true;
        }
    return false;
}

int options_read_time(const char *option, const char *value, uint64_t *time_ms, struct cv_complaint *complaint)
{
    if (parse_time(value, time_ms)) {
        /* 0 has a meaning of its own, so nothing else may become it. */
        if (*time_ms || !value[strcspn(value, "123456789")])
            return 0;
        return cv_complain(complaint, "%s %s: expected 0, or at least a millisecond", option, cv_brief(value).text);
    }
    return cv_complain(complaint, "%s %s: expected a time: seconds, or a number with ms, s, m or h", option,
                       cv_brief(value).text);
}

/* ---- reading ---- */

#define FIRST 256 /* getopt's number of the first row */

struct reader {
    const struct options *options;
    int argc;
    char **argv;
    struct option table[OPTIONS_MOST + 2];
    char letters[2 * OPTIONS_MOST + 8];
    bool given[OPTIONS_MOST];
    struct cv_complaint *complaint;
};

/* getopt's tables. It begins with the first word: a scenario reads several lines of options, one after the other. */
static void begin(struct reader *reader)
{
    size_t count = 0;
    char *letters = reader->letters;
    letters = stpcpy(letters, reader->options->runs_command ? "-:h" : ":h");
    for (const struct option_row *row = reader->options->rows; row->help; row++) {
        const size_t index = (size_t)(row - reader->options->rows);
        assert(index < OPTIONS_MOST);
        if (!row->name)
            continue;
        const int has = row->argument ? required_argument : no_argument;
        reader->table[count++] = (struct option){row->name, has, NULL, FIRST + (int)index};
        if (row->letter)
            letters += sprintf(letters, "%c%s", row->letter, row->argument ? ":" : "");
    }
    reader->table[count] = (struct option){"help", no_argument, NULL, 'h'};
    optind = 0;
    opterr = 0;
}

/* The option at hand as it was written, with its value if that is in the same word. */
static char **written(const struct reader *reader)
{
    char **last = &reader->argv[optind - 1];
    return optarg && optarg == *last ? last - 1 : last;
}

/* Complains about the word at which getopt stopped and returned '?' or ':'. */
static int refuse(const struct reader *reader, int stopped)
{
    const char *word = reader->argv[optind - 1], *command = reader->options->name;
    const bool is_long = strncmp(word, "--", 2) == 0;
    char see[80] = "";
    if (reader->options->lenient)
        snprintf(see, sizeof see, "; see conclave %s --help", command);
    if (stopped == ':')
        return cv_complain(reader->complaint, "%s: expected a value%s", cv_brief(word).text, see);
    if (is_long && optopt)
        return cv_complain(reader->complaint, "%s: expected no value%s", cv_brief(word).text, see);
    char name[64] = "";
    if (is_long)
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    struct nearest nearest = nearest_to(name);
    for (const struct option *it = reader->table; it->name; it++)
        nearest_offer(&nearest, it->name);
    return cv_complain(reader->complaint, "%s: no such option%s; see conclave %s --help",
                       is_long ? cv_brief(word).text : cv_brief((char[3]){'-', (char)optopt, '\0'}).text,
                       nearest_question(&nearest, "--").text, command);
}

static int take_number(const struct reader *reader, const struct option_row *row, void *field)
{
    uint64_t number;
    if (!cv_parse_number(cv_text(optarg), row->most, &number) || number < row->least)
        return cv_complain(reader->complaint, "--%s %s: expected a number of %llu..%llu", row->name,
                           cv_brief(optarg).text, (unsigned long long)row->least, (unsigned long long)row->most);
    if (row->kind == OPTION_NUMBER)
        *(uint64_t *)field = number;
    else
        *(uint32_t *)field = (uint32_t)number;
    return 0;
}

static int take(const struct reader *reader, const struct option_row *row, void *request)
{
    void *field = (char *)request + row->offset;
    switch (row->kind) {
    case OPTION_SWITCH:
        *(bool *)field = true;
        return 0;
    case OPTION_TEXT:
        *(const char **)field = optarg;
        return 0;
    case OPTION_WORDS:
        return cv_words_add(field, optarg);
    case OPTION_NUMBER:
    case OPTION_NUMBER32:
        return take_number(reader, row, field);
    default:
        return row->take(request, optarg, reader->complaint);
    }
}

/* Refuses shortened names and repeated options. */
static int check_written(struct reader *reader, const struct option_row *row, bool by_name)
{
    const char *word = *written(reader);
    bool *given = &reader->given[row - reader->options->rows];
    if (reader->options->lenient)
        return 0;
    if (by_name && strcspn(word, "=") != strlen(row->name) + 2)
        return cv_complain(reader->complaint, "%s: expected --%s, written out", cv_brief(word).text, row->name);
    if (*given && optarg && !row->repeats && row->kind != OPTION_WORDS)
        return cv_complain(reader->complaint, "--%s %s: given twice; expected one value", row->name,
                           cv_brief(optarg).text);
    *given = true;
    return 0;
}

static const struct option_row *row_of(const struct options *options, int number)
{
    const struct option_row *row = options->rows;
    if (number >= FIRST)
        return row + (number - FIRST);
    while (row->letter != number)
        row++;
    return row;
}

int options_read(const struct options *options, int argc, char **argv, void *request, struct cv_complaint *complaint)
{
    struct reader reader = {.options = options, .argc = argc, .argv = argv, .complaint = complaint};
    const char **first_word = options->runs_command ? request : NULL;
    bool help = false;
    begin(&reader);
    for (;;) {
        int which = -1, error = 0;
        const int number = getopt_long(argc, argv, reader.letters, reader.table, &which);
        if (number == -1)
            return help ? OPTIONS_HELP : optind;
        if (number == 1 && *first_word)
            return help ? OPTIONS_HELP : --optind;
        if (number == 1) {
            *first_word = optarg;
            continue;
        }
        if (number == '?' || number == ':')
            return refuse(&reader, number);
        if (number == 'h') {
            if (options->lenient)
                return OPTIONS_HELP;
            help = true;
            continue;
        }
        const struct option_row *row = row_of(options, number);
        error = check_written(&reader, row, which >= 0);
        if (!error)
            error = take(&reader, row, request);
        if (error)
            return error;
        char **words = written(&reader);
        if (options->note)
            options->note(request, row, words, (int)(&argv[optind] - words));
    }
}

bool options_settled(const struct options *options, int error, bool help, const struct cv_complaint *complaint,
                     int *code)
{
    *code = error ? command_fail(error, complaint) : EXIT_HELD;
    if (!error && help)
        options_help(options, stdout);
    return !error && !help;
}

int options_take(const struct options *options, int argc, char **argv, void *request, int *code)
{
    struct cv_complaint complaint = {{0}};
    int next = options_read(options, argc, argv, request, &complaint);
    if (next > 0 && next < argc && options->no_words)
        next = cv_complain(&complaint, "%s: expected no argument; see conclave %s --help", cv_brief(argv[next]).text,
                           options->name);
    return options_settled(options, next < 0 ? next : 0, next == OPTIONS_HELP, &complaint, code) ? next : 0;
}

/* ---- the page ---- */

#define TEXT_COLUMN 27u
#define LAST_COLUMN 112u

/* Fills lines from `column` on. A line break in the text is kept, and so is a line that begins with a space. */
static void fill(FILE *out, const char *text, size_t column)
{
    size_t at = column;
    while (*text) {
        const size_t length = strcspn(text, at == column && *text == ' ' ? "\n" : " \n");
        if (at > column && at + 1 + length > LAST_COLUMN) {
            fprintf(out, "\n%*s", (int)column, "");
            at = column;
        }
        at += (size_t)fprintf(out, "%s%.*s", at > column ? " " : "", (int)length, text);
        text += length;
        if (*text == '\n') {
            fprintf(out, "\n%*s", (int)column, "");
            at = column;
        }
        text += *text != '\0';
    }
    putc('\n', out);
}

static void show_row(FILE *out, const struct option_row *row)
{
    if (!row->name) {
        fprintf(out, "%s\n", row->help);
        return;
    }
    size_t used = (size_t)(row->letter ? fprintf(out, "  -%c, ", row->letter) : fprintf(out, "%6s", ""));
    used += (size_t)fprintf(out, "--%s%s%s", row->name, row->argument ? " " : "", row->argument ? row->argument : "");
    if (used + 1 > TEXT_COLUMN)
        fprintf(out, "\n%*s", (int)TEXT_COLUMN, "");
    else
        fprintf(out, "%*s", (int)(TEXT_COLUMN - used), "");
    fill(out, row->help, TEXT_COLUMN);
}

void options_help(const struct options *options, FILE *out)
{
    const char *before = "usage: ";
    for (const char *line = options->usage, *end; line; line = *end ? end + 1 : NULL) {
        end = line + strcspn(line, "\n");
        fprintf(out, "%sconclave %s%s%.*s\n", before, options->name, end > line ? " " : "", (int)(end - line), line);
        before = "       ";
    }
    putc('\n', out);
    fill(out, options->about, 0);
    putc('\n', out);
    for (const struct option_row *row = options->rows; row->help; row++)
        show_row(out, row);
    show_row(out, &(struct option_row){.name = "help", .letter = 'h', .help = "this page"});
    if (options->more) {
        putc('\n', out);
        fill(out, options->more, 0);
    }
}

void options_json(const struct options *options, const char *summary, struct cv_json *json)
{
    cv_json_open(json, NULL, '{');
    cv_json_text(json, "name", options->name);
    cv_json_text(json, "summary", summary);
    cv_json_text(json, "usage", options->usage);
    cv_json_open(json, "options", '[');
    for (const struct option_row *row = options->rows; row->help; row++) {
        if (!row->name)
            continue;
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", row->name);
        cv_json_text(json, "letter", row->letter ? (char[2]){row->letter, '\0'} : NULL);
        cv_json_text(json, "argument", row->argument);
        cv_json_truth(json, "repeatable", row->repeats || row->kind == OPTION_WORDS);
        cv_json_text(json, "help", row->help);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    cv_json_close(json, '}');
}
