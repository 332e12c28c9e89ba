// SPDX-License-Identifier: MIT
#include "core/scenario/plan_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "core/graph/graph_make.h"
#include "core/parse.h"

/* "0:0-1-2,1:1-3" means the same as a file of two lines. */
static char *spell_out_sets(const char *sets)
{
    char *text = malloc(2 * strlen(sets) + 1), *out = text;
    for (; text && *sets; sets++) {
        *out++ = *sets == ',' ? '\n' : *sets == '-' ? ' ' : *sets;
        if (*sets == ':')
            *out++ = ' ';
    }
    if (text)
        *out = '\0';
    return text;
}

/* Only mutual exclusion takes options about requests and views. */
static int check_mutex(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint)
{
    const struct {
        const char *option, *value;
    } given[] = {{"--request", plan->request.count ? plan->request.word[0] : NULL},
                 {"--entries", plan->entries},
                 {"--hold", plan->hold},
                 {"--think", plan->think},
                 {"--names", plan->names},
                 {"--views", plan->views},
                 {"--election", inputs->election}};
    for (size_t i = 0; i < sizeof given / sizeof *given && plan->algorithm->problem != CV_MUTEX; i++)
        if (given[i].value)
            return cv_complain(complaint, "%s %s: expected a mutual exclusion algorithm; only they take it",
                               given[i].option, cv_brief(given[i].value).text);
    const int error = inputs->find(inputs->election ? inputs->election : "bully", &plan->election, complaint);
    if (!error && (plan->election->problem != CV_ELECTION || plan->election->topology == CV_GRAPH))
        return cv_complain(complaint, "--election %s: expected an election that needs no graph",
                           cv_brief(inputs->election).text);
    return error;
}

/* A synchronizer hosts an app; an app by itself runs on a synchronous network. */
static int choose_app(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint)
{
    const uint32_t problem = plan->algorithm->problem;
    if (inputs->app && problem != CV_SYNCHRONIZER)
        return cv_complain(complaint, "--app %s: %s is no synchronizer; only they host an app",
                           cv_brief(inputs->app).text, plan->algorithm->name);
    if (problem == CV_SYNCHRONOUS) {
        plan->app = plan->algorithm;
        plan->alone = true;
        return inputs->find("lockstep", &plan->algorithm, complaint);
    }
    if (problem != CV_SYNCHRONIZER)
        return 0;
    const int error = inputs->find(inputs->app ? inputs->app : "bellman-ford", &plan->app, complaint);
    const struct cv_complaint said = *complaint;
    if (error == CV_EINPUT)
        return cv_complain(complaint, "--app %.400s", said.text);
    if (!error && plan->app->problem != CV_SYNCHRONOUS)
        return cv_complain(complaint, "--app %s: expected a synchronous algorithm; conclave list shows them",
                           cv_brief(inputs->app).text);
    return error;
}

/* Reads the voting sets of a file. */
static int read_quorums(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint)
{
    for (uint32_t i = 0; i < plan->set.count && plan->algorithm->quorums; i++) {
        const char *word = plan->set.word[i];
        if (strncmp(word, "quorums=", 8) != 0 || strcmp(word + 8, "grid") == 0 || strcmp(word + 8, "plane") == 0)
            continue;
        free(inputs->quorums_text);
        inputs->quorums_text = strncmp(word + 8, "sets:", 5) == 0
                                   ? spell_out_sets(word + 13)
                                   : inputs->read(inputs->context, "--set quorums", word + 8, complaint);
        if (!inputs->quorums_text)
            return CV_EFILE;
    }
    plan->quorums_text = inputs->quorums_text;
    return 0;
}

/* "1-2-3/4-5" means the same as a file of two lines. */
static char *spell_out_clusters(const char *clusters)
{
    char *text = strdup(clusters);
    for (char *c = text; c && *c; c++)
        *c = *c == '/' ? '\n' : *c == '-' ? ' ' : *c;
    return text;
}

/* Reads the clusters of a file. A number is no file: it is the factor by which balls grow. */
static int read_clusters(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint)
{
    const char *value = plan->algorithm->clusters ? cv_plan_setting(plan, "clusters") : NULL;
    if (!value || value[strspn(value, "0123456789")] == '\0')
        return 0;
    inputs->clusters_text = strncmp(value, "sets:", 5) == 0
                                ? spell_out_clusters(value + 5)
                                : inputs->read(inputs->context, "--set clusters", value, complaint);
    plan->clusters_text = inputs->clusters_text;
    return inputs->clusters_text ? 0 : CV_EFILE;
}

/* "1-2,1-3:7" means the same as a file of two lines. */
static char *spell_out(const char *edges)
{
    char *text = strdup(edges);
    for (char *c = text; c && *c; c++)
        *c = *c == ',' ? '\n' : *c == '-' || *c == ':' ? ' ' : *c;
    return text;
}

/* A graph that is not one of the shapes is a list of edges or a file. */
static int read_graph(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint)
{
    const char *graph = plan->graph;
    if (!graph || cv_graph_is_shape(graph))
        return 0;
    inputs->graph_text = strncmp(graph, "edges:", 6) == 0 ? spell_out(graph + 6)
                                                          : inputs->read(inputs->context, "--graph", graph, complaint);
    plan->graph_text = inputs->graph_text;
    return inputs->graph_text ? 0 : CV_EFILE;
}

int cv_plan_read_inputs(struct cv_plan *plan, struct cv_plan_inputs *inputs, struct cv_complaint *complaint)
{
    int error = check_mutex(plan, inputs, complaint);
    if (!error)
        error = choose_app(plan, inputs, complaint);
    if (!error)
        error = read_quorums(plan, inputs, complaint);
    if (!error)
        error = read_clusters(plan, inputs, complaint);
    return error ? error : read_graph(plan, inputs, complaint);
}

/* Lists that are spelled out in the option itself are no files. */
uint32_t cv_plan_files(const struct cv_plan *plan, struct cv_plan_file files[CV_MOST_PLAN_FILES])
{
    const struct cv_plan_file all[CV_MOST_PLAN_FILES] = {{plan->graph, plan->graph_text},
                                                         {cv_plan_setting(plan, "quorums"), plan->quorums_text},
                                                         {cv_plan_setting(plan, "clusters"), plan->clusters_text}};
    uint32_t count = 0;
    for (uint32_t i = 0; i < CV_MOST_PLAN_FILES; i++)
        if (all[i].name && all[i].text && strncmp(all[i].name, "edges:", 6) != 0 &&
            strncmp(all[i].name, "sets:", 5) != 0)
            files[count++] = all[i];
    return count;
}

void cv_plan_inputs_free(struct cv_plan_inputs *inputs)
{
    free(inputs->graph_text);
    free(inputs->quorums_text);
    free(inputs->clusters_text);
    *inputs = (struct cv_plan_inputs){0};
}
