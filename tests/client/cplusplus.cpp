// SPDX-License-Identifier: MIT
/* Uses conclave.hpp with a server that can be stopped: cplusplus SERVER PID. */
#include <conclave/conclave.hpp>
#include <csignal>
#include <cstdio>
#include <cstdlib>

using std::chrono::milliseconds;

static libconclave::options with(const char *server, milliseconds ttl)
{
    libconclave::options options;
    options.servers.servers = server;
    options.ttl = ttl;
    return options;
}

#define EXPECT(what)                                                                                                   \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            std::fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                            \
            std::exit(1);                                                                                              \
        }                                                                                                              \
    } while (0)

static int try_it(const char *server, const char *name)
{
    libconclave::options once = with(server, milliseconds(2000));
    once.wait = milliseconds(0);
    try {
        libconclave::hold lock(name, once);
        return 0;
    } catch (const libconclave::error &error) {
        return error.code();
    }
}

static void held_for_its_scope(const char *server)
{
    std::uint64_t first;
    {
        libconclave::hold lock("a", with(server, milliseconds(1000)));
        first = lock.fence();
        EXPECT(try_it(server, "a") == CONCLAVE_TIMEOUT);
        std::this_thread::sleep_for(milliseconds(2500));
        lock.check();
        libconclave::hold moved = std::move(lock);
        EXPECT(moved.held() && !lock.held());
    }
    EXPECT(try_it(server, "a") == 0);
    libconclave::hold leader = libconclave::hold::campaign("b", with(server, milliseconds(1000)));
    libconclave::hold again("a", with(server, milliseconds(1000)));
    EXPECT(again.fence() > first && leader.held());
    again.release();
    EXPECT(!again.held());
    leader.release();
}

static void alone_and_back(const char *server)
{
    libconclave::options shared = with(server, milliseconds(1000));
    shared.shared = true;
    libconclave::hold one("c", shared), two("c", shared);
    const std::uint64_t first = one.fence();
    EXPECT(!one.upgrade(milliseconds(0)) && !one.upgrade(milliseconds(200)) && one.fence() == first && one.held());
    two.release();
    EXPECT(one.upgrade() && one.fence() > first);
    const std::uint64_t alone = one.fence();
    EXPECT(try_it(server, "c") == CONCLAVE_TIMEOUT);
    std::this_thread::sleep_for(milliseconds(2500));
    one.check();
    one.downgrade();
    EXPECT(one.fence() > alone);
    libconclave::hold three("c", shared);
    EXPECT(three.held() && one.held());
    one.release();
}

static void told_that_it_is_lost(const char *server, pid_t node)
{
    std::atomic<bool> told{false};
    libconclave::options wanted = with(server, milliseconds(1000));
    wanted.on_lost = [&told] { told = true; };
    libconclave::hold lock("a", wanted);
    kill(node, SIGSTOP);
    while (lock.held())
        std::this_thread::sleep_for(milliseconds(5));
    bool thrown = false;
    try {
        lock.check();
    } catch (const libconclave::lost &) {
        thrown = true;
    }
    while (!told)
        std::this_thread::sleep_for(milliseconds(5));
    kill(node, SIGCONT);
    EXPECT(thrown);
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    held_for_its_scope(argv[1]);
    alone_and_back(argv[1]);
    told_that_it_is_lost(argv[1], static_cast<pid_t>(std::atoi(argv[2])));
    return 0;
}
