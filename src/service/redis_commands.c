// SPDX-License-Identifier: MIT
#include "service/redis_commands.h"

#include "service/access.h"
#include "service/commands.h"
#include "service/redis_call.h"
#include "service/words.h"

typedef const struct cv_resp_command *words;

static struct cv_brief brief(struct cv_text text)
{
    return cv_brief_text(text);
}

/* ---- words ---- */

static bool is_token(struct session *session, struct cv_text token)
{
    if (token.length && token.length <= CV_VALUE_BYTES)
        return true;
    cv_resp_error(&session->out, "ERR a token of %zu bytes: expected 1 to %u", token.length, CV_VALUE_BYTES);
    return false;
}

static bool are_names(struct session *session, enum cv_right right, const struct cv_text *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (!word_is_name(session, names[i]) || !access_allowed(session, right, names[i]))
            return false;
    return true;
}

/* Runs a command about one name. The table of commands has looked at its right. */
static void run_one(struct session *session, words command, enum redis_verb verb, struct cv_text token, uint64_t ms)
{
    if (word_is_name(session, command->word[1]))
        redis_call_run(session, &(struct redis_order){
                                    .verb = verb, .names = &command->word[1], .count = 1, .token = token, .ms = ms});
}

static const struct cv_text no_token = {"", 0};

/* ---- commands ---- */

/* name token NX [PX ms | EX seconds] */
void redis_set(struct session *session, words command)
{
    bool only_free = false;
    uint64_t ms = 0;
    for (uint32_t i = 3; i < command->count; i++) {
        const struct cv_text option = command->word[i];
        const struct cv_text value = i + 1 < command->count ? command->word[i + 1] : no_token;
        const bool in_ms = cv_resp_is(option, "PX");
        if (cv_resp_is(option, "NX")) {
            only_free = true;
        } else if ((in_ms || cv_resp_is(option, "EX")) && !ms) {
            if (!word_is_duration(session, in_ms ? "PX" : "EX", value, in_ms ? 1 : 1000, &ms))
                return;
            i++;
        } else {
            cv_resp_error(&session->out, "ERR SET '%s': expected NX, and PX milliseconds or EX seconds",
                          brief(option).text);
            return;
        }
    }
    if (!only_free)
        cv_resp_error(&session->out, "ERR SET without NX: expected it, since a lock is taken only if nobody holds it");
    else if (is_token(session, command->word[2]))
        run_one(session, command, REDIS_SET, command->word[2], ms);
}

void redis_get(struct session *session, words command)
{
    run_one(session, command, REDIS_GET, no_token, 0);
}

static void run_all(struct session *session, words command, enum redis_verb verb, enum cv_right right)
{
    if (are_names(session, right, &command->word[1], command->count - 1))
        redis_call_run(session,
                       &(struct redis_order){.verb = verb, .names = &command->word[1], .count = command->count - 1});
}

void redis_del(struct session *session, words command)
{
    run_all(session, command, REDIS_DEL, CV_MAY_LOCK);
}

void redis_exists(struct session *session, words command)
{
    run_all(session, command, REDIS_EXISTS, CV_MAY_OBSERVE);
}

static void expire(struct session *session, words command, const char *what, uint64_t unit_ms)
{
    uint64_t ms;
    if (word_is_duration(session, what, command->word[2], unit_ms, &ms))
        run_one(session, command, REDIS_PEXPIRE, no_token, ms);
}

void redis_pexpire(struct session *session, words command)
{
    expire(session, command, "PEXPIRE", 1);
}

void redis_expire(struct session *session, words command)
{
    expire(session, command, "EXPIRE", 1000);
}

void redis_pttl(struct session *session, words command)
{
    run_one(session, command, REDIS_PTTL, no_token, 0);
}

void redis_ttl(struct session *session, words command)
{
    run_one(session, command, REDIS_TTL, no_token, 0);
}

void redis_fence(struct session *session, words command)
{
    if (is_token(session, command->word[2]))
        run_one(session, command, REDIS_FENCE, command->word[2], 0);
}

