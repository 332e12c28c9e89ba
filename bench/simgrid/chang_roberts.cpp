// SPDX-License-Identifier: MIT
/*
 * Chang and Roberts' ring election in SimGrid, for bench/sim: the same protocol, ids and messages as
 * `conclave sim chang-roberts --start all`, written the way SimGrid wants it: an actor and a mailbox per node.
 *
 * usage: chang_roberts [--cfg=...] <IDS      ids in ring order, from 1 on; prints messages, leader and seconds
 *
 * SimGrid gets what makes it fastest: one host, detached sends, a message packed into the pointer that travels
 * (nothing is allocated for it), small stacks and the Constant network model, in which every message takes one
 * second; that is also the unit delay. The seconds are those of run() alone, without building the actors.
 */
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>
#include <xbt/log.h>

namespace sg4 = simgrid::s4u;

enum Kind : uintptr_t { ELECTION, ELECTED };

struct Ring {
    std::vector<uintptr_t> ids;
    std::vector<sg4::Mailbox *> mailboxes;
    std::vector<uintptr_t> leaders;
    uint64_t messages = 0;
};

static Ring ring;

/* Ids begin at 1, so that a message is never the null pointer. */
static void pass_on(size_t node, Kind kind, uintptr_t id)
{
    sg4::Mailbox *successor = ring.mailboxes[node + 1 < ring.ids.size() ? node + 1 : 0];
    ring.messages++;
    successor->put_init(reinterpret_cast<void *>(id << 1 | kind), 8)->detach();
}

static void live(size_t node)
{
    const uintptr_t mine = ring.ids[node];
    sg4::Mailbox *mailbox = ring.mailboxes[node];
    pass_on(node, ELECTION, mine); /* everybody calls, so everybody participates from the start */
    for (;;) {
        const auto message = reinterpret_cast<uintptr_t>(mailbox->get<void>());
        const uintptr_t id = message >> 1;
        if ((message & 1) == ELECTED) {
            ring.leaders[node] = id;
            if (id != mine)
                pass_on(node, ELECTED, id);
            return;
        }
        if (id > mine)
            pass_on(node, ELECTION, id);
        else if (id == mine)
            pass_on(node, ELECTED, mine);
    }
}

int main(int argc, char **argv)
{
    xbt_log_control_set("root.threshold:error");
    sg4::Engine engine(&argc, argv);
    sg4::Engine::set_config("network/model:Constant");
    sg4::Engine::set_config("contexts/stack-size:16");
    sg4::Host *host = sg4::create_full_zone("ring")->create_host("host", 1e9);
    unsigned long long id;
    while (std::scanf("%llu", &id) == 1) {
        ring.mailboxes.push_back(sg4::Mailbox::by_name(std::to_string(ring.ids.size())));
        ring.ids.push_back(id);
    }
    ring.leaders.resize(ring.ids.size());
    for (size_t node = 0; node < ring.ids.size(); node++)
        sg4::Actor::create("node", host, [node] { live(node); });

    const auto started = std::chrono::steady_clock::now();
    engine.run();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - started;

    for (const uintptr_t leader : ring.leaders)
        if (leader == 0 || leader != ring.leaders[0]) {
            std::fprintf(stderr, "chang_roberts: the nodes do not agree\n");
            return 1;
        }
    std::printf("{\"messages\":%llu,\"leader\":%llu,\"seconds\":%.9f}\n", static_cast<unsigned long long>(ring.messages),
                static_cast<unsigned long long>(ring.leaders.empty() ? 0 : ring.leaders[0]), seconds.count());
    return 0;
}
