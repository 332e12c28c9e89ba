// SPDX-License-Identifier: MIT
/* Errors outside algorithms: 0 or one of these, and one line that tells a person what to mend. */
#ifndef CONCLAVE_CORE_ERROR_H
#define CONCLAVE_CORE_ERROR_H

#define CV_ERRORS(X)                                                                                                   \
    X(CV_EINPUT, -1, "bad input")                                                                                      \
    X(CV_ENOMEM, -2, "out of memory")                                                                                  \
    X(CV_EFILE, -3, "file error")                                                                                      \
    X(CV_EINTERRUPTED, -4, "interrupted")                                                                              \
    X(CV_ENOTLEADER, -5, "not the leader")                                                                             \
    X(CV_EBUSY, -6, "busy with another")

enum cv_errors {
#define X(name, number, text) name = number,
    CV_ERRORS(X)
#undef X
};

const char *cv_error_text(int error);

/* Says so on standard error and ends the process at once, with that exit code. For callers that could not go on, where
 * a signal would not say why. */
_Noreturn void cv_out_of_memory(int code);

/* What to tell the user: one line that names the option or field, the value and what was expected. */
struct cv_complaint {
    char text[512];
};

/* Fills the complaint and returns CV_EINPUT, so that a check can `return cv_complain(...)`. */
int cv_complain(struct cv_complaint *complaint, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
