// SPDX-License-Identifier: MIT
#include "sim/arrivals.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"

#define FEW 48u             /* so many are sorted by insertion */
#define MANY 2048u          /* so many are worth longer digits, and fewer passes */
#define DIGIT_BITS 11u      /* of a number, at each pass of the radix sort */
#define SHORT_DIGIT_BITS 7u /* if there are not so many */
#define DENSE_SHARE 4u      /* with a message for every so many nodes, counting is faster than sorting */

void arrivals_init(struct arrivals *arrivals, uint32_t nodes, bool ring, size_t behind)
{
    *arrivals = (struct arrivals){.nodes = nodes, .ring = ring, .behind = behind};
}

void arrivals_free(struct arrivals *arrivals)
{
    free(arrivals->parts);
    free(arrivals->places);
    free(arrivals->starts);
    free(arrivals->numbers);
    free(arrivals->exchanged);
    *arrivals = (struct arrivals){0};
}

/* ---- sorting ---- */

static void insert(uint64_t *numbers, size_t count)
{
    for (size_t i = 1; i < count; i++) {
        const uint64_t it = numbers[i];
        size_t at = i;
        for (; at && numbers[at - 1] >> 32 > it >> 32; at--)
            numbers[at] = numbers[at - 1];
        numbers[at] = it;
    }
}

void arrivals_sort(uint64_t *numbers, uint64_t *exchanged, size_t count, uint32_t width)
{
    if (count <= FEW) {
        insert(numbers, count);
        return;
    }
    uint64_t *from = numbers, *to = exchanged;
    const uint32_t digits = count < MANY ? SHORT_DIGIT_BITS : DIGIT_BITS, mask = (1u << digits) - 1;
    uint32_t starts[1u << DIGIT_BITS];
    for (uint32_t bit = 32; bit < 32 + width; bit += digits) {
        uint32_t sum = 0;
        memset(starts, 0, (mask + 1) * sizeof *starts);
        for (size_t i = 0; i < count; i++)
            starts[from[i] >> bit & mask]++;
        for (uint32_t digit = 0; digit <= mask; digit++) {
            const uint32_t here = starts[digit];
            starts[digit] = sum;
            sum += here;
        }
        for (size_t i = 0; i < count; i++)
            to[starts[from[i] >> bit & mask]++] = from[i];
        uint64_t *swapped = from;
        from = to;
        to = swapped;
    }
    if (from != numbers)
        memcpy(numbers, from, count * sizeof *numbers);
}

static uint32_t bits_of(uint32_t number)
{
    return number ? 32 - (uint32_t)__builtin_clz(number) : 0;
}

/* ---- room ---- */

static int grow_numbers(struct arrivals *arrivals, size_t count)
{
    if (count <= arrivals->number_room)
        return 0;
    const size_t room = count + count / 2;
    free(arrivals->numbers);
    free(arrivals->exchanged);
    arrivals->numbers = malloc(room * sizeof *arrivals->numbers);
    arrivals->exchanged = malloc(room * sizeof *arrivals->exchanged);
    arrivals->number_room = arrivals->numbers && arrivals->exchanged ? room : 0;
    return arrivals->number_room ? 0 : CV_ENOMEM;
}

static int grow_places(struct arrivals *arrivals, size_t count)
{
    if (count <= arrivals->place_room)
        return 0;
    const size_t room = count + count / 2;
    free(arrivals->places);
    arrivals->places = malloc(room * sizeof *arrivals->places);
    arrivals->place_room = arrivals->places ? room : 0;
    return arrivals->places ? 0 : CV_ENOMEM;
}

static int add_part(struct arrivals *arrivals, struct arrivals_part part)
{
    if (arrivals->part_count == arrivals->part_room) {
        const uint32_t room = arrivals->part_room ? arrivals->part_room * 2 : 16;
        struct arrivals_part *parts = realloc(arrivals->parts, room * sizeof *parts);
        if (!parts)
            return CV_ENOMEM;
        arrivals->parts = parts;
        arrivals->part_room = room;
    }
    arrivals->parts[arrivals->part_count++] = part;
    return 0;
}

/* ---- by receiver ---- */

/* Goes from message to message. */
struct cursor {
    const unsigned char *at, *end;
    const unsigned char *begin; /* of the part */
    size_t bytes;               /* of the last message, with what follows it */
    uint32_t part;              /* the number of the next part */
};

/* The next message, or the next row, which is a message to CV_NOBODY, and its place; NULL if there is none. */
static inline const struct cv_message *next_record(const struct arrivals *arrivals, struct cursor *cursor,
                                                   uint32_t *place)
{
    while (cursor->at == cursor->end) {
        if (cursor->part == arrivals->part_count)
            return NULL;
        cursor->at = cursor->begin = arrivals->parts[cursor->part].at;
        cursor->end = arrivals->parts[cursor->part++].end;
    }
    const struct cv_message *message = (const void *)cursor->at;
    *place = (cursor->part - 1) << arrivals->shift | (uint32_t)((size_t)(cursor->at - cursor->begin) / 8);
    cursor->at = arrivals_beyond(cursor->at, cv_message_bytes(message) + arrivals->behind, &cursor->bytes);
    return message;
}

