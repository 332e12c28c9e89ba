// SPDX-License-Identifier: MIT
#include "live/plugins.h"

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

uint64_t plugins_fingerprint(const struct cv_algorithm_host *host)
{
    uint64_t hash = 0;
    for (uint32_t i = 0; i < host->policy_count; i++) {
        const struct cv_policy *policy = &host->policies[i];
        const char *pattern = pattern_of(policy);
        if (!policy->file)
            continue;
        hash = XXH3_64bits_withSeed(pattern, strlen(pattern) + 1, hash + policy->algorithm->problem);
        hash = XXH3_64bits_withSeed(&policy->digest, sizeof policy->digest, hash + policy->fingerprint);
        hash = hash ? hash : 1;
    }
    return hash;
}

const char *plugins_text(const struct cv_algorithm_host *host, char text[PLUGINS_TEXT_BYTES])
{
    size_t length = 0;
    snprintf(text, PLUGINS_TEXT_BYTES, "none");
    for (uint32_t i = 0; i < host->policy_count; i++) {
        const struct cv_policy *policy = &host->policies[i];
        char digest[CV_DIGEST_TEXT_BYTES];
        if (!policy->file || length >= PLUGINS_TEXT_BYTES)
            continue;
        const int wanted = snprintf(text + length, PLUGINS_TEXT_BYTES - length, "%s[%s %s] %s (sha256 %.*s...)",
                                    length ? ", " : "", problem_of(policy), pattern_of(policy), policy->file,
                                    SHORT_DIGEST, cv_digest_text(&policy->digest, digest));
        length += wanted > 0 ? (size_t)wanted : 0;
    }
    return text;
}

int plugins_measure(const struct cv_algorithm_host *host, uint64_t *names, struct cv_complaint *complaint)
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
