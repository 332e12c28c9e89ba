// SPDX-License-Identifier: MIT
#include "world.h"
#include "group/proposal.h"

#include <string.h>

#define STEP_US 1000u
#define BEAT_US 50000u
#define TIMEOUT_US 300000u
#define MARGIN_US 37500u

uint64_t world_draw(struct world *world, uint64_t below)
{
    return cv_random_below(&world->random, (uint32_t)below);
}

bool world_chance(struct world *world, uint32_t of)
{
    return world_draw(world, of) == 0;
}

/* ---- time ---- */

uint64_t world_clock_of(const struct node *node)
{
    return node->offset_us + (uint64_t)((double)node->world->now * node->rate);
}

/* The world's time at which the node's clock shows that time. */
static uint64_t real(const struct node *node, uint64_t clock_us)
{
    return clock_us <= node->offset_us ? 0 : (uint64_t)((double)(clock_us - node->offset_us) / node->rate);
}

void world_granted(struct node *node, cv_node voter, uint64_t asked_us, uint64_t length_us)
{
    cv_lease_granted(&node->lease, voter, asked_us, length_us);
    node->lease_end_us = cv_lease_end(&node->lease);
}

bool world_may_grant(const struct node *node)
{
    return node->up && node->views.view.epoch && !node->views.frozen &&
           world_clock_of(node) + MARGIN_US < node->lease_end_us;
}

/* Does a client of this node, of this life or the last, believe that it holds the lock? */
static bool believes(const struct node *node)
{
    return (node->up && node->holds && world_clock_of(node) < node->lease_end_us) ||
           node->world->now < node->ghost_until;
}

/* ---- what must hold ---- */

static void judge(struct world *world)
{
    uint64_t epoch = 0;
    uint32_t believers = 0;
    for (cv_node i = 0; i < world->count; i++) {
        const struct node *node = &world->nodes[i];
        believers += believes(node);
        if (!world_may_grant(node))
            continue;
        if (epoch && epoch != node->views.view.epoch)
            world->violation = "two that may grant are in different views";
        if (!cv_set_has(node->views.view.members, i))
            world->violation = "one that may grant is not in its view";
        epoch = node->views.view.epoch;
    }
    if (believers > 1)
        world->violation = "two believe that they hold the lock";
}

/* ---- letters ---- */

void world_post(struct world *world, struct letter letter, bool reliable)
{
    const struct node *to = &world->nodes[letter.to];
    if (world->letter_count == MOST_LETTERS || !to->up || world->cut[letter.from][letter.to])
        return;
    if (!reliable && world_chance(world, 20))
        return;
    letter.life = to->life;
    letter.from_id = world->nodes[letter.from].roster.ids[letter.from];
    letter.to_id = world->nodes[letter.from].roster.ids[letter.to];
    letter.due = world->now + 100 + world_draw(world, world_chance(world, 50) ? 400000 : 5000);
    /* In order, on one stream. */
    for (uint32_t i = 0; reliable && i < world->letter_count; i++) {
        const struct letter *other = &world->letters[i];
        if (other->from == letter.from && other->to == letter.to && other->kind <= HELD_BY && other->due > letter.due)
            letter.due = other->due;
    }
    world->letters[world->letter_count++] = letter;
}

void world_lose_stream(struct world *world, cv_node a, cv_node b)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < world->letter_count; i++) {
        const struct letter *it = &world->letters[i];
        const bool theirs = (it->from == a && it->to == b) || (it->from == b && it->to == a);
        if (!theirs || it->kind > HELD_BY)
            world->letters[kept++] = *it;
    }
    world->letter_count = kept;
}

/* ---- the lock ---- */

static void drop(struct node *node)
{
    struct world *world = node->world;
    const struct cv_agreed_views *views = &node->views;
    if (!node->holds)
        return;
    node->holds = false;
    if (!views->frozen && views->view.epoch == world->mutex.epoch && world->mutex.holder == node->roster.me)
        world->mutex.holder = CV_NOBODY;
}

/* A node looks at its clock before anything else. */
static void look(struct node *node)
{
    if (node->holds && world_clock_of(node) + MARGIN_US >= node->lease_end_us) {
        drop(node);
        node->world->lapses++;
    }
}

static void use_lock(struct node *node)
{
    struct world *world = node->world;
    if (node->holds && world_chance(world, 100))
        drop(node);
    if (node->holds || !world_chance(world, 5) || !world_may_grant(node) ||
        world->mutex.epoch != node->views.view.epoch || world->mutex.holder != CV_NOBODY)
        return;
    world->mutex.holder = node->roster.me;
    node->holds = true;
    node->fence = node->views.view.base + ++world->mutex.count;
    if (node->fence <= world->last_fence)
        world->violation = "a fence that is not higher than the last";
    world->last_fence = node->fence;
    world->grants++;
}

