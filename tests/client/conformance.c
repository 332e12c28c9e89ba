// SPDX-License-Identifier: MIT
/*
 * Plays the conformance suite with libconclave: a line of JSON says what to do, a line of JSON tells what came of it.
 *
 * A session belongs to one thread, so each hold and each observation has a thread and a session of its own. Its loop
 * watches the session's descriptor, and one that is written to when there is something to do.
 */
#include <conclave/conclave.h>
#include <inttypes.h>
#include <jansson.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#define MOST_WORKERS 4096

struct worker {
    struct conclave *session;
    int wake;
    char label[64];
    json_t *first; /* it begins with this */
    json_t *next;  /* what it is to do then; NULL: nothing */
    bool released;
    bool closing;
    char name[CONCLAVE_NAME_BYTES + 1];
    uint64_t fence;
    bool leads;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct worker workers[MOST_WORKERS];
static size_t worker_count;
static struct conclave_options options; /* the texts are those of the last step that opened */
static json_t *opened;

/* ---- telling ---- */

static void tell(json_t *what)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    json_object_set_new(what, "at", json_real((double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6));
    char *line = json_dumps(what, JSON_COMPACT);
    flockfile(stdout);
    puts(line);
    fflush(stdout);
    funlockfile(stdout);
    free(line);
    json_decref(what);
}

static const char *kind_of(int error)
{
    switch (error) {
    case CONCLAVE_TIMEOUT:
        return "timeout";
    case CONCLAVE_LOST:
        return "lost";
    case CONCLAVE_NO_SERVER:
        return "no-server";
    case CONCLAVE_NO_QUORUM:
        return "no-quorum";
    case CONCLAVE_DENIED:
        return "denied";
    case CONCLAVE_INVALID:
        return "invalid";
    case CONCLAVE_INTERRUPTED:
        return "cancelled";
    default:
        return "refused";
    }
}

static void answer(json_t *step, int error, const struct conclave *session, json_t *result)
{
    json_t *what = json_object();
    json_object_set(what, "id", json_object_get(step, "id"));
    if (error) {
        json_object_set_new(what, "error", json_string(kind_of(error)));
        json_object_set_new(what, "why", json_string(conclave_explain(session)));
        json_decref(result);
    } else {
        json_object_set_new(what, "ok", result ? result : json_object());
    }
    tell(what);
}

static bool is(const json_t *step, const char *verb)
{
    const char *word = json_string_value(json_object_get(step, "do"));
    return word && strcmp(word, verb) == 0;
}

/* ---- a worker ---- */

static void end(struct worker *worker)
{
    pthread_mutex_lock(&mutex);
    worker->closing = true;
    pthread_mutex_unlock(&mutex);
    conclave_close(worker->session);
    pthread_mutex_lock(&mutex);
    worker->session = NULL;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static uint64_t number(const json_t *step, const char *key, uint64_t otherwise)
{
    const json_t *value = json_object_get(step, key);
    return json_is_integer(value) ? (uint64_t)json_integer_value(value) : otherwise;
}

static const char *text(const json_t *step, const char *key)
{
    return json_string_value(json_object_get(step, key));
}

static int acquire(struct worker *worker, json_t *step)
{
    const char *name = json_string_value(json_object_get(step, "name"));
    const uint64_t wait_ms = number(step, "wait", UINT64_MAX), ttl_ms = number(step, "ttl", CONCLAVE_TTL_MS);
    const bool patient = wait_ms == UINT64_MAX;
    const char *value = text(step, "value");
    worker->leads = is(step, "campaign");
    snprintf(worker->name, sizeof worker->name, "%s", name);
    if (worker->leads)
        return conclave_campaign(worker->session, name,
                                 &(struct conclave_candidate){.wait_ms = patient ? 0 : wait_ms,
                                                              .try_once = wait_ms == 0,
                                                              .priority = (uint32_t)number(step, "priority", 0),
                                                              .ttl_ms = ttl_ms,
                                                              .ends_with_session = ttl_ms == 0,
                                                              .value = value,
                                                              .value_length = value ? strlen(value) : 0},
                                 &worker->fence);
    return conclave_lock(worker->session, name,
                         &(struct conclave_want){.wait_ms = patient ? 0 : wait_ms,
                                                 .try_once = wait_ms == 0,
                                                 .ttl_ms = ttl_ms,
                                                 .shared = json_is_true(json_object_get(step, "shared")),
                                                 .permits = (uint32_t)number(step, "permits", 0),
                                                 .ends_with_session = ttl_ms == 0},
                         &worker->fence);
}

/* Once released, always released; what is lost is not there to be released. */
static int release(struct worker *worker)
{
    if (worker->released)
        return 0;
    const int error = worker->leads ? conclave_resign(worker->session, worker->name)
                                    : conclave_unlock(worker->session, worker->name, worker->fence);
    worker->released = !error;
    return error;
}

static void tell_leader(const struct worker *worker, const char *leader, uint64_t fence, const char *value)
{
    tell(json_pack("{s:s, s:s, s:s, s:I, s:s?}", "event", "leader", "watch", worker->label, "leader", leader, "fence",
                   (json_int_t)fence, "value", value));
}

/* Does what it was made for. Without success it has no session any more. */
static void begin(struct worker *worker)
{
    json_t *step = worker->first, *result = NULL;
    struct conclave_leader leader;
    const char *name = json_string_value(json_object_get(step, "name"));
    int error = conclave_open_with(&worker->session, &options);
    if (!error && is(step, "observe")) {
        error = conclave_observe(worker->session, name, &leader);
        if (!error)
            tell_leader(worker, leader.leader, leader.fence, leader.has_value ? leader.value : NULL);
    } else if (!error && is(step, "leader")) {
        error = conclave_who_leads(worker->session, name, &leader);
        if (!error)
            result = json_pack("{s:s, s:I, s:s?}", "leader", leader.leader, "fence", (json_int_t)leader.fence, "value",
                               leader.has_value ? leader.value : NULL);
    } else if (!error) {
        error = acquire(worker, step);
        result = json_pack("{s:I}", "fence", (json_int_t)worker->fence);
    }
    answer(step, error, worker->session, result);
    if (error || is(step, "leader"))
        end(worker);
    json_decref(step);
}

static void obey(struct worker *worker, json_t *step)
{
    if (is(step, "held")) {
        const bool held = !worker->released && conclave_left_ms(worker->session, worker->name) != 0;
        answer(step, 0, worker->session, json_pack("{s:b}", "held", held));
    } else if (is(step, "release")) {
        answer(step, release(worker), worker->session, NULL);
    } else {
        end(worker);
    }
    json_decref(step);
}

static json_t *take(struct worker *worker)
{
    eventfd_t count;
    pthread_mutex_lock(&mutex);
    json_t *step = worker->next;
    worker->next = NULL;
    eventfd_read(worker->wake, &count);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
    return step;
}

static void watch(struct worker *worker)
{
    struct conclave_event event;
    int got;
    while ((got = conclave_next_event(worker->session, &event, 0)) == 1) {
        if (event.kind == CONCLAVE_EVENT_LOST)
            tell(json_pack("{s:s, s:s}", "event", "lost", "hold", worker->label));
        else if (event.kind == CONCLAVE_EVENT_ASKED_BACK)
            tell(json_pack("{s:s, s:s}", "event", "askback", "hold", worker->label));
        else
            tell_leader(worker, event.leader, event.fence, event.has_value ? event.value : NULL);
    }
    struct pollfd ready[] = {{.fd = worker->wake, .events = POLLIN},
                             {.fd = conclave_fd(worker->session), .events = POLLIN}};
    poll(ready, 2,
         got < 0 ? -1 : conclave_next_ms(worker->session)); /* got < 0: nothing is held, and no server there */
}

static void *work(void *context)
{
    struct worker *worker = context;
    begin(worker);
    while (worker->session) {
        json_t *step = take(worker);
        if (step)
            obey(worker, step);
        else
            watch(worker);
    }
    return NULL;
}

/* ---- the steps ---- */

/* The latest of that name. */
static struct worker *find(const char *label)
{
    for (size_t i = worker_count; label && i-- > 0;)
        if (strcmp(workers[i].label, label) == 0)
            return &workers[i];
    return NULL;
}

static void start(json_t *step, const char *label)
{
    struct worker *worker = &workers[worker_count++];
    pthread_t thread;
    if (worker_count == MOST_WORKERS)
        abort();
    snprintf(worker->label, sizeof worker->label, "%s", label ? label : "");
    worker->first = json_incref(step);
    worker->wake = eventfd(0, EFD_NONBLOCK);
    pthread_create(&thread, NULL, work, worker);
    pthread_detach(thread);
}

/* Gives it something to do, after what it does now. False if its thread has ended. */
static bool give(struct worker *worker, json_t *step)
{
    pthread_mutex_lock(&mutex);
    while (worker->next && worker->session && !worker->closing)
        pthread_cond_wait(&changed, &mutex);
    const bool there = worker->session && !worker->closing;
    if (there) {
        worker->next = json_incref(step);
        eventfd_write(worker->wake, 1);
    }
    pthread_mutex_unlock(&mutex);
    return there;
}

static void close_all(json_t *step)
{
    for (size_t i = 0; i < worker_count; i++)
        give(&workers[i], step);
    pthread_mutex_lock(&mutex);
    for (size_t i = 0; i < worker_count; i++)
        while (workers[i].session)
            pthread_cond_wait(&changed, &mutex);
    pthread_mutex_unlock(&mutex);
    answer(step, 0, NULL, NULL);
}

static void follow(json_t *step)
{
    const char *label = json_string_value(json_object_get(step, is(step, "observe") ? "watch" : "hold"));
    struct worker *worker = find(label);
    if (is(step, "open")) {
        const json_t *given = json_object_get(step, "options");
        json_decref(opened);
        opened = json_incref(step);
        options = (struct conclave_options){
            .servers = text(given, "servers"),
            .timeout_ms = (int)number(given, "timeout", 0),
            .key = text(given, "key"),
            .tls_ca = text(given, "tls_ca"),
            .tls_certificate = text(given, "tls_certificate"),
            .tls_private_key = text(given, "tls_private_key"),
            .client = text(given, "client"),
        };
        answer(step, 0, NULL,
               json_pack("{s:[s, s, s, s, s, s, s, s, s, s, s, s]}", "cannot", "askback", "lock_all", "sequence",
                         "watch", "twice", "waiters", "latch_set", "barrier", "enter", "join", "once", "upgrade"));
    } else if (is(step, "close")) {
        close_all(step);
    } else if (is(step, "cancel")) {
        conclave_interrupt(worker->session);
        answer(step, 0, NULL, NULL);
    } else if (!is(step, "held") && !is(step, "release")) {
        start(step, label);
    } else if (!worker || !give(worker, step)) {
        answer(step, is(step, "held") ? 0 : CONCLAVE_LOST, NULL, json_pack("{s:b}", "held", 0));
    }
}

int main(void)
{
    char line[4096];
    while (fgets(line, sizeof line, stdin)) {
        json_t *step = json_loads(line, 0, NULL);
        if (!step)
            return 2;
        follow(step);
        json_decref(step);
    }
    json_t *last = json_pack("{s:i}", "id", 0);
    close_all(last);
    json_decref(last);
    json_decref(opened);
    return 0;
}
