// SPDX-License-Identifier: MIT
#include "client/interest.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client/connect.h"
#include "core/wall_clock.h"

#define RETRY_MS 50 /* before another server is tried */
#define LOOK_AGAIN_MS                                                                                                  \
    2000 /* after so long the leader of an observed election is asked for again: a server that hangs pushes nothing */

struct cv_client_interest *cv_client_remember(struct conclave *session, enum cv_client_kind kind, const char *name,
                                              struct cv_text value)
{
    const size_t size = strlen(name) + 1;
    struct cv_client_interest *interest = calloc(1, sizeof *interest + size + value.length);
    if (!interest) {
        cv_client_no_memory(session);
        return NULL;
    }
    interest->kind = kind;
    interest->ends_ms = interest->renew_ms = CV_CLIENT_NEVER;
    memcpy(interest->name, name, size);
    if (value.length)
        memcpy(interest->name + size, value.start, value.length);
    if (value.start)
        interest->value = (struct cv_text){interest->name + size, value.length};
    interest->next = session->interests;
    session->interests = interest;
    return interest;
}

struct cv_client_interest *cv_client_find(const struct conclave *session, const char *name, uint64_t fence)
{
    for (struct cv_client_interest *each = session->interests; each; each = each->next)
        if (each->kind <= CV_CLIENT_LED && strcmp(each->name, name) == 0 && (each->fence == fence || !fence))
            return each;
    return NULL;
}

struct cv_client_interest *cv_client_find_kind(const struct conclave *session, enum cv_client_kind kind,
                                               const char *name)
{
    struct cv_client_interest *each = session->interests;
    while (each && (each->kind != kind || strcmp(each->name, name) != 0))
        each = each->next;
    return each;
}

void cv_client_forget(struct conclave *session, struct cv_client_interest *interest)
{
    struct cv_client_interest **place = &session->interests;
    while (*place != interest)
        place = &(*place)->next;
    *place = interest->next;
    for (struct cv_client_question *each = session->first_question; each; each = each->next)
        if (each->about == interest)
            each->about = NULL;
    free(interest);
}

void cv_client_extend(struct cv_client_interest *interest, int64_t asked_ms, int64_t left_ms)
{
    interest->ends_ms = left_ms < 0 ? CV_CLIENT_NEVER : asked_ms + left_ms;
    interest->renew_ms = left_ms < 0 ? CV_CLIENT_NEVER : asked_ms + left_ms / 3;
}

/* ---- events ---- */

static void copy_text(char *to, size_t size, struct cv_text text)
{
    const size_t length = text.length < size ? text.length : size - 1;
    if (length)
        memcpy(to, text.start, length);
    to[length] = '\0';
}

/* Bytes of any kind, and a NUL. What is longer than any server tells is cut. */
static void copy_value(struct conclave_event *event, struct cv_text value)
{
    event->has_value = value.start;
    event->value_length = value.length < CONCLAVE_VALUE_BYTES ? value.length : CONCLAVE_VALUE_BYTES;
    copy_text(event->value, sizeof event->value, value);
}

/* Without memory the event is missing, and the session has an error; there is nobody else to tell. */
static void tell(struct conclave *session, enum conclave_event_kind kind, const char *name, uint64_t fence,
                 const char *leader, struct cv_text value)
{
    struct cv_client_event *event = calloc(1, sizeof *event);
    if (!event) {
        cv_client_no_memory(session);
        return;
    }
    event->event.kind = kind;
    event->event.fence = fence;
    copy_text(event->event.name, sizeof event->event.name, cv_text(name));
    copy_text(event->event.leader, sizeof event->event.leader, cv_text(leader));
    copy_value(&event->event, value);
    *session->last_event = event;
    session->last_event = &event->next;
}

static const struct cv_text nothing = {NULL, 0};

static void lose(struct conclave *session, struct cv_client_interest *interest, struct cv_text reason)
{
    tell(session, CONCLAVE_EVENT_LOST, interest->name, interest->fence, "", reason);
    cv_client_forget(session, interest);
}

static void see_leader(struct conclave *session, struct cv_client_interest *interest,
                       const struct conclave_leader *leader)
{
    /* After a change of servers the present leader is told again. */
    if (leader->fence == interest->leader.fence && strcmp(leader->leader, interest->leader.leader) == 0)
        return;
    interest->leader = *leader;
    const bool watched = interest->kind == CV_CLIENT_WATCHED;
    tell(session, watched ? CONCLAVE_EVENT_HOLDER : CONCLAVE_EVENT_LEADER, interest->name, leader->fence,
         leader->leader, leader->has_value ? (struct cv_text){leader->value, leader->value_length} : nothing);
}

