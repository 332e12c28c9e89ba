// SPDX-License-Identifier: MIT
#include "service/sharing.h"

#include <string.h>

static void tell(const struct sharing *sharing, cv_node to, enum sharing_kind kind)
{
    sharing->tell(
        sharing->context, to,
        &(struct sharing_message){.kind = kind, .generation = sharing->generation, .permits = sharing->permits});
}

static bool writer_waits(const struct sharing_queue *queue)
{
    return queue->waits && !queue->reader && queue->firm;
}

static bool reader_waits(const struct sharing_queue *queue)
{
    return queue->waits && queue->reader;
}

/* ---- the line for permits ---- */

static uint32_t place_in_line(const struct sharing *sharing, cv_node node)
{
    uint32_t place = 0;
    while (place < sharing->in_line && sharing->line[place] != node)
        place++;
    return place;
}

static void stand_in_line(struct sharing *sharing, cv_node node)
{
    if (place_in_line(sharing, node) == sharing->in_line && sharing->in_line < CV_MAX_MEMBERS)
        sharing->line[sharing->in_line++] = (uint8_t)node;
}

static void step_out_of_line(struct sharing *sharing, cv_node node)
{
    const uint32_t place = place_in_line(sharing, node);
    if (place == sharing->in_line)
        return;
    sharing->in_line--;
    memmove(&sharing->line[place], &sharing->line[place + 1], sharing->in_line - place);
}

static void dissolve_line(struct sharing *sharing)
{
    for (uint32_t i = 0; i < sharing->in_line; i++)
        if (sharing->line[i] != sharing->me)
            tell(sharing, sharing->line[i], SHARING_REFUSE);
    sharing->in_line = 0;
}

/* May the lender give a permit now? */
static bool has_permit(const struct sharing *sharing, const struct sharing_queue *queue)
{
    return !sharing->untold && queue->holding + sharing->lent < sharing->permits && sharing->next < sharing->end;
}

static uint64_t loan_of(const struct sharing *sharing)
{
    return (sharing->permits ? 1 : LOAN_FENCES) * sharing->step;
}

static void lend(struct sharing *sharing, cv_node to)
{
    sharing->tell(sharing->context, to,
                  &(struct sharing_message){.kind = SHARING_LEND,
                                            .generation = sharing->generation,
                                            .first = sharing->next,
                                            .entry = sharing->entry,
                                            .permits = sharing->permits});
    sharing->next += loan_of(sharing);
    sharing->lent += sharing->permits != 0;
    sharing->borrowers |= cv_set_of(to);
    sharing->open |= cv_set_of(to);
}

/* Gives permits to the nodes at the head of the line. True if this node comes next, or nobody waits in line. */
static bool serve_line(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (reader_waits(queue))
        stand_in_line(sharing, sharing->me);
    else
        step_out_of_line(sharing, sharing->me);
    while (sharing->in_line && sharing->line[0] != sharing->me && has_permit(sharing, queue)) {
        const cv_node next = sharing->line[0];
        step_out_of_line(sharing, next);
        lend(sharing, next);
    }
    return sharing->in_line && sharing->line[0] == sharing->me && has_permit(sharing, queue);
}

/* ---- whose turn it is ---- */

bool sharing_has_room(const struct sharing *sharing, bool inside, uint64_t holding)
{
    const bool full = inside && sharing->permits && holding + sharing->lent >= sharing->permits;
    return (sharing->shares || sharing->borrows) && !sharing->closed && sharing->upgrader == CV_NOBODY && !full;
}

/* Has everybody gone who was inside with this node, or by its loan? */
static bool is_deserted(const struct sharing *sharing, const struct sharing_queue *queue)
{
    return !queue->holding &&
           !(sharing->permits ? sharing->lent || sharing->untold || sharing->in_line : sharing->borrowers);
}

void sharing_end_upgrade(struct sharing *sharing)
{
    sharing->upgrader = CV_NOBODY;
    sharing->alone = false;
}

/* Nobody else may come in, and those inside are not to let in others. */
static void shut(struct sharing *sharing)
{
    for (cv_node node = 0; sharing->open; node++)
        if (cv_set_has(sharing->open, node)) {
            sharing->open &= ~cv_set_of(node);
            tell(sharing, node, SHARING_CLOSE);
            sharing->shut = true;
        }
}

/* A writer has lost patience, or an upgrade is over. */
static void open_again(struct sharing *sharing)
{
    sharing->shut = false;
    sharing->open = sharing->borrowers;
    tell(sharing, CV_NOBODY, SHARING_OPEN);
}

