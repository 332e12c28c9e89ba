// SPDX-License-Identifier: MIT
#include "service/redis_script.h"

#include <string.h>
#include <strings.h>

#define LONGEST_SCRIPT 4096u

/* ---- the table ---- */

/*
 * The error that refuses an unknown script tells its hash: a new row is that hash, and what the script does. All of
 * them compare the value of the key with the first argument; tests/live/redis.py has texts of theirs.
 */
static const struct redis_script known[] = {
    /* "Distributed locks with Redis", redis.io/docs, and the many that follow it: `else return 0 end` */
    {"278b7fc39f087c6276c7b7c08962022c4fe73ba6", REDIS_SCRIPT_RELEASE, 1, 1, 0},   /* del */
    {"43e9817a622cba86ea5a7b09b0c27646e33f4699", REDIS_SCRIPT_EXTEND, 1, 2, 1},    /* pexpire */
    {"e27385891d7fe11baa62e6758fefe312e058f336", REDIS_SCRIPT_EXTEND, 1, 2, 1000}, /* expire */
    /* the same with `end return 0` */
    {"4a2b93c641e26a1ee37fe8a6683a72a507f6895b", REDIS_SCRIPT_RELEASE, 1, 1, 0},
    {"2246c9eb296c94ab8907754845938644013796ae", REDIS_SCRIPT_EXTEND, 1, 2, 1},
    {"9e8a7f1acfc557ddecd023f4c001ab35f827196a", REDIS_SCRIPT_EXTEND, 1, 2, 1000},
    /* redis-py 4.3.4, redis/lock.py */
    {"16d4f25a8b1272dc33002e333ca708ee3f94da4e", REDIS_SCRIPT_RELEASE, 1, 1, 0},  /* LUA_RELEASE_SCRIPT */
    {"bce326b8a0b21cc21af307b604335bbdd4e6ad86", REDIS_SCRIPT_LENGTHEN, 1, 3, 1}, /* LUA_EXTEND_SCRIPT */
    {"b57b48d5536ae982a91ca9929e89a43a617db101", REDIS_SCRIPT_EXTEND, 1, 2, 1},   /* LUA_REACQUIRE_SCRIPT */
    /* npm redlock 4.2.0 and 5.0.0-beta.2 */
    {"edd4ddecf1460b13c093d7cb4fd999c17d3d76d8", REDIS_SCRIPT_ACQUIRE, 0, 2, 1}, /* ACQUIRE_SCRIPT */
    {"ad59565c53ba1d8128343d84e98a5aaca5739479", REDIS_SCRIPT_EXTEND, 0, 2, 1},  /* EXTEND_SCRIPT */
    {"872463717b9d8763339c3b80e81ba68c1dbb28c2", REDIS_SCRIPT_RELEASE, 0, 1, 0}, /* RELEASE_SCRIPT */
    /* npm redis-semaphore 5.8.0, lib/mutex */
    {"e2a196b0eec41712d70355978832fd2a7bdfc554", REDIS_SCRIPT_RELEASE, 1, 1, 0}, /* release.js: delIfEqualLua */
    {"8b94bead10f334fb89b934d1872f79565791a3fc", REDIS_SCRIPT_EXTEND, 1, 2, 1},  /* refresh.js: expireIfEqualLua */
};

/* ---- the normal form ---- */

struct normal_form {
    char text[LONGEST_SCRIPT + 1];
    size_t length;
};

static bool is_word(char letter)
{
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') || (letter >= '0' && letter <= '9') ||
           letter == '_';
}

static bool ends_with(const struct normal_form *form, const char *end)
{
    const size_t length = strlen(end);
    return form->length >= length && memcmp(form->text + form->length - length, end, length) == 0;
}

static void add(struct normal_form *form, char letter)
{
    form->text[form->length++] = letter;
}

/* A comment to the end of its line, or `--[[ ... ]]`. Returns where it ends. */
static size_t skip_comment(struct cv_text script, size_t at)
{
    const bool is_long = at + 3 < script.length && script.start[at + 2] == '[' && script.start[at + 3] == '[';
    for (at += 2; at < script.length; at++) {
        if (!is_long && script.start[at] == '\n')
            return at;
        if (is_long && script.start[at] == ']' && at + 1 < script.length && script.start[at + 1] == ']')
            return at + 2;
    }
    return at;
}

/* Either kind of quotes is the same, and so are the cases of a command. Returns where the string ends. */
static size_t add_string(struct normal_form *form, struct cv_text script, size_t at)
{
    const bool command = ends_with(form, "redis.call(") || ends_with(form, "redis.pcall(");
    const char quote = script.start[at++];
    add(form, '"');
    while (at < script.length && script.start[at] != quote) {
        const char letter = script.start[at++];
        add(form, command && letter >= 'A' && letter <= 'Z' ? (char)(letter - 'A' + 'a') : letter);
    }
    if (at < script.length)
        add(form, '"');
    return at + 1;
}

/* The result is never longer than the script and one byte. */
static void normalize(struct normal_form *form, struct cv_text script)
{
    bool apart = false; /* there was something between this token and the last */
    form->length = 0;
    for (size_t at = 0; at < script.length;) {
        const char letter = script.start[at];
        if (letter == '-' && at + 1 < script.length && script.start[at + 1] == '-') {
            at = skip_comment(script, at);
            apart = true;
        } else if (letter == ' ' || (letter >= '\t' && letter <= '\r') || letter == ';') {
            at++;
            apart = true;
        } else if (letter == '"' || letter == '\'') {
            at = add_string(form, script, at);
            apart = false;
        } else {
            if (apart && form->length && is_word(letter) && is_word(form->text[form->length - 1]))
                add(form, ' ');
            add(form, letter);
            at++;
            apart = false;
        }
    }
}

struct cv_sha1 redis_script_hash(struct cv_text text)
{
    struct normal_form form;
    if (text.length >= LONGEST_SCRIPT)
        return cv_sha1(text); /* no known script is so long */
    normalize(&form, text);
    return cv_sha1((struct cv_text){form.text, form.length});
}

const struct redis_script *redis_script_of(struct cv_text text)
{
    const struct cv_sha1 hash = redis_script_hash(text);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i].hash, hash.hex) == 0)
            return &known[i];
    return NULL;
}

/* ---- scripts that were loaded ---- */

static const struct redis_script *find(const struct redis_scripts *scripts, const char *name)
{
    for (uint32_t i = 0; i < REDIS_SCRIPTS_LOADED; i++)
        if (scripts->loaded[i].script && strcasecmp(scripts->loaded[i].name.hex, name) == 0)
            return scripts->loaded[i].script;
    return NULL;
}

struct cv_sha1 redis_script_load(struct redis_scripts *scripts, struct cv_text text, const struct redis_script *script)
{
    const struct cv_sha1 name = cv_sha1(text);
    if (find(scripts, name.hex))
        return name;
    scripts->loaded[scripts->next].name = name;
    scripts->loaded[scripts->next].script = script;
    scripts->next = (scripts->next + 1) % REDIS_SCRIPTS_LOADED;
    return name;
}

const struct redis_script *redis_script_find(const struct redis_scripts *scripts, struct cv_text name)
{
    struct cv_sha1 wanted;
    if (name.length != sizeof wanted.hex - 1)
        return NULL;
    memcpy(wanted.hex, name.start, name.length);
    wanted.hex[name.length] = 0;
    return find(scripts, wanted.hex);
}
