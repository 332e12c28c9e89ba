// SPDX-License-Identifier: MIT
/* Configurations with their ACLs: read or refused by a line, and no right that is not written there. */
#include "live/settings/settings.h"
#include "fuzz/algorithm.h"
#include "fuzz/file.h"
#include "live/settings/settings_file.h"

static bool says(const uint8_t *data, size_t size, const char *word)
{
    return size && memmem(data, size, word, strlen(word));
}

static void check_rights(const struct cv_acls *acls, const uint8_t *data, size_t size)
{
    static const char *const identities[] = {"build", "anonymous", "", "x"};
    for (size_t i = 0; i < sizeof identities / sizeof *identities; i++) {
        const struct cv_acl *acl;
        if (!cv_acls_find(acls, identities[i], &acl) || !acl)
            continue;
        const struct cv_text name = cv_text("build-1");
        if (cv_acl_allows(acl, CV_MAY_ADMIN, name))
            assert(says(data, size, "admin") && says(data, size, "yes"));
        if (cv_acl_allows(acl, CV_MAY_LOCK, name))
            assert(says(data, size, "lock") || says(data, size, "admin"));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_settings settings;
    struct cv_complaint complaint = {{0}};
    cv_settings_init(&settings, fuzz_find_algorithm);
    int error = cv_settings_read(&settings, fuzz_file(data, size), fuzz_find_algorithm, &complaint);
    if (!error) {
        check_rights(&settings.security.acls, data, size);
        error = cv_settings_finish(&settings, fuzz_find_algorithm, &complaint);
    }
    fuzz_check_complaint(error, complaint.text);
    for (uint32_t i = 0; !error && i < settings.rule_count; i++) {
        int64_t *parameters = NULL;
        cv_rule_parameters(&settings.rules[i], &settings, &parameters, &complaint);
        free(parameters);
    }
    cv_settings_free(&settings);
    return 0;
}
