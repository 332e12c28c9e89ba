// SPDX-License-Identifier: MIT
/*
 * A file from which work that takes long goes on: a check, or a sweep. It has the state of the work, and parts. Parts
 * are of checks: searches lie within all arrangements of ids, all orders of requests, and searches that begin again
 * without a reduction. Each of these notes where it is; the search writes the file, with all parts, when it is due. A
 * check that goes on asks for its parts in that order.
 */
#ifndef CONCLAVE_SAVED_CHECKPOINT_H
#define CONCLAVE_SAVED_CHECKPOINT_H

#include "core/error.h"
#include "saved/saved_file.h"

#define CV_USUAL_EVERY_MS 300000u

enum checkpoint_part { CHECKPOINT_ARRANGEMENTS, CHECKPOINT_CHECK, CHECKPOINT_ORDERS, CHECKPOINT_PARTS };

struct cv_checkpoint {
    const char *path;     /* of the file to write; NULL: none */
    const char *resume;   /* the file to go on from; NULL: the work begins at the beginning */
    uint64_t every_ms;    /* between two checkpoints */
    const char *kind;     /* of work: "check" */
    const char *identity; /* what is done, by what: lines of a name and perhaps a value */
    uint64_t last_ms;     /* when the last one was written, or the work began */
    uint64_t took_ms;     /* how long it took to write the last one */
    bool exists;          /* there is a file to go on from */
    char failure[256];    /* why the last one could not be written; "": it could */
    void (*tell)(const struct cv_checkpoint *checkpoint); /* it could not be written */
    struct {
        const void *bytes; /* NULL: it has nothing to note */
        size_t count;
    } parts[CHECKPOINT_PARTS];

    /* While the work finds its way back: */
    struct file_reader *reader; /* NULL: it has found it, or began at the beginning */
    void *found[CHECKPOINT_PARTS];
    size_t found_bytes[CHECKPOINT_PARTS];
    bool has_content; /* the state of the work follows in the file */
};

/* The hash of some bytes, and of others before. */
uint64_t cv_checkpoint_hash(const void *bytes, size_t count, uint64_t before);
/* The hash of a file; 0 if it cannot be read. */
uint64_t cv_checkpoint_hash_file(const char *path);

/*
 * Tries whether the file can be written, and reads the one to go on from. 0, CV_ENOMEM, or CV_EINPUT with a complaint.
 * Close it in any case.
 */
int cv_checkpoint_open(struct cv_checkpoint *checkpoint, struct cv_complaint *complaint);
void cv_checkpoint_close(struct cv_checkpoint *checkpoint);

/* Notes a part, which must stay where it is until it is noted again. NULL: there is nothing to note. */
void cv_checkpoint_note(struct cv_checkpoint *checkpoint, enum checkpoint_part part, const void *bytes, size_t count);

/* If the check goes on from a file that has this part, copies it and returns true; once. */
bool cv_checkpoint_recall(struct cv_checkpoint *checkpoint, enum checkpoint_part part, void *bytes, size_t count);

/* Is it time for another one? */
bool cv_checkpoint_is_due(const struct cv_checkpoint *checkpoint);

/* Writes the file. `write` adds the state of the work; NULL: the parts say it all. */
void cv_checkpoint_write(struct cv_checkpoint *checkpoint, void (*write)(void *context, struct file_writer *writer),
                         void *context);

/* The file at the beginning of what `write` added; NULL if the work begins without. */
struct file_reader *cv_checkpoint_content(struct cv_checkpoint *checkpoint);

/* The work is where it was. */
void cv_checkpoint_is_found(struct cv_checkpoint *checkpoint);

#endif
