// SPDX-License-Identifier: MIT
#include "saved/checkpoint.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "core/wall_clock.h"

static const char MAGIC[24] = "conclave checkpoint 2\n";

/* A checkpoint that takes long is written less often, so that most of the time goes into the work. */
#define LEAST_SHARE 10u

#define MOST_KIND 64u
#define MOST_IDENTITY ((uint64_t)1 << 24)
#define MOST_PART ((uint64_t)1 << 28)

/* ---- what is done ---- */

uint64_t cv_checkpoint_hash(const void *bytes, size_t count, uint64_t before)
{
    return XXH3_64bits_withSeed(count ? bytes : "", count, before);
}

uint64_t cv_checkpoint_hash_file(const char *path)
{
    unsigned char bytes[4096];
    FILE *file = fopen(path, "rbe");
    uint64_t hash = 0;
    for (size_t count; file && (count = fread(bytes, 1, sizeof bytes, file)) > 0;)
        hash = cv_checkpoint_hash(bytes, count, hash);
    if (file)
        fclose(file);
    return hash;
}

static size_t line_length(const char *line)
{
    return strcspn(line, "\n");
}

/* The next line; NULL after the last. */
static const char *next_line(const char *line)
{
    line += line_length(line);
    return *line && line[1] ? line + 1 : NULL;
}

/* The first line of one that the other does not have; NULL if it has all. */
static const char *missing_line(const char *one, const char *other)
{
    for (const char *line = *one ? one : NULL; line; line = next_line(line)) {
        const size_t length = line_length(line);
        const char *same = *other ? other : NULL;
        while (same && (line_length(same) != length || strncmp(same, line, length) != 0))
            same = next_line(same);
        if (!same)
            return line;
    }
    return NULL;
}

static int compare_identities(const struct cv_checkpoint *checkpoint, const char *saved, struct cv_complaint *complaint)
{
    const char *theirs = missing_line(saved, checkpoint->identity), *ours = missing_line(checkpoint->identity, saved);
    if (!theirs && !ours)
        return 0;
    if (theirs && ours && strncmp(theirs, "program ", 8) == 0)
        return cv_complain(complaint, "--resume %s: another build of conclave wrote it; expected this one",
                           checkpoint->resume);
    if (theirs && ours && strncmp(theirs, ours, 6) == 0 &&
        (strncmp(ours, "files ", 6) == 0 || strncmp(ours, "group ", 6) == 0))
        return cv_complain(complaint, "--resume %s: a file that an option names has changed; expected it as it was",
                           checkpoint->resume);
    if (theirs && ours)
        return cv_complain(complaint, "--resume %s: it belongs to a %s with %.*s, not %.*s", checkpoint->resume,
                           checkpoint->kind, (int)line_length(theirs), theirs, (int)line_length(ours), ours);
    return cv_complain(complaint, "--resume %s: it belongs to a %s %s %.*s", checkpoint->resume, checkpoint->kind,
                       theirs ? "with" : "without", (int)line_length(theirs ? theirs : ours), theirs ? theirs : ours);
}

/* ---- reading ---- */

/* A text or a part; NULL if it cannot be read. The caller frees it. */
static void *read_piece(struct file_reader *reader, uint64_t most, size_t *count)
{
    const uint64_t bytes = file_read_number(reader);
    *count = 0;
    if (bytes > most || bytes > file_reader_left(reader))
        return NULL;
    char *piece = malloc((size_t)bytes + 1);
    if (!piece)
        return NULL;
    file_read(reader, piece, (size_t)bytes);
    piece[bytes] = '\0';
    *count = (size_t)bytes;
    return piece;
}

static int read_parts(struct cv_checkpoint *checkpoint, struct cv_complaint *complaint)
{
    char magic[sizeof MAGIC];
    size_t length;
    file_read(checkpoint->reader, magic, sizeof magic);
    if (memcmp(magic, MAGIC, sizeof MAGIC) != 0)
        return cv_complain(complaint, "--resume %s: expected a checkpoint of this version of conclave",
                           checkpoint->resume);
    char *kind = read_piece(checkpoint->reader, MOST_KIND, &length);
    const bool foreign = kind && strcmp(kind, checkpoint->kind) != 0;
    if (foreign)
        cv_complain(complaint, "--resume %s: it belongs to a %s; expected one of a %s", checkpoint->resume, kind,
                    checkpoint->kind);
    free(kind);
    if (!kind || foreign)
        return kind ? CV_EINPUT : CV_ENOMEM;
    char *identity = read_piece(checkpoint->reader, MOST_IDENTITY, &length);
    const int error = identity ? compare_identities(checkpoint, identity, complaint) : CV_ENOMEM;
    free(identity);
    for (uint32_t i = 0; i < CHECKPOINT_PARTS && !error; i++)
        if (file_read_number(checkpoint->reader) &&
            !(checkpoint->found[i] = read_piece(checkpoint->reader, MOST_PART, &checkpoint->found_bytes[i])))
            return CV_ENOMEM;
    checkpoint->has_content = !error && file_read_number(checkpoint->reader);
    return error;
}

