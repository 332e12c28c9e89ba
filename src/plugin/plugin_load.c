// SPDX-License-Identifier: MIT
#include "plugin/plugin_load.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/parse.h"
#include "guard/guarded.h"
#include "plugin/plugin_file.h"
#include "plugin/plugin_table.h"

typedef int table_check(const char *path, const struct cv_algorithm *algorithm, struct cv_complaint *complaint);

static int complain_of_half(const char *path, struct cv_complaint *complaint)
{
    return cv_complain(complaint, "%s: the file ends too early; expected the whole shared object", path);
}

static bool is_source(const char *path)
{
    const size_t length = strlen(path);
    return length > 2 && strcmp(path + length - 2, ".c") == 0;
}

/* `file` is what the loader opens, `path` what the user knows it by. */
static int load(const char *file, const char *path, table_check *check, const struct cv_algorithm **algorithm,
                struct cv_complaint *complaint)
{
    void *object = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!object) {
        const char *why = dlerror();
        const size_t length = strlen(file);
        const bool named = strncmp(why, file, length) == 0 && why[length] == ':';
        return cv_complain(complaint, "%s: %s; expected a shared object with an algorithm%s", path,
                           why + (named ? length + 2 : 0), is_source(path) ? ", as cc -shared -fPIC makes it" : "");
    }
    *algorithm = dlsym(object, "conclave_algorithm");
    const int error =
        *algorithm
            ? check(path, *algorithm, complaint)
            : cv_complain(complaint, "%s: does not define conclave_algorithm; expected a table of that name", path);
    if (error)
        dlclose(object);
    return error;
}

static int guard(const char *path, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    *algorithm = cv_guarded(*algorithm);
    return *algorithm
               ? 0
               : cv_complain(complaint, "%s: expected at most %u shared objects at a time", path, CV_MOST_GUARDED);
}

int cv_plugin_load(const char *file, const char *path, const struct cv_algorithm **algorithm,
                   struct cv_complaint *complaint)
{
    const int opened = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const bool whole = opened < 0 || plugin_file_is_whole(opened);
    if (opened >= 0)
        close(opened);
    const int error =
        whole ? load(file, path, plugin_table_check, algorithm, complaint) : complain_of_half(path, complaint);
    return error ? error : guard(path, algorithm, complaint);
}

/* ---- for a node ---- */

static struct cv_plugin *loaded;

/*
 * The copy's descriptor stays open. The loader knows an object again by its name, so a later plugin must not get the
 * same number.
 */
static int load_copy(struct cv_plugin *plugin, struct cv_complaint *complaint)
{
    int copy;
    char file[32];
    const struct cv_brief path = cv_brief(plugin->path);
    int error = plugin_file_copy(plugin->path, &copy, &plugin->digest, complaint);
    if (error)
        return error;
    snprintf(file, sizeof file, "/proc/self/fd/%d", copy);
    error = plugin_file_is_whole(copy)
                ? load(file, path.text, plugin_table_check_for_node, &plugin->algorithm, complaint)
                : complain_of_half(path.text, complaint);
    if (error)
        close(copy);
    return error;
}

int cv_plugin_load_for_node(const char *path, const struct cv_plugin **plugin, struct cv_complaint *complaint)
{
    for (*plugin = loaded; *plugin; *plugin = (*plugin)->next)
        if (strcmp((*plugin)->path, path) == 0)
            return 0;
    struct cv_plugin *fresh = calloc(1, sizeof *fresh);
    if (!fresh || !(fresh->path = strdup(path))) {
        free(fresh);
        return CV_ENOMEM;
    }
    const int error = load_copy(fresh, complaint);
    if (error) {
        free(fresh->path);
        free(fresh);
        return error;
    }
    fresh->next = loaded;
    *plugin = loaded = fresh;
    return 0;
}
