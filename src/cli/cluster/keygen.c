// SPDX-License-Identifier: MIT
/* `conclave keygen`: a cluster's key, and the keys of its clients. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options.h"
#include "live/net/loop.h"
#include "secure/acl.h"
#include "secure/key.h"

static const char help[] =
    "usage: conclave keygen FILE\n"
    "       conclave keygen FILE --client NAME --from CLUSTER_FILE\n\n"
    "Makes a key: the first way a new one for a cluster, which every node is given; the second way that of a client,\n"
    "derived from the cluster's. Nodes know it without being told. FILE must not exist, and only you can read it.\n\n"
    "  --client NAME   the client's name, as [acl NAME] has it: letters, digits, and any of . _ -\n"
    "  --from FILE     the cluster's key\n"
    "  --help          this page\n";

static const struct option options[] = {
    {"client", required_argument, NULL, 'c'},
    {"from", required_argument, NULL, 'f'},
    {"help", no_argument, NULL, 'h'},
    {0},
};

struct request {
    const char *file, *client, *from;
};

/* -1: help was asked for. */
static int read_options(struct request *request, int argc, char **argv)
{
    optind = 1;
    opterr = 0;
    for (int option; (option = getopt_long(argc, argv, ":", options, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            return -1;
        }
        if (option == ':' || option == '?')
            return command_refuse("%s: %s; see conclave keygen --help", argv[optind - 1],
                                  options_wrong(options, option, argv[optind - 1]).text);
        *(option == 'c' ? &request->client : &request->from) = optarg;
    }
    if (argc - optind != 1)
        return command_refuse("keygen: expected one FILE; see conclave keygen --help");
    request->file = argv[optind];
    if (!request->client != !request->from)
        return command_refuse("%s: expected %s with it", request->client ? "--client" : "--from",
                              request->client ? "--from" : "--client");
    if (request->client && (!cv_key_name_good(cv_text(request->client)) || cv_identity_reserved(request->client)))
        return command_refuse("--client %s: expected 1 to %u letters, digits, '.', '_' or '-', and not cluster, local "
                              "or anonymous",
                              cv_brief(request->client).text, CV_KEY_NAME_BYTES);
    return EXIT_HELD;
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
    const int code = read_options(&request, argc, argv);
    if (code != EXIT_HELD)
        return code < 0 ? EXIT_HELD : code;
    cv_key_forbid_dumps();
    if (cv_heap_begin(EXIT_UNKNOWN))
        command_out_of_memory();
    int error = request.client ? derive(&request, &key, &complaint) : cv_key_make(&key, CV_KEY_CLUSTER);
    if (error == CV_EFILE)
        cv_complain(&complaint, "the system has no randomness to give");
    if (!error)
        error = cv_key_file_write("keygen", request.file, &key, &complaint);
    cv_key_wipe(&key, sizeof key);
    if (error)
        return command_fail(error, &complaint);
    printf("%s: the key of %s\n", request.file, request.client ? request.client : "a new cluster");
    return EXIT_HELD;
}
