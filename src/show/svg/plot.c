// SPDX-License-Identifier: MIT
#include "show/svg/plot.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "show/svg/svg_parts.h"
#include "show/svg/svg_text.h"

#define MOST_LINES 24u
#define PANEL_WIDTH 440.0
#define PANEL_HEIGHT 430.0
#define PANEL_TOP 128.0
#define LEFT 76.0
#define LABEL_PITCH 18.0

struct range {
    double low, high;
};

struct line {
    const char *algorithm;
    uint32_t order; /* its index among all algorithms, for colour and shape */
    double last_x;  /* the x of its last point */
    double end;     /* the y of its last point */
    double label;   /* the y of its label */
};

struct panel {
    FILE *out;
    const struct cv_comparison *comparison;
    const struct cv_section *section;
    const uint32_t *sizes; /* up to 0; only the largest if `against` is set */
    double left;
    struct range across, values;
    struct line lines[MOST_LINES];
    uint32_t line_count;
};

/* ---- axes ---- */

static double place(const struct range *range, double value, double length)
{
    return (log(value) - log(range->low)) / (log(range->high) - log(range->low)) * length;
}

static double x_of(const struct panel *panel, double value)
{
    return panel->left + 14 + place(&panel->across, value, PANEL_WIDTH - 28);
}

static double y_of(const struct panel *panel, double value)
{
    return PANEL_TOP + PANEL_HEIGHT - 12 - place(&panel->values, value, PANEL_HEIGHT - 24);
}

static void take_in(struct range *range, double value)
{
    if (value <= 0)
        return;
    range->low = value < range->low ? value : range->low;
    range->high = value > range->high ? value : range->high;
}

/* The x of a measurement: the size, or another measurement of that algorithm; 0: none. */
static double across(const struct panel *panel, const struct cv_measurement *row)
{
    if (!panel->section->against)
        return row->nodes;
    const struct cv_section other = {.quantity = panel->section->against, .load = panel->section->load};
    const struct cv_measurement *it = cv_compare_find(panel->comparison, &other, row->algorithm, row->nodes);
    return it && it->known ? it->measured : 0;
}

static void widen(struct range *range)
{
    if (range->high == 0)
        *range = (struct range){1, 1};
    if (range->high < 1.2 * range->low)
        *range = (struct range){range->low / 1.5, range->high * 1.5};
}

static bool is_shown(const struct panel *panel, const struct cv_measurement *row)
{
    return strcmp(row->quantity, panel->section->quantity) == 0 &&
           (!panel->section->against || row->nodes == panel->sizes[0]);
}

/* Panels of one quantity share their ranges, so that they can be compared. */
static void find_ranges(struct panel *panel)
{
    const struct cv_comparison *comparison = panel->comparison;
    panel->across = panel->values = (struct range){HUGE_VAL, 0};
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct cv_measurement *row = &comparison->rows[i];
        if (!is_shown(panel, row))
            continue;
        if (!panel->section->against || row->measured > 0)
            take_in(&panel->across, across(panel, row));
        if (row->known)
            take_in(&panel->values, row->measured);
        if (row->formula)
            take_in(&panel->values, row->expected);
    }
    widen(&panel->across);
    widen(&panel->values);
}

static void draw_grid_line(const struct panel *panel, double value, bool labelled)
{
    const double y = y_of(panel, value);
    fprintf(panel->out, "<path class=\"grid\" d=\"M%.1f %.1fH%.1f\"/>\n", panel->left, y, panel->left + PANEL_WIDTH);
    if (labelled)
        fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"scale\">%.10g</text>\n", panel->left - 8, y + 4,
                value);
}

/* The next number of 1, 2, 5, 10, 20, ... in the range. Begin with 0; 0 after the last. */
static double next_step(const struct range *range, double before)
{
    static const double steps[] = {1, 2, 5};
    const int first = (int)floor(log10(range->low)), last = (int)floor(log10(range->high));
    for (int exponent = first; exponent <= last; exponent++)
        for (size_t i = 0; i < 3; i++) {
            const double value = pow(10, exponent) * steps[i];
            if (value > before * 1.001 && value >= range->low * 0.999 && value <= range->high * 1.001)
                return value;
        }
    return 0;
}

