// SPDX-License-Identifier: MIT
#include "check/naive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "check/full.h"
#include "check/names.h"
#include "check/rounds.h"

static const struct cv_scenario *scenario;
static const struct naive_options *options;
static struct naive_result *result;
static struct cv_group group;
static struct full now, next; /* the current state, and its successor */
static uint32_t n, script[8], ways[8], chosen, scripted;
static struct cv_self self;

/* ---- handlers ---- */

static uint32_t choose(struct cv_self *me, uint32_t of)
{
    (void)me;
    ways[chosen] = of;
    if (chosen >= scripted)
        script[chosen] = 0;
    return script[chosen++];
}

static bool present(const struct cv_self *me, cv_node node)
{
    return next.node[node].alive && !(next.node[me->node].suspects & 1u << node);
}

static bool suspected(const struct cv_self *me, cv_id id)
{
    for (cv_node node = 0; node < n; node++)
        if (group.ids[node] == id)
            return next.node[me->node].suspects & 1u << node;
    return false;
}

static void grow(struct cv_self *me, size_t bytes)
{
    (void)me;
    (void)bytes;
    abort();
}

/* ---- requests at given times ---- */

enum { STEP = 64 };

static uint64_t leap; /* the clock is ahead of all times heard of up to this */
static bool late;     /* the node should have requested before: this event is impossible */

/* The time of a node's next request when it has this many left; 0: none. */
static uint64_t time_of(cv_node i, uint32_t left)
{
    return left ? options->times[i * scenario->entries + scenario->entries - left] * STEP : 0ull;
}

/* Only requests carry a time: no node keeps what it has heard of others. */
static bool forgets(void)
{
    return options->times && scenario->algorithm->hints.clocked == CV_CLOCKS_ORDER;
}

/* Time stands still between two requests. */
static uint64_t on_time(uint64_t clock)
{
    return options->times ? clock / STEP * STEP : clock;
}

/* Does the step send to a node whose request has the time that the clock is ahead to? */
static bool is_heard(cv_node i)
{
    for (cv_node j = 0; j < n; j++)
        for (uint64_t k = 0; k < scenario->entries; k++)
            if (next.count[i][j] > now.count[i][j] && options->callers & 1u << j &&
                options->times[j * scenario->entries + k] * STEP == leap)
                return true;
    return false;
}

/* ---- handlers ---- */

/* Does every node start, whatever it has heard before? */
static bool all_start(void)
{
    return scenario->algorithm->problem != CV_ELECTION && scenario->algorithm->problem != CV_MUTEX;
}

static const struct cv_runtime runtime = {choose, present, suspected, grow};

static struct cv_self *begin(cv_node i)
{
    static uint64_t outbox[4096];
    struct node *it = &next.node[i];
    self = (struct cv_self){.state = it->state,
                            .group = &group,
                            .runtime = &runtime,
                            .outbox = (unsigned char *)outbox,
                            .room = sizeof outbox,
                            .clock = it->clock,
                            .calling = it->calling,
                            .knows = it->knows,
                            .elected = it->leader,
                            .node = i};
    chosen = 0;
    return &self;
}

/* Sends the first `most` messages. */
static void finish(cv_node i, uint32_t most)
{
    struct node *it = &next.node[i];
    it->calling = self.calling;
    it->knows = self.knows;
    it->leader = self.knows ? self.elected : 0;
    it->clock = scenario->algorithm->hints.clocked && !forgets() ? on_time(self.clock) : 0;
    for (uint32_t t = 0; t < CV_MAX_TIMERS; t++) {
        if ((self.timers_armed | self.timers_cancelled) & 1u << t)
            it->timers[t] = 0;
        if (self.timers_armed & 1u << t)
            it->timers[t] = options->any_time ? 1 : (self.timer_delay[t] ? self.timer_delay[t] : 1) + 1;
    }
    if (self.effects & CV_DID_ENTER) {
        it->waiting = it->asked = 0;
        it->inside = 1;
        if (self.fence > next.highest && cv_scenario_claims(scenario) & CV_FENCES_RISE)
            next.highest = self.fence;
    }
    if (self.effects & CV_DID_RESULT && are_paths(scenario)) {
        it->result = self.result + 1;
        it->via = self.via;
    }
    if ((self.effects || self.used) && !all_start())
        it->fresh = 0;
    for (size_t at = 0; at < self.used && most--;) {
        const struct cv_message *message = (const void *)(self.outbox + at);
        const cv_node to = message->to;
        at += cv_message_bytes(message);
        if (!next.node[to].alive || next.cut[i] & 1u << to)
            continue;
        if (next.count[i][to] == MAIL || message->words * 4 > BODY)
            abort();
        struct letter *letter = &next.letter[i][to][next.count[i][to]++];
        *letter = (struct letter){message->kind,
                                  message->words,
                                  scenario->algorithm->hints.clocked ? on_time(message->clock) : options->delay,
                                  {0}};
        memcpy(letter->body, message->body, message->words * 4);
    }
}

