// SPDX-License-Identifier: MIT
#include "cli/cluster/node_algorithm.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algorithm/registry.h"
#include "core/parse.h"
#include "live/net/heap.h"
#include "plugin/plugin_load.h"

int node_algorithm_find(const char *name, struct cv_found_algorithm *found, struct cv_complaint *complaint)
{
    const struct cv_plugin *plugin;
    *found = (struct cv_found_algorithm){.algorithm = cv_algorithm_find(name)};
    if (!strchr(name, '/'))
        return 0;
    /* OpenSSL, which computes the digest, takes its memory from the node's heap, and asks for it once. */
    const int error = cv_heap_begin(1) ? CV_ENOMEM : cv_plugin_load_for_node(name, &plugin, complaint);
    if (!error)
        *found = (struct cv_found_algorithm){plugin->algorithm, plugin->path, plugin->digest};
    return error;
}

char *node_algorithm_path(const char *path)
{
    char *here = *path == '/' ? strdup("") : getcwd(NULL, 0), *whole = NULL;
    if (here && asprintf(&whole, "%s%s%s", here, *here ? "/" : "", path) < 0)
        whole = NULL;
    free(here);
    return whole;
}

int node_algorithm_take(const char *option, const char *value, enum cv_problem problem, char **path,
                        const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    struct cv_found_algorithm found;
    struct cv_complaint why;
    *path = NULL;
    const int error = node_algorithm_find(value, &found, &why);
    if (error == CV_EINPUT)
        return cv_complain(complaint, "%s %s", option, why.text);
    if (error)
        return error;
    *algorithm = found.algorithm;
    if (!*algorithm || (*algorithm)->problem != problem)
        return cv_complain(complaint, "%s %s: expected %s algorithm; see conclave list", option, cv_brief(value).text,
                           problem == CV_MUTEX ? "a mutual exclusion" : "an election");
    if (found.file && !(*path = node_algorithm_path(value)))
        return CV_ENOMEM;
    return 0;
}
