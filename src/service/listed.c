// SPDX-License-Identifier: MIT
#include "service/listed.h"

#include <endian.h>
#include <string.h>

#include "service/info.h"
#include "service/session.h"

/* ---- what this node knows ---- */

struct listed listed_lock(const struct lock *lock)
{
    const struct cv_instance *instance = lock->instance;
    const struct lock_hold *hold = lock->holds;
    const uint64_t now_ms = cv_loop_coarse_ms(lock->service->loop);
    struct listed item = {
        .election = instance->subject == CV_SUBJECT_LEADER,
        .waiting = lock->waiting,
        .name = cv_instance_name(instance),
        .algorithm = cv_text((lock->elects && lock->election ? lock->election : instance)->policy->algorithm->name)};
    if (!hold)
        return item;
    item.holder = 1;
    item.origin = hold->origin;
    item.session = hold->owner;
    item.fence = hold->fence;
    item.since_ms = now_ms - hold->since_ms;
    item.shared = hold->shared ? lock->holding : 0;
    item.asked_back = hold->asked_back_ms ? now_ms - hold->asked_back_ms + 1 : 0;
    item.forced = hold->forced;
    item.client = cv_kept(hold_client(hold));
    return item;
}

struct listed listed_waiter(const struct waiter *wait)
{
    const struct lock *lock = wait->lock;
    const struct cv_roster *roster = lock->service->host->roster;
    return (struct listed){.election = lock->instance->subject == CV_SUBJECT_LEADER,
                           .origin = roster->ids[roster->me],
                           .session = wait->session->number,
                           .since_ms = cv_loop_coarse_ms(lock->service->loop) - wait->since_ms,
                           .waiting = lock->waiting,
                           .shared = wait->shared,
                           .priority = (uint64_t)wait->priority,
                           .client = cv_kept(wait->session->name)};
}

/* ---- bytes ---- */

/* The numbers as they come, 8 bytes each, little-endian, and the highest that a member may send. */
static const struct {
    size_t place;
    uint64_t most;
} numbers[] = {
    {offsetof(struct listed, election), 1},
    {offsetof(struct listed, holder), 1},
    {offsetof(struct listed, origin), CV_NO_ID},
    {offsetof(struct listed, session), UINT64_MAX},
    {offsetof(struct listed, fence), INT64_MAX},
    {offsetof(struct listed, since_ms), INT64_MAX},
    {offsetof(struct listed, waiting), INT64_MAX},
    {offsetof(struct listed, shared), INT64_MAX},
    {offsetof(struct listed, priority), UINT64_MAX},
    {offsetof(struct listed, asked_back), INT64_MAX},
    {offsetof(struct listed, forced), 1},
};

/* Then the texts, each with its length in 2 bytes before it. */
static const struct {
    size_t place;
    uint16_t most;
} texts[] = {
    {offsetof(struct listed, name), CV_NAME_BYTES},
    {offsetof(struct listed, client), CV_CLIENT_NAME_BYTES},
    {offsetof(struct listed, algorithm), LISTED_ALGORITHM_BYTES},
};

#define NUMBERS (sizeof numbers / sizeof *numbers)
#define TEXTS (sizeof texts / sizeof *texts)

_Static_assert(NUMBERS * 8 + TEXTS * 2 + LISTED_ALGORITHM_BYTES + CV_NAME_BYTES + CV_CLIENT_NAME_BYTES <=
                   LISTED_MOST_BYTES,
               "the longest item has room");

size_t listed_pack(char *bytes, const struct listed *item)
{
    char *at = bytes;
    for (size_t i = 0; i < NUMBERS; i++, at += sizeof(uint64_t)) {
        uint64_t number;
        memcpy(&number, (const char *)item + numbers[i].place, sizeof number);
        number = htole64(number);
        memcpy(at, &number, sizeof number);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        struct cv_text text;
        memcpy(&text, (const char *)item + texts[i].place, sizeof text);
        const size_t most = texts[i].most, length = text.length < most ? text.length : most;
        const uint16_t little = htole16((uint16_t)length);
        memcpy(at, &little, sizeof little);
        at += sizeof little;
        if (length)
            memcpy(at, text.start, length);
        at += length;
    }
    return (size_t)(at - bytes);
}

