// SPDX-License-Identifier: MIT
#include "cli/doctor/doctor_gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "client/connect.h"
#include "core/printable.h"
#include "core/wall_clock.h"

#define ANSWER_MS 1000

static void copy(char *to, size_t room, struct cv_text text)
{
    cv_show(to, room, text);
}

/* ---- INFO ---- */

bool doctor_line(struct cv_text *rest, struct cv_text *line)
{
    if (!cv_text_take(rest, '\n', line))
        return false;
    if (line->length && line->start[line->length - 1] == '\r')
        line->length--;
    return true;
}

struct cv_text doctor_fact(const struct doctor_member *member, const char *key)
{
    const size_t length = strlen(key);
    struct cv_text rest = cv_text(member->info ? member->info : ""), line;
    while (doctor_line(&rest, &line))
        if (line.length > length && line.start[length] == ':' && memcmp(line.start, key, length) == 0)
            return (struct cv_text){line.start + length + 1, line.length - length - 1};
    return (struct cv_text){"", 0};
}

int64_t doctor_number(const struct doctor_member *member, const char *key, int64_t otherwise)
{
    uint64_t number;
    return cv_parse_number(doctor_fact(member, key), INT64_MAX, &number) ? (int64_t)number : otherwise;
}

struct cv_text doctor_section(const struct doctor_member *member, const char *title)
{
    struct cv_text rest = cv_text(member->info ? member->info : ""), line, section = {"", 0};
    while (doctor_line(&rest, &line))
        if (line.length > 2 && line.start[0] == '#' &&
            cv_text_is((struct cv_text){line.start + 2, line.length - 2}, title)) {
            section.start = rest.start;
            while (doctor_line(&rest, &line) && line.length)
                section.length = (size_t)(line.start + line.length - section.start);
        }
    return section;
}

/* What a member tells of that one in its configuration; empty if nobody does. */
static struct cv_text seat_of(const struct doctor_group *group, const struct doctor_member *member)
{
    char key[32];
    snprintf(key, sizeof key, "member_%lld", (long long)member->id);
    struct cv_text fact = {"", 0};
    for (uint32_t i = 0; i < group->count && !fact.length; i++)
        fact = doctor_fact(&group->members[i], key);
    return fact;
}

bool doctor_votes(const struct doctor_group *group, const struct doctor_member *member)
{
    const struct cv_text seat = seat_of(group, member);
    return !seat.length || memmem(seat.start, seat.length, "vote=yes", 8) != NULL;
}

bool doctor_stands_by(const struct doctor_group *group, const struct doctor_member *member)
{
    const struct cv_text seat = seat_of(group, member);
    return seat.length && memmem(seat.start, seat.length, "standby=yes", 11) != NULL;
}

/* ---- members ---- */

static struct doctor_member *member_of(struct doctor_group *group, int64_t id)
{
    uint32_t place = 0;
    while (place < group->count && group->members[place].id < id)
        place++;
    if (place < group->count && group->members[place].id == id)
        return &group->members[place];
    if (group->count == CV_MAX_MEMBERS || id < 0)
        return NULL;
    memmove(&group->members[place + 1], &group->members[place], (group->count - place) * sizeof *group->members);
    group->count++;
    group->members[place] =
        (struct doctor_member){.id = id, .epoch = -1, .coordinator = -1, .lease_ms = -1, .longest_ms = -1};
    return &group->members[place];
}

/* Members that this node knows belong to the group, too. */
static void meet_all(struct doctor_group *group, struct cv_text view)
{
    struct cv_text members = ask_value(view, "members"), member;
    for (uint64_t left = UINT64_MAX; ask_each(&members, &left, &member);)
        member_of(group, ask_number(ask_value(member, "id")));
}

static void read_sights(struct doctor_member *observer, struct cv_text view)
{
    struct cv_text members = ask_value(view, "members"), member;
    for (uint64_t left = UINT64_MAX; observer->seen < CV_MAX_MEMBERS && ask_each(&members, &left, &member);)
        observer->sees[observer->seen++] =
            (struct doctor_sight){.id = ask_number(ask_value(member, "id")),
                                  .suspected = cv_text_is(ask_text(ask_value(member, "state")), "suspected"),
                                  .unheard_ms = ask_number(ask_value(member, "last_heard_ms"))};
}

const struct doctor_sight *doctor_sees(const struct doctor_member *observer, int64_t id)
{
    for (uint32_t i = 0; i < observer->seen; i++)
        if (observer->sees[i].id == id)
            return &observer->sees[i];
    return NULL;
}

