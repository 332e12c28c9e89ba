// SPDX-License-Identifier: MIT
/*
 * The explored world: the nodes, the messages on their way, what the detector still has to tell. It is simple rather
 * than fast: full states, no numbers for them.
 *
 * Whatever changes a world saves the old bytes first (explored_save), so that going back is to write them back. Nodes
 * and messages never move.
 *
 * Two times: a step has a number, by which a story is judged, as the checker's replay judges it. And `now` is the
 * simulator's time: every message, timer and request is due at some tick, and the event that is due first is the one
 * that the simulator would do next.
 */
#ifndef CONCLAVE_EXPLORE_EXPLORED_H
#define CONCLAVE_EXPLORE_EXPLORED_H

#include "check/setting/decision.h"
#include "core/error.h"
#include "core/event.h"
#include "core/index.h"
#include "core/scenario/arrival.h"
#include "guard/trap.h"
#include "property/property.h"

#define EXPLORED_MOST_NODES 4096u
#define NO_OPEN_ENTRY UINT64_MAX
#define CV_LINK_TEXT 96u /* "the link between 1 and 2 is cut" */

enum explored_flag {
    EXPLORED_ALIVE = 1u << 0,
    EXPLORED_FRESH = 1u << 1,   /* election: it has not taken part and may still call */
    EXPLORED_STARTED = 1u << 2, /* it was asked to start */
    EXPLORED_KNOWS = 1u << 3,   /* `leader` is set */
    EXPLORED_CALLING = 1u << 4,
    EXPLORED_WAITING = 1u << 5,
    EXPLORED_INSIDE = 1u << 6,
    EXPLORED_RECALLED = 1u << 7,  /* it called while its own election was under way */
    EXPLORED_MISSED = 1u << 8,    /* it is dead, and the detector need not report it */
    EXPLORED_MEMBER = 1u << 10,   /* it is in the view, dead or alive */
    EXPLORED_OUTSIDE = 1u << 11,  /* it has come back, and waits for the next view */
    EXPLORED_RETURNED = 1u << 12, /* it once came back */
    EXPLORED_CALLER = 1u << 9     /* it was once asked to start, if only before it crashed */
};

/* What stays when a node crashes and comes back. */
#define EXPLORED_LASTING (EXPLORED_RECALLED | EXPLORED_CALLER | EXPLORED_MEMBER | EXPLORED_RETURNED)

/* Sets of nodes that belong to a node. */
enum explored_set {
    SET_SUSPECTS, /* those that it suspects */
    SET_UNHEARD,  /* those that were lost and are back; it was told neither */
    SET_BACK,     /* those that are back; it is still to be told */
    SET_COUNT
};

/* A change of the network that the detector is to tell. */
struct explored_news {
    uint64_t time;
    uint64_t order; /* of changes at one time */
};

/* What is kept of a node, followed by its sets and by the algorithm's state. */
struct explored_node {
    uint64_t clock;                       /* Lamport's */
    uint64_t ahead;                       /* so far it is ahead of the simulator's: see explored_is_heard() */
    uint64_t timers[CV_MAX_TIMERS];       /* when each is due, plus 1; 0: it is not armed */
    uint64_t timer_alarms[CV_MAX_TIMERS]; /* for when each was last armed, plus 1, even if it is void since */
    uint64_t timer_orders[CV_MAX_TIMERS]; /* of timers due at once, the one that was armed first fires first */
    uint64_t entry;                       /* the entry that it waits for or is in, or NO_OPEN_ENTRY */
    uint64_t requests;                    /* so many it has made */
    uint64_t request_due;                 /* when its closed loop requests again; CV_NEVER: not by itself */
    uint64_t free_at;                     /* when it last left, crashed, came back or joined a view */
    uint64_t lost;                        /* listed requests whose time came while it was dead, */
    uint64_t lost_from;                   /* the first of them after so many others */
    uint64_t stuck;                       /* listed requests that wait until it has left once more: see request_due() */
    uint64_t hold;                        /* how long it stays inside after its last request */
    uint64_t leave_due;                   /* when it is to leave, if it is inside */
    uint64_t order;                       /* of its leaving, or of its next request, among alarms due at once */
    uint64_t result;                      /* if `updates` */
    uint64_t fence;                       /* of its last entry */
    struct explored_news died, returned;  /* when it last did */
    uint32_t flags;                       /* enum explored_flag */
    cv_id leader;
    cv_node via;
    uint32_t updates;
    uint32_t round;
    uint32_t sent_to[2]; /* messages of an app to it, in even and odd rounds */
    uint32_t left;       /* at `free_at` it left */
};

