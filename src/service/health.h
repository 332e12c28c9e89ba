// SPDX-License-Identifier: MIT
/* Whether the node can grant anything, and if not, why: for /healthz, the service manager and the doctor. */
#ifndef CONCLAVE_SERVICE_HEALTH_H
#define CONCLAVE_SERVICE_HEALTH_H

#include <stdbool.h>

#define CV_HEALTH_BYTES 512u

struct cv_service;

/* Can this node grant something now? If not, `why` says why. */
bool cv_health(const struct cv_service *service, char why[CV_HEALTH_BYTES]);

#endif