/* ---- calls of the views ---- */

static bool propose(void *context, const struct cv_proposal *proposal)
{
    struct node *node = context;
    struct world *world = node->world;
    if (world->tied)
        return tie_propose(node, proposal);
    if (world->leader != node->roster.me)
        return !world_chance(world, 2); /* it believes that it leads; the proposal is lost */
    if (world->pending_due)
        return false;
    world->pending = *proposal;
    world->pending_by = node->roster.me;
    world->pending_due = world->now + 500 + world_draw(world, 20000);
    return true;
}

static void send_motion(void *context, cv_node to, enum cv_view_message message, uint64_t epoch, uint64_t number)
{
    const struct node *node = context;
    if (!cv_set_has(node->suspected, to))
        world_post(node->world,
                   (struct letter){.kind = MOTION,
                                   .from = node->roster.me,
                                   .to = to,
                                   .message = message,
                                   .epoch = epoch,
                                   .number = number},
                   true);
}

static void freeze(void *context, bool prepares)
{
    struct node *node = context;
    if (node->world->sabotage != BLIND_REPORT)
        look(node);
    node->held_by = prepares && node->holds ? node->roster.me : CV_NOBODY;
}

static void send_held(const struct node *node, cv_node to, enum cv_view_message message, uint64_t epoch, cv_node holder)
{
    world_post(
        node->world,
        (struct letter){
            .kind = HELD_BY, .from = node->roster.me, .to = to, .message = message, .epoch = epoch, .number = holder},
        true);
}

static void report(void *context, cv_node to, uint64_t epoch)
{
    const struct node *node = context;
    if (node->holds)
        send_held(node, to, CV_VIEW_HOLDING, epoch, node->roster.me);
}

static void tell(void *context, cv_node to, uint64_t epoch)
{
    const struct node *node = context;
    if (node->held_by != CV_NOBODY)
        send_held(node, to, CV_VIEW_HELD, epoch, node->held_by);
}

static void install(void *context, const struct cv_view *view)
{
    struct node *node = context;
    struct world *world = node->world;
    world->views++;
    if (world->sabotage != OLD_VOTERS)
        node->lease.voters = node->views.agreed.seating.voters;
    node->lease.terms = cv_terms_lease(&node->views.agreed.seating.terms);
    if (world->sabotage == RECOUNTED)
        for (cv_node voter = 0; voter < world->count; voter++)
            if (node->lease.asked_us[voter])
                world_granted(node, voter, node->lease.asked_us[voter], node->lease.terms.length_us);
    node->lease_end_us = cv_lease_end(&node->lease);
    if (world->sabotage != BLIND_REPORT)
        look(node);
    if (view->epoch > world->mutex.epoch) {
        world->mutex.epoch = view->epoch;
        world->mutex.holder = node->held_by;
        world->mutex.count = 0;
    } else if (view->epoch == world->mutex.epoch && node->held_by == node->roster.me && !node->holds) {
        world->mutex.holder = CV_NOBODY; /* it has lost the lock since it reported it */
    }
    if (node->holds && node->held_by != node->roster.me) {
        node->holds = false;
        world->violation = "a holder that is in the new view has lost the lock";
    }
    node->next_beat = 0;
}

static const struct cv_agreed_views_calls calls = {
    .propose = propose, .send = send_motion, .freeze = freeze, .report = report, .tell = tell, .install = install};

/* ---- coming and going ---- */

