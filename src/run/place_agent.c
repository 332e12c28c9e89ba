// SPDX-License-Identifier: MIT
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/address.h"
#include "run/experiment_parts.h"
#include "run/place.h"
#include "run/place_wire.h"
#include "run/process.h"
#include "run/step_log_texts.h"

#define FIRST_PATIENCE_S 120u /* until all places are there: somebody may have to type a password for another one */

struct agent {
    struct cv_experiment *experiment;
    struct cv_experiment_options options;
    struct place_wire wire;
    struct cv_complaint complaint;
    struct place_setup setup;
    uint32_t *place_of; /* by node */
    unsigned char *command;
    bool over;
    int code;
};

static int fail(struct agent *agent, int error)
{
    if (error == CV_ENOMEM)
        cv_complain(&agent->complaint, "out of memory");
    place_send_bytes(&agent->wire, PLACE_FAILED, 0, 0, agent->complaint.text, strlen(agent->complaint.text));
    agent->over = true;
    agent->code = 2;
    return error;
}

static bool is_own(const struct agent *agent, uint32_t slot)
{
    const struct cv_scenario *scenario = agent->experiment->scenario;
    const uint32_t nodes = scenario->group.nodes;
    return agent->place_of[slot < nodes ? slot : scenario->recoveries[slot - nodes].node] == agent->setup.index;
}

/* ---- the beginning ---- */

/* Takes a text that ends with a NUL; NULL: there is none. */
static const char *take_text(const unsigned char **at, const unsigned char *end)
{
    const unsigned char *nul = memchr(*at, 0, (size_t)(end - *at));
    const char *text = (const char *)*at;
    if (!nul)
        return NULL;
    *at = nul + 1;
    return text;
}

static bool take_bytes(const unsigned char **at, const unsigned char *end, void *bytes, size_t count)
{
    if ((size_t)(end - *at) < count)
        return false;
    memcpy(bytes, *at, count);
    *at += count;
    return true;
}

static bool read_command(const struct place_setup *setup, const unsigned char **at, const unsigned char *end,
                         char **words, struct cv_place_file *files)
{
    words[0] = (char *)(uintptr_t) "run";
    for (uint32_t i = 0; i < setup->word_count; i++)
        if (!(words[i + 1] = (char *)(uintptr_t)take_text(at, end)))
            return false;
    for (uint32_t i = 0; i < setup->file_count; i++) {
        uint64_t size;
        if (!(files[i].name = take_text(at, end)) || !take_bytes(at, end, &size, sizeof size) ||
            (uint64_t)(end - *at) < size)
            return false;
        files[i].bytes = *at;
        files[i].size = (size_t)size;
        *at += size;
    }
    return true;
}

/* States are recorded, but not told here. */
static void see_nothing(void *context, const struct cv_snapshot *snapshot)
{
    (void)context;
    (void)snapshot;
}

static int set_up(struct agent *agent, const struct cv_place_builder *builder, const unsigned char *content,
                  size_t bytes)
{
    agent->command = malloc(bytes + 1); /* the scenario keeps pointers to its words */
    if (!agent->command)
        return CV_ENOMEM;
    memcpy(agent->command, content, bytes);
    const unsigned char *at = agent->command, *end = agent->command + bytes;
    struct place_setup *setup = &agent->setup;
    if (!take_bytes(&at, end, setup, sizeof *setup) || setup->nodes > CV_MOST_PROCESSES || setup->word_count > bytes ||
        setup->file_count > bytes)
        return cv_complain(&agent->complaint, "a setup that cannot be");
    char **words = calloc(setup->word_count + 2u, sizeof *words);
    struct cv_place_file *files = calloc(setup->file_count + 1u, sizeof *files);
    agent->place_of = calloc(setup->nodes + 1u, sizeof *agent->place_of);
    int error = words && files && agent->place_of ? 0 : CV_ENOMEM;
    if (!error && (!read_command(setup, &at, end, words, files) ||
                   !take_bytes(&at, end, agent->place_of, setup->nodes * sizeof *agent->place_of)))
        error = cv_complain(&agent->complaint, "a setup that cannot be");
    const struct cv_place_command command = {words, setup->word_count + 1, files, setup->file_count};
    const struct cv_scenario *scenario = NULL;
    if (!error)
        error = builder->build(builder->context, &command, &scenario, &agent->options, &agent->complaint);
    if (setup->traced)
        agent->options.observer.state = see_nothing;
    if (!error && scenario->group.nodes != setup->nodes)
        error = cv_complain(&agent->complaint, "another group there than here");
    free(words);
    free(files);
    return error ? error : experiment_prepare(&agent->experiment, scenario, &agent->options, &agent->complaint);
}

