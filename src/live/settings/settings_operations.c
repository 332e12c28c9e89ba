// SPDX-License-Identifier: MIT
/*
 *     [node]
 *     http = 127.0.0.1:7780              ; or, off loopback and readable by everybody, 10.0.0.1:7780 plaintext
 *     log = json                         ; or text
 *     log-level = info                   ; or warning, or error
 *     measure-turns = yes                ; of the loop, for INFO
 *     priority = auto                    ; or normal, or realtime
 */
#include "live/settings/settings_operations.h"

#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "live/settings/settings.h"

static int set_http(struct cv_operations_settings *operations, const char *value, struct cv_complaint *complaint)
{
    struct cv_text address, word;
    const bool two = cv_text_split(cv_text(value), ' ', &address, &word);
    while (two && word.length && *word.start == ' ') {
        word.start++;
        word.length--;
    }
    if (!two)
        address = cv_text(value);
    if (!address.length || (two && !cv_text_is(word, "plaintext")))
        return cv_complain(complaint, "[node] http = %s: expected host:port or a socket's path, then maybe plaintext",
                           cv_brief(value).text);
    free(operations->http);
    operations->http = strndup(address.start, address.length);
    operations->http_plaintext = two;
    return operations->http ? 0 : CV_ENOMEM;
}

static int set_log(struct cv_operations_settings *operations, const char *value, struct cv_complaint *complaint)
{
    operations->log_given = true;
    operations->log_json = strcmp(value, "json") == 0;
    if (operations->log_json || strcmp(value, "text") == 0)
        return 0;
    return cv_complain(complaint, "[node] log = %s: expected text or json", cv_brief(value).text);
}

static int set_level(struct cv_operations_settings *operations, const char *value, struct cv_complaint *complaint)
{
    static const char *const names[] = {"error", "warning", "info"};
    operations->level_given = true;
    for (operations->level = CV_LOG_ERROR; operations->level <= CV_LOG_INFO; operations->level++)
        if (strcmp(value, names[operations->level]) == 0)
            return 0;
    return cv_complain(complaint, "[node] log-level = %s: expected error, warning or info", cv_brief(value).text);
}

static int set_measures(struct cv_operations_settings *operations, const char *value, struct cv_complaint *complaint)
{
    operations->measures = strcmp(value, "yes") == 0;
    return operations->measures || strcmp(value, "no") == 0
               ? 0
               : cv_complain(complaint, "[node] measure-turns = %s: expected yes or no", cv_brief(value).text);
}

static int set_priority(struct cv_operations_settings *operations, const char *value, struct cv_complaint *complaint)
{
    static const char *const names[] = {
        [CV_PRIORITY_AUTO] = "auto", [CV_PRIORITY_NORMAL] = "normal", [CV_PRIORITY_REALTIME] = "realtime"};
    for (operations->priority = CV_PRIORITY_AUTO; operations->priority <= CV_PRIORITY_REALTIME; operations->priority++)
        if (strcmp(value, names[operations->priority]) == 0)
            return 0;
    return cv_complain(complaint, "[node] priority = %s: expected auto, normal or realtime", cv_brief(value).text);
}

static const struct {
    const char *key;
    int (*set)(struct cv_operations_settings *operations, const char *value, struct cv_complaint *complaint);
} keys[] = {{"http", set_http},
            {"log", set_log},
            {"log-level", set_level},
            {"measure-turns", set_measures},
            {"priority", set_priority}};

bool operations_settings_has(const char *key)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i].key) == 0)
            return true;
    return false;
}

int operations_settings_set(struct cv_operations_settings *operations, const char *key, const char *value,
                            struct cv_complaint *complaint)
{
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i].key) == 0)
            return keys[i].set(operations, value, complaint);
    return CV_EINPUT;
}

void operations_settings_finish(struct cv_operations_settings *operations)
{
    if (!operations->level_given)
        operations->level = operations->log_given ? CV_LOG_INFO : CV_LOG_WARNING;
}

void operations_settings_free(struct cv_operations_settings *operations)
{
    free(operations->http);
}
