// SPDX-License-Identifier: MIT
#include "cli/study/explore_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/json.h"

/* Where the start stands in the page. */
static const char place[] = "<script id=\"begin\" type=\"application/json\">";
#define NOTHING "null"

/* The files that the words name, with what they hold: a page cannot read them. */
static void write_files(struct cv_json *json, const struct cv_plan *plan)
{
    const struct {
        const char *name, *text;
    } files[] = {{plan->graph, plan->graph_text},
                 {cv_plan_setting(plan, "quorums"), plan->quorums_text},
                 {cv_plan_setting(plan, "clusters"), plan->clusters_text}};
    cv_json_open(json, "files", '{');
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i].name && files[i].text)
            cv_json_text(json, files[i].name, files[i].text);
    cv_json_close(json, '}');
}

static void write_start(struct cv_json *json, const struct explore_start *start)
{
    cv_json_open(json, NULL, '{');
    if (start->replay) {
        cv_json_text(json, "replay", start->replay);
        cv_json_truth(json, "fromStart", true);
    } else if (start->scenario) {
        cv_json_open(json, "words", '[');
        for (int i = 0; i < start->count; i++)
            cv_json_text(json, NULL, start->words[i]);
        cv_json_close(json, ']');
        write_files(json, &start->scenario->plan);
    }
    if (start->served)
        cv_json_text(json, "served", "call");
    cv_json_close(json, '}');
}

/* In a script no text may end the script: < stands only in texts here, where \u003c says the same. */
static void copy_start(FILE *out, const char *json, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (json[i] == '<')
            fputs("\\u003c", out);
        else
            putc(json[i], out);
}

int explore_page_make(const struct explore_start *start, char **page, size_t *length, struct cv_complaint *complaint)
{
    const size_t bytes = (size_t)(explore_page_end - explore_page_begin);
    const char *at = bytes ? memmem(explore_page_begin, bytes, place, sizeof place - 1) : NULL;
    if (!at) {
        cv_complain(complaint, "explore: this program was built without the page; expected preact and htm "
                               "(scripts/npm-packages) and clang's WebAssembly target when it is built");
        return CV_EFILE;
    }
    at += sizeof place - 1;
    char *json = NULL;
    size_t json_length = 0;
    FILE *words = open_memstream(&json, &json_length), *out = NULL;
    if (words)
        write_start(&(struct cv_json){.out = words}, start);
    int error = !words || fclose(words) ? CV_ENOMEM : 0;
    if (!error)
        out = open_memstream(page, length);
    if (out) {
        fwrite(explore_page_begin, 1, (size_t)(at - explore_page_begin), out);
        copy_start(out, json, json_length);
        at += sizeof NOTHING - 1;
        fwrite(at, 1, (size_t)(explore_page_end - at), out);
    }
    if (!error && (!out || fclose(out)))
        error = CV_ENOMEM;
    free(json);
    return error;
}
