// SPDX-License-Identifier: MIT
/*
 *     [node]                      [members]                     [group]                 [lock account-*]
 *     id = 1                      1 = 10.0.0.1:7800             election = bully        algorithm = ricart-agrawala
 *     listen = 127.0.0.1:7700     2 = 10.0.0.2:7800 attribute 9 heartbeat = 50
 *     listen = /run/conclave.sock 3 = 10.0.0.3:7800             timeout = 300           [lock *]
 *                                                               bound = 50              algorithm = central
 */
#include "live/settings/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "core/scenario/scenario.h"
#include "group/lease_times.h"
#include "live/settings/settings_limits.h"
#include "live/settings/settings_operations.h"
#include "live/settings/settings_security.h"

#define LARGEST_MS 3600000u

void cv_settings_init(struct cv_settings *settings, cv_settings_find *find)
{
    *settings = (struct cv_settings){.heartbeat_ms = 50,
                                     .timeout_ms = 300,
                                     .longest_timeout_ms = 3000,
                                     .bound_ms = 50,
                                     .lease_ms = CV_LEASE_DEFAULT_MS,
                                     .drift_ppm = CV_DRIFT_DEFAULT_PPM,
                                     .hold_off_ms = 2000,
                                     .most_voters = CV_MOST_VOTERS,
                                     .most_names = 1000000,
                                     .most_sessions = 10000,
                                     .client_timeout_ms = 10000};
    struct cv_complaint complaint;
    find("bully", &settings->election.found, &complaint);
    security_settings_init(&settings->security);
    cv_limits_init(&settings->limits);
}

static void free_rule(struct cv_rule *rule)
{
    for (struct cv_setting *it = rule->parameters, *next; it; it = next) {
        next = it->next;
        free(it->key);
        free(it->value);
        free(it);
    }
    free(rule->pattern);
}

static void free_member(struct cv_member_setting *member)
{
    free(member->address);
    free(member->client);
}

void cv_settings_free(struct cv_settings *settings)
{
    for (uint32_t i = 0; i < settings->listen_count; i++)
        free(settings->listen[i]);
    for (uint32_t i = 0; i < settings->member_count; i++)
        free_member(&settings->members[i]);
    for (uint32_t i = 0; i < settings->rule_count; i++)
        free_rule(&settings->rules[i]);
    free_rule(&settings->election);
    security_settings_free(&settings->security);
    operations_settings_free(&settings->operations);
    free(settings->rules);
    free(settings->peers);
    free(settings->directory);
    free(settings->tie_breaker);
}

/* ---- values ---- */

static int set_number(uint64_t *number, uint64_t least, uint64_t largest, const char *section, const char *key,
                      const char *value, struct cv_complaint *complaint)
{
    if (cv_parse_number(cv_text(value), largest, number) && *number >= least)
        return 0;
    return cv_complain(complaint, "[%s] %s = %s: expected a number of %llu to %llu", section, key, cv_brief(value).text,
                       (unsigned long long)least, (unsigned long long)largest);
}

static int set_text(char **text, const char *value)
{
    free(*text);
    *text = strdup(value);
    return *text ? 0 : CV_ENOMEM;
}

static const char *problem_text(uint32_t problem)
{
    static const char *const texts[] = {[CV_ELECTION] = "an election",
                                        [CV_MUTEX] = "a mutual exclusion",
                                        [CV_SYNCHRONIZER] = "a synchronizer's",
                                        [CV_SYNCHRONOUS] = "a synchronous",
                                        [CV_PATHS] = "a shortest-paths"};
    return texts[problem];
}

/* A path in a file is relative to the directory of that file, one on the command line to where the node is started. */
static int find_algorithm(const struct cv_settings *settings, const char *value, cv_settings_find *find,
                          struct cv_found_algorithm *found, struct cv_complaint *complaint)
{
    const char *slash = settings->path && *value != '/' ? strrchr(settings->path, '/') : NULL;
    char *path = NULL;
    if (!strchr(value, '/') || !slash)
        return find(value, found, complaint);
    if (asprintf(&path, "%.*s/%s", (int)(slash - settings->path), settings->path, value) < 0)
        return CV_ENOMEM;
    const int error = find(path, found, complaint);
    free(path);
    return error;
}

