// SPDX-License-Identifier: MIT
#include "show/text/states.h"

#include <inttypes.h>

#include "show/phrase.h"

#define MOST_NODES 100u /* whose states are printed */

/* One line: "2  mode waiting, leader -". */
static void write_state(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history, cv_node node,
                        uint32_t name)
{
    fprintf(out, "  %*s", (int)cv_longest_name(scenario), cv_name(scenario, node).text);
    if (scenario->names > 1)
        fprintf(out, " section %" PRIu32, name);
    fputs("  ", out);
    if (history->nodes[node].down)
        fputs("is down; it was: ", out);
    cv_phrase_state(out, scenario, history, node, name);
    putc('\n', out);
}

void cv_states_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history)
{
    const uint32_t nodes = scenario->group.nodes < MOST_NODES ? scenario->group.nodes : MOST_NODES;
    if (!cv_fields_named(scenario))
        fprintf(out, "%s does not name the fields of its state\n", scenario->algorithm->name);
    else
        fputs("states at the end\n", out);
    for (cv_node node = 0; cv_fields_named(scenario) && node < nodes; node++)
        for (uint32_t name = 0; name < (scenario->names ? scenario->names : 1); name++)
            write_state(out, scenario, history, node, name);
    if (nodes < scenario->group.nodes)
        fputs("  …\n", out);
}
