// SPDX-License-Identifier: MIT
#include "service/peer_notice.h"

#include <endian.h>

#include "live/dispatch.h"
#include "service/force.h"
#include "service/leader.h"
#include "service/listing_pages.h"
#include "service/lock.h"
#include "service/named_election.h"
#include "service/peer_request.h"
#include "service/replica.h"
#include "service/service.h"
#include "service/try_lock.h"
#include "service/ttl_promise.h"

_Static_assert(CV_FRAME_VERSION == 6 && PEER_NOTICE_KINDS == 25 && SHARING_LAST == 11 && RECIPES == 4,
               "members of the version before would cut this one off: raise CV_FRAME_VERSION");

/* ---- numbers that a notice can carry ---- */

enum {
    FENCE = 1u << 0,
    SESSION = 1u << 1,
    ORIGIN = 1u << 2,
    TICKET = 1u << 3,
    HOLD_KINDS = 1u << 4,
    RESULT = 1u << 5,
    ATTRIBUTE = 1u << 6,
    SHARED = 1u << 7,
    SHARING_KIND = 1u << 8,
    GENERATION = 1u << 9,
    FIRST = 1u << 10,
    ENTRY = 1u << 11,
    TTL = 1u << 12,
    DIGEST = 1u << 13 | 1u << 14,
    CURSOR = 1u << 15,
    PERMITS = 1u << 16,
    ASKED_BACK = 1u << 17,
    RECIPE = 1u << 18,
    AMOUNT = 1u << 19
};

/* In the order of the bits above, which is their order in the body: 8 bytes each, little-endian. */
static const struct {
    size_t place;  /* in struct peer_notice */
    uint64_t most; /* a higher number is forged */
} fields[] = {
    {offsetof(struct peer_notice, fence), CV_FENCE_END - 1},
    {offsetof(struct peer_notice, session), UINT64_MAX},
    {offsetof(struct peer_notice, origin), CV_NO_ID},
    {offsetof(struct peer_notice, ticket), UINT64_MAX},
    {offsetof(struct peer_notice, hold_kinds), HOLD_LOCK | HOLD_LEADER},
    {offsetof(struct peer_notice, result), UINT64_MAX},
    {offsetof(struct peer_notice, attribute), UINT32_MAX},
    {offsetof(struct peer_notice, shared), 1},
    {offsetof(struct peer_notice, sharing_kind), SHARING_LAST},
    {offsetof(struct peer_notice, generation), CV_FENCE_END + CV_BLOCK},
    {offsetof(struct peer_notice, first), CV_FENCE_END + CV_BLOCK},
    {offsetof(struct peer_notice, entry), UINT64_MAX},
    {offsetof(struct peer_notice, ttl_ms), LONGEST_MS},
    {offsetof(struct peer_notice, digest), UINT64_MAX},
    {offsetof(struct peer_notice, digest) + sizeof(uint64_t), UINT64_MAX},
    {offsetof(struct peer_notice, cursor), INT64_MAX},
    {offsetof(struct peer_notice, permits), MOST_PERMITS},
    {offsetof(struct peer_notice, asked_back), 1},
    {offsetof(struct peer_notice, recipe), REPLICA_MOST_RECIPE},
    {offsetof(struct peer_notice, amount), MOST_PERMITS},
};

_Static_assert(sizeof fields / sizeof *fields == PEER_NOTICE_NUMBERS, "as many as there are bits above");

/* ---- texts that a notice can carry ---- */

enum { CLIENT = 1u << 0, VALUE = 1u << 1, PAGE = 1u << 2, ADMIN = 1u << 3, REASON = 1u << 4 };

#define ABSENT UINT32_MAX /* instead of a length */
#define SHORT_TEXT_BYTES (CV_CLIENT_NAME_BYTES + CV_VALUE_BYTES + CV_KEY_NAME_BYTES + FORCE_REASON_BYTES)

/*
 * In the order of the bits above. In the body, after the numbers, come the lengths of all texts of the notice, 4 bytes
 * each, then their bytes, then zeros up to whole words of 4 bytes.
 */
