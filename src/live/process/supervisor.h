// SPDX-License-Identifier: MIT
/*
 * Tells a service manager, by the datagrams that sd_notify(3) documents, that the node serves, that its loop still
 * turns, and that it ends. That takes a few lines, so libsystemd is not worth it.
 */
#ifndef CONCLAVE_LIVE_PROCESS_SUPERVISOR_H
#define CONCLAVE_LIVE_PROCESS_SUPERVISOR_H

#include <stdint.h>

/* Sends "READY=1", "STATUS=...", one per line. Does nothing without NOTIFY_SOCKET. */
void cv_supervisor_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* How long the manager waits for a sign of life, in microseconds; 0: for ever. */
uint64_t cv_supervisor_patience(void);

#endif
