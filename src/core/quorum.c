// SPDX-License-Identifier: MIT
#include "core/quorum.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/reader.h"

void cv_quorums_free(struct cv_quorums *quorums)
{
    free(quorums->starts);
    free(quorums->voters);
    *quorums = (struct cv_quorums){0};
}

/* ---- building, set by set in node order ---- */

struct builder {
    struct cv_quorums *quorums;
    uint64_t used, room;
    bool out_of_memory;
};

static int begin(struct builder *builder, struct cv_quorums *quorums, uint32_t nodes)
{
    *quorums = (struct cv_quorums){.nodes = nodes, .starts = calloc((size_t)nodes + 1, sizeof *quorums->starts)};
    *builder = (struct builder){.quorums = quorums};
    return quorums->starts ? 0 : CV_ENOMEM;
}

static void add(struct builder *builder, cv_node voter)
{
    if (builder->used == builder->room) {
        const uint64_t room = builder->room ? builder->room * 2 : 64;
        cv_node *voters = realloc(builder->quorums->voters, room * sizeof *voters);
        if (!voters) {
            builder->out_of_memory = true;
            return;
        }
        builder->quorums->voters = voters;
        builder->room = room;
    }
    builder->quorums->voters[builder->used++] = voter;
}

static int ascending(const void *left, const void *right)
{
    const cv_node x = *(const cv_node *)left, y = *(const cv_node *)right;
    return (x > y) - (x < y);
}

/* The set of a node is complete. */
static void close_set(struct builder *builder, cv_node node)
{
    struct cv_quorums *quorums = builder->quorums;
    const uint64_t first = quorums->starts[node], count = builder->used - first;
    if (count)
        qsort(quorums->voters + first, count, sizeof *quorums->voters, ascending);
    quorums->starts[node + 1] = builder->used;
}

/* ---- shapes ---- */

/* The arrangement of the members. Places count from 0. */
struct shape {
    uint32_t count;
    uint32_t side;   /* of a grid */
    uint32_t *line;  /* of a plane: the places on its first line, counted from its owner */
    uint32_t points; /* points on that line */
};

static uint32_t grid_side(uint32_t count)
{
    uint32_t side = 1;
    while ((uint64_t)side * side < count)
        side++;
    return side;
}

/*
 * A member's row and column, in rows of `side` of which only the last may be shorter. Two sets meet where the row of
 * the one crosses the column of the other. That crossing is missing only if the row is the short one and the column
 * ends above it; but a member of the short row has a column that runs through all rows, the other's among them.
 */
static void add_row_and_column(struct builder *builder, const struct shape *grid, uint32_t place,
                               const cv_node *members)
{
    const uint32_t first = place - place % grid->side;
    const uint32_t end = grid->count - first < grid->side ? grid->count : first + grid->side;
    for (uint32_t other = first; other < end; other++)
        add(builder, members ? members[other] : other);
    for (uint64_t other = place % grid->side; other < grid->count; other += grid->side)
        if (other != place)
            add(builder, members ? members[other] : (cv_node)other);
}

/* The prime of which a number is a power; 0 if there is none. */
static uint32_t prime_of(uint32_t number)
{
    uint32_t divisor = 2;
    while ((uint64_t)divisor * divisor <= number && number % divisor)
        divisor++;
    const uint32_t prime = number % divisor ? number : divisor;
    while (number > 1 && number % prime == 0)
        number /= prime;
    return number == 1 && prime > 1 ? prime : 0;
}

/* The order q of a plane of that many points, q² + q + 1; 0 if we can make no such plane. */
static uint32_t plane_order(uint32_t count)
{
    for (uint64_t order = 1; order * order + order + 1 <= count; order++)
        if (order * order + order + 1 == count && (order == 1 || prime_of((uint32_t)order)))
            return (uint32_t)order;
    return 0;
}

/*
 * The field of q elements, a power of a prime p. An element is a polynomial over the numbers modulo p; its coefficients
 * are the digits of its number in base p. All but 0 are powers of one element.
 */
struct field {
    uint32_t order, prime;
    uint32_t *power;    /* of that element, by exponent */
    uint32_t *exponent; /* by power: its exponent */
};

