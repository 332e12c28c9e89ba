// SPDX-License-Identifier: MIT
/* What the files of the agreement share. The only header that knows libraft. */
#ifndef CONCLAVE_GROUP_RAFT_AGREEMENT_PARTS_H
#define CONCLAVE_GROUP_RAFT_AGREEMENT_PARTS_H

#include <raft.h>

#include "core/random.h"
#include "group/raft/agreement.h"
#include "group/raft/disk.h"
#include "group/raft/raft_codec.h"

#define ADDRESS_BYTES 24u

/* The header of each message, little-endian. */
struct envelope {
    uint64_t stamp;  /* when the message left, by the sender's clock */
    uint64_t echo;   /* the last stamp that the sender has from the receiver as leader */
    uint64_t term;   /* the sender's */
    uint64_t yields; /* 1: the sender leads, and hands over to another */
};

/* A message that libraft has sent. */
struct outgoing {
    struct outgoing *next;
    uint64_t to;
    uint64_t after; /* the disk's ticket that must be done before it leaves */
    bool stamped;
    struct raft_io_send *request; /* libraft's request, answered when the message is sent */
    raft_io_send_cb sent;
    struct cv_buffer bytes;
};

/* Entries or a snapshot on their way to the disk. */
struct disk_write {
    struct disk_write *next;
    struct raft_io_append *append;
    raft_io_append_cb appended;
    struct raft_io_snapshot_put *put;
    raft_io_snapshot_put_cb kept;
    uint64_t term; /* the term in which it was submitted */
    uint64_t last_index;
    bool changes_members;
    bool installs; /* it replaces the log, which rests meanwhile */
    void *parts;   /* the list of the parts of a snapshot that is installed; it is libraft's */
};

/* libraft wants the snapshot back. */
struct snapshot_read {
    struct snapshot_read *next;
    struct raft_io_snapshot_get *get;
    raft_io_snapshot_get_cb cb;
};

/* Something to tell the owner. */
struct agreement_event {
    struct agreement_event *next;
    uint64_t number; /* of a request, or 0 */
    bool done;
    uint64_t index; /* of an entry */
    size_t length;
    unsigned char bytes[];
};

/* Another member. */
struct peer {
    uint64_t id;
    uint64_t heard_stamp; /* the stamp of its last message as leader, by its own clock */
    bool yields;          /* that message said so */
    uint64_t contact_ms;  /* when the last message left that it has answered to this member as leader */
};

struct request {
    struct cv_agreement *agreement;
    uint64_t number;
    struct raft_apply apply;
    struct raft_barrier barrier;
};

struct cv_agreement {
    struct cv_agreement_options options;
    struct cv_agreement_calls calls;
    struct raft raft;
    struct raft_io io;
    struct raft_fsm fsm;
    raft_io_tick_cb tick;
    raft_io_recv_cb receive;
    struct cv_random random;
    struct cv_complaint complaint;
    bool launched; /* libraft runs */
    bool failed, told_failure;
    bool telling; /* callbacks run at this moment */
    bool more;    /* a callback has made more work */

    /* The disk */
    struct cv_disk *disk;
    struct cv_journal mirror; /* the state of the disk once all submitted work is done */
    uint64_t vote_ticket;     /* of the last term or vote */
    uint64_t last_ticket, done_ticket;
    uint64_t forgotten_ticket; /* libraft has restarted since, and waits for no earlier ticket */
    struct disk_write *writes, **writes_end;
    uint32_t installing;
    bool answers_muted;
    uint64_t agreed_index; /* up to here the log equals that of the leader being answered */
    uint64_t agreed_term;  /* the last term in which a leader was heard */
    uint64_t agreed_with;  /* that leader */
    uint64_t agreed_most;  /* up to here the log was found, or made, equal to that leader's */
    struct snapshot_read *snapshot_reads;

    /* Messages */
    struct outgoing *outgoing, **outgoing_end;
    struct peer peers[CV_RAFT_MAX_SERVERS];
    size_t peer_count;
    uint64_t heard_ms;
    uint64_t heard_term;     /* the term of the last message of a leader */
    uint64_t quiet_until_ms; /* no votes before then: it has promised silence, or may have before its restart */

    /* Leading */
    struct request opening; /* the first entry of a term */
    uint64_t stood_term;    /* the last term since the start in which this member voted for itself */
    uint64_t led_term;      /* the last term in which this member led */
    uint64_t opening_ticket;
    bool ready;                /* it is committed */
    uint64_t counted_since_ms; /* earlier contacts do not count */
    uint64_t told_leader, told_term;

    /* Requests */
    uint64_t numbers;
    uint32_t outstanding; /* proposals and barriers */
    struct raft_change change;
    uint64_t change_number;
    struct raft_transfer transfer;
    uint64_t transfer_number, transfer_to;
    struct request farewell; /* done when a majority knows that this member yields */
    bool transfer_due;

    /* What is agreed */
    uint64_t last_index;
    struct cv_buffer last;
    struct agreement_event *events, **events_end;
};

/* Stops the log for good, with that line. */
void agreement_fail(struct cv_agreement *agreement, const char *why);
/* Queues an event for the owner. False if there is no memory. */
bool agreement_tell_entry(struct cv_agreement *agreement, uint64_t index, const void *bytes, size_t length);
void agreement_tell_decision(struct cv_agreement *agreement, uint64_t number, bool done);
/* Does all work that the last call has caused. */
void agreement_finish(struct cv_agreement *agreement);

/* Starts libraft again, from the mirror, as after a crash. */
void agreement_begin_anew(struct cv_agreement *agreement);

#endif
