// SPDX-License-Identifier: MIT
/*
 * Every node must receive its messages of a tick in the order of arrivals.h. Which node goes first matters to nobody
 * here, so most ticks need no sorting:
 *
 *   - On a ring, those from the predecessor come first. The others wait in a calendar of their own, `backward`. There a
 *     node has one sender, its successor, unless a message strays. Steps write what is due in the next tick directly
 *     into `mail`. What does not belong there is taken out again: after the step if messages go both ways, otherwise
 *     when its tick has come.
 *   - Elsewhere the list is often in order for every receiver, because the senders took their turns in order.
 *
 * Something that judges several nodes together, such as the rounds of a synchronizer, wants the nodes in order, too.
 */
#include "sim/quick.h"

#include <stdlib.h>
#include <string.h>

#include "sim/engine.h"
#include "sim/heard.h"
#include "sim/rounds.h"
#include "sim/rows.h"

#define BYTES_AT_A_STRETCH ((size_t)1 << 24) /* bytes of messages between two reports of progress */
#define FEW_BYTES ((size_t)1 << 17) /* with fewer bytes of messages under way, all receivers fit in the cache */
#define AHEAD 12                    /* a receiver is fetched into the cache so many messages ahead */

#define INLINED static inline __attribute__((always_inline))

/* With so many loops in one file the compiler would no longer inline what each message takes. */
#define LOOP static __attribute__((noinline, flatten))

/* What a run is like. The loops are compiled for each combination that is used. */
struct quick_way {
    bool unit;   /* every message takes one tick */
    bool asks;   /* the first messages are checked for validity */
    bool ring;   /* messages go round a ring, and the order of nodes does not matter */
    bool both;   /* on a ring: they go both ways */
    bool shared; /* some of the nodes are simulated elsewhere */
    bool onward; /* on a shared ring: only the last node here has a successor elsewhere */
    bool rows;   /* there may be rows among the messages: see rows.h */
};

/*
 * Messages are a few words long, so a loop is faster than a call. It copies word by word, and the compiler is kept from
 * copying two at once: the processor must wait if it reads two words together that were just written one by one.
 */
static inline void copy_words(void *to, const void *from, size_t bytes)
{
    uint64_t *target = to;
    const uint64_t *source = from;
    for (size_t i = 0; i < bytes / 8; i++) {
        target[i] = source[i];
        __asm__ volatile("");
    }
}

/*
 * Fetches the receiver of a later message into the cache. Returns the bytes of that message. A node may begin in one
 * cache line and end in the next. Always inlined: the compiler drops the call of a function that does nothing but
 * fetch.
 */
INLINED size_t expect(const struct cv_sim *sim, const struct cv_message *message, bool unit)
{
    if (!unit && sim->fifo.onward)
        __builtin_prefetch(&sim->fifo.onward[message->to], 1);
    const struct node *node = world_first_node(sim, message->to);
    __builtin_prefetch(node, 1);
    __builtin_prefetch((const unsigned char *)node + sim->stride - 1, 1);
    __builtin_prefetch(&sim->group.ids[message->to]);
    return cv_message_bytes(message);
}

/* The nodes of a row stand one after the other: the processor fetches them by itself. */
INLINED size_t expect_part(const struct cv_sim *sim, const struct cv_message *message, struct quick_way way)
{
    return way.rows && message->to == CV_NOBODY ? cv_message_bytes(message) : expect(sim, message, way.unit);
}

/* ---- sending ---- */

/* On a ring: does the message go to the sender's successor? */
INLINED bool goes_onward(struct cv_sim *sim, const struct cv_message *message)
{
    const uint32_t last = sim->group.nodes - 1, onward = message->to - message->from;
    if (__builtin_expect(onward == 1, 1) || (message->to == 0 && message->from == last))
        return true;
    sim->strays |= onward != UINT32_MAX && (message->from != 0 || message->to != last);
    return false;
}

INLINED void put(struct cv_sim *sim, struct calendar *calendar, const struct cv_message *message, uint64_t due)
{
    const size_t bytes = cv_message_bytes(message);
    void *record = calendar_add(calendar, due, bytes);
    if (record)
        copy_words(record, message, bytes);
    else
        sim->out_of_memory = true;
}