static uint32_t field_add(const struct field *field, uint32_t one, uint32_t other)
{
    uint32_t sum = 0;
    for (uint32_t place = 1; one || other; place *= field->prime) {
        sum += (one + other) % field->prime * place;
        one /= field->prime;
        other /= field->prime;
    }
    return sum;
}

static uint32_t field_multiply(const struct field *field, uint32_t one, uint32_t other)
{
    if (!one || !other)
        return 0;
    return field->power[((uint64_t)field->exponent[one] + field->exponent[other]) % (field->order - 1)];
}

/* The powers of x, where x to the degree is `rest`. True if they are all elements but 0. */
static bool field_powers(struct field *field, uint32_t rest)
{
    const uint32_t top = field->order / field->prime;
    uint32_t power = 1;
    for (uint32_t exponent = 0; exponent < field->order - 1; exponent++) {
        if (exponent && power == 1)
            return false;
        field->power[exponent] = power;
        field->exponent[power] = exponent;
        uint32_t next = power % top * field->prime;
        for (uint32_t times = power / top; times; times--)
            next = field_add(field, next, rest);
        power = next;
    }
    return power == 1;
}

static bool field_make(struct field *field, uint32_t order)
{
    *field = (struct field){.order = order, .prime = prime_of(order)};
    field->power = calloc(order, sizeof *field->power);
    field->exponent = calloc(order, sizeof *field->exponent);
    uint32_t rest = 1;
    while (field->power && field->exponent && !field_powers(field, rest))
        rest++;
    return field->power && field->exponent;
}

static void field_free(struct field *field)
{
    free(field->power);
    free(field->exponent);
}

/*
 * Takes the powers of x in the field of polynomials over the field of q elements, where x³ = c₂x² + c₁x + c₀, until one
 * is a constant, and notes the exponents of those without an x² part. True if the first constant is the power `count`.
 */
static bool powers_on_a_line(const struct field *field, uint32_t count, const uint32_t c[3], uint32_t *line)
{
    uint32_t power[3] = {1, 0, 0};
    uint32_t points = 0;
    for (uint32_t exponent = 0; exponent < count; exponent++) {
        if (exponent && !power[1] && !power[2])
            return false;
        if (!power[2] && points <= field->order)
            line[points++] = exponent;
        const uint32_t top = power[2];
        power[2] = field_add(field, power[1], field_multiply(field, c[2], top));
        power[1] = field_add(field, power[0], field_multiply(field, c[1], top));
        power[0] = field_multiply(field, c[0], top);
    }
    return !power[1] && !power[2];
}

/*
 * A projective plane that looks the same from each of its points (J. Singer, 1938). Its N = q² + q + 1 points are the
 * polynomials a + bx + cx² except 0; polynomials that differ by a factor are one point. Its lines are the planes
 * through 0. If x is well chosen, its powers 1, x, … x^(N−1) are all the points, and multiplication by x maps each
 * point and each line to the next. So if D are the exponents of the powers on one line, the lines are D + i modulo N.
 * Any two of them meet. 1 has no x² part, so 0 is in D, and i is in the line D + i, its own set.
 */
static int draw_line(struct shape *plane, uint32_t order)
{
    struct field field = {0};
    plane->points = order + 1;
    plane->line[0] = 0;
    if (order == 1) {
        plane->line[1] = 1; /* a triangle */
        return 0;
    }
    bool found = false;
    const bool made = field_make(&field, order);
    for (uint32_t c2 = 0; made && c2 < order && !found; c2++)
        for (uint32_t c1 = 0; c1 < order && !found; c1++)
            for (uint32_t c0 = 1; c0 < order && !found; c0++)
                found = powers_on_a_line(&field, plane->count, (const uint32_t[]){c0, c1, c2}, plane->line);
    field_free(&field);
    assert((found || !made) && "every power of a prime has its plane");
    return made ? 0 : CV_ENOMEM;
}

static void add_line(struct builder *builder, const struct shape *plane, uint32_t place, const cv_node *members)
{
    for (uint32_t i = 0; i < plane->points; i++) {
        const uint32_t other = (uint32_t)(((uint64_t)place + plane->line[i]) % plane->count);
        add(builder, members ? members[other] : other);
    }
}

