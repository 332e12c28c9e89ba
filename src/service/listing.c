// SPDX-License-Identifier: MIT
/*
 * A chore of the loop makes the answer, a part in each turn, and sends it when it is complete, since it begins with the
 * number of its items. Names come and go meanwhile. The host keeps them in an array and moves the last one into the
 * place of one that goes. If that place has been looked at and the last one has not, the last one is looked at right
 * then. So each name of this node that is there all the time is listed exactly once.
 *
 *     host->all   | looked at         | not yet              |
 *                          ^ goes      ^ cursor             ^ takes its place
 */
#include "service/listing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "live/net/stream.h"
#include "service/ask_back.h"
#include "service/listing_pages.h"

#define PART_BYTES ((size_t)64 << 10)
#define PARTS_EACH_TURN 4u
#define STARTED 4u                 /* at the same time */
#define NAMES_EACH_TIME 16u        /* that are looked at between two readings of the clock */
#define RUNS (2u * CV_MAX_MEMBERS) /* of clients that wait: for each node those of a lock, and those of an election */

/* A piece of the answer, in pages of its own. The heap would give all pages back at once, which takes long. */
struct listing_part {
    struct listing_part *next;
    size_t length;
    char bytes[];
};

/* ---- parts ---- */

static void add_part(struct listing *listing, const char *bytes, size_t length, bool in_front)
{
    struct cv_resp_pool *pool = &listing->session->service->output;
    struct listing_part *part = NULL;
    if (listing->bytes + length <= listing->session->service->limits->output_each && cv_resp_pool_take(pool, length))
        part = mmap(NULL, sizeof *part + length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else
        pool = NULL;
    if (!part || part == MAP_FAILED) {
        cv_resp_pool_give(pool, length);
        listing->failed = true;
        return;
    }
    listing->bytes += length;
    part->length = length;
    memcpy(part->bytes, bytes, length);
    part->next = in_front ? listing->first : NULL;
    if (in_front)
        listing->first = part;
    else
        *listing->end = part;
    if (!part->next)
        listing->end = &part->next;
}

static void drop_part(struct cv_service *service, struct listing_part **first)
{
    struct listing_part *part = *first;
    *first = part->next;
    cv_resp_pool_give(&service->output, part->length);
    munmap(part, sizeof *part + part->length);
}

/* The answer is not wanted any more. To free all of it at once would take too long as well. */
static void discard(struct listing *listing)
{
    struct cv_service *service = listing->session->service;
    if (!listing->first)
        return;
    *listing->end = service->discarded;
    service->discarded = listing->first;
    listing->first = NULL;
    service->discard_chore.run = listing_discard;
    cv_loop_defer(service->loop, &service->discard_chore);
}

void listing_discard(struct cv_chore *chore)
{
    struct cv_service *service =
        (struct cv_service *)(void *)((char *)chore - offsetof(struct cv_service, discard_chore));
    for (uint32_t left = PARTS_EACH_TURN; service->discarded && left; left--)
        drop_part(service, &service->discarded);
    if (service->discarded)
        cv_loop_defer(service->loop, chore);
}

/* Makes a part of what has been written. */
static void end_part(struct listing *listing)
{
    if (listing->out.length && !listing->failed)
        add_part(listing, listing->out.bytes, listing->out.length, false);
    listing->out.length = 0;
}

/* ---- items ---- */

static void add_waiter(struct listing *listing, cv_id node, const struct listed *item)
{
    if (listing->waiter_count == listing->waiter_room) {
        const size_t room = listing->waiter_room ? 2 * listing->waiter_room : 16;
        struct listing_waiter *waiters = realloc(listing->waiters, room * sizeof *waiters);
        listing->failed |= !waiters;
        if (!waiters)
            return;
        listing->waiters = waiters;
        listing->waiter_room = room;
    }
    struct listing_waiter *it = &listing->waiters[listing->waiter_count++];
    it->node = node;
    it->item = *item;
    it->client_length = item->client.length;
    if (item->client.length)
        memcpy(it->client, item->client.start, item->client.length);
}

/* The rights are asked first, so that no pattern is matched against names that the session may not even see. */
void listing_add(struct listing *listing, cv_id node, const struct listed *item)
{
    if (listing->kind == LISTING_WAITERS_OF) {
        add_waiter(listing, node, item);
        return;
    }
    if (!cv_acl_allows(listing->session->acl, CV_MAY_OBSERVE, item->name) ||
        (listing->pattern && !cv_glob_fits(listing->pattern, item->name)))
        return;
    listed_write_lock(&listing->out, item, node);
    listing->count++;
    listing->failed |= listing->out.full;
    if (listing->out.length >= PART_BYTES)
        end_part(listing);
}

static cv_id my_id(const struct listing *listing)
{
    const struct cv_roster *roster = listing->session->service->host->roster;
    return roster->ids[roster->me];
}

/* Lists a name that is held or waited for here. */
static void look_at(struct listing *listing, const struct cv_instance *instance)
{
    const struct lock *lock = instance->user;
    if (!lock || !(lock->first || lock->holds))
        return;
    const struct listed item = listed_lock(lock);
    listing_add(listing, my_id(listing), &item);
}

void listing_moved(struct cv_service *service, const struct cv_instance *gone)
{
    const struct cv_algorithm_host *host = service->host;
    const size_t last = host->count; /* the former place of the one that has taken its place */
    for (struct listing *it = service->listings; it; it = it->next) {
        if (it->walked || gone->place >= it->cursor)
            continue;
        if (last >= it->cursor && gone->place < last)
            look_at(it, host->all[gone->place]);
        else if (last < it->cursor)
            it->cursor = last;
    }
}

/* ---- its life ---- */

/* Only a few nodes' names are walked through at a time, so that there is enough memory to complete each answer. */
static void start_next(struct cv_service *service)
{
    struct listing *oldest = NULL;
    for (struct listing *it = service->listings; it; it = it->next)
        if (!it->started)
            oldest = it;
    if (!oldest || service->listings_started >= STARTED)
        return;
    oldest->started = true;
    service->listings_started++;
    cv_loop_defer(service->loop, &oldest->chore);
}

/* This node's part is done, or not wanted any more. */
static void stop_walking(struct listing *listing)
{
    struct cv_service *service = listing->session->service;
    const bool frees_a_place = listing->started && !listing->walked;
    listing->started = listing->walked = true;
    if (!frees_a_place)
        return;
    service->listings_started--;
    start_next(service);
}

/* ---- its end ---- */

/*
 * Of the clients that are the first of their nodes, the one that has waited longest comes next: within a node the order
 * is that of its queue, and between nodes nobody knows more.
 */
static void write_waiters(struct listing *listing)
{
    size_t next[RUNS], end[RUNS], runs = 0;
    for (size_t i = 0; i < listing->waiter_count; i++) {
        const struct listing_waiter *it = &listing->waiters[i];
        const bool same = i && it->node == it[-1].node && it->item.election == it[-1].item.election;
        if (!same && runs == RUNS)
            break;
        if (!same)
            next[runs++] = i;
        end[runs - 1] = i + 1;
    }
    for (;;) {
        const struct listing_waiter *first = NULL;
        size_t run = 0;
        for (size_t i = 0; i < runs; i++) {
            const struct listing_waiter *it = &listing->waiters[next[i]];
            if (next[i] < end[i] && (!first || it->item.since_ms > first->item.since_ms)) {
                first = it;
                run = i;
            }
        }
        if (!first)
            break;
        struct listed item = first->item;
        item.client = (struct cv_text){first->client, first->client_length};
        listed_write_waiter(&listing->out, &item, first->node, ++listing->count);
        if (listing->out.length >= PART_BYTES)
            end_part(listing);
        next[run]++;
    }
}

/* A member that knows of more clients than it tells. */
static void write_more(struct listing *listing)
{
    for (size_t i = 0, told = 0; i < listing->waiter_count; i++) {
        const struct listing_waiter *it = &listing->waiters[i];
        const bool last =
            i + 1 == listing->waiter_count || it[1].node != it->node || it[1].item.election != it->item.election;
        told++;
        if (!last)
            continue;
        if (it->item.waiting > told) {
            listed_write_more(&listing->out, it->node, it->item.waiting - told);
            listing->count++;
        }
        told = 0;
    }
}

static void write_silent(struct listing *listing)
{
    const struct cv_roster *roster = listing->session->service->host->roster;
    for (cv_node node = 0; node < roster->count; node++)
        if (cv_set_has(listing->silent, node) && roster->ids[node] != CV_NO_ID) {
            listed_write_silent(&listing->out, roster->ids[node]);
            listing->count++;
        }
}

/* How many were asked; an error if nobody was, and a member that may know somebody has not answered. */
static void answer_ask_back(struct listing *listing)
{
    struct session *session = listing->session;
    const uint64_t asked = listing->count;
    const bool unsure = listing->silent;
    listing_end(session);
    if (!asked && unsure)
        cv_resp_error(&session->out, "NOQUORUM a member that may know does not answer");
    else
        cv_resp_integer(&session->out, (int64_t)asked);
    cv_stream_mark(&session->stream);
}

static void finish(struct listing *listing)
{
    struct session *session = listing->session;
    char head[32];
    listing->whole = true;
    cv_alarm_cancel(session->service->alarms, &listing->alarm);
    stop_walking(listing);
    if (listing->kind == LISTING_ASK_BACK) {
        answer_ask_back(listing);
        return;
    }
    if (listing->kind == LISTING_WAITERS_OF) {
        write_waiters(listing);
        write_more(listing);
    }
    write_silent(listing);
    listing->failed |= listing->out.full;
    end_part(listing);
    struct cv_resp_writer count;
    cv_resp_begin(&count, sizeof head);
    cv_resp_array(&count, listing->count);
    if (!listing->failed && !count.full)
        add_part(listing, count.bytes, count.length, true);
    cv_resp_end(&count);
    if (listing->failed) {
        listing_end(session);
        session->service->refused_output++;
        cv_resp_error(&session->out, "BUSY the answer is too long, or too many answers are being made: expected a "
                                     "pattern that matches fewer names, or another try later");
    }
    cv_stream_mark(&session->stream);
}

void listing_complete(struct listing *listing)
{
    if (!listing->whole && (listing->failed || (listing->walked && !listing->awaited)))
        finish(listing);
}

static void work(struct cv_chore *chore)
{
    struct listing *listing = (struct listing *)(void *)chore;
    const struct cv_algorithm_host *host = listing->session->service->host;
    if (listing->whole) { /* it is longer than one turn may send */
        cv_stream_mark(&listing->session->stream);
        return;
    }
    const uint64_t begun = cv_loop_now();
    while (listing->cursor < host->count && !listing->failed && cv_loop_now() - begun < CV_SLICE_US)
        for (size_t i = 0; i < NAMES_EACH_TIME && listing->cursor < host->count; i++)
            look_at(listing, host->all[listing->cursor++]);
    if (listing->cursor < host->count && !listing->failed)
        cv_loop_defer(listing->session->service->loop, chore);
    else
        stop_walking(listing);
    listing_complete(listing);
}

/* ---- its beginning ---- */

/* NULL: the session is told why not. */
static struct listing *begin(struct session *session, enum listing_kind kind, struct cv_text name)
{
    struct cv_service *service = session->service;
    struct listing *listing = service->listing_count < service->limits->listings ? calloc(1, sizeof *listing) : NULL;
    const bool matches = kind == LISTING_LOCKS && name.length;
    if (listing && matches)
        listing->pattern = malloc(sizeof *listing->pattern);
    if (!listing || (matches && !listing->pattern) || cv_alarms_reserve(service->alarms, 1)) {
        free(listing ? listing->pattern : NULL);
        free(listing);
        cv_resp_error(&session->out, "BUSY too many LOCKS at once: expected another try later");
        return NULL;
    }
    listing->chore.run = work;
    listing->session = session;
    listing->kind = kind;
    listing->end = &listing->first;
    listing->ticket = ++service->tickets;
    listing->name_length = name.length;
    if (name.length)
        memcpy(listing->name, name.start, name.length);
    if (listing->pattern)
        cv_glob_prepare(listing->pattern, name);
    cv_resp_begin(&listing->out, 2 * PART_BYTES);
    listing->out.protocol = session->out.protocol;
    listing->next = service->listings;
    if (listing->next)
        listing->next->previous = listing;
    service->listings = listing;
    service->listing_count++;
    session->listing = listing;
    return listing;
}

void listing_locks(struct session *session, const struct cv_resp_command *command)
{
    struct cv_service *service = session->service;
    const bool local = command->count > 1 && cv_resp_is(command->word[1], "LOCAL");
    const uint32_t at = local ? 2 : 1;
    const struct cv_text pattern = command->count > at ? command->word[at] : (struct cv_text){"", 0};
    if (command->count > at + 1) {
        cv_resp_error(&session->out, "ERR '%s': expected LOCKS [LOCAL] [pattern]",
                      cv_brief_text(command->word[at + 1]).text);
        return;
    }
    if (pattern.length > CV_GLOB_BYTES) {
        cv_resp_error(&session->out, "TOOBIG a pattern of %zu bytes, expected at most %u", pattern.length,
                      CV_GLOB_BYTES);
        return;
    }
    struct listing *listing = begin(session, LISTING_LOCKS, pattern);
    if (!listing)
        return;
    if (!local)
        listing_ask(listing);
    start_next(service);
    if (listing->started) { /* a few names are listed at once */
        cv_loop_call_off(service->loop, &listing->chore);
        work(&listing->chore);
    }
}

static void add_waiters(struct listing *listing, enum cv_subject subject)
{
    const struct lock *lock =
        lock_find(listing->session->service, subject, (struct cv_text){listing->name, listing->name_length});
    uint32_t told = 0;
    for (const struct waiter *it = lock ? lock->first : NULL; it && told < LISTING_WAITERS; it = it->next, told++) {
        const struct listed item = listed_waiter(it);
        listing_add(listing, my_id(listing), &item);
    }
}

void listing_waiters(struct session *session, struct cv_text name)
{
    struct listing *listing = begin(session, LISTING_WAITERS_OF, name);
    if (!listing)
        return;
    listing->walked = true;
    add_waiters(listing, CV_SUBJECT_LOCK);
    add_waiters(listing, CV_SUBJECT_LEADER);
    listing_ask(listing);
    listing_complete(listing);
}

void listing_ask_back(struct session *session, struct cv_text name, uint64_t kinds)
{
    struct listing *listing = begin(session, LISTING_ASK_BACK, name);
    if (!listing)
        return;
    listing->walked = true;
    listing->kinds = kinds;
    listing->count = ask_back(session->service, name, kinds, cv_kept(session->name));
    listing_ask(listing);
    listing_complete(listing);
}

bool listing_is_ready(const struct session *session)
{
    return session->listing && session->listing->whole;
}

bool listing_is_begun(const struct session *session)
{
    return session->listing && session->listing->begun;
}

void listing_send(struct session *session)
{
    struct listing *listing = session->listing;
    listing->begun = true;
    for (uint32_t sent = 0; listing->first && sent < PARTS_EACH_TURN; sent++) {
        if (!cv_stream_write(&session->stream, listing->first->bytes, listing->first->length))
            return; /* flush() comes back when what is on its way has arrived; or the connection is gone */
        drop_part(session->service, &listing->first);
    }
    if (!listing->first)
        listing_end(session);
    else if (!session->stream.writing)
        cv_loop_defer(session->service->loop, &listing->chore);
}

void listing_end(struct session *session)
{
    struct listing *listing = session->listing;
    struct cv_service *service = session->service;
    if (!listing)
        return;
    cv_loop_call_off(service->loop, &listing->chore);
    cv_alarm_cancel(service->alarms, &listing->alarm);
    cv_alarms_release(service->alarms, 1);
    stop_walking(listing);
    discard(listing);
    *(listing->previous ? &listing->previous->next : &service->listings) = listing->next;
    if (listing->next)
        listing->next->previous = listing->previous;
    service->listing_count--;
    cv_resp_end(&listing->out);
    free(listing->pattern);
    free(listing->waiters);
    free(listing);
    session->listing = NULL;
}
