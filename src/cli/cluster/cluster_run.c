// SPDX-License-Identifier: MIT
#include "cli/cluster/cluster_run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/ask.h"
#include "cli/command.h"
#include "core/parse.h"

#define POLL_NS 5000000L
#define END_PATIENCE_MS 3000

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){0, POLL_NS}, NULL);
}

/* ---- configurations ---- */

/*
 * Takes a port that nobody uses, for as long as this process lives. A node can listen on it, for both say SO_REUSEADDR;
 * the kernel gives it to no other program, nor to an outgoing connection, while a node is down.
 */
static int take_port(struct cluster *cluster, uint32_t index)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    cluster->ports[index] = fd;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){1}, sizeof(int)) ||
        bind(fd, (struct sockaddr *)&address, sizeof address) || getsockname(fd, (struct sockaddr *)&address, &length))
        return 0;
    return ntohs(address.sin_port);
}

static char *path_of(const struct cluster *cluster, uint32_t index, const char *suffix)
{
    char *path = NULL;
    return asprintf(&path, "%s/node%u%s", cluster->directory, index + 1, suffix) < 0 ? NULL : path;
}

static void write_rules(FILE *file, const struct cluster *cluster)
{
    for (const char **rule = cluster->rules; rule && *rule; rule++) {
        const char *plugin = strstr(*rule, "=/"), *equals = plugin ? plugin : strrchr(*rule, '=');
        fprintf(file, "\n[lock %.*s]\nalgorithm = %s\n", (int)(equals - *rule), *rule, equals + 1);
    }
    for (const char **setting = cluster->settings; setting && *setting; setting++) {
        const char *equals = strchr(*setting, '='), *dot = equals;
        while (dot > *setting && *dot != '.')
            dot--;
        fprintf(file, "\n[%.*s]\n%.*s = %s\n", (int)(dot - *setting), *setting, (int)(equals - dot - 1), dot + 1,
                equals + 1);
    }
}

static int write_configuration(const struct cluster *cluster, uint32_t index, const int *ports,
                               struct cv_complaint *complaint)
{
    char *path = path_of(cluster, index, ".conf");
    FILE *file = path ? fopen(path, "we") : NULL;
    if (!file) {
        cv_complain(complaint, "%s: %s", path ? path : cluster->directory, strerror(errno));
        free(path);
        return CV_EFILE;
    }
    fprintf(file, "[node]\nid = %u\nlisten = %s\n", index + 1, cluster->sockets[index]);
    if (!cluster->group || strcmp(cluster->group, "static") != 0)
        fprintf(file, "directory = %s/node%u\n", cluster->directory, index + 1);
    if (cluster->port)
        fprintf(file, "listen = 127.0.0.1:%llu\n", (unsigned long long)cluster->port + index);
    if (cluster->http)
        fprintf(file, "http = 127.0.0.1:%llu\n", (unsigned long long)cluster->http + index);
    fprintf(file, "\n[members]\n");
    for (uint32_t i = 0; i < cluster->count; i++) {
        fprintf(file, "%u = 127.0.0.1:%d client ", i + 1, ports[i]);
        if (cluster->port)
            fprintf(file, "127.0.0.1:%llu\n", (unsigned long long)cluster->port + i);
        else
            fprintf(file, "%s\n", cluster->sockets[i]);
    }
    fprintf(file, "\n[group]\n");
    if (cluster->group)
        fprintf(file, "mode = %s\n", cluster->group);
    if (cluster->election)
        fprintf(file, "election = %s\n", cluster->election);
    write_rules(file, cluster);
    const bool failed = ferror(file) | (fclose(file) != 0);
    if (failed)
        cv_complain(complaint, "%s: cannot be written", path);
    free(path);
    return failed ? CV_EFILE : 0;
}

/* ---- processes ---- */

/* Runs in the child. The kernel ends the child when the supervisor ends. */
static void become_node(const struct cluster *cluster, uint32_t index, pid_t parent)
{
    char *configuration = path_of(cluster, index, ".conf"), *log = path_of(cluster, index, ".log"), *record = NULL;
    const int output = log ? open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
    if (cluster->record && asprintf(&record, "%s/node%u.jsonl", cluster->record, index + 1) < 0)
        _exit(127);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent || output < 0 || !configuration)
        _exit(127);
    setpgid(0, 0); /* Ctrl-C is for the supervisor, which ends its nodes in order */
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    if (record)
        execl("/proc/self/exe", "conclave", "node", "--config", configuration, "--record", record, (char *)NULL);
    else
        execl("/proc/self/exe", "conclave", "node", "--config", configuration, (char *)NULL);
    _exit(127);
}

int cluster_start_node(struct cluster *cluster, uint32_t index, struct cv_complaint *complaint)
{
    const pid_t parent = getpid(), child = fork();
    if (child == 0)
        become_node(cluster, index, parent);
    if (child < 0) {
        cv_complain(complaint, "node %u cannot be started: %s", index + 1, strerror(errno));
        return CV_EFILE;
    }
    cluster->pids[index] = child;
    return 0;
}

int cluster_start(struct cluster *cluster, struct cv_complaint *complaint)
{
    int ports[CV_MAX_MEMBERS];
    int error = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        ports[i] = take_port(cluster, i);
        if (!ports[i]) {
            cv_complain(complaint, "node %u has no port for the other members: %s", i + 1, strerror(errno));
            return CV_EFILE;
        }
        cluster->sockets[i] = path_of(cluster, i, ".sock");
        if (!cluster->sockets[i])
            return CV_ENOMEM;
    }
    for (uint32_t i = 0; i < cluster->count && !error; i++)
        error = write_configuration(cluster, i, ports, complaint);
    for (uint32_t i = 0; i < cluster->count && !error; i++)
        error = cluster_start_node(cluster, i, complaint);
    return error;
}

