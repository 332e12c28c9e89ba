// SPDX-License-Identifier: MIT
/*
 * The coordinator's election, and the assembly of a member from its parts.
 *
 * An election is numbered by its term. An algorithm that tolerates crashes stays in its term and hears which nodes are
 * gone or back. One that does not begins a new term at each such change. A node that hears of a higher term joins it
 * with a fresh state, so that no ballot of an older term counts.
 */
#include "live/member.h"
#include "live/consensus.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "core/wall_clock.h"
#include "live/consensus_time.h"
#include "live/dispatch.h"
#include "live/founding.h"
#include "live/host/host_names.h"
#include "live/host/host_views.h"
#include "live/net/connection.h"
#include "live/plugin_failure.h"
#include "live/process/event_log.h"
#include "live/refusals.h"
#include "live/roster.h"
#include "live/rules.h"
#include "live/settings/settings.h"
#include "live/views.h"

#define TICK_US 1000u
#define FEWEST_DESCRIPTORS 16
#define PATIENCE_BOUNDS 10u /* no election takes longer than so many message delays */

cv_node member_leader(const struct cv_member *member)
{
    const struct cv_instance *election = member->election;
    for (cv_node node = 0; election && election->flags & CV_KNOWS && node < member->roster.count; node++)
        if (member->roster.ids[node] == election->leader && !cv_set_has(member->peers.suspected, node))
            return node;
    return CV_NOBODY;
}

/* Tells the views which members are alive and which of them is elected. */
static void update_group(struct cv_member *member)
{
    const cv_set alive = cv_set_first(member->roster.count) & ~member->peers.suspected;
    if (!member->begun)
        return;
    if (member->consensus)
        consensus_update(member->consensus);
    else if (cv_static_views_update(&member->static_views, member_leader(member), alive))
        member_reconsider(member);
}

/* The delay is random, so that of two nodes that disturb each other one is first. */
void member_reconsider(struct cv_member *member)
{
    if (!member->reconsider.place)
        cv_loop_set(&member->loop, &member->reconsider,
                    member->bound_us / 2 + cv_random_below(&member->host.random, member->bound_us / 2 + 1));
}

static void reconsider(struct cv_alarm *alarm)
{
    struct cv_member *member = cv_alarm_owner(alarm, struct cv_member, reconsider);
    cv_static_views_consider(&member->static_views);
}

/* ---- terms ---- */

static void join_term(struct cv_member *member, uint64_t term)
{
    if (cv_host_restart(&member->host, member->election, term))
        return;
    member->term = member->peers.term = term;
}

static void new_term(struct cv_member *member)
{
    join_term(member, member->term + 1);
    member->elections++;
    cv_host_call(&member->host, member->election, false);
}

static void elected(void *context, struct cv_instance *instance)
{
    struct cv_member *member = context;
    if (instance == member->election)
        update_group(member);
    else
        member->user.elected(member->user.context, instance);
}

/* A term belongs to a generation of the roster. In another generation the same places mean other nodes. */
static bool is_of_now(const struct cv_member *member, uint64_t term)
{
    return term >> CV_TERM_BITS == member->roster.generation;
}

void member_rearranged(struct cv_member *member, cv_set changed)
{
    member->heard_from &= ~changed;
    member->in_other_view &= ~changed;
    dispatch_forget(member, changed);
    cv_host_freeze(&member->host);
    cv_host_resize(&member->host);
    cv_host_suspect(&member->host, member->peers.suspected);
    if (!is_of_now(member, member->term)) /* otherwise a term would come twice, and its messages with it */
        member->term = (uint64_t)member->roster.generation << CV_TERM_BITS;
    if (member->begun)
        new_term(member);
}

/* ---- ballots: terms of their own in every view ---- */

/* Each node that hears of a change begins a new term. So in the last term all nodes know all changes. */
void cv_member_stand(struct cv_member *member, struct cv_instance *ballot, cv_node node, uint32_t attribute)
{
    if (ballot->attributes[node] == attribute)
        return;
    ballot->attributes[node] = attribute;
    if (cv_host_restart(&member->host, ballot, ballot->round + 1) == 0)
        cv_host_call(&member->host, ballot, false);
}

/* ---- beginning ---- */

static uint64_t patience_us(const struct cv_member *member)
{
    return PATIENCE_BOUNDS * member->bound_us + member->peers.least_us;
}

