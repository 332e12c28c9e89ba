// SPDX-License-Identifier: MIT
/* Errors outside algorithms: a function returns 0 or one of these, and one line tells a person what to mend. */
#ifndef CONCLAVE_CORE_ERROR_H
#define CONCLAVE_CORE_ERROR_H

#define CV_ERRORS(X)                                                                                                   \
    X(CV_EINPUT, -1, "bad input")                                                                                      \
    X(CV_ENOMEM, -2, "out of memory")                                                                                  \
    X(CV_EFILE, -3, "file error")                                                                                      \
    X(CV_EINTERRUPTED, -4, "interrupted")                                                                              \
    X(CV_ENOTLEADER, -5, "not the leader")                                                                             \
    X(CV_EBUSY, -6, "busy with another")                                                                               \
    X(CV_ETHREADS, -7, "the system starts no more threads; expected fewer, or a higher limit of processes")

enum cv_errors {
#define X(name, number, text) name = number,
    CV_ERRORS(X)
#undef X
};

const char *cv_error_text(int error);

/*
 * Prints "out of memory" on standard error and ends the process at once, with that exit code. For callers that cannot
 * go on.
 */
_Noreturn void cv_out_of_memory(int code);

/* One line for the user that names the option or field, the value and what was expected. */
struct cv_complaint {
    char text[512];
};

/* Fills the complaint and returns CV_EINPUT, so that a check can `return cv_complain(...)`. */
int cv_complain(struct cv_complaint *complaint, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
