// SPDX-License-Identifier: MIT
/*
 * The same state of a recipe's name at all members: primary and backups. In each view one member is the primary of the
 * name. It carries out the orders of all nodes' clients, one after the other, and sends the new state to all others.
 * Nobody is told of the effect before enough members have the state: a majority of the voters, on disk if the recipe
 * has to outlast restarts.
 *
 *     a client's node            primary                     the others
 *     ASK            -------->   carries out the order
 *                                STATE, to everybody   --->  keep it
 *                                                      <---  COPY stored
 *                                enough have it
 *                                COPY kept, to everybody ->  tell their clients that wait
 *                    <--------   DONE
 *
 * When a view begins, every member sends its states to the new primaries (STATE), then COPY told. A primary that has
 * heard from all members takes the state with the highest version, and stores it at all members before it goes on.
 *
 * Why nothing is lost: members keep states of their own view only, and a member of the next view reports what it has
 * after it has left the last one, even if its lease has run out meanwhile. So a state that enough members had is
 * reported by one of them at least. An empty state is forgotten only while all nodes of the group are members. The
 * voters change only after enough of the present ones have every state (SETTLED, group/seating.h). Why no order counts
 * twice: the state itself has the results of the latest orders of each node, and a node that asks again, because the
 * primary is gone, gets that result.
 *
 * Why nobody is told an old state: a read is an order, too. The primary answers it after it has looked at its lease,
 * and while no change is being stored.
 *   - Nobody else is primary of the name then. A view without this member begins after its lease is over. In a view
 *     with it nothing is carried out before it has begun that view and told its states.
 *   - So the answer has every change that anybody was told of before the read was asked, however late it arrives.
 *   - The client's node tells its own copy. DONE has the version: the node takes it only if its copy is not older. What
 *     is stored next comes after DONE on the same link.
 *
 * What does not outlast restarts is in memory alone, and a majority that has it may start anew. What is left of the
 * entries is right all the same: an entry's node has the state before its client is told, and entries of nodes that are
 * gone or new are dropped. Who has met at a barrier is known by all members.
 *
 * Versions are numbers of the view's block, as fences are: they rise over every crash, restart and change of members.
 * The numbers that clients are told are versions, too.
 */
#ifndef CONCLAVE_SERVICE_REPLICA_H
#define CONCLAVE_SERVICE_REPLICA_H

#include "live/kept_files.h"
#include "service/recipe_state.h"

#define REPLICA_VERB_BITS 8u
#define REPLICA_MOST_RECIPE                                                                                            \
    ((uint64_t)RECIPES << REPLICA_VERB_BITS) /* in a notice: the recipe, above what is wanted of it */

struct cv_service;
struct recipe_order;
struct recipe_tie;

/* What COPY says of the state with that version. */
enum replica_copy {
    REPLICA_STORED,   /* the sender has it */
    REPLICA_KEPT,     /* the group has it */
    REPLICA_FORGOTTEN /* all members have it, and there is nothing in it: it may be forgotten */
};

/* COPY about all names. */
#define REPLICA_TOLD 3u    /* the sender has told all states that it has; `entry` is the number of its process */
#define REPLICA_SETTLED 4u /* enough members have stored all states whose primary the sender is */

/* An order on its way: what a client wants, as the primary carries it out. */
struct replica_ask {
    struct replica_ask *next;
    cv_node from;
    uint32_t verb;
    uint64_t session, ticket;
    uint64_t answered; /* all orders of that node with lower tickets are answered */
    uint64_t amount, number, time_ms, target;
    struct cv_kept_text *client, *value;
    int64_t result;
};

struct replica {
    struct replica *chain; /* the next in the same slot of the table */
    struct cv_service *service;
    uint64_t key[2]; /* a digest of recipe and name */
    enum recipe recipe;
    struct recipe_state state;
    uint64_t version;    /* of the state; 0: there is none */
    uint64_t on_disk;    /* the version that is in the file */
    uint64_t changed_ms; /* when it was changed last, by cv_loop_coarse_ms() */

    /* At the primary, in this view. */
    cv_set holders;                        /* members that have the version */
    bool settled;                          /* the state is that of the group */
    bool unsafe;                           /* enough members of this view have yet to store the state of the last */
    bool writing;                          /* enough members have yet to store it */
    bool busy;                             /* orders are being carried out */
    uint64_t place;                        /* of the last number that was given */
    struct replica_ask *asks, **last_ask;  /* to be carried out */
    struct replica_ask *done, **last_done; /* carried out, and not answered */

    /* This node's clients: service/recipe.h */
    struct recipe_order *orders, *last_order;
    struct recipe_tie *ties;
    bool stale;    /* what its sessions have has to be compared with the state */
    uint64_t told; /* the change that clients who watch were told last */

    size_t name_length;
    char name[];
};

struct replicas {
    struct replica **table;
    size_t size, count;
    size_t crowd;                       /* with so many names this node looks for empty ones */
    uint64_t process;                   /* the number of this process */
    uint64_t processes[CV_MAX_MEMBERS]; /* of the members of the view, as far as they have told */
    uint64_t epoch;                     /* of the view that was entered last */
    cv_set told;                        /* members that have told their states in this view */
    cv_set settled;                     /* members that have said that their states are safe in this view */
    size_t unsafe;                      /* states of which this node is primary, and that enough have yet to store; one
                                           more until all members have told theirs */
    bool gathered;                      /* all of them have, and what is the group's is known */
    bool lapsed;                        /* the lease has run out since: others may have gone on without this node */
    struct cv_kept_files files;
};

/* Reads the files of this node. */
int replicas_open(struct cv_service *service, struct cv_complaint *complaint);
/* A view may have begun, or the lease come back. */
void replicas_resume(struct cv_service *service);
/* Have enough members of this view stored all states? */
bool replicas_settled(const void *service);
/* Do states of this recipe outlast a restart of all nodes? */
bool replicas_outlast(const struct cv_service *service, enum recipe recipe);

static inline struct cv_text replica_name(const struct replica *replica)
{
    return (struct cv_text){replica->name, replica->name_length};
}
/* Sends an order of this node to the primary. Its texts are shared. False: it cannot be sent now. */
bool replica_order(struct replica *replica, const struct replica_ask *ask);

void replica_hear_ask(struct cv_service *service, const struct peer_notice *notice);
void replica_hear_done(struct cv_service *service, const struct peer_notice *notice);
void replica_hear_state(struct cv_service *service, const struct peer_notice *notice);
void replica_hear_copy(struct cv_service *service, const struct peer_notice *notice);

#endif