static const struct {
    size_t place;  /* in struct peer_notice */
    uint32_t most; /* a longer text is forged */
} texts[] = {
    {offsetof(struct peer_notice, client), CV_CLIENT_NAME_BYTES},
    {offsetof(struct peer_notice, value), CV_VALUE_BYTES},
    {offsetof(struct peer_notice, page), PEER_NOTICE_PAGE_BYTES},
    {offsetof(struct peer_notice, admin), CV_KEY_NAME_BYTES},
    {offsetof(struct peer_notice, reason), FORCE_REASON_BYTES},
};

_Static_assert(sizeof texts / sizeof *texts == PEER_NOTICE_TEXTS, "as many as there are bits above");

/* ---- the table ---- */

#define LOCK (1u << CV_SUBJECT_LOCK)
#define LEADER (1u << CV_SUBJECT_LEADER)
#define ELECTION (1u << CV_SUBJECT_ELECTION)

static const struct {
    uint32_t subjects; /* what the name may be the name of */
    uint32_t carries;  /* the numbers in its body */
    uint32_t tells;    /* the texts in its body */
    bool in_any_view;  /* it is true in every view; the others count only in the view they were sent in */
    void (*hear)(struct cv_service *service, const struct peer_notice *notice);
} kinds[PEER_NOTICE_KINDS] = {
    [PEER_NOTICE_LEADS] = {LEADER | LOCK, FENCE | SESSION | ORIGIN, VALUE, true, leader_hear_change},
    [PEER_NOTICE_LED] = {LEADER | LOCK, FENCE | SESSION | ORIGIN, 0, true, leader_hear_change},
    [PEER_NOTICE_WATCH] = {LOCK, SHARED, 0, false, leader_hear_watch},
    [PEER_NOTICE_KNOWS] = {LEADER, FENCE, 0, false, leader_hear_known},
    [PEER_NOTICE_UNLOCK] = {LOCK | LEADER, FENCE | TICKET | HOLD_KINDS | DIGEST, 0, true, peer_request_hear_question},
    [PEER_NOTICE_RENEW] = {LOCK, FENCE | TICKET | HOLD_KINDS | TTL | DIGEST, 0, true, peer_request_hear_question},
    [PEER_NOTICE_LOOK] = {LOCK, FENCE | TICKET | HOLD_KINDS | DIGEST, 0, true, peer_request_hear_question},
    [PEER_NOTICE_ANSWER] = {LOCK, FENCE | TICKET | RESULT | ASKED_BACK, VALUE, true, peer_request_hear_answer},
    [PEER_NOTICE_STANDS] = {ELECTION, ATTRIBUTE, 0, false, named_election_hear},
    [PEER_NOTICE_TRY] = {LOCK | LEADER, TICKET | SHARED, 0, false, try_lock_hear_question},
    [PEER_NOTICE_BUSY] = {LOCK | LEADER, TICKET, 0, false, try_lock_hear_answer},
    [PEER_NOTICE_SHARING] = {LOCK, SHARING_KIND | GENERATION | FIRST | ENTRY | PERMITS, 0, false, lock_hear_sharing},
    [PEER_NOTICE_PROMISE] = {LOCK | LEADER, FENCE | SESSION | GENERATION | ENTRY | TTL | DIGEST | PERMITS,
                             CLIENT | VALUE, false, ttl_promise_hear},
    [PEER_NOTICE_PROMISED] = {LOCK | LEADER, FENCE | TTL, 0, false, ttl_promise_hear_known},
    [PEER_NOTICE_OVER] = {LOCK | LEADER, FENCE, 0, false, ttl_promise_hear_over},
    [PEER_NOTICE_LIST] = {LOCK, TICKET | CURSOR, 0, true, listing_hear_question},
    [PEER_NOTICE_WAITERS] = {LOCK, TICKET, 0, true, listing_hear_question},
    [PEER_NOTICE_ASK_BACK] = {LOCK, TICKET | HOLD_KINDS, CLIENT, true, listing_hear_question},
    [PEER_NOTICE_FORCE] = {LOCK, FENCE | TICKET | HOLD_KINDS, ADMIN | REASON, true, peer_request_hear_question},
    [PEER_NOTICE_FORCED] = {LOCK | LEADER, FENCE, 0, false, force_hear},
    [PEER_NOTICE_PAGE] = {LOCK, TICKET | RESULT | CURSOR, PAGE, true, listing_hear_page},
    [PEER_NOTICE_ASK] = {LOCK, RECIPE | AMOUNT | FENCE | SESSION | TICKET | CURSOR | ENTRY | TTL, CLIENT | VALUE, false,
                         replica_hear_ask},
    [PEER_NOTICE_DONE] = {LOCK, RECIPE | FENCE | TICKET | RESULT, 0, false, replica_hear_done},
    [PEER_NOTICE_STATE] = {LOCK, RECIPE | FENCE | SHARED, PAGE, false, replica_hear_state},
    [PEER_NOTICE_COPY] = {LOCK, RECIPE | FENCE | ENTRY, 0, false, replica_hear_copy},
};