static int listen_at(struct sockaddr_storage *address, socklen_t length)
{
    const int made = socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0)
        return -1;
    if (bind(made, (const struct sockaddr *)address, length) == 0 && listen(made, SOMAXCONN) == 0)
        return made;
    const int error = errno;
    close(made);
    errno = error;
    return -1;
}

/* Listens for a slot's process, at the place's address or, if that is another machine's that forwards, at all. */
static int make_listener(struct agent *agent, uint32_t slot, uint16_t *port)
{
    struct run_endpoint here;
    if (!run_endpoint_find(&here, agent->setup.address))
        return cv_complain(&agent->complaint, "address %s: expected an IP address", agent->setup.address);
    int made = listen_at(&here.address, here.length);
    if (made < 0 && errno == EADDRNOTAVAIL) {
        run_endpoint_any(&here);
        made = listen_at(&here.address, here.length);
    }
    if (made < 0 || getsockname(made, (struct sockaddr *)&here.address, &here.length))
        return cv_complain(&agent->complaint, "listen at %s: %s", agent->setup.address, strerror(errno));
    agent->experiment->children[slot].listener = made;
    *port = run_endpoint_port(&here);
    return 0;
}

static int make_listeners(struct agent *agent)
{
    const uint32_t slots = agent->experiment->board->slots;
    uint16_t *ports = calloc(slots, sizeof *ports);
    int error = ports ? 0 : CV_ENOMEM;
    for (uint32_t slot = 0; slot < slots && !error; slot++)
        if (is_own(agent, slot))
            error = make_listener(agent, slot, &ports[slot]);
    if (!error)
        place_send_bytes(&agent->wire, PLACE_READY, 0, 0, ports, slots * sizeof *ports);
    free(ports);
    return error;
}

static int take_table(struct agent *agent, const unsigned char *content, size_t bytes)
{
    struct run_network *network = &agent->experiment->network;
    const size_t expected = agent->experiment->board->slots * sizeof *network->endpoints;
    if (bytes != expected || network->endpoints || !(network->endpoints = malloc(expected)))
        return cv_complain(&agent->complaint, "a table that cannot be");
    memcpy(network->endpoints, content, expected);
    network->secret = agent->setup.secret;
    return 0;
}

/* ---- orders ---- */

static void send_died(struct cv_experiment *experiment, uint32_t slot)
{
    struct agent *agent = experiment->agent;
    const struct board *board = experiment->board;
    uint64_t *row = calloc(board->slots + 2u, sizeof *row);
    if (!row)
        cv_out_of_memory(2);
    row[0] = board->slot[slot].clock;
    row[1] = board->slot[slot].last_ns;
    for (uint32_t to = 0; to < board->slots; to++)
        row[to + 2] = *board_sent(board, to, slot);
    place_send_bytes(&agent->wire, PLACE_DIED, slot, 0, row, (board->slots + 2u) * sizeof *row);
    free(row);
}

static void note_slot(struct agent *agent, uint32_t slot, const unsigned char *content)
{
    struct board *board = agent->experiment->board;
    uint32_t told[2]; /* its node and its state */
    memcpy(told, content, sizeof told);
    if (told[0] >= board->nodes)
        return;
    board->slot[slot].node = told[0];
    if (!is_own(agent, slot))
        board->slot[slot].state = told[1];
    if (told[1] == SLOT_LIVE)
        board->current[told[0]] = slot;
    else if (board->current[told[0]] == slot)
        board->current[told[0]] = NO_SLOT;
}

