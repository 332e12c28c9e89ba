// SPDX-License-Identifier: MIT
#include "service/lock_all.h"

#include <stdlib.h>

#include <xxhash.h>

#include "service/access.h"
#include "service/commands.h"
#include "service/lock_fences.h"
#include "service/words.h"

#define MOST_NUMBERS 4096u  /* of a SEQUENCE: a view has a few million for each name */
#define STAND_BACK_US 10000 /* for those that came earlier */
#define MOST_IN_LINE 1024u  /* then newcomers do not stand back */

struct wanted {
    char *name;
    size_t length;
    uint32_t place; /* among the words of the command */
    uint64_t fence; /* once it is taken */
};

struct lock_all {
    struct session *session;
    struct cv_chore chore; /* takes the next, or fails: not while a lock is just being served */
    uint64_t ttl_ms;
    uint64_t digest[2];
    uint64_t wait_ms, until_us;
    uint64_t numbers; /* SEQUENCE: how many; 0: LOCKALL */
    uint32_t count, taken;
    bool waits_for_ever, lost;

    struct lock_all *earlier, *later; /* in line */
    uint64_t mask;                    /* a bit for each name, by a hash */
    uint32_t before;                  /* so many that are earlier in line want one of its names */
    bool in_line;
    bool stands_back;                    /* it has yet to begin */
    struct wanted wanted[CV_RESP_WORDS]; /* in the order in which they are taken */
};

static struct cv_text name_of(const struct wanted *wanted)
{
    return (struct cv_text){wanted->name, wanted->length};
}

/* ---- the line of this node ---- */

static int compare(const void *one, const void *other)
{
    const struct wanted *x = one, *y = other;
    const int order = memcmp(x->name, y->name, x->length < y->length ? x->length : y->length);
    return order ? order : (x->length > y->length) - (x->length < y->length);
}

static bool have_one_in_common(const struct lock_all *one, const struct lock_all *other)
{
    if (!(one->mask & other->mask))
        return false;
    for (uint32_t i = 0, j = 0; i < one->count && j < other->count;) {
        const int order = compare(&one->wanted[i], &other->wanted[j]);
        if (!order)
            return true;
        if (order < 0)
            i++;
        else
            j++;
    }
    return false;
}

static void stand_in_line(struct lock_all *all)
{
    struct lock_all_line *line = &all->session->service->line;
    for (const struct lock_all *each = line->first; each; each = each->later)
        all->before += have_one_in_common(each, all);
    all->earlier = line->last;
    *(line->last ? &line->last->later : &line->first) = all;
    line->last = all;
    line->count++;
    all->in_line = true;
}

static void step_out_of_line(struct lock_all *all)
{
    struct cv_service *service = all->session->service;
    if (!all->in_line)
        return;
    all->in_line = false;
    service->line.count--;
    *(all->earlier ? &all->earlier->later : &service->line.first) = all->later;
    *(all->later ? &all->later->earlier : &service->line.last) = all->earlier;
    for (struct lock_all *each = all->later; each; each = each->later)
        if (have_one_in_common(all, each) && !--each->before && each->stands_back)
            cv_loop_defer(service->loop, &each->chore);
}

static void end(struct session *session)
{
    struct lock_all *all = session->all;
    session->all = NULL;
    step_out_of_line(all);
    cv_loop_call_off(session->service->loop, &all->chore);
    for (uint32_t i = 0; i < all->count; i++)
        free(all->wanted[i].name);
    free(all);
    cv_stream_mark(&session->stream);
}

static struct lock_hold *hold_of(const struct lock_all *all, uint32_t which)
{
    const struct lock *lock = lock_find(all->session->service, CV_SUBJECT_LOCK, name_of(&all->wanted[which]));
    struct lock_hold *hold = lock ? lock_find_hold(lock, all->wanted[which].fence) : NULL;
    return hold && hold->session == all->session ? hold : NULL;
}

/* Ends what is taken, the last first. */
static void give_all_back(struct lock_all *all)
{
    while (all->taken) {
        struct lock_hold *hold = hold_of(all, --all->taken);
        if (hold)
            lock_end(hold);
    }
}

bool lock_all_has(const struct lock_hold *hold)
{
    const struct lock_all *all = hold->session ? hold->session->all : NULL;
    for (uint32_t i = 0; all && i < all->taken; i++)
        if (hold_of(all, i) == hold)
            return true;
    return false;
}

