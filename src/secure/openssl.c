// SPDX-License-Identifier: MIT
#include "secure/openssl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

/* libssl finds libcrypto, whose functions are looked for through it. */
#define LIBRARY "libssl.so.3"

static struct cv_openssl functions;
static bool loaded;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
    const char *name;
    size_t place;
} names[] = {
#define X(name) {#name, offsetof(struct cv_openssl, name)},
    CV_OPENSSL_FUNCTIONS(X)
#undef X
};

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    loaded = library != NULL;
    for (size_t i = 0; loaded && i < sizeof names / sizeof *names; i++) {
        void **place = (void **)(void *)((char *)&functions + names[i].place);
        *place = dlsym(library, names[i].name);
        loaded = *place != NULL;
    }
}

const struct cv_openssl *cv_openssl(void)
{
    pthread_once(&once, load);
    return loaded ? &functions : NULL;
}