static void draw_scale(const struct panel *panel)
{
    const double decades = log10(panel->values.high / panel->values.low);
    double value = 0;
    while ((value = next_step(&panel->values, value)) > 0)
        draw_grid_line(panel, value, decades < 3.5 || fabs(log10(value) - round(log10(value))) < 1e-9);
}

static void draw_tick(const struct panel *panel, double value, double *before)
{
    const double x = x_of(panel, value);
    fprintf(panel->out, "<path class=\"grid\" d=\"M%.1f %.1fV%.1f\"/>\n", x, PANEL_TOP, PANEL_TOP + PANEL_HEIGHT);
    if (x - *before < 24)
        return;
    fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick\">%.10g</text>\n", x, PANEL_TOP + PANEL_HEIGHT + 18,
            value);
    *before = x;
}

/* The title of the x axis. */
static const char *caption(const struct panel *panel)
{
    const struct cv_section *section = panel->comparison->sections;
    while (section->title && panel->section->against && strcmp(section->quantity, panel->section->against) != 0)
        section++;
    return panel->section->against ? section->title : "nodes, n";
}

static void draw_axes(const struct panel *panel)
{
    double before = -100, value = 0;
    fprintf(panel->out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#fff\" stroke=\"#d0d7de\"/>\n",
            panel->left, PANEL_TOP, PANEL_WIDTH, PANEL_HEIGHT);
    draw_scale(panel);
    while (panel->section->against && (value = next_step(&panel->across, value)) > 0)
        draw_tick(panel, value, &before);
    for (uint32_t i = 0; panel->sizes[i] && !panel->section->against; i++)
        if (panel->sizes[i] >= panel->across.low && panel->sizes[i] <= panel->across.high)
            draw_tick(panel, panel->sizes[i], &before);
    fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"tick\">", panel->left + PANEL_WIDTH / 2,
            PANEL_TOP + PANEL_HEIGHT + 40);
    svg_escape(panel->out, caption(panel));
    fputs("</text>\n", panel->out);
}

/* ---- lines ---- */

/* Ten colours, in pairs that colour-blind people can tell apart; the shapes distinguish the rest. */
static const char *colour_of(uint32_t order)
{
    static const char *const more[] = {"#5e4b9c", "#6b7a00"};
    return order < 8 ? svg_colour(order) : more[order % 2];
}

static void draw_point(FILE *out, uint32_t order, double x, double y)
{
    static const char *const shapes[] = {
        "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0-9 0z",
        "m-4-4h8v8h-8z",
        "m0-5.5 5.2 9h-10.4z",
        "m0-5.6 5.6 5.6-5.6 5.6-5.6-5.6z",
        "m0 5.5 5.2-9h-10.4z",
        "m-5-2h3v-3h4v3h3v4h-3v3h-4v-3h-3z",
        "m-4.4-2.6 4.4-2.6 4.4 2.6v5.2l-4.4 2.6-4.4-2.6z",
    };
    fprintf(out, "<path class=\"point\" fill=\"%s\" d=\"M%.1f %.1f%s\"/>\n", colour_of(order), x, y,
            shapes[order % (sizeof shapes / sizeof *shapes)]);
}

static const struct cv_measurement *at(const struct panel *panel, const struct line *line, uint32_t size)
{
    return cv_compare_find(panel->comparison, panel->section, line->algorithm, panel->sizes[size]);
}

static void draw_path(const struct panel *panel, const struct line *line, bool formula)
{
    bool begun = false;
    fprintf(panel->out, "<path class=\"%s\" stroke=\"%s\" d=\"", formula ? "formula" : "measured",
            colour_of(line->order));
    for (uint32_t i = 0; panel->sizes[i]; i++) {
        const struct cv_measurement *row = at(panel, line, i);
        const bool there = row && (formula ? row->formula && row->expected > 0 : row->known && row->measured > 0);
        if (there)
            fprintf(panel->out, "%c%.1f %.1f", begun ? 'L' : 'M', x_of(panel, across(panel, row)),
                    y_of(panel, formula ? row->expected : row->measured));
        begun = begun || there;
    }
    fputs(begun ? "\"/>\n" : "M0 0\"/>\n", panel->out);
}

static void draw_points(const struct panel *panel, const struct line *line)
{
    for (uint32_t i = 0; panel->sizes[i]; i++) {
        const struct cv_measurement *row = at(panel, line, i);
        if (row && row->known && row->measured > 0)
            draw_point(panel->out, line->order, x_of(panel, across(panel, row)), y_of(panel, row->measured));
    }
}

