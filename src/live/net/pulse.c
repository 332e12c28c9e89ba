// SPDX-License-Identifier: MIT
#include "live/net/pulse.h"

#include "live/process/event_log.h"
#include "live/process/supervisor.h"

#define BEAT_US 250000u
#define MINUTE_US 60000000u

static void remember(struct cv_pulse *pulse, uint64_t now, uint64_t late)
{
    if (now - pulse->minute_us >= MINUTE_US) {
        pulse->late_us[1] = now - pulse->minute_us < 2ull * MINUTE_US ? pulse->late_us[0] : 0;
        pulse->late_us[0] = 0;
        pulse->minute_us = now;
    }
    if (late > pulse->late_us[0])
        pulse->late_us[0] = late;
    if (late > BEAT_US) {
        pulse->stalls++;
        cv_log(CV_LOG_STALLED, {"ms", .number = late / 1000});
    }
}

static void beat(struct cv_alarm *alarm)
{
    struct cv_pulse *pulse = cv_alarm_owner(alarm, struct cv_pulse, alarm);
    const uint64_t now = cv_loop_now();
    remember(pulse, now, now > alarm->due ? now - alarm->due : 0);
    if (pulse->alive_us && now >= pulse->next_us) {
        cv_supervisor_tell("WATCHDOG=1");
        pulse->next_us = now + pulse->alive_us;
    }
    if (pulse->beat)
        pulse->beat(pulse->context);
    cv_loop_set(pulse->loop, alarm, pulse->alive_us && pulse->alive_us < BEAT_US ? pulse->alive_us : BEAT_US);
}

int cv_pulse_begin(struct cv_pulse *pulse, struct cv_loop *loop)
{
    if (cv_alarms_reserve(&loop->alarms, 1))
        return CV_ENOMEM;
    pulse->loop = loop;
    pulse->alarm.ring = beat;
    pulse->minute_us = cv_loop_now();
    pulse->alive_us = cv_supervisor_patience() / 3; /* two may get lost on a busy machine */
    cv_loop_set(loop, &pulse->alarm, 0);
    return 0;
}

uint64_t cv_pulse_late_us(const struct cv_pulse *pulse)
{
    return pulse->late_us[0] > pulse->late_us[1] ? pulse->late_us[0] : pulse->late_us[1];
}
