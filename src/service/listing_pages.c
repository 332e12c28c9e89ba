// SPDX-License-Identifier: MIT
/*
 *     this node                               another member
 *     LIST pattern, cursor      --------->    walks through some of its names, from the cursor down
 *                               <---------    PAGE items, cursor: the rest is below it; 0: that was all
 *     LIST pattern, that cursor --------->    ...
 *
 * The other member keeps nothing between two pages. It counts its names down, so that a name that goes meanwhile makes
 * another one come twice, at worst: the last name takes the place of one that goes. WAITERS and ASKBACK have one page.
 */
#include "service/listing_pages.h"

#include "service/ask_back.h"

#define LOOK_US 50000u                 /* after so long this node looks whether others may still answer */
#define NAMES_EACH_PAGE 4096u          /* that are looked at for a page */
#define MOST_ASKED ((uint64_t)1 << 32) /* no member has more clients */
#define FROM_THE_LAST INT64_MAX        /* the first cursor */

/* ---- asking ---- */

static struct cv_text question_about(const struct listing *listing)
{
    return listing->name_length ? (struct cv_text){listing->name, listing->name_length} : cv_text("*");
}

static bool ask_member(struct listing *listing, cv_node node, uint64_t cursor)
{
    static const enum peer_notice_kind kinds[] = {[LISTING_LOCKS] = PEER_NOTICE_LIST,
                                                  [LISTING_WAITERS_OF] = PEER_NOTICE_WAITERS,
                                                  [LISTING_ASK_BACK] = PEER_NOTICE_ASK_BACK};
    const struct session *session = listing->session;
    return peer_notice_send(session->service, node,
                            &(struct peer_notice){.kind = kinds[listing->kind],
                                                  .subject = CV_SUBJECT_LOCK,
                                                  .name = question_about(listing),
                                                  .ticket = listing->ticket,
                                                  .cursor = cursor,
                                                  .hold_kinds = listing->kinds,
                                                  .client = cv_kept(session->name)});
}

static void leave_out(struct listing *listing, cv_set nodes)
{
    listing->silent |= nodes;
    listing->awaited &= ~nodes;
}

/* A member that is not in the view, or that may be dead, does not answer. */
static cv_set unreachable(const struct cv_service *service)
{
    const struct cv_algorithm_host *host = service->host;
    return service->member->peers.suspected | (cv_host_ready(host) ? ~host->view.members : ~(cv_set)0);
}

static void look(struct cv_alarm *alarm)
{
    struct listing *listing = cv_alarm_owner(alarm, struct listing, alarm);
    const struct cv_service *service = listing->session->service;
    const uint64_t now = service->host->calls.now();
    leave_out(listing, listing->awaited & service->member->peers.suspected);
    if (now >= listing->until_us)
        leave_out(listing, listing->awaited);
    if (listing->awaited)
        cv_alarm_set(service->alarms, &listing->alarm, now + LOOK_US);
    listing_complete(listing);
}

void listing_ask(struct listing *listing)
{
    struct cv_service *service = listing->session->service;
    const struct cv_roster *roster = service->host->roster;
    const uint64_t now = service->host->calls.now();
    for (cv_node node = 0; node < roster->count; node++)
        if (node != roster->me && roster->ids[node] != CV_NO_ID)
            listing->awaited |= cv_set_of(node);
    leave_out(listing, listing->awaited & unreachable(service));
    for (cv_node node = 0; node < roster->count; node++)
        if (cv_set_has(listing->awaited, node) && !ask_member(listing, node, FROM_THE_LAST))
            leave_out(listing, cv_set_of(node));
    listing->alarm.ring = look;
    listing->until_us = now + service->member->peers.most_us;
    if (listing->awaited)
        cv_alarm_set(service->alarms, &listing->alarm, now + LOOK_US);
}

/* ---- answering ---- */

struct page {
    struct peer_notice notice;
    size_t used;
    char bytes[PEER_NOTICE_PAGE_BYTES];
};

static bool has_room(const struct page *page)
{
    return page->used + LISTED_MOST_BYTES <= sizeof page->bytes;
}