static void start(struct node *node, bool returns)
{
    struct world *world = node->world;
    node->up = true;
    node->paused = node->holds = false;
    node->life++;
    node->offset_us = world_draw(world, 1000000);
    const bool remembers = world->sabotage == ENTRIES_FORGOT;
    node->floor = remembers ? 0 : node->stored;
    node->applied = node->stored ? (uint32_t)world_draw(world, node->stored + 1) : 0;
    if (node->applied)
        node->applied--; /* the last snapshot's entry is told again */
    node->suspected = cv_set_first(world->count) & ~cv_set_of(node->roster.me);
    node->ready = node->renewed = 0;
    memset(&node->views, 0, sizeof node->views);
    node->views.times = (struct cv_agreed_views_times){.begin_us = world_clock_of(node) + 2 * (uint64_t)TIMEOUT_US,
                                                       .settle_us = 50000,
                                                       .hold_off_us = 500000,
                                                       .patience_us = 1200000};
    struct cv_agreed_views_calls own = calls;
    own.context = node;
    const bool knows = node->stored > 0;
    if (knows)
        seats_take(node, &world->entries[node->stored - 1].proposal.seating);
    const cv_set voters = world->tied ? world->voters | cv_set_of(CV_DISK_PAXOS_VOTER)
                          : knows     ? world->entries[node->stored - 1].proposal.seating.voters
                                      : world->voters;
    struct cv_seating seating;
    cv_seating_init(&seating, &node->roster, voters, &world->terms);
    if (knows)
        seating = world->entries[node->stored - 1].proposal.seating;
    const struct cv_lease_terms now = cv_terms_lease(&seating.terms), longest = cv_seating_lease(&seating);
    const struct cv_lease_terms *waited = world->sabotage == SHORT_MEMORY ? &now : &longest;
    cv_agreed_views_init(&node->views, &own, &node->roster, voters, &world->terms);
    node->views.tied = world->tied;
    cv_lease_init(&node->lease, &now, voters);
    node->lease_end_us = 0;
    cv_grants_init(&node->views.grants, &longest);
    node->views.away = true;
    node->away_until_us = world_clock_of(node);
    if (returns && world->sabotage != NO_QUARANTINE)
        node->away_until_us += cv_lease_long(waited, waited->length_us);
    if (world->tied)
        tie_start(node);
}

void world_die(struct node *node)
{
    struct world *world = node->world;
    if (node->holds) {
        const uint64_t until = real(node, node->lease_end_us);
        node->ghost_until = until > node->ghost_until ? until : node->ghost_until;
    }
    if (world->mutex.holder == node->roster.me && node->views.view.epoch == world->mutex.epoch)
        world->mutex.holder = MOST_NODES; /* the view ends before another node has it */
    if (world->tied)
        tie_die(node);
    node->up = node->holds = false;
    node->down_until = world->now + 20000 + world_draw(world, 800000);
    for (cv_node other = 0; other < world->count; other++)
        world_lose_stream(world, node->roster.me, other);
}

/* An orderly end while its clients hold nothing: it tells the others not to wait for the lease. */
static void leave(struct node *node)
{
    struct world *world = node->world;
    if (!node->up || node->paused || node->holds || node->world->now < node->ghost_until)
        return;
    for (cv_node other = 0; other < world->count; other++)
        if (other != node->roster.me && !world->cut[node->roster.me][other])
            cv_grants_forget(&world->nodes[other].views.grants, node->roster.me);
    world_die(node);
}

static void disturb(struct world *world)
{
    struct node *node = &world->nodes[world_draw(world, world->count)];
    node->fileless = world->tied && world_chance(world, 4);
    switch (world_draw(world, 11)) {
    case 0:
        if (node->up)
            world_die(node);
        break;
    case 1:
        node->paused = node->up;
        node->paused_until = world->now + 50000 + world_draw(world, 1500000);
        break;
    case 2: { /* a cut between two sides */
        const uint64_t sides = world_draw(world, 1u << world->count);
        for (cv_node a = 0; a < world->count; a++)
            for (cv_node b = 0; b < world->count; b++)
                world->cut[a][b] = (sides >> a & 1) != (sides >> b & 1);
        break;
    }
    case 3: { /* one node alone, or in one direction */
        const cv_node alone = node->roster.me;
        const bool both = world_chance(world, 2);
        for (cv_node other = 0; other < world->count; other++) {
            world->cut[alone][other] = true;
            world->cut[other][alone] = both;
        }
        break;
    }
    case 4: /* a false suspicion */
        node->heard[world_draw(world, world->count)] = 0;
        break;
    case 5:
        leave(node);
        break;
    case 6:
    case 7:
        seats_ask(world);
        break;
    default:
        memset(world->cut, 0, sizeof world->cut);
    }
}

/* ---- the detector ---- */

static void tell_alive(struct node *node)
{
    const cv_set me = cv_set_of(node->roster.me);
    if (!node->views.away)
        cv_agreed_views_update(&node->views, (node->ready & ~node->suspected) | me, CV_NOBODY, world_clock_of(node));
}

static void suspect(struct node *node, cv_node other)
{
    struct world *world = node->world;
    node->suspected |= cv_set_of(other);
    node->ready &= ~cv_set_of(other);
    node->renewed &= ~cv_set_of(other);
    world_lose_stream(world, node->roster.me, other);
    tell_alive(node);
}

