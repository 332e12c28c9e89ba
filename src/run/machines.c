// SPDX-License-Identifier: MIT
/*
 * An experiment on several machines: tells their places what to do, and hears what they say.
 *
 * When is the run over? The experiment polls all places, again and again; each answers with what its processes have
 * opened and closed. If all that was closed by one poll equals all that was opened by the next, which began when the
 * first had been answered by all, there was a moment between at which nothing was open: see run/board.h. Polls before
 * an order or a death do not count.
 */
#include "run/machines.h"

#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#define BETWEEN_POLLS_NS (NS_PER_MS)
#define BETWEEN_PINGS_NS (2000 * NS_PER_MS)

struct machine *machines_of_slot(const struct cv_experiment *experiment, uint32_t slot)
{
    const struct cv_scenario *scenario = experiment->scenario;
    const uint32_t nodes = experiment->board->nodes;
    const cv_node node = slot < nodes ? slot : scenario->recoveries[slot - nodes].node;
    return &experiment->machines->list[experiment->machines->of_node[node]];
}

int machines_complain(struct cv_experiment *experiment, const struct machine *machine, const char *format, ...)
{
    char text[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return cv_complain(experiment->complaint, "host %s: %s", cv_brief(machine->place->name).text, text);
}

/* What was counted so far says nothing about what follows from this. */
static void disturb(struct machines *all)
{
    all->polls = 0;
    all->quiet = all->clients_done = false;
}

/* ---- telling ---- */

void machines_set_clock(struct cv_experiment *experiment)
{
    struct machines *all = experiment->machines;
    for (uint32_t i = 0; i < all->count; i++) {
        const uint64_t epoch = experiment->board->epoch_ns + (uint64_t)all->list[i].ahead;
        place_send_bytes(&all->list[i].wire, PLACE_EPOCH, 0, 0, &epoch, sizeof epoch);
    }
}

/* Tells all machines who runs in a slot. */
static void announce(struct cv_experiment *experiment, uint32_t slot, enum slot_state state)
{
    struct machines *all = experiment->machines;
    const uint32_t told[] = {experiment->board->slot[slot].node, state};
    for (uint32_t i = 0; i < all->count; i++)
        place_send_bytes(&all->list[i].wire, PLACE_SLOT, slot, 0, told, sizeof told);
}

void machines_announce(struct cv_experiment *experiment)
{
    for (cv_node node = 0; node < experiment->board->nodes; node++)
        if (experiment->board->current[node] != NO_SLOT)
            announce(experiment, experiment->board->current[node], SLOT_LIVE);
}

void machines_start(struct cv_experiment *experiment, uint32_t slot, bool returned)
{
    const struct run_view *view = &experiment->views.view;
    struct process_slot *it = &experiment->board->slot[slot];
    struct place_start told = {.node = it->node, .returned = returned, .clock = it->clock};
    struct view_order order = {
        .epoch = view->epoch, .coordinator = view->coordinator, .member_count = view->member_count};
    const struct iovec pieces[] = {
        {&told, sizeof told}, {&order, sizeof order}, {view->members, view->member_count * sizeof *view->members}};
    disturb(experiment->machines);
    it->state = SLOT_LIVE;
    experiment->board->current[it->node] = slot;
    experiment->children[slot].pid = 1; /* it is not here, but it is there */
    if (returned)
        announce(experiment, slot, SLOT_LIVE);
    place_send(&machines_of_slot(experiment, slot)->wire, PLACE_START, slot, 0, pieces, 3);
}

void machines_order(struct cv_experiment *experiment, uint32_t slot, const struct control *control, const void *content,
                    size_t bytes)
{
    const struct iovec pieces[] = {{(void *)(uintptr_t)control, sizeof *control}, {(void *)(uintptr_t)content, bytes}};
    disturb(experiment->machines);
    place_send(&machines_of_slot(experiment, slot)->wire, PLACE_TELL, slot, 0, pieces, 2);
}

void machines_signal(struct cv_experiment *experiment, uint32_t slot, int number)
{
    disturb(experiment->machines);
    place_send(&machines_of_slot(experiment, slot)->wire, PLACE_SIGNAL, slot, (uint32_t)number, NULL, 0);
}

/* The process is dead when its machine says so. */
void machines_kill(struct cv_experiment *experiment, uint32_t slot)
{
    struct machine *machine = machines_of_slot(experiment, slot);
    disturb(experiment->machines);
    place_send(&machine->wire, PLACE_KILL, slot, 0, NULL, 0);
    experiment->board->slot[slot].state = SLOT_DEAD; /* it was killed, and did not die of itself */
    while (experiment->children[slot].pid && !machine->wire.ended)
        if (machines_hear(experiment, 20))
            return;
}

/* ---- hearing ---- */

static int hear_death(struct cv_experiment *experiment, uint32_t slot, const unsigned char *content, size_t bytes)
{
    const uint32_t slots = experiment->board->slots;
    if (bytes != (slots + 2u) * sizeof(uint64_t) || !experiment->children[slot].pid)
        return 0;
    const bool planned = experiment->board->slot[slot].state != SLOT_DEAD;
    uint64_t number;
    memcpy(&number, content, sizeof number);
    experiment->board->slot[slot].clock = number;
    memcpy(&number, content + sizeof number, sizeof number);
    experiment_comes_after(experiment, number);
    for (uint32_t to = 0; to < slots; to++) {
        memcpy(&number, content + (to + 2u) * sizeof number, sizeof number);
        *board_sent(experiment->board, to, slot) = number;
    }
    disturb(experiment->machines);
    child_forget(experiment, slot);
    announce(experiment, slot, SLOT_DEAD);
    if (planned)
        experiment->died(experiment, slot);
    return 0;
}

static int hear_holds(struct cv_experiment *experiment, uint32_t slot, const unsigned char *content, size_t bytes)
{
    struct control control;
    if (bytes < sizeof control || (bytes - sizeof control) % sizeof(struct view_hold))
        return 0;
    memcpy(&control, content, sizeof control);
    const uint32_t count = (uint32_t)((bytes - sizeof control) / sizeof(struct view_hold));
    struct view_hold *holds = malloc(bytes);
    if (!holds)
        return CV_ENOMEM;
    memcpy(holds, content + sizeof control, bytes - sizeof control);
    experiment_comes_after(experiment, control.ns);
    const int error = experiment_views_answer(experiment, slot, holds, count);
    free(holds);
    return error;
}

/* ---- counting ---- */

static bool all_counted(const struct machines *all)
{
    for (uint32_t i = 0; i < all->count; i++)
        if (!all->list[i].counted)
            return false;
    return true;
}

/* Compares what the last poll found closed with what this one found opened. */
static void compare(struct cv_experiment *experiment)
{
    struct machines *all = experiment->machines;
    uint64_t closed = 0, opened = 0, clients_closed = 0, clients_opened = 0;
    bool dying = false;
    for (uint32_t slot = 0; slot < all->slots; slot++) {
        const struct place_counts *now = &all->counts[slot], *before = &all->earlier[slot];
        if (!experiment->children[slot].pid)
            continue;
        dying |= now->state == SLOT_DYING;
        closed += before->closed + before->own_closed;
        opened += now->own_opened;
        clients_closed += before->client_closed;
        clients_opened += now->client_opened;
        for (uint32_t i = 0; i < all->count; i++)
            opened += all->list[i].sent_to[slot];
    }
    all->quiet = all->polls && !dying && opened == closed;
    all->clients_done = all->polls && clients_opened == clients_closed;
    memcpy(all->earlier, all->counts, all->slots * sizeof *all->earlier);
    all->polls++;
}

static void hear_counts(struct cv_experiment *experiment, struct machine *machine, const struct place_frame *frame,
                        const unsigned char *content)
{
    struct machines *all = experiment->machines;
    const size_t row = all->slots * sizeof *machine->sent_to;
    if (frame->bytes != row + frame->number * sizeof(struct place_counts))
        return;
    memcpy(machine->sent_to, content, row);
    for (uint32_t i = 0; i < frame->number; i++) {
        struct place_counts counts;
        memcpy(&counts, content + row + i * sizeof counts, sizeof counts);
        if (counts.slot >= all->slots)
            continue;
        all->counts[counts.slot] = counts;
        if (counts.started)
            experiment->board->slot[counts.slot].started = 1;
        if (counts.failed > experiment->board->failed)
            experiment->board->failed = counts.failed;
        if (counts.state == SLOT_DYING && experiment->board->slot[counts.slot].state == SLOT_LIVE)
            experiment->board->slot[counts.slot].state = SLOT_DYING;
    }
    machine->counted = true;
    if (all->polled && all_counted(all)) {
        compare(experiment);
        all->polled = 0;
    }
}

bool machines_quiet(const struct cv_experiment *experiment)
{
    return experiment->machines->quiet;
}

bool machines_clients_done(const struct cv_experiment *experiment)
{
    return experiment->machines->clients_done;
}

static void ask_counts(struct machines *all, uint64_t now)
{
    if (all->polled || now - all->last_polled < BETWEEN_POLLS_NS)
        return;
    all->last_polled = all->polled = now;
    for (uint32_t i = 0; i < all->count; i++) {
        all->list[i].counted = false;
        place_send(&all->list[i].wire, PLACE_POLL, 0, 0, NULL, 0);
    }
}

/* ---- records ---- */

/* The texts come first, each with its NUL. */
static int take_log(struct cv_experiment *experiment, const struct place_frame *frame, const unsigned char *content)
{
    struct machines *all = experiment->machines;
    const uint32_t slot = frame->slot;
    const unsigned char *at = content, *end = content + frame->bytes;
    for (uint32_t i = 0; i < frame->number; i++) {
        const unsigned char *nul = memchr(at, 0, (size_t)(end - at));
        if (!nul)
            return cv_complain(experiment->complaint, "a record that cannot be read");
        at = nul + 1;
    }
    const size_t texts = (size_t)(at - content), size = (size_t)(end - at);
    free(all->strings[slot]);
    free(all->logs[slot]);
    all->strings[slot] = malloc(texts + 1);
    all->logs[slot] = malloc(size + 1);
    if (!all->strings[slot] || !all->logs[slot])
        return CV_ENOMEM;
    memcpy(all->strings[slot], content, texts);
    memcpy(all->logs[slot], at, size);
    const char *text = all->strings[slot];
    for (uint32_t i = 0; i < frame->number; i++, text += strlen(text) + 1)
        if (log_texts_add(&all->texts[slot], text))
            return CV_ENOMEM;
    if (log_whole_bytes(all->logs[slot], size) != size || !log_restore_texts(all->logs[slot], size, &all->texts[slot]))
        return cv_complain(experiment->complaint, "a record that cannot be read");
    experiment->sources[slot] =
        (struct account_source){.bytes = all->logs[slot], .size = size, .node = experiment->board->slot[slot].node};
    return 0;
}

/* ---- all they say ---- */

static int hear_frame(struct cv_experiment *experiment, struct machine *machine, const struct place_frame *frame,
                      const unsigned char *content)
{
    if (frame->slot >= experiment->board->slots)
        return machines_complain(experiment, machine, "an answer that cannot be");
    switch (frame->type) {
    case PLACE_FAILED:
        return machines_complain(experiment, machine, "%.*s", (int)(frame->bytes < 360 ? frame->bytes : 360), content);
    case PLACE_DIED:
        return hear_death(experiment, frame->slot, content, (size_t)frame->bytes);
    case PLACE_HOLDS:
        return hear_holds(experiment, frame->slot, content, (size_t)frame->bytes);
    case PLACE_COUNTS:
        hear_counts(experiment, machine, frame, content);
        return 0;
    case PLACE_LOG:
        return take_log(experiment, frame, content);
    case PLACE_DONE:
        machine->done = true;
        return 0;
    default:
        return machines_setup_hear(experiment, machine, frame, content);
    }
}

/* Keeps the last line that a machine wrote to its standard error; what it writes during the run is shown as it is. */
static void hear_errors(struct machine *machine)
{
    struct pollfd ready = {.fd = machine->place->errors, .events = POLLIN};
    char bytes[512];
    while (machine->place->errors >= 0 && poll(&ready, 1, 0) > 0) {
        const ssize_t got = read(machine->place->errors, bytes, sizeof bytes);
        if (got <= 0)
            return;
        if (machine->ready && write(STDERR_FILENO, bytes, (size_t)got) < 0)
            return;
        for (ssize_t i = 0; i < got; i++) {
            if (bytes[i] == '\n' || bytes[i] == '\r') {
                machine->said_bytes = 0;
                continue;
            }
            if (machine->said_bytes == 0)
                machine->said[0] = '\0';
            if (machine->said_bytes + 1 < sizeof machine->said) {
                machine->said[machine->said_bytes++] = bytes[i] >= ' ' || bytes[i] < 0 ? bytes[i] : '?';
                machine->said[machine->said_bytes] = '\0';
            }
        }
    }
}

static int lose(struct cv_experiment *experiment, struct machine *machine)
{
    struct pollfd ready = {.fd = machine->place->errors, .events = POLLIN};
    if (machine->place->errors >= 0)
        poll(&ready, 1, 500); /* its last words may come later than its end */
    hear_errors(machine);
    if (!machine->greeted)
        return machines_complain(experiment, machine, "conclave does not answer there%s%s", *machine->said ? ": " : "",
                                 machine->said);
    return machines_complain(experiment, machine, "the connection to it has ended%s%s", *machine->said ? ": " : "",
                             machine->said);
}

static int hear_machine(struct cv_experiment *experiment, struct machine *machine)
{
    struct place_frame frame;
    const unsigned char *content;
    const size_t before = machine->wire.used - machine->wire.taken;
    int error = 0;
    place_read(&machine->wire, 0);
    if (machine->wire.used - machine->wire.taken != before)
        machine->heard = monotonic_ns();
    hear_errors(machine);
    while (!error && place_next(&machine->wire, &frame, &content))
        error = hear_frame(experiment, machine, &frame, content);
    if (error)
        return error;
    if (place_is_foreign(&machine->wire))
        return machines_complain(experiment, machine, "it said `%.*s`; expected the greeting of conclave",
                                 (int)strcspn(cv_brief((const char *)machine->wire.bytes).text, "\r\n"),
                                 (const char *)machine->wire.bytes);
    if (machine->wire.ended && !machine->done)
        return lose(experiment, machine);
    if (machine->greeted && !machine->done && monotonic_ns() - machine->heard > PLACE_PATIENCE_S * 1000 * NS_PER_MS)
        return machines_complain(experiment, machine, "no answer for %u s", PLACE_PATIENCE_S);
    return 0;
}

/* In a long silence a place would take the experiment for dead. */
static void ping(struct machines *all, uint64_t now)
{
    if (now - all->pinged < BETWEEN_PINGS_NS)
        return;
    all->pinged = now;
    for (uint32_t i = 0; i < all->count; i++)
        if (all->list[i].greeted && !all->list[i].done)
            place_send(&all->list[i].wire, PLACE_PING, 0, 0, NULL, 0);
}

static int await_any(const struct machines *all, int timeout_ms)
{
    struct pollfd *files = calloc(all->count, sizeof *files);
    if (!files)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < all->count; i++)
        files[i] = (struct pollfd){.fd = all->list[i].wire.ended ? -1 : all->list[i].wire.in, .events = POLLIN};
    poll(files, all->count, timeout_ms);
    free(files);
    return 0;
}

int machines_hear(struct cv_experiment *experiment, int timeout_ms)
{
    struct machines *all = experiment->machines;
    const uint64_t now = monotonic_ns();
    int error = all->failed; /* the first complaint is the one that counts */
    if (error)
        return error;
    ping(all, now);
    if (experiment->network_ready)
        ask_counts(all, now);
    if (timeout_ms)
        error = await_any(all, timeout_ms);
    for (uint32_t i = 0; i < all->count && !error; i++)
        error = hear_machine(experiment, &all->list[i]);
    all->failed = error;
    return error;
}

int machines_finish(struct cv_experiment *experiment)
{
    struct machines *all = experiment->machines;
    int error = 0;
    experiment->network_ready = false;
    for (uint32_t i = 0; i < all->count; i++)
        place_send(&all->list[i].wire, PLACE_FINISH, 0, 0, NULL, 0);
    for (uint32_t i = 0; i < all->count && !error; i++)
        while (!all->list[i].done && !error)
            error = machines_hear(experiment, 20);
    return error;
}
