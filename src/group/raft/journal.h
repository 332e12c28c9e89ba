// SPDX-License-Identifier: MIT
/*
 * The state that a member must not forget: as a file of records, and as the result of playing them. No I/O here.
 *
 *     record   length 4 | kind 4 | check of these and of the place 8 | check of the body 8 | body
 *
 *     HEADER   version 8, id 8                    the first, and only it
 *     VOTE     term 8, voted for 8
 *     ENTRIES  first 8, count 8, then for each: term 8, type 4, size 4, bytes
 *     CUT      index 8                            the entry of this index and all after it are gone
 *     SNAPSHOT index 8, term 8, trailing 8, body  stands for all entries up to that index, of which so many are kept
 *     IDENTITY group 8, former 8, directory 4, starts 4, agreed 8, then for each founder: id 4, directory 4
 *
 * Each record is synced before the next is written, so a crash can tear the last one and no other. A record that is
 * broken and does not look torn is damage, and a member whose memory is damaged must not take part: it might vote
 * twice.
 */
#ifndef CONCLAVE_GROUP_RAFT_JOURNAL_H
#define CONCLAVE_GROUP_RAFT_JOURNAL_H

#include "core/error.h"
#include "group/bytes.h"
#include "group/identity.h"

enum cv_record {
    CV_RECORD_HEADER = 1,
    CV_RECORD_VOTE,
    CV_RECORD_ENTRIES,
    CV_RECORD_CUT,
    CV_RECORD_SNAPSHOT,
    CV_RECORD_IDENTITY,
};

struct cv_journal_entry {
    uint64_t term;
    uint32_t type, size;
    unsigned char *bytes;
};

/* Zeroed to begin with. */
struct cv_journal {
    uint64_t id;
    struct cv_identity identity;
    uint64_t term, vote;
    uint64_t snapshot_index, snapshot_term; /* 0: none */
    unsigned char *snapshot;
    size_t snapshot_size;
    uint64_t first; /* index of entries[0] */
    struct cv_journal_entry *entries;
    size_t count, capacity;
};

void journal_free(struct cv_journal *journal);

/* The index that an entry appended now gets. */
uint64_t journal_next(const struct cv_journal *journal);

/* Bodies of records. */
void journal_put_vote(struct cv_buffer *body, uint64_t term, uint64_t vote);
void journal_put_entries(struct cv_buffer *body, uint64_t first, const struct cv_journal_entry *entries, size_t count);
void journal_put_cut(struct cv_buffer *body, uint64_t index);
void journal_put_snapshot(struct cv_buffer *body, uint64_t index, uint64_t term, uint64_t trailing, const void *bytes,
                          size_t size);

void journal_put_identity(struct cv_buffer *body, const struct cv_identity *identity);

/* Carries out a record. 0, CV_ENOMEM, or CV_EINPUT if it makes no sense here. */
int journal_play(struct cv_journal *journal, enum cv_record kind, const void *body, size_t length);

/* The record of that body, for the place in the file where the buffer's bytes end. */
void journal_frame(struct cv_buffer *file, uint64_t offset, enum cv_record kind, const void *body, size_t length);
/* A file that says all the journal knows. */
void journal_write(struct cv_buffer *file, const struct cv_journal *journal);
/* Plays a file. `sound` is the length of what is not torn. 0, CV_ENOMEM, or CV_EINPUT and what is wrong. */
int journal_read(struct cv_journal *journal, const unsigned char *file, size_t length, size_t *sound,
                 struct cv_complaint *complaint);

#endif
