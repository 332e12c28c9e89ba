// SPDX-License-Identifier: MIT
/* `conclave tunnel`: a connection on standard input and output, for programs that cannot speak the servers' TLS. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/command.h"

#define TIMEOUT_MS 2000
#define PIECE 16384u

struct request {
    struct conclave_options options;
};

static const struct option_row rows[] = {
    ASK_SERVER_ROWS(struct request, options),
    {0},
};

const struct options tunnel_options = {
    .name = "tunnel",
    .usage = "[OPTION...]",
    .about = "Connects with a server, and passes on what comes from standard input and what the server answers to "
             "standard output, until one of them ends. For clients in languages that know no TLS by a shared key: "
             "they start it and speak RESP with it.",
    .rows = rows,
    .no_words = true,
    .lenient = true,
};

/* Bytes of standard input that the server has yet to take. */
struct parcel {
    char bytes[PIECE];
    size_t length, sent;
    bool over; /* nothing more will come */
};

/* False: the connection is gone. */
static bool pass_on(struct ask *ask, struct parcel *parcel)
{
    while (parcel->sent < parcel->length || cv_line_unsent(ask->tls)) {
        const ssize_t sent =
            cv_line_send(ask->fd, ask->tls, parcel->bytes + parcel->sent, parcel->length - parcel->sent);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        parcel->sent += (size_t)sent;
    }
    if (parcel->over)
        shutdown(ask->fd, SHUT_WR);
    return true;
}

static void take(struct parcel *parcel)
{
    const ssize_t length = read(STDIN_FILENO, parcel->bytes, sizeof parcel->bytes);
    parcel->over = length == 0 || (length < 0 && errno != EINTR && errno != EAGAIN);
    parcel->length = length > 0 ? (size_t)length : 0;
    parcel->sent = 0;
}

static bool write_all(const char *bytes, size_t length)
{
    while (length) {
        const ssize_t written = write(STDOUT_FILENO, bytes, length);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return false;
        bytes += written;
        length -= (size_t)written;
    }
    return true;
}

/* False: one of the two has ended. */
static bool bring_back(struct ask *ask)
{
    char bytes[PIECE];
    for (;;) {
        const ssize_t length = cv_line_receive(ask->fd, ask->tls, bytes, sizeof bytes);
        if (length < 0 && errno == EINTR)
            continue;
        if (length < 0 && errno == EAGAIN)
            return true;
        if (length <= 0 || !write_all(bytes, (size_t)length))
            return false;
    }
}

static void carry(struct ask *ask)
{
    struct parcel parcel = {.length = 0};
    for (;;) {
        const bool waiting = parcel.sent < parcel.length || cv_line_unsent(ask->tls);
        struct pollfd ready[] = {
            {.fd = parcel.over || waiting ? -1 : STDIN_FILENO, .events = POLLIN},
            {.fd = ask->fd, .events = waiting ? POLLIN | POLLOUT : POLLIN},
        };
        if (poll(ready, 2, -1) < 0 && errno != EINTR)
            return;
        if (ready[0].revents)
            take(&parcel);
        if ((ready[0].revents || waiting) && !pass_on(ask, &parcel))
            return;
        if (ready[1].revents && !bring_back(ask))
            return;
    }
}

int command_tunnel(int argc, char **argv)
{
    struct request request = {0};
    struct cv_complaint complaint;
    struct ask ask;
    int code;
    if (!options_take(&tunnel_options, argc, argv, &request, &code))
        return code;
    const int error = ask_with(&request.options, &complaint);
    if (error)
        return command_fail(error, &complaint);
    const char *servers = ask_servers(request.options.servers);
    if (!ask_open_any(&ask, servers, TIMEOUT_MS))
        return ask_refuse_none(&ask, servers);
    carry(&ask);
    ask_close(&ask);
    return EXIT_HELD;
}
