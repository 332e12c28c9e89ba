// SPDX-License-Identifier: MIT
#include "group/disk_paxos/disk_paxos_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group/disk_paxos/disk_paxos_block.h"

enum state { RESTING, WANTED, DONE };

struct cv_disk_paxos_file {
    char *path;
    cv_node member;
    unsigned char *room; /* for a block, aligned as direct I/O needs it */
    void (*wake)(void *data);
    void *data;

    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t more;
    enum state state;
    bool writes, closing;
    unsigned char record[CV_DISK_PAXOS_RECORD_BYTES];
    struct cv_disk_paxos_answer answer;
};

/* ---- the thread's work ---- */

/* Bypasses all caches where that is possible. */
static int open_file(const char *path, bool writes)
{
    const int flags = (writes ? O_RDWR | O_DSYNC : O_RDONLY) | O_CLOEXEC | O_NONBLOCK;
    const int direct = open(path, flags | O_DIRECT);
    return direct >= 0 || errno != EINVAL ? direct : open(path, flags);
}

static bool is_fit(int fd, struct cv_disk_paxos_answer *answer)
{
    struct stat info;
    if (fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode)))
        return true;
    snprintf(answer->trouble, sizeof answer->trouble, "it is neither a file nor a disk");
    return false;
}

static bool write_record(const struct cv_disk_paxos_file *file, int fd, const unsigned char *record)
{
    memset(file->room, 0, CV_DISK_PAXOS_BLOCK_BYTES);
    memcpy(file->room, record, CV_DISK_PAXOS_RECORD_BYTES);
    const ssize_t count =
        pwrite(fd, file->room, CV_DISK_PAXOS_BLOCK_BYTES, (off_t)file->member * CV_DISK_PAXOS_BLOCK_BYTES);
    if (count >= 0 && count < CV_DISK_PAXOS_BLOCK_BYTES)
        errno = ENOSPC;
    return count == CV_DISK_PAXOS_BLOCK_BYTES;
}

/* Bytes past the end of the file were never written: they read as zeros. */
static bool read_records(const struct cv_disk_paxos_file *file, int fd, struct cv_disk_paxos_answer *answer)
{
    for (cv_node member = 0; member < CV_DISK_PAXOS_MEMBERS; member++) {
        memset(file->room, 0, CV_DISK_PAXOS_BLOCK_BYTES);
        if (pread(fd, file->room, CV_DISK_PAXOS_BLOCK_BYTES, (off_t)member * CV_DISK_PAXOS_BLOCK_BYTES) < 0)
            return false;
        memcpy(answer->records[member], file->room, CV_DISK_PAXOS_RECORD_BYTES);
    }
    return true;
}

static void perform(const struct cv_disk_paxos_file *file, const unsigned char *record,
                    struct cv_disk_paxos_answer *answer)
{
    const int fd = open_file(file->path, record != NULL);
    *answer->trouble = '\0';
    if (fd < 0 ||
        (is_fit(fd, answer) && ((record && !write_record(file, fd, record)) || !read_records(file, fd, answer))))
        snprintf(answer->trouble, sizeof answer->trouble, "%s", strerror(errno));
    if (fd >= 0)
        close(fd);
}

static void destroy(struct cv_disk_paxos_file *file)
{
    pthread_mutex_destroy(&file->mutex);
    pthread_cond_destroy(&file->more);
    free(file->room);
    free(file->path);
    free(file);
}

static void *work(void *context)
{
    struct cv_disk_paxos_file *file = context;
    struct cv_disk_paxos_answer answer;
    unsigned char record[CV_DISK_PAXOS_RECORD_BYTES];
    pthread_mutex_lock(&file->mutex);
    for (;;) {
        while (file->state != WANTED && !file->closing)
            pthread_cond_wait(&file->more, &file->mutex);
        if (file->closing)
            break;
        const bool writes = file->writes;
        memcpy(record, file->record, sizeof record);
        pthread_mutex_unlock(&file->mutex);
        perform(file, writes ? record : NULL, &answer);
        pthread_mutex_lock(&file->mutex);
        file->answer = answer;
        file->state = DONE;
        if (!file->closing)
            file->wake(file->data);
    }
    pthread_mutex_unlock(&file->mutex);
    destroy(file); /* the loop no longer knows the file */
    return NULL;
}

/* ---- the owner's side ---- */

struct cv_disk_paxos_file *cv_disk_paxos_file_open(const char *path, cv_node member, void (*wake)(void *data),
                                                   void *data)
{
    pthread_t thread;
    struct cv_disk_paxos_file *file = calloc(1, sizeof *file);
    if (!file)
        return NULL;
    file->member = member;
    file->wake = wake;
    file->data = data;
    file->path = strdup(path);
    file->room = aligned_alloc(CV_DISK_PAXOS_BLOCK_BYTES, CV_DISK_PAXOS_BLOCK_BYTES);
    pthread_mutex_init(&file->mutex, NULL);
    pthread_cond_init(&file->more, NULL);
    if (!file->path || !file->room || pthread_create(&thread, NULL, work, file) != 0) {
        destroy(file);
        return NULL;
    }
    pthread_detach(thread);
    return file;
}

void cv_disk_paxos_file_close(struct cv_disk_paxos_file *file)
{
    pthread_mutex_lock(&file->mutex);
    file->closing = true;
    pthread_cond_signal(&file->more);
    pthread_mutex_unlock(&file->mutex);
}

void cv_disk_paxos_file_start(struct cv_disk_paxos_file *file, const unsigned char *record)
{
    pthread_mutex_lock(&file->mutex);
    file->writes = record != NULL;
    if (record)
        memcpy(file->record, record, sizeof file->record);
    file->state = WANTED;
    pthread_cond_signal(&file->more);
    pthread_mutex_unlock(&file->mutex);
}

bool cv_disk_paxos_file_done(struct cv_disk_paxos_file *file, struct cv_disk_paxos_answer *answer)
{
    pthread_mutex_lock(&file->mutex);
    const bool done = file->state == DONE;
    if (done) {
        *answer = file->answer;
        file->state = RESTING;
    }
    pthread_mutex_unlock(&file->mutex);
    return done;
}
