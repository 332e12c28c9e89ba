// SPDX-License-Identifier: MIT
/*
 * A model in a checkpoint: all numbers that stand for something, and what they stand for. The fingerprints of states
 * are made of these numbers, so they must be the same when a search goes on.
 */
#ifndef CONCLAVE_CHECK_STATE_SAVED_MODEL_H
#define CONCLAVE_CHECK_STATE_SAVED_MODEL_H

#include "check/state/model.h"
#include "saved/saved_file.h"

void saved_model_write(const struct model *model, struct file_writer *writer);

/* Into a model as model_init() leaves it. 0, CV_ENOMEM, or CV_EINPUT if the file does not belong to it. */
int saved_model_read(struct model *model, struct file_reader *reader);

#endif
