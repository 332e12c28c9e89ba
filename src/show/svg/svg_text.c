// SPDX-License-Identifier: MIT
/* Texts in a picture, and its frame. */
#include "show/svg/svg_text.h"
#include "core/formula/theory_symbols.h"

#include <inttypes.h>
#include <stdlib.h>

/* How many bytes the well-formed UTF-8 character there has; 0 if it is none. */
static size_t utf8_bytes(const unsigned char *text)
{
    const size_t bytes = *text < 0x80                    ? 1
                         : *text >= 0xc2 && *text < 0xe0 ? 2
                         : *text >= 0xe0 && *text < 0xf0 ? 3
                         : *text >= 0xf0 && *text < 0xf5 ? 4
                                                         : 0;
    for (size_t i = 1; i < bytes; i++)
        if ((text[i] & 0xc0u) != 0x80u)
            return 0;
    if ((*text == 0xe0 && text[1] < 0xa0) || (*text == 0xed && text[1] > 0x9f) || (*text == 0xf0 && text[1] < 0x90) ||
        (*text == 0xf4 && text[1] > 0x8f))
        return 0; /* overlong, or no character */
    return bytes;
}

void svg_escape(FILE *out, const char *text)
{
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        const size_t bytes = utf8_bytes(at);
        if (*at == '&')
            fputs("&amp;", out);
        else if (*at == '<')
            fputs("&lt;", out);
        else if (*at == '>')
            fputs("&gt;", out);
        else if (*at == '"')
            fputs("&quot;", out);
        else if (bytes == 0 || *at < 0x20 || *at == 0x7f)
            putc(' ', out);
        else
            fwrite(at, 1, bytes, out);
        at += bytes ? bytes : 1;
    }
}

double svg_text_width(const char *text, double size)
{
    size_t characters = 0;
    for (; *text; text++)
        characters += ((unsigned char)*text & 0xc0u) != 0x80u;
    return (double)characters * size * 0.58;
}

void svg_text(struct svg *svg, double x, double y, const char *class, const char *text)
{
    fprintf(svg->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\">", x, y, class);
    svg_escape(svg->out, text);
    fputs("</text>\n", svg->out);
}

/* Colours that colour-blind people can tell apart, after Okabe and Ito, darkened for a light background. */
const char *svg_colour(uint32_t kind)
{
    static const char *const colours[] = {"#0072b2", "#d55e00", "#00805c", "#a63d80",
                                          "#8a6d00", "#2f8fc4", "#444444", "#b3261e"};
    return colours[kind % (sizeof colours / sizeof *colours)];
}

static const char style[] =
    "<style>\n"
    "text{font-family:system-ui,-apple-system,'Segoe UI','Helvetica Neue',Arial,'DejaVu Sans',sans-serif;"
    "font-size:14px;fill:#1f2328}\n"
    ".title{font-size:22px;font-weight:600}\n"
    ".dim{fill:#656d76}\n"
    ".small{font-size:12px}\n"
    ".tick{font-size:12px;fill:#656d76;text-anchor:middle}\n"
    ".id{font-weight:600;text-anchor:middle}\n"
    ".chip{fill:#fff;font-weight:600;font-size:13px;text-anchor:middle}\n"
    ".label{font-size:12px;text-anchor:middle;paint-order:stroke;stroke:#fdfdfb;stroke-width:4px;"
    "stroke-linejoin:round}\n"
    ".note{font-size:12px;fill:#656d76;paint-order:stroke;stroke:#fdfdfb;stroke-width:3px}\n"
    ".end{font-size:13px}\n"
    ".life{stroke:#8c959f;stroke-width:1.6}\n"
    ".dead{stroke:#c9ced4;stroke-width:1.4;stroke-dasharray:2 5}\n"
    ".grid{stroke:#eceeef;stroke-width:1}\n"
    ".cut{stroke:#b3261e;stroke-width:1.2;stroke-dasharray:6 5}\n"
    ".wait{fill:#0a8f6c;fill-opacity:.22}\n"
    ".inside{fill:#0a8f6c}\n"
    ".fence{font-size:11px;font-weight:700;fill:#fff}\n"
    ".beside{font-size:11px;font-weight:700;fill:#07694f;paint-order:stroke;stroke:#fdfdfb;stroke-width:3px}\n"
    ".view{stroke:#1a7f37;stroke-width:1.2;stroke-dasharray:6 5}\n"
    ".arrow{fill:none;stroke-width:1.7}\n"
    ".thin{stroke-width:1;opacity:.7}\n"
    ".gone{stroke-dasharray:5 4;opacity:.75}\n"
    ".mark{stroke:#1f2328;stroke-width:1.2}\n"
    "</style>\n";

