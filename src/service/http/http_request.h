// SPDX-License-Identifier: MIT
/* The part of an HTTP request that the node looks at: its line, and two of its fields. */
#ifndef CONCLAVE_SERVICE_HTTP_HTTP_REQUEST_H
#define CONCLAVE_SERVICE_HTTP_HTTP_REQUEST_H

#include "core/parse.h"

struct http_request {
    struct cv_text method;
    struct cv_text path; /* without what stands after a question mark */
    struct cv_text host; /* `start` NULL: there is none */
    struct cv_text site; /* Sec-Fetch-Site, of browsers; `start` NULL: there is none */
};

/* Reads a request up to its empty line. False if it is none of HTTP/1. */
bool http_request_read(struct http_request *request, struct cv_text text);

/*
 * Does the request mean this node? A page of an attacker can have the browser ask here under a name of the attacker's
 * own, whose address has changed to this node's (DNS rebinding), and could then read the answer. Such a request has
 * that name as its host. So an address is good, and localhost, and `own` and the name of the machine, but no other.
 */
bool http_request_is_for(const struct http_request *request, const char *own);

/* Does a page from elsewhere make the browser ask? */
bool http_request_is_foreign(const struct http_request *request);

#endif
