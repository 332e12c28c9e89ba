// SPDX-License-Identifier: MIT
#include "cli/study/explore_compile.h"

#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/parse.h"

bool explore_is_source(const char *word)
{
    const size_t length = strlen(word);
    return *word != '-' && strchr(word, '/') && length > 2 && strcmp(word + length - 2, ".c") == 0;
}

/* The public headers stand beside the program: in the sources of a build, and where it is installed. */
int explore_find_headers(char path[PATH_MAX + 16])
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

static int run_compiler(const char *source, const char *object)
{
    char headers[PATH_MAX + 16];
    pid_t child;
    int status;
    if (explore_find_headers(headers))
        return -1;
    const char *const words[] = {"cc",    "-std=c17", "-O2",  "-shared", "-fPIC", "-I",
                                 headers, "-o",       object, source,    NULL};
    if (posix_spawnp(&child, words[0], NULL, NULL, (char **)(uintptr_t)words, environ))
        return -1;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int explore_compile(const char *source, struct explore_object *object, struct cv_complaint *complaint)
{
    const char *place = getenv("TMPDIR"), *name = strrchr(source, '/') + 1;
    *object = (struct explore_object){0};
    if (asprintf(&object->directory, "%s/conclave-explore-XXXXXX", place && *place ? place : "/tmp") < 0) {
        object->directory = NULL;
        return CV_ENOMEM;
    }
    if (!mkdtemp(object->directory)) {
        free(object->directory);
        object->directory = NULL;
        return cv_complain(complaint, "%s: expected a directory for temporary files", cv_brief(source).text);
    }
    if (asprintf(&object->path, "%s/%.*s.so", object->directory, (int)strlen(name) - 2, name) < 0) {
        object->path = NULL;
        return CV_ENOMEM;
    }
    return run_compiler(source, object->path) == 0
               ? 0
               : cv_complain(complaint, "%s: cc does not compile it; expected an algorithm in C",
                             cv_brief(source).text);
}

void explore_object_remove(struct explore_object *object)
{
    if (object->path)
        unlink(object->path);
    if (object->directory)
        rmdir(object->directory);
    free(object->path);
    free(object->directory);
    *object = (struct explore_object){0};
}
