// SPDX-License-Identifier: MIT
/* Frames between members: no byte is read beyond the end, parts of a frame are no frame, and a frame that was read is
   written as the same bytes. */
#include <stdlib.h>

#include "core/link/frame.h"
#include "fuzz/fuzz.h"

/* Where the one byte lies that a writer leaves 0 and a reader does not look at. */
#define UNUSED_BYTE 7u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t at = 0;
    while (at < size) {
        struct cv_frame frame, part;
        const char *wrong = NULL;
        unsigned char *copy = fuzz_copy(data + at, size - at);
        const long taken = cv_frame_read(copy, size - at, &frame, &wrong);
        assert(taken >= CV_FRAME_BROKEN && taken <= (long)(size - at) && taken <= (long)CV_FRAME_BYTES);
        assert((taken == CV_FRAME_BROKEN) == (wrong != NULL));
        /* Nobody waits for more than a frame may have. */
        const uint32_t said = size - at < 5 ? 0 : (uint32_t)copy[0] | (uint32_t)copy[2] << 16 | (uint32_t)copy[3] << 24;
        assert(taken != CV_FRAME_MORE || said < CV_FRAME_BYTES);
        if (taken > 0) {
            unsigned char *again = malloc(cv_frame_size(&frame));
            assert(again && cv_frame_size(&frame) == (size_t)taken);
            cv_frame_write(again, &frame);
            if (cv_frame_numbered(frame.type))
                again[UNUSED_BYTE] = copy[UNUSED_BYTE];
            assert(memcmp(again, copy, (size_t)taken) == 0);
            free(again);
            unsigned char *shorter = fuzz_copy(copy, (size_t)taken - 1);
            assert(cv_frame_read(shorter, (size_t)taken - 1, &part, &wrong) == CV_FRAME_MORE);
            free(shorter);
            for (uint32_t i = 0; cv_frame_numbered(frame.type) && i <= frame.words; i++)
                cv_frame_number(&frame, i);
        }
        free(copy);
        if (taken <= 0)
            break;
        at += (size_t)taken;
    }
    return 0;
}
