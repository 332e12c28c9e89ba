// SPDX-License-Identifier: MIT
/* Writes the plot of a comparison: SVG directly, PNG with rsvg-convert, a part of librsvg. */
#include "cli/study/compare_plot.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/parse.h"
#include "show/svg/plot.h"

static bool ends_with(const char *name, const char *ending)
{
    const size_t length = strlen(name), tail = strlen(ending);
    return length > tail && strcmp(name + length - tail, ending) == 0;
}

/* Runs rsvg-convert between two files; its exit code, or -1 if it could not be run. Its complaints go to stderr. */
static int convert(char *const *arguments, int in, int out)
{
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    if (posix_spawn_file_actions_init(&actions))
        return -1;
    posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    const int error = posix_spawnp(&child, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error)
        return -1;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) && WEXITSTATUS(status) != 127 ? WEXITSTATUS(status) : -1;
}

static int refuse_png(const char *name, struct cv_complaint *complaint)
{
    return cv_complain(complaint,
                       "--plot %s: PNG needs the program rsvg-convert (Debian: librsvg2-bin); FILE.svg does not",
                       cv_brief(name).text);
}

int compare_plot_check(const char *name, struct cv_complaint *complaint)
{
    if (ends_with(name, ".svg"))
        return 0;
    if (!ends_with(name, ".png"))
        return cv_complain(complaint, "--plot %s: expected FILE.svg or FILE.png", cv_brief(name).text);
    char program[] = "rsvg-convert", version[] = "--version";
    char *const arguments[] = {program, version, NULL};
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    const int code = nothing < 0 ? -1 : convert(arguments, nothing, nothing);
    if (nothing >= 0)
        close(nothing);
    return code == 0 ? 0 : refuse_png(name, complaint);
}

static int write_png(FILE *out, const char *name, const struct cv_comparison *comparison,
                     struct cv_complaint *complaint)
{
    char program[] = "rsvg-convert", format[] = "--format=png", zoom[] = "--zoom=2";
    char *const arguments[] = {program, format, zoom, NULL};
    FILE *drawing = tmpfile();
    if (!drawing) {
        cv_complain(complaint, "--plot %s: no room for a temporary file: %s", cv_brief(name).text, strerror(errno));
        return CV_EFILE;
    }
    int error = cv_plot_svg(drawing, comparison);
    if (!error && (fflush(drawing) || fseek(drawing, 0, SEEK_SET))) {
        cv_complain(complaint, "--plot %s: %s", cv_brief(name).text, strerror(errno));
        error = CV_EFILE;
    }
    if (!error && convert(arguments, fileno(drawing), fileno(out)) != 0)
        error = cv_complain(complaint, "--plot %s: rsvg-convert failed", cv_brief(name).text);
    fclose(drawing);
    return error;
}

int compare_plot(struct cv_output *output, const struct cv_comparison *comparison, struct cv_complaint *complaint)
{
    const int error = ends_with(output->name, ".png") ? write_png(output->file, output->name, comparison, complaint)
                                                      : cv_plot_svg(output->file, comparison);
    return error ? error : cv_output_commit(output, complaint);
}
