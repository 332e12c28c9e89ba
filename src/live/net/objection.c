// SPDX-License-Identifier: MIT
#include "live/net/objection.h"

#include "live/net/connection.h"

#define RECENT_US 15000000u
#define OLD_NEWS_BEATS 4u /* the last words of a process that ended are here after so many heartbeats */

const char *refusal_text(enum cv_refusal why)
{
    static const char *const texts[CV_REFUSALS] = {
        [CV_REFUSAL_REMOVED] = "it does not belong to the group any more",
        [CV_REFUSAL_MODE] = "its [group] mode is another one",
        [CV_REFUSAL_GROUP] = "it belongs to another group",
        [CV_REFUSAL_RECOVERED] = "it belongs to the group as it was before its recovery; conclave replace",
        [CV_REFUSAL_EMPTY] = "its directory is empty, and that of the member was not; conclave replace",
        [CV_REFUSAL_DIRECTORY] = "its directory is another one than that of the member; conclave replace",
        [CV_REFUSAL_RESTORED] = "its directory is an old copy of that of the member; conclave replace",
        [CV_REFUSAL_DUPLICATE] = "two processes have this id; end one of them",
        [CV_REFUSAL_OCCUPIED] = "another process with this id is connected",
        [CV_REFUSAL_MEMBERS] = "it lists other [members], and no group is founded yet",
        [CV_REFUSAL_UNDECIDED] = "its directory is empty, and this node has yet to learn who belongs to the group",
        [CV_REFUSAL_RULES] = "its rules for locks and elections differ; see INFO configuration",
    };
    return why < CV_REFUSALS && texts[why] ? texts[why] : "this version does not know the reason";
}

const char *cv_peer_objection(const struct cv_peer *peer)
{
    return peer->objection > CV_REFUSAL_REMOVED && cv_loop_now() < peer->objected_us + RECENT_US
               ? refusal_text(peer->objection)
               : NULL;
}

struct cv_frame peers_refusal(const struct cv_peers *peers, cv_id to, enum cv_refusal why)
{
    const struct cv_roster *roster = peers->roster;
    return (struct cv_frame){.type = CV_FRAME_HELLO,
                             .group = roster->group,
                             .from = roster->ids[roster->me],
                             .to = to,
                             .stream = (uint64_t)roster->generation + 1,
                             .mode = roster->mode,
                             .refusal = why,
                             .rules = peers->rules};
}

/*
 * Of two processes with one id, the one that is connected and speaks stays. The other may be its successor, and faster
 * than the news of its end. It must try again until the first is gone, or was heard so much later that it is alive.
 */
static enum cv_refusal judge_process(struct cv_peer *peer, const struct cv_frame *hello)
{
    const uint32_t process = (uint32_t)(hello->stream >> 32);
    const uint64_t patience_us = OLD_NEWS_BEATS * peer->peers->heartbeat_us;
    if (process == peer->process || !peer->greeted)
        return CV_REFUSAL_NONE;
    if (process == peer->before)
        return CV_REFUSAL_DUPLICATE; /* it was missing, and another has taken its place */
    if (process != peer->rival) {
        peer->rival = process;
        peer->rival_us = cv_loop_now();
    }
    return peer->detector.last_us > peer->rival_us + patience_us ? CV_REFUSAL_DUPLICATE : CV_REFUSAL_OCCUPIED;
}

/* Of the same group: is it the directory that the group remembers, and has it lost nothing since? */
static enum cv_refusal judge_directory(const struct cv_known_directory *known, const struct cv_frame *hello)
{
    if (!known->directory)
        return CV_REFUSAL_NONE;
    if (known->directory != hello->directory)
        return CV_REFUSAL_DIRECTORY;
    if (hello->starts < known->starts || hello->stored < known->kept)
        return CV_REFUSAL_RESTORED;
    return CV_REFUSAL_NONE;
}

static enum cv_refusal judge_group(const struct cv_peers *peers, const struct cv_peer *peer,
                                   const struct cv_frame *hello)
{
    const struct cv_roster *roster = peers->roster;
    const struct cv_known_directory *known = &roster->known[peer->node];
    const uint64_t mine = peers->self.members, theirs = hello->members;
    if (!roster->group && !hello->group)
        return mine && theirs && mine != theirs ? CV_REFUSAL_MEMBERS : CV_REFUSAL_NONE;
    if (!roster->group)
        return CV_REFUSAL_NONE; /* the other knows whether this node may belong to its group */
    if (!hello->group && !roster->vouches)
        return CV_REFUSAL_UNDECIDED;
    if (!hello->group)
        return known->directory && known->directory != hello->directory ? CV_REFUSAL_EMPTY : CV_REFUSAL_NONE;
    if (hello->group != roster->group)
        return hello->group == roster->former ? CV_REFUSAL_RECOVERED : CV_REFUSAL_GROUP;
    return judge_directory(known, hello);
}

enum cv_refusal peers_objection(const struct cv_peers *peers, const struct cv_frame *hello)
{
    const struct cv_roster *roster = peers->roster;
    struct cv_peer *peer = peers_of(peers, hello->from);
    const cv_id me = roster->ids[roster->me];
    if (hello->to != me || hello->from == me)
        return CV_REFUSAL_NONE; /* it looks for another node, and is refused for that */
    if (!peer)
        return roster->generation && hello->group == roster->group ? CV_REFUSAL_REMOVED : CV_REFUSAL_NONE;
    if (hello->mode != roster->mode)
        return CV_REFUSAL_MODE;
    const enum cv_refusal why = roster->mode == CV_MODE_RAFT    ? judge_group(peers, peer, hello)
                                : hello->group != roster->group ? CV_REFUSAL_GROUP
                                                                : CV_REFUSAL_NONE;
    if (!why && hello->rules != peers->rules)
        return CV_REFUSAL_RULES;
    return why ? why : judge_process(peer, hello);
}