/* A connection is made again. An end that has not noticed the break learns that messages may be lost. */
static void connect(struct world *world, cv_node a, cv_node b)
{
    const cv_id *here = world->nodes[a].roster.ids, *there = world->nodes[b].roster.ids;
    if (!world_reaches(world, a, b) || here[a] != there[a] || here[b] != there[b] || here[b] == CV_NO_ID)
        return;
    for (int side = 0; side < 2; side++) {
        struct node *node = &world->nodes[side ? b : a];
        const cv_node other = side ? a : b;
        node->heard[other] = world->now;
        if (cv_set_has(node->suspected, other)) {
            node->suspected &= ~cv_set_of(other);
            tell_alive(node);
        } else {
            node->renewed |= cv_set_of(other);
        }
    }
}

static void watch(struct node *node)
{
    struct world *world = node->world;
    for (cv_node other = 0; other < world->count; other++) {
        const cv_node me = node->roster.me;
        if (other == me)
            continue;
        if (cv_set_has(node->suspected, other) && world_chance(world, 30))
            connect(world, me, other);
        else if (!cv_set_has(node->suspected, other) && world->now > node->heard[other] + TIMEOUT_US)
            suspect(node, other);
    }
}

/* ---- steps ---- */

static bool remembers(const struct node *node)
{
    if (node->world->tied)
        return node->tie.known;
    return node->applied >= node->floor;
}

static void on_beat(struct node *node, const struct letter *letter)
{
    const bool ready = letter->number >> 63, was_ready = cv_set_has(node->ready, letter->from);
    const uint64_t asked = letter->number & (UINT64_MAX >> 1);
    node->heard[letter->from] = node->world->now;
    cv_agreed_views_beat(&node->views, letter->from, letter->epoch);
    if (letter->epoch && remembers(node) &&
        cv_grants_ask(&node->views.grants, letter->from, letter->epoch,
                      node->world->sabotage == OWN_LENGTH ? node->views.grants.terms : letter->terms,
                      world_clock_of(node)))
        world_post(
            node->world,
            (struct letter){
                .kind = GRANT, .from = node->roster.me, .to = letter->from, .number = asked, .terms = letter->terms},
            false);
    if (cv_set_has(node->suspected, letter->from))
        return;
    node->ready = ready ? node->ready | cv_set_of(letter->from) : node->ready & ~cv_set_of(letter->from);
    if (ready != was_ready)
        tell_alive(node);
    if (cv_set_has(node->renewed, letter->from)) {
        node->renewed &= ~cv_set_of(letter->from);
        cv_agreed_views_renew(&node->views, world_clock_of(node));
    }
}

static void receive(struct node *node, const struct letter *letter)
{
    if (node->world->sabotage != BLIND_REPORT)
        look(node);
    switch (letter->kind) {
    case ENTRY:
        tie_hear(node, letter);
        break;
    case BEAT:
        on_beat(node, letter);
        break;
    case GRANT:
        world_granted(node, letter->from, letter->number, letter->terms.length_us);
        break;
    case MOTION:
        cv_agreed_views_hear(&node->views, letter->from, letter->message, letter->epoch, letter->number,
                             world_clock_of(node));
        break;
    case HELD_BY:
        if (cv_agreed_views_awaits(&node->views, letter->message, letter->from, letter->epoch))
            node->held_by = (cv_node)letter->number;
    }
}

static void beat(struct node *node)
{
    struct world *world = node->world;
    const uint64_t now = world_clock_of(node), epoch = node->views.view.epoch;
    const cv_node me = node->roster.me;
    if (world->now < node->next_beat)
        return;
    node->next_beat = world->now + BEAT_US;
    for (cv_node other = 0; other < world->count; other++)
        if (other != me && !cv_set_has(node->suspected, other))
            world_post(world,
                       (struct letter){.kind = BEAT,
                                       .from = me,
                                       .to = other,
                                       .epoch = epoch,
                                       .number = now | (uint64_t)!node->views.away << 63,
                                       .terms = node->lease.terms},
                       false);
    if (epoch && remembers(node) && cv_grants_ask(&node->views.grants, me, epoch, node->lease.terms, now))
        world_granted(node, me, now, node->lease.terms.length_us);
}

