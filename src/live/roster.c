// SPDX-License-Identifier: MIT
#include "live/roster.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "group/bytes.h"
#include "group/proposal.h"
#include "group/raft/agreement.h"
#include "live/consensus.h"
#include "live/consensus_terms.h"
#include "live/member.h"
#include "live/process/event_log.h"
#include "live/settings/settings.h"
#include "live/settings/settings_file.h"

#define REQUEST_US 10000000u /* a node repeats an operator's request so long, and a configuration's for ever */
#define RETRY_US 200000u
#define MEMBERS "members"
#define NEW_MEMBERS MEMBERS ".new"

/* ---- addresses ---- */

static const struct cv_member_setting *configured(const struct consensus *consensus, cv_id id)
{
    for (uint32_t i = 0; i < consensus->settings->member_count; i++)
        if (consensus->settings->members[i].id == id)
            return &consensus->settings->members[i];
    return NULL;
}

static void put_text(struct cv_buffer *bytes, const char *text)
{
    const size_t length = strlen(text ? text : "");
    cv_put_8(bytes, (uint8_t)length);
    cv_put_bytes(bytes, text, length);
}

static void copy(char place[CV_ADDRESS_BYTES], const char *text)
{
    snprintf(place, CV_ADDRESS_BYTES, "%s", text ? text : "");
}

void roster_write_addresses(const struct consensus *consensus, const struct cv_seating *seating,
                            struct cv_buffer *bytes)
{
    const struct cv_roster *roster = &consensus->member->roster;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++) {
        const struct cv_change *change = &consensus->granted.change;
        const bool joins = change->kind == CV_CHANGE_JOIN && seating->ids[node] == change->id &&
                           (node >= roster->count || roster->ids[node] != change->id);
        const struct cv_addresses *known = joins ? &consensus->granted.addresses : &consensus->addresses[node];
        const size_t length = 3 + strlen(known->peers) + strlen(known->clients);
        if (!cv_set_has(seating->present, node) || bytes->length + length > CV_AGREEMENT_ENTRY_BYTES)
            continue;
        cv_put_8(bytes, (uint8_t)node);
        put_text(bytes, known->peers);
        put_text(bytes, known->clients);
    }
}

static void take_text(struct cv_cursor *bytes, char place[CV_ADDRESS_BYTES])
{
    const uint8_t length = cv_take_8(bytes);
    const unsigned char *text = cv_take_bytes(bytes, length);
    static_assert(UINT8_MAX < CV_ADDRESS_BYTES, "whatever is told fits");
    if (text)
        snprintf(place, CV_ADDRESS_BYTES, "%.*s", (int)length, (const char *)text);
}

bool roster_addresses_fit(struct cv_cursor bytes)
{
    bool fit = true;
    while (bytes.left && !bytes.broken) {
        fit &= cv_take_8(&bytes) < CV_MAX_MEMBERS;
        cv_take_bytes(&bytes, cv_take_8(&bytes));
        cv_take_bytes(&bytes, cv_take_8(&bytes));
    }
    return fit && !bytes.broken;
}

static void read_addresses(struct cv_cursor *bytes, struct cv_addresses addresses[CV_MAX_MEMBERS])
{
    memset(addresses, 0, CV_MAX_MEMBERS * sizeof *addresses);
    while (bytes->left && !bytes->broken) {
        const uint8_t node = cv_take_8(bytes);
        struct cv_addresses nobody;
        struct cv_addresses *place = node < CV_MAX_MEMBERS ? &addresses[node] : &nobody;
        take_text(bytes, place->peers);
        take_text(bytes, place->clients);
    }
}

/* ---- the roster ---- */

uint64_t roster_fingerprint(const struct cv_roster *roster)
{
    uint64_t hash = XXH3_64bits_withSeed(roster->ids, roster->count * sizeof *roster->ids, roster->mode == CV_MODE_TIE);
    hash = XXH3_64bits_withSeed(roster->attributes, roster->count * sizeof *roster->attributes, hash);
    return hash ? hash : 1;
}

void roster_draw(struct cv_roster *roster, const struct cv_settings *settings)
{
    roster->mode = settings->tie_breaker ? CV_MODE_TIE : settings->consensus ? CV_MODE_RAFT : CV_MODE_STATIC;
    roster->count = settings->member_count;
    roster->voters = cv_settings_voters(settings);
    for (uint32_t i = 0; i < settings->member_count; i++) {
        roster->ids[i] = settings->members[i].id;
        roster->attributes[i] = settings->members[i].attribute;
        roster->addresses[i] = settings->members[i].address;
        roster->clients[i] = settings->members[i].client;
        if (settings->members[i].standby)
            roster->standbys |= cv_set_of(i);
        if (roster->ids[i] == settings->id)
            roster->me = i;
    }
    roster->group = roster->mode == CV_MODE_RAFT ? 0 : roster_fingerprint(roster);
}

