// SPDX-License-Identifier: MIT
/* Scenarios as people write them, an option in each line: a group that can be run, or a complaint. Files of quorums and
   of clusters are lines, too, with ; where theirs end. */
#include "core/scenario/plan.h"
#include "algorithm/registry.h"
#include "core/graph/graph_make.h"
#include "fuzz/file.h"

#define MOST_NODES 40u

/* A large group is as good as a small one, and takes longer. */
static bool is_large(const char *number)
{
    return strlen(number) > 2 || strtoul(number, NULL, 10) > MOST_NODES;
}

static bool set(struct cv_plan *plan, const char *key, char *value)
{
    const struct {
        const char *key, **text;
    } texts[] = {
        {"ids", &plan->ids},     {"attr", &plan->attributes}, {"start", &plan->start}, {"delay", &plan->delay},
        {"loss", &plan->loss},   {"dup", &plan->duplicate},   {"nodes", &plan->nodes}, {"detect", &plan->detect},
        {"until", &plan->until}, {"graph", &plan->graph},     {"hold", &plan->hold},   {"entries", &plan->entries},
        {"think", &plan->think}, {"names", &plan->names},     {"views", &plan->views},
    };
    const struct {
        const char *key;
        struct cv_words *words;
    } lists[] = {{"request", &plan->request},
                 {"crash", &plan->crash},
                 {"recover", &plan->recover},
                 {"partition", &plan->partition},
                 {"suspect", &plan->suspect},
                 {"blind", &plan->blind},
                 {"set", &plan->set},
                 {"lag", &plan->lag},
                 {"alternate", &plan->alternate}};
    if (strcmp(key, "nodes") == 0 && is_large(value))
        return false;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (strcmp(key, texts[i].key) == 0)
            *texts[i].text = value;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        if (strcmp(key, lists[i].key) == 0 && cv_words_add(lists[i].words, value))
            return false;
    const char **file = strcmp(key, "quorum-file") == 0    ? &plan->quorums_text
                        : strcmp(key, "cluster-file") == 0 ? &plan->clusters_text
                                                           : NULL;
    for (char *at = value; file && (at = strchr(at, ';'));)
        *at++ = '\n';
    if (file)
        *file = value;
    if (strcmp(key, "algorithm") == 0)
        plan->algorithm = cv_algorithm_find(value);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_plan plan = {.seed = 1};
    struct cv_complaint complaint = {{0}};
    char *text = fuzz_string(data, size), *rest = text, *line;
    bool sensible = true;
    while (sensible && (line = strsep(&rest, "\n"))) {
        const char *key = strsep(&line, " ");
        if (line)
            sensible = set(&plan, key, line);
    }
    if (sensible && plan.algorithm && !(plan.graph && cv_graph_size(plan.graph) > MOST_NODES)) {
        struct cv_scenario scenario = {0};
        const int error = cv_plan_build(&plan, &scenario, &complaint);
        fuzz_check_complaint(error, complaint.text);
        cv_scenario_free(&scenario);
    }
    cv_plan_free(&plan);
    free(text);
    return 0;
}
