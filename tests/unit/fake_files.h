// SPDX-License-Identifier: MIT
/*
 * A disk that forgets. After a crash, bytes that were not synced may be there, or not, or in part. If the directory was
 * not synced after a rename, the name may still mean the old file.
 */
#ifndef CONCLAVE_TESTS_FAKE_FILES_H
#define CONCLAVE_TESTS_FAKE_FILES_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/random.h"
#include "group/raft/files.h"

#define FAKE_FILES 2u /* files with a name: the journal, and its successor */
#define FAKE_SECTOR 512u

/* The bytes of a file: as a reader sees them, and as they are on the disk. */
struct fake_inode {
    unsigned char *bytes, *platter;
    size_t length, platter_length;
};

struct fake_files {
    struct cv_files files; /* must be first */
    struct fake_inode *names[FAKE_FILES], *platter_names[FAKE_FILES];
    bool dead;          /* between a crash and the next start: writes have no effect */
    uint32_t fail_in;   /* changes until everything fails; 0: never */
    int failure;        /* an errno */
    uint64_t changes;   /* writes, syncs and so on */
    uint64_t torn_tail; /* crashes that left a part of a write */
};

static inline struct fake_files *fake_of(struct cv_files *files)
{
    return (struct fake_files *)files;
}

static inline uint32_t fake_place(const char *name)
{
    return strcmp(name, "journal") == 0 ? 0 : 1;
}

static inline int fake_failure(struct fake_files *fake)
{
    fake->changes++;
    if (fake->dead)
        return EIO;
    if (fake->fail_in > 0 && --fake->fail_in == 0) {
        fake->fail_in = 1; /* for ever */
        return fake->failure;
    }
    return 0;
}

static inline struct fake_inode *fake_inode(struct fake_files *fake, const char *name)
{
    struct fake_inode **place = &fake->names[fake_place(name)];
    if (!*place)
        *place = calloc(1, sizeof **place);
    return *place;
}

static inline int fake_read(struct cv_files *files, const char *name, unsigned char **bytes, size_t *length)
{
    const struct fake_inode *inode = fake_of(files)->names[fake_place(name)];
    if (!inode)
        return ENOENT;
    *length = inode->length;
    *bytes = malloc(*length + 1);
    if (*length > 0)
        memcpy(*bytes, inode->bytes, *length);
    return 0;
}

static inline int fake_cut(struct cv_files *files, const char *name, uint64_t length)
{
    const int error = fake_failure(fake_of(files));
    if (error != 0)
        return error;
    struct fake_inode *inode = fake_inode(fake_of(files), name);
    if (length < inode->length)
        inode->length = (size_t)length;
    return 0;
}

static inline int fake_write(struct cv_files *files, const char *name, uint64_t offset, const void *bytes,
                             size_t length)
{
    const int error = fake_failure(fake_of(files));
    if (error != 0)
        return error;
    struct fake_inode *inode = fake_inode(fake_of(files), name);
    const size_t end = (size_t)offset + length;
    if (end > inode->length) {
        inode->bytes = realloc(inode->bytes, end);
        memset(inode->bytes + inode->length, 0, end - inode->length);
        inode->length = end;
    }
    memcpy(inode->bytes + offset, bytes, length);
    return 0;
}

static inline void fake_settle(struct fake_inode *inode)
{
    inode->platter = realloc(inode->platter, inode->length + 1);
    if (inode->length > 0)
        memcpy(inode->platter, inode->bytes, inode->length);
    inode->platter_length = inode->length;
}

static inline int fake_sync(struct cv_files *files, const char *name)
{
    const int error = fake_failure(fake_of(files));
    if (error == 0)
        fake_settle(fake_inode(fake_of(files), name));
    return error;
}

static inline void fake_drop(struct fake_files *fake, struct fake_inode *inode)
{
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        if (fake->names[i] == inode || fake->platter_names[i] == inode)
            return;
    }
    if (inode) {
        free(inode->bytes);
        free(inode->platter);
        free(inode);
    }
}

static inline int fake_rename(struct cv_files *files, const char *from, const char *to)
{
    struct fake_files *fake = fake_of(files);
    const int error = fake_failure(fake);
    if (error != 0)
        return error;
    struct fake_inode *replaced = fake->names[fake_place(to)];
    fake->names[fake_place(to)] = fake->names[fake_place(from)];
    fake->names[fake_place(from)] = NULL;
    fake_drop(fake, replaced);
    return 0;
}

static inline void fake_settle_names(struct fake_files *fake)
{
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        struct fake_inode *before = fake->platter_names[i];
        fake->platter_names[i] = fake->names[i];
        fake_drop(fake, before);
    }
}

static inline int fake_sync_directory(struct cv_files *files)
{
    const int error = fake_failure(fake_of(files));
    if (error == 0)
        fake_settle_names(fake_of(files));
    return error;
}

static inline void fake_close(struct cv_files *files)
{
    (void)files;
}

/* The bytes since the last sync are all there, or there up to some byte, or there with holes. */
static inline void fake_tear(struct fake_files *fake, struct fake_inode *inode, struct cv_random *random)
{
    const size_t kept = inode->platter_length < inode->length ? inode->platter_length : inode->length;
    const size_t added = inode->length - kept;
    if (added == 0)
        return;
    switch (cv_random_below(random, 4)) {
    case 0:
        inode->length = kept;
        break;
    case 1:
        inode->length = kept + cv_random_below(random, added);
        fake->torn_tail += inode->length > kept;
        break;
    case 2:
        for (size_t at = kept; at < inode->length;) {
            const size_t boundary = (at / FAKE_SECTOR + 1) * FAKE_SECTOR;
            const size_t end = boundary < inode->length ? boundary : inode->length;
            if (cv_random_below(random, 2) == 0) {
                memset(inode->bytes + at, 0, end - at);
                fake->torn_tail++;
            }
            at = end;
        }
        break;
    default:
        break;
    }
}

static inline void fake_crash(struct fake_files *fake, struct cv_random *random)
{
    if (cv_random_below(random, 2) == 0) {
        struct fake_inode *before[FAKE_FILES];
        memcpy(before, fake->names, sizeof before);
        memcpy(fake->names, fake->platter_names, sizeof before);
        for (uint32_t i = 0; i < FAKE_FILES; i++)
            fake_drop(fake, before[i]);
    } else {
        fake_settle_names(fake);
    }
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        if (fake->names[i]) {
            fake_tear(fake, fake->names[i], random);
            fake_settle(fake->names[i]);
        }
    }
    fake->dead = false;
    fake->fail_in = 0;
}

static inline void fake_init(struct fake_files *fake)
{
    *fake = (struct fake_files){.files = {.read = fake_read,
                                          .write = fake_write,
                                          .cut = fake_cut,
                                          .sync = fake_sync,
                                          .rename = fake_rename,
                                          .sync_directory = fake_sync_directory,
                                          .close = fake_close}};
}

static inline void fake_free(struct fake_files *fake)
{
    for (uint32_t i = 0; i < FAKE_FILES; i++) {
        struct fake_inode *inode = fake->names[i], *platter = fake->platter_names[i];
        fake->names[i] = fake->platter_names[i] = NULL;
        fake_drop(fake, inode);
        if (platter != inode)
            fake_drop(fake, platter);
    }
}

#endif
