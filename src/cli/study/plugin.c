// SPDX-License-Identifier: MIT
#include "cli/study/plugin.h"

#include <string.h>

#include "algorithm/registry.h"
#include "cli/nearest.h"
#include "cli/study/plugin_source.h"
#include "core/parse.h"
#include "plugin/plugin_load.h"

static const struct plugin_list *known;

static int load(const char *path, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    const char *object;
    const int error = plugin_object(path, &object, complaint);
    return error ? error : cv_plugin_load(object, path, algorithm, complaint);
}

void plugin_know(const struct plugin_list *list)
{
    known = list;
}

int plugin_find(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    if (strchr(name, '/'))
        return load(name, algorithm, complaint);
    for (uint32_t i = 0; known && i < known->count; i++)
        if (strcmp(known->algorithms[i]->name, name) == 0) {
            *algorithm = known->algorithms[i];
            return 0;
        }
    *algorithm = cv_algorithm_find(name);
    if (*algorithm)
        return 0;
    struct nearest nearest = nearest_to(name);
    for (const struct cv_algorithm *const *it = cv_algorithms; *it; it++)
        nearest_offer(&nearest, (*it)->name);
    return cv_complain(complaint,
                       "%s: no such algorithm%s; conclave list shows them all, ./FILE.c or ./FILE.so is your own",
                       cv_brief(name).text, nearest_question(&nearest, "").text);
}

int plugin_add(struct plugin_list *list, const char *path, struct cv_complaint *complaint)
{
    struct cv_complaint why;
    const struct cv_algorithm *algorithm;
    if (!strchr(path, '/'))
        return cv_complain(complaint, "--with %s: expected a path with a slash, as in ./FILE.c or ./FILE.so",
                           cv_brief(path).text);
    if (list->count == PLUGIN_MOST)
        return cv_complain(complaint, "--with %s: expected at most %u of them", cv_brief(path).text, PLUGIN_MOST);
    const int error = load(path, &algorithm, &why);
    if (error)
        return error == CV_EINPUT ? cv_complain(complaint, "--with %s", why.text) : error;
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->algorithms[i]->name, algorithm->name) == 0)
            return cv_complain(complaint, "--with %s: %s is the name of that in %s, too; expected another",
                               cv_brief(path).text, cv_brief(algorithm->name).text, cv_brief(list->paths[i]).text);
    list->algorithms[list->count] = algorithm;
    list->paths[list->count++] = path;
    return 0;
}

int plugin_list_check(const struct plugin_list *list, enum cv_problem problem, struct cv_complaint *complaint)
{
    for (uint32_t i = 0; i < list->count; i++) {
        const char *name = list->algorithms[i]->name;
        if (list->algorithms[i]->problem != problem)
            return cv_complain(complaint, "--with %s: expected %s algorithm", cv_brief(list->paths[i]).text,
                               problem == CV_MUTEX ? "a mutual exclusion" : "an election");
        if (cv_algorithm_find(name))
            return cv_complain(complaint, "--with %s: %s is the name of one that is built in; expected another",
                               cv_brief(list->paths[i]).text, name);
    }
    return 0;
}
