// SPDX-License-Identifier: MIT
/*
 * /metrics and /healthz, for those who watch over a node. Just so much of HTTP/1.1: GET and HEAD, one request for each
 * connection, which stands at a door all its life. So there are never more than a few of them, none stays for longer
 * than a few seconds, and none is listened to for more than 8 KB, whatever it does.
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

/* Listens, if the settings say where. On loopback and on a socket in plaintext; elsewhere by TLS with certificates, or
 * in plaintext if that was asked for. CV_EINPUT with a complaint. */
int cv_http_open(struct cv_http *http, struct cv_service *service, const struct cv_settings *settings,
                 struct cv_complaint *complaint);

#endif
