// SPDX-License-Identifier: MIT
#include "cli/study/sim_inputs.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/plugin.h"
#include "core/graph/graph.h"
#include "core/graph/graph_make.h"
#include "core/parse.h"

/* "0:0-1-2,1:1-3" says the same as a file of two lines. */
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
static int check_mutex(struct sim_request *request, struct cv_complaint *complaint)
{
    const struct cv_plan *plan = &request->plan;
    const struct {
        const char *option, *value;
    } given[] = {{"--request", plan->request.count ? plan->request.word[0] : NULL},
                 {"--entries", plan->entries},
                 {"--hold", plan->hold},
                 {"--think", plan->think},
                 {"--names", plan->names},
                 {"--views", plan->views},
                 {"--election", request->election}};
    for (size_t i = 0; i < sizeof given / sizeof *given && plan->algorithm->problem != CV_MUTEX; i++)
        if (given[i].value)
            return cv_complain(complaint, "%s %s: expected a mutual exclusion algorithm; only they take it",
                               given[i].option, cv_brief(given[i].value).text);
    const int error = plugin_find(request->election ? request->election : "bully", &request->plan.election, complaint);
    if (!error && (request->plan.election->problem != CV_ELECTION || request->plan.election->topology == CV_GRAPH))
        return cv_complain(complaint, "--election %s: expected an election that needs no graph",
                           cv_brief(request->election).text);
    return error;
}

/* A synchronizer hosts an app; an app by itself runs on a synchronous network. */
static int choose_app(struct sim_request *request, struct cv_complaint *complaint)
{
    struct cv_plan *plan = &request->plan;
    const uint32_t problem = plan->algorithm->problem;
    if (request->app && problem != CV_SYNCHRONIZER)
        return cv_complain(complaint, "--app %s: %s is no synchronizer; only they host an app",
                           cv_brief(request->app).text, plan->algorithm->name);
    if (problem == CV_SYNCHRONOUS) {
        plan->app = plan->algorithm;
        plan->alone = true;
        return plugin_find("lockstep", &plan->algorithm, complaint);
    }
    if (problem != CV_SYNCHRONIZER)
        return 0;
    const int error = plugin_find(request->app ? request->app : "bellman-ford", &plan->app, complaint);
    const struct cv_complaint said = *complaint;
    if (error == CV_EINPUT)
        return cv_complain(complaint, "--app %.400s", said.text);
    if (!error && plan->app->problem != CV_SYNCHRONOUS)
        return cv_complain(complaint, "--app %s: expected a synchronous algorithm; conclave list shows them",
                           cv_brief(request->app).text);
    return error;
}

/* Reads the voting sets of a file. */
static int read_quorums(struct sim_request *request, struct cv_complaint *complaint)
{
    for (uint32_t i = 0; i < request->plan.set.count && request->plan.algorithm->quorums; i++) {
        const char *word = request->plan.set.word[i];
        if (strncmp(word, "quorums=", 8) != 0 || strcmp(word + 8, "grid") == 0 || strcmp(word + 8, "plane") == 0)
            continue;
        free(request->quorums_text);
        request->quorums_text = strncmp(word + 8, "sets:", 5) == 0
                                    ? spell_out_sets(word + 13)
                                    : command_read_file("--set quorums", word + 8, complaint);
        if (!request->quorums_text)
            return CV_EFILE;
    }
    request->plan.quorums_text = request->quorums_text;
    return 0;
}

/* "1-2-3/4-5" says the same as a file of two lines. */
static char *spell_out_clusters(const char *clusters)
{
    char *text = strdup(clusters);
    for (char *c = text; c && *c; c++)
        *c = *c == '/' ? '\n' : *c == '-' ? ' ' : *c;
    return text;
}

/* Reads the clusters of a file; a number says how to grow them. */
static int read_clusters(struct sim_request *request, struct cv_complaint *complaint)
{
    const char *value = request->plan.algorithm->clusters ? cv_plan_setting(&request->plan, "clusters") : NULL;
    if (!value || value[strspn(value, "0123456789")] == '\0')
        return 0;
    request->clusters_text = strncmp(value, "sets:", 5) == 0 ? spell_out_clusters(value + 5)
                                                             : command_read_file("--set clusters", value, complaint);
    request->plan.clusters_text = request->clusters_text;
    return request->clusters_text ? 0 : CV_EFILE;
}

/* "1-2,1-3:7" says the same as a file of three lines. */
static char *spell_out(const char *edges)
{
    char *text = strdup(edges);
    for (char *c = text; c && *c; c++)
        *c = *c == ',' ? '\n' : *c == '-' || *c == ':' ? ' ' : *c;
    return text;
}

/* A graph that is not one of the shapes is a list of edges or a file. */
static int read_graph(struct sim_request *request, struct cv_complaint *complaint)
{
    const char *graph = request->plan.graph;
    if (!graph || cv_graph_is_shape(graph))
        return 0;
    request->graph_text =
        strncmp(graph, "edges:", 6) == 0 ? spell_out(graph + 6) : command_read_file("--graph", graph, complaint);
    request->plan.graph_text = request->graph_text;
    return request->graph_text ? 0 : CV_EFILE;
}

int sim_read_inputs(struct sim_request *request, struct cv_complaint *complaint)
{
    int error = check_mutex(request, complaint);
    if (!error)
        error = choose_app(request, complaint);
    if (!error)
        error = read_quorums(request, complaint);
    if (!error)
        error = read_clusters(request, complaint);
    return error ? error : read_graph(request, complaint);
}
