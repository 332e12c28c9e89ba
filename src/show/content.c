// SPDX-License-Identifier: MIT
#include "show/content.h"

#include <inttypes.h>
#include <stdio.h>

#include <conclave/synchronizer.h>

#include "core/scenario/field_text.h"
#include "core/scenario/validity.h"
#include "show/phrase.h"

#define MOST_WORDS 16u /* of a body, shown */
#define MOST_IDS 16u   /* of a list, shown */

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

/* ---- writing into a given room ---- */

struct writer {
    char *text;
    size_t used, room;
    bool full;
};

static const char ellipsis[] = "…";

static void add(struct writer *writer, const char *text)
{
    const size_t length = strlen(text);
    if (writer->full)
        return;
    if (writer->used + length + sizeof ellipsis > writer->room) {
        memcpy(writer->text + writer->used, ellipsis, sizeof ellipsis);
        writer->full = true;
        return;
    }
    memcpy(writer->text + writer->used, text, length + 1);
    writer->used += length;
}

/* ---- in the words of those who gave the nodes labels ---- */

/* Shows a reported node with its capacity, as in the textbook's figure: [h,8]. */
static void add_rank(struct writer *writer, const struct cv_scenario *scenario, cv_rank rank)
{
    char capacity[16];
    snprintf(capacity, sizeof capacity, ",%" PRIu32 "]", cv_rank_attribute(rank));
    add(writer, !rank ? "-" : scenario->group.attributes ? "[" : "");
    add(writer, rank ? cv_name_of(scenario, cv_rank_id(rank)).text : "");
    add(writer, rank && scenario->group.attributes ? capacity : "");
}

static void add_list(struct writer *writer, const struct cv_scenario *scenario, const struct said *said)
{
    const uint32_t *words = (const uint32_t *)said->body;
    add(writer, "[");
    for (uint64_t i = said->head; i < said->words && i < said->head + MOST_IDS; i++) {
        add(writer, i == said->head ? "" : " ");
        add(writer, cv_name_of(scenario, words[i]).text);
    }
    add(writer, said->words > said->head + MOST_IDS ? " …]" : "]");
}

static void add_named_field(struct writer *writer, const struct cv_scenario *scenario, const struct cv_field *field,
                            const struct said *said)
{
    char text[48];
    const uint64_t value = field->type == CV_FIELD_LIST ? 0 : cv_field_read(field, said->body);
    snprintf(text, sizeof text, "%" PRIu64, value);
    switch ((enum cv_field_type)field->type) {
    case CV_FIELD_LIST:
        add_list(writer, scenario, said);
        return;
    case CV_FIELD_RANK:
        add_rank(writer, scenario, value);
        return;
    case CV_FIELD_TAG:
        snprintf(text, sizeof text, "%s·%" PRIu32, cv_name_of(scenario, cv_rank_id(value)).text,
                 cv_rank_attribute(value));
        break;
    case CV_FIELD_ID:
        snprintf(text, sizeof text, "%s", cv_name_of(scenario, (cv_id)value).text);
        break;
    case CV_FIELD_NODE:
    case CV_FIELD_MAYBE:
        snprintf(text, sizeof text, "%s", value < scenario->group.nodes ? cv_name(scenario, (cv_node)value).text : "-");
        break;
    case CV_FIELD_FENCE:
        cv_phrase_fence(text, sizeof text, value);
        break;
    case CV_FIELD_FLAG:
        snprintf(text, sizeof text, "%s", value ? "yes" : "no");
        break;
    default:
        break;
    }
    add(writer, text);
}

static void add_fields(struct writer *writer, const struct cv_scenario *scenario, const struct said *said,
                       const char *comma)
{
    for (const struct cv_field *field = said->kind->fields; field->name; field++) {
        if (field->type != CV_FIELD_LIST && field->offset + field->bytes > said->words * 4)
            return;
        add(writer, field == said->kind->fields ? "" : comma);
        add_named_field(writer, scenario, field, said);
    }
}

