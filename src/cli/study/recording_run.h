// SPDX-License-Identifier: MIT
/* Turns the recording of a name into a run that the properties can judge. */
#ifndef CONCLAVE_CLI_STUDY_RECORDING_RUN_H
#define CONCLAVE_CLI_STUDY_RECORDING_RUN_H

#include "cli/study/recording.h"

/* Makes the run of a name: of its nodes, or of its clients (mutual exclusion only). */
int recording_tell(const struct recording *recording, struct recording_story *story, bool clients);
void recording_forget(struct recording_story *story);

#endif