static int set_algorithm(const struct cv_settings *settings, struct cv_rule *rule, enum cv_problem problem,
                         const char *section, const char *key, const char *value, cv_settings_find *find,
                         struct cv_complaint *complaint)
{
    struct cv_complaint why;
    rule->found = (struct cv_found_algorithm){0};
    const int error = find_algorithm(settings, value, find, &rule->found, &why);
    const struct cv_algorithm *algorithm = rule->found.algorithm;
    if (error == CV_EINPUT)
        return cv_complain(complaint, "[%s] %s = %s", section, key, why.text);
    if (error || (algorithm && algorithm->problem == problem))
        return error;
    if (rule->found.file)
        return cv_complain(complaint, "[%s] %s = %s: %s is %s algorithm; expected %s algorithm", section, key,
                           cv_brief(value).text, algorithm->name, problem_text(algorithm->problem),
                           problem_text(problem));
    return cv_complain(complaint, "[%s] %s = %s: expected %s algorithm; see conclave list", section, key,
                       cv_brief(value).text, problem_text(problem));
}

static int add_parameter(struct cv_rule *rule, const char *key, const char *value)
{
    struct cv_setting *setting = calloc(1, sizeof *setting);
    if (!setting)
        return CV_ENOMEM;
    setting->next = rule->parameters;
    rule->parameters = setting;
    setting->key = strdup(key);
    setting->value = strdup(value);
    return setting->key && setting->value ? 0 : CV_ENOMEM;
}

/* ---- sections ---- */

/* Adds an address to a list. CV_EINPUT if there are too many. */
static int add_address(char **list, struct cv_text address)
{
    uint32_t count = 1;
    for (const char *at = *list; at && *at; at++)
        count += *at == ' ';
    if (*list && count >= CV_MOST_ADDRESSES)
        return CV_EINPUT;
    char *longer = NULL;
    if (asprintf(&longer, "%s%s%.*s", *list ? *list : "", *list ? " " : "", (int)address.length, address.start) < 0)
        return CV_ENOMEM;
    free(*list);
    *list = longer;
    return 0;
}

static int set_node(struct cv_settings *settings, const char *key, const char *value, struct cv_complaint *complaint)
{
    uint64_t id;
    if (strcmp(key, "id") == 0) {
        if (!cv_parse_number(cv_text(value), UINT32_MAX - 1, &id))
            return cv_complain(complaint, "[node] id = %s: expected a number of 0 to %u", cv_brief(value).text,
                               UINT32_MAX - 1);
        settings->id = (cv_id)id;
        settings->has_id = true;
        return 0;
    }
    if (strcmp(key, "listen") == 0) {
        if (settings->listen_count == CV_MOST_LISTENERS)
            return cv_complain(complaint, "[node] listen = %s: expected at most %u of them", cv_brief(value).text,
                               CV_MOST_LISTENERS);
        return set_text(&settings->listen[settings->listen_count++], value);
    }
    if (strcmp(key, "peers") == 0) {
        const int error = strchr(value, ' ') ? CV_EINPUT : add_address(&settings->peers, cv_text(value));
        return error != CV_EINPUT ? error
                                  : cv_complain(complaint, "[node] peers = %s: expected host:port, at most %u of them",
                                                cv_brief(value).text, CV_MOST_ADDRESSES);
    }
    if (strcmp(key, "join") == 0) {
        settings->joins = strcmp(value, "yes") == 0;
        return settings->joins || strcmp(value, "no") == 0
                   ? 0
                   : cv_complain(complaint, "[node] join = %s: expected yes or no", cv_brief(value).text);
    }
    if (strcmp(key, "found") == 0) {
        settings->founds = strcmp(value, "yes") == 0;
        return settings->founds || strcmp(value, "no") == 0
                   ? 0
                   : cv_complain(complaint, "[node] found = %s: expected yes or no", cv_brief(value).text);
    }
    if (strcmp(key, "directory") == 0)
        return set_text(&settings->directory, value);
    settings->names_given |= strcmp(key, "names") == 0;
    if (strcmp(key, "names") == 0)
        return set_number(&settings->most_names, 1, UINT32_MAX, "node", key, value, complaint);
    settings->sessions_given |= strcmp(key, "clients") == 0;
    if (strcmp(key, "clients") == 0)
        return set_number(&settings->most_sessions, 1, 1000000, "node", key, value, complaint);
    if (strcmp(key, "client-timeout") == 0)
        return set_number(&settings->client_timeout_ms, 1000, 3600000, "node", key, value, complaint);
    if (operations_settings_has(key))
        return operations_settings_set(&settings->operations, key, value, complaint);
    return cv_complain(
        complaint,
        "[node] %s: expected id, listen, peers, directory, join, found, names, clients, client-timeout, http, log, "
        "log-level, measure-turns or priority",
        cv_brief(key).text);
}

