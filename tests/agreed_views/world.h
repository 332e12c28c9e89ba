// SPDX-License-Identifier: MIT
/*
 * A group in virtual time: the real views and leases over a simulated log, links that delay, lose and break, clocks
 * that drift, nodes that stop, die and return, join and leave; a place that a node has left is taken again. There is
 * one lock, which nodes take when they may.
 *
 * Or two nodes and a file that breaks their tie (tie_file.c): each can be cut off from the file, too.
 */
#ifndef CONCLAVE_TESTS_ASSEMBLY_WORLD_H
#define CONCLAVE_TESTS_ASSEMBLY_WORLD_H

#include "core/random.h"
#include "group/agreed_views.h"
#include "group/disk_paxos/disk_paxos.h"
#include "group/disk_paxos/disk_paxos_block.h"
#include "group/proposal.h"

#define MOST_NODES 7u
#define MOST_ENTRIES 512u
#define MOST_LETTERS 4096u

/* The sabotages: what is broken on purpose, and must be found. */
enum sabotage {
    NOTHING_BROKEN,
    CLOCKS_BEYOND,   /* drift three times what was stated */
    ENTRIES_FORGOT,  /* a voter that returns grants before it knows again what it knew */
    NO_QUARANTINE,   /* a member that returns is taken in at once */
    BLIND_REPORT,    /* a member reports what it held without looking at the clock */
    OLD_VOTERS,      /* leases are counted by the voters at the time when the member started */
    WRITING_UNSEEN,  /* of two: a node ignores that the other has written */
    RENEWED_UNREAD,  /* of two: a promise renews a lease, whatever the node reads afterwards */
    RENEWED_OUTSIDE, /* of two: a node that was left out does not wait, and goes on with its old view */
    BLOCK_LOST,      /* of two: a node's last write is lost in a crash */
    OWN_LENGTH,      /* a voter counts a lease by the terms it knows, whatever the member counts by */
    RECOUNTED,       /* grants by former terms are counted by the new ones */
    SHORT_MEMORY,    /* a member that returns waits for a lease of the last terms alone */
    FORMER_DROPPED,  /* former terms are forgotten as soon as all have begun a view of the new ones */
    SABOTAGES
};

struct entry {
    uint64_t epoch;
    struct cv_proposal proposal;
};

enum letter_kind { ENTRY, MOTION, HELD_BY, BEAT, GRANT };

/* What a node is doing with the file: it writes its block, perhaps, then it reads both. */
struct errand {
    bool busy, writes, wrote, has_read, fails;
    unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES];
    struct cv_disk_paxos_block read[CV_DISK_PAXOS_MEMBERS];
    uint64_t due;
};

struct letter {
    enum letter_kind kind;
    cv_node from, to;
    cv_id from_id, to_id; /* the ids at these places now */
    uint64_t due;
    enum cv_view_message message;
    uint64_t epoch, number;
    struct cv_lease_terms terms; /* of a lease that is asked for, or granted */
    uint32_t life;               /* of the receiver it is for */
};

struct node {
    struct world *world;
    struct cv_roster roster;
    struct cv_agreed_views views;
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
    struct cv_disk_paxos tie;
    struct errand errand;
    bool fileless;        /* it cannot reach the file */
    uint64_t ghost_until; /* a client of an earlier life may believe until then that it holds the lock */
};

struct world {
    struct cv_random random;
    enum sabotage sabotage;
    uint64_t now;   /* the world's time in microseconds */
    uint32_t calm;  /* milliseconds between two disturbances, about */
    bool restless;  /* members come and go all the time */
    bool fickle;    /* the length of leases changes all the time */
    uint32_t count; /* places */
    cv_set voters;  /* the voters of the log, which follow those of the entries */
    uint32_t most_voters;
    cv_id last_id;
    struct cv_terms terms; /* at the beginning */
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
    bool tied;
    unsigned char file[CV_DISK_PAXOS_MEMBERS][CV_DISK_PAXOS_RECORD_BYTES];
    unsigned char old_file[CV_DISK_PAXOS_MEMBERS][CV_DISK_PAXOS_RECORD_BYTES]; /* before each one's last write */
    uint64_t last_fence;
    uint64_t grants, views, lapses, changes, term_changes;
    const char *violation;
};

/* One story, of a tied pair or a group with a log; `violation` says what went wrong, if anything. */
void world_play(struct world *world, uint64_t seed, bool tied, enum sabotage sabotage, uint64_t length_us);

/* ---- what the files of the world share ---- */

uint64_t world_draw(struct world *world, uint64_t below);
bool world_chance(struct world *world, uint32_t of);
uint64_t world_clock_of(const struct node *node);
void world_granted(struct node *node, cv_node voter, uint64_t asked_us, uint64_t length_us);
bool world_may_grant(const struct node *node);
void world_post(struct world *world, struct letter letter, bool reliable);
void world_lose_stream(struct world *world, cv_node a, cv_node b);
void world_die(struct node *node);
bool world_reaches(const struct world *world, cv_node a, cv_node b);
/* The nodes that it can speak with. */
cv_set world_reach(const struct world *world, cv_node node);
/* Lets that much time pass. */
void world_run(struct world *world, uint64_t until_us, bool disturbed);

/* ---- log.c ---- */

/* The leader, the agreed entries, and the voters. */
void log_keep(struct world *world);
/* The node learns of the next entry, perhaps. */
void log_apply(struct node *node);

/* ---- tie.c ---- */

void tie_start(struct node *node);
void tie_step(struct node *node);
void tie_hear(struct node *node, const struct letter *letter);
void tie_die(struct node *node);
bool tie_leads(const struct node *node);
bool tie_propose(struct node *node, const struct cv_proposal *proposal);
/* In the end one of two goes on when the other is gone; exactly one if they are only cut apart. */
void tie_judge(struct world *world);

/* ---- seats.c ---- */

/* The roster as an entry has it. */
void seats_take(struct node *node, const struct cv_seating *seating);
/* An entry is agreed. */
void seats_change(struct world *world, const struct cv_seating *before, const struct cv_seating *after);
/* The log's own voters change one at a time, some time after the entry. */
void seats_follow(struct world *world);
/* A node is to join or to leave, or gets another vote. */
void seats_ask(struct world *world);
/* Leases are to be longer, or shorter. */
void seats_ask_terms(struct world *world);

#endif
