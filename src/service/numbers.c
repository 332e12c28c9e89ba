// SPDX-License-Identifier: MIT
#include "service/numbers.h"

#include <string.h>
#include <sys/statvfs.h>

#include "group/raft/disk.h"
#include "live/net/pulse.h"
#include "service/service.h"

#define AT(field) offsetof(struct numbers, field)

const struct number number_table[] = {
    {"server", "uptime_in_seconds", NULL, NULL, 1, AT(uptime_s)},
    {"server", "epoch", "conclave_view_epoch", "Number of the view this node is in.", 1, AT(epoch)},
    {"server", "views", "conclave_views_total", "Views that have begun here.", 1, AT(views)},
    {"server", "term", "conclave_election_term", "Term of the coordinator's election.", 1, AT(term)},
    {"server", "elections", "conclave_elections_total", "Elections of a coordinator that were called.", 1,
     AT(elections)},
    {"server", "loop_late_ms", "conclave_loop_late_seconds", "Worst lateness of the loop in the last minute or two.",
     1000, AT(late_ms)},
    {"server", "loop_stalls", "conclave_loop_stalls_total", "Times the loop was stuck for over a quarter second.", 1,
     AT(stalls)},
    {"turns", "longest_turn_us", "conclave_longest_turn_seconds",
     "Longest turn of the loop since INFO server was last asked, in time of the processor.", 1000000,
     AT(longest_turn_us)},
    {"server", "coordinator", "conclave_coordinator", "Id of the node that coordinates, -1 if there is none.", 1,
     AT(coordinator)},
    {"server", "serves", "conclave_can_grant", "1 if this node can grant locks now.", 1, AT(serves)},
    {"server", "started_ms", "process_start_time_seconds", "Start time of the process since 1970.", 1000,
     AT(started_ms)},

    {"clients", "connected_clients", "conclave_clients", "Connected clients.", 1, AT(clients)},
    {"clients", "total_connections_received", "conclave_client_connections_total", "Connections of clients so far.", 1,
     AT(connections)},
    {"clients", "total_commands_processed", "conclave_commands_total", "Commands of clients.", 1, AT(commands)},
    {"clients", "strangers", "conclave_strangers", "Connections that have yet to prove who they are.", 1,
     AT(strangers)},
    {"clients", "dropped_strangers", "conclave_dropped_strangers_total", "Those that took too long or were too many.",
     1, AT(dropped_strangers)},
    {"clients", "refused_clients", "conclave_refused_clients_total", "Clients that could not prove who they are.", 1,
     AT(refused_clients)},
    {"clients", "rejected_connections", "conclave_rejected_clients_total", "Clients for whom there was no place.", 1,
     AT(rejected)},
    {"clients", "maxclients", "conclave_clients_limit", "No more clients than this.", 1, AT(most_clients)},
    {"clients", "dropped_unfinished", "conclave_dropped_unfinished_total", "Clients whose command did not end in time.",
     1, AT(dropped_unfinished)},
    {"clients", "refused_output", "conclave_refused_output_total",
     "Answers that would have been too long, alone or all together.", 1, AT(refused_output)},
    {"clients", "observed", "conclave_observed", "Names that clients observe, each as often as it is observed.", 1,
     AT(observed)},
    {"clients", "output_bytes", "conclave_client_output_bytes", "Memory for answers that clients have yet to read.", 1,
     AT(output_bytes)},
    {"clients", "http_requests", "conclave_http_requests_refused_total",
     "HTTP requests that came to the port of clients.", 1, AT(http_requests)},
    {"clients", "dropped_observers", "conclave_dropped_observers_total", "Observers that did not read.", 1,
     AT(dropped_observers)},

    {"peers", "bytes_in", "conclave_peer_received_bytes_total", "Bytes received from members.", 1, AT(bytes_in)},
    {"peers", "bytes_out", "conclave_peer_sent_bytes_total", "Bytes sent to members.", 1, AT(bytes_out)},
    {"peers", "refused", "conclave_refused_peers_total", "Members' connections ended for what they said.", 1,
     AT(refused_peers)},
    {"peers", "cut_off", "conclave_cut_off_peers_total", "Members cut off because they said what no member says.", 1,
     AT(cut_off_peers)},
    {"peers", "disagreements", "conclave_disagreements_total", "Messages of a member that means something else.", 1,
     AT(disagreements)},
    {"peers", "dropped_peers", "conclave_dropped_peers_total", "Members' connections that took too long to greet.", 1,
     AT(dropped_peers)},
    {"peers", "members", "conclave_members", "Members of the group by the configuration.", 1, AT(members)},
    {"peers", "view_members", "conclave_view_members", "Members of the view this node is in.", 1, AT(view_members)},
    {"peers", "suspected", "conclave_suspected_members", "Members this node suspects.", 1, AT(suspected)},

    {"locks", "names", "conclave_names", "Names in use.", 1, AT(names)},
    {"locks", "held", "conclave_held", "Locks and leaderships held by clients of this node.", 1, AT(held)},
    {"locks", "waiting", "conclave_waiting", "Clients of this node that wait.", 1, AT(waiting)},
    {"locks", "grants", "conclave_grants_total", "Locks and leaderships granted here.", 1, AT(grants)},
    {"locks", "releases", "conclave_releases_total", "Of those, given back.", 1, AT(releases)},
    {"locks", "losses", "conclave_losses_total", "Of those, lost: with the lease, a view or their time to live.", 1,
     AT(losses)},
    {"locks", "lending_notices", "conclave_lending_notices_total", "Messages sent to share locks between nodes.", 1,
     AT(sharing_notices)},

    {"detector", "heartbeat_ms", "conclave_heartbeat_seconds", "Time between heartbeats.", 1000, AT(heartbeat_ms)},
    {"detector", "suspicions", NULL, NULL, 1, AT(suspicions)}, /* by peer in metrics.c */
    {"detector", "mistakes", NULL, NULL, 1, AT(mistakes)},
    {"detector", "outages", "conclave_outages_total",
     "Members that were really silent, having stood still or been cut off, and came back.", 1, AT(outages)},
    {"detector", "mistaken_ms", "conclave_mistaken_seconds_total", "How long members were suspected by mistake.", 1000,
     AT(mistaken_ms)},

    {"raft", "lease_ms", "conclave_lease_left_seconds", "How long this node may surely go on granting.", 1000,
     AT(lease_ms)},
    {"raft", "lease_length_ms", "conclave_lease_seconds", "Length of a lease.", 1000, AT(lease_length_ms)},
    {"raft", "lapses", "conclave_lease_lapses_total", "Leases that ran out.", 1, AT(lapses)},
    {"raft", "grace_ms", "conclave_grace_left_seconds",
     "Time of grace that is left: new grants wait for clients that claim what they held before all nodes forgot it.",
     1000, AT(grace_ms)},
    {"log", "raft_leader", "conclave_raft_leader", "Id of the node that leads the log, -1 if none is known.", 1,
     AT(raft_leader)},
    {"log", "raft_term", "conclave_raft_term", "Term of the log.", 1, AT(raft_term)},
    {"log", "raft_committed", "conclave_raft_committed_index", "Index of the last entry agreed on.", 1,
     AT(raft_committed)},
    {"log", "raft_stored", "conclave_raft_stored_index", "Index of the last entry on this node's disk.", 1,
     AT(raft_stored)},
    {"log", "disk_writes", "conclave_disk_writes_total", "Records written to disk and synced.", 1, AT(disk_writes)},
    {"log", "disk_write_us", "conclave_disk_write_seconds_total", "Time that took.", 1000000, AT(disk_write_us)},
    {"log", "disk_slowest_us", "conclave_disk_slowest_write_seconds", "The longest of them.", 1000000,
     AT(disk_slowest_us)},
    {"log", "disk_last_us", "conclave_disk_last_write_seconds", "The last of them.", 1000000, AT(disk_last_us)},
    {"log", "disk_free", "conclave_disk_free_bytes", "Free space where the node's directory is.", 1, AT(disk_free)},
    {"log", "disk_size", "conclave_disk_size_bytes", "All of the space there.", 1, AT(disk_size)},
    {"tie", "tie_entry", "conclave_tie_entry", "Number of the last entry that the two have agreed on.", 1,
     AT(tie_entry)},
    {"tie", NULL, "conclave_tie_breaker_reached", "1 if the tie-breaker can be used.", 1, AT(tie_reached)},
    {"tls", "certificate_expires", "conclave_certificate_expiry_time_seconds",
     "When the node's certificate runs out, since 1970.", 1, AT(certificate_expires)},
};

