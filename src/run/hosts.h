// SPDX-License-Identifier: MIT
/*
 * The hosts of an experiment, from a file with a line for each:
 *
 *     [USER@]HOST [slots=N] [address=IP] [conclave=PATH]
 *
 * slots      how many nodes it gets in a row, when they are dealt (1)
 * address    by which the others reach it (the one by which ssh did, otherwise that of HOST)
 * conclave   the program there (conclave)
 *
 * On each, ssh starts `conclave run --place`, which reads from its standard input what to do.
 */
#ifndef CONCLAVE_RUN_HOSTS_H
#define CONCLAVE_RUN_HOSTS_H

#include <sys/types.h>

#include "run/experiment.h"

#define CV_MOST_HOSTS 256u
#define CV_USUAL_SSH "ssh -x -T"

struct cv_hosts {
    struct cv_place *places;
    pid_t *pids; /* of ssh */
    char **programs;
    uint32_t count;
};

/* Reads the file's text and starts conclave everywhere. `ssh` is a command and its options. Free it in any case. */
int cv_hosts_start(struct cv_hosts *hosts, const char *name, const char *text, const char *ssh,
                   struct cv_complaint *complaint);
/* Closes the connections, at which the hosts end what runs there, and waits for ssh. */
void cv_hosts_end(struct cv_hosts *hosts);

#endif
