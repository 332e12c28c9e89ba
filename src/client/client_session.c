// SPDX-License-Identifier: MIT
#include "client/client_session.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "client/connect.h"
#include "client/interest.h"
#include "core/parse.h"
#include "core/printable.h"
#include "core/wall_clock.h"

#define MOST_TO_SEND ((size_t)1 << 20)
#define MOST_TO_RECEIVE ((size_t)1 << 26)
#define FIRST_TO_RECEIVE ((size_t)4096)
#define LAST_WORDS_MS 500
#define PROBE_MS 3000 /* during a wait, a second connection tests so often whether the server hangs */

int cv_client_fail(struct conclave *session, int error, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(session->why, sizeof session->why, format, arguments);
    va_end(arguments);
    return error;
}

int cv_client_no_memory(struct conclave *session)
{
    return cv_client_fail(session, CONCLAVE_NO_MEMORY, "out of memory");
}

const char *conclave_error_text(int error)
{
    switch (error) {
    case 0:
        return "no error";
#define X(name, number, text)                                                                                          \
    case name:                                                                                                         \
        return text;
        CONCLAVE_ERRORS(X)
#undef X
    default:
        return "unknown error";
    }
}

const char *conclave_explain(const struct conclave *session)
{
    return session ? session->why : conclave_error_text(CONCLAVE_NO_MEMORY);
}

/* ---- questions ---- */

static int push_question(struct conclave *session, struct cv_client_interest *about, bool awaited)
{
    struct cv_client_question *question = malloc(sizeof *question);
    if (!question && session->last_resort_used)
        return cv_client_no_memory(session);
    if (!question) {
        question = &session->last_resort;
        session->last_resort_used = true;
    }
    *question = (struct cv_client_question){NULL, about, awaited, cv_boot_ms()};
    *session->last_question = question;
    session->last_question = &question->next;
    return 0;
}

static struct cv_client_question pop_question(struct conclave *session)
{
    struct cv_client_question *first = session->first_question, copy = *first;
    session->first_question = first->next;
    if (!first->next)
        session->last_question = &session->first_question;
    if (first == &session->last_resort)
        session->last_resort_used = false;
    else
        free(first);
    return copy;
}

static int put_question(struct conclave *session, const struct cv_client_words *words, struct cv_client_interest *about,
                        bool awaited)
{
    cv_resp_array(&session->out, words->count + (words->value.start ? 2 : 0));
    for (size_t i = 0; i < words->count; i++)
        cv_resp_word(&session->out, words->word[i]);
    if (words->value.start) {
        cv_resp_word(&session->out, "VALUE");
        cv_resp_bulk(&session->out, words->value);
    }
    if (session->out.full)
        return cv_client_fail(session, CONCLAVE_NO_MEMORY, "too much to send");
    return push_question(session, about, awaited);
}

int cv_client_mention(struct conclave *session, const struct cv_client_words *words, struct cv_client_interest *about)
{
    return put_question(session, words, about, false);
}

/* ---- bytes ---- */

static int send_some(struct conclave *session)
{
    if (!session->out.length && cv_line_unsent(session->tls))
        cv_line_send(session->fd, session->tls, "", 0);
    while (session->out.length) {
        const ssize_t sent = cv_line_send(session->fd, session->tls, session->out.bytes, session->out.length);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return 0;
        if (sent < 0)
            return cv_client_fail(session, CONCLAVE_NO_SERVER, "the server is lost: %s", strerror(errno));
        cv_resp_sent(&session->out, (size_t)sent);
    }
    return 0;
}

static int make_room(struct conclave *session)
{
    if (session->in_length < session->in_capacity)
        return 0;
    const size_t capacity = session->in_capacity ? 2 * session->in_capacity : FIRST_TO_RECEIVE;
    char *in = capacity <= MOST_TO_RECEIVE ? realloc(session->in, capacity) : NULL;
    if (!in)
        return cv_client_fail(session, CONCLAVE_NO_MEMORY, "an answer of more than %zu bytes", session->in_capacity);
    session->in = in;
    session->in_capacity = capacity;
    return 0;
}

static int receive_some(struct conclave *session)
{
    for (;;) {
        const int error = make_room(session);
        if (error)
            return error;
        const size_t room = session->in_capacity - session->in_length;
        const ssize_t count = cv_line_receive(session->fd, session->tls, session->in + session->in_length, room);
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0 && errno == EAGAIN)
            return 0;
        if (count <= 0)
            return cv_client_fail(session, CONCLAVE_NO_SERVER, "the server is lost: %s",
                                  count ? strerror(errno) : "it closed the connection");
        session->in_length += (size_t)count;
        if ((size_t)count < room)
            return 0;
    }
}