/* The senders of a tick's messages come in order if their steps do. */
INLINED void note_sender(struct cv_sim *sim, cv_node node)
{
    sim->ascending &= node >= sim->last_sender;
    sim->last_sender = node;
}

void quick_put(struct cv_sim *sim, const struct cv_message *message, uint64_t due)
{
    note_sender(sim, message->from);
    put(sim, sim->sided && !goes_onward(sim, message) ? &sim->backward : &sim->mail, message, due);
}

void quick_put_row(struct cv_sim *sim, const struct cv_row *row, uint64_t due)
{
    note_sender(sim, ((const struct cv_message *)(const void *)(row + 1))->from);
    sim->self.rows ? rows_put(sim, row, due) : rows_write_out(sim, row, due);
}

/* Moves the outbox to the calendar: every message arrives, in order, and no observer listens. */
INLINED void send_outbox(struct cv_sim *sim, bool unit, bool ring, bool shared)
{
    struct cv_self *me = &sim->self;
    for (size_t at = 0; at < me->used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        uint64_t due = sim->now + 1;
        at += cv_message_bytes(message);
        if (!unit) {
            const uint64_t channel = cv_arrival_channel(message->from, message->to, 0);
            const uint64_t drawn = cv_chance_draw(&sim->delays, channel, message->clock);
            due = sim->now + cv_arrival_delay(&sim->scenario->delay, drawn);
            if (fifo_order(&sim->fifo, message->from, message->to, sim->now, &due))
                sim->out_of_memory = true;
            /* If few messages are under way, the receiver is still in the cache when the message is due. */
            if (sim->mail.pending <= FEW_BYTES)
                expect(sim, message, unit);
        }
        if (shared && elsewhere_has(sim->elsewhere, message->to))
            elsewhere_send(sim->elsewhere, message, due);
        else if (ring && !goes_onward(sim, message))
            put(sim, &sim->backward, message, due);
        else
            put(sim, &sim->mail, message, due);
    }
}

/*
 * If every message takes one tick, the next tick's list is the outbox of all steps of this tick: they write their
 * messages into the calendar.
 */
static void use_list(struct cv_sim *sim, const struct calendar_list *list)
{
    struct cv_self *me = &sim->self;
    me->outbox = list->write;
    me->room = (size_t)(list->limit - list->write);
    me->used = 0;
}

/* The step had more messages than the list had room for, so it ended in the larger outbox. */
static __attribute__((noinline)) void leave_list(struct cv_sim *sim, const struct calendar_list *list)
{
    calendar_close(&sim->mail, sim->now + 1, sim->step_at);
    quick_send(sim);
    use_list(sim, list);
}

/*
 * Takes those of the step's messages out of the list again that belong elsewhere. Usually none does. Then `used` is not
 * written: the next step would wait for it until this one's messages can be read back.
 */
INLINED void divert_each(struct cv_sim *sim, struct quick_way way)
{
    struct cv_self *me = &sim->self;
    const size_t used = me->used;
    size_t kept = sim->step_at;
    for (size_t at = kept; at < used;) {
        const struct cv_message *message = (const void *)(me->outbox + at);
        const size_t bytes = cv_message_bytes(message);
        if (way.shared && elsewhere_has(sim->elsewhere, message->to)) {
            elsewhere_send(sim->elsewhere, message, sim->now + 1);
        } else if (way.ring && !goes_onward(sim, message)) {
            put(sim, &sim->backward, message, sim->now + 1);
        } else {
            if (kept != at)
                copy_words(me->outbox + kept, message, bytes);
            kept += bytes;
        }
        at += bytes;
    }
    if (kept != used)
        me->used = kept;
}

INLINED void divert(struct cv_sim *sim, struct quick_way way)
{
    struct cv_self *me = &sim->self;
    if (!way.shared || way.ring || !sim->elsewhere->rows) {
        divert_each(sim, way);
    } else if (me->used != sim->step_at) {
        unsigned char *outbox = me->outbox;
        me->used = (size_t)(rows_divert(sim, outbox + sim->step_at, outbox + me->used) - outbox);
    }
}