/* "host:port", one for each network, then maybe "client host:port", "attribute NUMBER" and "standby". */
static int read_member(struct cv_member_setting *member, const char *value)
{
    struct cv_text rest = cv_text(value), word, what = {NULL, 0};
    char **place;
    uint64_t attribute;
    while (cv_text_take(&rest, ' ', &word)) {
        if (!word.length)
            continue;
        if (!what.start && member->address) {
            int error = 0;
            if (cv_text_is(word, "standby"))
                member->standby = true;
            else if (memchr(word.start, ':', word.length))
                error = add_address(&member->address, word);
            else
                what = word;
            if (error)
                return error;
            continue;
        }
        if (what.start && cv_text_is(what, "attribute")) {
            if (!cv_parse_number(word, UINT32_MAX, &attribute))
                return CV_EINPUT;
            member->attribute = (uint32_t)attribute;
        } else if (*(place = what.start ? &member->client : &member->address) ||
                   (what.start && !cv_text_is(what, "client"))) {
            return CV_EINPUT;
        } else if (!(*place = strndup(word.start, word.length))) {
            return CV_ENOMEM;
        }
        what.start = NULL;
    }
    return member->address && !what.start && strlen(member->address) < CV_ADDRESS_BYTES &&
                   (!member->client || strlen(member->client) < CV_ADDRESS_BYTES)
               ? 0
               : CV_EINPUT;
}

static int add_member(struct cv_settings *settings, const char *key, const char *value, struct cv_complaint *complaint)
{
    uint64_t id;
    uint32_t place = settings->member_count;
    if (!cv_parse_number(cv_text(key), UINT32_MAX - 1, &id))
        return cv_complain(complaint, "[members] %s: expected an id", cv_brief(key).text);
    if (settings->member_count == CV_MAX_MEMBERS)
        return cv_complain(complaint, "[members] %s: expected at most %u members", key, CV_MAX_MEMBERS);
    for (uint32_t i = 0; i < settings->member_count; i++)
        if (settings->members[i].id == id)
            return cv_complain(complaint, "[members] %s: this id is there twice", key);
    for (; place > 0 && settings->members[place - 1].id > id; place--)
        settings->members[place] = settings->members[place - 1];
    settings->member_count++;
    settings->members[place] = (struct cv_member_setting){.id = (cv_id)id, .attribute = (uint32_t)id};
    const int error = read_member(&settings->members[place], value);
    if (error != CV_EINPUT)
        return error;
    return cv_complain(complaint,
                       "[members] %s = %s: expected host:port..., up to four, [client host:port] [attribute NUMBER] "
                       "[standby]",
                       key, cv_brief(value).text);
}

static int set_mode(struct cv_settings *settings, const char *value, struct cv_complaint *complaint)
{
    settings->consensus = strcmp(value, "raft") == 0;
    settings->mode_given = true;
    if (settings->consensus || strcmp(value, "static") == 0)
        return 0;
    return cv_complain(complaint, "[group] mode = %s: expected static or raft", cv_brief(value).text);
}

