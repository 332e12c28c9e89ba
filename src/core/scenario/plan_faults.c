// SPDX-License-Identifier: MIT
/* Reads the faults: ID@T, A,B/C,D@T1..T2, P:Q, P:Q@T and P:Q:KIND=T. */
#include "core/scenario/plan_faults.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/graph/graph_make.h"
#include "core/index.h"
#include "core/parse.h"
#include "core/scenario/plan.h"

#define LONGEST_TIME (1ull << 48)
#define LONGEST_LAG (1u << 24)

struct reader {
    const struct cv_plan *plan;
    const struct cv_index *index;
    struct cv_scenario *scenario;
    struct cv_complaint *complaint;
};

/* The node of an id, or CV_NOBODY and a complaint. */
static cv_node read_node(const struct reader *reader, const char *option, const char *word, struct cv_text id)
{
    uint64_t number;
    cv_node node = CV_NOBODY;
    if (!cv_parse_number(id, UINT32_MAX, &number))
        cv_complain(reader->complaint, "%s %s: '%s' is not an id; expected ids of the group", option,
                    cv_brief(word).text, cv_brief_text(id).text);
    else if ((node = cv_index_find(reader->index, (cv_id)number)) == CV_NOBODY)
        cv_complain(reader->complaint, "%s %s: there is no node %u; expected ids of the group", option,
                    cv_brief(word).text, (cv_id)number);
    return node;
}

static int refuse_crash(const struct reader *reader, const char *word)
{
    return cv_complain(reader->complaint, "--crash %s: expected ID@TIME, ID@before:KIND or ID@after:KIND",
                       cv_brief(word).text);
}

static int refuse_kind(const struct reader *reader, const char *option, const char *word)
{
    const struct cv_algorithm *algorithm = reader->plan->algorithm;
    char names[200] = "";
    size_t used = 0;
    for (uint32_t kind = 0; kind < cv_algorithm_kinds(algorithm) && used < sizeof names; kind++)
        used +=
            (size_t)snprintf(names + used, sizeof names - used, "%s%s", kind ? ", " : "", algorithm->kinds[kind].name);
    return cv_complain(reader->complaint, "%s %s: %s sends no such messages; expected one of: %s", option,
                       cv_brief(word).text, algorithm->name, names);
}

static int read_moment(const struct reader *reader, const char *word, struct cv_text when, struct cv_crash *crash)
{
    struct cv_text moment, kind;
    if (!cv_text_split(when, ':', &moment, &kind)) {
        crash->moment = CV_AT;
        return cv_parse_number(when, LONGEST_TIME, &crash->time) ? 0 : refuse_crash(reader, word);
    }
    crash->moment = cv_text_is(moment, "before") ? CV_BEFORE : CV_AFTER;
    if (crash->moment == CV_AFTER && !cv_text_is(moment, "after"))
        return refuse_crash(reader, word);
    crash->kind = cv_kind_find(reader->plan->algorithm, kind.start, kind.length);
    return crash->kind == CV_MAX_KINDS ? refuse_kind(reader, "--crash", word) : 0;
}

static int read_crash(const struct reader *reader, const char *word, struct cv_crash *crash)
{
    struct cv_text id, when;
    if (!cv_text_split(cv_text(word), '@', &id, &when))
        return refuse_crash(reader, word);
    crash->node = read_node(reader, "--crash", word, id);
    return crash->node == CV_NOBODY ? CV_EINPUT : read_moment(reader, word, when, crash);
}

/* A node can only come back after it has gone. */
static int read_recover(const struct reader *reader, const char *word, struct cv_recovery *recovery)
{
    struct cv_text id, when;
    if (!cv_text_split(cv_text(word), '@', &id, &when) || !cv_parse_number(when, LONGEST_TIME, &recovery->time))
        return cv_complain(reader->complaint, "--recover %s: expected ID@TIME", cv_brief(word).text);
    recovery->node = read_node(reader, "--recover", word, id);
    if (recovery->node == CV_NOBODY)
        return CV_EINPUT;
    for (uint32_t i = 0; i < reader->scenario->crash_count; i++) {
        const struct cv_crash *crash = &reader->scenario->crashes[i];
        if (crash->node == recovery->node && (crash->moment != CV_AT || crash->time < recovery->time))
            return 0;
    }
    return cv_complain(reader->complaint, "--recover %s: node %u does not crash before that; expected a --crash of it",
                       cv_brief(word).text, reader->scenario->ids[recovery->node]);
}