/* The upgrader of another node is alone as soon as its node is the only borrower. */
static void serve_upgrader(struct sharing *sharing, const struct sharing_queue *queue)
{
    const cv_node to = sharing->upgrader;
    if (to == CV_NOBODY || to == sharing->me || sharing->alone || queue->holding ||
        sharing->borrowers != cv_set_of(to) || sharing->next + loan_of(sharing) > sharing->end)
        return;
    sharing->alone = true;
    sharing->tell(sharing->context, to,
                  &(struct sharing_message){.kind = SHARING_ALONE,
                                            .generation = sharing->generation,
                                            .first = sharing->next,
                                            .entry = sharing->answers});
    sharing->next += loan_of(sharing);
}

static enum sharing_turn turn_inside(struct sharing *sharing, const struct sharing_queue *queue)
{
    const bool closes = sharing->closed || writer_waits(queue) || sharing->upgrader != CV_NOBODY;
    if (closes || sharing->next >= sharing->end)
        dissolve_line(sharing);
    if (is_deserted(sharing, queue)) {
        const bool more = queue->waits && !sharing->closed && sharing->next < sharing->end &&
                          sharing->next - sharing->first < queue->handoffs * sharing->step;
        sharing->shares = sharing->shut = false;
        sharing->permits = 0;
        sharing->borrowers = sharing->open = 0;
        sharing_end_upgrade(sharing);
        return more ? TURN_GRANT : TURN_LEAVE;
    }
    if (closes)
        shut(sharing);
    else if (sharing->shut && sharing->shares)
        open_again(sharing);
    if (queue->upgrades && queue->holding == 1 && !sharing->borrowers && sharing->next < sharing->end)
        return TURN_UPGRADE;
    serve_upgrader(sharing, queue);
    const bool next = sharing->permits && !closes ? serve_line(sharing, queue) : sharing->next < sharing->end;
    if (!sharing->shares || !reader_waits(queue) || closes)
        return TURN_REST;
    if (queue->permits != sharing->permits)
        return TURN_MISMATCH;
    if (next)
        step_out_of_line(sharing, sharing->me);
    return next ? TURN_GRANT : TURN_REST;
}

static void ask(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (!sharing->asked && !sharing->borrows)
        sharing->permits = queue->permits;
    if (!sharing->asked)
        tell(sharing, sharing->lender, SHARING_BORROW);
    sharing->asked = true;
}

static enum sharing_turn mismatch(struct sharing *sharing)
{
    sharing->mismatch = false;
    return TURN_MISMATCH;
}

/* Nothing is returned before the answer is there: a loan that crosses its return would belong to nobody. */
static void give_back(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (queue->holding || sharing->asked)
        return;
    tell(sharing, sharing->lender, SHARING_RETURN);
    sharing->borrows = false;
    sharing_end_upgrade(sharing);
}