/* The next message that was not struck out, to CV_NOBODY. */
static inline const struct cv_message *next_message(const struct arrivals *arrivals, struct cursor *cursor,
                                                    uint32_t *place)
{
    const struct cv_message *message;
    do
        message = next_record(arrivals, cursor, place);
    while (message && message->to == CV_NOBODY);
    return message;
}

/*
 * In an algorithm of rounds each node often hears of as many others as in the tick before. Then the places can be
 * given without counting. False: some node hears of more, or of fewer.
 */
static bool count_as_before(struct arrivals *arrivals)
{
    const uint32_t *starts = arrivals->starts;
    uint32_t *next = arrivals->starts + arrivals->nodes + 1, *places = arrivals->places, place;
    const struct cv_message *message;
    size_t count = 0;
    cv_node last = 0;
    bool by_sender = !arrivals->ring;
    memcpy(next, starts, arrivals->nodes * sizeof *next);
    for (struct cursor cursor = {0}; (message = next_message(arrivals, &cursor, &place)); count++) {
        const uint32_t at = next[message->to]++;
        if (at == starts[message->to + 1])
            return false;
        places[at] = place;
        by_sender &= message->from >= last;
        last = message->from;
    }
    arrivals->count = count;
    arrivals->by_sender = by_sender;
    return count == starts[arrivals->nodes];
}

/* Many messages: counts those to each receiver, and puts each in its place. */
static int count_out(struct arrivals *arrivals)
{
    const size_t nodes = arrivals->nodes;
    if (!arrivals->starts && !(arrivals->starts = calloc(2 * nodes + 2, sizeof *arrivals->starts)))
        return CV_ENOMEM;
    if (arrivals->steady && count_as_before(arrivals))
        return 0;
    uint32_t *starts = arrivals->starts, *next = starts + nodes + 1, *places = arrivals->places, place, sum = 0;
    const struct cv_message *message;
    cv_node last = 0;
    bool by_sender = !arrivals->ring;
    memset(next, 0, nodes * sizeof *next);
    for (struct cursor cursor = {0}; (message = next_message(arrivals, &cursor, &place));) {
        next[message->to]++;
        by_sender &= message->from >= last;
        last = message->from;
    }
    arrivals->steady = true;
    for (cv_node node = 0; node < nodes; node++) {
        const uint32_t here = next[node];
        arrivals->steady &= starts[node] == sum;
        starts[node] = next[node] = sum;
        sum += here;
    }
    arrivals->steady &= starts[nodes] == sum;
    arrivals->count = starts[nodes] = sum;
    arrivals->by_sender = by_sender;
    for (struct cursor cursor = {0}; (message = next_message(arrivals, &cursor, &place));)
        places[next[message->to]++] = place;
    return 0;
}

/* Few messages: sorts them. */
static int sort_out(struct arrivals *arrivals, size_t most)
{
    if (grow_numbers(arrivals, most))
        return CV_ENOMEM;
    const struct cv_message *message;
    uint32_t place;
    bool sorted = true;
    cv_node last_to = 0, last_from = 0;
    arrivals->by_sender = !arrivals->ring;
    for (struct cursor cursor = {0}; (message = next_message(arrivals, &cursor, &place));) {
        arrivals->numbers[arrivals->count++] = (uint64_t)message->to << 32 | place;
        sorted &= message->to >= last_to;
        arrivals->by_sender &= message->from >= last_from;
        last_to = message->to;
        last_from = message->from;
    }
    if (!sorted)
        arrivals_sort(arrivals->numbers, arrivals->exchanged, arrivals->count, bits_of(arrivals->nodes - 1));
    for (size_t i = 0; i < arrivals->count; i++)
        arrivals->places[i] = (uint32_t)arrivals->numbers[i];
    return 0;
}

/* Makes room for all messages of the parts, and says how many they are at most. */
static int measure(struct arrivals *arrivals, size_t *most)
{
    size_t bytes = 0, longest = 0;
    for (uint32_t i = 0; i < arrivals->part_count; i++) {
        const size_t here = (size_t)(arrivals->parts[i].end - arrivals->parts[i].at);
        bytes += here;
        longest = here > longest ? here : longest;
    }
    *most = bytes / (sizeof(struct cv_message) + arrivals->behind);
    arrivals->shift = 0;
    while (longest / 8 >> arrivals->shift)
        arrivals->shift++;
    arrivals->count = 0;
    if (arrivals->shift + bits_of(arrivals->part_count) > 32)
        return CV_ENOMEM; /* a list of many gigabytes */
    return grow_places(arrivals, *most);
}

