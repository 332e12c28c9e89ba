// SPDX-License-Identifier: MIT
/* Checks of the members together: which are there, which hear each other, and whether their settings agree. */
#include "cli/doctor/doctor_group.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"

/* ---- words ---- */

struct words {
    char text[1024];
    size_t length;
};

static const char *list(struct words *words, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Appends a piece to the list; drops what does not fit. */
static const char *list(struct words *words, const char *separator, const char *format, ...)
{
    va_list arguments;
    size_t room = sizeof words->text - words->length;
    int wanted = words->length ? snprintf(words->text + words->length, room, "%s", separator) : 0;
    if (wanted < 0 || (size_t)wanted >= room)
        return words->text;
    words->length += (size_t)wanted;
    room -= (size_t)wanted;
    va_start(arguments, format);
    wanted = vsnprintf(words->text + words->length, room, format, arguments);
    va_end(arguments);
    words->length += wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room - 1;
    return words->text;
}

static const char *since(int64_t unheard_ms, char text[64])
{
    if (unheard_ms < 0)
        snprintf(text, 64, "never heard of");
    else if (unheard_ms < 120000)
        snprintf(text, 64, "not heard of for %.1f s", (double)unheard_ms / 1000);
    else
        snprintf(text, 64, "not heard of for %lld min", (long long)(unheard_ms / 60000));
    return text;
}

/* ---- members ---- */

/* Does any other member hear it? *unheard_ms: the shortest silence that one reports; -1: none does. */
static bool is_heard(const struct doctor_group *group, const struct doctor_member *member, int64_t *unheard_ms)
{
    bool heard = false;
    *unheard_ms = -1;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_sight *sight = doctor_sees(&group->members[i], member->id);
        if (!sight || &group->members[i] == member)
            continue;
        heard |= !sight->suspected;
        if (sight->unheard_ms >= 0 && (*unheard_ms < 0 || sight->unheard_ms < *unheard_ms))
            *unheard_ms = sight->unheard_ms;
    }
    return heard;
}

/* Until the time of grace is over; 0: there is none. */
static int64_t grace_left_ms(const struct doctor_group *group)
{
    int64_t left_ms = 0;
    for (uint32_t i = 0; i < group->count; i++) {
        const int64_t grace_ms = doctor_number(&group->members[i], "grace_ms", 0);
        left_ms = grace_ms > left_ms ? grace_ms : left_ms;
    }
    return left_ms;
}

/* `group raft` grants while a majority of the voters is connected, and not without one. */
static void check_majority(const struct doctor_group *group, const struct doctor_limits *limits,
                           struct doctor_report *report)
{
    struct words missing = {.length = 0}, troubles = {.length = 0};
    uint32_t voters = 0, there = 0, serving = 0;
    char text[64];
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const struct cv_text trouble = doctor_fact(it, "trouble");
        int64_t unheard_ms;
        const bool heard = is_heard(group, it, &unheard_ms) || it->answers, votes = doctor_votes(group, it);
        voters += votes;
        there += votes && heard;
        serving += it->answers && doctor_number(it, "serves", 0) == 1;
        if (votes && !heard)
            list(&missing, ", ", "node %lld (%s)", (long long)it->id, since(unheard_ms, text));
        if (trouble.length)
            list(&troubles, "; ", "node %lld: %.*s", (long long)it->id, (int)trouble.length, trouble.start);
    }
    if (serving)
        doctor_find(
            report, "majority", DOCTOR_WELL, NULL, "%u of %u members that have a vote are there; %s", there, voters,
            grace_left_ms(group) ? "nothing new is granted before the time of grace is over" : "locks are granted");
    else if (group->raft && 2 * there <= voters)
        doctor_find(
            report, "majority", DOCTOR_PROBLEM,
            "start the missing nodes, or mend the network between them; nothing else helps, and nothing is lost "
            "meanwhile",
            "no majority: %u of %u members that have a vote are there, so nothing is granted; missing: %s", there,
            voters, missing.text);
    else
        doctor_find(report, "majority", DOCTOR_PROBLEM,
                    "wait a few seconds and look again; if it stays so, see below which node does not hear which",
                    "no node that answers can grant: %s", troubles.length ? troubles.text : "none of them has a view");
}

/* Is it the address of a member that is already reported as missing? */
static bool is_known(const struct doctor_group *group, const char *address)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        if (!it->answers && doctor_votes(group, it) && strcmp(it->address, address) == 0)
            return true;
    }
    return false;
}