/* A setting that the whole group agrees on. It counts until the group is founded. */
static int set_term(struct cv_settings *settings, enum cv_term_key key, const char *text,
                    struct cv_complaint *complaint)
{
    uint64_t *const places[CV_TERMS] = {[CV_TERM_LEASE] = &settings->lease_ms,
                                        [CV_TERM_DRIFT] = &settings->drift_ppm,
                                        [CV_TERM_BOUND] = &settings->bound_ms,
                                        [CV_TERM_VOTERS] = &settings->most_voters};
    uint32_t value;
    const int error = cv_term_parse(key, text, &value, complaint);
    if (error)
        return error;
    *places[key] = value;
    settings->terms_given |= 1u << key;
    return 0;
}

struct cv_terms cv_settings_terms(const struct cv_settings *settings)
{
    return (struct cv_terms){{[CV_TERM_LEASE] = (uint32_t)settings->lease_ms,
                              [CV_TERM_DRIFT] = (uint32_t)settings->drift_ppm,
                              [CV_TERM_BOUND] = (uint32_t)settings->bound_ms,
                              [CV_TERM_VOTERS] = (uint32_t)settings->most_voters}};
}

static int set_group(struct cv_settings *settings, const char *key, const char *value, cv_settings_find *find,
                     struct cv_complaint *complaint)
{
    if (strcmp(key, "mode") == 0)
        return set_mode(settings, value, complaint);
    if (cv_term_find(key) < CV_TERMS)
        return set_term(settings, cv_term_find(key), value, complaint);
    if (strcmp(key, "election") == 0)
        return set_algorithm(settings, &settings->election, CV_ELECTION, "group", key, value, find, complaint);
    if (strcmp(key, "heartbeat") == 0)
        return set_number(&settings->heartbeat_ms, 1, LARGEST_MS, "group", key, value, complaint);
    if (strcmp(key, "timeout") == 0)
        return set_number(&settings->timeout_ms, 1, LARGEST_MS, "group", key, value, complaint);
    if (strcmp(key, "longest-timeout") == 0)
        return set_number(&settings->longest_timeout_ms, 1, LARGEST_MS, "group", key, value, complaint);
    if (strcmp(key, "tie-breaker") == 0)
        return set_text(&settings->tie_breaker, value);
    if (strcmp(key, "hold-off") == 0)
        return set_number(&settings->hold_off_ms, 0, LARGEST_MS, "group", key, value, complaint);
    return add_parameter(&settings->election, key, value); /* a parameter of the election's own */
}

static struct cv_rule *rule_of(struct cv_settings *settings, enum cv_problem problem, const char *pattern)
{
    for (uint32_t i = 0; i < settings->rule_count; i++)
        if (settings->rules[i].problem == problem && strcmp(settings->rules[i].pattern, pattern) == 0)
            return &settings->rules[i];
    struct cv_rule *rules = realloc(settings->rules, (settings->rule_count + 2) * sizeof *rules);
    if (!rules)
        return NULL;
    settings->rules = rules;
    struct cv_rule *rule = &rules[settings->rule_count];
    *rule = (struct cv_rule){.problem = problem, .pattern = strdup(pattern)};
    settings->rule_count += rule->pattern != NULL;
    return rule->pattern ? rule : NULL;
}

static int set_rule(struct cv_settings *settings, enum cv_problem problem, const char *section, const char *pattern,
                    const char *key, const char *value, cv_settings_find *find, struct cv_complaint *complaint)
{
    struct cv_rule *rule = rule_of(settings, problem, pattern);
    if (!rule)
        return CV_ENOMEM;
    if (strcmp(key, "algorithm") == 0)
        return set_algorithm(settings, rule, problem, section, key, value, find, complaint);
    if (problem == CV_MUTEX && strcmp(key, "delay") == 0)
        return set_number(&rule->delay_ms, 0, LARGEST_MS, section, key, value, complaint);
    return add_parameter(rule, key, value);
}