/* ---- the set of states ---- */

static unsigned char **set, **list;
static uint64_t set_room, list_room, list_count;

/* The length comes first. */
static uint64_t place_of(const unsigned char *packed, uint32_t length)
{
    const uint64_t hash = XXH3_64bits(packed, length);
    for (uint64_t at = hash & (set_room - 1);; at = (at + 1) & (set_room - 1))
        if (!set[at] || (memcmp(set[at], packed, 4) == 0 && memcmp(set[at], packed, length) == 0))
            return at;
}

/* It doubles when it is half full. */
static void grow_set(void)
{
    unsigned char **old = set;
    const uint64_t old_room = set_room;
    set_room = set_room ? set_room * 2 : 1024;
    set = calloc(set_room, sizeof *set);
    for (uint64_t i = 0; i < old_room; i++)
        if (old[i])
            set[place_of(old[i], *(uint32_t *)(void *)old[i])] = old[i];
    free(old);
}

/* Renumbers counters that grow for ever from 1, if the algorithm says that only their order matters. */
static uint64_t least[N];

// NOLINTNEXTLINE(readability-non-const-parameter): one of two that look at counters, and the other changes them
static void find_least(struct cv_counting *counting, uint32_t family, uint64_t *number)
{
    (void)counting;
    if (*number && (!least[family] || *number < least[family]))
        least[family] = *number;
}

static void lower(struct cv_counting *counting, uint32_t family, uint64_t *number)
{
    (void)counting;
    *number -= *number ? least[family] - 1 : 0;
}

static void visit(struct cv_counting *counting)
{
    for (cv_node i = 0; i < n; i++) {
        if (next.node[i].alive)
            scenario->algorithm->hints.counters(counting, i, next.node[i].state, NULL);
        for (cv_node j = 0; j < n; j++)
            for (uint32_t k = 0; k < next.count[i][j]; k++) {
                struct letter *letter = &next.letter[i][j][k];
                uint64_t copy[(sizeof(struct cv_message) + BODY) / 8] = {0};
                struct cv_message *message = (void *)copy;
                message->from = i;
                message->to = j;
                message->kind = letter->kind & 63u;
                memcpy(message->body, letter->body, sizeof letter->body);
                scenario->algorithm->hints.counters(counting, i, NULL, message);
                memcpy(letter->body, message->body, sizeof letter->body);
            }
    }
}

/* The cap of the clocks in the successor, or in the current state. */
static uint64_t latest(const struct full *full)
{
    const bool capped = scenario->algorithm->hints.clocked == CV_CLOCKS_REQUESTS;
    uint64_t most = 0;
    for (cv_node i = 0; i < n; i++) {
        const struct node *it = &full->node[i];
        if (!options->drop_clocks || it->left)
            return UINT64_MAX;
        if (it->waiting && capped && it->asked + 1ull > most)
            most = it->asked + 1ull;
    }
    return most;
}

static void limit_clocks(uint64_t most)
{
    for (cv_node i = 0; i < n; i++) {
        next.node[i].clock = next.node[i].clock < most ? next.node[i].clock : most;
        for (cv_node j = 0; j < n; j++)
            for (uint32_t k = 0; k < next.count[i][j]; k++)
                if (next.letter[i][j][k].clock > most)
                    next.letter[i][j][k].clock = most;
    }
}