static int read_pair(const struct reader *reader, const char *option, const char *word, struct cv_text text, bool stars,
                     struct cv_pair *pair)
{
    struct cv_text one, other;
    if (!cv_text_split(text, ':', &one, &other))
        return cv_complain(reader->complaint, "%s %s: expected two ids, P:Q", option, cv_brief(word).text);
    *pair = (struct cv_pair){CV_NOBODY, CV_NOBODY};
    if (!(stars && cv_text_is(one, "*")) && (pair->one = read_node(reader, option, word, one)) == CV_NOBODY)
        return CV_EINPUT;
    if (!(stars && cv_text_is(other, "*")) && (pair->other = read_node(reader, option, word, other)) == CV_NOBODY)
        return CV_EINPUT;
    if (pair->one == pair->other && pair->one != CV_NOBODY)
        return cv_complain(reader->complaint, "%s %s: expected two different nodes", option, cv_brief(word).text);
    return 0;
}

static int read_suspect(const struct reader *reader, const char *word, struct cv_suspicion *suspicion)
{
    struct cv_text pair, when;
    if (!cv_text_split(cv_text(word), '@', &pair, &when) || !cv_parse_number(when, LONGEST_TIME, &suspicion->time))
        return cv_complain(reader->complaint, "--suspect %s: expected P:Q@TIME", cv_brief(word).text);
    return read_pair(reader, "--suspect", word, pair, true, &suspicion->pair);
}

static int read_times(const struct reader *reader, const char *word, struct cv_text when,
                      struct cv_partition *partition)
{
    struct cv_text begin, end;
    partition->end = CV_NEVER;
    if (!cv_text_range(when, &begin, &end)) {
        begin = when;
        end = (struct cv_text){0};
    }
    if (!cv_parse_number(begin, LONGEST_TIME, &partition->begin) ||
        (end.length && !cv_parse_number(end, LONGEST_TIME, &partition->end)) || partition->begin >= partition->end)
        return cv_complain(reader->complaint, "--partition %s: expected A,B/C,D@FROM..TO with FROM < TO, or @FROM..",
                           cv_brief(word).text);
    return 0;
}

static int read_partition(const struct reader *reader, const char *word, struct cv_partition *partition)
{
    const uint32_t nodes = reader->scenario->group.nodes;
    struct cv_text sides, when, side, id;
    if (!cv_text_split(cv_text(word), '@', &sides, &when))
        return cv_complain(reader->complaint, "--partition %s: expected A,B/C,D@FROM..TO", cv_brief(word).text);
    const int error = read_times(reader, word, when, partition);
    if (error)
        return error;
    partition->side = malloc(nodes * sizeof *partition->side);
    if (!partition->side)
        return CV_ENOMEM;
    memset(partition->side, 0xff, nodes * sizeof *partition->side);
    for (uint32_t number = 0; cv_text_take(&sides, '/', &side); number++)
        while (cv_text_take(&side, ',', &id)) {
            const cv_node node = read_node(reader, "--partition", word, id);
            if (node == CV_NOBODY)
                return CV_EINPUT;
            if (partition->side[node] != UINT32_MAX)
                return cv_complain(reader->complaint, "--partition %s: node %u stands twice; expected it on one side",
                                   cv_brief(word).text, reader->scenario->ids[node]);
            partition->side[node] = number;
        }
    for (cv_node node = 1; node < nodes; node++)
        if (partition->side[node] != partition->side[0])
            return 0;
    return cv_complain(reader->complaint, "--partition %s: cuts nothing; expected nodes on two sides at least",
                       cv_brief(word).text);
}