/* ---- outcomes ---- */

static void succeed(struct session *session)
{
    struct lock_all *all = session->all;
    uint64_t fences[CV_RESP_WORDS];
    for (uint32_t i = 0; i < all->count; i++) {
        struct lock_hold *hold = hold_of(all, i);
        if (hold && hold->ttl_ms)
            lock_extend(hold);
        fences[all->wanted[i].place] = all->wanted[i].fence;
    }
    step_out_of_line(all);
    cv_resp_array(&session->out, all->count);
    for (uint32_t i = 0; i < all->count; i++)
        cv_resp_integer(&session->out, (int64_t)fences[i]);
    end(session);
}

/* The numbers are told, and the name is free again. */
static void tell_numbers(struct session *session)
{
    struct lock_all *all = session->all;
    const struct lock_hold *hold = hold_of(all, 0);
    uint64_t first;
    if (hold && lock_take_numbers(hold->lock, all->numbers, &first))
        cv_resp_integer(&session->out, (int64_t)first);
    else
        cv_resp_error(&session->out, "BUSY this view has not so many numbers left: ask again for the next one's");
    give_all_back(all);
    end(session);
}

void lock_all_failed(struct session *session, const char *why)
{
    give_all_back(session->all);
    if (why)
        cv_resp_error(&session->out, "%s", why);
    else
        cv_resp_nil(&session->out);
    end(session);
}

/* Stops waiting for the next name. */
static void stop_waiting(struct session *session)
{
    if (session->wait.lock)
        lock_give_up(&session->wait);
    else if (session->granting)
        lock_end(session->granting);
    cv_alarm_cancel(session->service->alarms, &session->wait.alarm);
}

void lock_all_drop(struct session *session)
{
    if (!session->all)
        return;
    give_all_back(session->all);
    end(session);
}

/* ---- taking them ---- */

static void take_next(struct session *session)
{
    struct lock_all *all = session->all;
    struct cv_service *service = session->service;
    struct waiter *wait = &session->wait;
    struct lock *lock = lock_open(service, CV_SUBJECT_LOCK, name_of(&all->wanted[all->taken]));
    const uint64_t now = service->host->calls.now();
    const bool tries = !all->waits_for_ever && !all->wait_ms;
    const uint64_t left_ms = tries || all->until_us <= now ? 0 : (all->until_us - now + 999) / 1000;
    if (!lock) {
        lock_all_failed(session, "BUSY too many names");
        return;
    }
    if (!command_may_wait(session, lock, tries)) {
        give_all_back(all);
        end(session);
        return;
    }
    *wait = (struct waiter){.alarm = wait->alarm,
                            .session = session,
                            .value = wait->value,
                            .ttl_ms = all->ttl_ms,
                            .digest = {all->digest[0], all->digest[1]},
                            .tries = tries};
    lock_wait(lock, wait);
    if (wait->lock && !all->waits_for_ever)
        command_limit_wait(session, left_ms);
}

/* Nobody is before it any more, or it has stood back for long enough. */
static void begin_to_take(struct session *session)
{
    session->all->stands_back = false;
    cv_alarm_cancel(session->service->alarms, &session->wait.alarm);
    take_next(session);
}

bool lock_all_stood_back(struct session *session)
{
    const struct lock_all *all = session->all;
    if (!all || !all->stands_back)
        return false;
    if (all->waits_for_ever || session->service->host->calls.now() < all->until_us)
        begin_to_take(session);
    else
        lock_all_failed(session, NULL);
    return true;
}

static void stand_back(struct session *session)
{
    struct lock_all *all = session->all;
    const uint64_t until_us = session->service->host->calls.now() + STAND_BACK_US;
    all->stands_back = true;
    session->wait.lock = NULL;
    cv_alarm_set(session->service->alarms, &session->wait.alarm,
                 all->waits_for_ever || until_us < all->until_us ? until_us : all->until_us);
}

static void go_on(struct cv_chore *chore)
{
    struct lock_all *all = (void *)((char *)chore - offsetof(struct lock_all, chore));
    struct session *session = all->session;
    if (all->stands_back) {
        begin_to_take(session);
    } else if (all->lost) {
        stop_waiting(session);
        lock_all_failed(session, "LOST one of the names was lost while others were waited for");
    } else if (all->taken == all->count && all->numbers) {
        tell_numbers(session);
    } else if (all->taken == all->count) {
        succeed(session);
    } else if (!session->wait.lock && !session->granting) {
        take_next(session);
    }
}