/* ---- out ---- */

static struct cv_text text_of(const struct peer_notice *notice, size_t which)
{
    struct cv_text text;
    memcpy(&text, (const char *)notice + texts[which].place, sizeof text);
    return text;
}

/* Writes the lengths, then the bytes. Returns where the body ends, in whole words. */
static char *write_texts(const struct peer_notice *notice, char *at)
{
    size_t padding = 0;
    for (size_t i = 0; i < PEER_NOTICE_TEXTS; i++)
        if (kinds[notice->kind].tells & 1u << i) {
            const struct cv_text text = text_of(notice, i);
            const uint32_t length = htole32(text.start ? (uint32_t)text.length : ABSENT);
            memcpy(at, &length, sizeof length);
            at += sizeof length;
        }
    for (size_t i = 0; i < PEER_NOTICE_TEXTS; i++) {
        const struct cv_text text = text_of(notice, i);
        if (!(kinds[notice->kind].tells & 1u << i) || !text.start)
            continue;
        memcpy(at, text.start, text.length);
        at += text.length;
        padding += text.length;
    }
    padding = -padding % 4;
    memset(at, 0, padding);
    return at + padding;
}

static struct cv_notice write_notice(const struct peer_notice *notice, uint64_t *body)
{
    uint64_t *number = body;
    for (size_t i = 0; i < PEER_NOTICE_NUMBERS; i++)
        if (kinds[notice->kind].carries & 1u << i) {
            memcpy(number, (const char *)notice + fields[i].place, sizeof *number);
            *number = htole64(*number);
            number++;
        }
    const char *end = kinds[notice->kind].tells ? write_texts(notice, (char *)number) : (char *)number;
    return (struct cv_notice){.subject = notice->subject,
                              .name = notice->name,
                              .kind = notice->kind,
                              .words = (uint32_t)(end - (char *)body) / 4,
                              .body = body};
}

bool peer_notice_is_valid(const struct peer_notice *notice)
{
    bool valid = kinds[notice->kind].subjects & 1u << notice->subject;
    for (size_t i = 0; i < PEER_NOTICE_NUMBERS; i++) {
        uint64_t number;
        memcpy(&number, (const char *)notice + fields[i].place, sizeof number);
        valid = valid && (!(kinds[notice->kind].carries & 1u << i) || number <= fields[i].most);
    }
    for (size_t i = 0; i < PEER_NOTICE_TEXTS; i++) {
        struct cv_text text;
        memcpy(&text, (const char *)notice + texts[i].place, sizeof text);
        valid = valid && (!(kinds[notice->kind].tells & 1u << i) || !text.start || text.length <= texts[i].most);
    }
    return valid;
}

struct cv_notice peer_notice_write(const struct peer_notice *notice, struct peer_notice_body *body)
{
    return write_notice(notice, body->words);
}

/* The room for a page is many pages of the stack, which the other notices need not touch. */
__attribute__((noinline)) static cv_set send_page(const struct cv_service *service, cv_node to,
                                                  const struct peer_notice *notice)
{
    struct peer_notice_body body;
    const struct cv_notice carried = peer_notice_write(notice, &body);
    return cv_member_notify(service->member, to, &carried);
}