static void begin_election(struct cv_alarm *alarm)
{
    struct cv_member *member = cv_alarm_owner(alarm, struct cv_member, begin);
    if (member->begun)
        return;
    if (member->consensus && !member->consensus->protocol->may_begin(member->consensus)) {
        cv_loop_set(&member->loop, alarm, member->bound_us);
        return;
    }
    member->begun = true;
    member->elections++;
    cv_alarm_cancel(&member->loop.alarms, &member->begin);
    /* If there was an election before, this node recovers into its result. */
    const bool recovers = (uint32_t)member->term && !(member->election->policy->algorithm->assumes & CV_NO_CRASH);
    join_term(member, recovers ? member->term : member->term + 1);
    cv_host_call(&member->host, member->election, recovers);
    cv_loop_set(&member->loop, &member->watchdog, patience_us(member));
    update_group(member);
    dispatch_catch_up(member);
}

/* Ballots wait until this node has begun, because it may not know all nodes before. */
void member_ballot(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    if (!member->begun || frame->round >> CV_TERM_BITS > member->roster.generation) {
        dispatch_keep(member, from, frame);
        return;
    }
    if (frame->round > member->term) {
        join_term(member, frame->round);
        /* If only a caller can win, all nodes have to call. */
        if (!(member->election->policy->algorithm->claims & CV_ANY_CALLER))
            cv_host_call(&member->host, member->election, false);
    }
    if (frame->round == member->term)
        dispatch_ballot(member, from, frame);
}

/* Is there a leader with a view, and are all nodes in it? Agreed views need no such watchdog. */
static bool all_is_well(const struct cv_member *member, cv_node leader)
{
    const struct cv_view *view = &member->static_views.view;
    if (member->consensus)
        return leader != CV_NOBODY;
    if (leader == CV_NOBODY || member->static_views.frozen || view->coordinator != leader)
        return false;
    return leader != member->roster.me || !(member->in_other_view & view->members & ~member->peers.suspected);
}

/* If something is wrong twice in a row, a new view or another election mends it. */
static void look_after(struct cv_alarm *alarm)
{
    struct cv_member *member = cv_alarm_owner(alarm, struct cv_member, watchdog);
    const cv_node leader = member_leader(member);
    const bool content = all_is_well(member, leader);
    if (!content && !member->content) {
        if (leader == member->roster.me)
            cv_static_views_renew(&member->static_views);
        else
            new_term(member);
        update_group(member);
    }
    member->content = content;
    cv_loop_set(&member->loop, alarm, patience_us(member));
}

/* ---- what peers tell ---- */

/* After a partition each side may have a leader. If the algorithm does not settle that, a new election does. */
static void tell_election(struct cv_member *member, cv_node node, bool gone)
{
    cv_host_tell(&member->host, member->election, node, gone);
    if (!gone && !member->election->policy->algorithm->trust)
        cv_host_call(&member->host, member->election, true);
}

static void peer_changed(void *context, cv_node node, bool gone)
{
    struct cv_member *member = context;
    cv_host_suspect(&member->host, member->peers.suspected);
    if (member->consensus && cv_set_has(member->peers.suspected, node))
        consensus_gone(member->consensus, node);
    if (gone)
        dispatch_lost(member, node); /* the frames on their way are lost */
    else
        member->removed_by &= ~cv_set_of(node);
    if (member->begun && member->election->policy->algorithm->assumes & CV_NO_CRASH)
        new_term(member);
    else if (member->begun)
        tell_election(member, node, gone);
    update_group(member);
}

void member_trust(struct cv_member *member, cv_set nodes)
{
    for (cv_node node = 0; node < member->roster.count; node++)
        if (cv_set_has(nodes, node))
            peer_changed(member, node, false);
}

static void peer_renewed(void *context, cv_node node)
{
    struct cv_member *member = context;
    if (member->consensus)
        consensus_renewed(member->consensus, node);
    else
        cv_static_views_renew(&member->static_views);
    peer_changed(member, node, true);
    peer_changed(member, node, false);
}

static void peer_greeted(void *context, cv_node node)
{
    struct cv_member *member = context;
    if (member->consensus)
        founding_greeted(member->consensus, node);
}

