// SPDX-License-Identifier: MIT
#include "live/settings/settings_file.h"

#include <errno.h>
#include <ini.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/parse.h"
#include "live/settings/settings.h"

#define LONGEST_SECTION 49u /* inih keeps no more */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

struct reading {
    struct cv_settings *settings;
    cv_settings_find *find;
    FILE *file;
    char *line; /* as the file has it */
    size_t room;
    int number;                    /* of that line */
    int error;                     /* the first error; 0: all lines were good so far */
    struct cv_complaint complaint; /* CV_EINPUT: what is wrong with the line */
};

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\v' || byte == '\f';
}

static struct cv_text trimmed(struct cv_text text)
{
    while (text.length && is_blank(*text.start)) {
        text.start++;
        text.length--;
    }
    while (text.length && is_blank(text.start[text.length - 1]))
        text.length--;
    return text;
}

/* Only a comment may stand after the section's name, because inih ignores the rest. */
static int check_section(struct cv_text line, struct cv_complaint *complaint)
{
    struct cv_text name, rest;
    if (!cv_text_split(line, ']', &name, &rest))
        return 0; /* inih complains */
    rest = trimmed(rest);
    if (rest.length && *rest.start != ';' && *rest.start != '#')
        return cv_complain(complaint, "'%s' after a [section]: expected nothing, or a comment",
                           cv_brief_text(rest).text);
    if (name.length - 1 > LONGEST_SECTION)
        return cv_complain(complaint, "a [section] of %zu bytes: expected at most %u", name.length - 1,
                           LONGEST_SECTION);
    return 0;
}

/* `most`: the bytes that inih takes in one piece. */
static int check_line(struct cv_text line, size_t most, struct cv_complaint *complaint)
{
    const struct cv_text text = trimmed(line);
    if (memchr(line.start, '\0', line.length))
        return cv_complain(complaint, "a byte of 0: expected text");
    if (line.length > most)
        return cv_complain(complaint,
                           "a line of %zu bytes: expected at most %zu; lock, elect and observe of an [acl] "
                           "may be given again on the next line",
                           line.length, most);
    if (text.length && is_blank(*line.start))
        return cv_complain(complaint,
                           "'%s' is indented: expected it at the beginning of the line; there are no continuation "
                           "lines",
                           cv_brief_text(text).text);
    return text.length && *text.start == '[' ? check_section(text, complaint) : 0;
}

/* The next line for inih. Comments never reach it, however long they are. */
static char *next_line(char *to, int size, void *context)
{
    struct reading *reading = context;
    ssize_t length = reading->error ? -1 : getline(&reading->line, &reading->room, reading->file);
    if (length < 0 || size < 3)
        return NULL;
    reading->number++;
    if (length && reading->line[length - 1] == '\n')
        length--;
    const size_t mark = reading->number == 1 && length >= 3 && memcmp(reading->line, BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
    const struct cv_text line = {reading->line + mark, (size_t)length - mark}, text = trimmed(line);
    const bool comment = text.length && (*text.start == ';' || *text.start == '#');
    if (!comment)
        reading->error = check_line(line, (size_t)size - 2, &reading->complaint);
    if (reading->error)
        return NULL;
    const size_t taken = comment ? 0 : line.length;
    memcpy(to, line.start, taken);
    memcpy(to + taken, "\n", 2);
    return to;
}

static int take_line(void *context, const char *section, const char *key, const char *value)
{
    struct reading *reading = context;
    if (!reading->error)
        reading->error =
            cv_settings_set(reading->settings, section, key, value ? value : "", reading->find, &reading->complaint);
    return reading->error == 0;
}

static int read_lines(struct reading *reading, const char *path, struct cv_complaint *complaint)
{
    const int line = ini_parse_stream(next_line, reading, take_line, reading);
    const bool unread = ferror(reading->file) != 0;
    if (line < 0)
        return CV_ENOMEM;
    if (line && (!reading->error || line < reading->number))
        return cv_complain(complaint, "%s:%d: expected [section], key = value, or a comment", cv_brief(path).text,
                           line);
    if (reading->error == CV_EINPUT)
        return cv_complain(complaint, "%s:%d: %s", cv_brief(path).text, reading->number, reading->complaint.text);
    if (unread)
        return cv_complain(complaint, "--config %s: cannot be read: %s", cv_brief(path).text, strerror(errno));
    return reading->error;
}

int cv_settings_read(struct cv_settings *settings, const char *path, cv_settings_find *find,
                     struct cv_complaint *complaint)
{
    struct reading reading = {.settings = settings, .find = find, .file = fopen(path, "re")};
    if (!reading.file)
        return cv_complain(complaint, "--config %s: cannot be read: %s", cv_brief(path).text, strerror(errno));
    settings->path = path;
    const int error = read_lines(&reading, path, complaint);
    settings->path = NULL;
    free(reading.line);
    fclose(reading.file);
    return error;
}
