// SPDX-License-Identifier: MIT
#include "run/account.h"

#include <stdlib.h>

#include "core/error.h"
#include "run/account_parts.h"

/* ---- nodes ---- */

static struct cv_standing standing(const void *runtime, cv_node node)
{
    return ((const struct account_parts *)runtime)->standings[node];
}

static const void *app_state(const void *runtime, cv_node node)
{
    const struct account_parts *parts = runtime;
    return parts->states[node] + parts->scenario->group.hosted_at + sizeof(uint64_t);
}

static uint64_t round_of(const void *runtime, cv_node node)
{
    return ((const struct account_parts *)runtime)->rounds[node];
}

static void learn(struct account_parts *parts, cv_node node, cv_id leader, uint64_t ms)
{
    struct cv_standing *it = &parts->standings[node];
    if (!it->knows || it->leader != leader)
        parts->decided[node] = ms;
    it->knows = true;
    it->leader = leader;
}

static uint64_t *open_entry(struct account_parts *parts, const struct log_record *record)
{
    return &parts->open[(size_t)record->name * parts->scenario->group.nodes + record->node];
}

static struct cv_entry *new_entry(struct account_parts *parts, const struct log_record *record, uint64_t ns)
{
    struct cv_run *run = parts->run;
    if (run->entry_count == parts->entry_room) {
        const uint64_t room = parts->entry_room ? 2 * parts->entry_room : 256;
        struct cv_entry *larger = realloc(parts->entries, room * sizeof *larger);
        if (!larger) {
            parts->out_of_memory = true;
            return NULL;
        }
        run->entries = parts->entries = larger;
        parts->entry_room = room;
    }
    struct cv_entry *entry = &parts->entries[run->entry_count++];
    *entry = (struct cv_entry){.node = record->node,
                               .name = record->name,
                               .requested = ns,
                               .entered = CV_NEVER,
                               .left = CV_NEVER,
                               .clock = record->extra};
    return entry;
}

/* Entries have nanoseconds while they are gathered. */
static void request(struct account_parts *parts, const struct log_record *record, uint64_t ns)
{
    if (record->text) /* again, in another view */
        return;
    if (new_entry(parts, record, ns))
        *open_entry(parts, record) = parts->run->entry_count;
}

static void enter(struct account_parts *parts, const struct log_record *record, uint64_t ns)
{
    const uint64_t open = *open_entry(parts, record);
    struct cv_entry *entry = open ? &parts->entries[open - 1] : NULL;
    if (!entry || entry->entered != CV_NEVER) /* no request asked for it: two entries at once, for the judge */
        entry = new_entry(parts, record, ns);
    if (!entry)
        return;
    entry->entered = ns;
    entry->fence = record->detail;
}

static void leave(struct account_parts *parts, const struct log_record *record, uint64_t ns, bool died)
{
    uint64_t *open = open_entry(parts, record);
    if (!*open)
        return;
    struct cv_entry *entry = &parts->entries[*open - 1];
    *open = 0;
    entry->died = died;
    if (entry->entered != CV_NEVER)
        entry->left = ns;
    if (!died)
        parts->run->last_exit = ns / NS_PER_MS;
}

static void crash(struct account_parts *parts, const struct log_record *record, uint64_t ns)
{
    struct log_record each = *record;
    parts->standings[record->node].alive = false;
    for (each.name = 0; each.name < parts->names; each.name++)
        leave(parts, &each, ns, true);
}

static void recover(struct account_parts *parts, const struct log_record *record)
{
    parts->standings[record->node] = (struct cv_standing){.alive = true};
    parts->rounds[record->node] = 0;
}

static void result(struct account_parts *parts, const struct log_record *record)
{
    struct cv_standing *it = &parts->standings[record->node];
    it->result = record->detail;
    it->via = record->peer;
    it->updates++;
}

