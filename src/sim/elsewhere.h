// SPDX-License-Identifier: MIT
/*
 * A run may be shared out: several workers simulate some of the nodes each (sim/share). This is what a worker knows of
 * the others: which nodes are theirs, the messages that it has for them, and how far it may go before it must hear from
 * them again.
 */
#ifndef CONCLAVE_SIM_ELSEWHERE_H
#define CONCLAVE_SIM_ELSEWHERE_H

#include <conclave/runtime.h>

/*
 * Before rows of messages to another worker that are due at one time; see struct cv_row. To write a row down costs less
 * than to move its messages between two cores.
 */
struct elsewhere_due {
    uint64_t due;
    uint64_t bytes; /* of the rows */
};

/* A node with neighbours at another worker began a round; see sim/rounds.c. */
struct elsewhere_pulse {
    uint64_t time;
    cv_node node;
    uint32_t round;
};

/* Bytes that are appended to, after some room for whoever sends them. */
struct elsewhere_bytes {
    unsigned char *memory; /* the room, then the bytes */
    size_t used, room;
    size_t due; /* where the last struct elsewhere_due stands, */
    size_t row; /* and the last struct cv_row */
};

/* For one other worker. */
struct elsewhere_mail {
    struct elsewhere_bytes messages; /* rows, after struct elsewhere_due */
    struct elsewhere_bytes pulses;   /* struct elsewhere_pulse */
    size_t usual;                    /* bytes that are usually sent at a time */
    uint64_t earliest;               /* when the first of the messages arrives; CV_NEVER: there is none */
    bool linked;                     /* messages there are expected */
    uint64_t answer_ticks;           /* what arrives there has no effect here for so many ticks */
};

struct elsewhere {
    const uint16_t *owners; /* by node: its worker; NULL: workers have blocks of nodes */
    cv_node first;          /* blocks: the nodes of this worker begin here, */
    uint32_t count;         /* and are so many */
    cv_node last;           /* the last of them */
    bool onward;            /* blocks of a ring: messages go to the successor */
    bool rows;              /* blocks of a group: a step's messages are often rows */
    uint32_t nodes;         /* of the whole run */
    uint32_t workers;
    uint32_t low, width;         /* the nodes of these workers are here; width is 1 but for a process of several */
    uint64_t horizon;            /* all messages that arrive here at earlier ticks are known */
    struct elsewhere_mail *mail; /* by worker */
    uint32_t recent;             /* blocks: a message went to this worker last, */
    cv_node recent_first;        /* whose nodes begin here, */
    uint32_t recent_count;       /* and are so many */
    /* Sends what there is in that mail, in the middle of a tick. */
    void (*send_part)(struct elsewhere *elsewhere, struct elsewhere_mail *mail);
    size_t headroom; /* bytes before the messages in their memory */
    void *spare;     /* memory for ELSEWHERE_FEW bytes after the headroom; it begins with the next one */
    uint32_t spare_count;
    bool early;    /* a message took a way that nobody expected, so promises were wrong */
    bool doubtful; /* something may be violated, and only a run that is not shared can tell */
    bool out_of_memory;
};

/* Is the node simulated elsewhere? */
static inline bool elsewhere_has(const struct elsewhere *elsewhere, cv_node node)
{
    return elsewhere->owners ? elsewhere->owners[node] - elsewhere->low >= elsewhere->width
                             : node - elsewhere->first >= elsewhere->count;
}

/* The worker that has a node. */
static inline uint32_t elsewhere_owner(const struct elsewhere *elsewhere, cv_node node)
{
    return elsewhere->owners ? elsewhere->owners[node]
                             : (uint32_t)((uint64_t)node * elsewhere->workers / elsewhere->nodes);
}

/* The first node of a worker's block. */
static inline cv_node elsewhere_block_begin(const struct elsewhere *elsewhere, uint64_t worker)
{
    return (cv_node)((worker * elsewhere->nodes + elsewhere->workers - 1) / elsewhere->workers);
}

static inline unsigned char *elsewhere_bytes(const struct elsewhere *elsewhere, const struct elsewhere_bytes *bytes)
{
    return bytes->memory + elsewhere->headroom;
}

/*
 * Two workers that take turns send each other a few bytes at a time. Their memory is used again for the answer: the
 * allocator would have to give it back to the worker that it came from, and workers would wait for each other there.
 */
#define ELSEWHERE_FEW 480u

/* So many bytes for another worker are sent in the middle of a tick: it can make use of them meanwhile. */
#define ELSEWHERE_MANY ((size_t)64 * 1024)

void *elsewhere_take_spare(struct elsewhere *elsewhere);
void elsewhere_recycle(struct elsewhere *elsewhere, void *memory, size_t room);
void elsewhere_free_spare(struct elsewhere *elsewhere);

/* Makes room for so many more bytes, and returns where they go; NULL: no memory. */
unsigned char *elsewhere_append(struct elsewhere *elsewhere, struct elsewhere_bytes *to, size_t bytes);

/* Keeps a message for the worker of its receiver. */
void elsewhere_send(struct elsewhere *elsewhere, const struct cv_message *message, uint64_t due);

/*
 * Keeps messages for the worker of the first of them: that one, and those after it that continue a row. Returns where
 * the next message begins.
 */
const unsigned char *elsewhere_send_row(struct elsewhere *elsewhere, const unsigned char *at, const unsigned char *end,
                                        uint64_t due);

/* Keeps a row for the workers of its receivers, except what is for this one. */
void elsewhere_spread_row(struct elsewhere *elsewhere, const struct cv_row *row, uint64_t due);

/*
 * The message at hand among rows, and the next one: the row is changed to begin with it. After the last message of a
 * row, `*at` is at the next row.
 */
static inline struct cv_message *elsewhere_message(unsigned char *at)
{
    return (void *)(at + sizeof(struct cv_row));
}

static inline void elsewhere_next(unsigned char **at)
{
    struct cv_row *row = (void *)*at;
    struct cv_message *message = elsewhere_message(*at);
    if (!row->further) {
        *at += sizeof *row + cv_message_bytes(message);
        return;
    }
    row->further--;
    message->to++;
    message->clock = (message->clock + row->ticks) & CV_CLOCK_MASK;
}

/* Keeps the news of a round for that worker. */
void elsewhere_tell(struct elsewhere *elsewhere, uint32_t worker, struct elsewhere_pulse pulse);

#endif
