// SPDX-License-Identifier: MIT
/*
 * What a process records: its steps, one after the other, each with the time at which it began and its events. A step
 * is written at once and before its messages leave, so that a process that is killed leaves whole steps, but perhaps
 * the last. All processes have one clock, and no message arrives before its step began, so the times put the steps of
 * all processes into an order that could have been.
 *
 * Pointers to texts mean the same in all processes of an experiment: they are forks of one.
 */
#ifndef CONCLAVE_RUN_STEP_LOG_H
#define CONCLAVE_RUN_STEP_LOG_H

#include "core/event.h"

/* Records beside those of enum cv_event_type. */
enum { LOG_STATE = 64, LOG_BROKEN, LOG_LAST_STATE };

struct log_step {
    uint64_t ns;
    uint32_t records;
    uint32_t bytes; /* of the records */
};

struct log_record {
    uint32_t type; /* enum cv_event_type, or one of those above */
    cv_node node;
    cv_node peer;
    uint32_t name;
    uint32_t slot;  /* CV_EVENT_SEND: of the receiver, or NO_SLOT if it is down */
    uint32_t bytes; /* of what follows: a message or a state, in whole words */
    uint64_t clock;
    uint64_t serial; /* of a message: the slot of its sender, then a number from 1 on */
    uint64_t detail;
    uint64_t extra; /* CV_EVENT_PULSE: messages received; CV_EVENT_CALL: 1 if called again; CV_EVENT_REQUEST: clock */
    const char *text;
};

#define LOG_SERIAL_BITS 40u

static inline uint32_t log_serial_slot(uint64_t serial)
{
    return (uint32_t)(serial >> LOG_SERIAL_BITS);
}

static inline uint64_t log_serial_number(uint64_t serial)
{
    return serial & ((UINT64_C(1) << LOG_SERIAL_BITS) - 1);
}

/* The step that is being recorded. */
struct step_log {
    unsigned char *bytes;
    size_t used, room;
    bool out_of_memory;
};

void log_begin(struct step_log *log, uint64_t ns);
/* The record that was added, to be changed before the next one is; NULL if memory is out. */
struct log_record *log_add(struct step_log *log, const struct log_record *record, const void *content, size_t bytes);
/* Does it have records? */
bool log_is_empty(const struct step_log *log);
/* Writes it to a file. 0, or -1 with errno. */
int log_write(const struct step_log *log, int file);
void log_free(struct step_log *log);

#endif