void quick_begin(struct cv_sim *sim)
{
    const struct calendar_list *list = calendar_open_wide(&sim->mail, sim->now + 1, sim->outbox_room);
    if (!list)
        return; /* it writes into the outbox, whose messages are moved to the calendar: that will tell */
    use_list(sim, list);
    sim->step_at = 0;
}

/* Moves the outbox, which may have rows in it, into the next tick's list. */
static void enter_list(struct cv_sim *sim)
{
    struct cv_self *me = &sim->self;
    const size_t used = me->used;
    const unsigned char *outbox = me->outbox;
    const struct calendar_list *list = calendar_open_wide(&sim->mail, sim->now + 1, used);
    me->used = 0;
    if (!list) {
        sim->out_of_memory = true;
        return;
    }
    use_list(sim, list);
    memcpy(me->outbox, outbox, used);
    me->used = used;
    sim->step_at = 0;
}

void quick_send(struct cv_sim *sim)
{
    struct cv_self *me = &sim->self;
    const bool unit = sim->scenario->delay.model == CV_DELAY_UNIT;
    if (me->used)
        note_sender(sim, me->node);
    if (me->rows && me->outbox == sim->outbox)
        enter_list(sim);
    if (me->outbox != sim->outbox) {
        if (sim->elsewhere)
            divert(sim, (struct quick_way){.unit = true, .shared = true});
        calendar_close(&sim->mail, sim->now + 1, me->used);
    } else if (sim->elsewhere) {
        unit ? send_outbox(sim, true, sim->sided, true) : send_outbox(sim, false, sim->sided, true);
    } else {
        unit ? send_outbox(sim, true, sim->sided, false) : send_outbox(sim, false, sim->sided, false);
    }
}

/* ---- one step ---- */

/* The header of a message. That of a row changes from message to message, so it is kept where memory is not asked. */
struct header {
    cv_node to, from;
    uint64_t clock;
    uint32_t kind;
};

INLINED void take_step(struct cv_sim *sim, const struct cv_kind *kinds, const struct cv_message *message,
                       struct header header, struct quick_way way)
{
    struct node *it = world_first_node(sim, header.to);
    const uint64_t clock = (it->clock > header.clock ? it->clock : header.clock) + 1;
    world_open(sim, header.to, it);
    sim->self.clock = clock;
    assert(header.kind < sim->kinds); /* a kind that the algorithm's table does not have */
    sim->run.count[header.kind] += header.to != header.from;
    if (way.asks && sim->asks && !world_can_be(sim, message))
        return;
    if (way.shared && sim->rounds)
        rounds_receive(sim, message);
    kinds[header.kind].receive(&sim->self, message);
    if (sim->self.effects) {
        world_apply(sim, it);
        sim->self.effects = 0;
    }
    it->clock = sim->self.clock & CV_CLOCK_MASK;
}

/* Handles a message, and sends what its step has to send. */
INLINED void handle(struct cv_sim *sim, const struct cv_kind *kinds, const struct cv_message *message,
                    struct header header, const struct calendar_list *list, struct quick_way way)
{
    struct cv_self *me = &sim->self;
    if (way.unit) {
        const unsigned char *outbox = me->outbox;
        sim->step_at = me->used;
        take_step(sim, kinds, message, header, way);
        if (me->outbox != outbox) {
            leave_list(sim, list);
            return;
        }
        if (!way.ring && me->used != sim->step_at)
            note_sender(sim, header.to);
        if (way.onward ? header.to == sim->elsewhere->last : way.both || way.shared)
            divert(sim, way);
    } else {
        take_step(sim, kinds, message, header, way);
        send_outbox(sim, false, way.ring, way.shared);
        me->used = 0;
    }
}

INLINED void handle_message(struct cv_sim *sim, const struct cv_kind *kinds, const struct cv_message *message,
                            const struct calendar_list *list, struct quick_way way)
{
    const struct header header = {message->to, message->from, message->clock, message->kind};
    handle(sim, kinds, message, header, list, way);
}

