// SPDX-License-Identifier: MIT
/*
 * A group of two with a shared file or disk as tie-breaker. The file takes the place of the log. No I/O here. Gafni and
 * Lamport, "Disk Paxos", Distributed Computing 16 (2003), for two processes and one disk.
 *
 * Each member has a block that it alone writes; both read both. So no locks are needed, and a plain disk does as well
 * as a file. To agree on entry e + 1, once e is agreed, a member
 *
 *     PROMISE   writes a ballot higher than any it has seen, then reads the other's block
 *     ACCEPT    writes that it accepts a value in that ballot, then reads the other's block: agreed
 *
 * and gives up if it reads a higher ballot of the other's for the same entry. The value is the one that either has
 * accepted in the highest ballot, or its own if neither has: what may have been agreed before is agreed again.
 *
 * The file has a vote when leases are granted, as a third member would. A member of a view that hears nothing from the
 * other renews its lease by a new promise. What it reads afterwards shows that the other has accepted nothing, and the
 * other will read the promise before anything that it accepts is agreed. A member that sees that the other has written
 * counts that as a lease granted to the other (`other_wrote`), and waits for its end as for any lease
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
#define CV_DISK_PAXOS_VOTER 2u /* the file's place among the voters; no member has it */

struct cv_disk_paxos_calls {
    /* Writes this member's block, unless it is NULL, and then reads both. cv_disk_paxos_done() is the answer. */
    void (*start)(void *context, const struct cv_disk_paxos_block *block);
    void (*agreed)(void *context, uint64_t epoch, const struct cv_proposal *proposal);
    void (*refused)(void *context);     /* the proposal was not agreed */
    void (*other_wrote)(void *context); /* the other has written its block */
    /* The file grants its vote. Like any vote it counts only if no entry since the member's view left it out. */
    void (*renewed)(void *context, uint64_t asked_us);
    void *context;
};

enum cv_disk_paxos_step { CV_DISK_PAXOS_REST, CV_DISK_PAXOS_LOOK, CV_DISK_PAXOS_PROMISE, CV_DISK_PAXOS_ACCEPT };

struct cv_disk_paxos {
    struct cv_disk_paxos_calls calls;
    cv_node me, other;
    uint64_t renew_us; /* between two renewals */
    uint64_t look_us;  /* between two looks */
    struct cv_random random;

    struct cv_disk_paxos_block mine;   /* this member's block as it should be on disk */
    struct cv_disk_paxos_block theirs; /* the other's block as it was read last */
    struct cv_disk_paxos_block written;
    bool known;    /* both blocks have been read since the start */
    uint64_t told; /* the last entry that the other has told of: its block has to show it */

    enum cv_disk_paxos_step step; /* the step under way */
    uint64_t asked_us;            /* when the step began */
    uint64_t rested_us;           /* when the last step ended */
    uint64_t quiet_us;            /* this member makes no promise before then: the other was faster */
    bool proposing;
    struct cv_proposal proposal; /* while `proposing` */
    bool noting;                 /* another field of `mine` has changed, and has to be written */
    bool untold;                 /* the last entry is agreed, but this node's block does not say so yet */
    bool reached;                /* the last step reached the file */
    const char *trouble;         /* why it did not, or NULL */
};

void cv_disk_paxos_init(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_calls *calls, cv_node me,
                        uint64_t renew_us, uint64_t look_us, uint64_t seed);
/* Time has passed. `needy`: this member has a lease, and lacks the other's vote, so it needs the file's to keep it. */
void cv_disk_paxos_tick(struct cv_disk_paxos *paxos, bool needy, uint64_t now_us);
/* The step is done. `blocks` are both blocks as read, or NULL with the reason. */
void cv_disk_paxos_done(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS],
                        const char *trouble, uint64_t now_us);
/* False: not now. Otherwise the answer is `agreed` or `refused`. `free`: all leases of the other are over. */
bool cv_disk_paxos_propose(struct cv_disk_paxos *paxos, const struct cv_proposal *proposal, bool free, uint64_t now_us);
/* The other says that this entry is agreed. That is enough for an entry with both members; otherwise the file counts.
 * */
void cv_disk_paxos_hear(struct cv_disk_paxos *paxos, uint64_t epoch, const struct cv_proposal *proposal);
/* May this node propose the next entry? */
bool cv_disk_paxos_leads(const struct cv_disk_paxos *paxos, bool other_alive, bool free);

#endif
