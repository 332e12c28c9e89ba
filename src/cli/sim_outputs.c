// SPDX-License-Identifier: MIT
#include "cli/sim_outputs.h"

int sim_outputs_open(struct sim_outputs *outputs, const struct sim_request *request,
                     const struct cv_scenario *scenario, struct cv_complaint *complaint)
{
    (void)outputs;
    (void)request;
    (void)scenario;
    (void)complaint;
    return 0;
}

int sim_outputs_finish(struct sim_outputs *outputs, const struct sim_result *result, struct cv_complaint *complaint)
{
    (void)outputs;
    (void)result;
    (void)complaint;
    return 0;
}

void sim_outputs_close(struct sim_outputs *outputs)
{
    (void)outputs;
}
