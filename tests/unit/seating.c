// SPDX-License-Identifier: MIT
/*
 * The members of a group, and how a leader changes them, by example; tests/agreed_views.c plays random stories of it.
 */
#include "group/seating.h"
#include "group/proposal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/random.h"
#include "group/agreed_views.h"
#include "group/bytes.h"

#define SECOND 1000000u

/* A leader at place 0 of a group with ids 1, 2, 3, ...; its proposals are agreed on at once. */
struct leader {
    struct cv_roster roster;
    struct cv_agreed_views agreed_views;
    struct cv_proposal last;
    uint64_t epoch, now;
    uint32_t proposals;
};

static bool propose(void *context, const struct cv_proposal *proposal)
{
    struct leader *leader = context;
    leader->last = *proposal;
    leader->proposals++;
    return true;
}

static void send_view_message(void *context, cv_node to, enum cv_view_message kind, uint64_t epoch, uint64_t number)
{
    (void)context, (void)to, (void)kind, (void)epoch, (void)number;
}

static void freeze(void *context, bool prepares)
{
    (void)context, (void)prepares;
}

static void report(void *context, cv_node to, uint64_t epoch)
{
    (void)context, (void)to, (void)epoch;
}

static void install(void *context, const struct cv_view *view)
{
    (void)context, (void)view;
}

static void begin(struct leader *leader, uint32_t count, uint32_t voters)
{
    const struct cv_agreed_views_calls calls = {.propose = propose,
                                                .send = send_view_message,
                                                .freeze = freeze,
                                                .report = report,
                                                .tell = report,
                                                .install = install,
                                                .context = leader};
    const struct cv_terms terms = {{300, 10000, 50, voters}};
    const struct cv_lease_terms lease = cv_terms_lease(&terms);
    memset(leader, 0, sizeof *leader);
    leader->now = 100 * SECOND;
    leader->roster.count = count;
    leader->roster.group = 77;
    for (cv_node i = 0; i < count; i++)
        leader->roster.ids[i] = leader->roster.attributes[i] = i + 1;
    leader->agreed_views.times.hold_off_us = 2 * SECOND;
    leader->agreed_views.times.patience_us = SECOND;
    cv_agreed_views_init(&leader->agreed_views, &calls, &leader->roster, cv_set_first(voters), &terms);
    cv_grants_init(&leader->agreed_views.grants, &lease);
    cv_agreed_views_update(&leader->agreed_views, cv_set_first(count), CV_NOBODY, leader->now);
    cv_agreed_views_lead(&leader->agreed_views, true, leader->now);
}

static void agree(struct leader *leader)
{
    const struct cv_seating *seating = &leader->last.seating;
    memcpy(leader->roster.ids, seating->ids, sizeof seating->ids);
    memcpy(leader->roster.attributes, seating->attributes, sizeof seating->attributes);
    leader->roster.count = CV_MAX_MEMBERS;
    leader->epoch++;
    cv_agreed_views_agreed(&leader->agreed_views, leader->epoch, &leader->last, leader->now);
}

/* All members report, so that the view begins here; the members of `begun` say that they have begun it, too. */
static void begin_view(struct leader *leader, cv_set begun)
{
    for (cv_node node = 1; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(leader->last.members, node))
            cv_agreed_views_hear(&leader->agreed_views, node, CV_VIEW_REPORT, leader->epoch, 0, leader->now);
    for (cv_node node = 1; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(begun, node))
            cv_agreed_views_beat(&leader->agreed_views, node, leader->epoch);
}

static void settle(struct leader *leader)
{
    agree(leader);
    begin_view(leader, leader->last.members);
    assert_int_equal(leader->agreed_views.view.epoch, leader->epoch);
}

static bool ask(struct leader *leader, enum cv_change_kind kind, cv_id id)
{
    return cv_agreed_views_change(&leader->agreed_views, &(struct cv_change){.kind = kind, .id = id, .attribute = id},
                                  leader->now);
}

static void nothing_changes_before_all_have_begun(void **state)
{
    struct leader leader;
    (void)state;
    begin(&leader, 3, 3);
    agree(&leader);
    begin_view(&leader, cv_set_of(1)); /* not the third */
    const uint32_t before = leader.proposals;
    assert_true(ask(&leader, CV_CHANGE_JOIN, 9));
    cv_agreed_views_tick(&leader.agreed_views, leader.now);
    assert_int_equal(leader.proposals, before);
    cv_agreed_views_beat(&leader.agreed_views, 2, leader.epoch);
    cv_agreed_views_tick(&leader.agreed_views, leader.now);
    assert_int_equal(leader.proposals, before + 1);
    assert_int_equal(leader.last.seating.ids[3], 9);
    assert_int_equal(leader.last.seating.generation, 1);
    assert_int_equal(leader.last.members, 7); /* it is not there yet */
    assert_int_equal(leader.last.seating.voters, 7);
}

