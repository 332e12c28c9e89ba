// SPDX-License-Identifier: MIT
#include "check/fixpoint.h"

#include "check/liveness/cycle.h"
#include "check/trail.h"

#define FIRST_PATIENCE 10000u

/*
 * The reduction predicts what nodes will do from what they were observed to do. So a search with new observations must
 * be repeated. While there are many, it does not pay to continue it for long.
 */
int fixpoint_search(struct search *search, struct model *model, bool reduction)
{
    for (uint64_t patience = FIRST_PATIENCE;; patience = 2 * search->patience) {
        observed_publish(&model->observations);
        model->observations.learnt = false;
        const int error = search_run(search, model, reduction, patience);
        const bool complete = search->end == SEARCH_COMPLETE && (!search->reduced || !model->observations.learnt);
        if (error || complete || (search->end != SEARCH_COMPLETE && search->end != SEARCH_LEARNT))
            return error;
        search_free(search);
    }
}

/* An endless election always violates "comes-to-rest", but "everyone-learns" only if some node never learns. */
static bool must_somebody_wait(const struct setting *setting)
{
    const char *property = setting->options.property;
    return setting_is_mutex(setting) ||
           (property && strcmp(property, cv_property(CV_PROPERTY_EVERYONE_LEARNS)->name) == 0);
}

int fixpoint_cycles(struct search *search, struct model *model, bool reduction, struct cv_trail *trail, uint32_t *state)
{
    const volatile sig_atomic_t *interrupted = model->setting.options.interrupted;
    struct state_graph graph;
    struct lasso lasso = {0};
    int error = state_graph_build(&graph, model, reduction);
    if (graph.bytes > search->bytes)
        search->bytes = graph.bytes;
    if (!error && graph.too_large)
        search->end = interrupted && *interrupted ? SEARCH_INTERRUPTED : SEARCH_MEMORY;
    else if (!error)
        error = cycle_find(&graph, must_somebody_wait(&model->setting), &lasso, &search->may_cycle);
    if (!error && lasso.count && trail)
        error = trail_along(model, &graph, &lasso, trail, state);
    lasso_free(&lasso);
    state_graph_free(&graph);
    return error;
}
