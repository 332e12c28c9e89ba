// SPDX-License-Identifier: MIT
#include "service/http/survey.h"

#include <stdlib.h>
#include <string.h>

#include "service/session.h"

#define NAMES_EACH_TIME 16u /* that are looked at between two readings of the clock */
#define NOT_WAITED_FOR ((uint64_t)1 << 62)
#define SINCE_UNKNOWN ((uint64_t)1 << 61)

/* ---- one name ---- */

static uint64_t rank_of(const struct lock *lock)
{
    if (lock->first)
        return lock->first->since_ms;
    return NOT_WAITED_FOR + (lock->holds ? lock->holds->since_ms : SINCE_UNKNOWN);
}

static void take_name(struct survey_client *client, const struct cv_kept_text *name)
{
    const struct cv_text text = cv_kept(name);
    client->name_length = text.length;
    if (text.length)
        memcpy(client->name, text.start, text.length);
}

static void take_holds(struct survey_row *row, const struct lock *lock)
{
    row->holding = lock->holding;
    for (const struct lock_hold *it = lock->holds; it && row->holder_count < SURVEY_CLIENTS; it = it->next) {
        row->holders[row->holder_count] = (struct survey_client){.node = it->origin,
                                                                 .session = it->owner,
                                                                 .fence = it->fence,
                                                                 .since_ms = it->since_ms,
                                                                 .ttl_ms = it->ttl_ms,
                                                                 .shared = it->shared,
                                                                 .asked_back = it->asked_back_ms,
                                                                 .forced = it->forced};
        take_name(&row->holders[row->holder_count++], hold_client(it));
    }
}

/* What other members have promised their clients, and who leads elsewhere. Of other holds this node knows nothing. */
static void take_promises(struct survey_row *row, const struct lock *lock)
{
    row->elsewhere = true;
    for (const struct cv_promise *it = lock->instance->promises; it && row->holding < SURVEY_PROMISES; it = it->next) {
        if (row->holder_count < SURVEY_CLIENTS) {
            row->holders[row->holder_count] = (struct survey_client){.node = it->origin,
                                                                     .session = it->owner,
                                                                     .fence = it->fence,
                                                                     .ttl_ms = it->ttl_ms,
                                                                     .shared = it->generation,
                                                                     .forced = it->forced};
            take_name(&row->holders[row->holder_count++], it->client);
        }
        row->holding++;
    }
    if (row->holding || !lock->leader.leads)
        return;
    row->holders[row->holder_count++] =
        (struct survey_client){.node = lock->leader.id, .session = lock->leader.session, .fence = lock->leader.fence};
    row->holding++;
}

static void take_waiters(struct survey_row *row, const struct lock *lock)
{
    const struct cv_roster *roster = lock->service->host->roster;
    row->waiting = lock->waiting;
    for (const struct waiter *it = lock->first; it && row->waiter_count < SURVEY_CLIENTS; it = it->next) {
        row->waiters[row->waiter_count] = (struct survey_client){.node = roster->ids[roster->me],
                                                                 .session = it->session->number,
                                                                 .since_ms = it->since_ms,
                                                                 .ttl_ms = it->ttl_ms,
                                                                 .shared = it->shared};
        take_name(&row->waiters[row->waiter_count++], it->session->name);
    }
}

static void fill(struct survey_row *row, const struct lock *lock, uint64_t rank)
{
    const struct cv_instance *instance = lock->instance;
    const struct cv_instance *by = lock->elects && lock->election ? lock->election : instance;
    row->rank = rank;
    row->election = instance->subject == CV_SUBJECT_LEADER;
    row->algorithm = by->policy->algorithm->name;
    row->holding = row->waiting = row->holder_count = row->waiter_count = 0;
    row->elsewhere = false;
    if (lock->holds)
        take_holds(row, lock);
    else
        take_promises(row, lock);
    take_waiters(row, lock);
    row->name_length = instance->name_length;
    memcpy(row->name, instance->name, instance->name_length);
}

/* ---- all names ---- */

static void find_worst(struct survey *survey)
{
    survey->worst = survey->rows;
    for (struct survey_row *it = survey->rows; it < survey->rows + SURVEY_ROWS; it++)
        if (it->rank > survey->worst->rank)
            survey->worst = it;
}

static void look_at(struct survey *survey, const struct cv_instance *instance)
{
    const struct lock *lock = instance->user;
    if (!lock || !(lock->first || lock->holds || lock->leader.leads || instance->promises))
        return;
    survey->in_use++;
    if (!cv_acl_allows(survey->acl, CV_MAY_OBSERVE, cv_instance_name(instance))) {
        survey->hidden++;
        return;
    }
    const uint64_t rank = rank_of(lock);
    if (survey->row_count < SURVEY_ROWS) {
        fill(&survey->rows[survey->row_count++], lock, rank);
        if (survey->row_count == SURVEY_ROWS)
            find_worst(survey);
    } else if (rank < survey->worst->rank) {
        fill(survey->worst, lock, rank);
        find_worst(survey);
    }
}

static int by_rank(const void *left, const void *right)
{
    const struct survey_row *x = *(struct survey_row *const *)left, *y = *(struct survey_row *const *)right;
    if (x->rank != y->rank)
        return x->rank < y->rank ? -1 : 1;
    const int order = memcmp(x->name, y->name, x->name_length < y->name_length ? x->name_length : y->name_length);
    return order ? order : (x->name_length > y->name_length) - (x->name_length < y->name_length);
}

void survey_begin(struct survey *survey, const struct cv_service *service, const struct cv_acl *acl)
{
    survey->service = service;
    survey->acl = acl;
    survey->cursor = 0;
    survey->in_use = survey->hidden = 0;
    survey->row_count = 0;
}

bool survey_work(struct survey *survey)
{
    const struct cv_algorithm_host *host = survey->service->host;
    const uint64_t begun = cv_loop_now();
    while (survey->cursor < host->count && cv_loop_now() - begun < CV_SLICE_US)
        for (uint32_t i = 0; i < NAMES_EACH_TIME && survey->cursor < host->count; i++)
            look_at(survey, host->all[survey->cursor++]);
    if (survey->cursor < host->count)
        return false;
    for (uint32_t i = 0; i < survey->row_count; i++)
        survey->order[i] = &survey->rows[i];
    qsort(survey->order, survey->row_count, sizeof *survey->order, by_rank);
    return true;
}

/* As in service/listing.c: one that would be missed is looked at right now. */
void survey_moved(struct survey *survey, const struct cv_instance *gone)
{
    const struct cv_algorithm_host *host = survey->service->host;
    const size_t last = host->count; /* the former place of the one that has taken its place */
    if (gone->place >= survey->cursor)
        return;
    if (last >= survey->cursor && gone->place < last)
        look_at(survey, host->all[gone->place]);
    else if (last < survey->cursor)
        survey->cursor = last;
}