/* A voter that is there gives back its vote in one view, and its place in the next. */
static void who_leaves_gives_back_its_vote_first(void **state)
{
    struct leader leader;
    (void)state;
    begin(&leader, 3, 3);
    settle(&leader);
    assert_true(ask(&leader, CV_CHANGE_LEAVE, 3));
    assert_int_equal(leader.last.members, 7);
    assert_int_equal(leader.last.seating.voters, 3);
    assert_int_equal(leader.last.seating.former, 7);
    assert_int_equal(leader.last.seating.present, 7);
    settle(&leader);
    cv_agreed_views_tick(&leader.agreed_views, leader.now);
    assert_int_equal(leader.last.members, 3);
    assert_int_equal(leader.last.seating.former, 3);
    assert_int_equal(leader.last.seating.present, 3);
    assert_int_equal(leader.last.seating.ids[2], CV_NO_ID);
    settle(&leader);
    assert_int_equal(leader.agreed_views.change.kind, CV_CHANGE_NONE);
    assert_false(ask(&leader, CV_CHANGE_LEAVE, 1)); /* that is the leader itself */
    assert_false(ask(&leader, CV_CHANGE_LEAVE, 3)); /* it has left already: nothing to wait for */
    assert_false(ask(&leader, CV_CHANGE_JOIN, 2));
    assert_true(ask(&leader, CV_CHANGE_JOIN, 3));
}

/* As long as a member may count by the former voters, a majority of those is needed as well. */
static void a_view_needs_both_majorities(void **state)
{
    struct leader leader;
    (void)state;
    begin(&leader, 5, 5);
    settle(&leader);
    assert_true(ask(&leader, CV_CHANGE_LEAVE, 5));
    agree(&leader); /* four vote now, five did before, and no member has begun this view */
    assert_int_equal(leader.last.seating.voters, 15);
    const uint32_t before = leader.proposals;
    cv_agreed_views_update(&leader.agreed_views, 3, CV_NOBODY, leader.now);
    cv_agreed_views_tick(&leader.agreed_views, leader.now);
    assert_int_equal(leader.proposals, before); /* two of five */
    cv_agreed_views_update(&leader.agreed_views, 7, CV_NOBODY, leader.now);
    assert_int_equal(leader.proposals, before + 1);
    assert_int_equal(leader.last.members, 7);
    assert_int_equal(leader.last.seating.voters, 15);
    assert_int_equal(leader.last.seating.former, 31); /* still */

    struct cv_seating seating = leader.last.seating;
    seating.voters = 3, seating.former = 28;
    assert_false(cv_seating_majority(&seating, 3)); /* all of the one, none of the other */
    assert_false(cv_seating_majority(&seating, 28));
    assert_true(cv_seating_majority(&seating, 15));
}

/* A new member takes the first free place, and the former member of that place is no obstacle. */
static void a_vote_and_a_place_are_taken_over(void **state)
{
    struct leader leader;
    (void)state;
    begin(&leader, 5, 3);
    settle(&leader);
    assert_int_equal(leader.last.seating.voters, 7);
    cv_agreed_views_update(&leader.agreed_views, 29, CV_NOBODY, leader.now); /* the second is dead */
    settle(&leader);
    assert_true(ask(&leader, CV_CHANGE_LEAVE, 2));
    assert_int_equal(leader.last.seating.present, 29);
    assert_int_equal(leader.last.seating.voters, 13); /* the fourth votes instead of it */
    settle(&leader);
    assert_true(ask(&leader, CV_CHANGE_JOIN, 8));
    assert_int_equal(leader.last.seating.ids[1], 8);
    assert_int_equal(leader.last.members, 29);
}

/* A coordinator that comes and goes has to stay longer each time. After a long stay it begins anew. */
static void who_flaps_waits_longer(void **state)
{
    struct leader leader;
    struct cv_agreed_views *agreed_views = &leader.agreed_views;
    (void)state;
    begin(&leader, 3, 3);
    settle(&leader);
    assert_int_equal(leader.last.coordinator, 2);
    leader.now += 1000 * SECOND;
    const uint32_t waits[] = {2, 4, 8, 2};
    for (uint32_t i = 0; i < 4; i++) {
        cv_agreed_views_update(agreed_views, 3, 1, leader.now);
        assert_int_equal(leader.last.coordinator, 1); /* at once */
        settle(&leader);
        cv_agreed_views_update(agreed_views, 7, 2, leader.now);
        settle(&leader);
        assert_int_equal(leader.last.coordinator, 1);
        leader.now += (uint64_t)waits[i] * SECOND - 1;
        cv_agreed_views_tick(agreed_views, leader.now);
        assert_int_equal(leader.last.coordinator, 1);
        leader.now++;
        cv_agreed_views_tick(agreed_views, leader.now);
        assert_int_equal(leader.last.coordinator, 2);
        settle(&leader);
        if (i == 2)
            leader.now += 100 * SECOND;
    }
}

