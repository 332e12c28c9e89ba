// SPDX-License-Identifier: MIT
/* How an experiment greets its machines, deals the nodes to them, and learns how far their clocks are apart. */
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "run/machines.h"

#define PINGS 8u
#define GREETING_MS 60000u /* how long a host may take to answer: somebody may have to type a password */

/* As cards are dealt: in turn, to each as many at a time as its share. */
static void deal(struct machines *all, uint32_t nodes)
{
    uint32_t machine = 0, given = 0;
    for (cv_node node = 0; node < nodes; node++) {
        all->of_node[node] = machine;
        if (++given >= all->list[machine].place->share) {
            machine = (machine + 1) % all->count;
            given = 0;
        }
    }
}

static int make_parts(struct cv_experiment *experiment)
{
    const uint32_t nodes = experiment->board->nodes, slots = experiment->board->slots;
    struct machines *all = experiment->machines = calloc(1, sizeof *all);
    if (!all)
        return CV_ENOMEM;
    all->count = experiment->options.place_count;
    all->slots = slots;
    all->list = calloc(all->count, sizeof *all->list);
    all->of_node = calloc(nodes, sizeof *all->of_node);
    all->counts = calloc(slots, sizeof *all->counts);
    all->earlier = calloc(slots, sizeof *all->earlier);
    all->ports = calloc(slots, sizeof *all->ports);
    all->logs = calloc(slots, sizeof *all->logs);
    all->texts = calloc(slots, sizeof *all->texts);
    all->strings = calloc(slots, sizeof *all->strings);
    if (!all->list || !all->of_node || !all->counts || !all->earlier || !all->ports || !all->logs || !all->texts ||
        !all->strings)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < all->count; i++) {
        const struct cv_place *place = &experiment->options.places[i];
        all->list[i] = (struct machine){.place = place,
                                        .wire = {.in = place->file, .out = place->file, .bounded = true},
                                        .heard = monotonic_ns(),
                                        .quickest = UINT64_MAX,
                                        .sent_to = calloc(slots, sizeof(uint64_t))};
        if (!all->list[i].sent_to)
            return CV_ENOMEM;
    }
    deal(all, nodes);
    return cv_key_make(&experiment->network.secret, "run") ? CV_ENOMEM : 0;
}

/* ---- greeting ---- */

static int greet(struct cv_experiment *experiment, struct machine *machine, const unsigned char *content, size_t bytes)
{
    struct place_hello here, there;
    place_hello_make(&here);
    if (bytes != sizeof there)
        return machines_complain(experiment, machine, "another version of conclave is there; expected %s",
                                 here.version);
    memcpy(&there, content, sizeof there);
    there.version[sizeof there.version - 1] = there.machine[sizeof there.machine - 1] = '\0';
    there.address[sizeof there.address - 1] = '\0';
    if (strcmp(there.version, here.version) != 0)
        return machines_complain(experiment, machine, "conclave %s is there; expected %s, as here",
                                 cv_brief(there.version).text, here.version);
    if (strcmp(there.machine, here.machine) != 0 || there.abi != here.abi || there.layout != here.layout)
        return machines_complain(experiment, machine,
                                 "conclave for %s is there, built another way; expected one for %s",
                                 cv_brief(there.machine).text, here.machine);
    const char *name = machine->place->address ? machine->place->address : there.address;
    if (!*name) {
        const char *user = strrchr(machine->place->name, '@');
        name = user ? user + 1 : machine->place->name;
    }
    if (!run_endpoint_find(&machine->endpoint, name))
        return machines_complain(experiment, machine, "no address is known for %s; expected address=IP in its line",
                                 cv_brief(name).text);
    machine->greeted = true;
    return 0;
}

int machines_setup_hear(struct cv_experiment *experiment, struct machine *machine, const struct place_frame *frame,
                        const unsigned char *content)
{
    struct machines *all = experiment->machines;
    if (frame->type == PLACE_HELLO && !machine->greeted)
        return greet(experiment, machine, content, (size_t)frame->bytes);
    if (frame->type == PLACE_READY && frame->bytes == all->slots * sizeof *all->ports) {
        for (uint32_t slot = 0; slot < all->slots; slot++)
            if (machines_of_slot(experiment, slot) == machine)
                memcpy(&all->ports[slot], content + slot * sizeof *all->ports, sizeof *all->ports);
        machine->ready = true;
    }
    if (frame->type == PLACE_PONG && frame->bytes == sizeof(uint64_t) && frame->number) {
        uint64_t theirs;
        const uint64_t now = monotonic_ns(), took = now - machine->asked;
        memcpy(&theirs, content, sizeof theirs);
        if (took < machine->quickest) {
            machine->quickest = took;
            machine->ahead = (int64_t)(theirs - (machine->asked + took / 2));
        }
        machine->pongs++;
    }
    return 0;
}

static bool is_interrupted(const struct cv_experiment *experiment)
{
    return experiment->options.interrupted && *experiment->options.interrupted;
}

/* Waits until a machine has done what is expected. */
static int await(struct cv_experiment *experiment, struct machine *machine, const bool *done, const char *what)
{
    const uint64_t began = monotonic_ns();
    while (!*done) {
        const int error = machines_hear(experiment, 20);
        if (error)
            return error;
        if (is_interrupted(experiment))
            return cv_complain(experiment->complaint, "interrupted before the run began");
        if (monotonic_ns() - began > GREETING_MS * NS_PER_MS)
            return machines_complain(experiment, machine, "%s within %u s", what, GREETING_MS / 1000);
    }
    return 0;
}

