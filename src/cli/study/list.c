// SPDX-License-Identifier: MIT
/* `conclave list`: lists the algorithms, or describes one of them. */
#include <stdio.h>
#include <string.h>

#include "algorithm/registry.h"
#include "cli/command.h"
#include "cli/study/plugin.h"
#include "core/formula/theory.h"
#include "core/formula/theory_symbols.h"
#include "core/scenario/field_text.h"
#include "core/scenario/scenario.h"
#include "show/algorithm_words.h"

static const char *topology_name(uint32_t topology)
{
    static const char *const names[] = {"complete", "ring", "two-way ring", "graph"};
    return names[topology];
}

/* ---- tables ---- */

/* The width of a UTF-8 text in columns. The formulas have no wide characters. */
static int columns(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += (*text & 0xc0) != 0x80;
    return count;
}

static void show_padded(const char *text, int width)
{
    const int gap = width - columns(text);
    printf("%s%*s", text, gap > 0 ? gap : 0, "");
}

/* The last listed formula is the worst case the text names. */
static const char *worst_messages(const struct cv_algorithm *algorithm)
{
    const char *worst = "";
    for (const struct cv_cost *cost = algorithm->costs; cost && cost->label; cost++)
        if (cost->measure == CV_MESSAGES && strncmp(cost->label, "worst", 5) == 0)
            worst = cost->formula;
    return worst;
}

static const char *best_messages(const struct cv_algorithm *algorithm)
{
    for (const struct cv_cost *cost = algorithm->costs; cost && cost->label; cost++)
        if (cost->measure == CV_MESSAGES && strncmp(cost->label, "best", 4) == 0)
            return cost->formula;
    return "";
}

static void show_words(const struct cv_bit_word *words, uint32_t bits)
{
    const char *separator = "";
    for (; words->word; words++)
        if (bits & words->bit) {
            printf("%s%s", separator, words->word);
            separator = ", ";
        }
}

static void show_table(void)
{
    printf("%-20s %-13s %-22s %-22s %s\n", "ALGORITHM", "NETWORK", "MESSAGES, BEST", "MESSAGES, WORST", "ASSUMES");
    for (const struct cv_algorithm *const *each = cv_algorithms; *each; each++) {
        printf("%-20s %-13s ", (*each)->name, topology_name((*each)->topology));
        show_padded(best_messages(*each), 23);
        show_padded(worst_messages(*each), 23);
        show_words(cv_assumption_words, (*each)->assumes);
        putchar('\n');
    }
    puts("\nconclave list ALGORITHM tells more; conclave sim ALGORITHM runs it.");
}

static bool has_rounds(const struct cv_algorithm *algorithm)
{
    return algorithm->problem == CV_SYNCHRONIZER || algorithm->problem == CV_SYNCHRONOUS;
}

static void show_parameters(const struct cv_algorithm *algorithm)
{
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm); i++) {
        const struct cv_parameter *it = &algorithm->parameters[i];
        printf("  --set %s=%s  %s", it->name,
               it->type == CV_CHOICE   ? it->choices
               : it->type == CV_MEMBER ? "ID"
                                       : "N",
               it->meaning);
        if (it->type == CV_NUMBER && it->fallback >= 0)
            printf(" (%lld)", (long long)it->fallback);
        putchar('\n');
    }
    if (algorithm->problem == CV_MUTEX && algorithm->hints.clocked)
        puts("  --set clocks=ID:N,...  Lamport clocks to begin with (0)");
    if (algorithm->quorums)
        puts("  --set quorums=grid|plane|FILE|sets:ID:ID-ID,...  who votes for whom (grid)");
    if (algorithm->clusters)
        puts("  --set clusters=K|FILE|sets:ID-ID/ID-ID  balls of which each layer multiplies the nodes by K, or a "
             "list (2)");
    if (has_rounds(algorithm))
        puts("  --set rounds=R  how many rounds (n - 1)");
    if (algorithm->assumes & CV_BOUNDED_DELAY)
        puts("  --set bound=N  D, what its timeouts take for the longest delay (the network's own)");
}

