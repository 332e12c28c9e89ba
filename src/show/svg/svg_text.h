// SPDX-License-Identifier: MIT
/* Texts, colours and the heading of a picture. */
#ifndef CONCLAVE_SHOW_SVG_SVG_TEXT_H
#define CONCLAVE_SHOW_SVG_SVG_TEXT_H

#include "show/svg/svg_parts.h"

/* Text with what XML reserves escaped, and without what it forbids. */
void svg_escape(FILE *out, const char *text);
/* The width of a text, about. */
double svg_text_width(const char *text, double size);
/* A text element of that class. */
void svg_text(struct svg *svg, double x, double y, const char *class, const char *text);
const char *svg_colour(uint32_t kind);
/* The beginning of the file, up to the ground that everything is drawn on. */
void svg_open(const struct svg *svg, FILE *out);
/* Title and verdict; returns where the picture may begin below. */
double svg_heading(struct svg *svg);

#endif
