// SPDX-License-Identifier: MIT
#include "service/replica_table.h"

#include <stdlib.h>

#include "service/recipe.h"
#include "service/replica_file.h"
#include "service/service.h"

#define LEAST_CROWD ((size_t)1024) /* fewer names may well be empty */

void replica_no_memory(const struct cv_service *service)
{
    cv_member_fail(service->member, CV_LOG_MEMORY, "no memory for the state of a recipe");
}

void replica_free_ask(struct replica_ask *ask)
{
    cv_drop_text(&ask->client);
    cv_drop_text(&ask->value);
}

void replica_drop_asks(struct replica *replica)
{
    struct replica_ask **lists[] = {&replica->asks, &replica->done};
    for (size_t i = 0; i < 2; i++)
        while (*lists[i]) {
            struct replica_ask *ask = *lists[i];
            *lists[i] = ask->next;
            replica_free_ask(ask);
            free(ask);
        }
    replica->last_ask = &replica->asks;
    replica->last_done = &replica->done;
}

static struct replica **slot_of(const struct replicas *all, const uint64_t key[2])
{
    struct replica **slot = &all->table[key[0] & (all->size - 1)];
    while (*slot && ((*slot)->key[0] != key[0] || (*slot)->key[1] != key[1]))
        slot = &(*slot)->chain;
    return slot;
}

struct replica *replica_find_key(const struct cv_service *service, const uint64_t key[2])
{
    return service->replicas.size ? *slot_of(&service->replicas, key) : NULL;
}

struct replica *replica_find(const struct cv_service *service, enum recipe recipe, struct cv_text name)
{
    uint64_t key[2];
    replica_key(recipe, name, key);
    return replica_find_key(service, key);
}

static bool grow(struct replicas *all)
{
    const size_t size = all->size ? 2 * all->size : 64;
    struct replica **table = calloc(size, sizeof *table);
    if (!table)
        return false;
    for (size_t i = 0; i < all->size; i++)
        for (struct replica *it = all->table[i], *next; it; it = next) {
            next = it->chain;
            it->chain = table[it->key[0] & (size - 1)];
            table[it->key[0] & (size - 1)] = it;
        }
    free(all->table);
    all->table = table;
    all->size = size;
    return true;
}

/* There are many names: if most of them are empty, a new view is asked for, which forgets those. */
static void look_for_empty(struct cv_service *service)
{
    struct replicas *all = &service->replicas;
    size_t empty = 0;
    for (size_t i = 0; i < all->size; i++)
        for (const struct replica *it = all->table[i]; it; it = it->chain)
            empty += recipe_state_is_empty(&it->state) && !it->orders && !it->ties;
    if (2 * empty >= all->count)
        service_renew_view(service);
    replicas_expect_crowd(service);
}

void replicas_expect_crowd(struct cv_service *service)
{
    struct replicas *all = &service->replicas;
    all->crowd = 2 * all->count > LEAST_CROWD ? 2 * all->count : LEAST_CROWD;
}

struct replica *replica_open(struct cv_service *service, enum recipe recipe, struct cv_text name)
{
    struct replica *replica = replica_find(service, recipe, name);
    if (replica)
        return replica;
    if (service->replicas.count >= service->replicas.crowd)
        look_for_empty(service);
    return service->replicas.count < service->host->most ? replica_add(service, recipe, name) : NULL;
}

struct replica *replica_add(struct cv_service *service, enum recipe recipe, struct cv_text name)
{
    struct replicas *all = &service->replicas;
    uint64_t key[2];
    replica_key(recipe, name, key);
    struct replica *replica = replica_find_key(service, key);
    if (replica)
        return replica;
    if (all->count >= all->size && !grow(all))
        return NULL;
    replica = malloc(sizeof *replica + name.length);
    if (!replica)
        return NULL;
    *replica = (struct replica){.service = service,
                                .recipe = recipe,
                                .key = {key[0], key[1]},
                                .last_ask = &replica->asks,
                                .last_done = &replica->done,
                                .changed_ms = cv_loop_coarse_ms(service->loop),
                                .name_length = name.length};
    memcpy(replica->name, name.start, name.length);
    struct replica **slot = slot_of(all, key);
    replica->chain = *slot;
    *slot = replica;
    all->count++;
    return replica;
}

/* Orders of clients that went away may still wait for an answer when the node ends. */
static void free_replica(struct replica *replica)
{
    while (replica->orders)
        recipe_end(replica->orders);
    replica_drop_asks(replica);
    recipe_state_free(&replica->state);
    free(replica);
}

void replica_discard(struct replica *replica)
{
    struct cv_service *service = replica->service;
    *slot_of(&service->replicas, replica->key) = replica->chain;
    service->replicas.count--;
    if (replica->on_disk && !replica_file_remove(replica))
        replica_no_memory(service);
    free_replica(replica);
}

void replicas_free(struct cv_service *service)
{
    struct replicas *all = &service->replicas;
    for (size_t i = 0; i < all->size; i++)
        while (all->table[i]) {
            struct replica *replica = all->table[i];
            all->table[i] = replica->chain;
            free_replica(replica);
        }
    free(all->table);
    cv_kept_files_close(&all->files);
}
