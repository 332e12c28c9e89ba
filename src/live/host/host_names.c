// SPDX-License-Identifier: MIT
#include "live/host/host_names.h"

#include <stdlib.h>
#include <xxhash.h>

#include "core/error.h"
#include "core/glob.h"
#include "core/graph/graph_make.h"
#include "core/scenario/scenario.h"
#include "live/host/host.h"
#include "live/host/host_views.h"

#define FIRST_TABLE 256u
#define LARGEST_FIRST_TABLE ((size_t)1 << 20)
#define ALARMS_EACH (CV_MAX_TIMERS + 1)
#define FIRST_CROWD 16384u

/* ---- the table: chains, so that taking a name out is easy ---- */

static uint64_t hash_of(enum cv_subject subject, struct cv_text name)
{
    return XXH3_64bits_withSeed(name.start, name.length, subject);
}

static struct cv_instance **bucket(const struct cv_algorithm_host *host, uint64_t hash)
{
    return &host->table[hash & (host->table_size - 1)];
}

struct cv_instance *cv_host_find(const struct cv_algorithm_host *host, enum cv_subject subject, struct cv_text name)
{
    const uint64_t hash = hash_of(subject, name);
    for (struct cv_instance *it = *bucket(host, hash); it; it = it->chain)
        if (it->hash == hash && it->subject == subject && it->name_length == name.length &&
            memcmp(it->name, name.start, name.length) == 0)
            return it;
    return NULL;
}

/* Doubles the table if there is memory. A full table is only slow. */
static void grow_table(struct cv_algorithm_host *host)
{
    const size_t size = 2 * host->table_size;
    struct cv_instance **table = calloc(size, sizeof *table);
    if (!table)
        return;
    for (size_t i = 0; i < host->count; i++) {
        struct cv_instance **place = &table[host->all[i]->hash & (size - 1)];
        host->all[i]->chain = *place;
        *place = host->all[i];
    }
    free(host->table);
    host->table = table;
    host->table_size = size;
}

static bool make_room(struct cv_algorithm_host *host)
{
    if (host->count == host->capacity) {
        const size_t capacity = host->capacity ? 2 * host->capacity : FIRST_TABLE;
        struct cv_instance **all = realloc(host->all, capacity * sizeof *all);
        if (!all)
            return false;
        host->all = all;
        host->capacity = capacity;
    }
    if (host->count >= host->table_size)
        grow_table(host);
    return cv_alarms_reserve(host->alarms, ALARMS_EACH) == 0;
}

uint32_t cv_host_policy(const struct cv_algorithm_host *host, enum cv_subject subject, const char *name)
{
    const uint32_t problem = subject == CV_SUBJECT_ELECTION ? CV_ELECTION : CV_MUTEX;
    uint32_t policy = subject == CV_SUBJECT_GROUP ? 0 : 1;
    while (policy && policy < host->policy_count &&
           (host->policies[policy].algorithm->problem != problem ||
            !cv_glob(cv_text(host->policies[policy].pattern), cv_text(name))))
        policy++;
    return policy;
}

/* A ballot compares candidates, not nodes, so it sees the group with attributes of its own. */
static bool make_group(struct cv_instance *instance)
{
    instance->group = &instance->policy->group;
    if (instance->subject != CV_SUBJECT_ELECTION)
        return true;
    instance->group = malloc(sizeof *instance->group);
    instance->attributes = calloc(CV_MAX_MEMBERS, sizeof *instance->attributes);
    return instance->group && instance->attributes;
}

static void discard(struct cv_instance *instance)
{
    cv_promise_drop_all(&instance->promises);
    cv_promise_drop_all(&instance->told);
    if (instance->subject == CV_SUBJECT_ELECTION)
        free(instance->group);
    free(instance->attributes);
    free(instance->state);
    free(instance->user);
    free(instance);
}

static struct cv_instance *create(struct cv_algorithm_host *host, enum cv_subject subject, struct cv_text name)
{
    struct cv_instance *instance = calloc(1, sizeof *instance + name.length + 1);
    if (!instance)
        return NULL;
    instance->host = host;
    instance->subject = subject;
    instance->hash = hash_of(subject, name);
    instance->holder = CV_NOBODY;
    instance->name_length = name.length;
    memcpy(instance->name, name.start, name.length);
    const uint32_t policy = cv_host_policy(host, subject, instance->name);
    instance->policy = policy < host->policy_count ? &host->policies[policy] : NULL;
    for (uint32_t i = 0; i < CV_MAX_TIMERS; i++)
        instance->timers[i] = (struct cv_timer){{.ring = cv_host_timeout}, instance};
    instance->rest = (struct cv_timer){{.ring = cv_host_wake}, instance};
    return instance;
}

/* A critical section begins in a view. If it is opened between two views, it begins with the next. */
static int begin_first(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    const uint64_t epoch = host->view.epoch;
    if (instance_is_section(instance))
        return cv_host_ready(host) ? cv_host_restart(host, instance, epoch) : 0;
    return cv_host_restart(host, instance, instance->subject == CV_SUBJECT_ELECTION ? epoch << CV_TERM_BITS : 0);
}

