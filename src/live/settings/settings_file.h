// SPDX-License-Identifier: MIT
/*
 * Reads a settings file. inih parses it, but takes an indented line as the continuation of the one before, and cuts
 * long lines and long section names into pieces. Each of these makes a line that the operator has not written, and that
 * may grant a right. So this file checks each line before inih gets it.
 */
#ifndef CONCLAVE_LIVE_SETTINGS_SETTINGS_FILE_H
#define CONCLAVE_LIVE_SETTINGS_SETTINGS_FILE_H

#include "live/settings/settings.h"

/* Reads a file. CV_EFILE or CV_EINPUT with a complaint that names the file and the line. */
int cv_settings_read(struct cv_settings *settings, const char *path, cv_settings_find *find,
                     struct cv_complaint *complaint);

#endif
