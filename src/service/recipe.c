// SPDX-License-Identifier: MIT
#include "service/recipe.h"

#include <stdio.h>
#include <stdlib.h>

#include "live/net/stream.h"
#include "service/access.h"
#include "service/barrier.h"
#include "service/latch.h"
#include "service/members.h"
#include "service/once.h"
#include "service/replica_table.h"
#include "service/words.h"

#define UNDER_WAY 16u                   /* orders of one node for one name that are not answered yet */
#define ROOM_FOR_RESULTS ((size_t)4096) /* of a state, for orders that add nothing else */
#define APART "LOST the group may have gone on without this node: nobody knows whether they have met"

const struct recipe_kind *const recipe_kinds[RECIPES] = {[RECIPE_LATCH] = &latch_kind,
                                                         [RECIPE_ONCE] = &once_kind,
                                                         [RECIPE_BARRIER] = &barrier_kind,
                                                         [RECIPE_MEMBERS] = &members_kind};

static const struct recipe_kind *kind_of(const struct replica *replica)
{
    return recipe_kinds[replica->recipe];
}

/* ---- at the primary ---- */

bool recipe_has_room(const struct recipe_turn *turn)
{
    struct cv_buffer bytes = {0};
    const bool good = recipe_state_write(turn->state, &bytes);
    free(bytes.bytes);
    return good && bytes.length + RECIPE_ROOM + ROOM_FOR_RESULTS <= RECIPE_BYTES;
}

struct recipe_entry recipe_entry_of(const struct recipe_turn *turn, enum recipe_role role)
{
    return (struct recipe_entry){.role = role,
                                 .node = turn->node,
                                 .process = turn->process,
                                 .session = turn->ask->session,
                                 .ticket = turn->ask->ticket,
                                 .number = turn->number};
}

/* Forgets results that the node has got; finds the result of this order. */
static struct recipe_entry *find_result(const struct recipe_turn *turn)
{
    struct recipe_state *state = turn->state;
    struct recipe_entry *found = NULL;
    for (uint32_t i = 0; i < state->count;) {
        struct recipe_entry *entry = &state->entries[i];
        const bool its = entry->role == ROLE_APPLIED && entry->node == turn->node && entry->process == turn->process;
        if (its && entry->ticket < turn->ask->answered) {
            recipe_state_remove(state, i);
            continue;
        }
        if (its && entry->ticket == turn->ask->ticket)
            found = entry;
        i++;
    }
    return found;
}

/* What belonged to the client may have been dropped since, because its node was away. */
static bool still_stands(const struct replica *replica, const struct recipe_turn *turn)
{
    const enum recipe_role role = kind_of(replica)->belongs;
    return turn->ask->verb != VERB_OWN || role == ROLE_NONE ||
           recipe_state_find(turn->state, role, turn->node, turn->process, turn->ask->session);
}

int64_t recipe_apply(struct replica *replica, struct recipe_turn *turn)
{
    struct recipe_state *state = turn->state;
    struct recipe_entry *applied = find_result(turn);
    if (turn->ask->verb == VERB_READ)
        return 0;
    if (applied && still_stands(replica, turn))
        return (int64_t)applied->number;
    if (applied)
        recipe_state_remove(state, (uint32_t)(applied - state->entries));
    if (!recipe_state_reserve(state, 2))
        return RESULT_NO_MEMORY;
    const int64_t result = kind_of(replica)->apply(turn);
    if (turn->changed) {
        struct recipe_entry entry = recipe_entry_of(turn, ROLE_APPLIED);
        entry.number = (uint64_t)result;
        recipe_state_add(state, &entry);
    }
    return result;
}

/* ---- orders ---- */

static void append(struct recipe_order *order)
{
    struct replica *replica = order->replica;
    order->ask.ticket = ++replica->service->tickets;
    order->sent = order->answered = false;
    order->next = NULL;
    order->previous = replica->last_order;
    *(order->previous ? &order->previous->next : &replica->orders) = order;
    replica->last_order = order;
}

static void take_out(struct recipe_order *order)
{
    struct replica *replica = order->replica;
    *(order->previous ? &order->previous->next : &replica->orders) = order->next;
    *(order->next ? &order->next->previous : &replica->last_order) = order->previous;
}

