// SPDX-License-Identifier: MIT
/* Texts, colours and the heading of a picture. */
#ifndef CONCLAVE_SHOW_SVG_SVG_TEXT_H
#define CONCLAVE_SHOW_SVG_SVG_TEXT_H

#include "show/svg/svg_parts.h"

/* Text with what XML reserves escaped, and without what it forbids. */
void svg_escape(FILE *out, const char *text);
/* The approximate width of a text. */
double svg_text_width(const char *text, double size);
/* Writes a text element of that class. */
void svg_text(struct svg *svg, double x, double y, const char *class, const char *text);
const char *svg_colour(uint32_t kind);
/* Writes the beginning of the file, up to the background. */
void svg_open(const struct svg *svg, FILE *out);
/* Writes title and verdict; returns the y below them. */
double svg_heading(struct svg *svg);

#endif