void account_record(struct account_parts *parts, const struct log_record *record, const void *content, uint64_t ns)
{
    struct cv_run *run = parts->run;
    const struct cv_message *message = content;
    const uint64_t ms = ns / NS_PER_MS;
    switch (record->type) {
    case CV_EVENT_SEND:
        run->count[message->kind] += record->peer != record->node;
        break;
    case CV_EVENT_RECEIVE:
        parts->standings[record->node].active = true;
        run->time = ms;
        break;
    case CV_EVENT_CRASH:
        crash(parts, record, ns);
        break;
    case CV_EVENT_RECOVER:
        recover(parts, record);
        break;
    case CV_EVENT_CALL:
        run->calls++;
        parts->standings[record->node].active = true;
        parts->standings[record->node].recalled |= record->extra != 0;
        break;
    case CV_EVENT_ELECTED:
        learn(parts, record->node, (cv_id)record->detail, ms);
        break;
    case CV_EVENT_FORGET:
        parts->standings[record->node].knows = false;
        break;
    case CV_EVENT_REQUEST:
        request(parts, record, ns);
        break;
    case CV_EVENT_ENTER:
        enter(parts, record, ns);
        break;
    case CV_EVENT_LEAVE:
        leave(parts, record, ns, false);
        break;
    case CV_EVENT_RESULT:
        result(parts, record);
        break;
    case CV_EVENT_VIEW:
        run->views++;
        break;
    case LOG_LAST_STATE:
        parts->states[record->node] = content;
        break;
    case LOG_BROKEN:
        if (!run->broken) {
            run->broken = record->text ? record->text : content; /* an invariant's complaint, or a handler's failure */
            run->broken_node = record->node;
            run->broken_time = ms;
        }
        break;
    default:
        break;
    }
}

/* ---- rounds ---- */

static void slip(const struct account_parts *parts, struct cv_slip *slip, cv_node node, cv_node other, uint64_t ms)
{
    if (slip->count++ == 0)
        *slip = (struct cv_slip){.count = 1, .time = ms, .round = parts->rounds[node], .node = node, .other = other};
}

/* As the simulator does it: counts the app's messages to each node and round, and those it had when the round began. */
void account_pulse(struct account_parts *parts, const struct log_record *pulse, uint64_t ns)
{
    const struct cv_group *group = &parts->scenario->group;
    struct cv_run *run = parts->run;
    const cv_node node = pulse->node;
    uint32_t *sent = parts->sent_to[node];
    const uint64_t round = pulse->detail, ms = ns / NS_PER_MS;
    const uint32_t last = (uint32_t)(round - 1) & 1, before = round > parts->rounds[node] + 1 ? sent[!last] : 0;
    const bool hasty = pulse->extra < (uint64_t)sent[last] + before;
    sent[last] = 0;
    sent[!last] -= before;
    parts->rounds[node] = round;
    if (hasty)
        slip(parts, &run->hasty, node, CV_NOBODY, ms);
    for (uint64_t e = group->edges[node]; e < group->edges[node + 1]; e++) {
        const uint64_t theirs = parts->rounds[group->neighbours[e]];
        if (theirs + 1 < round || theirs > round + 1)
            slip(parts, &run->apart, node, group->neighbours[e], ms);
    }
}

void account_sent_in_round(struct account_parts *parts, const struct cv_message *message, uint64_t round, uint64_t ns)
{
    if (message->kind != 0)
        return;
    if (parts->rounds[message->to] > round)
        slip(parts, &parts->run->hasty, message->to, CV_NOBODY, ns / NS_PER_MS);
    else
        parts->sent_to[message->to][round & 1]++;
}

/* ---- the end ---- */

static bool overlap(const struct cv_entry *one, const struct cv_entry *other)
{
    return one->name == other->name && one->entered < other->left && other->entered < one->left;
}

/*
 * Milliseconds would hide that two nodes were inside at once for less than one. If they were, the first leaves a
 * millisecond after the second enters.
 */
