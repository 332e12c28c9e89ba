// SPDX-License-Identifier: MIT
#include "secure/openssl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

#include "secure/tls.h"

/* libssl loads libcrypto, so dlsym() finds the functions of both. */
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

static void *(*resize_block)(void *block, size_t size);

void cv_tls_heap(void *(*resize)(void *block, size_t size))
{
    resize_block = resize;
}

static void *resize(void *block, size_t size, const char *file, int line)
{
    (void)file, (void)line;
    return resize_block(block, size);
}

static void *allocate(size_t size, const char *file, int line)
{
    return size ? resize(NULL, size, file, line) : NULL;
}

static void release(void *block, const char *file, int line)
{
    (void)file, (void)line;
    free(block);
}

static void load(void)
{
    void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    loaded = library != NULL;
    for (size_t i = 0; loaded && i < sizeof names / sizeof *names; i++) {
        void **place = (void **)(void *)((char *)&functions + names[i].place);
        *place = dlsym(library, names[i].name);
        loaded = *place != NULL;
    }
    if (loaded && resize_block)
        functions.CRYPTO_set_mem_functions(allocate, resize, release);
}

const struct cv_openssl *cv_openssl(void)
{
    pthread_once(&once, load);
    return loaded ? &functions : NULL;
}
