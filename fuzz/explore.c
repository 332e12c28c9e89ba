// SPDX-License-Identifier: MIT
/* Calls of the explorer's engine, as a page or a link makes them: a line each, the name and its arguments. Each gets an
   answer, and the engine goes on. */
#include "explore/explore.h"
#include "fuzz/file.h"

#define MOST_DIGITS 2u
#define MOST_CALLS 200u

/* A large group is as good as a small one. */
static bool is_sensible(const char *text)
{
    size_t digits = 0;
    for (const char *at = text; *at; at++) {
        digits = *at >= '0' && *at <= '9' ? digits + 1 : 0;
        if (digits > MOST_DIGITS)
            return false;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = fuzz_string(data, size), *rest = text;
    struct cv_explorer *explorer = cv_explorer_new(NULL);
    if (!explorer)
        abort();
    for (uint32_t i = 0; i < MOST_CALLS && rest && is_sensible(text); i++) {
        char *arguments = strsep(&rest, "\n");
        const char *name = strsep(&arguments, " ");
        const char *answer = cv_explorer_call(explorer, name, arguments ? arguments : "{}");
        if (!answer || (*answer != '{' && *answer != '['))
            abort();
    }
    cv_explorer_free(explorer);
    free(text);
    return 0;
}
