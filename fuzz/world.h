// SPDX-License-Identifier: MIT
/*
 * A world for whole nodes in one process: time that passes only when it is told to, sockets that are real, disks that
 * work when they are told to, chance that the input decides. Linked with --wrap for what libuv and the disk would do in
 * threads.
 */
#ifndef CONCLAVE_FUZZ_WORLD_H
#define CONCLAVE_FUZZ_WORLD_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "fuzz/algorithm.h"
#include "fuzz/input.h"
#include "group/raft/disk.h"
#include "live/settings/settings.h"
#include "service/http/http.h"

#define PORT 7701
#define NODES 3u
#define JOBS 64u
#define READ_NS 200u      /* a look at the clock */
#define LAST_TURN_US 5000 /* a turn of the loop of a node that ends */

struct node {
    struct cv_settings settings;
    struct cv_member member;
    struct cv_service service;
    struct cv_http http;
    struct cv_disk *disk; /* that works when it is told to */
    void (*wake)(void *data);
    void *wake_data;
    bool open, paused;
};

/* What libuv would do beside the loop. */
struct job {
    struct node *node;
    uv_work_t *work;
    uv_work_cb run;
    uv_after_work_cb after;
    uv_getaddrinfo_t *lookup;
    uv_getaddrinfo_cb found;
};

static struct node nodes[NODES];
static uint32_t node_count;
static struct node *current; /* whose code runs */
static bool ending;
static struct job jobs[JOBS];
static uint32_t job_count;
static uint64_t now_ns = 1000000000000;
static uint64_t chance;

/* ---- time and chance ---- */

int clock_gettime(clockid_t clock, struct timespec *time)
{
    if (clock == CLOCK_REALTIME || clock == CLOCK_PROCESS_CPUTIME_ID || clock == CLOCK_THREAD_CPUTIME_ID)
        return (int)syscall(SYS_clock_gettime, clock, time);
    now_ns += READ_NS;
    *time = (struct timespec){(time_t)(now_ns / 1000000000), (long)(now_ns % 1000000000)};
    return 0;
}

static uint64_t draw(void)
{
    chance ^= chance << 13;
    chance ^= chance >> 7;
    return chance ^= chance << 17;
}

ssize_t getrandom(void *bytes, size_t length, unsigned flags)
{
    (void)flags;
    for (size_t i = 0; i < length; i++)
        ((unsigned char *)bytes)[i] = (unsigned char)(draw() >> 24);
    return (ssize_t)length;
}

/* ---- what would happen in threads ---- */

static bool work(struct node *node);

int __real_disk_open(struct cv_disk **, const struct cv_disk_options *, struct cv_journal *, struct cv_complaint *);
int __wrap_disk_open(struct cv_disk **, const struct cv_disk_options *, struct cv_journal *, struct cv_complaint *);
void __real_disk_close(struct cv_disk *);
void __wrap_disk_close(struct cv_disk *);
int __real_uv_run(uv_loop_t *, uv_run_mode);
int __wrap_uv_run(uv_loop_t *, uv_run_mode);
int __wrap_uv_queue_work(uv_loop_t *, uv_work_t *, uv_work_cb, uv_after_work_cb);
int __wrap_uv_getaddrinfo(uv_loop_t *, uv_getaddrinfo_t *, uv_getaddrinfo_cb, const char *, const char *,
                          const struct addrinfo *);

int __wrap_disk_open(struct cv_disk **disk, const struct cv_disk_options *options, struct cv_journal *found,
                     struct cv_complaint *complaint)
{
    struct cv_disk_options slow = *options;
    slow.threaded = false;
    const int error = __real_disk_open(disk, &slow, found, complaint);
    if (!error) {
        current->disk = *disk;
        current->wake = options->wake;
        current->wake_data = options->wake_data;
    }
    return error;
}

void __wrap_disk_close(struct cv_disk *disk)
{
    for (uint32_t i = 0; i < NODES; i++)
        if (nodes[i].disk == disk)
            nodes[i].disk = NULL;
    __real_disk_close(disk);
}

