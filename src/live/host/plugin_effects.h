// SPDX-License-Identifier: MIT
/*
 * What a plugin's handler has recorded, before the host carries it out. Our own algorithms are checked and tested; a
 * plugin may send what the other members would cut this node off for, or enter without having been asked to.
 */
#ifndef CONCLAVE_LIVE_HOST_PLUGIN_EFFECTS_H
#define CONCLAVE_LIVE_HOST_PLUGIN_EFFECTS_H

#include "live/host/host.h"

/* What is wrong with the effects of the step, or NULL. */
const char *plugin_effects_fault(const struct cv_self *me, const struct cv_instance *instance);

#endif
