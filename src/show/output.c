// SPDX-License-Identifier: MIT
#include "show/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONGEST_STEM 200 /* of the partial file's name, so that the suffix fits within what file systems allow */
#define TRIES 100u
#define BUFFER_BYTES (256u << 10)

static int complain(struct cv_complaint *complaint, const char *name, int reason)
{
    cv_complain(complaint, "cannot write %.300s: %s", name, strerror(reason));
    return CV_EFILE;
}

static void clean_up(struct cv_output *output)
{
    free(output->name);
    free(output->target);
    free(output->partial);
    *output = (struct cv_output){0};
}

/* /dev/stdout links to a file that the shell opened. Replacing that file would cut the shell off. */
static bool is_standard_output(const char *name)
{
    return strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0 || strcmp(name, "/dev/fd/1") == 0;
}

static bool is_written_in_place(const char *name)
{
    struct stat status;
    return strncmp(name, "/dev/", 5) == 0 || strncmp(name, "/proc/", 6) == 0 ||
           (stat(name, &status) == 0 && !S_ISREG(status.st_mode));
}

/* Follows a link, so that the link stays and its target is replaced. */
static char *find_target(const char *name)
{
    char *target = realpath(name, NULL);
    return target ? target : strdup(name);
}

/* Creates a file beside the target, with the rights of the one it will replace. */
static int create_partial(struct cv_output *output)
{
    const char *slash = strrchr(output->target, '/');
    const int directory = slash ? (int)(slash - output->target) + 1 : 0;
    int descriptor = -1;
    errno = EEXIST;
    for (unsigned attempt = 0; descriptor < 0 && errno == EEXIST && attempt < TRIES; attempt++) {
        free(output->partial);
        if (asprintf(&output->partial, "%.*s%.*s.partial-%ld.%u", directory, output->target, LONGEST_STEM,
                     output->target + directory, (long)getpid(), attempt) < 0) {
            output->partial = NULL;
            errno = ENOMEM;
            return -1;
        }
        descriptor = open(output->partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    struct stat status;
    if (descriptor >= 0 && stat(output->target, &status) == 0 && fchmod(descriptor, status.st_mode & 0777) < 0)
        errno = 0; /* the file of another user: the new one gets default rights */
    return descriptor;
}

static int open_descriptor(struct cv_output *output)
{
    struct stat status;
    if (!*output->name) {
        errno = ENOENT;
        return -1;
    }
    if (is_written_in_place(output->name)) {
        if (stat(output->name, &status) == 0 && S_ISDIR(status.st_mode)) {
            errno = EISDIR;
            return -1;
        }
        return open(output->name, O_WRONLY | O_CLOEXEC);
    }
    output->target = find_target(output->name);
    if (!output->target || (access(output->target, F_OK) == 0 && access(output->target, W_OK) < 0))
        return -1;
    return create_partial(output);
}

int cv_output_open(struct cv_output *output, const char *name, struct cv_complaint *complaint)
{
    *output = (struct cv_output){.name = strdup(name)};
    if (!output->name)
        return CV_ENOMEM;
    if (is_standard_output(name)) {
        output->file = stdout;
        return 0;
    }
    const int descriptor = open_descriptor(output);
    output->file = descriptor < 0 ? NULL : fdopen(descriptor, "w");
    if (output->file) {
        __fsetlocking(output->file, FSETLOCKING_BYCALLER); /* only one thread writes, and it writes much */
        setvbuf(output->file, NULL, _IOFBF, BUFFER_BYTES);
        return 0;
    }
    complain(complaint, name, errno);
    if (descriptor >= 0) {
        close(descriptor);
        if (output->partial)
            unlink(output->partial);
    }
    clean_up(output);
    return CV_EFILE;
}

/* The data must be on the disk before the file gets its name. */
static int finish(struct cv_output *output)
{
    int reason = 0;
    errno = 0;
    if (fflush(output->file) != 0 || ferror(output->file))
        reason = errno ? errno : EIO;
    if (output->file == stdout)
        return reason;
    if (!reason && output->partial && fsync(fileno(output->file)) < 0)
        reason = errno;
    if (fclose(output->file) != 0 && !reason)
        reason = errno;
    if (!reason && output->partial && rename(output->partial, output->target) < 0)
        reason = errno;
    if (reason && output->partial)
        unlink(output->partial);
    return reason;
}

int cv_output_commit(struct cv_output *output, struct cv_complaint *complaint)
{
    if (!output->file)
        return 0;
    const int reason = finish(output);
    const int result = reason ? complain(complaint, output->name, reason) : 0;
    clean_up(output);
    return result;
}

void cv_output_abort(struct cv_output *output)
{
    if (!output->file)
        return;
    if (output->file != stdout)
        fclose(output->file);
    if (output->partial)
        unlink(output->partial);
    clean_up(output);
}
