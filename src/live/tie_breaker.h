// SPDX-License-Identifier: MIT
/* A group of two: the shared file that is their tie-breaker, in place of a log. */
#ifndef CONCLAVE_LIVE_TIE_BREAKER_H
#define CONCLAVE_LIVE_TIE_BREAKER_H

#include "group/disk_paxos/disk_paxos.h"
#include "group/disk_paxos/disk_paxos_file.h"
#include "live/net/loop.h"

struct cv_consensus;
struct cv_settings;
struct cv_frame;

struct cv_tie_breaker {
    struct cv_consensus *consensus;
    struct cv_disk_paxos paxos;
    struct cv_disk_paxos_file *file;
    struct cv_disk_paxos_answer answer;
    uv_async_t wake; /* the file has been read */
    uint64_t patience_us, opened_us;
    struct cv_lease_terms
        longest;     /* that either has written down: what was granted before this start may last so long */
    uint64_t ttl_ms; /* the longest time to live, as this node's block is to say */
    bool told;       /* that it cannot be reached */
    bool told_terms; /* that the other has others */
    char path[];
};

int cv_tie_breaker_open(struct cv_consensus *consensus, const struct cv_settings *settings);
void cv_tie_breaker_close(struct cv_tie_breaker *tie_breaker); /* before the loop */

void cv_tie_breaker_tick(struct cv_tie_breaker *tie_breaker);
/* The other node tells of an entry. False if that makes no sense. */
bool cv_tie_breaker_hear(struct cv_tie_breaker *tie_breaker, const struct cv_frame *frame);
/* Is it for this node to propose the next entry? */
bool cv_tie_breaker_leads(const struct cv_tie_breaker *tie_breaker);
/* For agreed_views.c, whose context is the member. */
bool cv_tie_breaker_propose(void *context, const struct cv_proposal *proposal);
/* The other counts by these terms. Each goes by its own, and waits for the longer of both: that is said once. */
void cv_tie_breaker_compare(struct cv_tie_breaker *tie_breaker, struct cv_lease_terms theirs);
/* Has the file told what may have been granted before this start, and is that over? */
bool cv_tie_breaker_is_rested(const struct cv_tie_breaker *tie_breaker);
/* Writes down that promises of this length may be made; cv_ttl_ceiling_written() tells when that stands in the file. */
void cv_tie_breaker_note_ttl(struct cv_tie_breaker *tie_breaker, uint64_t ms);
/* Why the file is of no use now, or NULL. */
const char *cv_tie_breaker_trouble(const struct cv_tie_breaker *tie_breaker);

#endif
