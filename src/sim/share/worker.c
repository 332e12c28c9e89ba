// SPDX-License-Identifier: MIT
#include "sim/share/worker.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "core/apart.h"
#include "core/wall_clock.h"
#include "sim/engine.h"
#include "sim/quick.h"
#include "sim/rounds.h"
#include "sim/setup.h"

#define FEW_BYTES 4096u      /* so few messages are looked through whenever a promise is made */
#define WORK_PER_LOOK 8u     /* more are looked through when so many times their bytes have been handled */
#define RESTS_PER_REPORT 64u /* a worker that hears something sooner was not idle: it waited for its turn */
#define TURNS_PER_TELL 64    /* how often the first worker shows progress */
#define MOST_PATIENCE 64u

/* ---- the neighbours ---- */

static uint64_t earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

/* A time so many ticks later; CV_NEVER stays what it is. */
static uint64_t later(uint64_t time, uint64_t ticks)
{
    return time > CV_NEVER - ticks ? CV_NEVER : time + ticks;
}

static int find_neighbours(struct share_worker *worker)
{
    const struct split *split = worker->split;
    const struct cv_group *group = &worker->sim->group;
    const bool ring = split->shape == SPLIT_RING || split->shape == SPLIT_RING_BOTH;
    worker->neighbours = cv_new_apart(split->workers * sizeof *worker->neighbours);
    worker->elsewhere.mail = cv_new_apart(split->workers * sizeof *worker->elsewhere.mail);
    if (!worker->neighbours || !worker->elsewhere.mail)
        return CV_ENOMEM;
    for (uint32_t other = 0; other < split->workers; other++) {
        struct elsewhere_mail *mail = &worker->elsewhere.mail[other];
        const uint32_t count = split_part(split, other, 1).count;
        const bool sends = split_adjoins(split, group, other, worker->number);
        const bool hears = split_adjoins(split, group, worker->number, other);
        mail->earliest = CV_NEVER;
        mail->linked = hears;
        mail->answer_ticks = split->least_delay * (split->shape == SPLIT_RING ? count : 1);
        if (!sends)
            mail->answer_ticks = CV_NEVER / 2;
        if (!sends && !hears)
            continue;
        worker->neighbours[worker->neighbour_count++] = (struct neighbour){
            .worker = other,
            .sends = sends,
            .hears = hears,
            .crossing = split->least_delay * (ring ? worker->elsewhere.count : 1),
            .promise = split->least_delay,
            .promised = split->least_delay,
            .owed = CV_NEVER,
        };
    }
    return 0;
}

int worker_init(struct share_worker *worker, struct cv_sim *world, const struct split *split, struct batches *batches,
                uint32_t number)
{
    *worker = (struct share_worker){.batches = batches, .split = split, .number = number};
    worker->elsewhere = split_part(split, number, 1);
    worker->elsewhere.headroom = sizeof(struct batch);
    if (world_new_worker(&worker->sim, world, &worker->elsewhere) || find_neighbours(worker))
        return CV_ENOMEM;
    worker->patience = MOST_PATIENCE;
    if (number)
        return 0;
    worker->reports = calloc(split->workers, sizeof *worker->reports);
    return worker->reports ? 0 : CV_ENOMEM;
}

void worker_free(struct share_worker *worker)
{
    for (uint32_t other = 0; worker->elsewhere.mail && other < worker->split->workers; other++) {
        free(worker->elsewhere.mail[other].messages.memory);
        free(worker->elsewhere.mail[other].pulses.memory);
    }
    for (uint32_t i = 0; i < worker->neighbour_count; i++)
        free(worker->neighbours[i].unheeded);
    for (size_t i = 0; i < worker->ahead_count; i++)
        free(worker->ahead[i].rows);
    free(worker->elsewhere.mail);
    elsewhere_free_spare(&worker->elsewhere);
    free(worker->neighbours);
    free(worker->ahead);
    free(worker->reports);
    world_free_worker(worker->sim);
    *worker = (struct share_worker){0};
}

