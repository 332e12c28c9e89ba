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
#include "sim/share/standing.h"

#define FEW_BYTES 4096u      /* so few messages are looked through whenever a promise is made */
#define WORK_PER_LOOK 8u     /* more are looked through when so many times their bytes have been handled */
#define RESTS_PER_REPORT 64u /* a worker that hears something sooner was not idle: it waited for its turn */
#define TURNS_PER_TELL 64    /* how often the first worker shows progress */

/* ---- the neighbours ---- */

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
    worker->patience = STANDING_PATIENCE;
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
    uint64_t next = share_earlier(neighbour->promise, share_later(mail->earliest, mail->answer_ticks));
    for (size_t i = neighbour->unheeded_first; i < neighbour->unheeded_end; i++)
        next = share_earlier(next, neighbour->unheeded[i].back);
    return neighbour->sends ? next : CV_NEVER;
}

static uint64_t find_horizon(const struct share_worker *worker)
{
    uint64_t horizon = CV_NEVER;
    for (uint32_t i = 0; i < worker->neighbour_count; i++)
        horizon = share_earlier(horizon, next_from(worker, &worker->neighbours[i]));
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
        neighbour->owed = share_earlier(neighbour->owed, head.due + 1);
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

uint64_t worker_next_event(const struct share_worker *worker)
{
    const struct cv_sim *sim = worker->sim;
    const uint64_t next = world_next_tick(sim, CV_NEVER);
    return worker->ahead_count ? share_earlier(next, worker->ahead[0].due) : next;
}

bool worker_is_done(const struct share_worker *worker)
{
    return worker_next_event(worker) == CV_NEVER;
}

/* ---- sending ---- */

static void post(struct share_worker *worker, struct batch *batch)
{
    bool copied;
    batch->head.from = worker->number;
    if (batches_send(worker->batches, batch, &copied))
        worker->sim->out_of_memory = true;
    if (copied)
        elsewhere_recycle(&worker->elsewhere, batch, batch->room);
}

void worker_tell(struct share_worker *worker, struct batch_head head)
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

void worker_stop_all(struct share_worker *worker, enum stop stop)
{
    for (uint32_t other = 0; other < worker->split->workers; other++)
        if (other != worker->number)
            worker_tell(worker, (struct batch_head){.to = other, .type = BATCH_STOP, .stop = stop});
    worker->stop = stop;
}

bool worker_may_play(const struct share_worker *worker, uint64_t next)
{
    return next <= worker->sim->pause &&
           (next < share_earlier(worker->leap, worker->answered) || next < find_horizon(worker));
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
            standing_hear(worker, &batch->head);
            break;
        case BATCH_PROBE:
            standing_answer(worker, batch->head.probe);
            break;
        case BATCH_LEAP:
            standing_leap(worker, batch->head.promise);
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
                bounds[i] = share_earlier(bounds[i], due + hops * split->least_delay);
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
    const uint64_t delay = worker->split->least_delay, next = worker_next_event(worker);
    const uint64_t pending = sim->mail.pending + sim->backward.pending;
    const bool looks = worker->split->shape != SPLIT_ALL && sim->mail.direct && pending &&
                       (pending <= FEW_BYTES || sim->handled >= WORK_PER_LOOK * pending);
    uint64_t rest = share_later(next, delay);
    if (looks) {
        sim->handled = 0;
        rest = sim->timers_active || sim->load ? share_later(calendar_next(&sim->alarms), delay) : CV_NEVER;
        if (worker->ahead_count)
            rest = share_earlier(rest, share_later(worker->ahead[0].due, delay));
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
        worker->answered = share_earlier(worker->answered, share_later(mail->earliest, worker->split->least_delay));
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
                bounds[i] = share_earlier(
                    bounds[i], share_later(next_from(worker, &worker->neighbours[other]), neighbour->crossing));
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
            first = share_earlier(first, share_earlier(worker->neighbours[i].promised, worker->neighbours[i].owed));
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
        horizon = share_earlier(horizon, worker->ahead[0].due);
    worker->elsewhere.horizon = share_earlier(horizon, need_promise(worker, next));
    world_play_tick(sim, next, CV_NEVER);
}

static enum stop look_for_trouble(const struct share_worker *worker)
{
    const struct elsewhere *elsewhere = &worker->elsewhere;
    if (worker->sim->out_of_memory || elsewhere->out_of_memory)
        return STOP_NO_MEMORY;
    if (worker->alone)
        return STOP_NO_THREADS;
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
            worker_stop_all(worker, trouble);
            return;
        }
        const uint64_t next = worker_next_event(worker);
        if (worker_may_play(worker, next)) {
            const uint64_t horizon = find_horizon(worker);
            worker->patience += horizon > next && worker->patience < STANDING_PATIENCE;
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
            standing_tell(worker);
        if (waiting <= 0) {
            waiting = cv_wall_seconds();
            worker->waits++;
        }
        batches_wait(worker->batches, worker->number, &rests);
    }
}
