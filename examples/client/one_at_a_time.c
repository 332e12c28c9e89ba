// SPDX-License-Identifier: MIT
/*
 * One at a time: works in steps while it holds a lock, and stops at once if the lock is lost.
 *
 *     cc -o one_at_a_time one_at_a_time.c $(pkg-config --cflags --libs conclave)
 *     conclave node &
 *     ./one_at_a_time backup 20
 *
 * Run it twice at the same time: the second begins when the first is done.
 */
#include <conclave/conclave.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define STEP_MS 50

/* False if the lock was lost. Waiting for an event is a good way to sleep: it also renews what runs out. */
static bool work(struct conclave *session, const char *name, int steps)
{
    struct conclave_event event;
    for (int step = 1; step <= steps; step++) {
        printf("step %d of %d\n", step, steps);
        fflush(stdout);
        const int result = conclave_next_event(session, &event, STEP_MS);
        if (result < 0 || (result == 1 && event.kind == CONCLAVE_EVENT_LOST))
            return false;
    }
    /* Where writes go through a server that knows fences, send yours along: it refuses those of earlier holders. */
    return conclave_left_ms(session, name) != 0;
}

static int complain(const struct conclave *session, int error)
{
    fprintf(stderr, "one_at_a_time: %s: %s\n", conclave_error_text(error), conclave_explain(session));
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    struct conclave *session;
    uint64_t fence;
    int code = EXIT_SUCCESS;
    if (argc != 3) {
        fputs("usage: one_at_a_time NAME STEPS\n", stderr);
        return 2;
    }
    int error = conclave_open(&session, NULL, 2000);
    if (!error)
        error = conclave_timed_lock(session, argv[1], 30000, &fence);
    if (error) {
        code = complain(session, error);
    } else {
        printf("holding %s, fence %" PRIu64 "\n", argv[1], fence);
        if (work(session, argv[1], atoi(argv[2])))
            error = conclave_unlock(session, argv[1], fence);
        else
            error = CONCLAVE_LOST;
        if (error)
            code = complain(session, error);
    }
    conclave_close(session);
    return code;
}
