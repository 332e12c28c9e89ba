// SPDX-License-Identifier: MIT
#include "service/replica.h"

#include <stdlib.h>

#include "core/wall_clock.h"
#include "service/recipe.h"
#include "service/replica_file.h"
#include "service/replica_table.h"
#include "service/service.h"

#define FORGET_MS 10000u /* an empty state is not forgotten earlier: an order may be asked for again */

/* ---- who is who ---- */

static cv_set members_of(const struct cv_service *service)
{
    return service->host->view.members;
}

/* The same member at all nodes, and another one for other names. */
static cv_node primary_of(const struct replica *replica)
{
    const cv_set members = members_of(replica->service);
    cv_node node = 0;
    for (uint64_t skip = replica->key[0] % cv_set_count(members);; node++)
        if (cv_set_has(members, node) && !skip--)
            return node;
}

static bool is_primary(const struct replica *replica)
{
    return replica->service->host->view.epoch && primary_of(replica) == replica->service->host->roster->me;
}

bool replicas_outlast(const struct cv_service *service, enum recipe recipe)
{
    return recipe_kinds[recipe]->lasts && service->replicas.files.directory >= 0;
}

static void tell(const struct replica *replica, cv_node to, struct peer_notice notice, uint32_t verb)
{
    notice.subject = CV_SUBJECT_LOCK;
    notice.name = replica_name(replica);
    notice.recipe = (uint64_t)replica->recipe << REPLICA_VERB_BITS | verb;
    peer_notice_send(replica->service, to, &notice);
}

static void tell_copy(const struct replica *replica, cv_node to, enum replica_copy copy)
{
    tell(replica, to, (struct peer_notice){.kind = PEER_NOTICE_COPY, .fence = replica->version}, copy);
}

/* Has this node the state as safely as the recipe wants it? */
static bool is_safe_here(const struct replica *replica)
{
    return !replicas_outlast(replica->service, replica->recipe) || replica->on_disk == replica->version;
}

static void no_memory(const struct replica *replica)
{
    replica_no_memory(replica->service);
}

/* ---- storing ---- */

static void send_state(const struct replica *replica, cv_node to)
{
    struct cv_buffer bytes = {0};
    if (!recipe_state_write(&replica->state, &bytes))
        no_memory(replica);
    else
        tell(replica, to,
             (struct peer_notice){.kind = PEER_NOTICE_STATE,
                                  .fence = replica->version,
                                  .shared = is_safe_here(replica),
                                  .page = {(const char *)bytes.bytes, bytes.length}},
             0);
    free(bytes.bytes);
}

/* Writes the file, if there is one. */
static void store(struct replica *replica)
{
    replica->changed_ms = cv_loop_coarse_ms(replica->service->loop);
    recipe_noted(replica);
    if (replicas_outlast(replica->service, replica->recipe) && !replica_file_write(replica))
        no_memory(replica);
}

/*
 * All members have to know who has met. The next state does not tell it again; and a majority that knows it in memory
 * alone may start anew, while a node that does not know of it keeps a client that waits for that meeting.
 */
static bool is_enough(const struct replica *replica)
{
    const struct cv_member *member = replica->service->member;
    const bool all = !(members_of(replica->service) & ~replica->holders);
    if (!cv_member_agrees(member) || recipe_state_count(&replica->state, ROLE_PASSED) ||
        recipe_state_count(&replica->state, ROLE_INSIDE))
        return all;
    return cv_member_is_enough(member, replica->holders);
}

static void write_state(struct replica *replica, uint64_t version)
{
    replica->version = version;
    replica->writing = true;
    replica->holders = 0;
    store(replica);
    if (is_safe_here(replica))
        replica->holders = cv_set_of(replica->service->host->roster->me);
    send_state(replica, CV_NOBODY);
}

static void tell_done(struct replica *replica, cv_node to, uint64_t ticket, int64_t result)
{
    if (to == replica->service->host->roster->me)
        recipe_answered(replica, ticket, result);
    else
        tell(replica, to,
             (struct peer_notice){
                 .kind = PEER_NOTICE_DONE, .fence = replica->version, .ticket = ticket, .result = (uint64_t)result},
             0);
}

