// SPDX-License-Identifier: MIT
/*
 * Scripts of lock libraries for Redis. No script is run: a script is known by its text, without comments and white
 * space, and the table in redis_script.c says what it does. So a library works unchanged, and no other script does.
 */
#ifndef CONCLAVE_SERVICE_REDIS_SCRIPT_H
#define CONCLAVE_SERVICE_REDIS_SCRIPT_H

#include <stdint.h>

#include "core/parse.h"
#include "core/sha1.h"

#define REDIS_SCRIPTS_LOADED 64u /* that a node remembers by the SHA-1 of their text; a library loads them again */

enum redis_script_verb {
    REDIS_SCRIPT_ACQUIRE,  /* all names or none: how many, or 0 */
    REDIS_SCRIPT_RELEASE,  /* those that the token holds: how many */
    REDIS_SCRIPT_EXTEND,   /* those times to live begin anew: how many, or 0 */
    REDIS_SCRIPT_LENGTHEN, /* one name lasts longer by the time that is given, or 0 */
};

struct redis_script {
    const char *hash; /* SHA-1 of its normal form: redis_script_hash() */
    enum redis_script_verb verb;
    uint32_t keys;      /* how many names it takes; 0: any number */
    uint32_t arguments; /* how many words follow the names */
    uint32_t unit_ms;   /* of the time that is the second of them; 0: it has none */
};

/* Scripts that clients have sent or loaded, by the SHA-1 of their text. Zeroed: none. */
struct redis_scripts {
    struct {
        struct cv_sha1 name;
        const struct redis_script *script; /* NULL: the place is free */
    } loaded[REDIS_SCRIPTS_LOADED];
    uint32_t next; /* the place to use again */
};

/* The SHA-1 of the script's normal form: without comments, and only the white space that keeps two words apart. */
struct cv_sha1 redis_script_hash(struct cv_text text);
/* The known script with that text, or NULL. */
const struct redis_script *redis_script_of(struct cv_text text);

/* Remembers the script under the SHA-1 of its text, which is returned. */
struct cv_sha1 redis_script_load(struct redis_scripts *scripts, struct cv_text text, const struct redis_script *script);
/* The loaded script of that name, or NULL. */
const struct redis_script *redis_script_find(const struct redis_scripts *scripts, struct cv_text name);

#endif
