// SPDX-License-Identifier: MIT
/*
 * A plugin that crashes takes its node with it. Before the process ends, its log tells which plugin it was, in which
 * handler, and for which name. A handler that does not return ends the process in the same way: a node that hangs is of
 * no use to its clients, and its supervisor cannot see why it does.
 */
#ifndef CONCLAVE_LIVE_PLUGIN_FAILURE_H
#define CONCLAVE_LIVE_PLUGIN_FAILURE_H

/* From now on, in this thread. The log is open by then. */
void cv_plugin_failure_tell(void);

#endif