static int make(struct arrivals *arrivals)
{
    size_t most;
    if (measure(arrivals, &most))
        return CV_ENOMEM;
    return most > FEW && most >= arrivals->nodes / DENSE_SHARE ? count_out(arrivals) : sort_out(arrivals, most);
}

int arrivals_make(struct arrivals *arrivals, struct arrivals_part part)
{
    arrivals->part_count = 0;
    return add_part(arrivals, part) ? CV_ENOMEM : make(arrivals);
}

static int add_tick(struct arrivals *arrivals, struct calendar *calendar)
{
    struct calendar_list *list = &calendar->near[calendar->now & calendar->mask];
    arrivals->part_count = 0;
    for (struct calendar_part part = calendar_look(list); part.at; part = calendar_look_next(list, part))
        if (add_part(arrivals, (struct arrivals_part){part.at, part.end}))
            return CV_ENOMEM;
    return 0;
}

int arrivals_make_tick(struct arrivals *arrivals, struct calendar *calendar)
{
    return add_tick(arrivals, calendar) ? CV_ENOMEM : make(arrivals);
}

/* ---- all by sender ---- */

/* Many: counts those of each sender, and puts each in its place. */
static int count_rows(struct arrivals *arrivals)
{
    const size_t nodes = arrivals->nodes;
    if (!arrivals->starts && !(arrivals->starts = calloc(2 * nodes + 2, sizeof *arrivals->starts)))
        return CV_ENOMEM;
    uint32_t *next = arrivals->starts, place, sum = 0;
    const struct cv_message *message;
    memset(next, 0, nodes * sizeof *next);
    for (struct cursor cursor = {0}; (message = next_record(arrivals, &cursor, &place));)
        next[message->from]++;
    for (cv_node node = 0; node < nodes; node++) {
        const uint32_t here = next[node];
        next[node] = sum;
        sum += here;
    }
    for (struct cursor cursor = {0}; (message = next_record(arrivals, &cursor, &place));)
        arrivals->places[next[message->from]++] = place;
    arrivals->count = sum;
    return 0;
}

/* Few: sorts them. */
static int sort_rows(struct arrivals *arrivals, size_t most)
{
    const struct cv_message *message;
    uint32_t place;
    if (grow_numbers(arrivals, most))
        return CV_ENOMEM;
    for (struct cursor cursor = {0}; (message = next_record(arrivals, &cursor, &place));)
        arrivals->numbers[arrivals->count++] = (uint64_t)message->from << 32 | place;
    arrivals_sort(arrivals->numbers, arrivals->exchanged, arrivals->count, bits_of(arrivals->nodes - 1));
    for (size_t i = 0; i < arrivals->count; i++)
        arrivals->places[i] = (uint32_t)arrivals->numbers[i];
    return 0;
}

int arrivals_make_rows(struct arrivals *arrivals, struct calendar *calendar)
{
    size_t most;
    if (add_tick(arrivals, calendar) || measure(arrivals, &most))
        return CV_ENOMEM;
    return most > FEW && most >= arrivals->nodes / DENSE_SHARE ? count_rows(arrivals) : sort_rows(arrivals, most);
}

/* ---- each receiver's by sender ---- */

static uint32_t sender(const struct arrivals *arrivals, size_t index)
{
    const struct cv_message *message = arrivals_message(arrivals, index);
    return cv_arrival_rank(arrivals->nodes, arrivals->ring, message->to, message->from);
}

static int sort_group(struct arrivals *arrivals, size_t first, size_t end)
{
    const size_t count = end - first;
    if (grow_numbers(arrivals, count))
        return CV_ENOMEM;
    for (size_t i = 0; i < count; i++)
        arrivals->numbers[i] = (uint64_t)sender(arrivals, first + i) << 32 | arrivals->places[first + i];
    arrivals_sort(arrivals->numbers, arrivals->exchanged, count, bits_of(arrivals->nodes - 1));
    for (size_t i = 0; i < count; i++)
        arrivals->places[first + i] = (uint32_t)arrivals->numbers[i];
    return 0;
}

size_t arrivals_group(struct arrivals *arrivals, size_t first)
{
    const cv_node to = arrivals_message(arrivals, first)->to;
    size_t end = first + 1;
    bool sorted = true;
    for (uint32_t last = sender(arrivals, first); end < arrivals->count; end++) {
        const struct cv_message *message = arrivals_message(arrivals, end);
        if (message->to != to)
            break;
        const uint32_t here = cv_arrival_rank(arrivals->nodes, arrivals->ring, to, message->from);
        sorted &= here >= last;
        last = here;
    }
    return sorted || !sort_group(arrivals, first, end) ? end : 0;
}
