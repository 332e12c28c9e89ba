// SPDX-License-Identifier: MIT
#include "group/tie.h"

static bool same_proposal(const struct cv_proposal *one, const struct cv_proposal *other)
{
    return cv_tie_pack(one) == cv_tie_pack(other);
}

static bool same_block(const struct cv_tie_block *one, const struct cv_tie_block *other)
{
    return one->epoch == other->epoch && one->promised == other->promised && one->accepted == other->accepted &&
           (!one->epoch || same_proposal(&one->entry, &other->entry)) &&
           (!one->accepted || same_proposal(&one->value, &other->value));
}

/* Is this node in the last entry? */
static bool is_inside(const struct cv_tie *tie)
{
    return tie->mine.epoch && cv_set_has(tie->mine.entry.members, tie->me);
}

void cv_tie_init(struct cv_tie *tie, const struct cv_tie_calls *calls, cv_node me, uint64_t renew_us, uint64_t look_us,
                 uint64_t seed)
{
    *tie = (struct cv_tie){
        .calls = *calls, .me = me, .other = CV_TIE_MEMBERS - 1 - me, .renew_us = renew_us, .look_us = look_us};
    cv_random_seed(&tie->random, seed, me);
}

/* ---- steps ---- */

static void start(struct cv_tie *tie, enum cv_tie_step step, uint64_t now_us)
{
    tie->step = step;
    tie->asked_us = now_us;
    if (step != CV_TIE_LOOK)
        tie->written = tie->mine;
    tie->calls.start(tie->calls.context, step == CV_TIE_LOOK ? NULL : &tie->written);
}

static void promise(struct cv_tie *tie, uint64_t now_us)
{
    const uint64_t highest = tie->mine.promised > tie->theirs.promised ? tie->mine.promised : tie->theirs.promised;
    tie->mine.promised = (highest / CV_TIE_MEMBERS + 1) * CV_TIE_MEMBERS + tie->me;
    start(tie, CV_TIE_PROMISE, now_us);
}

/* Who is inside, together with the other, looks only now and then; who is left out has to see that the other writes. */
void cv_tie_tick(struct cv_tie *tie, bool needy, uint64_t now_us)
{
    const bool inside = is_inside(tie), urgent = tie->reached && (tie->proposing || tie->untold || tie->noting);
    const bool renews = inside && now_us >= tie->quiet_us && (needy || tie->mine.entry.members == cv_set_of(tie->me));
    const uint64_t pause_us = urgent ? 0 : inside && !renews ? tie->look_us : tie->renew_us;
    if (tie->step != CV_TIE_REST || now_us < tie->rested_us + pause_us)
        return;
    if (urgent || (tie->known && renews))
        promise(tie, now_us);
    else
        start(tie, CV_TIE_LOOK, now_us);
}

static void refuse(struct cv_tie *tie)
{
    if (!tie->proposing)
        return;
    tie->proposing = false;
    tie->calls.refused(tie->calls.context);
}

/* What is being done meanwhile is for an entry of the past, and no more than a look. */
static void learn(struct cv_tie *tie, uint64_t epoch, const struct cv_proposal *proposal)
{
    if (tie->step != CV_TIE_REST)
        tie->step = CV_TIE_LOOK;
    tie->mine.epoch = epoch;
    tie->mine.entry = *proposal;
    tie->mine.accepted = 0;
    tie->calls.agreed(tie->calls.context, epoch, proposal);
}

/* ---- what was read ---- */

/* Both want the same entry: whoever was slower lets the other finish, which takes about as long as it took itself. */
static void give_way(struct cv_tie *tie, uint64_t now_us)
{
    const uint64_t took_us = now_us - tie->asked_us, most_us = tie->look_us;
    const uint64_t while_us = tie->renew_us + 4 * (took_us < most_us ? took_us : most_us);
    tie->quiet_us = now_us + cv_random_below(&tie->random, while_us < UINT32_MAX ? (uint32_t)while_us : UINT32_MAX);
    refuse(tie);
}

static void on_promise(struct cv_tie *tie, const struct cv_tie_block *rival, uint64_t now_us)
{
    const bool theirs = rival && rival->accepted > tie->mine.accepted;
    const struct cv_proposal *value = theirs               ? &rival->value
                                      : tie->mine.accepted ? &tie->mine.value
                                      : tie->proposing     ? &tie->wish
                                                           : NULL;
    tie->untold = false;
    if (!value) {
        if (is_inside(tie))
            tie->calls.renewed(tie->calls.context, tie->asked_us);
        return;
    }
    tie->mine.accepted = tie->mine.promised;
    tie->mine.value = *value;
    start(tie, CV_TIE_ACCEPT, now_us);
}