void cv_client_disconnected(struct conclave *session)
{
    struct cv_client_interest *next;
    for (struct cv_client_interest *each = session->interests; each; each = next) {
        next = each->next;
        if (each->kind >= CV_CLIENT_JOINED)
            each->fence = 0;
        if (each->kind >= CV_CLIENT_OBSERVED || each->ttl_ms)
            each->renew_ms = 0;
        else
            lose(session, each, nothing);
    }
    session->retry_ms = 0;
}

/* The next item of a push or an answer as a text; it starts at NULL if there is none, or nil. */
static struct cv_text next_text(struct cv_text *rest)
{
    struct cv_resp_item item;
    if (!rest->length || !cv_resp_next(rest, &item) || item.kind != CV_RESP_BULK)
        return nothing;
    return item.text.start ? item.text : cv_text("");
}

static void take_value(struct conclave_leader *leader, struct cv_text value)
{
    leader->has_value = value.start;
    leader->value_length = value.length < CONCLAVE_VALUE_BYTES ? value.length : CONCLAVE_VALUE_BYTES;
    copy_text(leader->value, sizeof leader->value, value);
}

/* `lost name fence [reason]` and `askback name fence client|nil` */
static void on_hold(struct conclave *session, const char *name, struct cv_text rest, bool lost)
{
    struct cv_resp_item fence;
    if (!cv_resp_next(&rest, &fence))
        return;
    struct cv_client_interest *held = cv_client_find(session, name, (uint64_t)fence.number);
    for (enum cv_client_kind kind = CV_CLIENT_INSIDE; !held && lost && kind <= CV_CLIENT_RUNS; kind++) {
        held = cv_client_find_kind(session, kind, name);
        held = held && held->fence == (uint64_t)fence.number ? held : NULL;
    }
    if (held && lost)
        lose(session, held, next_text(&rest));
    else if (held)
        tell(session, CONCLAVE_EVENT_ASKED_BACK, name, held->fence, "", next_text(&rest));
}

/* `leader name leader|nil fence [value]`, and `lock` with the holder of a lock */
static void on_leader(struct conclave *session, enum cv_client_kind kind, const char *name, struct cv_text rest)
{
    struct cv_resp_item leader, fence;
    if (!cv_resp_next(&rest, &leader) || !cv_resp_next(&rest, &fence))
        return;
    struct conclave_leader now = {.fence = leader.kind == CV_RESP_NIL ? 0 : (uint64_t)fence.number};
    copy_text(now.leader, sizeof now.leader, leader.text);
    take_value(&now, next_text(&rest));
    for (struct cv_client_interest *each = session->interests; each; each = each->next)
        if (each->kind == kind && strcmp(each->name, name) == 0)
            see_leader(session, each, &now);
}

/* `members name members` */
static void on_members(struct conclave *session, const char *name)
{
    for (const struct cv_client_interest *each = session->interests; each; each = each->next)
        if (each->kind == CV_CLIENT_GROUP && strcmp(each->name, name) == 0)
            tell(session, CONCLAVE_EVENT_MEMBERS, name, 0, "", nothing);
}

/* The server knows again that it is a member, or that it looks on. What happened meanwhile it was not told. */
static void rejoin(struct conclave *session, struct cv_client_interest *about, const struct cv_resp_item *item)
{
    const bool joined = about->kind == CV_CLIENT_JOINED && item->kind == CV_RESP_INTEGER;
    if (about->fence || (!joined && item->kind != CV_RESP_ARRAY))
        return; /* the answer to PING */
    about->fence = joined ? (uint64_t)item->number : 1;
    tell(session, joined ? CONCLAVE_EVENT_JOINED : CONCLAVE_EVENT_MEMBERS, about->name, joined ? about->fence : 0, "",
         nothing);
}

/* `position name position` */
static void on_position(const struct conclave *session, const char *name, struct cv_text rest)
{
    struct cv_resp_item position;
    if (session->told_position && cv_resp_next(&rest, &position) && position.kind == CV_RESP_INTEGER)
        session->told_position(session->position_context, name, (uint64_t)position.number);
}

/* Other pushes than these are ignored. */
void cv_client_pushed(struct conclave *session, struct cv_text push)
{
    struct cv_resp_item head, kind, name;
    char text[CONCLAVE_NAME_BYTES + 1];
    if (!cv_resp_next(&push, &head) || !cv_resp_next(&push, &kind) || !cv_resp_next(&push, &name))
        return;
    copy_text(text, sizeof text, name.text);
    if (cv_resp_is(kind.text, "lost") || cv_resp_is(kind.text, "askback"))
        on_hold(session, text, push, cv_resp_is(kind.text, "lost"));
    else if (cv_resp_is(kind.text, "leader"))
        on_leader(session, CV_CLIENT_OBSERVED, text, push);
    else if (cv_resp_is(kind.text, "lock"))
        on_leader(session, CV_CLIENT_WATCHED, text, push);
    else if (cv_resp_is(kind.text, "members"))
        on_members(session, text);
    else if (cv_resp_is(kind.text, "position"))
        on_position(session, text, push);
}

