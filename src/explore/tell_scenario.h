// SPDX-License-Identifier: MIT
/* What does not change during a story, as JSON: the algorithms there are, and the scenario. */
#ifndef CONCLAVE_EXPLORE_TELL_SCENARIO_H
#define CONCLAVE_EXPLORE_TELL_SCENARIO_H

#include "explore/explored.h"
#include "explore/scenario_words.h"
#include "show/json.h"

void tell_catalogue(struct cv_json *json);
void tell_scenario(struct cv_json *json, const struct scenario_words *words, const struct explored *world);

#endif
