// SPDX-License-Identifier: MIT
#include "cli/ask.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "client/connect.h"
#include "core/wall_clock.h"
#include "live/net/heap.h"
#include "live/net/loop.h"

#define LARGEST_REPLY ((size_t)256 << 20)

/* ---- connecting ---- */

static bool await(int fd, short what, int64_t until)
{
    for (;;) {
        const int64_t left = until < 0 ? -1 : until - cv_wall_ms();
        struct pollfd poll_it = {.fd = fd, .events = what};
        const int ready = poll(&poll_it, 1, until < 0 ? -1 : left > 0 ? (int)left : 0);
        if (ready > 0)
            return true;
        if (ready == 0 || errno != EINTR)
            return false;
    }
}

static struct cv_tls_context *credentials; /* NULL: plaintext */

static void forget_credentials(void)
{
    cv_tls_close(credentials);
}

int ask_with(const struct conclave_options *options, struct cv_complaint *complaint)
{
    struct cv_tls_files files;
    if (!cv_line_files(options, &files))
        return 0;
    atexit(forget_credentials);
    cv_key_forbid_dumps();
    if (cv_heap_begin(EXIT_UNKNOWN))
        command_out_of_memory();
    return cv_tls_open(&credentials, CV_TLS_CLIENT, &files, "--", complaint);
}

/* Addresses are read, and connections made, as libconclave does it for the other commands. */
static bool dial(struct ask *ask, struct cv_text place, int timeout_ms)
{
    struct conclave line = {.fd = -1, .wake = -1, .timeout_ms = timeout_ms, .credentials = credentials};
    const int error = place.length ? cv_client_dial(&line, place)
                                   : cv_client_fail(&line, CONCLAVE_NO_SERVER, "expected host:port or a path");
    ask->fd = line.fd;
    ask->tls = line.tls;
    if (error)
        snprintf(ask->why, sizeof ask->why, "%.*s", (int)sizeof ask->why - 1, line.why);
    return !error;
}

static bool open_place(struct ask *ask, struct cv_text place, int timeout_ms)
{
    struct cv_text reply;
    *ask = (struct ask){.fd = -1};
    cv_resp_begin(&ask->out, 1 << 20);
    if (dial(ask, place, timeout_ms) && ask_command(ask, "HELLO 3", timeout_ms, &reply))
        return true;
    ask_close(ask);
    return false;
}

bool ask_open(struct ask *ask, const char *address, int timeout_ms)
{
    return open_place(ask, cv_text(address), timeout_ms);
}

void ask_close(struct ask *ask)
{
    if (ask->fd >= 0)
        close(ask->fd);
    cv_tls_free(ask->tls);
    free(ask->in);
    cv_resp_end(&ask->out);
    struct ask closed = {.fd = -1};
    memcpy(closed.why, ask->why, sizeof closed.why);
    *ask = closed;
}

const char *ask_servers(const char *given)
{
    const char *environment = getenv("CONCLAVE_SERVER");
    return given ? given : environment && *environment ? environment : "127.0.0.1:7700";
}

bool ask_open_any(struct ask *ask, const char *servers, int timeout_ms)
{
    const size_t count = cv_client_servers(servers);
    *ask = (struct ask){.fd = -1, .why = "expected host:port or a path"};
    for (size_t turn = 0; turn < count; turn++)
        if (open_place(ask, cv_client_server(servers, turn), timeout_ms))
            return true;
    return false;
}

int ask_refuse_none(const struct ask *ask, const char *servers)
{
    return command_refuse("%s: no node answers%s%s", servers, *ask->why ? ": " : "", ask->why);
}

/* ---- talking ---- */

static bool send_out(struct ask *ask)
{
    for (size_t sent = 0; sent < ask->out.length;) {
        const ssize_t count = cv_line_send(ask->fd, ask->tls, ask->out.bytes + sent, ask->out.length - sent);
        if (count > 0)
            sent += (size_t)count;
        else if (errno == EAGAIN ? !await(ask->fd, POLLOUT, cv_wall_ms() + 1000) : errno != EINTR)
            return false;
    }
    return true;
}

static bool say(struct ask *ask, const char *line)
{
    struct cv_text rest = cv_text(line), word;
    size_t words = 1;
    for (const char *at = line; *at; at++)
        words += *at == ' ';
    ask->out.length = 0;
    cv_resp_array(&ask->out, words);
    while (cv_text_take(&rest, ' ', &word))
        cv_resp_bulk(&ask->out, word);
    return send_out(ask);
}