/* The variables of all formulas, each once. */
static void show_symbols(const struct cv_algorithm *algorithm)
{
    char formulas[1000] = "0", text[1000];
    size_t used = 1;
    for (const struct cv_cost *cost = algorithm->costs; cost && cost->label && used < sizeof formulas; cost++)
        used += (size_t)snprintf(formulas + used, sizeof formulas - used, " + (%s)", cost->formula);
    cv_theory_symbols(algorithm, formulas, text, sizeof text);
    if (*text)
        printf("  where     n nodes; %s\n", text);
}

/* ---- fields ---- */

#define FIELD_TEXT 160u

/* "peers.request", "queue.time" */
static const char *field_name(const struct cv_field *field, char text[FIELD_TEXT])
{
    struct cv_writer writer = cv_writer(text, FIELD_TEXT);
    const bool apart = field->row && strcmp(field->row, field->name) != 0;
    cv_write(&writer, apart ? field->row : "");
    cv_write(&writer, apart ? "." : "");
    cv_field_write_name(&writer, field->name);
    return text;
}

static const char *field_meaning(const struct cv_field *field, char text[FIELD_TEXT])
{
    struct cv_writer writer = cv_writer(text, FIELD_TEXT);
    cv_field_describe(&writer, field);
    return text;
}

/* A synchronizer's state goes on with that of its app. */
static void show_state(const struct cv_algorithm *algorithm)
{
    char name[FIELD_TEXT], meaning[FIELD_TEXT];
    const bool keeps = algorithm->state_bytes || (algorithm->state_size && algorithm->problem != CV_SYNCHRONIZER);
    if (keeps || algorithm->problem == CV_SYNCHRONIZER)
        puts("\nstate of a node");
    if (keeps && !algorithm->state_fields)
        puts("  its table does not name the fields");
    for (const struct cv_field *field = algorithm->state_fields; field && field->name; field++)
        if (field->type != CV_FIELD_UNUSED)
            printf("  %-14s %s\n", field_name(field, name), field_meaning(field, meaning));
    if (algorithm->problem == CV_SYNCHRONIZER)
        printf("  %-14s %s\n  %-14s   %s\n  %-14s %s\n", "round", "number", "…", "the state of its app", "kept",
               "messages of the app, until their round is over, for each neighbour");
}

static void show_message_fields(const struct cv_algorithm *algorithm)
{
    char name[FIELD_TEXT], meaning[FIELD_TEXT];
    const struct cv_kind *first = algorithm->kinds;
    while (first->name && !first->fields)
        first++;
    if (first->name)
        puts("\nfields of messages");
    for (const struct cv_kind *kind = algorithm->kinds; kind->name; kind++)
        for (const struct cv_field *field = kind->fields; field && field->name; field++)
            printf("  %-14s %-14s %s\n", field == kind->fields ? kind->name : "", field_name(field, name),
                   field_meaning(field, meaning));
}

static void show_one(const struct cv_algorithm *algorithm)
{
    printf("%s: %s\n%s\n\n", algorithm->name, algorithm->title, algorithm->citation);
    printf("problem   %s\nnetwork   %s\nassumes   ", cv_problem_name(algorithm->problem),
           topology_name(algorithm->topology));
    show_words(cv_assumption_words, algorithm->assumes);
    if (algorithm->claims) {
        fputs("\nclaims    ", stdout);
        show_words(cv_claim_words, algorithm->claims);
    }
    fputs("\nmessages  ", stdout);
    for (uint32_t kind = 0; kind < cv_algorithm_kinds(algorithm); kind++)
        printf("%s%s", kind ? ", " : "", algorithm->kinds[kind].name);
    puts(algorithm->costs ? "\n\ncosts" : "");
    for (const struct cv_cost *cost = algorithm->costs; cost && cost->label; cost++) {
        printf("  %-8s %s ", cost->measure == CV_MESSAGES ? "messages" : "delay", cost->exact ? " =" : "<=");
        show_padded(cost->formula, 36);
        printf("%s; %s%s%s\n", cost->label, cv_source_phrase(cost), cost->where && cost->source ? ", " : "",
               cost->where && cost->source ? cost->where : "");
    }
    show_symbols(algorithm);
    if (cv_algorithm_parameters(algorithm) || algorithm->quorums || algorithm->assumes & CV_BOUNDED_DELAY ||
        has_rounds(algorithm) || (algorithm->problem == CV_MUTEX && algorithm->hints.clocked))
        puts("\nparameters");
    show_parameters(algorithm);
    show_message_fields(algorithm);
    show_state(algorithm);
}

