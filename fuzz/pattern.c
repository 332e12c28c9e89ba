// SPDX-License-Identifier: MIT
/* Patterns of names, matched in both ways, and foreign text as it is shown: always valid, and never two alike. */
#include "core/glob.h"
#include "core/printable.h"
#include "fuzz/fuzz.h"

static void check_shown(struct cv_text text)
{
    char *shown = malloc(6 * text.length + 8);
    assert(shown);
    const size_t length = cv_show(shown, 6 * text.length + 8, text);
    assert(length == strlen(shown) && length >= text.length - (text.length > 0) * 0);
    for (struct cv_text rest = {shown, length}; rest.length;) {
        uint32_t character = 0;
        const size_t taken = cv_utf8_character(rest, &character);
        assert(taken && character >= 0x20 && !(character >= 0x7f && character < 0xa0));
        rest = (struct cv_text){rest.start + taken, rest.length - taken};
    }
    free(shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct cv_glob_prepared prepared;
    const uint8_t *zero = size ? memchr(data, 0, size) : NULL;
    const size_t length = zero ? (size_t)(zero - data) : size;
    char *pattern = fuzz_copy(data, length), *name = fuzz_copy(data + length, size - length);
    const struct cv_text p = {pattern, length}, n = {name, size - length};
    const bool prepares = cv_glob_prepare(&prepared, p);
    assert(prepares == (length <= CV_GLOB_BYTES));
    if (prepares && n.length < 2048)
        assert(cv_glob_fits(&prepared, n) == cv_glob(p, n));
    if (n.length < 4096)
        check_shown(n);
    free(pattern);
    free(name);
    return 0;
}
