// SPDX-License-Identifier: MIT
/* Files of the sources that are built into the program (scripts/embed.py). */
#ifndef CONCLAVE_CLI_STUDY_EMBEDDED_FILES_H
#define CONCLAVE_CLI_STUDY_EMBEDDED_FILES_H

struct embedded_file {
    const char *name; /* without directory and ending */
    const char *text;
};

/* By name; each ends with an empty entry. */
extern const struct embedded_file scenario_files[];
extern const struct embedded_file example_files[];

#endif
