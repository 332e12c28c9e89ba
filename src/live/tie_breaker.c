// SPDX-License-Identifier: MIT
#include "live/tie_breaker.h"

#include <stdlib.h>
#include <string.h>

#include "live/member.h"
#include "live/process/event_log.h"
#include "live/settings/settings.h"

/* ---- the file ---- */

static void start(void *context, const struct cv_disk_paxos_block *block)
{
    const struct cv_tie_breaker *tie_breaker = context;
    const struct cv_roster *roster = &tie_breaker->consensus->member->roster;
    unsigned char record[CV_DISK_PAXOS_RECORD_BYTES];
    if (block) {
        struct cv_disk_paxos_block own = *block;
        own.lease = tie_breaker->consensus->lease.terms;
        own.longest_ttl_s = (uint32_t)(tie_breaker->ttl_ms / 1000);
        cv_disk_paxos_write(&own, roster, roster->me, record);
    }
    cv_disk_paxos_file_start(tie_breaker->file, block ? record : NULL);
}

static void wake(void *data)
{
    struct cv_tie_breaker *tie_breaker = data;
    uv_async_send(&tie_breaker->wake);
}

void cv_tie_breaker_compare(struct cv_tie_breaker *tie_breaker, struct cv_lease_terms theirs)
{
    const struct cv_lease_terms own = tie_breaker->consensus->lease.terms;
    if (tie_breaker->told_terms || (theirs.length_us == own.length_us && theirs.drift_ppm == own.drift_ppm))
        return;
    tie_breaker->told_terms = true;
    cv_log_say(CV_LOG_TERMS, "[group] lease = %llu: the other node has %llu, or another drift; give both the same",
               (unsigned long long)own.length_us / 1000, (unsigned long long)theirs.length_us / 1000);
}

bool cv_tie_breaker_is_rested(const struct cv_tie_breaker *tie_breaker)
{
    return tie_breaker->paxos.known &&
           cv_loop_boot() >=
               tie_breaker->opened_us + cv_lease_long(&tie_breaker->longest, tie_breaker->longest.length_us);
}

/* The file is read for the first time, or has been written: what both blocks say of times to live. */
static void learn_ttl(struct cv_tie_breaker *tie_breaker,
                      const struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS])
{
    struct cv_disk_paxos *paxos = &tie_breaker->paxos;
    const uint64_t own_ms = (uint64_t)blocks[paxos->me].longest_ttl_s * 1000;
    if (!paxos->known)
        tie_breaker->ttl_ms = own_ms;
    paxos->noting = tie_breaker->ttl_ms != own_ms;
    cv_ttl_ceiling_found(&tie_breaker->consensus->member->ceiling, own_ms,
                         (uint64_t)blocks[paxos->other].longest_ttl_s * 1000);
}

void cv_tie_breaker_note_ttl(struct cv_tie_breaker *tie_breaker, uint64_t ms)
{
    tie_breaker->ttl_ms = ms;
    tie_breaker->paxos.noting = true;
}

static void woken(uv_async_t *handle)
{
    struct cv_tie_breaker *tie_breaker = handle->data;
    const struct cv_roster *roster = &tie_breaker->consensus->member->roster;
    struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS];
    if (!tie_breaker->file || !cv_disk_paxos_file_done(tie_breaker->file, &tie_breaker->answer))
        return;
    const char *trouble = *tie_breaker->answer.trouble ? tie_breaker->answer.trouble : NULL;
    for (cv_node node = 0; !trouble && node < CV_DISK_PAXOS_MEMBERS; node++)
        trouble = cv_disk_paxos_read(tie_breaker->answer.records[node], roster, node, &blocks[node]);
    for (cv_node node = 0; !trouble && node < CV_DISK_PAXOS_MEMBERS; node++)
        tie_breaker->longest = cv_lease_longer(tie_breaker->longest, blocks[node].lease);
    cv_consensus_look(tie_breaker->consensus); /* it may have taken long */
    if (!trouble)
        learn_ttl(tie_breaker, blocks);
    cv_disk_paxos_done(&tie_breaker->paxos, trouble ? NULL : blocks, trouble, cv_loop_boot());
}

const char *cv_tie_breaker_trouble(const struct cv_tie_breaker *tie_breaker)
{
    const struct cv_disk_paxos *paxos = &tie_breaker->paxos;
    if (paxos->step != CV_DISK_PAXOS_REST && cv_loop_boot() > paxos->asked_us + tie_breaker->patience_us)
        return "it does not answer";
    return paxos->trouble;
}

/* Once when it is lost, once when it is back. */
static void tell_trouble(struct cv_tie_breaker *tie_breaker)
{
    const char *trouble = cv_tie_breaker_trouble(tie_breaker);
    if (tie_breaker->told == (trouble != NULL))
        return;
    tie_breaker->told = trouble != NULL;
    cv_log_say(CV_LOG_TIE_BREAKER, "[group] tie-breaker = %s: %s", tie_breaker->path,
               trouble ? trouble : "it can be reached again");
}

/* ---- what is agreed ---- */

static void tell_other(const struct cv_tie_breaker *tie_breaker, uint64_t epoch, const struct cv_proposal *proposal)
{
    struct cv_member *member = tie_breaker->consensus->member;
    const uint32_t body = htole32(cv_disk_paxos_pack(proposal));
    struct cv_frame frame = {.type = CV_FRAME_AGREEMENT, .round = epoch, .words = 1, .body = &body};
    cv_peers_send(&member->peers, tie_breaker->paxos.other, &frame);
}

