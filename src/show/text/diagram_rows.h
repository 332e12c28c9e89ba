// SPDX-License-Identifier: MIT
/* The rows of a diagram, before they are drawn. For the files of this room. */
#ifndef CONCLAVE_SHOW_TEXT_DIAGRAM_ROWS_H
#define CONCLAVE_SHOW_TEXT_DIAGRAM_ROWS_H

#include "show/content.h"
#include "show/text/canvas.h"
#include "show/text/diagram.h"

#define DIAGRAM_ROWS 200u /* more than anybody scrolls through */

/* X(constant, glyph, colour, meaning) */
#define DIAGRAM_MARKS(X)                                                                                               \
    X(MARK_NONE, "│", PAINT_LINE, "")                                                                                  \
    X(MARK_CALL, "◆", PAINT_PLAIN, "calls an election")                                                                \
    X(MARK_START, "◇", PAINT_PLAIN, "is asked to call one")                                                            \
    X(MARK_TIMEOUT, "◷", PAINT_PLAIN, "times out")                                                                     \
    X(MARK_SUSPECT, "?", PAINT_PLAIN, "suspects")                                                                      \
    X(MARK_TRUST, "!", PAINT_PLAIN, "finds back")                                                                      \
    X(MARK_ELECTED, "★", PAINT_STAR, "knows the leader")                                                               \
    X(MARK_REQUEST, "░", PAINT_PLAIN, "waits")                                                                         \
    X(MARK_AGAIN, "░", PAINT_PLAIN, "")                                                                                \
    X(MARK_ENTER, "█", PAINT_STAR, "inside, with its fence")                                                           \
    X(MARK_LEAVE, "▀", PAINT_STAR, "leaves")                                                                           \
    X(MARK_PULSE, "◎", PAINT_PLAIN, "begins a round")                                                                  \
    X(MARK_RESULT, "=", PAINT_STAR, "has come to")                                                                     \
    X(MARK_STATE, "▪", PAINT_PLAIN, "is now")                                                                          \
    X(MARK_NOTE, "~", PAINT_BAD, "")                                                                                   \
    X(MARK_CRASH, "✗", PAINT_BAD, "down")                                                                              \
    X(MARK_RECOVER, "●", PAINT_GOOD, "back")                                                                           \
    X(MARK_LOST, "╳", PAINT_BAD, "lost")

enum diagram_mark {
#define X(constant, glyph, colour, meaning) constant,
    DIAGRAM_MARKS(X)
#undef X
};

enum diagram_row_type { ROW_MARKS, ROW_ARROWS, ROW_RULE };

/* What a row shows in the column of one node. */
struct diagram_cell {
    cv_node node;
    enum diagram_mark mark;
    bool speaks;   /* in rows of arrows: it sends the same as row->from, to the same node */
    char text[31]; /* beside the mark; empty in rows of arrows */
};

/*
 * Marks of nodes; or a message from one node to several at the same time, or the same message from several nodes to
 * one; or a line of text.
 */
struct diagram_row {
    enum diagram_row_type type;
    uint64_t time;
    size_t cells; /* the index of the first, in the rows' common list */
    size_t cell_count;
    const struct cv_event *event;     /* ROW_RULE */
    const struct cv_message *content; /* ROW_ARROWS: the message */
    cv_node from;                     /* its sender */
    uint64_t sent;                    /* when it was sent */
    size_t step;                      /* the step that sent it */
    bool gathers;                     /* several send it: the first cell is the receiver, `from` one of the senders */
};

struct diagram_rows {
    struct diagram_row rows[DIAGRAM_ROWS];
    size_t count;
    struct diagram_cell *cells;
    size_t cell_count, cell_room;
    bool too_many;
    bool out_of_memory;
};

/* With states: also marks of what changes in them. */
void diagram_rows_make(struct diagram_rows *rows, const struct cv_scenario *scenario, const struct cv_history *history,
                       bool states);

#endif
