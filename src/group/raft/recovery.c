// SPDX-License-Identifier: MIT
#include "group/raft/recovery.h"

#include <errno.h>
#include <stdio.h>

#include "group/agreed_views.h"
#include "group/proposal.h"
#include "group/raft/agreement_parts.h"
#include "group/raft/files.h"

#define JOURNAL "journal"
#define NEW_JOURNAL "journal.new"
#define LOST_JOURNAL "journal.lost"
#define LEFT_EPOCHS 16u /* that a floor leaves at least */

/* ---- what the survivor knows ---- */

static uint64_t last_index(const struct cv_journal *journal)
{
    return journal_next(journal) - 1;
}

/* The last entry, in the log or the snapshot. */
static struct cv_cursor last_entry(const struct cv_journal *journal)
{
    for (size_t i = journal->count; i-- > 0;)
        if (journal->entries[i].type == RAFT_COMMAND)
            return cv_cursor(journal->entries[i].bytes, journal->entries[i].size);
    struct cv_cursor snapshot = cv_cursor(journal->snapshot, journal->snapshot_size);
    cv_take_64(&snapshot);
    cv_take_bytes(&snapshot, cv_take_32(&snapshot));
    cv_take_64(&snapshot);
    return snapshot;
}

/* Raises the floor above the fences of an earlier version. */
static void rise_above(struct cv_group_recovery *recovery)
{
    const uint64_t epochs = recovery->last_epoch + (recovery->fence_floor ? 1 : CV_RECOVERY_LEAP);
    const uint64_t most = CV_FENCE_END >> CV_JOURNAL_HIGH_FENCE_BITS;
    const uint64_t floor = (epochs < most ? epochs : most) << CV_JOURNAL_HIGH_FENCE_BITS;
    if (floor > recovery->fence_floor)
        recovery->fence_floor = floor;
}

static int understand(struct cv_group_recovery *recovery, const struct cv_journal *journal,
                      struct cv_proposal *proposal, struct cv_cursor *rest, struct cv_complaint *complaint)
{
    const struct cv_seating *seating = &proposal->seating;
    recovery->id = (cv_id)(journal->id - 1);
    *rest = last_entry(journal);
    if (!journal->identity.group || rest->broken || !cv_proposal_read(rest, proposal))
        return cv_complain(complaint, "%.200s: holds no group that could be recovered", recovery->directory);
    const cv_node me = cv_seating_place(seating, recovery->id);
    if (me == CV_NOBODY)
        return cv_complain(complaint, "%.200s: node %u did not belong to its group any more", recovery->directory,
                           recovery->id);
    recovery->others = seating->present & ~cv_set_of(me);
    memcpy(recovery->ids, seating->ids, sizeof recovery->ids);
    recovery->last_epoch = last_index(journal);
    if (journal->version == CV_JOURNAL_HIGH_FENCES)
        rise_above(recovery);
    const uint64_t floor = recovery->fence_floor >> CV_BLOCK_BITS, last = recovery->last_epoch;
    recovery->next_epoch = 1 + (recovery->fence_floor ? (floor > last ? floor : last) : last + CV_RECOVERY_LEAP);
    if (recovery->next_epoch + LEFT_EPOCHS > CV_FENCE_END >> CV_BLOCK_BITS)
        return cv_complain(complaint, "--fence-floor %llu: expected one that leaves room for higher fences",
                           (unsigned long long)recovery->fence_floor);
    return 0;
}

/* ---- the new group ---- */

/* The others keep their places without a vote. `conclave replace` gives the places to new members. */
static void leave_alone(struct cv_group_recovery *recovery, const struct cv_journal *journal,
                        struct cv_proposal *proposal)
{
    struct cv_seating *seating = &proposal->seating;
    const cv_node me = cv_seating_place(seating, recovery->id);
    seating->group = recovery->group;
    seating->generation++;
    seating->voters = seating->former = proposal->members = cv_set_of(me);
    seating->standbys &= ~cv_set_of(me);
    seating->known[me] =
        (struct cv_known_directory){.directory = journal->identity.directory, .starts = journal->identity.starts};
    proposal->coordinator = proposal->proposer = me;
    proposal->pinned = false;
}

