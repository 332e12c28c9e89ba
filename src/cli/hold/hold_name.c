// SPDX-License-Identifier: MIT
#include "cli/hold/hold_name.h"

#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define USER_ROOM 32u
#define HOST_ROOM 41u
#define COMMAND_ROOM 36u

_Static_assert(USER_ROOM + HOST_ROOM + COMMAND_ROOM + sizeof "@::" + 11 <= CONCLAVE_CLIENT_BYTES,
               "all parts have room");

/* Servers take nothing but printable characters of ASCII, without spaces. */
static void take(char *to, size_t room, const char *from)
{
    size_t length = 0;
    for (; from[length] && length < room - 1; length++)
        to[length] = (char)(from[length] < '!' || from[length] > '~' ? '_' : from[length]);
    to[length] = '\0';
}

void hold_name(char name[CONCLAVE_CLIENT_BYTES + 1], const char *command)
{
    char user[USER_ROOM], host[HOST_ROOM], program[COMMAND_ROOM], digits[16], machine[256] = "";
    const struct passwd *known = getpwuid(geteuid());
    const char *slash = strrchr(command, '/');
    snprintf(digits, sizeof digits, "%u", (unsigned)geteuid());
    take(user, sizeof user, known && known->pw_name ? known->pw_name : digits);
    if (gethostname(machine, sizeof machine - 1))
        machine[0] = '\0';
    machine[strcspn(machine, ".")] = '\0';
    take(host, sizeof host, machine);
    take(program, sizeof program, slash && slash[1] ? slash + 1 : command);
    snprintf(name, CONCLAVE_CLIENT_BYTES + 1, "%s@%s:%u:%s", user, host, (unsigned)getpid(), program);
}
