// SPDX-License-Identifier: MIT
/*
 * A file whose replacement takes a fence that is not lower than any before. The highest is kept beside the file, in
 * FILE.fence: 20 digits and a newline. Who replaces FILE
 *
 *     writes all of it to a temporary in the same directory, and syncs that,
 *     locks FILE.fence, reads it, and goes no further if it is higher,
 *     writes its own fence there and syncs that,
 *     renames the temporary over FILE, syncs the directory, and unlocks.
 *
 * So the fence on disk is never lower than that of the content on disk, whatever crashes in between, and of two that
 * come at the same time one waits for the other. FILE.fence is never renamed or removed.
 */
#include <conclave/conclave.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/parse.h"

#define MARK_BYTES 21u /* of FILE.fence */
#define NEW_NAMES 100u /* that are tried for a temporary */

struct conclave_guarded {
    int directory;
    int fd; /* the temporary */
    uint64_t fence;
    char name[NAME_MAX + 1];      /* of the file in its directory */
    char mark[NAME_MAX + 1];      /* the name of FILE.fence */
    char temporary[NAME_MAX + 1]; /* empty: there is none */
};

/* ---- names ---- */

/* Links are followed, so that one file has one fence. A file that does not exist yet has a directory that does. */
static char *resolve(const char *path)
{
    char *found = realpath(path, NULL);
    if (found || errno != ENOENT)
        return found;
    struct stat link;
    if (lstat(path, &link) == 0) {
        if (!S_ISLNK(link.st_mode))
            return realpath(path, NULL); /* somebody has made it meanwhile */
        errno = ENOENT;                  /* it leads nowhere */
        return NULL;
    }
    char *one = strdup(path), *other = strdup(path), *directory = NULL;
    if (one && other)
        directory = realpath(dirname(one), NULL);
    const char *base = other ? basename(other) : "";
    if (directory && asprintf(&found, "%s/%s", directory, base) < 0)
        found = NULL;
    free(directory);
    free(one);
    free(other);
    return found;
}