/* Handles the messages of a row, one after the other in the same place. */
INLINED void handle_row(struct cv_sim *sim, const struct cv_kind *kinds, struct cv_row *row,
                        const struct calendar_list *list, struct quick_way way)
{
    struct cv_message *message = rows_message(row);
    struct header header = {message->to, message->from, message->clock, message->kind};
    const uint32_t words = message->words;
    for (uint32_t left = row->further;; left--) {
        handle(sim, kinds, message, header, list, way);
        if (!left)
            return;
        header.to++;
        header.clock = (header.clock + row->ticks) & CV_CLOCK_MASK;
        cv_write_header(message, header.to, header.from, header.clock, header.kind, words);
    }
}

/* ---- one tick ---- */

/*
 * The messages of a stretch, as they stand. If the steps of a ring wrote them there, those that do not go onward must
 * be `sifted` out, and wait until later in this tick. If there are hardly any, this is cheaper than to read every
 * message back after its step.
 */
INLINED void handle_part(struct cv_sim *sim, struct calendar_part part, const struct calendar_list *list, bool sifted,
                         struct quick_way way)
{
    const struct cv_kind *kinds = sim->algorithm->kinds;
    /* The only message of a tick is handled at once: it is too late to fetch its receiver. */
    const bool near = sim->small || part.end - part.at <= (ptrdiff_t)(2 * sizeof(struct cv_message));
    const unsigned char *ahead = near ? part.end : part.at;
    for (int i = 0; i < AHEAD && ahead < part.end; i++)
        ahead += expect_part(sim, (const void *)ahead, way);
    while (part.at < part.end) {
        const struct cv_message *message = (const void *)part.at;
        if (ahead < part.end)
            ahead += expect_part(sim, (const void *)ahead, way);
        part.at += cv_message_bytes(message);
        if (way.rows && message->to == CV_NOBODY)
            handle_row(sim, kinds, rows_in(message), list, way);
        else if (way.onward && elsewhere_has(sim->elsewhere, message->to))
            sim->elsewhere->early = true;
        else if (sifted && !goes_onward(sim, message))
            put(sim, &sim->backward, message, sim->now);
        else
            handle_message(sim, kinds, message, list, way);
    }
}

/* The messages that were put in order. */
INLINED void handle_in_order(struct cv_sim *sim, const struct calendar_list *list, struct quick_way way)
{
    const struct cv_kind *kinds = sim->algorithm->kinds;
    struct arrivals *arrivals = &sim->arrivals;
    /* If every node has some, one comes after the other, and the processor fetches them by itself. */
    const bool near = sim->small || arrivals->count >= sim->group.nodes;
    for (size_t at = 0, end; at < arrivals->count; at = end) {
        end = arrivals->by_sender ? arrivals->count : arrivals_group(arrivals, at);
        if (!end) {
            sim->out_of_memory = true;
            return;
        }
        for (size_t i = at; i < end; i++) {
            if (i + AHEAD < arrivals->count)
                __builtin_prefetch(arrivals_message(arrivals, i + AHEAD));
            if (!near && i + AHEAD / 2 < arrivals->count)
                expect(sim, arrivals_message(arrivals, i + AHEAD / 2), way.unit);
            handle_message(sim, kinds, arrivals_message(arrivals, i), list, way);
        }
    }
}

static __attribute__((noinline)) void put_in_order(struct cv_sim *sim, struct calendar *calendar, bool rows)
{
    if ((rows ? arrivals_make_rows : arrivals_make_tick)(&sim->arrivals, calendar)) {
        sim->out_of_memory = true;
        sim->arrivals.count = 0;
    }
}

/* Handles the messages of the tick as they stand. Returns their bytes. */
INLINED size_t handle_list(struct cv_sim *sim, struct calendar *calendar, const struct calendar_list *list, bool sifted,
                           struct quick_way way)
{
    size_t handled = 0;
    for (struct calendar_part part = calendar_take(calendar); part.at; part = calendar_take_next(calendar, part)) {
        handled += (size_t)(part.end - part.at);
        handle_part(sim, part, list, sifted, way);
    }
    return handled;
}

