// SPDX-License-Identifier: MIT
/* The terms that a member goes by: those of its file until there is an entry, and then those of the entry. */
#ifndef CONCLAVE_LIVE_CONSENSUS_TERMS_H
#define CONCLAVE_LIVE_CONSENSUS_TERMS_H

struct consensus;
struct cv_seating;

/* A view begins, and this node goes by the terms of its entry. */
void consensus_adopt_terms(struct consensus *consensus);
/* This node starts, and goes by the terms of the last entry on disk. */
void consensus_recall_terms(struct consensus *consensus, const struct cv_seating *seating);

#endif