cv_set peer_notice_send(const struct cv_service *service, cv_node to, const struct peer_notice *notice)
{
    const struct cv_algorithm_host *host = service->host;
    uint64_t body[PEER_NOTICE_NUMBERS + SHORT_TEXT_BYTES / 8 + PEER_NOTICE_TEXTS];
    if (to == CV_NOBODY && host->view.members == cv_set_of(host->roster->me))
        return 0; /* there is nobody else */
    if (!peer_notice_is_valid(notice))
        return 0; /* whatever a client has said, this node is not cut off for it */
    if (kinds[notice->kind].tells & PAGE)
        return send_page(service, to, notice);
    const struct cv_notice carried = write_notice(notice, body);
    return cv_member_notify(service->member, to, &carried);
}

/* ---- in ---- */

/* Reads the body, whose length is right. Is every number one that a member may send? */
static bool read_body(const struct cv_notice *carried, struct peer_notice *notice)
{
    const char *at = carried->body;
    bool valid = true;
    for (size_t i = 0; i < PEER_NOTICE_NUMBERS; i++)
        if (kinds[notice->kind].carries & 1u << i) {
            uint64_t number;
            memcpy(&number, at, sizeof number);
            number = le64toh(number);
            memcpy((char *)notice + fields[i].place, &number, sizeof number);
            valid = valid && number <= fields[i].most;
            at += sizeof number;
        }
    return valid;
}

/* Reads the texts in that many bytes. Are they all there, none too long, and nothing after them? */
static bool read_texts(const char *at, size_t bytes, struct peer_notice *notice)
{
    const uint32_t tells = kinds[notice->kind].tells;
    const char *start = at + 4 * (size_t)__builtin_popcount(tells);
    size_t used = 4 * (size_t)__builtin_popcount(tells);
    if (bytes < used)
        return false;
    for (size_t i = 0; i < PEER_NOTICE_TEXTS; i++) {
        uint32_t length;
        if (!(tells & 1u << i))
            continue;
        memcpy(&length, at, sizeof length);
        at += sizeof length;
        length = le32toh(length);
        if (length == ABSENT)
            continue;
        if (length > texts[i].most || length > bytes - used)
            return false;
        memcpy((char *)notice + texts[i].place, &(struct cv_text){start, length}, sizeof(struct cv_text));
        start += length;
        used += length;
    }
    return bytes - used == -used % 4 && (!notice->client.start || cv_is_client_name(notice->client));
}

const char *peer_notice_read(const struct cv_notice *carried, struct peer_notice *notice)
{
    *notice = (struct peer_notice){.subject = carried->subject, .name = carried->name};
    if (carried->kind >= PEER_NOTICE_KINDS)
        return "a notice of no known kind";
    notice->kind = carried->kind;
    const uint32_t numbers = 2 * (uint32_t)__builtin_popcount(kinds[notice->kind].carries);
    if (!(kinds[notice->kind].subjects & 1u << carried->subject))
        return "a notice about the wrong kind of name";
    if (kinds[notice->kind].tells ? carried->words < numbers : carried->words != numbers)
        return "a notice of the wrong length";
    if (!read_body(carried, notice))
        return "a notice with a number that is too high";
    if (kinds[notice->kind].tells &&
        !read_texts((const char *)carried->body + 4 * (size_t)numbers, 4 * ((size_t)carried->words - numbers), notice))
        return "a notice with a text that is too long, or of the wrong length";
    return NULL;
}

void peer_notice_heard(void *context, cv_node from, const struct cv_notice *carried)
{
    struct cv_service *service = context;
    struct peer_notice notice;
    const char *wrong = peer_notice_read(carried, &notice);
    notice.from = from;
    notice.current = carried->current;
    if (wrong)
        cv_peers_cut_off(&service->member->peers, from, wrong);
    else if (carried->current || kinds[notice.kind].in_any_view)
        kinds[notice.kind].hear(service, &notice);
}