const size_t number_count = sizeof number_table / sizeof *number_table;

/* ---- gathering ---- */

static void gather_members(const struct cv_member *member, struct numbers *numbers)
{
    const struct cv_peers *peers = &member->peers;
    const struct cv_view *view = &member->host.view;
    for (cv_node node = 0; node < member->roster.count; node++)
        numbers->members += member->roster.ids[node] != CV_NO_ID;
    numbers->view_members = cv_host_ready(&member->host) ? cv_set_count(view->members) : 0;
    numbers->suspected = cv_set_count(peers->suspected);
    numbers->serves = cv_member_serves(member);
    numbers->coordinator = numbers->serves ? (int64_t)member->roster.ids[view->coordinator] : -1;
    numbers->bytes_in = (int64_t)peers->bytes_in;
    numbers->bytes_out = (int64_t)peers->bytes_out;
    numbers->refused_peers = (int64_t)peers->refused;
    numbers->cut_off_peers = (int64_t)peers->cut_off;
    numbers->dropped_peers = (int64_t)peers->door.dropped;
    numbers->disagreements = (int64_t)member->disagreements;
    numbers->heartbeat_ms = (int64_t)(peers->heartbeat_us / 1000);
    for (cv_node node = 0; peers->list && node < member->roster.count; node++) {
        if (!peers->list[node])
            continue;
        numbers->suspicions += (int64_t)peers->list[node]->detector.suspicions;
        numbers->mistakes += (int64_t)peers->list[node]->detector.mistakes;
        numbers->outages += (int64_t)peers->list[node]->detector.outages;
        numbers->mistaken_ms += (int64_t)(peers->list[node]->detector.mistaken_us / 1000);
    }
}

