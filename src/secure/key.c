// SPDX-License-Identifier: MIT
#include "secure/key.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "secure/openssl.h"

#define WORD "conclave-key"
#define LONGEST_FILE 4096u

/* ---- hexadecimal ---- */

static void write_hex(char *to, const unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sprintf(to + 2 * i, "%02x", bytes[i]);
}

static int digit(char byte)
{
    return byte >= '0' && byte <= '9' ? byte - '0' : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static bool read_hex(struct cv_text text, unsigned char *bytes, size_t count)
{
    if (text.length != 2 * count)
        return false;
    for (size_t i = 0; i < count; i++) {
        const int high = digit(text.start[2 * i]), low = digit(text.start[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        bytes[i] = (unsigned char)(high << 4 | low);
    }
    return true;
}

/* ---- keys ---- */

bool cv_key_name_good(struct cv_text name)
{
    for (size_t i = 0; i < name.length; i++) {
        const char byte = name.start[i];
        if (!(byte >= 'a' && byte <= 'z') && !(byte >= 'A' && byte <= 'Z') && !(byte >= '0' && byte <= '9') &&
            byte != '.' && byte != '_' && byte != '-')
            return false;
    }
    return name.length > 0 && name.length <= CV_KEY_NAME_BYTES;
}

int cv_key_make(struct cv_key *key, const char *name)
{
    unsigned char id[CV_KEY_ID_DIGITS / 2];
    *key = (struct cv_key){{0}, {0}, {0}};
    snprintf(key->name, sizeof key->name, "%s", name);
    if (getrandom(id, sizeof id, 0) != sizeof id || getrandom(key->secret, CV_KEY_BYTES, 0) != CV_KEY_BYTES)
        return CV_EFILE;
    write_hex(key->id, id, sizeof id);
    return 0;
}

/* HKDF-Expand (RFC 5869) for one block. The cluster's key is random, so HKDF-Extract is not needed. */
static bool expand(const struct cv_key *cluster, const char *purpose, struct cv_text name, struct cv_key *key)
{
    const struct cv_openssl *ssl = cv_openssl();
    unsigned char info[160];
    const size_t head = strlen(purpose), length = head + name.length + 1;
    if (!ssl || length > sizeof info || name.length > CV_KEY_NAME_BYTES)
        return false;
    *key = (struct cv_key){{0}, {0}, {0}};
    snprintf(key->name, sizeof key->name, "%.*s", (int)name.length, name.start);
    memcpy(key->id, cluster->id, sizeof key->id);
    snprintf((char *)info, sizeof info, "%s%.*s", purpose, (int)name.length, name.start);
    info[length - 1] = 1;
    return ssl->HMAC(ssl->EVP_sha256(), cluster->secret, CV_KEY_BYTES, info, length, key->secret, NULL) != NULL;
}

bool cv_key_derive(const struct cv_key *cluster, struct cv_text name, struct cv_key *key)
{
    return expand(cluster, "conclave client ", name, key);
}

bool cv_key_of_members(const struct cv_key *cluster, struct cv_key *key)
{
    return expand(cluster, "conclave member ", cv_text(CV_KEY_CLUSTER), key);
}

bool cv_key_is(const struct cv_key *key, struct cv_text secret)
{
    unsigned char bytes[CV_KEY_BYTES];
    const struct cv_openssl *ssl = cv_openssl();
    const bool same =
        ssl && read_hex(secret, bytes, sizeof bytes) && ssl->CRYPTO_memcmp(bytes, key->secret, sizeof bytes) == 0;
    cv_key_wipe(bytes, sizeof bytes);
    return same;
}

bool cv_key_same(const unsigned char one[CV_KEY_BYTES], const unsigned char other[CV_KEY_BYTES])
{
    const struct cv_openssl *ssl = cv_openssl();
    return ssl && ssl->CRYPTO_memcmp(one, other, CV_KEY_BYTES) == 0;
}

void cv_key_wipe(void *key, size_t size)
{
    explicit_bzero(key, size);
}

void cv_key_forbid_dumps(void)
{
#ifndef __SANITIZE_ADDRESS__ /* its leak detector reads the process's memory */
    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

/* ---- files ---- */

int cv_key_file_check(int fd, const char *what, const char *path, struct cv_complaint *complaint)
{
    struct stat info;
    if (fstat(fd, &info))
        return cv_complain(complaint, "%s %s: %s", what, cv_brief(path).text, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return cv_complain(complaint, "%s %s: expected a file", what, cv_brief(path).text);
    if (info.st_mode & 077)
        return cv_complain(complaint, "%s %s: its mode is %04o, expected 0600: a key is for its owner alone", what,
                           cv_brief(path).text, info.st_mode & 07777);
    return 0;
}

static bool read_line(struct cv_text line, struct cv_key *key)
{
    struct cv_text words[5];
    size_t count = 0;
    while (count < 5 && cv_text_take(&line, ' ', &words[count]))
        count++;
    unsigned char id[CV_KEY_ID_DIGITS / 2];
    if (count != 4 || !cv_text_is(words[0], WORD) || !cv_key_name_good(words[1]) ||
        !read_hex(words[2], id, sizeof id) || !read_hex(words[3], key->secret, CV_KEY_BYTES))
        return false;
    memcpy(key->name, words[1].start, words[1].length);
    memcpy(key->id, words[2].start, words[2].length);
    return true;
}

static int read_lines(const char *what, const char *path, struct cv_text text, struct cv_keys *keys,
                      struct cv_complaint *complaint)
{
    struct cv_text line;
    for (unsigned number = 1; cv_text_take(&text, '\n', &line); number++) {
        if (!line.length || *line.start == '#')
            continue;
        if (keys->count == CV_MOST_KEYS)
            return cv_complain(complaint, "%s %s: expected at most %u keys", what, cv_brief(path).text, CV_MOST_KEYS);
        if (!read_line(line, &keys->list[keys->count]))
            return cv_complain(complaint, "%s %s: line %u: expected " WORD " NAME ID SECRET", what, cv_brief(path).text,
                               number);
        keys->count++;
    }
    if (!keys->count)
        return cv_complain(complaint, "%s %s: expected a key; conclave keygen makes one", what, cv_brief(path).text);
    return 0;
}

int cv_key_file_read(const char *what, const char *path, struct cv_keys *keys, struct cv_complaint *complaint)
{
    char text[LONGEST_FILE];
    *keys = (struct cv_keys){.count = 0};
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return cv_complain(complaint, "%s %s: %s", what, cv_brief(path).text, strerror(errno));
    int error = cv_key_file_check(fd, what, path, complaint);
    const ssize_t length = error ? -1 : read(fd, text, sizeof text);
    if (!error && length < 0)
        error = cv_complain(complaint, "%s %s: %s", what, cv_brief(path).text, strerror(errno));
    if (!error)
        error = read_lines(what, path, (struct cv_text){text, (size_t)length}, keys, complaint);
    close(fd);
    cv_key_wipe(text, sizeof text);
    return error;
}

int cv_key_file_write(const char *what, const char *path, const struct cv_key *key, struct cv_complaint *complaint)
{
    char secret[2 * CV_KEY_BYTES + 1];
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file) {
        const int error = cv_complain(complaint, "%s %s: %s", what, cv_brief(path).text, strerror(errno));
        if (fd >= 0)
            close(fd);
        return error;
    }
    write_hex(secret, key->secret, CV_KEY_BYTES);
    fprintf(file, WORD " %s %s %s\n", key->name, key->id, secret);
    cv_key_wipe(secret, sizeof secret);
    const bool failed = fflush(file) != 0 || fsync(fd) != 0;
    if (fclose(file) != 0 || failed)
        return cv_complain(complaint, "%s %s: cannot be written: %s", what, cv_brief(path).text, strerror(errno));
    return 0;
}
