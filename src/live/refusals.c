// SPDX-License-Identifier: MIT
#include "live/refusals.h"

#include "live/consensus.h"
#include "live/founding.h"
#include "live/member.h"
#include "live/process/event_log.h"
#include "live/roster.h"
#include "live/rules.h"

#define REMOVED_US 10000000u

static const char *mode_text(uint32_t mode)
{
    return mode == CV_MODE_STATIC ? "static" : mode == CV_MODE_RAFT ? "raft" : "raft with a tie-breaker";
}

/* A `group static` node grants without a majority, so it must not run beside members with agreed views. */
static void other_mode(struct cv_member *member, const struct cv_frame *hello)
{
    if (member->roster.mode == CV_MODE_STATIC && hello->mode != CV_MODE_STATIC && hello->group)
        member_end(member, "[group] mode = static: node %u belongs to a group %s, and so should this node", hello->from,
                   mode_text(hello->mode));
}

/*
 * This node does not believe a single member, which may be mistaken or lie. It believes that it was removed if no
 * member speaks with it as before, and either two members say so or for long no member says otherwise.
 */
static bool is_removed(struct cv_member *member, const struct cv_frame *hello)
{
    const struct cv_roster *roster = &member->roster;
    cv_set others = 0, speaking = 0;
    for (cv_node node = 0; node < roster->count; node++) {
        const struct cv_peer *peer = member->peers.list[node];
        others |= peer ? cv_set_of(node) : 0;
        speaking |= peer && peer->greeted && peer->id != hello->from ? cv_set_of(node) : 0;
        if (!peer || peer->id != hello->from)
            continue;
        if (!member->removed_by)
            member->removed_us = cv_loop_now();
        member->removed_by |= cv_set_of(node);
    }
    const uint32_t enough = cv_set_count(others) < 2 ? cv_set_count(others) : 2;
    return !(speaking & ~member->removed_by) &&
           (cv_set_count(member->removed_by) >= enough || cv_loop_now() - member->removed_us >= REMOVED_US);
}

/*
 * Its locks or elections go by other algorithms, parameters or files than ours, so both could let somebody in. In a
 * group with agreed views the node waits: a majority decides which are in use, and a rolling upgrade needs the time. A
 * node of `group static` grants without a majority, so if it has spoken with nobody since its start, and all whom it
 * meets have other rules, it ends.
 */
static void other_rules(struct cv_member *member, const struct cv_frame *hello, bool news)
{
    const cv_id me = member->roster.ids[member->roster.me];
    char rules[RULES_TEXT_BYTES];
    bool spoken = false;
    for (cv_node node = 0; node < member->roster.count; node++)
        spoken |= member->peers.list[node] && member->peers.list[node]->process;
    rules_text(&member->host, rules);
    if (news)
        cv_log_say(CV_LOG_PEER_REFUSED, "node %u %s: its rules for locks and elections are not those of this node, %s",
                   hello->from, hello->refusal ? "refuses this node" : "is refused", rules);
    if (!member->consensus && !spoken && is_removed(member, hello))
        member_end(member, "node %u and node %u have other rules for locks and elections; those of this node are %s",
                   hello->from, me, rules);
}

static const char *refusal_of_self(uint32_t refusal)
{
    if (refusal == CV_REFUSAL_DUPLICATE)
        return "another process runs with the id";
    if (refusal == CV_REFUSAL_RECOVERED)
        return "the group was recovered without it; empty its directory, start it and say conclave replace";
    if (refusal == CV_REFUSAL_RESTORED)
        return "its directory is an old copy, which has forgotten promises; empty it, start the node and say conclave "
               "replace";
    return "its directory is not the one it had; empty it, start the node and say conclave replace";
}

/* Each member's refusal is logged once, even if this node does not believe it. */
static bool is_news(struct cv_member *member, const struct cv_frame *hello)
{
    struct cv_peer *peer = peers_of(&member->peers, hello->from);
    const bool news = peer && peer->refusal != hello->refusal;
    if (news)
        peer->refusal = hello->refusal;
    return news;
}

static void note_refusal(struct cv_member *member, const struct cv_frame *hello)
{
    if (!is_news(member, hello))
        return;
    cv_log_say(CV_LOG_PEER_REFUSED, "node %u refuses this node: %s %u", hello->from, refusal_of_self(hello->refusal),
               member->roster.ids[member->roster.me]);
}

/* The others say that this node does not belong to the group, or cannot accept its identity. */
void refusals_refused(void *context, const struct cv_frame *hello, bool was_known)
{
    struct cv_member *member = context;
    const struct cv_roster *roster = &member->roster;
    if (hello->refusal == CV_REFUSAL_MODE)
        other_mode(member, hello);
    if (hello->refusal == CV_REFUSAL_RULES)
        other_rules(member, hello, is_news(member, hello));
    if (hello->refusal == CV_REFUSAL_EMPTY && member->consensus)
        founding_refused(member->consensus, hello->from);
    const bool final = hello->refusal == CV_REFUSAL_DIRECTORY || hello->refusal == CV_REFUSAL_RESTORED ||
                       hello->refusal == CV_REFUSAL_RECOVERED || hello->refusal == CV_REFUSAL_DUPLICATE;
    if (final)
        note_refusal(member, hello);
    if (final && is_removed(member, hello))
        member_end(member, "node %u refuses node %u: %s %u", hello->from, roster->ids[roster->me],
                   refusal_of_self(hello->refusal), roster->ids[roster->me]);
    if (hello->refusal == CV_REFUSAL_REMOVED && member->consensus && hello->group && hello->group == roster->group &&
        roster_believes(member->consensus, hello->stream - 1, was_known) && is_removed(member, hello))
        member_end(member, "node %u does not belong to the group any more", roster->ids[roster->me]);
}

/* This node cannot accept a node as the member that it claims to be. */
void refusals_objected(void *context, const struct cv_frame *hello, enum cv_refusal why)
{
    struct cv_member *member = context;
    struct cv_peer *peer = peers_of(&member->peers, hello->from);
    if (!peer || why == CV_REFUSAL_REMOVED)
        return;
    const bool news = why != peer->objection;
    peer->objected_us = cv_loop_now();
    peer->objection = why;
    if (why == CV_REFUSAL_RULES)
        other_rules(member, hello, news);
    if (!news || why == CV_REFUSAL_RULES || why == CV_REFUSAL_UNDECIDED || why == CV_REFUSAL_OCCUPIED)
        return;
    cv_log(CV_LOG_PEER_REFUSED, {"peer", .number = hello->from}, {"why", .text = refusal_text(why)});
    if (why == CV_REFUSAL_MODE)
        other_mode(member, hello);
}