static void show(void)
{
    static uint32_t outline[N + N * N * (MAIL + 1)];
    uint32_t count = 0;
    for (cv_node i = 0; i < n; i++) {
        outline[count++] = next.node[i].waiting + 2 * next.node[i].inside;
        for (cv_node j = 0; j < n; j++) {
            outline[count++] = next.count[i][j];
            for (uint32_t k = 0; k < next.count[i][j]; k++)
                outline[count++] = next.letter[i][j][k].kind;
        }
    }
    options->look(outline, count);
}

static void meet(void)
{
    limit_clocks(latest(&next));
    if (options->symmetry)
        names_choose(scenario, &group, &next);
    if (scenario->algorithm->hints.counters) {
        memset(least, 0, sizeof least);
        visit(&(struct cv_counting){find_least});
        visit(&(struct cv_counting){lower});
    }
    static unsigned char packed[sizeof(struct full) + 64];
    const uint32_t length = full_pack(scenario, &next, packed);
    uint32_t inside = 0;
    result->transitions++;
    if (result->states * 2 >= set_room)
        grow_set();
    const uint64_t at = place_of(packed, length);
    if (set[at])
        return;
    set[at] = malloc(length);
    memcpy(set[at], packed, length);
    if (list_count == list_room)
        list = realloc(list, (list_room = list_room ? list_room * 2 : 1024) * sizeof *list);
    list[list_count++] = set[at];
    result->states++;
    if (options->look)
        show();
    for (cv_node i = 0; i < n; i++)
        inside += next.node[i].inside;
    result->two_inside |= inside > 1;
}

/* ---- events ---- */

static void kill(cv_node i, bool missed)
{
    const struct node was = next.node[i];
    next.node[i] = (struct node){0};
    if (options->recoveries) {
        next.node[i].left = was.left;
        next.node[i].clock = was.clock;
    }
    for (cv_node j = 0; j < n; j++)
        next.count[j][i] = 0;
    next.crashes--;
    next.misses -= missed;
    next.missed |= (uint32_t)missed << i;
}

static bool may_kill(bool one_more)
{
    uint32_t alive = one_more;
    for (cv_node i = 0; i < n; i++)
        alive += now.node[i].alive;
    return now.crashes && alive > 1;
}

/* Reach over links that are not cut; in a graph dead nodes cut off others. */
static bool lost_in(const struct full *full, cv_node i, cv_node j)
{
    bool reached[N] = {false};
    if (!group.edges)
        return !full->node[j].alive || full->cut[i] & 1u << j;
    reached[i] = true;
    for (uint32_t round = 0; round < n; round++)
        for (cv_node k = 0; k < n; k++)
            for (uint64_t e = group.edges[k]; reached[k] && e < group.edges[k + 1]; e++)
                if (!(full->cut[k] & 1u << group.neighbours[e]))
                    reached[group.neighbours[e]] |= full->node[group.neighbours[e]].alive;
    return !reached[j];
}

static bool lost(cv_node i, cv_node j)
{
    return lost_in(&now, i, j);
}

static bool need_not_be_told(cv_node j)
{
    return now.node[j].alive ? now.missed != 0 : (now.missed & 1u << j) != 0;
}

/*
 * A node can reach another again. If it knew of the loss, it will be told of the return. If it did not, it will be told
 * of both, unless the loss need not be reported. Only if no node is ever cut off does a node that recovers make itself
 * known at once.
 */
static void find_again(void)
{
    for (cv_node i = 0; i < n; i++)
        for (cv_node j = 0; j < n; j++) {
            struct node *it = &next.node[i];
            const uint32_t bit = 1u << j;
            if (i == j || !now.node[i].alive || !lost(i, j) || lost_in(&next, i, j))
                continue;
            if (it->suspects & bit) {
                it->owed_return |= bit;
                if (!group.edges && !options->cuts)
                    it->suspects &= ~bit;
            } else if (!need_not_be_told(j)) {
                it->missed_loss |= bit;
            }
        }
}

static void link_changes(cv_node i, cv_node j)
{
    full_copy(&next, &now, n);
    const bool heals = now.cut[i] & 1u << j;
    next.cut[i] ^= 1u << j;
    next.cut[j] ^= 1u << i;
    next.cuts -= !heals;
    find_again();
}

