// SPDX-License-Identifier: MIT
/* The calls under way that something may stop, for the files of this room. */
#ifndef CONCLAVE_GUARD_TRAP_FRAME_H
#define CONCLAVE_GUARD_TRAP_FRAME_H

#include <setjmp.h>

#include "guard/trap.h"

struct shared_object;

/* Why a call was stopped. */
enum trap_reason {
    TRAP_SIGNAL,      /* `number` and `address` say more */
    TRAP_ASSERTION,   /* the failure's text has it */
    TRAP_ACCUSED,     /* so has it what the code did */
    TRAP_LATE,        /* it did not return in time */
    TRAP_INTERRUPTED, /* the user wants to stop */
    TRAP_TOLD         /* a call within this one was stopped, and has been told */
};

struct trap {
    sigjmp_buf back;
    struct trap *outer;                 /* the call around this one, in the same thread */
    const struct shared_object *object; /* whose code runs; NULL: the program's own */
    struct cv_failure *failure;
    uint64_t step; /* tells this call from those before and after it */
    bool unlimited;

    enum trap_reason reason;
    int number; /* TRAP_SIGNAL */
    const void *address;
};

/* The innermost call of this thread; NULL: there is none. */
extern _Thread_local struct trap *trap_current;

/* Fills in what trap_run() needs, and no more: there is one for every step. */
static inline void trap_open(struct trap *trap, struct cv_failure *failure, const struct shared_object *object)
{
    failure->scenario = NULL;
    failure->text[0] = '\0';
    trap->failure = failure;
    trap->object = object;
    trap->unlimited = false;
}

/* Calls the function. False: something stopped it. */
bool trap_run(struct trap *trap, void (*function)(void *context), void *context);

/* Ends the innermost call. */
_Noreturn void trap_spring(struct trap *trap, enum trap_reason reason);

/* If a call is under way: ends it, with a few words about what the code did. */
void trap_accuse(const char *what);

/* Puts the reason into words, after the call was stopped: "calls abort()". */
void trap_explain(const struct trap *trap, char *text, size_t room);

/* Sets up this thread and the signals of the process; cheap if that was done before. */
void trap_prepare(void);

#endif
