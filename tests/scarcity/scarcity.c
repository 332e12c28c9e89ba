// SPDX-License-Identifier: MIT
/*
 * A library that is preloaded into a program and makes its allocations or descriptors fail when a test says so. Test
 * and program share a file of numbers, named by SCARCITY:
 *
 *     memory       calls so far, the first that fails, the first after it that succeeds again
 *     descriptors  the same
 *
 * It affects only programs of the name "conclave", or SCARCITY_NAME, not others that these start.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// NOLINTBEGIN(clang-diagnostic-reserved-identifier): the C library's own names, which this one stands before
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
// NOLINTEND(clang-diagnostic-reserved-identifier)

struct resource {
    _Atomic int64_t calls;
    _Atomic int64_t first, end;
};

static struct {
    struct resource memory, descriptors;
} * shared;

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SCARCITY"), *name = getenv("SCARCITY_NAME");
    if (!path || strcmp(program_invocation_short_name, name ? name : "conclave") != 0)
        return;
    const long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
    void *place = fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED, (int)fd, 0);
    if (fd >= 0)
        close((int)fd);
    if (place != MAP_FAILED)
        shared = place;
}

static int runs_out(struct resource *resource, int error)
{
    const int64_t call = atomic_fetch_add(&resource->calls, 1);
    if (call < atomic_load(&resource->first) || call >= atomic_load(&resource->end))
        return 0;
    errno = error;
    return 1;
}

#define NO_MEMORY (shared && runs_out(&shared->memory, ENOMEM))
#define NO_DESCRIPTOR (shared && runs_out(&shared->descriptors, EMFILE))

void *malloc(size_t size)
{
    return NO_MEMORY ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return NO_MEMORY ? NULL : __libc_calloc(count, size);
}

void *realloc(void *block, size_t size)
{
    return NO_MEMORY ? NULL : __libc_realloc(block, size);
}

static int open_at(int directory, const char *path, int flags, va_list arguments)
{
    const unsigned mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, unsigned) : 0;
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_openat, directory, path, flags, mode);
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_at(AT_FDCWD, path, flags, arguments);
    va_end(arguments);
    return fd;
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_at(AT_FDCWD, path, flags, arguments);
    va_end(arguments);
    return fd;
}

int openat(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_at(directory, path, flags, arguments);
    va_end(arguments);
    return fd;
}

int openat64(int directory, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    const int fd = open_at(directory, path, flags, arguments);
    va_end(arguments);
    return fd;
}

/* A program built with checked copies calls these. */
// NOLINTBEGIN(clang-diagnostic-reserved-identifier): they are the C library's
int __open_2(const char *path, int flags);
int __open_2(const char *path, int flags)
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

int __open64_2(const char *path, int flags);
int __open64_2(const char *path, int flags)
{
    return __open_2(path, flags);
}
// NOLINTEND(clang-diagnostic-reserved-identifier)

int socket(int domain, int type, int protocol)
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_socket, domain, type, protocol);
}

int socketpair(int domain, int type, int protocol, int pair[2])
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_socketpair, domain, type, protocol, pair);
}

int accept(int fd, struct sockaddr *restrict address, socklen_t *restrict length)
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_accept, fd, address, length);
}

int accept4(int fd, struct sockaddr *restrict address, socklen_t *restrict length, int flags)
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_accept4, fd, address, length, flags);
}

int pipe(int pair[2])
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_pipe2, pair, 0);
}

int pipe2(int pair[2], int flags)
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_pipe2, pair, flags);
}

int eventfd(unsigned count, int flags)
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_eventfd2, count, flags);
}

int epoll_create1(int flags)
{
    return NO_DESCRIPTOR ? -1 : (int)syscall(SYS_epoll_create1, flags);
}