static void point_at(struct cv_roster *roster, cv_node node, const struct cv_addresses *known)
{
    roster->addresses[node] = *known->peers ? known->peers : NULL;
    roster->clients[node] = *known->clients ? known->clients : NULL;
}

static void take_addresses(struct consensus *consensus, const struct cv_seating *seating, struct cv_cursor *bytes)
{
    struct cv_roster *roster = &consensus->member->roster;
    struct cv_addresses told[CV_MAX_MEMBERS];
    read_addresses(bytes, told);
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++) {
        struct cv_addresses *known = &consensus->addresses[node];
        const struct cv_member_setting *own =
            cv_set_has(seating->present, node) ? configured(consensus, seating->ids[node]) : NULL;
        *known = told[node];
        if (own)
            copy(known->peers, own->address);
        if (own && own->client)
            copy(known->clients, own->client);
        point_at(roster, node, known);
    }
}

/* Returns the places that another member has now. */
static cv_set take_places(struct cv_roster *roster, const struct cv_seating *seating, cv_node me)
{
    cv_set changed = 0;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++) {
        if (node >= roster->count || roster->ids[node] != seating->ids[node])
            changed |= cv_set_of(node);
        roster->ids[node] = seating->ids[node];
        roster->attributes[node] = seating->attributes[node];
    }
    roster->count = 64u - (uint32_t)__builtin_clzll(seating->present);
    roster->me = me;
    roster->group = seating->group;
    roster->generation = seating->generation;
    roster->standbys = seating->standbys;
    return changed;
}

/* The last entry on disk may not have been agreed, but another one of the same generation. */
static bool is_same(const struct cv_roster *roster, const struct cv_seating *seating)
{
    return seating->generation == roster->generation && memcmp(seating->ids, roster->ids, sizeof seating->ids) == 0 &&
           memcmp(seating->attributes, roster->attributes, sizeof seating->attributes) == 0;
}

bool roster_follow(struct consensus *consensus, uint64_t epoch, const struct cv_seating *seating,
                   struct cv_cursor *rest)
{
    struct cv_member *member = consensus->member;
    struct cv_roster *roster = &member->roster;
    const cv_node me = cv_seating_place(seating, roster->ids[roster->me]);
    if (me == CV_NOBODY)
        return false; /* an entry from before this node joined, or after it left */
    /* After a restart the log tells entries again that are older than the last on disk. */
    if (!consensus->seated || epoch == 0 || epoch > consensus->recalled || seating->generation >= roster->generation) {
        memcpy(roster->known, seating->known, sizeof roster->known);
        roster->voters = seating->voters;
        roster->vouches = true;
    }
    if (consensus->seated &&
        (is_same(roster, seating) || (seating->generation < roster->generation && epoch <= consensus->recalled)))
        return true;
    consensus->seated = true;
    const cv_set changed = take_places(roster, seating, me);
    take_addresses(consensus, seating, rest);
    consensus->ready &= ~changed;
    consensus->renewed &= ~changed;
    consensus->torn &= ~changed;
    for (cv_node node = 0; node < CV_MAX_MEMBERS; node++)
        if (cv_set_has(changed, node))
            cv_lease_forget(&consensus->lease, node);
    peers_follow(&member->peers);
    member_rearranged(member, changed);
    return true;
}

void roster_recall(struct consensus *consensus)
{
    struct cv_roster *roster = &consensus->member->roster;
    struct cv_proposal proposal;
    size_t length;
    uint64_t index;
    for (cv_node node = 0; node < roster->count; node++) {
        struct cv_addresses *known = &consensus->addresses[node];
        copy(known->peers, roster->addresses[node]);
        copy(known->clients, roster->clients[node]);
        point_at(roster, node, known);
    }
    consensus->seated = !consensus->protocol->reconfigures; /* then the configuration alone tells the members */
    const void *bytes = consensus->protocol->last(consensus, &length, &index);
    struct cv_cursor cursor = cv_cursor(bytes, bytes ? length : 0);
    if (!bytes || !cv_proposal_read(&cursor, &proposal))
        return;
    consensus->recalls = true;
    consensus_recall_terms(consensus, &proposal.seating);
    consensus->recalled = index;
    if (!roster_follow(consensus, 0, &proposal.seating, &cursor)) {
        consensus->expelled = (uint64_t)proposal.seating.generation + 1;
        roster->group = proposal.seating.group;
    }
}