static int prepare(struct shape *shape, const char *name, struct cv_complaint *complaint)
{
    if (strcmp(name, "grid") == 0) {
        shape->side = grid_side(shape->count);
        return 0;
    }
    if (strcmp(name, "plane") != 0)
        return cv_complain(complaint, "voting sets '%s': expected grid, plane or a file", cv_brief(name).text);
    const uint32_t order = plane_order(shape->count);
    if (!order)
        return cv_complain(complaint,
                           "voting sets 'plane': there is none for %" PRIu32
                           " nodes; expected 3, 7, 13, 21, 31, 57, 73, 91 or another q² + q + 1, q a power of a prime",
                           shape->count);
    shape->line = malloc(((size_t)order + 1) * sizeof *shape->line);
    if (!shape->line)
        return CV_ENOMEM;
    return draw_line(shape, order);
}

int cv_quorums_make(struct cv_quorums *quorums, const char *shape, uint32_t nodes, const cv_node *members,
                    uint32_t member_count, struct cv_complaint *complaint)
{
    struct shape form = {.count = members ? member_count : nodes};
    struct builder builder;
    *quorums = (struct cv_quorums){0};
    int error = prepare(&form, shape, complaint);
    if (!error)
        error = begin(&builder, quorums, nodes);
    for (uint32_t node = 0, place = 0; !error && node < nodes; node++) {
        if (members ? place < member_count && members[place] == node : true) {
            if (form.side)
                add_row_and_column(&builder, &form, place, members);
            else
                add_line(&builder, &form, place, members);
            place++;
        }
        close_set(&builder, node);
        error = builder.out_of_memory ? CV_ENOMEM : 0;
    }
    free(form.line);
    if (error)
        cv_quorums_free(quorums);
    return error;
}

/* ---- files ---- */

struct sheet {
    struct cv_reader reader;
    const struct cv_index *index;
    const cv_id *ids;
    uint32_t nodes;
    const char **text; /* per node: where its set begins, and in which line */
    uint64_t *line;
    cv_node *seen; /* per node: the last node for which we have seen it */
};

/* The id before the colon; the reader goes on after it. */
static cv_id read_owner(struct cv_reader *reader)
{
    const char *start = reader->at;
    size_t length = strcspn(start, ":#\n");
    if (start[length] != ':') {
        reader->error =
            cv_complain(reader->complaint, "%s:%" PRIu64 ": expected a node and its voting set: id: id id …",
                        reader->name, reader->line);
        return 0;
    }
    reader->at += length + 1;
    while (length && (start[length - 1] == ' ' || start[length - 1] == '\t'))
        length--;
    return cv_reader_number(reader, "id", (struct cv_text){start, length});
}

/* Finds the line of every node. */
static int find_lines(struct sheet *sheet)
{
    struct cv_reader *reader = &sheet->reader;
    while (cv_reader_line(reader)) {
        const cv_id id = read_owner(reader);
        if (reader->error)
            return reader->error;
        const cv_node node = cv_index_find(sheet->index, id);
        if (node == CV_NOBODY)
            return cv_complain(reader->complaint, "%s:%" PRIu64 ": id %" PRIu32 " is not in the group", reader->name,
                               reader->line, id);
        if (sheet->text[node])
            return cv_complain(reader->complaint,
                               "%s:%" PRIu64 ": the set of %" PRIu32 " stands in line %" PRIu64 " already",
                               reader->name, reader->line, id, sheet->line[node]);
        sheet->text[node] = reader->at;
        sheet->line[node] = reader->line;
        reader->at += strcspn(reader->at, "\n");
    }
    for (cv_node node = 0; node < sheet->nodes; node++)
        if (!sheet->text[node])
            return cv_complain(reader->complaint, "%s: %" PRIu32 " has no voting set", reader->name, sheet->ids[node]);
    return 0;
}

static int read_set(struct sheet *sheet, cv_node node, struct builder *builder)
{
    struct cv_reader *reader = &sheet->reader;
    struct cv_text word;
    reader->at = sheet->text[node];
    reader->line = sheet->line[node];
    while (cv_reader_word(reader, &word)) {
        const cv_id id = cv_reader_number(reader, "id", word);
        if (reader->error)
            return reader->error;
        const cv_node voter = cv_index_find(sheet->index, id);
        if (voter == CV_NOBODY)
            return cv_complain(reader->complaint, "%s:%" PRIu64 ": id %" PRIu32 " is not in the group", reader->name,
                               reader->line, id);
        if (sheet->seen[voter] == node)
            return cv_complain(reader->complaint, "%s:%" PRIu64 ": id %" PRIu32 " stands twice", reader->name,
                               reader->line, id);
        sheet->seen[voter] = node;
        add(builder, voter);
    }
    if (sheet->seen[node] != node)
        return cv_complain(reader->complaint, "%s:%" PRIu64 ": %" PRIu32 " is not in its own voting set", reader->name,
                           reader->line, sheet->ids[node]);
    close_set(builder, node);
    return builder->out_of_memory ? CV_ENOMEM : 0;
}