/* Drops the answer that was given out last. */
static void discard_used(struct conclave *session)
{
    session->in_length -= session->in_used;
    if (session->in_used && session->in_length)
        memmove(session->in, session->in + session->in_used, session->in_length);
    session->in_used = 0;
}

/*
 * Takes complete replies, up to the one that the caller waits for: 1 and the answer, 0 if it is not there, or an error.
 */
static int take_replies(struct conclave *session, struct cv_text *answer)
{
    for (;;) {
        discard_used(session);
        const long length = cv_resp_scan(&session->scan, session->in, session->in_length);
        if (length == CV_RESP_MORE)
            return 0;
        if (length == CV_RESP_BROKEN)
            return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server does not speak RESP");
        session->scan = (struct cv_resp_scan){0};
        session->in_used = (size_t)length;
        const struct cv_text reply = {session->in, (size_t)length};
        if (*reply.start == CV_RESP_PUSH) {
            cv_client_pushed(session, reply);
            continue;
        }
        if (!session->first_question)
            return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server answered what was not asked");
        const struct cv_client_question question = pop_question(session);
        if (question.awaited) {
            *answer = reply;
            return 1;
        }
        cv_client_answered(session, &question, reply);
    }
}

/* ---- the connection ---- */

static void hang_up(struct conclave *session)
{
    if (session->fd >= 0)
        close(session->fd);
    session->fd = -1;
    cv_tls_free(session->tls);
    session->tls = NULL;
    session->in_length = session->in_used = 0;
    session->scan = (struct cv_resp_scan){0};
    session->out.length = 0;
    session->out.full = false;
    session->forsaken = false;
    while (session->first_question)
        pop_question(session);
}

void cv_client_disconnect(struct conclave *session)
{
    hang_up(session);
    cv_client_disconnected(session);
}

int cv_client_exchange(struct conclave *session)
{
    struct cv_text none;
    int error = send_some(session);
    if (!error)
        error = receive_some(session);
    /* Replies that came before the connection broke still count. */
    const int taken = take_replies(session, &none);
    assert(taken <= 0);
    if (!error)
        error = taken;
    if (error)
        cv_client_disconnect(session);
    return error;
}

int cv_client_wait(struct conclave *session, int64_t until_ms)
{
    const int64_t left_ms = until_ms == CV_CLIENT_NEVER ? -1 : until_ms - cv_boot_ms();
    const short wanted = session->out.length || cv_line_unsent(session->tls) ? POLLIN | POLLOUT : POLLIN;
    struct pollfd ready[] = {{.fd = session->wake, .events = POLLIN}, {.fd = session->fd, .events = wanted}};
    const int timeout_ms = until_ms == CV_CLIENT_NEVER ? -1
                           : left_ms < 0               ? 0
                           : left_ms > INT32_MAX       ? INT32_MAX
                                                       : (int)left_ms;
    if (poll(ready, 2, timeout_ms) < 0 && errno != EINTR)
        return cv_client_fail(session, CONCLAVE_NO_MEMORY, "poll: %s", strerror(errno));
    eventfd_t count;
    if (ready[0].revents && eventfd_read(session->wake, &count) == 0)
        return cv_client_fail(session, CONCLAVE_INTERRUPTED, "interrupted");
    return 0;
}

/* False if the system has no randomness, which should not happen. */
static bool choose_secret(char secret[33])
{
    unsigned char bytes[16];
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return false;
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(secret + 2 * i, 3, "%02x", bytes[i]);
    return true;
}

/* Makes a session without a connection. */
static int begin(struct conclave **session_out, const char *servers, int timeout_ms)
{
    struct conclave *session = calloc(1, sizeof *session);
    if (session)
        session->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    *session_out = session; /* from now on another thread may interrupt it */
    if (!session)
        return CONCLAVE_NO_MEMORY;
    session->fd = -1;
    session->last_question = &session->first_question;
    session->last_event = &session->first_event;
    session->timeout_ms = timeout_ms;
    cv_resp_begin(&session->out, MOST_TO_SEND);
    session->servers = strdup(servers);
    if (session->wake < 0 || !session->servers || !choose_secret(session->secret))
        return cv_client_fail(session, CONCLAVE_NO_MEMORY, "out of memory or descriptors");
    if (!cv_client_servers(servers))
        return cv_client_fail(session, CONCLAVE_INVALID, "the list of servers is empty");
    return 0;
}

bool cv_client_still_answers(const struct conclave *session)
{
    const struct cv_text server = cv_client_server(session->servers, session->turn);
    char *alone = strndup(server.start, server.length);
    struct conclave *probe = NULL;
    const bool begun = alone && begin(&probe, alone, session->timeout_ms) == 0;
    if (begun)
        probe->credentials = session->credentials;
    const bool answers = begun && cv_client_connect(probe) == 0;
    if (probe)
        probe->credentials = NULL; /* the session owns them */
    conclave_close(probe);
    free(alone);
    return answers;
}

