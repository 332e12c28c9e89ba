// SPDX-License-Identifier: MIT
/*
 * A model in a checkpoint: all numbers that stand for something, and what they stand for. Every rank of a search has
 * numbers of its own, so a file may have several models. The model that goes on gives a number to what each of them
 * knows; the numbers of a single model stay as they are.
 */
#ifndef CONCLAVE_CHECK_STATE_SAVED_MODEL_H
#define CONCLAVE_CHECK_STATE_SAVED_MODEL_H

#include "check/state/model.h"
#include "saved/saved_file.h"

enum numbered { NUMBERED_NODE_STATE, NUMBERED_MESSAGE, NUMBERED_CONTENTS, NUMBERED_BUDGETS, NUMBERED_KINDS };

/* What the numbers of a model in a file are in the model that goes on. */
struct numbering {
    struct {
        uint32_t *own; /* by the number in the file */
        uint64_t count;
    } kinds[NUMBERED_KINDS];
    uint32_t slots;           /* in use in the file */
    uint32_t own[MOST_SLOTS]; /* by the slot in the file */
};

void saved_model_write(const struct model *model, struct file_writer *writer);

/*
 * Reads one of the file's models, into a model as model_init() leaves it or as reading the models before has left it.
 * 0, CV_ENOMEM, or CV_EINPUT if the file does not belong to it. Free the numbering in any case.
 */
int saved_model_read(struct model *model, struct file_reader *reader, bool first, struct numbering *numbering);
void numbering_free(struct numbering *numbering);

/*
 * A state of the file, of so many slots, in the numbers of the model that goes on, with all slots of it. False if the
 * file does not know one of the numbers.
 */
bool numbering_translate(const struct numbering *numbering, const struct model *model, const uint32_t *saved,
                         uint32_t slots, uint32_t *state);

#endif
