// SPDX-License-Identifier: MIT
#include "run/hosts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/reader.h"

#define MOST_WORDS 64
#define PATIENCE_MS 5000

static char *copy(struct cv_text text)
{
    char *made = malloc(text.length + 1);
    if (!made)
        return NULL;
    memcpy(made, text.start, text.length);
    made[text.length] = '\0';
    return made;
}

/* Words that a shell on the other side may see. */
static bool is_plain(struct cv_text text)
{
    for (size_t i = 0; i < text.length; i++)
        if (!memchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+,~", text.start[i], 73))
            return false;
    return text.length && text.start[0] != '-';
}

static bool is_option(struct cv_text word, const char *name, struct cv_text *value)
{
    struct cv_text key;
    return cv_text_split(word, '=', &key, value) && cv_text_is(key, name);
}

static int read_word(struct cv_hosts *hosts, struct cv_reader *reader, struct cv_text word)
{
    struct cv_place *place = &hosts->places[hosts->count];
    char **program = &hosts->programs[hosts->count];
    struct cv_text value;
    uint64_t number;
    if (is_option(word, "slots", &value) && cv_parse_number(value, CV_MOST_PROCESSES, &number) && number) {
        place->share = (uint32_t)number;
        return 0;
    }
    if (is_option(word, "address", &value) && is_plain(value) && !place->address)
        return (place->address = copy(value)) ? 0 : CV_ENOMEM;
    if (is_option(word, "conclave", &value) && is_plain(value) && !*program)
        return (*program = copy(value)) ? 0 : CV_ENOMEM;
    return cv_complain(reader->complaint, "%s:%llu: %.*s: expected slots=N, address=IP or conclave=PATH", reader->name,
                       (unsigned long long)reader->line, (int)(word.length < 60 ? word.length : 60), word.start);
}

static int read_line(struct cv_hosts *hosts, struct cv_reader *reader)
{
    struct cv_text word;
    if (hosts->count == CV_MOST_HOSTS)
        return cv_complain(reader->complaint, "%s:%llu: expected at most %u hosts", reader->name,
                           (unsigned long long)reader->line, CV_MOST_HOSTS);
    if (!cv_reader_word(reader, &word) || !is_plain(word) || memchr(word.start, '=', word.length))
        return cv_complain(reader->complaint, "%s:%llu: %.*s: expected [USER@]HOST first", reader->name,
                           (unsigned long long)reader->line, (int)(word.length < 60 ? word.length : 60), word.start);
    struct cv_place *place = &hosts->places[hosts->count];
    *place = (struct cv_place){.name = copy(word), .share = 1, .file = -1, .errors = -1};
    int error = place->name ? 0 : CV_ENOMEM;
    while (!error && cv_reader_word(reader, &word))
        error = read_word(hosts, reader, word);
    hosts->count++;
    return error;
}

static int read_hosts(struct cv_hosts *hosts, const char *name, const char *text, struct cv_complaint *complaint)
{
    struct cv_reader reader = {.at = text, .name = name, .line = 1, .complaint = complaint};
    hosts->places = calloc(CV_MOST_HOSTS, sizeof *hosts->places);
    hosts->pids = calloc(CV_MOST_HOSTS, sizeof *hosts->pids);
    hosts->programs = calloc(CV_MOST_HOSTS, sizeof *hosts->programs);
    int error = hosts->places && hosts->pids && hosts->programs ? 0 : CV_ENOMEM;
    while (!error && cv_reader_line(&reader))
        error = read_line(hosts, &reader);
    if (!error && !hosts->count)
        return cv_complain(complaint, "%s: expected a line for each host: HOST [slots=N]", name);
    return error;
}

/* ---- ssh ---- */

/* A signal from the terminal is for the experiment, which ends the hosts when it has asked them what is known. */
static _Noreturn void become_ssh(char **words, int connection, int errors)
{
    signal(SIGINT, SIG_IGN);
    signal(SIGQUIT, SIG_IGN);
    dup2(connection, STDIN_FILENO);
    dup2(connection, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    execvp(words[0], words);
    dprintf(STDERR_FILENO, "%s: %s\n", words[0], strerror(errno));
    _exit(127);
}

static int start(struct cv_hosts *hosts, uint32_t index, char **ssh, int ssh_words, struct cv_complaint *complaint)
{
    struct cv_place *place = &hosts->places[index];
    char *words[MOST_WORDS + 5];
    int connection[2], errors[2];
    memcpy(words, ssh, (size_t)ssh_words * sizeof *words);
    words[ssh_words] = (char *)(uintptr_t)place->name;
    words[ssh_words + 1] = hosts->programs[index] ? hosts->programs[index] : (char *)(uintptr_t) "conclave";
    words[ssh_words + 2] = (char *)(uintptr_t) "run";
    words[ssh_words + 3] = (char *)(uintptr_t) "--place";
    words[ssh_words + 4] = NULL;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, connection))
        return cv_complain(complaint, "socketpair: %s", strerror(errno));
    if (pipe2(errors, O_CLOEXEC)) {
        close(connection[0]);
        close(connection[1]);
        return cv_complain(complaint, "pipe: %s", strerror(errno));
    }
    place->file = connection[0];
    place->errors = errors[0];
    hosts->pids[index] = fork();
    if (hosts->pids[index] == 0)
        become_ssh(words, connection[1], errors[1]);
    close(connection[1]);
    close(errors[1]);
    return hosts->pids[index] > 0 ? 0 : cv_complain(complaint, "fork: %s", strerror(errno));
}

int cv_hosts_start(struct cv_hosts *hosts, const char *name, const char *text, const char *ssh,
                   struct cv_complaint *complaint)
{
    *hosts = (struct cv_hosts){0};
    char *words[MOST_WORDS], *line = strdup(ssh), *rest = NULL;
    int count = 0;
    for (char *word = line ? strtok_r(line, " ", &rest) : NULL; word && count < MOST_WORDS;
         word = strtok_r(NULL, " ", &rest))
        words[count++] = word;
    int error = line ? 0 : CV_ENOMEM;
    if (!error && !count)
        error = cv_complain(complaint, "--ssh: expected a command, such as \"ssh -i KEY\"");
    if (!error)
        error = read_hosts(hosts, name, text, complaint);
    for (uint32_t i = 0; i < hosts->count && !error; i++)
        error = start(hosts, i, words, count, complaint);
    free(line);
    return error;
}

static void await_end(pid_t pid)
{
    for (int ms = 0; waitpid(pid, NULL, WNOHANG) == 0; ms += 10) {
        if (ms == PATIENCE_MS)
            kill(pid, SIGTERM);
        if (ms == 2 * PATIENCE_MS)
            kill(pid, SIGKILL);
        poll(NULL, 0, 10);
    }
}

void cv_hosts_end(struct cv_hosts *hosts)
{
    for (uint32_t i = 0; i < hosts->count; i++) {
        if (hosts->places[i].file >= 0)
            close(hosts->places[i].file);
        if (hosts->places[i].errors >= 0)
            close(hosts->places[i].errors);
    }
    for (uint32_t i = 0; i < hosts->count; i++) {
        if (hosts->pids[i] > 0)
            await_end(hosts->pids[i]);
        free((void *)(uintptr_t)hosts->places[i].name);
        free((void *)(uintptr_t)hosts->places[i].address);
        free(hosts->programs[i]);
    }
    free(hosts->places);
    free(hosts->pids);
    free(hosts->programs);
    *hosts = (struct cv_hosts){0};
}