int cv_settings_set(struct cv_settings *settings, const char *section, const char *key, const char *value,
                    cv_settings_find *find, struct cv_complaint *complaint)
{
    if (strcmp(section, "node") == 0)
        return set_node(settings, key, value, complaint);
    if (strcmp(section, "members") == 0)
        return add_member(settings, key, value, complaint);
    if (strcmp(section, "group") == 0)
        return set_group(settings, key, value, find, complaint);
    if (strcmp(section, "security") == 0)
        return security_settings_set(&settings->security, key, value, complaint);
    if (strcmp(section, "limits") == 0)
        return cv_limits_set(&settings->limits, key, value, complaint);
    if (strncmp(section, "acl ", 4) == 0 && section[4])
        return cv_acls_set(&settings->security.acls, section + 4, key, value, complaint);
    if (strncmp(section, "lock ", 5) == 0 && section[5])
        return set_rule(settings, CV_MUTEX, section, section + 5, key, value, find, complaint);
    if (strncmp(section, "election ", 9) == 0 && section[9])
        return set_rule(settings, CV_ELECTION, section, section + 9, key, value, find, complaint);
    return cv_complain(complaint,
                       "[%s]: expected [node], [members], [group], [security], [limits], [lock PATTERN], [election "
                       "PATTERN] or [acl NAME]",
                       cv_brief(section).text);
}

/* ---- defaults and checks ---- */

static int check_member(struct cv_settings *settings, struct cv_complaint *complaint)
{
    if (!settings->member_count) { /* a single node */
        settings->members[0].id = settings->members[0].attribute = settings->has_id ? settings->id : 1;
        settings->member_count = 1;
        settings->id = settings->members[0].id;
        return 0;
    }
    if (!settings->has_id)
        return cv_complain(complaint, "[node] id: expected, where there are [members]");
    for (uint32_t i = 0; i < settings->member_count; i++)
        if (settings->members[i].id == settings->id)
            return settings->peers ? 0 : set_text(&settings->peers, settings->members[i].address);
    return cv_complain(complaint, "[node] id = %u: expected one of [members]", settings->id);
}

cv_set cv_settings_voters(const struct cv_settings *settings)
{
    cv_set voters = 0;
    for (uint32_t i = 0; i < settings->member_count && cv_set_count(voters) < settings->most_voters; i++)
        if (!settings->members[i].standby)
            voters |= cv_set_of(i);
    return voters;
}

static int check_tie_breaker(const struct cv_settings *settings, struct cv_complaint *complaint)
{
    const char *path = settings->tie_breaker;
    if (!path)
        return 0;
    if (!*path)
        return cv_complain(complaint, "[group] tie-breaker: expected the path of a file or disk that both nodes share");
    if (settings->member_count != 2)
        return cv_complain(complaint, "[group] tie-breaker = %s: expected two [members], not %u", cv_brief(path).text,
                           settings->member_count);
    if (settings->mode_given && !settings->consensus)
        return cv_complain(complaint, "[group] tie-breaker = %s: expected mode = raft, not static",
                           cv_brief(path).text);
    if (settings->joins)
        return cv_complain(complaint,
                           "[group] tie-breaker = %s: expected no join = yes, both are members from the start",
                           cv_brief(path).text);
    if (cv_set_count(cv_settings_voters(settings)) != 2)
        return cv_complain(complaint, "[group] tie-breaker = %s: expected two [members] that are no standbys",
                           cv_brief(path).text);
    return 0;
}

/* Several members agree by Raft by default. A single node does so if it has a directory to keep its epochs. */
static int check_raft(struct cv_settings *settings, struct cv_complaint *complaint)
{
    if (!settings->mode_given)
        settings->consensus = settings->member_count > 1 || settings->directory;
    if (!settings->consensus)
        return 0;
    if (!settings->directory && !settings->tie_breaker)
        return cv_complain(complaint, "[node] directory: expected, for what `mode = raft` has to remember");
    if (!cv_settings_voters(settings))
        return cv_complain(complaint, "[members]: expected one at least that is no standby");
    if (settings->lease_ms < CV_LEASE_HEARTBEATS * settings->heartbeat_ms)
        return cv_complain(complaint, "[group] lease = %llu: expected at least three heartbeats, %llu",
                           (unsigned long long)settings->lease_ms,
                           CV_LEASE_HEARTBEATS * (unsigned long long)settings->heartbeat_ms);
    return 0;
}