static void answer(struct replica *replica)
{
    while (replica->done) {
        struct replica_ask *ask = replica->done;
        replica->done = ask->next;
        if (!replica->done)
            replica->last_done = &replica->done;
        tell_done(replica, ask->from, ask->ticket, ask->result);
        free(ask);
    }
}

/* ---- carrying out ---- */

/* A number that the view has not given for this name; 0: there is none left, and a new view is asked for. */
static uint64_t next_number(const struct replica *replica)
{
    const struct cv_algorithm_host *host = replica->service->host;
    if (2 * replica->place >= cv_view_places(&host->view))
        service_renew_view(replica->service);
    if (replica->place + 2 >= cv_view_places(&host->view) || !cv_view_has_fences(&host->view))
        return 0;
    return cv_view_fence(&host->view, replica->place + 1, host->roster->me);
}

static void carry_out(struct replica *replica, struct replica_ask *ask, uint64_t number, uint64_t *version)
{
    const struct cv_service *service = replica->service;
    struct recipe_turn turn = {.state = &replica->state,
                               .ask = ask,
                               .node = service->host->roster->ids[ask->from],
                               .process = service->replicas.processes[ask->from],
                               .number = number};
    ask->result = recipe_apply(replica, &turn);
    if (turn.changed) {
        replica->place++;
        *version = number;
    }
    replica_free_ask(ask);
    *replica->last_done = ask;
    ask->next = NULL;
    replica->last_done = &ask->next;
}

/* Carries out what has come, until some have passed a barrier: everybody has to know that first. */
static void carry_out_some(struct replica *replica)
{
    struct recipe_state *state = &replica->state;
    uint64_t version = 0;
    for (uint32_t i = state->count; i-- > 0;)
        if (state->entries[i].role == ROLE_PASSED)
            recipe_state_remove(state, i);
    while (replica->asks && !recipe_state_count(state, ROLE_PASSED)) {
        const uint64_t number = next_number(replica);
        struct replica_ask *ask = replica->asks;
        if (!number)
            break;
        replica->asks = ask->next;
        if (!replica->asks)
            replica->last_ask = &replica->asks;
        carry_out(replica, ask, number, &version);
    }
    if (version)
        write_state(replica, version);
    else
        answer(replica);
}

static void tell_all(struct cv_service *service, uint32_t verb)
{
    peer_notice_send(service, CV_NOBODY,
                     &(struct peer_notice){.kind = PEER_NOTICE_COPY,
                                           .subject = CV_SUBJECT_LOCK,
                                           .name = cv_text("*"),
                                           .recipe = verb,
                                           .entry = service->replicas.process});
}

/* One state less is unsafe. After the last one everybody is told. */
static void count_safe(struct cv_service *service)
{
    struct replicas *all = &service->replicas;
    if (--all->unsafe)
        return;
    all->settled |= cv_set_of(service->host->roster->me);
    tell_all(service, REPLICA_SETTLED);
}

bool replicas_settled(const void *context)
{
    const struct cv_service *service = context;
    const struct replicas *all = &service->replicas;
    return all->epoch == service->host->view.epoch && !(members_of(service) & ~all->settled);
}

static void advance(struct replica *replica)
{
    if (replica->busy || !is_primary(replica))
        return;
    replica->busy = true;
    for (;;) {
        if (replica->writing && is_enough(replica)) {
            replica->writing = false;
            if (replica->unsafe)
                count_safe(replica->service);
            replica->unsafe = false;
            tell_copy(replica, CV_NOBODY, REPLICA_KEPT);
            recipe_kept(replica);
            answer(replica);
        }
        const bool serves = cv_member_serves(replica->service->member);
        if (!replica->settled || replica->writing || !replica->asks || !serves)
            break;
        const struct replica_ask *first = replica->asks;
        carry_out_some(replica);
        if (replica->asks == first)
            break; /* there are no numbers left in this view */
    }
    replica->busy = false;
}

/* ---- a view begins ---- */

static cv_node node_of(const struct cv_roster *roster, cv_id id)
{
    cv_node node = 0;
    while (node < roster->count && roster->ids[node] != id)
        node++;
    return node;
}

