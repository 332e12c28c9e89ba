// SPDX-License-Identifier: MIT
#include "plugin/plugin_file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/parse.h"

#define MOST_LINKS 40u /* on the way to a file: as many as the kernel follows */
#define MOST_BYTES ((off_t)64 << 20)
#define WRITABLE (S_IWGRP | S_IWOTH)

/* ---- trust ---- */

static bool is_ours(const struct stat *info)
{
    return info->st_uid == 0 || info->st_uid == geteuid();
}

/* `path`: as the operator wrote it; `place`: the file or directory on the way to it that is not as it should be. */
static int complain_of(const char *path, const char *place, const struct stat *info, struct cv_complaint *complaint)
{
    char where[160] = "", whom[32] = "root";
    if (strcmp(path, place) != 0)
        snprintf(where, sizeof where, "%.140s ", place);
    if (geteuid() != 0)
        snprintf(whom, sizeof whom, "root or user %u", geteuid());
    if (!is_ours(info))
        return cv_complain(complaint, "%s: %sbelongs to user %u; expected %s", cv_brief(path).text, where, info->st_uid,
                           whom);
    return cv_complain(complaint, "%s: %shas mode %04o; expected that only its owner can write, chmod go-w",
                       cv_brief(path).text, where, info->st_mode & 07777);
}

static int fail(const char *path, struct cv_complaint *complaint)
{
    return cv_complain(complaint, "%s: %s; expected a shared object with an algorithm", cv_brief(path).text,
                       strerror(errno));
}

/* A place on the way to the file, without links; and what is still to be walked. */
struct walk {
    char place[PATH_MAX];
    char rest[PATH_MAX];
    unsigned links;
};

static bool take_step(char rest[PATH_MAX], char step[NAME_MAX + 1])
{
    const size_t slashes = strspn(rest, "/"), length = strcspn(rest + slashes, "/");
    if (!length || length > NAME_MAX)
        return false;
    memcpy(step, rest + slashes, length);
    step[length] = '\0';
    memmove(rest, rest + slashes + length, strlen(rest + slashes + length) + 1);
    return true;
}

/* The walk goes on where the link points to. */
static bool follow(struct walk *walk)
{
    char target[PATH_MAX], rest[PATH_MAX];
    const ssize_t length = readlink(walk->place, target, sizeof target - 1);
    if (length <= 0)
        return false;
    target[length] = '\0';
    const int wanted = snprintf(rest, sizeof rest, "%s/%s", target, walk->rest);
    errno = ++walk->links > MOST_LINKS ? ELOOP : ENAMETOOLONG;
    if (wanted < 0 || (size_t)wanted >= sizeof rest || walk->links > MOST_LINKS)
        return false;
    memcpy(walk->rest, rest, sizeof rest);
    if (*target == '/')
        *walk->place = '\0';
    else
        *strrchr(walk->place, '/') = '\0';
    return true;
}

static int check_directory(const char *path, const char *place, struct cv_complaint *complaint)
{
    struct stat info;
    if (stat(*place ? place : "/", &info))
        return fail(path, complaint);
    const bool shared = info.st_mode & WRITABLE && !(info.st_mode & S_ISVTX);
    return is_ours(&info) && !shared ? 0 : complain_of(path, *place ? place : "/", &info, complaint);
}

/*
 * Walks from the root to the file, and leaves its place without links in `walk`. Nobody but root and the process's user
 * can change any of the directories, so the way stays as it was walked.
 */
static int walk_to(struct walk *walk, const char *path, struct cv_complaint *complaint)
{
    char step[NAME_MAX + 1];
    while (strspn(walk->rest, "/") < strlen(walk->rest)) {
        struct stat info;
        size_t length = strlen(walk->place);
        const int error = check_directory(path, walk->place, complaint);
        if (error)
            return error;
        errno = ENAMETOOLONG;
        if (!take_step(walk->rest, step) || length + strlen(step) + 2 > sizeof walk->place)
            return fail(path, complaint);
        if (strcmp(step, ".") == 0)
            continue;
        if (strcmp(step, "..") == 0) {
            if (length)
                *strrchr(walk->place, '/') = '\0';
            continue;
        }
        walk->place[length++] = '/';
        memcpy(walk->place + length, step, strlen(step) + 1);
        if (lstat(walk->place, &info))
            return fail(path, complaint);
        if (S_ISLNK(info.st_mode) && !is_ours(&info))
            return complain_of(path, walk->place, &info, complaint);
        if (S_ISLNK(info.st_mode) && !follow(walk))
            return fail(path, complaint);
    }
    return 0;
}

