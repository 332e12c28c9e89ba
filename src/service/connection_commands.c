// SPDX-License-Identifier: MIT
#include "service/connection_commands.h"

#include <stdio.h>
#include <stdlib.h>

#include "live/net/door.h"
#include "live/net/stream.h"
#include "service/access.h"

typedef const struct cv_resp_command *words;

void connection_ping(struct session *session, words command)
{
    if (command->count > 1)
        cv_resp_bulk(&session->out, command->word[1]);
    else
        cv_resp_status(&session->out, "PONG");
}

/* ---- the client's name ---- */

/* Redis allows the same characters, so that a name is safe wherever it is shown. */
static bool is_client_name(struct session *session, struct cv_text name)
{
    if (name.length > CV_CLIENT_NAME_BYTES) {
        cv_resp_error(&session->out, "TOOBIG a client's name of %zu bytes, expected at most %u", name.length,
                      CV_CLIENT_NAME_BYTES);
        return false;
    }
    if (!cv_is_client_name(name)) {
        cv_resp_error(&session->out, "ERR Client names cannot contain spaces, newlines or special characters.");
        return false;
    }
    return true;
}

/* An empty name removes it. */
static bool set_name(struct session *session, struct cv_text name)
{
    struct cv_kept_text *kept = name.length ? cv_keep_text(name) : NULL;
    if (name.length && !kept) {
        cv_resp_error(&session->out, OUT_OF_MEMORY);
        return false;
    }
    cv_drop_text(&session->name);
    session->name = kept;
    return true;
}

/* ---- HELLO ---- */

/* HELLO version [AUTH name secret] [SETNAME name] */
static bool hello_options(struct session *session, words command)
{
    struct cv_text name = {NULL, 0};
    for (uint32_t i = 2; i < command->count; i++) {
        if (cv_resp_is(command->word[i], "AUTH") && i + 2 < command->count) {
            if (!access_prove(session, command->word[i + 1], command->word[i + 2]))
                return false;
            i += 2;
        } else if (cv_resp_is(command->word[i], "SETNAME") && i + 1 < command->count) {
            name = command->word[++i];
            if (!is_client_name(session, name))
                return false;
        } else {
            cv_resp_error(&session->out, "ERR '%s': expected AUTH name secret or SETNAME name",
                          cv_brief_text(command->word[i]).text);
            return false;
        }
    }
    return !name.start || set_name(session, name);
}

void connection_hello(struct session *session, words command)
{
    struct cv_resp_writer *out = &session->out;
    const struct cv_algorithm_host *host = session->service->host;
    if (command->count > 1) {
        uint64_t protocol;
        if (!cv_parse_number(command->word[1], 9, &protocol) || protocol < 2 || protocol > 3) {
            cv_resp_error(out, "NOPROTO unsupported protocol version '%s': expected 2 or 3",
                          cv_brief_text(command->word[1]).text);
            return;
        }
        if (!hello_options(session, command))
            return;
        out->protocol = (uint32_t)protocol;
    }
    cv_resp_map(out, 6);
    cv_resp_word(out, "server");
    cv_resp_word(out, "conclave");
    cv_resp_word(out, "version");
    cv_resp_word(out, CONCLAVE_VERSION);
    cv_resp_word(out, "proto");
    cv_resp_integer(out, out->protocol);
    cv_resp_word(out, "id");
    cv_resp_integer(out, host->roster->ids[host->roster->me]);
    cv_resp_word(out, "mode");
    cv_resp_word(out, cv_member_mode(session->service->member));
    cv_resp_word(out, "epoch");
    cv_resp_integer(out, (int64_t)host->view.epoch);
}

void connection_quit(struct session *session, words command)
{
    (void)command;
    cv_resp_status(&session->out, "OK");
    session->leaving = true;
}

/* Clients of Redis send this when they connect. */
void connection_command(struct session *session, words command)
{
    (void)command;
    cv_resp_array(&session->out, 0);
}

/* ---- CLIENT ---- */

/* A line as Redis has it, with the keys that have a meaning here. */
static void write_client(FILE *file, struct session *client)
{
    const struct cv_text name = cv_kept(client->name);
    char address[CV_VISITOR_NAME_BYTES] = "local";
    if (client->stream.uv.handle.type == UV_TCP) {
        cv_door_look(&client->visitor, &client->stream);
        cv_visitor_name(&client->visitor, address);
    }
    fprintf(file, "id=%llu addr=%s name=%.*s age=%llu user=%s resp=%u held=%llu observed=%llu waits=%d\n",
            (unsigned long long)client->number, address, (int)name.length, name.length ? name.start : "",
            (unsigned long long)(cv_loop_coarse_ms(client->service->loop) - client->since_ms) / 1000, client->identity,
            client->out.protocol, (unsigned long long)client->holding, (unsigned long long)client->observing,
            client->wait.lock || client->order);
}

/* All sessions, or one. */
static void list_clients(struct session *session, struct session *first, bool all)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    for (struct session *it = first; file && it; it = all ? it->next : NULL)
        if (!it->visitor.door && !it->stream.closing)
            write_client(file, it);
    if (file && fclose(file) == 0)
        cv_resp_bulk(&session->out, (struct cv_text){text, length});
    else
        cv_resp_error(&session->out, OUT_OF_MEMORY);
    free(text);
}

/* To be told OK, and find that nothing has changed, would be worse than an error. */
static bool is_obeyed_by_redis_alone(struct cv_text what)
{
    static const char *const others[] = {"KILL", "PAUSE", "UNPAUSE", "UNBLOCK", "REPLY", "TRACKING", "CACHING"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (cv_resp_is(what, others[i]))
            return true;
    return false;
}

void connection_client(struct session *session, words command)
{
    const struct cv_text what = command->count > 1 ? command->word[1] : (struct cv_text){"", 0};
    if (cv_resp_is(what, "ID")) {
        cv_resp_integer(&session->out, (int64_t)session->number);
    } else if (cv_resp_is(what, "SETNAME")) {
        if (command->count != 3)
            cv_resp_error(&session->out, "ERR wrong number of arguments for 'CLIENT SETNAME'");
        else if (is_client_name(session, command->word[2]) && set_name(session, command->word[2]))
            cv_resp_status(&session->out, "OK");
    } else if (cv_resp_is(what, "GETNAME")) {
        if (session->name)
            cv_resp_bulk(&session->out, cv_kept(session->name));
        else
            cv_resp_nil(&session->out);
    } else if (cv_resp_is(what, "INFO")) {
        list_clients(session, session, false);
    } else if (cv_resp_is(what, "LIST")) {
        if (!session->acl || access_allowed(session, CV_MAY_ADMIN, what))
            list_clients(session, session->service->sessions, true);
    } else if (!what.length) {
        cv_resp_error(&session->out, "ERR wrong number of arguments for 'CLIENT'");
    } else if (is_obeyed_by_redis_alone(what)) {
        cv_resp_error(&session->out, "ERR CLIENT '%s': expected ID, INFO, LIST, GETNAME or SETNAME name",
                      cv_brief_text(what).text);
    } else {
        cv_resp_status(&session->out, "OK");
    }
}