int cv_settings_finish(struct cv_settings *settings, cv_settings_find *find, struct cv_complaint *complaint)
{
    int error = check_member(settings, complaint);
    operations_settings_finish(&settings->operations);
    if (!error)
        error = security_settings_finish(&settings->security, complaint);
    if (error)
        return error;
    if (settings->timeout_ms < 2 * settings->heartbeat_ms)
        return cv_complain(complaint, "[group] timeout = %llu: expected at least two heartbeats, %llu",
                           (unsigned long long)settings->timeout_ms, 2 * (unsigned long long)settings->heartbeat_ms);
    if ((error = check_tie_breaker(settings, complaint)) || (error = check_raft(settings, complaint)))
        return error;
    if (settings->longest_timeout_ms < settings->timeout_ms)
        settings->longest_timeout_ms = settings->timeout_ms;
    if (!settings->listen_count) {
        if ((error = set_text(&settings->listen[settings->listen_count++], "127.0.0.1:7700")))
            return error;
    }
    for (uint32_t i = 0; i < settings->rule_count; i++)
        if (!settings->rules[i].found.algorithm)
            return cv_complain(complaint, "[%s %s] algorithm: expected",
                               settings->rules[i].problem == CV_MUTEX ? "lock" : "election",
                               settings->rules[i].pattern);
    struct cv_rule *rest = rule_of(settings, CV_MUTEX, "*"); /* comes last, unless the file has it */
    if (!rest)
        return CV_ENOMEM;
    return rest->found.algorithm ? 0 : find("central", &rest->found, complaint);
}

/* ---- parameters ---- */

static int read_parameter(const struct cv_setting *setting, const struct cv_parameter *parameter, int64_t *value,
                          struct cv_complaint *complaint)
{
    uint64_t number;
    if (parameter->type == CV_CHOICE) {
        struct cv_text choices = cv_text(parameter->choices), choice;
        for (*value = 0; cv_text_take(&choices, '|', &choice); ++*value)
            if (cv_text_is(choice, setting->value))
                return 0;
        return cv_complain(complaint, "%s = %s: expected %s", setting->key, cv_brief(setting->value).text,
                           parameter->choices);
    }
    if (parameter->type == CV_MEMBER)
        return cv_complain(complaint, "%s = %s: live, the group elects it", setting->key,
                           cv_brief(setting->value).text);
    if (!cv_parse_number(cv_text(setting->value), INT64_MAX, &number))
        return cv_complain(complaint, "%s = %s: expected a number", setting->key, cv_brief(setting->value).text);
    *value = (int64_t)number;
    return 0;
}

int cv_rule_parameters(const struct cv_rule *rule, const struct cv_settings *settings, int64_t **parameters,
                       struct cv_complaint *complaint)
{
    const struct cv_algorithm *algorithm = rule->found.algorithm;
    const uint32_t count = cv_algorithm_parameters(algorithm);
    (void)settings;
    *parameters = calloc(count + 1u, sizeof **parameters);
    if (!*parameters)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        (*parameters)[i] = algorithm->parameters[i].type == CV_NUMBER   ? algorithm->parameters[i].fallback
                           : algorithm->parameters[i].type == CV_MEMBER ? -1
                                                                        : 0;
    for (const struct cv_setting *it = rule->parameters; it; it = it->next) {
        uint32_t place = 0;
        while (place < count && strcmp(algorithm->parameters[place].name, it->key) != 0)
            place++;
        if (place == count)
            return cv_complain(complaint, "%s: no setting, and no parameter of %s", cv_brief(it->key).text,
                               algorithm->name);
        const int error = read_parameter(it, &algorithm->parameters[place], &(*parameters)[place], complaint);
        if (error)
            return error;
    }
    return 0;
}