static bool take(struct cv_text *bytes, size_t count, const char **at)
{
    if (bytes->length < count)
        return false;
    *at = bytes->start;
    bytes->start += count;
    bytes->length -= count;
    return true;
}

bool listed_unpack(struct cv_text *bytes, struct listed *item)
{
    const char *at;
    *item = (struct listed){0};
    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t number;
        if (!take(bytes, sizeof number, &at))
            return false;
        memcpy(&number, at, sizeof number);
        number = le64toh(number);
        if (number > numbers[i].most)
            return false;
        memcpy((char *)item + numbers[i].place, &number, sizeof number);
    }
    for (size_t i = 0; i < TEXTS; i++) {
        uint16_t length;
        if (!take(bytes, sizeof length, &at))
            return false;
        memcpy(&length, at, sizeof length);
        length = le16toh(length);
        if (length > texts[i].most || !take(bytes, length, &at))
            return false;
        const struct cv_text text = {length ? at : NULL, length};
        memcpy((char *)item + texts[i].place, &text, sizeof text);
    }
    return cv_is_client_name(item->client);
}

/* ---- RESP ---- */

static void put_text(struct cv_resp_writer *out, const char *key, struct cv_text text)
{
    cv_resp_word(out, key);
    cv_resp_bulk(out, text.start ? text : (struct cv_text){"", 0});
}

static void put_number(struct cv_resp_writer *out, const char *key, uint64_t number)
{
    cv_resp_word(out, key);
    cv_resp_integer(out, (int64_t)number);
}

static void put_session(struct cv_resp_writer *out, const char *key, const struct listed *item)
{
    cv_resp_word(out, key);
    info_write_session(out, (cv_id)item->origin, item->session);
}

static void put_client(struct cv_resp_writer *out, const struct listed *item)
{
    cv_resp_word(out, "client");
    if (item->client.length)
        cv_resp_bulk(out, item->client);
    else
        cv_resp_nil(out);
}

void listed_write_lock(struct cv_resp_writer *out, const struct listed *item, cv_id node)
{
    cv_resp_map(out, 12);
    put_text(out, "name", item->name);
    put_text(out, "kind", cv_text(item->election ? "election" : "lock"));
    put_text(out, "algorithm", item->algorithm);
    if (item->holder) {
        put_session(out, "holder", item);
    } else {
        cv_resp_word(out, "holder");
        cv_resp_nil(out);
    }
    put_number(out, "fence", item->fence);
    put_number(out, "held_ms", item->since_ms);
    put_number(out, "waiters", item->waiting);
    put_number(out, "shared", item->shared);
    put_client(out, item);
    put_number(out, "node", node);
    put_number(out, "asked_back_ms", item->asked_back - 1); /* -1: nobody asks */
    put_number(out, "forced", item->forced);
}

void listed_write_waiter(struct cv_resp_writer *out, const struct listed *item, cv_id node, uint64_t position)
{
    cv_resp_map(out, 8);
    put_number(out, "position", position);
    put_text(out, "kind", cv_text(item->election ? "election" : "lock"));
    put_session(out, "waiter", item);
    put_client(out, item);
    put_number(out, "node", node);
    put_number(out, "waited_ms", item->since_ms);
    put_number(out, "shared", item->shared);
    put_number(out, "priority", item->priority);
}

/* No name is empty, so no client takes it for an item of its own. */
void listed_write_silent(struct cv_resp_writer *out, cv_id node)
{
    cv_resp_map(out, 3);
    put_text(out, "name", (struct cv_text){"", 0});
    put_text(out, "kind", cv_text("unanswered"));
    put_number(out, "node", node);
}

void listed_write_more(struct cv_resp_writer *out, cv_id node, uint64_t more)
{
    cv_resp_map(out, 4);
    put_text(out, "name", (struct cv_text){"", 0});
    put_text(out, "kind", cv_text("more"));
    put_number(out, "node", node);
    put_number(out, "waiters", more);
}