/* The messages and rows that were put in order by sender. */
INLINED void handle_rows(struct cv_sim *sim, const struct calendar_list *list, struct quick_way way)
{
    const struct cv_kind *kinds = sim->algorithm->kinds;
    struct arrivals *arrivals = &sim->arrivals;
    for (size_t i = 0; i < arrivals->count; i++) {
        const struct cv_message *message = arrivals_message(arrivals, i);
        struct cv_row *row = rows_in(message);
        if (i + AHEAD < arrivals->count)
            __builtin_prefetch(arrivals_message(arrivals, i + AHEAD));
        if (!sim->small && i + AHEAD / 2 < arrivals->count)
            expect_part(sim, arrivals_message(arrivals, i + AHEAD / 2), way);
        if (row)
            handle_row(sim, kinds, row, list, way);
        else
            handle_message(sim, kinds, message, list, way);
    }
}

/* Puts them in order, and handles them. */
INLINED size_t handle_sorted(struct cv_sim *sim, struct calendar *calendar, const struct calendar_list *list,
                             struct quick_way way)
{
    const bool by_rows = way.rows && rows_prevail(sim);
    size_t handled = 0;
    if (way.rows && !by_rows)
        rows_write_out_tick(sim);
    put_in_order(sim, calendar, by_rows);
    if (by_rows)
        handle_rows(sim, list, way);
    else
        handle_in_order(sim, list, way);
    for (uint32_t i = 0; i < sim->arrivals.part_count; i++)
        handled += (size_t)(sim->arrivals.parts[i].end - sim->arrivals.parts[i].at);
    calendar_drop(calendar);
    return handled;
}

static bool is_alone(const struct calendar_list *list)
{
    return !list->first && list->write == list->data + cv_message_bytes((const void *)list->data);
}

/* Handles the messages of the tick. Returns their bytes. */
INLINED size_t handle_tick(struct cv_sim *sim, const struct calendar_list *list, struct quick_way way)
{
    const uint64_t slot = sim->now & sim->mail.mask;
    const struct calendar_list *due = &sim->mail.near[slot];
    const bool ascending = way.unit && sim->ascending;
    size_t handled = 0;
    sim->ascending = true;
    sim->last_sender = 0;
    if (calendar_is_marked(&sim->mail, slot)) { /* a list that was only opened may have a chunk */
        sim->run.time = sim->now;
        const bool lax = !way.asks && !sim->orderly && !sim->arrivals.ring;
        if (way.ring || is_alone(due) || (lax && (ascending || heard_in_order(sim))))
            handled = handle_list(sim, &sim->mail, list,
                                  way.ring && way.unit && !way.both && (!way.shared || way.onward), way);
        else
            handled = handle_sorted(sim, &sim->mail, list, way);
    }
    if (!way.ring || !sim->backward.pending || !calendar_is_marked(&sim->backward, slot))
        return handled;
    sim->run.time = sim->now;
    return handled + (sim->strays ? handle_sorted(sim, &sim->backward, list, way)
                                  : handle_list(sim, &sim->backward, list, false, way));
}

/* ---- many ticks ---- */

/*
 * Goes on to the next tick with messages, unless something else comes first. In plain runs nothing is planned, so that
 * can only be timers, the end, and now and then a report of progress.
 */
static inline bool go_on(struct cv_sim *sim, struct quick_way way, size_t handled)
{
    const bool pending = sim->mail.pending || (way.ring && sim->backward.pending);
    if (!pending || sim->alarms.pending || handled > BYTES_AT_A_STRETCH || world_interrupted(sim))
        return false;
    uint64_t next = sim->now + 1;
    if (!way.unit) {
        next = !sim->mail.pending ? CV_NEVER
               : sim->mail.direct ? calendar_next_direct(&sim->mail)
                                  : calendar_next(&sim->mail);
        const uint64_t backward = way.ring && sim->backward.pending ? calendar_next(&sim->backward) : CV_NEVER;
        next = backward < next ? backward : next;
    }
    if (next > sim->pause || (way.shared && next >= sim->elsewhere->horizon))
        return false;
    if (!sim->mail.direct &&
        (calendar_advance(&sim->mail, next) || (way.ring && calendar_advance(&sim->backward, next))))
        sim->out_of_memory = true;
    sim->now = sim->mail.now = sim->backward.now = sim->alarms.now = next;
    return true;
}

