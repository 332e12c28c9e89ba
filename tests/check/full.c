// SPDX-License-Identifier: MIT
#include "check/full.h"

#include <stdlib.h>
#include <string.h>

void full_copy(struct full *to, const struct full *from, uint32_t nodes)
{
    memcpy(to->node, from->node, sizeof to->node);
    memcpy(to->count, from->count, sizeof to->count);
    for (cv_node i = 0; i < nodes; i++)
        for (cv_node j = 0; j < nodes; j++)
            memcpy(to->letter[i][j], from->letter[i][j], from->count[i][j] * sizeof(struct letter));
    to->highest = from->highest;
    to->crashes = from->crashes;
    to->misses = from->misses;
    to->suspicions = from->suspicions;
    to->missed = from->missed;
    to->recoveries = from->recoveries;
    to->cuts = from->cuts;
    memcpy(to->cut, from->cut, sizeof to->cut);
}

int letter_compare(const void *one, const void *other)
{
    return memcmp(one, other, sizeof(struct letter));
}

uint32_t full_pack(const struct cv_scenario *scenario, struct full *full, unsigned char *out)
{
    const uint32_t n = scenario->group.nodes;
    unsigned char *at = out + 4;
    for (cv_node i = 0; i < n; i++) {
        memcpy(at, &full->node[i], sizeof full->node[i]);
        at += sizeof full->node[i];
        for (cv_node j = 0; j < n; j++) {
            if (scenario->unordered)
                qsort(full->letter[i][j], full->count[i][j], sizeof(struct letter), letter_compare);
            memcpy(at, &full->count[i][j], sizeof(uint32_t));
            at += sizeof(uint32_t);
            memcpy(at, full->letter[i][j], full->count[i][j] * sizeof(struct letter));
            at += full->count[i][j] * sizeof(struct letter);
        }
    }
    const uint64_t rest[7] = {full->highest, full->crashes,    full->misses, full->suspicions,
                              full->missed,  full->recoveries, full->cuts};
    memcpy(at, rest, sizeof rest);
    at += sizeof rest;
    memcpy(at, full->cut, sizeof full->cut);
    const uint32_t length = (uint32_t)(at + sizeof full->cut - out);
    memcpy(out, &length, 4);
    return length;
}

void full_unpack(const struct cv_scenario *scenario, struct full *full, const unsigned char *in)
{
    const uint32_t n = scenario->group.nodes;
    const unsigned char *at = in + 4;
    for (cv_node i = 0; i < n; i++) {
        memcpy(&full->node[i], at, sizeof full->node[i]);
        at += sizeof full->node[i];
        for (cv_node j = 0; j < n; j++) {
            memcpy(&full->count[i][j], at, sizeof(uint32_t));
            at += sizeof(uint32_t);
            memcpy(full->letter[i][j], at, full->count[i][j] * sizeof(struct letter));
            at += full->count[i][j] * sizeof(struct letter);
        }
    }
    uint64_t rest[7];
    memcpy(rest, at, sizeof rest);
    memcpy(full->cut, at + sizeof rest, sizeof full->cut);
    full->highest = rest[0];
    full->crashes = (uint32_t)rest[1];
    full->misses = (uint32_t)rest[2];
    full->suspicions = (uint32_t)rest[3];
    full->missed = (uint32_t)rest[4];
    full->recoveries = (uint32_t)rest[5];
    full->cuts = (uint32_t)rest[6];
}
