// SPDX-License-Identifier: MIT
#include "saved/saved_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#define BUFFER ((size_t)1 << 20)

/* The checksum at the end, in a form that all machines read alike. */
#define CHECKSUM sizeof(XXH128_canonical_t)

/* ---- writing ---- */

struct file_writer {
    int file;
    int error; /* errno of the first operation that failed */
    char *path;
    char *partial; /* the name until it is complete */
    XXH3_state_t *checksum;
    void (*pass)(void *context, const void *bytes, size_t count); /* where the bytes go; NULL: into the file */
    void *context;
    size_t used;
    unsigned char buffer[BUFFER];
};

static void writer_free(struct file_writer *writer)
{
    if (writer->file >= 0)
        close(writer->file);
    XXH3_freeState(writer->checksum);
    free(writer->partial);
    free(writer->path);
    free(writer);
}

/* The name of the file itself, if `path` is a link. NULL and errno if there is something else than a file. */
static char *find_file(const char *path)
{
    struct stat status;
    if (!lstat(path, &status) && S_ISLNK(status.st_mode))
        return realpath(path, NULL);
    if (!stat(path, &status) && !S_ISREG(status.st_mode)) {
        errno = S_ISDIR(status.st_mode) ? EISDIR : ENODEV;
        return NULL;
    }
    return strdup(path);
}

/* A file that nobody else writes; -1 and errno: EWOULDBLOCK if somebody does. */
static int open_alone(const char *path)
{
    for (;;) {
        struct stat ours, named;
        const int file = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (file < 0)
            return -1;
        if (flock(file, LOCK_EX | LOCK_NB) || fstat(file, &ours)) {
            const int error = errno;
            close(file);
            errno = error;
            return -1;
        }
        /* Whoever had it may have completed it in between: then it has another name, and is not ours. */
        if (!stat(path, &named) && named.st_ino == ours.st_ino && named.st_dev == ours.st_dev &&
            (!ours.st_size || !ftruncate(file, 0)))
            return file;
        close(file);
    }
}

struct file_writer *file_writer_open(const char *path)
{
    struct file_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->file = -1;
    writer->checksum = XXH3_createState();
    errno = ENOMEM;
    writer->path = *path && writer->checksum ? find_file(path) : NULL;
    if (!*path)
        errno = ENOENT;
    if (writer->path && asprintf(&writer->partial, "%s.partial", writer->path) < 0)
        writer->partial = NULL;
    if (writer->partial) {
        XXH3_128bits_reset(writer->checksum);
        writer->file = open_alone(writer->partial);
    }
    if (writer->file >= 0)
        return writer;
    const int error = errno;
    writer_free(writer);
    errno = error;
    return NULL;
}

struct file_writer *file_writer_relay(void (*pass)(void *context, const void *bytes, size_t count), void *context)
{
    struct file_writer *writer = calloc(1, sizeof *writer);
    if (!writer)
        return NULL;
    writer->file = -1;
    writer->pass = pass;
    writer->context = context;
    return writer;
}

static void flush(struct file_writer *writer)
{
    if (writer->pass) {
        writer->pass(writer->context, writer->buffer, writer->used);
        writer->used = 0;
    }
    for (size_t done = 0; done < writer->used && !writer->error;) {
        const ssize_t written = write(writer->file, writer->buffer + done, writer->used - done);
        if (written < 0 && errno != EINTR)
            writer->error = errno;
        done += written > 0 ? (size_t)written : 0;
    }
    writer->used = 0;
}

static void put(struct file_writer *writer, const void *bytes, size_t count)
{
    const unsigned char *next = bytes;
    while (count > 0) {
        const size_t room = BUFFER - writer->used, piece = count < room ? count : room;
        memcpy(writer->buffer + writer->used, next, piece);
        writer->used += piece;
        next += piece;
        count -= piece;
        if (writer->used == BUFFER)
            flush(writer);
    }
}

void file_write(struct file_writer *writer, const void *bytes, size_t count)
{
    if (count && writer->checksum)
        XXH3_128bits_update(writer->checksum, bytes, count);
    put(writer, bytes, count);
}

void file_write_number(struct file_writer *writer, uint64_t number)
{
    file_write(writer, &number, sizeof number);
}

void file_writer_fail(struct file_writer *writer, int error)
{
    writer->error = writer->error ? writer->error : error;
}

/* Makes sure that the directory remembers the new name. Some file systems cannot, and need not. */
static void sync_directory(char *path)
{
    const int directory = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return;
    fsync(directory);
    close(directory);
}

static int close_relay(struct file_writer *writer)
{
    const int error = writer->error;
    flush(writer);
    writer_free(writer);
    return error;
}