static void free_order(struct recipe_order *order)
{
    cv_drop_text(&order->ask.client);
    cv_drop_text(&order->ask.value);
    free(order);
}

struct recipe_order *recipe_begin(struct session *session, enum recipe recipe, struct cv_text name, uint32_t verb,
                                  enum cv_right right)
{
    struct cv_service *service = session->service;
    if (!word_is_name(session, name) || (session->acl && !access_allowed(session, right, name)))
        return NULL;
    if (cv_member_is_hopeless(service->member, false)) {
        cv_resp_error(&session->out, NO_QUORUM);
        return NULL;
    }
    if (cv_host_ready(service->host) && !cv_view_has_fences(&service->host->view)) {
        cv_resp_error(&session->out, NO_FENCES);
        return NULL;
    }
    if (recipe_kinds[recipe]->lasts && service->host->roster->mode == CV_MODE_TIE) {
        cv_resp_error(&session->out, "NODISK two nodes with a tie-breaker cannot remember it: expected group raft");
        return NULL;
    }
    struct replica *replica = replica_open(service, recipe, name);
    struct recipe_order *order = replica ? calloc(1, sizeof *order) : NULL;
    if (!order) {
        cv_resp_error(&session->out, "BUSY too many names");
        return NULL;
    }
    order->replica = replica;
    order->session = session;
    order->ask.session = session->number;
    order->ask.verb = verb;
    order->ask.client = cv_share_text(session->name);
    return order;
}

void recipe_abandon(struct recipe_order *order, const char *error)
{
    cv_resp_error(&order->session->out, "%s", error);
    free_order(order);
}

void recipe_send(struct recipe_order *order, uint64_t wait_ms)
{
    struct session *session = order->session;
    struct cv_service *service = session->service;
    struct replica *replica = order->replica;
    session->order = order;
    append(order);
    if (wait_ms != UINT64_MAX)
        cv_alarm_set(service->alarms, &session->wait.alarm, service->host->calls.now() + wait_ms * 1000);
    recipe_pump(replica);
}

bool recipe_read_wait(struct session *session, const struct cv_resp_command *command, uint32_t first, uint64_t *wait_ms)
{
    *wait_ms = UINT64_MAX;
    if (command->count == first)
        return true;
    if (command->count == first + 2 && cv_resp_is(command->word[first], "WAIT"))
        return word_is_number(session, "WAIT", command->word[first + 1], wait_ms);
    cv_resp_error(&session->out, "ERR '%s': expected WAIT ms, and nothing else",
                  cv_brief_text(command->word[first]).text);
    return false;
}

/* The client does not wait any more. */
static void let_go(struct recipe_order *order)
{
    struct session *session = order->session;
    cv_alarm_cancel(session->service->alarms, &session->wait.alarm);
    session->order = NULL;
    order->session = NULL;
    cv_stream_mark(&session->stream);
}

void recipe_end(struct recipe_order *order)
{
    if (order->session)
        let_go(order);
    take_out(order);
    free_order(order);
}

void recipe_tell(struct recipe_order *order, int64_t result)
{
    struct cv_resp_writer *out = &order->session->out;
    if (result >= 0)
        cv_resp_integer(out, result);
    else if (result == RESULT_NIL)
        cv_resp_nil(out);
    else if (result == RESULT_FULL)
        cv_resp_error(out, "BUSY as many clients as there is room for have this name, expected no more");
    else if (result == RESULT_NO_MEMORY)
        cv_resp_error(out, OUT_OF_MEMORY);
    else if (result == RESULT_NO_LATCH)
        cv_resp_error(out, "NOLATCH there is no latch of this name: expected LATCH name SET count before");
    else if (result == RESULT_INSIDE)
        cv_resp_error(out, "INSIDE this connection is inside already: expected BARRIER name LEAVE");
    else if (result == RESULT_OUTSIDE)
        cv_resp_error(out, "OUTSIDE this connection is not inside: expected BARRIER name parties ENTER before");
    else
        cv_resp_error(out, "PARTIES expected %lld, as other clients say", (long long)(RESULT_PARTIES - result));
    recipe_end(order);
}