static void peer_beat(void *context, cv_node node, const struct cv_frame *beat)
{
    struct cv_member *member = context;
    cv_set others = 0;
    for (cv_node other = 0; other < member->roster.count; other++)
        if (member->peers.list[other])
            others |= cv_set_of(other);
    member->heard_from |= cv_set_of(node);
    if (member->consensus)
        consensus_beat(member->consensus, node, beat);
    if (beat->epoch == member->static_views.view.epoch)
        member->in_other_view &= ~cv_set_of(node);
    else
        member->in_other_view |= cv_set_of(node);
    if (beat->term > member->term && is_of_now(member, beat->term) && member->begun) {
        join_term(member, beat->term);
        cv_host_call(&member->host, member->election, true);
    } else if (beat->term > member->term && is_of_now(member, beat->term)) {
        member->term = beat->term;
    }
    if (beat->epoch > member->static_views.highest)
        member->static_views.highest = beat->epoch;
    if (!member->begun && member->heard_from == others)
        cv_alarm_set(&member->loop.alarms, &member->begin, member->earliest_us);
}

static void beats(void *context)
{
    const struct cv_member *member = context;
    if (member->consensus)
        consensus_pass_time(member->consensus);
}

void member_end(struct cv_member *member, const char *format, ...)
{
    va_list arguments;
    if (*member->outside)
        return;
    va_start(arguments, format);
    vsnprintf(member->outside, sizeof member->outside, format, arguments);
    va_end(arguments);
    uv_stop(&member->loop.uv);
}

/* ---- putting it together ---- */

static void entered(void *context, struct cv_instance *instance)
{
    const struct cv_member *member = context;
    member->user.entered(instance);
}

static void ended(void *context, struct cv_instance *instance)
{
    const struct cv_member *member = context;
    if (member->user.ended)
        member->user.ended(member->user.context, instance);
}

static void record(void *context, const struct cv_instance *instance, const struct cv_event *event)
{
    const struct cv_member *member = context;
    member->recorder.event(member->recorder.context, instance, event);
}

static int make_policies(struct cv_member *member, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    struct cv_algorithm_host *host = &member->host;
    host->policy_count = settings->rule_count + 1;
    host->policies = calloc(host->policy_count, sizeof *host->policies);
    if (!host->policies)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < host->policy_count; i++) {
        const struct cv_rule *rule = i ? &settings->rules[i - 1] : &settings->election;
        host->policies[i].pattern = rule->pattern;
        host->policies[i].algorithm = rule->found.algorithm;
        host->policies[i].file = rule->found.file;
        host->policies[i].digest = rule->found.digest;
        host->policies[i].delay_us = rule->delay_ms * 1000;
        const int error = cv_rule_parameters(rule, settings, &host->policies[i].parameters, complaint);
        if (error)
            return error;
    }
    return 0;
}

/* A plugin with a large state lowers the number of names, unless the operator has chosen it. */
static int prepare_rules(struct cv_member *member, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    struct cv_algorithm_host *host = &member->host;
    uint64_t names;
    member->peers.rules = rules_fingerprint(host);
    if (rules_have_plugins(host))
        cv_plugin_failure_tell();
    const int error = rules_measure(host, &names, complaint);
    if (error || settings->names_given || names >= host->most)
        return error;
    host->most = names > 1 ? names : 1;
    cv_log_say(CV_LOG_LIMITED, "[node] names = %llu: %llu, since the states of plugins are large",
               (unsigned long long)settings->most_names, (unsigned long long)host->most);
    return 0;
}

static int open_host(struct cv_member *member, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    struct cv_algorithm_host *host = &member->host;
    uint64_t seed = 0;
    host->calls = (struct cv_host_calls){.send = dispatch_send,
                                         .entered = entered,
                                         .elected = elected,
                                         .opened = dispatch_opened,
                                         .ended = ended,
                                         .crowded = views_crowded,
                                         .aged = views_aged,
                                         .event = member->recorder.event ? record : NULL,
                                         .now = cv_loop_now,
                                         .context = member};
    host->alarms = &member->loop.alarms;
    host->roster = &member->roster;
    host->tick_us = TICK_US;
    host->most = settings->most_names;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed)
        seed = cv_loop_now();
    int error = make_policies(member, settings, complaint);
    if (!error)
        error = cv_host_init(host, settings->bound_ms, seed);
    if (!error)
        error = prepare_rules(member, settings, complaint);
    if (!error && !(member->election = cv_host_open(host, CV_SUBJECT_GROUP, (struct cv_text){"", 0})))
        error = CV_ENOMEM;
    return error;
}