int cv_client_read_leader(struct conclave *session, struct cv_text answer, struct conclave_leader *leader)
{
    struct cv_resp_item head, name, fence, node;
    *leader = (struct conclave_leader){0};
    if (!cv_resp_next(&answer, &head))
        return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer has no leader");
    if (head.kind == CV_RESP_NIL)
        return 0;
    if (head.kind != CV_RESP_ARRAY || head.number < 2 || !cv_resp_next(&answer, &name) ||
        !cv_resp_next(&answer, &fence) || fence.kind != CV_RESP_INTEGER)
        return cv_client_fail(session, CONCLAVE_PROTOCOL, "the server's answer has no leader");
    copy_text(leader->leader, sizeof leader->leader, name.text);
    leader->fence = (uint64_t)fence.number;
    if (head.number > 3 && cv_resp_next(&answer, &node))
        take_value(leader, next_text(&answer));
    return 0;
}

void cv_client_answered(struct conclave *session, const struct cv_client_question *question, struct cv_text answer)
{
    struct cv_client_interest *about = question->about;
    struct conclave_leader leader;
    struct cv_resp_item item;
    struct cv_text rest = answer;
    if (!about || !cv_resp_next(&rest, &item))
        return;
    if (item.kind == CV_RESP_ERROR) { /* the server may recover until it is asked again, or another one may answer */
        session->forsaken = about->ttl_ms && cv_client_servers(session->servers) > 1;
        return;
    }
    if (about->kind >= CV_CLIENT_JOINED) {
        rejoin(session, about, &item);
    } else if (about->kind >= CV_CLIENT_OBSERVED) {
        if (cv_client_read_leader(session, answer, &leader) == 0)
            see_leader(session, about, &leader);
    } else if (item.kind == CV_RESP_INTEGER) {
        cv_client_extend(about, question->asked_ms, item.number);
    } else if (item.kind == CV_RESP_NIL) {
        lose(session, about, nothing);
    }
}

/* ---- what is due ---- */

void cv_client_want_permits(uint32_t permits, char text[24], struct cv_client_words *words)
{
    if (!permits)
        return;
    snprintf(text, 24, "%" PRIu32, permits);
    words->word[words->count++] = "PERMITS";
    words->word[words->count++] = text;
}

/* With these words any server can renew it, even after all servers have forgotten it. */
void cv_client_show_secret(const struct conclave *session, const struct cv_client_interest *interest, const char *ttl,
                           char permits[24], struct cv_client_words *words)
{
    const char *more[] = {"SECRET", session->secret, "TTL", ttl};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        words->word[words->count++] = more[i];
    if (interest->shared)
        words->word[words->count++] = "SHARED";
    cv_client_want_permits(interest->permits, permits, words);
    if (interest->kind == CV_CLIENT_LED)
        words->word[words->count++] = "LEADER";
    words->value = interest->value;
}

/* Says what a server has to know that the session had to move to. A server that hangs does not answer. */
static struct cv_client_words look_at(const struct cv_client_interest *interest)
{
    if (interest->kind >= CV_CLIENT_JOINED && interest->fence)
        return (struct cv_client_words){.count = 1, .word = {"PING"}};
    if (interest->kind == CV_CLIENT_JOINED)
        return (struct cv_client_words){
            .count = 3, .word = {"MEMBERS", interest->name, "JOIN"}, .value = interest->value};
    if (interest->kind == CV_CLIENT_GROUP)
        return (struct cv_client_words){.count = 3, .word = {"MEMBERS", interest->name, "WATCH"}};
    const char *command = interest->kind == CV_CLIENT_WATCHED ? "WATCH" : interest->renew_ms ? "LEADER" : "OBSERVE";
    return (struct cv_client_words){.count = 2, .word = {command, interest->name}};
}

static int ask_again(struct conclave *session, struct cv_client_interest *interest, int64_t now_ms)
{
    char fence[24], ttl[24], permits[24];
    snprintf(fence, sizeof fence, "%" PRIu64, interest->fence);
    snprintf(ttl, sizeof ttl, "%" PRIu64, interest->ttl_ms);
    struct cv_client_words renew = {.count = 3, .word = {"RENEW", interest->name, fence}};
    if (interest->ttl_ms)
        cv_client_show_secret(session, interest, ttl, permits, &renew);
    const struct cv_client_words look = look_at(interest);
    const bool observed = interest->kind >= CV_CLIENT_OBSERVED, endless = interest->ends_ms == CV_CLIENT_NEVER;
    /* If no answer comes, the server is asked again before it is too late. */
    interest->renew_ms = observed  ? now_ms + LOOK_AGAIN_MS
                         : endless ? CV_CLIENT_NEVER
                                   : now_ms + (interest->ends_ms - now_ms) / 3 + 1;
    return cv_client_mention(session, observed ? &look : &renew, interest);
}