/* Returns the permits that no client uses. */
static void return_permits(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (!reader_waits(queue) || sharing->closed)
        sharing->next = sharing->end;
    const uint64_t used = queue->holding + (sharing->next < sharing->end);
    for (; sharing->has > used; sharing->has--)
        tell(sharing, sharing->lender, SHARING_RETURN);
    sharing->borrows = sharing->has;
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
    if (queue->upgrades && sharing->upgrader != sharing->me)
        return TURN_UPGRADING;
    if (queue->inside)
        return turn_inside(sharing, queue);
    if (queue->upgrades && sharing->alone && queue->holding == 1)
        return TURN_UPGRADE;
    if (sharing->permits && sharing->borrows)
        return_permits(sharing, queue);
    if (sharing->lender != CV_NOBODY && reader_waits(queue) && !sharing->closed && sharing->upgrader == CV_NOBODY) {
        if (sharing->borrows ? queue->permits != sharing->permits : sharing->mismatch)
            return mismatch(sharing);
        if (sharing->borrows && sharing->next < sharing->end)
            return TURN_GRANT;
        ask(sharing, queue);
        return TURN_REST;
    }
    if (sharing->lender != CV_NOBODY && writer_waits(queue))
        warn(sharing);
    if (sharing->borrows && !sharing->permits)
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
        sharing->permits = queue->permits;
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

/* ---- readers that become writers, and back ---- */

static void tell_lender(const struct sharing *sharing, enum sharing_kind kind)
{
    sharing->tell(
        sharing->context, sharing->lender,
        &(struct sharing_message){.kind = kind, .generation = sharing->generation, .entry = sharing->upgrades});
}

void sharing_upgrade(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (sharing->upgrader != CV_NOBODY)
        return;
    sharing->upgrader = sharing->me;
    sharing->upgrades++;
    if (!queue->inside)
        tell_lender(sharing, SHARING_UPGRADE);
}

void sharing_stay(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (sharing->upgrader != sharing->me)
        return;
    if (!queue->inside)
        tell_lender(sharing, SHARING_STAY);
    sharing_end_upgrade(sharing);
}

bool sharing_can_downgrade(const struct sharing *sharing, const struct sharing_queue *queue)
{
    return (queue->inside || sharing->alone) && sharing->next < sharing->end;
}

/* Without a loan the readers of this entry are a new generation. */
uint64_t sharing_exchange(struct sharing *sharing, const struct sharing_queue *queue, bool shares)
{
    const uint64_t fence = sharing->next;
    sharing->next += sharing->step;
    if (queue->inside && shares)
        sharing->generation = fence;
    return fence;
}

void sharing_upgraded(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (!queue->inside)
        return; /* the lender knows, and lends to nobody else */
    sharing->shares = sharing->shut = false;
    sharing_end_upgrade(sharing);
}

/* What others know of an earlier generation, such as a writer that waits, they tell again. */
void sharing_downgraded(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (!queue->inside) {
        sharing_stay(sharing, queue);
        return;
    }
    sharing->shares = true;
    sharing->closed = false;
    sharing->permits = 0;
    tell(sharing, CV_NOBODY, SHARING_SHARES);
}

/* ---- what others say ---- */

/* Messages of different nodes come in any order. An earlier generation has nothing left to lend. */
static void on_shares(struct sharing *sharing, const struct sharing_queue *queue, cv_node from,
                      const struct sharing_message *message)
{
    if (queue->inside || sharing->borrows || message->generation <= sharing->generation)
        return;
    sharing->lender = from;
    sharing->generation = message->generation;
    sharing->permits = message->permits;
    sharing->asked = sharing->closed = sharing->told = sharing->mismatch =
        false; /* the node that was asked before has left */
}

/* Only the lender knows whether its generation goes on, and what the permits are. */
static void on_borrow(struct sharing *sharing, const struct sharing_queue *queue, cv_node from,
                      const struct sharing_message *message)
{
    const bool current = queue->inside && sharing->shares && message->generation == sharing->generation;
    const bool passing = writer_waits(queue) || sharing->upgrader != CV_NOBODY;
    const bool lends = current && message->permits == sharing->permits && !sharing->closed && !passing;
    sharing->shut |= current && passing;
    if (lends && sharing->permits)
        stand_in_line(sharing, from);
    else if (lends && sharing->next + loan_of(sharing) <= sharing->end)
        lend(sharing, from);
    else
        sharing->tell(sharing->context, from,
                      &(struct sharing_message){.kind = SHARING_REFUSE,
                                                .generation = message->generation,
                                                .permits = current ? sharing->permits : message->permits});
}

static void on_lend(struct sharing *sharing, const struct sharing_message *message)
{
    sharing->asked = false;
    sharing->borrows = true;
    sharing->entry = message->entry;
    sharing->next = message->first;
    sharing->end = message->first + loan_of(sharing);
    sharing->has += sharing->permits != 0;
}

static void on_refuse(struct sharing *sharing, uint64_t permits)
{
    sharing->asked = false;
    sharing->mismatch = permits != sharing->permits;
    sharing->closed |= !sharing->mismatch;
    sharing->permits = permits;
}

static void on_close(struct sharing *sharing, const struct sharing_queue *queue, cv_node from)
{
    sharing->closed |= queue->inside ? sharing->shares : from == sharing->lender;
}

/* A node whose own writer waits stays closed. */
static void on_open(struct sharing *sharing, const struct sharing_queue *queue)
{
    if (!queue->inside)
        sharing->closed = sharing->told;
}

static void on_upgrade(struct sharing *sharing, const struct sharing_queue *queue, cv_node from, uint64_t number)
{
    const bool borrows = queue->inside && sharing->shares && !sharing->permits && cv_set_has(sharing->borrowers, from);
    if (borrows && sharing->upgrader == CV_NOBODY) {
        sharing->upgrader = from;
        sharing->answers = number;
        return;
    }
    sharing->tell(
        sharing->context, from,
        &(struct sharing_message){.kind = SHARING_UPGRADING, .generation = sharing->generation, .entry = number});
}

/* The lender's answer. One to an upgrade that was given up means nothing. */
static void on_upgrade_answer(struct sharing *sharing, const struct sharing_message *message)
{
    if (!sharing->borrows || sharing->upgrader != sharing->me || message->entry != sharing->upgrades)
        return;
    if (message->kind == SHARING_UPGRADING) {
        sharing_end_upgrade(sharing);
        return;
    }
    sharing->alone = true;
    sharing->next = message->first;
    sharing->end = message->first + loan_of(sharing);
}

static void on_return(struct sharing *sharing, cv_node from)
{
    if (sharing->permits) {
        sharing->lent -= sharing->lent > 0;
        return;
    }
    sharing->borrowers &= ~cv_set_of(from);
    sharing->open &= ~cv_set_of(from);
    if (sharing->upgrader == from)
        sharing_end_upgrade(sharing);
}

static void on_holds(struct sharing *sharing, cv_node from, uint64_t permits)
{
    if (!cv_set_has(sharing->untold, from))
        return;
    sharing->untold &= ~cv_set_of(from);
    sharing->lent += permits < sharing->permits ? permits : sharing->permits;
}

void sharing_hear(struct sharing *sharing, const struct sharing_queue *queue, cv_node from,
                  const struct sharing_message *message)
{
    if (message->kind == SHARING_SHARES)
        on_shares(sharing, queue, from, message);
    else if (message->kind == SHARING_BORROW)
        on_borrow(sharing, queue, from, message);
    else if (message->generation != sharing->generation)
        return; /* it is about readers that are gone */
    else if (message->kind == SHARING_LEND && sharing->asked && from == sharing->lender)
        on_lend(sharing, message);
    else if (message->kind == SHARING_REFUSE && from == sharing->lender)
        on_refuse(sharing, message->permits);
    else if (message->kind == SHARING_CLOSE)
        on_close(sharing, queue, from);
    else if (message->kind == SHARING_HOLDS)
        on_holds(sharing, from, message->first);
    else if (message->kind == SHARING_RETURN)
        on_return(sharing, from);
    else if (message->kind == SHARING_OPEN && from == sharing->lender)
        on_open(sharing, queue);
    else if (message->kind == SHARING_UPGRADE)
        on_upgrade(sharing, queue, from, message->entry);
    else if (message->kind == SHARING_STAY && sharing->upgrader == from)
        sharing_end_upgrade(sharing);
    else if ((message->kind == SHARING_ALONE || message->kind == SHARING_UPGRADING) && from == sharing->lender)
        on_upgrade_answer(sharing, message);
}

/* ---- views ---- */

void sharing_forget(struct sharing *sharing)
{
    sharing->lender = CV_NOBODY;
    sharing->borrowers = sharing->open = 0;
    sharing->next = sharing->end = 0;
    sharing->permits = sharing->has = sharing->lent = 0;
    sharing->mismatch = false;
    sharing->untold = 0;
    sharing->in_line = 0;
    sharing->shares = sharing->borrows = sharing->asked = sharing->closed = sharing->told = sharing->shut = false;
    sharing_end_upgrade(sharing);
}

/* The lender learns how many permits are in use here. */
static void resume_permits(struct sharing *sharing, const struct sharing_queue *queue, uint64_t permits)
{
    sharing->permits = permits;
    sharing->has = queue->holding;
    sharing->borrows = sharing->has;
    sharing->tell(
        sharing->context, sharing->lender,
        &(struct sharing_message){
            .kind = SHARING_HOLDS, .generation = sharing->generation, .first = sharing->has, .permits = permits});
}

/*
 * The generation goes on under the holder, whichever node lent before, and stays closed if it was. A borrower has no
 * fences left and asks for new ones.
 */
void sharing_resume(struct sharing *sharing, const struct sharing_queue *queue, cv_node holder, cv_set sharers,
                    const struct sharing_fences *fences, uint64_t entry)
{
    const bool goes_on = sharing->shares || sharing->borrows, closed = sharing->closed && goes_on;
    const bool was_shut = sharing->shut && goes_on;
    const uint64_t permits = queue->held ? queue->held : goes_on ? sharing->permits : 0;
    sharing_enter(sharing, fences, entry);
    sharing->closed = closed;
    if (holder == sharing->me) {
        sharing->borrowers = sharers & ~cv_set_of(sharing->me);
        sharing->shares = sharing->borrowers || (queue->holding && queue->shared);
        sharing->shut = was_shut;
        sharing->permits = sharing->shares ? permits : 0;
        sharing->untold = sharing->permits ? sharing->borrowers : 0;
        if (sharing->shares)
            tell(sharing, CV_NOBODY, SHARING_SHARES);
        return;
    }
    sharing->end = sharing->first;
    sharing->borrows = cv_set_has(sharers, sharing->me);
    sharing->lender = sharing->borrows ? holder : CV_NOBODY;
    if (!sharing->borrows)
        sharing->generation = 0;
    else if (permits)
        resume_permits(sharing, queue, permits);
}
