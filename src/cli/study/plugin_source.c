// SPDX-License-Identifier: MIT
#include "cli/study/plugin_source.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/parse.h"

/* A C file that was compiled. */
struct compiled {
    struct compiled *next;
    char object[32]; /* the path of the memory that holds it */
    char source[];
};

static struct compiled *all_compiled;

static bool is_source(const char *path)
{
    const size_t length = strlen(path);
    return strchr(path, '/') && length > 2 && strcmp(path + length - 2, ".c") == 0;
}

/* The public headers stand beside the program: in the sources of a build, and where it is installed. */
int plugin_find_headers(char path[PATH_MAX + 16])
{
    char program[PATH_MAX];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return CV_EFILE;
    program[length] = '\0';
    *strrchr(program, '/') = '\0';
    snprintf(path, PATH_MAX + 16, "%s/../include", program);
    return 0;
}

/* What the compiler says goes to standard error. 0 if it compiled the file. */
static int run_compiler(const char *source, const char *object)
{
    char headers[PATH_MAX + 16];
    pid_t child;
    int status;
    if (plugin_find_headers(headers))
        return -1;
    const char *const words[] = {"cc",    "-std=c17", "-O2",  "-shared", "-fPIC", "-I",
                                 headers, "-o",       object, source,    NULL};
    errno = posix_spawnp(&child, words[0], NULL, NULL, (char **)(uintptr_t)words, environ);
    if (errno)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Its descriptor stays open: the loader knows an object again by its path. */
static int keep_in_memory(const char *file, char object[32])
{
    const int from = open(file, O_RDONLY | O_CLOEXEC), to = memfd_create("conclave", MFD_CLOEXEC);
    ssize_t moved = from < 0 || to < 0 ? -1 : 1;
    while (moved > 0)
        moved = sendfile(to, from, NULL, 1 << 20);
    if (from >= 0)
        close(from);
    if (moved < 0 && to >= 0)
        close(to);
    snprintf(object, 32, "/proc/self/fd/%d", to);
    return moved < 0 ? CV_EFILE : 0;
}

static int compile(const char *source, char object[32], struct cv_complaint *complaint)
{
    const char *place = getenv("TMPDIR");
    char directory[PATH_MAX], file[PATH_MAX + 8];
    const int length = snprintf(directory, sizeof directory, "%s/conclave-XXXXXX", place && *place ? place : "/tmp");
    if (length >= (int)sizeof directory || !mkdtemp(directory))
        return cv_complain(complaint, "%s: no directory for what cc writes in %s; expected TMPDIR to be one",
                           cv_brief(source).text, place && *place ? cv_brief(place).text : "/tmp");
    snprintf(file, sizeof file, "%s/a.so", directory);
    const int code = run_compiler(source, file);
    const int failed = code == 0 ? keep_in_memory(file, object) : 0;
    unlink(file);
    rmdir(directory);
    if (code < 0)
        return cv_complain(complaint, "%s: cc cannot be run; expected a C compiler, or a shared object",
                           cv_brief(source).text);
    if (code > 0)
        return cv_complain(complaint, "%s: cc does not compile it; expected an algorithm in C", cv_brief(source).text);
    return failed ? cv_complain(complaint, "%s: %s; expected memory for what cc wrote", cv_brief(source).text,
                                strerror(errno))
                  : 0;
}

int plugin_object(const char *path, const char **object, struct cv_complaint *complaint)
{
    *object = path;
    if (!is_source(path))
        return 0;
    for (const struct compiled *it = all_compiled; it; it = it->next)
        if (strcmp(it->source, path) == 0) {
            *object = it->object;
            return 0;
        }
    struct compiled *fresh = calloc(1, sizeof *fresh + strlen(path) + 1);
    if (!fresh)
        return CV_ENOMEM;
    const int error = compile(path, fresh->object, complaint);
    if (error) {
        free(fresh);
        return error;
    }
    memcpy(fresh->source, path, strlen(path) + 1);
    fresh->next = all_compiled;
    all_compiled = fresh;
    *object = fresh->object;
    return 0;
}