int __wrap_uv_run(uv_loop_t *loop, uv_run_mode mode)
{
    if (ending && mode == UV_RUN_ONCE) {
        now_ns += LAST_TURN_US * 1000ull;
        work(current);
        mode = UV_RUN_NOWAIT;
    }
    return __real_uv_run(loop, mode);
}

int __wrap_uv_queue_work(uv_loop_t *loop, uv_work_t *work, uv_work_cb run, uv_after_work_cb after)
{
    assert(loop && job_count < JOBS);
    jobs[job_count++] = (struct job){.node = current, .work = work, .run = run, .after = after};
    return 0;
}

/* Nobody knows any name. */
int __wrap_uv_getaddrinfo(uv_loop_t *loop, uv_getaddrinfo_t *lookup, uv_getaddrinfo_cb found, const char *name,
                          const char *service, const struct addrinfo *hints)
{
    (void)name, (void)service, (void)hints;
    assert(loop);
    if (job_count == JOBS)
        return UV_ENOMEM;
    jobs[job_count++] = (struct job){.node = current, .lookup = lookup, .found = found};
    return 0;
}

/* True if anything was done. */
static bool work(struct node *node)
{
    bool any = false;
    current = node;
    while (node->disk && disk_work(node->disk)) {
        node->wake(node->wake_data);
        any = true;
    }
    for (uint32_t i = 0; i < job_count;) {
        const struct job job = jobs[i];
        if (job.node != node) {
            i++;
            continue;
        }
        jobs[i] = jobs[--job_count];
        any = true;
        if (job.found) {
            job.found(job.lookup, UV_EAI_NONAME, NULL);
        } else {
            job.run(job.work);
            job.after(job.work, 0);
        }
    }
    return any;
}

/* ---- sockets ---- */

static const char *home(void)
{
    static char path[64];
    if (!*path) {
        snprintf(path, sizeof path, "/dev/shm/conclave-fuzz-%d", (int)getpid());
        const int made = mkdir(path, 0700);
        assert(made == 0 || errno == EEXIST);
        (void)made;
    }
    return path;
}

static struct sockaddr_un path_of(const char *what, uint32_t node)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s/%s%u", home(), what, node);
    return address;
}

/* Members have addresses of the internet, 127.0.64.N, and meet by sockets of this machine: what is written to one can
   be read at once, which the kernel does not promise of TCP. */
int socket(int domain, int type, int protocol)
{
    return (int)syscall(SYS_socket, domain == AF_INET ? AF_UNIX : domain, type, domain == AF_INET ? 0 : protocol);
}

static bool is_member(const struct sockaddr *address, uint32_t *node)
{
    struct sockaddr_in other;
    if (address->sa_family != AF_INET)
        return false;
    memcpy(&other, address, sizeof other);
    const uint32_t host = ntohl(other.sin_addr.s_addr);
    *node = host % 256 - 1;
    return host >> 8 == (127u << 16 | 64) && *node < NODES && other.sin_port == htons(PORT);
}

int bind(int fd, const struct sockaddr *address, socklen_t length)
{
    uint32_t node;
    if (!is_member(address, &node))
        return (int)syscall(SYS_bind, fd, address, length);
    const struct sockaddr_un path = path_of("peers", node);
    unlink(path.sun_path);
    return (int)syscall(SYS_bind, fd, &path, sizeof path);
}

/* Whoever calls a member reaches the one who listens in instead, who calls that member. */
int connect(int fd, const struct sockaddr *address, socklen_t length)
{
    uint32_t node;
    if (!is_member(address, &node) && address->sa_family == AF_INET) {
        errno = ECONNREFUSED;
        return -1;
    }
    if (address->sa_family != AF_INET)
        return (int)syscall(SYS_connect, fd, address, length);
    const struct sockaddr_un path = path_of("door", node);
    return (int)syscall(SYS_connect, fd, &path, sizeof path);
}