static void add_number(struct writer *writer, const char *join, uint32_t number)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%s%" PRIu32, join, number);
    add(writer, digits);
}

/* Times, fences and distances are numbers of two words. */
static bool has_long_numbers(const struct said *said)
{
    return said->by->problem != CV_ELECTION && said->kind->bytes % 8 == 0 && said->head == said->words;
}

static void add_long_number(struct writer *writer, const struct said *said, uint64_t number)
{
    char text[48];
    if (said->by->problem == CV_MUTEX)
        cv_phrase_fence(text, sizeof text, number);
    else
        snprintf(text, sizeof text, "%" PRIu64, number);
    add(writer, number == CV_NOBODY || number == UINT64_MAX ? "-" : text);
}

static bool tells_rank(const struct said *said, uint64_t word)
{
    return word % 2 == 0 && word / 2 < 64 && *said->ranks >> word / 2 & 1;
}

static void add_long_numbers(struct writer *writer, const struct said *said, const char *comma)
{
    for (uint64_t i = 0; i < said->words / 2 && i < MOST_WORDS; i++) {
        add(writer, i ? comma : "");
        if (tells_rank(said, 2 * i))
            add_number(writer, "", cv_rank_id(said->body[i]));
        else
            add_long_number(writer, said, said->body[i]);
    }
}

static void add_numbers(struct writer *writer, const struct cv_content *content, const struct said *said,
                        const char *comma)
{
    const uint32_t *words = (const uint32_t *)said->body;
    const char *join = "";
    if (content->scenario->labels && said->kind->fields) {
        add_fields(writer, content->scenario, said, comma);
        return;
    }
    if (has_long_numbers(said)) {
        add_long_numbers(writer, said, comma);
        return;
    }
    for (uint64_t i = 0; i < said->head && i < MOST_WORDS; i++) {
        const bool rank = tells_rank(said, i);
        if (rank ? !is_rank(content, said->body[i / 2]) : words[i] == CV_NOBODY) {
            add(writer, join);
            add(writer, "-");
        } else {
            add_number(writer, join, rank ? cv_rank_id(said->body[i / 2]) : words[i]);
        }
        i += rank;
        join = comma;
    }
    if (said->head > MOST_WORDS)
        add(writer, " …");
    if (!cv_kind_has_list(said->kind))
        return;
    add(writer, said->head ? comma : "");
    add(writer, "[");
    for (uint64_t i = said->head; i < said->words && i < said->head + MOST_IDS; i++)
        add_number(writer, i == said->head ? "" : " ", words[i]);
    add(writer, said->words > said->head + MOST_IDS ? " …]" : "]");
}

const char *cv_content_kind(const struct cv_content *content, const struct cv_message *message)
{
    return read_message(content, message).kind->name;
}

const char *cv_content_numbers(const struct cv_content *content, const struct cv_message *message, char *text,
                               size_t room)
{
    struct writer writer = {.text = text, .room = room};
    const struct said said = read_message(content, message);
    text[0] = '\0';
    add_numbers(&writer, content, &said, " ");
    return text;
}

const char *cv_content_text(const struct cv_content *content, const struct cv_message *message, char *text, size_t room)
{
    struct writer writer = {.text = text, .room = room};
    const struct said said = read_message(content, message);
    const bool numbers = said.words || cv_kind_has_list(said.kind);
    char round[48];
    text[0] = '\0';
    add(&writer, cv_view_kind(content->scenario, message));
    if (said.hosted) {
        snprintf(round, sizeof round, "(round %" PRIu64 ": ", said.round);
        add(&writer, round);
        add(&writer, said.kind->name);
        add(&writer, numbers ? " " : "");
    } else if (numbers) {
        add(&writer, "(");
    }
    add_numbers(&writer, content, &said, ", ");
    add(&writer, said.hosted || numbers ? ")" : "");
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
