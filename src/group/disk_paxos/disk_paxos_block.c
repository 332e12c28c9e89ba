// SPDX-License-Identifier: MIT
/*
 * A block as bytes, little-endian:
 *
 *     mark 8, version 4, id 4, the other's id 4, lease in milliseconds 4, epoch 8, promised 8, accepted 8,
 *     entry 4, value 4, drift in parts per million 4, longest time to live in seconds 4, a sum of all that 8
 */
#include "group/disk_paxos/disk_paxos_block.h"

#include <string.h>
#include <xxhash.h>

#include "group/bytes.h"
#include "group/disk_paxos/disk_paxos.h"
#include "group/proposal.h"

#define MARK 0x6569742e636e6f63ull /* "conc.tie" */
#define VERSION 4u
#define SUM_AT 64u

static void put_32(unsigned char *at, uint32_t number)
{
    const uint32_t little = htole32(number);
    memcpy(at, &little, sizeof little);
}

static void put_64(unsigned char *at, uint64_t number)
{
    const uint64_t little = htole64(number);
    memcpy(at, &little, sizeof little);
}

uint32_t cv_disk_paxos_pack(const struct cv_proposal *proposal)
{
    return (uint32_t)proposal->members | proposal->coordinator << 8 | proposal->proposer << 16 |
           (uint32_t)proposal->pinned << 24;
}

bool cv_disk_paxos_unpack(uint32_t word, const struct cv_roster *roster, struct cv_proposal *proposal)
{
    *proposal = (struct cv_proposal){
        .members = word & 255, .coordinator = word >> 8 & 255, .proposer = word >> 16 & 255, .pinned = word >> 24 == 1};
    cv_seating_init(&proposal->seating, roster, cv_set_first(CV_DISK_PAXOS_MEMBERS) | cv_set_of(CV_DISK_PAXOS_VOTER),
                    &(const struct cv_terms){{0}});
    return word >> 24 <= 1 && proposal->proposer < CV_DISK_PAXOS_MEMBERS &&
           proposal->coordinator < CV_DISK_PAXOS_MEMBERS && cv_set_has(proposal->members, proposal->coordinator) &&
           proposal->members <= cv_set_first(CV_DISK_PAXOS_MEMBERS);
}

void cv_disk_paxos_write(const struct cv_disk_paxos_block *block, const struct cv_roster *roster, cv_node member,
                         unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES])
{
    memset(bytes, 0, CV_DISK_PAXOS_RECORD_BYTES);
    put_64(bytes, MARK);
    put_32(bytes + 8, VERSION);
    put_32(bytes + 12, roster->ids[member]);
    put_32(bytes + 16, roster->ids[CV_DISK_PAXOS_MEMBERS - 1 - member]);
    put_32(bytes + 20, (uint32_t)(block->lease.length_us / 1000));
    put_64(bytes + 24, block->epoch);
    put_64(bytes + 32, block->promised);
    put_64(bytes + 40, block->accepted);
    if (block->epoch)
        put_32(bytes + 48, cv_disk_paxos_pack(&block->entry));
    if (block->accepted)
        put_32(bytes + 52, cv_disk_paxos_pack(&block->value));
    put_32(bytes + 56, (uint32_t)block->lease.drift_ppm);
    put_32(bytes + 60, block->longest_ttl_s);
    put_64(bytes + SUM_AT, XXH3_64bits(bytes, SUM_AT));
}

static bool is_blank(const unsigned char *bytes)
{
    for (size_t i = 0; i < CV_DISK_PAXOS_RECORD_BYTES; i++)
        if (bytes[i])
            return false;
    return true;
}

const char *cv_disk_paxos_read(const unsigned char bytes[CV_DISK_PAXOS_RECORD_BYTES], const struct cv_roster *roster,
                               cv_node member, struct cv_disk_paxos_block *block)
{
    struct cv_cursor cursor = cv_cursor(bytes, CV_DISK_PAXOS_RECORD_BYTES), sum = cv_cursor(bytes + SUM_AT, 8);
    *block = (struct cv_disk_paxos_block){0};
    if (is_blank(bytes))
        return NULL;
    if (cv_take_64(&cursor) != MARK)
        return "it holds something else";
    if (cv_take_32(&cursor) != VERSION)
        return "another version of this program has written it";
    if (cv_take_64(&sum) != XXH3_64bits(bytes, SUM_AT))
        return "it is damaged";
    if (cv_take_32(&cursor) != roster->ids[member] ||
        cv_take_32(&cursor) != roster->ids[CV_DISK_PAXOS_MEMBERS - 1 - member])
        return "it belongs to another group";
    block->lease.length_us = (uint64_t)cv_take_32(&cursor) * 1000;
    block->epoch = cv_take_64(&cursor);
    block->promised = cv_take_64(&cursor);
    block->accepted = cv_take_64(&cursor);
    const uint32_t entry = cv_take_32(&cursor), value = cv_take_32(&cursor);
    block->lease.drift_ppm = cv_take_32(&cursor);
    block->longest_ttl_s = cv_take_32(&cursor);
    if ((block->epoch && !cv_disk_paxos_unpack(entry, roster, &block->entry)) ||
        (block->accepted && !cv_disk_paxos_unpack(value, roster, &block->value)) || block->accepted > block->promised)
        return "it makes no sense";
    return NULL;
}