void lock_all_granted(struct session *session, const struct lock_hold *hold)
{
    struct lock_all *all = session->all;
    all->wanted[all->taken++].fence = hold->fence;
    cv_loop_defer(session->service->loop, &all->chore);
}

void lock_all_lost(struct session *session)
{
    session->all->lost = true;
    cv_loop_defer(session->service->loop, &session->all->chore);
}

/* ---- the command ---- */

/* Options come before the names. The index of the first name, or 0 if an option is wrong. */
static uint32_t read_options(struct session *session, const struct cv_resp_command *command, struct lock_all *all)
{
    uint32_t i = 1;
    for (; i + 1 < command->count; i += 2) {
        const struct cv_text option = command->word[i], value = command->word[i + 1];
        bool good = true;
        if (cv_resp_is(option, "WAIT")) {
            good = word_is_number(session, "WAIT", value, &all->wait_ms);
            all->waits_for_ever = false;
        } else if (cv_resp_is(option, "TTL")) {
            good = word_is_ttl(session, value, &all->ttl_ms);
        } else if (cv_resp_is(option, "SECRET")) {
            good = word_is_secret(session, value, all->digest);
        } else {
            break;
        }
        if (!good)
            return 0;
    }
    if (i == command->count)
        cv_resp_error(&session->out, "ERR LOCKALL: expected names after the options");
    return i < command->count ? i : 0;
}

static bool read_names(struct session *session, const struct cv_resp_command *command, uint32_t first,
                       struct lock_all *all)
{
    for (uint32_t i = first; i < command->count; i++) {
        const struct cv_text name = command->word[i];
        if (!word_is_name(session, name) || (session->acl && !access_allowed(session, CV_MAY_LOCK, name)))
            return false;
        struct wanted *wanted = &all->wanted[all->count++];
        *wanted = (struct wanted){.name = malloc(name.length), .length = name.length, .place = i - first};
        if (!wanted->name) {
            cv_resp_error(&session->out, OUT_OF_MEMORY);
            return false;
        }
        memcpy(wanted->name, name.start, name.length);
        all->mask |= (uint64_t)1 << (XXH3_64bits(name.start, name.length) & 63);
    }
    qsort(all->wanted, all->count, sizeof *all->wanted, compare);
    for (uint32_t i = 1; i < all->count; i++)
        if (!compare(&all->wanted[i - 1], &all->wanted[i])) {
            cv_resp_error(&session->out, "ERR name '%s': expected each name once",
                          cv_brief_text(name_of(&all->wanted[i])).text);
            return false;
        }
    return true;
}

static struct lock_all *begin(struct session *session)
{
    struct lock_all *all = calloc(1, sizeof *all);
    if (!all) {
        cv_resp_error(&session->out, OUT_OF_MEMORY);
        return NULL;
    }
    all->session = session;
    all->chore.run = go_on;
    all->waits_for_ever = true;
    return session->all = all;
}

void lock_all_run(struct session *session, const struct cv_resp_command *command)
{
    struct lock_all *all = begin(session);
    const uint32_t first = all ? read_options(session, command, all) : 0;
    if (!first || !read_names(session, command, first, all)) {
        if (all)
            end(session);
        return;
    }
    all->until_us = session->service->host->calls.now() + all->wait_ms * 1000;
    const bool waits = all->waits_for_ever || all->wait_ms;
    if (waits && all->count > 1 && !session->holding && session->service->line.count < MOST_IN_LINE)
        stand_in_line(all);
    if (all->before)
        stand_back(session);
    else
        take_next(session);
}

void lock_all_run_sequence(struct session *session, const struct cv_resp_command *command)
{
    uint64_t numbers = 1;
    if (command->count > 2 && !(cv_parse_number(command->word[2], MOST_NUMBERS, &numbers) && numbers)) {
        cv_resp_error(&session->out, "ERR SEQUENCE '%s': expected how many numbers, 1 to %u",
                      cv_brief_text(command->word[2]).text, MOST_NUMBERS);
        return;
    }
    const struct cv_resp_command name = {.count = 2, .word = {command->word[0], command->word[1]}};
    struct lock_all *all = begin(session);
    if (!all)
        return;
    all->numbers = numbers;
    if (read_names(session, &name, 1, all))
        take_next(session);
    else
        end(session);
}
