// SPDX-License-Identifier: MIT
#include "live/kept_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live/member.h"

#define MOST_BYTES ((size_t)1 << 20) /* of a file that can be one of ours */

struct cv_kept_write {
    struct cv_kept_write *next;
    uint64_t number;
    char name[CV_KEPT_FILE_NAME + 1];
    size_t length; /* 0: the file is removed */
    char bytes[];
};

int cv_kept_files_open(struct cv_kept_files *files, struct cv_member *member, const char *directory,
                       struct cv_complaint *complaint)
{
    char path[4096];
    *files = (struct cv_kept_files){.member = member,
                                    .written = files->written,
                                    .context = files->context,
                                    .directory = -1,
                                    .last_wanted = &files->wanted};
    if (!directory)
        return 0;
    snprintf(path, sizeof path, "%s/recipes", directory);
    if (mkdir(path, 0700) && errno != EEXIST)
        return cv_complain(complaint, "%s: %s", path, strerror(errno));
    files->directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    return files->directory < 0 ? cv_complain(complaint, "%s: %s", path, strerror(errno)) : 0;
}

/* ---- reading ---- */

static bool is_ours(const char *name)
{
    return strlen(name) == CV_KEPT_FILE_NAME && strspn(name, "0123456789abcdef") == CV_KEPT_FILE_NAME;
}

/* 0 or an errno. */
static int read_file(int directory, const char *name, char **bytes, size_t *length)
{
    struct stat status;
    const int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int error = fd < 0 || fstat(fd, &status) ? errno : 0;
    *bytes = NULL;
    *length = 0;
    if (!error && (size_t)status.st_size > MOST_BYTES)
        error = EFBIG;
    if (!error && !(*bytes = malloc((size_t)status.st_size + 1)))
        error = ENOMEM;
    while (!error && *length < (size_t)status.st_size) {
        const ssize_t more = read(fd, *bytes + *length, (size_t)status.st_size - *length);
        if (more < 0 && errno != EINTR)
            error = errno;
        else if (!more)
            break; /* it is shorter than it was: what is in it tells */
        *length += more > 0 ? (size_t)more : 0;
    }
    if (fd >= 0)
        close(fd);
    return error;
}

int cv_kept_files_read(const struct cv_kept_files *files,
                       int (*take)(void *context, const char *name, struct cv_text bytes,
                                   struct cv_complaint *complaint),
                       void *context, struct cv_complaint *complaint)
{
    const int copy = files->directory < 0 ? -1 : openat(files->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *all = copy < 0 ? NULL : fdopendir(copy);
    int result = 0;
    if (!all)
        return files->directory < 0 ? 0 : cv_complain(complaint, "recipes: %s", strerror(errno));
    for (const struct dirent *entry; !result && (entry = readdir(all));) {
        char *bytes = NULL;
        size_t length = 0;
        if (!is_ours(entry->d_name))
            continue; /* a file whose writing did not end */
        const int error = read_file(files->directory, entry->d_name, &bytes, &length);
        result = error ? cv_complain(complaint, "recipes/%s: %s", entry->d_name, strerror(error))
                       : take(context, entry->d_name, (struct cv_text){bytes, length}, complaint);
        free(bytes);
    }
    closedir(all);
    return result;
}

/* ---- writing, beside the loop ---- */

/* 0 or an errno. */
static int write_file(int directory, const struct cv_kept_write *kept)
{
    char fresh[CV_KEPT_FILE_NAME + 5];
    snprintf(fresh, sizeof fresh, "%s.new", kept->name);
    if (!kept->length)
        return unlinkat(directory, kept->name, 0) && errno != ENOENT ? errno : 0;
    const int fd = openat(directory, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = fd < 0 ? errno : 0;
    for (size_t done = 0; !error && done < kept->length;) {
        const ssize_t more = write(fd, kept->bytes + done, kept->length - done);
        if (more < 0 && errno != EINTR)
            error = errno;
        done += more > 0 ? (size_t)more : 0;
    }
    if (!error && fsync(fd))
        error = errno;
    if (fd >= 0)
        close(fd);
    return !error && renameat(directory, fresh, directory, kept->name) ? errno : error;
}

/* In a thread. */
static void work(uv_work_t *request)
{
    struct cv_kept_files *files = request->data;
    files->error = 0;
    for (const struct cv_kept_write *it = files->writing; it && !files->error; it = it->next) {
        files->error = write_file(files->directory, it);
        files->failed = it->name;
    }
    if (!files->error && fsync(files->directory))
        files->error = errno;
}

static void begin(struct cv_kept_files *files);

static void free_list(struct cv_kept_write *list)
{
    while (list) {
        struct cv_kept_write *next = list->next;
        free(list);
        list = next;
    }
}

static void done(uv_work_t *request, int status)
{
    struct cv_kept_files *files = request->data;
    struct cv_kept_write *list = files->writing;
    files->writing = NULL;
    if (!status && files->error) {
        char why[160];
        snprintf(why, sizeof why, "recipes/%s: %s", files->failed, strerror(files->error));
        cv_member_fail(files->member, CV_LOG_DISK_FAILED, why);
    } else if (!status) {
        for (const struct cv_kept_write *it = list; it; it = it->next)
            files->written(files->context, it->name, it->number);
        begin(files);
    }
    free_list(list);
}

static void begin(struct cv_kept_files *files)
{
    if (files->writing || !files->wanted)
        return;
    files->writing = files->wanted;
    files->wanted = NULL;
    files->last_wanted = &files->wanted;
    files->work.data = files;
    uv_queue_work(&files->member->loop.uv, &files->work, work, done);
}

bool cv_kept_files_write(struct cv_kept_files *files, const char *name, struct cv_text bytes, uint64_t number)
{
    struct cv_kept_write *wanted = malloc(sizeof *wanted + bytes.length);
    if (!wanted)
        return false;
    *wanted = (struct cv_kept_write){.number = number, .length = bytes.length};
    snprintf(wanted->name, sizeof wanted->name, "%s", name);
    if (bytes.length)
        memcpy(wanted->bytes, bytes.start, bytes.length);
    *files->last_wanted = wanted;
    files->last_wanted = &wanted->next;
    begin(files);
    return true;
}

void cv_kept_files_close(struct cv_kept_files *files)
{
    free_list(files->wanted);
    files->wanted = NULL;
    if (files->directory >= 0)
        close(files->directory);
    files->directory = -1;
}
