// SPDX-License-Identifier: MIT
/*
 * A space-time diagram to keep: processes as lines, time to the right, messages as arrows, crashes, suspicions,
 * partitions, leaders. A run too large to be drawn becomes a picture of its messages over time.
 */
#ifndef CONCLAVE_SHOW_SVG_SVG_H
#define CONCLAVE_SHOW_SVG_SVG_H

#include <stdio.h>

#include "property/property.h"
#include "show/history.h"

/*
 * If the history has watched the states, the mouse finds them: what each step changed, and the end. With `states` the
 * picture says it, too. 0 or CV_ENOMEM. Check the FILE for write errors.
 */
int cv_svg_write(FILE *out, const struct cv_run *run, const struct cv_judgement *judgement,
                 const struct cv_history *history, bool states);

#endif
