// SPDX-License-Identifier: MIT
#include "group/raft/disk.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>

#include "core/wall_clock.h"

#define JOURNAL "journal"
#define NEW_JOURNAL "journal.new"
#define LONG_BYTES (1u << 20) /* a journal of this length is rewritten if that makes it much shorter */

struct job {
    struct job *next;
    enum cv_record kind;
    struct cv_buffer body;
    struct cv_disk_done done;
};

struct queue {
    struct job *first, **end;
};

struct cv_disk {
    struct cv_disk_options options;
    struct cv_files *files;
    struct cv_complaint complaint; /* written once, before the first error is reported */

    /* Only the thread that does the work uses these. */
    struct cv_journal journal;
    uint64_t length;       /* of the file now */
    uint64_t least_length; /* of the file after its last rewrite */
    bool broken;

    pthread_t thread;
    pthread_mutex_t mutex; /* guards the fields below */
    pthread_cond_t more;
    struct queue waiting, done;
    struct cv_disk_times times;
    uint64_t tickets;
    bool closing;
};

static void push(struct queue *queue, struct job *job)
{
    job->next = NULL;
    *queue->end = job;
    queue->end = &job->next;
}

static struct job *pop(struct queue *queue)
{
    struct job *job = queue->first;
    if (job && !(queue->first = job->next))
        queue->end = &queue->first;
    return job;
}

static void free_job(struct job *job)
{
    free(job->body.bytes);
    free(job);
}

/* ---- work ---- */

static int complain(struct cv_disk *disk, const char *file, const char *what)
{
    snprintf(disk->complaint.text, sizeof disk->complaint.text, "%.300s/%s: %.150s", disk->options.directory, file,
             what);
    return CV_EFILE;
}

static int check(struct cv_disk *disk, const char *file, int error)
{
    return error == 0 ? 0 : complain(disk, file, strerror(error));
}

/* Replaces the file by a new one. After a crash there is either the old or the new file. */
static int write_anew(struct cv_disk *disk)
{
    struct cv_files *files = disk->files;
    struct cv_buffer file = {0};
    journal_write(&file, &disk->journal);
    int error = file.broken ? complain(disk, JOURNAL, cv_error_text(CV_ENOMEM)) : 0;
    if (error == 0)
        error = check(disk, NEW_JOURNAL, files->cut(files, NEW_JOURNAL, 0));
    if (error == 0)
        error = check(disk, NEW_JOURNAL, files->write(files, NEW_JOURNAL, 0, file.bytes, file.length));
    if (error == 0)
        error = check(disk, NEW_JOURNAL, files->sync(files, NEW_JOURNAL));
    if (error == 0)
        error = check(disk, JOURNAL, files->rename(files, NEW_JOURNAL, JOURNAL));
    if (error == 0)
        error = check(disk, JOURNAL, files->sync_directory(files));
    disk->length = disk->least_length = file.length;
    free(file.bytes);
    return error;
}

static int append(struct cv_disk *disk, const struct job *job)
{
    struct cv_buffer record = {0};
    journal_frame(&record, disk->length, job->kind, job->body.bytes, job->body.length);
    int error = record.broken ? complain(disk, JOURNAL, cv_error_text(CV_ENOMEM)) : 0;
    if (error == 0)
        error =
            check(disk, JOURNAL, disk->files->write(disk->files, JOURNAL, disk->length, record.bytes, record.length));
    if (error == 0)
        error = check(disk, JOURNAL, disk->files->sync(disk->files, JOURNAL));
    disk->length += record.length;
    free(record.bytes);
    return error;
}

static int perform(struct cv_disk *disk, const struct job *job)
{
    if (disk->broken)
        return CV_EFILE;
    int error =
        job->body.broken ? CV_ENOMEM : journal_play(&disk->journal, job->kind, job->body.bytes, job->body.length);
    assert(error != CV_EINPUT);
    if (error != 0)
        error = complain(disk, JOURNAL, cv_error_text(error));
    else if (job->kind == CV_RECORD_SNAPSHOT || disk->length > LONG_BYTES + 2 * disk->least_length)
        error = write_anew(disk);
    else
        error = append(disk, job);
    disk->broken = error != 0;
    return error;
}

static void count(struct cv_disk_times *times, uint64_t took_us)
{
    times->count++;
    times->total_us += took_us;
    times->last_us = took_us;
    if (took_us > times->slowest_us)
        times->slowest_us = took_us;
}

/* Does the next piece of work. The mutex is locked on entry and on return, but not in between. */
static bool work(struct cv_disk *disk)
{
    struct job *job = pop(&disk->waiting);
    if (!job)
        return false;
    pthread_mutex_unlock(&disk->mutex);
    const uint64_t begun_us = cv_wall_us();
    job->done.error = perform(disk, job);
    const uint64_t ended_us = cv_wall_us();
    pthread_mutex_lock(&disk->mutex);
    count(&disk->times, ended_us - begun_us);
    push(&disk->done, job);
    return true;
}

bool disk_work(struct cv_disk *disk)
{
    pthread_mutex_lock(&disk->mutex);
    const bool any = work(disk);
    pthread_mutex_unlock(&disk->mutex);
    return any;
}

static void *run(void *data)
{
    struct cv_disk *disk = data;
    pthread_mutex_lock(&disk->mutex);
    for (;;) {
        if (work(disk)) {
            /* A closing owner waits for the last piece of work, and must not be woken. */
            if (!disk->closing)
                disk->options.wake(disk->options.wake_data);
        } else if (disk->closing) {
            break;
        } else {
            pthread_cond_wait(&disk->more, &disk->mutex);
        }
    }
    pthread_mutex_unlock(&disk->mutex);
    return NULL;
}

