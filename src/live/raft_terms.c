// SPDX-License-Identifier: MIT
/* The terms of the group, as a member goes by them: its file's until there is an entry, and then the entry's. */
#include "live/diary.h"
#include "live/member.h"
#include "live/settings.h"

#define PATIENCE_LEASES 4u /* for reports, and for members that have yet to begin a view */
#define LEAST_ELECTION_MS 20u

/* Whoever has a file that says otherwise is told, once for each setting and each value that counts instead. */
static void tell_differences(struct cv_raft *raft, const struct cv_terms *terms)
{
    const struct cv_terms own = cv_settings_terms(raft->settings);
    for (enum cv_term_key key = 0; key < CV_TERMS; key++) {
        const uint32_t value = terms->values[key];
        char mine[CV_TERM_BYTES], theirs[CV_TERM_BYTES];
        const bool differs = raft->settings->terms_given >> key & 1 && own.values[key] != value;
        if (differs && raft->told_terms.values[key] != value) {
            cv_term_text(key, own.values[key], mine);
            cv_diary_say(CV_DIARY_TERMS,
                         "[group] %s = %s: the group has agreed on %s, and that counts; conclave set group.%s=%s "
                         "changes it",
                         cv_term_name(key), mine, cv_term_text(key, value, theirs), cv_term_name(key), mine);
        }
        raft->told_terms.values[key] = differs ? value : UINT32_MAX;
    }
}

/* Safety rests on them, and one operator's HUP may have changed them for all: every node says so. */
static void tell_changes(struct cv_raft *raft, const struct cv_terms *terms)
{
    for (enum cv_term_key key = 0; key < CV_TERMS; key++) {
        const uint32_t value = terms->values[key], before = raft->went_by.values[key];
        char now[CV_TERM_BYTES], then[CV_TERM_BYTES];
        if (raft->went_by.values[CV_TERM_LEASE] && value != before)
            cv_diary_say(CV_DIARY_TERMS, "the group has agreed on %s = %s; it was %s", cv_term_name(key),
                         cv_term_text(key, value, now), cv_term_text(key, before, then));
    }
    raft->went_by = *terms;
}

uint32_t cv_raft_election_ms(const struct cv_terms *terms)
{
    const uint32_t election_ms = terms->values[CV_TERM_LEASE] / 2;
    return election_ms > LEAST_ELECTION_MS ? election_ms : LEAST_ELECTION_MS;
}

/* From now on leases are asked for and counted by these, and all else that depends on them follows. */
static void go_by(struct cv_raft *raft, const struct cv_terms *terms)
{
    struct cv_member *member = raft->member;
    const struct cv_lease_terms lease = cv_terms_lease(terms);
    const uint64_t heartbeat_us = raft->settings->heartbeat_ms * 1000;
    raft->lease.terms = lease;
    if (raft->longest_us < lease.length_us)
        raft->longest_us = lease.length_us;
    const uint64_t margin_us = lease.length_us / 8;
    /* What is left of a shorter lease may be less than the margin of a longer one. */
    raft->wider_us = raft->leased && margin_us > raft->margin_us ? margin_us : 0;
    if (!raft->wider_us)
        raft->margin_us = margin_us;
    raft->assembly.times.settle_us = (uint64_t)terms->values[CV_TERM_BOUND] * 1000;
    raft->assembly.times.patience_us = PATIENCE_LEASES * lease.length_us;
    member->bound_us = raft->assembly.times.settle_us;
    member->try_us = 2 * member->bound_us;
    cv_host_bound(&member->host, terms->values[CV_TERM_BOUND]);
    member->peers.lease_ms = terms->values[CV_TERM_LEASE];
    member->peers.drift_ppm = terms->values[CV_TERM_DRIFT];
    /* A lease is renewed by heartbeats: three at least in its time. */
    member->peers.heartbeat_us = heartbeat_us < lease.length_us / 3 ? heartbeat_us : lease.length_us / 3;
    if (raft->agreement) {
        const uint32_t election_ms = cv_raft_election_ms(terms);
        cv_agreement_pace(raft->agreement, election_ms, election_ms / 5);
        raft->tick_us = (uint64_t)(election_ms / 5) * 250;
    }
}

void cv_raft_adopt_terms(struct cv_raft *raft)
{
    const struct cv_terms *terms = &raft->assembly.agreed.seating.terms;
    go_by(raft, terms);
    if (!raft->assembly.epoch || raft->breaker)
        return;
    tell_changes(raft, terms);
    tell_differences(raft, terms);
}

void cv_raft_recall_terms(struct cv_raft *raft, const struct cv_seating *seating)
{
    raft->assembly.agreed.seating.terms = seating->terms;
    raft->assembly.agreed.seating.former_lease = seating->former_lease;
    raft->assembly.grants.terms = cv_seating_lease(seating);
    go_by(raft, &seating->terms);
    tell_changes(raft, &seating->terms);
    tell_differences(raft, &seating->terms);
}
