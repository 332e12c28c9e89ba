// SPDX-License-Identifier: MIT
/*
 * A heap of alarms, the next one on top. An alarm is a member of the structure that it is for and knows its place in
 * the heap, so that it can be set anew or cancelled. The caller reserves room ahead; after that no function here can
 * fail.
 */
#ifndef CONCLAVE_CORE_ALARM_H
#define CONCLAVE_CORE_ALARM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cv_alarm {
    void (*ring)(struct cv_alarm *alarm);
    uint64_t due;
    size_t place; /* in the heap, from 1; 0: not set */
};

/* The structure that an alarm is a member of. */
#define cv_alarm_owner(alarm, type, field) ((type *)(void *)((char *)(alarm)-offsetof(type, field)))

struct cv_alarms {
    struct cv_alarm **heap; /* from 1 on; the alarm at i is due no later than those at 2i and 2i + 1 */
    size_t count, capacity;
    size_t reserved;
};

/* Makes room for so many more alarms to be set at the same time. 0 or CV_ENOMEM. */
int cv_alarms_reserve(struct cv_alarms *alarms, size_t more);
void cv_alarms_release(struct cv_alarms *alarms, size_t fewer);
void cv_alarms_free(struct cv_alarms *alarms);

/* Sets an alarm, or sets it anew. */
void cv_alarm_set(struct cv_alarms *alarms, struct cv_alarm *alarm, uint64_t due);
void cv_alarm_cancel(struct cv_alarms *alarms, struct cv_alarm *alarm);

/* The time of the next alarm; UINT64_MAX if none is set. */
uint64_t cv_alarms_next(const struct cv_alarms *alarms);

/* Rings the alarms that are due, and those that they set for the same time. */
void cv_alarms_ring(struct cv_alarms *alarms, uint64_t now);
/* Rings the first alarm that is due; false if none is. */
bool cv_alarms_ring_first(struct cv_alarms *alarms, uint64_t now);

#endif
