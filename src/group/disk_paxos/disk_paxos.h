// SPDX-License-Identifier: MIT
/*
 * A group of two with a shared file or disk as tie-breaker: what is agreed stands in the file, in place of a log.
 * Without I/O. Gafni and Lamport, "Disk Paxos", Distributed Computing 16 (2003), for two processes and one disk.
 *
 * Each member has a block that it alone writes; both read both. So nothing has to be locked, and a plain disk does as
 * well as a file. To agree on entry e + 1, once e is agreed, a member
 *
 *     PROMISE   writes a ballot higher than any it has seen, then reads the other's block
 *     ACCEPT    writes that it accepts a value in that ballot, then reads the other's block: agreed
 *
 * and gives up if it reads a higher ballot of the other's for the same entry. The value is the one that either has
 * accepted in the highest ballot, or its own if neither has: what may have been agreed before is agreed again.
 *
 * The file has a vote when leases are granted, as a third member would. A member of a view that hears nothing from the
 * other renews its lease by a new promise. What it reads afterwards shows that the other has accepted nothing, and the
 * other will read the promise before anything that it accepts is agreed. A member that reads that the other has written
 * takes that as a lease granted to the other (`other_wrote`), and waits for its end as for any lease
 * (group/agreed_views.h). So:
 *   - a member of the last entry may propose at once when the other is gone;
 *   - a member that was left out may propose when the other has not written for the length of a lease, and was granted
 *     none.
 * No member begins a view without the other before all leases of the other are over.
 */
#ifndef CONCLAVE_GROUP_DISK_PAXOS_DISK_PAXOS_H
#define CONCLAVE_GROUP_DISK_PAXOS_DISK_PAXOS_H

#include "core/random.h"
#include "group/disk_paxos/disk_paxos_block.h"

#define CV_DISK_PAXOS_MEMBERS 2u
#define CV_DISK_PAXOS_VOTER 2u /* the file's place among the voters, where no member ever stands */

struct cv_disk_paxos_calls {
    /* Writes this member's block, unless it is NULL, and then reads both; the answer is cv_disk_paxos_done(). */
    void (*start)(void *context, const struct cv_disk_paxos_block *block);
    void (*agreed)(void *context, uint64_t epoch, const struct cv_proposal *proposal);
    void (*refused)(void *context);     /* the proposal was not agreed */
    void (*other_wrote)(void *context); /* the other has written */
    /* The file's vote, which counts as any other: only for a view since which this member was never left out. */
    void (*renewed)(void *context, uint64_t asked_us);
    void *context;
};

enum cv_disk_paxos_step { CV_DISK_PAXOS_REST, CV_DISK_PAXOS_LOOK, CV_DISK_PAXOS_PROMISE, CV_DISK_PAXOS_ACCEPT };

struct cv_disk_paxos {
    struct cv_disk_paxos_calls calls;
    cv_node me, other;
    uint64_t renew_us, look_us; /* between two renewals, two looks */
    struct cv_random random;

    struct cv_disk_paxos_block mine;   /* the block as it was written last, or will be next */
    struct cv_disk_paxos_block theirs; /* the block as it was read last */
    struct cv_disk_paxos_block written;
    bool known;    /* both have been read since the start */
    uint64_t told; /* an entry that the other has told of: its block has to show it */

    enum cv_disk_paxos_step step; /* under way */
    uint64_t asked_us;            /* when it began */
    uint64_t rested_us;           /* when the last step ended */
    uint64_t quiet_us;            /* no promise before then: the other was faster */
    bool proposing;
    struct cv_proposal proposal; /* while `proposing` */
    bool noting;                 /* another field of this node's block has changed, and has to be written */
    bool untold;                 /* the last entry is agreed, but this node's block does not say so yet */
    bool reached;                /* the file, the last time */
    const char *trouble;         /* why not, or NULL */
};

void cv_disk_paxos_init(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_calls *calls, cv_node me,
                        uint64_t renew_us, uint64_t look_us, uint64_t seed);
/* Time has passed. Has this member a lease, and needs the file's vote to keep it, for want of the other's? */
void cv_disk_paxos_tick(struct cv_disk_paxos *paxos, bool needy, uint64_t now_us);
/* The step is done: both blocks as they are now, or NULL and why there are none. */
void cv_disk_paxos_done(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS],
                        const char *trouble, uint64_t now_us);
/* False: not now. Otherwise the answer is `agreed` or `refused`. `free`: all leases of the other's are over. */
bool cv_disk_paxos_propose(struct cv_disk_paxos *paxos, const struct cv_proposal *proposal, bool free, uint64_t now_us);
/* The other says that this is agreed: an entry of both, or else only the file's word counts. */
void cv_disk_paxos_hear(struct cv_disk_paxos *paxos, uint64_t epoch, const struct cv_proposal *proposal);
/* May this node propose the next entry? */
bool cv_disk_paxos_leads(const struct cv_disk_paxos *paxos, bool other_alive, bool free);

#endif