/* A message that was sent. Its fate may change; it stays until its step is taken back. */
struct explored_message {
    struct explored_message *before, *after; /* of those under way, in the order in which they were sent */
    uint64_t serial;
    uint64_t due;   /* when the simulator would deliver it */
    uint64_t ahead; /* its sender's */
    struct cv_message content;
};

/* What happened, in order; a step is several of these. */
struct explored_told {
    struct cv_event event;
    const struct explored_message *message;
};

/* A step that was taken. */
struct explored_step {
    struct cv_decision decision;
    uint64_t index;     /* of the event that was chosen */
    uint64_t time;      /* the simulator's, or of a recording, in microseconds from its beginning */
    uint64_t undo;      /* the length of the undo log before it */
    uint64_t told;      /* the number of told events before it */
    uint64_t serial;    /* of the message that it concerns, or 0 */
    uint32_t type;      /* enum explored_type */
    uint32_t violated;  /* a bit for each property that it violated */
    uint32_t partition; /* that it begins or ends; UINT32_MAX: none */
    bool planned;       /* the scenario planned it */
    bool vague;         /* the index is that of the event, and does not say which way it went */
};

/* A change of the network. */
struct explored_change {
    uint64_t time;
    cv_node node; /* that has died or come back; CV_NOBODY: none */
    bool back;
};
#define EXPLORED_MOST_CHANGES 8u

/* What belongs to no node and changes often: saved as a whole with every step. */
struct explored_present {
    uint64_t now;
    uint64_t order; /* of alarms */
    struct explored_news changed;
    uint64_t mistakes;   /* false suspicions */
    uint64_t cuts;       /* links that were cut, so far */
    uint64_t losses;     /* messages dropped or duplicated, so far */
    uint64_t crashes;    /* used */
    uint64_t recoveries; /* used */
    uint64_t calls;      /* elections called */
    uint64_t highest_fence;
    struct explored_message *first, *last; /* under way */
    uint64_t under_way;                    /* so many */
    const char *broken;                    /* the complaint of an invariant, or NULL */
    uint64_t broken_step;
    uint32_t broken_node;
    uint32_t alive;  /* live nodes */
    uint32_t missed; /* dead nodes whose crash need not be reported */
    uint32_t seen;   /* enum cv_property_number + 1 of a violation before the end; 0: none */
    uint32_t seen_nodes[2];
    cv_id seen_leaders[2];
    uint64_t seen_step;
    uint32_t violated;     /* a bit for each property that is violated */
    uint32_t planned_done; /* the first so many planned faults are over */
    uint64_t epoch;        /* the number of the view */
    cv_node coordinator;   /* of the view, or CV_NOBODY */
    bool unlike_checker;   /* a node knew of another what it would not know in the checker */
    bool unstarted;        /* the members of the view are yet to start: requests that are due at once come first */
    uint64_t last_alarm;   /* the latest time at which a client was ever to request or to leave */
    uint32_t change_count; /* of the network, for each of which a view is to begin */
    struct explored_change changes[EXPLORED_MOST_CHANGES];

