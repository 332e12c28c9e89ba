// SPDX-License-Identifier: MIT
/* `conclave keygen`: a cluster's key, and the keys of its clients. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "live/net/heap.h"
#include "live/net/loop.h"
#include "secure/acl.h"
#include "secure/key.h"

struct request {
    const char *file, *client, *from;
};

static const struct option_row rows[] = {
    {"client", "NAME", OPTION_TEXT, offsetof(struct request, client),
     .help = "the client's name, as in [acl NAME]: letters, digits, and any of . _ -"},
    {"from", "FILE", OPTION_TEXT, offsetof(struct request, from), .help = "the cluster's key"},
    {0},
};

const struct options keygen_options = {
    .name = "keygen",
    .usage = "FILE\n"
             "FILE --client NAME --from CLUSTER_FILE",
    .about = "Makes a key. The first form makes the key of a new cluster; give it to every node. The "
             "second form derives the key of a client from the cluster's key; nodes know it without "
             "further setup. FILE must not exist, and only you can read it.",
    .rows = rows,
    .lenient = true,
};

/* False: the command ends with *code. */
static bool read_options(struct request *request, int argc, char **argv, int *code)
{
    const int next = options_take(&keygen_options, argc, argv, request, code);
    if (!next)
        return false;
    *code = EXIT_UNKNOWN;
    request->file = argv[next];
    if (argc - next != 1)
        command_refuse("keygen: expected one FILE; see conclave keygen --help");
    else if (!request->client != !request->from)
        command_refuse("%s: expected %s with it", request->client ? "--client" : "--from",
                       request->client ? "--from" : "--client");
    else if (request->client && (!cv_key_name_good(cv_text(request->client)) || cv_identity_reserved(request->client)))
        command_refuse("--client %s: expected 1 to %u letters, digits, '.', '_' or '-', and not cluster, local or "
                       "anonymous",
                       cv_brief(request->client).text, CV_KEY_NAME_BYTES);
    else
        return true;
    return false;
}

static int derive(const struct request *request, struct cv_key *key, struct cv_complaint *complaint)
{
    struct cv_keys cluster;
    int error = cv_key_file_read("--from", request->from, &cluster, complaint);
    if (!error && strcmp(cluster.list[0].name, CV_KEY_CLUSTER) != 0)
        error = cv_complain(complaint, "--from %s: expected the cluster's key, not that of %s",
                            cv_brief(request->from).text, cluster.list[0].name);
    if (!error && !cv_key_derive(&cluster.list[0], cv_text(request->client), key))
        error = cv_complain(complaint, "--client: expected OpenSSL 3 (libssl.so.3) to be installed");
    cv_key_wipe(&cluster, sizeof cluster);
    return error;
}

int command_keygen(int argc, char **argv)
{
    struct request request = {0};
    struct cv_complaint complaint;
    struct cv_key key;
    int code;
    if (!read_options(&request, argc, argv, &code))
        return code;
    cv_key_forbid_dumps();
    if (cv_heap_begin(EXIT_UNKNOWN))
        command_out_of_memory();
    int error = request.client ? derive(&request, &key, &complaint) : cv_key_make(&key, CV_KEY_CLUSTER);
    if (error == CV_EFILE)
        cv_complain(&complaint, "the system gives no random numbers");
    if (!error)
        error = cv_key_file_write("keygen", request.file, &key, &complaint);
    cv_key_wipe(&key, sizeof key);
    if (error)
        return command_fail(error, &complaint);
    printf("%s: the key of %s\n", request.file, request.client ? request.client : "a new cluster");
    return EXIT_HELD;
}