static void write_titles(const struct svg *svg, FILE *out)
{
    const struct cv_algorithm *algorithm = svg->scenario->algorithm;
    fputs("<title>", out);
    svg_escape(out, algorithm->title);
    fprintf(out, ", %" PRIu32 " nodes</title>\n<desc>%" PRIu64 " messages in %" PRIu64 " ticks: %s.",
            svg->scenario->group.nodes, svg->run->total, svg->run->time, cv_verdict_name(svg->judgement->verdict));
    if (svg->judgement->has_leader)
        fprintf(out, " The leader is %s.", cv_name_of(svg->scenario, svg->judgement->leader).text);
    fputs("</desc>\n", out);
}

void svg_open(const struct svg *svg, FILE *out)
{
    fprintf(out,
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
            "role=\"img\">\n",
            svg->width, svg->height, svg->width, svg->height);
    write_titles(svg, out);
    fputs(style, out);
    fprintf(out, "<rect width=\"%.0f\" height=\"%.0f\" rx=\"8\" fill=\"#fdfdfb\"/>\n", svg->width, svg->height);
}

/* ---- the heading ---- */

static void write_facts(struct svg *svg, FILE *out)
{
    if (svg->judgement->has_leader)
        fprintf(out, "%s leads  ·  ", cv_name_of(svg->scenario, svg->judgement->leader).text);
    fprintf(out, "%" PRIu64 " messages  ·  time %" PRIu64, svg->run->total, svg->run->time);
}

/* Breaks a long text between words. */
static double write_lines(struct svg *svg, double y, const char *reason)
{
    const size_t most = (size_t)((svg->width - 56) / (SVG_PLAIN * 0.58));
    char line[256];
    while (*reason) {
        size_t length = strlen(reason) < most ? strlen(reason) : most;
        length = length < sizeof line ? length : sizeof line - 1;
        if (reason[length])
            while (length > 1 && reason[length] != ' ')
                length--;
        memcpy(line, reason, length);
        line[length] = '\0';
        svg_text(svg, 28, y, "dim", line);
        reason += length;
        reason += *reason == ' ';
        y += 20;
    }
    return y;
}

static double write_cost(struct svg *svg, double y, const char *what, const struct cv_expectation *expected)
{
    char text[256];
    if (!expected->cost)
        return y;
    snprintf(text, sizeof text, "%s, %s: %s%s = %.10g %s", cv_source_phrase(expected->cost), expected->cost->label,
             expected->cost->exact ? "" : "at most ", expected->cost->formula, expected->value, what);
    return write_lines(svg, y, text);
}

double svg_heading(struct svg *svg)
{
    static const char *const chips[] = {"#1a7f37", "#b3261e", "#9a6700", "#656d76"};
    const char *verdict = cv_verdict_name(svg->judgement->verdict);
    const double chip = svg_text_width(verdict, 13) + 22;
    char *facts = NULL;
    size_t size;
    svg_text(svg, 28, 42, "title", svg->scenario->algorithm->title);
    char where[128];
    const uint32_t nodes = svg->scenario->group.nodes;
    const struct cv_algorithm *app = svg->scenario->app;
    snprintf(where, sizeof where, "%.40s%s%.40s, %" PRIu32 " node%s, seed %" PRIu64, svg->scenario->algorithm->name,
             app ? " with " : "", app ? app->name : "", nodes, nodes == 1 ? "" : "s", svg->scenario->seed);
    svg_text(svg, 28, 65, "dim", where);
    fprintf(svg->out, "<rect x=\"28\" y=\"78\" width=\"%.1f\" height=\"22\" rx=\"11\" fill=\"%s\"/>\n", chip,
            chips[svg->judgement->verdict]);
    svg_text(svg, 28 + chip / 2, 93.5, "chip", verdict);
    FILE *words = open_memstream(&facts, &size);
    if (!words) {
        svg->out_of_memory = true;
        return 120;
    }
    write_facts(svg, words);
    fclose(words);
    svg_text(svg, 28 + chip + 12, 94, "", facts);
    free(facts);
    double y = 122;
    y = write_cost(svg, y, "messages", &svg->judgement->messages);
    y = write_cost(svg, y, "message times", &svg->judgement->delay);
    y = write_lines(svg, y, svg->judgement->reason);
    return y > 122 ? y : 108;
}
