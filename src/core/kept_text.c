// SPDX-License-Identifier: MIT
#include "core/kept_text.h"

#include <stdlib.h>
#include <string.h>

struct cv_kept_text *cv_keep_text(struct cv_text text)
{
    struct cv_kept_text *kept = malloc(sizeof *kept + text.length);
    if (!kept)
        return NULL;
    kept->owners = 1;
    kept->length = (uint32_t)text.length;
    if (text.length)
        memcpy(kept->bytes, text.start, text.length);
    return kept;
}

struct cv_kept_text *cv_share_text(struct cv_kept_text *text)
{
    if (text)
        text->owners++;
    return text;
}

void cv_drop_text(struct cv_kept_text **text)
{
    if (*text && --(*text)->owners == 0)
        free(*text);
    *text = NULL;
}
