// SPDX-License-Identifier: MIT
#include "core/formula/formula.h"

#include <math.h>
#include <string.h>

#define MAX_DEPTH 64u

/* After a failure `at` is at the end of the text, so every loop ends. */
struct parser {
    const char *text;
    const char *at;
    const struct cv_formula_names *names;
    struct cv_complaint *complaint;
    unsigned depth;
    bool failed;
};

/* A function of one argument, or one that folds a list. */
struct function {
    const char *name;
    double (*apply)(struct parser *p, const char *at, double x);
    double (*fold)(double x, double y);
};

static double expression(struct parser *p);
static double power(struct parser *p);

/* ---- characters ------------------------------------------------------------------------------------- */

/* Symbols with a meaning of their own, superscript digits first. Every other character beyond ASCII is a letter. */
static const char *const symbols[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹",
                                      "−", "·", "⋅", "×", "√", "⌊", "⌋", "⌈", "⌉"};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_continuation(char c)
{
    return ((unsigned char)c & 0xc0) == 0x80;
}

static bool begins(const char *at, const char *symbol)
{
    return strncmp(at, symbol, strlen(symbol)) == 0;
}

static size_t character_length(const char *at)
{
    size_t length = 1;
    while (is_continuation(at[length]))
        length++;
    return length;
}

