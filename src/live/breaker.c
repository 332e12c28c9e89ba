// SPDX-License-Identifier: MIT
#include "live/breaker.h"

#include <stdlib.h>
#include <string.h>

#include "live/diary.h"
#include "live/member.h"
#include "live/settings.h"

/* ---- the file ---- */

static void start(void *context, const struct cv_tie_block *block)
{
    const struct cv_breaker *breaker = context;
    const struct cv_roster *roster = &breaker->raft->member->roster;
    unsigned char record[CV_TIE_RECORD_BYTES];
    if (block) {
        struct cv_tie_block own = *block;
        own.lease = breaker->raft->lease.terms;
        own.longest_ttl_s = (uint32_t)(breaker->ttl_ms / 1000);
        cv_tie_write(&own, roster, roster->me, record);
    }
    cv_tie_file_start(breaker->file, block ? record : NULL);
}

static void wake(void *data)
{
    struct cv_breaker *breaker = data;
    uv_async_send(&breaker->wake);
}

void cv_breaker_compare(struct cv_breaker *breaker, struct cv_lease_terms theirs)
{
    const struct cv_lease_terms own = breaker->raft->lease.terms;
    if (breaker->told_terms || (theirs.length_us == own.length_us && theirs.drift_ppm == own.drift_ppm))
        return;
    breaker->told_terms = true;
    cv_diary_say(CV_DIARY_TERMS, "[group] lease = %llu: the other node has %llu, or another drift; give both the same",
                 (unsigned long long)own.length_us / 1000, (unsigned long long)theirs.length_us / 1000);
}

bool cv_breaker_is_rested(const struct cv_breaker *breaker)
{
    return breaker->tie.known &&
           cv_loop_boot() >= breaker->opened_us + cv_lease_long(&breaker->longest, breaker->longest.length_us);
}

/* The file is read for the first time, or has been written: what both blocks say of times to live. */
static void learn_ttl(struct cv_breaker *breaker, const struct cv_tie_block blocks[CV_TIE_MEMBERS])
{
    struct cv_tie *tie = &breaker->tie;
    const uint64_t own_ms = (uint64_t)blocks[tie->me].longest_ttl_s * 1000;
    if (!tie->known)
        breaker->ttl_ms = own_ms;
    tie->noting = breaker->ttl_ms != own_ms;
    cv_ttl_ceiling_found(&breaker->raft->member->ceiling, own_ms, (uint64_t)blocks[tie->other].longest_ttl_s * 1000);
}

void cv_breaker_note_ttl(struct cv_breaker *breaker, uint64_t ms)
{
    breaker->ttl_ms = ms;
    breaker->tie.noting = true;
}

static void woken(uv_async_t *handle)
{
    struct cv_breaker *breaker = handle->data;
    const struct cv_roster *roster = &breaker->raft->member->roster;
    struct cv_tie_block blocks[CV_TIE_MEMBERS];
    if (!breaker->file || !cv_tie_file_done(breaker->file, &breaker->answer))
        return;
    const char *trouble = *breaker->answer.trouble ? breaker->answer.trouble : NULL;
    for (cv_node node = 0; !trouble && node < CV_TIE_MEMBERS; node++)
        trouble = cv_tie_read(breaker->answer.records[node], roster, node, &blocks[node]);
    for (cv_node node = 0; !trouble && node < CV_TIE_MEMBERS; node++)
        breaker->longest = cv_lease_longer(breaker->longest, blocks[node].lease);
    cv_raft_look(breaker->raft); /* it may have taken long */
    if (!trouble)
        learn_ttl(breaker, blocks);
    cv_tie_done(&breaker->tie, trouble ? NULL : blocks, trouble, cv_loop_boot());
}

const char *cv_breaker_trouble(const struct cv_breaker *breaker)
{
    const struct cv_tie *tie = &breaker->tie;
    if (tie->step != CV_TIE_REST && cv_loop_boot() > tie->asked_us + breaker->patience_us)
        return "it does not answer";
    return tie->trouble;
}

/* Once when it is lost, once when it is back. */
static void tell_trouble(struct cv_breaker *breaker)
{
    const char *trouble = cv_breaker_trouble(breaker);
    if (breaker->told == (trouble != NULL))
        return;
    breaker->told = trouble != NULL;
    cv_diary_say(CV_DIARY_TIE_BREAKER, "[group] tie-breaker = %s: %s", breaker->path,
                 trouble ? trouble : "it can be reached again");
}

/* ---- what is agreed ---- */

static void tell_other(const struct cv_breaker *breaker, uint64_t epoch, const struct cv_proposal *proposal)
{
    struct cv_member *member = breaker->raft->member;
    const uint32_t body = htole32(cv_tie_pack(proposal));
    struct cv_frame frame = {.type = CV_FRAME_AGREEMENT, .round = epoch, .words = 1, .body = &body};
    cv_peers_send(&member->peers, breaker->tie.other, &frame);
}

