// SPDX-License-Identifier: MIT
/* Formulas: a finite value, or a complaint that names the place; and the names of topologies. */
#include <math.h>

#include "core/formula/formula.h"
#include "core/graph/graph.h"
#include "core/graph/graph_make.h"
#include "core/random.h"
#include "fuzz/file.h"

static bool lookup(void *context, const char *name, size_t length, double *value)
{
    (void)context;
    *value = (double)length * 7 - 3;
    return length && (*name == 'n' || *name == 'm');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct cv_formula_names names = {lookup, NULL};
    struct cv_complaint complaint = {{0}};
    struct cv_graph graph = {0};
    struct cv_random random;
    double value = 0;
    if (size > 4096)
        return 0;
    char *text = fuzz_string(data, size);
    int error = cv_formula_evaluate(text, &names, &value, &complaint);
    assert(error || isfinite(value));
    fuzz_check_complaint(error, complaint.text);
    cv_random_seed(&random, 1, 1);
    const uint32_t own = cv_graph_size(text);
    if (own <= 256) {
        error = cv_graph_make(&graph, text, own ? own : 7, &random, &complaint);
        fuzz_check_complaint(error, complaint.text);
        cv_graph_free(&graph);
    }
    free(text);
    return 0;
}
