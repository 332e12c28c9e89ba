// SPDX-License-Identifier: MIT
#include "view/svg.h"
int cv_svg_write(FILE *out, const struct cv_run *run, const struct cv_judgement *judgement,
                 const struct cv_history *history)
{
    (void)out; (void)run; (void)judgement; (void)history;
    return 0;
}
