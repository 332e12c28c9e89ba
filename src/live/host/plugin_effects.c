// SPDX-License-Identifier: MIT
#include "live/host/plugin_effects.h"

static const char *message_fault(const struct cv_self *me, const struct cv_policy *policy,
                                 const struct cv_message *message)
{
    if (message->to >= me->group->nodes || message->from != me->node)
        return "it sends a message to or from a node that does not exist";
    if (message->kind >= policy->kinds)
        return "it sends a message of a kind that its table does not have";
    const uint64_t longest = policy->algorithm->kinds[message->kind].bytes + 2 * sizeof(cv_id) * me->group->nodes;
    if (!cv_message_fits(policy->algorithm, me->group->nodes, message) || message->words * 4 > longest)
        return "it sends a message whose length is not that of its kind";
    return NULL;
}

const char *plugin_effects_fault(const struct cv_self *me, const struct cv_instance *instance)
{
    const bool enters = me->effects & CV_DID_ENTER;
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        const char *fault = message_fault(me, instance->policy, message);
        if (fault)
            return fault;
        at += cv_message_bytes(message);
    }
    if (enters && !(instance_is_section(instance) && instance->flags & CV_WANTS))
        return "it enters without a request";
    return NULL;
}
