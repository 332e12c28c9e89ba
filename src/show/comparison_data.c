// SPDX-License-Identifier: MIT
/* A comparison for programs: JSON and CSV. */
#include "show/comparison_data.h"

#include <inttypes.h>
#include <string.h>

#include "show/json.h"

static const char *source_name(const struct cv_measurement *row)
{
    return row->source == CV_TEXT ? "text" : row->source == CV_PAPER ? "paper" : "derived";
}

static void json_row(struct cv_json *json, const struct cv_measurement *row)
{
    cv_json_open(json, NULL, '{');
    cv_json_text(json, "algorithm", row->algorithm);
    cv_json_text(json, "load", row->load);
    cv_json_count(json, "nodes", row->nodes);
    cv_json_text(json, "quantity", row->quantity);
    if (row->known)
        cv_json_real(json, "measured", row->measured);
    else
        cv_json_null(json, "measured");
    if (row->formula) {
        cv_json_text(json, "formula", row->formula);
        cv_json_real(json, "expected", row->expected);
        cv_json_text(json, "relation", row->exact ? "=" : "<=");
        cv_json_truth(json, "holds", row->holds);
        cv_json_text(json, "source", source_name(row));
        cv_json_text(json, "where", row->where);
    } else {
        cv_json_null(json, "formula");
        cv_json_null(json, "expected");
        cv_json_null(json, "relation");
        cv_json_null(json, "holds");
        cv_json_null(json, "source");
        cv_json_null(json, "where");
    }
    if (row->remark)
        cv_json_text(json, "remark", row->remark);
    else
        cv_json_null(json, "remark");
    cv_json_text(json, "command", row->command);
    cv_json_close(json, '}');
}

static void json_demonstration(struct cv_json *json, const struct cv_demonstration *it)
{
    cv_json_open(json, NULL, '{');
    cv_json_text(json, "problem", it->problem);
    cv_json_text(json, "algorithm", it->algorithm);
    cv_json_text(json, "circumstance", it->circumstance);
    cv_json_text(json, "verdict", cv_verdict_name(it->verdict));
    cv_json_text(json, "expected", cv_verdict_name(it->expected));
    cv_json_text(json, "outcome", it->outcome);
    cv_json_text(json, "command", it->command);
    cv_json_close(json, '}');
}

void cv_compare_json(FILE *out, const struct cv_comparison *comparison)
{
    struct cv_json json = {.out = out};
    cv_json_open(&json, NULL, '{');
    cv_json_count(&json, "schema", 1);
    cv_json_text(&json, "problem", comparison->problem);
    cv_json_count(&json, "seed", comparison->seed);
    cv_json_text(&json, "verdict",
                 !cv_compare_holds(comparison) ? "violated"
                 : comparison->interrupted     ? "unfinished"
                                               : "held");
    cv_json_open(&json, "rows", '[');
    for (size_t i = 0; i < comparison->row_count; i++)
        json_row(&json, &comparison->rows[i]);
    cv_json_close(&json, ']');
    cv_json_open(&json, "problems", '[');
    for (size_t i = 0; i < comparison->demonstration_count; i++)
        json_demonstration(&json, &comparison->demonstrations[i]);
    cv_json_close(&json, ']');
    cv_json_close(&json, '}');
    putc('\n', out);
}

/* Quotes a field with a comma or a quote in it, and doubles its quotes. */
static void csv_text(FILE *out, const char *text)
{
    if (!strpbrk(text, ",\"\n")) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    for (; *text; text++)
        fputs(*text == '"' ? "\"\"" : (char[2]){*text, '\0'}, out);
    putc('"', out);
}

void cv_compare_csv(FILE *out, const struct cv_comparison *comparison)
{
    fputs("problem,algorithm,load,nodes,quantity,measured,formula,expected,relation,holds,source,command\n", out);
    for (size_t i = 0; i < comparison->row_count; i++) {
        const struct cv_measurement *row = &comparison->rows[i];
        fprintf(out, "%s,", comparison->problem);
        csv_text(out, row->algorithm);
        fprintf(out, ",%s,%" PRIu32 ",%s,", row->load, row->nodes, row->quantity);
        if (row->known)
            fprintf(out, "%.10g", row->measured);
        putc(',', out);
        if (row->formula) {
            csv_text(out, row->formula);
            fprintf(out, ",%.10g,%s,%s,%s,", row->expected, row->exact ? "=" : "<=", row->holds ? "yes" : "no",
                    source_name(row));
        } else {
            fputs(",,,,,", out);
        }
        csv_text(out, row->command);
        putc('\n', out);
    }
}