static bool are_linked(cv_node i, cv_node j)
{
    bool linked = !group.edges;
    for (uint64_t e = 0; group.edges && e < group.edges[n]; e++)
        linked |= e >= group.edges[i] && e < group.edges[i + 1] && group.neighbours[e] == j;
    return linked;
}

enum event { START, REQUEST, LEAVE, DELIVER, TIMEOUT, SUSPECT, TRUST, RECOVER };

/* Takes a step and sends `most` of its messages; returns how many there were. */
static uint32_t happen(enum event event, cv_node i, uint32_t a, uint32_t b, uint32_t most)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    uint64_t copy[(sizeof(struct cv_message) + BODY) / 8] = {0};
    struct cv_message *message = (void *)copy;
    full_copy(&next, &now, n);
    struct node *it = &next.node[i];
    if (event == START) {
        it->fresh = 0;
        it->started = !(cv_scenario_claims(scenario) & CV_ANY_CALLER) && !all_start();
    } else if (event == REQUEST) {
        it->waiting = 1;
        it->left--;
    } else if (event == LEAVE) {
        it->inside = 0;
    } else if (event == DELIVER) {
        const struct letter *letter = &now.letter[a][i][b];
        message->to = i;
        message->from = a;
        message->kind = letter->kind & 63u;
        message->words = letter->words & CV_MAX_WORDS;
        message->clock = letter->clock & CV_CLOCK_MASK;
        memcpy(message->body, letter->body, letter->words * 4ul);
        memmove(&next.letter[a][i][b], &next.letter[a][i][b + 1], (--next.count[a][i] - b) * sizeof(struct letter));
        it->fresh &= all_start();
        if (letter->clock > it->clock)
            it->clock = letter->clock;
    } else if (event == TIMEOUT) {
        for (cv_node j = 0; j < n; j++)
            for (uint32_t t = 0; t < CV_MAX_TIMERS; t++)
                if (next.node[j].timers[t])
                    next.node[j].timers[t] -= b;
        for (cv_node j = 0; options->delay && j < n; j++)
            for (cv_node k = 0; k < n; k++)
                for (uint32_t m = 0; m < next.count[j][k]; m++)
                    next.letter[j][k][m].clock -= b;
        it->timers[a] = 0;
    } else if (event == TRUST) {
        it->owed_return &= ~(1u << a);
        it->suspects &= ~(1u << a);
    } else if (event == RECOVER) {
        it->alive = 1;
        it->fresh = algorithm->problem != CV_MUTEX;
        next.recoveries--;
        find_again();
        next.missed &= ~(1u << i);
    } else if (it->missed_loss & 1u << a) {
        it->missed_loss &= ~(1u << a);
        it->owed_return |= 1u << a;
        if (group.edges || options->cuts || !now.node[a].alive)
            it->suspects |= 1u << a;
    } else {
        it->suspects |= 1u << a;
        next.suspicions -= !lost(i, a);
    }
    late = options->times && event != REQUEST && it->left && time_of(i, it->left) <= it->clock;
    it->clock = forgets() ? 0 : it->clock > leap ? it->clock : leap;
    it->clock += algorithm->hints.clocked != 0;
    it->clock = it->clock < latest(&now) ? it->clock : latest(&now);
    if (options->times && event == REQUEST)
        it->clock = time_of(i, it->left + 1);
    if (event == REQUEST && options->drop_clocks && algorithm->hints.clocked == CV_CLOCKS_REQUESTS)
        it->asked = (uint32_t)it->clock;
    struct cv_self *me = begin(i);
    if (event == START && algorithm->start)
        algorithm->start(me);
    else if (event == REQUEST)
        algorithm->request(me);
    else if (event == LEAVE)
        algorithm->release(me);
    else if (event == DELIVER)
        algorithm->kinds[message->kind].receive(me, message);
    else if (event == TIMEOUT)
        algorithm->timeout(me, a);
    else if (event == SUSPECT && algorithm->suspect)
        algorithm->suspect(me, a);
    else if (event == TRUST && algorithm->trust)
        algorithm->trust(me, a);
    if (event == RECOVER && algorithm->init)
        algorithm->init(me);
    if (event == RECOVER && algorithm->recover)
        algorithm->recover(me);
    uint32_t sent = 0;
    for (size_t at = 0; at < self.used; sent++)
        at += cv_message_bytes((const void *)(self.outbox + at));
    finish(i, most);
    return sent;
}

