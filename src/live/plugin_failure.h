// SPDX-License-Identifier: MIT
/*
 * A plugin that crashes takes its node with it. Before the process ends, its log tells which plugin it was, in which
 * handler, and for which name.
 */
#ifndef CONCLAVE_LIVE_PLUGIN_FAILURE_H
#define CONCLAVE_LIVE_PLUGIN_FAILURE_H

/* From now on, in this thread. The log is open by then. */
void cv_plugin_failure_tell(void);

#endif