/* A shorter lease: former terms are kept until no member can rely on them any more. */
static void former_terms_are_dropped_when_they_are_over(void **state)
{
    struct leader leader;
    (void)state;
    begin(&leader, 3, 3);
    settle(&leader);
    const struct cv_change shorter = {.kind = CV_CHANGE_TERM, .id = CV_TERM_LEASE, .attribute = 100};
    assert_true(cv_agreed_views_change(&leader.agreed_views, &shorter, leader.now));
    cv_agreed_views_tick(&leader.agreed_views, leader.now);
    assert_int_equal(leader.last.seating.terms.values[CV_TERM_LEASE], 100);
    assert_int_equal(cv_seating_lease(&leader.last.seating).length_us, 300000);
    settle(&leader);
    const uint32_t before = leader.proposals;
    cv_agreed_views_tick(&leader.agreed_views, leader.now); /* all have begun */
    leader.now += 302000;
    cv_agreed_views_tick(&leader.agreed_views, leader.now);
    assert_int_equal(leader.proposals, before);
    leader.now += 2000; /* a lease of 300 ms, counted long */
    cv_agreed_views_tick(&leader.agreed_views, leader.now);
    assert_int_equal(leader.proposals, before + 1);
    assert_int_equal(cv_seating_lease(&leader.last.seating).length_us, 100000);
    settle(&leader);
    cv_agreed_views_tick(&leader.agreed_views, leader.now + SECOND);
    assert_int_equal(leader.proposals, before + 1);
    const struct cv_change wrong = {.kind = CV_CHANGE_TERM, .id = CV_TERM_VOTERS, .attribute = 0};
    assert_false(cv_agreed_views_change(&leader.agreed_views, &wrong, leader.now));
}

static void draw_proposal(struct cv_random *random, struct cv_proposal *proposal)
{
    memset(proposal, 0, sizeof *proposal);
    memset(proposal->seating.ids, 0xff, sizeof proposal->seating.ids);
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_random_below(random, 3) == 0) {
            proposal->seating.present |= cv_set_of(node);
            proposal->seating.ids[node] = node * 1000 + (cv_id)cv_random_below(random, 1000);
            proposal->seating.attributes[node] = (uint32_t)cv_random_below(random, 1000000);
            proposal->members |= cv_random_below(random, 2) ? cv_set_of(node) : 0;
        }
    proposal->seating.terms =
        (struct cv_terms){{20 + (uint32_t)cv_random_below(random, 1000), (uint32_t)cv_random_below(random, 200000), 50,
                           1 + (uint32_t)cv_random_below(random, CV_MOST_VOTERS)}};
    proposal->seating.former_lease =
        (struct cv_lease_terms){1000 * (20 + cv_random_below(random, 1000)), cv_random_below(random, 200000)};
    proposal->seating.group = cv_random_next(random);
    proposal->seating.generation = (uint32_t)cv_random_below(random, 1000);
    proposal->seating.voters = cv_random_next(random);
    proposal->seating.former = cv_random_next(random);
    proposal->seating.standbys = cv_random_next(random);
    proposal->pinned = cv_random_below(random, 2);
    proposal->proposer = (cv_node)cv_random_below(random, CV_MAX_MEMBERS);
    proposal->coordinator = proposal->members ? (cv_node)__builtin_ctzll(proposal->members) : 0;
}

/* A seating that is written is read again. One that was cut short is refused, and one that was changed does no harm. */
static void entries_as_bytes(void **state)
{
    struct cv_random random;
    (void)state;
    cv_random_seed(&random, 1, 1);
    for (int i = 0; i < 2000; i++) {
        struct cv_proposal proposal, again;
        struct cv_buffer bytes = {0};
        draw_proposal(&random, &proposal);
        if (!proposal.members)
            continue;
        cv_proposal_write(&proposal, &bytes);
        struct cv_cursor cursor = cv_cursor(bytes.bytes, bytes.length);
        assert_true(cv_proposal_read(&cursor, &again) && cursor.left == 0);
        assert_memory_equal(&again.seating, &proposal.seating, sizeof again.seating);
        assert_true(again.members == proposal.members && again.coordinator == proposal.coordinator &&
                    again.proposer == proposal.proposer && again.pinned == proposal.pinned);
        cursor = cv_cursor(bytes.bytes, cv_random_below(&random, (uint32_t)bytes.length));
        assert_false(cv_proposal_read(&cursor, &again));
        bytes.bytes[cv_random_below(&random, (uint32_t)bytes.length)] ^=
            (unsigned char)(1 + cv_random_below(&random, 255));
        cursor = cv_cursor(bytes.bytes, bytes.length);
        if (cv_proposal_read(&cursor, &again))
            assert_true(cv_set_has(again.members, again.coordinator) && !(again.members & ~again.seating.present));
        free(bytes.bytes);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_changes_before_all_have_begun),
        cmocka_unit_test(who_leaves_gives_back_its_vote_first),
        cmocka_unit_test(former_terms_are_dropped_when_they_are_over),
        cmocka_unit_test(a_view_needs_both_majorities),
        cmocka_unit_test(a_vote_and_a_place_are_taken_over),
        cmocka_unit_test(who_flaps_waits_longer),
        cmocka_unit_test(entries_as_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