static void step(struct node *node)
{
    struct world *world = node->world;
    const uint64_t now = world_clock_of(node);
    if (node->views.away && now >= node->away_until_us) {
        node->views.away = false;
        tell_alive(node);
    }
    if (world->sabotage != BLIND_REPORT || world_chance(world, 100))
        look(node);
    if (world->tied)
        tie_step(node);
    else
        log_apply(node);
    watch(node);
    const bool leads =
        !node->views.away &&
        (world->tied ? tie_leads(node) : world->leader == node->roster.me && node->applied == node->stored);
    /* A node that is cut off does not know at once that another one leads now. */
    if (world->tied && leads != node->views.leads)
        cv_agreed_views_lead(&node->views, leads, now);
    else if (leads != node->views.leads &&
             (leads || world_reach(world, node->roster.me) != cv_set_of(node->roster.me)) && world_chance(world, 5))
        cv_agreed_views_lead(&node->views, leads, now);
    cv_agreed_views_tick(&node->views, now);
    beat(node);
    use_lock(node);
}

static void deliver(struct world *world)
{
    for (uint32_t i = 0; i < world->letter_count;) {
        const struct letter letter = world->letters[i];
        struct node *to = &world->nodes[letter.to];
        if (letter.due > world->now || to->paused) {
            i++;
            continue;
        }
        memmove(&world->letters[i], &world->letters[i + 1], (--world->letter_count - i) * sizeof letter);
        const cv_id *ids = to->roster.ids;
        if (to->up && to->life == letter.life && ids[letter.from] == letter.from_id && ids[letter.to] == letter.to_id)
            receive(to, &letter);
    }
}

static void begin(struct world *world, uint64_t seed, bool tied, enum sabotage sabotage)
{
    memset(world, 0, sizeof *world);
    cv_random_seed(&world->random, seed, 7);
    world->sabotage = sabotage;
    world->tied = tied;
    world->now = 1;
    world->calm = 200 + (uint32_t)world_draw(world, 400);
    const uint32_t begin = tied ? CV_DISK_PAXOS_MEMBERS : 3 + (uint32_t)world_draw(world, 3);
    world->restless = !tied && world_chance(world, 3);
    world->fickle = !tied && world_chance(world, 2);
    world->count = tied ? CV_DISK_PAXOS_MEMBERS : MOST_NODES;
    world->last_id = MOST_NODES;
    world->most_voters = begin > 4 && world_chance(world, 3) ? 3 : begin;
    world->voters = cv_set_first(world->most_voters);
    world->terms = (struct cv_terms){{[CV_TERM_LEASE] = 300,
                                      [CV_TERM_DRIFT] = world_chance(world, 2) ? 10000 : 100000,
                                      [CV_TERM_BOUND] = 50,
                                      [CV_TERM_VOTERS] = world->most_voters}};
    world->leader = world->mutex.holder = CV_NOBODY;
    for (cv_node i = 0; i < world->count; i++) {
        struct node *node = &world->nodes[i];
        const double drift = (double)world->terms.values[CV_TERM_DRIFT] / 1e6 * (sabotage == CLOCKS_BEYOND ? 3 : 1);
        node->world = world;
        node->rate = world_chance(world, 2) ? 1 + drift : 1 - drift;
        node->roster.count = world->count;
        node->roster.me = i;
        for (cv_node j = 0; j < world->count; j++)
            node->roster.ids[j] = node->roster.attributes[j] = j < begin ? j + 1 : CV_NO_ID;
        node->down_until = UINT64_MAX;
        node->belongs = i < begin;
        if (node->belongs)
            start(node, false);
    }
}

/* The leader ends it as soon as it can. */
static void forget_former(struct world *world)
{
    for (cv_node i = 0; i < world->count; i++)
        if (world->nodes[i].views.all_begun_us)
            world->nodes[i].views.all_begun_us = 1;
}

void world_run(struct world *world, uint64_t until_us, bool disturbed)
{
    for (; world->now < until_us && !world->violation; world->now += STEP_US) {
        if (disturbed && world_chance(world, world->calm))
            disturb(world);
        if (world->restless && world_chance(world, 30))
            seats_ask(world);
        if (world->fickle && world_chance(world, 150))
            seats_ask_terms(world);
        if (world->sabotage == FORMER_DROPPED)
            forget_former(world);
        if (!world->tied)
            log_keep(world);
        deliver(world);
        const cv_node first = (cv_node)world_draw(world, world->count);
        for (cv_node i = 0; i < world->count; i++) {
            struct node *node = &world->nodes[(first + i) % world->count];
            if (node->paused && world->now >= node->paused_until)
                node->paused = false;
            if (!node->up && world->now >= node->down_until)
                start(node, true);
            if (node->up && !node->paused)
                step(node);
            judge(world);
        }
    }
}

void world_play(struct world *world, uint64_t seed, bool tied, enum sabotage sabotage, uint64_t length_us)
{
    begin(world, seed, tied, sabotage);
    world_run(world, length_us, true);
    if (tied && !world->violation && !sabotage)
        tie_judge(world);
}
