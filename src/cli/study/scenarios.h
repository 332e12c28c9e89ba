// SPDX-License-Identifier: MIT
/* The files of scenarios/, built into the program. */
#ifndef CONCLAVE_CLI_STUDY_SCENARIOS_H
#define CONCLAVE_CLI_STUDY_SCENARIOS_H

struct scenario_file {
    const char *name;
    const char *text;
};

/* By name, ends with an empty entry. */
extern const struct scenario_file scenario_files[];

#endif
