// SPDX-License-Identifier: MIT
#include "service/sharing.h"

static void tell(const struct sharing *sharing, cv_node to, enum sharing_kind kind)
{
    sharing->tell(sharing->context, to, &(struct sharing_message){.kind = kind, .generation = sharing->generation});
}

static bool writer_waits(const struct sharing_queue *queue)
{
    return queue->waits && !queue->reader && queue->firm;
}

/* ---- whose turn it is ---- */

static enum sharing_turn turn_inside(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (!queue->holding && !sharing->borrowers) {
        const bool more = queue->waits && !sharing->closed && sharing->next < sharing->end &&
                          (sharing->next - sharing->first) / sharing->step < queue->handoffs;
        sharing->shares = false;
        return more ? TURN_GRANT : TURN_LEAVE;
    }
    for (cv_node node = 0; sharing->open && (sharing->closed || writer_waits(queue)); node++)
        if (cv_set_has(sharing->open, node)) {
            sharing->open &= ~cv_set_of(node);
            tell(sharing, node, SHARING_CLOSE);
        }
    const bool joins =
        sharing->shares && queue->waits && queue->reader && !sharing->closed && sharing->next < sharing->end;
    return joins ? TURN_GRANT : TURN_REST;
}

static void ask(struct sharing *sharing)
{
    if (!sharing->asked)
        tell(sharing, sharing->lender, SHARING_BORROW);
    sharing->asked = true;
}

/* Nothing is returned before the answer is there: a loan that crosses its return would belong to nobody. */
static void give_back(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (queue->holding || sharing->asked)
        return;
    tell(sharing, sharing->lender, SHARING_RETURN);
    sharing->borrows = false;
}

/* The lender lets no more readers in, and clients that wait here ask the algorithm. */
static void warn(struct sharing *sharing)
{
    if (!sharing->told)
        tell(sharing, sharing->lender, SHARING_CLOSE);
    sharing->told = sharing->closed = true;
}

enum sharing_turn sharing_next_turn(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (queue->inside)
        return turn_inside(sharing, queue);
    if (sharing->lender != CV_NOBODY && queue->waits && queue->reader && !sharing->closed) {
        if (sharing->borrows && sharing->next < sharing->end)
            return TURN_GRANT;
        ask(sharing);
        return TURN_REST;
    }
    if (sharing->lender != CV_NOBODY && writer_waits(queue))
        warn(sharing);
    if (sharing->borrows)
        give_back(sharing, queue);
    return queue->waits && !queue->wants ? TURN_REQUEST : TURN_REST;
}

uint64_t sharing_grant(struct sharing *sharing, const struct sharing_queue *queue)
{
    const uint64_t fence = sharing->next;
    sharing->next += sharing->step;
    if (queue->inside && queue->reader && !sharing->shares) {
        sharing->shares = true;
        sharing->generation = fence;
        tell(sharing, CV_NOBODY, SHARING_SHARES);
    }
    return fence;
}

void sharing_enter(struct sharing *sharing, const struct sharing_fences *fences, uint64_t entry)
{
    sharing_forget(sharing);
    sharing->first = sharing->next = sharing->generation = fences->first;
    sharing->end = fences->end;
    sharing->step = fences->step;
    sharing->entry = entry;
}

/* ---- what others say ---- */

/* Messages of different nodes come in any order. An earlier generation has nothing left to lend. */
static void on_shares(struct sharing *sharing, const struct sharing_queue *queue, cv_node from, uint64_t generation)
{
    if (queue->inside || sharing->borrows || generation <= sharing->generation)
        return;
    sharing->lender = from;
    sharing->generation = generation;
    sharing->asked = sharing->closed = sharing->told = false; /* the node that was asked before has left */
}

static void on_borrow(struct sharing *sharing, const struct sharing_queue *queue, cv_node from, uint64_t generation)
{
    struct sharing_message answer = {.kind = SHARING_REFUSE, .generation = generation};
    if (queue->inside && sharing->shares && generation == sharing->generation && !sharing->closed &&
        !writer_waits(queue) && sharing->next + LOAN_FENCES * sharing->step <= sharing->end) {
        answer.kind = SHARING_LEND;
        answer.first = sharing->next;
        answer.entry = sharing->entry;
        sharing->next += LOAN_FENCES * sharing->step;
        sharing->borrowers |= cv_set_of(from);
        sharing->open |= cv_set_of(from);
    }
    sharing->tell(sharing->context, from, &answer);
}

static void on_lend(struct sharing *sharing, const struct sharing_message *message)
{
    sharing->asked = false;
    sharing->borrows = true;
    sharing->entry = message->entry;
    sharing->next = message->first;
    sharing->end = message->first + LOAN_FENCES * sharing->step;
}

static void on_refuse(struct sharing *sharing)
{
    sharing->asked = false;
    sharing->closed = true;
}

static void on_close(struct sharing *sharing, const struct sharing_queue *queue, cv_node from)
{
    sharing->closed |= queue->inside ? sharing->shares : from == sharing->lender;
}

void sharing_hear(struct sharing *sharing, const struct sharing_queue *queue, cv_node from,
                  const struct sharing_message *message)
{
    if (message->kind == SHARING_SHARES)
        on_shares(sharing, queue, from, message->generation);
    else if (message->kind == SHARING_BORROW)
        on_borrow(sharing, queue, from, message->generation);
    else if (message->generation != sharing->generation)
        return; /* it is about readers that are gone */
    else if (message->kind == SHARING_LEND && sharing->asked && from == sharing->lender)
        on_lend(sharing, message);
    else if (message->kind == SHARING_REFUSE && from == sharing->lender)
        on_refuse(sharing);
    else if (message->kind == SHARING_CLOSE)
        on_close(sharing, queue, from);
    else if (message->kind == SHARING_RETURN) {
        sharing->borrowers &= ~cv_set_of(from);
        sharing->open &= ~cv_set_of(from);
    }
}

/* ---- views ---- */

void sharing_forget(struct sharing *sharing)
{
    sharing->lender = CV_NOBODY;
    sharing->borrowers = sharing->open = 0;
    sharing->next = sharing->end = 0;
    sharing->shares = sharing->borrows = sharing->asked = sharing->closed = sharing->told = false;
}

/*
 * The generation goes on under the holder, whichever node lent before, and stays closed if it was. A borrower has no
 * fences left and asks for new ones.
 */
void sharing_resume(struct sharing *sharing, const struct sharing_queue *queue, cv_node holder, cv_set sharers,
                    const struct sharing_fences *fences, uint64_t entry)
{
    const bool closed = sharing->closed && (sharing->shares || sharing->borrows);
    sharing_enter(sharing, fences, entry);
    sharing->closed = closed;
    if (holder == sharing->me) {
        sharing->borrowers = sharers & ~cv_set_of(sharing->me);
        sharing->shares = sharing->borrowers || (queue->holding && queue->shared);
        if (sharing->shares)
            tell(sharing, CV_NOBODY, SHARING_SHARES);
        return;
    }
    sharing->end = sharing->first;
    sharing->borrows = cv_set_has(sharers, sharing->me);
    sharing->lender = sharing->borrows ? holder : CV_NOBODY;
    if (!sharing->borrows)
        sharing->generation = 0;
}