/* Takes a step for every choice; and, if nodes may crash, with a crash after each message. */
static void all_choices(enum event event, cv_node i, uint32_t a, uint32_t b)
{
    scripted = 0;
    for (bool more = true; more;) {
        const uint32_t sent = happen(event, i, a, b, UINT32_MAX);
        uint32_t drawn = chosen;
        if (!late)
            meet();
        for (uint32_t k = 1; k < sent && may_kill(event == RECOVER); k++)
            for (uint32_t missed = 0; missed <= (now.misses > 0); missed++) {
                scripted = drawn;
                happen(event, i, a, b, k);
                kill(i, missed);
                meet();
            }
        while (drawn && script[drawn - 1] + 1 == ways[drawn - 1])
            drawn--;
        more = drawn > 0;
        if (more)
            script[drawn - 1]++;
        scripted = drawn;
    }
}

/* The same for every time that the clock may be ahead to, before the node's own next request. */
static void all(enum event event, cv_node i, uint32_t a, uint32_t b)
{
    const uint64_t own = options->times ? time_of(i, now.node[i].left) : 0;
    const uint64_t last = n * scenario->entries * STEP;
    all_choices(event, i, a, b);
    if (!options->times || event == REQUEST || scenario->algorithm->hints.clocked != CV_CLOCKS_REQUESTS)
        return;
    happen(event, i, a, b, UINT32_MAX);
    uint64_t before = next.node[i].clock;
    for (leap = STEP; leap <= last && (!own || leap < own); leap += STEP) {
        happen(event, i, a, b, UINT32_MAX);
        if (next.node[i].clock > before && is_heard(i)) {
            before = next.node[i].clock;
            all_choices(event, i, a, b);
        }
    }
    leap = 0;
}

static bool over(void)
{
    uint32_t busy = 0;
    for (cv_node i = 0; i < n; i++)
        if (now.node[i].alive || now.recoveries)
            busy += now.node[i].left + now.node[i].waiting + now.node[i].inside;
    return scenario->algorithm->hints.perpetual && !busy;
}

/* All events at a node; true if one of them must happen. */
static bool events_at(cv_node i)
{
    const struct node *it = &now.node[i];
    bool must = false;
    if (it->fresh && options->callers & 1u << i) {
        must = all_start();
        all(START, i, 0, 0);
    }
    if (it->inside) {
        must = true;
        all(LEAVE, i, 0, 0);
    } else if (it->left && !it->waiting) {
        all(REQUEST, i, 0, 0);
    }
    for (cv_node j = 0; j < n; j++) {
        for (uint32_t k = 0; k < (scenario->unordered ? now.count[j][i] : now.count[j][i] > 0); k++) {
            must = true;
            /* Messages are sorted; one of several equal messages is enough. */
            if (k == 0 || letter_compare(&now.letter[j][i][k - 1], &now.letter[j][i][k]) != 0)
                all(DELIVER, i, j, k);
        }
        if ((it->owed_return | it->missed_loss) & 1u << j) {
            must = true;
            all(it->owed_return & 1u << j ? TRUST : SUSPECT, i, j, 0);
            continue;
        }
        if (j == i || it->suspects & 1u << j || (!lost(i, j) && !now.suspicions))
            continue;
        must |= lost(i, j) && !need_not_be_told(j);
        all(SUSPECT, i, j, 0);
    }
    for (uint32_t missed = 0; missed <= (now.misses > 0) && may_kill(false); missed++) {
        full_copy(&next, &now, n);
        kill(i, missed);
        meet();
    }
    return must;
}