static void check_members(const struct doctor_group *group, const struct doctor_limits *limits,
                          struct doctor_report *report)
{
    uint32_t answering = 0, wrong = 0;
    char text[64];
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        int64_t unheard_ms;
        const bool heard = is_heard(group, it, &unheard_ms), votes = doctor_votes(group, it);
        answering += it->answers;
        if (it->answers || (unheard_ms < 0 && doctor_stands_by(group, it)))
            continue; /* a standby that has not come yet is not missing */
        wrong += it->asked || !heard;
        if (!heard && !votes && unheard_ms < 0)
            doctor_find(report, "members", DOCTOR_WARNING,
                        "start it, and see whether its peers have the right address; if it is not to come, take it out "
                        "by conclave leave",
                        "node %lld has never come: no vote, %s by its peers", (long long)it->id,
                        since(unheard_ms, text));
        else if (!heard)
            doctor_find(report, "members", votes ? DOCTOR_PROBLEM : DOCTOR_WARNING,
                        it->silent ? "see what its machine is doing: stopped, out of memory, or waiting for a disk"
                                   : "start it, or see on its machine why it ended: journalctl -u 'conclave*'",
                        it->silent ? "node %lld hangs: it takes calls, but does not answer; %s by its peers"
                                   : "node %lld is gone, %s by its peers",
                        (long long)it->id, since(unheard_ms, text));
        else if (it->asked)
            doctor_find(
                report, "members", DOCTOR_WARNING,
                "compare `client` in [members] with where it listens; and give this command a --key that it knows",
                "node %lld does not answer at %s, but its peers hear it", (long long)it->id, it->address);
    }
    for (uint32_t i = 0; i < group->dead_end_count; i++)
        if (!is_known(group, group->dead_ends[i].address))
            doctor_find(report, "members", DOCTOR_WARNING, "see whether the address is right, and a node runs there",
                        "%s %s%s%s", group->dead_ends[i].address,
                        group->dead_ends[i].silent ? "accepts the connection, but does not answer" : "does not answer",
                        *group->dead_ends[i].why ? ": " : "", group->dead_ends[i].why);
    if (!wrong && !group->dead_end_count)
        doctor_find(report, "members", DOCTOR_WELL, NULL, "%u of %u answer%s", answering, group->count,
                    answering < group->count ? ", the others are heard by their peers, or are standbys to come" : "");
}

/* ---- connections ---- */

static bool suspects(const struct doctor_member *observer, const struct doctor_member *seen)
{
    const struct doctor_sight *sight = doctor_sees(observer, seen->id);
    return observer->answers && sight && sight->suspected;
}

/* Looks only at members that answer: the others are reported as missing. */
static void check_links(const struct doctor_group *group, const struct doctor_limits *limits,
                        struct doctor_report *report)
{
    uint32_t cut = 0;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++)
        for (uint32_t j = i + 1; j < group->count; j++) {
            const struct doctor_member *a = &group->members[i], *b = &group->members[j];
            const bool ab = suspects(a, b), ba = suspects(b, a);
            if (!a->answers || !b->answers || (!ab && !ba))
                continue;
            cut++;
            if (ab && ba)
                doctor_find(
                    report, "links", DOCTOR_PROBLEM,
                    "see whether they can reach each other's addresses in [members]: routes, firewalls, and the "
                    "configurations and keys below",
                    "node %lld and node %lld do not hear each other, though both are there", (long long)a->id,
                    (long long)b->id);
            else
                doctor_find(report, "links", DOCTOR_PROBLEM,
                            "look for what drops packets one way: a firewall, a broken cable, asymmetric routes",
                            "one-way: node %lld does not hear node %lld, which hears it", (long long)(ab ? a : b)->id,
                            (long long)(ab ? b : a)->id);
        }
    if (!cut)
        doctor_find(report, "links", DOCTOR_WELL, NULL, "all that answer hear each other");
}

/* ---- refusals ---- */

static const char *identity_remedy(struct cv_text why)
{
    if (memmem(why.start, why.length, "two processes", 13))
        return "find the two processes, and end the one that should not be";
    if (memmem(why.start, why.length, "rules", 5))
        return "compare [lock], [election] and [group] election of the configurations, and plugins by sha256sum; give "
               "all members the same, and start again those that had others";
    return "start it with an empty directory, and say conclave replace and its id to a member that serves";
}

/* Reads the lines `refuses_ID:why` of the peers' section, one for each refused member. */
static void check_identity(const struct doctor_group *group, const struct doctor_limits *limits,
                           struct doctor_report *report)
{
    static const char mark[] = "refuses_";
    struct words told = {.length = 0};
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        struct cv_text rest = doctor_section(&group->members[i], "Peers"), line, peer, why;
        while (doctor_line(&rest, &line)) {
            char name[64];
            if (line.length < sizeof mark || memcmp(line.start, mark, sizeof mark - 1) != 0 ||
                !cv_text_split(line, ':', &peer, &why))
                continue;
            snprintf(name, sizeof name, "[%.*s]", (int)(peer.length - sizeof mark + 1), peer.start + sizeof mark - 1);
            if (strstr(told.text, name))
                continue;
            list(&told, "", "%s", name);
            doctor_find(report, "identity", DOCTOR_PROBLEM, identity_remedy(why), "node %lld refuses node %.*s: %.*s",
                        (long long)group->members[i].id, (int)(peer.length - sizeof mark + 1),
                        peer.start + sizeof mark - 1, (int)why.length, why.start);
        }
    }
    if (!told.length)
        doctor_find(report, "identity", DOCTOR_WELL, NULL, "no node is refused");
}

