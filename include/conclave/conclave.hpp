// SPDX-License-Identifier: MIT
/*
 * A lock or a leadership for a C++17 program, over libconclave:
 *
 *     libconclave::hold lock("backup");          waits; given back at the end of its scope
 *     for (auto &file : files) {
 *         lock.check();                       throws libconclave::lost, before anybody else can have it
 *         copy(file, lock.fence());
 *     }
 *
 * Each hold has a session and a thread of its own, which renews it. Other threads may ask whether it is held. It is over,
 * for this process, a tenth of its time to live before the servers may give it to somebody else. Link with -lconclave and
 * -pthread.
 */
#ifndef CONCLAVE_CONCLAVE_HPP
#define CONCLAVE_CONCLAVE_HPP

#include <conclave/conclave.h>
#include <time.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace libconclave {

/* An error of conclave.h; code() is its number. */
class error : public std::runtime_error {
public:
    error(int code, const char *why)
        : std::runtime_error(std::string(conclave_error_text(code)) + ": " + why), code_(code) {}
    int code() const noexcept { return code_; }

private:
    int code_;
};

/* It is not held, or not any more. */
class lost : public error {
public:
    explicit lost(const char *why) : error(CONCLAVE_LOST, why) {}
};

inline conclave_options usual_servers() {
    conclave_options servers{};
    servers.timeout_ms = 2000;
    return servers;
}

struct options {
    std::optional<std::chrono::milliseconds> wait{}; /* no longer than that; 0: do not wait */
    std::chrono::milliseconds ttl{CONCLAVE_TTL_MS};
    bool shared = false;             /* of locks */
    std::uint32_t permits = 0;       /* of locks: one of up to so many holders */
    std::uint32_t priority = 0;      /* of candidates */
    std::function<void()> on_lost{}; /* as soon as it is lost, in the hold's thread */
    conclave_options servers = usual_servers(); /* and how to prove who this is */
};

/* Held from its construction to its destruction. */
class hold {
public:
    explicit hold(std::string name, options wanted = {}) : hold(std::move(name), std::move(wanted), false) {}
    static hold campaign(std::string name, options wanted = {}) {
        return hold(std::move(name), std::move(wanted), true);
    }

    hold(hold &&) noexcept = default;
    hold &operator=(hold &&other) {
        if (this != &other) {
            end();
            state_ = std::move(other.state_);
        }
        return *this;
    }
    ~hold() { end(); }

    std::uint64_t fence() const noexcept { return state_->fence; }

    /* For so long it is surely held, by this process's own clock, which runs on while the machine sleeps. */
    std::chrono::milliseconds left() const noexcept {
        const std::int64_t ms = state_ ? state_->ends_ms - now_ms() : 0;
        return std::chrono::milliseconds(ms > 0 ? ms : 0);
    }
    bool held() const noexcept { return left().count() > 0; }
    void check() const {
        if (!held())
            throw lost(state_ ? state_->name.c_str() : "given back");
    }

    /* A shared lock becomes one that is held alone, without a gap. False: waited too long, and it is shared as before. */
    bool upgrade(std::optional<std::chrono::milliseconds> wait = {}) {
        return exchange([this, wait] {
            return conclave_upgrade(state_->session, state_->name.c_str(), &state_->fence, wait ? wait->count() : -1);
        });
    }
    /* And back. */
    void downgrade() {
        exchange([this] { return conclave_downgrade(state_->session, state_->name.c_str(), &state_->fence); });
    }

    /* Gives it back. libconclave::lost if it was lost; the destructor is silent about that. */
    void release() {
        check();
        const int code = end();
        if (code == CONCLAVE_LOST)
            throw lost("it was not held any more");
    }

private:
    struct state {
        std::string name;
        options wanted;
        bool leads;
        struct conclave *session = nullptr;
        std::uint64_t fence = 0;
        std::atomic<std::int64_t> ends_ms{0};
        std::thread keeper{};

        state(std::string of, options as, bool leading) : name(std::move(of)), wanted(std::move(as)), leads(leading) {}
        state(const state &) = delete;
        state &operator=(const state &) = delete;
        ~state() { conclave_close(session); }
    };

    hold(std::string name, options wanted, bool leads)
        : state_(std::make_unique<state>(std::move(name), std::move(wanted), leads)) {
        int code = conclave_open_with(&state_->session, &state_->wanted.servers);
        if (code == 0)
            code = acquire(*state_);
        if (code != 0)
            throw error(code, conclave_explain(state_->session));
        look(*state_);
        state_->keeper = std::thread(keep, state_.get());
    }

    static std::int64_t now_ms() noexcept {
        timespec now{};
        clock_gettime(CLOCK_BOOTTIME, &now);
        return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
    }

    static int acquire(state &of) {
        const auto wait = of.wanted.wait.value_or(std::chrono::milliseconds(0));
        const auto wait_ms = static_cast<std::uint64_t>(wait.count());
        const auto ttl_ms = static_cast<std::uint64_t>(of.wanted.ttl.count());
        const bool try_once = of.wanted.wait && wait_ms == 0;
        if (of.leads) {
            conclave_candidate candidate{};
            candidate.wait_ms = wait_ms;
            candidate.priority = of.wanted.priority;
            candidate.try_once = try_once;
            candidate.ttl_ms = ttl_ms;
            return conclave_campaign(of.session, of.name.c_str(), &candidate, &of.fence);
        }
        conclave_want want{};
        want.wait_ms = wait_ms;
        want.ttl_ms = ttl_ms;
        want.try_once = try_once;
        want.shared = of.wanted.shared;
        want.permits = of.wanted.permits;
        return conclave_lock(of.session, of.name.c_str(), &want, &of.fence);
    }

    static void look(state &of) {
        const std::int64_t left_ms = conclave_left_ms(of.session, of.name.c_str());
        of.ends_ms = left_ms > 0 ? now_ms() + left_ms - of.wanted.ttl.count() / 10 : 0;
    }

    /* conclave_next_event() renews. It returns now and then, to tell how much time there is, and when it is interrupted. */
    static void keep(state *of) {
        const auto step_ms = static_cast<int>(of->wanted.ttl.count() / 20) + 1;
        for (;;) {
            conclave_event event;
            const int got = conclave_next_event(of->session, &event, step_ms);
            if (got == CONCLAVE_INTERRUPTED)
                return;
            look(*of);
            if (now_ms() >= of->ends_ms)
                break;
        }
        of->ends_ms = 0;
        if (of->wanted.on_lost)
            of->wanted.on_lost();
    }

    /* The session belongs to one thread at a time, so the keeper rests meanwhile. */
    template <typename Call> bool exchange(Call call) {
        check();
        conclave_interrupt(state_->session);
        state_->keeper.join();
        const int code = call();
        const std::string why = conclave_explain(state_->session);
        look(*state_);
        state_->keeper = std::thread(keep, state_.get());
        if (code == CONCLAVE_LOST || (code == CONCLAVE_INTERRUPTED && !held()))
            throw lost(why.c_str());
        if (code != 0 && code != CONCLAVE_TIMEOUT)
            throw error(code, why.c_str());
        return code == 0;
    }

    int end() {
        if (!state_)
            return 0;
        conclave_interrupt(state_->session);
        state_->keeper.join();
        int code = 0;
        if (held())
            code = state_->leads ? conclave_resign(state_->session, state_->name.c_str())
                                 : conclave_unlock(state_->session, state_->name.c_str(), state_->fence);
        state_.reset(); /* what it holds still, the session gives back */
        return code;
    }

    std::unique_ptr<state> state_;
};

} // namespace libconclave

#endif
