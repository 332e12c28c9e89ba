// SPDX-License-Identifier: MIT
/* Steps of a transcript that are told together. */
#ifndef CONCLAVE_SHOW_TEXT_TRANSCRIPT_GROUPS_H
#define CONCLAVE_SHOW_TEXT_TRANSCRIPT_GROUPS_H

#include "show/text/transcript_parts.h"

/*
 * Tells this step and those after it that are like it, if there are any, and moves on to the step after them; *more
 * says whether there is one. False: the step stands for itself and is not told yet.
 */
bool story_tell_together(struct story *story, struct cv_step *step, bool *more);

#endif