static void remember(struct share_worker *worker, struct neighbour *neighbour, uint64_t back)
{
    if (!neighbour->sends)
        return;
    if (neighbour->unheeded_first == neighbour->unheeded_end)
        neighbour->unheeded_first = neighbour->unheeded_end = 0;
    if (neighbour->unheeded_end == neighbour->unheeded_room) {
        const size_t room = neighbour->unheeded_room ? neighbour->unheeded_room * 2 : 16;
        struct unheeded *grown = realloc(neighbour->unheeded, room * sizeof *grown);
        if (!grown) {
            worker->sim->out_of_memory = true;
            return;
        }
        neighbour->unheeded = grown;
        neighbour->unheeded_room = room;
    }
    neighbour->unheeded[neighbour->unheeded_end++] = (struct unheeded){neighbour->sent, back};
}

/* When the next message of that neighbour can arrive here. What waits for it here may be answered, too. */
static uint64_t next_from(const struct share_worker *worker, const struct neighbour *neighbour)
{
    const struct elsewhere_mail *mail = &worker->elsewhere.mail[neighbour->worker];
    uint64_t next = earlier(neighbour->promise, later(mail->earliest, mail->answer_ticks));
    for (size_t i = neighbour->unheeded_first; i < neighbour->unheeded_end; i++)
        next = earlier(next, neighbour->unheeded[i].back);
    return neighbour->sends ? next : CV_NEVER;
}

static uint64_t find_horizon(const struct share_worker *worker)
{
    uint64_t horizon = CV_NEVER;
    for (uint32_t i = 0; i < worker->neighbour_count; i++)
        horizon = earlier(horizon, next_from(worker, &worker->neighbours[i]));
    return horizon;
}

/* ---- messages that came early ---- */

static bool precedes(const struct ahead *one, const struct ahead *other)
{
    return one->due < other->due || (one->due == other->due && one->number < other->number);
}

static void keep_ahead(struct share_worker *worker, uint64_t due, const void *rows, size_t bytes)
{
    if (worker->ahead_count == worker->ahead_room) {
        const size_t room = worker->ahead_room ? worker->ahead_room * 2 : 64;
        struct ahead *grown = realloc(worker->ahead, room * sizeof *grown);
        if (!grown) {
            worker->sim->out_of_memory = true;
            return;
        }
        worker->ahead = grown;
        worker->ahead_room = room;
    }
    const struct ahead it = {due, worker->ahead_number++, malloc(bytes), bytes};
    if (!it.rows) {
        worker->sim->out_of_memory = true;
        return;
    }
    memcpy(it.rows, rows, bytes);
    size_t at = worker->ahead_count++;
    for (; at && precedes(&it, &worker->ahead[(at - 1) / 2]); at = (at - 1) / 2)
        worker->ahead[at] = worker->ahead[(at - 1) / 2];
    worker->ahead[at] = it;
}

static struct ahead take_ahead(struct share_worker *worker)
{
    const struct ahead first = worker->ahead[0], it = worker->ahead[--worker->ahead_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < worker->ahead_count; at = child) {
        if (child + 1 < worker->ahead_count && precedes(&worker->ahead[child + 1], &worker->ahead[child]))
            child++;
        if (!precedes(&worker->ahead[child], &it))
            break;
        worker->ahead[at] = worker->ahead[child];
    }
    worker->ahead[at] = it;
    return first;
}

static void put_in_calendar(struct cv_sim *sim, uint64_t due, unsigned char *rows, size_t bytes)
{
    for (const unsigned char *end = rows + bytes; rows < end;) {
        const struct cv_row *row = (const void *)rows;
        if (!sim->direct || !row->further) {
            quick_put(sim, elsewhere_message(rows), due);
            elsewhere_next(&rows);
            continue;
        }
        quick_put_row(sim, row, due);
        rows += sizeof *row + cv_message_bytes(elsewhere_message(rows));
    }
}

/* Is the place of that tick in the calendar its own? */
static bool fits(const struct cv_sim *sim, uint64_t due)
{
    return !sim->mail.direct || due - sim->mail.now <= sim->mail.mask;
}

static void admit_ahead(struct share_worker *worker)
{
    struct cv_sim *sim = worker->sim;
    while (worker->ahead_count && fits(sim, worker->ahead[0].due)) {
        const struct ahead it = take_ahead(worker);
        put_in_calendar(sim, it.due, it.rows, it.bytes);
        free(it.rows);
    }
}