static bool read_more(struct ask *ask, int64_t until)
{
    if (ask->used == ask->room) {
        const size_t room = ask->room ? 2 * ask->room : 4096;
        char *in = room <= LARGEST_REPLY ? realloc(ask->in, room) : NULL;
        if (!in)
            return false;
        ask->in = in;
        ask->room = room;
    }
    for (;;) {
        const ssize_t count = cv_line_receive(ask->fd, ask->tls, ask->in + ask->used, ask->room - ask->used);
        if (count > 0) {
            ask->used += (size_t)count;
            return true;
        }
        if (count == 0 || (errno != EAGAIN && errno != EINTR) || !await(ask->fd, POLLIN, until))
            return false;
    }
}

static bool hear(struct ask *ask, int timeout_ms, struct cv_text *reply)
{
    const int64_t until = timeout_ms < 0 ? -1 : cv_wall_ms() + timeout_ms;
    struct cv_resp_scan scan = {0};
    /* The last reply is no longer needed. */
    if (ask->taken) {
        ask->used -= ask->taken;
        memmove(ask->in, ask->in + ask->taken, ask->used);
        ask->taken = 0;
    }
    long length;
    while ((length = cv_resp_scan(&scan, ask->in, ask->used)) == CV_RESP_MORE)
        if (!read_more(ask, until))
            return false;
    if (length == CV_RESP_BROKEN)
        return false;
    ask->taken = (size_t)length;
    *reply = (struct cv_text){ask->in, (size_t)length};
    return true;
}

static bool hear_reply(struct ask *ask, int timeout_ms, struct cv_text *reply)
{
    do
        if (!hear(ask, timeout_ms, reply))
            return false;
    while (reply->start[0] == CV_RESP_PUSH);
    return true;
}

bool ask_command(struct ask *ask, const char *line, int timeout_ms, struct cv_text *reply)
{
    return say(ask, line) && hear_reply(ask, timeout_ms, reply);
}

bool ask_words(struct ask *ask, const char *const *words, size_t count, int timeout_ms, struct cv_text *reply)
{
    ask->out.length = 0;
    cv_resp_array(&ask->out, count);
    for (size_t i = 0; i < count; i++)
        cv_resp_bulk(&ask->out, cv_text(words[i]));
    return send_out(ask) && hear_reply(ask, timeout_ms, reply);
}

bool ask_push(struct ask *ask, int timeout_ms, struct cv_text *push)
{
    do
        if (!hear(ask, timeout_ms, push))
            return false;
    while (push->start[0] != CV_RESP_PUSH);
    return true;
}

int ask_order(struct ask *ask, const char *servers, const char *line, int timeout_ms, struct cv_text *reply)
{
    if (!ask_command(ask, line, timeout_ms, reply))
        return command_refuse("%s: the node does not answer", servers);
    if (reply->length && *reply->start == '-')
        return command_refuse("%.*s", (int)(reply->length - 3), reply->start + 1);
    return EXIT_HELD;
}

/* ---- understanding ---- */

struct cv_text ask_value(struct cv_text map, const char *key)
{
    struct cv_resp_item item;
    if (!cv_resp_next(&map, &item) || item.kind != CV_RESP_MAP)
        return (struct cv_text){"", 0};
    for (int64_t pair = 0; pair < item.number; pair++) {
        struct cv_resp_item name;
        if (!cv_resp_next(&map, &name))
            break;
        const struct cv_text value = map;
        if (!cv_resp_skip(&map))
            break;
        if (name.kind == CV_RESP_BULK && cv_text_is(name.text, key))
            return (struct cv_text){value.start, value.length - map.length};
    }
    return (struct cv_text){"", 0};
}

int64_t ask_number(struct cv_text reply)
{
    struct cv_resp_item item;
    return cv_resp_next(&reply, &item) && item.kind == CV_RESP_INTEGER ? item.number : -1;
}

struct cv_text ask_text(struct cv_text reply)
{
    struct cv_resp_item item;
    const bool text = cv_resp_next(&reply, &item) &&
                      (item.kind == CV_RESP_BULK || item.kind == CV_RESP_STATUS || item.kind == CV_RESP_ERROR);
    return text ? item.text : (struct cv_text){"", 0};
}

bool ask_each(struct cv_text *array, uint64_t *left, struct cv_text *item)
{
    if (*left == UINT64_MAX) {
        struct cv_resp_item head;
        if (!cv_resp_next(array, &head) || (head.kind != CV_RESP_ARRAY && head.kind != CV_RESP_PUSH))
            return false;
        *left = (uint64_t)head.number;
    }
    const struct cv_text before = *array;
    if (!*left || !cv_resp_skip(array))
        return false;
    --*left;
    *item = (struct cv_text){before.start, before.length - array->length};
    return true;
}
