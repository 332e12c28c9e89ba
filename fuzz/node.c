// SPDX-License-Identifier: MIT
/*
 * Whole nodes, driven through their sockets in virtual time: one alone, or three that are a group. The input is what
 * clients say, what members say to each other as somebody changes it who stands between them, what strangers say at the
 * members' doors, requests of HTTP, nodes that stop, crash and come back, and time that passes. Nothing crashes, leaks
 * or hangs; nobody says what is not RESP; and of all grants of a name one is in force at a time, with fences that rise.
 * From the third node the others hear what the input likes: then fences are all that is left, and they are never equal.
 */
#include <poll.h>
#include <signal.h>

#include "fuzz/members.h"
#include "resp/resp_read.h"

#define CLIENTS 4u
#define GRANTS 64u
#define ROUNDS 24u
#define STEPS 400u   /* of time that passes */
#define MEETING 100u /* times 50 ms, until a group has a view */

struct client {
    int fd;
    uint32_t node;
    uint64_t fence; /* the last number it was told */
    char *in;
    size_t used;
};

struct grant {
    char name[16];
    enum cv_subject subject;
    uint32_t node;
    uint64_t fence;
    bool shared, over;
};

static struct client clients[CLIENTS];
static int browser = -1;
static struct grant grants[GRANTS];
static uint32_t grant_count;
static bool raft;
static uint64_t events, told, begun; /* in all runs */

/* ---- what must hold ---- */

static bool same(const struct grant *grant, const struct cv_instance *instance)
{
    const struct cv_text name = cv_instance_name(instance);
    return grant->subject == instance->subject && strlen(grant->name) == name.length &&
           memcmp(grant->name, name.start, name.length) == 0;
}

static void tell(const struct grant *grant, const char *what)
{
    fprintf(stderr, "%s of %s: node %u, fence %llu, %s%s\n", what, grant->name, grant->node + 1,
            (unsigned long long)grant->fence, grant->shared ? "shared" : "alone", grant->over ? ", over" : "");
}

static void compare(const struct grant *old, const struct grant *new)
{
    const bool together = old->shared && new->shared;
    const bool rises = new->fence > old->fence || together;
    /* Two honest nodes never have the same fence; in one node, or where all are honest, they rise. */
    const bool wrong = honest || old->node == new->node ? !rises || (honest && !old->over && !together)
                                                        : raft &&new->fence == old->fence && !together;
    if (!wrong)
        return;
    tell(old, "a grant");
    tell(new, "then another");
    abort();
}

static void on_grant(void *context, const struct cv_instance *instance, uint64_t fence, uint64_t session, bool shared,
                     enum cv_grant_event event, uint64_t ttl_ms, uint64_t replaced)
{
    const struct node *node = context;
    const struct cv_text name = cv_instance_name(instance);
    (void)session, (void)ttl_ms, (void)replaced;
    if (name.length >= sizeof grants->name)
        return;
    for (uint32_t i = 0; event == CV_GRANT_ENDS && i < grant_count; i++)
        if (same(&grants[i], instance) && grants[i].fence == fence)
            grants[i].over = true;
    if (event != CV_GRANT_BEGINS || grant_count == GRANTS || node == &nodes[INSIDER])
        return;
    struct grant *grant = &grants[grant_count];
    *grant = (struct grant){
        .subject = instance->subject, .node = (uint32_t)(node - nodes), .fence = fence, .shared = shared};
    memcpy(grant->name, name.start, name.length);
    for (uint32_t i = 0; i < grant_count; i++)
        if (same(&grants[i], instance))
            compare(&grants[i], grant);
    grant_count++;
    begun++;
}

/* ---- clients ---- */

static void leave(struct client *client)
{
    hang_up(&client->fd);
    client->used = 0;
}