static void read_locks(struct doctor_member *member, struct cv_text locks)
{
    struct cv_text lock;
    for (uint64_t left = UINT64_MAX; ask_each(&locks, &left, &lock);) {
        const int64_t held_ms = ask_number(ask_value(lock, "held_ms")), crowd = ask_number(ask_value(lock, "waiters"));
        const struct cv_text name = ask_text(ask_value(lock, "name"));
        const bool held = ask_text(ask_value(lock, "holder")).length > 0;
        /* An election is held for long by design, so it is no finding. */
        if (held && cv_text_is(ask_text(ask_value(lock, "kind")), "lock") && held_ms > member->longest_ms) {
            member->longest_ms = held_ms;
            copy(member->longest, sizeof member->longest, name);
        }
        if (crowd > member->crowd) {
            member->crowd = crowd;
            copy(member->crowded, sizeof member->crowded, name);
        }
    }
}

static struct doctor_member *ask_member(struct doctor_group *group, struct ask *ask)
{
    struct cv_text reply;
    if (!ask_command(ask, "VIEW", ANSWER_MS, &reply))
        return NULL;
    if (*reply.start == CV_RESP_ERROR) {
        copy(group->refusal, sizeof group->refusal, ask_text(reply));
        return NULL;
    }
    meet_all(group, reply);
    struct doctor_member *member = member_of(group, ask_number(ask_value(reply, "id")));
    if (!member || member->answers)
        return member;
    member->asked = member->answers = true;
    member->epoch = ask_number(ask_value(reply, "epoch"));
    member->coordinator = ask_number(ask_value(reply, "coordinator"));
    member->lease_ms = ask_number(ask_value(reply, "lease_ms"));
    group->raft |= cv_text_is(ask_text(ask_value(reply, "mode")), "raft");
    group->tied |= cv_text_is(ask_text(ask_value(reply, "mode")), "tie");
    read_sights(member, reply);
    if (ask_command(ask, "INFO", ANSWER_MS, &reply)) {
        const struct cv_text info = ask_text(reply);
        member->info = strndup(info.start, info.length);
    }
    if (ask_command(ask, "LOCKS LOCAL", ANSWER_MS, &reply))
        read_locks(member, reply);
    return member;
}

/* ---- all members ---- */

/* Each silent member takes a second, so a terminal shows the progress. */
static void show_progress(const char *address)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%s%s%s", *address ? "asking " : "", cv_brief(address).text, *address ? " ..." : "");
}

/*
 * The member that answers at that address, or NULL. *silent: it accepted the connection, but sent nothing. `ask` is
 * closed, and tells why there was no connection.
 */
static struct doctor_member *ask_at(struct doctor_group *group, struct ask *ask, const char *address, bool *silent)
{
    struct doctor_member *member = NULL;
    const int64_t begun = cv_wall_ms();
    show_progress(address);
    if (ask_open(ask, address, ANSWER_MS)) {
        member = ask_member(group, ask);
        ask_close(ask);
    }
    *silent = !member && cv_wall_ms() - begun >= ANSWER_MS;
    return member;
}

static void learn_addresses(struct doctor_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        for (uint32_t j = 0; j < group->count && !*group->members[i].address; j++) {
            char key[32];
            snprintf(key, sizeof key, "client_of_%lld", (long long)group->members[i].id);
            copy(group->members[i].address, sizeof group->members[i].address, doctor_fact(&group->members[j], key));
        }
}

static void ask_given(struct doctor_group *group, const char *servers)
{
    const size_t count = cv_client_servers(servers);
    for (size_t turn = 0; !command_interrupted && turn < count; turn++) {
        const struct cv_text one = cv_client_server(servers, turn);
        char address[128];
        bool silent;
        struct ask ask;
        snprintf(address, sizeof address, "%.*s", (int)one.length, one.start);
        struct doctor_member *member = ask_at(group, &ask, address, &silent);
        if (member) {
            memcpy(member->address, address, sizeof address);
        } else if (group->dead_end_count < DOCTOR_MOST_ADDRESSES) {
            struct doctor_dead_end *dead_end = &group->dead_ends[group->dead_end_count++];
            memcpy(dead_end->address, address, sizeof address);
            memcpy(dead_end->why, ask.why, sizeof ask.why);
            dead_end->silent = silent;
        }
    }
}

/* The next member with a known address that was not asked yet. Each answer may add members. */
static struct doctor_member *next_unasked(struct doctor_group *group)
{
    learn_addresses(group);
    for (uint32_t i = 0; i < group->count; i++)
        if (!group->members[i].asked && *group->members[i].address)
            return &group->members[i];
    return NULL;
}

bool doctor_gather(struct doctor_group *group, const char *servers)
{
    bool any = false;
    *group = (struct doctor_group){0};
    ask_given(group, servers);
    for (struct doctor_member *next; !command_interrupted && (next = next_unasked(group));) {
        const int64_t id = next->id;
        char address[sizeof next->address];
        bool silent;
        struct ask ask;
        memcpy(address, next->address, sizeof address);
        next->asked = true;
        ask_at(group, &ask, address, &silent);
        member_of(group, id)->silent = silent; /* it may have moved when others were inserted */
    }
    show_progress("");
    for (uint32_t i = 0; i < group->count; i++)
        any |= group->members[i].answers;
    return any;
}

void doctor_free(struct doctor_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        free(group->members[i].info);
    *group = (struct doctor_group){0};
}
