// SPDX-License-Identifier: MIT
/*
 * What the WebAssembly module exports: one explorer, called by name. The caller writes the name and the arguments where
 * cv_wasm_alloc() says; cv_wasm_call() frees both.
 */
#include <stdlib.h>

#include "explore/explore.h"

__attribute__((export_name("cv_wasm_alloc"))) void *cv_wasm_alloc(size_t bytes)
{
    return malloc(bytes);
}

__attribute__((export_name("cv_wasm_call"))) const char *cv_wasm_call(char *name, char *arguments)
{
    static struct cv_explorer *explorer;
    if (!explorer)
        explorer = cv_explorer_new(NULL);
    const char *answer = explorer ? cv_explorer_call(explorer, name, arguments) : "{\"error\":\"out of memory\"}";
    free(name);
    free(arguments);
    return answer;
}
