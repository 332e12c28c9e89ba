// SPDX-License-Identifier: MIT
#include "sim/alarms.h"

#include <stdlib.h>

#include "sim/engine.h"
#include "sim/transport.h"
#include "sim/workload.h"

/* The node that the alarm is for. */
static cv_node owner(const struct cv_sim *sim, const struct alarm *alarm)
{
    if (alarm->node == CV_NOBODY)
        return transport_alarmed(sim, alarm);
    return alarm->timer < ALARM_WISH ? alarm->node : load_alarmed(sim, alarm);
}

static void fire(struct cv_sim *sim, const struct alarm *alarm)
{
    if (alarm->node == CV_NOBODY) {
        transport_alarm(sim, alarm);
        return;
    }
    if (load_alarm(sim, alarm))
        return;
    const uint32_t timer = alarm->timer % CV_MAX_TIMERS;
    sim->name = alarm->timer / CV_MAX_TIMERS;
    uint64_t *due = world_timer(sim, alarm->node, timer);
    if (*due != alarm->due)
        return;
    *due = 0;
    sim->timers_active--;
    struct cv_event event = {
        .type = CV_EVENT_TIMEOUT, .peer = CV_NOBODY, .detail = timer, .text = sim->algorithm->timers[timer]};
    sim->algorithm->timeout(world_begin(sim, alarm->node, &event), timer);
    world_finish(sim);
}

/* Counts the alarms of the tick. Do they stand in the order of their nodes? */
static bool is_in_order(const struct cv_sim *sim, struct calendar_list *list, size_t *count)
{
    bool sorted = true;
    cv_node last = 0;
    *count = 0;
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        for (; part.at < part.end; part.at += sizeof(struct alarm), ++*count) {
            const cv_node node = owner(sim, (const void *)part.at);
            sorted &= node >= last;
            last = node;
        }
    return sorted;
}

static int make_room(struct alarm_order *order, size_t count)
{
    if (count <= order->room)
        return 0;
    free(order->alarms);
    free(order->numbers);
    free(order->exchanged);
    order->room = count + count / 2;
    order->alarms = malloc(order->room * sizeof *order->alarms);
    order->numbers = malloc(order->room * sizeof *order->numbers);
    order->exchanged = malloc(order->room * sizeof *order->exchanged);
    if (order->alarms && order->numbers && order->exchanged)
        return 0;
    order->room = 0;
    return CV_ENOMEM;
}

void alarms_free(struct cv_sim *sim)
{
    free(sim->timely.alarms);
    free(sim->timely.numbers);
    free(sim->timely.exchanged);
}

static void fire_in_order(struct cv_sim *sim, size_t count)
{
    struct alarm_order *order = &sim->timely;
    size_t at = 0;
    if (make_room(order, count)) {
        sim->out_of_memory = true;
        return;
    }
    for (struct calendar_part part = calendar_take(&sim->alarms); part.at;
         part = calendar_take_next(&sim->alarms, part))
        for (; part.at < part.end; part.at += sizeof(struct alarm), at++) {
            order->alarms[at] = *(const struct alarm *)(const void *)part.at;
            order->numbers[at] = (uint64_t)owner(sim, &order->alarms[at]) << 32 | (uint32_t)at;
        }
    arrivals_sort(order->numbers, order->exchanged, count, 32);
    for (size_t i = 0; i < count; i++)
        fire(sim, &order->alarms[(uint32_t)order->numbers[i]]);
}

void alarms_fire(struct cv_sim *sim)
{
    size_t count;
    if (!is_in_order(sim, &sim->alarms.near[sim->alarms.now & sim->alarms.mask], &count)) {
        fire_in_order(sim, count);
        return;
    }
    for (struct calendar_part part = calendar_take(&sim->alarms); part.at;
         part = calendar_take_next(&sim->alarms, part))
        for (; part.at < part.end; part.at += sizeof(struct alarm)) {
            const struct alarm alarm = *(const struct alarm *)(const void *)part.at;
            fire(sim, &alarm);
        }
}
