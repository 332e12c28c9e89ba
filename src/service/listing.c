// SPDX-License-Identifier: MIT
/*
 * LOCKS: an answer that may have a hundred thousand items. A chore of the loop makes it, a part in each turn, and sends
 * it when it is complete, since it begins with the number of its items. Names come and go meanwhile. The host keeps
 * them in an array and moves the last one into the place of one that goes. If that place has been looked at and the
 * last one has not, the last one is looked at right then. So each name that is there all the time is listed exactly
 * once.
 *
 *     host->all   | looked at         | not yet              |
 *                          ^ goes      ^ cursor             ^ takes its place
 */
#include "service/listing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "core/glob.h"
#include "live/net/stream.h"
#include "service/info.h"

#define PART_BYTES ((size_t)64 << 10)
#define PARTS_EACH_TURN 4u
#define STARTED 4u          /* at the same time */
#define NAMES_EACH_TIME 16u /* that are looked at between two readings of the clock */

/* A piece of the answer, in pages of its own. The heap would give all pages back at once, which takes long. */
struct listing_part {
    struct listing_part *next;
    size_t length;
    char bytes[];
};

struct listing {
    struct cv_chore chore;
    struct session *session;
    struct listing *next, *previous; /* in the list of all that are being made or sent */
    size_t cursor;                   /* names before it have been looked at */
    uint64_t count;                  /* items so far */
    size_t bytes;                    /* of all parts */
    struct cv_resp_writer out;       /* the newest part */
    struct listing_part *first, **end;
    bool started;                     /* it has begun to look at names; until then others come first */
    bool whole;                       /* all names have been looked at: it may be sent */
    bool begun;                       /* some of it has been sent */
    bool failed;                      /* it is too long, or too many answers are being made */
    struct cv_glob_prepared *pattern; /* only names that match; NULL: all names */
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

/* ---- names ---- */

/*
 * Lists a name that is held or waited for here, if the session may observe it. The rights are asked first, so that no
 * pattern is matched against names that the session may not even see.
 */
static void look_at(struct listing *listing, const struct cv_instance *instance)
{
    const struct lock *lock = instance->user;
    const struct cv_text name = cv_instance_name(instance);
    if (!lock || !(lock->first || lock->holds) || !cv_acl_allows(listing->session->acl, CV_MAY_OBSERVE, name))
        return;
    if (listing->pattern && !cv_glob_fits(listing->pattern, name))
        return;
    info_write_lock(&listing->out, lock);
    listing->count++;
    listing->failed |= listing->out.full;
    if (listing->out.length >= PART_BYTES)
        end_part(listing);
}

void listing_moved(struct cv_service *service, const struct cv_instance *gone)
{
    const struct cv_algorithm_host *host = service->host;
    const size_t last = host->count; /* the former place of the one that has taken its place */
    for (struct listing *it = service->listings; it; it = it->next) {
        if (it->whole || gone->place >= it->cursor)
            continue;
        if (last >= it->cursor && gone->place < last)
            look_at(it, host->all[gone->place]);
        else if (last < it->cursor)
            it->cursor = last;
    }
}

/* ---- its life ---- */

/* Only a few answers are made at a time, so that there is enough memory to complete each. */
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

static void stop(struct listing *listing)
{
    struct cv_service *service = listing->session->service;
    const bool frees_a_place = listing->started && !listing->whole;
    listing->started = listing->whole = true;
    if (!frees_a_place)
        return;
    service->listings_started--;
    start_next(service);
}

static void finish(struct listing *listing)
{
    struct session *session = listing->session;
    char head[32];
    end_part(listing);
    struct cv_resp_writer count;
    cv_resp_begin(&count, sizeof head);
    cv_resp_array(&count, listing->count);
    if (!listing->failed && !count.full)
        add_part(listing, count.bytes, count.length, true);
    cv_resp_end(&count);
    stop(listing);
    if (listing->failed) {
        listing_end(session);
        session->service->refused_output++;
        cv_resp_error(&session->out, "BUSY the answer is too long, or too many answers are being made: expected a "
                                     "pattern that matches fewer names, or another try later");
    }
    cv_stream_mark(&session->stream);
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
        finish(listing);
}

void listing_begin(struct session *session, const struct cv_resp_command *command)
{
    struct cv_service *service = session->service;
    const struct cv_text pattern = command->count > 1 ? command->word[1] : (struct cv_text){"", 0};
    if (pattern.length > CV_GLOB_BYTES) {
        cv_resp_error(&session->out, "TOOBIG a pattern of %zu bytes, expected at most %u", pattern.length,
                      CV_GLOB_BYTES);
        return;
    }
    struct listing *listing = service->listing_count < service->limits->listings ? calloc(1, sizeof *listing) : NULL;
    if (listing && command->count > 1)
        listing->pattern = malloc(sizeof *listing->pattern);
    if (!listing || (command->count > 1 && !listing->pattern)) {
        free(listing);
        cv_resp_error(&session->out, "BUSY too many LOCKS at once: expected another try later");
        return;
    }
    listing->chore.run = work;
    listing->session = session;
    listing->end = &listing->first;
    if (listing->pattern)
        cv_glob_prepare(listing->pattern, pattern);
    cv_resp_begin(&listing->out, 2 * PART_BYTES);
    listing->out.protocol = session->out.protocol;
    listing->next = service->listings;
    if (listing->next)
        listing->next->previous = listing;
    service->listings = listing;
    service->listing_count++;
    session->listing = listing;
    start_next(service);
    if (listing->started) { /* a few names are listed at once */
        cv_loop_call_off(service->loop, &listing->chore);
        work(&listing->chore);
    }
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
    stop(listing);
    discard(listing);
    *(listing->previous ? &listing->previous->next : &service->listings) = listing->next;
    if (listing->next)
        listing->next->previous = listing->previous;
    service->listing_count--;
    cv_resp_end(&listing->out);
    free(listing->pattern);
    free(listing);
    session->listing = NULL;
}