/* What it hears is RESP. */
static bool listen_to(struct client *client)
{
    const ssize_t count = client->fd < 0 ? 0 : read(client->fd, client->in + client->used, BUFFER - client->used);
    if (client->fd >= 0 && (count == 0 || (count < 0 && errno != EAGAIN)))
        leave(client);
    if (count <= 0)
        return false;
    client->used += (size_t)count;
    for (long length; client->used;) {
        struct cv_resp_scan scan = {0};
        struct cv_resp_item item;
        length = cv_resp_scan(&scan, client->in, client->used);
        assert(length != CV_RESP_BROKEN);
        if (length == CV_RESP_MORE)
            break;
        if (cv_resp_read_item(client->in, (size_t)length, &item) > 0 && item.kind == CV_RESP_INTEGER)
            client->fence = (uint64_t)item.number;
        told++;
        if (chatty)
            fprintf(stderr, "%llu ms: client %u hears %.*s\n", (unsigned long long)(now_ns / 1000000),
                    (uint32_t)(client - clients), (int)(length < 60 ? length : 60), client->in);
        client->used -= (size_t)length;
        memmove(client->in, client->in + length, client->used);
    }
    if (client->used == BUFFER)
        leave(client);
    return true;
}

static struct client *some_client(void)
{
    struct client *client = &clients[input_below(input, CLIENTS)];
    client->node = (uint32_t)(client - clients) % node_count;
    if (client->fd < 0 && nodes[client->node].open)
        client->fd = call("clients", client->node);
    return client->fd < 0 ? NULL : client;
}

static void put(struct cv_resp_writer *out, const char *word)
{
    cv_resp_word(out, word);
}

static void put_number(struct cv_resp_writer *out, uint64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)number);
    cv_resp_word(out, text);
}

/* Options that some commands have: the others refuse them. */
static uint32_t put_options(struct cv_resp_writer *out)
{
    static const char *const flags[] = {"SHARED", "DEADLINE", "LEADER"};
    static const char *const numbers[] = {"WAIT", "TTL", "PRIORITY"};
    uint32_t count = 0;
    uint8_t which = input_byte(input);
    which = which & 1 ? which & input_byte(input) & 0xfb : 0; /* LOCK has no PRIORITY, and is refused with one */
    for (; which; which &= (uint8_t)(which - 1)) {
        const int bit = __builtin_ctz(which);
        put(out, bit < 3 ? numbers[bit] : bit < 6 ? flags[bit - 3] : "SECRET");
        count += bit < 3 || bit >= 6 ? 2 : 1;
        if (bit < 3)
            put_number(out, input_number(input, 50 * input_byte(input)));
        else if (bit >= 6)
            put(out, bit == 6 ? "s" : "t");
    }
    return count;
}

/* Any command with arguments that fit it, mostly. */
static void command(struct client *client)
{
    static const char *const words[] = {"LOCK",     "LOCK",   "LOCK",     "UNLOCK",  "UNLOCK",    "RENEW",
                                        "CAMPAIGN", "RESIGN", "LEADER",   "OBSERVE", "UNOBSERVE", "LOCKS",
                                        "VIEW",     "INFO",   "STEPDOWN", "TERMS",   "JOIN",      "LEAVE",
                                        "REPLACE",  "PING",   "HELLO",    "ACL",     "CLIENT",    "QUIT"};
    static const char *const names[] = {"a", "b", "l", "m", "t", "r", "*", "3"};
    static const char *const thirds[] = {"4", "3", "2", "lease=600", "127.0.0.9:1", "here.example:7"};
    const char *word = words[input_below(input, sizeof words / sizeof *words)];
    struct cv_resp_writer out, body;
    uint32_t count = 1;
    cv_resp_begin(&out, 65536);
    cv_resp_begin(&body, 65536);
    put(&body, word);
    if (strcmp(word, "HELLO") == 0) {
        put(&body, "3");
        count++;
    } else if (input_byte(input) % 16) {
        put(&body, names[input_below(input, sizeof names / sizeof *names)]);
        count++;
    }
    if (strcmp(word, "UNLOCK") == 0 || strcmp(word, "RENEW") == 0) {
        put_number(&body, input_number(input, client->fence + 1));
        count++;
    } else if (strcmp(word, "JOIN") == 0 || strcmp(word, "TERMS") == 0) {
        put(&body, thirds[input_below(input, sizeof thirds / sizeof *thirds)]);
        count++;
    }
    count += put_options(&body);
    cv_resp_array(&out, count);
    cv_resp_append(&out, (struct cv_text){body.bytes, body.length});
    if (chatty)
        fprintf(stderr, "%llu ms: client %u says %.*s\n", (unsigned long long)(now_ns / 1000000),
                (uint32_t)(client - clients), (int)body.length, body.bytes);
    if (send(client->fd, out.bytes, out.length, MSG_NOSIGNAL) < 0)
        leave(client);
    cv_resp_end(&body);
    cv_resp_end(&out);
}