/* Is it an entry of a client that is gone with its node? Results of orders stay until the node starts anew. */
static bool is_gone(const struct cv_service *service, const struct recipe_entry *entry)
{
    const struct cv_roster *roster = service->host->roster;
    const cv_node node = node_of(roster, entry->node);
    if (node == roster->count)
        return true;
    if (!cv_set_has(members_of(service), node))
        return entry->role != ROLE_APPLIED && entry->role != ROLE_PASSED;
    return service->replicas.processes[node] != entry->process;
}

static bool drop_gone(struct replica *replica)
{
    bool dropped = false;
    for (uint32_t i = replica->state.count; i-- > 0;)
        if (is_gone(replica->service, &replica->state.entries[i])) {
            recipe_state_remove(&replica->state, i);
            dropped = true;
        }
    return dropped;
}

/* An older state that is not empty may come back with a member that is not here. */
static bool is_forgettable(const struct replica *replica)
{
    const struct cv_service *service = replica->service;
    const struct cv_roster *roster = service->host->roster;
    for (cv_node node = 0; node < roster->count; node++)
        if (roster->ids[node] != CV_NO_ID && !cv_set_has(members_of(service), node))
            return false;
    return recipe_state_is_empty(&replica->state) && !replica->asks && recipe_is_idle(replica) &&
           cv_loop_coarse_ms(service->loop) - replica->changed_ms >= FORGET_MS;
}

/* All members have told what they have. True: there is nothing to remember, and the replica is gone. */
static bool settle(struct replica *replica)
{
    if (replica->settled || !is_primary(replica))
        return false;
    const bool dropped = drop_gone(replica);
    const bool everywhere = !(members_of(replica->service) & ~replica->holders);
    const uint64_t number = next_number(replica);
    replica->settled = number; /* without numbers, in the next view */
    if (!number) {
        replica->service->replicas.unsafe += replica->version != 0;
        return false;
    }
    if (!replica->version) {
        recipe_kept(replica);
    } else if (dropped || !everywhere) {
        if (dropped && recipe_kinds[replica->recipe]->left)
            recipe_kinds[replica->recipe]->left(&replica->state, number);
        replica->place++;
        replica->unsafe = true;
        replica->service->replicas.unsafe++;
        write_state(replica, number);
    } else if (is_forgettable(replica)) {
        tell_copy(replica, CV_NOBODY, REPLICA_FORGOTTEN);
        replica_discard(replica);
        return true;
    } else {
        tell_copy(replica, CV_NOBODY, REPLICA_KEPT);
        recipe_kept(replica);
    }
    advance(replica);
    return false;
}

static void settle_all(struct cv_service *service)
{
    struct replicas *all = &service->replicas;
    if (all->gathered || all->epoch != service->host->view.epoch || members_of(service) & ~all->told)
        return;
    all->gathered = true;
    for (size_t i = 0; i < all->size; i++)
        for (struct replica *it = all->table[i], *next; it; it = next) {
            next = it->chain;
            settle(it);
        }
    count_safe(service);
}

/*
 * The state stays even if others may have gone on without this node. It may be the only one with the last state: every
 * node whose lease ran out would forget it, and one that never had it would bring back an older one.
 */
static void begin_view(struct replica *replica, bool apart)
{
    struct cv_service *service = replica->service;
    replica_drop_asks(replica);
    replica->settled = replica->writing = replica->unsafe = false;
    replica->place = 0;
    replica->holders = is_safe_here(replica) ? cv_set_of(service->host->roster->me) : 0;
    recipe_resume(replica, apart);
    if (replica->version && !is_primary(replica))
        send_state(replica, primary_of(replica));
}

/* Messages of a view may come before the service hears that it has begun. */
static void look(struct cv_service *service)
{
    struct replicas *all = &service->replicas;
    const cv_node me = service->host->roster->me;
    if (!cv_host_ready(service->host) || all->epoch == service->host->view.epoch)
        return;
    all->epoch = service->host->view.epoch;
    all->told = cv_set_of(me);
    all->settled = 0;
    all->gathered = false;
    all->unsafe = 1;
    while (!all->process)
        all->process = cv_random_next(&service->host->random) >> 32;
    all->processes[me] = all->process;
    for (size_t i = 0; i < all->size; i++)
        for (struct replica *it = all->table[i], *next; it; it = next) {
            next = it->chain;
            begin_view(it, all->lapsed);
            if (!it->version && recipe_is_idle(it))
                replica_discard(it); /* somebody has only asked whether there is anything */
        }
    all->lapsed = false;
    replicas_expect_crowd(service);
    tell_all(service, REPLICA_TOLD);
    settle_all(service);
}

