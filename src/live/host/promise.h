// SPDX-License-Identifier: MIT
/*
 * Promises: holds with a time to live. All members of the view know them, so that they outlive the node that granted
 * them. The service makes and ends them. A new view takes them over (live/view_promises.c).
 */
#ifndef CONCLAVE_LIVE_HOST_PROMISE_H
#define CONCLAVE_LIVE_HOST_PROMISE_H

#include "core/kept_text.h"
#include "group/view.h"

#define CV_CLIENT_NAME_BYTES 128u             /* the longest name of a client */
#define CV_VALUE_BYTES 1024u                  /* the longest value that a leader publishes */
#define CV_LONGEST_TTL_MS ((uint64_t)1 << 40) /* the longest time to live */

struct cv_promise {
    struct cv_promise *next;
    uint64_t fence;
    uint64_t ttl_ms;
    uint64_t entry;              /* the algorithm's fence of the entry that the promise belongs to */
    uint64_t generation;         /* of the readers inside together; 0: not shared */
    uint64_t permits;            /* how many may be inside together; 0: any number, if it is shared */
    uint64_t digest[2];          /* of the promise's secret */
    uint64_t owner;              /* the session that got the promise */
    cv_id origin;                /* that session's node */
    struct cv_kept_text *client; /* that session's name, or NULL */
    struct cv_kept_text *value;  /* that its leader publishes, or NULL */
    cv_node keeper;              /* the member that counts the promise's time, renews it and ends it */
    bool forced;                 /* an operator has ended it: it may not be renewed */
    bool draft;        /* its keeper's client holds by another promise, and the keeper may take this one back */
    bool acknowledged; /* this node has told the keeper that it knows */
    cv_set known_by;   /* while a view is prepared: the members that have reported it */
    uint64_t known_in; /* while a view is prepared: the latest view that one of them was in */
};

/* May a client have that name? It has no control characters, no spaces, and no bytes above ASCII. */
bool cv_is_client_name(struct cv_text name);

/*
 * Adds a promise, or replaces the one with the same fence. The list's promise is another owner of the texts. NULL if
 * there is no memory.
 */
struct cv_promise *cv_promise_put(struct cv_promise **list, const struct cv_promise *promise);
struct cv_promise *cv_promise_find(struct cv_promise *list, uint64_t fence);
/* Takes a promise out of its list and frees it. */
void cv_promise_drop(struct cv_promise **at);
void cv_promise_drop_all(struct cv_promise **list);

#endif
