// SPDX-License-Identifier: MIT
#include "cli/study/resumption.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

/* Replaces the identity by a longer one; NULL: there was no memory for it. */
static void replace(char **identity, char *longer)
{
    free(*identity);
    *identity = longer;
}

void resumption_add_option(char **identity, const struct option_row *row, char **words, int count)
{
    const char *equals = strchr(words[0], '=');
    const char *value = count > 1                 ? words[1]
                        : words[0][1] != '-'      ? words[0] + 2
                        : row->argument && equals ? equals + 1
                                                  : "";
    char *longer = NULL;
    if (strcmp(row->name, "seed") == 0 && strcmp(value, "1") == 0)
        return; /* reports name it, users leave it out */
    if (!*identity || asprintf(&longer, "%s--%s%s%s\n", *identity, row->name, *value ? " " : "", value) < 0)
        longer = NULL;
    replace(identity, longer);
}

void resumption_add_program(char **identity, const char *algorithm)
{
    const uint64_t plugin = strchr(algorithm, '/') ? cv_checkpoint_hash_file(algorithm) : 0;
    char *longer = NULL;
    if (!*identity || asprintf(&longer, "algorithm %s\nprogram %016llx\nplugin %016llx\n%s", algorithm,
                               (unsigned long long)cv_checkpoint_hash_file("/proc/self/exe"),
                               (unsigned long long)plugin, *identity) < 0)
        longer = NULL;
    replace(identity, longer);
}

void resumption_add_hash(char **identity, const char *name, uint64_t hash)
{
    char *longer = NULL;
    if (!*identity || asprintf(&longer, "%s%s %016llx\n", *identity, name, (unsigned long long)hash) < 0)
        longer = NULL;
    replace(identity, longer);
}

void resumption_tell_failure(const struct cv_checkpoint *checkpoint)
{
    fprintf(stderr, "conclave: --checkpoint %s: %s; the %s goes on%s\n", checkpoint->path, checkpoint->failure,
            checkpoint->kind, checkpoint->exists ? ", and the last checkpoint stays" : "");
}

char *resumption_command(const char *command, const char *path)
{
    char *copy = strdup(path), *longer = NULL;
    char *words[] = {NULL, copy};
    char *file = copy ? command_repeat("", 2, words, NULL) : NULL; /* "conclave  FILE" */
    if (file && asprintf(&longer, "%s --resume %s", command, file + strlen("conclave  ")) < 0)
        longer = NULL;
    free(file);
    free(copy);
    return longer;
}
