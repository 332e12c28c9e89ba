// SPDX-License-Identifier: MIT
/*
 * A look at all names of this node, a part in each turn of the loop: the few hundred that matter most to a person, and
 * how many there are. First come the names that clients wait for, the longest wait first, then those that are held, the
 * longest hold first.
 */
#ifndef CONCLAVE_SERVICE_HTTP_SURVEY_H
#define CONCLAVE_SERVICE_HTTP_SURVEY_H

#include "secure/acl.h"
#include "service/lock.h"

#define SURVEY_ROWS 200u
#define SURVEY_CLIENTS 4u   /* shown of those that hold a name, and of those that wait */
#define SURVEY_PROMISES 64u /* counted of those of other members */

/* A client that holds a name or waits for it. */
struct survey_client {
    cv_id node;
    uint64_t session;
    uint64_t fence;
    uint64_t since_ms; /* by cv_loop_coarse_ms(); 0: not known here */
    uint64_t ttl_ms;   /* 0: as long as the session lasts */
    bool shared;
    bool asked_back, forced;
    size_t name_length;
    char name[CV_CLIENT_NAME_BYTES]; /* that it has given itself */
};

struct survey_row {
    bool election;
    const char *algorithm;
    uint64_t rank;             /* the lowest come first */
    uint64_t holding, waiting; /* how many */
    bool elsewhere;            /* those that hold it are clients of other members */
    uint32_t holder_count, waiter_count;
    struct survey_client holders[SURVEY_CLIENTS], waiters[SURVEY_CLIENTS];
    size_t name_length;
    char name[CV_NAME_BYTES];
};

struct survey {
    const struct cv_service *service;
    const struct cv_acl *acl; /* of the reader; NULL: it may see everything */
    size_t cursor;            /* names before it have been looked at */
    uint64_t in_use;          /* names that are held or waited for */
    uint64_t hidden;          /* of those, names that the reader may not see */
    uint32_t row_count;
    struct survey_row *worst; /* of all places, once they are taken */
    struct survey_row rows[SURVEY_ROWS];
    struct survey_row *order[SURVEY_ROWS]; /* in the end */
};

void survey_begin(struct survey *survey, const struct cv_service *service, const struct cv_acl *acl);
/* Looks at some more, for a slice of a turn. True if that was all. */
bool survey_work(struct survey *survey);
/* A name is gone, and the last one has taken its place. */
void survey_moved(struct survey *survey, const struct cv_instance *gone);

#endif
