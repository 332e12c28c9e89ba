// SPDX-License-Identifier: MIT
/* The account of a run, shared by the files that keep it. */
#ifndef CONCLAVE_RUN_ACCOUNT_PARTS_H
#define CONCLAVE_RUN_ACCOUNT_PARTS_H

#include "run/account.h"
#include "run/board.h"

struct account_parts {
    struct cv_run *run;
    const struct cv_scenario *scenario;
    uint32_t names;
    struct cv_standing *standings;
    uint64_t *decided;        /* by node: when it last learnt a leader, in milliseconds */
    uint64_t *open;           /* by name and node: its entry that is not over, from 1 on; 0: none */
    struct cv_entry *entries; /* in the order of the requests */
    uint64_t entry_room;
    uint64_t *rounds;             /* by node */
    uint32_t (*sent_to)[2];       /* by node: messages of the app to it, in even and in odd rounds */
    const unsigned char **states; /* by node: its state at the end */
    bool out_of_memory;
};

/* Takes note of a record. */
void account_record(struct account_parts *parts, const struct log_record *record, const void *content, uint64_t ns);
/* A round begins, and then its step sends. */
void account_pulse(struct account_parts *parts, const struct log_record *pulse, uint64_t ns);
void account_sent_in_round(struct account_parts *parts, const struct cv_message *message, uint64_t round, uint64_t ns);

/* merge.c: puts the steps of all sources in order, and accounts for each. 0 or CV_ENOMEM. */
int merge_steps(struct account_parts *parts, const struct account_source *sources, uint32_t count,
                const struct cv_observer *observer, bool to_last_exit);

#endif