/* ---- labels ---- */

static int by_height(const void *left, const void *right)
{
    const struct line *one = left, *other = right;
    if (one->end != other->end)
        return one->end < other->end ? -1 : 1;
    return (one->order > other->order) - (one->order < other->order);
}

/* Puts labels beside the ends of their lines, and moves them apart where they are close. */
static void place_labels(struct panel *panel)
{
    struct line *lines = panel->lines;
    qsort(lines, panel->line_count, sizeof *lines, by_height);
    for (uint32_t i = 0; i < panel->line_count; i++)
        lines[i].label = lines[i].end;
    for (int round = 0; round < 200; round++)
        for (uint32_t i = 1; i < panel->line_count; i++) {
            const double overlap = LABEL_PITCH - (lines[i].label - lines[i - 1].label);
            if (overlap > 0) {
                lines[i - 1].label -= overlap / 2;
                lines[i].label += overlap / 2;
            }
        }
    const double below = panel->line_count ? lines[panel->line_count - 1].label - (PANEL_TOP + PANEL_HEIGHT) : 0;
    for (uint32_t i = 0; i < panel->line_count && below > 0; i++)
        lines[i].label -= below;
}

static void draw_label(const struct panel *panel, const struct line *line)
{
    const double right = panel->left + PANEL_WIDTH;
    const struct cv_measurement *last = NULL;
    for (uint32_t i = 0; panel->sizes[i]; i++)
        last = at(panel, line, i) ? at(panel, line, i) : last;
    fprintf(panel->out, "<path class=\"lead\" stroke=\"%s\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", colour_of(line->order),
            line->last_x + 6, line->end, right + 14, line->label);
    draw_point(panel->out, line->order, right + 20, line->label);
    fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"name\" style=\"fill:%s\">", right + 29, line->label + 4.5,
            colour_of(line->order));
    svg_escape(panel->out, line->algorithm);
    if (last && last->formula) {
        fputs("<tspan class=\"expression\" dx=\"6\">", panel->out);
        svg_escape(panel->out, last->exact ? "" : "≤ ");
        svg_escape(panel->out, last->formula);
        fputs("</tspan>", panel->out);
    }
    fputs("</text>\n", panel->out);
}

/* The width of the longest label, to the right of a panel. */
static double label_width(const struct cv_comparison *comparison, const struct cv_section *section)
{
    double widest = 0;
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct cv_measurement *row = &comparison->rows[i];
        if (strcmp(row->quantity, section->quantity) != 0)
            continue;
        const double width = svg_text_width(row->algorithm, 14.5) +
                             (row->formula ? svg_text_width(row->formula, 12) + (row->exact ? 6 : 24) : 0);
        widest = width > widest ? width : widest;
    }
    return widest + 40;
}

/* ---- a panel ---- */

static void find_lines(struct panel *panel)
{
    const struct cv_comparison *comparison = panel->comparison;
    uint32_t order = 0;
    for (size_t i = 0; i < comparison->row_count && panel->line_count < MOST_LINES; i++) {
        if (!cv_compare_begins(comparison, panel->section, i))
            continue;
        struct line line = {.algorithm = comparison->rows[i].algorithm, .order = order++};
        for (uint32_t size = 0; panel->sizes[size]; size++) {
            const struct cv_measurement *row = at(panel, &line, size);
            if (!row || !row->known || row->measured <= 0)
                continue;
            line.last_x = x_of(panel, across(panel, row));
            line.end = y_of(panel, row->measured);
        }
        if (line.end > 0)
            panel->lines[panel->line_count++] = line;
    }
}