void replicas_resume(struct cv_service *service)
{
    struct replicas *all = &service->replicas;
    look(service);
    if (all->epoch != service->host->view.epoch)
        return;
    for (size_t i = 0; i < all->size; i++)
        for (struct replica *it = all->table[i]; it; it = it->chain) {
            advance(it);
            recipe_leased(it);
            recipe_pump(it);
        }
}

/* ---- orders ---- */

static void queue(struct replica *replica, const struct replica_ask *ask)
{
    struct replica_ask *queued = malloc(sizeof *queued);
    if (!queued) {
        tell_done(replica, ask->from, ask->ticket, RESULT_NO_MEMORY);
        return;
    }
    *queued = *ask;
    queued->next = NULL;
    queued->client = cv_share_text(ask->client);
    queued->value = cv_share_text(ask->value);
    *replica->last_ask = queued;
    replica->last_ask = &queued->next;
    if (members_of(replica->service) == replica->service->replicas.told)
        settle(replica); /* the name is new in this view */
    advance(replica);
}

bool replica_order(struct replica *replica, const struct replica_ask *ask)
{
    struct cv_service *service = replica->service;
    if (!cv_member_serves(service->member))
        return false;
    look(service);
    if (is_primary(replica)) {
        struct replica_ask own = *ask;
        own.from = service->host->roster->me;
        queue(replica, &own);
        return true;
    }
    tell(replica, primary_of(replica),
         (struct peer_notice){.kind = PEER_NOTICE_ASK,
                              .session = ask->session,
                              .ticket = ask->ticket,
                              .cursor = ask->answered,
                              .amount = ask->amount,
                              .fence = ask->number,
                              .ttl_ms = ask->time_ms,
                              .entry = ask->target,
                              .client = cv_kept(ask->client),
                              .value = cv_kept(ask->value)},
         ask->verb);
    return true;
}

/* ---- what others say ---- */

static bool read_recipe(struct cv_service *service, const struct peer_notice *notice, enum recipe *recipe,
                        uint32_t *verb)
{
    *recipe = (enum recipe)(notice->recipe >> REPLICA_VERB_BITS);
    *verb = (uint32_t)notice->recipe & ((1u << REPLICA_VERB_BITS) - 1);
    if (*recipe < RECIPES)
        return true;
    cv_peers_cut_off(&service->member->peers, notice->from, "a recipe of no known kind");
    return false;
}

void replica_hear_ask(struct cv_service *service, const struct peer_notice *notice)
{
    struct replica_ask ask = {.from = notice->from,
                              .session = notice->session,
                              .ticket = notice->ticket,
                              .answered = notice->cursor,
                              .amount = notice->amount,
                              .number = notice->fence,
                              .time_ms = notice->ttl_ms,
                              .target = notice->entry};
    enum recipe recipe;
    if (!read_recipe(service, notice, &recipe, &ask.verb))
        return;
    look(service);
    struct replica *replica = replica_open(service, recipe, notice->name);
    ask.client = notice->client.start ? cv_keep_text(notice->client) : NULL;
    ask.value = notice->value.start ? cv_keep_text(notice->value) : NULL;
    if (!replica)
        peer_notice_send(service, notice->from,
                         &(struct peer_notice){.kind = PEER_NOTICE_DONE,
                                               .subject = CV_SUBJECT_LOCK,
                                               .name = notice->name,
                                               .recipe = notice->recipe,
                                               .ticket = notice->ticket,
                                               .result = (uint64_t)(int64_t)RESULT_NO_MEMORY});
    else if (is_primary(replica))
        queue(replica, &ask);
    replica_free_ask(&ask);
}