void recipe_refuse(struct recipe_order *order, const char *why)
{
    cv_resp_error(&order->session->out, "%s", why);
    if (!order->sent || order->answered) {
        recipe_end(order);
        return;
    }
    let_go(order); /* it may be carried out; then what it made is dropped */
}

void recipe_turn_into(struct recipe_order *order, uint32_t verb)
{
    struct replica *replica = order->replica;
    take_out(order);
    order->ask.target = order->ask.ticket;
    order->ask.verb = verb;
    append(order);
    recipe_pump(replica);
}

void recipe_give(struct replica *replica, const struct replica_ask *ask)
{
    struct recipe_order *order = calloc(1, sizeof *order);
    if (!order)
        return; /* the next view tries again */
    order->replica = replica;
    order->ask = *ask;
    order->ask.client = cv_share_text(ask->client);
    order->ask.value = cv_share_text(ask->value);
    append(order);
    recipe_pump(replica);
}

/* Answers come in the order of tickets, so those that have none yet are the last ones. */
static struct recipe_order *first_unanswered(const struct replica *replica)
{
    struct recipe_order *order = replica->last_order;
    while (order && !order->answered && order->previous && !order->previous->answered)
        order = order->previous;
    return order && !order->answered ? order : NULL;
}

static struct recipe_order *next_to_send(const struct replica *replica)
{
    struct recipe_order *order = first_unanswered(replica);
    for (uint32_t sent = 0; order && order->sent; order = order->next)
        if (++sent == UNDER_WAY)
            return NULL;
    return order;
}

void recipe_pump(struct replica *replica)
{
    for (struct recipe_order *order; (order = next_to_send(replica));) {
        order->ask.answered = first_unanswered(replica)->ask.ticket;
        const bool before = order->asked;
        order->asked = order->sent = true; /* it may be answered before the call returns */
        if (!replica_order(replica, &order->ask)) {
            order->asked = before;
            order->sent = false;
            return;
        }
    }
}

static void drop_ghosts(struct replica *replica);

/*
 * What a session would lose with the lease is not given to it when the lease is over: others may have got it meanwhile.
 * If the lease comes back in this view they have not. In the next view the order is asked for again.
 */
static bool is_too_late(const struct recipe_order *order, int64_t result)
{
    const struct replica *replica = order->replica;
    return kind_of(replica)->belongs == ROLE_RUNS && order->ask.verb == VERB_OWN && order->session && result > 0 &&
           !cv_member_serves(replica->service->member);
}

void recipe_answered(struct replica *replica, uint64_t ticket, int64_t result)
{
    struct recipe_order *order = replica->last_order;
    while (order && order->ask.ticket != ticket)
        order = order->previous;
    if (!order || order->answered)
        return;
    if (is_too_late(order, result)) {
        order->late = true;
        order->result = result;
        return;
    }
    order->answered = true;
    if (order->session) {
        kind_of(replica)->answered(order, result);
    } else {
        recipe_end(order);
        drop_ghosts(replica);
    }
    recipe_pump(replica);
}

/* ---- ties ---- */

bool recipe_tie(struct replica *replica, struct session *session, enum recipe_role role, uint64_t number)
{
    struct recipe_tie *tie = calloc(1, sizeof *tie);
    if (!tie)
        return false;
    *tie = (struct recipe_tie){.next = replica->ties,
                               .more = session->ties,
                               .replica = replica,
                               .session = session,
                               .role = role,
                               .number = number};
    if (tie->next)
        tie->next->previous = tie;
    replica->ties = session->ties = tie;
    session->observing += role == ROLE_NONE;
    session->service->observing += role == ROLE_NONE;
    session->tied++;
    return true;
}

struct recipe_tie *recipe_find_tie(const struct replica *replica, const struct session *session, enum recipe_role role)
{
    struct recipe_tie *tie = session->ties;
    while (tie && (tie->replica != replica || tie->role != role))
        tie = tie->more;
    return tie;
}

void recipe_untie(struct recipe_tie *tie)
{
    struct session *session = tie->session;
    struct recipe_tie **at = &session->ties;
    while (*at != tie)
        at = &(*at)->more;
    *at = tie->more;
    *(tie->previous ? &tie->previous->next : &tie->replica->ties) = tie->next;
    if (tie->next)
        tie->next->previous = tie->previous;
    session->observing -= tie->role == ROLE_NONE;
    session->service->observing -= tie->role == ROLE_NONE;
    session->tied--;
    cv_drop_text(&tie->client);
    cv_drop_text(&tie->value);
    free(tie);
}