static int start(struct agent *agent, uint32_t slot, const unsigned char *content, size_t bytes)
{
    struct cv_experiment *experiment = agent->experiment;
    struct place_start told;
    struct view_order order;
    if (bytes < sizeof told + sizeof order)
        return 0;
    memcpy(&told, content, sizeof told);
    memcpy(&order, content + sizeof told, sizeof order);
    if (told.node >= experiment->board->nodes || order.member_count > experiment->board->nodes ||
        bytes != sizeof told + sizeof order + order.member_count * sizeof(cv_node))
        return cv_complain(&agent->complaint, "a start that cannot be");
    experiment->board->slot[slot].node = told.node;
    experiment->board->slot[slot].clock = told.clock;
    cv_node *members = malloc((order.member_count + 1u) * sizeof *members);
    if (!members)
        return CV_ENOMEM;
    memcpy(members, content + sizeof told + sizeof order, order.member_count * sizeof *members);
    int error = run_view_change(&experiment->views.view, experiment->scenario, &order, members);
    free(members);
    return error ? error : child_start(experiment, slot, told.returned);
}

static void tell(struct agent *agent, uint32_t slot, const unsigned char *content, size_t bytes)
{
    struct cv_experiment *experiment = agent->experiment;
    struct control control;
    if (bytes < sizeof control)
        return;
    memcpy(&control, content, sizeof control);
    if (control.type == CONTROL_STOP) {
        experiment->views.told[slot] = true;
        experiment->views.answered[slot] = false;
    }
    child_order(experiment, slot, &control, content + sizeof control, bytes - sizeof control);
}

static void count(struct agent *agent)
{
    const struct board *board = agent->experiment->board;
    struct place_counts *counts = calloc(board->slots, sizeof *counts);
    uint64_t *sent_to = calloc(board->slots, sizeof *sent_to);
    uint32_t own = 0;
    if (!counts || !sent_to)
        cv_out_of_memory(2);
    for (uint32_t slot = 0; slot < board->slots; slot++) {
        const struct process_slot *it = &board->slot[slot];
        if (is_own(agent, slot))
            counts[own++] = (struct place_counts){.slot = slot,
                                                  .state = it->state,
                                                  .started = it->started,
                                                  .failed = board->failed,
                                                  .closed = it->closed,
                                                  .own_opened = it->own_opened,
                                                  .own_closed = it->own_closed,
                                                  .client_opened = it->client_opened,
                                                  .client_closed = it->client_closed};
        for (uint32_t from = 0; from < board->slots; from++)
            sent_to[slot] += *board_sent(board, slot, from);
    }
    const struct iovec pieces[] = {{sent_to, board->slots * sizeof *sent_to}, {counts, own * sizeof *counts}};
    place_send(&agent->wire, PLACE_COUNTS, 0, own, pieces, 2);
    free(counts);
    free(sent_to);
}

/* ---- the end ---- */

static int send_log(struct agent *agent, uint32_t slot)
{
    const int file = agent->experiment->children[slot].file;
    struct log_texts texts = {0};
    struct stat status;
    if (file < 0 || fstat(file, &status) || !status.st_size)
        return 0;
    unsigned char *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return CV_ENOMEM;
    const size_t size = log_whole_bytes(bytes, (size_t)status.st_size);
    const int error = log_number_texts(bytes, size, &texts);
    struct iovec *pieces = calloc(texts.count + 1u, sizeof *pieces);
    if (!error && pieces) {
        for (uint32_t i = 0; i < texts.count; i++)
            pieces[i] = (struct iovec){(void *)(uintptr_t)texts.text[i], strlen(texts.text[i]) + 1};
        pieces[texts.count] = (struct iovec){bytes, size};
        place_send(&agent->wire, PLACE_LOG, slot, texts.count, pieces, (int)texts.count + 1);
    }
    free(pieces);
    log_texts_free(&texts);
    munmap(bytes, (size_t)status.st_size);
    return error || !pieces ? CV_ENOMEM : 0;
}

static int finish(struct agent *agent)
{
    int error = children_end(agent->experiment);
    for (uint32_t slot = 0; slot < agent->experiment->board->slots && !error; slot++)
        if (is_own(agent, slot))
            error = send_log(agent, slot);
    if (error)
        return error;
    place_send(&agent->wire, PLACE_DONE, 0, 0, NULL, 0);
    agent->over = true;
    return 0;
}

/* ---- the loop ---- */

