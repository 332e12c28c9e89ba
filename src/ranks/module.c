// SPDX-License-Identifier: MIT
#include "ranks/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/parse.h"

#define PATH_BYTES 4096u

#ifndef CONCLAVE_MODULES /* from the program's directory, or absolute */
#define CONCLAVE_MODULES "../libexec/conclave/"
#endif

static const char *const names[] = {
    [CV_LAUNCHED_BY_OPENMPI] = "conclave-openmpi.so",
    [CV_LAUNCHED_BY_MPICH] = "conclave-mpich.so",
};

/* Modules stand beside the program, or where `meson install` puts them. */
static bool find_file(const char *name, char path[PATH_BYTES])
{
    static const char *const places[] = {"", CONCLAVE_MODULES};
    char program[PATH_BYTES];
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0)
        return false;
    program[length] = '\0';
    *(strrchr(program, '/') + 1) = '\0';
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        if ((size_t)snprintf(path, PATH_BYTES, "%s%s%s", *places[i] == '/' ? "" : program, places[i], name) <
                PATH_BYTES &&
            access(path, F_OK) == 0)
            return true;
    return false;
}

/* RTLD_GLOBAL: MPI libraries load parts of their own, which look for them. */
static const struct ranks_module *open_module(const char *path, const struct cv_launch *launch,
                                              struct cv_complaint *complaint)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!object) {
        cv_complain(complaint, "mpirun -n %u: %s", launch->size, dlerror());
        return NULL;
    }
    const struct ranks_module *module = dlsym(object, RANKS_MODULE_SYMBOL);
    if (!module || strcmp(module->version, RANKS_MODULE_VERSION) != 0) {
        cv_complain(complaint, "mpirun -n %u: %s is not of this version of conclave", launch->size,
                    cv_brief(path).text);
        dlclose(object);
        return NULL;
    }
    return module;
}

/* The other library may have been built for this launcher, too: joining shows it. */
const struct ranks_module *module_load(const struct cv_launch *launch, struct cv_complaint *complaint)
{
    const bool openmpi = launch->launcher == CV_LAUNCHED_BY_OPENMPI;
    char path[PATH_BYTES];
    if (find_file(names[launch->launcher], path) ||
        find_file(names[openmpi ? CV_LAUNCHED_BY_MPICH : CV_LAUNCHED_BY_OPENMPI], path))
        return open_module(path, launch, complaint);
    cv_complain(complaint, "mpirun -n %u: this conclave was built without MPI; install %s and build it anew",
                launch->size, openmpi ? "libopenmpi-dev" : "libmpich-dev");
    return NULL;
}
