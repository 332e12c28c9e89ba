// SPDX-License-Identifier: MIT
/* What is agreed on, as bytes: version 1, flags 1, unused 2, coordinator 4, proposer 4, members 4 each. */
#include <endian.h>
#include <string.h>

#include "group/assembly.h"

#define VERSION 1u
#define HEAD_BYTES 12u
#define PINNED 1u

static void put(unsigned char *at, uint32_t number)
{
    const uint32_t little = htole32(number);
    memcpy(at, &little, sizeof little);
}

static uint32_t get(const unsigned char *at)
{
    uint32_t little;
    memcpy(&little, at, sizeof little);
    return le32toh(little);
}

static cv_node node_of(const struct cv_roster *roster, cv_id id)
{
    for (cv_node node = 0; node < roster->count; node++)
        if (roster->ids[node] == id)
            return node;
    return CV_NOBODY;
}

size_t cv_proposal_write(const struct cv_proposal *proposal, const struct cv_roster *roster,
                         unsigned char bytes[CV_PROPOSAL_BYTES])
{
    size_t length = HEAD_BYTES;
    memset(bytes, 0, HEAD_BYTES);
    bytes[0] = VERSION;
    bytes[1] = proposal->pinned ? PINNED : 0;
    put(bytes + 4, roster->ids[proposal->coordinator]);
    put(bytes + 8, roster->ids[proposal->proposer]);
    for (cv_node node = 0; node < roster->count; node++)
        if (cv_set_has(proposal->members, node)) {
            put(bytes + length, roster->ids[node]);
            length += 4;
        }
    return length;
}

bool cv_proposal_read(const void *bytes, size_t length, const struct cv_roster *roster, struct cv_proposal *proposal)
{
    const unsigned char *at = bytes;
    if (length <= HEAD_BYTES || length > CV_PROPOSAL_BYTES || length % 4 || at[0] != VERSION)
        return false;
    *proposal = (struct cv_proposal){.pinned = at[1] & PINNED,
                                     .coordinator = node_of(roster, get(at + 4)),
                                     .proposer = node_of(roster, get(at + 8))};
    for (size_t i = HEAD_BYTES; i < length; i += 4) {
        const cv_node node = node_of(roster, get(at + i));
        if (node != CV_NOBODY)
            proposal->members |= cv_set_of(node);
    }
    /* A group that this node does not know cannot be its own. */
    if (proposal->coordinator == CV_NOBODY || proposal->proposer == CV_NOBODY)
        proposal->members = 0;
    return true;
}
