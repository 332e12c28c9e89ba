// SPDX-License-Identifier: MIT
/* Consensus of a group of two by Disk Paxos, in a shared file that is its tie-breaker (consensus_protocol.h). */
#include <stdlib.h>
#include <string.h>

#include "group/disk_paxos/disk_paxos.h"
#include "group/disk_paxos/disk_paxos_block.h"
#include "group/disk_paxos/disk_paxos_file.h"
#include "group/lease_times.h"
#include "group/proposal.h"
#include "live/consensus.h"
#include "live/member.h"
#include "live/process/event_log.h"
#include "live/settings/settings.h"

struct tie_breaker {
    struct consensus *consensus;
    struct cv_disk_paxos paxos;
    struct cv_disk_paxos_file *file;
    struct cv_disk_paxos_answer answer;
    uv_async_t wake;      /* the file has been read */
    uint64_t patience_us; /* a file that does not answer for so long is in trouble */
    uint64_t opened_us;   /* when this node started */
    struct cv_lease_terms
        longest;     /* the longest terms of either block: a lease from before this start may last so long */
    uint64_t ttl_ms; /* the longest time to live that this node's block should have */
    bool told;       /* the operator knows that the file cannot be reached */
    bool told_terms; /* the operator knows that the other has other terms */
    char path[];
};

static struct tie_breaker *tie_breaker_of(const struct consensus *consensus)
{
    return consensus->state;
}

/* ---- the file ---- */

static void start(void *context, const struct cv_disk_paxos_block *block)
{
    const struct tie_breaker *tie_breaker = context;
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
    struct tie_breaker *tie_breaker = data;
    uv_async_send(&tie_breaker->wake);
}

/* Allows any terms: each member goes by its own, and waits for the longer of both. Tells the operator once. */
static bool allows(struct consensus *consensus, struct cv_lease_terms asked)
{
    struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    const struct cv_lease_terms own = consensus->lease.terms;
    if (tie_breaker->told_terms || (asked.length_us == own.length_us && asked.drift_ppm == own.drift_ppm))
        return true;
    tie_breaker->told_terms = true;
    cv_log_say(CV_LOG_TERMS, "[group] lease = %llu: the other node has %llu, or another drift; give both the same",
               (unsigned long long)own.length_us / 1000, (unsigned long long)asked.length_us / 1000);
    return true;
}

/* Has the file told what may have been granted before this start, and is that over? */
static bool may_begin(const struct consensus *consensus)
{
    const struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    return tie_breaker->paxos.known &&
           cv_loop_boot() >=
               tie_breaker->opened_us + cv_lease_long(&tie_breaker->longest, tie_breaker->longest.length_us);
}

/* The file was read for the first time, or written. Takes in both blocks' times to live. */
static void learn_ttl(struct tie_breaker *tie_breaker, const struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS])
{
    struct cv_disk_paxos *paxos = &tie_breaker->paxos;
    const uint64_t own_ms = (uint64_t)blocks[paxos->me].longest_ttl_s * 1000;
    if (!paxos->known)
        tie_breaker->ttl_ms = own_ms;
    paxos->noting = tie_breaker->ttl_ms != own_ms;
    ttl_ceiling_found(&tie_breaker->consensus->member->ceiling, own_ms,
                      (uint64_t)blocks[paxos->other].longest_ttl_s * 1000);
}

static void note_ttl(struct consensus *consensus, uint64_t ms)
{
    struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    tie_breaker->ttl_ms = ms;
    tie_breaker->paxos.noting = true;
}

static void woken(uv_async_t *handle)
{
    struct tie_breaker *tie_breaker = handle->data;
    const struct cv_roster *roster = &tie_breaker->consensus->member->roster;
    struct cv_disk_paxos_block blocks[CV_DISK_PAXOS_MEMBERS];
    if (!tie_breaker->file || !cv_disk_paxos_file_done(tie_breaker->file, &tie_breaker->answer))
        return;
    const char *trouble = *tie_breaker->answer.trouble ? tie_breaker->answer.trouble : NULL;
    for (cv_node node = 0; !trouble && node < CV_DISK_PAXOS_MEMBERS; node++)
        trouble = cv_disk_paxos_read(tie_breaker->answer.records[node], roster, node, &blocks[node]);
    for (cv_node node = 0; !trouble && node < CV_DISK_PAXOS_MEMBERS; node++)
        tie_breaker->longest = cv_lease_longer(tie_breaker->longest, blocks[node].lease);
    consensus_look(tie_breaker->consensus); /* the file may have taken long */
    if (!trouble)
        learn_ttl(tie_breaker, blocks);
    cv_disk_paxos_done(&tie_breaker->paxos, trouble ? NULL : blocks, trouble, cv_loop_boot());
}

