// SPDX-License-Identifier: MIT
#include "show/content.h"

#include <inttypes.h>

#include <conclave/synchronizer.h>

#include "core/scenario/field_text.h"

#define MOST_WORDS 16u /* of a body, shown */

/* The part of a message that is shown: the app's message, if it carries one. */
struct said {
    const struct cv_algorithm *by;
    const struct cv_kind *kind;
    const uint64_t *body;
    uint64_t words;
    uint64_t head; /* of these, before a list of ids begins */
    const uint64_t *ranks;
    uint64_t round; /* of the app's message */
    bool hosted;
};

static struct said read_message(const struct cv_content *content, const struct cv_message *message)
{
    const struct cv_scenario *scenario = content->scenario;
    struct said said = {.by = scenario->algorithm, .body = message->body, .words = message->words};
    uint32_t kind = message->kind;
    said.hosted = cv_view_hosts(scenario, message);
    if (said.hosted) {
        const struct cv_envelope *envelope = cv_body(message);
        const uint64_t words = sizeof *envelope / sizeof(uint32_t);
        said.by = scenario->app;
        said.body += sizeof *envelope / sizeof *said.body;
        said.words = message->words > words ? message->words - words : 0;
        said.round = envelope->round;
        kind = envelope->kind;
    }
    said.kind = &said.by->kinds[kind];
    said.ranks = &content->ranks[said.hosted][kind];
    said.head = cv_kind_has_list(said.kind) && said.kind->bytes / 4 < said.words ? said.kind->bytes / 4 : said.words;
    return said;
}

/* Is the number the rank of a node? */
static bool is_rank(const struct cv_content *content, cv_rank rank)
{
    const cv_node node = cv_index_find(&content->index, cv_rank_id(rank));
    return node != CV_NOBODY && cv_group_rank(&content->scenario->group, node) == rank;
}

int cv_content_learn(struct cv_content *content, const struct cv_scenario *scenario, const struct cv_history *history)
{
    *content = (struct cv_content){.scenario = scenario};
    const int error = cv_index_make(&content->index, scenario->group.ids, scenario->group.nodes);
    if (error)
        return error;
    uint64_t seen[2][CV_MAX_KINDS] = {{0}}; /* bits of pairs that were a rank at least once */
    memset(content->ranks, 0xff, sizeof content->ranks);
    for (size_t i = 0; i < history->count; i++) {
        if (history->events[i].type != CV_EVENT_SEND)
            continue;
        const struct said said = read_message(content, history->events[i].content);
        const size_t kind = (size_t)(said.kind - said.by->kinds);
        const uint64_t pairs = said.head / 2;
        for (uint64_t pair = 0; pair < 64; pair++)
            if (pair < pairs && is_rank(content, said.body[pair]))
                seen[said.hosted][kind] |= UINT64_C(1) << pair;
            else if (pair >= pairs || said.body[pair])
                content->ranks[said.hosted][kind] &= ~(UINT64_C(1) << pair);
    }
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++) {
        content->ranks[false][kind] &= seen[false][kind];
        content->ranks[true][kind] &= seen[true][kind];
    }
    return 0;
}

void cv_content_free(struct cv_content *content)
{
    cv_index_free(&content->index);
}

/* ---- kinds without named fields: words, of which some turn out to be ranks ---- */

static void add_number(struct cv_writer *writer, const char *join, uint32_t number)
{
    cv_writef(writer, "%s%" PRIu32, join, number);
}

/* Times, fences and distances are numbers of two words. */
static bool has_long_numbers(const struct said *said)
{
    return said->by->problem != CV_ELECTION && said->kind->bytes % 8 == 0 && said->head == said->words;
}

static void add_long_number(struct cv_writer *writer, const struct said *said, uint64_t number)
{
    if (number == CV_NOBODY || number == UINT64_MAX)
        cv_write(writer, "-");
    else if (said->by->problem == CV_MUTEX)
        cv_fence_write(writer, number);
    else
        cv_writef(writer, "%" PRIu64, number);
}

static bool tells_rank(const struct said *said, uint64_t word)
{
    return word % 2 == 0 && word / 2 < 64 && *said->ranks >> word / 2 & 1;
}

static void add_long_numbers(struct cv_writer *writer, const struct said *said, const char *comma)
{
    for (uint64_t i = 0; i < said->words / 2 && i < MOST_WORDS; i++) {
        cv_write(writer, i ? comma : "");
        if (tells_rank(said, 2 * i))
            add_number(writer, "", cv_rank_id(said->body[i]));
        else
            add_long_number(writer, said, said->body[i]);
    }
}

static void add_words(struct cv_writer *writer, const struct cv_content *content, const struct said *said,
                      const char *comma)
{
    const uint32_t *words = (const uint32_t *)said->body;
    const char *join = "";
    if (has_long_numbers(said)) {
        add_long_numbers(writer, said, comma);
        return;
    }
    for (uint64_t i = 0; i < said->head && i < MOST_WORDS; i++) {
        const bool rank = tells_rank(said, i);
        if (rank ? !is_rank(content, said->body[i / 2]) : words[i] == CV_NOBODY) {
            cv_write(writer, join);
            cv_write(writer, "-");
        } else {
            add_number(writer, join, rank ? cv_rank_id(said->body[i / 2]) : words[i]);
        }
        i += rank;
        join = comma;
    }
    if (said->head > MOST_WORDS)
        cv_write(writer, " …");
}

static void add_content(struct cv_writer *writer, const struct cv_content *content, const struct said *said, bool brief)
{
    if (said->kind->fields)
        cv_body_write(writer, content->scenario, said->kind, said->body, said->words, brief);
    else
        add_words(writer, content, said, brief ? " " : ", ");
}

const char *cv_content_kind(const struct cv_content *content, const struct cv_message *message)
{
    return read_message(content, message).kind->name;
}

const char *cv_content_numbers(const struct cv_content *content, const struct cv_message *message, char *text,
                               size_t room)
{
    struct cv_writer writer = cv_writer(text, room);
    const struct said said = read_message(content, message);
    add_content(&writer, content, &said, true);
    return text;
}

const char *cv_content_text(const struct cv_content *content, const struct cv_message *message, char *text, size_t room)
{
    struct cv_writer writer = cv_writer(text, room);
    const struct said said = read_message(content, message);
    const bool has_content = said.words || cv_kind_has_list(said.kind);
    cv_write(&writer, cv_view_kind(content->scenario, message));
    if (said.hosted)
        cv_writef(&writer, "(round %" PRIu64 ": %s%s", said.round, said.kind->name, has_content ? " " : "");
    else if (has_content)
        cv_write(&writer, "(");
    add_content(&writer, content, &said, false);
    cv_write(&writer, said.hosted || has_content ? ")" : "");
    return text;
}

bool cv_content_same(const struct cv_scenario *scenario, const struct cv_message *one, const struct cv_message *other)
{
    if (one->kind != other->kind || one->words != other->words)
        return false;
    const uint32_t *a = cv_body(one), *b = cv_body(other);
    uint64_t from = 0;
    if (cv_view_hosts(scenario, one)) {
        const struct cv_envelope *mine = cv_body(one), *theirs = cv_body(other);
        if (mine->round != theirs->round || mine->kind != theirs->kind)
            return false; /* the link that it came over does not matter */
        from = sizeof *mine / sizeof *a;
    }
    return memcmp(a + from, b + from, (one->words - from) * sizeof *a) == 0;
}