static void draw_panel(struct panel *panel)
{
    fprintf(panel->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"heading\">", panel->left, PANEL_TOP - 14);
    svg_escape(panel->out, panel->section->title);
    if (panel->section->against)
        fprintf(panel->out, ", n = %" PRIu32, panel->sizes[0]);
    fputs("</text>\n", panel->out);
    draw_axes(panel);
    find_lines(panel);
    place_labels(panel);
    for (uint32_t i = 0; i < panel->line_count; i++)
        draw_path(panel, &panel->lines[i], false);
    for (uint32_t i = 0; i < panel->line_count; i++)
        draw_path(panel, &panel->lines[i], true);
    for (uint32_t i = 0; i < panel->line_count; i++)
        draw_points(panel, &panel->lines[i]);
    for (uint32_t i = 0; i < panel->line_count; i++)
        draw_label(panel, &panel->lines[i]);
}

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;"
    "font-size:14px;fill:#1f2328}\n"
    ".title{font-size:22px;font-weight:600}\n"
    ".heading{font-weight:600}\n"
    ".dim{fill:#656d76}\n"
    ".tick{font-size:12px;fill:#656d76;text-anchor:middle}\n"
    ".scale{font-size:12px;fill:#656d76;text-anchor:end}\n"
    ".name{font-size:13px;font-weight:600}\n"
    ".expression{font-size:12px;font-weight:400;fill:#656d76}\n"
    ".grid{stroke:#eceeef;stroke-width:1;fill:none}\n"
    ".measured{fill:none;stroke-width:6;opacity:.28;stroke-linejoin:round;stroke-linecap:round}\n"
    ".formula{fill:none;stroke-width:1.3;stroke-dasharray:5 4}\n"
    ".lead{fill:none;stroke-width:1;opacity:.5}\n"
    ".point{stroke:#fff;stroke-width:1.2}\n"
    "</style>\n";

static void draw_legend(FILE *out, double y)
{
    fprintf(out, "<path class=\"measured\" stroke=\"#0072b2\" d=\"M%.0f %.1fh44\"/>\n", LEFT, y - 5);
    draw_point(out, 0, LEFT + 22, y - 5);
    fprintf(out, "<text x=\"%.0f\" y=\"%.1f\">measured in the simulator</text>\n", LEFT + 54, y);
    fprintf(out, "<path class=\"formula\" stroke=\"#0072b2\" d=\"M%.0f %.1fh44\"/>\n", LEFT + 260, y - 5);
    fprintf(out, "<text x=\"%.0f\" y=\"%.1f\">the formula; with ≤, its bound</text>\n", LEFT + 314, y);
}

static void draw_head(FILE *out, const struct cv_comparison *comparison, const char *what, double width, double height)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "role=\"img\">\n<title>",
            width, height, width, height);
    svg_escape(out, comparison->title);
    fprintf(out, "</title>\n<desc>Messages against %s, on logarithmic axes. Seed %" PRIu64 ".</desc>\n", what,
            comparison->seed);
    fputs(style, out);
    fprintf(out, "<rect width=\"%.0f\" height=\"%.0f\" rx=\"8\" fill=\"#fdfdfb\"/>\n", width, height);
    fprintf(out, "<text x=\"28\" y=\"42\" class=\"title\">");
    svg_escape(out, comparison->title);
    fprintf(out,
            "</text>\n<text x=\"28\" y=\"65\" class=\"dim\">messages against %s, both axes logarithmic, seed %" PRIu64
            "%s</text>\n",
            what, comparison->seed, comparison->interrupted ? "; interrupted, not complete" : "");
}

static void prepare(struct panel *panel, FILE *out, const struct cv_comparison *comparison,
                    const struct cv_section *section)
{
    *panel = (struct panel){.out = out, .comparison = comparison, .section = section};
    panel->sizes = cv_compare_sizes(comparison, section);
    while (section->against && panel->sizes[0] && panel->sizes[1])
        panel->sizes++;
    find_ranges(panel);
}

int cv_plot_svg(FILE *out, const struct cv_comparison *comparison)
{
    const struct cv_section *drawn[2];
    uint32_t count = 0;
    for (const struct cv_section *section = comparison->sections; section->title && count < 2; section++)
        if (section->drawn)
            drawn[count++] = section;
    assert(count == 2);
    const double labels[2] = {label_width(comparison, drawn[0]), label_width(comparison, drawn[1])};
    const double width = 2 * (LEFT + PANEL_WIDTH) + labels[0] + labels[1], height = PANEL_TOP + PANEL_HEIGHT + 96;
    struct panel *panel = malloc(sizeof *panel);
    if (!panel)
        return CV_ENOMEM;
    draw_head(out, comparison, drawn[0]->against ? "time and against n" : "n", width, height);
    for (uint32_t i = 0; i < 2; i++) {
        prepare(panel, out, comparison, drawn[i]);
        panel->left = LEFT + i * (PANEL_WIDTH + labels[0] + LEFT);
        draw_panel(panel);
    }
    draw_legend(out, height - 24);
    fputs("</svg>\n", out);
    free(panel);
    return 0;
}