/* Waits for the answer to what was asked last. An answer that is due within the session's timeout needs no probe. */
static int await(struct conclave *session, int64_t until_ms, struct cv_text *answer)
{
    const int64_t now_ms = cv_boot_ms();
    const bool soon = until_ms - now_ms <= session->timeout_ms;
    for (int64_t probe_ms = soon ? CV_CLIENT_NEVER : now_ms + PROBE_MS;;) {
        int error = send_some(session);
        const int taken = error ? error : take_replies(session, answer);
        if (taken)
            return taken < 0 ? taken : 0;
        if (cv_boot_ms() >= until_ms)
            return cv_client_fail(session, CONCLAVE_NO_SERVER, "the server does not answer");
        error = cv_client_wait(session, until_ms < probe_ms ? until_ms : probe_ms);
        if (!error)
            error = receive_some(session);
        if (error)
            return error;
        if (cv_boot_ms() < probe_ms)
            continue;
        if (!cv_client_still_answers(session)) {
            session->turn++;
            return cv_client_fail(session, CONCLAVE_NO_SERVER, "the server hangs");
        }
        probe_ms = cv_boot_ms() + PROBE_MS;
    }
}

static int understand_error(struct conclave *session, struct cv_text text)
{
    static const struct {
        const char *word;
        int error;
    } errors[] = {
        {"NOQUORUM", CONCLAVE_NO_QUORUM}, {"LOADING", CONCLAVE_NO_QUORUM}, {"NOAUTH", CONCLAVE_DENIED},
        {"WRONGPASS", CONCLAVE_DENIED},   {"NOPERM", CONCLAVE_DENIED},     {"LOST", CONCLAVE_LOST},
    };
    struct cv_text word = text, rest;
    cv_text_split(text, ' ', &word, &rest);
    int error = CONCLAVE_REFUSED;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (cv_text_is(word, errors[i].word))
            error = errors[i].error;
    char shown[sizeof session->why];
    cv_show_line(shown, sizeof shown, text); /* a program that prints it need not trust the server */
    return cv_client_fail(session, error, "%s", shown);
}

/* Tells the server that nothing more will come, and reads to the end: an answer that was on its way is not lost. */
static void hear_last_words(struct conclave *session, struct cv_text *answer)
{
    const int64_t until_ms = cv_boot_ms() + LAST_WORDS_MS;
    if (session->fd < 0 || shutdown(session->fd, SHUT_WR) < 0)
        return;
    for (int error = 0; !error && take_replies(session, answer) == 0;) {
        struct pollfd ready = {.fd = session->fd, .events = POLLIN};
        const int64_t left_ms = until_ms - cv_boot_ms();
        if (left_ms <= 0 || poll(&ready, 1, (int)left_ms) == 0)
            return;
        error = receive_some(session);
    }
}

int cv_client_ask(struct conclave *session, const struct cv_client_words *words, int64_t until_ms,
                  struct cv_text *answer)
{
    struct cv_resp_item item;
    *answer = (struct cv_text){0};
    int error = cv_client_connect(session);
    if (!error)
        error = put_question(session, words, NULL, true);
    if (!error)
        error = await(session, until_ms, answer);
    if (error == CONCLAVE_INTERRUPTED)
        hear_last_words(session, answer);
    if (error) {
        cv_client_disconnect(session);
        return error;
    }
    cv_resp_read_item(answer->start, answer->length, &item);
    return item.kind == CV_RESP_ERROR ? understand_error(session, item.text) : 0;
}

/* Sends HELLO and waits for the answer: a process that hangs accepts connections, but does not answer. */
static int greet(struct conclave *session)
{
    struct cv_client_words hello = {.count = 2, .word = {"HELLO", "3", "SETNAME", session->client}};
    struct cv_resp_item item;
    struct cv_text answer;
    session->out.protocol = 3;
    hello.count += session->client ? 2 : 0;
    int error = put_question(session, &hello, NULL, true);
    if (!error)
        error = await(session, cv_boot_ms() + session->timeout_ms, &answer);
    if (!error) {
        cv_resp_read_item(answer.start, answer.length, &item);
        if (item.kind == CV_RESP_ERROR)
            error = understand_error(session, item.text);
        else if (item.kind != CV_RESP_MAP)
            error = cv_client_fail(session, CONCLAVE_PROTOCOL, "an unexpected answer to HELLO 3");
    }
    return error;
}

