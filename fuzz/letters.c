// SPDX-License-Identifier: MIT
/*
 * Letters into the handlers of every algorithm, through the gate that real nodes have: whatever the others send,
 * nothing is read or written beyond a state, no assertion fails, and a step ends. The first byte chooses the algorithm,
 * unless FUZZ_ALGORITHM names one.
 */
#include <stdio.h>

#include "algorithm/registry.h"
#include "core/scenario/scenario.h"
#include "fuzz/input.h"
#include "live/host/host.h"
#include "live/host/host_names.h"
#include "live/host/host_views.h"

#define NODES 5u
#define POOL 16u
#define BODY_BYTES 256u

static struct cv_algorithm_host host;
static struct cv_roster roster;
static struct cv_alarms alarms;
static struct cv_instance *instance;
static uint64_t now_us;
static uint64_t letters, handled; /* in all runs */

/* What this node has sent: the others may say the same. */
static uint64_t pool[POOL][BODY_BYTES / 8 + 4];
static uint32_t pool_count;

static uint64_t send(void *context, const struct cv_parcel *parcel)
{
    (void)context;
    if (cv_message_bytes(parcel->message) <= sizeof pool[0])
        memcpy(pool[pool_count++ % POOL], parcel->message, cv_message_bytes(parcel->message));
    return 1;
}

static void nothing(void *context, struct cv_instance *it)
{
    (void)context, (void)it;
}

static void crowded(void *context)
{
    (void)context;
}

static uint64_t now(void)
{
    return now_us;
}

static bool keep(const struct cv_instance *it)
{
    return it != NULL;
}

static void report(void)
{
    fprintf(stderr, "letters: %llu, of which %llu reached a handler\n", (unsigned long long)letters,
            (unsigned long long)handled);
}

/* ---- a node ---- */

static const struct cv_algorithm *choose(struct input *input)
{
    static const struct cv_algorithm *live[64];
    static uint32_t count;
    static const struct cv_algorithm *fixed;
    if (!count) {
        const char *name = getenv("FUZZ_ALGORITHM");
        fixed = name ? cv_algorithm_find(name) : NULL;
        assert(!name || fixed);
        for (uint32_t i = 0; cv_algorithms[i]; i++)
            if (cv_algorithms[i]->problem == CV_ELECTION || cv_algorithms[i]->problem == CV_MUTEX)
                live[count++] = cv_algorithms[i];
        atexit(report);
    }
    const uint32_t chosen = input_below(input, count);
    return fixed ? fixed : live[chosen];
}

static void begin_view(struct input *input)
{
    const cv_set members = (input_byte(input) | cv_set_of(roster.me)) & cv_set_first(NODES);
    cv_node coordinator = input_below(input, NODES), holder = input_below(input, 2 * NODES);
    while (!cv_set_has(members, coordinator))
        coordinator = (coordinator + 1) % NODES;
    const struct cv_view view = {
        .epoch = host.view.epoch + 1, .members = members, .coordinator = coordinator, .base = host.view.epoch};
    const bool wanted = instance && instance->flags & CV_WANTS;
    for (size_t i = 0; i < host.count; i++)
        host.all[i]->holder = holder < NODES && cv_set_has(members, holder) ? holder : CV_NOBODY;
    assert(cv_host_begin(&host, &view, keep) == 0);
    if (instance && instance_is_section(instance) && wanted && !(instance->flags & CV_INSIDE))
        cv_host_request(&host, instance);
}

static void open_node(struct input *input)
{
    static int64_t parameters[2][16];
    static struct cv_policy policies[2];
    static char all[] = "*";
    const struct cv_algorithm *algorithm = choose(input);
    const bool election = algorithm->problem == CV_ELECTION;
    roster = (struct cv_roster){.count = NODES, .me = input_below(input, NODES)};
    for (cv_node node = 0; node < NODES; node++)
        roster.ids[node] = roster.attributes[node] = (node + 1) * 3;
    memset(policies, 0, sizeof policies);
    policies[0].algorithm = election ? algorithm : cv_algorithm_find("bully");
    policies[1].algorithm = election ? cv_algorithm_find("central") : algorithm;
    policies[1].pattern = all;
    for (int i = 0; i < 2; i++) {
        const struct cv_parameter *table = policies[i].algorithm->parameters;
        for (uint32_t j = 0; j < cv_algorithm_parameters(policies[i].algorithm); j++)
            parameters[i][j] = table[j].type == CV_CHOICE   ? input_byte(input) % 2
                               : table[j].type == CV_MEMBER ? -1
                                                            : table[j].fallback + input_byte(input) % 3;
        policies[i].parameters = parameters[i];
    }
    host = (struct cv_algorithm_host){.calls = {.send = send,
                                                .entered = nothing,
                                                .elected = nothing,
                                                .opened = nothing,
                                                .ended = nothing,
                                                .crowded = crowded,
                                                .aged = crowded,
                                                .now = now},
                                      .alarms = &alarms,
                                      .roster = &roster,
                                      .policies = policies,
                                      .policy_count = 2,
                                      .tick_us = 1000,
                                      .most = 8};
    assert(cv_host_init(&host, 10, 1) == 0);
    instance = NULL;
    pool_count = 0;
    begin_view(input);
    instance =
        cv_host_open(&host, election ? CV_SUBJECT_GROUP : CV_SUBJECT_LOCK, (struct cv_text){"x", election ? 0 : 1});
    assert(instance);
}