bool roster_is_seated(const struct consensus *consensus)
{
    return consensus->agreed_views.epoch ? consensus->seated
                                         : !consensus->joining && !consensus->recalls && !consensus->founding;
}

bool roster_believes(const struct consensus *consensus, uint64_t generation, bool was_known)
{
    if (!consensus->seated && consensus->joining) /* its place is only unknown yet */
        return was_known || (consensus->expelled && generation + 1 >= consensus->expelled);
    return generation > consensus->member->roster.generation;
}

/* ---- requests ---- */

static void forget_request(struct consensus *consensus, uint32_t place)
{
    consensus->requests[place] = consensus->requests[--consensus->request_count];
}

bool roster_request(struct consensus *consensus, const struct cv_change_request *request, bool patient)
{
    for (uint32_t i = 0; i < consensus->request_count; i++)
        if (consensus->requests[i].change.id == request->change.id &&
            (consensus->requests[i].change.kind == CV_CHANGE_TERM) == (request->change.kind == CV_CHANGE_TERM))
            forget_request(consensus, i--);
    if (consensus->request_count == CV_MAX_MEMBERS)
        return false;
    consensus->requests[consensus->request_count] = *request;
    consensus->requests[consensus->request_count++].until_us = patient ? UINT64_MAX : cv_loop_boot() + REQUEST_US;
    consensus->ask_us = 0;
    return true;
}

/* A node of that id has left, and may still vote in the log. A new node of the same id does not know how it voted. */
static bool may_still_vote(const struct consensus *consensus, const struct cv_change *change)
{
    return change->kind == CV_CHANGE_JOIN &&
           cv_seating_place(&consensus->agreed_views.agreed.seating, change->id) == CV_NOBODY &&
           consensus->protocol->has_seat(consensus, change->id);
}

/* The leader of the log cannot leave before another leads. */
static void grant(struct consensus *consensus, const struct cv_change_request *request)
{
    const struct cv_roster *roster = &consensus->member->roster;
    if (may_still_vote(consensus, &request->change))
        return; /* the request comes again */
    if (request->change.kind == CV_CHANGE_LEAVE && request->change.id == roster->ids[roster->me]) {
        consensus->protocol->hand_over(consensus);
    } else if (!consensus->agreed_views.change.kind) {
        consensus->granted = *request;
        cv_agreed_views_change(&consensus->agreed_views, &request->change, cv_loop_boot());
    }
}

/* Does the directory to be replaced still belong to the group? */
static bool is_occupied(const struct consensus *consensus, const struct cv_change_request *request)
{
    const struct cv_seating *seating = &consensus->agreed_views.agreed.seating;
    const cv_node place = cv_seating_place(seating, request->change.id);
    return request->replaces && place != CV_NOBODY && request->directory &&
           seating->known[place].directory == request->directory;
}

static bool is_due(const struct consensus *consensus, const struct cv_change_request *request)
{
    return is_occupied(consensus, request) ||
           cv_seating_needs(&consensus->agreed_views.agreed.seating, &request->change);
}

bool roster_replace(struct consensus *consensus, cv_node node)
{
    const struct cv_roster *roster = &consensus->member->roster;
    const struct cv_change_request request = {.change = {.kind = CV_CHANGE_JOIN,
                                                         .id = roster->ids[node],
                                                         .attribute = roster->attributes[node],
                                                         .standby = cv_set_has(roster->standbys, node)},
                                              .addresses = consensus->addresses[node],
                                              .replaces = true,
                                              .directory = roster->known[node].directory};
    return roster_request(consensus, &request, false);
}

static void put_forward(struct consensus *consensus, const struct cv_change_request *wanted)
{
    struct cv_change_request step = *wanted, *request = &step;
    if (is_occupied(consensus, wanted))
        step.change.kind = CV_CHANGE_LEAVE;
    struct cv_member *member = consensus->member;
    const cv_node leader = consensus_node(consensus, consensus->leader);
    char text[2 * CV_ADDRESS_BYTES];
    if (leader == member->roster.me) {
        grant(consensus, request);
        return;
    }
    if (leader == CV_NOBODY)
        return;
    snprintf(text, sizeof text, "%.255s\n%.255s", request->addresses.peers, request->addresses.clients);
    const uint64_t body[3] = {request->change.id, request->change.attribute,
                              (uint64_t)request->change.kind << 1 | request->change.standby};
    struct cv_frame frame = {.type = CV_FRAME_VIEW,
                             .kind = CV_VIEW_CHANGE,
                             .round = member->roster.generation,
                             .words = 6,
                             .name = cv_text(text),
                             .body = body};
    peers_send(&member->peers, leader, &frame);
}

