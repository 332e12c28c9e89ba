// SPDX-License-Identifier: MIT
#include "check/search/spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The file is shortened, and read in advance, in steps of so many bytes. */
#define STRIDE ((uint64_t)1 << 22)

/* ---- files without a name ---- */

/* The directory's file system cannot make files without a name: the name is given and removed at once. */
static int open_named(const char *directory)
{
    char *name = NULL;
    if (asprintf(&name, "%s/conclave-XXXXXX", directory) < 0)
        return -1;
    const int file = mkostemp(name, O_CLOEXEC);
    const int error = errno;
    if (file >= 0)
        unlink(name);
    free(name);
    errno = error;
    return file;
}

static int open_nameless(const char *directory)
{
    const int file = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    return file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL) ? open_named(directory) : file;
}

int spill_try(const char *directory)
{
    const int file = open_nameless(directory);
    if (file < 0)
        return errno;
    close(file);
    return 0;
}

/* ---- one file ---- */

void spill_init(struct spill *spill, struct spill_place *place)
{
    *spill = (struct spill){.place = place, .file = -1};
}

static void count_bytes(struct spill *spill, uint64_t held)
{
    struct spill_place *place = spill->place;
    const uint64_t bytes = atomic_fetch_add(&place->bytes, held - spill->held) + held - spill->held;
    uint64_t most = place->most;
    while (bytes > most && !atomic_compare_exchange_weak(&place->most, &most, bytes))
        ;
    spill->held = held;
}

void spill_close(struct spill *spill)
{
    if (!spill->place)
        return;
    if (spill->file >= 0)
        close(spill->file);
    count_bytes(spill, 0);
    spill_init(spill, spill->place);
}

static bool fail(struct spill *spill, int error)
{
    int none = 0;
    atomic_compare_exchange_strong(&spill->place->error, &none, error ? error : EIO);
    return false;
}

bool spill_append(struct spill *spill, const void *bytes, size_t count)
{
    const unsigned char *next = bytes;
    if (spill->file < 0 && (spill->file = open_nameless(spill->place->directory)) < 0)
        return fail(spill, errno);
    for (size_t done = 0; done < count;) {
        const ssize_t written = pwrite(spill->file, next + done, count - done, (off_t)(spill->bytes + done));
        if (written < 0 && errno != EINTR)
            return fail(spill, errno);
        done += written > 0 ? (size_t)written : 0;
    }
    spill->bytes += count;
    if (spill->bytes > spill->held)
        count_bytes(spill, spill->bytes);
    return true;
}

bool spill_read(struct spill *spill, uint64_t at, void *bytes, size_t count)
{
    unsigned char *next = bytes;
    for (size_t done = 0; done < count;) {
        const ssize_t got = pread(spill->file, next + done, count - done, (off_t)(at + done));
        if (got == 0 || (got < 0 && errno != EINTR)) /* 0: the file has become shorter, which nobody else may do */
            return fail(spill, got ? errno : EIO);
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

/* The file is read backwards, which the system does not expect: it is told what comes next. */
static void shorten(struct spill *spill)
{
    if (ftruncate(spill->file, (off_t)spill->bytes)) /* it keeps its room on the disk, which does no harm */
        return;
    count_bytes(spill, spill->bytes);
    const uint64_t from = spill->bytes > 2 * STRIDE ? spill->bytes - 2 * STRIDE : 0;
    posix_fadvise(spill->file, (off_t)from, (off_t)(spill->bytes - from), POSIX_FADV_WILLNEED);
}

bool spill_take(struct spill *spill, void *bytes, size_t count)
{
    if (!spill_read(spill, spill->bytes - count, bytes, count))
        return false;
    spill->bytes -= count;
    if (spill->held - spill->bytes >= STRIDE || !spill->bytes)
        shorten(spill);
    return true;
}

void spill_clear(struct spill *spill)
{
    spill->bytes = 0;
    if (spill->file >= 0)
        shorten(spill);
}
