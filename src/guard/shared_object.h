// SPDX-License-Identifier: MIT
/*
 * A loaded object: where its code is, and its global variables. These can be closed: then a handler that writes to one
 * is stopped, whichever it is and however seldom.
 */
#ifndef CONCLAVE_GUARD_SHARED_OBJECT_H
#define CONCLAVE_GUARD_SHARED_OBJECT_H

#include <link.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_object {
    const char *path;
    uintptr_t base;             /* what is added to the addresses in the file */
    uintptr_t begin, end;       /* all of it */
    uintptr_t code, code_end;   /* what can be run */
    uintptr_t fixed, fixed_end; /* what the linker has closed after it was filled in: tables of addresses */
    uintptr_t globals, globals_end;
    const ElfW(Dyn) * dynamic;
    bool closed; /* the globals are */
};

/* Finds the object that has that address. False: none has, or it is the program itself. */
bool shared_object_find(const void *address, struct shared_object *object);

/* Closes its globals, unless it was compiled to count or to check what it does, which it does there. */
void shared_object_close(struct shared_object *object);

/* Opens the globals of the object that has that address. False: it is none of those that are closed. */
bool shared_object_open(const void *address);

bool shared_object_has_code(const struct shared_object *object, const void *address);

/* Is the address one of a closed global? */
bool shared_object_has_global(const struct shared_object *object, const void *address);

/* The name of the variable that has the address; "" if the file does not tell. */
const char *shared_object_name(const struct shared_object *object, const void *address, char *text, size_t room);

#endif
