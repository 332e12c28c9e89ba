// SPDX-License-Identifier: MIT
#include "cli/study/explore_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "show/trace.h"

/* Where the start stands in the page. */
static const char place[] = "<script id=\"begin\" type=\"application/json\">";
#define NOTHING "null"

static void write_list(struct cv_json *json, const char *key, int count, char **texts)
{
    cv_json_open(json, key, '[');
    for (int i = 0; i < count; i++)
        cv_json_text(json, NULL, texts[i]);
    cv_json_close(json, ']');
}

static void write_start(struct cv_json *json, const struct explore_start *start)
{
    cv_json_open(json, NULL, '{');
    if (start->replay)
        cv_json_text(json, "replay", start->replay);
    else if (start->recordings)
        write_list(json, "recordings", start->count, start->recordings);
    else if (start->words)
        write_list(json, "words", start->count, start->words);
    if (start->replay || start->recordings)
        cv_json_truth(json, "fromStart", true);
    if (start->plan)
        cv_json_plan_files(json, start->plan);
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
