// SPDX-License-Identifier: MIT
/*
 * The texts of recorded steps, on their way to another machine: pointers become numbers of strings, which travel with
 * the steps, and there become pointers again.
 */
#ifndef CONCLAVE_RUN_STEP_LOG_TEXTS_H
#define CONCLAVE_RUN_STEP_LOG_TEXTS_H

#include "run/step_log.h"

struct log_texts {
    const char **text;
    uint32_t count, room;
};

/* The bytes of the whole steps: a process that was killed may leave a part of one. */
size_t log_whole_bytes(const unsigned char *bytes, size_t size);
/* Replaces pointers by numbers from 1 on. 0 or CV_ENOMEM. */
int log_number_texts(unsigned char *bytes, size_t size, struct log_texts *texts);
/* Replaces numbers by pointers. False: there is no such text. */
bool log_restore_texts(unsigned char *bytes, size_t size, const struct log_texts *texts);
/* 0 or CV_ENOMEM. */
int log_texts_add(struct log_texts *texts, const char *text);
void log_texts_free(struct log_texts *texts);

#endif
