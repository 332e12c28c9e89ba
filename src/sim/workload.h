// SPDX-License-Identifier: MIT
/* The clients: which node wants to enter which critical section, when and for how long; and the entries. */
#ifndef CONCLAVE_SIM_WORKLOAD_H
#define CONCLAVE_SIM_WORKLOAD_H

#include "sim/world.h"

/* A node as a client of one critical section. */
struct client {
    uint64_t entry;     /* the entry it waits for or is in; NO_ENTRY if none */
    uint64_t hold;      /* how long it will stay inside */
    uint64_t remaining; /* entries to come, in a closed loop */
    uint64_t waiting;   /* listed requests that wait until the present one is over */
    uint64_t due;       /* when the pause of its closed loop is over; an alarm of another time is void */
    bool inside;
    bool returned; /* it crashed and is back, and may go on in the next view */
};

struct load {
    struct client *clients;   /* per name and node */
    bool *has_come;           /* per listed request: its time came, and its node was alive */
    struct cv_entry *entries; /* in the order of the requests */
    uint64_t *turns;          /* by entry, on the quick way: its turn among the entries of its tick; otherwise NULL */
    uint64_t entry_count, entry_room;
    uint64_t planned; /* alarms of the clients that are still to come */
    uint64_t open;    /* requests not yet over: waiting or inside */
};

int load_init(struct cv_sim *sim);
void load_free(struct cv_sim *sim);

/* A worker of a shared run has the clients of `world` and entries of its own. Later `world` gets them, all in order. */
int load_init_worker(struct cv_sim *worker, const struct cv_sim *world);
void load_free_worker(struct cv_sim *worker);
int load_add_entries(struct cv_sim *world, const struct cv_entry *entries, const uint64_t *turns, uint64_t count);

/* On the quick way nodes do not take turns, and workers do not know of each other's requests: puts entries in order. */
int load_sort_entries(struct cv_sim *sim);

void load_begin(struct cv_sim *sim);
void load_enter(struct cv_sim *sim, cv_node node, uint64_t fence);
bool load_alarm(struct cv_sim *sim, const struct alarm *alarm);
cv_node load_alarmed(const struct cv_sim *sim, const struct alarm *alarm); /* the node that a client's alarm is for */
void load_crash(struct cv_sim *sim, cv_node node);
cv_node load_holder(const struct cv_sim *sim, uint64_t *fence);
void load_resume(struct cv_sim *sim);
uint32_t load_region(const struct cv_sim *sim, cv_node node); /* enum cv_region */
bool load_over(const struct cv_sim *sim);                     /* no node waits, is inside or will request */

#endif
