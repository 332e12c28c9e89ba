// SPDX-License-Identifier: MIT
/* The settings of a node, from a file or by default. */
#ifndef CONCLAVE_LIVE_SETTINGS_SETTINGS_H
#define CONCLAVE_LIVE_SETTINGS_SETTINGS_H

#include "core/error.h"
#include "group/terms.h"
#include "live/settings/settings_limits.h"
#include "live/settings/settings_operations.h"
#include "live/settings/settings_security.h"
#include "secure/digest.h"

#define CV_MOST_LISTENERS 4u
#define CV_MOST_ADDRESSES 4u  /* of a member, for its peers */
#define CV_ADDRESS_BYTES 256u /* of all these together, and of an address for clients */
#define CV_DEFAULT_PORT 7700u

/* A parameter of an algorithm, as written in the file. */
struct cv_setting {
    struct cv_setting *next;
    char *key, *value;
};

/* An algorithm that was found by its name, or loaded from the file of that path. */
struct cv_found_algorithm {
    const struct cv_algorithm *algorithm; /* NULL: none */
    const char *file;                     /* its path; NULL: it is built in. Never freed */
    struct cv_digest digest;              /* of that file */
};

/* The algorithm for names of a pattern: [lock PATTERN], [election PATTERN]. */
struct cv_rule {
    char *pattern;
    enum cv_problem problem;
    struct cv_found_algorithm found;
    struct cv_setting *parameters;
    uint64_t delay_ms; /* how long a lock stays closed after its holder was lost */
};

/* A line of [members]. */
struct cv_member_setting {
    cv_id id;
    uint32_t attribute;
    char *address; /* for its peers; spaces separate several */
    char *client;  /* for clients; NULL: not given */
    bool standby;  /* the member never votes */
};

struct cv_settings {
    const char *path; /* of the file that is being read; NULL: none */
    cv_id id;
    bool has_id;
    char *listen[CV_MOST_LISTENERS]; /* for clients: host:port or the path of a socket */
    uint32_t listen_count;
    bool joins;      /* this node joins an existing group */
    bool founds;     /* this node may found a group without the missing members */
    char *directory; /* for what has to outlast the process; NULL: nothing does */
    char *peers;     /* where other members connect; spaces separate several; by default as in [members] */
    uint32_t member_count;
    struct cv_member_setting members[CV_MAX_MEMBERS];
    struct cv_rule election; /* of the coordinator */
    struct cv_rule *rules;
    uint32_t rule_count;
    bool consensus;    /* members agree on views */
    bool mode_given;   /* the file says how views are made */
    char *tie_breaker; /* of a group of two: a file that both can reach, instead of Raft's log */
    uint64_t lease_ms, drift_ppm, hold_off_ms;
    uint64_t most_voters;
    uint32_t terms_given; /* the group's terms that the file sets, a bit each */
    uint64_t heartbeat_ms, timeout_ms, longest_timeout_ms, bound_ms;
    bool sessions_given;
    bool names_given;
    uint64_t most_names, most_sessions, client_timeout_ms;
    struct cv_security_settings security;
    struct cv_operations_settings operations;
    struct cv_limits limits;
};

/*
 * Finds an algorithm by its name, or, if that has a slash, loads it; the settings know neither registry nor files. None
 * of that name: nothing is found, and no complaint. A file that cannot be used: CV_EINPUT with a complaint.
 */
typedef int cv_settings_find(const char *name, struct cv_found_algorithm *found, struct cv_complaint *complaint);

void cv_settings_init(struct cv_settings *settings, cv_settings_find *find);
void cv_settings_free(struct cv_settings *settings);
/* Sets one setting, with `section` and `key` as in the file. */
int cv_settings_set(struct cv_settings *settings, const char *section, const char *key, const char *value,
                    cv_settings_find *find, struct cv_complaint *complaint);
/* Fills in defaults, and complains of settings that do not fit together. */
int cv_settings_finish(struct cv_settings *settings, cv_settings_find *find, struct cv_complaint *complaint);

/* ---- settings.c ---- */

/* The places of the members that vote: those with the lowest ids that are no standbys. */
cv_set cv_settings_voters(const struct cv_settings *settings);
/* The settings that are the same for the whole group. */
struct cv_terms cv_settings_terms(const struct cv_settings *settings);

/* The values of an algorithm's parameters, in its order. The caller frees them. */
int cv_rule_parameters(const struct cv_rule *rule, const struct cv_settings *settings, int64_t **parameters,
                       struct cv_complaint *complaint);

#endif
