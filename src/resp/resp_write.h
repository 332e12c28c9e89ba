// SPDX-License-Identifier: MIT
/* RESP, the protocol of Redis, versions 2 and 3: words into bytes, without I/O. resp_read.h is the other half. */
#ifndef CONCLAVE_RESP_RESP_WRITE_H
#define CONCLAVE_RESP_RESP_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/parse.h"

/* Memory that many writers share. */
struct cv_resp_pool {
    size_t used;
    size_t most;
};
/* False if there is not so much left. The pool may be NULL: it has no limit. */
bool cv_resp_pool_take(struct cv_resp_pool *pool, size_t bytes);
void cv_resp_pool_give(struct cv_resp_pool *pool, size_t bytes);

/* Collects bytes to be sent. It grows as needed up to `most`, and keeps a little, so that it soon stops allocating. */
struct cv_resp_writer {
    char *bytes;
    size_t length;
    size_t capacity;
    size_t most;
    struct cv_resp_pool *pool; /* that its memory counts in, or NULL */
    uint32_t protocol;         /* 2 or 3 */
    bool full; /* something did not fit; nothing was written since, and the connection is of no more use */
};

void cv_resp_begin(struct cv_resp_writer *writer, size_t most);
void cv_resp_end(struct cv_resp_writer *writer);

/* The first `count` bytes have been sent. */
void cv_resp_sent(struct cv_resp_writer *writer, size_t count);

void cv_resp_status(struct cv_resp_writer *writer, const char *text);
void cv_resp_error(struct cv_resp_writer *writer, const char *format, ...) __attribute__((format(printf, 2, 3)));
void cv_resp_integer(struct cv_resp_writer *writer, int64_t number);
void cv_resp_bulk(struct cv_resp_writer *writer, struct cv_text text);
/* A bulk string, too. */
void cv_resp_word(struct cv_resp_writer *writer, const char *text);
/* Items that another writer has made. */
void cv_resp_append(struct cv_resp_writer *writer, struct cv_text items);
void cv_resp_nil(struct cv_resp_writer *writer);
void cv_resp_array(struct cv_resp_writer *writer, size_t items);
/* In RESP2 an array of twice as many items. */
void cv_resp_map(struct cv_resp_writer *writer, size_t pairs);
/* In RESP2 an array. */
void cv_resp_push(struct cv_resp_writer *writer, size_t items);

#endif