/* How long a server may take to answer: what is held has to be renewed with another one in good time. */
static int64_t patience_ms(const struct conclave *session)
{
    int64_t patience_ms = session->timeout_ms;
    for (const struct cv_client_interest *each = session->interests; each; each = each->next)
        if (each->ttl_ms && (int64_t)each->ttl_ms / 8 < patience_ms)
            patience_ms = (int64_t)each->ttl_ms / 8;
    return patience_ms;
}

/*
 * Has a question been unanswered for too long? Only if another server could do better: holds that end with the session
 * would be lost with this server.
 */
static bool server_hangs(const struct conclave *session, int64_t now_ms)
{
    const struct cv_client_question *oldest = session->first_question;
    for (const struct cv_client_interest *each = session->interests; each; each = each->next)
        if (each->kind < CV_CLIENT_OBSERVED && !each->ttl_ms)
            return false;
    return session->forsaken || (oldest && now_ms - oldest->asked_ms >= patience_ms(session));
}

/* Tries one server, and not beyond the moment when the first hold ends: that has to be told in time. */
static int reconnect(struct conclave *session, int64_t now_ms)
{
    int64_t left_ms = patience_ms(session);
    for (const struct cv_client_interest *each = session->interests; each; each = each->next)
        if (each->ends_ms != CV_CLIENT_NEVER && each->ends_ms - now_ms < left_ms)
            left_ms = each->ends_ms - now_ms;
    const int error = cv_client_connect_within(session, left_ms > 1 ? (int)left_ms : 1);
    session->retry_ms = cv_boot_ms() + RETRY_MS;
    return error == CONCLAVE_INTERRUPTED || error == CONCLAVE_NO_MEMORY ? error : 0;
}

static int do_what_is_due(struct conclave *session)
{
    struct cv_client_interest *next;
    int64_t now_ms = cv_boot_ms();
    if (session->fd >= 0 && server_hangs(session, now_ms)) {
        cv_client_disconnect(session);
        session->turn++;
    }
    if (session->fd < 0 && session->interests && now_ms >= session->retry_ms) {
        const int error = reconnect(session, now_ms);
        if (error)
            return error;
        now_ms = cv_boot_ms();
    }
    for (struct cv_client_interest *each = session->interests; each; each = next) {
        next = each->next;
        if (now_ms >= each->ends_ms) {
            lose(session, each, nothing);
        } else if (session->fd >= 0 && now_ms >= each->renew_ms) {
            const int error = ask_again(session, each, now_ms);
            if (error)
                return error;
        }
    }
    return 0;
}

static int64_t next_due_ms(const struct conclave *session)
{
    int64_t due_ms = session->fd < 0 && session->interests ? session->retry_ms : CV_CLIENT_NEVER;
    for (const struct cv_client_interest *each = session->interests; each; each = each->next) {
        const int64_t renew_ms = session->fd < 0 ? CV_CLIENT_NEVER : each->renew_ms;
        const int64_t first_ms = renew_ms < each->ends_ms ? renew_ms : each->ends_ms;
        due_ms = first_ms < due_ms ? first_ms : due_ms;
    }
    return due_ms;
}

int conclave_next_ms(const struct conclave *session)
{
    const int64_t due_ms = next_due_ms(session), now_ms = cv_boot_ms();
    if (session->first_event || due_ms <= now_ms)
        return 0;
    if (due_ms == CV_CLIENT_NEVER)
        return -1;
    return due_ms - now_ms < INT32_MAX ? (int)(due_ms - now_ms) : INT32_MAX;
}

static bool take_event(struct conclave *session, struct conclave_event *event)
{
    struct cv_client_event *first = session->first_event;
    if (!first)
        return false;
    *event = first->event;
    session->first_event = first->next;
    if (!first->next)
        session->last_event = &session->first_event;
    free(first);
    return true;
}

int conclave_next_event(struct conclave *session, struct conclave_event *event, int timeout_ms)
{
    const int64_t until_ms = timeout_ms < 0 ? CV_CLIENT_NEVER : cv_boot_ms() + timeout_ms;
    for (bool last = false;;) {
        int error = do_what_is_due(session);
        if (!error && session->fd >= 0)
            cv_client_exchange(session); /* if that fails, something is due and is done in the next round */
        if (take_event(session, event))
            return 1;
        if (error)
            return error;
        if (session->fd < 0 && !session->interests)
            return CONCLAVE_NO_SERVER;
        if (last)
            return 0;
        const int64_t due_ms = next_due_ms(session);
        error = cv_client_wait(session, due_ms < until_ms ? due_ms : until_ms);
        if (error)
            return error;
        last = cv_boot_ms() >= until_ms;
    }
}
