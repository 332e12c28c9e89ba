// SPDX-License-Identifier: MIT
#include "live/dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "live/consensus.h"
#include "live/host/host_names.h"
#include "live/host/host_views.h"
#include "live/member.h"
#include "live/views.h"

#define EARLY_BYTES ((size_t)64 << 20)

/* ---- out ---- */

void dispatch_lost(struct cv_member *member, cv_node to)
{
    if (!member->consensus && cv_set_has(member->host.view.members, to)) /* agreed views have a request of their own */
        member->peers.epoch = 0;
}

static uint64_t send_within_view(struct cv_member *member, cv_node to, struct cv_frame *frame)
{
    const uint64_t number = peers_send(&member->peers, to, frame);
    if (!number)
        dispatch_lost(member, to);
    return number;
}

uint64_t dispatch_send(void *context, const struct cv_parcel *parcel)
{
    struct cv_member *member = context;
    const struct cv_instance *instance = parcel->instance;
    const struct cv_message *message = parcel->message;
    struct cv_frame frame = {.type = CV_FRAME_MESSAGE,
                             .round = instance->round,
                             .clock = message->clock,
                             .given = (uint32_t)instance->given,
                             .subject = instance->subject,
                             .kind = message->kind,
                             .hops = parcel->hops < UINT16_MAX ? (uint32_t)parcel->hops : UINT16_MAX,
                             .fingerprint = instance->policy->fingerprint,
                             .words = message->words,
                             .name = cv_instance_name(instance),
                             .body = cv_body(message)};
    return instance->subject == CV_SUBJECT_GROUP ? peers_send(&member->peers, message->to, &frame)
                                                 : send_within_view(member, message->to, &frame);
}

static cv_set tell_members(struct cv_member *member, struct cv_frame *frame)
{
    cv_set told = 0;
    for (cv_node node = 0; node < member->roster.count; node++)
        if (node != member->roster.me && cv_set_has(member->host.view.members, node) &&
            send_within_view(member, node, frame))
            told |= cv_set_of(node);
    return told;
}

void dispatch_opened(void *context, struct cv_instance *instance)
{
    struct cv_frame frame = {.type = CV_FRAME_OPEN,
                             .round = instance->round,
                             .subject = instance->subject,
                             .fingerprint = instance->policy->fingerprint,
                             .name = cv_instance_name(instance)};
    tell_members(context, &frame);
}

cv_set cv_member_notify(struct cv_member *member, cv_node to, const struct cv_notice *notice)
{
    const uint32_t shift = notice->subject == CV_SUBJECT_ELECTION ? CV_TERM_BITS : 0;
    struct cv_frame frame = {.type = CV_FRAME_NOTICE,
                             .kind = notice->kind,
                             .subject = notice->subject,
                             .round = member->host.view.epoch << shift,
                             .name = notice->name,
                             .words = notice->words,
                             .body = notice->body};
    if (to == CV_NOBODY)
        return tell_members(member, &frame);
    return send_within_view(member, to, &frame) ? cv_set_of(to) : 0;
}

/* ---- in ---- */

static bool has_name(const struct cv_frame *frame)
{
    return frame->name.length && frame->subject > CV_SUBJECT_GROUP && frame->subject < CV_SUBJECTS;
}

/* The message as handlers take it, in memory of its own. NULL if there is no memory. */
static struct cv_message *unpack(const struct cv_member *member, cv_node from, const struct cv_frame *frame,
                                 uint64_t *small, size_t room)
{
    const size_t bytes = sizeof(struct cv_message) + ((size_t)frame->words + 1) / 2 * 8;
    struct cv_message *message = bytes <= room ? (void *)small : malloc(bytes);
    if (!message)
        return NULL;
    memset(message, 0, bytes);
    message->to = member->roster.me;
    message->from = from;
    message->clock = frame->clock & CV_CLOCK_MASK;
    message->kind = frame->kind & (CV_MAX_KINDS - 1);
    message->words = frame->words & CV_MAX_WORDS;
    if (frame->words)
        memcpy(message->body, frame->body, (size_t)frame->words * 4);
    return message;
}

static void deliver(struct cv_member *member, cv_node from, struct cv_instance *instance, const struct cv_frame *frame)
{
    uint64_t small[32];
    struct cv_message *message = unpack(member, from, frame, small, sizeof small);
    if (!message)
        return;
    const struct cv_parcel parcel = {.instance = instance,
                                     .number = peers_number(&member->peers, from, frame),
                                     .hops = frame->hops,
                                     .given = frame->given,
                                     .message = message};
    const char *why = "a message of no known kind";
    const enum cv_validity validity =
        frame->kind < CV_MAX_KINDS ? cv_host_deliver(&member->host, &parcel, &why) : CV_FORGED;
    if (validity == CV_STRAY)
        member->disagreements++;
    else if (validity == CV_FORGED)
        cv_peers_cut_off(&member->peers, from, why);
    if ((void *)message != (void *)small)
        free(message);
}

