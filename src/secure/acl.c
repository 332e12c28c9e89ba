// SPDX-License-Identifier: MIT
#include "secure/acl.h"

#include <stdlib.h>
#include <string.h>

#include "core/glob.h"
#include "secure/key.h"

#define LONGEST 512u /* of a name or a pattern */

/* ---- the sections ---- */

static struct cv_acl *section(struct cv_acls *acls, const char *identities)
{
    for (uint32_t i = 0; i < acls->count; i++)
        if (strcmp(acls->list[i].identities, identities) == 0)
            return &acls->list[i];
    struct cv_acl *list = realloc(acls->list, (acls->count + 1) * sizeof *list);
    if (!list)
        return NULL;
    acls->list = list;
    list[acls->count] = (struct cv_acl){.identities = strdup(identities)};
    return list[acls->count].identities ? &list[acls->count++] : NULL;
}

/* A second line with the same key adds to the first. */
static int add_names(char **names, const char *value)
{
    const size_t before = *names ? strlen(*names) : 0, length = strlen(value);
    char *all = realloc(*names, before + length + 2);
    if (!all)
        return CV_ENOMEM;
    if (before)
        all[before] = ' ';
    memcpy(all + before + (before > 0), value, length + 1);
    *names = all;
    return 0;
}

int cv_acls_set(struct cv_acls *acls, const char *identities, const char *key, const char *value,
                struct cv_complaint *complaint)
{
    static const char *const keys[] = {[CV_MAY_LOCK] = "lock", [CV_MAY_ELECT] = "elect", [CV_MAY_OBSERVE] = "observe"};
    if (strlen(identities) >= LONGEST || strlen(value) >= LONGEST)
        return cv_complain(complaint, "[acl %s] %s: expected less than %u bytes", cv_brief(identities).text,
                           cv_brief(key).text, LONGEST);
    struct cv_acl *acl = section(acls, identities);
    if (!acl)
        return CV_ENOMEM;
    for (size_t i = CV_MAY_LOCK; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0)
            return add_names(&acl->names[i], value);
    if (strcmp(key, "admin") != 0)
        return cv_complain(complaint, "[acl %s] %s: expected lock, elect, observe or admin", cv_brief(identities).text,
                           cv_brief(key).text);
    acl->admin = strcmp(value, "yes") == 0;
    if (!acl->admin && strcmp(value, "no") != 0)
        return cv_complain(complaint, "[acl %s] admin = %s: expected yes or no", cv_brief(identities).text,
                           cv_brief(value).text);
    return 0;
}

void cv_acls_free(struct cv_acls *acls)
{
    for (uint32_t i = 0; i < acls->count; i++) {
        free(acls->list[i].identities);
        for (size_t right = 0; right < CV_MAY_TALK; right++)
            free(acls->list[i].names[right]);
    }
    free(acls->list);
    *acls = (struct cv_acls){0};
}

/* ---- asking ---- */

bool cv_identity_reserved(const char *identity)
{
    return strcmp(identity, CV_KEY_CLUSTER) == 0 || strcmp(identity, CV_IDENTITY_LOCAL) == 0 ||
           strcmp(identity, CV_IDENTITY_ANYBODY) == 0;
}

bool cv_acls_find(const struct cv_acls *acls, const char *identity, const struct cv_acl **acl)
{
    *acl = NULL;
    if (strcmp(identity, CV_KEY_CLUSTER) == 0)
        return true; /* a holder of the cluster's key could derive any other key */
    for (uint32_t i = 0; i < acls->count; i++)
        if (cv_glob(cv_text(acls->list[i].identities), cv_text(identity))) {
            *acl = &acls->list[i];
            return true;
        }
    return !acls->count || strcmp(identity, CV_IDENTITY_LOCAL) == 0; /* the socket's file permission is enough */
}

static bool fits(const char *patterns, struct cv_text name)
{
    struct cv_text rest = patterns ? cv_text(patterns) : (struct cv_text){"", 0}, pattern;
    while (cv_text_take(&rest, ' ', &pattern))
        if (pattern.length && cv_glob(pattern, name))
            return true;
    return false;
}

bool cv_acl_allows(const struct cv_acl *acl, enum cv_right right, struct cv_text name)
{
    if (!acl || acl->admin || right == CV_MAY_TALK)
        return true;
    /* A name that cannot be compared as a whole is refused. */
    if (right == CV_MAY_ADMIN || name.length > LONGEST || memchr(name.start, '\0', name.length))
        return false;
    if (right == CV_MAY_OBSERVE && (fits(acl->names[CV_MAY_LOCK], name) || fits(acl->names[CV_MAY_ELECT], name)))
        return true;
    return fits(acl->names[right], name);
}