void worker_keep(struct share_worker *worker, uint64_t due, const struct cv_message *message)
{
    const size_t bytes = sizeof(struct cv_row) + cv_message_bytes(message);
    if (fits(worker->sim, due)) {
        quick_put(worker->sim, message, due);
        return;
    }
    struct cv_row *row = calloc(1, bytes);
    if (!row) {
        worker->sim->out_of_memory = true;
        return;
    }
    memcpy(row + 1, message, bytes - sizeof *row);
    keep_ahead(worker, due, row, bytes);
    free(row);
}

void worker_forget_promises(struct share_worker *worker)
{
    for (uint32_t i = 0; i < worker->neighbour_count; i++)
        worker->neighbours[i].promise = worker->neighbours[i].promised = worker->sim->now + worker->split->least_delay;
}

/* ---- hearing from others ---- */

static void take_messages(struct share_worker *worker, struct neighbour *neighbour, struct batch *batch)
{
    struct cv_sim *sim = worker->sim;
    unsigned char *at = batch->bytes, *end = at + batch->head.message_size;
    while (at < end) {
        struct elsewhere_due head;
        memcpy(&head, at, sizeof head);
        at += sizeof head;
        worker->elsewhere.early |= head.due <= sim->now;
        if (worker->elsewhere.early)
            return;
        neighbour->owed = earlier(neighbour->owed, head.due + 1);
        if (fits(sim, head.due))
            put_in_calendar(sim, head.due, at, head.bytes);
        else
            keep_ahead(worker, head.due, at, head.bytes);
        at += head.bytes;
    }
    for (end = at + batch->head.pulse_size; at < end; at += sizeof(struct elsewhere_pulse)) {
        struct elsewhere_pulse pulse;
        memcpy(&pulse, at, sizeof pulse);
        rounds_hear(sim, pulse);
    }
}

static void take_mail(struct share_worker *worker, struct batch *batch)
{
    struct neighbour *neighbour = worker->neighbours;
    while (neighbour->worker != batch->head.from)
        neighbour++;
    admit_ahead(worker);
    take_messages(worker, neighbour, batch);
    const bool content = batch->head.message_size || batch->head.pulse_size;
    neighbour->taken += content;
    worker->taken += content;
    neighbour->promise = batch->head.promise;
    while (neighbour->unheeded_first < neighbour->unheeded_end &&
           neighbour->unheeded[neighbour->unheeded_first].number <= batch->head.taken)
        neighbour->unheeded_first++;
}

static uint64_t next_event(const struct share_worker *worker)
{
    const struct cv_sim *sim = worker->sim;
    const uint64_t next = world_next_tick(sim, CV_NEVER);
    return worker->ahead_count ? earlier(next, worker->ahead[0].due) : next;
}

bool worker_is_done(const struct share_worker *worker)
{
    return next_event(worker) == CV_NEVER;
}

/* ---- the end ---- */

static void post(struct share_worker *worker, struct batch *batch)
{
    bool copied;
    batch->head.from = worker->number;
    if (batches_send(worker->batches, batch, &copied))
        worker->sim->out_of_memory = true;
    if (copied)
        elsewhere_recycle(&worker->elsewhere, batch, batch->room);
}

static void send_small(struct share_worker *worker, struct batch_head head)
{
    struct batch *batch = elsewhere_take_spare(&worker->elsewhere);
    if (!batch) {
        worker->sim->out_of_memory = true;
        return;
    }
    batch->room = ELSEWHERE_FEW;
    batch->head = head;
    post(worker, batch);
}

static void stop_all(struct share_worker *worker, enum stop stop)
{
    for (uint32_t other = 0; other < worker->split->workers; other++)
        if (other != worker->number)
            send_small(worker, (struct batch_head){.to = other, .type = BATCH_STOP, .stop = stop});
    worker->stop = stop;
}

static bool may_play(const struct share_worker *worker, uint64_t next)
{
    return next <= worker->sim->pause &&
           (next < earlier(worker->leap, worker->answered) || next < find_horizon(worker));
}

static struct standing_report own_report(const struct share_worker *worker, uint64_t probe)
{
    const uint64_t next = next_event(worker);
    return (struct standing_report){.sent = worker->sent,
                                    .received = worker->taken,
                                    .probe = probe,
                                    .next = next,
                                    .waits = !may_play(worker, next)};
}