/* ---- the copy ---- */

static int check_file(int file, const char *path, const char *place, struct stat *info, struct cv_complaint *complaint)
{
    if (fstat(file, info))
        return fail(path, complaint);
    if (!S_ISREG(info->st_mode))
        return cv_complain(complaint, "%s: %s; expected a shared object with an algorithm", cv_brief(path).text,
                           S_ISDIR(info->st_mode)    ? "a directory"
                           : S_ISFIFO(info->st_mode) ? "a FIFO"
                                                     : "no regular file");
    if (!is_ours(info) || info->st_mode & WRITABLE)
        return complain_of(path, place, info, complaint);
    if (info->st_size < 1 || info->st_size > MOST_BYTES)
        return cv_complain(complaint, "%s: %lld bytes; expected a shared object of 1 to %lld", cv_brief(path).text,
                           (long long)info->st_size, (long long)MOST_BYTES);
    return 0;
}

/* False if it is not as long as it was, or cannot be read. */
static bool fill(int copy, int file, size_t length)
{
    unsigned char piece[65536];
    ssize_t got;
    while ((got = read(file, piece, sizeof piece)) > 0)
        for (ssize_t at = 0, put; at < got; at += put)
            if ((put = write(copy, piece + at, (size_t)(got - at))) < 0)
                return false;
    errno = got < 0 ? errno : EAGAIN; /* it is being written */
    return got == 0 && lseek(copy, 0, SEEK_CUR) == (off_t)length;
}

static bool is_whole(const unsigned char *bytes, size_t length)
{
    ElfW(Ehdr) head;
    ElfW(Phdr) part;
    if (length < sizeof head || memcmp(bytes, ELFMAG, SELFMAG) != 0)
        return true; /* the loader says that it is none */
    memcpy(&head, bytes, sizeof head);
    if (head.e_phentsize != sizeof part || head.e_phoff > length ||
        (length - head.e_phoff) / sizeof part < head.e_phnum)
        return false;
    for (size_t i = 0; i < head.e_phnum; i++) {
        memcpy(&part, bytes + head.e_phoff + i * sizeof part, sizeof part);
        if (part.p_offset > length || part.p_filesz > length - part.p_offset)
            return false;
    }
    return true;
}

bool plugin_file_is_whole(int file)
{
    struct stat info;
    if (fstat(file, &info) || !S_ISREG(info.st_mode) || info.st_size < 1)
        return true;
    void *bytes = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    const bool whole = bytes == MAP_FAILED || is_whole(bytes, (size_t)info.st_size);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)info.st_size);
    return whole;
}

static bool digest_of(int copy, size_t length, struct cv_digest *digest)
{
    void *bytes = mmap(NULL, length, PROT_READ, MAP_SHARED, copy, 0);
    errno = ENOSYS; /* no OpenSSL */
    const bool made = bytes != MAP_FAILED && cv_digest_make(bytes, length, digest);
    if (bytes != MAP_FAILED)
        munmap(bytes, length);
    return made;
}

static int copy_file(int file, const char *path, size_t length, int *copy, struct cv_digest *digest,
                     struct cv_complaint *complaint)
{
    const int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    *copy = memfd_create("conclave-plugin", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*copy < 0 || !fill(*copy, file, length) || fcntl(*copy, F_ADD_SEALS, seals)) {
        const int error = fail(path, complaint);
        if (*copy >= 0)
            close(*copy);
        return error;
    }
    if (digest_of(*copy, length, digest))
        return 0;
    close(*copy);
    return cv_complain(complaint, "%s: its SHA-256 cannot be computed; expected OpenSSL 3 (libssl.so.3)",
                       cv_brief(path).text);
}

int plugin_file_copy(const char *path, int *copy, struct cv_digest *digest, struct cv_complaint *complaint)
{
    struct walk walk = {{0}, {0}, 0};
    struct stat info;
    char here[PATH_MAX] = "";
    errno = ENAMETOOLONG;
    if ((*path != '/' && !getcwd(here, sizeof here)) ||
        (size_t)snprintf(walk.rest, sizeof walk.rest, "%s/%s", here, path) >= sizeof walk.rest)
        return fail(path, complaint);
    int error = walk_to(&walk, path, complaint);
    if (error)
        return error;
    const int file = open(walk.place, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY);
    if (file < 0)
        return fail(path, complaint);
    error = check_file(file, path, walk.place, &info, complaint);
    if (!error)
        error = copy_file(file, path, (size_t)info.st_size, copy, digest, complaint);
    close(file);
    return error;
}
