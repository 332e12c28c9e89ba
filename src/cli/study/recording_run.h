// SPDX-License-Identifier: MIT
/* What live nodes wrote down, as a run that the properties can judge. */
#ifndef CONCLAVE_CLI_STUDY_RECORDING_RUN_H
#define CONCLAVE_CLI_STUDY_RECORDING_RUN_H

#include "cli/study/recording.h"

/* The story of a name as a run: of its nodes, or of its clients (mutual exclusion alone). */
int recording_tell(const struct recording *recording, struct recording_story *story, bool clients);
void recording_forget(struct recording_story *story);

#endif
