// SPDX-License-Identifier: MIT
#include "check/search/rank_file.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define MOST_UNSENT 4u

/* No other blocks travel while a file is written. */
enum section_tag { TAG_WANTED = 32, TAG_SECTION, TAG_SECTION_END, TAG_WRITTEN };

/* The other ranks would wait for ever for a block that cannot be sent. */
static void send_block(struct cv_ranks *ranks, uint32_t to, enum section_tag tag, const void *bytes, size_t count)
{
    struct cv_block *block = cv_block_new(ranks, count);
    if (block) {
        if (count)
            memcpy(block->bytes, bytes, count);
        block->size = count;
    }
    if (!block || cv_ranks_send(ranks, to, tag, block))
        cv_ranks_abort(ranks, 2);
}

/* Waits for the next block. */
static struct cv_block *next_block(struct cv_ranks *ranks)
{
    struct cv_block *block = NULL;
    while (!block) {
        if (cv_ranks_receive(ranks, &block))
            cv_ranks_abort(ranks, 2);
        if (!block)
            cv_ranks_rest(ranks);
    }
    return block;
}

/* ---- writing ---- */

/* Copies what a rank sends. Its last block has the error that kept it from writing all, or 0. */
static void copy_section(struct cv_ranks *ranks, struct file_writer *writer)
{
    for (bool more = true; more;) {
        struct cv_block *block = next_block(ranks);
        int error = 0;
        assert(block->tag == TAG_SECTION || block->tag == TAG_SECTION_END);
        more = block->tag == TAG_SECTION;
        if (more)
            file_write(writer, block->bytes, block->size);
        else
            memcpy(&error, block->bytes, sizeof error);
        if (error)
            file_writer_fail(writer, error);
        cv_block_free(ranks, block);
    }
}

void rank_file_gather(struct cv_ranks *ranks, struct file_writer *writer)
{
    for (uint32_t rank = 1; rank < cv_ranks_count(ranks); rank++) {
        send_block(ranks, rank, TAG_WANTED, NULL, 0);
        copy_section(ranks, writer);
    }
}

/* Nobody may send anything else before all have left: it would come among the sections. */
static void meet(struct cv_ranks *ranks)
{
    uint64_t nothing = 0;
    cv_ranks_reduce(ranks, CV_REDUCE_SUM, &nothing, 1);
}

void rank_file_end(struct cv_ranks *ranks)
{
    for (uint32_t rank = 1; rank < cv_ranks_count(ranks); rank++)
        send_block(ranks, rank, TAG_WRITTEN, NULL, 0);
    meet(ranks);
}

static void pass_on(void *context, const void *bytes, size_t count)
{
    struct cv_ranks *ranks = context;
    send_block(ranks, 0, TAG_SECTION, bytes, count);
    while (cv_ranks_unsent(ranks) > MOST_UNSENT)
        cv_ranks_rest(ranks);
}

void rank_file_serve(struct cv_ranks *ranks, void (*write)(void *context, struct file_writer *writer), void *context)
{
    for (bool wanted = true; wanted;) {
        struct cv_block *block = next_block(ranks);
        wanted = block->tag == TAG_WANTED;
        cv_block_free(ranks, block);
        if (!wanted)
            break;
        struct file_writer *writer = file_writer_relay(pass_on, ranks);
        if (!writer)
            cv_ranks_abort(ranks, 2);
        write(context, writer);
        const int error = file_writer_close(writer);
        send_block(ranks, 0, TAG_SECTION_END, &error, sizeof error);
    }
    meet(ranks);
}

/* ---- reading ---- */

/* The next piece, for all ranks at once. After one that cannot be read there is none. */
static size_t fetch(void *context, void *bytes, size_t room)
{
    struct rank_reading *reading = context;
    uint64_t count = 0;
    if (reading->failed)
        return 0;
    if (reading->file) {
        count = file_reader_left(reading->file) < room ? file_reader_left(reading->file) : room;
        file_read(reading->file, bytes, (size_t)count);
        if (file_reader_failed(reading->file))
            count = 0;
    }
    cv_ranks_broadcast(reading->ranks, 0, &count, sizeof count);
    reading->failed = !count;
    if (count)
        cv_ranks_broadcast(reading->ranks, 0, bytes, (size_t)count);
    return (size_t)count;
}

struct file_reader *rank_file_reader(struct rank_reading *reading)
{
    uint64_t bytes = reading->file ? file_reader_left(reading->file) : 0;
    cv_ranks_broadcast(reading->ranks, 0, &bytes, sizeof bytes);
    struct file_reader *reader = file_reader_relay(fetch, reading, bytes);
    uint64_t missing = !reader;
    cv_ranks_reduce(reading->ranks, CV_REDUCE_SUM, &missing, 1);
    if (missing && reader) {
        file_reader_close(reader);
        reader = NULL;
    }
    return reader;
}

void rank_file_finish(struct file_reader *reader)
{
    char skipped[4096];
    for (uint64_t left; (left = file_reader_left(reader)) > 0;)
        file_read(reader, skipped, left < sizeof skipped ? (size_t)left : sizeof skipped);
    file_reader_close(reader);
}

void rank_file_share_parts(struct cv_ranks *ranks, struct cv_checkpoint *checkpoint)
{
    for (uint32_t part = 0; part < CHECKPOINT_PARTS; part++) {
        uint64_t count = checkpoint->found[part] ? checkpoint->found_bytes[part] : 0;
        cv_ranks_broadcast(ranks, 0, &count, sizeof count);
        if (!count)
            continue;
        if (!checkpoint->found[part] && !(checkpoint->found[part] = malloc((size_t)count)))
            cv_ranks_abort(ranks, 2);
        checkpoint->found_bytes[part] = (size_t)count;
        cv_ranks_broadcast(ranks, 0, checkpoint->found[part], (size_t)count);
    }
}