static void close_node(void)
{
    cv_host_free(&host);
    cv_alarms_free(&alarms);
    alarms = (struct cv_alarms){0};
    host = (struct cv_algorithm_host){0};
}

/* ---- what happens to it ---- */

static void fill(struct input *input, struct cv_message *message)
{
    const struct cv_kind *kind = message->kind < instance->policy->kinds
                                     ? &instance->policy->algorithm->kinds[message->kind]
                                     : &instance->policy->algorithm->kinds[0];
    size_t bytes = kind->bytes;
    if (cv_kind_has_list(kind))
        bytes += 4 * (size_t)input_below(input, NODES + 2);
    if (input_byte(input) == 0)
        bytes = 4 * (size_t)input_below(input, 16);
    unsigned char *body = (unsigned char *)message->body;
    memset(body, 0, BODY_BYTES);
    message->words = (bytes / 4) & CV_MAX_WORDS;
    for (size_t at = 0; at < bytes; at += 4) {
        const uint32_t word = (uint32_t)input_number(input, roster.ids[input_below(input, NODES)]);
        memcpy(body + at, &word, sizeof word);
    }
    for (const struct cv_field *field = kind->fields; field && field->name && field->offset < bytes; field++) {
        uint64_t value = input_number(input, instance->clock);
        if (field->type == CV_FIELD_RANK)
            value = cv_group_rank(instance->group, input_below(input, NODES));
        else if (field->type == CV_FIELD_FENCE)
            value = input_number(input, instance->group->epoch << CV_VIEW_BITS | 1);
        if (field->type != CV_FIELD_LIST && input_byte(input) % 4)
            memcpy(body + field->offset, &value, field->bytes);
    }
}

static void hear(struct input *input)
{
    uint64_t room[BODY_BYTES / 8 + 4] = {0};
    struct cv_message *message = (void *)room;
    if (pool_count && input_byte(input) % 4 == 0) {
        memcpy(room, pool[input_below(input, POOL)], sizeof room);
    } else {
        message->kind = input_below(input, instance->policy->kinds + 1) & (CV_MAX_KINDS - 1);
        fill(input, message);
    }
    message->from = input_below(input, NODES);
    message->to = roster.me;
    message->clock = input_number(input, instance->clock) & CV_CLOCK_MASK;
    if (message->from == roster.me)
        message->from = (roster.me + 1) % NODES;
    if (cv_set_has(host.suspected, message->from))
        return; /* there is no connection with it */
    /* As it would have come by a frame: in memory of its own, that ends where it ends. */
    struct cv_message *copy = fuzz_copy(message, cv_message_bytes(message));
    const struct cv_parcel parcel = {
        .instance = instance, .number = 1, .hops = input_number(input, 1), .message = copy};
    const char *why = NULL;
    letters++;
    if (cv_host_deliver(&host, &parcel, &why) == CV_VALID)
        handled++;
    else
        assert(why);
    free(copy);
}

static void act(struct input *input)
{
    const bool section = instance_is_section(instance);
    if (!section)
        cv_host_call(&host, instance, input_byte(input) % 2);
    else if (instance->flags & CV_INSIDE)
        cv_host_release(&host, instance);
    else if (!(instance->flags & CV_WANTS))
        cv_host_request(&host, instance);
}

static void pass_time(struct input *input)
{
    now_us += 1000u * (1u + input_byte(input));
    if (cv_alarms_next(&alarms) <= now_us)
        cv_alarms_ring(&alarms, now_us);
}

static void suspect(struct input *input)
{
    const cv_node node = input_below(input, NODES);
    if (node == roster.me)
        return;
    cv_host_suspect(&host, host.suspected ^ cv_set_of(node));
    cv_host_tell(&host, instance, node, cv_set_has(host.suspected, node));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input input = {data, size};
    now_us = 1;
    open_node(&input);
    while (input.left) {
        switch (input_below(&input, 16)) {
        case 0:
        case 1:
            act(&input);
            break;
        case 2:
            pass_time(&input);
            break;
        case 3:
            if (!instance_is_section(instance))
                suspect(&input);
            break;
        case 4:
            if (instance_is_section(instance) && input_byte(&input) % 8 == 0)
                begin_view(&input);
            else if (!instance_is_section(instance) && input_byte(&input) % 8 == 0)
                cv_host_restart(&host, instance, instance->round + 1);
            break;
        default:
            hear(&input);
        }
    }
    close_node();
    return 0;
}
