// SPDX-License-Identifier: MIT
#include "run/address.h"

#include <netdb.h>
#include <netinet/in.h>
#include <string.h>

bool run_endpoint_find(struct run_endpoint *endpoint, const char *name)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (getaddrinfo(name, NULL, &hints, &found) || !found)
        return false;
    *endpoint = (struct run_endpoint){.length = found->ai_addrlen};
    memcpy(&endpoint->address, found->ai_addr, found->ai_addrlen);
    freeaddrinfo(found);
    return true;
}

void run_endpoint_any(struct run_endpoint *endpoint)
{
    if (endpoint->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&endpoint->address)->sin6_addr = in6addr_any;
    else
        ((struct sockaddr_in *)&endpoint->address)->sin_addr.s_addr = htonl(INADDR_ANY);
}

bool run_endpoint_loops(const struct run_endpoint *endpoint)
{
    if (endpoint->address.ss_family == AF_INET6)
        return IN6_IS_ADDR_LOOPBACK(&((const struct sockaddr_in6 *)&endpoint->address)->sin6_addr);
    return ntohl(((const struct sockaddr_in *)&endpoint->address)->sin_addr.s_addr) >> 24 == 127;
}

uint16_t run_endpoint_port(const struct run_endpoint *endpoint)
{
    return ntohs(endpoint->address.ss_family == AF_INET6 ? ((const struct sockaddr_in6 *)&endpoint->address)->sin6_port
                                                         : ((const struct sockaddr_in *)&endpoint->address)->sin_port);
}

void run_endpoint_set_port(struct run_endpoint *endpoint, uint16_t port)
{
    if (endpoint->address.ss_family == AF_INET6)
        ((struct sockaddr_in6 *)&endpoint->address)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)&endpoint->address)->sin_port = htons(port);
}

bool run_endpoint_text(const struct run_endpoint *endpoint, char *text, size_t room)
{
    return getnameinfo((const struct sockaddr *)&endpoint->address, endpoint->length, text, (socklen_t)room, NULL, 0,
                       NI_NUMERICHOST) == 0;
}