/* Why the file is of no use now, or NULL. */
static const char *trouble_of(const struct tie_breaker *tie_breaker)
{
    const struct cv_disk_paxos *paxos = &tie_breaker->paxos;
    if (paxos->step != CV_DISK_PAXOS_REST && cv_loop_boot() > paxos->asked_us + tie_breaker->patience_us)
        return "it does not answer";
    return paxos->trouble;
}

/* Tells once when the file is lost, and once when it is back. */
static void tell_trouble(struct tie_breaker *tie_breaker)
{
    const char *trouble = trouble_of(tie_breaker);
    if (tie_breaker->told == (trouble != NULL))
        return;
    tie_breaker->told = trouble != NULL;
    cv_log_say(CV_LOG_TIE_BREAKER, "[group] tie-breaker = %s: %s", tie_breaker->path,
               trouble ? trouble : "it can be reached again");
}

/* ---- what is agreed ---- */

static void tell_other(const struct tie_breaker *tie_breaker, uint64_t epoch, const struct cv_proposal *proposal)
{
    struct cv_member *member = tie_breaker->consensus->member;
    const uint32_t body = htole32(cv_disk_paxos_pack(proposal));
    struct cv_frame frame = {.type = CV_FRAME_AGREEMENT, .round = epoch, .words = 1, .body = &body};
    peers_send(&member->peers, tie_breaker->paxos.other, &frame);
}

static void agreed(void *context, uint64_t epoch, const struct cv_proposal *proposal)
{
    struct tie_breaker *tie_breaker = context;
    struct consensus *consensus = tie_breaker->consensus;
    const cv_node me = consensus->member->roster.me;
    consensus->leader = consensus_seat(consensus, proposal->proposer);
    consensus->term = epoch;
    if (proposal->proposer == me && proposal->members == cv_set_first(CV_DISK_PAXOS_MEMBERS))
        tell_other(tie_breaker, epoch, proposal);
    consensus_look(consensus);
    cv_agreed_views_agreed(&consensus->agreed_views, epoch, proposal, cv_loop_boot());
}

static void refused(void *context)
{
    const struct tie_breaker *tie_breaker = context;
    cv_agreed_views_refused(&tie_breaker->consensus->agreed_views);
}

static void other_wrote(void *context)
{
    const struct tie_breaker *tie_breaker = context;
    cv_grants_lend(&tie_breaker->consensus->agreed_views.grants, tie_breaker->paxos.other,
                   tie_breaker->paxos.theirs.lease, cv_loop_boot());
}

static void renewed(void *context, uint64_t asked_us)
{
    const struct tie_breaker *tie_breaker = context;
    consensus_renew(tie_breaker->consensus, CV_DISK_PAXOS_VOTER, asked_us);
}

/* The other node tells of an entry. */
static void hear(struct consensus *consensus, cv_node from, const struct cv_frame *frame)
{
    struct cv_member *member = consensus->member;
    struct cv_proposal proposal;
    uint32_t word = 0;
    (void)from;
    if (frame->words == 1)
        memcpy(&word, frame->body, sizeof word);
    if (frame->words == 1 && cv_disk_paxos_unpack(le32toh(word), &member->roster, &proposal))
        cv_disk_paxos_hear(&tie_breaker_of(consensus)->paxos, frame->round, &proposal);
    else
        member->disagreements++;
}

/* Nothing to do: agreed() has told of all entries. */
static void take_entries(struct consensus *consensus)
{
    (void)consensus;
}

/* ---- what comes next ---- */

static bool is_free(const struct tie_breaker *tie_breaker)
{
    return !cv_grants_left(&tie_breaker->consensus->agreed_views.grants, cv_set_of(tie_breaker->paxos.other),
                           cv_loop_boot());
}

static bool leads(const struct consensus *consensus)
{
    const struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    const cv_set alive = consensus->ready & ~consensus->member->peers.suspected;
    return cv_disk_paxos_leads(&tie_breaker->paxos, cv_set_has(alive, tie_breaker->paxos.other), is_free(tie_breaker));
}

static bool propose(struct consensus *consensus, const struct cv_proposal *proposal)
{
    struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    return cv_disk_paxos_propose(&tie_breaker->paxos, proposal, is_free(tie_breaker), cv_loop_boot());
}

