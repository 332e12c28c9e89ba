// SPDX-License-Identifier: MIT
#include "service/peer_notice.h"

#include <endian.h>

#include "live/dispatch.h"
#include "service/leader.h"
#include "service/lock.h"
#include "service/named_election.h"
#include "service/peer_request.h"
#include "service/service.h"
#include "service/try_lock.h"
#include "service/ttl_promise.h"

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
    DIGEST = 1u << 13 | 1u << 14
};

/* In the order of the bits above, which is their order in the body: 8 bytes each, little-endian. */
static const struct {
    size_t place;  /* in struct peer_notice */
    uint64_t most; /* a higher number is forged */
} fields[] = {
    {offsetof(struct peer_notice, fence), INT64_MAX},
    {offsetof(struct peer_notice, session), UINT64_MAX},
    {offsetof(struct peer_notice, origin), CV_NO_ID},
    {offsetof(struct peer_notice, ticket), UINT64_MAX},
    {offsetof(struct peer_notice, hold_kinds), HOLD_LOCK | HOLD_LEADER},
    {offsetof(struct peer_notice, result), UINT64_MAX},
    {offsetof(struct peer_notice, attribute), UINT32_MAX},
    {offsetof(struct peer_notice, shared), 1},
    {offsetof(struct peer_notice, sharing_kind), SHARING_RETURN},
    {offsetof(struct peer_notice, generation), INT64_MAX},
    {offsetof(struct peer_notice, first), INT64_MAX},
    {offsetof(struct peer_notice, entry), UINT64_MAX},
    {offsetof(struct peer_notice, ttl_ms), LONGEST_MS},
    {offsetof(struct peer_notice, digest), UINT64_MAX},
    {offsetof(struct peer_notice, digest) + sizeof(uint64_t), UINT64_MAX},
};

_Static_assert(sizeof fields / sizeof *fields == PEER_NOTICE_NUMBERS, "as many as there are bits above");

/* ---- the table ---- */

#define LOCK (1u << CV_SUBJECT_LOCK)
#define LEADER (1u << CV_SUBJECT_LEADER)
#define ELECTION (1u << CV_SUBJECT_ELECTION)

static const struct {
    uint32_t subjects; /* what the name may be the name of */
    uint32_t carries;  /* the numbers in its body */
    bool in_any_view;  /* it is true in every view; the others count only in the view they were sent in */
    void (*hear)(struct cv_service *service, const struct peer_notice *notice);
} kinds[PEER_NOTICE_KINDS] = {
    [PEER_NOTICE_LEADS] = {LEADER, FENCE | SESSION | ORIGIN, true, leader_hear_change},
    [PEER_NOTICE_LED] = {LEADER, FENCE | SESSION | ORIGIN, true, leader_hear_change},
    [PEER_NOTICE_KNOWS] = {LEADER, FENCE, false, leader_hear_known},
    [PEER_NOTICE_UNLOCK] = {LOCK | LEADER, FENCE | TICKET | HOLD_KINDS | DIGEST, true, peer_request_hear_question},
    [PEER_NOTICE_RENEW] = {LOCK, FENCE | TICKET | HOLD_KINDS | DIGEST, true, peer_request_hear_question},
    [PEER_NOTICE_ANSWER] = {LOCK, TICKET | RESULT, true, peer_request_hear_answer},
    [PEER_NOTICE_STANDS] = {ELECTION, ATTRIBUTE, false, named_election_hear},
    [PEER_NOTICE_TRY] = {LOCK | LEADER, TICKET | SHARED, false, try_lock_hear_question},
    [PEER_NOTICE_BUSY] = {LOCK | LEADER, TICKET, false, try_lock_hear_answer},
    [PEER_NOTICE_SHARING] = {LOCK, SHARING_KIND | GENERATION | FIRST | ENTRY, false, lock_hear_sharing},
    [PEER_NOTICE_PROMISE] = {LOCK | LEADER, FENCE | SESSION | GENERATION | ENTRY | TTL | DIGEST, false,
                             ttl_promise_hear},
    [PEER_NOTICE_PROMISED] = {LOCK | LEADER, FENCE, false, ttl_promise_hear_known},
    [PEER_NOTICE_OVER] = {LOCK | LEADER, FENCE, false, ttl_promise_hear_over},
};

/* ---- out ---- */

struct cv_notice peer_notice_write(const struct peer_notice *notice, uint64_t body[PEER_NOTICE_NUMBERS])
{
    uint32_t count = 0;
    for (size_t i = 0; i < PEER_NOTICE_NUMBERS; i++)
        if (kinds[notice->kind].carries & 1u << i) {
            uint64_t number;
            memcpy(&number, (const char *)notice + fields[i].place, sizeof number);
            body[count++] = htole64(number);
        }
    return (struct cv_notice){
        .subject = notice->subject, .name = notice->name, .kind = notice->kind, .words = 2 * count, .body = body};
}

cv_set peer_notice_send(const struct cv_service *service, cv_node to, const struct peer_notice *notice)
{
    uint64_t body[PEER_NOTICE_NUMBERS];
    const struct cv_notice carried = peer_notice_write(notice, body);
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

const char *peer_notice_read(const struct cv_notice *carried, struct peer_notice *notice)
{
    *notice = (struct peer_notice){.subject = carried->subject, .name = carried->name};
    if (carried->kind >= PEER_NOTICE_KINDS)
        return "a notice of no known kind";
    notice->kind = carried->kind;
    if (!(kinds[notice->kind].subjects & 1u << carried->subject))
        return "a notice about the wrong kind of name";
    if (carried->words != 2 * (uint32_t)__builtin_popcount(kinds[notice->kind].carries))
        return "a notice of the wrong length";
    return read_body(carried, notice) ? NULL : "a notice with a number that is too high";
}

void peer_notice_heard(void *context, cv_node from, const struct cv_notice *carried)
{
    struct cv_service *service = context;
    struct peer_notice notice;
    const char *wrong = peer_notice_read(carried, &notice);
    notice.from = from;
    if (wrong)
        cv_peers_cut_off(&service->member->peers, from, wrong);
    else if (carried->current || kinds[notice.kind].in_any_view)
        kinds[notice.kind].hear(service, &notice);
}
