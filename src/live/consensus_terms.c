// SPDX-License-Identifier: MIT
#include "live/consensus_terms.h"

#include "group/lease_times.h"
#include "live/consensus.h"
#include "live/host/host_names.h"
#include "live/member.h"
#include "live/process/event_log.h"
#include "live/settings/settings.h"

/* Tells the operator whose file differs, once for each setting and each value that counts instead. */
static void tell_differences(struct consensus *consensus, const struct cv_terms *terms)
{
    const struct cv_terms own = cv_settings_terms(consensus->settings);
    for (enum cv_term_key key = 0; key < CV_TERMS; key++) {
        const uint32_t value = terms->values[key];
        char mine[CV_TERM_BYTES], theirs[CV_TERM_BYTES];
        const bool differs = consensus->settings->terms_given >> key & 1 && own.values[key] != value;
        if (differs && consensus->told_terms.values[key] != value) {
            cv_term_text(key, own.values[key], mine);
            cv_log_say(CV_LOG_TERMS,
                       "[group] %s = %s: the group has agreed on %s, and that counts; conclave set group.%s=%s "
                       "changes it",
                       cv_term_name(key), mine, cv_term_text(key, value, theirs), cv_term_name(key), mine);
        }
        consensus->told_terms.values[key] = differs ? value : UINT32_MAX;
    }
}

/* Safety rests on the terms, and one operator's HUP may have changed them for all nodes, so every node logs it. */
static void tell_changes(struct consensus *consensus, const struct cv_terms *terms)
{
    for (enum cv_term_key key = 0; key < CV_TERMS; key++) {
        const uint32_t value = terms->values[key], before = consensus->went_by.values[key];
        char now[CV_TERM_BYTES], then[CV_TERM_BYTES];
        if (consensus->went_by.values[CV_TERM_LEASE] && value != before)
            cv_log_say(CV_LOG_TERMS, "the group has agreed on %s = %s; it was %s", cv_term_name(key),
                       cv_term_text(key, value, now), cv_term_text(key, before, then));
    }
    consensus->went_by = *terms;
}

/* From now on this node asks for leases and counts them by these terms. All times that depend on them follow. */
static void go_by(struct consensus *consensus, const struct cv_terms *terms)
{
    struct cv_member *member = consensus->member;
    const struct cv_lease_terms lease = cv_terms_lease(terms);
    const uint64_t heartbeat_us = consensus->settings->heartbeat_ms * 1000;
    consensus->lease.terms = lease;
    if (consensus->longest_us < lease.length_us)
        consensus->longest_us = lease.length_us;
    const uint64_t margin_us = cv_lease_margin_us(lease.length_us);
    /* The rest of a shorter lease may be less than the margin of a longer one. */
    consensus->wider_us = consensus->leased && margin_us > consensus->margin_us ? margin_us : 0;
    if (!consensus->wider_us)
        consensus->margin_us = margin_us;
    consensus->agreed_views.times.settle_us = (uint64_t)terms->values[CV_TERM_BOUND] * 1000;
    consensus->agreed_views.times.patience_us = cv_lease_report_us(lease.length_us);
    member->bound_us = consensus->agreed_views.times.settle_us;
    member->try_us = 2 * member->bound_us;
    cv_host_bound(&member->host, terms->values[CV_TERM_BOUND]);
    member->peers.lease_ms = terms->values[CV_TERM_LEASE];
    member->peers.drift_ppm = terms->values[CV_TERM_DRIFT];
    const uint64_t longest_us = lease.length_us / CV_LEASE_HEARTBEATS;
    member->peers.heartbeat_us = heartbeat_us < longest_us ? heartbeat_us : longest_us;
    if (consensus->is_open)
        consensus->protocol->pace(consensus, terms);
}

void consensus_adopt_terms(struct consensus *consensus)
{
    const struct cv_terms *terms = &consensus->agreed_views.agreed.seating.terms;
    go_by(consensus, terms);
    if (!consensus->agreed_views.epoch || !consensus->protocol->reconfigures)
        return;
    tell_changes(consensus, terms);
    tell_differences(consensus, terms);
}

void consensus_recall_terms(struct consensus *consensus, const struct cv_seating *seating)
{
    consensus->agreed_views.agreed.seating.terms = seating->terms;
    consensus->agreed_views.agreed.seating.former_lease = seating->former_lease;
    consensus->agreed_views.grants.terms = cv_seating_lease(seating);
    go_by(consensus, &seating->terms);
    tell_changes(consensus, &seating->terms);
    tell_differences(consensus, &seating->terms);
}
