// SPDX-License-Identifier: MIT
/* The settings of [node] for operators: /metrics and /healthz, lines on standard error, priority. */
#ifndef CONCLAVE_LIVE_SETTINGS_SETTINGS_OPERATIONS_H
#define CONCLAVE_LIVE_SETTINGS_SETTINGS_OPERATIONS_H

#include "core/error.h"
#include "live/process/event_log.h"
#include "live/process/priority.h"

/* The operator's side of a node: /metrics and /healthz, and lines on standard error. */
struct cv_operations_settings {
    char *http;          /* host:port or the path of a socket; NULL: no HTTP */
    bool http_plaintext; /* HTTP is allowed off loopback */
    bool log_json, log_given;
    bool level_given;
    bool measures; /* the node measures the processor time of the longest turn of the loop */
    enum cv_log_level level;
    enum cv_priority priority;
};

/* Is that a key of these settings in [node]? */
bool operations_settings_has(const char *key);
int operations_settings_set(struct cv_operations_settings *operations, const char *key, const char *value,
                            struct cv_complaint *complaint);
/* The default level: a log that the file asks for has every line, otherwise only what is wrong. */
void operations_settings_finish(struct cv_operations_settings *operations);
void operations_settings_free(struct cv_operations_settings *operations);

#endif
