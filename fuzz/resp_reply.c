// SPDX-License-Identifier: MIT
/* Replies: looked through in parts or at once, with the same result; walking ends where looking through ended. */
#include <stdlib.h>

#include "fuzz/fuzz.h"
#include "resp/resp_read.h"
#include "resp/resp_write.h"

/* The reply's length, found with the bytes coming `step` at a time. */
static long scan_in_parts(const char *bytes, size_t size, size_t step)
{
    struct cv_resp_scan scan = {0};
    for (size_t arrived = 0;;) {
        arrived = size - arrived < step ? size : arrived + step;
        char *copy = fuzz_copy(bytes, arrived);
        const long length = cv_resp_scan(&scan, copy, arrived);
        free(copy);
        if (length != CV_RESP_MORE || arrived == size)
            return length;
    }
}

static void walk(struct cv_text reply)
{
    struct cv_text rest = reply;
    struct cv_resp_item item;
    while (cv_resp_next(&rest, &item))
        assert(!item.text.length ||
               (item.text.start >= reply.start && item.text.start + item.text.length <= reply.start + reply.length));
    assert(rest.length == 0);
    rest = reply;
    assert(cv_resp_skip(&rest) && rest.length == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_resp_scan scan = {0};
    const char *bytes = (const char *)data;
    const long length = cv_resp_scan(&scan, bytes, size);
    assert(length >= CV_RESP_BROKEN && length <= (long)size);
    if (length > 0)
        walk((struct cv_text){bytes, (size_t)length});
    if (size && size < 4096) {
        assert(scan_in_parts(bytes, size, 1) == length);
        assert(scan_in_parts(bytes, size, 7) == length);
    }
    return 0;
}
