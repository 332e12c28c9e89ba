// SPDX-License-Identifier: MIT
#ifndef CONCLAVE_SERVICE_HTTP_METRICS_H
#define CONCLAVE_SERVICE_HTTP_METRICS_H

#include <stdio.h>

struct cv_service;

/* All metrics in the text format of Prometheus, version 0.0.4. */
void metrics_write(FILE *file, const struct cv_service *service);

#endif
