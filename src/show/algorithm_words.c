// SPDX-License-Identifier: MIT
#include "show/algorithm_words.h"

#include "core/scenario/scenario.h"
#include "property/properties.h"

const struct cv_bit_word cv_assumption_words[] = {
    {CV_RELIABLE, "reliable links"},
    {CV_FIFO, "FIFO links"},
    {CV_NO_CRASH, "no crash during a run"},
    {CV_BOUNDED_DELAY, "delays at most D"},
    {CV_KNOWN_GROUP, "known group"},
    {CV_DETECTOR, "failure detector"},
    {CV_CONNECTED, "connected graph"},
    {CV_NO_RECOVERY, "no return of the dead"},
    {CV_FIFO_RECOVERY, "FIFO links if nodes come back"},
    {0, NULL},
};

const struct cv_bit_word cv_claim_words[] = {
#define X(constant, name, kind, problem, claim, checked) {claim, name},
    CV_PROPERTIES(X)
#undef X
        {CV_PER_COMPONENT, "in every connected part"},
    {0, NULL},
};

void cv_json_bits(struct cv_json *json, const char *key, const struct cv_bit_word *words, uint32_t bits)
{
    cv_json_open(json, key, '[');
    for (; words->word; words++)
        if (bits & words->bit)
            cv_json_text(json, NULL, words->word);
    cv_json_close(json, ']');
}

void cv_json_algorithm(struct cv_json *json, const struct cv_algorithm *algorithm, const char *topology)
{
    cv_json_text(json, "name", algorithm->name);
    cv_json_text(json, "title", algorithm->title);
    cv_json_text(json, "citation", algorithm->citation);
    cv_json_text(json, "problem", cv_problem_name(algorithm->problem));
    cv_json_text(json, "topology", topology);
    cv_json_bits(json, "assumes", cv_assumption_words, algorithm->assumes);
    cv_json_bits(json, "claims", cv_claim_words, algorithm->claims);
    cv_json_open(json, "kinds", '[');
    for (uint32_t kind = 0; kind < cv_algorithm_kinds(algorithm); kind++)
        cv_json_text(json, NULL, algorithm->kinds[kind].name);
    cv_json_close(json, ']');
}
