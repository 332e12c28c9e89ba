// SPDX-License-Identifier: MIT
#include "service/lending.h"

#define ENTRY_FENCES ((1u << CV_GRANT_BITS) - 1)

static void tell(const struct cv_lending *lending, cv_node to, enum cv_lending_notice notice)
{
    lending->tell(lending->context, to, &(struct cv_lending_word){.notice = notice, .generation = lending->generation});
}

static bool writer_waits(const struct cv_queue *queue)
{
    return queue->waits && !queue->reader && queue->firm;
}

/* ---- whose turn it is ---- */

static enum cv_turn turn_inside(struct cv_lending *lending, const struct cv_queue *queue)
{
    if (!queue->holding && !lending->borrowers) {
        const bool more = queue->waits && !lending->closed && lending->next - lending->first < queue->handoffs;
        lending->shares = false;
        return more ? CV_TURN_GRANT : CV_TURN_LEAVE;
    }
    for (cv_node node = 0; lending->open && (lending->closed || writer_waits(queue)); node++)
        if (cv_set_has(lending->open, node)) {
            lending->open &= ~cv_set_of(node);
            tell(lending, node, CV_LENDING_CLOSE);
        }
    const bool joins =
        lending->shares && queue->waits && queue->reader && !lending->closed && lending->next < lending->end;
    return joins ? CV_TURN_GRANT : CV_TURN_REST;
}

static void ask(struct cv_lending *lending)
{
    if (!lending->asked)
        tell(lending, lending->lender, CV_LENDING_BORROW);
    lending->asked = true;
}

/* Nothing is returned before the answer is there: a loan that crosses its return would be nobody's. */
static void give_back(struct cv_lending *lending, const struct cv_queue *queue)
{
    if (queue->holding || lending->asked)
        return;
    tell(lending, lending->lender, CV_LENDING_RETURN);
    lending->borrows = false;
}

/* The lender lets no more readers in, and whoever waits here asks the algorithm. */
static void warn(struct cv_lending *lending)
{
    if (!lending->told)
        tell(lending, lending->lender, CV_LENDING_CLOSE);
    lending->told = lending->closed = true;
}

enum cv_turn cv_lending_turn(struct cv_lending *lending, const struct cv_queue *queue)
{
    if (queue->inside)
        return turn_inside(lending, queue);
    if (lending->lender != CV_NOBODY && queue->waits && queue->reader && !lending->closed) {
        if (lending->borrows && lending->next < lending->end)
            return CV_TURN_GRANT;
        ask(lending);
        return CV_TURN_REST;
    }
    if (lending->lender != CV_NOBODY && writer_waits(queue))
        warn(lending);
    if (lending->borrows)
        give_back(lending, queue);
    return queue->waits && !queue->wants ? CV_TURN_REQUEST : CV_TURN_REST;
}

uint64_t cv_lending_grant(struct cv_lending *lending, const struct cv_queue *queue)
{
    const uint64_t fence = lending->next++;
    if (queue->inside && queue->reader && !lending->shares) {
        lending->shares = true;
        lending->generation = fence;
        tell(lending, CV_NOBODY, CV_LENDING_SHARES);
    }
    return fence;
}

void cv_lending_enter(struct cv_lending *lending, uint64_t first, uint64_t entry)
{
    cv_lending_forget(lending);
    lending->first = lending->next = lending->generation = first;
    lending->end = first + ENTRY_FENCES;
    lending->entry = entry;
}

/* ---- what others say ---- */

/* News of different nodes come in any order: of an earlier generation there is nothing to be had. */
static void on_shares(struct cv_lending *lending, const struct cv_queue *queue, cv_node from, uint64_t generation)
{
    if (queue->inside || lending->borrows || generation <= lending->generation)
        return;
    lending->lender = from;
    lending->generation = generation;
    lending->asked = lending->closed = lending->told = false; /* who was asked before has left */
}

static void on_borrow(struct cv_lending *lending, const struct cv_queue *queue, cv_node from, uint64_t generation)
{
    struct cv_lending_word answer = {.notice = CV_LENDING_REFUSE, .generation = generation};
    if (queue->inside && lending->shares && generation == lending->generation && !lending->closed &&
        !writer_waits(queue) && lending->end - lending->next >= CV_LOAN) {
        answer.notice = CV_LENDING_LEND;
        answer.first = lending->next;
        answer.entry = lending->entry;
        lending->next += CV_LOAN;
        lending->borrowers |= cv_set_of(from);
        lending->open |= cv_set_of(from);
    }
    lending->tell(lending->context, from, &answer);
}

static void on_lend(struct cv_lending *lending, const struct cv_lending_word *word)
{
    lending->asked = false;
    lending->borrows = true;
    lending->entry = word->entry;
    lending->next = word->first;
    lending->end = word->first + CV_LOAN;
}

static void on_refuse(struct cv_lending *lending)
{
    lending->asked = false;
    lending->closed = true;
}

static void on_close(struct cv_lending *lending, const struct cv_queue *queue, cv_node from)
{
    lending->closed |= queue->inside ? lending->shares : from == lending->lender;
}

void cv_lending_hear(struct cv_lending *lending, const struct cv_queue *queue, cv_node from,
                     const struct cv_lending_word *word)
{
    if (word->notice == CV_LENDING_SHARES)
        on_shares(lending, queue, from, word->generation);
    else if (word->notice == CV_LENDING_BORROW)
        on_borrow(lending, queue, from, word->generation);
    else if (word->generation != lending->generation)
        return; /* it is about readers that are gone */
    else if (word->notice == CV_LENDING_LEND && lending->asked && from == lending->lender)
        on_lend(lending, word);
    else if (word->notice == CV_LENDING_REFUSE && from == lending->lender)
        on_refuse(lending);
    else if (word->notice == CV_LENDING_CLOSE)
        on_close(lending, queue, from);
    else if (word->notice == CV_LENDING_RETURN) {
        lending->borrowers &= ~cv_set_of(from);
        lending->open &= ~cv_set_of(from);
    }
}

/* ---- views ---- */

void cv_lending_forget(struct cv_lending *lending)
{
    lending->lender = CV_NOBODY;
    lending->borrowers = lending->open = 0;
    lending->next = lending->end = 0;
    lending->shares = lending->borrows = lending->asked = lending->closed = lending->told = false;
}

/*
 * The generation goes on under the holder, whoever lent before, and stays closed if it was. Who borrows has no fences
 * left and asks for new ones.
 */
void cv_lending_resume(struct cv_lending *lending, const struct cv_queue *queue, cv_node holder, cv_set sharers,
                       uint64_t first, uint64_t entry)
{
    const bool closed = lending->closed && (lending->shares || lending->borrows);
    cv_lending_enter(lending, first, entry);
    lending->closed = closed;
    if (holder == lending->me) {
        lending->borrowers = sharers & ~cv_set_of(lending->me);
        lending->shares = lending->borrowers || (queue->holding && queue->shared);
        if (lending->shares)
            tell(lending, CV_NOBODY, CV_LENDING_SHARES);
        return;
    }
    lending->end = first;
    lending->borrows = cv_set_has(sharers, lending->me);
    lending->lender = lending->borrows ? holder : CV_NOBODY;
    if (!lending->borrows)
        lending->generation = 0;
}
