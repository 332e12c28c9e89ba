// SPDX-License-Identifier: MIT
/*
 * Raft's messages as bytes. libraft believes every message, and Debian's is built without its assertions. So a message
 * is checked here as far as it can be, and one that does not decode never reaches libraft.
 */
#ifndef CONCLAVE_GROUP_RAFT_RAFT_CODEC_H
#define CONCLAVE_GROUP_RAFT_RAFT_CODEC_H

#include "core/error.h"
#include "group/bytes.h"

struct raft_configuration;
struct raft_message;

#define CV_RAFT_MAX_SERVERS 64u

/* Writes a message, without its receiver. */
void cv_raft_encode(struct cv_buffer *bytes, const struct raft_message *message);

/*
 * Reads a message. libraft frees its memory once it has received the message; otherwise cv_raft_discard does. 0,
 * CV_EINPUT or CV_ENOMEM.
 */
int cv_raft_decode(const void *bytes, size_t length, struct raft_message *message);
void cv_raft_discard(struct raft_message *message);

/* The term of the message's sender. */
unsigned long long cv_raft_term(const struct raft_message *message);

/* Reads what raft_configuration_encode writes, or only checks it if the target is NULL. 0, CV_EINPUT or CV_ENOMEM. */
int cv_raft_configuration(const void *bytes, size_t length, struct raft_configuration *configuration);

/* libraft encodes a configuration in whole words. Sets the bytes that follow it to 0. */
void cv_raft_clear_padding(void *bytes, size_t length);

#endif
