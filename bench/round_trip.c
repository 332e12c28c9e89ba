// SPDX-License-Identifier: MIT
/* How long a word takes from one processor to another and back: nanoseconds, on standard output. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define TRIPS 400000

static _Alignas(128) atomic_int there;
static _Alignas(128) atomic_int back;

static void *answer(void *unused)
{
    for (int trip = 1; trip <= TRIPS; trip++) {
        while (atomic_load_explicit(&there, memory_order_acquire) != trip)
            ;
        atomic_store_explicit(&back, trip, memory_order_release);
    }
    return unused;
}

int main(void)
{
    struct timespec begun, ended;
    pthread_t other;
    if (pthread_create(&other, NULL, answer, NULL))
        return 1;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    for (int trip = 1; trip <= TRIPS; trip++) {
        atomic_store_explicit(&there, trip, memory_order_release);
        while (atomic_load_explicit(&back, memory_order_acquire) != trip)
            ;
    }
    clock_gettime(CLOCK_MONOTONIC, &ended);
    pthread_join(other, NULL);
    printf("%.0f\n", ((double)(ended.tv_sec - begun.tv_sec) * 1e9 + (double)(ended.tv_nsec - begun.tv_nsec)) / TRIPS);
    return 0;
}