/* Drops messages of earlier views. Messages of a view that has not begun here wait. */
void dispatch_keep(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    const size_t size = cv_frame_size(frame);
    struct cv_early *early = member->early_bytes + size <= EARLY_BYTES ? malloc(sizeof *early + size) : NULL;
    if (!early)
        return;
    early->next = NULL;
    early->from = from;
    early->size = size;
    cv_frame_write(early->bytes, frame);
    *member->early_end = early;
    member->early_end = &early->next;
    member->early_bytes += size;
}

static void on_notice(struct cv_member *member, cv_node from, const struct cv_frame *frame, bool current)
{
    const struct cv_notice notice = {.subject = frame->subject,
                                     .name = frame->name,
                                     .kind = frame->kind,
                                     .words = frame->words,
                                     .body = frame->body,
                                     .current = current};
    member->user.heard(member->user.context, from, &notice);
}

/* Like the group's own election, but each view has terms of its own: the round is view and term. */
static void on_vote(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    struct cv_algorithm_host *host = &member->host;
    struct cv_instance *ballot = cv_host_open(host, CV_SUBJECT_ELECTION, frame->name);
    if (!ballot || ballot->policy->fingerprint != frame->fingerprint) {
        member->disagreements++;
        return;
    }
    if (frame->round > ballot->round) {
        if (cv_host_restart(host, ballot, frame->round))
            return;
        if (!(ballot->policy->algorithm->claims & CV_ANY_CALLER))
            cv_host_call(host, ballot, false);
    }
    if (frame->round == ballot->round)
        deliver(member, from, ballot, frame);
}

static void on_message(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    struct cv_algorithm_host *host = &member->host;
    struct cv_instance *instance = cv_host_open(host, frame->subject, frame->name);
    if (!instance)
        return;
    if (instance->policy->fingerprint != frame->fingerprint)
        member->disagreements++;
    else if (frame->type == CV_FRAME_MESSAGE)
        deliver(member, from, instance, frame);
    else
        cv_host_start(host, instance);
}

/* A frame about a name waits for the view in which it was sent. */
static void about_name(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    const struct cv_algorithm_host *host = &member->host;
    const uint64_t epoch = frame->subject == CV_SUBJECT_ELECTION ? frame->round >> CV_TERM_BITS : frame->round;
    const bool now = epoch == host->view.epoch && cv_host_ready(host) && cv_set_has(host->view.members, from);
    if (epoch > host->view.epoch)
        dispatch_keep(member, from, frame);
    else if (frame->type == CV_FRAME_NOTICE)
        on_notice(member, from, frame, now);
    else if (now && frame->subject == CV_SUBJECT_ELECTION)
        on_vote(member, from, frame);
    else if (now)
        on_message(member, from, frame);
}

static void on_raft(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    if (member->consensus)
        consensus_frame(member->consensus, from, frame);
    else
        member->disagreements++;
}

void dispatch_frame(void *context, cv_node from, const struct cv_frame *frame)
{
    struct cv_member *member = context;
    if (member->consensus)
        consensus_look(member->consensus); /* the process may have been stopped, and the frame may be old */
    if (frame->type == CV_FRAME_VIEW)
        views_frame(member, from, frame);
    else if (frame->type == CV_FRAME_AGREEMENT || frame->type == CV_FRAME_GRANT)
        on_raft(member, from, frame);
    else if (frame->type == CV_FRAME_MESSAGE && frame->subject == CV_SUBJECT_GROUP)
        member_ballot(member, from, frame);
    else if (has_name(frame))
        about_name(member, from, frame);
    else
        member->disagreements++;
}

void dispatch_ballot(struct cv_member *member, cv_node from, const struct cv_frame *frame)
{
    if (member->election->policy->fingerprint == frame->fingerprint)
        deliver(member, from, member->election, frame);
    else
        member->disagreements++;
}

void dispatch_catch_up(struct cv_member *member)
{
    struct cv_early *early = member->early;
    member->early = NULL;
    member->early_end = &member->early;
    member->early_bytes = 0;
    while (early) {
        struct cv_early *next = early->next;
        struct cv_frame frame;
        const char *wrong;
        if (!peers_is_cut_off(&member->peers, early->from) &&
            cv_frame_read(early->bytes, early->size, &frame, &wrong) > 0)
            dispatch_frame(member, early->from, &frame);
        free(early);
        early = next;
    }
}

void dispatch_forget(struct cv_member *member, cv_set nodes)
{
    struct cv_early **at = &member->early;
    while (*at) {
        struct cv_early *early = *at;
        if (!cv_set_has(nodes, early->from)) {
            at = &early->next;
            continue;
        }
        *at = early->next;
        member->early_bytes -= early->size;
        free(early);
    }
    member->early_end = at;
}

void dispatch_free(struct cv_member *member)
{
    for (struct cv_early *early = member->early, *next; early; early = next) {
        next = early->next;
        free(early);
    }
    member->early = NULL;
}
