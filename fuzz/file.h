// SPDX-License-Identifier: MIT
/* Input for parsers of text and of files. */
#ifndef CONCLAVE_FUZZ_FILE_H
#define CONCLAVE_FUZZ_FILE_H

#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz/fuzz.h"

/* The bytes as a string, which ends at the first NUL. To be freed. */
static inline char *fuzz_string(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    assert(text);
    memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

/* The path of a file in memory that has these bytes, for its owner alone; the same file each time. */
static inline const char *fuzz_file(const uint8_t *data, size_t size)
{
    static int file = -1;
    static char path[64];
    if (file < 0) {
        file = memfd_create("fuzz", MFD_CLOEXEC);
        assert(file >= 0 && fchmod(file, 0600) == 0);
        snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    }
    const int cut = ftruncate(file, 0);
    const ssize_t written = pwrite(file, data, size, 0);
    assert(cut == 0 && written == (ssize_t)size);
    (void)cut;
    (void)written;
    return path;
}

/* Whoever wrote the input is told what is wrong with it. */
static inline void fuzz_check_complaint(int error, const char *text)
{
    if (error == -1) /* CV_EINPUT */
        assert(*text);
}

#endif
