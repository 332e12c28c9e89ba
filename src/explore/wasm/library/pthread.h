// SPDX-License-Identifier: MIT
/* There is one thread, so nobody waits for a lock. wasi-libc has no threads. */
#ifndef CONCLAVE_EXPLORE_WASM_LIBRARY_PTHREAD_H
#define CONCLAVE_EXPLORE_WASM_LIBRARY_PTHREAD_H

typedef struct {
    char unused;
} pthread_mutex_t;

#define PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP                                                                          \
    {                                                                                                                  \
        0                                                                                                              \
    }

static inline int pthread_mutex_init(pthread_mutex_t *mutex, const void *attributes)
{
    (void)attributes;
    mutex->unused = 0;
    return 0;
}

static inline int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

static inline int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

static inline int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    (void)mutex;
    return 0;
}

#endif