void recipe_lose(struct recipe_tie *tie)
{
    struct session *session = tie->session;
    const struct cv_text name = replica_name(tie->replica);
    if (session->stream.closing) {
        recipe_untie(tie);
        return;
    }
    if (session->out.protocol < 3) {
        cv_stream_close(&session->stream); /* RESP2 has no other way to tell it */
    } else {
        cv_resp_push(&session->out, 3);
        cv_resp_word(&session->out, "lost");
        cv_resp_bulk(&session->out, name);
        cv_resp_integer(&session->out, (int64_t)tie->number);
        cv_stream_mark(&session->stream);
    }
    recipe_untie(tie);
}

/* ---- what sessions have, and what the state says ---- */

static bool is_tied(const struct replica *replica, const struct recipe_entry *entry)
{
    for (const struct recipe_tie *tie = replica->ties; tie; tie = tie->next)
        if (tie->session->number == entry->session && !tie->session->stream.closing &&
            (tie->role == entry->role || (tie->role == ROLE_INSIDE && entry->role == ROLE_LEAVING)))
            return true;
    return false;
}

/* Does an order make the entry, wait for it or drop it? Or does its session, which gave up, ask to be a member anew? */
static bool is_ordered(const struct replica *replica, const struct recipe_entry *entry)
{
    for (const struct recipe_order *order = replica->orders; entry->ticket && order; order = order->next)
        if (order->ask.ticket == entry->ticket || order->ask.target == entry->ticket ||
            (entry->role == ROLE_MEMBER && order->session && order->ask.verb == VERB_OWN &&
             order->ask.session == entry->session))
            return true;
    return false;
}

static bool is_mine(const struct replica *replica, const struct recipe_entry *entry)
{
    const struct cv_service *service = replica->service;
    return entry->role != ROLE_APPLIED && entry->role != ROLE_PASSED &&
           entry->node == service->host->roster->ids[service->host->roster->me] &&
           entry->process == service->replicas.process;
}

/* What the state says of sessions that are gone, or that gave up, is dropped. */
static void drop_ghosts(struct replica *replica)
{
    const struct recipe_state *state = &replica->state;
    for (uint32_t i = 0; i < state->count; i++) {
        const struct recipe_entry entry = state->entries[i];
        if (is_mine(replica, &entry) && !is_tied(replica, &entry) && !is_ordered(replica, &entry))
            recipe_give(replica,
                        &(struct replica_ask){.verb = VERB_DROP, .session = entry.session, .target = entry.ticket});
    }
}

static bool has_entry(const struct replica *replica, const struct recipe_tie *tie)
{
    const struct cv_service *service = replica->service;
    const cv_id me = service->host->roster->ids[service->host->roster->me];
    const uint64_t process = service->replicas.process, session = tie->session->number;
    return recipe_state_find(&replica->state, tie->role, me, process, session) ||
           (tie->role == ROLE_INSIDE && recipe_state_find(&replica->state, ROLE_LEAVING, me, process, session));
}

/* What sessions have, and the state does not say any more, is lost. A member joins again, under its number. */
static void find_losses(struct replica *replica)
{
    for (struct recipe_tie *tie = replica->ties, *next; tie; tie = next) {
        next = tie->next;
        if (tie->role == ROLE_NONE || has_entry(replica, tie))
            continue;
        if (tie->role != ROLE_MEMBER)
            recipe_lose(tie);
        else if (!tie->session->order || tie->session->order->replica != replica)
            recipe_give(replica, &(struct replica_ask){.verb = VERB_OWN,
                                                       .session = tie->session->number,
                                                       .number = tie->number,
                                                       .client = tie->client,
                                                       .value = tie->value});
    }
}