/* ---- waiting ---- */

/* A member of the view, and within reach. */
static bool is_there(struct cv_text member)
{
    const struct cv_text state = ask_text(ask_value(member, "state"));
    return ask_number(ask_value(member, "member")) == 1 && (cv_text_is(state, "self") || cv_text_is(state, "alive"));
}

/* Asks a node for its view: the coordinator's id and the live members. False if it does not answer. */
static bool look(const char *address, int64_t *epoch, int64_t *coordinator, uint32_t *alive)
{
    struct ask ask;
    struct cv_text view, members, member;
    uint64_t left = UINT64_MAX;
    *alive = 0;
    if (!ask_open(&ask, address, 500))
        return false;
    const bool told = ask_command(&ask, "VIEW", 1000, &view);
    if (told) {
        *epoch = ask_number(ask_value(view, "epoch"));
        *coordinator = ask_number(ask_value(view, "coordinator"));
        members = ask_value(view, "members");
        while (ask_each(&members, &left, &member))
            *alive += is_there(member);
    }
    ask_close(&ask);
    return told && *coordinator > 0;
}

static int agreed_coordinator(const struct cluster *cluster)
{
    int64_t first_epoch = 0, first = 0;
    uint32_t running = 0;
    for (uint32_t i = 0; i < cluster->count; i++)
        running += cluster->pids[i] > 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        int64_t epoch, coordinator;
        uint32_t alive;
        if (cluster->pids[i] <= 0)
            continue;
        if (!look(cluster->sockets[i], &epoch, &coordinator, &alive) || alive != running)
            return -1;
        if (first && (first != coordinator || first_epoch != epoch))
            return -1;
        first = coordinator;
        first_epoch = epoch;
    }
    return first && cluster->pids[first - 1] > 0 ? (int)first - 1 : -1;
}

static bool somebody_died(const struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++) {
        siginfo_t info = {0};
        if (cluster->pids[i] > 0 && waitid(P_PID, (id_t)cluster->pids[i], &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
            info.si_pid)
            return true;
    }
    return false;
}

int cluster_await(const struct cluster *cluster, int timeout_ms)
{
    for (int64_t waited_ns = 0; waited_ns / 1000000 < timeout_ms; waited_ns += POLL_NS) {
        if (command_interrupted || somebody_died(cluster))
            return -1;
        const int coordinator = agreed_coordinator(cluster);
        if (coordinator >= 0)
            return coordinator;
        pause_a_little();
    }
    return -1;
}

struct cv_complaint cluster_last_words(const struct cluster *cluster)
{
    struct cv_complaint words;
    static const char mark[] = "conclave: ";
    cv_complain(&words, "the nodes did not form a group; see %s/node1.log and the others", cluster->directory);
    for (uint32_t i = 0; i < cluster->count; i++) {
        char *path = path_of(cluster, i, ".log"), line[256];
        FILE *file = path ? fopen(path, "re") : NULL;
        while (file && fgets(line, sizeof line, file))
            if (strncmp(line, mark, sizeof mark - 1) == 0)
                cv_complain(&words, "node %u: %.*s", i + 1, (int)strcspn(line, "\n") - (int)sizeof mark + 1,
                            line + sizeof mark - 1);
        if (file)
            fclose(file);
        free(path);
    }
    return words;
}

/* ---- the end ---- */

void cluster_stop(struct cluster *cluster)
{
    for (uint32_t i = 0; i < cluster->count; i++)
        if (cluster->pids[i] > 0)
            kill(cluster->pids[i], SIGTERM);
    for (uint32_t i = 0; i < cluster->count; i++) {
        for (int waited = 0; cluster->pids[i] > 0; waited++) {
            if (waitpid(cluster->pids[i], NULL, WNOHANG) != 0)
                cluster->pids[i] = 0;
            else if (waited == END_PATIENCE_MS / 5)
                kill(cluster->pids[i], SIGKILL);
            else
                pause_a_little();
        }
        free(cluster->sockets[i]);
        cluster->sockets[i] = NULL;
        if (cluster->ports[i] > 0)
            close(cluster->ports[i]);
        cluster->ports[i] = 0;
    }
}

char *cluster_make_directory(void)
{
    const char *temporary = getenv("TMPDIR");
    char *directory = NULL;
    if (asprintf(&directory, "%s/conclave-XXXXXX", temporary && *temporary ? temporary : "/tmp") < 0)
        return NULL;
    if (mkdtemp(directory))
        return directory;
    free(directory);
    return NULL;
}

static void remove_files(int directory, const char *path, const char *prefix)
{
    const int self = openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = self < 0 ? NULL : fdopendir(self);
    for (const struct dirent *entry; entries && (entry = readdir(entries));) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        if (unlinkat(self, entry->d_name, 0) && errno == EISDIR)
            remove_files(self, entry->d_name, ""); /* a node's directory */
    }
    if (entries)
        closedir(entries);
    unlinkat(directory, path, AT_REMOVEDIR);
}

/* Removes only files that nodes write. */
void cluster_remove(const char *directory)
{
    remove_files(AT_FDCWD, directory, "node");
}
