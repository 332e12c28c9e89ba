// SPDX-License-Identifier: MIT
#include "service/access.h"

#include <stdio.h>

#include "live/net/tls_stream.h"

bool access_allowed(struct session *session, enum cv_right right, struct cv_text name)
{
    static const char *const what[] = {[CV_MAY_LOCK] = "lock", [CV_MAY_ELECT] = "elect", [CV_MAY_OBSERVE] = "observe"};
    if (cv_acl_allows(session->acl, right, name))
        return true;
    if (right == CV_MAY_ADMIN)
        cv_resp_error(&session->out, "NOPERM %s may not do this: admin is no", session->identity);
    else
        cv_resp_error(&session->out, "NOPERM %s may not %s '%s'", session->identity, what[right],
                      cv_brief_text(name).text);
    return false;
}

bool access_prove(struct session *session, struct cv_text name, struct cv_text secret)
{
    const struct cv_tls_context *keys = session->service->member->security.clients;
    const bool in_the_open = session->stream.uv.handle.type == UV_TCP && !session->stream.tls;
    char identity[sizeof session->identity];
    if (!keys || in_the_open) {
        cv_resp_error(&session->out,
                      "ERR Client sent AUTH, but this node has no keys, or this connection is not private");
        return false;
    }
    if (!cv_tls_secret_is(keys, name, secret)) {
        cv_resp_error(&session->out, "WRONGPASS invalid username-password pair or user is disabled.");
        return false;
    }
    snprintf(identity, sizeof identity, "%.*s", (int)name.length, name.start);
    const struct cv_acl *acl;
    if (!cv_acls_find(&session->service->member->security.settings->acls, identity, &acl)) {
        cv_resp_error(&session->out, "NOPERM %s may do nothing here", identity);
        return false;
    }
    return session_become(session, identity);
}

void access_auth(struct session *session, const struct cv_resp_command *command)
{
    const struct cv_text name = command->count > 2 ? command->word[1] : cv_text("default");
    if (access_prove(session, name, command->word[command->count - 1]))
        cv_resp_status(&session->out, "OK");
}

void access_acl(struct session *session, const struct cv_resp_command *command)
{
    if (cv_resp_is(command->word[1], "WHOAMI"))
        cv_resp_word(&session->out, session->identity);
    else
        cv_resp_error(&session->out, "ERR ACL '%s': expected WHOAMI", cv_brief_text(command->word[1]).text);
}