/* A node that has missed the last change may ask for something that was done, and undone since. */
void roster_hear(struct consensus *consensus, const struct cv_frame *frame)
{
    const uint64_t id = cv_frame_number(frame, 0), kind = cv_frame_number(frame, 2);
    struct cv_change_request request = {
        .change = {.kind = kind >> 1 < CV_CHANGE_KINDS ? (enum cv_change_kind)(kind >> 1) : CV_CHANGE_NONE,
                   .id = (cv_id)id,
                   .attribute = (uint32_t)cv_frame_number(frame, 1),
                   .standby = kind & 1}};
    struct cv_text peers, clients;
    if (id >= CV_NO_ID || !cv_text_split(frame->name, '\n', &peers, &clients) || peers.length >= CV_ADDRESS_BYTES ||
        clients.length >= CV_ADDRESS_BYTES)
        return;
    snprintf(request.addresses.peers, CV_ADDRESS_BYTES, "%.*s", (int)peers.length, peers.start);
    snprintf(request.addresses.clients, CV_ADDRESS_BYTES, "%.*s", (int)clients.length, clients.start);
    if (consensus->is_open && consensus->protocol->reconfigures && consensus->agreed_views.leads &&
        frame->round == consensus->member->roster.generation)
        grant(consensus, &request);
}

void roster_forget_done(struct consensus *consensus)
{
    const uint64_t now = cv_loop_boot();
    for (uint32_t i = 0; i < consensus->request_count; i++) {
        const struct cv_change_request *request = &consensus->requests[i];
        if (now >= request->until_us || !is_due(consensus, request))
            forget_request(consensus, i--);
    }
}

void roster_pursue(struct consensus *consensus)
{
    const uint64_t now = cv_loop_boot();
    if (!consensus->agreed_views.epoch || now < consensus->ask_us)
        return;
    consensus->ask_us = now + RETRY_US;
    roster_forget_done(consensus);
    for (uint32_t i = 0; i < consensus->request_count; i++) {
        const struct cv_change_request request = consensus->requests[i];
        put_forward(consensus, &request);
    }
}

/* ---- the configuration has changed ---- */

static const struct cv_member_setting *find(const struct cv_settings *settings, cv_id id)
{
    for (uint32_t i = 0; i < settings->member_count; i++)
        if (settings->members[i].id == id)
            return &settings->members[i];
    return NULL;
}

static void request_for(struct consensus *consensus, const struct cv_member_setting *setting, enum cv_change_kind kind)
{
    struct cv_change_request request = {
        .change = {.kind = kind, .id = setting->id, .attribute = setting->attribute, .standby = setting->standby}};
    copy(request.addresses.peers, setting->address);
    copy(request.addresses.clients, setting->client);
    roster_request(consensus, &request, true);
}

void roster_invite(struct consensus *consensus, const struct cv_member_setting *setting)
{
    request_for(consensus, setting, CV_CHANGE_JOIN);
}

/* Each node uses the addresses of its own file. */
static void move(struct consensus *consensus, const struct cv_member_setting *setting)
{
    const struct cv_roster *roster = &consensus->member->roster;
    const cv_node node = consensus_node(consensus, (uint64_t)setting->id + 1);
    if (node == CV_NOBODY || node == roster->me || roster->addresses[node] != consensus->addresses[node].peers)
        return;
    copy(consensus->addresses[node].peers, setting->address);
    copy(consensus->addresses[node].clients, setting->client);
    peers_move(&consensus->member->peers, node);
}

/* The two members of a group with a tie-breaker do not change while they run. */
int roster_check(const struct consensus *consensus, const struct cv_settings *before, const struct cv_settings *after,
                 struct cv_complaint *complaint)
{
    bool same = before->member_count == after->member_count;
    for (uint32_t i = 0; same && i < before->member_count; i++) {
        const struct cv_member_setting *new = find(after, before->members[i].id);
        same = new &&new->attribute == before->members[i].attribute &&new->standby == before->members[i].standby;
    }
    const struct cv_terms old = cv_settings_terms(before), new = cv_settings_terms(after);
    if (consensus->protocol->reconfigures)
        return 0;
    if (memcmp(&old, &new, sizeof old) != 0)
        return cv_complain(complaint,
                           "[group]: a group with a tie-breaker has other terms only after a restart of both");
    if (same && after->tie_breaker)
        return 0;
    return cv_complain(complaint, "[members]: a group with a tie-breaker changes only while both nodes are down");
}

