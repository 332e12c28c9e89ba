// SPDX-License-Identifier: MIT
/* Makes the rows of a diagram. Messages of one sender that arrive at the same time share a row; so do marks. */
#include "show/text/diagram_rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/scenario/field_text.h"
#include "show/history_step.h"

/* The state while the rows are made. */
struct maker {
    struct diagram_rows *rows;
    const struct cv_scenario *scenario;
    const struct cv_history *history;
    size_t *send_of; /* of a receipt or loss, by its index: the index of the send */
    size_t *step_of; /* of a send, by its index: the number of the step that sent it */
    bool states;     /* mark what changes in them */
};

/* ---- rows and cells ---- */

static struct diagram_row *add_row(struct diagram_rows *rows, enum diagram_row_type type, uint64_t time)
{
    if (rows->count == DIAGRAM_ROWS) {
        rows->too_many = true;
        return NULL;
    }
    struct diagram_row *row = &rows->rows[rows->count++];
    *row = (struct diagram_row){.type = type, .time = time, .cells = rows->cell_count};
    return row;
}

static bool has_cell(const struct diagram_rows *rows, const struct diagram_row *row, cv_node node)
{
    for (size_t i = row->cells; i < row->cells + row->cell_count; i++)
        if (rows->cells[i].node == node && !rows->cells[i].speaks)
            return true;
    return false;
}

/* The cells of a row are contiguous; those of later rows move up. */
static void add_cell(struct diagram_rows *rows, struct diagram_row *row, cv_node node, enum diagram_mark mark,
                     const char *text)
{
    if (rows->cell_count == rows->cell_room) {
        const size_t room = rows->cell_room ? 2 * rows->cell_room : 256;
        struct diagram_cell *cells = realloc(rows->cells, room * sizeof *cells);
        if (!cells) {
            rows->out_of_memory = true;
            return;
        }
        rows->cells = cells;
        rows->cell_room = room;
    }
    const size_t at = row->cells + row->cell_count++;
    memmove(&rows->cells[at + 1], &rows->cells[at], (rows->cell_count - at) * sizeof *rows->cells);
    rows->cell_count++;
    rows->cells[at] = (struct diagram_cell){.node = node, .mark = mark};
    snprintf(rows->cells[at].text, sizeof rows->cells[at].text, "%s", text);
    for (struct diagram_row *other = row + 1; other < rows->rows + rows->count; other++)
        other->cells++;
}

/* ---- marks ---- */

/* The first row of marks for this instant, at the end, in which the node has no cell yet. */
static struct diagram_row *mark_row(struct diagram_rows *rows, const struct cv_event *event)
{
    struct diagram_row *found = NULL;
    for (size_t i = rows->count; i-- > 0;) {
        struct diagram_row *row = &rows->rows[i];
        if (row->type != ROW_MARKS || row->time != event->time || has_cell(rows, row, event->node))
            break;
        found = row;
    }
    return found ? found : add_row(rows, ROW_MARKS, event->time);
}

static void add_mark(struct maker *maker, const struct cv_event *event, enum diagram_mark mark, const char *text)
{
    struct diagram_row *row = mark_row(maker->rows, event);
    if (row)
        add_cell(maker->rows, row, event->node, mark, text);
}

/* Of several critical sections the text says which. */
static void add_section_mark(struct maker *maker, const struct cv_event *event, enum diagram_mark mark,
                             const char *text)
{
    char named[40];
    if (maker->scenario->names > 1)
        snprintf(named, sizeof named, "/%" PRIu32 " %.24s", event->name, text);
    else
        snprintf(named, sizeof named, "%.30s", text);
    add_mark(maker, event, mark, named);
}

static void add_enter_mark(struct maker *maker, const struct cv_step *step)
{
    const struct cv_event *enter = cv_step_find(maker->history, step, CV_EVENT_ENTER);
    char text[48];
    struct cv_writer writer = cv_writer(text, sizeof text);
    if (!enter)
        return;
    cv_fence_write(&writer, enter->detail);
    add_section_mark(maker, enter, MARK_ENTER, text);
}

/* Adds marks for rounds, results, and messages that are late for a round. */
static void add_round_marks(struct maker *maker, const struct cv_step *step)
{
    const struct cv_event *pulse = cv_step_find(maker->history, step, CV_EVENT_PULSE);
    const struct cv_event *result = cv_step_find(maker->history, step, CV_EVENT_RESULT);
    const struct cv_event *note = cv_step_find(maker->history, step, CV_EVENT_NOTE);
    char text[32];
    if (note && maker->scenario->app)
        add_mark(maker, note, MARK_NOTE, note->text);
    if (result) {
        snprintf(text, sizeof text, "%" PRIu64, result->detail);
        add_mark(maker, result, MARK_RESULT, text);
    }
    if (pulse) {
        snprintf(text, sizeof text, "%" PRIu64, pulse->detail);
        add_mark(maker, pulse, MARK_PULSE, pulse->detail > maker->scenario->group.rounds ? "done" : text);
    }
}