static void tick(struct consensus *consensus)
{
    struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    const struct cv_lease *lease = &consensus->lease;
    const uint64_t now = cv_loop_boot();
    const bool unheard = now > lease->asked_us[tie_breaker->paxos.other] + cv_lease_silent_us(lease->terms.length_us);
    if (!consensus->gone)
        cv_disk_paxos_tick(&tie_breaker->paxos, consensus->leased && unheard, now);
    tell_trouble(tie_breaker);
    consensus_update(consensus);
}

/* The file cannot notify, so every tick reads it. */
static bool rests(const struct consensus *consensus, uint64_t *due_us)
{
    (void)consensus;
    *due_us = 0;
    return false;
}

static void pace(struct consensus *consensus, const struct cv_terms *terms)
{
    consensus->tick_us = cv_lease_file_tick_us(cv_terms_lease(terms).length_us);
}

/* The file may show that this node, or the other, had a lease before. */
static bool has_granted(const struct consensus *consensus)
{
    (void)consensus;
    return true;
}

static bool remembers(struct consensus *consensus)
{
    return tie_breaker_of(consensus)->paxos.known;
}

/* Nothing to do: each of the two may propose when the other is gone. */
static void hand_over(struct consensus *consensus)
{
    (void)consensus;
}

/* There is no such entry: the blocks list neither members nor addresses. */
static const void *last(const struct consensus *consensus, size_t *length, uint64_t *index)
{
    (void)consensus;
    *length = 0;
    *index = 0;
    return NULL;
}

static void status(const struct consensus *consensus, struct cv_member_status *status)
{
    const struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    if (!tie_breaker)
        return;
    status->witness = tie_breaker->path;
    status->witness_trouble = trouble_of(tie_breaker);
}

/* ---- opening ---- */

static int open_file(struct consensus *consensus, const struct cv_settings *settings, struct cv_complaint *complaint)
{
    (void)complaint;
    struct cv_member *member = consensus->member;
    const uint64_t lease_us = settings->lease_ms * 1000;
    const size_t length = strlen(settings->tie_breaker);
    struct tie_breaker *tie_breaker = calloc(1, sizeof *tie_breaker + length + 1);
    if (!tie_breaker)
        return CV_ENOMEM;
    const struct cv_disk_paxos_calls calls = {.start = start,
                                              .agreed = agreed,
                                              .refused = refused,
                                              .other_wrote = other_wrote,
                                              .renewed = renewed,
                                              .context = tie_breaker};
    consensus->state = tie_breaker;
    tie_breaker->consensus = consensus;
    tie_breaker->longest = consensus->lease.terms;
    tie_breaker->opened_us = cv_loop_boot();
    tie_breaker->patience_us = cv_lease_file_look_us(lease_us);
    memcpy(tie_breaker->path, settings->tie_breaker, length);
    cv_disk_paxos_init(&tie_breaker->paxos, &calls, member->roster.me, cv_lease_file_renew_us(lease_us),
                       cv_lease_file_look_us(lease_us), cv_random_next(&member->host.random));
    tie_breaker->wake.data = tie_breaker;
    if (uv_async_init(&member->loop.uv, &tie_breaker->wake, woken))
        return CV_ENOMEM;
    tie_breaker->file = cv_disk_paxos_file_open(tie_breaker->path, member->roster.me, wake, tie_breaker);
    consensus->tick_us = cv_lease_file_tick_us(lease_us);
    return tie_breaker->file ? 0 : CV_ENOMEM;
}

static void close_file(struct consensus *consensus)
{
    struct tie_breaker *tie_breaker = tie_breaker_of(consensus);
    if (tie_breaker->file)
        cv_disk_paxos_file_close(tie_breaker->file);
    tie_breaker->file = NULL;
}

const struct consensus_protocol tie_breaker_protocol = {
    .mode = "tie",
    .reconfigures = false,
    .witness = CV_DISK_PAXOS_VOTER,
    .open = open_file,
    .close = close_file,
    .propose = propose,
    .hear = hear,
    .tick = tick,
    .take_entries = take_entries,
    .leads = leads,
    .rests = rests,
    .pace = pace,
    .has_granted = has_granted,
    .remembers = remembers,
    .allows = allows,
    .may_begin = may_begin,
    .hand_over = hand_over,
    .leave = hand_over,
    .last = last,
    .note_ttl = note_ttl,
    .status = status,
};
