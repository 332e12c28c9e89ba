// SPDX-License-Identifier: MIT
#include "service/membership.h"

#include <stdio.h>
#include <string.h>

#include "core/parse.h"
#include "group/lease_times.h"
#include "live/net/listen.h"
#include "live/roster.h"
#include "live/settings/settings.h"

/* May members join and leave? Otherwise the client is told so. */
static bool is_changeable(struct session *session, const char *command)
{
    if (cv_member_changes_members(session->service->member))
        return true;
    cv_resp_error(&session->out, "ERR %s: the members of this group are those of its configuration", command);
    return false;
}

static void ask_for(struct session *session, const struct cv_change_request *request)
{
    if (!cv_member_leased(session->service->member))
        cv_resp_error(&session->out, "NOQUORUM a majority cannot be reached");
    else if (!cv_member_request(session->service->member, request))
        cv_resp_error(&session->out, "BUSY too many changes at once");
    else
        cv_resp_status(&session->out, "OK");
}

/* Reads addresses, one for each network, separated by commas. */
static bool take_addresses(struct cv_text word, char place[CV_ADDRESS_BYTES])
{
    struct cv_text rest = word, one;
    struct sockaddr_storage address;
    struct cv_complaint complaint;
    size_t used = 0;
    if (word.length >= CV_ADDRESS_BYTES || memchr(word.start, ' ', word.length))
        return false;
    for (uint32_t count = 0; cv_text_take(&rest, ',', &one); count++) {
        char *text = place + used + (count > 0);
        used += (size_t)snprintf(place + used, CV_ADDRESS_BYTES - used, "%s%.*s", count ? " " : "", (int)one.length,
                                 one.start);
        bool known; /* every member looks up a name for itself, later */
        if (count == CV_MOST_ADDRESSES || cv_address_read(text, &address, &known, "JOIN", &complaint))
            return false;
    }
    return true;
}

/*
 * An address for clients is a host and port, or a path. It has no byte that would break a line, a list or a terminal.
 */
static bool is_plain(struct cv_text address)
{
    for (size_t i = 0; i < address.length; i++)
        if (address.start[i] <= ' ' || address.start[i] >= 0x7f || address.start[i] == ',')
            return false;
    return address.length && address.length < CV_ADDRESS_BYTES;
}

/* CLIENT address, ATTRIBUTE number, STANDBY. */
static bool read_rest(const struct cv_resp_command *command, struct cv_change_request *request)
{
    for (uint32_t i = 3; i < command->count; i++) {
        const struct cv_text word = command->word[i];
        uint64_t attribute;
        if (cv_resp_is(word, "STANDBY")) {
            request->change.standby = true;
        } else if (i + 1 == command->count) {
            return false;
        } else if (cv_resp_is(word, "ATTRIBUTE") && cv_parse_number(command->word[i + 1], UINT32_MAX, &attribute)) {
            request->change.attribute = (uint32_t)attribute;
            i++;
        } else if (cv_resp_is(word, "CLIENT") && is_plain(command->word[i + 1])) {
            snprintf(request->addresses.clients, CV_ADDRESS_BYTES, "%.*s", (int)command->word[i + 1].length,
                     command->word[i + 1].start);
            i++;
        } else {
            return false;
        }
    }
    return true;
}

void membership_join(struct session *session, const struct cv_resp_command *command)
{
    struct cv_change_request request = {.change.kind = CV_CHANGE_JOIN};
    uint64_t id = 0;
    if (!is_changeable(session, "JOIN"))
        return;
    if (!cv_parse_number(command->word[1], CV_NO_ID - 1, &id) ||
        !take_addresses(command->word[2], request.addresses.peers)) {
        cv_resp_error(&session->out,
                      "ERR JOIN '%s' '%s': expected an id and where members reach it, up to four addresses",
                      cv_brief_text(command->word[1]).text, cv_brief_text(command->word[2]).text);
        return;
    }
    request.change.id = request.change.attribute = (cv_id)id;
    if (!read_rest(command, &request)) {
        cv_resp_error(&session->out, "ERR JOIN: expected CLIENT address, ATTRIBUTE number or STANDBY");
        return;
    }
    ask_for(session, &request);
}

