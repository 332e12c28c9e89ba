// SPDX-License-Identifier: MIT
#include "service/recipe_state.h"

#include <assert.h>
#include <stdlib.h>

void recipe_state_free(struct recipe_state *state)
{
    for (uint32_t i = 0; i < state->count; i++) {
        cv_drop_text(&state->entries[i].client);
        cv_drop_text(&state->entries[i].value);
    }
    cv_drop_text(&state->who);
    free(state->entries);
    *state = (struct recipe_state){0};
}

bool recipe_state_reserve(struct recipe_state *state, uint32_t more)
{
    if (state->room - state->count >= more)
        return true;
    const uint32_t room = 2 * state->room + more;
    struct recipe_entry *grown = realloc(state->entries, room * sizeof *grown);
    if (!grown)
        return false;
    state->entries = grown;
    state->room = room;
    return true;
}

void recipe_state_add(struct recipe_state *state, const struct recipe_entry *entry)
{
    assert(state->count < state->room);
    state->entries[state->count++] = *entry;
}

void recipe_state_remove(struct recipe_state *state, uint32_t which)
{
    cv_drop_text(&state->entries[which].client);
    cv_drop_text(&state->entries[which].value);
    state->count--;
    memmove(state->entries + which, state->entries + which + 1, (state->count - which) * sizeof *state->entries);
}

struct recipe_entry *recipe_state_find(const struct recipe_state *state, enum recipe_role role, cv_id node,
                                       uint64_t process, uint64_t session)
{
    for (uint32_t i = 0; i < state->count; i++) {
        struct recipe_entry *entry = &state->entries[i];
        if (entry->role == role && entry->node == node && entry->process == process && entry->session == session)
            return entry;
    }
    return NULL;
}

uint32_t recipe_state_count(const struct recipe_state *state, enum recipe_role role)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < state->count; i++)
        count += state->entries[i].role == role;
    return count;
}

bool recipe_state_is_empty(const struct recipe_state *state)
{
    return recipe_state_count(state, ROLE_APPLIED) == state->count && !state->numbers[0];
}

/* ---- bytes ---- */

/* Seven bits a byte, the lowest first: most numbers are small. */
static void put_number(struct cv_buffer *bytes, uint64_t number)
{
    for (; number >= 0x80; number >>= 7)
        cv_put_8(bytes, (uint8_t)(number | 0x80));
    cv_put_8(bytes, (uint8_t)number);
}

static uint64_t take_number(struct cv_cursor *cursor)
{
    uint64_t number = 0;
    for (uint32_t shift = 0; shift < 64; shift += 7) {
        const uint8_t byte = cv_take_8(cursor);
        number |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return number;
    }
    cursor->broken = true;
    return 0;
}

/* A length that is one higher, so that 0 means that there is none. */
static void put_text(struct cv_buffer *bytes, const struct cv_kept_text *text)
{
    const struct cv_text kept = cv_kept(text);
    put_number(bytes, text ? kept.length + 1 : 0);
    if (kept.length)
        cv_put_bytes(bytes, kept.start, kept.length);
}

static struct cv_kept_text *take_text(struct cv_cursor *cursor, size_t most, int *error)
{
    const uint64_t length = take_number(cursor);
    if (!length || length - 1 > most) {
        cursor->broken |= length != 0;
        return NULL;
    }
    const unsigned char *bytes = cv_take_bytes(cursor, length - 1);
    struct cv_kept_text *text = bytes ? cv_keep_text((struct cv_text){(const char *)bytes, length - 1}) : NULL;
    if (bytes && !text)
        *error = CV_ENOMEM;
    return text;
}

bool recipe_state_write(const struct recipe_state *state, struct cv_buffer *bytes)
{
    for (uint32_t i = 0; i < RECIPE_NUMBERS; i++)
        put_number(bytes, state->numbers[i]);
    put_text(bytes, state->who);
    put_number(bytes, state->count);
    for (uint32_t i = 0; i < state->count; i++) {
        const struct recipe_entry *entry = &state->entries[i];
        cv_put_8(bytes, (uint8_t)entry->role);
        put_number(bytes, entry->node);
        put_number(bytes, entry->process);
        put_number(bytes, entry->session);
        put_number(bytes, entry->ticket);
        put_number(bytes, entry->number);
        put_number(bytes, entry->time_ms);
        put_text(bytes, entry->client);
        put_text(bytes, entry->value);
    }
    return !bytes->broken;
}

static int read_entry(struct recipe_state *state, struct cv_cursor *cursor)
{
    int error = recipe_state_reserve(state, 1) ? 0 : CV_ENOMEM;
    struct recipe_entry entry = {.role = cv_take_8(cursor)};
    const uint64_t node = take_number(cursor);
    entry.node = (cv_id)node;
    entry.process = take_number(cursor);
    entry.session = take_number(cursor);
    entry.ticket = take_number(cursor);
    entry.number = take_number(cursor);
    entry.time_ms = take_number(cursor);
    entry.client = take_text(cursor, CV_CLIENT_NAME_BYTES, &error);
    entry.value = take_text(cursor, CV_VALUE_BYTES, &error);
    if (!error && (cursor->broken || entry.role < ROLE_APPLIED || entry.role >= ROLES || node > UINT32_MAX ||
                   (entry.client && !cv_is_client_name(cv_kept(entry.client)))))
        error = CV_EINPUT;
    if (!error) {
        recipe_state_add(state, &entry);
        return 0;
    }
    cv_drop_text(&entry.client);
    cv_drop_text(&entry.value);
    return error;
}

int recipe_state_read(struct recipe_state *state, struct cv_text bytes)
{
    struct cv_cursor cursor = cv_cursor(bytes.start, bytes.length);
    struct recipe_state fresh = {0};
    int error = 0;
    for (uint32_t i = 0; i < RECIPE_NUMBERS; i++)
        fresh.numbers[i] = take_number(&cursor);
    fresh.who = take_text(&cursor, CV_CLIENT_NAME_BYTES, &error);
    const uint64_t count = take_number(&cursor);
    if (!error && (cursor.broken || count > bytes.length))
        error = CV_EINPUT;
    for (uint64_t i = 0; !error && i < count; i++)
        error = read_entry(&fresh, &cursor);
    if (!error && !cv_cursor_done(&cursor))
        error = CV_EINPUT;
    recipe_state_free(error ? &fresh : state);
    if (!error)
        *state = fresh;
    return error;
}
