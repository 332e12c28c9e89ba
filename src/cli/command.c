// SPDX-License-Identifier: MIT
#include "cli/command.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "core/parse.h"
#include "core/printable.h"
#include "core/wall_clock.h"
#include "guard/trap.h"

#define PROGRESS_BYTES 256u
#define USUAL_COLUMNS 80u /* of a terminal that does not say */

uint64_t command_line;
volatile sig_atomic_t command_interrupted;

static bool refused; /* one line on stderr is enough */

int command_refuse(const char *format, ...)
{
    va_list arguments;
    char sentence[2048], shown[sizeof sentence];
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    cv_show_line(shown, sizeof shown, cv_text(sentence)); /* a server's text may hold any bytes */
    refused = true;
    fflush(stdout);
    fprintf(stderr, "conclave: %s\n", shown);
    return EXIT_UNKNOWN;
}

int command_fail(int error, const struct cv_complaint *complaint)
{
    if ((error == CV_EINPUT || error == CV_EFILE) && *complaint->text)
        return command_refuse("%s", complaint->text);
    return command_refuse("%s", cv_error_text(errno == ENOMEM ? CV_ENOMEM : error));
}

void command_out_of_memory(void)
{
    exit(command_refuse("%s", cv_error_text(CV_ENOMEM)));
}

void *command_allocate(size_t size)
{
    void *block = malloc(size);
    if (!block)
        command_out_of_memory();
    return block;
}

static void write_word(FILE *out, const char *word)
{
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%";
    if (*word && word[strspn(word, safe)] == '\0') {
        fputs(word, out);
        return;
    }
    putc('\'', out);
    for (; *word; word++)
        fputs(*word == '\'' ? "'\\''" : (char[2]){*word, '\0'}, out);
    putc('\'', out);
}

/* Is the word that option, with or without its value? */
static bool is_option(const char *word, const char *option)
{
    const size_t length = strlen(option);
    return strncmp(word, option, length) == 0 && (word[length] == '=' || !word[length]);
}

char *command_repeat(const char *name, int argc, char **argv, const char *const *without)
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    if (!out)
        return NULL;
    fprintf(out, "conclave %s", name);
    for (int i = 1; i < argc; i++) {
        const char *const *left_out = without;
        while (left_out && *left_out && !is_option(argv[i], *left_out))
            left_out++;
        if (left_out && *left_out) {
            i += !strchr(argv[i], '=');
            continue;
        }
        putc(' ', out);
        write_word(out, argv[i]);
    }
    fclose(out);
    return text;
}

int command_exit_code(enum cv_verdict verdict)
{
    return verdict == CV_HELD ? EXIT_HELD : verdict == CV_VIOLATED ? EXIT_VIOLATED : EXIT_UNKNOWN;
}

bool command_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(no_colour && *no_colour) && !(terminal && strcmp(terminal, "dumb") == 0);
}

unsigned command_width(void)
{
    struct winsize size;
    const char *columns = getenv("COLUMNS");
    uint64_t given;
    if (columns && cv_parse_number(cv_text(columns), 100000, &given) && given)
        return (unsigned)given;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return 100;
}

const char *command_clock_in(int64_t ms, char text[COMMAND_CLOCK_BYTES])
{
    const time_t now = time(NULL), then = now + (time_t)((ms + 999) / 1000);
    struct tm today, local;
    const bool known = localtime_r(&now, &today) && localtime_r(&then, &local);
    const bool dated = known && (local.tm_yday != today.tm_yday || local.tm_year != today.tm_year);
    if (!known || !strftime(text, COMMAND_CLOCK_BYTES, dated ? "%Y-%m-%d %H:%M:%S" : "%H:%M:%S", &local))
        text[0] = '\0';
    return text;
}

bool command_progress_due(struct command_progress *progress)
{
    const double seconds = cv_wall_seconds();
    if (seconds - progress->started < 2 || seconds - progress->told < 0.2)
        return false;
    progress->told = seconds;
    return true;
}

/* A line that wraps could not be written over. Blanks clear what is left of the last one on every terminal. */
void command_progress_tell(struct command_progress *progress, const char *format, ...)
{
    struct winsize size = {0};
    char line[PROGRESS_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    const bool known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    line[known && size.ws_col < sizeof line ? size.ws_col - 1u : USUAL_COLUMNS - 1u] = '\0';
    const int length = (int)strlen(line);
    fprintf(stderr, "\r%s%*s", line, progress->length > length ? progress->length - length : 0, "");
    progress->length = length;
}

void command_progress_end(const struct command_progress *progress)
{
    if (progress->length)
        fprintf(stderr, "\r%*s\r", progress->length, "");
}

static void interrupt(int signal)
{
    (void)signal;
    __atomic_store_n(&command_interrupted, 1, __ATOMIC_RELAXED); /* threads look at it */
}

void command_catch_signals(void)
{
    /* Catches the first signal only: the second Ctrl-C ends the program at once. */
    struct sigaction action = {.sa_handler = interrupt, .sa_flags = (int)SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    cv_step_interruptible(&command_interrupted);
}

int command_flush_or(int code, int failure)
{
    if ((fflush(stdout) == 0 && !ferror(stdout)) || refused)
        return code;
    command_refuse("standard output: %s", strerror(errno));
    return failure;
}

int command_flush(int code)
{
    return command_flush_or(code, EXIT_UNKNOWN);
}

/* Reads up to the first NUL; a text has none. */
char *command_read_file(const char *option, const char *path, struct cv_complaint *complaint)
{
    FILE *file = fopen(path, "re");
    char *text = NULL;
    size_t room = 0;
    const ssize_t length = file ? getdelim(&text, &room, '\0', file) : -1;
    const char *problem = NULL;
    if (!file || ferror(file))
        problem = strerror(errno);
    else if (length > 0 && text[length - 1] == '\0')
        problem = "not a text file";
    if (file)
        fclose(file);
    if (!problem && length > 0)
        return text;
    free(text);
    if (!problem)
        return calloc(1, 1);
    cv_complain(complaint, "%s %s: %s", option, cv_brief(path).text, problem);
    return NULL;
}
