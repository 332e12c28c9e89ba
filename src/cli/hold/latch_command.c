// SPDX-License-Identifier: MIT
/* `conclave latch`: sets a latch, counts it down, or waits until it is open. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "cli/hold/hold_options.h"
#include "cli/hold/recipe_ask.h"
#include "core/parse.h"

static const struct option_row rows[] = {
    {"wait", "TIME", OPTION_TAKE, 0, .help = "await: give up after this time (wait for as long as it takes)",
     .take = hold_take_wait},
    ASK_SERVER_ROWS(struct hold, server),
    {0},
};

const struct options latch_options = {
    .name = "latch",
    .failure = HOLD_TROUBLE,
    .usage = "NAME [OPTION...]\n"
             "NAME set COUNT\n"
             "NAME down [COUNT]\n"
             "NAME await [--wait TIME]\n"
             "NAME clear",
    .about =
        "Sets the latch NAME, counts it down, waits until it is open, or takes it away; without a word, prints what "
        "is left.",
    .rows = rows,
    .more =
        "TIME is in seconds, or has a unit: 250ms, 10s, 5m, 1h.\n"
        "set and down print what is left.\n"
        "Exit codes: 0 done, or open; 1 there is no such latch, or set found one that is not open; 123 no server or "
        "no majority; 124 waited too long; 125 wrong usage, or a failure of conclave itself.",
};

/* The words after the name. False: they are wrong. */
static bool read_words(int count, char **words, struct cv_client_words *ask, bool *awaits)
{
    static const struct {
        const char *word, *says;
        int least, most; /* words with itself */
    } actions[] = {{"set", "SET", 2, 2}, {"down", "DOWN", 1, 2}, {"await", "AWAIT", 1, 1}, {"clear", "CLEAR", 1, 1}};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++) {
        uint64_t number = 1;
        if (strcmp(words[0], actions[i].word) != 0 || count < actions[i].least || count > actions[i].most)
            continue;
        if (count > 1 && (!cv_parse_number(cv_text(words[1]), 1000000, &number) || !number))
            continue;
        ask->word[ask->count++] = actions[i].says;
        if (count > 1)
            ask->word[ask->count++] = words[1];
        *awaits = strcmp(words[0], "await") == 0;
        return true;
    }
    return false;
}

static int show(const struct hold *hold, const struct cv_client_words *ask, int64_t number)
{
    const char *action = ask->count > 2 ? ask->word[2] : "";
    if (strcmp(action, "SET") == 0 && !number) {
        command_refuse("latch %s: there is one that is not open yet", cv_brief(hold->name).text);
        return EXIT_VIOLATED;
    }
    if (strcmp(action, "CLEAR") == 0 && !number) {
        command_refuse("latch %s: there is none", cv_brief(hold->name).text);
        return EXIT_VIOLATED;
    }
    if (strcmp(action, "SET") == 0)
        puts(ask->word[3]);
    else if (!*action || strcmp(action, "DOWN") == 0)
        printf("%" PRId64 "\n", number);
    return EXIT_HELD;
}

int command_latch(int argc, char **argv)
{
    struct hold hold = {0};
    struct conclave *session;
    int code;
    const int next = options_take(&latch_options, argc, argv, &hold, &code);
    if (!next)
        return code == EXIT_HELD ? EXIT_HELD : HOLD_TROUBLE;
    struct cv_client_words ask = {.count = 2, .word = {"LATCH", next < argc ? argv[next] : ""}};
    bool awaits = false;
    if (next == argc || (next + 1 < argc && !read_words(argc - next - 1, argv + next + 1, &ask, &awaits))) {
        command_refuse("latch: expected NAME, and set COUNT, down [COUNT], await or clear; COUNT is 1 to 1000000");
        return HOLD_TROUBLE;
    }
    hold.name = argv[next];
    int64_t number = 0;
    code = hold_open(&session, &hold);
    if (!code) {
        code = recipe_ask_number(session, &hold, &ask, awaits, &number);
        if (code == HOLD_TIMEOUT)
            command_refuse("latch %s: %s", cv_brief(hold.name).text, awaits ? "waited too long" : "there is none");
        if (code == HOLD_TIMEOUT && !awaits)
            code = EXIT_VIOLATED;
        else if (!code)
            code = show(&hold, &ask, number);
    }
    conclave_close(session);
    return code;
}
