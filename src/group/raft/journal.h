// SPDX-License-Identifier: MIT
/*
 * The durable state of a member: a file of records, and the result of replaying them. No I/O here.
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
 * Each record is synced before the next is written, so a crash can tear the last one and no other. A broken record
 * that does not look torn is damage. A member with a damaged journal must not take part, as it might vote twice.
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

#define CV_JOURNAL_HIGH_FENCES 2u /* the version whose fences rose by 2^40 with each epoch */
#define CV_JOURNAL_HIGH_FENCE_BITS 40u

/* Zeroed to begin with. */
struct cv_journal {
    uint64_t version; /* of the file that was read; 0: none was */
    uint64_t id;
    struct cv_identity identity;
    uint64_t term, vote;
    uint64_t snapshot_index, snapshot_term; /* 0: there is no snapshot */
    unsigned char *snapshot;
    size_t snapshot_size;
    uint64_t first; /* index of entries[0] */
    struct cv_journal_entry *entries;
    size_t count, capacity;
};

void journal_free(struct cv_journal *journal);

/* The index that an entry appended now gets. */
uint64_t journal_next(const struct cv_journal *journal);

/* Write the bodies of records. */
void journal_put_vote(struct cv_buffer *body, uint64_t term, uint64_t vote);
void journal_put_entries(struct cv_buffer *body, uint64_t first, const struct cv_journal_entry *entries, size_t count);
void journal_put_cut(struct cv_buffer *body, uint64_t index);
void journal_put_snapshot(struct cv_buffer *body, uint64_t index, uint64_t term, uint64_t trailing, const void *bytes,
                          size_t size);

void journal_put_identity(struct cv_buffer *body, const struct cv_identity *identity);

/* Replays a record. 0, CV_ENOMEM, or CV_EINPUT if it makes no sense here. */
int journal_play(struct cv_journal *journal, enum cv_record kind, const void *body, size_t length);

/* Appends the record of that body to the buffer, for that offset in the file. */
void journal_frame(struct cv_buffer *file, uint64_t offset, enum cv_record kind, const void *body, size_t length);
/* Writes the whole state as a new file. */
void journal_write(struct cv_buffer *file, const struct cv_journal *journal);
/* Replays a file. `sound` is the length of its untorn part. 0, CV_ENOMEM, or CV_EINPUT and a complaint. */
int journal_read(struct cv_journal *journal, const unsigned char *file, size_t length, size_t *sound,
                 struct cv_complaint *complaint);

#endif
