// SPDX-License-Identifier: MIT
#include "view/content.h"

#include <inttypes.h>
#include <stdio.h>

#include "view/phrase.h"

#define MOST_WORDS 16u /* of a body, shown */
#define MOST_IDS 16u   /* of a list, shown */

static uint64_t head_words(const struct cv_content *content, const struct cv_message *message)
{
    const struct cv_kind *kind = &content->scenario->algorithm->kinds[message->kind];
    return kind->list && kind->bytes / 4 < message->words ? kind->bytes / 4 : message->words;
}

/* Is the pair of words at 2 * `pair` the rank of a node, as the low and the high half of a number? */
static bool is_rank(const struct cv_content *content, const struct cv_message *message, uint64_t pair)
{
    const cv_rank rank = message->body[pair];
    const cv_node node = cv_index_find(&content->index, cv_rank_id(rank));
    return node != CV_NOBODY && cv_group_rank(&content->scenario->group, node) == rank;
}

int cv_content_learn(struct cv_content *content, const struct cv_scenario *scenario, const struct cv_history *history)
{
    *content = (struct cv_content){.scenario = scenario};
    const int error = cv_index_make(&content->index, scenario->group.ids, scenario->group.nodes);
    if (error)
        return error;
    uint64_t seen[CV_MAX_KINDS] = {0}; /* where a rank was seen at all */
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        content->ranks[kind] = UINT64_MAX;
    for (size_t i = 0; i < history->count; i++) {
        const struct cv_message *message = history->events[i].content;
        if (history->events[i].type != CV_EVENT_SEND)
            continue;
        const uint64_t pairs = head_words(content, message) / 2;
        for (uint64_t pair = 0; pair < 64; pair++)
            if (pair < pairs && is_rank(content, message, pair))
                seen[message->kind] |= UINT64_C(1) << pair;
            else if (pair >= pairs || message->body[pair])
                content->ranks[message->kind] &= ~(UINT64_C(1) << pair);
    }
    for (uint32_t kind = 0; kind < CV_MAX_KINDS; kind++)
        content->ranks[kind] &= seen[kind];
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

static void add_number(struct writer *writer, const char *join, uint32_t number)
{
    char digits[32];
    snprintf(digits, sizeof digits, "%s%" PRIu32, join, number);
    add(writer, digits);
}

/* Times and fences are numbers of two words. */
static bool has_long_numbers(const struct cv_content *content, const struct cv_message *message)
{
    const struct cv_algorithm *algorithm = content->scenario->algorithm;
    return algorithm->problem == CV_MUTEX && algorithm->kinds[message->kind].bytes % 8 == 0;
}

static void add_long_numbers(struct writer *writer, const struct cv_message *message, const char *comma)
{
    char number[48];
    for (uint64_t i = 0; i < message->words / 2 && i < MOST_WORDS; i++) {
        cv_phrase_fence(number, sizeof number, message->body[i]);
        add(writer, i ? comma : "");
        add(writer, message->body[i] == CV_NOBODY ? "-" : number);
    }
}

static void add_numbers(struct writer *writer, const struct cv_content *content, const struct cv_message *message,
                        const char *comma)
{
    const uint32_t *words = cv_body(message);
    const uint64_t head = head_words(content, message);
    const char *join = "";
    if (has_long_numbers(content, message) && head == message->words) {
        add_long_numbers(writer, message, comma);
        return;
    }
    for (uint64_t i = 0; i < head && i < MOST_WORDS; i++) {
        const bool rank = i % 2 == 0 && i / 2 < 64 && content->ranks[message->kind] >> i / 2 & 1;
        if (rank ? !is_rank(content, message, i / 2) : words[i] == CV_NOBODY) {
            add(writer, join);
            add(writer, "-");
        } else {
            add_number(writer, join, rank ? cv_rank_id(message->body[i / 2]) : words[i]);
        }
        i += rank;
        join = comma;
    }
    if (head > MOST_WORDS)
        add(writer, " …");
    if (!content->scenario->algorithm->kinds[message->kind].list)
        return;
    add(writer, head ? comma : "");
    add(writer, "[");
    for (uint64_t i = head; i < message->words && i < head + MOST_IDS; i++)
        add_number(writer, i == head ? "" : " ", words[i]);
    add(writer, message->words > head + MOST_IDS ? " …]" : "]");
}

const char *cv_content_numbers(const struct cv_content *content, const struct cv_message *message, char *text,
                               size_t room)
{
    struct writer writer = {.text = text, .room = room};
    text[0] = '\0';
    add_numbers(&writer, content, message, " ");
    return text;
}

const char *cv_content_text(const struct cv_content *content, const struct cv_message *message, char *text, size_t room)
{
    struct writer writer = {.text = text, .room = room};
    text[0] = '\0';
    add(&writer, cv_view_kind(content->scenario, message));
    if (!message->words && !content->scenario->algorithm->kinds[message->kind].list)
        return text;
    add(&writer, "(");
    add_numbers(&writer, content, message, ", ");
    add(&writer, ")");
    return text;
}

bool cv_content_same(const struct cv_message *one, const struct cv_message *other)
{
    return one->kind == other->kind && one->words == other->words &&
           memcmp(cv_body(one), cv_body(other), one->words * sizeof(uint32_t)) == 0;
}
