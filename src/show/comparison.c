// SPDX-License-Identifier: MIT
#include "show/comparison.h"

#include <inttypes.h>
#include <string.h>

static bool belongs(const struct cv_measurement *row, const struct cv_section *section)
{
    return strcmp(row->quantity, section->quantity) == 0 && strcmp(row->load, section->load) == 0;
}

const struct cv_measurement *cv_compare_find(const struct cv_comparison *comparison, const struct cv_section *section,
                                             const char *algorithm, uint32_t nodes)
{
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct cv_measurement *row = &comparison->rows[i];
        if (row->nodes == nodes && belongs(row, section) && strcmp(row->algorithm, algorithm) == 0)
            return row;
    }
    return NULL;
}

bool cv_compare_begins(const struct cv_comparison *comparison, const struct cv_section *section, size_t row)
{
    const struct cv_measurement *it = &comparison->rows[row];
    if (!belongs(it, section))
        return false;
    for (size_t i = 0; i < row; i++)
        if (belongs(&comparison->rows[i], section) && strcmp(comparison->rows[i].algorithm, it->algorithm) == 0)
            return false;
    return true;
}

bool cv_compare_holds(const struct cv_comparison *comparison)
{
    for (size_t i = 0; i < comparison->row_count; i++)
        if (comparison->rows[i].formula && !comparison->rows[i].holds)
            return false;
    for (size_t i = 0; i < comparison->demonstration_count; i++)
        if (comparison->demonstrations[i].verdict != comparison->demonstrations[i].expected)
            return false;
    return true;
}

/* ---- tables ---- */

struct table {
    FILE *out;
    const struct cv_comparison *comparison;
    const struct cv_section *section;
    bool colour;
    int name_width, cell_width, formula_width;
};

static int columns(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

static void pad(FILE *out, int count)
{
    fprintf(out, "%*s", count > 0 ? count : 0, "");
}

static int format_number(char *text, size_t size, double number)
{
    return snprintf(text, size, number == (double)(uint64_t)number ? "%.0f" : "%.2f", number);
}

static const char *source_of(const struct cv_measurement *row)
{
    return row->source == CV_TEXT ? "text" : row->source == CV_PAPER ? "paper" : "derived";
}

static const char *mark_of(const struct cv_measurement *row)
{
    return !row->formula ? " " : !row->holds ? "✗" : row->exact ? "✓" : "≤";
}

static int cell(const struct cv_measurement *row, char *text, size_t size)
{
    if (!row)
        return snprintf(text, size, "…");
    return row->known ? format_number(text, size, row->measured) : snprintf(text, size, "stuck");
}

static void show_cell(const struct table *table, const struct cv_measurement *row)
{
    char text[32];
    cell(row, text, sizeof text);
    pad(table->out, table->cell_width - columns(text) - 1);
    const char *mark = row ? mark_of(row) : " ";
    const char *colour = !table->colour || !row || !row->formula ? "" : row->holds ? "\033[32m" : "\033[31m";
    fprintf(table->out, "%s%s%s%s", text, colour, mark, *colour ? "\033[0m" : "");
}

static void measure_widths(struct table *table)
{
    const struct cv_comparison *comparison = table->comparison;
    table->name_width = table->cell_width = 8;
    table->formula_width = 12;
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct cv_measurement *row = &comparison->rows[i];
        char text[32];
        cell(row, text, sizeof text);
        const int name = columns(row->algorithm) + 2, number = columns(text) + 3;
        const int formula = row->formula ? columns(row->formula) + 5 : 0;
        table->name_width = name > table->name_width ? name : table->name_width;
        if (!belongs(row, table->section))
            continue;
        table->cell_width = number > table->cell_width ? number : table->cell_width;
        table->formula_width = formula > table->formula_width ? formula : table->formula_width;
    }
}

static void show_line(const struct table *table, const struct cv_measurement *first, uint32_t from, uint32_t to)
{
    const uint32_t *sizes = cv_compare_sizes(table->comparison, table->section);
    fprintf(table->out, "  %s", first->algorithm);
    pad(table->out, table->name_width - columns(first->algorithm));
    for (uint32_t i = from; i < to; i++)
        show_cell(table, cv_compare_find(table->comparison, table->section, first->algorithm, sizes[i]));
    if (!first->formula) {
        fputs("   —\n", table->out);
        return;
    }
    fprintf(table->out, "   %s%s", first->exact ? "" : "≤ ", first->formula);
    pad(table->out, table->formula_width - 3 - columns(first->formula) - (first->exact ? 0 : 2));
    fprintf(table->out, "  %s\n", source_of(first));
}

/* Fills lines of so many columns, all but the first indented. */
static void show_words(FILE *out, const char *words, int indent, int most)
{
    int column = indent;
    while (*words) {
        const int length = (int)strcspn(words, " ");
        char word[80];
        snprintf(word, sizeof word, "%.*s", length, words);
        if (column + columns(word) >= most) {
            putc('\n', out);
            pad(out, indent);
            column = indent;
        }
        fprintf(out, "%s%s", column > indent ? " " : "", word);
        column += columns(word) + (column > indent);
        words += length + (words[length] == ' ');
    }
    putc('\n', out);
}

