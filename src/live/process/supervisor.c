// SPDX-License-Identifier: MIT
#include "live/process/supervisor.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/parse.h"

void cv_supervisor_tell(const char *format, ...)
{
    const char *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const size_t length = path ? strlen(path) : 0;
    char text[512];
    va_list arguments;
    if (length < 2 || length >= sizeof address.sun_path || (*path != '/' && *path != '@'))
        return;
    memcpy(address.sun_path, path, length);
    if (*path == '@')
        address.sun_path[0] = '\0'; /* an abstract socket */
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    /* If the datagram is lost, the manager notices by itself. */
    (void)!sendto(fd, text, strlen(text), MSG_NOSIGNAL, (const struct sockaddr *)&address,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length));
    close(fd);
}

uint64_t cv_supervisor_patience(void)
{
    const char *time = getenv("WATCHDOG_USEC"), *process = getenv("WATCHDOG_PID");
    uint64_t time_us, pid;
    if (!time || !cv_parse_number(cv_text(time), UINT64_MAX / 2, &time_us))
        return 0;
    if (process && (!cv_parse_number(cv_text(process), INT32_MAX, &pid) || (pid_t)pid != getpid()))
        return 0; /* meant for another process */
    return time_us;
}
