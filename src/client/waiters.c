// SPDX-License-Identifier: MIT
/* Who waits for a name, at all servers. */
#include <string.h>

#include "client/acquire.h"
#include "core/wall_clock.h"

static void copy_text(char *to, size_t size, const struct cv_resp_item *from)
{
    const size_t length = from->text.length < size ? from->text.length : size - 1;
    if (length)
        memcpy(to, from->text.start, length);
    to[length] = '\0';
}

/* Takes one of the pairs of an item over. False: the item tells of no waiter. */
static bool take_pair(struct conclave_waiter *waiter, struct cv_text key, const struct cv_resp_item *value)
{
    if (cv_text_is(key, "position"))
        waiter->position = (uint64_t)value->number;
    else if (cv_text_is(key, "waited_ms"))
        waiter->waited_ms = (uint64_t)value->number;
    else if (cv_text_is(key, "shared"))
        waiter->shared = value->number != 0;
    else if (cv_text_is(key, "waiter"))
        copy_text(waiter->waiter, sizeof waiter->waiter, value);
    else if (cv_text_is(key, "client"))
        copy_text(waiter->client, sizeof waiter->client, value);
    else if (cv_text_is(key, "kind"))
        return cv_text_is(value->text, "lock") || cv_text_is(value->text, "election");
    return true;
}

/* 1: *waiter is one; 0: the item tells of something else, such as a server that did not answer; or an error. */
static int read_waiter(struct conclave *session, struct cv_text *answer, struct conclave_waiter *waiter)
{
    struct cv_resp_item map, key, value;
    bool is_waiter = true;
    *waiter = (struct conclave_waiter){0};
    bool good = cv_resp_next(answer, &map) && map.kind == CV_RESP_MAP;
    for (int64_t i = 0; good && i < map.number; i++) {
        good = cv_resp_next(answer, &key) && cv_resp_next(answer, &value);
        is_waiter = good && take_pair(waiter, key.text, &value) && is_waiter;
    }
    return good ? is_waiter : cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer tells of no waiters");
}

int conclave_waiters(struct conclave *session, const char *name, struct conclave_waiter *waiters, size_t room,
                     size_t *count)
{
    const struct cv_client_words words = {.count = 2, .word = {"WAITERS", name}};
    struct conclave_waiter waiter;
    struct cv_resp_item array;
    struct cv_text answer;
    *count = 0;
    int error = cv_client_check_name(session, name);
    if (!error)
        error = cv_client_ask(session, &words, cv_boot_ms() + session->timeout_ms, &answer);
    if (error)
        return error;
    if (!cv_resp_next(&answer, &array) || array.kind != CV_RESP_ARRAY)
        return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer tells of no waiters");
    for (int64_t i = 0; i < array.number; i++) {
        const int found = read_waiter(session, &answer, &waiter);
        if (found < 0)
            return found;
        if (found && *count < room)
            waiters[*count] = waiter;
        *count += (size_t)found;
    }
    return 0;
}
