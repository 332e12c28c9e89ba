// SPDX-License-Identifier: MIT
/* What a node is told to be: by a file, or for want of one by defaults. */
#ifndef CONCLAVE_LIVE_SETTINGS_SETTINGS_H
#define CONCLAVE_LIVE_SETTINGS_SETTINGS_H

#include "core/error.h"
#include "group/terms.h"
#include "live/process/event_log.h"
#include "live/process/priority.h"
#include "secure/acl.h"

#define CV_MOST_LISTENERS 4u
#define CV_MOST_ADDRESSES 4u  /* of a member, for its peers */
#define CV_ADDRESS_BYTES 256u /* of all of them together, and of one for clients */
#define CV_DEFAULT_PORT 7700u

/* A parameter of an algorithm, as it was written. */
struct cv_setting {
    struct cv_setting *next;
    char *key, *value;
};

/* Which names go by which algorithm: [lock PATTERN], [election PATTERN]. */
struct cv_rule {
    char *pattern;
    enum cv_problem problem;
    const struct cv_algorithm *algorithm;
    struct cv_setting *parameters;
    uint64_t delay_ms; /* a lock's: after its holder was lost */
};

/* A line of [members]. */
struct cv_member_setting {
    cv_id id;
    uint32_t attribute;
    char *address; /* for its peers; several are separated by spaces */
    char *client;  /* for clients, or NULL: it is not told */
    bool standby;  /* has no vote */
};

/* [security], and the sections [acl NAME]. */
struct cv_security_settings {
    char *cluster_key;                    /* files; NULL: none */
    char *ca, *certificate, *private_key; /* all or none */
    char *crl;                            /* only with them; NULL: no certificate is revoked */
    bool plaintext;                       /* also off loopback */
    unsigned socket_mode;
    uint64_t handshake_ms;
    uint64_t most_strangers, most_strangers_each; /* connections that have not proved who they are; of one address */
    struct cv_acls acls;
};

/* What an operator sees of a node: /metrics and /healthz, and lines on standard error. */
struct cv_operations_settings {
    char *http;          /* host:port or the path of a socket; NULL: nothing is served */
    bool http_plaintext; /* also off loopback */
    bool log_json, log_given;
    bool level_given;
    bool measures; /* how much of the processor the longest turn of the loop takes */
    enum cv_log_level level;
    enum cv_priority priority;
};

/* [limits]: of what clients can make a node keep. */
struct cv_limits {
    uint64_t observed_each, observed; /* names that a client observes; that all do, each as often as it is observed */
    uint64_t held_each;               /* locks and leaderships of a client */
    uint64_t listings;                /* answers to LOCKS that are put together or sent at the same time */
    uint64_t output_each, output;     /* bytes that a client has yet to read; that all have */
    uint64_t command_ms;              /* from the first byte of a command to its last */
};

struct cv_settings {
    cv_id id;
    bool has_id;
    char *listen[CV_MOST_LISTENERS]; /* for clients: host:port or the path of a socket */
    uint32_t listen_count;
    bool joins;      /* a group that is there already */
    bool founds;     /* a group without those who are missing */
    char *directory; /* what has to outlast the process; NULL: nothing */
    char *peers;     /* where the other members connect, a list like that; by default what [members] has for this id */
    uint32_t member_count;
    struct cv_member_setting members[CV_MAX_MEMBERS];
    struct cv_rule election; /* of the coordinator */
    struct cv_rule *rules;
    uint32_t rule_count;
    bool consensus, mode_given; /* views are agreed by Raft */
    char *tie_breaker;          /* of a group of two: a file that both can reach, in place of Raft's log */
    uint64_t lease_ms, drift_ppm, hold_off_ms;
    uint64_t most_voters;
    uint32_t terms_given; /* which of the group's terms it tells, a bit each */
    uint64_t heartbeat_ms, timeout_ms, longest_timeout_ms, bound_ms;
    bool sessions_given;
    uint64_t most_names, most_sessions, client_timeout_ms;
    struct cv_security_settings security;
    struct cv_operations_settings operations;
    struct cv_limits limits;
};

/* Finds an algorithm by name; the settings know no registry. */
typedef const struct cv_algorithm *cv_settings_find(const char *name);

void cv_settings_init(struct cv_settings *settings, cv_settings_find *find);
void cv_settings_free(struct cv_settings *settings);
/* Reads a file. CV_EFILE or CV_EINPUT with a complaint that names the file and the line. */
int cv_settings_read(struct cv_settings *settings, const char *path, cv_settings_find *find,
                     struct cv_complaint *complaint);
/* One of them; `section` and `key` as in the file. */
int cv_settings_set(struct cv_settings *settings, const char *section, const char *key, const char *value,
                    cv_settings_find *find, struct cv_complaint *complaint);
/* What is missing gets its default; what does not fit together is complained about. */
int cv_settings_finish(struct cv_settings *settings, cv_settings_find *find, struct cv_complaint *complaint);

/* ---- settings_security.c ---- */

void cv_security_settings_init(struct cv_security_settings *security);
void cv_security_settings_free(struct cv_security_settings *security);
int cv_security_settings_set(struct cv_security_settings *security, const char *key, const char *value,
                             struct cv_complaint *complaint);
int cv_security_settings_finish(const struct cv_security_settings *security, struct cv_complaint *complaint);

/* ---- settings_operations.c ---- */

/* [node] http, log and log-level: is that one of them? */
bool cv_operations_settings_has(const char *key);
int cv_operations_settings_set(struct cv_operations_settings *operations, const char *key, const char *value,
                               struct cv_complaint *complaint);
/* Whoever asks for a log gets all of it, others only what is wrong. */
void cv_operations_settings_finish(struct cv_operations_settings *operations);
void cv_operations_settings_free(struct cv_operations_settings *operations);

/* ---- settings_limits.c ---- */

void cv_limits_init(struct cv_limits *limits);
int cv_limits_set(struct cv_limits *limits, const char *key, const char *value, struct cv_complaint *complaint);
/* Each of them as the file has it, by number. */
extern const size_t cv_limit_count;
const char *cv_limit_key(const struct cv_limits *limits, size_t key, uint64_t *value);

/* ---- settings.c ---- */

/* Who has a vote, by their places among the members: the first few by id that are no standbys. */
cv_set cv_settings_voters(const struct cv_settings *settings);
/* What of them the whole group has to have alike. */
struct cv_terms cv_settings_terms(const struct cv_settings *settings);

/* The values of an algorithm's parameters, in its order, to be freed. */
int cv_rule_parameters(const struct cv_rule *rule, const struct cv_settings *settings, int64_t **parameters,
                       struct cv_complaint *complaint);

#endif
