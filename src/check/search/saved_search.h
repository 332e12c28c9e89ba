// SPDX-License-Identifier: MIT
/*
 * A search in a checkpoint. It is written while all threads are between two chunks, and nothing is on its way from one
 * rank to another, so that every state is either expanded or waiting. As many threads and ranks as one likes go on with
 * it.
 *
 * The file has a section for each rank: its model, its part of the table, and the states that wait there. A rank that
 * goes on reads all sections. It takes the entries of the table that it owns. As many ranks as before own what they
 * owned. With another number, an entry does not tell who owns it: the states of nodes do, of which the table keeps
 * nothing. So from then on the key of a state says who owns it, although that sends more states from rank to rank. The
 * states that wait are dealt out: it does not matter who expands them.
 */
#ifndef CONCLAVE_CHECK_SEARCH_SAVED_SEARCH_H
#define CONCLAVE_CHECK_SEARCH_SAVED_SEARCH_H

#include "check/search/crew.h"
#include "saved/saved_file.h"

/* Writes the checkpoint. No other thread may be at work, and every rank must call it. */
void saved_search_write(struct crew *crew);

/* Does the search go on from a checkpoint? Every rank must call it, and gets the same answer. */
bool saved_search_exists(const struct cv_check_options *options);

/*
 * Restores a crew that has not begun. Every rank must call it. 0, CV_ENOMEM, CV_EFILE, or CV_EINPUT if the file does
 * not belong to the check.
 */
int saved_search_read(struct crew *crew);

#endif
