// SPDX-License-Identifier: MIT
#include "run/rank_places.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ranks/ranks.h"
#include "secure/key.h"

#define MOST_RANKS 256u
#define MOST_ADDRESSES 8u
#define PATIENCE_MS 30000
#define CONNECT_MS 3000

/* What the first rank tells the others, through MPI. */
struct rendezvous {
    struct cv_key secret;
    uint32_t addresses[MOST_ADDRESSES]; /* of the first rank's machine, IPv4 */
    uint32_t address_count;
    uint16_t port;
    uint16_t unused;
};

/* What a rank says when it connects. */
struct rank_greeting {
    uint32_t rank;
    unsigned char proof[CV_KEY_BYTES];
};

bool cv_rank_places_find(struct cv_rank_places *ranks)
{
    *ranks = (struct cv_rank_places){.connection = -1};
    return cv_launch_find(&ranks->launch);
}

/* ---- MPI ---- */

/* What the child that speaks MPI tells its parent. */
struct exchanged {
    int error;
    struct cv_complaint complaint;
    struct rendezvous rendezvous;
};

static _Noreturn void exchange_in_child(const struct rendezvous *it, uint64_t work, int result)
{
    struct exchanged told = {.rendezvous = *it};
    struct cv_ranks *ranks;
    told.error = cv_ranks_join(&ranks, work, &told.complaint);
    if (!told.error)
        cv_ranks_broadcast(ranks, 0, &told.rendezvous, sizeof told.rendezvous);
    if (!told.error)
        cv_ranks_leave(ranks);
    _exit(write(result, &told, sizeof told) == (ssize_t)sizeof told ? 0 : 1);
}

/* In a child, so that neither the library's memory nor its threads stay. */
static int exchange(struct rendezvous *it, uint64_t work, struct cv_complaint *complaint)
{
    int result[2];
    if (pipe(result))
        return cv_complain(complaint, "pipe: %s", strerror(errno));
    const pid_t child = fork();
    if (child == 0)
        exchange_in_child(it, work, result[1]);
    close(result[1]);
    struct exchanged told;
    const bool whole = child > 0 && read(result[0], &told, sizeof told) == (ssize_t)sizeof told;
    close(result[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR)
        ;
    if (!whole)
        return cv_complain(complaint, "mpirun: MPI does not connect the ranks");
    if (told.error)
        *complaint = told.complaint;
    else
        *it = told.rendezvous;
    return told.error;
}

/* ---- meeting ---- */

static bool make_proof(const struct rendezvous *it, uint32_t rank, struct rank_greeting *greeting)
{
    struct cv_key proof;
    char name[32];
    snprintf(name, sizeof name, "rank-%u", rank);
    *greeting = (struct rank_greeting){.rank = rank};
    if (!cv_key_derive(&it->secret, cv_text(name), &proof))
        return false;
    memcpy(greeting->proof, proof.secret, sizeof greeting->proof);
    return true;
}

/* The addresses of this machine, the loopback address last. */
static void list_addresses(struct rendezvous *it)
{
    struct ifaddrs *all = NULL;
    if (getifaddrs(&all))
        all = NULL;
    for (const struct ifaddrs *each = all; each && it->address_count < MOST_ADDRESSES - 1; each = each->ifa_next)
        if (each->ifa_addr && each->ifa_addr->sa_family == AF_INET && each->ifa_flags & IFF_UP &&
            !(each->ifa_flags & IFF_LOOPBACK))
            it->addresses[it->address_count++] =
                ((const struct sockaddr_in *)(const void *)each->ifa_addr)->sin_addr.s_addr;
    it->addresses[it->address_count++] = htonl(INADDR_LOOPBACK);
    freeifaddrs(all);
}

static int listen_anywhere(struct rendezvous *it, struct cv_complaint *complaint)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    socklen_t length = sizeof here;
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made < 0 || bind(made, (const struct sockaddr *)&here, sizeof here) || listen(made, SOMAXCONN) ||
        getsockname(made, (struct sockaddr *)&here, &length)) {
        cv_complain(complaint, "listen: %s", strerror(errno));
        if (made >= 0)
            close(made);
        return -1;
    }
    it->port = here.sin_port;
    return made;
}

/* Connects within so many ms; -1: nobody answers there. */
static int connect_within(const struct sockaddr_in *address, int ms)
{
    const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd ready = {.fd = made, .events = POLLOUT};
    int error = 0;
    socklen_t length = sizeof error;
    if (made < 0)
        return -1;
    if ((connect(made, (const struct sockaddr *)address, sizeof *address) && errno != EINPROGRESS) ||
        poll(&ready, 1, ms) != 1 || getsockopt(made, SOL_SOCKET, SO_ERROR, &error, &length) || error) {
        close(made);
        return -1;
    }
    return made;
}

/* The first rank answers a good greeting with one byte; anybody else may listen at such an address, too. */
static int meet_first(const struct cv_rank_places *ranks, const struct rendezvous *it, struct cv_complaint *complaint)
{
    struct rank_greeting greeting;
    if (!make_proof(it, ranks->launch.rank, &greeting))
        return cv_complain(complaint, "rank %u: OpenSSL is missing", ranks->launch.rank);
    for (uint32_t i = 0; i < it->address_count && i < MOST_ADDRESSES; i++) {
        const struct sockaddr_in address = {
            .sin_family = AF_INET, .sin_port = it->port, .sin_addr.s_addr = it->addresses[i]};
        const int made = connect_within(&address, CONNECT_MS);
        struct pollfd ready = {.fd = made, .events = POLLIN};
        char answer;
        if (made < 0)
            continue;
        if (send(made, &greeting, sizeof greeting, MSG_NOSIGNAL) == (ssize_t)sizeof greeting &&
            poll(&ready, 1, PATIENCE_MS) == 1 && read(made, &answer, 1) == 1)
            return made;
        close(made);
    }
    return cv_complain(complaint, "rank %u: cannot reach rank 0 at any of its addresses", ranks->launch.rank);
}