static void put(struct page *page, const struct listed *item)
{
    page->used += listed_pack(page->bytes + page->used, item);
}

static void fill_names(const struct cv_service *service, struct page *page, const struct peer_notice *question)
{
    const struct cv_algorithm_host *host = service->host;
    struct cv_glob_prepared pattern;
    size_t cursor = question->cursor < host->count ? question->cursor : host->count;
    cv_glob_prepare(&pattern, question->name);
    for (uint32_t left = NAMES_EACH_PAGE; cursor && left && has_room(page); left--) {
        const struct cv_instance *instance = host->all[--cursor];
        const struct lock *lock = instance->user;
        if (!lock || !(lock->first || lock->holds) || !cv_glob_fits(&pattern, cv_instance_name(instance)))
            continue;
        const struct listed item = listed_lock(lock);
        put(page, &item);
    }
    page->notice.cursor = cursor;
}

static void fill_waiters(const struct cv_service *service, struct page *page, struct cv_text name)
{
    static const enum cv_subject subjects[] = {CV_SUBJECT_LOCK, CV_SUBJECT_LEADER};
    for (size_t i = 0; i < 2; i++) {
        const struct lock *lock = lock_find(service, subjects[i], name);
        uint32_t left = LISTING_WAITERS;
        for (const struct waiter *it = lock ? lock->first : NULL; it && left && has_room(page); it = it->next, left--) {
            const struct listed item = listed_waiter(it);
            put(page, &item);
        }
    }
}

void listing_hear_question(struct cv_service *service, const struct peer_notice *notice)
{
    struct page page;
    page.used = 0;
    page.notice = (struct peer_notice){
        .kind = PEER_NOTICE_PAGE, .subject = CV_SUBJECT_LOCK, .name = notice->name, .ticket = notice->ticket};
    if (notice->kind == PEER_NOTICE_LIST)
        fill_names(service, &page, notice);
    else if (notice->kind == PEER_NOTICE_WAITERS)
        fill_waiters(service, &page, notice->name);
    else
        page.notice.result = ask_back(service, notice->name, notice->hold_kinds, notice->client);
    page.notice.page = (struct cv_text){page.bytes, page.used};
    peer_notice_send(service, notice->from, &page.notice);
}

/* ---- hearing the answers ---- */

static struct listing *listing_of(const struct cv_service *service, const struct peer_notice *notice)
{
    struct listing *listing = service->listings;
    while (listing && listing->ticket != notice->ticket)
        listing = listing->next;
    return listing && cv_set_has(listing->awaited, notice->from) ? listing : NULL;
}

/* All of the page is read before anything of it counts. */
static bool is_valid(struct cv_text page, bool names)
{
    struct listed item;
    while (page.length)
        if (!listed_unpack(&page, &item) || (names && !item.name.length))
            return false;
    return true;
}

/* Every page brings the end nearer, so a member that goes on answering gets more time. */
void listing_hear_page(struct cv_service *service, const struct peer_notice *notice)
{
    struct listing *listing = listing_of(service, notice);
    struct cv_text page = notice->page;
    struct listed item;
    if (!listing || listing->whole)
        return;
    if (!is_valid(page, listing->kind == LISTING_LOCKS)) {
        cv_peers_cut_off(&service->member->peers, notice->from, "it lists what no member lists");
        leave_out(listing, cv_set_of(notice->from));
        listing_complete(listing);
        return;
    }
    const cv_id node = service->host->roster->ids[notice->from];
    while (listing->kind != LISTING_ASK_BACK && page.length && listed_unpack(&page, &item))
        listing_add(listing, node, &item);
    if (listing->kind == LISTING_ASK_BACK)
        listing->count += notice->result < MOST_ASKED ? notice->result : MOST_ASKED;
    if (listing->kind == LISTING_LOCKS && notice->cursor && !listing->failed) {
        listing->until_us = service->host->calls.now() + service->member->peers.most_us;
        if (!ask_member(listing, notice->from, notice->cursor))
            leave_out(listing, cv_set_of(notice->from));
    } else {
        listing->awaited &= ~cv_set_of(notice->from);
    }
    listing_complete(listing);
}
