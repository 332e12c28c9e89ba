// SPDX-License-Identifier: MIT
/* The fuzzer's bytes as a row of choices: numbers that are mostly small, often at an edge, and sometimes anything. */
#ifndef CONCLAVE_FUZZ_INPUT_H
#define CONCLAVE_FUZZ_INPUT_H

#include "fuzz/fuzz.h"

struct input {
    const uint8_t *at;
    size_t left;
};

static inline uint8_t input_byte(struct input *input)
{
    if (!input->left)
        return 0;
    input->left--;
    return *input->at++;
}

static inline uint32_t input_below(struct input *input, uint32_t limit)
{
    return input_byte(input) % limit;
}

static inline uint64_t input_raw(struct input *input)
{
    uint64_t number = 0;
    for (int i = 0; i < 8; i++)
        number = number << 8 | input_byte(input);
    return number;
}

/* Near `likely`, small, at the end of a range, or anything. */
static inline uint64_t input_number(struct input *input, uint64_t likely)
{
    const uint8_t way = input_byte(input);
    switch (way % 8) {
    case 0:
        return way / 8;
    case 1:
        return UINT64_MAX - way / 8;
    case 2:
        return UINT32_MAX - way / 8;
    case 3:
        return input_raw(input) >> way / 8;
    default:
        return likely + way / 8 % 4 - 1;
    }
}

#endif
