// SPDX-License-Identifier: MIT
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algorithm/registry.h"
#include "cli/command.h"
#include "core/scenario.h"

/* The transport of the simulator keeps two kinds for itself. */
#define MOST_KINDS (CV_MAX_KINDS - 2)

static int check_table(const char *path, const struct cv_algorithm *algorithm, struct cv_complaint *complaint)
{
    if (algorithm->abi != CV_ABI)
        return cv_complain(complaint, "%s: made for version %u of the interface; expected %u", path, algorithm->abi,
                           CV_ABI);
    if (!algorithm->name || !algorithm->title || !algorithm->kinds || !algorithm->citation)
        return cv_complain(complaint, "%s: the table lacks a name, title, citation or kinds", path);
    if (algorithm->problem != CV_ELECTION)
        return cv_complain(complaint, "%s: problem %u; expected an election", path, algorithm->problem);
    if (cv_algorithm_kinds(algorithm) > MOST_KINDS || cv_algorithm_timers(algorithm) > CV_MAX_TIMERS)
        return cv_complain(complaint, "%s: more than %u kinds of messages or %u timers", path, MOST_KINDS,
                           CV_MAX_TIMERS);
    for (uint32_t kind = 0; kind < cv_algorithm_kinds(algorithm); kind++)
        if (!algorithm->kinds[kind].receive)
            return cv_complain(complaint, "%s: nobody receives %s messages", path, algorithm->kinds[kind].name);
    if (cv_algorithm_timers(algorithm) && !algorithm->timeout)
        return cv_complain(complaint, "%s: timers without a timeout handler", path);
    return 0;
}

/* The object stays loaded: its tables and strings are used until the end. */
static int load(const char *path, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return cv_complain(complaint, "%s", dlerror());
    *algorithm = dlsym(object, "conclave_algorithm");
    if (!*algorithm)
        return cv_complain(complaint, "%s: does not define conclave_algorithm", path);
    return check_table(path, *algorithm, complaint);
}

int command_algorithm(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    if (strchr(name, '/'))
        return load(name, algorithm, complaint);
    *algorithm = cv_algorithm_find(name);
    if (*algorithm)
        return 0;
    return cv_complain(complaint, "%s: no such algorithm; conclave list shows them all, ./FILE.so loads your own", name);
}

char *command_read_file(const char *option, const char *path, struct cv_complaint *complaint)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t used = 0, room = 0;
    if (file) {
        do {
            if (room - used < 2) {
                char *grown = realloc(text, room = room ? room * 2 : 65536);
                if (!grown)
                    break;
                text = grown;
            }
            used += fread(text + used, 1, room - used - 1, file);
        } while (!feof(file) && !ferror(file));
    }
    if (!file || ferror(file) || !feof(file)) {
        cv_complain(complaint, "%s %s: %s", option, path, strerror(errno));
        free(text);
        text = NULL;
    } else {
        text[used] = '\0';
        if (strlen(text) != used) {
            cv_complain(complaint, "%s %s: not a text file", option, path);
            free(text);
            text = NULL;
        }
    }
    if (file)
        fclose(file);
    return text;
}
