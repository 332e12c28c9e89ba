// SPDX-License-Identifier: MIT
#include "group/disk_paxos/disk_paxos.h"

#include "group/disk_paxos/disk_paxos_block.h"
#include "group/proposal.h"

static bool same_proposal(const struct cv_proposal *one, const struct cv_proposal *other)
{
    return cv_disk_paxos_pack(one) == cv_disk_paxos_pack(other);
}

static bool same_block(const struct cv_disk_paxos_block *one, const struct cv_disk_paxos_block *other)
{
    return one->epoch == other->epoch && one->promised == other->promised && one->accepted == other->accepted &&
           (!one->epoch || same_proposal(&one->entry, &other->entry)) &&
           (!one->accepted || same_proposal(&one->value, &other->value));
}

/* Is this node in the last entry? */
static bool is_inside(const struct cv_disk_paxos *paxos)
{
    return paxos->mine.epoch && cv_set_has(paxos->mine.entry.members, paxos->me);
}

void cv_disk_paxos_init(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_calls *calls, cv_node me,
                        uint64_t renew_us, uint64_t look_us, uint64_t seed)
{
    *paxos = (struct cv_disk_paxos){
        .calls = *calls, .me = me, .other = CV_DISK_PAXOS_MEMBERS - 1 - me, .renew_us = renew_us, .look_us = look_us};
    cv_random_seed(&paxos->random, seed, me);
}

/* ---- steps ---- */

static void start(struct cv_disk_paxos *paxos, enum cv_disk_paxos_step step, uint64_t now_us)
{
    paxos->step = step;
    paxos->asked_us = now_us;
    if (step != CV_DISK_PAXOS_LOOK)
        paxos->written = paxos->mine;
    paxos->calls.start(paxos->calls.context, step == CV_DISK_PAXOS_LOOK ? NULL : &paxos->written);
}

static void promise(struct cv_disk_paxos *paxos, uint64_t now_us)
{
    const uint64_t highest =
        paxos->mine.promised > paxos->theirs.promised ? paxos->mine.promised : paxos->theirs.promised;
    paxos->mine.promised = (highest / CV_DISK_PAXOS_MEMBERS + 1) * CV_DISK_PAXOS_MEMBERS + paxos->me;
    start(paxos, CV_DISK_PAXOS_PROMISE, now_us);
}

/* In a view of both, a member reads the file only now and then. One that is left out watches for the other's writes. */
void cv_disk_paxos_tick(struct cv_disk_paxos *paxos, bool needy, uint64_t now_us)
{
    const bool inside = is_inside(paxos),
               urgent = paxos->reached && (paxos->proposing || paxos->untold || paxos->noting);
    const bool renews =
        inside && now_us >= paxos->quiet_us && (needy || paxos->mine.entry.members == cv_set_of(paxos->me));
    const uint64_t pause_us = urgent ? 0 : inside && !renews ? paxos->look_us : paxos->renew_us;
    if (paxos->step != CV_DISK_PAXOS_REST || now_us < paxos->rested_us + pause_us)
        return;
    if (urgent || (paxos->known && renews))
        promise(paxos, now_us);
    else
        start(paxos, CV_DISK_PAXOS_LOOK, now_us);
}

static void refuse(struct cv_disk_paxos *paxos)
{
    if (!paxos->proposing)
        return;
    paxos->proposing = false;
    paxos->calls.refused(paxos->calls.context);
}

/* A step under way belongs to an earlier entry now, so it counts as a look. */
static void learn(struct cv_disk_paxos *paxos, uint64_t epoch, const struct cv_proposal *proposal)
{
    if (paxos->step != CV_DISK_PAXOS_REST)
        paxos->step = CV_DISK_PAXOS_LOOK;
    paxos->mine.epoch = epoch;
    paxos->mine.entry = *proposal;
    paxos->mine.accepted = 0;
    paxos->calls.agreed(paxos->calls.context, epoch, proposal);
}

/* ---- what was read ---- */

/* Both propose the same entry. The slower one waits for the other to finish, about as long as its own step took. */
static void give_way(struct cv_disk_paxos *paxos, uint64_t now_us)
{
    const uint64_t took_us = now_us - paxos->asked_us, most_us = paxos->look_us;
    const uint64_t while_us = paxos->renew_us + 4 * (took_us < most_us ? took_us : most_us);
    paxos->quiet_us = now_us + cv_random_below(&paxos->random, while_us < UINT32_MAX ? (uint32_t)while_us : UINT32_MAX);
    refuse(paxos);
}

static void on_promise(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_block *rival, uint64_t now_us)
{
    const bool theirs = rival && rival->accepted > paxos->mine.accepted;
    const struct cv_proposal *value = theirs                 ? &rival->value
                                      : paxos->mine.accepted ? &paxos->mine.value
                                      : paxos->proposing     ? &paxos->proposal
                                                             : NULL;
    paxos->untold = false;
    if (!value) {
        if (is_inside(paxos))
            paxos->calls.renewed(paxos->calls.context, paxos->asked_us);
        return;
    }
    paxos->mine.accepted = paxos->mine.promised;
    paxos->mine.value = *value;
    start(paxos, CV_DISK_PAXOS_ACCEPT, now_us);
}

