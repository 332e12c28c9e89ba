// SPDX-License-Identifier: MIT
#include "ranks/launch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/parse.h"

/* What launchers tell; the first that is there counts. PMIx names no size: Slurm, which starts ranks by it, does. */
static const struct {
    enum cv_launcher launcher;
    const char *rank, *size, *here;
} variables[] = {
    {CV_LAUNCHED_BY_OPENMPI, "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
    {CV_LAUNCHED_BY_MPICH, "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
    {CV_LAUNCHED_BY_OPENMPI, "PMIX_RANK", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"},
};

static bool read_number(const char *name, uint32_t *number)
{
    const char *text = getenv(name);
    uint64_t value;
    if (!text || !cv_parse_number(cv_text(text), UINT32_MAX, &value))
        return false;
    *number = (uint32_t)value;
    return true;
}

bool cv_launch_find(struct cv_launch *launch)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        *launch = (struct cv_launch){.launcher = variables[i].launcher};
        if (read_number(variables[i].rank, &launch->rank) && read_number(variables[i].size, &launch->size) &&
            launch->rank < launch->size) {
            read_number(variables[i].here, &launch->here);
            return launch->size > 1;
        }
    }
    *launch = (struct cv_launch){.launcher = CV_LAUNCHED_ALONE, .size = 1};
    return false;
}

/* The parent of that process, if the process is MPICH's proxy; otherwise the process itself. */
static int above_proxy(int process)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "re");
    if (file && !fgets(line, sizeof line, file))
        line[0] = '\0';
    if (file)
        fclose(file);
    const char *name = strstr(line, "(hydra_pmi_proxy)"); /* then its state, a letter, and its parent */
    const int parent = name ? (int)strtol(name + strlen("(hydra_pmi_proxy) S "), NULL, 10) : 0;
    return parent > 0 ? parent : process;
}

/* The launcher reads what its ranks write, and writes it elsewhere. MPICH's has a process between. */
bool cv_launch_shows(void)
{
    struct cv_launch launch;
    char path[64], target[32] = "";
    cv_launch_find(&launch);
    if (launch.launcher == CV_LAUNCHED_ALONE)
        return isatty(STDERR_FILENO);
    snprintf(path, sizeof path, "/proc/%d/fd/2", above_proxy((int)getppid()));
    return readlink(path, target, sizeof target - 1) > 0 &&
           (strncmp(target, "/dev/pts/", 9) == 0 || strncmp(target, "/dev/tty", 8) == 0);
}