struct cv_instance *cv_host_open(struct cv_algorithm_host *host, enum cv_subject subject, struct cv_text name)
{
    struct cv_instance *instance = cv_host_find(host, subject, name);
    if (instance)
        return instance;
    if (host->count >= host->most || !make_room(host))
        return NULL;
    instance = create(host, subject, name);
    if (!instance || !instance->policy || !make_group(instance) || begin_first(host, instance)) {
        cv_alarms_release(host->alarms, ALARMS_EACH);
        if (instance)
            discard(instance);
        return NULL;
    }
    instance->place = host->count;
    host->all[host->count++] = instance;
    struct cv_instance **place = bucket(host, instance->hash);
    instance->chain = *place;
    *place = instance;
    if (instance_is_section(instance) && cv_host_ready(host)) {
        cv_host_adopt(host, instance);
        cv_host_tell_members(host, instance);
    }
    if (host->count == host->crowd)
        host->calls.crowded(host->calls.context);
    return instance;
}

/* The threshold doubles each time, so that the amortized cost is small. */
void cv_host_expect_crowd(struct cv_algorithm_host *host)
{
    const size_t least = host->most / 2 < FIRST_CROWD ? host->most / 2 : FIRST_CROWD;
    host->crowd = 2 * host->count > least ? 2 * host->count : least;
}

void cv_host_end(struct cv_algorithm_host *host, struct cv_instance *instance)
{
    struct cv_instance **at = bucket(host, instance->hash);
    while (*at != instance)
        at = &(*at)->chain;
    *at = instance->chain;
    host->all[instance->place] = host->all[--host->count];
    host->all[instance->place]->place = instance->place;
    cv_host_quiet(host, instance);
    cv_alarms_release(host->alarms, ALARMS_EACH);
    host->calls.ended(host->calls.context, instance);
    instance->chain = host->ended;
    host->ended = instance;
}

bool cv_host_free_ended(struct cv_algorithm_host *host, uint32_t most)
{
    for (; host->ended && most; most--) {
        struct cv_instance *instance = host->ended;
        host->ended = instance->chain;
        discard(instance);
    }
    return host->ended;
}

/* ---- the host itself ---- */

/* If there is no memory for the new graph, the old one stays. */
static int size_policy(struct cv_algorithm_host *host, struct cv_policy *policy)
{
    struct cv_graph graph = {0};
    struct cv_complaint complaint;
    if (policy->algorithm->topology == CV_GRAPH) {
        const int error = cv_graph_make(&graph, "complete", host->roster->count, &host->random, &complaint);
        if (error)
            return error;
        cv_graph_free(&policy->graph);
        policy->graph = graph;
        policy->group.edges = graph.edges;
        policy->group.neighbours = graph.neighbours;
    }
    policy->group.nodes = host->roster->count;
    return 0;
}

static int init_policy(struct cv_algorithm_host *host, struct cv_policy *policy, uint64_t bound)
{
    const struct cv_algorithm *algorithm = policy->algorithm;
    policy->kinds = cv_algorithm_kinds(algorithm);
    policy->timers = cv_algorithm_timers(algorithm);
    policy->fingerprint = XXH32(algorithm->name, strlen(algorithm->name), 0);
    if (policy->file)
        policy->fingerprint = XXH32(&policy->digest, sizeof policy->digest, policy->fingerprint);
    const uint32_t parameters = cv_algorithm_parameters(algorithm);
    if (parameters)
        policy->fingerprint = XXH32(policy->parameters, parameters * sizeof *policy->parameters, policy->fingerprint);
    policy->group = (struct cv_group){.ids = host->roster->ids,
                                      .attributes = host->roster->attributes,
                                      .parameters = policy->parameters,
                                      .bound = bound,
                                      .coordinator = CV_NOBODY,
                                      .topology = algorithm->topology};
    return size_policy(host, policy);
}

void cv_host_resize(struct cv_algorithm_host *host)
{
    for (uint32_t i = 0; i < host->policy_count; i++)
        size_policy(host, &host->policies[i]);
}

/* To grow a table with many names takes long, so it is large from the start. Untouched pages cost nothing. */
static size_t first_table(size_t most)
{
    size_t size = FIRST_TABLE;
    while (size < most && size < LARGEST_FIRST_TABLE)
        size *= 2;
    return size;
}

int cv_host_init(struct cv_algorithm_host *host, uint64_t bound_ticks, uint64_t seed)
{
    host->self.runtime = &cv_host_runtime;
    cv_host_expect_crowd(host);
    cv_random_seed(&host->random, seed, 1);
    host->table_size = first_table(host->most);
    host->table = calloc(host->table_size, sizeof(struct cv_instance *));
    host->counts = calloc(host->policy_count, sizeof *host->counts);
    if (!host->table || !host->counts)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < host->policy_count; i++)
        if (init_policy(host, &host->policies[i], bound_ticks))
            return CV_ENOMEM;
    return 0;
}

void cv_host_bound(struct cv_algorithm_host *host, uint64_t bound_ticks)
{
    for (uint32_t i = 0; i < host->policy_count; i++)
        host->policies[i].group.bound = bound_ticks;
}

void cv_host_free(struct cv_algorithm_host *host)
{
    while (host->count)
        cv_host_end(host, host->all[host->count - 1]);
    cv_host_free_ended(host, UINT32_MAX);
    for (uint32_t i = 0; i < host->policy_count; i++) {
        cv_graph_free(&host->policies[i].graph);
        cv_quorums_free(&host->policies[i].quorums);
    }
    free(host->counts);
    free(host->table);
    free(host->all);
    free(host->queue);
    free(host->self.outbox);
}
