// SPDX-License-Identifier: MIT
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/hold/hold.h"
#include "cli/options.h"
#include "core/parse.h"

/* Seconds, or a number with a unit. */
static bool parse_time(const char *text, uint64_t *time_ms)
{
    static const struct {
        const char *unit;
        double ms;
    } units[] = {{"", 1000}, {"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}};
    const char *digits_end = text + strspn(text, "0123456789.");
    char *end;
    const double number = strtod(text, &end);
    if (end == text || end != digits_end)
        return false; /* no signs, no exponents, no hexadecimals */
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(end, units[i].unit) == 0 && number * units[i].ms <= 1e12) {
            *time_ms = (uint64_t)(number * units[i].ms + 0.5);
            return true;
        }
    return false;
}

static int refuse(const char *option, const char *value, const char *expected)
{
    command_refuse("%s %s: expected %s", option, cv_brief(value).text, expected);
    return HOLD_TROUBLE;
}

static int read_time(const char *option, uint64_t least_ms, uint64_t *time_ms)
{
    if (parse_time(optarg, time_ms) && *time_ms >= least_ms)
        return -1;
    return refuse(option, optarg, "a time: seconds, or a number with ms, s, m or h");
}

static int read_priority(uint32_t *priority)
{
    uint64_t number;
    if (!cv_parse_number(cv_text(optarg), UINT32_MAX, &number))
        return refuse("--priority", optarg, "a whole number, 0 to 4294967295");
    *priority = (uint32_t)number;
    return -1;
}

bool hold_server_option(struct conclave_options *server, int option, const char *value)
{
    const char **place = option == HOLD_SERVER            ? &server->servers
                         : option == HOLD_KEY             ? &server->key
                         : option == HOLD_TLS_CA          ? &server->tls_ca
                         : option == HOLD_TLS_CERTIFICATE ? &server->tls_certificate
                         : option == HOLD_TLS_PRIVATE_KEY ? &server->tls_private_key
                                                          : NULL;
    if (place)
        *place = value;
    return place != NULL;
}

static int read_option(struct hold *hold, int option, const char *usage)
{
    int code = -1;
    switch (option) {
    case HOLD_WAIT:
        code = read_time("--wait", 0, &hold->want.wait_ms);
        hold->want.try_once = hold->want.wait_ms == 0;
        break;
    case HOLD_TTL:
        code = read_time("--ttl", 0, &hold->want.ttl_ms);
        hold->want.ends_with_session = hold->want.ttl_ms == 0;
        break;
    case HOLD_SHARED:
        hold->want.shared = true;
        break;
    case HOLD_PRIORITY:
        code = read_priority(&hold->priority);
        break;
    case HOLD_OBSERVE:
        hold->observe = true;
        break;
    case HOLD_JSON:
        hold->json = true;
        break;
    case HOLD_HELP:
        fputs(usage, stdout);
        return 0;
    default:
        return hold_server_option(&hold->server, option, optarg) ? -1 : HOLD_TROUBLE;
    }
    return code;
}

int hold_read_options(int argc, char **argv, const struct option *options, const char *usage, struct hold *hold)
{
    int option;
    opterr = 0;
    /* Words come in order ('-'): the first is the name, the second begins the command, whose options are its own. */
    while ((option = getopt_long(argc, argv, "-:h", options, NULL)) != -1) {
        if (option == 1 && hold->name) {
            optind--;
            break;
        }
        if (option == 1) {
            hold->name = optarg;
            continue;
        }
        if (option == '?' || option == ':') {
            command_refuse("%s: %s; see conclave %s --help", argv[optind - 1],
                           options_wrong(options, option, argv[optind - 1]).text, argv[0]);
            return HOLD_TROUBLE;
        }
        const int code = read_option(hold, option == 'h' ? HOLD_HELP : option, usage);
        if (code >= 0)
            return code;
    }
    hold->command = optind < argc ? argv + optind : NULL;
    if (hold->name)
        return -1;
    command_refuse("%s: expected a NAME; see conclave %s --help", argv[0], argv[0]);
    return HOLD_TROUBLE;
}
