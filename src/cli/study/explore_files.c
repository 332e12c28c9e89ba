// SPDX-License-Identifier: MIT
#include "cli/study/explore_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/study/plugin.h"
#include "core/parse.h"
#include "explore/recorded_lines.h"
#include "explore/recorded_story.h"

static char *read_file(void *context, const char *option, const char *path, struct cv_complaint *complaint)
{
    (void)context;
    return command_read_file(option, path, complaint);
}

static const struct word_sources sources = {.find = plugin_find, .read = read_file};

/* The texts as a list, or NULL. */
static struct json_value *list_of(int count, char **texts)
{
    struct json_value *list = calloc(1, sizeof *list);
    bool good = list != NULL;
    if (list)
        list->type = JSON_LIST;
    for (int i = 0; i < count && good; i++)
        good = json_add_text(list, NULL, texts[i]);
    if (!good)
        json_free(list);
    return good ? list : NULL;
}

int explore_words_try(int count, char **words, struct cv_complaint *complaint)
{
    struct json_value *list = list_of(count, words);
    struct cv_story *story = NULL;
    const int error = list ? cv_story_begin(&story, list, &sources, complaint) : CV_ENOMEM;
    cv_story_free(story);
    json_free(list);
    return error;
}

static int load_recordings(struct explore_files *files, struct cv_complaint *complaint)
{
    struct json_value *texts = list_of(files->count, files->texts);
    const int error = texts ? recorded_begin(&files->story, texts, UINT64_MAX, plugin_find, complaint) : CV_ENOMEM;
    json_free(texts);
    return error;
}

static int load(struct explore_files *files, int count, char **paths, struct cv_complaint *complaint)
{
    files->recorded = recorded_lines_are(files->texts[0]);
    if (files->recorded)
        return load_recordings(files, complaint);
    return count > 1 ? cv_complain(complaint,
                                   "%s: expected nothing beside --replay %s, unless both are recordings of live nodes",
                                   cv_brief(paths[1]).text, cv_brief(paths[0]).text)
                     : cv_story_load(&files->story, files->texts[0], &sources, complaint);
}

/* The engine knows no names of files: it counts them. */
static int name_file(int count, char **paths, struct cv_complaint *complaint)
{
    static const char replay[] = "replay: ", recording[] = "recording ";
    const struct cv_complaint said = *complaint;
    uint64_t which = 1;
    if (strncmp(said.text, replay, strlen(replay)) == 0)
        return cv_complain(complaint, "--replay %s: %.400s", cv_brief(paths[0]).text, said.text + strlen(replay));
    if (strncmp(said.text, recording, strlen(recording)) != 0)
        return CV_EINPUT;
    struct cv_text rest = cv_text(said.text + strlen(recording)), number;
    if (!cv_text_take(&rest, ',', &number) || !cv_parse_number(number, (uint64_t)count, &which) || !which)
        return CV_EINPUT;
    return cv_complain(complaint, "--replay %s:%.400s", cv_brief(paths[which - 1]).text, rest.start);
}

int explore_files_read(struct explore_files *files, int count, char **paths, struct cv_complaint *complaint)
{
    *files = (struct explore_files){.texts = calloc((size_t)count + 1, sizeof *files->texts)};
    if (!files->texts)
        return CV_ENOMEM;
    for (; files->count < count; files->count++) {
        char **text = &files->texts[files->count];
        *text = command_read_file("--replay", paths[files->count], complaint);
        if (!*text)
            return CV_EFILE;
    }
    const int error = load(files, count, paths, complaint);
    return error == CV_EINPUT ? name_file(count, paths, complaint) : error;
}

void explore_files_free(struct explore_files *files)
{
    for (int i = 0; i < files->count; i++)
        free(files->texts[i]);
    free(files->texts);
    cv_story_free(files->story);
    *files = (struct explore_files){0};
}