static void add_cause_mark(struct maker *maker, const struct cv_step *step)
{
    const struct cv_event *cause = &maker->history->events[step->first];
    const bool calls = cv_step_find(maker->history, step, CV_EVENT_CALL);
    char text[32] = "";
    switch (cause->type) {
    case CV_EVENT_START:
        if (calls || maker->scenario->algorithm->problem == CV_ELECTION)
            add_mark(maker, cause, calls ? MARK_CALL : MARK_START, calls ? "calls" : "asked");
        break;
    case CV_EVENT_TIMEOUT:
        add_mark(maker, cause, MARK_TIMEOUT, cause->text ? cause->text : "timeout");
        break;
    case CV_EVENT_SUSPECT:
    case CV_EVENT_TRUST:
        snprintf(text, sizeof text, "%s", cv_name(maker->scenario, cause->peer).text);
        add_mark(maker, cause, cause->type == CV_EVENT_SUSPECT ? MARK_SUSPECT : MARK_TRUST, text);
        break;
    case CV_EVENT_CRASH:
        add_mark(maker, cause, MARK_CRASH, cause->time ? "crashes" : "down");
        break;
    case CV_EVENT_RECOVER:
        add_mark(maker, cause, MARK_RECOVER, "back");
        break;
    case CV_EVENT_REQUEST:
        add_section_mark(maker, cause, cause->text ? MARK_AGAIN : MARK_REQUEST, cause->text ? "again" : "wants");
        break;
    case CV_EVENT_LEAVE:
        add_section_mark(maker, cause, MARK_LEAVE, "leaves");
        break;
    default:
        break; /* the transcript shows events that a later interface adds */
    }
}

/* Adds marks for the effects of a step besides messages. */
static void add_effect_marks(struct maker *maker, const struct cv_step *step)
{
    const struct cv_event *cause = &maker->history->events[step->first];
    const struct cv_event *elected = cv_step_find(maker->history, step, CV_EVENT_ELECTED);
    char text[32];
    if (cause->type != CV_EVENT_START && cv_step_find(maker->history, step, CV_EVENT_CALL))
        add_mark(maker, cause, MARK_CALL, "calls");
    if (elected) {
        const bool leads = elected->detail == cv_view_id(maker->scenario, elected->node);
        snprintf(text, sizeof text, "%s", cv_name_of(maker->scenario, (cv_id)elected->detail).text);
        add_mark(maker, cause, MARK_ELECTED, leads ? "leads" : text);
    }
    add_round_marks(maker, step);
    add_enter_mark(maker, step);
}

static enum diagram_mark receipt_mark(const struct maker *maker, const struct cv_step *step)
{
    if (cv_step_find(maker->history, step, CV_EVENT_ELECTED))
        return MARK_ELECTED;
    if (cv_step_find(maker->history, step, CV_EVENT_CALL))
        return MARK_CALL;
    return MARK_NONE;
}

/* ---- arrows ---- */

/*
 * The row of messages from the same step that arrive at the same time; NULL if the receiver already has a cell in a
 * later row, since that would reverse its events.
 */
static struct diagram_row *sibling_row(struct maker *maker, const struct cv_event *event, size_t step)
{
    struct diagram_rows *rows = maker->rows;
    for (size_t i = rows->count; i-- > 0 && rows->rows[i].time == event->time;) {
        struct diagram_row *row = &rows->rows[i];
        if (row->type == ROW_RULE || has_cell(rows, row, event->node))
            return NULL;
        if (row->type == ROW_ARROWS && !row->gathers && row->from == event->peer && row->step == step &&
            cv_content_same(maker->scenario, row->content, event->content))
            return row;
    }
    return NULL;
}

/* The row in which this node receives the same message, sent at the same time, from another node. */
static struct diagram_row *gathering_row(struct maker *maker, const struct cv_event *event, uint64_t sent,
                                         enum diagram_mark mark)
{
    struct diagram_rows *rows = maker->rows;
    for (size_t i = rows->count; i-- > 0 && rows->rows[i].time == event->time;) {
        struct diagram_row *row = &rows->rows[i];
        if (row->type == ROW_RULE)
            return NULL;
        if (!has_cell(rows, row, event->node))
            continue;
        const bool alone = row->type == ROW_ARROWS && (row->gathers || row->cell_count == 1);
        const bool alike = alone && row->sent == sent && row->from != event->peer && event->peer != event->node &&
                           row->from != event->node && rows->cells[row->cells].mark == mark &&
                           cv_content_same(maker->scenario, row->content, event->content);
        for (size_t j = row->cells; alike && j < row->cells + row->cell_count; j++)
            if (rows->cells[j].speaks && rows->cells[j].node == event->peer)
                return NULL;
        return alike ? row : NULL;
    }
    return NULL;
}

