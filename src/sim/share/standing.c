// SPDX-License-Identifier: MIT
#include "sim/share/standing.h"

#include <assert.h>

static struct standing_report own_report(const struct share_worker *worker, uint64_t probe)
{
    const uint64_t next = worker_next_event(worker);
    return (struct standing_report){.sent = worker->sent,
                                    .received = worker->taken,
                                    .probe = probe,
                                    .next = next,
                                    .waits = !worker_may_play(worker, next)};
}

static void ask_all(struct share_worker *first, uint64_t received)
{
    first->probe++;
    first->probed = received;
    for (uint32_t i = 1; i < first->split->workers; i++)
        worker_tell(first, (struct batch_head){.to = i, .type = BATCH_PROBE, .probe = first->probe});
}

/*
 * All wait, and nothing is on its way: whatever comes follows from the first of their next events, or from a later one.
 * Nothing follows from that one alone, for the worker that has it, before it has sent something.
 */
static void begin_leap(struct share_worker *first)
{
    uint64_t soonest = CV_NEVER, second = CV_NEVER;
    uint32_t owner = 0;
    for (uint32_t i = 0; i < first->split->workers; i++) {
        const uint64_t next = first->reports[i].next;
        second = share_earlier(second, next < soonest ? soonest : next);
        if (next < soonest)
            owner = i;
        soonest = share_earlier(soonest, next);
        first->reports[i].waits = false; /* until it reports again */
    }
    if (soonest > first->sim->pause) {
        worker_stop_all(first, STOP_QUIET);
        return;
    }
    for (uint32_t i = 0; i < first->split->workers; i++) {
        const uint64_t quiet = share_later(i == owner ? second : soonest, first->split->least_delay);
        if (i)
            worker_tell(first, (struct batch_head){.to = i, .type = BATCH_LEAP, .promise = quiet});
        else
            first->leap = quiet;
    }
    first->answered = CV_NEVER;
    first->patience = first->patience / 2 + 1;
}

/*
 * The four counters of Mattern: all waited, and what they had received then equals what they have sent now, as they
 * wait again. So nothing was under way in between, and nobody will ever wake up by itself.
 */
static void look_around(struct share_worker *first)
{
    uint64_t sent = 0, received = 0;
    bool answered = true, wait = true;
    assert(first->reports);
    first->reports[0] = own_report(first, first->probe);
    for (uint32_t i = 0; i < first->split->workers; i++) {
        wait &= first->reports[i].waits;
        sent += first->reports[i].sent;
        received += first->reports[i].received;
        answered &= first->reports[i].probe == first->probe;
    }
    if (first->probe && !answered)
        return;
    if (wait && first->probe && first->probed == sent)
        begin_leap(first);
    else if (wait && sent == received)
        ask_all(first, received);
    else if (first->creeps >= first->patience) {
        first->creeps = 0;
        ask_all(first, UINT64_MAX);
    }
}

void standing_hear(struct share_worker *first, const struct batch_head *head)
{
    assert(first->reports);
    first->reports[head->from] = (struct standing_report){
        .sent = head->sent, .received = head->received, .probe = head->probe, .next = head->next, .waits = head->waits};
}

static void report(struct share_worker *worker, uint64_t probe)
{
    const struct standing_report now = own_report(worker, probe);
    worker->reported = now;
    worker->has_reported = true;
    worker_tell(worker, (struct batch_head){.to = 0,
                                            .type = BATCH_REPORT,
                                            .probe = probe,
                                            .sent = now.sent,
                                            .received = now.received,
                                            .next = now.next,
                                            .waits = now.waits});
}

/* A leap that follows from this report counts what is sent after it. */
void standing_answer(struct share_worker *worker, uint64_t probe)
{
    report(worker, probe);
    if (!worker->reported.waits)
        return;
    worker->leap = 0;
    worker->answered = CV_NEVER;
}

void standing_tell(struct share_worker *worker)
{
    const struct standing_report now = own_report(worker, worker->reported.probe), *last = &worker->reported;
    if (!worker->number)
        look_around(worker);
    else if (now.next > worker->sim->pause &&
             (!worker->has_reported || !last->waits || now.sent != last->sent || now.received != last->received))
        report(worker, last->probe);
}

void standing_leap(struct share_worker *worker, uint64_t quiet)
{
    worker->leap = quiet;
    worker->has_reported = false;
}
