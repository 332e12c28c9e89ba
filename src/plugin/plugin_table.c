// SPDX-License-Identifier: MIT
#include "plugin/plugin_table.h"

#include <conclave/synchronizer.h>

#include "core/link/frame.h"
#include "core/parse.h"
#include "core/scenario/field_check.h"
#include "core/scenario/scenario.h"
#include "core/scenario/validity.h"

/* The transport of the simulator keeps two kinds for itself. */
#define MOST_KINDS (CV_MAX_KINDS - 2)
#define MOST_NAME_BYTES 64u
#define TAIL_BYTES 1024u /* after a body: numbers and a list, as long as the largest group */

int plugin_table_check(const char *path, const struct cv_algorithm *algorithm, struct cv_complaint *complaint)
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

/* ---- for a node ---- */

/* Names stand in lines that programs read, and as labels of metrics. */
static bool is_plain(const char *name)
{
    size_t length = 0;
    for (; name[length]; length++) {
        const char byte = name[length];
        if (!(byte >= 'a' && byte <= 'z') && !(byte >= 'A' && byte <= 'Z') && !(byte >= '0' && byte <= '9') &&
            byte != '.' && byte != '_' && byte != '-')
            return false;
    }
    return length > 0 && length <= MOST_NAME_BYTES;
}

static const char *unfit_name(const struct cv_algorithm *algorithm)
{
    if (!is_plain(algorithm->name))
        return algorithm->name;
    for (const struct cv_kind *kind = algorithm->kinds; kind->name; kind++)
        if (!is_plain(kind->name))
            return kind->name;
    for (const char *const *timer = algorithm->timers; timer && *timer; timer++)
        if (!is_plain(*timer))
            return *timer;
    return NULL;
}

static const char *missing_handler(const struct cv_algorithm *algorithm)
{
    if (algorithm->problem == CV_ELECTION)
        return algorithm->start ? NULL : "start";
    if (algorithm->problem != CV_MUTEX)
        return NULL;
    return !algorithm->request ? "request" : !algorithm->release ? "release" : !algorithm->adopt ? "adopt" : NULL;
}

int plugin_table_check_for_node(const char *path, const struct cv_algorithm *algorithm, struct cv_complaint *complaint)
{
    const int error = plugin_table_check(path, algorithm, complaint);
    if (error)
        return error;
    const char *name = unfit_name(algorithm), *handler = missing_handler(algorithm);
    const uint64_t most =
        CV_FRAME_BYTES - cv_frame_size(&(struct cv_frame){.type = CV_FRAME_MESSAGE}) - CV_FRAME_NAME_BYTES - TAIL_BYTES;
    if (handler)
        return cv_complain(complaint, "%s: %s has no handler `%s`; expected one, since a node calls it", path,
                           cv_brief(algorithm->name).text, handler);
    if (name)
        return cv_complain(complaint, "%s: the name '%s'; expected 1 to %u letters, digits, and any of . _ -", path,
                           cv_brief(name).text, MOST_NAME_BYTES);
    for (const struct cv_kind *kind = algorithm->kinds; kind->name; kind++)
        if (kind->bytes > most)
            return cv_complain(complaint, "%s: %s messages of %llu bytes; expected at most %llu between nodes", path,
                               kind->name, (unsigned long long)kind->bytes, (unsigned long long)most);
    return 0;
}