static int open_peers(struct cv_member *member, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    struct cv_peers *peers = &member->peers;
    peers->calls = (struct cv_peers_calls){.changed = peer_changed,
                                           .renewed = peer_renewed,
                                           .greeted = peer_greeted,
                                           .beat = peer_beat,
                                           .beats = beats,
                                           .frame = dispatch_frame,
                                           .refused = refusals_refused,
                                           .objected = refusals_objected,
                                           .context = member};
    peers->loop = &member->loop;
    peers->roster = &member->roster;
    peers->security = &member->security;
    peers->heartbeat_us = settings->heartbeat_ms * 1000;
    peers->least_us = settings->timeout_ms * 1000;
    peers->most_us = settings->longest_timeout_ms * 1000;
    if (member->roster.count < 2 && !(settings->consensus && settings->peers))
        return 0;
    const int error = peers_open(peers, settings->peers, complaint);
    cv_host_suspect(&member->host, peers->suspected);
    return error;
}

/* libuv aborts the program if it lacks descriptors for its own pipes, so this checks before. */
static bool has_descriptors(void)
{
    int fds[FEWEST_DESCRIPTORS], count = 0;
    while (count < FEWEST_DESCRIPTORS && (fds[count] = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
        count++;
    const bool enough = count == FEWEST_DESCRIPTORS;
    while (count > 0)
        close(fds[--count]);
    return enough;
}

/* Before the numbering begins all starts would have the same fences. */
static int look_at_clock(struct cv_complaint *complaint)
{
    char date[32] = "?";
    struct tm parts;
    const int64_t now_ms = cv_unix_ms();
    const time_t now_s = (time_t)(now_ms / 1000);
    if (now_ms > (int64_t)CV_FIRST_MS)
        return 0;
    if (gmtime_r(&now_s, &parts))
        strftime(date, sizeof date, "%Y-%m-%d", &parts);
    return cv_complain(complaint,
                       "the machine's clock says %s: expected 2025 or later, since without a directory only the clock "
                       "keeps fences from repeating; set it, or use group raft with a directory",
                       date);
}

int cv_member_open(struct cv_member *member, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    if (!has_descriptors())
        return cv_complain(complaint, "ulimit -n: expected room for %d more files and connections: %s",
                           FEWEST_DESCRIPTORS, strerror(errno));
    member->early_end = &member->early;
    member->bound_us = settings->bound_ms * 1000;
    member->try_us = 2 * member->bound_us;
    member->started_us = cv_loop_now();
    roster_draw(&member->roster, settings);
    int error = cv_security_open(&member->security, &settings->security, complaint);
    if (!error)
        error = cv_loop_open(&member->loop);
    if (!error)
        error = cv_alarms_reserve(&member->loop.alarms, 4);
    if (!error)
        error = open_host(member, settings, complaint);
    if (error)
        return error;
    struct cv_static_views_calls calls = views_static_calls;
    calls.context = member;
    cv_static_views_init(&member->static_views, member->roster.me, &calls);
    member->begin.ring = begin_election;
    member->reconsider.ring = reconsider;
    member->watchdog.ring = look_after;
    member->renew.ring = views_try_again;
    member->free_ended.run = views_free_ended;
    error = open_peers(member, settings, complaint);
    /* A single member need not wait for others. */
    uint64_t begin_us = member->roster.count > 1 ? member->peers.least_us : 0, away_us = 0;
    if (!error)
        error = consensus_open(&member->consensus, member, settings, &away_us, complaint);
    if (!error)
        error = ttl_ceiling_open(&member->ceiling, member, member->consensus ? member->consensus->directory : NULL,
                                 complaint);
    if (!error && !member->consensus)
        error = look_at_clock(complaint);
    member->earliest_us = cv_loop_now() + away_us;
    cv_loop_set(&member->loop, &member->begin, away_us > begin_us ? away_us : begin_us);
    return error;
}

void cv_member_fail(struct cv_member *member, enum cv_log_event event, const char *why)
{
    cv_log_say(event, "%s", why);
    member->failed = true;
    uv_stop(&member->loop.uv);
}

void cv_member_close(struct cv_member *member)
{
    consensus_close(member->consensus);
    cv_loop_close(&member->loop);
    if (member->host.policies)
        cv_host_free(&member->host);
    cv_alarms_free(&member->loop.alarms);
    for (uint32_t i = 0; member->host.policies && i < member->host.policy_count; i++)
        free(member->host.policies[i].parameters);
    free(member->host.policies);
    peers_free(&member->peers);
    cv_security_close(&member->security);
    dispatch_free(member);
    ttl_ceiling_close(&member->ceiling);
    consensus_free(member->consensus);
}
