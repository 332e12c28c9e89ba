// SPDX-License-Identifier: MIT
#include "cli/study/plugin.h"

#include <dlfcn.h>
#include <string.h>

#include <conclave/synchronizer.h>

#include "algorithm/registry.h"
#include "cli/nearest.h"
#include "core/parse.h"
#include "core/scenario/field_check.h"
#include "core/scenario/scenario.h"
#include "core/scenario/validity.h"

/* The transport of the simulator keeps two kinds for itself. */
#define MOST_KINDS (CV_MAX_KINDS - 2)

static int check_table(const char *path, const struct cv_algorithm *algorithm, struct cv_complaint *complaint)
{
    if (algorithm->abi != CV_ABI)
        return cv_complain(complaint, "%s: made for version %u of the interface; expected %u", path, algorithm->abi,
                           CV_ABI);
    if (!algorithm->name || !algorithm->title || !algorithm->kinds || !algorithm->citation)
        return cv_complain(complaint, "%s: the table lacks a name, title, citation or kinds", path);
    if (algorithm->problem > CV_PATHS)
        return cv_complain(complaint, "%s: problem %u; expected one of enum cv_problem", path, algorithm->problem);
    if (algorithm->topology > CV_GRAPH)
        return cv_complain(complaint, "%s: topology %u; expected one of enum cv_topology", path, algorithm->topology);
    if (cv_algorithm_kinds(algorithm) > MOST_KINDS || cv_algorithm_timers(algorithm) > CV_MAX_TIMERS)
        return cv_complain(complaint, "%s: more than %u kinds of messages or %u timers", path, MOST_KINDS,
                           CV_MAX_TIMERS);
    for (uint32_t kind = 0; kind < cv_algorithm_kinds(algorithm); kind++)
        if (!algorithm->kinds[kind].receive)
            return cv_complain(complaint, "%s: no handler receives %s messages", path, algorithm->kinds[kind].name);
    for (const struct cv_kind *kind = algorithm->kinds; algorithm->problem == CV_SYNCHRONOUS && kind->name; kind++)
        if (cv_kind_has_list(kind) || cv_kind_numbers(kind, 1) || kind->bytes > CV_MAX_APP_BYTES)
            return cv_complain(
                complaint, "%s: %s messages of a synchronous algorithm; expected at most %u bytes, no numbers, no list",
                path, kind->name, CV_MAX_APP_BYTES);
    if (algorithm->problem == CV_SYNCHRONOUS && (!algorithm->pulse || algorithm->timers))
        return cv_complain(complaint, "%s: a synchronous algorithm; expected a pulse handler and no timers", path);
    if (cv_algorithm_timers(algorithm) && !algorithm->timeout)
        return cv_complain(complaint, "%s: timers without a timeout handler", path);
    return cv_fields_check_tables(path, algorithm, complaint);
}

/* The object stays loaded, since its tables and strings are used until the end. */
static int load(const char *path, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!object)
        return cv_complain(complaint, "%s; expected a shared object with an algorithm", dlerror());
    *algorithm = dlsym(object, "conclave_algorithm");
    if (!*algorithm)
        return cv_complain(complaint, "%s: does not define conclave_algorithm; expected a table of that name", path);
    return check_table(path, *algorithm, complaint);
}

int plugin_find(const char *name, const struct cv_algorithm **algorithm, struct cv_complaint *complaint)
{
    if (strchr(name, '/'))
        return load(name, algorithm, complaint);
    *algorithm = cv_algorithm_find(name);
    if (*algorithm)
        return 0;
    struct nearest nearest = nearest_to(name);
    for (const struct cv_algorithm *const *it = cv_algorithms; *it; it++)
        nearest_offer(&nearest, (*it)->name);
    return cv_complain(complaint, "%s: no such algorithm%s; conclave list shows them all, ./FILE.so loads your own",
                       cv_brief(name).text, nearest_question(&nearest, "").text);
}