/* Tries the server whose turn it is. */
static int try_server(struct conclave *session)
{
    const struct cv_text server = cv_client_server(session->servers, session->turn);
    char why[sizeof session->why];
    int error = cv_client_dial(session, server);
    if (!error)
        error = greet(session);
    if (!error)
        return 0;
    hang_up(session);
    session->turn++;
    memcpy(why, session->why, sizeof why);
    return cv_client_fail(session, error, "%.*s: %.350s", (int)(server.length < 100 ? server.length : 100),
                          server.start, why);
}

int cv_client_connect(struct conclave *session)
{
    int error = session->fd >= 0 ? 0 : CONCLAVE_INVALID;
    const size_t count = cv_client_servers(session->servers);
    for (size_t i = 0; i < count && error && error != CONCLAVE_INTERRUPTED; i++)
        error = try_server(session);
    return error;
}

int cv_client_connect_within(struct conclave *session, int timeout_ms)
{
    const int usual_ms = session->timeout_ms;
    session->timeout_ms = timeout_ms < usual_ms ? timeout_ms : usual_ms;
    const int error = try_server(session);
    session->timeout_ms = usual_ms;
    return error;
}

/* ---- opening and closing ---- */

static int open_credentials(struct conclave *session, const struct conclave_options *options)
{
    struct cv_tls_files files;
    struct cv_complaint complaint;
    if (!cv_line_files(options, &files))
        return 0;
    const int error = cv_tls_open(&session->credentials, CV_TLS_CLIENT, &files, "", &complaint);
    return error == 0           ? 0
           : error == CV_ENOMEM ? cv_client_no_memory(session)
                                : cv_client_fail(session, CONCLAVE_INVALID, "%s", complaint.text);
}

static int take_name(struct conclave *session, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i <= length; i++)
        if (length > CONCLAVE_CLIENT_BYTES || (i < length && (name[i] < '!' || name[i] > '~')))
            return cv_client_fail(
                session, CONCLAVE_INVALID,
                "client %s: expected a client's name of up to %d printable characters of ASCII, no spaces",
                cv_brief(name).text, CONCLAVE_CLIENT_BYTES);
    session->client = strdup(name);
    return session->client ? 0 : cv_client_no_memory(session);
}

int conclave_open(struct conclave **session, const char *servers, int timeout_ms)
{
    return conclave_open_with(session, &(struct conclave_options){.servers = servers, .timeout_ms = timeout_ms});
}

int conclave_open_with(struct conclave **session, const struct conclave_options *options)
{
    const char *variable = getenv("CONCLAVE_SERVER"), *servers = options->servers;
    if (!servers)
        servers = variable && *variable ? variable : "127.0.0.1:7700";
    int error = begin(session, servers, options->timeout_ms);
    if (!error && options->client)
        error = take_name(*session, options->client);
    if (!error)
        error = open_credentials(*session, options);
    return error ? error : cv_client_connect(*session);
}

/*
 * A hold with a time to live does not end with the connection, so it is ended here. If the server does not answer at
 * once, it ends when its time is over.
 */
static void give_up_all(struct conclave *session)
{
    int error = 0;
    for (struct cv_client_interest *each = session->interests; each && !error && session->fd >= 0; each = each->next) {
        char fence[24];
        struct cv_text answer;
        snprintf(fence, sizeof fence, "%" PRIu64, each->fence);
        const char *command = each->kind == CV_CLIENT_LED ? "RESIGN" : "UNLOCK";
        const struct cv_client_words words = {.count = 5,
                                              .word = {command, each->name, fence, "SECRET", session->secret}};
        if (!each->ttl_ms)
            continue;
        each->ttl_ms = 0;
        error = put_question(session, &words, NULL, true);
        if (!error)
            error = await(session, cv_boot_ms() + LAST_WORDS_MS, &answer);
    }
}

void conclave_close(struct conclave *session)
{
    if (!session)
        return;
    give_up_all(session);
    hang_up(session);
    while (session->interests)
        cv_client_forget(session, session->interests);
    while (session->first_event) {
        struct cv_client_event *first = session->first_event;
        session->first_event = first->next;
        free(first);
    }
    if (session->wake >= 0)
        close(session->wake);
    cv_resp_end(&session->out);
    cv_tls_close(session->credentials);
    free(session->servers);
    free(session->client);
    free(session->in);
    free(session);
}

void conclave_on_position(struct conclave *session, void (*told)(void *context, const char *name, uint64_t position),
                          void *context)
{
    session->told_position = told;
    session->position_context = context;
}

void conclave_interrupt(struct conclave *session)
{
    eventfd_write(session->wake, 1);
}

int conclave_fd(const struct conclave *session)
{
    return session->fd;
}
