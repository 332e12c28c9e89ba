// SPDX-License-Identifier: MIT
/*
 * A search in a checkpoint. It is written while all threads are between two chunks, so that every state is either
 * expanded or waiting. As many threads as one likes go on with it.
 */
#ifndef CONCLAVE_CHECK_SEARCH_SAVED_SEARCH_H
#define CONCLAVE_CHECK_SEARCH_SAVED_SEARCH_H

#include "check/search/crew.h"
#include "saved/saved_file.h"

/* Writes the checkpoint. No other thread may be at work. */
void saved_search_write(struct crew *crew);

/* Restores a crew that has not begun. 0, CV_ENOMEM, or CV_EINPUT if the file does not belong to the check. */
int saved_search_read(struct crew *crew, struct file_reader *reader);

#endif