static void ask_all(struct share_worker *first, uint64_t received)
{
    first->probe++;
    first->probed = received;
    for (uint32_t i = 1; i < first->split->workers; i++)
        send_small(first, (struct batch_head){.to = i, .type = BATCH_PROBE, .probe = first->probe});
}

/*
 * All wait, and nothing is on its way: whatever comes follows from the first of their next events, or from a later one.
 * Nothing follows from that one alone, for the worker that has it, before it has sent something.
 */
static void leap(struct share_worker *first)
{
    uint64_t soonest = CV_NEVER, second = CV_NEVER;
    uint32_t owner = 0;
    for (uint32_t i = 0; i < first->split->workers; i++) {
        const uint64_t next = first->reports[i].next;
        second = earlier(second, next < soonest ? soonest : next);
        if (next < soonest)
            owner = i;
        soonest = earlier(soonest, next);
        first->reports[i].waits = false; /* until it reports again */
    }
    if (soonest > first->sim->pause) {
        stop_all(first, STOP_QUIET);
        return;
    }
    for (uint32_t i = 0; i < first->split->workers; i++) {
        const uint64_t quiet = later(i == owner ? second : soonest, first->split->least_delay);
        if (i)
            send_small(first, (struct batch_head){.to = i, .type = BATCH_LEAP, .promise = quiet});
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
        leap(first);
    else if (wait && sent == received)
        ask_all(first, received);
    else if (first->creeps >= first->patience) {
        first->creeps = 0;
        ask_all(first, UINT64_MAX);
    }
}

static void hear_report(struct share_worker *first, const struct batch_head *head)
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
    send_small(worker, (struct batch_head){.to = 0,
                                           .type = BATCH_REPORT,
                                           .probe = probe,
                                           .sent = now.sent,
                                           .received = now.received,
                                           .next = now.next,
                                           .waits = now.waits});
}

/* A leap that follows from this report counts what is sent after it. */
static void answer(struct share_worker *worker, uint64_t probe)
{
    report(worker, probe);
    if (!worker->reported.waits)
        return;
    worker->leap = 0;
    worker->answered = CV_NEVER;
}

/* A worker that has nothing to do before the pause tells the first one, unless that knows. */
static void report_idle(struct share_worker *worker)
{
    const struct standing_report now = own_report(worker, worker->reported.probe), *last = &worker->reported;
    if (!worker->number)
        look_around(worker);
    else if (now.next > worker->sim->pause &&
             (!worker->has_reported || !last->waits || now.sent != last->sent || now.received != last->received))
        report(worker, last->probe);
}

static bool take_batches(struct share_worker *worker)
{
    struct batch *batch;
    int error;
    bool some = false;
    while ((batch = batches_take(worker->batches, worker->number, &error))) {
        some = true;
        switch (batch->head.type) {
        case BATCH_MAIL:
            take_mail(worker, batch);
            break;
        case BATCH_REPORT:
            hear_report(worker, &batch->head);
            break;
        case BATCH_PROBE:
            answer(worker, batch->head.probe);
            break;
        case BATCH_LEAP:
            worker->leap = batch->head.promise;
            worker->has_reported = false;
            break;
        default:
            worker->stop = (enum stop)batch->head.stop;
        }
        if (batches_leave(worker->batches, worker->number, batch))
            elsewhere_recycle(&worker->elsewhere, batch, batch->room);
    }
    worker->sim->out_of_memory |= error != 0;
    return some;
}

/* ---- promises ---- */

/* When something of this list, which is due then, can arrive at each neighbour. */
static void look_at_list(const struct share_worker *worker, struct calendar_list *list, uint64_t due, uint64_t *bounds)
{
    const struct split *split = worker->split;
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        while (part.at < part.end) {
            const struct cv_message *message = (const void *)part.at;
            for (uint32_t i = 0; i < worker->neighbour_count; i++) {
                const uint64_t hops = split_hops(split, &worker->elsewhere, message->to, worker->neighbours[i].worker);
                bounds[i] = earlier(bounds[i], due + hops * split->least_delay);
            }
            part.at += cv_message_bytes(message);
        }
}

static void look_through(const struct share_worker *worker, struct calendar *mail, uint64_t *bounds)
{
    for (uint64_t slot = mail->pending ? calendar_find(mail, 0) : UINT64_MAX; slot != UINT64_MAX;
         slot = slot < mail->mask ? calendar_find(mail, slot + 1) : UINT64_MAX)
        look_at_list(worker, &mail->near[slot], mail->now + ((slot - mail->now) & mail->mask), bounds);
}