void membership_leave(struct session *session, const struct cv_resp_command *command)
{
    const struct cv_roster *roster = &session->service->member->roster;
    uint64_t id = roster->ids[roster->me];
    struct cv_member_status status;
    if (!is_changeable(session, "LEAVE"))
        return;
    cv_member_status(session->service->member, &status);
    struct cv_seating seating = *status.seating;
    struct cv_change_request request = {.change.kind = CV_CHANGE_LEAVE};
    const bool known = command->count < 2 || cv_parse_number(command->word[1], CV_NO_ID - 1, &id);
    request.change.id = (cv_id)id;
    if (!known || cv_seating_place(&seating, request.change.id) == CV_NOBODY)
        cv_resp_error(&session->out, "ERR LEAVE '%s': expected the id of a member",
                      cv_brief_text(command->word[1]).text);
    else if (!cv_seating_apply(&seating, &request.change))
        cv_resp_error(&session->out, "ERR LEAVE: no voter would be left");
    else if (!cv_majority(seating.present & ~session->service->member->peers.suspected,
                          seating.voters & seating.present))
        cv_resp_error(&session->out, "ERR LEAVE: no majority of the other voters answers; start them first");
    else
        ask_for(session, &request);
}

/* ---- REPLACE ---- */

/* A member that is there has its directory, and must not be replaced by mistake. */
void membership_replace(struct session *session, const struct cv_resp_command *command)
{
    struct cv_member *member = session->service->member;
    const struct cv_roster *roster = &member->roster;
    uint64_t id = 0;
    cv_node node = 0;
    if (!is_changeable(session, "REPLACE"))
        return;
    const bool number = cv_parse_number(command->word[1], CV_NO_ID - 1, &id);
    while (node < roster->count && roster->ids[node] != id)
        node++;
    if (!number || node == roster->count)
        cv_resp_error(&session->out, "ERR REPLACE '%s': expected the id of a member; conclave join adds a new one",
                      cv_brief_text(command->word[1]).text);
    else if (node == roster->me || !cv_set_has(member->peers.suspected, node))
        cv_resp_error(&session->out,
                      "ERR REPLACE: node %llu answers, with the directory it had: there is nothing to "
                      "replace",
                      (unsigned long long)id);
    else if (!cv_member_leased(member))
        cv_resp_error(&session->out, "NOQUORUM a majority cannot be reached");
    else if (!cv_member_replace(member, node))
        cv_resp_error(&session->out, "BUSY too many changes at once");
    else
        cv_resp_integer(&session->out, roster->known[node].directory);
}

/* ---- TERMS ---- */

/* While a view begins, not all members use them yet. */
static void tell_terms(struct session *session, const struct cv_member_status *status)
{
    cv_resp_map(&session->out, CV_TERMS);
    for (enum cv_term_key key = 0; key < CV_TERMS; key++) {
        cv_resp_word(&session->out, cv_term_name(key));
        cv_resp_integer(&session->out, status->terms_count ? (int64_t)status->seating->terms.values[key] : -1);
    }
}

/* A member renews its lease with its heartbeats. */
static bool is_too_short(const struct cv_member_status *status, enum cv_term_key key, uint32_t value)
{
    return key == CV_TERM_LEASE && value < CV_LEASE_HEARTBEATS * status->heartbeat_ms;
}

void membership_terms(struct session *session, const struct cv_resp_command *command)
{
    const struct cv_member *member = session->service->member;
    struct cv_change_request request = {.change.kind = CV_CHANGE_TERM};
    struct cv_member_status status;
    struct cv_complaint complaint;
    char name[32], text[32];
    if (!cv_member_agrees(member) || (command->count > 1 && !cv_member_changes_terms(member))) {
        cv_resp_error(&session->out, "ERR TERMS: the settings of this group are those of its configuration");
        return;
    }
    cv_member_status(member, &status);
    if (command->count < 3) {
        tell_terms(session, &status);
        return;
    }
    snprintf(name, sizeof name, "%.*s", (int)command->word[1].length, command->word[1].start);
    snprintf(text, sizeof text, "%.*s", (int)command->word[2].length, command->word[2].start);
    const enum cv_term_key key = cv_term_find(name);
    if (key == CV_TERMS) {
        cv_resp_error(&session->out, "ERR TERMS '%s': expected lease, drift, bound or voters",
                      cv_brief_text(command->word[1]).text);
        return;
    }
    if (cv_term_parse(key, text, &request.change.attribute, &complaint))
        cv_resp_error(&session->out, "ERR TERMS: %s", complaint.text);
    else if (is_too_short(&status, key, request.change.attribute))
        cv_resp_error(&session->out, "ERR TERMS: [group] lease = %s: expected at least three heartbeats, %llu", text,
                      CV_LEASE_HEARTBEATS * (unsigned long long)status.heartbeat_ms);
    else {
        request.change.id = (cv_id)key;
        ask_for(session, &request);
    }
}