static void browse(void)
{
    static const char *const requests[] = {"GET /metrics HTTP/1.1\r\n", "HEAD /healthz HTTP/1.0\r\n", "Host: x\r\n\r\n",
                                           "POST / HTTP/1.1\r\n"};
    char page[4096];
    const uint8_t way = input_byte(input);
    if (browser < 0 && nodes[way % node_count].open)
        browser = call("http", way % node_count);
    if (browser < 0)
        return;
    if (way / 4 % 4 == 0)
        speak(&browser);
    else if (send(browser, requests[way / 16 % 4], strlen(requests[way / 16 % 4]), MSG_NOSIGNAL) < 0)
        hang_up(&browser);
    while (browser >= 0 && read(browser, page, sizeof page) > 0)
        continue;
    if (way >= 128)
        hang_up(&browser);
}

/* ---- time ---- */

/* Who has something to read: a system call for all of them. */
enum { DOOR = 0, PIPE = NODES, CLIENT = PIPE + 2 * PIPES, STRANGER = CLIENT + CLIENTS, ALL = STRANGER + STRANGERS };
static struct pollfd ready[ALL];

static void look(void)
{
    for (uint32_t i = 0; i < ALL; i++) {
        ready[i].fd = i < PIPE       ? doors[i]
                      : i < CLIENT   ? pipes[(i - PIPE) / 2].fd[(i - PIPE) % 2]
                      : i < STRANGER ? clients[i - CLIENT].fd
                                     : strangers[i - STRANGER].fd;
        ready[i].events = POLLIN;
    }
    poll(ready, ALL, 0);
}

static bool hear_all(void)
{
    bool any = false;
    look();
    for (uint32_t i = 0; i < PIPE; i++)
        any |= ready[i].revents && accept_members(i);
    for (uint32_t i = PIPE; i < CLIENT; i++)
        any |= ready[i].revents && pump(&pipes[(i - PIPE) / 2], (i - PIPE) % 2);
    for (uint32_t i = CLIENT; i < STRANGER; i++)
        any |= ready[i].revents && listen_to(&clients[i - CLIENT]);
    for (uint32_t i = STRANGER; i < ALL; i++) {
        char bytes[4096];
        if (ready[i].revents && ready[i].fd >= 0 && read(ready[i].fd, bytes, sizeof bytes) <= 0)
            hang_up(&strangers[i - STRANGER].fd);
    }
    return any;
}

static bool has_more(const struct cv_loop *loop)
{
    return loop->to_clients.first || loop->to_members.first || loop->chores || loop->ended;
}

/* Until nothing happens without time. */
static void settle(void)
{
    for (uint32_t round = 0, quiet = 0; quiet < 2 && round < ROUNDS; round++) {
        bool any = false;
        for (uint32_t i = 0; i < node_count; i++) {
            struct node *node = &nodes[i];
            if (!node->open || node->paused)
                continue;
            current = node;
            cv_loop_turn(&node->member.loop);
            any |= work(node) || has_more(&node->member.loop);
            assert(i == INSIDER || !node->member.failed);
            if (*node->member.outside || node->member.failed) {
                honest = false;
                close_node(node);
            }
        }
        any |= hear_all();
        quiet = any ? 0 : quiet + 1;
    }
}

static void pass_time(uint64_t ms)
{
    const uint64_t end_us = now_ns / 1000 + ms * 1000;
    for (uint32_t step = 0; step < STEPS && now_ns / 1000 < end_us; step++) {
        uint64_t next_us = end_us;
        for (uint32_t i = 0; i < node_count; i++) {
            const uint64_t due =
                nodes[i].open && !nodes[i].paused ? cv_alarms_next(&nodes[i].member.loop.alarms) : UINT64_MAX;
            next_us = due < next_us ? due : next_us;
        }
        if (next_us * 1000 > now_ns)
            now_ns = next_us * 1000;
        now_ns += 1000000; /* libuv counts milliseconds */
        settle();
    }
}

/* ---- a story ---- */

static const struct cv_recorder recorder = {.grant = on_grant};

