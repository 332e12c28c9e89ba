// SPDX-License-Identifier: MIT
#include "service/words.h"

#include <xxhash.h>

#include "live/settings/settings_limits.h"

#define SECRET_BYTES 128u

// NOLINTNEXTLINE(misc-redundant-expression): they are written in two rooms
_Static_assert(CV_LARGEST_LONGEST_TTL_MS <= CV_LONGEST_TTL_MS, "members refuse a longer time to live");

static struct cv_brief brief(struct cv_text text)
{
    return cv_brief_text(text);
}

bool word_is_name(struct session *session, struct cv_text name)
{
    if (name.length > CV_NAME_BYTES) {
        cv_resp_error(&session->out, "TOOBIG a name of %zu bytes, expected at most %u", name.length, CV_NAME_BYTES);
        return false;
    }
    for (size_t i = 0; i < name.length; i++)
        if ((unsigned char)name.start[i] < ' ' || name.start[i] == 127) {
            cv_resp_error(&session->out, "ERR name '%s': expected no control characters", brief(name).text);
            return false;
        }
    if (!name.length)
        cv_resp_error(&session->out, "ERR name '': expected 1 to %u bytes", CV_NAME_BYTES);
    return name.length;
}

bool word_is_number(struct session *session, const char *what, struct cv_text text, uint64_t *number)
{
    if (cv_parse_number(text, LONGEST_MS, number))
        return true;
    cv_resp_error(&session->out, "ERR %s '%s': expected a number of 0 to %llu", what, brief(text).text,
                  (unsigned long long)LONGEST_MS);
    return false;
}

bool word_is_fence(struct session *session, struct cv_text text, uint64_t *fence)
{
    if (cv_parse_number(text, INT64_MAX, fence))
        return true;
    cv_resp_error(&session->out, "ERR fence '%s': expected the number that LOCK gave", brief(text).text);
    return false;
}

/* The highest priority is preferred; a client that names none has 0. */
bool word_is_priority(struct session *session, struct cv_text text, int64_t *priority)
{
    const bool negative = text.length && text.start[0] == '-';
    uint64_t size;
    if (!cv_parse_number((struct cv_text){text.start + negative, text.length - negative}, INT32_MAX, &size)) {
        cv_resp_error(&session->out, "ERR PRIORITY '%s': expected a number of %d to %d", brief(text).text, -INT32_MAX,
                      INT32_MAX);
        return false;
    }
    *priority = negative ? -(int64_t)size : (int64_t)size;
    return true;
}

bool word_is_ttl(struct session *session, struct cv_text text, uint64_t *ttl_ms)
{
    return word_is_duration(session, "TTL", text, 1, ttl_ms);
}

bool word_is_duration(struct session *session, const char *what, struct cv_text text, uint64_t unit_ms, uint64_t *ms)
{
    uint64_t number;
    const uint64_t most_ms = session->service->limits->longest_ttl_ms;
    if (cv_parse_number(text, most_ms / unit_ms, &number) && number) {
        *ms = number * unit_ms;
        return true;
    }
    cv_resp_error(&session->out, "ERR %s '%s': expected a number of 1 to %llu, the longest time to live", what,
                  brief(text).text, (unsigned long long)(most_ms / unit_ms));
    return false;
}

bool word_is_permits(struct session *session, struct cv_text text, uint64_t *permits)
{
    if (cv_parse_number(text, MOST_PERMITS, permits) && *permits)
        return true;
    cv_resp_error(&session->out, "ERR PERMITS '%s': expected a number of 1 to %u", brief(text).text, MOST_PERMITS);
    return false;
}

void word_digest(struct cv_text secret, uint64_t digest[2])
{
    const XXH128_hash_t hash = XXH3_128bits(secret.start, secret.length);
    digest[0] = hash.low64 | 1; /* 0 is none */
    digest[1] = hash.high64;
}

/* Only the digest of a secret is kept and told to other members. */
bool word_is_secret(struct session *session, struct cv_text text, uint64_t digest[2])
{
    if (text.length < 1 || text.length > SECRET_BYTES) {
        cv_resp_error(&session->out, "ERR SECRET of %zu bytes: expected 1 to %u that nobody can guess", text.length,
                      SECRET_BYTES);
        return false;
    }
    word_digest(text, digest);
    return true;
}
