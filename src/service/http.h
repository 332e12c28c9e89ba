// SPDX-License-Identifier: MIT
/*
 * /metrics and /healthz, for tools that watch over a node. They need a small part of HTTP/1.1: GET and HEAD, one
 * request for each connection. A connection stands at a door all its life, so there are never more than a few of them,
 * none stays for longer than a few seconds, and none may send more than 8 KB.
 */
#ifndef CONCLAVE_SERVICE_HTTP_H
#define CONCLAVE_SERVICE_HTTP_H

#include "live/net/listen.h"
#include "service/service.h"

struct cv_http {
    const struct cv_service *service;
    struct cv_door door;
    struct cv_listener listener;
};

/*
 * Listens, if the settings say where: on loopback and on a Unix socket in plaintext; elsewhere by TLS with
 * certificates, or in plaintext if the settings ask for it. CV_EINPUT with a complaint.
 */
int cv_http_open(struct cv_http *http, struct cv_service *service, const struct cv_settings *settings,
                 struct cv_complaint *complaint);

#endif