static void on_accept(struct cv_tie *tie)
{
    const struct cv_proposal value = tie->mine.value;
    tie->untold = true; /* the other cannot tell yet that it is agreed */
    if (tie->proposing && same_proposal(&value, &tie->wish))
        tie->proposing = false;
    refuse(tie);
    learn(tie, tie->mine.epoch + 1, &value);
}

/* Is that the file that the other uses, and has nobody else written to it? */
static const char *find_fault(const struct cv_tie *tie, const struct cv_tie_block blocks[CV_TIE_MEMBERS],
                              enum cv_tie_step step)
{
    const struct cv_tie_block *theirs = &blocks[tie->other];
    if (step != CV_TIE_LOOK && !same_block(&blocks[tie->me], &tie->written))
        return "somebody else writes in this node's name";
    if (tie->known && (theirs->promised < tie->theirs.promised || theirs->epoch < tie->theirs.epoch))
        return "an older copy has taken its place";
    if (theirs->epoch + (theirs->accepted > 0) < tie->told)
        return "it is not the one that the other node uses";
    return NULL;
}

/* True: the other has written since the last time. */
static bool take_in(struct cv_tie *tie, const struct cv_tie_block blocks[CV_TIE_MEMBERS])
{
    const bool stirred = !tie->known || !same_block(&blocks[tie->other], &tie->theirs);
    const bool first = !tie->known;
    tie->theirs = blocks[tie->other];
    tie->known = true;
    if (stirred)
        tie->calls.stirred(tie->calls.context);
    if (first)
        tie->mine = blocks[tie->me];
    if (first && tie->mine.epoch && tie->mine.epoch >= tie->theirs.epoch)
        tie->calls.agreed(tie->calls.context, tie->mine.epoch, &tie->mine.entry);
    return stirred;
}

void cv_tie_done(struct cv_tie *tie, const struct cv_tie_block blocks[CV_TIE_MEMBERS], const char *trouble,
                 uint64_t now_us)
{
    const enum cv_tie_step step = tie->step;
    tie->step = CV_TIE_REST;
    tie->trouble = blocks ? find_fault(tie, blocks, step) : trouble;
    tie->reached = blocks && !tie->trouble;
    tie->rested_us = now_us;
    if (!blocks || tie->trouble) {
        refuse(tie);
        return;
    }
    const bool stirred = take_in(tie, blocks);
    const struct cv_tie_block *rival = tie->theirs.epoch == tie->mine.epoch ? &tie->theirs : NULL;
    if (tie->theirs.epoch > tie->mine.epoch) {
        refuse(tie);
        learn(tie, tie->theirs.epoch, &tie->theirs.entry);
    } else if (step != CV_TIE_LOOK && rival && rival->promised > tie->mine.promised) {
        give_way(tie, now_us);
    } else if (step == CV_TIE_ACCEPT) {
        on_accept(tie);
    } else if (step == CV_TIE_PROMISE && stirred && tie->mine.epoch && !is_inside(tie)) {
        give_way(tie, now_us); /* whoever is in the view lives, after all */
    } else if (step == CV_TIE_PROMISE) {
        on_promise(tie, rival, now_us);
    }
}

/* ---- what is asked of it ---- */

bool cv_tie_propose(struct cv_tie *tie, const struct cv_proposal *proposal, bool free, uint64_t now_us)
{
    const bool left_out = tie->mine.epoch && !is_inside(tie);
    if (!tie->known || !tie->reached || tie->proposing || now_us < tie->quiet_us || (left_out && !free))
        return false;
    tie->proposing = true;
    tie->wish = *proposal;
    cv_tie_tick(tie, false, now_us);
    return true;
}

void cv_tie_hear(struct cv_tie *tie, uint64_t epoch, const struct cv_proposal *proposal)
{
    if (epoch > tie->told)
        tie->told = epoch;
    if (!tie->known || epoch <= tie->mine.epoch)
        return;
    if (proposal->members != cv_set_first(CV_TIE_MEMBERS)) {
        tie->rested_us = 0; /* a look at once */
        return;
    }
    refuse(tie);
    learn(tie, epoch, proposal);
}

bool cv_tie_leads(const struct cv_tie *tie, bool other_alive, bool free)
{
    if (!tie->known)
        return false;
    if (!tie->mine.epoch)
        return tie->me < tie->other || !other_alive;
    if (is_inside(tie))
        return tie->mine.entry.proposer == tie->me || !other_alive;
    return free;
}
