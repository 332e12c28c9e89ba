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

/* From the file alone: a directory service takes its time, and libc's way to it crashes if memory runs out. */
static void take_user(char user[USER_ROOM])
{
    FILE *file = fopen("/etc/passwd", "re");
    const struct passwd *known = file ? fgetpwent(file) : NULL;
    while (known && known->pw_uid != geteuid())
        known = fgetpwent(file);
    if (known)
        take(user, USER_ROOM, known->pw_name);
    else
        snprintf(user, USER_ROOM, "%u", (unsigned)geteuid());
    if (file)
        fclose(file);
}

void hold_name(char name[CONCLAVE_CLIENT_BYTES + 1], const char *command)
{
    char user[USER_ROOM], host[HOST_ROOM], program[COMMAND_ROOM], machine[256] = "";
    const char *slash = strrchr(command, '/');
    take_user(user);
    if (gethostname(machine, sizeof machine - 1))
        machine[0] = '\0';
    machine[strcspn(machine, ".")] = '\0';
    take(host, sizeof host, machine);
    take(program, sizeof program, slash && slash[1] ? slash + 1 : command);
    snprintf(name, CONCLAVE_CLIENT_BYTES + 1, "%s@%s:%u:%s", user, host, (unsigned)getpid(), program);
}