/* Accurate timers fire only when nothing is under way, in the order in which they are due. */
static bool timers(void)
{
    uint64_t due = 0;
    bool fired = false;
    for (cv_node i = 0; i < n; i++)
        for (cv_node j = 0; j < n; j++) {
            const bool untold =
                now.node[i].alive && ((lost(i, j) && !(now.node[i].suspects & 1u << j) && !need_not_be_told(j)) ||
                                      now.node[i].owed_return || now.node[i].missed_loss);
            const bool fresh = now.node[i].fresh && all_start();
            if (!options->any_time && ((now.count[i][j] && !options->delay) || untold || fresh))
                return false;
        }
    for (cv_node i = 0; i < n; i++)
        for (uint32_t t = 0; t < CV_MAX_TIMERS; t++)
            if (now.node[i].timers[t] && (!due || now.node[i].timers[t] < due))
                due = now.node[i].timers[t];
    for (cv_node i = 0; options->delay && i < n; i++)
        for (cv_node j = 0; j < n; j++)
            for (uint32_t m = 0; m < now.count[i][j]; m++)
                if (now.letter[i][j][m].clock + 1 <= due)
                    return false;
    for (cv_node i = 0; due && i < n; i++)
        for (uint32_t t = 0; t < CV_MAX_TIMERS; t++)
            if (now.node[i].timers[t] == due) {
                fired = true;
                all(TIMEOUT, i, t, (uint32_t)due - 1);
            }
    return fired;
}

static void start(void)
{
    const struct cv_algorithm *algorithm = scenario->algorithm;
    const bool mutex = algorithm->problem == CV_MUTEX;
    memset(&next, 0, sizeof next);
    next.crashes = options->crashes;
    next.misses = options->missed;
    next.suspicions = options->suspicions;
    next.recoveries = options->recoveries;
    next.cuts = options->cuts;
    next.highest = options->inside && cv_scenario_claims(scenario) & CV_FENCES_RISE;
    for (cv_node i = 0; i < n; i++)
        next.node[i] = (struct node){.alive = 1,
                                     .fresh = !mutex,
                                     .left = mutex && options->callers & 1u << i ? (uint32_t)scenario->entries : 0,
                                     .clock = scenario->clocks ? scenario->clocks[i] : 0};
    next.node[0].inside = options->inside;
    for (cv_node i = 0; i < n; i++) {
        struct cv_self *me = begin(i);
        if (algorithm->init)
            algorithm->init(me);
        if (mutex && algorithm->adopt)
            algorithm->adopt(me, options->inside ? 0 : CV_NOBODY, options->inside);
        if (mutex && algorithm->start)
            algorithm->start(me);
        finish(i, UINT32_MAX);
    }
    meet();
    result->transitions = 0;
}

static void look_at_end(void)
{
    result->ends++;
    result->wrong |= all_start() && !is_right(scenario, &now);
    for (cv_node i = 0; i < n; i++)
        for (cv_node j = 0; j < n; j++) {
            const struct node *one = &now.node[i], *other = &now.node[j];
            result->stuck |= one->waiting;
            if (!one->alive || lost(i, j) || all_start())
                continue;
            result->stuck |= one->knows && other->knows && one->leader != other->leader;
            result->stuck |= one->knows && !other->knows;
        }
}

void naive_run(const struct cv_scenario *what, const struct naive_options *how, struct naive_result *out)
{
    scenario = what;
    options = how;
    result = out;
    *result = (struct naive_result){0};
    group = scenario->group;
    group.absence = options->crashes || options->suspicions || options->cuts;
    group.epoch += options->inside;
    n = group.nodes;
    if (n > N)
        abort();
    start();
    for (uint64_t at = 0, level = 1; at < list_count && (!options->most || result->states < options->most); at++) {
        if (at == level) {
            level = list_count;
            result->depth++;
        }
        full_unpack(scenario, &now, list[at]);
        result->apart |= scenario->app && are_apart(scenario, &now);
        result->late |= scenario->app && is_late(scenario, &now);
        bool must = false;
        for (cv_node i = 0; i < n && !over(); i++)
            if (now.node[i].alive)
                must |= events_at(i);
            else if (now.recoveries)
                all(RECOVER, i, 0, 0);
        for (cv_node i = 0; i < n && !over(); i++)
            for (cv_node j = i + 1; j < n; j++)
                if (now.cut[i] & 1u << j || (now.cuts && now.node[i].alive && now.node[j].alive && are_linked(i, j))) {
                    link_changes(i, j);
                    meet();
                }
        if (!over())
            must |= timers();
        if (!must)
            look_at_end();
    }
    for (uint64_t i = 0; i < list_count; i++)
        free(list[i]);
    free(list);
    free(set);
    list = set = NULL;
    set_room = list_room = list_count = 0;
}
