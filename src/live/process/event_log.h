// SPDX-License-Identifier: MIT
/*
 * The operator's log: one line on standard error for each event of a node, as logfmt or as JSON.
 *
 *     time=2026-11-15T15:30:00.123Z level=warning event=lease-lost node=1 epoch=7 suspected=2,3
 *     {"time":"2026-11-15T15:30:00.123Z","level":"warning","event":"lease-lost","node":1,"epoch":7,"suspected":"2,3"}
 *
 * A line is written whole or not at all: the node never waits for a reader. Each kind of event may write CV_LOG_BURST
 * lines, and then one every few seconds, so that a million connections of a stranger do not fill a disk. The next
 * line says how many were left out. Where systemd's journal listens, the priority stands first.
 */
#ifndef CONCLAVE_LIVE_PROCESS_EVENT_LOG_H
#define CONCLAVE_LIVE_PROCESS_EVENT_LOG_H

#include <stdbool.h>
#include <stdint.h>

#include "group/view.h"

#define CV_LOG_BURST 20u
#define CV_LOG_INTERVAL_US 5000000u /* between lines of one kind after that */

enum cv_log_level { CV_LOG_ERROR, CV_LOG_WARNING, CV_LOG_INFO };

enum cv_log_event {
    CV_LOG_STARTED,
    CV_LOG_LEAVING,
    CV_LOG_VIEW_BEGUN,
    CV_LOG_GRACE,  /* a time of grace begins with the view, or goes on */
    CV_LOG_FENCES, /* the view has no fences */
    CV_LOG_LEASE_LOST,
    CV_LOG_LEASE_HELD,
    CV_LOG_PEER_SUSPECTED,
    CV_LOG_PEER_TRUSTED,
    CV_LOG_PEER_REFUSED,   /* a connection failed to authenticate as a member, or sent what no member sends */
    CV_LOG_PEER_CUT_OFF,   /* a member sent what no correct member sends */
    CV_LOG_CLIENT_REFUSED, /* a client failed to authenticate, or sent what no client sends */
    CV_LOG_DISK_FAILED,
    CV_LOG_MEMORY,
    CV_LOG_LOG_CUT,     /* a broken end was cut off the journal */
    CV_LOG_TIE_BREAKER, /* the tie-breaker's file is lost, or found again */
    CV_LOG_EXPOSED,     /* others may eavesdrop */
    CV_LOG_RELOADED,
    CV_LOG_NOT_RELOADED,
    CV_LOG_STALLED,       /* the loop stood still for long */
    CV_LOG_PRIORITY,      /* the priority is lower than configured */
    CV_LOG_ADDRESS,       /* an address of a member cannot be used */
    CV_LOG_NOT_WRITTEN,   /* the node could not write a file that it can do without */
    CV_LOG_REMOVED,       /* the node has no place in the group, or none any more, and ends */
    CV_LOG_MEMBERS,       /* the file lists other members than the group has */
    CV_LOG_FOUNDING,      /* a node without a group tells what it waits for */
    CV_LOG_TERMS,         /* the group's terms override the file's */
    CV_LOG_LIMITED,       /* the system allows less than the settings do */
    CV_LOG_PLUGIN_FAILED, /* a plugin crashed, and the node ends */
    CV_LOG_FORCED,        /* an operator has ended somebody's hold */
    CV_LOG_HOLD_LOST,     /* a time to live has run out, and its client has lost what it held */
    CV_LOG_EVENTS
};

/* A key and its value: a text, or, if that is NULL, a number. */
struct cv_detail {
    const char *key;
    const char *text;
    uint64_t number;
};

/* Opens the log, as configured. */
void cv_log_open(bool json, enum cv_log_level level, cv_id node);

/* cv_log(CV_LOG_STARTED, {"version", .text = "1"}, {"members", .number = 3}); one detail at least. */
#define cv_log(event, ...) cv_log_write(event, (const struct cv_detail[]){__VA_ARGS__, {0}})
void cv_log_write(enum cv_log_event event, const struct cv_detail *details);

/* Writes a line whose `message` is that sentence. */
void cv_log_say(enum cv_log_event event, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- the latest events, for the node's page ---- */

#define CV_LOG_RECENT 48u      /* kept, whatever the level of the log is */
#define CV_LOG_RECENT_EACH 12u /* of one kind, so that a stranger's connections do not push out everything else */
#define CV_LOG_RECENT_BYTES 240u

struct cv_log_entry {
    uint64_t number; /* of all events so far; 0: none */
    int64_t time_ms; /* since 1970 */
    enum cv_log_event event;
    char text[CV_LOG_RECENT_BYTES]; /* the details; an event of one sentence: that sentence */
};

/* The first event after that number which is still known; NULL if there is none. */
const struct cv_log_entry *cv_log_after(uint64_t number);
/* "view-begun"; and "info". */
const char *cv_log_event_name(enum cv_log_event event);
const char *cv_log_event_level(enum cv_log_event event);

/* The ids of some members as a detail's text, "1,2,3"; none: "". */
#define CV_LOG_IDS_BYTES (11u * CV_MAX_MEMBERS + 1u)
const char *cv_log_ids(const struct cv_roster *roster, cv_set nodes, char text[CV_LOG_IDS_BYTES]);

#endif
