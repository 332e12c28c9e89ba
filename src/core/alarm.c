// SPDX-License-Identifier: MIT
#include "core/alarm.h"

#include <assert.h>
#include <stdlib.h>

#include "core/error.h"

int cv_alarms_reserve(struct cv_alarms *alarms, size_t more)
{
    const size_t needed = alarms->reserved + more + 1;
    if (needed > alarms->capacity) {
        const size_t capacity = needed > 2 * alarms->capacity ? needed + 64 : 2 * alarms->capacity;
        struct cv_alarm **heap = realloc(alarms->heap, capacity * sizeof *heap);
        if (!heap)
            return CV_ENOMEM;
        alarms->heap = heap;
        alarms->capacity = capacity;
    }
    alarms->reserved += more;
    return 0;
}

void cv_alarms_release(struct cv_alarms *alarms, size_t fewer)
{
    assert(alarms->reserved >= fewer);
    alarms->reserved -= fewer;
}

void cv_alarms_free(struct cv_alarms *alarms)
{
    free(alarms->heap);
    *alarms = (struct cv_alarms){0};
}

static void put(struct cv_alarms *alarms, struct cv_alarm *alarm, size_t place)
{
    alarms->heap[place] = alarm;
    alarm->place = place;
}

static void rise(struct cv_alarms *alarms, struct cv_alarm *alarm, size_t place)
{
    for (; place > 1 && alarms->heap[place / 2]->due > alarm->due; place /= 2)
        put(alarms, alarms->heap[place / 2], place);
    put(alarms, alarm, place);
}

static void sink(struct cv_alarms *alarms, struct cv_alarm *alarm, size_t place)
{
    for (size_t child; (child = 2 * place) <= alarms->count; place = child) {
        if (child < alarms->count && alarms->heap[child + 1]->due < alarms->heap[child]->due)
            child++;
        if (alarms->heap[child]->due >= alarm->due)
            break;
        put(alarms, alarms->heap[child], place);
    }
    put(alarms, alarm, place);
}

void cv_alarm_set(struct cv_alarms *alarms, struct cv_alarm *alarm, uint64_t due)
{
    if (!alarm->place) {
        assert(alarms->count < alarms->reserved);
        alarm->due = due;
        rise(alarms, alarm, ++alarms->count);
        return;
    }
    const uint64_t before = alarm->due;
    alarm->due = due;
    if (due < before)
        rise(alarms, alarm, alarm->place);
    else
        sink(alarms, alarm, alarm->place);
}

void cv_alarm_cancel(struct cv_alarms *alarms, struct cv_alarm *alarm)
{
    const size_t place = alarm->place;
    if (!place)
        return;
    struct cv_alarm *last = alarms->heap[alarms->count--];
    alarm->place = 0;
    if (last == alarm)
        return;
    if (last->due < alarm->due)
        rise(alarms, last, place);
    else
        sink(alarms, last, place);
}

uint64_t cv_alarms_next(const struct cv_alarms *alarms)
{
    return alarms->count ? alarms->heap[1]->due : UINT64_MAX;
}

bool cv_alarms_ring_first(struct cv_alarms *alarms, uint64_t now)
{
    if (!alarms->count || alarms->heap[1]->due > now)
        return false;
    struct cv_alarm *alarm = alarms->heap[1];
    cv_alarm_cancel(alarms, alarm);
    alarm->ring(alarm);
    return true;
}

void cv_alarms_ring(struct cv_alarms *alarms, uint64_t now)
{
    while (cv_alarms_ring_first(alarms, now))
        continue;
}
