// SPDX-License-Identifier: MIT
/* Between the members' services: who leads, and holds that a client ends or renews by another member than it got them.
 */
#include "service/service.h"

void cv_errand_answer(struct cv_session *session, bool renews, int64_t value)
{
    if (!renews)
        cv_resp_integer(&session->out, value > 0);
    else if (value < 0)
        cv_resp_nil(&session->out);
    else
        cv_resp_integer(&session->out, value == INT64_MAX ? -1 : value);
    cv_stream_mark(&session->stream);
}

/* Somebody was not asked, or has not answered: neither yes nor no would be true. */
static void nobody_knows(struct cv_session *session)
{
    cv_resp_error(&session->out, "NOQUORUM a member that may know does not answer");
    cv_stream_mark(&session->stream);
}

static void conclude(struct cv_session *session, int64_t value)
{
    if (value < 0 && session->errand.in_part)
        nobody_knows(session);
    else
        cv_errand_answer(session, session->errand.renews, value);
}

/* Asks everybody else in the view, if there is anybody. */
void cv_errand_run(struct cv_session *session, struct cv_text name, uint64_t fence, bool renews, uint64_t kinds)
{
    struct cv_service *service = session->service;
    struct cv_errand *errand = &session->errand;
    const struct cv_notice question = {.kind = renews ? CV_NOTICE_RENEW : CV_NOTICE_UNLOCK,
                                       .session = ++service->errands,
                                       .fence = fence,
                                       .value = kinds};
    if (service->member->raft && !cv_raft_leased(service->member->raft)) {
        cv_resp_error(&session->out, CV_NO_QUORUM);
        return;
    }
    errand->ticket = question.session;
    errand->renews = renews;
    errand->awaited = cv_member_notify(service->member, CV_NOBODY, CV_SUBJECT_LOCK, name, &question);
    errand->in_part = (service->host->view.members & ~cv_set_of(service->host->roster->me)) != errand->awaited;
    if (errand->awaited)
        cv_alarm_set(service->alarms, &errand->alarm, service->host->calls.now() + service->member->peers.most_us);
    else
        conclude(session, -1);
}

void cv_errand_in_vain(struct cv_alarm *alarm)
{
    struct cv_session *session = cv_alarm_owner(alarm, struct cv_session, errand.alarm);
    session->errand.awaited = 0;
    nobody_knows(session);
}

static void on_answer(struct cv_service *service, cv_node from, const struct cv_notice *notice)
{
    struct cv_session *session = service->sessions;
    while (session && (session->errand.ticket != notice->session || !cv_set_has(session->errand.awaited, from)))
        session = session->next;
    if (!session)
        return;
    struct cv_errand *errand = &session->errand;
    errand->awaited &= ~cv_set_of(from);
    if ((int64_t)notice->value >= 0)
        errand->awaited = 0;
    if (errand->awaited)
        return;
    cv_alarm_cancel(service->alarms, &errand->alarm);
    conclude(session, (int64_t)notice->value);
}

static void on_question(struct cv_service *service, cv_node from, struct cv_text name, const struct cv_notice *notice)
{
    const bool renews = notice->kind == CV_NOTICE_RENEW;
    struct cv_hold *hold = cv_command_find(service, name, notice->fence, notice->value);
    const int64_t value = renews ? cv_command_renew(hold) : cv_command_end(hold);
    cv_member_notify(
        service->member, from, CV_SUBJECT_LOCK, name,
        &(struct cv_notice){.kind = CV_NOTICE_ANSWER, .session = notice->session, .value = (uint64_t)value});
}

/* Whoever shares is to be known here even if nobody wants anything yet. */
static void hear_of_readers(struct cv_service *service, cv_node from, enum cv_subject subject, struct cv_text name,
                            const struct cv_notice *notice)
{
    struct cv_lock *lock = subject == CV_SUBJECT_LOCK ? cv_lock_open(service, subject, name) : NULL;
    if (lock)
        cv_lock_hear(lock, from,
                     &(struct cv_lending_word){.notice = notice->kind - CV_NOTICE_SHARES,
                                               .generation = notice->fence,
                                               .first = notice->value,
                                               .entry = notice->session});
}

void cv_errand_heard(void *context, cv_node from, enum cv_subject subject, struct cv_text name,
                     const struct cv_notice *notice)
{
    struct cv_service *service = context;
    if (notice->kind == CV_NOTICE_ANSWER) {
        on_answer(service, from, notice);
    } else if (notice->kind == CV_NOTICE_UNLOCK || notice->kind == CV_NOTICE_RENEW) {
        on_question(service, from, name, notice);
    } else if (notice->kind == CV_NOTICE_STANDS) {
        struct cv_lock *lock = cv_lock_open(service, CV_SUBJECT_LEADER, name);
        if (lock)
            cv_ballot_heard(lock, from, (uint32_t)notice->value);
    } else if (notice->kind == CV_NOTICE_TRY || notice->kind == CV_NOTICE_BUSY) {
        cv_attempt_heard(service, from, subject, name, notice);
    } else if (notice->kind == CV_NOTICE_KNOWS) {
        struct cv_lock *lock = cv_lock_find(service, CV_SUBJECT_LEADER, name);
        if (lock)
            cv_leader_known(lock, from, notice->fence);
    } else if (notice->kind == CV_NOTICE_DEPOSIT || notice->kind == CV_NOTICE_TAKE_BACK) {
        struct cv_lock *lock = cv_lock_open(service, subject, name);
        if (lock)
            cv_deposit_heard(lock, from, notice);
    } else if (notice->kind >= CV_NOTICE_SHARES) {
        hear_of_readers(service, from, subject, name, notice);
    } else if (subject == CV_SUBJECT_LEADER) {
        cv_leader_heard(service, from, name, notice);
    }
}