/* When what waits here can arrive at each neighbour. */
static void bound_pending(struct share_worker *worker, uint64_t *bounds)
{
    struct cv_sim *sim = worker->sim;
    const uint64_t delay = worker->split->least_delay, next = next_event(worker);
    const uint64_t pending = sim->mail.pending + sim->backward.pending;
    const bool looks = worker->split->shape != SPLIT_ALL && sim->mail.direct && pending &&
                       (pending <= FEW_BYTES || sim->handled >= WORK_PER_LOOK * pending);
    uint64_t rest = later(next, delay);
    if (looks) {
        sim->handled = 0;
        rest = sim->timers_active || sim->load ? later(calendar_next(&sim->alarms), delay) : CV_NEVER;
        if (worker->ahead_count)
            rest = earlier(rest, later(worker->ahead[0].due, delay));
    }
    for (uint32_t i = 0; i < worker->neighbour_count; i++)
        bounds[i] = rest;
    if (looks)
        look_through(worker, &sim->mail, bounds);
    if (looks)
        look_through(worker, &sim->backward, bounds);
}

/* The memory that holds the messages becomes the batch. */
static struct batch *wrap(struct share_worker *worker, struct elsewhere_mail *mail)
{
    const size_t messages = mail->messages.used, pulses = mail->pulses.used;
    unsigned char *at = elsewhere_append(&worker->elsewhere, &mail->messages, pulses);
    if (!at)
        return NULL;
    if (pulses)
        memcpy(at, elsewhere_bytes(&worker->elsewhere, &mail->pulses), pulses);
    struct batch *batch = (void *)mail->messages.memory;
    batch->room = mail->messages.room;
    batch->head = (struct batch_head){.message_size = messages, .pulse_size = pulses};
    /* The next one may be as large, or smaller and smaller. A tick without messages does not change that. */
    const size_t content = messages + pulses, usual = mail->usual;
    mail->usual = content > usual / 2 ? content : content ? usual - usual / 8 : usual;
    mail->messages = (struct elsewhere_bytes){.room = mail->usual};
    mail->pulses.used = 0;
    return batch;
}

static void send_batch(struct share_worker *worker, struct neighbour *neighbour)
{
    struct elsewhere_mail *mail = &worker->elsewhere.mail[neighbour->worker];
    struct batch *batch = wrap(worker, mail);
    if (!batch)
        return;
    if (batch->head.message_size || batch->head.pulse_size) {
        neighbour->sent++;
        worker->sent++;
    }
    if (mail->earliest != CV_NEVER) {
        remember(worker, neighbour, mail->earliest + mail->answer_ticks);
        worker->answered = earlier(worker->answered, later(mail->earliest, worker->split->least_delay));
    }
    mail->earliest = CV_NEVER;
    batch->head.to = neighbour->worker;
    batch->head.type = BATCH_MAIL;
    batch->head.promise = neighbour->promised;
    batch->head.taken = neighbour->told;
    post(worker, batch);
}

/* In the middle of a tick no more is promised, so what was taken is not told either. */
static void send_part(struct elsewhere *elsewhere, struct elsewhere_mail *mail)
{
    struct share_worker *worker = (void *)((unsigned char *)elsewhere - offsetof(struct share_worker, elsewhere));
    for (uint32_t i = 0; i < worker->neighbour_count; i++)
        if (worker->neighbours[i].hears && mail == &elsewhere->mail[worker->neighbours[i].worker])
            send_batch(worker, &worker->neighbours[i]);
}

