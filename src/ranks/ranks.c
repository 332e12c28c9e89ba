// SPDX-License-Identifier: MIT
#include "ranks/ranks.h"

#include <assert.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "core/wall_clock.h"
#include "ranks/launch.h"
#include "ranks/module.h"

#define YIELDS 4000u
#define LONGEST_REST_NS 1000000
#define PATIENCE_SECONDS 10 /* with ranks that do not begin; then the user hears of it */
#define WATCHERS 2u         /* ranks that tell: the first might be the one that does not begin */

struct cv_ranks {
    uint32_t own, count;
    const struct ranks_module *module; /* NULL: this rank is alone */
    struct block_pool pool;
    struct block_queue home; /* what this rank has sent to itself */
    uint32_t rests;          /* since a block came */
    struct {
        const volatile sig_atomic_t *flag; /* NULL: it waits for ever */
        uint64_t since_ms;                 /* it waits, and the flag is set */
        uint32_t after_ms;
        void (*call)(void *context);
        void *context;
    } give_up;
};

/* MPI waits without a word for ranks that never begin, because they do something else. */
struct watch {
    const struct cv_launch *launch;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t met;
    bool over;
};

static void *watch_others(void *context)
{
    struct watch *watch = context;
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += PATIENCE_SECONDS;
    pthread_mutex_lock(&watch->lock);
    while (!watch->over && !pthread_cond_timedwait(&watch->met, &watch->lock, &end))
        ;
    if (!watch->over)
        fprintf(stderr, "conclave: rank %u still waits for others of %u; expected the same command for all ranks\n",
                watch->launch->rank, watch->launch->size);
    pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static bool join(struct cv_ranks *ranks, const struct ranks_module *module, const struct cv_launch *launch)
{
    struct watch watch = {launch, 0, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false};
    const bool watched = launch->rank < WATCHERS && !pthread_create(&watch.thread, NULL, watch_others, &watch);
    const bool joined = module->join(&ranks->own, &ranks->count);
    if (watched) {
        pthread_mutex_lock(&watch.lock);
        watch.over = true;
        pthread_cond_signal(&watch.met);
        pthread_mutex_unlock(&watch.lock);
        pthread_join(watch.thread, NULL);
    }
    return joined;
}

static int meet(struct cv_ranks *ranks, const struct cv_launch *launch, struct cv_complaint *complaint)
{
    const struct ranks_module *module = module_load(launch, complaint);
    if (!module)
        return CV_EINPUT;
    if (!join(ranks, module, launch))
        return cv_complain(complaint, "mpirun -n %u: MPI does not connect the ranks", launch->size);
    ranks->module = module;
    if (ranks->count != launch->size)
        return cv_complain(complaint,
                           "mpirun -n %u: MPI connects %u; expected %s's mpirun, for which conclave was built",
                           launch->size, ranks->count, module->library);
    return 0;
}

/* Is there a rank that has other work than the first? It would wait for what the first never sends. */
static int compare_work(struct cv_ranks *ranks, uint64_t work, struct cv_complaint *complaint)
{
    uint64_t first = work;
    cv_ranks_broadcast(ranks, 0, &first, sizeof first);
    uint64_t other = work == first ? ranks->count : ranks->own;
    cv_ranks_reduce(ranks, CV_REDUCE_LEAST, &other, 1);
    return other == ranks->count ? 0
                                 : cv_complain(complaint,
                                               "rank %u has another command line than rank 0; expected the same words "
                                               "for all ranks",
                                               (uint32_t)other);
}

struct cv_ranks *cv_ranks_alone(void)
{
    struct cv_ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks)
        ranks->count = 1;
    return ranks;
}

int cv_ranks_join(struct cv_ranks **ranks, uint64_t work, struct cv_complaint *complaint)
{
    struct cv_launch launch;
    struct cv_ranks *made = cv_ranks_alone();
    *ranks = NULL;
    if (!made)
        return CV_ENOMEM;
    int error = cv_launch_find(&launch) ? meet(made, &launch, complaint) : 0;
    if (!error)
        error = compare_work(made, work, complaint);
    if (error) {
        cv_ranks_leave(made);
        return error;
    }
    *ranks = made;
    return 0;
}

static void reuse_sent(struct cv_ranks *ranks)
{
    struct cv_block *block;
    while (ranks->module && (block = ranks->module->take_sent()))
        block_put(&ranks->pool, block);
}

void cv_ranks_leave(struct cv_ranks *ranks)
{
    struct cv_block *block;
    if (!ranks)
        return;
    while (cv_ranks_unsent(ranks))
        cv_ranks_rest(ranks);
    if (ranks->module && ranks->count > 1) {
        uint64_t nothing = 0;
        cv_ranks_reduce(ranks, CV_REDUCE_SUM, &nothing, 1); /* waits in a way that leaves others the processor */
    }
    if (ranks->module)
        ranks->module->leave();
    while ((block = block_dequeue(&ranks->home)))
        block_put(&ranks->pool, block);
    block_pool_free(&ranks->pool);
    free(ranks);
}