/* Addresses that lead back to the machine that uses them are good among themselves only. */
static int check_addresses(struct cv_experiment *experiment)
{
    const struct machines *all = experiment->machines;
    uint32_t loops = 0;
    const struct machine *first = NULL;
    for (uint32_t i = 0; i < all->count; i++)
        if (run_endpoint_loops(&all->list[i].endpoint)) {
            loops++;
            first = first ? first : &all->list[i];
        }
    if (!loops || loops == all->count)
        return 0;
    return machines_complain(experiment, first,
                             "the other hosts cannot reach it at a loopback address; expected "
                             "address=IP in its line");
}

/* ---- setting up ---- */

static size_t words_bytes(const struct cv_place_command *command)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < command->word_count; i++)
        bytes += strlen(command->words[i]) + 1;
    for (uint32_t i = 0; i < command->file_count; i++)
        bytes += strlen(command->files[i].name) + 1 + sizeof(uint64_t) + command->files[i].size;
    return bytes;
}

static unsigned char *put(unsigned char *at, const void *bytes, size_t count)
{
    if (count)
        memcpy(at, bytes, count);
    return at + count;
}

/* The command line, the files and the place of each node, in one piece. */
static unsigned char *make_setup(const struct cv_experiment *experiment, size_t *bytes)
{
    const struct cv_place_command *command = experiment->options.command;
    const size_t nodes_bytes = experiment->board->nodes * sizeof(uint32_t);
    unsigned char *content = malloc(words_bytes(command) + nodes_bytes), *at = content;
    for (uint32_t i = 0; i < command->word_count && content; i++)
        at = put(at, command->words[i], strlen(command->words[i]) + 1);
    for (uint32_t i = 0; i < command->file_count && content; i++) {
        const struct cv_place_file *file = &command->files[i];
        const uint64_t size = file->size;
        at = put(at, file->name, strlen(file->name) + 1);
        at = put(at, &size, sizeof size);
        at = put(at, file->bytes, file->size);
    }
    if (content)
        at = put(at, experiment->machines->of_node, nodes_bytes);
    *bytes = content ? (size_t)(at - content) : 0;
    return content;
}

static int send_setups(struct cv_experiment *experiment)
{
    struct machines *all = experiment->machines;
    size_t bytes;
    unsigned char *content = make_setup(experiment, &bytes);
    if (!content)
        return CV_ENOMEM;
    for (uint32_t i = 0; i < all->count; i++) {
        struct place_setup setup = {.secret = experiment->network.secret,
                                    .index = i,
                                    .nodes = experiment->board->nodes,
                                    .word_count = experiment->options.command->word_count,
                                    .file_count = experiment->options.command->file_count,
                                    .traced = experiment->options.observer.state != NULL};
        run_endpoint_text(&all->list[i].endpoint, setup.address, sizeof setup.address);
        const struct iovec pieces[] = {{&setup, sizeof setup}, {content, bytes}};
        place_send(&all->list[i].wire, PLACE_SETUP, 0, 0, pieces, 2);
        cv_key_wipe(&setup, sizeof setup);
    }
    free(content);
    return 0;
}

static int send_table(struct cv_experiment *experiment)
{
    struct machines *all = experiment->machines;
    struct run_endpoint *table = calloc(all->slots, sizeof *table);
    if (!table)
        return CV_ENOMEM;
    for (uint32_t slot = 0; slot < all->slots; slot++) {
        table[slot] = machines_of_slot(experiment, slot)->endpoint;
        run_endpoint_set_port(&table[slot], all->ports[slot]);
    }
    for (uint32_t i = 0; i < all->count; i++)
        place_send_bytes(&all->list[i].wire, PLACE_TABLE, 0, 0, table, all->slots * sizeof *table);
    free(table);
    return 0;
}

/* Asks a machine for its time. Of several answers, the quickest is the most exact. */
static int measure_clock(struct cv_experiment *experiment, struct machine *machine)
{
    for (uint32_t i = 0; i < PINGS; i++) {
        const uint32_t before = machine->pongs;
        machine->asked = monotonic_ns();
        place_send(&machine->wire, PLACE_PING, 0, i + 1, NULL, 0);
        while (machine->pongs == before) {
            const int error = machines_hear(experiment, 20);
            if (error)
                return error;
        }
    }
    return 0;
}

int machines_make(struct cv_experiment *experiment)
{
    int error = make_parts(experiment);
    struct machines *all = experiment->machines;
    for (uint32_t i = 0; !error && i < all->count; i++)
        error = await(experiment, &all->list[i], &all->list[i].greeted, "no answer");
    if (!error)
        error = check_addresses(experiment);
    if (!error)
        error = send_setups(experiment);
    for (uint32_t i = 0; !error && i < all->count; i++)
        error = await(experiment, &all->list[i], &all->list[i].ready, "not ready");
    if (!error)
        error = send_table(experiment);
    for (uint32_t i = 0; !error && i < all->count; i++)
        error = measure_clock(experiment, &all->list[i]);
    experiment->network_ready = !error;
    return error;
}

void machines_free(struct cv_experiment *experiment)
{
    struct machines *all = experiment->machines;
    if (!all)
        return;
    for (uint32_t i = 0; all->list && i < all->count; i++) {
        place_wire_free(&all->list[i].wire);
        free(all->list[i].sent_to);
    }
    for (uint32_t slot = 0; all->logs && all->texts && all->strings && slot < all->slots; slot++) {
        free(all->logs[slot]);
        free(all->strings[slot]);
        log_texts_free(&all->texts[slot]);
    }
    free(all->list);
    free(all->of_node);
    free(all->counts);
    free(all->earlier);
    free(all->ports);
    free(all->logs);
    free(all->texts);
    free(all->strings);
    free(all);
    cv_key_wipe(&experiment->network.secret, sizeof experiment->network.secret);
    experiment->machines = NULL;
}
