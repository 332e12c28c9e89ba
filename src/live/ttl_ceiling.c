// SPDX-License-Identifier: MIT
#include "live/ttl_ceiling.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/parse.h"
#include "live/consensus.h"
#include "live/member.h"
#include "live/process/event_log.h"

#define FILE_NAME "longest-ttl"
#define HEAD "conclave longest-ttl 1 " /* 1 is the version of the file */
#define LINE HEAD "%" PRIu64 "\n"
#define MOST_MS ((uint64_t)1 << 40)
#define KEEPS_US ((uint64_t)600 * 1000000) /* the ceiling falls no earlier, so that writes are rare */

static uint64_t round_up(uint64_t ms)
{
    static const uint64_t steps[] = {1, 2, 5};
    if (!ms)
        return 0;
    for (uint64_t power = 1000;; power *= 10)
        for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
            if (steps[i] * power >= ms)
                return steps[i] * power;
}

/* ---- the file ---- */

/* 0 or an errno. */
static int write_line(int directory, const char *name, uint64_t ms)
{
    char line[64];
    const int length = snprintf(line, sizeof line, LINE, ms);
    const int fd = openat(directory, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    int error = fd < 0 ? errno : 0;
    if (!error && (write(fd, line, (size_t)length) != length || fsync(fd)))
        error = errno ? errno : EIO;
    if (fd >= 0)
        close(fd);
    return error;
}

static int replace(const char *path, uint64_t ms)
{
    const int directory = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory < 0)
        return errno;
    int error = write_line(directory, FILE_NAME ".new", ms);
    if (!error && (renameat(directory, FILE_NAME ".new", directory, FILE_NAME) || fsync(directory)))
        error = errno;
    close(directory);
    return error;
}

static bool read_line(const char *line, uint64_t *ms)
{
    if (strncmp(line, HEAD, sizeof HEAD - 1) != 0)
        return false;
    const char *number = line + sizeof HEAD - 1, *end = strchr(number, '\n');
    return end && cv_parse_number((struct cv_text){number, (size_t)(end - number)}, MOST_MS * 10, ms);
}

int ttl_ceiling_open(struct ttl_ceiling *ceiling, struct cv_member *member, const char *directory,
                     struct cv_complaint *complaint)
{
    char line[64] = "", path[4096];
    *ceiling = (struct ttl_ceiling){.member = member};
    if (!directory)
        return 0;
    if (!(ceiling->directory = strdup(directory)))
        return CV_ENOMEM;
    snprintf(path, sizeof path, "%s/" FILE_NAME, directory);
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return errno == ENOENT ? 0 : cv_complain(complaint, "%s: %s", path, strerror(errno));
    const ssize_t length = read(fd, line, sizeof line - 1);
    close(fd);
    if (length <= 0 || !read_line(line, &ceiling->ms))
        return cv_complain(complaint, "%s: expected one line, 'conclave longest-ttl 1 MILLISECONDS'", path);
    return 0;
}

void ttl_ceiling_close(struct ttl_ceiling *ceiling)
{
    free(ceiling->directory);
    ceiling->directory = NULL;
}

/* ---- writing, beside the loop ---- */

static void work(uv_work_t *request)
{
    struct ttl_ceiling *ceiling = request->data;
    ceiling->error = replace(ceiling->directory, ceiling->writing_ms);
}

static void begin_writing(struct ttl_ceiling *ceiling, uint64_t ms);
static void written(struct ttl_ceiling *ceiling);

static void done(uv_work_t *request, int status)
{
    struct ttl_ceiling *ceiling = request->data;
    if (status) {
        ceiling->writing = false;
        return;
    }
    if (ceiling->error) {
        ceiling->writing = false;
        char why[160];
        snprintf(why, sizeof why, FILE_NAME ": %s", strerror(ceiling->error));
        cv_member_fail(ceiling->member, CV_LOG_DISK_FAILED, why);
        return;
    }
    written(ceiling);
}

/* Does the protocol store the ceiling, instead of this node's directory? */
static bool is_protocols(const struct ttl_ceiling *ceiling)
{
    const struct consensus *consensus = ceiling->member->consensus;
    return consensus && consensus->protocol->note_ttl;
}

static void written(struct ttl_ceiling *ceiling)
{
    const struct cv_member *member = ceiling->member;
    ceiling->writing = false;
    ceiling->ms = ceiling->writing_ms;
    if (ceiling->wanted_ms > ceiling->ms)
        begin_writing(ceiling, ceiling->wanted_ms);
    if (member->user.covered)
        member->user.covered(member->user.context);
}

static void begin_writing(struct ttl_ceiling *ceiling, uint64_t ms)
{
    ceiling->work.data = ceiling;
    ceiling->writing_ms = ms;
    if (is_protocols(ceiling)) {
        struct consensus *consensus = ceiling->member->consensus;
        ceiling->writing = true;
        consensus->protocol->note_ttl(consensus, ms);
        return;
    }
    ceiling->writing = uv_queue_work(&ceiling->member->loop.uv, &ceiling->work, work, done) == 0;
}

void ttl_ceiling_found(struct ttl_ceiling *ceiling, uint64_t own_ms, uint64_t other_ms)
{
    ceiling->other_ms = other_ms;
    if (!ceiling->writing)
        ceiling->ms = own_ms;
    else if (own_ms == ceiling->writing_ms)
        written(ceiling);
}

/* While a lower ceiling is being written, it covers nothing above that. */
bool cv_ttl_ceiling_covers(struct ttl_ceiling *ceiling, uint64_t ttl_ms)
{
    const uint64_t safe_ms = ceiling->writing && ceiling->writing_ms < ceiling->ms ? ceiling->writing_ms : ceiling->ms;
    if (!ceiling->directory && !is_protocols(ceiling))
        return true;
    if (2 * ttl_ms > ceiling->ms)
        ceiling->high_us = cv_loop_now();
    if (ttl_ms <= safe_ms)
        return true;
    if (ceiling->wanted_ms < ttl_ms)
        ceiling->wanted_ms = round_up(ttl_ms);
    if (!ceiling->writing)
        begin_writing(ceiling, ceiling->wanted_ms);
    return false;
}

void ttl_ceiling_settle(struct ttl_ceiling *ceiling, uint64_t longest_ms)
{
    if ((!ceiling->directory && !is_protocols(ceiling)) || cv_ttl_ceiling_covers(ceiling, longest_ms) == false ||
        ceiling->writing)
        return;
    const uint64_t lower_ms = round_up(longest_ms);
    if (lower_ms >= ceiling->ms || cv_loop_now() < ceiling->high_us + KEEPS_US + ceiling->ms * 1000)
        return;
    ceiling->wanted_ms = lower_ms;
    begin_writing(ceiling, lower_ms);
}
