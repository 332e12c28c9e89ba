// SPDX-License-Identifier: MIT
/*
 * A group in virtual time: the assembly and the leases as they are, under a log that is simply agreed, links that
 * delay, lose and break, clocks that drift, nodes that stop, die and return, join and leave; a place that somebody has
 * left is taken again. One lock, which nodes take when they may.
 */
#ifndef CONCLAVE_TESTS_ASSEMBLY_WORLD_H
#define CONCLAVE_TESTS_ASSEMBLY_WORLD_H

#include "core/random.h"
#include "group/assembly.h"

#define MOST_NODES 7u
#define MOST_ENTRIES 512u
#define MOST_LETTERS 4096u

/* What is broken on purpose, to see that it is found. */
enum sabotage {
    NOTHING_BROKEN,
    CLOCKS_BEYOND,  /* drift three times what was stated */
    ENTRIES_FORGOT, /* a voter that returns grants before it knows again what it knew */
    NO_QUARANTINE,  /* a member that returns is taken in at once */
    BLIND_REPORT,   /* a member reports what it held without looking at the clock */
    OLD_VOTERS,     /* leases are counted by those who voted when the member started */
    SABOTAGES
};

struct entry {
    uint64_t epoch;
    struct cv_proposal proposal;
};

enum letter_kind { MOTION, HELD_BY, BEAT, GRANT };

struct letter {
    enum letter_kind kind;
    cv_node from, to;
    cv_id from_id, to_id; /* who stands there now */
    uint64_t due;
    enum cv_motion motion;
    uint64_t epoch, number;
    uint32_t life; /* of the receiver it is for */
};

struct node {
    struct world *world;
    struct cv_roster roster;
    struct cv_assembly assembly;
    struct cv_lease lease;
    uint64_t lease_end_us; /* its own time */
    double rate;           /* of its clock */
    uint64_t offset_us;
    uint32_t life;
    bool up, paused;
    bool belongs; /* to the group, by the last entry */
    bool is_new;  /* has yet to start for the first time */
    uint64_t paused_until, down_until;
    uint64_t away_until_us; /* its own time */
    uint32_t stored, applied, floor;
    uint64_t next_apply, next_beat;
    cv_set suspected, ready, renewed;
    uint64_t heard[MOST_NODES];
    cv_node held_by; /* as told while a view is prepared */
    bool holds;
    uint64_t fence, released_at;
    uint64_t ghost_until; /* a client of an earlier life may believe until then that it holds the lock */
};

struct world {
    struct cv_random random;
    enum sabotage sabotage;
    uint64_t now;   /* microseconds of nobody's clock */
    uint32_t calm;  /* milliseconds between two disturbances, about */
    bool restless;  /* members come and go all the time */
    uint32_t count; /* places */
    cv_set voters;  /* of the log, which follow those of the entries */
    uint32_t most_voters;
    cv_id last_id;
    struct cv_lease_terms terms;
    struct node nodes[MOST_NODES];
    bool cut[MOST_NODES][MOST_NODES]; /* from, to */
    uint64_t reconnect[MOST_NODES][MOST_NODES];
    struct entry entries[MOST_ENTRIES];
    uint32_t entry_count;
    cv_node leader;
    uint64_t leader_gone; /* since when */
    struct cv_proposal pending;
    uint64_t pending_due; /* 0: nothing is proposed */
    cv_node pending_by;
    struct letter letters[MOST_LETTERS];
    uint32_t letter_count;
    struct {
        uint64_t epoch;
        cv_node holder;
        uint64_t count;
    } mutex; /* of the latest view: within a view the lock works */
    uint64_t last_fence;
    uint64_t grants, views, lapses, changes;
    const char *violation;
};

/* One story; `violation` says what went wrong, if anything. */
void world_play(struct world *world, uint64_t seed, enum sabotage sabotage, uint64_t length_us);

/* ---- what the files of the world share ---- */

uint64_t world_draw(struct world *world, uint64_t below);
bool world_chance(struct world *world, uint32_t of);
uint64_t world_clock_of(const struct node *node);
void world_lose_stream(struct world *world, cv_node a, cv_node b);
void world_die(struct node *node);
/* Whom it can speak with. */
cv_set world_reach(const struct world *world, cv_node node);

/* The roster as an entry has it. */
void seats_take(struct node *node, const struct cv_seating *seating);
/* An entry is agreed. */
void seats_change(struct world *world, const struct cv_seating *before, const struct cv_seating *after);
/* The log's own voters change one at a time, some time after the entry. */
void seats_follow(struct world *world);
/* Somebody is to join or to leave, or gets another vote. */
void seats_ask(struct world *world);

#endif
