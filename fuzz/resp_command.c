// SPDX-License-Identifier: MIT
/*
 * Commands: no byte is read beyond the end; parts of a command are no command; what was read can be written and read.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz/fuzz.h"
#include "resp/resp_read.h"
#include "resp/resp_write.h"

static bool same(struct cv_text one, struct cv_text other)
{
    return one.length == other.length && (!one.length || memcmp(one.start, other.start, one.length) == 0);
}

static void write_and_read(const struct cv_resp_command *command)
{
    struct cv_resp_writer writer;
    struct cv_resp_command again;
    cv_resp_begin(&writer, 2 * CV_RESP_COMMAND_BYTES);
    cv_resp_array(&writer, command->count);
    for (uint32_t i = 0; i < command->count; i++)
        cv_resp_bulk(&writer, command->word[i]);
    assert(!writer.full);
    /* A line of many short words is longer when it is written out. */
    if (writer.length <= CV_RESP_COMMAND_BYTES) {
        const long taken = cv_resp_read_command(writer.bytes, writer.length, &again);
        assert(taken == (long)writer.length && again.count == command->count);
        for (uint32_t i = 0; i < command->count; i++)
            assert(same(again.word[i], command->word[i]));
    }
    cv_resp_end(&writer);
}

static uint64_t commands; /* an input has several */

static void tell(void)
{
    fprintf(stderr, "commands: %llu\n", (unsigned long long)commands);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!commands++)
        atexit(tell);
    struct cv_resp_command command, part;
    const char *bytes = (const char *)data;
    size_t at = 0;
    while (at < size) {
        const size_t left = size - at;
        const long taken = cv_resp_read_command(bytes + at, left, &command);
        assert(taken >= CV_RESP_BROKEN && taken <= (long)left && taken <= (long)CV_RESP_COMMAND_BYTES);
        assert((taken == CV_RESP_BROKEN) == (command.wrong != NULL));
        assert(taken != CV_RESP_MORE || left < CV_RESP_COMMAND_BYTES);
        if (taken <= 0)
            break;
        for (uint32_t i = 0; i < command.count; i++)
            assert(command.word[i].start >= bytes + at &&
                   command.word[i].start + command.word[i].length <= bytes + at + taken);
        const long most = taken < 64 ? taken : 64;
        for (long short_of = 1; short_of <= most; short_of++) {
            char *copy = fuzz_copy(bytes + at, (size_t)(taken - short_of));
            assert(cv_resp_read_command(copy, (size_t)(taken - short_of), &part) == CV_RESP_MORE);
            free(copy);
        }
        write_and_read(&command);
        assert(!cv_resp_is_http(&command) || command.by_hand);
        at += (size_t)taken;
        commands++;
    }
    return 0;
}