static void round_entries(struct account_parts *parts)
{
    const uint64_t count = parts->run->entry_count;
    uint64_t *left = malloc((count + 1) * sizeof *left);
    if (!left) {
        parts->out_of_memory = true;
        return;
    }
    for (uint64_t i = 0; i < count; i++) {
        const struct cv_entry *it = &parts->entries[i];
        left[i] = it->left == CV_NEVER ? CV_NEVER : it->left / NS_PER_MS;
        for (uint64_t j = 0; j < count && it->left != CV_NEVER && it->entered != CV_NEVER; j++)
            if (j != i && parts->entries[j].entered != CV_NEVER && overlap(it, &parts->entries[j]) &&
                parts->entries[j].entered / NS_PER_MS >= left[i])
                left[i] = parts->entries[j].entered / NS_PER_MS + 1;
    }
    for (uint64_t i = 0; i < count; i++) {
        struct cv_entry *it = &parts->entries[i];
        it->requested /= NS_PER_MS;
        it->entered = it->entered == CV_NEVER ? CV_NEVER : it->entered / NS_PER_MS;
        it->left = left[i];
    }
    free(left);
}

static void settle(struct account_parts *parts)
{
    struct cv_run *run = parts->run;
    const struct cv_algorithm *algorithm = parts->scenario->algorithm;
    for (cv_node node = 0; node < parts->scenario->group.nodes; node++) {
        const struct cv_standing *it = &parts->standings[node];
        if (!it->alive)
            continue;
        if (!it->knows)
            run->decided = CV_NEVER;
        else if (parts->decided[node] > run->decided)
            run->decided = parts->decided[node];
    }
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        *(algorithm->hints.preparing && kind >= algorithm->hints.preparing ? &run->preparing : &run->total) +=
            run->count[kind];
    run->checked = algorithm->invariant || run->broken;
    round_entries(parts);
}

static int make_parts(struct account *account, const struct cv_scenario *scenario)
{
    const uint32_t nodes = scenario->group.nodes;
    struct account_parts *parts = account->parts = calloc(1, sizeof *parts);
    if (!parts)
        return CV_ENOMEM;
    parts->run = &account->run;
    parts->scenario = scenario;
    parts->names = scenario->names ? scenario->names : 1;
    parts->standings = calloc(nodes, sizeof *parts->standings);
    parts->decided = calloc(nodes, sizeof *parts->decided);
    parts->open = calloc((size_t)nodes * parts->names, sizeof *parts->open);
    parts->rounds = calloc(nodes, sizeof *parts->rounds);
    parts->sent_to = calloc(nodes, sizeof *parts->sent_to);
    parts->states = calloc(nodes, sizeof *parts->states);
    if (!parts->standings || !parts->decided || !parts->open || !parts->rounds || !parts->sent_to || !parts->states)
        return CV_ENOMEM;
    for (cv_node node = 0; node < nodes; node++)
        parts->standings[node].alive = true;
    return 0;
}

int account_make(struct account *account, const struct cv_scenario *scenario, const struct account_source *sources,
                 uint32_t count, const struct cv_observer *observer, bool to_last_exit)
{
    *account = (struct account){0};
    int error = make_parts(account, scenario);
    if (error)
        return error;
    struct cv_run *run = &account->run;
    run->scenario = scenario;
    run->runtime = account->parts;
    run->standing = standing;
    run->real_time = true;
    if (scenario->app) {
        run->app_state = app_state;
        run->round = round_of;
    }
    error = merge_steps(account->parts, sources, count, observer, to_last_exit);
    if (!error)
        settle(account->parts);
    return error || account->parts->out_of_memory ? CV_ENOMEM : 0;
}

void account_free(struct account *account)
{
    struct account_parts *parts = account->parts;
    if (!parts)
        return;
    free(parts->standings);
    free(parts->decided);
    free(parts->open);
    free(parts->rounds);
    free(parts->sent_to);
    free(parts->states);
    free(parts->entries);
    free(parts);
    account->parts = NULL;
}
