// SPDX-License-Identifier: MIT
/*
 * What the group remembers of one name of a recipe: a few numbers, and entries that belong to clients. Flat bytes on
 * disk and between members. service/replica.h keeps the same at all members.
 */
#ifndef CONCLAVE_SERVICE_RECIPE_STATE_H
#define CONCLAVE_SERVICE_RECIPE_STATE_H

#include <conclave/algorithm.h>

#include "core/error.h"
#include "core/kept_text.h"
#include "group/bytes.h"
#include "service/peer_notice.h"

#define RECIPE_NUMBERS 4u
#define RECIPE_BYTES PEER_NOTICE_PAGE_BYTES /* of the longest state as it is sent */
#define RECIPE_ROOM ((size_t)1400)          /* that one more entry may need, with its texts */

/* What a name stands for. Each recipe has names of its own. */
enum recipe { RECIPE_LATCH, RECIPE_ONCE, RECIPE_BARRIER, RECIPE_MEMBERS, RECIPES };

enum recipe_role {
    ROLE_NONE,
    ROLE_APPLIED,  /* this order of the node is carried out; `number` is its result */
    ROLE_ARRIVED,  /* barrier: it waits for the others */
    ROLE_ENTERING, /* barrier: the same, and it will be inside */
    ROLE_PASSED,   /* barrier: it has met the others, in the meeting `number` */
    ROLE_INSIDE,   /* double barrier: since the meeting `number` */
    ROLE_LEAVING,  /* double barrier: it waits for the others to leave, too */
    ROLE_MEMBER,   /* of the name; `number` tells in which order they joined */
    ROLE_RUNS,     /* once: it does it now, under the fence `number`, since `time_ms` */
    ROLES
};

struct recipe_entry {
    enum recipe_role role;
    cv_id node;
    uint64_t process; /* of that node: each start has another number */
    uint64_t session; /* as that node counts them */
    uint64_t ticket;  /* of the order that made the entry */
    uint64_t number;
    uint64_t time_ms;
    struct cv_kept_text *client; /* the name that the client has given itself, or NULL */
    struct cv_kept_text *value;  /* that a member shows, or NULL */
};

struct recipe_state {
    uint64_t numbers[RECIPE_NUMBERS]; /* each recipe has its own */
    struct cv_kept_text *who;         /* once: the client that did it last, or NULL */
    struct recipe_entry *entries;     /* in the order in which they came */
    uint32_t count, room;
};

void recipe_state_free(struct recipe_state *state);
/* Makes room for so many more entries. False: no memory. */
bool recipe_state_reserve(struct recipe_state *state, uint32_t more);
/* Takes over the texts. There is room. */
void recipe_state_add(struct recipe_state *state, const struct recipe_entry *entry);
/* The order of the others stays. */
void recipe_state_remove(struct recipe_state *state, uint32_t which);
/* The first entry of that role and session; NULL: there is none. */
struct recipe_entry *recipe_state_find(const struct recipe_state *state, enum recipe_role role, cv_id node,
                                       uint64_t process, uint64_t session);
uint32_t recipe_state_count(const struct recipe_state *state, enum recipe_role role);
/* Is there nothing to remember, but for orders that are carried out? */
bool recipe_state_is_empty(const struct recipe_state *state);

/* False: no memory. */
bool recipe_state_write(const struct recipe_state *state, struct cv_buffer *bytes);
/* Replaces the state. 0, or it stays as it was: CV_EINPUT, the bytes are no state; CV_ENOMEM. */
int recipe_state_read(struct recipe_state *state, struct cv_text bytes);

#endif