/* Names are the same in every database, so there is only one. */
void redis_select(struct session *session, words command)
{
    if (cv_text_is(command->word[1], "0"))
        cv_resp_status(&session->out, "OK");
    else
        cv_resp_error(&session->out, "ERR SELECT '%s': expected 0, the only one", brief(command->word[1]).text);
}

/* ---- scripts ---- */

/* redis-py says by a third argument whether the time is added to what is left, "0", or replaces it. */
static enum redis_verb verb_of(const struct redis_script *script, const struct cv_text *arguments)
{
    static const enum redis_verb verbs[] = {[REDIS_SCRIPT_ACQUIRE] = REDIS_ACQUIRE,
                                            [REDIS_SCRIPT_RELEASE] = REDIS_RELEASE,
                                            [REDIS_SCRIPT_EXTEND] = REDIS_EXTEND,
                                            [REDIS_SCRIPT_LENGTHEN] = REDIS_LENGTHEN};
    if (script->verb == REDIS_SCRIPT_LENGTHEN && !cv_text_is(arguments[2], "0"))
        return REDIS_EXTEND;
    return verbs[script->verb];
}

/* script numkeys name... token [time ...] */
static void run_script(struct session *session, words command, const struct redis_script *script)
{
    uint64_t keys;
    const uint32_t given = command->count - 3;
    if (!cv_parse_number(command->word[2], given, &keys) || !keys || (script->keys && keys != script->keys) ||
        given - keys != script->arguments) {
        cv_resp_error(&session->out, "ERR numkeys '%s' and %u words after it: expected %s and %u more for this script",
                      brief(command->word[2]).text, given, script->keys ? "1, a name" : "that many names",
                      script->arguments);
        return;
    }
    const struct cv_text *names = &command->word[3], *arguments = names + keys;
    struct redis_order order = {
        .verb = verb_of(script, arguments), .names = names, .count = (uint32_t)keys, .token = arguments[0]};
    if (are_names(session, CV_MAY_LOCK, names, order.count) && is_token(session, order.token) &&
        (!script->unit_ms || word_is_duration(session, "time to live", arguments[1], script->unit_ms, &order.ms)))
        redis_call_run(session, &order);
}

static const struct redis_script *recognize(struct session *session, struct cv_text text)
{
    const struct redis_script *script = redis_script_of(text);
    if (!script)
        cv_resp_error(&session->out, "ERR unknown script (%s): Conclave runs no Lua, and knows those of lock libraries",
                      redis_script_hash(text).hex);
    return script;
}

void redis_eval(struct session *session, words command)
{
    const struct redis_script *script = recognize(session, command->word[1]);
    if (!script)
        return;
    redis_script_load(&session->service->scripts, command->word[1], script);
    run_script(session, command, script);
}

void redis_evalsha(struct session *session, words command)
{
    const struct redis_script *script = redis_script_find(&session->service->scripts, command->word[1]);
    if (script)
        run_script(session, command, script);
    else
        cv_resp_error(&session->out, "NOSCRIPT No matching script. Please use EVAL.");
}

/* LOAD script, EXISTS sha1..., FLUSH */
void redis_script(struct session *session, words command)
{
    struct redis_scripts *scripts = &session->service->scripts;
    if (cv_resp_is(command->word[1], "LOAD") && command->count == 3) {
        const struct redis_script *script = recognize(session, command->word[2]);
        if (script)
            cv_resp_word(&session->out, redis_script_load(scripts, command->word[2], script).hex);
    } else if (cv_resp_is(command->word[1], "EXISTS") && command->count > 2) {
        cv_resp_array(&session->out, command->count - 2);
        for (uint32_t i = 2; i < command->count; i++)
            cv_resp_integer(&session->out, redis_script_find(scripts, command->word[i]) != NULL);
    } else if (cv_resp_is(command->word[1], "FLUSH")) {
        *scripts = (struct redis_scripts){.next = 0};
        cv_resp_status(&session->out, "OK");
    } else {
        cv_resp_error(&session->out, "ERR SCRIPT '%s': expected LOAD script, EXISTS sha1... or FLUSH",
                      brief(command->word[1]).text);
    }
}
