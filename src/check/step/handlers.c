// SPDX-License-Identifier: MIT
#include "check/step/handlers.h"

#include "core/scenario/validity.h"

/* Is the message valid? Between real processes an invalid one does not reach its handler. */
static bool is_valid(struct handler_call *call)
{
    return !call->kinds ||
           cv_message_validity(call->algorithm, call->kinds, call->me, call->message, &call->broken) == CV_VALID;
}

void handler_call(void *context)
{
    struct handler_call *call = context;
    const struct cv_algorithm *algorithm = call->algorithm;
    struct cv_self *me = call->me;
    switch (call->type) {
    case CV_DECIDE_START:
        if (algorithm->start)
            algorithm->start(me);
        break;
    case CV_DECIDE_REQUEST:
        algorithm->request(me);
        break;
    case CV_DECIDE_LEAVE:
        algorithm->release(me);
        break;
    case CV_DECIDE_DELIVER:
        call->refused = !is_valid(call);
        if (call->refused)
            return;
        algorithm->kinds[call->message->kind].receive(me, call->message);
        break;
    case CV_DECIDE_TIMEOUT:
        algorithm->timeout(me, call->argument);
        break;
    case CV_DECIDE_RECOVER:
        if (algorithm->init)
            algorithm->init(me);
        if (algorithm->recover)
            algorithm->recover(me);
        break;
    case CV_DECIDE_TRUST:
        if (algorithm->trust)
            algorithm->trust(me, call->argument);
        break;
    default:
        if (algorithm->suspect)
            algorithm->suspect(me, call->argument);
        break;
    }
    if (algorithm->invariant)
        call->broken = algorithm->invariant(me);
}

uint32_t handler_sends(const struct cv_self *me)
{
    uint32_t count = 0;
    for (size_t at = 0; at < me->used; count++)
        at += cv_message_bytes((const void *)(me->outbox + at));
    return count;
}