/* For each voter, the nodes in whose sets it is. */
static int turn_round(const struct cv_quorums *quorums, struct cv_quorums *sets)
{
    const uint32_t nodes = quorums->nodes;
    *sets = (struct cv_quorums){.nodes = nodes,
                                .starts = calloc((size_t)nodes + 2, sizeof *sets->starts),
                                .voters = malloc((quorums->starts[nodes] + 1) * sizeof *sets->voters)};
    if (!sets->starts || !sets->voters)
        return CV_ENOMEM;
    for (uint64_t i = 0; i < quorums->starts[nodes]; i++)
        sets->starts[quorums->voters[i] + 2]++;
    for (uint32_t voter = 0; voter < nodes; voter++)
        sets->starts[voter + 2] += sets->starts[voter + 1];
    for (cv_node node = 0; node < nodes; node++)
        for (uint64_t i = quorums->starts[node]; i < quorums->starts[node + 1]; i++)
            sets->voters[sets->starts[quorums->voters[i] + 1]++] = node;
    return 0;
}

/* Every set meets every other: each of them shares a voter with it. */
static int check_meeting(struct sheet *sheet, const struct cv_quorums *quorums)
{
    const uint32_t nodes = quorums->nodes;
    struct cv_quorums sets;
    int error = turn_round(quorums, &sets);
    memset(sheet->seen, 0xff, nodes * sizeof *sheet->seen);
    for (cv_node node = 0; node < nodes && !error; node++) {
        uint32_t met = 0;
        for (uint64_t i = quorums->starts[node]; i < quorums->starts[node + 1] && met < nodes; i++) {
            const cv_node voter = quorums->voters[i];
            for (uint64_t j = sets.starts[voter]; j < sets.starts[voter + 1]; j++) {
                met += sheet->seen[sets.voters[j]] != node;
                sheet->seen[sets.voters[j]] = node;
            }
        }
        cv_node other = 0;
        while (met < nodes && sheet->seen[other] == node)
            other++;
        if (met < nodes) {
            const bool later = sheet->line[other] > sheet->line[node];
            const cv_node two[] = {later ? other : node, later ? node : other};
            error = cv_complain(sheet->reader.complaint,
                                "%s:%" PRIu64 ": the voting sets of %" PRIu32 " and %" PRIu32 " (line %" PRIu64
                                ") have no member in common",
                                sheet->reader.name, sheet->line[two[0]], sheet->ids[two[0]], sheet->ids[two[1]],
                                sheet->line[two[1]]);
        }
    }
    cv_quorums_free(&sets);
    return error;
}

int cv_quorums_parse(struct cv_quorums *quorums, const char *text, const struct cv_index *index, uint32_t nodes,
                     const cv_id *ids, const char *name, struct cv_complaint *complaint)
{
    struct builder builder;
    struct sheet sheet = {.reader = {.at = text, .name = name, .line = 1, .complaint = complaint},
                          .index = index,
                          .ids = ids,
                          .nodes = nodes,
                          .text = calloc(nodes, sizeof *sheet.text),
                          .line = calloc(nodes, sizeof *sheet.line),
                          .seen = malloc(nodes * sizeof *sheet.seen)};
    int error = begin(&builder, quorums, nodes);
    if (!error)
        error = sheet.text && sheet.line && sheet.seen ? find_lines(&sheet) : CV_ENOMEM;
    if (!error)
        memset(sheet.seen, 0xff, nodes * sizeof *sheet.seen);
    for (cv_node node = 0; !error && node < nodes; node++)
        error = read_set(&sheet, node, &builder);
    if (!error)
        error = check_meeting(&sheet, quorums);
    free(sheet.text);
    free(sheet.line);
    free(sheet.seen);
    if (error)
        cv_quorums_free(quorums);
    return error;
}