static void gather_disk(const struct cv_member_status *status, struct numbers *numbers)
{
    struct statvfs space;
    numbers->disk_writes = (int64_t)status->disk.count;
    numbers->disk_write_us = (int64_t)status->disk.total_us;
    numbers->disk_slowest_us = (int64_t)status->disk.slowest_us;
    numbers->disk_last_us = (int64_t)status->disk.last_us;
    if (status->directory && statvfs(status->directory, &space) == 0) {
        numbers->disk_free = (int64_t)(space.f_bavail * space.f_frsize);
        numbers->disk_size = (int64_t)(space.f_blocks * space.f_frsize);
    }
}

static void gather_raft(const struct cv_member *member, struct numbers *numbers)
{
    struct cv_member_status status;
    cv_member_status(member, &status);
    numbers->lease_ms = cv_member_lease_left_ms(member);
    numbers->lease_length_ms = (int64_t)(status.lease.length_us / 1000);
    numbers->lapses = (int64_t)status.lapses;
    numbers->grace_ms = (int64_t)status.grace_ms;
    if (status.witness) {
        numbers->tie_entry = (int64_t)status.term;
        numbers->tie_reached = !status.witness_trouble;
        return;
    }
    numbers->raft_leader = status.leader;
    numbers->raft_term = (int64_t)status.term;
    numbers->raft_committed = (int64_t)status.committed;
    numbers->raft_stored = (int64_t)status.stored;
    gather_disk(&status, numbers);
}

static void gather_locks(const struct cv_service *service, struct numbers *numbers)
{
    const struct grant_statistics *statistics = &service->statistics;
    numbers->names = (int64_t)service->host->count - 1;
    numbers->held = (int64_t)statistics->held;
    numbers->waiting = (int64_t)statistics->waiting;
    numbers->grants = (int64_t)statistics->grants;
    numbers->releases = (int64_t)(statistics->ends - statistics->losses);
    numbers->losses = (int64_t)statistics->losses;
    numbers->sharing_notices = (int64_t)service->sharing_notices;
}

void numbers_gather(const struct cv_service *service, struct numbers *numbers)
{
    const struct cv_member *member = service->member;
    *numbers = (struct numbers){
        .uptime_s = (int64_t)((cv_loop_now() - member->started_us) / 1000000),
        .started_ms = service->started_ms,
        .epoch = (int64_t)member->host.view.epoch,
        .views = (int64_t)cv_member_views(member),
        .term = (int64_t)member->term,
        .elections = (int64_t)member->elections,
        .late_ms = service->pulse ? (int64_t)(cv_pulse_late_us(service->pulse) / 1000) : 0,
        .stalls = service->pulse ? (int64_t)service->pulse->stalls : 0,
        .clients = (int64_t)service->session_count,
        .connections = (int64_t)service->session_total,
        .commands = (int64_t)service->commands,
        .strangers = (int64_t)service->door.count,
        .dropped_strangers = (int64_t)service->door.dropped,
        .refused_clients = (int64_t)service->refused,
        .rejected = (int64_t)service->rejected,
        .most_clients = (int64_t)service->most_sessions,
        .dropped_unfinished = (int64_t)service->dropped_unfinished,
        .refused_output = (int64_t)service->refused_output,
        .observed = (int64_t)service->observing,
        .output_bytes = (int64_t)service->output.used,
        .longest_turn_us = (int64_t)service->loop->longest_turn_us,
        .http_requests = (int64_t)service->http_requests,
        .dropped_observers = (int64_t)service->dropped_observers,
    };
    gather_members(member, numbers);
    gather_locks(service, numbers);
    if (cv_member_agrees(member))
        gather_raft(member, numbers);
    if (member->security.clients)
        numbers->certificate_expires = cv_tls_expires(member->security.clients);
}

int64_t number_value(const struct number *number, const struct numbers *numbers)
{
    int64_t value;
    memcpy(&value, (const char *)numbers + number->place, sizeof value);
    return value;
}

bool number_applies(const struct number *number, const struct cv_service *service)
{
    const struct cv_member *member = service->member;
    if (strcmp(number->section, "tls") == 0)
        return member->security.clients && cv_tls_expires(member->security.clients);
    if (strcmp(number->section, "turns") == 0)
        return service->loop->measures;
    if (strcmp(number->section, "log") == 0)
        return strcmp(cv_member_mode(member), "raft") == 0;
    if (strcmp(number->section, "tie") == 0)
        return strcmp(cv_member_mode(member), "tie") == 0;
    return strcmp(number->section, "raft") != 0 || cv_member_agrees(member);
}

void numbers_write(FILE *file, const struct cv_service *service, const struct numbers *numbers, const char *section)
{
    for (size_t i = 0; i < number_count; i++) {
        const struct number *number = &number_table[i];
        if (number->key && strcmp(number->section, section) == 0 && number_applies(number, service))
            fprintf(file, "%s:%lld\r\n", number->key, (long long)number_value(number, numbers));
    }
}