static void agreed(void *context, uint64_t epoch, const struct cv_proposal *proposal)
{
    struct cv_breaker *breaker = context;
    struct cv_raft *raft = breaker->raft;
    const cv_node me = raft->member->roster.me;
    raft->leader = cv_raft_seat(raft, proposal->proposer);
    raft->term = epoch;
    if (proposal->proposer == me && proposal->members == cv_set_first(CV_TIE_MEMBERS))
        tell_other(breaker, epoch, proposal);
    cv_raft_look(raft);
    cv_assembly_agreed(&raft->assembly, epoch, proposal, cv_loop_boot());
}

static void refused(void *context)
{
    const struct cv_breaker *breaker = context;
    cv_assembly_refused(&breaker->raft->assembly);
}

static void stirred(void *context)
{
    const struct cv_breaker *breaker = context;
    cv_grants_lend(&breaker->raft->assembly.grants, breaker->tie.other, breaker->tie.theirs.lease, cv_loop_boot());
}

static void renewed(void *context, uint64_t asked_us)
{
    const struct cv_breaker *breaker = context;
    cv_raft_renew(breaker->raft, CV_TIE_VOTER, asked_us);
}

bool cv_breaker_hear(struct cv_breaker *breaker, const struct cv_frame *frame)
{
    struct cv_proposal proposal;
    uint32_t word;
    if (frame->words != 1)
        return false;
    memcpy(&word, frame->body, sizeof word);
    if (!cv_tie_unpack(le32toh(word), &breaker->raft->member->roster, &proposal))
        return false;
    cv_tie_hear(&breaker->tie, frame->round, &proposal);
    return true;
}

/* ---- what comes next ---- */

static bool is_free(const struct cv_breaker *breaker)
{
    return !cv_grants_left(&breaker->raft->assembly.grants, cv_set_of(breaker->tie.other), cv_loop_boot());
}

bool cv_breaker_leads(const struct cv_breaker *breaker)
{
    const struct cv_raft *raft = breaker->raft;
    const cv_set alive = raft->ready & ~raft->member->peers.suspected;
    return cv_tie_leads(&breaker->tie, cv_set_has(alive, breaker->tie.other), is_free(breaker));
}

bool cv_breaker_propose(void *context, const struct cv_proposal *proposal)
{
    struct cv_breaker *breaker = ((const struct cv_member *)context)->raft->breaker;
    return cv_tie_propose(&breaker->tie, proposal, is_free(breaker), cv_loop_boot());
}

void cv_breaker_tick(struct cv_breaker *breaker)
{
    const struct cv_lease *lease = &breaker->raft->lease;
    const uint64_t now = cv_loop_boot();
    const bool unheard = now > lease->asked_us[breaker->tie.other] + lease->terms.length_us / 2;
    if (!breaker->raft->gone)
        cv_tie_tick(&breaker->tie, breaker->raft->leased && unheard, now);
    tell_trouble(breaker);
    cv_raft_update(breaker->raft);
}

/* ---- opening ---- */

int cv_breaker_open(struct cv_raft *raft, const struct cv_settings *settings)
{
    struct cv_member *member = raft->member;
    const size_t length = strlen(settings->tie_breaker);
    struct cv_breaker *breaker = calloc(1, sizeof *breaker + length + 1);
    if (!breaker)
        return CV_ENOMEM;
    const struct cv_tie_calls calls = {.start = start,
                                       .agreed = agreed,
                                       .refused = refused,
                                       .stirred = stirred,
                                       .renewed = renewed,
                                       .context = breaker};
    raft->breaker = breaker;
    breaker->raft = raft;
    breaker->longest = raft->lease.terms;
    breaker->opened_us = cv_loop_boot();
    breaker->patience_us = settings->lease_ms * 1000;
    memcpy(breaker->path, settings->tie_breaker, length);
    cv_tie_init(&breaker->tie, &calls, member->roster.me, settings->lease_ms * 1000 / 8, settings->lease_ms * 1000,
                cv_random_next(&member->host.random));
    breaker->wake.data = breaker;
    if (uv_async_init(&member->loop.uv, &breaker->wake, woken))
        return CV_ENOMEM;
    breaker->file = cv_tie_file_open(breaker->path, member->roster.me, wake, breaker);
    raft->tick_us = settings->lease_ms * 1000 / 40;
    return breaker->file ? 0 : CV_ENOMEM;
}

void cv_breaker_close(struct cv_breaker *breaker)
{
    if (breaker->file)
        cv_tie_file_close(breaker->file);
    breaker->file = NULL;
}
