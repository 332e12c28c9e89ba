// SPDX-License-Identifier: MIT
/*
 * An item of LOCKS or WAITERS: a name with who holds it, or a client that waits. Members tell each other theirs as
 * bytes, in pages (service/listing.c).
 */
#ifndef CONCLAVE_SERVICE_LISTED_H
#define CONCLAVE_SERVICE_LISTED_H

#include "resp/resp_write.h"
#include "service/lock.h"

#define LISTED_MOST_BYTES (CV_NAME_BYTES + CV_CLIENT_NAME_BYTES + 160u) /* of one item on its way, at most */
#define LISTED_ALGORITHM_BYTES 64u

struct listed {
    uint64_t election;     /* 1: the name is an election's; 0: a lock's */
    uint64_t holder;       /* 1: a client of that node holds it */
    uint64_t origin;       /* the node that granted the hold; the node of a client that waits */
    uint64_t session;      /* of the client that holds it, or waits */
    uint64_t fence;        /* of the hold */
    uint64_t since_ms;     /* for so long it holds, or waits */
    uint64_t waiting;      /* how many wait at that node */
    uint64_t shared;       /* how many of that node share it; of a client that waits: 1, it would share */
    uint64_t priority;     /* of a client that waits: an int64_t */
    uint64_t asked_back;   /* 0, or 1 more than for how many milliseconds somebody has been asking for it back */
    uint64_t forced;       /* 1: an operator has ended the hold, and its client may not have stopped yet */
    struct cv_text name;   /* of a client that waits: empty, since it is known */
    struct cv_text client; /* the name of the client that holds it, or waits; starts at NULL: it has none */
    struct cv_text algorithm;
};

/* What this node knows of a name. The texts belong to the lock. */
struct listed listed_lock(const struct lock *lock);
/* A client that waits. */
struct listed listed_waiter(const struct waiter *wait);

/* As bytes, of which there is room for LISTED_MOST_BYTES. Returns how many. */
size_t listed_pack(char *bytes, const struct listed *item);
/* Takes the first item off the bytes; its texts lie there. False: no member sends that. */
bool listed_unpack(struct cv_text *bytes, struct listed *item);

/* An item of LOCKS, as the node of that id tells it. */
void listed_write_lock(struct cv_resp_writer *out, const struct listed *item, cv_id node);
/* An item of WAITERS. */
void listed_write_waiter(struct cv_resp_writer *out, const struct listed *item, cv_id node, uint64_t position);
/* Instead of the items of a member that has not answered, or that knows of more than it tells. */
void listed_write_silent(struct cv_resp_writer *out, cv_id node);
void listed_write_more(struct cv_resp_writer *out, cv_id node, uint64_t more);

#endif