INLINED void handle_ticks(struct cv_sim *sim, struct quick_way way)
{
    size_t handled = 0;
    world_use_outbox(sim);
    do {
        const struct calendar_list *list = way.unit ? calendar_open(&sim->mail, sim->now + 1) : NULL;
        if (way.unit)
            use_list(sim, list);
        handled += handle_tick(sim, list, way);
        if (way.unit)
            calendar_close(&sim->mail, sim->now + 1, sim->self.used);
    } while (go_on(sim, way, handled));
    sim->handled += handled;
}

LOOP void ring_unit(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true, .ring = true});
}

LOOP void both_ways_unit(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true, .ring = true, .both = true});
}

LOOP void ring_random(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.ring = true});
}

LOOP void network_unit(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true});
}

LOOP void network_rows(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true, .rows = true});
}

LOOP void network_random(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){0});
}

LOOP void shared_ring_unit(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true, .ring = true, .shared = true});
}

LOOP void shared_onward_unit(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true, .ring = true, .shared = true, .onward = true});
}

LOOP void shared_ring_random(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.ring = true, .shared = true});
}

LOOP void shared_network_unit(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true, .shared = true});
}

LOOP void shared_network_rows(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.unit = true, .shared = true, .rows = true});
}

LOOP void shared_network_random(struct cv_sim *sim)
{
    handle_ticks(sim, (struct quick_way){.shared = true});
}

static __attribute__((noinline)) void asking(struct cv_sim *sim, bool unit)
{
    if (unit)
        handle_ticks(sim, (struct quick_way){.unit = true, .asks = true});
    else
        handle_ticks(sim, (struct quick_way){.asks = true});
}

void quick_mail(struct cv_sim *sim)
{
    const bool unit = sim->scenario->delay.model == CV_DELAY_UNIT;
    if (sim->asks)
        asking(sim, unit);
    else if (sim->self.rows)
        (sim->elsewhere ? shared_network_rows : network_rows)(sim);
    else if (sim->elsewhere && sim->sided)
        (!unit ? shared_ring_random : sim->elsewhere->onward ? shared_onward_unit : shared_ring_unit)(sim);
    else if (sim->elsewhere)
        (unit ? shared_network_unit : shared_network_random)(sim);
    else if (sim->sided)
        (!unit ? ring_random : sim->group.topology == CV_RING_BOTH ? both_ways_unit : ring_unit)(sim);
    else
        (unit ? network_unit : network_random)(sim);
}

/* ---- the end ---- */

static void look_at_list(struct cv_sim *sim, struct calendar_list *list, size_t ahead, quick_look *look)
{
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        while (part.at < part.end) {
            const struct cv_message *message = (const void *)(part.at + ahead);
            const struct cv_row *row = rows_in(message);
            part.at += ahead + cv_message_bytes(message);
            look(sim, row ? (const void *)(row + 1) : message, row ? row->further : 0);
        }
}

static void look_at_calendar(struct cv_sim *sim, struct calendar *calendar, quick_look *look)
{
    for (uint64_t slot = 0; calendar->pending && slot <= calendar->mask; slot++)
        look_at_list(sim, &calendar->near[slot], 0, look);
    for (uint32_t block = 0; calendar->pending && calendar->far && block < CALENDAR_BLOCKS; block++)
        look_at_list(sim, &calendar->far[block], CALENDAR_FAR_HEAD, look);
}

void quick_look_at_rest(struct cv_sim *sim, quick_look *look)
{
    look_at_calendar(sim, &sim->mail, look);
    look_at_calendar(sim, &sim->backward, look);
}

void quick_count(struct cv_sim *sim, const struct cv_message *first, uint32_t further)
{
    sim->run.count[first->kind] += further ? (uint64_t)further + 1 : first->to != first->from;
}