/* ---- JSON ---- */

static void json_fields(struct cv_json *json, const char *key, const struct cv_field *fields)
{
    static const char *const each[] = {
        [CV_ONCE] = "once",        [CV_EACH_NODE] = "node", [CV_EACH_NEIGHBOUR] = "neighbour",
        [CV_EACH_VOTER] = "voter", [CV_EACH_SET] = "set",   [CV_EACH_PLACE] = "place",
    };
    char name[FIELD_TEXT];
    cv_json_open(json, key, '[');
    for (const struct cv_field *field = fields; field && field->name; field++) {
        if (field->type == CV_FIELD_UNUSED)
            continue;
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", field_name(field, name));
        cv_json_text(json, "type", cv_field_type_name(field->type));
        if (field->words)
            cv_json_text(json, "words", field->words);
        if (field->each)
            cv_json_text(json, "each", each[field->each]);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
}

static void json_one(struct cv_json *json, const struct cv_algorithm *algorithm)
{
    cv_json_open(json, NULL, '{');
    cv_json_algorithm(json, algorithm, topology_name(algorithm->topology));
    cv_json_open(json, "fields", '{');
    for (uint32_t kind = 0; kind < cv_algorithm_kinds(algorithm); kind++)
        json_fields(json, algorithm->kinds[kind].name, algorithm->kinds[kind].fields);
    cv_json_close(json, '}');
    json_fields(json, "state", algorithm->state_fields);
    cv_json_open(json, "parameters", '[');
    for (uint32_t i = 0; i < cv_algorithm_parameters(algorithm); i++) {
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "name", algorithm->parameters[i].name);
        cv_json_text(json, "meaning", algorithm->parameters[i].meaning);
        cv_json_text(json, "choices", algorithm->parameters[i].choices);
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    cv_json_open(json, "costs", '[');
    for (const struct cv_cost *cost = algorithm->costs; cost && cost->label; cost++) {
        cv_json_open(json, NULL, '{');
        cv_json_text(json, "measure", cost->measure == CV_MESSAGES ? "messages" : "delay");
        cv_json_text(json, "case", cost->label);
        cv_json_text(json, "formula", cost->formula);
        cv_json_text(json, "relation", cost->exact ? "=" : "<=");
        cv_json_text(json, "source", cv_source_name(cost));
        if (cost->where)
            cv_json_text(json, "where", cost->where);
        else
            cv_json_null(json, "where");
        cv_json_close(json, '}');
    }
    cv_json_close(json, ']');
    cv_json_close(json, '}');
}

static void json_all(const struct cv_algorithm *only)
{
    struct cv_json json = {.out = stdout};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_open(&json, "algorithms", '[');
    for (const struct cv_algorithm *const *each = cv_algorithms; *each && !only; each++)
        json_one(&json, *each);
    if (only)
        json_one(&json, only);
    cv_json_close(&json, ']');
    cv_json_close(&json, '}');
    putchar('\n');
}

struct request {
    bool json;
};

static const struct option_row rows[] = {
    {"json", NULL, OPTION_SWITCH, offsetof(struct request, json), .help = "print JSON"},
    {0},
};

const struct options list_options = {
    .name = "list",
    .usage = "[ALGORITHM|./FILE.c|./FILE.so] [OPTION...]",
    .about = "Lists the algorithms: what each assumes, promises and costs; or tells all about one.",
    .rows = rows,
    .lenient = true,
};

int command_list(int argc, char **argv)
{
    const struct cv_algorithm *only = NULL;
    struct cv_complaint complaint;
    struct request request = {0};
    int code;
    const int next = options_take(&list_options, argc, argv, &request, &code);
    if (!next)
        return code;
    if (argc - next > 1)
        return command_refuse("%s: one algorithm at a time", argv[next + 1]);
    const int error = next < argc ? plugin_find(argv[next], &only, &complaint) : 0;
    if (error)
        return command_fail(error, &complaint);
    if (request.json)
        json_all(only);
    else if (only)
        show_one(only);
    else
        show_table();
    return EXIT_HELD;
}
