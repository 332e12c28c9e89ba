// SPDX-License-Identifier: MIT
/*
 * The node's page, and /metrics and /healthz for tools that watch over a node. They need a small part of HTTP/1.1: GET
 * and HEAD, one request for each connection. A connection stands at a door all its life, so there are never more than a
 * few of them, none stays for longer than a few seconds, and none may send more than 8 KB. The readers of /events stay
 * as long as they like, at a door of their own (service/http/page.h).
 */
#ifndef CONCLAVE_SERVICE_HTTP_HTTP_H
#define CONCLAVE_SERVICE_HTTP_HTTP_H

#include "live/net/listen.h"
#include "service/http/page.h"
#include "service/service.h"

struct cv_http {
    const struct cv_service *service; /* NULL: not open */
    struct cv_door door;
    struct cv_listener listener;
    struct page page;
    char host[CV_HOST_BYTES];         /* as the settings have it */
    char address[CV_HOST_BYTES + 32]; /* of the page */
};

/*
 * Listens, if the settings say where: on loopback and on a Unix socket in plaintext; elsewhere by TLS with
 * certificates, or in plaintext if the settings ask for it. CV_EINPUT with a complaint.
 */
int cv_http_open(struct cv_http *http, struct cv_service *service, const struct cv_settings *settings,
                 struct cv_complaint *complaint);
/* Keys, certificates and ACLs have changed. */
void cv_http_reconsider(struct cv_http *http);

#endif