/* Prints what a text counts, where its number is another. */
static void show_remarks(const struct table *table, unsigned width)
{
    for (size_t i = 0; i < table->comparison->row_count; i++) {
        const struct cv_measurement *row = &table->comparison->rows[i];
        if (!row->remark || !cv_compare_begins(table->comparison, table->section, i))
            continue;
        fprintf(table->out, "  %s", row->algorithm);
        pad(table->out, table->name_width - columns(row->algorithm) + 2);
        show_words(table->out, row->remark, table->name_width + 4, (int)(width < 60 ? 60 : width > 400 ? 400 : width));
    }
}

/* Prints a size at which the formula was not met. */
static void show_misses(const struct table *table)
{
    for (size_t i = 0; i < table->comparison->row_count; i++) {
        const struct cv_measurement *row = &table->comparison->rows[i];
        if (!belongs(row, table->section) || !row->formula || row->holds)
            continue;
        fprintf(table->out, "  ✗ %s, n = %" PRIu32 ": ", row->algorithm, row->nodes);
        if (row->known)
            fprintf(table->out, "measured %.10g", row->measured);
        else
            fputs("the run got stuck", table->out);
        fprintf(table->out, ", %s: %s = %.10g\n    %s\n", source_of(row), row->formula, row->expected, row->command);
    }
}

static void show_section(struct table *table, unsigned width)
{
    const struct cv_comparison *comparison = table->comparison;
    const uint32_t *sizes = cv_compare_sizes(comparison, table->section);
    uint32_t count = 0;
    while (sizes[count])
        count++;
    measure_widths(table);
    const int room = (int)(width < 60 ? 60 : width > 400 ? 400 : width) - table->name_width - table->formula_width - 11;
    const uint32_t fit = room > table->cell_width ? (uint32_t)(room / table->cell_width) : 1;
    fprintf(table->out, "\n%s%s%s\n", table->colour ? "\033[1m" : "", table->section->title,
            table->colour ? "\033[0m" : "");
    for (uint32_t from = 0; from < count; from += fit) {
        const uint32_t to = from + fit < count ? from + fit : count;
        pad(table->out, table->name_width + 2);
        for (uint32_t i = from; i < to; i++) {
            char text[32];
            snprintf(text, sizeof text, i == from ? "n = %" PRIu32 : "%" PRIu32, sizes[i]);
            fprintf(table->out, "%*s ", table->cell_width - 1, text);
        }
        fputs("  formula\n", table->out);
        for (size_t i = 0; i < comparison->row_count; i++)
            if (cv_compare_begins(comparison, table->section, i))
                show_line(table, &comparison->rows[i], from, to);
    }
    show_remarks(table, width);
    show_misses(table);
}

#define INDENT 16

/* A command over as many lines as it needs, broken before options, so that it can be pasted. */
static void show_command(FILE *out, const char *command, bool colour, unsigned width)
{
    int column = INDENT;
    const int most = (int)(width < 60 ? 60 : width > 400 ? 400 : width) - 2;
    fprintf(out, "%*s%s", INDENT, "", colour ? "\033[2m" : "");
    while (*command) {
        const char *next = strstr(command + 1, " --");
        const int length = (int)(next ? (size_t)(next - command) : strlen(command));
        if (column + length > most && column > INDENT) {
            fprintf(out, " \\\n%*s ", INDENT, "");
            column = INDENT + 1;
        }
        fprintf(out, "%.*s", length, command);
        column += length;
        command += length;
    }
    fprintf(out, "%s\n", colour ? "\033[0m" : "");
}

static void show_demonstrations(FILE *out, const struct cv_comparison *comparison, bool colour, unsigned width)
{
    static const char *const colours[] = {"\033[32m", "\033[31m", "\033[33m", "\033[2m"};
    const char *problem = "";
    if (comparison->demonstration_count)
        fprintf(out, "\n%sProblems the texts name, shown by runs%s\n", colour ? "\033[1m" : "",
                colour ? "\033[0m" : "");
    for (size_t i = 0; i < comparison->demonstration_count; i++) {
        const struct cv_demonstration *it = &comparison->demonstrations[i];
        if (strcmp(problem, it->problem) != 0)
            fprintf(out, "%s  %s\n", i ? "\n" : "", it->problem);
        problem = it->problem;
        fprintf(out, "    %s%-10s%s  %s, %s%s\n", colour ? colours[it->verdict] : "", cv_verdict_name(it->verdict),
                colour ? "\033[0m" : "", it->algorithm, it->circumstance,
                it->verdict == it->expected ? "" : " ✗ NOT AS TOLD");
        fprintf(out, "%*s%s\n", INDENT, "", it->outcome);
        show_command(out, it->command, colour, width);
    }
}

void cv_compare_text(FILE *out, const struct cv_comparison *comparison, bool colour, unsigned width)
{
    fprintf(out, "%s\n", comparison->title);
    for (const struct cv_section *section = comparison->sections; section->title; section++) {
        struct table table = {.out = out, .comparison = comparison, .section = section, .colour = colour};
        show_section(&table, width);
    }
    fputs("\n  ✓ the formula's number   ≤ within its bound   ✗ neither   unmarked: there is no formula\n"
          "  text: a text has the formula   paper: the paper has it   derived: the algorithm's page proves it\n",
          out);
    for (const char *const *note = comparison->notes; *note; note++)
        fprintf(out, "  %s\n", *note);
    show_demonstrations(out, comparison, colour, width);
    if (comparison->interrupted)
        fputs("\ninterrupted: this is what was known by then\n", out);
    fprintf(out, "\nverdict   %s\n",
            !cv_compare_holds(comparison) ? "violated: not every formula was met, or not every run ended as told"
            : comparison->interrupted     ? "unfinished"
                                          : "held: every formula was met");
}