/* ---- views ---- */

static void check_views(const struct doctor_group *group, const struct doctor_limits *limits,
                        struct doctor_report *report)
{
    struct words views = {.length = 0};
    const struct doctor_member *first = NULL;
    bool same = true;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        if (!it->answers || it->coordinator < 0)
            continue;
        same &= !first || (first->epoch == it->epoch && first->coordinator == it->coordinator);
        first = first ? first : it;
        list(&views, ", ", "node %lld is in view %lld under node %lld", (long long)it->id, (long long)it->epoch,
             (long long)it->coordinator);
    }
    if (!first)
        return; /* already reported: no node can grant */
    if (same)
        doctor_find(report, "view", DOCTOR_WELL, NULL, "view %lld, node %lld coordinates", (long long)first->epoch,
                    (long long)first->coordinator);
    else
        doctor_find(report, "view", group->raft || group->tied ? DOCTOR_WARNING : DOCTOR_PROBLEM,
                    group->raft || group->tied
                        ? "a view is beginning, or these are two groups; look again in a second"
                        : "the group is split, and both sides grant; mend the network, or use mode = raft",
                    "not all are in one view: %s", views.text);
}

static bool anybody_serves(const struct doctor_group *group)
{
    for (uint32_t i = 0; i < group->count; i++)
        if (doctor_number(&group->members[i], "serves", 0) == 1)
            return true;
    return false;
}

static void check_leases(const struct doctor_group *group, const struct doctor_limits *limits,
                         struct doctor_report *report)
{
    uint32_t without = 0, with = 0;
    (void)limits;
    if (!anybody_serves(group))
        return; /* already reported, with the reasons */
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const struct cv_text trouble = doctor_fact(it, "trouble");
        if (!it->answers || it->lease_ms < 0)
            continue;
        with += it->lease_ms > 0;
        without += it->lease_ms == 0;
        if (it->lease_ms == 0)
            doctor_find(
                report, "lease", DOCTOR_PROBLEM,
                "its clients should use the other nodes meanwhile; it serves again as soon as a majority hears it",
                "node %lld has no lease, and grants nothing: %.*s", (long long)it->id,
                trouble.length ? (int)trouble.length : 17, trouble.length ? trouble.start : "it has just begun");
    }
    if (with && !without)
        doctor_find(report, "lease", DOCTOR_WELL, NULL, "all that answer have theirs");
}

/* A view and an election of Raft each take a few round trips within a lease. */
static void check_distances(const struct doctor_group *group, const struct doctor_limits *limits,
                            struct doctor_report *report)
{
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        const int64_t lease_ms = doctor_number(it, "lease_length_ms", INT64_MAX / 1000);
        for (uint32_t j = i + 1; j < group->count; j++) {
            char key[48];
            snprintf(key, sizeof key, "round_trip_us_of_%lld", (long long)group->members[j].id);
            const int64_t far_ms = doctor_number(it, key, 0) / 1000;
            if (far_ms > lease_ms / 3)
                doctor_find(
                    report, "distance", DOCTOR_WARNING,
                    "a longer lease: conclave set group.lease=MS; if the group has no view yet, [group] lease = MS "
                    "in all files, and start all of them again",
                    "node %lld and node %lld are %lld ms apart, there and back: too far for a lease of %lld ms, "
                    "which should be %lld",
                    (long long)it->id, (long long)group->members[j].id, (long long)far_ms, (long long)lease_ms,
                    (long long)far_ms * 8);
        }
    }
}

static bool has_id(struct cv_text ids, int64_t id)
{
    struct cv_text word;
    uint64_t number;
    while (cv_text_take(&ids, ',', &word))
        if (cv_parse_number(word, INT64_MAX, &number) && (int64_t)number == id)
            return true;
    return false;
}

/* Raft's configuration follows the agreed seats one change at a time. Until then a new member's vote does not count. */
static void check_votes(const struct doctor_group *group, const struct doctor_limits *limits,
                        struct doctor_report *report)
{
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *leader = &group->members[i];
        const struct cv_text voters = doctor_fact(leader, "log_voters");
        for (uint32_t j = 0;
             voters.length && doctor_number(leader, "raft_leader", -1) == leader->id && j < group->count; j++) {
            const struct doctor_member *it = &group->members[j];
            if (it->answers && doctor_votes(group, it) && !has_id(voters, it->id))
                doctor_find(report, "votes", DOCTOR_WARNING,
                            "wait until the log has followed, and end no other node meanwhile",
                            "node %lld is to vote, and the log does not count its vote yet", (long long)it->id);
        }
    }
}

