// SPDX-License-Identifier: MIT
#include "core/sha1.h"

#include <stdio.h>
#include <string.h>

#define BLOCK_BYTES 64u
#define LENGTH_BYTES 8u /* at the end of the last block: how many bits there were */

static uint32_t rotate(uint32_t word, unsigned by)
{
    return word << by | word >> (32 - by);
}

/* Section 6.1.2 of the standard, with its names. */
static void hash_block(uint32_t h[5], const unsigned char *block)
{
    uint32_t w[80];
    for (unsigned t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 | (uint32_t)block[4 * t + 2] << 8 |
               block[4 * t + 3];
    for (unsigned t = 16; t < 80; t++)
        w[t] = rotate(w[t - 3] ^ w[t - 8] ^ w[t - 14] ^ w[t - 16], 1);
    uint32_t a = h[0], b = h[1], c = h[2], d = h[3], e = h[4];
    for (unsigned t = 0; t < 80; t++) {
        static const uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        const uint32_t f = t < 20 ? (b & c) | (~b & d) : t < 40 || t >= 60 ? b ^ c ^ d : (b & c) | (b & d) | (c & d);
        const uint32_t next = rotate(a, 5) + f + e + k[t / 20] + w[t];
        e = d;
        d = c;
        c = rotate(b, 30);
        b = a;
        a = next;
    }
    h[0] += a;
    h[1] += b;
    h[2] += c;
    h[3] += d;
    h[4] += e;
}

struct cv_sha1 cv_sha1(struct cv_text text)
{
    uint32_t h[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    const unsigned char *at = (const unsigned char *)text.start;
    size_t left = text.length;
    for (; left >= BLOCK_BYTES; left -= BLOCK_BYTES, at += BLOCK_BYTES)
        hash_block(h, at);
    unsigned char end[2 * BLOCK_BYTES] = {0};
    const size_t bytes = left + 1 + LENGTH_BYTES <= BLOCK_BYTES ? BLOCK_BYTES : sizeof end;
    if (left)
        memcpy(end, at, left);
    end[left] = 0x80;
    for (unsigned i = 0; i < LENGTH_BYTES; i++)
        end[bytes - 1 - i] = (unsigned char)((uint64_t)text.length * 8 >> 8 * i);
    for (size_t i = 0; i < bytes; i += BLOCK_BYTES)
        hash_block(h, end + i);
    struct cv_sha1 result;
    snprintf(result.hex, sizeof result.hex, "%08x%08x%08x%08x%08x", h[0], h[1], h[2], h[3], h[4]);
    return result;
}
