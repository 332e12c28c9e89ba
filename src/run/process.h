// SPDX-License-Identifier: MIT
/*
 * The process of one node: the parts of it that the files of this room share. It hosts the algorithm as the simulator
 * does, but sends over sockets and waits in real time.
 */
#ifndef CONCLAVE_RUN_PROCESS_H
#define CONCLAVE_RUN_PROCESS_H

#include "core/index.h"
#include "core/random.h"
#include "guard/guarded.h"
#include "run/board.h"
#include "run/control.h"
#include "run/run_view.h"
#include "run/step_log.h"

#define UNREACHABLE UINT32_MAX
#define MOST_STRANGERS 256
#define NO_TIME UINT64_MAX

/* A message on its way. */
struct packet {
    uint64_t serial;
    uint64_t ns;   /* when the step began that sent it: the step that receives it is later */
    uint32_t slot; /* of the sender */
    uint32_t name;
    uint64_t epoch; /* the sender's view */
    uint64_t bytes; /* of the whole packet */
    struct cv_message message;
};

/* A message that waits at its sender: it is delayed, or the socket is full. */
struct waiting {
    struct waiting *next;
    uint64_t due; /* nanoseconds */
    size_t bytes;
    struct packet packet; /* with the message's body after it */
};

/* The way to another process. It is connected when the first message leaves. */
struct link {
    int socket;          /* -1: not connected */
    bool connecting;     /* TCP: the other end has not answered yet */
    uint64_t trouble;    /* TCP: since when nothing gets through; 0: all is well */
    unsigned char *rest; /* TCP: the end of a packet whose beginning has left */
    size_t rest_bytes;
    bool full; /* the socket takes no more for now */
    bool gone; /* the process at the other end has ended */
    struct waiting *first, *last;
    uint64_t last_due; /* of the last message: none overtakes it */
};

/* A connection from another process, by its file. */
struct connection {
    uint32_t from; /* the slot at the other end, or NO_SLOT: any, or a stranger so far */
    bool open;
    bool known;           /* it is a process of this experiment */
    unsigned char *bytes; /* TCP: the beginning of a packet */
    size_t used, room;
};

/* A process that has ended. */
struct ended {
    uint32_t slot;
    uint64_t count;    /* messages that it sent here */
    uint64_t deadline; /* nanoseconds: what has not arrived by then never will */
};

/* The algorithm on one critical section, or the only one, with its client. */
struct instance {
    void *state;
    size_t bytes;
    uint64_t clock; /* Lamport's */
    uint32_t calling;
    uint64_t timer_due[CV_MAX_TIMERS]; /* nanoseconds; 0: not armed */

    bool wants, inside; /* a request is under way; the node is inside */
    uint64_t fence;     /* of the entry */
    uint64_t hold_ms;
    uint64_t leave_ns; /* when the node leaves; NO_TIME: it is not inside */
    uint64_t think_ns; /* when it requests again; NO_TIME: never */
    uint64_t waiting;  /* listed requests that wait until the present one is over */
};

/* An order that came before its time, or a message of a view that has not begun here. */
struct kept {
    struct kept *next;
    size_t bytes;
    uint64_t content[];
};

struct kept_list {
    struct kept *first, *last;
};

struct process {
    const struct cv_scenario *scenario;
    const struct cv_algorithm *algorithm;
    const struct run_network *network;
    struct board *board;
    struct process_slot *slot;
    uint32_t index; /* of the slot */
    cv_node node;
    bool returned; /* it takes the place of a process that died */
    bool traced;   /* states are recorded, too */
    bool asks;     /* messages are checked for validity */
    struct run_view view;
    bool stopped; /* in no view: the last has ended and the next not begun, or the node has just come back */
    bool joined;  /* it has been in a view */
    struct cv_group group;
    struct cv_self self;
    unsigned char *outbox;
    size_t outbox_room;
    struct instance *names;
    uint32_t name; /* of the present step */
    uint32_t kinds, timers;
    uint32_t knows;
    cv_id leader;
    uint64_t now;   /* nanoseconds: when the present step began */
    uint64_t floor; /* nanoseconds: no step begins earlier, as it follows from one on a machine whose clock is ahead */
    uint64_t serial;
    struct step_log log;
    struct cv_random choices, delays;
    bool *crash_done;                    /* by planned crash */
    bool dying;                          /* the present step ends with the node's death */
    bool begun;                          /* all states are made */
    struct cv_failure_listener failures; /* hears of handlers that fail, if the algorithm is a plugin */

    struct cv_index ids;
    uint32_t *known; /* by node: its part of the network in the detector's last report */
    bool *wished;    /* by listed request: its time has come */