/* Asks the group for the values that have changed in the file. */
static void request_terms(struct consensus *consensus, const struct cv_settings *before,
                          const struct cv_settings *after)
{
    const struct cv_terms old = cv_settings_terms(before), new = cv_settings_terms(after);
    for (enum cv_term_key key = 0; key < CV_TERMS; key++)
        if (after->terms_given >> key & 1 && old.values[key] != new.values[key])
            roster_request(consensus,
                           &(const struct cv_change_request){
                               .change = {.kind = CV_CHANGE_TERM, .id = (cv_id)key, .attribute = new.values[key]}},
                           true);
}

/* A truncated file must not dissolve a group. Only a command removes members, one at a time. */
static void tell_missing(const struct consensus *consensus, const struct cv_settings *settings)
{
    const struct cv_roster *roster = &consensus->member->roster;
    for (cv_node node = 0; consensus->seated && !settings->joins && node < roster->count; node++)
        if (roster->ids[node] != CV_NO_ID && !find(settings, roster->ids[node]))
            cv_log_say(CV_LOG_MEMBERS,
                       "[members]: no line for node %u, which belongs to the group all the same; conclave leave %u "
                       "takes it out",
                       roster->ids[node], roster->ids[node]);
}

static void request_members(struct consensus *consensus, const struct cv_settings *before,
                            const struct cv_settings *after)
{
    for (uint32_t i = 0; i < after->member_count; i++) {
        const struct cv_member_setting *new = &after->members[i], *old = find(before, new->id);
        if (!old || old->attribute != new->attribute || old->standby != new->standby)
            request_for(consensus, new, CV_CHANGE_JOIN);
        if (old && old->address && new->address &&strcmp(old->address, new->address) != 0)
            move(consensus, new);
    }
    tell_missing(consensus, after);
}

void roster_reconfigure(struct consensus *consensus, const struct cv_settings *before, const struct cv_settings *after)
{
    consensus->settings = after;
    request_terms(consensus, before, after);
    request_members(consensus, before, after);
}

/* ---- what the configuration was ---- */

/* Writes a section of a configuration, so that the same parser reads it. */
static bool write_configuration(int file_number, const struct cv_settings *settings)
{
    FILE *file = file_number == -1 ? NULL : fdopen(file_number, "w");
    if (!file) {
        if (file_number != -1)
            close(file_number);
        return false;
    }
    fputs("; what [members] was when this node last read it\n[members]\n", file);
    for (uint32_t i = 0; i < settings->member_count; i++) {
        const struct cv_member_setting *it = &settings->members[i];
        if (it->address)
            fprintf(file, "%u = %s%s%s attribute %u%s\n", it->id, it->address, it->client ? " client " : "",
                    it->client ? it->client : "", it->attribute, it->standby ? " standby" : "");
    }
    return fclose(file) == 0;
}

void roster_remember(struct consensus *consensus)
{
    if (!consensus->directory)
        return;
    const int directory = open(consensus->directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory != -1)
        unlinkat(directory, NEW_MEMBERS, 0); /* a crash may have left it; nor may it be a link */
    const int file = directory == -1
                         ? -1
                         : openat(directory, NEW_MEMBERS, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (!write_configuration(file, consensus->settings) || renameat(directory, NEW_MEMBERS, directory, MEMBERS))
        cv_log_say(CV_LOG_NOT_WRITTEN, "%s/" MEMBERS ": cannot be written", consensus->directory);
    if (directory != -1)
        close(directory);
}

/* The node itself has written the file, with what other members say: no algorithm is looked for. */
static int find_none(const char *name, struct cv_found_algorithm *found, struct cv_complaint *complaint)
{
    (void)name, (void)complaint;
    *found = (struct cv_found_algorithm){0};
    return 0;
}

void roster_compare(struct consensus *consensus)
{
    struct cv_settings before;
    struct cv_complaint complaint;
    char path[4096];
    if (!consensus->directory)
        return;
    snprintf(path, sizeof path, "%s/" MEMBERS, consensus->directory);
    cv_settings_init(&before, find_none);
    if (consensus->seated && !consensus->settings->joins && cv_settings_read(&before, path, find_none, &complaint) == 0)
        request_members(consensus, &before, consensus->settings);
    cv_settings_free(&before);
    roster_remember(consensus);
}
