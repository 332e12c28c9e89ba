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
#define MOST_NAMES 4u /* of one hold */
#define MOST_MEMBERS 32u

struct worker {
    struct conclave *session;
    int wake;
    char label[64];
    json_t *first;  /* it begins with this */
    json_t *next;   /* what it is to do then; NULL: nothing */
    uint32_t times; /* to be released */
    bool closing;
    char names[MOST_NAMES][CONCLAVE_NAME_BYTES + 1];
    uint64_t fences[MOST_NAMES];
    size_t count; /* of names */
    bool leads;
    enum { NOTHING, ENTERED, JOINED, RUNS } part;
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

static void tell_position(void *context, const char *name, uint64_t position)
{
    const struct worker *worker = context;
    (void)name;
    tell(json_pack("{s:s, s:s, s:I}", "event", "position", "hold", worker->label, "position", (json_int_t)position));
}

static void take_names(struct worker *worker, const json_t *step)
{
    const json_t *names = json_object_get(step, "names");
    worker->count = names ? json_array_size(names) : 1;
    if (worker->count > MOST_NAMES)
        abort();
    for (size_t i = 0; i < worker->count; i++)
        snprintf(worker->names[i], sizeof worker->names[i], "%s",
                 names ? json_string_value(json_array_get(names, i)) : text(step, "name"));
}

/* Holds it, and takes it again from there. */
static int lock_twice(struct worker *worker, struct conclave_want *want)
{
    uint64_t again = 0;
    want->reentrant = true;
    int error = conclave_lock(worker->session, worker->names[0], want, worker->fences);
    if (!error)
        error = conclave_lock(worker->session, worker->names[0], want, &again);
    worker->times = 2;
    return error ? error : again == worker->fences[0] ? 0 : CONCLAVE_PROTOCOL;
}

static int acquire(struct worker *worker, json_t *step)
{
    const char *name = worker->names[0];
    const uint64_t wait_ms = number(step, "wait", UINT64_MAX), ttl_ms = number(step, "ttl", CONCLAVE_TTL_MS);
    const bool patient = wait_ms == UINT64_MAX;
    const char *value = text(step, "value");
    worker->leads = is(step, "campaign");
    worker->times = 1;
    conclave_on_position(worker->session, tell_position, worker);
    if (worker->leads)
        return conclave_campaign(worker->session, name,
                                 &(struct conclave_candidate){.wait_ms = patient ? 0 : wait_ms,
                                                              .try_once = wait_ms == 0,
                                                              .priority = (uint32_t)number(step, "priority", 0),
                                                              .ttl_ms = ttl_ms,
                                                              .ends_with_session = ttl_ms == 0,
                                                              .value = value,
                                                              .value_length = value ? strlen(value) : 0},
                                 worker->fences);
    struct conclave_want want = {.wait_ms = patient ? 0 : wait_ms,
                                 .try_once = wait_ms == 0,
                                 .ttl_ms = ttl_ms,
                                 .shared = json_is_true(json_object_get(step, "shared")),
                                 .permits = (uint32_t)number(step, "permits", 0),
                                 .reentrant = json_is_true(json_object_get(step, "reentrant")),
                                 .ends_with_session = ttl_ms == 0};
    const char *names[MOST_NAMES] = {worker->names[0], worker->names[1], worker->names[2], worker->names[3]};
    if (is(step, "lock_all"))
        return conclave_lock_all(worker->session, names, worker->count, &want, worker->fences);
    return is(step, "twice") ? lock_twice(worker, &want) : conclave_lock(worker->session, name, &want, worker->fences);
}

/* Once released, always released; what is lost is not there to be released. */
static int release(struct worker *worker)
{
    int error = worker->times && worker->leads ? conclave_resign(worker->session, worker->names[0]) : 0;
    for (size_t i = 0; i < worker->count && worker->times && !worker->leads; i++) {
        const int its = conclave_unlock(worker->session, worker->names[i], worker->fences[i]);
        error = error ? error : its;
    }
    worker->times -= worker->times && !error;
    return error;
}

/* Of several names all are held, or none. */
static bool is_held(const struct worker *worker)
{
    bool held = worker->times > 0;
    for (size_t i = 0; i < worker->count && !worker->part; i++)
        held = held && conclave_left_ms(worker->session, worker->names[i]) != 0;
    return held;
}

/* If one of several names is lost, the others are given back. */
static void lose(struct worker *worker, const struct conclave_event *event)
{
    tell(json_pack("{s:s, s:s}", "event", "lost", "hold", worker->label));
    for (size_t i = 0; i < worker->count && worker->count > 1; i++)
        if (strcmp(worker->names[i], event->name) != 0)
            conclave_unlock(worker->session, worker->names[i], worker->fences[i]);
}

static json_t *fence_of(const struct worker *worker)
{
    return json_pack("{s:I}", "fence", (json_int_t)worker->fences[0]);
}

static void exchange(struct worker *worker, json_t *step)
{
    const uint64_t wait_ms = number(step, "wait", UINT64_MAX);
    const int error = is(step, "upgrade") ? conclave_upgrade(worker->session, worker->names[0], worker->fences,
                                                             wait_ms == UINT64_MAX ? -1 : (int64_t)wait_ms)
                                          : conclave_downgrade(worker->session, worker->names[0], worker->fences);
    answer(step, error, worker->session, fence_of(worker));
}

static void tell_leader(const struct worker *worker, const char *leader, uint64_t fence, const char *value)
{
    tell(json_pack("{s:s, s:s, s:s, s:I, s:s?}", "event", "leader", "watch", worker->label, "leader", leader, "fence",
                   (json_int_t)fence, "value", value));
}

/* How long a step waits; -1: for as long as it takes. */
static int64_t patience(const json_t *step)
{
    const uint64_t wait_ms = number(step, "wait", UINT64_MAX);
    return wait_ms == UINT64_MAX ? -1 : (int64_t)wait_ms;
}

static json_t *number_of(int64_t value)
{
    return json_pack("{s:I}", "number", (json_int_t)value);
}

/* What the members of a name have joined with, and how many there are. */
static int read_members(const struct worker *worker, const char *name, json_t **result)
{
    struct conclave_member members[MOST_MEMBERS];
    char values[MOST_MEMBERS * 64] = "";
    size_t count;
    const int error = conclave_members(worker->session, name, members, MOST_MEMBERS, &count);
    for (size_t i = 0, used = 0; !error && i < count && i < MOST_MEMBERS; i++)
        used += (size_t)snprintf(values + used, sizeof values - used, "%s%.60s", i ? "," : "", members[i].value);
    *result = error ? NULL : json_pack("{s:s, s:I}", "values", values, "count", (json_int_t)count);
    return error;
}

static void tell_members(const struct worker *worker, const char *name)
{
    json_t *news;
    if (read_members(worker, name, &news))
        return;
    json_object_set_new(news, "event", json_string("news"));
    json_object_set_new(news, "watch", json_string(worker->label));
    tell(news);
}

/* The same for latches, members, and what is done once. */
static bool ask_recipe(struct worker *worker, json_t *step, int *error, json_t **result)
{
    struct conclave_run run;
    uint64_t found = 0;
    int64_t left = 0;
    bool set = false;
    const char *name = text(step, "name");
    const uint64_t count = number(step, "count", 1);
    if (is(step, "latch_set")) {
        *error = conclave_latch_set(worker->session, name, count, &set);
        *result = number_of(set);
    } else if (is(step, "latch_down")) {
        *error = conclave_latch_down(worker->session, name, count, &found);
        *result = number_of((int64_t)found);
    } else if (is(step, "latch_wait")) {
        *error = conclave_latch_await(worker->session, name, patience(step));
    } else if (is(step, "latch_left")) {
        *error = conclave_latch_left(worker->session, name, &left);
        *result = number_of(left);
    } else if (is(step, "latch_clear")) {
        *error = conclave_latch_clear(worker->session, name);
    } else if (is(step, "barrier")) {
        *error = conclave_barrier(worker->session, name, (uint32_t)number(step, "parties", 0), patience(step), &found);
        *result = number_of((int64_t)found);
    } else if (is(step, "members")) {
        *error = read_members(worker, name, result);
    } else if (is(step, "last_run")) {
        *error = conclave_last_run(worker->session, name, &run);
        *result = json_pack("{s:I}", "fence", (json_int_t)run.fence);
    } else {
        return false;
    }
    return true;
}

/* Asks a question, and gets an answer. False: the step is none. */
static bool ask(struct worker *worker, json_t *step, int *error, json_t **result)
{
    struct conclave_leader leader;
    uint64_t found = 0;
    size_t count = 0;
    const char *name = text(step, "name");
    if (is(step, "leader")) {
        *error = conclave_who_leads(worker->session, name, &leader);
        *result = *error ? NULL
                         : json_pack("{s:s, s:I, s:s?}", "leader", leader.leader, "fence", (json_int_t)leader.fence,
                                     "value", leader.has_value ? leader.value : NULL);
    } else if (is(step, "askback")) {
        *error = conclave_ask_back(worker->session, name, &found);
        *result = json_pack("{s:I}", "count", (json_int_t)found);
    } else if (is(step, "waiters")) {
        *error = conclave_waiters(worker->session, name, NULL, 0, &count);
        *result = json_pack("{s:I}", "count", (json_int_t)count);
    } else if (is(step, "sequence")) {
        *error = conclave_sequence(worker->session, name, (uint32_t)number(step, "count", 1), &found);
        *result = json_pack("{s:I}", "fence", (json_int_t)found);
    } else {
        return ask_recipe(worker, step, error, result);
    }
    return true;
}

/* Enters a barrier, joins a name, or begins what is done once. */
static int take_part(struct worker *worker, json_t *step, json_t **result)
{
    const char *name = worker->names[0], *value = text(step, "value");
    uint64_t *number_told = worker->fences;
    int error;
    worker->part = is(step, "enter") ? ENTERED : is(step, "join") ? JOINED : RUNS;
    if (worker->part == ENTERED)
        error = conclave_barrier_enter(worker->session, name, (uint32_t)number(step, "parties", 0), patience(step),
                                       number_told);
    else if (worker->part == JOINED)
        error = conclave_join(worker->session, name, value, value ? strlen(value) : 0, number_told);
    else
        error = conclave_once(worker->session, name, number(step, "every", 0), number_told);
    worker->times = !error && worker->fences[0];
    if (worker->part != RUNS)
        *result = number_of((int64_t)worker->fences[0]);
    else
        *result = error || worker->fences[0] ? fence_of(worker) : json_object();
    return error;
}

/* Leaves what it entered or joined, or tells that it is done. */
static int part(struct worker *worker, json_t *step)
{
    const char *name = worker->names[0];
    if (!worker->times)
        return CONCLAVE_LOST;
    const int error = worker->part == ENTERED  ? conclave_barrier_leave(worker->session, name, patience(step), NULL)
                      : worker->part == JOINED ? conclave_leave(worker->session, name)
                                               : conclave_once_done(worker->session, name, worker->fences[0]);
    worker->times = error == CONCLAVE_TIMEOUT;
    return error;
}

/* Does what it was made for. Without success, or after a question, it has no session any more. */
static void begin(struct worker *worker)
{
    json_t *step = worker->first, *result = NULL;
    struct conclave_leader leader;
    int error = conclave_open_with(&worker->session, &options);
    const bool asks = !error && ask(worker, step, &error, &result);
    if (!error && (is(step, "observe") || is(step, "watch"))) {
        error = is(step, "watch") ? conclave_watch(worker->session, text(step, "name"), &leader)
                                  : conclave_observe(worker->session, text(step, "name"), &leader);
        if (!error)
            tell_leader(worker, leader.leader, leader.fence, leader.has_value ? leader.value : NULL);
    } else if (!error && is(step, "watch_members")) {
        error = conclave_watch_members(worker->session, text(step, "name"));
        tell_members(worker, text(step, "name"));
    } else if (!error && (is(step, "enter") || is(step, "join") || is(step, "once"))) {
        take_names(worker, step);
        error = take_part(worker, step, &result);
    } else if (!error && !asks) {
        take_names(worker, step);
        error = acquire(worker, step);
        result = fence_of(worker);
    }
    answer(step, error, worker->session, result);
    if (error || asks)
        end(worker);
    json_decref(step);
}

static void obey(struct worker *worker, json_t *step)
{
    if (is(step, "held"))
        answer(step, 0, worker->session, json_pack("{s:b}", "held", is_held(worker)));
    else if (is(step, "release"))
        answer(step, release(worker), worker->session, NULL);
    else if (is(step, "upgrade") || is(step, "downgrade"))
        exchange(worker, step);
    else if (is(step, "leave") || is(step, "finish"))
        answer(step, part(worker, step), worker->session, NULL);
    else
        end(worker);
    if (is(step, "give_up"))
        answer(step, 0, NULL, NULL);
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
            lose(worker, &event);
        else if (event.kind == CONCLAVE_EVENT_ASKED_BACK)
            tell(json_pack("{s:s, s:s}", "event", "askback", "hold", worker->label));
        else if (event.kind == CONCLAVE_EVENT_MEMBERS)
            tell_members(worker, event.name);
        else if (event.kind == CONCLAVE_EVENT_JOINED)
            tell(json_pack("{s:s, s:s, s:I}", "event", "number", "hold", worker->label, "number",
                           (json_int_t)event.fence));
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

/* Is it for a worker that is there already? */
static bool is_for_a_hold(const json_t *step)
{
    static const char *const verbs[] = {"held", "release", "upgrade", "downgrade", "leave", "finish", "give_up"};
    bool found = false;
    for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
        found |= is(step, verbs[i]);
    return found;
}

static void follow(json_t *step)
{
    const char *label = json_string_value(
        json_object_get(step, strncmp(text(step, "do"), "watch", 5) == 0 || is(step, "observe") ? "watch" : "hold"));
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
        answer(step, 0, NULL, json_pack("{s:[s]}", "cannot", "within"));
    } else if (is(step, "close")) {
        close_all(step);
    } else if (is(step, "cancel")) {
        conclave_interrupt(worker->session);
        answer(step, 0, NULL, NULL);
    } else if (!is_for_a_hold(step)) {
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
