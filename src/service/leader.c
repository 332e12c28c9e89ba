// SPDX-License-Identifier: MIT
#include "service/leader.h"

#include "service/lock.h"
#include "service/observers.h"
#include "service/ttl_promise.h"

static cv_set tell(const struct lock *lock, cv_node to, const struct leader *leader)
{
    return lock_tell(lock, to,
                     (struct peer_notice){.kind = leader->leads ? PEER_NOTICE_LEADS : PEER_NOTICE_LED,
                                          .fence = leader->fence,
                                          .session = leader->session,
                                          .origin = leader->id,
                                          .value = cv_kept(leader->value)});
}

/* Takes over the news if it is later than what is known: its fence tells. */
static void learn(struct lock *lock, const struct leader *leader)
{
    struct leader *known = &lock->leader;
    if (leader->fence < known->fence || (leader->fence == known->fence && leader->leads >= known->leads))
        return;
    cv_share_text(leader->value);
    cv_drop_text(&known->value);
    *known = *leader;
    observers_tell(lock);
}

/* Only nodes whose clients watch the lock are told, and nobody waits until they know. */
static void tell_watchers(struct lock *lock, const struct leader *holder)
{
    if (lock->observers)
        learn(lock, holder);
    for (cv_node node = 0; lock->watchers >> node; node++)
        if (cv_set_has(lock->watchers, node))
            tell(lock, node, holder);
}

/* The client that this node has let in last, or NULL. */
static const struct lock_hold *latest(const struct lock *lock)
{
    const struct lock_hold *last = NULL;
    for (const struct lock_hold *hold = lock->holds; hold; hold = hold->next)
        if (!hold->confirming && (!last || hold->fence > last->fence))
            last = hold;
    return last;
}

void leader_announce(struct lock *lock, const struct lock_hold *hold, bool leads)
{
    const bool followed = lock->observers || lock->watchers || lock->instance->subject != CV_SUBJECT_LOCK;
    if (hold->confirming || !followed)
        return;
    const struct leader leader = {.id = hold->origin,
                                  .leads = leads,
                                  .session = hold->owner,
                                  .fence = hold->fence,
                                  .value = leads ? hold->value : NULL};
    if (lock->instance->subject == CV_SUBJECT_LOCK) {
        tell_watchers(lock, &leader);
        return;
    }
    learn(lock, &leader);
    const cv_set told = tell(lock, CV_NOBODY, &leader);
    lock->unaware = leads ? 0 : told;
}

/* Without memory for the value its leader is known without it. */
void leader_hear_change(struct cv_service *service, const struct peer_notice *notice)
{
    struct leader leader = {.id = (cv_id)notice->origin,
                            .leads = notice->kind == PEER_NOTICE_LEADS,
                            .session = notice->session,
                            .fence = notice->fence};
    const bool watched = notice->subject == CV_SUBJECT_LOCK;
    struct lock *lock = watched ? lock_find(service, CV_SUBJECT_LOCK, notice->name)
                                : lock_open(service, CV_SUBJECT_LEADER, notice->name);
    if (watched && lock && !lock->observers)
        lock = NULL; /* the last one has just ended */
    if (lock && notice->value.start)
        leader.value = cv_keep_text(notice->value);
    if (lock)
        learn(lock, &leader);
    cv_drop_text(&leader.value);
    if (!leader.leads && !watched)
        peer_notice_send(
            service, notice->from,
            &(struct peer_notice){
                .kind = PEER_NOTICE_KNOWS, .subject = CV_SUBJECT_LEADER, .name = notice->name, .fence = notice->fence});
}

void leader_hear_known(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock *lock = lock_find(service, CV_SUBJECT_LEADER, notice->name);
    if (!lock || notice->fence != lock->leader.fence || !cv_set_has(lock->unaware, notice->from))
        return;
    lock->unaware &= ~cv_set_of(notice->from);
    if (!lock->unaware)
        lock_serve(lock);
}

void leader_forget(struct lock *lock)
{
    cv_drop_text(&lock->leader.value);
}

/* In the view that begins: is that member inside, alone or together with others? */
static bool is_inside(const struct lock *lock, cv_id id)
{
    const struct cv_instance *instance = lock->instance;
    const struct cv_roster *roster = lock->service->host->roster;
    for (cv_node node = 0; node < roster->count; node++)
        if (roster->ids[node] == id)
            return node == instance->holder || cv_set_has(instance->sharers, node);
    return false;
}

void leader_watch(struct lock *lock, bool watches)
{
    const struct lock_hold *last = watches ? latest(lock) : NULL;
    lock_tell(lock, CV_NOBODY, (struct peer_notice){.kind = PEER_NOTICE_WATCH, .shared = watches});
    if (last)
        learn(lock, &(struct leader){.id = last->origin, .leads = true, .session = last->owner, .fence = last->fence});
}

/* Answers with the client that got it last here, and tells of the next ones. */
void leader_hear_watch(struct cv_service *service, const struct peer_notice *notice)
{
    struct lock *lock = notice->shared ? lock_open(service, CV_SUBJECT_LOCK, notice->name)
                                       : lock_find(service, CV_SUBJECT_LOCK, notice->name);
    if (!lock)
        return;
    lock->watchers &= ~cv_set_of(notice->from);
    if (!notice->shared)
        return;
    lock->watchers |= cv_set_of(notice->from);
    const struct lock_hold *last = latest(lock);
    if (last)
        tell(lock, notice->from,
             &(struct leader){.id = last->origin, .leads = true, .session = last->owner, .fence = last->fence});
}

/* New members have not heard who leads. And a notice that was on its way when the last view ended may be lost. */
void leader_resume(struct lock *lock)
{
    struct leader *leader = &lock->leader;
    const struct cv_roster *roster = lock->service->host->roster;
    const bool mine = leader->id == roster->ids[roster->me];
    const bool inside = is_inside(lock, leader->id);
    const bool untold = lock->unaware && lock->instance->flags & CV_INSIDE;
    lock->unaware = 0;
    lock->watchers = 0;
    if (lock->observers && lock->instance->subject == CV_SUBJECT_LOCK)
        leader_watch(lock, true);
    if (lock->instance->subject == CV_SUBJECT_LOCK ? latest(lock) != NULL : lock->holds != NULL)
        leader_announce(lock, lock->instance->subject == CV_SUBJECT_LOCK ? latest(lock) : lock->holds, true);
    else if (leader->leads && !inside && !ttl_promise_find(lock, leader->fence))
        learn(lock, &(struct leader){.id = leader->id, .fence = leader->fence});
    else if (mine && untold)
        lock->unaware = tell(lock, CV_NOBODY, leader);
}
