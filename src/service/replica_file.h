// SPDX-License-Identifier: MIT
/* The file of a replica: a head with a digest, the recipe and the name, and the state. */
#ifndef CONCLAVE_SERVICE_REPLICA_FILE_H
#define CONCLAVE_SERVICE_REPLICA_FILE_H

#include "service/replica.h"

/* A digest of recipe and name. It names the file, too. */
void replica_key(enum recipe recipe, struct cv_text name, uint64_t key[2]);
/* False: no memory. */
bool replica_file_write(struct replica *replica);
bool replica_file_remove(struct replica *replica);
/* The replica that has the file of that name; NULL: there is none. */
struct replica *replica_file_find(const struct cv_service *service, const char *file);
/* Takes in a file as it was found. 0, CV_ENOMEM, or CV_EINPUT and a complaint. */
int replica_file_take(void *service, const char *file, struct cv_text bytes, struct cv_complaint *complaint);

#endif