/* Who has passed a barrier will be told when the group has this state, or a later one. */
void recipe_noted(struct replica *replica)
{
    const struct cv_service *service = replica->service;
    const cv_id me = service->host->roster->ids[service->host->roster->me];
    for (uint32_t i = 0; i < replica->state.count; i++) {
        const struct recipe_entry *entry = &replica->state.entries[i];
        if ((entry->role != ROLE_PASSED && entry->role != ROLE_INSIDE) || !entry->ticket || entry->node != me ||
            entry->process != service->replicas.process)
            continue;
        for (struct recipe_order *order = replica->orders; order; order = order->next)
            if (order->ask.ticket == entry->ticket || order->ask.target == entry->ticket)
                order->meeting = entry->number;
    }
}

void recipe_kept(struct replica *replica)
{
    if (kind_of(replica)->kept)
        kind_of(replica)->kept(replica);
    if (replica->stale) {
        replica->stale = false;
        drop_ghosts(replica);
        find_losses(replica);
    }
}

/* An order that is told may end others: they are sought from the first one on. */
void recipe_leased(struct replica *replica)
{
    if (!kind_of(replica)->leased || !cv_member_serves(replica->service->member))
        return;
    for (struct recipe_order *order = replica->orders; order;) {
        const bool late = order->late;
        order->late = false;
        if (late)
            kind_of(replica)->leased(order);
        order = late ? replica->orders : order->next;
    }
}

void recipe_resume(struct replica *replica, bool apart)
{
    replica->stale = true;
    for (struct recipe_order *order = replica->orders, *next; order; order = next) {
        next = order->next;
        order->late = false;
        if (apart && replica->recipe == RECIPE_BARRIER && order->session && order->asked) {
            order->answered = true;
            recipe_refuse(order, APART);
        } else if (!order->answered) {
            order->sent = false;
        }
    }
}

bool recipe_is_idle(const struct replica *replica)
{
    return !replica->orders && !replica->ties;
}

/* ---- the service ---- */

void recipe_drop(struct session *session)
{
    struct recipe_order *order = session->order;
    struct replica *replica = order ? order->replica : NULL;
    if (order && order->sent && !order->answered)
        let_go(order);
    else if (order)
        recipe_end(order);
    if (replica)
        drop_ghosts(replica);
    while (session->ties) {
        replica = session->ties->replica;
        recipe_untie(session->ties);
        drop_ghosts(replica);
    }
}

/* An order that is under way has to be answered first: it may have done its work, in this view or in the last one. */
void recipe_timed_out(struct session *session)
{
    struct recipe_order *order = session->order;
    if (order->answered)
        kind_of(order->replica)->overdue(order);
    else if (order->sent || (order->asked && order->ask.verb != VERB_READ))
        order->overdue = true;
    else
        recipe_tell(order, RESULT_NIL);
}

static void each(struct cv_service *service, void (*run)(struct replica *replica, const char *why), const char *why)
{
    const struct replicas *all = &service->replicas;
    for (size_t i = 0; i < all->size; i++)
        for (struct replica *it = all->table[i]; it; it = it->chain)
            run(it, why);
}

/* Other members may give the run to somebody else now, and let others leave. */
static void lose_lease(struct replica *replica, const char *why)
{
    (void)why;
    for (struct recipe_tie *tie = replica->ties, *next; tie; tie = next) {
        next = tie->next;
        if (tie->role == ROLE_RUNS || tie->role == ROLE_INSIDE)
            recipe_lose(tie);
    }
    drop_ghosts(replica);
}

void recipe_lease_lost(struct cv_service *service)
{
    service->replicas.lapsed = true;
    each(service, lose_lease, NULL);
}

static void refuse_orders(struct replica *replica, const char *why)
{
    for (struct recipe_order *order = replica->orders, *next; order; order = next) {
        next = order->next;
        if (order->session)
            recipe_refuse(order, why);
    }
    drop_ghosts(replica);
}

void recipe_refuse_all(struct cv_service *service, const char *why)
{
    each(service, refuse_orders, why);
}

void recipe_reconsider(struct session *session)
{
    struct recipe_order *order = session->order;
    if (!order || access_allowed(session, order->ask.verb == VERB_READ ? CV_MAY_OBSERVE : CV_MAY_LOCK,
                                 replica_name(order->replica)))
        return;
    struct replica *replica = order->replica;
    if (order->sent && !order->answered)
        let_go(order);
    else
        recipe_end(order);
    drop_ghosts(replica);
}
