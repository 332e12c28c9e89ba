// SPDX-License-Identifier: MIT
/*
 * What an operator reads: one line on standard error for each thing that happens to a node, as logfmt or as JSON.
 *
 *     time=2026-11-15T15:30:00.123Z level=warning event=lease-lost node=1 epoch=7 suspected=2,3
 *     {"time":"2026-11-15T15:30:00.123Z","level":"warning","event":"lease-lost","node":1,"epoch":7,"suspected":"2,3"}
 *
 * A line is written whole or not at all: nobody waits for a reader that does not read. Each kind of event has so many
 * lines and no more (CV_DIARY_BURST, and then one every few seconds), so that whoever knocks a million times cannot
 * fill a disk; the next line says how many were left out. Where systemd's journal listens, its priority stands first.
 */
#ifndef CONCLAVE_LIVE_DIARY_H
#define CONCLAVE_LIVE_DIARY_H

#include <stdbool.h>
#include <stdint.h>

#include "group/view.h"

#define CV_DIARY_BURST 20u
#define CV_DIARY_INTERVAL_US 5000000u /* between lines of one kind after that */

enum cv_diary_level { CV_DIARY_ERROR, CV_DIARY_WARNING, CV_DIARY_INFO };

enum cv_diary_event {
    CV_DIARY_STARTED,
    CV_DIARY_LEAVING,
    CV_DIARY_VIEW_BEGUN,
    CV_DIARY_GRACE, /* a time of grace begins with the view, or goes on */
    CV_DIARY_LEASE_LOST,
    CV_DIARY_LEASE_HELD,
    CV_DIARY_PEER_SUSPECTED,
    CV_DIARY_PEER_TRUSTED,
    CV_DIARY_PEER_REFUSED,   /* a connection that could not prove it is a member, or said what none says */
    CV_DIARY_PEER_CUT_OFF,   /* a member said what none says */
    CV_DIARY_CLIENT_REFUSED, /* the same of a client */
    CV_DIARY_DISK_FAILED,
    CV_DIARY_MEMORY,
    CV_DIARY_LOG_CUT,     /* what made no sense was cut off the journal */
    CV_DIARY_TIE_BREAKER, /* is lost, or found again */
    CV_DIARY_EXPOSED,     /* somebody may listen */
    CV_DIARY_RELOADED,
    CV_DIARY_NOT_RELOADED,
    CV_DIARY_STALLED,     /* the loop did not turn for long */
    CV_DIARY_PRIORITY,    /* is lower than wanted */
    CV_DIARY_ADDRESS,     /* of a member, that cannot be used */
    CV_DIARY_NOT_WRITTEN, /* a file that the node can do without */
    CV_DIARY_REMOVED,     /* the node has no place in the group, or none any more, and ends */
    CV_DIARY_MEMBERS,     /* the file lists others than belong to the group */
    CV_DIARY_FOUNDING,    /* a node without a group waits, and what for */
    CV_DIARY_TERMS,       /* the group's settings count, and not the file's */
    CV_DIARY_LIMITED,     /* the system allows less than the settings do */
    CV_DIARY_EVENTS
};

/* A word and what it says: a text, or for want of one a number. */
struct cv_detail {
    const char *key;
    const char *text;
    uint64_t number;
};

/* From now on, as settings have it. */
void cv_diary_open(bool json, enum cv_diary_level level, cv_id node);

/* cv_note(CV_DIARY_STARTED, {"version", .text = "1"}, {"members", .number = 3}); one detail at least. */
#define cv_note(event, ...) cv_diary_write(event, (const struct cv_detail[]){__VA_ARGS__, {0}})
void cv_diary_write(enum cv_diary_event event, const struct cv_detail *details);

/* What takes a sentence: it is the line's `message`. */
void cv_diary_say(enum cv_diary_event event, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The ids of some members as a detail's text, "1,2,3"; none: "". */
#define CV_DIARY_IDS_BYTES (11u * CV_MAX_MEMBERS + 1u)
const char *cv_diary_ids(const struct cv_roster *roster, cv_set nodes, char text[CV_DIARY_IDS_BYTES]);

#endif