static char *address_text(const struct sockaddr_in *address)
{
    char text[INET_ADDRSTRLEN];
    return inet_ntop(AF_INET, &address->sin_addr, text, sizeof text) ? strdup(text) : NULL;
}

/* Takes one connection; false: a stranger's. */
static bool take_rank(struct cv_rank_places *ranks, const struct rendezvous *it, int made)
{
    struct rank_greeting greeting, expected;
    struct sockaddr_in there, here;
    socklen_t there_length = sizeof there, here_length = sizeof here;
    struct pollfd ready = {.fd = made, .events = POLLIN};
    const int yes = 1;
    if (poll(&ready, 1, CONNECT_MS) != 1 ||
        recv(made, &greeting, sizeof greeting, MSG_WAITALL | MSG_DONTWAIT) != (ssize_t)sizeof greeting ||
        !greeting.rank || greeting.rank >= ranks->launch.size || ranks->places[greeting.rank].file >= 0 ||
        !make_proof(it, greeting.rank, &expected) || !cv_key_same(greeting.proof, expected.proof) ||
        getpeername(made, (struct sockaddr *)&there, &there_length) ||
        getsockname(made, (struct sockaddr *)&here, &here_length) || send(made, "!", 1, MSG_NOSIGNAL) != 1)
        return false;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ranks->places[greeting.rank].file = made;
    ranks->places[greeting.rank].address = address_text(&there);
    if (!ranks->places[0].address) /* where the others reach this machine */
        ranks->places[0].address = address_text(&here);
    return true;
}

static int meet_others(struct cv_rank_places *ranks, const struct rendezvous *it, int listener,
                       struct cv_complaint *complaint)
{
    for (uint32_t met = 1; met < ranks->launch.size;) {
        struct pollfd ready = {.fd = listener, .events = POLLIN};
        if (poll(&ready, 1, PATIENCE_MS) != 1)
            return cv_complain(complaint, "mpirun: only %u of %u ranks have come", met, ranks->launch.size);
        const int made = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (made < 0)
            continue;
        if (take_rank(ranks, it, made))
            met++;
        else
            close(made);
    }
    return 0;
}

/* ---- joining ---- */

static void ignore_signals(void)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGTERM, SIG_IGN);
}

/* The first rank's own place is a process of its own. In it, this returns 0 with a connection. */
static int start_own(struct cv_rank_places *ranks, struct cv_complaint *complaint)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
        return cv_complain(complaint, "socketpair: %s", strerror(errno));
    ranks->own = fork();
    if (ranks->own == 0) {
        for (uint32_t i = 1; i < ranks->launch.size; i++)
            close(ranks->places[i].file);
        close(pair[0]);
        ignore_signals();
        ranks->connection = pair[1];
        return 0;
    }
    close(pair[1]);
    ranks->places[0].file = pair[0];
    return ranks->own > 0 ? 0 : cv_complain(complaint, "fork: %s", strerror(errno));
}

static int make_places(struct cv_rank_places *ranks)
{
    ranks->places = calloc(ranks->launch.size, sizeof *ranks->places);
    if (!ranks->places)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < ranks->launch.size; i++) {
        char *name = NULL;
        if (asprintf(&name, "rank %u", i) < 0)
            return CV_ENOMEM;
        ranks->places[i] = (struct cv_place){.name = name, .share = 1, .file = -1, .errors = -1};
    }
    return 0;
}

/* What mpirun ends is ended here: the first rank with a report, the others when it closes the connection. */
static void share_fate(const struct cv_rank_places *ranks)
{
    if (ranks->launch.rank == 0) {
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        return;
    }
    ignore_signals();
}

int cv_rank_places_join(struct cv_rank_places *ranks, uint64_t work, struct cv_complaint *complaint)
{
    struct rendezvous it = {.port = 0};
    int listener = -1, error = 0;
    if (ranks->launch.size > MOST_RANKS)
        return cv_complain(complaint, "mpirun -n %u: expected at most %u ranks", ranks->launch.size, MOST_RANKS);
    share_fate(ranks);
    if (ranks->launch.rank == 0) {
        error = make_places(ranks);
        if (!error && cv_key_make(&it.secret, "ranks"))
            error = cv_complain(complaint, "getrandom: %s", strerror(errno));
        if (!error && (listener = listen_anywhere(&it, complaint)) < 0)
            error = CV_EINPUT;
        list_addresses(&it);
    }
    if (!error)
        error = exchange(&it, work, complaint);
    if (!error && ranks->launch.rank == 0)
        error = meet_others(ranks, &it, listener, complaint);
    if (listener >= 0)
        close(listener);
    if (!error && ranks->launch.rank == 0)
        error = start_own(ranks, complaint);
    if (!error && ranks->launch.rank) {
        ranks->connection = meet_first(ranks, &it, complaint);
        error = ranks->connection < 0 ? CV_EINPUT : 0;
    }
    cv_key_wipe(&it, sizeof it);
    return error;
}

void cv_rank_places_leave(struct cv_rank_places *ranks)
{
    for (uint32_t i = 0; ranks->places && i < ranks->launch.size; i++) {
        if (ranks->places[i].file >= 0)
            close(ranks->places[i].file);
        free((void *)(uintptr_t)ranks->places[i].name);
        free((void *)(uintptr_t)ranks->places[i].address);
    }
    while (ranks->own > 0 && waitpid(ranks->own, NULL, 0) < 0 && errno == EINTR)
        ;
    free(ranks->places);
    ranks->places = NULL;
}
