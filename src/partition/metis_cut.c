// SPDX-License-Identifier: MIT
#include "partition/metis_cut.h"

#ifdef CONCLAVE_METIS

#include <dlfcn.h>
#include <metis.h>
#include <pthread.h>
#include <stdlib.h>

#define LIBRARY "libmetis.so.5"
#define SEED 1
#define LEAST_NODES 64u       /* to a part */
#define TOO_MUCH_PER_MILLE 30 /* how much heavier than an equal share a part may be */

#if IDXTYPEWIDTH == 32
#define LARGEST INT32_MAX
#else
#define LARGEST INT64_MAX
#endif

static struct {
    __typeof__(&METIS_SetDefaultOptions) set_default_options;
    __typeof__(&METIS_PartGraphKway) cut;
} metis;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return;
    *(void **)(void *)&metis.set_default_options = dlsym(library, "METIS_SetDefaultOptions");
    if (metis.set_default_options)
        *(void **)(void *)&metis.cut = dlsym(library, "METIS_PartGraphKway");
}

/* METIS's own numbers for the rows: where each begins, the neighbours, weights of nodes, and the answer. */
struct numbers {
    idx_t *rows;
    idx_t *neighbours;
    idx_t *weights;
    idx_t *parts;
};

static void numbers_free(struct numbers *numbers)
{
    free(numbers->rows);
    free(numbers->neighbours);
    free(numbers->weights);
    free(numbers->parts);
}

static bool numbers_make(struct numbers *numbers, const struct cv_partition_rows *rows)
{
    const uint32_t nodes = rows->nodes;
    const uint64_t ends = rows->edges[nodes] - rows->edges[0];
    *numbers = (struct numbers){.rows = malloc((nodes + (size_t)1) * sizeof *numbers->rows),
                                .neighbours = malloc((ends + 1) * sizeof *numbers->neighbours),
                                .weights = malloc(nodes * sizeof *numbers->weights),
                                .parts = malloc(nodes * sizeof *numbers->parts)};
    if (!numbers->rows || !numbers->neighbours || !numbers->weights || !numbers->parts)
        return false;
    for (uint32_t i = 0; i <= nodes; i++)
        numbers->rows[i] = (idx_t)(rows->edges[i] - rows->edges[0]);
    for (uint64_t i = 0; i < ends; i++)
        numbers->neighbours[i] = (idx_t)rows->neighbours[rows->edges[0] + i];
    for (uint32_t i = 0; i < nodes; i++)
        numbers->weights[i] = numbers->rows[i + 1] - numbers->rows[i] + 1;
    return true;
}

bool metis_is_there(void)
{
    pthread_once(&once, load);
    return metis.cut;
}

/*
 * With few nodes to a part, or nodes that weigh as much as a part, METIS can come to a graph without any, and says so
 * on standard output. Its numbers have to hold the weight of all.
 */
static bool suits(const struct cv_partition_rows *rows, uint32_t parts)
{
    const uint64_t weight = rows->edges[rows->nodes] - rows->edges[0] + rows->nodes;
    if (weight > LARGEST || rows->nodes / parts < LEAST_NODES)
        return false;
    for (uint32_t i = 0; i < rows->nodes; i++)
        if (rows->edges[i + 1] - rows->edges[i] >= weight / parts / 4)
            return false;
    return true;
}

bool metis_cut(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of)
{
    if (!metis_is_there() || !suits(rows, parts))
        return false;
    struct numbers numbers;
    bool done = numbers_make(&numbers, rows);
    if (done) {
        idx_t options[METIS_NOPTIONS], count = (idx_t)rows->nodes, constraints = 1, wanted = (idx_t)parts, cut;
        metis.set_default_options(options);
        options[METIS_OPTION_SEED] = SEED;
        options[METIS_OPTION_NUMBERING] = 0;
        options[METIS_OPTION_UFACTOR] = TOO_MUCH_PER_MILLE;
        done = metis.cut(&count, &constraints, numbers.rows, numbers.neighbours, numbers.weights, NULL, NULL, &wanted,
                         NULL, NULL, options, &cut, numbers.parts) == METIS_OK;
    }
    for (uint32_t i = 0; done && i < rows->nodes; i++)
        part_of[i] = (uint16_t)numbers.parts[i];
    numbers_free(&numbers);
    return done;
}

#else

bool metis_is_there(void)
{
    return false;
}

// NOLINTNEXTLINE(readability-non-const-parameter): the other one writes there
bool metis_cut(const struct cv_partition_rows *rows, uint32_t parts, uint16_t *part_of)
{
    (void)rows, (void)parts, (void)part_of;
    return false;
}

#endif