/* A grace period is no fault, but it explains why clients wait for a lock. */
static void check_grace(const struct doctor_group *group, const struct doctor_limits *limits,
                        struct doctor_report *report)
{
    const int64_t left_ms = grace_left_ms(group);
    char until[COMMAND_CLOCK_BYTES];
    (void)limits;
    if (left_ms)
        doctor_find(report, "grace", DOCTOR_WARNING,
                    "wait, and start no node anew meanwhile: it is as long as the longest TTL that clients have used",
                    "in the time of grace until %s, new grants wait: most nodes have forgotten the locks that were "
                    "held, and only a "
                    "client that held a lock gets it",
                    command_clock_in(left_ms, until));
}

/* ---- the same configuration, the same version ---- */

/* Splits "key:value" at the last colon: a pattern in the key may have colons, a value has none. */
static bool split(struct cv_text line, struct cv_text *key, struct cv_text *value)
{
    const char *colon = line.length ? memrchr(line.start, ':', line.length) : NULL;
    if (!colon)
        return false;
    *key = (struct cv_text){line.start, (size_t)(colon - line.start)};
    *value = (struct cv_text){colon + 1, line.length - key->length - 1};
    return true;
}

static bool same_text(struct cv_text one, struct cv_text other)
{
    return one.length == other.length && memcmp(one.start, other.start, one.length) == 0;
}

static bool find_value(struct cv_text section, struct cv_text wanted, struct cv_text *value)
{
    struct cv_text line, key;
    while (doctor_line(&section, &line))
        if (split(line, &key, value) && same_text(key, wanted))
            return true;
    *value = cv_text("nothing");
    return false;
}

/* Lines that one member has and the other lacks; or, if asked for, has with another value. */
static void compare(struct words *words, const struct doctor_member *one, const struct doctor_member *other,
                    bool values_too)
{
    const struct cv_text theirs = doctor_section(other, "Configuration");
    struct cv_text mine = doctor_section(one, "Configuration"), line, key, own, value;
    while (doctor_line(&mine, &line)) {
        if (!split(line, &key, &own))
            continue;
        const bool there = find_value(theirs, key, &value);
        if (!there || (values_too && !same_text(own, value)))
            list(words, ", ", "%.*s is %.*s at node %lld and %.*s at node %lld", (int)key.length, key.start,
                 (int)own.length, own.start, (long long)one->id, (int)value.length, value.start, (long long)other->id);
    }
}

static void check_configuration(const struct doctor_group *group, const struct doctor_limits *limits,
                                struct doctor_report *report)
{
    const struct doctor_member *first = NULL;
    bool differ = false;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct doctor_member *it = &group->members[i];
        struct words words = {.length = 0};
        if (!it->info)
            continue;
        if (first) {
            compare(&words, first, it, true);
            compare(&words, it, first, false);
        }
        first = first ? first : it;
        if (!words.length)
            continue;
        differ = true;
        doctor_find(
            report, "configuration", DOCTOR_PROBLEM,
            "give all members the same [members], [group], [lock] and [election], and start them again one by one",
            "not the same: %s", words.text);
    }
    if (first && !differ)
        doctor_find(report, "configuration", DOCTOR_WELL, NULL, "the same at all that answer");
}

static void check_versions(const struct doctor_group *group, const struct doctor_limits *limits,
                           struct doctor_report *report)
{
    struct words words = {.length = 0};
    struct cv_text first = {"", 0};
    bool same = true;
    (void)limits;
    for (uint32_t i = 0; i < group->count; i++) {
        const struct cv_text version = doctor_fact(&group->members[i], "conclave_version");
        if (!version.length)
            continue;
        same &= !first.length || same_text(first, version);
        first = first.length ? first : version;
        list(&words, ", ", "node %lld runs %.*s", (long long)group->members[i].id, (int)version.length, version.start);
    }
    if (same && first.length)
        doctor_find(report, "version", DOCTOR_WELL, NULL, "all that answer run %.*s", (int)first.length, first.start);
    else if (first.length)
        doctor_find(report, "version", DOCTOR_WARNING, "finish the rolling upgrade, one node after the other",
                    "not the same: %s", words.text);
}

doctor_check *const doctor_group_checks[] = {check_majority, check_members,       check_links,     check_identity,
                                             check_views,    check_leases,        check_distances, check_votes,
                                             check_grace,    check_configuration, check_versions,  NULL};
