// SPDX-License-Identifier: MIT
/*
 * A file that is complete or not there. It is written under another name, which it loses when all of it is on the disk.
 * A checksum at its end covers all of it.
 */
#ifndef CONCLAVE_SAVED_SAVED_FILE_H
#define CONCLAVE_SAVED_SAVED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct file_writer;
struct file_reader;

/* NULL and errno if it cannot be made. */
struct file_writer *file_writer_open(const char *path);
/* What fails is told by file_writer_close(). */
void file_write(struct file_writer *writer, const void *bytes, size_t count);
void file_write_number(struct file_writer *writer, uint64_t number);
/* Says that something else failed, so that the file is of no use. */
void file_writer_fail(struct file_writer *writer, int error);
/* Gives the file its name. 0 or errno: then a file that had that name before is as it was. Frees the writer. */
int file_writer_close(struct file_writer *writer);

/*
 * A writer of part of a file that somebody else writes: `pass` takes its bytes, some at a time. NULL: no memory.
 * file_writer_close() passes the last ones on and returns 0, or the error that file_writer_fail() was told.
 */
struct file_writer *file_writer_relay(void (*pass)(void *context, const void *bytes, size_t count), void *context);

/*
 * Reads the whole file to see that it is complete. NULL if it is not: `error` is errno, or 0 if the file can be read
 * but is damaged.
 */
struct file_reader *file_reader_open(const char *path, int *error);
/* Beyond the end there are zeros, and file_reader_failed() returns true. */
void file_read(struct file_reader *reader, void *bytes, size_t count);
uint64_t file_read_number(struct file_reader *reader);
/* The bytes that are still to be read. */
uint64_t file_reader_left(const struct file_reader *reader);
bool file_reader_failed(const struct file_reader *reader);
void file_reader_close(struct file_reader *reader);

/*
 * A reader of so many bytes that somebody else reads: `fetch` brings as many as there is room for, or all that are
 * left. It returns how many; 0: they cannot be read. NULL: no memory.
 */
struct file_reader *file_reader_relay(size_t (*fetch)(void *context, void *bytes, size_t room), void *context,
                                      uint64_t bytes);

#endif