/* P and Q may be the same node, unlike in other options. */
static int read_lag(const struct reader *reader, const char *word, struct cv_lag *lag)
{
    struct cv_text way, ticks, one, other, kind = {0};
    if (!cv_text_split(cv_text(word), '=', &way, &ticks) || !cv_text_split(way, ':', &one, &other) ||
        !cv_parse_number(ticks, LONGEST_LAG, &lag->ticks) || !lag->ticks)
        return cv_complain(reader->complaint, "--lag %s: expected P:Q=TICKS or P:Q:KIND=TICKS, 1..%u ticks",
                           cv_brief(word).text, LONGEST_LAG);
    lag->pair = (struct cv_pair){CV_NOBODY, CV_NOBODY};
    lag->kind = CV_MAX_KINDS;
    if (cv_text_split(other, ':', &other, &kind) &&
        (lag->kind = cv_kind_find(reader->plan->algorithm, kind.start, kind.length)) == CV_MAX_KINDS)
        return refuse_kind(reader, "--lag", word);
    if (!cv_text_is(one, "*") && (lag->pair.one = read_node(reader, "--lag", word, one)) == CV_NOBODY)
        return CV_EINPUT;
    if (!cv_text_is(other, "*") && (lag->pair.other = read_node(reader, "--lag", word, other)) == CV_NOBODY)
        return CV_EINPUT;
    return 0;
}

/*
 * On the gadget the edges of weight 0 are slow: the path over b(i) takes 2^i ticks, unless the user sets the delay.
 * These lags are listed first, so that --lag overrides them. If links are serial, no edge need be slow: the path over
 * b(i) takes 3 ticks and the direct one 2, and messages pile up by themselves.
 */
static int slow_down_gadget(const struct reader *reader)
{
    const struct cv_plan *plan = reader->plan;
    struct cv_scenario *scenario = reader->scenario;
    const bool slow = plan->graph && !plan->delay && !cv_scenario_raw(scenario);
    const uint32_t rungs = slow ? cv_graph_gadget(plan->graph) : 0, count = rungs + plan->lag.count + 1;
    if (!(scenario->lags = calloc(count, sizeof *scenario->lags)))
        return CV_ENOMEM;
    if (rungs && scenario->serial)
        scenario->lags[scenario->lag_count++] =
            (struct cv_lag){.pair = {CV_NOBODY, CV_NOBODY}, .kind = CV_MAX_KINDS, .ticks = 2};
    for (uint32_t i = rungs; i > 0; i--) {
        const cv_node b = 2 * (rungs - i) + 1;
        const uint64_t ticks = scenario->serial ? 1 : (UINT64_C(1) << i) - 1;
        scenario->lags[scenario->lag_count++] =
            (struct cv_lag){.pair = {b, b + 1}, .kind = CV_MAX_KINDS, .ticks = ticks};
    }
    scenario->slow_gadget = rungs && !plan->lag.count;
    return 0;
}

static int read_alternate(const struct reader *reader, const char *word, struct cv_pair *pair)
{
    return read_pair(reader, "--alternate", word, cv_text(word), false, pair);
}

static int read_blind(const struct reader *reader, const char *word, struct cv_pair *pair)
{
    return read_pair(reader, "--blind", word, cv_text(word), true, pair);
}

/* The count rises with each entry that is read, so that freeing is always safe. */
static int read_all(const struct reader *reader)
{
    const struct cv_plan *plan = reader->plan;
    struct cv_scenario *scenario = reader->scenario;
    int error = slow_down_gadget(reader);
#define READ(name, list, list_count, argument, meaning)                                                                \
    if (!error && plan->name.count && !(scenario->list = calloc(plan->name.count, sizeof *scenario->list)))            \
        error = CV_ENOMEM;                                                                                             \
    for (uint32_t i = 0; !error && i < plan->name.count; i++)                                                          \
        error = read_##name(reader, plan->name.word[i], &scenario->list[scenario->list_count++]);
    CV_FAULTS(READ)
#undef READ
    for (uint32_t i = 0; !error && i < plan->lag.count; i++)
        error = read_lag(reader, plan->lag.word[i], &scenario->lags[scenario->lag_count++]);
    return error;
}

int plan_faults_build(const struct cv_plan *plan, const struct cv_index *index, struct cv_scenario *scenario,
                      struct cv_complaint *complaint)
{
    const struct reader reader = {plan, index, scenario, complaint};
    if (plan->alternate.count > CV_MAX_ALTERNATES)
        return cv_complain(complaint, "--alternate: %u links; expected at most %u", plan->alternate.count,
                           CV_MAX_ALTERNATES);
    if (plan->lag.count && cv_scenario_raw(scenario))
        return cv_complain(complaint, "--lag %s: expected without --loss, --duplicate and --reorder",
                           cv_brief(plan->lag.word[0]).text);
    return read_all(&reader);
}
