// SPDX-License-Identifier: MIT
#include "group/raft/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

struct directory {
    struct cv_files files;
    int self; /* the directory */
    int lock;
    int written;   /* the file last written to, or -1; it stays open, or the kernel might not report a failed write */
    char name[16]; /* its name */
};

static struct directory *directory_of(struct cv_files *files)
{
    return (struct directory *)files;
}

static int open_file(struct cv_files *files, const char *name, int flags)
{
    return openat(directory_of(files)->self, name, flags | O_CLOEXEC | O_NOFOLLOW, 0600);
}

static int read_all(int file, unsigned char *bytes, size_t length)
{
    for (size_t got = 0; got < length;) {
        const ssize_t more = read(file, bytes + got, length - got);
        if (more == -1 && errno != EINTR)
            return -1;
        if (more == 0) {
            errno = EIO; /* the file has shrunk meanwhile */
            return -1;
        }
        got += more > 0 ? (size_t)more : 0;
    }
    return 0;
}

static int file_read(struct cv_files *files, const char *name, unsigned char **bytes, size_t *length)
{
    struct stat status;
    const int file = open_file(files, name, O_RDONLY);
    if (file == -1)
        return errno;
    *bytes = NULL;
    int error = fstat(file, &status) == -1 ? errno : 0;
    if (error == 0) {
        *length = (size_t)status.st_size;
        *bytes = malloc(*length + 1);
        error = !*bytes ? ENOMEM : read_all(file, *bytes, *length) == -1 ? errno : 0;
    }
    close(file);
    if (error != 0)
        free(*bytes);
    return error;
}

static void let_go(struct directory *directory)
{
    if (directory->written != -1)
        close(directory->written);
    directory->written = -1;
}

/* The file to write to, or -1. */
static int writable(struct cv_files *files, const char *name)
{
    struct directory *directory = directory_of(files);
    if (directory->written != -1 && strcmp(directory->name, name) == 0)
        return directory->written;
    let_go(directory);
    directory->written = open_file(files, name, O_WRONLY | O_CREAT);
    snprintf(directory->name, sizeof directory->name, "%s", name);
    return directory->written;
}

static int write_all(int file, uint64_t offset, const unsigned char *bytes, size_t length)
{
    while (length > 0) {
        const ssize_t more = pwrite(file, bytes, length, (off_t)offset);
        if (more == -1 && errno != EINTR)
            return -1;
        const size_t written = more > 0 ? (size_t)more : 0;
        bytes += written;
        length -= written;
        offset += written;
    }
    return 0;
}

static int file_write(struct cv_files *files, const char *name, uint64_t offset, const void *bytes, size_t length)
{
    const int file = writable(files, name);
    return file == -1 || write_all(file, offset, bytes, length) == -1 ? errno : 0;
}

static int file_cut(struct cv_files *files, const char *name, uint64_t length)
{
    const int file = writable(files, name);
    return file == -1 || ftruncate(file, (off_t)length) == -1 ? errno : 0;
}

static int file_sync(struct cv_files *files, const char *name)
{
    const int file = writable(files, name);
    return file == -1 || fdatasync(file) == -1 ? errno : 0;
}

static int file_rename(struct cv_files *files, const char *from, const char *to)
{
    struct directory *directory = directory_of(files);
    let_go(directory);
    return renameat(directory->self, from, directory->self, to) == -1 ? errno : 0;
}

static int sync_directory(struct cv_files *files)
{
    return fsync(directory_of(files)->self) == -1 ? errno : 0;
}

static void close_directory(struct cv_files *files)
{
    struct directory *directory = directory_of(files);
    let_go(directory);
    if (directory->lock != -1)
        close(directory->lock);
    if (directory->self != -1)
        close(directory->self);
    free(directory);
}

/* A directory that was just made is there after a crash only if its parent is synced. */
static int make_directory(const char *path)
{
    if (mkdir(path, 0700) == -1)
        return errno == EEXIST ? 0 : -1;
    const int self = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int parent = self == -1 ? -1 : openat(self, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int synced = parent == -1 ? -1 : fsync(parent);
    const int error = errno;
    if (self != -1)
        close(self);
    if (parent != -1)
        close(parent);
    errno = error;
    return synced;
}

/* Another user with write access could replace a file by a link, and make the node write elsewhere. */
static int check_privacy(const struct directory *directory, const char *path, struct cv_complaint *complaint)
{
    struct stat status;
    if (fstat(directory->self, &status) == -1) {
        cv_complain(complaint, "%.300s: %s", path, strerror(errno));
        return CV_EFILE;
    }
    if (status.st_mode & (S_IWGRP | S_IWOTH))
        return cv_complain(complaint, "%.300s: its mode is %04o, expected one in which only its owner can write: 0700",
                           path, status.st_mode & 07777);
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return cv_complain(complaint, "%.300s: it belongs to user %u, expected the user that the node runs as, %u",
                           path, status.st_uid, geteuid());
    return 0;
}

static int take(struct directory *directory, const char *path, struct cv_complaint *complaint)
{
    if (make_directory(path) == -1 || (directory->self = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) == -1) {
        cv_complain(complaint, "%.300s: %s", path, strerror(errno));
        return CV_EFILE;
    }
    const int error = check_privacy(directory, path, complaint);
    if (error != 0)
        return error;
    directory->lock = open_file(&directory->files, "lock", O_RDWR | O_CREAT);
    if (directory->lock == -1) {
        cv_complain(complaint, "%.300s/lock: %s", path, strerror(errno));
        return CV_EFILE;
    }
    if (flock(directory->lock, LOCK_EX | LOCK_NB) == -1) {
        cv_complain(complaint, "%.300s: %s", path,
                    errno == EWOULDBLOCK ? "another process uses this directory" : strerror(errno));
        return CV_EFILE;
    }
    return 0;
}

int files_open(struct cv_files **files, const char *path, struct cv_complaint *complaint)
{
    struct directory *directory = malloc(sizeof *directory);
    if (!directory)
        return CV_ENOMEM;
    *directory = (struct directory){
        .files = {.read = file_read,
                  .write = file_write,
                  .cut = file_cut,
                  .sync = file_sync,
                  .rename = file_rename,
                  .sync_directory = sync_directory,
                  .close = close_directory},
        .self = -1,
        .lock = -1,
        .written = -1,
    };
    const int error = take(directory, path, complaint);
    if (error != 0)
        close_directory(&directory->files);
    else
        *files = &directory->files;
    return error;
}