/* Sends what there is for the neighbours, and new promises. */
static void flush(struct share_worker *worker)
{
    uint64_t bounds[SHARE_MOST_WORKERS];
    bound_pending(worker, bounds);
    for (uint32_t i = 0; i < worker->neighbour_count; i++) {
        struct neighbour *neighbour = &worker->neighbours[i];
        struct elsewhere_mail *mail = &worker->elsewhere.mail[neighbour->worker];
        if (!neighbour->hears)
            continue;
        for (uint32_t other = 0; other < worker->neighbour_count; other++)
            if (other != i)
                bounds[i] =
                    earlier(bounds[i], later(next_from(worker, &worker->neighbours[other]), neighbour->crossing));
        /* What the neighbour's own mail brings about was not promised before. Now it is, and may come sooner. */
        const bool news = neighbour->told != neighbour->taken, better = bounds[i] > neighbour->promised;
        if (news || better) {
            neighbour->promised = bounds[i];
            neighbour->owed = CV_NEVER;
        }
        neighbour->told = neighbour->taken;
        if (news || better || mail->messages.used || mail->pulses.used)
            send_batch(worker, neighbour);
    }
}

/* ---- playing ---- */

/*
 * When a neighbour may be waiting for a new promise: when the last one has run out, or when this worker has played what
 * the neighbour sent. A worker that went on without a word until its own horizon would then wait for the neighbour as
 * long as the neighbour had waited, and so on: they would take turns instead of playing at the same time.
 */
static uint64_t need_promise(const struct share_worker *worker, uint64_t next)
{
    uint64_t first = CV_NEVER;
    for (uint32_t i = 0; i < worker->neighbour_count; i++)
        if (worker->neighbours[i].hears)
            first = earlier(first, earlier(worker->neighbours[i].promised, worker->neighbours[i].owed));
    return first > next ? first : next + 1;
}

static void play(struct share_worker *worker, uint64_t next, uint64_t horizon)
{
    struct cv_sim *sim = worker->sim;
    if (sim->mail.now + 1 < next &&
        (calendar_advance(&sim->mail, next - 1) || (sim->sided && calendar_advance(&sim->backward, next - 1))))
        sim->out_of_memory = true;
    admit_ahead(worker);
    if (worker->ahead_count)
        horizon = earlier(horizon, worker->ahead[0].due);
    worker->elsewhere.horizon = earlier(horizon, need_promise(worker, next));
    world_play_tick(sim, next, CV_NEVER);
}

static enum stop look_for_trouble(const struct share_worker *worker)
{
    const struct elsewhere *elsewhere = &worker->elsewhere;
    if (worker->sim->out_of_memory || elsewhere->out_of_memory)
        return STOP_NO_MEMORY;
    if (elsewhere->early)
        return STOP_EARLY;
    if (elsewhere->doubtful)
        return STOP_DOUBTFUL;
    return world_interrupted(worker->sim) ? STOP_INTERRUPTED : STOP_NOT;
}

static void tell_progress(struct share_worker *worker, uint64_t turn)
{
    if (!worker->number && worker->sim->options.progress && turn % TURNS_PER_TELL == 0)
        world_tell_progress(worker->sim);
}

void worker_run(struct share_worker *worker, bool begin)
{
    struct cv_sim *sim = worker->sim;
    uint32_t rests = 0;
    double waiting = 0;
    worker->stop = STOP_NOT;
    worker->has_reported = false;
    worker->leap = 0;
    worker->elsewhere.send_part = send_part;
    for (uint32_t i = 0; worker->reports && i < worker->split->workers; i++)
        worker->reports[i] = (struct standing_report){.probe = worker->probe};
    if (begin)
        world_begin_run(sim);
    flush(worker);
    for (uint64_t turn = 0;; turn++) {
        const bool heard = take_batches(worker);
        if (worker->stop)
            return;
        const enum stop trouble = look_for_trouble(worker);
        if (trouble) {
            stop_all(worker, trouble);
            return;
        }
        const uint64_t next = next_event(worker);
        if (may_play(worker, next)) {
            const uint64_t horizon = find_horizon(worker);
            worker->patience += horizon > next && worker->patience < MOST_PATIENCE;
            if (waiting > 0)
                worker->idle_seconds += cv_wall_seconds() - waiting;
            waiting = 0;
            rests = 0;
            tell_progress(worker, turn);
            worker->creeps = 0;
            play(worker, next, horizon > next ? horizon : next + 1); /* a leap is over with the next mail */
            flush(worker);
            continue;
        }
        if (heard) {
            worker->creeps++;
            flush(worker);
        }
        if (rests >= RESTS_PER_REPORT)
            report_idle(worker);
        if (waiting <= 0) {
            waiting = cv_wall_seconds();
            worker->waits++;
        }
        batches_wait(worker->batches, worker->number, &rests);
    }
}
