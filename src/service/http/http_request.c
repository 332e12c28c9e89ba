// SPDX-License-Identifier: MIT
#include "service/http/http_request.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define LONGEST_HOST 255u

/* ---- reading ---- */

static struct cv_text trim(struct cv_text text)
{
    while (text.length && (*text.start == ' ' || *text.start == '\t')) {
        text.start++;
        text.length--;
    }
    while (text.length && strchr(" \t\r", text.start[text.length - 1]))
        text.length--;
    return text;
}

static bool is_called(struct cv_text text, const char *name)
{
    return text.length == strlen(name) && strncasecmp(text.start, name, text.length) == 0;
}

/* False if there was one already: the two could mean different things to different readers. */
static bool take_once(struct cv_text *field, struct cv_text value)
{
    if (field->start)
        return false;
    *field = trim(value);
    return true;
}

static bool read_field(struct http_request *request, struct cv_text line)
{
    struct cv_text name, value;
    if (!cv_text_split(line, ':', &name, &value))
        return true;
    if (is_called(name, "Host"))
        return take_once(&request->host, value);
    if (is_called(name, "Sec-Fetch-Site"))
        return take_once(&request->site, value);
    return true;
}

bool http_request_read(struct http_request *request, struct cv_text text)
{
    struct cv_text line, rest, version, query;
    *request = (struct http_request){.method = {"", 0}, .path = {"", 0}};
    cv_text_take(&text, '\n', &line);
    if (line.length && line.start[line.length - 1] == '\r')
        line.length--;
    if (!cv_text_split(line, ' ', &request->method, &rest) || !cv_text_split(rest, ' ', &request->path, &version) ||
        version.length != 8 || strncmp(version.start, "HTTP/1.", 7) != 0 || !request->path.length)
        return false;
    cv_text_split(request->path, '?', &request->path, &query);
    while (cv_text_take(&text, '\n', &line) && trim(line).length)
        if (!read_field(request, line))
            return false;
    return true;
}

/* ---- judging ---- */

/* The host without its port and brackets. */
static struct cv_text host_alone(struct cv_text host)
{
    const char *end = host.length && *host.start == '[' ? memchr(host.start, ']', host.length) : NULL;
    if (end)
        return (struct cv_text){host.start + 1, (size_t)(end - host.start) - 1};
    const char *colon = host.length ? memchr(host.start, ':', host.length) : NULL;
    if (colon)
        host.length = (size_t)(colon - host.start);
    return host;
}

bool http_request_is_for(const struct http_request *request, const char *own)
{
    char name[LONGEST_HOST + 1], machine[LONGEST_HOST + 1];
    unsigned char address[sizeof(struct in6_addr)];
    if (!request->host.start)
        return true; /* every browser names one */
    const struct cv_text host = host_alone(request->host);
    if (!host.length || host.length > LONGEST_HOST || memchr(host.start, '\0', host.length))
        return false;
    memcpy(name, host.start, host.length);
    name[host.length] = '\0';
    if (inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1 ||
        strcasecmp(name, "localhost") == 0 || (own && *own && strcasecmp(name, own) == 0))
        return true;
    return gethostname(machine, sizeof machine) == 0 && strcasecmp(name, machine) == 0;
}

bool http_request_is_foreign(const struct http_request *request)
{
    return request->site.start && !cv_text_is(request->site, "same-origin") && !cv_text_is(request->site, "none");
}