void replica_hear_done(struct cv_service *service, const struct peer_notice *notice)
{
    enum recipe recipe;
    uint32_t verb;
    if (!read_recipe(service, notice, &recipe, &verb))
        return;
    /* A state that was lost with its connection is told again in the next view, where the order is asked for again. */
    struct replica *replica = replica_find(service, recipe, notice->name);
    if (replica && notice->fence <= replica->version)
        recipe_answered(replica, notice->ticket, (int64_t)notice->result);
}

/* The state of another member is newer. False: it is not taken. */
static bool take_state(struct replica *replica, const struct peer_notice *notice)
{
    const int error = recipe_state_read(&replica->state, notice->page);
    if (error == CV_EINPUT)
        cv_peers_cut_off(&replica->service->member->peers, notice->from, "a state that no recipe has");
    if (error)
        return false;
    replica->version = notice->fence;
    recipe_noted(replica);
    return true;
}

/* When a view begins: the state that a member has. */
static void hear_report(struct replica *replica, const struct peer_notice *notice)
{
    if (replica->settled)
        return;
    if (notice->fence > replica->version && take_state(replica, notice))
        replica->holders = 0;
    if (notice->fence == replica->version && notice->shared)
        replica->holders |= cv_set_of(notice->from);
}

void replica_hear_state(struct cv_service *service, const struct peer_notice *notice)
{
    enum recipe recipe;
    uint32_t verb;
    if (!read_recipe(service, notice, &recipe, &verb) || !notice->page.start)
        return;
    look(service);
    struct replica *replica = replica_add(service, recipe, notice->name);
    if (!replica) {
        replica_no_memory(service);
        return;
    }
    if (is_primary(replica)) {
        hear_report(replica, notice);
        return;
    }
    if (notice->from != primary_of(replica)) {
        cv_peers_cut_off(&service->member->peers, notice->from, "a state of a name whose primary it is not");
        return;
    }
    if (!take_state(replica, notice))
        return;
    store(replica);
    if (is_safe_here(replica))
        tell_copy(replica, notice->from, REPLICA_STORED);
}

/* A file is on disk. */
static void written(void *context, const char *name, uint64_t number)
{
    struct cv_service *service = context;
    struct replica *replica = replica_file_find(service, name);
    if (!replica || replica->on_disk > number)
        return;
    replica->on_disk = number;
    if (!cv_host_ready(service->host) || replica->version != number)
        return;
    look(service);
    replica->holders |= cv_set_of(service->host->roster->me);
    if (is_primary(replica))
        advance(replica);
    else
        tell_copy(replica, primary_of(replica), REPLICA_STORED);
}

void replica_hear_copy(struct cv_service *service, const struct peer_notice *notice)
{
    struct replicas *all = &service->replicas;
    enum recipe recipe;
    uint32_t verb;
    if (!read_recipe(service, notice, &recipe, &verb))
        return;
    look(service);
    if (verb == REPLICA_TOLD) {
        all->processes[notice->from] = notice->entry;
        all->told |= cv_set_of(notice->from);
        settle_all(service);
        return;
    }
    if (verb == REPLICA_SETTLED) {
        all->settled |= cv_set_of(notice->from);
        return;
    }
    struct replica *replica = replica_find(service, recipe, notice->name);
    if (!replica || replica->version != notice->fence)
        return;
    if (verb == REPLICA_STORED && is_primary(replica)) {
        replica->holders |= cv_set_of(notice->from);
        advance(replica);
    } else if (verb == REPLICA_KEPT && notice->from == primary_of(replica)) {
        recipe_kept(replica);
    } else if (verb == REPLICA_FORGOTTEN && notice->from == primary_of(replica) && recipe_is_idle(replica)) {
        replica_discard(replica);
    }
}

/* ---- beginning and end ---- */

int replicas_open(struct cv_service *service, struct cv_complaint *complaint)
{
    struct replicas *all = &service->replicas;
    struct cv_member_status status = {.directory = NULL};
    if (cv_member_agrees(service->member))
        cv_member_status(service->member, &status);
    all->files.written = written;
    all->files.context = service;
    const int error = cv_kept_files_open(&all->files, service->member, status.directory, complaint);
    return error ? error : cv_kept_files_read(&all->files, replica_file_take, service, complaint);
}
