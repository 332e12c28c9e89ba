// SPDX-License-Identifier: MIT
#include "sim/failures.h"

#include <stdio.h>

/* A run that is over looks like one that the user has interrupted: so the loop needs no further question. */
static volatile sig_atomic_t over = 1;

static void end_with(struct cv_sim *sim, const char *failure, cv_node node)
{
    sim->options.interrupted = &over;
    if (!*failure || *sim->failure)
        return;
    snprintf(sim->failure, sizeof sim->failure, "%s", failure);
    sim->run.broken = sim->failure;
    sim->run.broken_node = node;
    sim->run.broken_time = sim->now;
}

static void failed(void *context, const struct cv_failure *failure)
{
    struct cv_sim *sim = context;
    end_with(sim, failure->interrupted ? "" : failure->text, sim->self.node);
}

static bool is_plugin(const struct cv_scenario *scenario)
{
    return cv_is_guarded(scenario->algorithm) || (scenario->app && cv_is_guarded(scenario->app));
}

struct cv_failure_listener *failures_listen(struct cv_sim *sim)
{
    if (!is_plugin(sim->scenario))
        return NULL;
    sim->listener = (struct cv_failure_listener){.failed = failed, .context = sim, .scenario = sim->scenario};
    return cv_failure_listen(&sim->listener);
}

void failures_end(const struct cv_sim *sim, struct cv_failure_listener *former)
{
    if (is_plugin(sim->scenario))
        cv_failure_listen(former);
}

void failures_pass_on(struct cv_sim *sim, const struct cv_sim *inner)
{
    if (*inner->failure)
        end_with(sim, inner->failure, inner->self.node);
}