static void on_accept(struct cv_disk_paxos *paxos)
{
    const struct cv_proposal value = paxos->mine.value;
    paxos->untold = true; /* the other cannot tell yet that it is agreed */
    if (paxos->proposing && same_proposal(&value, &paxos->proposal))
        paxos->proposing = false;
    refuse(paxos);
    learn(paxos, paxos->mine.epoch + 1, &value);
}

/* What is wrong: the other uses another file, or a third node has written to this one. NULL: nothing. */
static const char *find_fault(const struct cv_disk_paxos *paxos,
                              const struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS],
                              enum cv_disk_paxos_step step)
{
    const struct cv_disk_paxos_block *theirs = &blocks[paxos->other];
    if (step != CV_DISK_PAXOS_LOOK && !same_block(&blocks[paxos->me], &paxos->written))
        return "another process writes in this node's name";
    if (paxos->known && (theirs->promised < paxos->theirs.promised || theirs->epoch < paxos->theirs.epoch))
        return "an older copy has taken its place";
    if (theirs->epoch + (theirs->accepted > 0) < paxos->told)
        return "it is not the one that the other node uses";
    return NULL;
}

/* True if the other has written since the last time. */
static bool take_in(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS])
{
    const bool other_wrote = !paxos->known || !same_block(&blocks[paxos->other], &paxos->theirs);
    const bool first = !paxos->known;
    paxos->theirs = blocks[paxos->other];
    paxos->known = true;
    if (other_wrote)
        paxos->calls.other_wrote(paxos->calls.context);
    if (first)
        paxos->mine = blocks[paxos->me];
    if (first && paxos->mine.epoch && paxos->mine.epoch >= paxos->theirs.epoch)
        paxos->calls.agreed(paxos->calls.context, paxos->mine.epoch, &paxos->mine.entry);
    return other_wrote;
}

void cv_disk_paxos_done(struct cv_disk_paxos *paxos, const struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS],
                        const char *trouble, uint64_t now_us)
{
    const enum cv_disk_paxos_step step = paxos->step;
    paxos->step = CV_DISK_PAXOS_REST;
    paxos->trouble = blocks ? find_fault(paxos, blocks, step) : trouble;
    paxos->reached = blocks && !paxos->trouble;
    paxos->rested_us = now_us;
    if (!blocks || paxos->trouble) {
        refuse(paxos);
        return;
    }
    const bool other_wrote = take_in(paxos, blocks);
    const struct cv_disk_paxos_block *rival = paxos->theirs.epoch == paxos->mine.epoch ? &paxos->theirs : NULL;
    if (paxos->theirs.epoch > paxos->mine.epoch) {
        refuse(paxos);
        learn(paxos, paxos->theirs.epoch, &paxos->theirs.entry);
    } else if (step != CV_DISK_PAXOS_LOOK && rival && rival->promised > paxos->mine.promised) {
        give_way(paxos, now_us);
    } else if (step == CV_DISK_PAXOS_ACCEPT) {
        on_accept(paxos);
    } else if (step == CV_DISK_PAXOS_PROMISE && other_wrote && paxos->mine.epoch && !is_inside(paxos)) {
        give_way(paxos, now_us); /* the member of the view is alive after all */
    } else if (step == CV_DISK_PAXOS_PROMISE) {
        on_promise(paxos, rival, now_us);
    }
}

/* ---- requests ---- */

bool cv_disk_paxos_propose(struct cv_disk_paxos *paxos, const struct cv_proposal *proposal, bool free, uint64_t now_us)
{
    const bool left_out = paxos->mine.epoch && !is_inside(paxos);
    if (!paxos->known || !paxos->reached || paxos->proposing || now_us < paxos->quiet_us || (left_out && !free))
        return false;
    paxos->proposing = true;
    paxos->proposal = *proposal;
    cv_disk_paxos_tick(paxos, false, now_us);
    return true;
}

void cv_disk_paxos_hear(struct cv_disk_paxos *paxos, uint64_t epoch, const struct cv_proposal *proposal)
{
    if (epoch > paxos->told)
        paxos->told = epoch;
    if (!paxos->known || epoch <= paxos->mine.epoch)
        return;
    if (proposal->members != cv_set_first(CV_DISK_PAXOS_MEMBERS)) {
        paxos->rested_us = 0; /* look at once */
        return;
    }
    refuse(paxos);
    learn(paxos, epoch, proposal);
}

bool cv_disk_paxos_leads(const struct cv_disk_paxos *paxos, bool other_alive, bool free)
{
    if (!paxos->known)
        return false;
    if (!paxos->mine.epoch)
        return paxos->me < paxos->other || !other_alive;
    if (is_inside(paxos))
        return paxos->mine.entry.proposer == paxos->me || !other_alive;
    return free;
}