    int control, listener, file, poll;
    struct link *links; /* by slot */
    struct connection *connections;
    int connection_count;
    int strangers[MOST_STRANGERS]; /* connections that have not greeted yet, the oldest first */
    uint32_t stranger_count;
    bool *greeted, *closed; /* by slot: it has connected; its connection has ended */
    uint64_t *received;     /* by slot: messages from there */
    struct ended *pending;  /* processes that have ended: what they wrote is read first */
    uint32_t pending_count;
    struct kept_list orders;   /* that came before the first steps were over */
    struct kept_list messages; /* of a later view */
    unsigned char *buffer;     /* a packet that was read */
};

#define PACKET_HEAD offsetof(struct packet, message)
#define PACKET_BYTES ((size_t)160 << 10) /* the largest message of a run; a socket takes it as a whole */

/* Ends the process, and tells the experiment which system call failed, and why. */
_Noreturn void process_fail(const struct process *process, const char *call);

/* Runs the node until the experiment ends it. */
_Noreturn void process_run(struct process *process);

/* Keeps a copy for later, and takes the first one out, which the caller frees; NULL: there is none. */
void process_keep(const struct process *process, struct kept_list *list, const void *content, size_t bytes);
struct kept *process_take(struct kept_list *list);

/* ---- process_step.c ---- */

int steps_init(struct process *process);
/* Gives the instance a fresh state, of the group as it is now. */
void step_init_state(struct process *process);
/* Opens a step at this instant; `event` may be NULL. */
struct cv_self *step_begin(struct process *process, struct cv_event *event);
void step_finish(struct process *process);
void step_deliver(struct process *process, const struct packet *packet);
void step_fire_timers(struct process *process, uint64_t now);
void step_record_state(struct process *process, uint32_t type);

/* ---- process_links.c ---- */

/* Sends one message, or records that a cut keeps it back. */
void links_send(struct process *process, const struct cv_message *message);
/* Writes what is due; returns when the next message is, or NO_TIME. */
uint64_t links_flush(struct process *process, uint64_t now);
bool links_idle(const struct process *process);
/* Forgets the messages that wait here. */
void links_drop(struct process *process);

/* ---- process_sockets.c ---- */

/* Is the way to that process open? False: not yet, or it has ended (then the link is gone). */
bool sockets_connect(struct process *process, uint32_t to);
/* Writes a packet. True: it has left, or never will. */
bool sockets_write(struct process *process, uint32_t to, const struct packet *packet);
/* Writes the rest of a packet that has left in part. True: nothing is left of it. */
bool sockets_write_rest(struct process *process, uint32_t to);
/* Takes a new connection, and what came over one. */
void sockets_accept(struct process *process);
void sockets_receive(struct process *process, int file);
/* Watches a file for what can be read. */
void sockets_watch(const struct process *process, int file);

/* ---- process_clients.c ---- */

void clients_begin(struct process *process);
/* A view has begun: the client of the present name asks again, or begins. */
void clients_resume(struct process *process);
void clients_enter(struct process *process);
/* Requests and exits that are due. */
void clients_act(struct process *process, uint64_t now);
uint64_t clients_next(const struct process *process);

/* ---- process_faults.c ---- */

bool faults_node_present(const struct cv_self *me, cv_node node);
bool faults_id_suspected(const struct cv_self *me, cv_id id);
bool link_is_cut(const struct process *process, cv_node other);
/* The detector reports the parts of the network. */
void faults_report(struct process *process, const uint32_t *parts);
void faults_suspect(struct process *process, cv_node other);
bool faults_crash_now(struct process *process, const struct cv_message *message, enum cv_moment moment);

/* ---- process_view.c ---- */

/* The view ends: the algorithm stands still, and the experiment is told what the node holds. */
void process_view_stop(struct process *process);
/* Another view begins, in which the algorithm starts afresh. */
void process_view_begin(struct process *process, const void *order);
/* A message came that is not of this view: it waits, or nobody wants it any more. */
void process_view_receive(struct process *process, const struct packet *packet, size_t bytes);

static inline struct process *process_of(const struct cv_self *me)
{
    return (struct process *)(uintptr_t)((const char *)me - offsetof(struct process, self));
}

static inline struct instance *instance_of(const struct process *process)
{
    return &process->names[process->name];
}

/* Nanoseconds since the run began, by this machine's clock; never before what this follows from. */
static inline uint64_t process_time(const struct process *process)
{
    const uint64_t now = board_now(process->board);
    return now > process->floor ? now : process->floor;
}

static inline void process_comes_after(struct process *process, uint64_t ns)
{
    if (ns > process->floor)
        process->floor = ns;
}

static inline void process_open(struct process *process)
{
    process->slot->own_opened++;
}

static inline void process_close(struct process *process)
{
    process->slot->own_closed++;
}

#endif