static int obey(struct agent *agent, const struct place_frame *frame, const unsigned char *content)
{
    struct cv_experiment *experiment = agent->experiment;
    const uint64_t now = monotonic_ns();
    const size_t bytes = (size_t)frame->bytes;
    if (frame->type == PLACE_PING) {
        place_send_bytes(&agent->wire, PLACE_PONG, 0, frame->number, &now, sizeof now);
        return 0;
    }
    if (!experiment || frame->slot >= experiment->board->slots)
        return cv_complain(&agent->complaint, "an order that cannot be");
    switch (frame->type) {
    case PLACE_TABLE:
        return take_table(agent, content, bytes);
    case PLACE_EPOCH:
        if (bytes == sizeof(uint64_t)) {
            uint64_t epoch;
            memcpy(&epoch, content, sizeof epoch);
            experiment->board->epoch_ns = epoch;
        }
        return 0;
    case PLACE_SLOT:
        if (bytes == 2 * sizeof(uint32_t))
            note_slot(agent, frame->slot, content);
        return 0;
    case PLACE_START:
        return start(agent, frame->slot, content, bytes);
    case PLACE_TELL:
        tell(agent, frame->slot, content, bytes);
        return 0;
    case PLACE_KILL:
        if (experiment->children[frame->slot].pid) {
            child_kill(experiment, frame->slot);
            send_died(experiment, frame->slot);
        }
        return 0;
    case PLACE_SIGNAL:
        child_signal(experiment, frame->slot, (int)frame->number);
        return 0;
    case PLACE_POLL:
        count(agent);
        return 0;
    case PLACE_FINISH:
        return finish(agent);
    default:
        return 0;
    }
}

/* Passes on what nodes hold that were told to stop. */
static void pass_answers(struct agent *agent)
{
    static uint64_t buffer[PACKET_BYTES / sizeof(uint64_t)];
    struct cv_experiment *experiment = agent->experiment;
    for (uint32_t slot = 0; slot < experiment->board->slots; slot++) {
        if (!experiment->views.told[slot] || experiment->views.answered[slot] || !experiment->children[slot].pid)
            continue;
        const ssize_t bytes = recv(experiment->children[slot].control, buffer, sizeof buffer, MSG_DONTWAIT);
        if (bytes < (ssize_t)sizeof(struct control))
            continue;
        experiment->views.answered[slot] = true;
        place_send_bytes(&agent->wire, PLACE_HOLDS, slot, 0, buffer, (size_t)bytes);
    }
}

/* Waits for orders and looks after the processes. In a long silence the kernel ends this process, and so them. */
static void serve(struct agent *agent, const struct cv_place_builder *builder)
{
    while (!agent->over && !agent->wire.ended) {
        struct place_frame frame;
        const unsigned char *content;
        int error = 0;
        place_read(&agent->wire, agent->experiment ? 1 : -1);
        while (!agent->over && !error && place_next(&agent->wire, &frame, &content)) {
            alarm(agent->experiment ? PLACE_PATIENCE_S : FIRST_PATIENCE_S);
            if (frame.type == PLACE_SETUP && !agent->experiment) {
                error = set_up(agent, builder, content, (size_t)frame.bytes);
                if (!error) {
                    agent->experiment->agent = agent;
                    agent->experiment->died = send_died;
                    error = make_listeners(agent);
                }
            } else {
                error = obey(agent, &frame, content);
            }
        }
        if (!error && place_is_foreign(&agent->wire))
            agent->over = true;
        if (!error && agent->experiment && !agent->over)
            error = children_reap(agent->experiment);
        if (!error && agent->experiment && !agent->over)
            pass_answers(agent);
        if (error)
            fail(agent, error);
    }
}

int cv_place_serve(int in, int out, const struct cv_place_builder *builder)
{
    static struct agent agent;
    struct place_hello hello;
    agent.wire = (struct place_wire){.in = in, .out = out};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    alarm(FIRST_PATIENCE_S);
    place_hello_make(&hello);
    place_send_bytes(&agent.wire, PLACE_HELLO, 0, 0, &hello, sizeof hello);
    alarm(FIRST_PATIENCE_S);
    serve(&agent, builder);
    alarm(0);
    if (agent.experiment)
        free(agent.experiment->network.endpoints);
    cv_experiment_free(agent.experiment);
    free(agent.place_of);
    free(agent.command);
    place_wire_free(&agent.wire);
    return agent.code;
}