/* Crashes and returns of the third node; the others stop for a while. */
static void trouble(void)
{
    const uint8_t way = input_byte(input);
    struct node *node = &nodes[way % node_count];
    if (way < 64) {
        cut(&pipes[way % PIPES]);
    } else if (way < 128) {
        node->paused = !node->paused;
    } else if (node_count > 1 && nodes[INSIDER].open) {
        close_node(&nodes[INSIDER]);
    } else if (node_count > 1) {
        open_node(INSIDER, raft, &recorder);
    }
    honest = false;
}

static void step(void)
{
    struct client *client;
    events++;
    switch (input_below(input, 16)) {
    case 0 ... 6:
        if ((client = some_client()))
            command(client);
        break;
    case 7:
        if ((client = some_client()))
            speak(&client->fd);
        break;
    case 8:
        leave(&clients[input_below(input, CLIENTS)]);
        break;
    case 9:
        browse();
        break;
    case 10:
        target = input_byte(input) % 16;
        target = target < CV_FRAME_TYPES ? target : 0;
        tampering = node_count > 1 ? 1 + input_byte(input) % 8 : 0;
        break;
    case 11:
        if (node_count > 1)
            incoming();
        break;
    case 12:
        if (input_byte(input) % 4 == 0)
            trouble();
        break;
    default:
        pass_time(1ull << input_below(input, 12));
        return;
    }
    settle();
}

static bool all_serve(void)
{
    bool all = true;
    for (uint32_t i = 0; i < node_count; i++)
        all &= cv_member_serves(&nodes[i].member);
    return all;
}

static void report(void)
{
    fprintf(stderr, "events: %llu, with %llu replies and %llu grants\n", (unsigned long long)events,
            (unsigned long long)told, (unsigned long long)begun);
    clean();
    empty(home());
    rmdir(home());
}

/* libraft forgets a few bytes of a snapshot that it was installing when it is closed. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libraft.so";
}

static void begin_world(void)
{
    atexit(report);
    signal(SIGPIPE, SIG_IGN); /* as a node does */
    chatty = getenv("FUZZ_TELL") != NULL;
    if (chatty)
        cv_log_open(false, CV_LOG_INFO, 0);
    for (uint32_t i = 0; i < CLIENTS; i++) {
        clients[i].in = malloc(BUFFER);
        clients[i].fd = -1;
    }
    for (uint32_t i = 0; i < STRANGERS; i++)
        strangers[i].fd = -1;
    for (uint32_t i = 0; i < PIPES; i++)
        for (uint32_t end = 0; end < 2; end++) {
            pipes[i].fd[end] = -1;
            pipes[i].flow[end] = (struct flow){.bytes = malloc(BUFFER), .from = NODES};
        }
    for (uint32_t i = 0; i < NODES; i++) {
        const struct sockaddr_un path = path_of("door", i);
        doors[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        const int bound = (int)syscall(SYS_bind, doors[i], &path, sizeof path), listens = listen(doors[i], 64);
        assert(bound == 0 && listens == 0);
        (void)bound, (void)listens;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input bytes = {data, size};
    static bool begun_before;
    if (!begun_before)
        begin_world();
    begun_before = true;
    input = &bytes;
    chance = 0x9e3779b97f4a7c15ull + input_byte(input);
    now_ns = 1000000000000 + chance % 256 * 3906250;
    const uint8_t way = input_byte(input);
    node_count = way % 4 ? NODES : 1;
    raft = way % 4 > 1 || (way % 4 == 0 && way & 4);
    honest = true;
    tampering = grant_count = job_count = pool_count = 0;
    greeting = (struct cv_frame){.stream = 1ull << 32, .mode = raft ? 2 : 1};
    for (uint32_t i = 0; i < node_count; i++)
        open_node(i, raft, &recorder);
    settle();
    for (uint32_t i = 0; i < MEETING && !all_serve(); i++)
        pass_time(50);
    while (input->left)
        step();
    for (uint32_t i = 0; i < CLIENTS; i++)
        leave(&clients[i]);
    for (uint32_t i = 0; i < STRANGERS; i++)
        hang_up(&strangers[i].fd);
    hang_up(&browser);
    for (uint32_t i = 0; i < node_count; i++)
        close_node(&nodes[i]);
    for (uint32_t i = 0; i < PIPES; i++)
        cut(&pipes[i]);
    for (uint32_t i = 0; i < POOL; i++) {
        free(pool[i]);
        pool[i] = NULL;
    }
    clean();
    return 0;
}
