// SPDX-License-Identifier: MIT
/*
 * Recipes on the side of the clients' node: what each client wants, what belongs to its session, and what it is told.
 * service/replica.h carries it through the group.
 */
#ifndef CONCLAVE_SERVICE_RECIPE_H
#define CONCLAVE_SERVICE_RECIPE_H

#include "service/replica.h"
#include "service/session.h"

/* What may be wanted of any recipe; each has more of its own, from VERB_OWN on. */
enum { VERB_READ, VERB_DROP, VERB_OWN };

/* Results of orders besides numbers. */
enum {
    RESULT_NIL = -1,
    RESULT_FULL = -2,
    RESULT_NO_MEMORY = -3,
    RESULT_NO_LATCH = -4,
    RESULT_INSIDE = -5,
    RESULT_OUTSIDE = -6,
    RESULT_PARTIES = -7 /* and lower: less the number of parties that others say */
};

/* An order that the primary carries out now. */
struct recipe_turn {
    struct recipe_state *state;
    const struct replica_ask *ask;
    cv_id node;       /* the client's */
    uint64_t process; /* the client's */
    uint64_t number;  /* a new one, higher than all before; used up if anything changes */
    bool changed;
};

/* A client's order, or one of this node itself, at the client's node. */
struct recipe_order {
    struct recipe_order *next, *previous; /* of the same name, by ticket */
    struct replica *replica;
    struct session *session; /* NULL: nobody waits for it */
    struct replica_ask ask;
    uint32_t wanted;  /* barrier: its verb before it was withdrawn */
    uint64_t watched; /* latch: the one that it waits for */
    uint64_t meeting; /* barrier: it has met the others there, once the group has that state; 0: it has not */
    bool asked;       /* in this view or in another one: it may have been carried out */
    bool sent;        /* to the primary of this view */
    bool answered;    /* by the primary; it waits for what others do */
    bool overdue;     /* its client has waited long enough */
    bool late;        /* what it gives came when the lease was over */
    int64_t result;   /* once: and that is what came */
};

/* What belongs to a session as long as it lasts. */
struct recipe_tie {
    struct recipe_tie *next, *previous; /* of the same name */
    struct recipe_tie *more;            /* of the same session */
    struct replica *replica;
    struct session *session;
    enum recipe_role role; /* INSIDE, MEMBER, RUNS; NONE: it watches */
    uint64_t number;
    struct cv_kept_text *client, *value;
};

struct recipe_kind {
    const char *word;
    bool lasts;               /* its states outlast restarts */
    enum recipe_role belongs; /* of the entry that VERB_OWN makes, as long as its session lasts; or NONE */
    /* At the primary: what the order does to the state. The result. There is room for two entries more. */
    int64_t (*apply)(struct recipe_turn *turn);
    /* At the primary: some entries are gone with their nodes. The number is a new one. May be NULL. */
    void (*left)(struct recipe_state *state, uint64_t number);
    /* At the client's node: the primary's answer. */
    void (*answered)(struct recipe_order *order, int64_t result);
    /* Its client has waited long enough for what others do. */
    void (*overdue)(struct recipe_order *order);
    /* At every node: the group has this state. May be NULL. */
    void (*kept)(struct replica *replica);
    /* The lease is back in the same view, and the order was late. NULL if none is. */
    void (*leased)(struct recipe_order *order);
};

extern const struct recipe_kind *const recipe_kinds[RECIPES];

/* ---- for the recipes ---- */

/* Reads the name, and finds what may be wrong with the node. NULL: the client has been told. */
struct recipe_order *recipe_begin(struct session *session, enum recipe recipe, struct cv_text name, uint32_t verb,
                                  enum cv_right right);
/* Sends the order; its client waits for that long at most (UINT64_MAX: for ever). */
void recipe_send(struct recipe_order *order, uint64_t wait_ms);
/* Reads [WAIT ms] from that word on. False: the client has been told. */
bool recipe_read_wait(struct session *session, const struct cv_resp_command *command, uint32_t first,
                      uint64_t *wait_ms);
/* Tells the client that error, and drops an order that has not been sent. */
void recipe_abandon(struct recipe_order *order, const char *error);
/* The order is over, and its client has been told. */
void recipe_end(struct recipe_order *order);
/* The same with a number, nil, or an error. */
void recipe_tell(struct recipe_order *order, int64_t result);
void recipe_refuse(struct recipe_order *order, const char *why);
/* The client wants something else of the same name instead. */
void recipe_turn_into(struct recipe_order *order, uint32_t verb);
/* Is there room in the state for what one more client brings? */
bool recipe_has_room(const struct recipe_turn *turn);
/* The entry that the order makes. */
struct recipe_entry recipe_entry_of(const struct recipe_turn *turn, enum recipe_role role);

/* False: no memory. */
bool recipe_tie(struct replica *replica, struct session *session, enum recipe_role role, uint64_t number);
struct recipe_tie *recipe_find_tie(const struct replica *replica, const struct session *session, enum recipe_role role);
void recipe_untie(struct recipe_tie *tie);
/* The client of the tie is told that it is lost. */
void recipe_lose(struct recipe_tie *tie);
/* This node itself gives an order that nobody waits for. */
void recipe_give(struct replica *replica, const struct replica_ask *ask);

/* ---- for service/replica.c ---- */

/* Carries out an order at the primary, unless that has happened before. The result. */
int64_t recipe_apply(struct replica *replica, struct recipe_turn *turn);
/* The state has changed here. The group may not have it yet. */
void recipe_noted(struct replica *replica);
/* The group has the state. */
void recipe_kept(struct replica *replica);
void recipe_answered(struct replica *replica, uint64_t ticket, int64_t result);
/* Orders are sent, as many as may be under way. */
void recipe_pump(struct replica *replica);
/* The lease may be back. */
void recipe_leased(struct replica *replica);
/* A view has begun: orders are sent again. `apart`: others may have gone on without this node. */
void recipe_resume(struct replica *replica, bool apart);
/* Does no client of this node want anything of the name? */
bool recipe_is_idle(const struct replica *replica);

/* ---- for the service ---- */

/* The session ends. */
void recipe_drop(struct session *session);
/* The client has waited long enough. */
void recipe_timed_out(struct session *session);
/* The lease has run out. */
void recipe_lease_lost(struct cv_service *service);
/* There is no use in waiting. */
void recipe_refuse_all(struct cv_service *service, const char *why);
/* The session may not have any more what it waits for. */
void recipe_reconsider(struct session *session);

#endif