static void agreed(void *context, uint64_t epoch, const struct cv_proposal *proposal)
{
    struct cv_tie_breaker *tie_breaker = context;
    struct cv_consensus *consensus = tie_breaker->consensus;
    const cv_node me = consensus->member->roster.me;
    consensus->leader = cv_consensus_seat(consensus, proposal->proposer);
    consensus->term = epoch;
    if (proposal->proposer == me && proposal->members == cv_set_first(CV_DISK_PAXOS_MEMBERS))
        tell_other(tie_breaker, epoch, proposal);
    cv_consensus_look(consensus);
    cv_agreed_views_agreed(&consensus->agreed_views, epoch, proposal, cv_loop_boot());
}

static void refused(void *context)
{
    const struct cv_tie_breaker *tie_breaker = context;
    cv_agreed_views_refused(&tie_breaker->consensus->agreed_views);
}

static void stirred(void *context)
{
    const struct cv_tie_breaker *tie_breaker = context;
    cv_grants_lend(&tie_breaker->consensus->agreed_views.grants, tie_breaker->paxos.other,
                   tie_breaker->paxos.theirs.lease, cv_loop_boot());
}

static void renewed(void *context, uint64_t asked_us)
{
    const struct cv_tie_breaker *tie_breaker = context;
    cv_consensus_renew(tie_breaker->consensus, CV_DISK_PAXOS_VOTER, asked_us);
}

bool cv_tie_breaker_hear(struct cv_tie_breaker *tie_breaker, const struct cv_frame *frame)
{
    struct cv_proposal proposal;
    uint32_t word;
    if (frame->words != 1)
        return false;
    memcpy(&word, frame->body, sizeof word);
    if (!cv_disk_paxos_unpack(le32toh(word), &tie_breaker->consensus->member->roster, &proposal))
        return false;
    cv_disk_paxos_hear(&tie_breaker->paxos, frame->round, &proposal);
    return true;
}

/* ---- what comes next ---- */

static bool is_free(const struct cv_tie_breaker *tie_breaker)
{
    return !cv_grants_left(&tie_breaker->consensus->agreed_views.grants, cv_set_of(tie_breaker->paxos.other),
                           cv_loop_boot());
}

bool cv_tie_breaker_leads(const struct cv_tie_breaker *tie_breaker)
{
    const struct cv_consensus *consensus = tie_breaker->consensus;
    const cv_set alive = consensus->ready & ~consensus->member->peers.suspected;
    return cv_disk_paxos_leads(&tie_breaker->paxos, cv_set_has(alive, tie_breaker->paxos.other), is_free(tie_breaker));
}

bool cv_tie_breaker_propose(void *context, const struct cv_proposal *proposal)
{
    struct cv_tie_breaker *tie_breaker = ((const struct cv_member *)context)->consensus->tie_breaker;
    return cv_disk_paxos_propose(&tie_breaker->paxos, proposal, is_free(tie_breaker), cv_loop_boot());
}

void cv_tie_breaker_tick(struct cv_tie_breaker *tie_breaker)
{
    const struct cv_lease *lease = &tie_breaker->consensus->lease;
    const uint64_t now = cv_loop_boot();
    const bool unheard = now > lease->asked_us[tie_breaker->paxos.other] + lease->terms.length_us / 2;
    if (!tie_breaker->consensus->gone)
        cv_disk_paxos_tick(&tie_breaker->paxos, tie_breaker->consensus->leased && unheard, now);
    tell_trouble(tie_breaker);
    cv_consensus_update(tie_breaker->consensus);
}

/* ---- opening ---- */

int cv_tie_breaker_open(struct cv_consensus *consensus, const struct cv_settings *settings)
{
    struct cv_member *member = consensus->member;
    const size_t length = strlen(settings->tie_breaker);
    struct cv_tie_breaker *tie_breaker = calloc(1, sizeof *tie_breaker + length + 1);
    if (!tie_breaker)
        return CV_ENOMEM;
    const struct cv_disk_paxos_calls calls = {.start = start,
                                              .agreed = agreed,
                                              .refused = refused,
                                              .stirred = stirred,
                                              .renewed = renewed,
                                              .context = tie_breaker};
    consensus->tie_breaker = tie_breaker;
    tie_breaker->consensus = consensus;
    tie_breaker->longest = consensus->lease.terms;
    tie_breaker->opened_us = cv_loop_boot();
    tie_breaker->patience_us = settings->lease_ms * 1000;
    memcpy(tie_breaker->path, settings->tie_breaker, length);
    cv_disk_paxos_init(&tie_breaker->paxos, &calls, member->roster.me, settings->lease_ms * 1000 / 8,
                       settings->lease_ms * 1000, cv_random_next(&member->host.random));
    tie_breaker->wake.data = tie_breaker;
    if (uv_async_init(&member->loop.uv, &tie_breaker->wake, woken))
        return CV_ENOMEM;
    tie_breaker->file = cv_disk_paxos_file_open(tie_breaker->path, member->roster.me, wake, tie_breaker);
    consensus->tick_us = settings->lease_ms * 1000 / 40;
    return tie_breaker->file ? 0 : CV_ENOMEM;
}

void cv_tie_breaker_close(struct cv_tie_breaker *tie_breaker)
{
    if (tie_breaker->file)
        cv_disk_paxos_file_close(tie_breaker->file);
    tie_breaker->file = NULL;
}
