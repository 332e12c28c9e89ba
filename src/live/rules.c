// SPDX-License-Identifier: MIT
#include "live/rules.h"

#include <stdio.h>
#include <xxhash.h>

#define STATES_BYTES ((uint64_t)1 << 30) /* of all names of a plugin, unless the operator allows more names */
#define SHORT_DIGEST 16

static const char *problem_of(const struct cv_policy *policy)
{
    return policy->algorithm->problem == CV_MUTEX ? "lock" : "election";
}

static const char *pattern_of(const struct cv_policy *policy)
{
    return policy->pattern ? policy->pattern : "group";
}

uint64_t rules_fingerprint(const struct cv_algorithm_host *host)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < host->policy_count; i++) {
        const struct cv_policy *policy = &host->policies[i];
        const char *pattern = pattern_of(policy);
        hash = XXH3_64bits_withSeed(pattern, strlen(pattern) + 1, hash + policy->algorithm->problem);
        if (policy->file)
            hash = XXH3_64bits_withSeed(&policy->digest, sizeof policy->digest, hash);
        hash = XXH3_64bits_withSeed(&policy->fingerprint, sizeof policy->fingerprint, hash);
    }
    return hash ? hash : 1;
}

bool rules_have_plugins(const struct cv_algorithm_host *host)
{
    for (uint32_t i = 0; i < host->policy_count; i++)
        if (host->policies[i].file)
            return true;
    return false;
}

const char *rules_text(const struct cv_algorithm_host *host, char text[RULES_TEXT_BYTES])
{
    size_t length = 0;
    *text = '\0';
    for (uint32_t i = 0; i < host->policy_count && length < RULES_TEXT_BYTES; i++) {
        const struct cv_policy *policy = &host->policies[i];
        char digest[CV_DIGEST_TEXT_BYTES];
        const int wanted = policy->file
                               ? snprintf(text + length, RULES_TEXT_BYTES - length, "%s[%s %s] %s (sha256 %.*s...)",
                                          length ? ", " : "", problem_of(policy), pattern_of(policy), policy->file,
                                          SHORT_DIGEST, cv_digest_text(&policy->digest, digest))
                               : snprintf(text + length, RULES_TEXT_BYTES - length, "%s[%s %s] %s", length ? ", " : "",
                                          problem_of(policy), pattern_of(policy), policy->algorithm->name);
        length += wanted > 0 ? (size_t)wanted : 0;
    }
    return text;
}

int rules_measure(const struct cv_algorithm_host *host, uint64_t *names, struct cv_complaint *complaint)
{
    *names = UINT64_MAX;
    for (uint32_t i = 0; i < host->policy_count; i++) {
        const struct cv_policy *policy = &host->policies[i];
        const struct cv_algorithm *algorithm = policy->algorithm;
        if (!policy->file)
            continue;
        const size_t bytes =
            algorithm->state_size ? algorithm->state_size(&policy->group, host->roster->me) : algorithm->state_bytes;
        if (bytes > CV_MOST_STATE_BYTES)
            return cv_complain(complaint, "[%s %s] algorithm = %s: a state of %zu bytes; expected at most %zu",
                               problem_of(policy), pattern_of(policy), policy->file, bytes, CV_MOST_STATE_BYTES);
        if (bytes && STATES_BYTES / bytes < *names)
            *names = STATES_BYTES / bytes;
    }
    return 0;
}
