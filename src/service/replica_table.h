// SPDX-License-Identifier: MIT
/* All replicas of this node, by recipe and name. */
#ifndef CONCLAVE_SERVICE_REPLICA_TABLE_H
#define CONCLAVE_SERVICE_REPLICA_TABLE_H

#include "service/replica.h"

/* The replica of that name. NULL: too many names, or no memory. */
struct replica *replica_open(struct cv_service *service, enum recipe recipe, struct cv_text name);
/* The same for a state that the group has, however many there are. NULL: no memory. */
struct replica *replica_add(struct cv_service *service, enum recipe recipe, struct cv_text name);
struct replica *replica_find(const struct cv_service *service, enum recipe recipe, struct cv_text name);
/* By the digest: service/replica_file.h. */
struct replica *replica_find_key(const struct cv_service *service, const uint64_t key[2]);
/* There is nothing to remember any more: it is gone, and its file. */
void replica_discard(struct replica *replica);
void replicas_free(struct cv_service *service);
/* With twice as many names as now it is time to look for empty ones. */
void replicas_expect_crowd(struct cv_service *service);

void replica_free_ask(struct replica_ask *ask);
void replica_drop_asks(struct replica *replica);
/* The node would have to forget a state: it ends. */
void replica_no_memory(const struct cv_service *service);

#endif