/* -1 if nobody listens there. */
static int call(const char *what, uint32_t node)
{
    const struct sockaddr_un path = path_of(what, node);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert(fd >= 0);
    if (syscall(SYS_connect, fd, &path, sizeof path) == 0)
        return fd;
    close(fd);
    return -1;
}

static void hang_up(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* ---- nodes ---- */

static void set(struct cv_settings *settings, const char *section, const char *key, const char *value)
{
    struct cv_complaint complaint = {{0}};
    if (cv_settings_set(settings, section, key, value, fuzz_find_algorithm, &complaint) != 0) {
        fprintf(stderr, "[%s] %s = %s: %s\n", section, key, value, complaint.text);
        abort();
    }
}

static void set_up(struct cv_settings *settings, uint32_t index, bool raft)
{
    static const char *const rules[][2] = {
        {"lock l*", "lamport"}, {"lock m*", "maekawa"}, {"lock t*", "token-ring"}, {"lock r*", "ricart-agrawala"}};
    char text[128], key[16];
    cv_settings_init(settings, fuzz_find_algorithm);
    snprintf(text, sizeof text, "%u", index + 1);
    set(settings, "node", "id", text);
    snprintf(text, sizeof text, "%s/clients%u", home(), index);
    set(settings, "node", "listen", text);
    snprintf(text, sizeof text, "%s/http%u", home(), index);
    set(settings, "node", "http", text);
    snprintf(text, sizeof text, "%s/directory%u", home(), index);
    if (raft)
        set(settings, "node", "directory", text);
    set(settings, "group", "mode", raft ? "raft" : "static");
    for (uint32_t i = 0; i < sizeof rules / sizeof *rules; i++)
        set(settings, rules[i][0], "algorithm", rules[i][1]);
    for (uint32_t i = 0; node_count > 1 && i < node_count; i++) {
        snprintf(key, sizeof key, "%u", i + 1);
        snprintf(text, sizeof text, "127.0.64.%u:%d", i + 1, PORT);
        set(settings, "members", key, text);
    }
}

static void open_node(uint32_t index, bool raft, const struct cv_recorder *recorder)
{
    struct node *node = &nodes[index];
    struct cv_complaint complaint = {{0}};
    memset(node, 0, sizeof *node);
    current = node;
    set_up(&node->settings, index, raft);
    int error = cv_settings_finish(&node->settings, fuzz_find_algorithm, &complaint);
    node->member.recorder = *recorder;
    node->member.recorder.context = node;
    cv_service_init(&node->service, &node->member, &node->settings);
    if (!error)
        error = cv_member_open(&node->member, &node->settings, &complaint);
    for (uint32_t i = 0; !error && i < node->settings.listen_count; i++)
        error = cv_service_listen(&node->service, "listen", node->settings.listen[i], &complaint);
    if (!error)
        error = cv_http_open(&node->http, &node->service, &node->settings, &complaint);
    if (error) {
        fprintf(stderr, "node %u does not start: %d %s\n", index + 1, error, complaint.text);
        abort();
    }
    node->open = node->member.loop.running = true;
}

static void close_node(struct node *node)
{
    if (!node->open)
        return;
    current = node;
    ending = true;
    work(node);
    node->member.loop.running = false;
    cv_service_close(&node->service);
    work(node);
    cv_member_close(&node->member);
    cv_service_free(&node->service);
    cv_settings_free(&node->settings);
    ending = false;
    node->open = false;
}

static void empty(const char *path)
{
    DIR *directory = opendir(path);
    for (const struct dirent *entry; directory && (entry = readdir(directory));)
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
}

/* All that nodes wrote. */
static void clean(void)
{
    char path[128];
    for (uint32_t i = 0; i < NODES; i++) {
        snprintf(path, sizeof path, "%s/directory%u", home(), i);
        empty(path);
        rmdir(path);
    }
}

#endif