static bool is_name(int length)
{
    if (length >= 0 && length <= NAME_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Opens its directory and makes the names. 0, or -1 and errno. */
static int find(struct conclave_guarded *it, const char *path)
{
    char *resolved = resolve(path);
    if (!resolved)
        return -1;
    char *slash = strrchr(resolved, '/');
    *slash = 0;
    it->directory = open(*resolved ? resolved : "/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool good = is_name(snprintf(it->name, sizeof it->name, "%s", slash + 1)) &&
                      is_name(snprintf(it->mark, sizeof it->mark, "%s.fence", slash + 1));
    free(resolved);
    return good && it->directory >= 0 ? 0 : -1;
}

/* ---- FILE.fence ---- */

/* 0, or -1 and errno: something else is in there. An empty one was made, and its writer came no further. */
static int read_mark(int mark, uint64_t *fence)
{
    char text[MARK_BYTES + 1];
    const ssize_t size = pread(mark, text, sizeof text, 0);
    *fence = 0;
    if (size <= 0)
        return size < 0 ? -1 : 0;
    if (size == MARK_BYTES && text[MARK_BYTES - 1] == '\n' &&
        cv_parse_number((struct cv_text){text, MARK_BYTES - 1}, INT64_MAX, fence))
        return 0;
    errno = EBADMSG;
    return -1;
}

/* One write within one sector: after a crash the old number is there, or the new one. */
static int write_mark(int mark, uint64_t fence)
{
    char text[MARK_BYTES + 1];
    snprintf(text, sizeof text, "%020llu\n", (unsigned long long)fence);
    return pwrite(mark, text, MARK_BYTES, 0) == MARK_BYTES ? fsync(mark) : -1;
}

/* Opens and locks it. If it was removed meanwhile there is another one, and others lock that. */
static int lock_mark(const struct conclave_guarded *it)
{
    for (;;) {
        struct stat mine, there;
        const int mark = openat(it->directory, it->mark, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
        if (mark < 0)
            return -1;
        while (flock(mark, LOCK_EX) != 0)
            if (errno != EINTR) {
                close(mark);
                return -1;
            }
        if (fstat(mark, &mine) == 0 && fstatat(it->directory, it->mark, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
            mine.st_ino == there.st_ino && mine.st_dev == there.st_dev)
            return mark;
        close(mark);
    }
}

/* What is being written must not be read: it may be half of two numbers. If `waits` is false, it is 0 meanwhile. */
static int look(const struct conclave_guarded *it, bool waits, uint64_t *fence)
{
    const int mark = openat(it->directory, it->mark, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int locked = -1, result = 0;
    *fence = 0;
    if (mark < 0)
        return errno == ENOENT ? 0 : -1;
    do
        locked = flock(mark, waits ? LOCK_SH : LOCK_SH | LOCK_NB);
    while (locked && errno == EINTR);
    if (!locked)
        result = read_mark(mark, fence);
    else if (errno != EWOULDBLOCK)
        result = -1;
    close(mark);
    return result;
}

/* ---- the temporary ---- */

/* A new file beside the old one, with its rights. 0, or -1 and errno. */
static int begin_temporary(struct conclave_guarded *it)
{
    struct stat old;
    const bool exists = fstatat(it->directory, it->name, &old, 0) == 0;
    if (exists && !S_ISREG(old.st_mode)) {
        errno = EINVAL;
        return -1;
    }
    for (uint32_t i = 0; i < NEW_NAMES && it->fd < 0; i++) {
        uint64_t chance;
        if (getrandom(&chance, sizeof chance, 0) != sizeof chance ||
            !is_name(snprintf(it->temporary, sizeof it->temporary, "%s.conclave-%016llx", it->name,
                              (unsigned long long)chance)))
            break;
        it->fd = openat(it->directory, it->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, exists ? 0600 : 0666);
        if (it->fd < 0 && errno != EEXIST)
            break;
    }
    if (it->fd < 0) {
        *it->temporary = 0;
        return -1;
    }
    if (exists && fchown(it->fd, old.st_uid, old.st_gid) != 0 && errno != EPERM)
        return -1;
    return exists ? fchmod(it->fd, old.st_mode & 07777) : 0;
}

/* ---- the library's functions ---- */

int conclave_guard_open(struct conclave_guarded **guarded, const char *path, uint64_t fence)
{
    *guarded = NULL;
    if (!path || !*path || path[strlen(path) - 1] == '/' || !fence || fence > INT64_MAX)
        return CONCLAVE_INVALID;
    struct conclave_guarded *it = calloc(1, sizeof *it);
    if (!it)
        return CONCLAVE_NO_MEMORY;
    it->directory = it->fd = -1;
    it->fence = fence;
    uint64_t highest = 0;
    int error = find(it, path) || look(it, false, &highest) ? CONCLAVE_FILE : 0;
    if (!error && highest > fence)
        error = CONCLAVE_STALE;
    if (!error && begin_temporary(it))
        error = CONCLAVE_FILE;
    if (error) {
        const int reason = errno;
        conclave_guard_abandon(it);
        errno = reason;
        return error;
    }
    *guarded = it;
    return 0;
}

int conclave_guard_fd(const struct conclave_guarded *guarded)
{
    return guarded->fd;
}

/* Everything up to the rename, with FILE.fence locked. */
static int replace(struct conclave_guarded *it, int mark)
{
    uint64_t highest;
    if (read_mark(mark, &highest))
        return CONCLAVE_FILE;
    if (highest > it->fence)
        return CONCLAVE_STALE;
    /* The directory is synced for the first fence, so that FILE.fence is not lost while FILE is kept. */
    if (highest < it->fence && (write_mark(mark, it->fence) || (!highest && fsync(it->directory))))
        return CONCLAVE_FILE;
    if (renameat(it->directory, it->temporary, it->directory, it->name))
        return CONCLAVE_FILE;
    *it->temporary = 0;
    return fsync(it->directory) ? CONCLAVE_FILE : 0;
}

int conclave_guard_commit(struct conclave_guarded *guarded)
{
    const int mark = fsync(guarded->fd) ? -1 : lock_mark(guarded);
    const int error = mark < 0 ? CONCLAVE_FILE : replace(guarded, mark);
    const int reason = errno;
    conclave_guard_abandon(guarded); /* the temporary is gone before others come */
    if (mark >= 0)
        close(mark);
    errno = reason;
    return error;
}

void conclave_guard_abandon(struct conclave_guarded *guarded)
{
    if (!guarded)
        return;
    if (*guarded->temporary)
        unlinkat(guarded->directory, guarded->temporary, 0);
    if (guarded->fd >= 0)
        close(guarded->fd);
    if (guarded->directory >= 0)
        close(guarded->directory);
    free(guarded);
}

int conclave_guard_highest(const char *path, uint64_t *fence)
{
    struct conclave_guarded it = {.directory = -1, .fd = -1};
    *fence = 0;
    if (!path || !*path)
        return CONCLAVE_INVALID;
    const int error = find(&it, path) || look(&it, true, fence) ? CONCLAVE_FILE : 0;
    if (it.directory >= 0)
        close(it.directory);
    return error;
}