_Noreturn void cv_ranks_abort(struct cv_ranks *ranks, int code)
{
    if (ranks && ranks->module)
        ranks->module->abort(code);
    exit(code);
}

uint32_t cv_ranks_own(const struct cv_ranks *ranks)
{
    return ranks->own;
}

uint32_t cv_ranks_count(const struct cv_ranks *ranks)
{
    return ranks->count;
}

struct cv_block *cv_block_new(struct cv_ranks *ranks, size_t room)
{
    return block_take(&ranks->pool, room);
}

void cv_block_free(struct cv_ranks *ranks, struct cv_block *block)
{
    block_put(&ranks->pool, block);
}

int cv_ranks_send(struct cv_ranks *ranks, uint32_t to, uint32_t tag, struct cv_block *block)
{
    assert(to < ranks->count && tag <= CV_MOST_TAG && block->size <= block->room);
    reuse_sent(ranks);
    block->tag = tag;
    block->peer = to;
    if (to == ranks->own) {
        block_enqueue(&ranks->home, block);
        return 0;
    }
    if (ranks->module->send(block))
        return 0;
    block_put(&ranks->pool, block);
    return CV_ENOMEM;
}

uint32_t cv_ranks_unsent(struct cv_ranks *ranks)
{
    reuse_sent(ranks);
    return ranks->module ? ranks->module->count_unsent() : 0;
}

/* A block from a rank of this machine. */
static int receive_near(struct cv_ranks *ranks, struct cv_block **block)
{
    size_t size;
    if (!ranks->module || !ranks->module->find_near(&size))
        return 0;
    *block = block_take(&ranks->pool, size);
    if (!*block)
        return CV_ENOMEM;
    ranks->module->receive_near(*block);
    return 0;
}

bool cv_ranks_glance(const struct cv_ranks *ranks)
{
    return ranks->home.first || (ranks->module && ranks->module->is_near());
}

int cv_ranks_receive(struct cv_ranks *ranks, struct cv_block **block)
{
    const struct ranks_module *module = ranks->module;
    size_t size;
    *block = block_dequeue(&ranks->home);
    if (!*block && receive_near(ranks, block))
        return CV_ENOMEM;
    while (!*block && module && module->find(&size)) {
        struct cv_block *coming = block_take(&ranks->pool, size);
        if (!coming)
            return CV_ENOMEM;
        module->receive(coming);
    }
    if (!*block && module)
        *block = module->take_received();
    if (*block)
        ranks->rests = 0;
    return 0;
}

void cv_ranks_give_up(struct cv_ranks *ranks, const volatile sig_atomic_t *flag, uint32_t after_ms,
                      void (*give_up)(void *context), void *context)
{
    ranks->give_up.flag = flag;
    ranks->give_up.after_ms = after_ms;
    ranks->give_up.call = give_up;
    ranks->give_up.context = context;
}

static void perhaps_give_up(struct cv_ranks *ranks)
{
    if (!ranks->give_up.flag || !*ranks->give_up.flag)
        return;
    const uint64_t now = (uint64_t)cv_wall_ms();
    if (!ranks->rests || !ranks->give_up.since_ms)
        ranks->give_up.since_ms = now;
    else if (now - ranks->give_up.since_ms > ranks->give_up.after_ms)
        ranks->give_up.call(ranks->give_up.context);
}

void cv_ranks_rest(struct cv_ranks *ranks)
{
    perhaps_give_up(ranks);
    if (ranks->rests++ < YIELDS) {
        sched_yield();
        return;
    }
    const long wanted = (long)(ranks->rests - YIELDS) * 10000;
    const struct timespec pause = {.tv_nsec = wanted < LONGEST_REST_NS ? wanted : LONGEST_REST_NS};
    nanosleep(&pause, NULL);
}

static void wait_for_all(struct cv_ranks *ranks)
{
    ranks->rests = 0;
    while (!cv_ranks_reduced(ranks))
        cv_ranks_rest(ranks);
    ranks->rests = 0;
}

void cv_ranks_reduce_begin(struct cv_ranks *ranks, enum cv_reduction reduction, uint64_t *numbers, uint32_t count)
{
    if (ranks->module)
        ranks->module->reduce(reduction, numbers, count);
}

bool cv_ranks_reduced(struct cv_ranks *ranks)
{
    return !ranks->module || ranks->module->is_done();
}

void cv_ranks_reduce(struct cv_ranks *ranks, enum cv_reduction reduction, uint64_t *numbers, uint32_t count)
{
    cv_ranks_reduce_begin(ranks, reduction, numbers, count);
    wait_for_all(ranks);
}

void cv_ranks_broadcast(struct cv_ranks *ranks, uint32_t from, void *bytes, size_t size)
{
    assert(from < ranks->count && size <= CV_MOST_BLOCK);
    if (ranks->module)
        ranks->module->broadcast(from, bytes, size);
    wait_for_all(ranks);
}
