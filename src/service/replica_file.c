// SPDX-License-Identifier: MIT
#include "service/replica_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "service/replica_table.h"
#include "service/service.h"

#define HEAD "conclave recipe 1\n" /* 1 is the version of the file */
#define HEAD_BYTES (sizeof HEAD - 1 + 8)

void replica_key(enum recipe recipe, struct cv_text name, uint64_t key[2])
{
    const XXH128_hash_t hash = XXH3_128bits_withSeed(name.start, name.length, (XXH64_hash_t)recipe + 1);
    key[0] = hash.low64;
    key[1] = hash.high64;
}

static void name_file(const uint64_t key[2], char file[CV_KEPT_FILE_NAME + 1])
{
    snprintf(file, CV_KEPT_FILE_NAME + 1, "%016" PRIx64 "%016" PRIx64, key[0], key[1]);
}

struct replica *replica_file_find(const struct cv_service *service, const char *file)
{
    if (strlen(file) != CV_KEPT_FILE_NAME)
        return NULL;
    char first[CV_KEPT_FILE_NAME + 1];
    memcpy(first, file, sizeof first);
    first[CV_KEPT_FILE_NAME / 2] = 0;
    const uint64_t key[2] = {strtoull(first, NULL, 16), strtoull(file + CV_KEPT_FILE_NAME / 2, NULL, 16)};
    return replica_find_key(service, key);
}

/* The head, the digest of the rest, then the recipe, the version, the name and the state. */
bool replica_file_write(struct replica *replica)
{
    char file[CV_KEPT_FILE_NAME + 1];
    struct cv_buffer bytes = {0};
    name_file(replica->key, file);
    cv_put_bytes(&bytes, HEAD, sizeof HEAD - 1);
    cv_put_64(&bytes, 0);
    cv_put_8(&bytes, (uint8_t)replica->recipe);
    cv_put_64(&bytes, replica->version);
    cv_put_32(&bytes, (uint32_t)replica->name_length);
    cv_put_bytes(&bytes, replica->name, replica->name_length);
    bool good = recipe_state_write(&replica->state, &bytes);
    if (good) {
        const uint64_t digest = htole64(XXH3_64bits(bytes.bytes + HEAD_BYTES, bytes.length - HEAD_BYTES));
        memcpy(bytes.bytes + sizeof HEAD - 1, &digest, sizeof digest);
        good = cv_kept_files_write(&replica->service->replicas.files, file,
                                   (struct cv_text){(const char *)bytes.bytes, bytes.length}, replica->version);
    }
    free(bytes.bytes);
    return good;
}

bool replica_file_remove(struct replica *replica)
{
    char file[CV_KEPT_FILE_NAME + 1];
    name_file(replica->key, file);
    return cv_kept_files_write(&replica->service->replicas.files, file, (struct cv_text){"", 0}, 0);
}

/* NULL, or what is wrong. */
static const char *check(struct cv_text bytes, struct cv_cursor *cursor)
{
    if (bytes.length < HEAD_BYTES || memcmp(bytes.start, HEAD, sizeof HEAD - 1) != 0)
        return "expected a state of a recipe, version 1";
    *cursor = cv_cursor(bytes.start + sizeof HEAD - 1, bytes.length - (sizeof HEAD - 1));
    const uint64_t digest = cv_take_64(cursor);
    if (digest != XXH3_64bits(cursor->at, cursor->left))
        return "it is damaged, its digest is not that of its bytes";
    return NULL;
}

int replica_file_take(void *context, const char *file, struct cv_text bytes, struct cv_complaint *complaint)
{
    struct cv_service *service = context;
    struct cv_cursor cursor;
    char expected[CV_KEPT_FILE_NAME + 1] = "";
    uint64_t key[2];
    const char *wrong = check(bytes, &cursor);
    if (wrong)
        return cv_complain(complaint,
                           "recipes/%s: %s; without it this node must not go on: conclave replace makes it a "
                           "new member",
                           file, wrong);
    const enum recipe recipe = cv_take_8(&cursor);
    const uint64_t version = cv_take_64(&cursor);
    const uint32_t length = cv_take_32(&cursor);
    const unsigned char *name = length <= CV_NAME_BYTES ? cv_take_bytes(&cursor, length) : NULL;
    if (name) {
        replica_key(recipe, (struct cv_text){(const char *)name, length}, key);
        name_file(key, expected);
    }
    if (!name || recipe >= RECIPES || strcmp(expected, file) != 0)
        return cv_complain(complaint, "recipes/%s: expected the file of another name", file);
    struct replica *replica = replica_add(service, recipe, (struct cv_text){(const char *)name, length});
    if (!replica)
        return CV_ENOMEM;
    const int error = recipe_state_read(&replica->state, (struct cv_text){(const char *)cursor.at, cursor.left});
    if (error == CV_EINPUT)
        return cv_complain(complaint, "recipes/%s: expected a state of a recipe", file);
    replica->version = replica->on_disk = version;
    return error;
}
