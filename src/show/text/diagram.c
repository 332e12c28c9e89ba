// SPDX-License-Identifier: MIT
#include "show/text/diagram.h"

#include <stdlib.h>

#include "show/text/diagram_draw.h"
#include "show/text/summary.h"

int cv_diagram_write(FILE *out, const struct cv_scenario *scenario, const struct cv_history *history,
                     const struct cv_diagram_options *options)
{
    struct cv_content content = {0};
    struct diagram_rows *rows = calloc(1, sizeof *rows);
    int error = rows ? cv_content_learn(&content, scenario, history) : CV_ENOMEM;
    if (!error) {
        diagram_rows_make(rows, scenario, history, options->states);
        error = rows->out_of_memory ? CV_ENOMEM : rows->too_many ? CV_EINPUT : 0;
    }
    if (!error)
        error = diagram_draw(out, rows, &content, history, options);
    if (error == CV_EINPUT)
        error = cv_summary_write(out, scenario, history, options->width, options->colour);
    cv_content_free(&content);
    free(rows ? rows->cells : NULL);
    free(rows);
    return error;
}