    /* From here on nothing decides what can happen, or how the end of an election is judged. */
    uint64_t total;     /* messages, as the texts count them */
    uint64_t preparing; /* messages before the first round, not in `total` */
    uint64_t delivered; /* the step in which a message was last delivered */
    uint64_t arrived;   /* when, in the simulator's time */
    uint64_t last_exit; /* the step in which a node last left */
    uint64_t entries;   /* used */
    struct cv_slip hasty, apart;
};

/* A request that the scenario lists. */
struct explored_wish {
    const struct cv_wish *wish;
    uint32_t index;
};

/* A fault that the scenario plans. */
struct explored_fault {
    uint64_t due;
    uint32_t type; /* enum explored_type */
    cv_node node, peer;
    uint32_t partition; /* EVENT_CUT, EVENT_HEAL: which; UINT32_MAX: a link */
    uint32_t order;     /* among those due at once */
};

struct explored {
    struct cv_scenario *scenario;
    const struct cv_algorithm *algorithm;
    struct cv_group group; /* the scenario's; `absence` as it is now */
    struct cv_self self;
    struct cv_index index;
    uint32_t nodes, kinds, timers, claims, set_words;
    bool best_always, agree_always, any_caller, mutex, graph;
    cv_id best;

    unsigned char *node_bytes; /* all nodes */
    size_t *places;            /* where each begins */
    uint32_t *cut;             /* a bit for each ordered pair of nodes; both are set */
    uint32_t *part;            /* by node: its connected component; for graphs */
    bool part_known;           /* `part` is up to date */
    bool *partitioned;         /* by partition of the scenario: it is on */
    bool *crash_done;          /* by planned crash of the scenario: it has happened, as its node sent a message */
    uint64_t counts[CV_MAX_KINDS];
    struct explored_present present;
    struct cv_chance delays, choices; /* what the simulator draws */

    struct cv_entry *entries;
    uint64_t entry_room;
    struct cv_crash *crashes;
    uint64_t crash_room;
    struct cv_recovery *recoveries;
    uint64_t recovery_room;
    struct explored_fault *planned; /* by time */
    uint32_t planned_count;

    struct explored_wish *wishes; /* by time */

    bool views;       /* a new view begins when the network has changed */
    cv_node *members; /* of the view, if not all nodes are; the group points to it */
    struct cv_quorums view_quorums;
    struct explored_election *election; /* the last one, which need not be held again */
    cv_node view_holder;                /* while a view begins: who is inside, */
    uint64_t view_fence;                /* and with which fence */

    struct explored_message **messages; /* by serial - 1 */
    uint64_t message_count, message_room;
    struct explored_told *told;
    uint64_t told_count, told_room;
    struct explored_step *steps;
    uint64_t step_count, step_room;
    unsigned char *undo;
    uint64_t undo_used, undo_room;
    bool recorded;  /* the story was recorded: no handler runs, and nothing is judged */
    bool recording; /* what is told is kept, and steps; a search does without */

    /* The step that is being taken. */
    struct cv_decision decision;
    struct explored_message *received;
    unsigned char *outbox;
    size_t outbox_room;
    uint32_t chosen;                /* how often the handler chose */
    uint32_t chosen_at_clock;       /* how often the same node did at the same clock: */
    cv_node chooser;                /* this node, */
    uint64_t chosen_clock;          /* at this clock */
    uint32_t ways[CV_MOST_CHOICES]; /* how many ways each choice had */
    uint32_t took[CV_MOST_CHOICES]; /* which it took */
    uint32_t choosing;              /* enum explored_choosing */
    uint64_t choice_number;         /* CHOICES_NUMBERED: what is left of the number */
    uint32_t script_sent;           /* the script has the node crash after so many messages; CV_WHOLE: it does not */
    uint32_t sends;                 /* after the step: the messages that its handler sends */
    uint64_t event_indices;         /* of the events before it: see explored_event_indices() */
    bool taking;                    /* a handler is running */
    const char *complaint;          /* of the invariant */
    struct cv_failure failure;      /* why a handler was stopped */
    char broken_text[CV_FAILURE_BYTES]; /* the first of them */