static void add_speaker(struct maker *maker, struct diagram_row *row, cv_node node)
{
    add_cell(maker->rows, row, node, MARK_NONE, "");
    if (!maker->rows->out_of_memory)
        maker->rows->cells[row->cells + row->cell_count - 1].speaks = true;
}

static void add_arrow(struct maker *maker, const struct cv_event *event, enum diagram_mark mark)
{
    const size_t send = maker->send_of[event - maker->history->events];
    const size_t step = send == CV_NO_EVENT ? CV_NO_EVENT : maker->step_of[send];
    const uint64_t sent = send == CV_NO_EVENT ? event->time : maker->history->events[send].time;
    struct diagram_row *row = sibling_row(maker, event, step);
    if (row) {
        add_cell(maker->rows, row, event->node, mark, "");
        return;
    }
    row = gathering_row(maker, event, sent, mark);
    if (row) {
        if (!row->gathers)
            add_speaker(maker, row, row->from);
        row->gathers = true;
        add_speaker(maker, row, event->peer);
        return;
    }
    row = add_row(maker->rows, ROW_ARROWS, event->time);
    if (!row)
        return;
    row->from = event->peer;
    row->content = event->content;
    row->step = step;
    row->sent = sent;
    add_cell(maker->rows, row, event->node, mark, "");
}

/* ---- states ---- */

static void add_state_mark(struct maker *maker, const struct cv_step *step)
{
    const struct cv_event *cause = &maker->history->events[step->first];
    const struct cv_history_change *change = cv_history_change(maker->history, step->first, step->end, cause->node);
    if (change && *change->brief)
        add_mark(maker, cause, MARK_STATE, change->brief);
}

/* ---- all of it ---- */

static void add_step(struct maker *maker, const struct cv_step *step)
{
    const struct cv_event *events = maker->history->events, *cause = &events[step->first];
    if (cause->node == CV_NOBODY) {
        struct diagram_row *row = add_row(maker->rows, ROW_RULE, cause->time);
        if (row)
            row->event = cause;
        return;
    }
    if (cv_step_is_idle_timeout(maker->history, step->first))
        return;
    if (cause->type == CV_EVENT_RECEIVE) {
        add_arrow(maker, cause, receipt_mark(maker, step));
        add_round_marks(maker, step);
        add_enter_mark(maker, step);
    } else if (cause->type != CV_EVENT_LOST) {
        add_cause_mark(maker, step);
        add_effect_marks(maker, step);
    }
    if (maker->states)
        add_state_mark(maker, step);
    for (size_t i = step->first; i < step->end; i++)
        if (events[i].type == CV_EVENT_LOST)
            add_arrow(maker, &events[i], MARK_LOST);
}

static bool find_origins(struct maker *maker)
{
    const struct cv_history *history = maker->history;
    size_t count = 0, number = 0;
    struct cv_flight *flights = cv_history_flights(history, &count);
    maker->send_of = malloc((history->count + 1) * sizeof *maker->send_of);
    maker->step_of = malloc((history->count + 1) * sizeof *maker->step_of);
    const bool enough = flights && maker->send_of && maker->step_of;
    for (size_t i = 0; enough && i < history->count; i++)
        maker->send_of[i] = CV_NO_EVENT;
    for (size_t i = 0; enough && i < count; i++)
        if (flights[i].arrived != CV_NO_EVENT)
            maker->send_of[flights[i].arrived] = flights[i].sent;
    for (struct cv_step step = {0}; enough && cv_step_next(history, &step); number++)
        for (size_t i = step.first; i < step.end; i++)
            maker->step_of[i] = number;
    free(flights);
    return enough;
}

void diagram_rows_make(struct diagram_rows *rows, const struct cv_scenario *scenario, const struct cv_history *history,
                       bool states)
{
    struct maker maker = {.rows = rows, .scenario = scenario, .history = history, .states = states};
    rows->out_of_memory = !find_origins(&maker);
    rows->too_many = history->truncated;
    for (struct cv_step step = {0}; !rows->too_many && !rows->out_of_memory && cv_step_next(history, &step);)
        add_step(&maker, &step);
    free(maker.send_of);
    free(maker.step_of);
}
