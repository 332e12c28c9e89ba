// SPDX-License-Identifier: MIT
/* Where processes listen, and how those of an experiment know each other. */
#ifndef CONCLAVE_RUN_ADDRESS_H
#define CONCLAVE_RUN_ADDRESS_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "run/control.h"

/*
 * The address of a slot's process. On one machine it is an abstract Unix address, which leaves no file behind; between
 * machines the place of the process has told where it listens.
 */
static inline socklen_t run_address(struct sockaddr_storage *address, const struct run_network *network, uint32_t slot)
{
    if (network->endpoints) {
        *address = network->endpoints[slot].address;
        return network->endpoints[slot].length;
    }
    struct sockaddr_un *local = (void *)address;
    *local = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int length = snprintf(local->sun_path + 1, sizeof local->sun_path - 1, "conclave-run-%016llx-%u",
                                (unsigned long long)network->key, slot);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* The first address of a name, or of an address in digits; port 0. False: there is none. */
bool run_endpoint_find(struct run_endpoint *endpoint, const char *name);
/* All addresses of the machine. */
void run_endpoint_any(struct run_endpoint *endpoint);
/* Does it lead back to the machine that uses it? */
bool run_endpoint_loops(const struct run_endpoint *endpoint);
uint16_t run_endpoint_port(const struct run_endpoint *endpoint);
void run_endpoint_set_port(struct run_endpoint *endpoint, uint16_t port);
/* In digits. */
bool run_endpoint_text(const struct run_endpoint *endpoint, char *text, size_t room);

#endif
