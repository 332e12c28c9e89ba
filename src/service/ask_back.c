// SPDX-License-Identifier: MIT
#include "service/ask_back.h"

#include "live/net/stream.h"
#include "service/session.h"

#define AGAIN_MS 1000u /* a client is told no more often, however many others ask */

void ask_back_tell(struct session *session, struct cv_text name, uint64_t fence, struct cv_text client)
{
    if (session->out.protocol < 3 || session->stream.closing)
        return;
    cv_resp_push(&session->out, 4);
    cv_resp_word(&session->out, "askback");
    cv_resp_bulk(&session->out, name);
    cv_resp_integer(&session->out, (int64_t)fence);
    if (client.start)
        cv_resp_bulk(&session->out, client);
    else
        cv_resp_nil(&session->out);
    cv_stream_mark(&session->stream);
}

static uint64_t ask_holders(const struct lock *lock, struct cv_text client)
{
    const uint64_t now_ms = cv_loop_coarse_ms(lock->service->loop);
    uint64_t asked = 0;
    for (struct lock_hold *hold = lock->holds; hold; hold = hold->next) {
        if (hold->confirming)
            continue; /* its client does not know yet that it holds anything */
        asked++;
        if (!hold->asked_back_ms)
            hold->asked_back_ms = now_ms;
        else if (now_ms - hold->reminded_ms < AGAIN_MS)
            continue;
        hold->reminded_ms = now_ms;
        if (hold->session)
            ask_back_tell(hold->session, cv_instance_name(lock->instance), hold->fence, client);
    }
    return asked;
}

uint64_t ask_back(const struct cv_service *service, struct cv_text name, uint64_t kinds, struct cv_text client)
{
    const struct lock *lock = kinds & HOLD_LOCK ? lock_find(service, CV_SUBJECT_LOCK, name) : NULL;
    const struct lock *lead = kinds & HOLD_LEADER ? lock_find(service, CV_SUBJECT_LEADER, name) : NULL;
    return (lock ? ask_holders(lock, client) : 0) + (lead ? ask_holders(lead, client) : 0);
}
