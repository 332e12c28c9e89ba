// SPDX-License-Identifier: MIT
/*
 * The readers of the page's events. Once a second, while there are readers, a chore of the loop surveys the names and
 * makes a snapshot, one for all readers with the same rights, and each reader gets it.
 *
 *     tick --> for each ACL of a reader: survey (in parts) --> snapshot --> its readers --> pause --> tick
 *
 * There are never more than a few readers: the oldest has to go. One that does not read for long has to go, too. After
 * a survey that took long the pause is longer, so that readers cost a small part of the processor's time, however many
 * names there are.
 */
#ifndef CONCLAVE_SERVICE_HTTP_PAGE_H
#define CONCLAVE_SERVICE_HTTP_PAGE_H

#include "live/net/stream.h"
#include "service/http/snapshot.h"

#define PAGE_READERS 32u
#define PAGE_READERS_EACH 16u /* from one address */

/* The page itself, and its Content-Security-Policy: made by scripts/embed_page.py. */
extern const char page_html[];
extern const char page_policy[];

struct page_reader {
    struct cv_stream *stream; /* NULL: this is no reader */
    struct page *page;
    struct page_reader *next, *previous;
    const struct cv_acl *acl;
    uint64_t round;          /* of the last snapshot that was made for it */
    struct snapshot *unsent; /* or NULL */
    uint64_t behind_us;      /* since when the last snapshot has not gone out; 0: it has */
};

struct page {
    struct cv_service *service;
    struct cv_service_watcher watcher;
    struct cv_door door;
    struct page_reader *readers;
    struct cv_alarm tick;
    struct cv_chore chore;
    struct survey *survey; /* NULL: nobody reads */
    bool surveys;          /* it is under way */
    uint64_t round;
    uint64_t round_us;    /* when this round began */
    uint64_t taken_us;    /* for the work of this round */
    uint64_t earliest_us; /* no round begins before */
    uint64_t sent_ms;     /* the millisecond in which the last snapshot was sent, */
    size_t sent;          /* and the bytes that were sent in it */
    struct recent_holds recent;
};

/* 0 or CV_ENOMEM. */
int page_open(struct page *page, struct cv_service *service);
/* Its request has been answered; from now on it gets snapshots. False if there is no memory. */
bool page_join(struct page *page, struct page_reader *reader, struct cv_stream *stream, struct cv_visitor *visitor);
/* Writes what is to go out; its stream's flush. */
void page_flush(struct page_reader *reader);
/* Its stream is gone. */
void page_leave(struct page *page, struct page_reader *reader);
/* The ACLs have changed. */
void page_reconsider(struct page *page);

#endif
