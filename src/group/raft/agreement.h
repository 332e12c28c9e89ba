// SPDX-License-Identifier: MIT
/*
 * A log of small entries that a majority of voters agrees on, by Raft (libraft), kept on disk. Every entry holds the
 * whole agreed state, so the last one supersedes all before it.
 *
 * It has no sockets, no timers and no clock. Messages go out by a callback and come in by a call. The owner makes all
 * calls from one thread. The disk has a thread of its own, and nothing here waits for it. Callbacks run at the end of
 * the call that caused them, and may call anything but cv_agreement_close.
 *
 * libraft 0.15 leaves the following to its user, or gets it wrong:
 *   - It assumes that a term and a vote are on disk when it goes on. Here its messages wait until they are.
 *   - It lets a new leader commit entries of earlier terms by counting the members that have them, which loses them
 *     again in figure 8 of the Raft paper. Here a new leader is silent until an entry of its own term is on its disk,
 *     and counts from there.
 *   - It reports entries of an earlier leader to the present one as stored. Here it reports only entries that agree.
 *   - It lets the only voter lead in the same term twice. Here that voter votes for itself first.
 *   - It misses, or cannot take back, some changes of members. Here it restarts from the log when that happens.
 *   - It can block an election for ever: it refuses its vote to a member of a lower term that knows more, or does not
 *     know yet that it has a vote. Here every message carries the term, and a member that is asked votes.
 *   - It forgets at a restart which leader it has heard. Here a member that returns gives no vote for one election
 *     timeout, so that a leader may rely on the silence that it was promised (cv_agreement_heard_ms).
 */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

struct cv_agreement;
struct cv_files;
struct cv_founder;
struct cv_identity;
struct cv_seat;

#define CV_AGREEMENT_ENTRY_BYTES 1792u /* of an entry, at most */
#define CV_AGREEMENT_ELECTION_MS 150u  /* the default */
#define CV_AGREEMENT_HEARTBEAT_MS 30u

struct cv_agreement_options {
    uint64_t id;
    const char *directory;
    struct cv_files *files; /* NULL: those of the directory */
    bool threaded;          /* a thread writes to disk; otherwise cv_agreement_work does */
    /* The first members. All of them get the same list; a member that is added later gets none. What is on disk
     * takes precedence. A member that has lost its directory must return under another id, as it may have voted. */
    const struct cv_seat *seats;
    size_t seat_count;
    uint32_t fresh;                     /* the number of a directory that is new; 0: starts are not counted */
    uint32_t election_ms, heartbeat_ms; /* 0: the default. The timeout is drawn from 1..2 times election_ms */
    uint64_t seed;                      /* for that */
};

struct cv_agreement_calls {
    void (*send)(void *context, uint64_t to, const void *bytes, size_t length);
    /* An entry is committed. Entries come in the order of their indexes, which have gaps. After a restart they come
     * again from the last snapshot on. */
    void (*committed)(void *context, uint64_t index, const void *bytes, size_t length);
    /* The leader, or 0 if it is unknown. This member leads only once it has been told all that was committed before. */
    void (*leader)(void *context, uint64_t leader, uint64_t term);
    /* The outcome of a request. Not done: the outcome is unknown. */
    void (*decided)(void *context, uint64_t number, bool done);
    /* The log has failed, for the reason in that line. Called once. The log sends nothing and does nothing any more. */
    void (*failed)(void *context, const char *why);
    void (*wake)(void *context); /* from another thread: call cv_agreement_settle soon */
    uint64_t (*now_ms)(void *context);
    void *context;
    /*
     * Can a member have proposed these bytes? NULL: any are fine. The log stores no entry that does not fit.
     */
    bool (*fits)(void *context, const void *bytes, size_t length);
    /* Tells the operator something in one line. May be NULL. */
    void (*warn)(void *context, const char *line);
};

/* 0, CV_ENOMEM, CV_EFILE, or CV_EINPUT for bad bytes on disk, and a complaint. Callbacks may begin at once. */
int cv_agreement_open(struct cv_agreement **agreement, const struct cv_agreement_options *options,
                      const struct cv_agreement_calls *calls, struct cv_complaint *complaint);
/* Waits for the disk. */
void cv_agreement_close(struct cv_agreement *agreement);

/* Time has passed. The owner calls it some four times per heartbeat while something is under way. */
void cv_agreement_tick(struct cv_agreement *agreement);
/*
 * When the next tick is due at the latest, while nothing is under way. A leader that ticks earlier sends its heartbeats
 * then.
 */
uint64_t cv_agreement_due_ms(const struct cv_agreement *agreement);
/* Sets the election timeout and the heartbeat interval from now on. */
void cv_agreement_pace(struct cv_agreement *agreement, uint32_t election_ms, uint32_t heartbeat_ms);
/* The disk has finished some work. */
void cv_agreement_settle(struct cv_agreement *agreement);
/* Without a thread: does one piece of the disk's work. */
bool cv_agreement_work(struct cv_agreement *agreement);

/* ---- the identity of the directory ---- */

const struct cv_identity *cv_agreement_identity(const struct cv_agreement *agreement);
/* Begins the log of a new group, in a directory that belongs to none. The founders have seats in it, and, if that is
 * known, these directories. */
int cv_agreement_found(struct cv_agreement *agreement, uint64_t group, const struct cv_founder *founders,
                       const struct cv_seat *seats, size_t count);
/* The directory, which belongs to no group yet, now belongs to this one. No message leaves before that is on disk. */
void cv_agreement_belong(struct cv_agreement *agreement, uint64_t group);
/* The entry of that index is agreed. If a leader takes it back, it is not a true leader, and this member fails. */
void cv_agreement_keep(struct cv_agreement *agreement, uint64_t index);

#endif