static const char *reason(int error)
{
    return error == EWOULDBLOCK ? "another process is writing it"
           : error == ENODEV    ? "it is not a file"
                                : strerror(error);
}

/* Can the file be written? Somebody who waits for hours must know before. */
static int try_to_write(const char *path, struct cv_complaint *complaint)
{
    struct file_writer *writer = file_writer_open(path);
    if (!writer)
        return cv_complain(complaint, "--checkpoint %s: %s; expected a file to write", path, reason(errno));
    file_writer_fail(writer, ECANCELED);
    file_writer_close(writer);
    return 0;
}

int cv_checkpoint_open(struct cv_checkpoint *checkpoint, struct cv_complaint *complaint)
{
    int error;
    checkpoint->last_ms = (uint64_t)cv_wall_ms();
    if (checkpoint->path && try_to_write(checkpoint->path, complaint))
        return CV_EINPUT;
    if (!checkpoint->resume)
        return 0;
    checkpoint->reader = file_reader_open(checkpoint->resume, &error);
    if (checkpoint->reader) {
        checkpoint->exists = true;
        return read_parts(checkpoint, complaint);
    }
    return cv_complain(complaint, "--resume %s: %s", checkpoint->resume,
                       error ? strerror(error) : "it is damaged, or not a checkpoint of conclave");
}

static void forget(struct cv_checkpoint *checkpoint, enum checkpoint_part part)
{
    free(checkpoint->found[part]);
    checkpoint->found[part] = NULL;
}

void cv_checkpoint_is_found(struct cv_checkpoint *checkpoint)
{
    for (uint32_t i = 0; i < CHECKPOINT_PARTS; i++)
        forget(checkpoint, (enum checkpoint_part)i);
    if (checkpoint->reader)
        file_reader_close(checkpoint->reader);
    checkpoint->reader = NULL;
    checkpoint->has_content = false;
}

void cv_checkpoint_close(struct cv_checkpoint *checkpoint)
{
    cv_checkpoint_is_found(checkpoint);
}

bool cv_checkpoint_recall(struct cv_checkpoint *checkpoint, enum checkpoint_part part, void *bytes, size_t count)
{
    if (!checkpoint || !checkpoint->found[part] || checkpoint->found_bytes[part] != count)
        return false;
    memcpy(bytes, checkpoint->found[part], count);
    forget(checkpoint, part);
    return true;
}

struct file_reader *cv_checkpoint_content(struct cv_checkpoint *checkpoint)
{
    return checkpoint && checkpoint->has_content ? checkpoint->reader : NULL;
}

/* ---- writing ---- */

void cv_checkpoint_note(struct cv_checkpoint *checkpoint, enum checkpoint_part part, const void *bytes, size_t count)
{
    if (!checkpoint)
        return;
    checkpoint->parts[part].bytes = bytes;
    checkpoint->parts[part].count = count;
}

bool cv_checkpoint_is_due(const struct cv_checkpoint *checkpoint)
{
    if (!checkpoint || !checkpoint->path)
        return false;
    const uint64_t since = (uint64_t)cv_wall_ms() - checkpoint->last_ms;
    return since >= checkpoint->every_ms && since >= LEAST_SHARE * checkpoint->took_ms;
}

static void write_piece(struct file_writer *writer, const void *bytes, size_t count)
{
    file_write_number(writer, count);
    file_write(writer, bytes, count);
}

static void write_parts(const struct cv_checkpoint *checkpoint, struct file_writer *writer, bool has_content)
{
    file_write(writer, MAGIC, sizeof MAGIC);
    write_piece(writer, checkpoint->kind, strlen(checkpoint->kind));
    write_piece(writer, checkpoint->identity, strlen(checkpoint->identity));
    for (uint32_t i = 0; i < CHECKPOINT_PARTS; i++) {
        file_write_number(writer, checkpoint->parts[i].bytes != NULL);
        if (checkpoint->parts[i].bytes)
            write_piece(writer, checkpoint->parts[i].bytes, checkpoint->parts[i].count);
    }
    file_write_number(writer, has_content);
}

void cv_checkpoint_write(struct cv_checkpoint *checkpoint, void (*write)(void *context, struct file_writer *writer),
                         void *context)
{
    const uint64_t began = (uint64_t)cv_wall_ms();
    struct file_writer *writer = file_writer_open(checkpoint->path);
    int error = writer ? 0 : errno;
    if (writer) {
        write_parts(checkpoint, writer, write);
        if (write)
            write(context, writer);
        error = file_writer_close(writer);
    }
    const bool known = error && strcmp(checkpoint->failure, reason(error)) == 0;
    snprintf(checkpoint->failure, sizeof checkpoint->failure, "%s", error ? reason(error) : "");
    checkpoint->exists |= !error;
    if (error && !known)
        checkpoint->tell(checkpoint);
    checkpoint->last_ms = (uint64_t)cv_wall_ms();
    checkpoint->took_ms = checkpoint->last_ms - began;
}
