// SPDX-License-Identifier: MIT
/* Where a process listens: an abstract Unix address, which leaves no file behind. */
#ifndef CONCLAVE_RUN_ADDRESS_H
#define CONCLAVE_RUN_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

static inline socklen_t run_address(struct sockaddr_un *address, uint64_t key, uint32_t slot)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(address->sun_path + 1, sizeof address->sun_path - 1, "conclave-run-%016llx-%u",
                                (unsigned long long)key, slot);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

#endif