    struct cv_scenario judged; /* the scenario as the story has played it, for the judges */
    cv_node *callers;          /* of that */
    struct cv_finding seen;    /* the violation before the end, in words */
    uint64_t app_messages;     /* of the app on a synchronous network, */
    bool app_counted;          /* once they have been counted */
    bool out_of_memory;
};

/* Where the choices of a handler come from. */
enum explored_choosing {
    CHOICES_DRAWN,   /* the simulator's */
    CHOICES_LISTED,  /* the decision's, in this order */
    CHOICES_NUMBERED /* a number: its remainder by the ways is the choice, and the rest is for the next */
};

enum explored_type {
    EVENT_START,
    EVENT_REQUEST,
    EVENT_LEAVE,
    EVENT_DELIVER,
    EVENT_TIMEOUT,
    EVENT_TELL,
    EVENT_TRUST,
    EVENT_DROP,
    EVENT_DUPLICATE,
    EVENT_CRASH,
    EVENT_MISS,
    EVENT_RECOVER,
    EVENT_SUSPECT,
    EVENT_CUT,
    EVENT_HEAL,
    EVENT_VIEW,   /* a new view begins */
    EVENT_REMARK, /* of a recorded story: what a node noted */
    EVENT_TYPES
};

/* ---- reading ---- */

static inline struct explored_node *explored_node(const struct explored *world, cv_node node)
{
    return (struct explored_node *)(void *)(world->node_bytes + world->places[node]);
}

static inline uint32_t *explored_set(const struct explored *world, cv_node node, enum explored_set set)
{
    return (uint32_t *)(void *)(explored_node(world, node) + 1) + set * world->set_words;
}

static inline void *explored_state(const struct explored *world, cv_node node)
{
    return explored_set(world, node, SET_COUNT);
}

static inline bool explored_has(const struct explored *world, cv_node node, enum explored_set set, cv_node other)
{
    return cv_bits_has(explored_set(world, node, set), other);
}

static inline bool explored_is(const struct explored *world, cv_node node, enum explored_flag flag)
{
    return (explored_node(world, node)->flags & flag) != 0;
}

static inline bool explored_alive(const struct explored *world, cv_node node)
{
    return explored_is(world, node, EXPLORED_ALIVE);
}

/* How many steps have been taken: the number of the last. */
static inline uint64_t explored_time(const struct explored *world)
{
    return world->step_count;
}

/* ---- the world as a whole ---- */

/* Begins the scenario, which must outlive the world. 0, CV_ENOMEM, or CV_EINPUT with a complaint. Free in any case. */
int explored_begin(struct explored *world, struct cv_scenario *scenario, struct cv_complaint *complaint);
void explored_free(struct explored *world);

/* Saves bytes that are about to change. */
void explored_save(struct explored *world, void *at, size_t bytes);
void explored_save_node(struct explored *world, cv_node node);
void explored_save_entry(struct explored *world, uint64_t entry);

/* What a node was before the last step, if that changed it; or NULL. Only its bytes, until the world changes. */
const struct explored_node *explored_before(const struct explored *world, cv_node node);

/* Goes back to the state before that step, from 0 on. */
void explored_go(struct explored *world, uint64_t step);
/* The same, by a mark of the undo log. */
void explored_undo(struct explored *world, uint64_t mark);

/* Makes room in a list for one more. The list or NULL. */
void *explored_room(struct explored *world, void *list, uint64_t count, uint64_t *room, size_t bytes);

/* A new message, of none of the links yet; NULL if there is no memory. */
struct explored_message *explored_new_message(struct explored *world, const struct cv_message *content);

/* Keeps what happened, for the story. */
void explored_tell(struct explored *world, struct cv_event event, const struct explored_message *message);

#endif
