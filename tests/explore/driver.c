// SPDX-License-Identifier: MIT
/*
 * The explorer behind a pipe: each line of the input is a call, its name and its JSON arguments; each line of the
 * output is the answer. driver.mjs is the same around the WebAssembly.
 *
 * usage: driver                        answers calls
 *        driver --walks FILE FROM TO   makes the walks FROM..TO-1 through the scenarios of FILE, a line of begin's
 *                                      arguments each, and prints a hash of everything that the explorer said
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explore/explore.h"

#define MOST_SCENARIOS 1000
#define STEPS 40u

static uint32_t hash = 2166136261u;
static uint32_t chance;

/* Xorshift of 32 bits: easy to say again in another language. */
static uint32_t draw(uint32_t below)
{
    chance ^= chance << 13;
    chance ^= chance >> 17;
    chance ^= chance << 5;
    return chance % below;
}

static const char *ask(struct cv_explorer *explorer, const char *name, const char *arguments)
{
    const char *answer = cv_explorer_call(explorer, name, arguments);
    for (const char *at = answer; *at; at++)
        hash = (hash ^ (unsigned char)*at) * 16777619u;
    return answer;
}

/* Takes one of the events that are listed. False: there is none. */
static bool step(struct cv_explorer *explorer)
{
    static const char mark[] = "{\"index\":";
    char arguments[64];
    const char *events = ask(explorer, "events", "");
    uint32_t count = 0;
    for (const char *at = events; (at = strstr(at, mark)); at++)
        count++;
    if (!count)
        return false;
    /* Half of the steps are among the first events, which are no faults. */
    uint32_t which = draw(2) ? draw(count < 4 ? count : 4) : draw(count);
    const char *at = strstr(events, mark);
    while (which--)
        at = strstr(at + 1, mark);
    snprintf(arguments, sizeof arguments, "{\"index\":%lu}", strtoul(at + strlen(mark), NULL, 10));
    ask(explorer, "do", arguments);
    ask(explorer, "now", "");
    return true;
}

static void walk(struct cv_explorer *explorer, const char *scenario, uint32_t number)
{
    char arguments[64];
    uint32_t steps = 0;
    chance = number * 2654435761u + 1;
    ask(explorer, "begin", scenario);
    while (steps < STEPS && step(explorer))
        steps++;
    ask(explorer, "history", "");
    ask(explorer, "story", "");
    ask(explorer, "export", "");
    snprintf(arguments, sizeof arguments, "{\"step\":%u}", steps ? draw(steps) : 0);
    ask(explorer, "go", arguments);
    ask(explorer, "run", "{\"count\":20}");
    ask(explorer, "now", "");
}

static int walk_all(struct cv_explorer *explorer, const char *path, uint32_t from, uint32_t to)
{
    static char *scenarios[MOST_SCENARIOS];
    uint32_t count = 0;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    while (file && count < MOST_SCENARIOS && getline(&scenarios[count], &room, file) > 0) {
        scenarios[count][strcspn(scenarios[count], "\n")] = '\0';
        count++;
        room = 0;
    }
    if (!file || !count)
        return 2;
    for (uint32_t number = from; number < to; number++)
        walk(explorer, scenarios[number % count], number);
    printf("%u walks, %08x\n", to - from, hash);
    for (uint32_t i = 0; i <= count && i < MOST_SCENARIOS; i++)
        free(scenarios[i]);
    fclose(file);
    return 0;
}

static int answer_all(struct cv_explorer *explorer)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    while ((length = getline(&line, &room, stdin)) > 0) {
        line[strcspn(line, "\n")] = '\0';
        char *arguments = line + strcspn(line, " ");
        if (*arguments)
            *arguments++ = '\0';
        puts(cv_explorer_call(explorer, line, arguments));
        fflush(stdout);
    }
    free(line);
    return 0;
}

int main(int argc, char **argv)
{
    struct cv_explorer *explorer = cv_explorer_new(NULL);
    const bool walks = argc == 5 && strcmp(argv[1], "--walks") == 0;
    if (!explorer || (argc > 1 && !walks))
        return 2;
    const int code =
        walks ? walk_all(explorer, argv[2], (uint32_t)strtoul(argv[3], NULL, 10), (uint32_t)strtoul(argv[4], NULL, 10))
              : answer_all(explorer);
    cv_explorer_free(explorer);
    return code;
}
