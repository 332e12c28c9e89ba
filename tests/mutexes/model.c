// SPDX-License-Identifier: MIT
#include "model.h"

#include <inttypes.h>
#include <string.h>

static const char *const names[] = {"central",       "central-deny",    "lamport",    "maekawa",
                                    "maekawa-plain", "ricart-agrawala", "token-ring", "voting"};

enum which model_find(const char *name)
{
    uint32_t which = 0;
    while (which < UNKNOWN && strcmp(names[which], name) != 0)
        which++;
    return (enum which)which;
}

/* ---- what the formulas are about ---- */

struct facts {
    const struct cv_run *run;
    uint64_t n;
    uint64_t e;     /* entries */
    uint64_t x;     /* of them, those not made by the coordinator */
    uint64_t votes; /* the others' votes they took: K - 1 for each */
    uint64_t m;     /* a majority */
};

static struct facts find_facts(const struct story *story, const struct cv_run *run)
{
    const uint64_t *quorums = run->scenario->group.quorums;
    struct facts facts = {.run = run, .n = story->nodes, .m = story->nodes / 2 + 1};
    for (uint64_t i = 0; i < run->entry_count; i++) {
        const cv_node node = run->entries[i].node;
        facts.e++;
        facts.x += node != story->coordinator;
        facts.votes += quorums ? quorums[node + 1] - quorums[node] - 1 : 0;
    }
    return facts;
}

static uint64_t sent(const struct facts *facts, const char *kind)
{
    const uint32_t which = cv_kind_find(facts->run->scenario->algorithm, kind, strlen(kind));
    return which < CV_MAX_KINDS ? facts->run->count[which] : 0;
}

static char wrong[200];

/* As many of each kind of the list as given, and none besides. */
static const char *each(const struct facts *facts, const char *const *kinds, uint64_t count)
{
    uint64_t total = 0;
    for (; *kinds; kinds++, total += count)
        if (sent(facts, *kinds) != count) {
            snprintf(wrong, sizeof wrong, "%" PRIu64 " messages %s; expected %" PRIu64, sent(facts, *kinds), *kinds,
                     count);
            return wrong;
        }
    if (facts->run->total == total)
        return NULL;
    snprintf(wrong, sizeof wrong, "%" PRIu64 " messages in all; expected %" PRIu64, facts->run->total, total);
    return wrong;
}

static const char *fault(const struct facts *facts, const char *law)
{
    snprintf(wrong, sizeof wrong, "%" PRIu64 " messages for %" PRIu64 " entries of %" PRIu64 " nodes: not so that %s",
             facts->run->total, facts->e, facts->n, law);
    return wrong;
}

/* ---- B1: a request that finds it busy is denied, once ---- */

static const char *deny_messages(const struct facts *facts, enum load load)
{
    const uint64_t denied = sent(facts, "denied");
    if (facts->run->total != 3 * facts->x + denied || sent(facts, "grant") != facts->x)
        return fault(facts, "there are 3 an entry besides the denials");
    if (load == ALONE && denied)
        return fault(facts, "nobody is denied");
    if (load == AT_ONCE && denied + (facts->x == facts->e) != facts->x)
        return fault(facts, "all but the first are denied");
    return denied <= facts->x ? NULL : fault(facts, "nobody is denied twice");
}

/* ---- B5: between 3 and 7 for each vote; a vote given back is given again ---- */

static const char *maekawa_messages(const struct facts *facts, enum load load)
{
    const uint64_t votes = facts->votes, total = facts->run->total, back = sent(facts, "relinquish");
    if (load == ALONE && total != 3 * votes)
        return fault(facts, "each takes 3(K-1)");
    if (sent(facts, "request") != votes || sent(facts, "release") != votes)
        return fault(facts, "every voter is asked once and told once");
    if (sent(facts, "reply") != votes + back || back > sent(facts, "inquire"))
        return fault(facts, "a vote is given again if it was asked for and given back");
    return total >= 3 * votes && total <= 7 * votes ? NULL : fault(facts, "each takes 3(K-1)..7(K-1)");
}

/* ---- B6: every attempt asks m, hears of m and tells m, itself among them ---- */

static const char *voting_messages(const struct facts *facts, enum load load)
{
    const uint64_t asked = sent(facts, "request"), others = facts->m - 1;
    if (load == ALONE && facts->run->total != 3 * others * facts->e)
        return fault(facts, "each takes 3(m-1)");
    if (asked != sent(facts, "grant") + sent(facts, "deny") || asked != sent(facts, "release"))
        return fault(facts, "each attempt takes 3(m-1)");
    return asked >= others * facts->e && (!others || asked % others == 0) ? NULL
                                                                          : fault(facts, "attempts are whole ones");
}

/* ---- B2: the token goes round to the next node that wants it; if all nodes always do, one step for each entry ---- */

static const char *token_messages(const struct facts *facts, const struct story *story, enum load load)
{
    const uint64_t first = facts->e ? facts->run->entries[0].node : 0;
    if (load == ALONE && facts->run->total != first)
        return fault(facts, "it is as many as the token has to go");
    const bool always = !story->request.count && !story->think && story->names == 1;
    const uint64_t steps = facts->n > 1 && facts->e ? facts->e - 1 : 0;
    return always && facts->run->total != steps ? fault(facts, "it is one an entry, but for the first") : NULL;
}

const char *model_messages(enum which which, const struct story *story, const struct cv_run *run, enum load load)
{
    static const char *const central[] = {"request", "grant", "release", NULL};
    static const char *const lamport[] = {"request", "ack", "release", NULL};
    static const char *const ricart_agrawala[] = {"request", "ok", NULL};
    static const char *const maekawa[] = {"request", "reply", "release", NULL};
    const struct facts facts = find_facts(story, run);
    switch (which) {
    case CENTRAL:
        return each(&facts, central, facts.x);
    case CENTRAL_DENY:
        return deny_messages(&facts, load);
    case LAMPORT:
        return each(&facts, lamport, (facts.n - 1) * facts.e);
    case RICART_AGRAWALA:
        return each(&facts, ricart_agrawala, (facts.n - 1) * facts.e);
    case MAEKAWA_PLAIN:
        return each(&facts, maekawa, facts.votes);
    case MAEKAWA:
        return maekawa_messages(&facts, load);
    case VOTING:
        return voting_messages(&facts, load);
    default:
        return token_messages(&facts, story, load);
    }
}

/* ---- delays ---- */

uint64_t model_client_delay(enum which which, const struct story *story, uint32_t node)
{
    switch (which) {
    case CENTRAL:
    case CENTRAL_DENY:
        return node == story->coordinator ? 0 : 2;
    case LAMPORT:
    case RICART_AGRAWALA:
        return story->nodes > 1 ? 2 : 0;
    case TOKEN_RING:
        return node;
    default:
        return 2; /* one's own vote takes as long as the others' */
    }
}

uint64_t model_synchronization_delay(enum which which, const struct story *story, uint32_t one, uint32_t next)
{
    switch (which) {
    case CENTRAL:
    case CENTRAL_DENY:
        return (uint64_t)(one != story->coordinator) + (next != story->coordinator);
    case LAMPORT:
    case RICART_AGRAWALA:
        return 1;
    case TOKEN_RING:
        return next > one ? next - one : story->nodes - one + next;
    case MAEKAWA:
    case MAEKAWA_PLAIN:
        return 2;
    default:
        return 0;
    }
}
