// SPDX-License-Identifier: MIT
#include "cli/hold/hold_options.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "core/parse.h"

int hold_take_wait(void *request, const char *value, struct cv_complaint *complaint)
{
    struct conclave_want *want = &((struct hold *)request)->want;
    const int error = options_read_time("--wait", value, &want->wait_ms, complaint);
    want->try_once = want->wait_ms == 0;
    return error;
}

int hold_take_ttl(void *request, const char *value, struct cv_complaint *complaint)
{
    struct conclave_want *want = &((struct hold *)request)->want;
    const int error = options_read_time("--ttl", value, &want->ttl_ms, complaint);
    want->ends_with_session = want->ttl_ms == 0;
    return error;
}

int hold_take_ask_back(void *request, const char *value, struct cv_complaint *complaint)
{
    static const struct {
        const char *word;
        int signal;
    } actions[] = {{"ignore", 0},   {"term", SIGTERM}, {"int", SIGINT},
                   {"hup", SIGHUP}, {"usr1", SIGUSR1}, {"usr2", SIGUSR2}};
    for (size_t i = 0; i < sizeof actions / sizeof *actions; i++)
        if (strcmp(value, actions[i].word) == 0) {
            ((struct hold *)request)->on_ask_back = actions[i].signal;
            return 0;
        }
    return cv_complain(complaint, "--on-askback %s: expected ignore, term, int, hup, usr1 or usr2",
                       cv_brief(value).text);
}

int hold_take_client(void *request, const char *value, struct cv_complaint *complaint)
{
    bool good = strlen(value) <= CONCLAVE_CLIENT_BYTES;
    for (const char *at = value; *at && good; at++)
        good = *at >= '!' && *at <= '~';
    if (!good)
        return cv_complain(complaint,
                           "--client %s: expected a client's name of up to %d printable characters of ASCII, no spaces",
                           cv_brief(value).text, CONCLAVE_CLIENT_BYTES);
    ((struct hold *)request)->client = value;
    return 0;
}

bool hold_read(const struct options *options, int argc, char **argv, struct hold *hold, int *code)
{
    const int next = options_take(options, argc, argv, hold, code);
    if (!next) {
        *code = *code == EXIT_HELD ? EXIT_HELD : HOLD_TROUBLE;
        return false;
    }
    hold->command = next < argc ? argv + next : NULL;
    if (hold->name)
        return true;
    command_refuse("%s: expected a NAME; see conclave %s --help", options->name, options->name);
    *code = HOLD_TROUBLE;
    return false;
}
