// SPDX-License-Identifier: MIT
#include "group/raft/agreement_state.h"

#include "group/raft/agreement_parts.h"

/* libraft applies its entries again after a restart. */
static int remember(struct cv_agreement *agreement, uint64_t index, const void *bytes, size_t length)
{
    if (index <= agreement->last_index)
        return 0;
    agreement->last.length = 0;
    cv_put_bytes(&agreement->last, bytes, length);
    agreement->last_index = index;
    if (!agreement->last.broken && agreement_tell_entry(agreement, index, bytes, length))
        return 0;
    agreement_fail(agreement, cv_error_text(CV_ENOMEM)); /* libraft would not ask again */
    return RAFT_NOMEM;
}

static int apply(struct raft_fsm *fsm, const struct raft_buffer *entry, void **result)
{
    struct cv_agreement *agreement = fsm->data;
    *result = NULL;
    return remember(agreement, raft_last_applied(&agreement->raft) + 1, entry->base, entry->len);
}

/*
 * Is there a change of members after the last applied entry? libraft's configuration_uncommitted_index does not tell:
 * at its start libraft takes the last change in its log for agreed.
 */
static bool members_may_change(const struct cv_agreement *agreement)
{
    const struct cv_journal *log = &agreement->mirror;
    for (size_t i = log->count; i > 0 && log->first + i - 1 > agreement->raft.last_applied; i--) {
        if (log->entries[i - 1].type == RAFT_CHANGE)
            return true;
    }
    return agreement->raft.configuration_uncommitted_index != 0;
}

static int snapshot(struct raft_fsm *fsm, struct raft_buffer *parts[], unsigned *count)
{
    struct cv_agreement *agreement = fsm->data;
    /* libraft would store its present members even if they are not agreed yet. It asks again later. */
    if (members_may_change(agreement))
        return RAFT_BUSY;
    struct raft_buffer *part = raft_malloc(sizeof *part);
    unsigned char *bytes = raft_malloc(8 + agreement->last.length);
    if (!part || !bytes) {
        raft_free(part);
        raft_free(bytes);
        return RAFT_NOMEM;
    }
    const uint64_t index = htole64(agreement->last_index);
    memcpy(bytes, &index, sizeof index);
    if (agreement->last.length > 0)
        memcpy(bytes + 8, agreement->last.bytes, agreement->last.length);
    *part = (struct raft_buffer){.base = bytes, .len = 8 + agreement->last.length};
    *parts = part;
    *count = 1;
    return 0;
}

static int restore(struct raft_fsm *fsm, struct raft_buffer *part)
{
    struct cv_agreement *agreement = fsm->data;
    struct cv_cursor cursor = cv_cursor(part->base, part->len);
    const uint64_t index = cv_take_64(&cursor);
    if (cursor.broken || cursor.left > CV_AGREEMENT_ENTRY_BYTES)
        return RAFT_MALFORMED;
    const int error = remember(agreement, index, cursor.at, cursor.left);
    if (error == 0)
        raft_free(part->base);
    return error;
}

void agreement_state_init(struct cv_agreement *agreement)
{
    agreement->fsm = (struct raft_fsm){
        .version = 1,
        .data = agreement,
        .apply = apply,
        .snapshot = snapshot,
        .restore = restore,
    };
}
