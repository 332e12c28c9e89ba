// SPDX-License-Identifier: MIT
/*
 * The outcome of a scenario without crashes during the run, by the texts. It is computed in the plainest way, from the
 * formulas and definitions themselves, not from the program's own theory.
 */
#ifndef CONCLAVE_TESTS_MODEL_H
#define CONCLAVE_TESTS_MODEL_H

#include "story.h"

#define MODEL_KINDS 4u

struct prediction {
    uint32_t leader; /* its id */
    bool everyone_knows;
    uint32_t knowing; /* if not all nodes know the leader: how many do; 0: only the leader */
    bool hangs;       /* no node is ever elected */
    bool counted;     /* `count` is known, by kind in the order of the model */
    uint64_t count[MODEL_KINDS];
    bool timed; /* `time` is known */
    uint64_t time;
    uint64_t most_messages; /* 0: the text has no bound */
    uint64_t most_time;
};

struct model {
    const char *algorithm;
    const char *kinds[MODEL_KINDS]; /* as design.md names them */
    const char *variants[8];        /* --set words to try besides the defaults */
    const char *surviving[4];       /* those to try when nodes crash, too */
    bool survives; /* it keeps its promises if nodes crash during the run and the detector reports it */
    void (*predict)(const struct story *story, bool unit, struct prediction *prediction);
};

/* NULL: the texts do not have it. */
const struct model *model_find(const char *algorithm);

/* `unit`: every message takes one tick. */
void model_predict(const struct model *model, const struct story *story, bool unit, struct prediction *prediction);

/* Is that node better than the other: a higher attribute, or the same and a higher id? */
bool model_better(const struct story *story, uint32_t one, uint32_t other);

#endif
