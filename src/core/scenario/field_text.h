// SPDX-License-Identifier: MIT
/* One field of a state or of a message, as people read it. Nodes have their labels, if the scenario has any. */
#ifndef CONCLAVE_CORE_SCENARIO_FIELD_TEXT_H
#define CONCLAVE_CORE_SCENARIO_FIELD_TEXT_H

#include "core/parse.h"
#include "core/scenario/scenario.h"
#include "core/writer.h"

/* Its value in a body, a state or an entry that is long enough; of 32 bits or 64. */
uint64_t cv_field_read(const struct cv_field *field, const void *bytes);

/* "left|right" has 2 words; the index of one of them finds it. */
uint64_t cv_field_word_count(const char *words);
struct cv_text cv_field_word(const char *words, uint64_t index);

/* Does that value mean that there is nothing: nobody, never, no? */
bool cv_field_is_blank(const struct cv_field *field, uint64_t value);

/* A value: "waiting", "h", "[h,8]", "a·1"; a blank one is "-", of a flag "no". */
void cv_field_write(struct cv_writer *writer, const struct cv_scenario *scenario, const struct cv_field *field,
                    uint64_t value);

/* The same in a message, where 0 is the rank of a node if one has it: id 0 without an attribute. */
void cv_field_write_said(struct cv_writer *writer, const struct cv_scenario *scenario, const struct cv_field *field,
                         uint64_t value);

/* The name, without what says that it is a row, and with spaces: "last to". */
void cv_field_write_name(struct cv_writer *writer, const char *name);

/* A set of nodes, a bit for each: "a, c". */
void cv_field_write_nodes(struct cv_writer *writer, const struct cv_scenario *scenario, const uint32_t *bits);

/* The numbers after a body: "(3 1 2)". */
void cv_field_write_numbers(struct cv_writer *writer, const uint32_t *numbers, uint64_t count);

/* The type in one word, for JSON: "number", "mode". */
const char *cv_field_type_name(uint32_t type);

/* What a field can hold: "number", "idle | waiting". */
void cv_field_describe(struct cv_writer *writer, const struct cv_field *field);

/*
 * The fields of a body, with their names where values alone say too little: "[h,8], to parent, a·1" or
 * "8, round 3, left". Brief, for pictures: "[h,8]", "8 3 left".
 */
void cv_body_write(struct cv_writer *writer, const struct cv_scenario *scenario, const struct cv_kind *kind,
                   const void *body, uint64_t words, bool brief);

/* A fence, shortened: "3", or "1·3" for number 3 of view 1. */
void cv_fence_write(struct cv_writer *writer, uint64_t fence);

#endif
