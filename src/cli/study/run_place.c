// SPDX-License-Identifier: MIT
#include "cli/study/run_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/study/job.h"
#include "cli/study/plugin_source.h"
#include "core/parse.h"

/* ---- the experiment's side ---- */

static int read_plugin(const char *path, const char *object, struct cv_place_file *file, char **bytes,
                       struct cv_complaint *complaint)
{
    struct stat status;
    const int opened = open(object, O_RDONLY | O_CLOEXEC);
    if (opened < 0 || fstat(opened, &status)) {
        const int error = errno;
        if (opened >= 0)
            close(opened);
        return cv_complain(complaint, "%s: %s", cv_brief(path).text, strerror(error));
    }
    *bytes = malloc((size_t)status.st_size + 1);
    size_t got = 0;
    for (ssize_t more = 1; *bytes && more > 0 && got<(size_t)status.st_size; got += more> 0 ? (size_t)more : 0)
        more = read(opened, *bytes + got, (size_t)status.st_size - got);
    close(opened);
    if (!*bytes)
        return CV_ENOMEM;
    *file = (struct cv_place_file){path, *bytes, got};
    return got == (size_t)status.st_size ? 0 : cv_complain(complaint, "%s: cannot be read", cv_brief(path).text);
}

/* The files that the words name: graphs and the like, and algorithms of the user's own. */
static int gather_files(struct run_places *places, const struct run_request *request, struct cv_complaint *complaint)
{
    struct cv_plan_file named[CV_MOST_PLAN_FILES];
    const char *const words[] = {request->algorithm, request->sim.inputs.app};
    const uint32_t count = cv_plan_files(&request->sim.plan, named);
    struct cv_place_command *command = &places->command;
    for (uint32_t i = 0; i < count; i++)
        places->files[command->file_count++] =
            (struct cv_place_file){named[i].name, named[i].text, strlen(named[i].text)};
    for (uint32_t i = 0; i < 2; i++) {
        const char *object;
        if (!words[i] || !strchr(words[i], '/'))
            continue;
        int error = plugin_object(words[i], &object, complaint);
        if (!error)
            error = read_plugin(words[i], object, &places->files[command->file_count], &places->plugins[i], complaint);
        if (error)
            return error;
        command->file_count++;
    }
    command->files = places->files;
    command->words = request->argv + 1;
    command->word_count = (uint32_t)request->argc - 1;
    return 0;
}

static int use_ranks(struct run_places *places, const struct run_request *request,
                     struct cv_experiment_options *options, struct cv_complaint *complaint)
{
    options->command = &places->command;
    options->places = places->ranks.places;
    options->place_count = places->ranks.launch.size;
    return gather_files(places, request, complaint);
}

int run_places_start(struct run_places *places, const struct run_request *request,
                     struct cv_experiment_options *options, struct cv_complaint *complaint)
{
    if (request->hosts && places->ranks.places)
        return cv_complain(complaint, "--hosts: expected without mpirun, which says where processes run");
    if (places->ranks.places)
        return use_ranks(places, request, options, complaint);
    if (!request->hosts)
        return 0;
    char *text = command_read_file("--hosts", request->hosts, complaint);
    int error = text ? gather_files(places, request, complaint) : CV_EFILE;
    if (!error)
        error =
            cv_hosts_start(&places->hosts, request->hosts, text, request->ssh ? request->ssh : CV_USUAL_SSH, complaint);
    free(text);
    options->command = &places->command;
    options->places = places->hosts.places;
    options->place_count = places->hosts.count;
    return error;
}

void run_places_end(struct run_places *places)
{
    cv_hosts_end(&places->hosts);
    cv_rank_places_leave(&places->ranks);
    free(places->plugins[0]);
    free(places->plugins[1]);
}

/* ---- the side of a host ---- */

struct place_scenario {
    struct run_request request;
    struct cv_scenario scenario;
};

/* A file of the experiment, as one of this process. Returns its path, which is never freed. */
static char *make_file(const struct cv_place_file *file, struct cv_complaint *complaint)
{
    char *path = NULL;
    const int made = memfd_create("conclave run", 0);
    size_t done = 0;
    while (made >= 0 && done < file->size) {
        const ssize_t written = write(made, (const char *)file->bytes + done, file->size - done);
        if (written < 0 && errno != EINTR)
            break;
        done += written > 0 ? (size_t)written : 0;
    }
    if (made < 0 || done < file->size || asprintf(&path, "/proc/self/fd/%d", made) < 0) {
        cv_complain(complaint, "%s: %s", cv_brief(file->name).text, strerror(errno));
        return NULL;
    }
    return path;
}

/* Replaces the name of a file, alone or after an equals sign, by its path here. */
static int use_path(struct cv_place_command *command, const char *name, const char *path)
{
    const size_t length = strlen(name);
    for (uint32_t i = 1; i < command->word_count; i++) {
        char **word = &command->words[i];
        const size_t whole = strlen(*word);
        if (whole < length || strcmp(*word + whole - length, name) != 0 ||
            (whole > length && (*word)[whole - length - 1] != '='))
            continue;
        char *replaced;
        if (asprintf(&replaced, "%.*s%s", (int)(whole - length), *word, path) < 0)
            return CV_ENOMEM;
        *word = replaced;
    }
    return 0;
}

static int build(void *context, const struct cv_place_command *told, const struct cv_scenario **scenario,
                 struct cv_experiment_options *options, struct cv_complaint *complaint)
{
    struct place_scenario *made = context;
    struct cv_place_command command = *told;
    int error = 0;
    for (uint32_t i = 0; i < command.file_count && !error; i++) {
        char *path = make_file(&command.files[i], complaint);
        error = path ? use_path(&command, command.files[i].name, path) : CV_EINPUT;
        free(path);
    }
    if (!error)
        error = run_read((int)command.word_count, command.words, &made->request, complaint);
    if (!error)
        error = run_build(&made->request, &made->scenario, options, complaint);
    *scenario = &made->scenario;
    return error;
}

/* What algorithms print must not get into the connection. */
int run_place_serve(int in, int out)
{
    static struct place_scenario made;
    const struct cv_place_builder builder = {build, &made};
    const int from = fcntl(in, F_DUPFD_CLOEXEC, 3), to = fcntl(out, F_DUPFD_CLOEXEC, 3);
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(STDERR_FILENO, STDOUT_FILENO);
    return cv_place_serve(from, to, &builder);
}

bool run_ranks_serve(struct run_places *places, int *code)
{
    struct cv_complaint complaint = {{0}};
    if (!cv_rank_places_find(&places->ranks))
        return false;
    const int error = cv_rank_places_join(&places->ranks, command_line, &complaint);
    if (!error && places->ranks.connection < 0)
        return false;
    *code =
        error ? job_not_met(error, &complaint) : run_place_serve(places->ranks.connection, places->ranks.connection);
    if (error)
        cv_rank_places_leave(&places->ranks);
    return true;
}
