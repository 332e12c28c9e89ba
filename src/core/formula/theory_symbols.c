// SPDX-License-Identifier: MIT
/* Formulas in words: whose they are, and what their variables stand for. */
#include "core/formula/theory_symbols.h"

#include <stdio.h>
#include <string.h>

#include "core/formula/formula.h"
#include "core/formula/theory.h"

const char *cv_source_name(const struct cv_cost *cost)
{
    return cost->source == CV_TEXT ? "text" : cost->source == CV_PAPER ? "paper" : "derived";
}

const char *cv_source_phrase(const struct cv_cost *cost)
{
    return cost->source == CV_TEXT ? "the text" : cost->source == CV_PAPER ? "the paper" : "derived";
}

struct symbol {
    const char *name, *meaning;
};

static const struct symbol symbols[] = {
    {"n", NULL},
    {"d", "dead from the start"},
    {"a", "alive"},
    {"k", "callers"},
    {"q", "live nodes at least as good as the caller"},
    {"h", "live nodes better than the caller"},
    {"δ", "steps from each caller to the best, summed"},
    {"Σ", "steps from each caller to the next better one, summed"},
    {"ρ", "rounds"},
    {"f", "full phases"},
    {"E", "edges"},
    {"ecc", "the caller's distance to the farthest node"},
    {"w", "2 if a node that far out has another neighbour, otherwise 0"},
    {"e", "entries"},
    {"x", "entries of others than the coordinator"},
    {"V", "votes of others that all entries take"},
    {0},
};

/* Algorithms for which a symbol means something else. */
static const struct symbol of_synchronizers[] = {
    {"R", "rounds"},
    {"M", "messages of the app"},
    {"D", "the longest delay"},
    {"h", "height of the tallest tree"},
    {"c", "clusters"},
    {"P", "pairs of neighbouring clusters"},
    {0},
};

static const struct symbol of_mutexes[] = {
    {"K", "size of a voting set"},
    {"m", "votes it takes"},
    {"k", "attempts"},
    {0},
};

struct reading {
    const struct cv_algorithm *algorithm;
    char *text;
    size_t size, used;
    const void *told[24]; /* symbols and parameters that are explained already */
    uint32_t told_count;
};

static const struct symbol *find(const struct symbol *table, const char *name, size_t length)
{
    for (; table->name; table++)
        if (strlen(table->name) == length && memcmp(table->name, name, length) == 0)
            return table;
    return NULL;
}

static void tell(struct reading *reading, const char *name, const char *meaning)
{
    const int written = snprintf(reading->text + reading->used, reading->size - reading->used, "%s%s %s",
                                 reading->used ? "; " : "", name, meaning);
    if (written > 0 && (size_t)written < reading->size - reading->used)
        reading->used += (size_t)written;
}

/* Each symbol is explained once. */
static bool is_new(struct reading *reading, const void *it)
{
    for (uint32_t i = 0; i < reading->told_count; i++)
        if (reading->told[i] == it)
            return false;
    if (reading->told_count < sizeof reading->told / sizeof *reading->told)
        reading->told[reading->told_count++] = it;
    return true;
}

/* The value of a choice is the index of its word: "announce 0 for lower, 1 for all". */
static bool meet_parameter(struct reading *reading, const char *name, size_t length)
{
    const struct cv_parameter *parameter = reading->algorithm->parameters;
    while (parameter && parameter->name &&
           (strlen(parameter->name) != length || memcmp(parameter->name, name, length) != 0))
        parameter++;
    if (!parameter || !parameter->name)
        return false;
    if (!is_new(reading, parameter) || parameter->type != CV_CHOICE)
        return true;
    char words[120];
    size_t used = 0;
    const char *word = parameter->choices;
    for (unsigned place = 0; *word && used < sizeof words; place++) {
        const size_t letters = strcspn(word, "|");
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%u for %.*s", place ? ", " : "", place,
                                 (int)letters, word);
        word += letters + (word[letters] == '|');
    }
    tell(reading, parameter->name, words);
    return true;
}

static bool meet(void *context, const char *name, size_t length, double *value)
{
    struct reading *reading = context;
    const uint32_t problem = reading->algorithm->problem;
    const struct symbol *special = problem == CV_MUTEX                                       ? of_mutexes
                                   : problem == CV_SYNCHRONIZER || problem == CV_SYNCHRONOUS ? of_synchronizers
                                                                                             : NULL;
    const struct symbol *symbol = special ? find(special, name, length) : NULL;
    symbol = symbol ? symbol : find(symbols, name, length);
    *value = 2;
    if (!symbol)
        return meet_parameter(reading, name, length);
    if (is_new(reading, symbol) && symbol->meaning)
        tell(reading, symbol->name, symbol->meaning);
    return true;
}

void cv_theory_symbols(const struct cv_algorithm *algorithm, const char *formula, char *text, size_t size)
{
    struct reading reading = {.algorithm = algorithm, .text = text, .size = size};
    struct cv_complaint complaint;
    double value;
    text[0] = '\0';
    cv_formula_evaluate(formula, &(struct cv_formula_names){meet, &reading}, &value, &complaint);
}