/* The bytes of the letter here, 0 when there is none. */
static size_t letter_length(const char *at)
{
    if ((*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') || *at == '_')
        return 1;
    if ((unsigned char)*at < 0x80)
        return 0;
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        if (begins(at, symbols[i]))
            return 0;
    return character_length(at);
}

/* Every token also takes the spaces after it, so `at` never stands at one. */
static void advance(struct parser *p, size_t bytes)
{
    p->at += bytes;
    while (*p->at == ' ' || *p->at == '\t')
        p->at++;
}

static bool accept(struct parser *p, const char *symbol)
{
    if (!begins(p->at, symbol))
        return false;
    advance(p, strlen(symbol));
    return true;
}

/* Complains about the `span` bytes at `at`. Only the first complaint counts; it causes the others. */
static double fail(struct parser *p, const char *at, const char *what, size_t span)
{
    if (!p->failed) {
        size_t place = 1;
        for (const char *c = p->text; c < at; c++)
            place += !is_continuation(*c);
        cv_complain(p->complaint, "%s%s%.*s%s at character %zu of formula '%s'", what, span ? " '" : "", (int)span, at,
                    span ? "'" : "", place, p->text);
    }
    p->failed = true;
    p->at = p->text + strlen(p->text);
    return 0;
}

static double checked(struct parser *p, const char *at, double x)
{
    return isfinite(x) ? x : fail(p, at, "the value is not finite", 0);
}

/* ---- functions -------------------------------------------------------------------------------------- */

/* Exact for powers of two and strictly between whole numbers elsewhere, so that ⌊log₂ x⌋ and ⌈log₂ x⌉ are right. */
static double logarithm(struct parser *p, const char *at, double x)
{
    if (!(x > 0))
        return fail(p, at, "the logarithm needs a number above 0", 0);
    int exponent;
    const double fraction = 2 * frexp(x, &exponent), whole = exponent - 1;
    if (fraction == 1)
        return whole;
    return fmin(fmax(whole + log2(fraction), nextafter(whole, INFINITY)), nextafter(whole + 1, -INFINITY));
}

static double root(struct parser *p, const char *at, double x)
{
    return x >= 0 ? sqrt(x) : fail(p, at, "the root needs a number of at least 0", 0);
}

/* A thousand terms are summed; beyond them Euler's expansion is as exact as a double can tell. */
static double harmonic(struct parser *p, const char *at, double x)
{
    if (x < 0 || x != floor(x))
        return fail(p, at, "H needs a whole number of at least 0", 0);
    if (x > 1000)
        return log(x) + 0.57721566490153286 + 1 / (2 * x) - 1 / (12 * x * x);
    double sum = 0;
    for (int i = (int)x; i > 0; i--)
        sum += 1.0 / i;
    return sum;
}

static const struct function functions[] = {
    {"log₂", logarithm, NULL}, {"log2", logarithm, NULL}, {"sqrt", root, NULL}, {"√", root, NULL},
    {"H", harmonic, NULL},     {"max", NULL, fmax},       {"min", NULL, fmin},
};

static double closed(struct parser *p, const char *bracket, double value)
{
    return accept(p, bracket) ? value : fail(p, p->at, "a closing bracket is missing", 0);
}

static double call(struct parser *p, const struct function *function)
{
    const char *at = p->at;
    if (!accept(p, "("))
        return function->fold ? fail(p, at, "a '(' is missing", 0) : function->apply(p, at, power(p));
    double value = expression(p);
    while (function->fold && accept(p, ","))
        value = function->fold(value, expression(p));
    value = closed(p, ")", value);
    return function->fold ? value : function->apply(p, at, value);
}

/* ---- values ----------------------------------------------------------------------------------------- */

/* Not strtod: it depends on the locale, and "4E" is a number and a name here. */
static double number(struct parser *p)
{
    double value = 0, scale = 1;
    for (; is_digit(*p->at); p->at++)
        value = value * 10 + (*p->at - '0');
    if (*p->at == '.' && is_digit(p->at[1]))
        for (p->at++; is_digit(*p->at); p->at++) {
            value = value * 10 + (*p->at - '0');
            scale *= 10;
        }
    advance(p, 0);
    return value / scale;
}

static double name(struct parser *p)
{
    const struct function *function = NULL;
    for (size_t i = 0; !function && i < sizeof functions / sizeof *functions; i++)
        if (begins(p->at, functions[i].name))
            function = &functions[i];

    const char *at = p->at;
    const size_t shortest = function ? strlen(function->name) : 0;
    size_t run = 0;
    for (size_t letter; (letter = letter_length(at + run)) > 0;)
        run += letter;
    for (size_t length = run; p->names && length > shortest; length--) {
        double value;
        if (!is_continuation(at[length]) && p->names->lookup(p->names->context, at, length, &value)) {
            advance(p, length);
            return value;
        }
    }
    if (!function)
        return fail(p, at, run ? "unknown name" : "a value is missing", run);
    advance(p, shortest);
    return call(p, function);
}

static double value_of(struct parser *p)
{
    if (is_digit(*p->at))
        return number(p);
    if (accept(p, "("))
        return closed(p, ")", expression(p));
    if (accept(p, "⌊"))
        return floor(closed(p, "⌋", expression(p)));
    if (accept(p, "⌈"))
        return ceil(closed(p, "⌉", expression(p)));
    return name(p);
}

static bool follows_value(const struct parser *p)
{
    return *p->at == '(' || begins(p->at, "⌊") || begins(p->at, "⌈") || begins(p->at, "√") || letter_length(p->at) > 0;
}

/* ---- operators -------------------------------------------------------------------------------------- */

static bool accept_minus(struct parser *p)
{
    return accept(p, "-") || accept(p, "−");
}

static double signed_power(struct parser *p)
{
    bool negative = false;
    for (;;)
        if (accept_minus(p))
            negative = !negative;
        else if (!accept(p, "+"))
            return negative ? -power(p) : power(p);
}

/* All recursion passes through here, so this limits its depth. */
static double power(struct parser *p)
{
    const char *at = p->at;
    if (p->depth >= MAX_DEPTH)
        return fail(p, at, "too deep a nesting", 0);
    p->depth++;
    double value = value_of(p);
    int digit = 0;
    while (digit < 10 && !accept(p, symbols[digit]))
        digit++;
    if (digit < 10)
        value = pow(value, digit);
    if (accept(p, "^"))
        value = pow(value, signed_power(p));
    p->depth--;
    return checked(p, at, value);
}

static double term(struct parser *p)
{
    double value = signed_power(p);
    for (;;)
        if (accept(p, "*") || accept(p, "·") || accept(p, "⋅") || accept(p, "×")) {
            value *= signed_power(p);
        } else if (accept(p, "/")) {
            const char *at = p->at;
            const double divisor = signed_power(p);
            value = divisor != 0 ? value / divisor : fail(p, at, "division by zero", 0);
        } else if (follows_value(p)) {
            value *= power(p);
        } else {
            return value;
        }
}

static double expression(struct parser *p)
{
    const char *at = p->at;
    double value = term(p);
    for (;;)
        if (accept(p, "+"))
            value += term(p);
        else if (accept_minus(p))
            value -= term(p);
        else
            return checked(p, at, value);
}

int cv_formula_evaluate(const char *text, const struct cv_formula_names *names, double *value,
                        struct cv_complaint *complaint)
{
    struct parser p = {.text = text, .at = text, .names = names, .complaint = complaint};
    advance(&p, 0);
    const double result = expression(&p);
    if (!p.failed && *p.at)
        fail(&p, p.at, "unexpected", character_length(p.at));
    if (p.failed)
        return CV_EINPUT;
    *value = result;
    return 0;
}
