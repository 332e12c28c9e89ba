// SPDX-License-Identifier: MIT
/* What the colours and the marks mean. */
#include "show/svg/svg_legend.h"

#include <inttypes.h>

#include "show/svg/svg_marks.h"
#include "show/svg/svg_text.h"

static const char *const meanings[SVG_MARKS] = {
    [SVG_CALL] = "calls an election",
    [SVG_TIMEOUT] = "times out",
    [SVG_SUSPECT] = "suspects somebody",
    [SVG_ELECTED] = "knows the leader",
    [SVG_WAIT] = "waits",
    [SVG_INSIDE] = "inside, with its fence",
    [SVG_PULSE] = "begins a round; ✓ is through",
    [SVG_RESULT] = "has come to",
    [SVG_CRASH] = "crashes",
    [SVG_RECOVER] = "comes back",
    [SVG_LOST] = "lost",
};

/* Begins a new line if the text does not fit. */
static void place(const struct svg *svg, struct svg_point *at, double needed)
{
    if (at->x + needed <= svg->width - 20 || at->x <= 28)
        return;
    at->x = 28;
    at->y += 24;
}

double svg_legend_draw(struct svg *svg, double y)
{
    const struct cv_kind *kinds = svg->scenario->algorithm->kinds;
    struct svg_point at = {28, y};
    for (uint32_t kind = 0; kinds[kind].name; kind++) {
        char text[96];
        if (!svg->run->count[kind])
            continue;
        snprintf(text, sizeof text, "%.60s × %" PRIu64, kinds[kind].name, svg->run->count[kind]);
        const double needed = 38 + svg_text_width(text, SVG_PLAIN) + 22;
        place(svg, &at, needed);
        fprintf(svg->out,
                "<path class=\"arrow\" stroke=\"%s\" marker-end=\"url(#k%" PRIu32 ")\" d=\"M%.1f %.1fh28\"/>\n",
                svg_colour(kind), kind, at.x, at.y - 5);
        svg_text(svg, at.x + 36, at.y, "", text);
        at.x += needed;
    }
    at = (struct svg_point){28, at.y + 26};
    for (uint32_t mark = 0; mark < SVG_MARKS; mark++) {
        if (!svg->drawn_marks[mark])
            continue;
        const double needed = 16 + svg_text_width(meanings[mark], 13) + 22;
        place(svg, &at, needed);
        svg_mark_draw(svg, (enum svg_mark)mark, at.x + 7, at.y - 5);
        svg_text(svg, at.x + 20, at.y, "end dim", meanings[mark]);
        at.x += needed;
    }
    return at.y + 8;
}