int file_writer_close(struct file_writer *writer)
{
    XXH128_canonical_t checksum;
    if (writer->pass)
        return close_relay(writer);
    XXH128_canonicalFromHash(&checksum, XXH3_128bits_digest(writer->checksum));
    put(writer, &checksum, sizeof checksum);
    flush(writer);
    if (!writer->error && fsync(writer->file))
        writer->error = errno;
    if (!writer->error && rename(writer->partial, writer->path))
        writer->error = errno;
    if (writer->error)
        unlink(writer->partial);
    else
        sync_directory(writer->path);
    const int error = writer->error;
    writer_free(writer);
    return error;
}

/* ---- reading ---- */

struct file_reader {
    int file;
    bool failed;
    uint64_t left;                                            /* to be read by the caller: without the checksum */
    size_t (*fetch)(void *context, void *bytes, size_t room); /* where the bytes come from; NULL: from the file */
    void *context;
    size_t at; /* in the buffer */
    size_t used;
    unsigned char buffer[BUFFER];
};

/* Fills the buffer; false at the end, or if that fails. */
static bool refill(struct file_reader *reader)
{
    ssize_t got;
    do
        got = reader->fetch ? (ssize_t)reader->fetch(reader->context, reader->buffer, BUFFER)
                            : read(reader->file, reader->buffer, BUFFER);
    while (got < 0 && errno == EINTR);
    reader->at = 0;
    reader->used = got > 0 ? (size_t)got : 0;
    return got > 0;
}

static void get(struct file_reader *reader, void *bytes, size_t count)
{
    unsigned char *next = bytes;
    while (count > 0) {
        if (reader->at == reader->used && !refill(reader)) {
            memset(next, 0, count);
            reader->failed = true;
            return;
        }
        const size_t here = reader->used - reader->at, piece = count < here ? count : here;
        memcpy(next, reader->buffer + reader->at, piece);
        reader->at += piece;
        next += piece;
        count -= piece;
    }
}

/* Is the checksum at the end that of the rest? */
static bool is_complete(struct file_reader *reader, XXH3_state_t *state)
{
    XXH128_canonical_t found, wanted;
    XXH3_128bits_reset(state);
    for (uint64_t left = reader->left; left > 0 && !reader->failed;) {
        if (reader->at == reader->used && !refill(reader))
            return false;
        const size_t here = reader->used - reader->at, piece = left < here ? (size_t)left : here;
        XXH3_128bits_update(state, reader->buffer + reader->at, piece);
        reader->at += piece;
        left -= piece;
    }
    get(reader, &found, sizeof found);
    XXH128_canonicalFromHash(&wanted, XXH3_128bits_digest(state));
    return !reader->failed && memcmp(&found, &wanted, sizeof found) == 0;
}

struct file_reader *file_reader_open(const char *path, int *error)
{
    struct file_reader *reader = calloc(1, sizeof *reader);
    XXH3_state_t *state = XXH3_createState();
    struct stat status;
    *error = ENOMEM;
    if (reader)
        reader->file = -1;
    if (!reader || !state)
        goto out;
    reader->file = open(path, O_RDONLY | O_CLOEXEC);
    if (reader->file < 0 || fstat(reader->file, &status)) {
        *error = errno;
        goto out;
    }
    *error = S_ISDIR(status.st_mode) ? EISDIR : 0;
    if (*error || (uint64_t)status.st_size < CHECKSUM)
        goto out;
    reader->left = (uint64_t)status.st_size - CHECKSUM;
    if (is_complete(reader, state) && lseek(reader->file, 0, SEEK_SET) == 0) {
        reader->at = reader->used = 0;
        XXH3_freeState(state);
        return reader;
    }
out:
    XXH3_freeState(state);
    if (reader)
        file_reader_close(reader);
    return NULL;
}

struct file_reader *file_reader_relay(size_t (*fetch)(void *context, void *bytes, size_t room), void *context,
                                      uint64_t bytes)
{
    struct file_reader *reader = calloc(1, sizeof *reader);
    if (!reader)
        return NULL;
    reader->file = -1;
    reader->left = bytes;
    reader->fetch = fetch;
    reader->context = context;
    return reader;
}

void file_read(struct file_reader *reader, void *bytes, size_t count)
{
    if (count > reader->left) {
        memset(bytes, 0, count);
        reader->failed = true;
        return;
    }
    reader->left -= count;
    get(reader, bytes, count);
}

uint64_t file_read_number(struct file_reader *reader)
{
    uint64_t number;
    file_read(reader, &number, sizeof number);
    return number;
}

uint64_t file_reader_left(const struct file_reader *reader)
{
    return reader->left;
}

bool file_reader_failed(const struct file_reader *reader)
{
    return reader->failed;
}

void file_reader_close(struct file_reader *reader)
{
    if (reader->file >= 0)
        close(reader->file);
    free(reader);
}