static int write_members(struct cv_buffer *body, uint64_t index, uint64_t id)
{
    struct raft_configuration members;
    struct raft_buffer encoded = {0};
    char address[ADDRESS_BYTES];
    snprintf(address, sizeof address, "%llu", (unsigned long long)id);
    raft_configuration_init(&members);
    int error = raft_configuration_add(&members, id, address, RAFT_VOTER);
    if (error == 0)
        error = raft_configuration_encode(&members, &encoded);
    raft_configuration_close(&members);
    if (error != 0)
        return CV_ENOMEM;
    cv_put_64(body, index);
    cv_put_32(body, (uint32_t)encoded.len);
    cv_put_bytes(body, encoded.base, encoded.len);
    raft_free(encoded.base);
    return 0;
}

/* Writes a journal that begins with a snapshot: this member alone, and the last entry as adapted. */
static int rewrite(const struct cv_group_recovery *recovery, const struct cv_journal *journal,
                   const struct cv_proposal *proposal, struct cv_cursor rest, struct cv_buffer *file)
{
    struct cv_buffer body = {0};
    struct cv_journal fresh = {.id = journal->id, .identity = journal->identity, .term = journal->term + 1};
    fresh.identity.group = recovery->group;
    fresh.identity.former = journal->identity.group;
    fresh.identity.agreed = recovery->next_epoch;
    fresh.identity.founder_count = 0;
    const int error = write_members(&body, recovery->next_epoch, journal->id);
    cv_put_64(&body, recovery->next_epoch);
    cv_proposal_write(proposal, &body);
    cv_put_bytes(&body, rest.at, rest.left); /* addresses */
    fresh.snapshot_index = recovery->next_epoch;
    fresh.snapshot_term = journal->term > 0 ? journal->term : 1;
    fresh.snapshot = body.bytes;
    fresh.snapshot_size = body.length;
    journal_write(file, &fresh);
    const bool broken = error != 0 || body.broken || file->broken;
    free(body.bytes);
    return broken ? CV_ENOMEM : 0;
}

/* ---- files ---- */

static int put_in_place(struct cv_files *files, const unsigned char *old, size_t old_length,
                        const struct cv_buffer *new)
{
    int error = files->cut(files, LOST_JOURNAL, 0);
    if (error == 0)
        error = files->write(files, LOST_JOURNAL, 0, old, old_length);
    if (error == 0)
        error = files->sync(files, LOST_JOURNAL);
    if (error == 0)
        error = files->cut(files, NEW_JOURNAL, 0);
    if (error == 0)
        error = files->write(files, NEW_JOURNAL, 0, new->bytes, new->length);
    if (error == 0)
        error = files->sync(files, NEW_JOURNAL);
    if (error == 0)
        error = files->rename(files, NEW_JOURNAL, JOURNAL);
    return error == 0 ? files->sync_directory(files) : error;
}

static int recover(struct cv_group_recovery *recovery, struct cv_files *files, bool dry, struct cv_complaint *complaint)
{
    struct cv_journal journal = {0};
    struct cv_proposal proposal;
    struct cv_cursor rest;
    struct cv_complaint inner;
    struct cv_buffer file = {0};
    unsigned char *old = NULL;
    size_t length = 0, sound = 0;
    const int missing = files->read(files, JOURNAL, &old, &length);
    if (missing != 0)
        return cv_complain(complaint, "%.200s/" JOURNAL ": %s", recovery->directory, strerror(missing));
    int error = journal_read(&journal, old, length, &sound, &inner);
    if (error == CV_EINPUT)
        cv_complain(complaint, "%.200s/" JOURNAL ": %.200s", recovery->directory, inner.text);
    if (error == 0)
        error = understand(recovery, &journal, &proposal, &rest, complaint);
    if (error == 0 && !dry) {
        leave_alone(recovery, &journal, &proposal);
        error = rewrite(recovery, &journal, &proposal, rest, &file);
        const int failed = error == 0 ? put_in_place(files, old, length, &file) : 0;
        if (failed != 0)
            error = cv_complain(complaint, "%.200s/" JOURNAL ": %s", recovery->directory, strerror(failed));
    }
    free(file.bytes);
    free(old);
    journal_free(&journal);
    return error;
}

int cv_group_recover(struct cv_group_recovery *recovery, bool dry, struct cv_complaint *complaint)
{
    struct cv_files *files;
    int error = files_open(&files, recovery->directory, complaint);
    if (error != 0)
        return error;
    error = recover(recovery, files, dry, complaint);
    files->close(files);
    return error;
}