/* ---- the submitter's side ---- */

uint64_t disk_submit(struct cv_disk *disk, enum cv_record kind, struct cv_buffer *body, void *tag)
{
    struct job *job = malloc(sizeof *job);
    if (!job)
        cv_out_of_memory(1); /* the caller cannot be told that nothing was written */
    pthread_mutex_lock(&disk->mutex);
    const uint64_t ticket = ++disk->tickets;
    *job = (struct job){.kind = kind, .body = *body, .done = {.ticket = ticket, .tag = tag}};
    push(&disk->waiting, job);
    pthread_cond_signal(&disk->more);
    pthread_mutex_unlock(&disk->mutex);
    *body = (struct cv_buffer){0};
    return ticket;
}

bool disk_take(struct cv_disk *disk, struct cv_disk_done *done)
{
    pthread_mutex_lock(&disk->mutex);
    struct job *job = pop(&disk->done);
    pthread_mutex_unlock(&disk->mutex);
    if (!job)
        return false;
    *done = job->done;
    free_job(job);
    return true;
}

struct cv_disk_times cv_disk_times(struct cv_disk *disk)
{
    pthread_mutex_lock(&disk->mutex);
    const struct cv_disk_times times = disk->times;
    pthread_mutex_unlock(&disk->mutex);
    return times;
}

const char *disk_complaint(const struct cv_disk *disk)
{
    return disk->complaint.text;
}

/* ---- opening and closing ---- */

static int understand(struct cv_disk *disk, struct cv_journal *found, const unsigned char *file, size_t length)
{
    struct cv_complaint wrong = {{0}};
    size_t sound = 0;
    int error = journal_read(found, file, length, &sound, &wrong);
    if (error == 0)
        error = journal_read(&disk->journal, file, sound, &sound, &wrong);
    if (error == 0 && found->id != disk->options.id)
        error = cv_complain(&wrong, "is that of node %llu, and not of node %llu, which this is: see [node] directory",
                            (unsigned long long)found->id - 1, (unsigned long long)disk->options.id - 1);
    if (error == 0 && found->version == CV_JOURNAL_HIGH_FENCES)
        error =
            cv_complain(&wrong, "is of an earlier version, with higher fences than this one gives: conclave recover "
                                "makes it go on above them");
    if (error != 0)
        complain(disk, JOURNAL, error == CV_EINPUT ? wrong.text : cv_error_text(error));
    disk->length = disk->least_length = sound;
    return error;
}

/* Reads the journal and cuts off a record that a crash has torn, or begins a new journal. */
static int load(struct cv_disk *disk, struct cv_journal *found)
{
    struct cv_files *files = disk->files;
    unsigned char *file = NULL;
    size_t length = 0;
    const int missing = files->read(files, JOURNAL, &file, &length);
    if (missing == ENOENT) {
        disk->journal.id = disk->options.id;
        return write_anew(disk);
    }
    if (missing != 0)
        return check(disk, JOURNAL, missing);
    int error = understand(disk, found, file, length);
    if (error == 0 && disk->length < length) {
        error = check(disk, JOURNAL, files->cut(files, JOURNAL, disk->length));
        if (error == 0)
            error = check(disk, JOURNAL, files->sync(files, JOURNAL));
    }
    free(file);
    return error;
}

/* Other members remember the count, so it must be on disk before they hear of it. */
static int count_start(struct cv_disk *disk, struct cv_journal *found)
{
    struct cv_identity *identity = &disk->journal.identity;
    if (!disk->options.fresh)
        return 0;
    if (!identity->directory)
        identity->directory = disk->options.fresh;
    identity->starts++;
    found->identity = *identity;
    return write_anew(disk);
}

static void free_disk(struct cv_disk *disk)
{
    for (struct job *job; (job = pop(&disk->done)) != NULL;)
        free_job(job);
    if (disk->files)
        disk->files->close(disk->files);
    journal_free(&disk->journal);
    pthread_cond_destroy(&disk->more);
    pthread_mutex_destroy(&disk->mutex);
    free(disk);
}

int disk_open(struct cv_disk **opened, const struct cv_disk_options *options, struct cv_journal *found,
              struct cv_complaint *complaint)
{
    struct cv_disk *disk = malloc(sizeof *disk);
    if (!disk) {
        if (options->files)
            options->files->close(options->files);
        return CV_ENOMEM;
    }
    *disk = (struct cv_disk){.options = *options, .files = options->files};
    disk->waiting.end = &disk->waiting.first;
    disk->done.end = &disk->done.first;
    pthread_mutex_init(&disk->mutex, NULL);
    pthread_cond_init(&disk->more, NULL);
    *found = (struct cv_journal){0};
    int error = disk->files ? 0 : files_open(&disk->files, options->directory, &disk->complaint);
    if (error == 0)
        error = load(disk, found);
    if (error == 0)
        error = count_start(disk, found);
    if (error == 0 && options->threaded) {
        const int failed = pthread_create(&disk->thread, NULL, run, disk);
        if (failed != 0)
            error = complain(disk, JOURNAL, strerror(failed));
    }
    if (error != 0) {
        *complaint = disk->complaint;
        journal_free(found);
        free_disk(disk);
        return error;
    }
    *opened = disk;
    return 0;
}

void disk_close(struct cv_disk *disk)
{
    if (disk->options.threaded) {
        pthread_mutex_lock(&disk->mutex);
        disk->closing = true;
        pthread_cond_signal(&disk->more);
        pthread_mutex_unlock(&disk->mutex);
        pthread_join(disk->thread, NULL);
    }
    while (disk_work(disk))
        ;
    free_disk(disk);
}
