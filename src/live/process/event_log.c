// SPDX-License-Identifier: MIT
#include "live/process/event_log.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/printable.h"

#define LINE_BYTES 2048u                /* less than PIPE_BUF, so that a pipe takes a line at once */
#define LAST_TEXT (LINE_BYTES - 128u)   /* a longer text is cut off here */
#define LAST_DETAIL (LINE_BYTES - 100u) /* no detail begins from here on, so a line is always well formed */

static const struct {
    const char *name;
    enum cv_log_level level;
} events[CV_LOG_EVENTS] = {
    [CV_LOG_STARTED] = {"started", CV_LOG_INFO},
    [CV_LOG_LEAVING] = {"leaving", CV_LOG_INFO},
    [CV_LOG_VIEW_BEGUN] = {"view-begun", CV_LOG_INFO},
    [CV_LOG_GRACE] = {"grace", CV_LOG_WARNING},
    [CV_LOG_FENCES] = {"fences", CV_LOG_ERROR},
    [CV_LOG_LEASE_LOST] = {"lease-lost", CV_LOG_WARNING},
    [CV_LOG_LEASE_HELD] = {"lease-held", CV_LOG_INFO},
    [CV_LOG_PEER_SUSPECTED] = {"peer-suspected", CV_LOG_WARNING},
    [CV_LOG_PEER_TRUSTED] = {"peer-trusted", CV_LOG_INFO},
    [CV_LOG_PEER_REFUSED] = {"peer-refused", CV_LOG_WARNING},
    [CV_LOG_PEER_CUT_OFF] = {"peer-cut-off", CV_LOG_WARNING},
    [CV_LOG_CLIENT_REFUSED] = {"client-refused", CV_LOG_WARNING},
    [CV_LOG_LOG_CUT] = {"log-cut", CV_LOG_WARNING},
    [CV_LOG_DISK_FAILED] = {"disk-failed", CV_LOG_ERROR},
    [CV_LOG_MEMORY] = {"out-of-memory", CV_LOG_ERROR},
    [CV_LOG_TIE_BREAKER] = {"tie-breaker", CV_LOG_WARNING},
    [CV_LOG_EXPOSED] = {"exposed", CV_LOG_WARNING},
    [CV_LOG_RELOADED] = {"reloaded", CV_LOG_INFO},
    [CV_LOG_NOT_RELOADED] = {"not-reloaded", CV_LOG_ERROR},
    [CV_LOG_FORCED] = {"forced", CV_LOG_WARNING},
    [CV_LOG_HOLD_LOST] = {"hold-lost", CV_LOG_INFO},
    [CV_LOG_LIMITED] = {"limited", CV_LOG_WARNING},
    [CV_LOG_STALLED] = {"stalled", CV_LOG_INFO},
    [CV_LOG_PRIORITY] = {"priority", CV_LOG_WARNING},
    [CV_LOG_ADDRESS] = {"bad-address", CV_LOG_ERROR},
    [CV_LOG_NOT_WRITTEN] = {"not-written", CV_LOG_ERROR},
    [CV_LOG_REMOVED] = {"removed", CV_LOG_ERROR},
    [CV_LOG_MEMBERS] = {"members", CV_LOG_WARNING},
    [CV_LOG_FOUNDING] = {"founding", CV_LOG_WARNING},
    [CV_LOG_TERMS] = {"terms", CV_LOG_WARNING},
    [CV_LOG_PLUGIN_FAILED] = {"plugin-failed", CV_LOG_ERROR},
};

static const char *const level_names[] = {"error", "warning", "info"};
static const int priorities[] = {3, 4, 6}; /* of syslog */

/* There is one log per process, as there is one standard error. It writes nothing before it is opened. */
static struct {
    bool open, json, journal;
    enum cv_log_level level;
    cv_id node;
    uint64_t free_us[CV_LOG_EVENTS]; /* when the burst of each event is whole again */
    uint64_t left_out[CV_LOG_EVENTS];
    uint64_t number; /* of the last event */
    struct cv_log_entry recent[CV_LOG_RECENT];
} event_log;

/* ---- lines ---- */

struct line {
    char text[LINE_BYTES];
    size_t length;
    bool json;
    bool filled; /* the line has a key already */
};

static void put(struct line *line, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct line *line, const char *format, ...)
{
    va_list arguments;
    const size_t room = LINE_BYTES - 8 - line->length;
    va_start(arguments, format);
    const int wanted = vsnprintf(line->text + line->length, room, format, arguments);
    va_end(arguments);
    line->length += wanted < 0 ? 0 : (size_t)wanted < room ? (size_t)wanted : room - 1;
}

/* Writes a quoted text that is safe on a terminal, whatever a stranger has sent. */
static void put_quoted(struct line *line, const char *text)
{
    put(line, "\"");
    for (struct cv_text rest = cv_text(text); rest.length && line->length < LAST_TEXT;) {
        char piece[CV_JSON_PIECE_BYTES];
        const size_t taken = cv_json_piece(rest, piece);
        put(line, "%s", piece);
        rest.start += taken;
        rest.length -= taken;
    }
    put(line, "\"");
}

static bool is_plain(const char *text)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./:,@%*[]()";
    return *text && !text[strspn(text, plain)];
}

static void put_detail(struct line *line, const struct cv_detail *detail)
{
    if (line->length >= LAST_DETAIL)
        return;
    if (line->json)
        put(line, "%s\"%s\":", line->filled ? "," : "", detail->key);
    else
        put(line, "%s%s=", line->filled ? " " : "", detail->key);
    line->filled = true;
    if (!detail->text)
        put(line, "%llu", (unsigned long long)detail->number);
    else if (!line->json && is_plain(detail->text))
        put(line, "%s", detail->text);
    else
        put_quoted(line, detail->text);
}

static void put_time(struct line *line)
{
    char date[32], text[48];
    struct timespec now;
    struct tm parts;
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%S", &parts);
    snprintf(text, sizeof text, "%s.%03ldZ", date, now.tv_nsec / 1000000);
    put_detail(line, &(struct cv_detail){"time", .text = text});
}

/* ---- the latest events ---- */

/* Where the next event goes: to the place of the oldest, or of the oldest of its kind if there are many of those. */
static struct cv_log_entry *recent_place(enum cv_log_event event)
{
    struct cv_log_entry *oldest = event_log.recent, *of_kind = NULL;
    uint32_t same = 0;
    for (struct cv_log_entry *it = event_log.recent; it < event_log.recent + CV_LOG_RECENT; it++) {
        if (it->number < oldest->number)
            oldest = it;
        if (!it->number || it->event != event)
            continue;
        same++;
        if (!of_kind || it->number < of_kind->number)
            of_kind = it;
    }
    return same < CV_LOG_RECENT_EACH ? oldest : of_kind;
}

static void keep_recent(enum cv_log_event event, const struct cv_detail *details)
{
    struct cv_log_entry *entry = recent_place(event);
    struct timespec now;
    struct line line = {.length = 0};
    const bool sentence = strcmp(details->key, "message") == 0 && !details[1].key;
    for (const struct cv_detail *it = details; it->key && !sentence; it++)
        put_detail(&line, it);
    line.text[line.length] = '\0';
    clock_gettime(CLOCK_REALTIME, &now);
    entry->number = ++event_log.number;
    entry->time_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
    entry->event = event;
    cv_show_line(entry->text, sizeof entry->text, cv_text(sentence ? details->text : line.text));
}

const struct cv_log_entry *cv_log_after(uint64_t number)
{
    const struct cv_log_entry *next = NULL;
    for (const struct cv_log_entry *it = event_log.recent; it < event_log.recent + CV_LOG_RECENT; it++)
        if (it->number > number && (!next || it->number < next->number))
            next = it;
    return next;
}

const char *cv_log_event_name(enum cv_log_event event)
{
    return events[event].name;
}

const char *cv_log_event_level(enum cv_log_event event)
{
    return level_names[events[event].level];
}

/* ---- what may be written ---- */

static uint64_t now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static bool may_write(enum cv_log_event event)
{
    const uint64_t now = now_us();
    struct pollfd reader = {.fd = STDERR_FILENO, .events = POLLOUT};
    if (event_log.free_us[event] < now)
        event_log.free_us[event] = now;
    const bool used_up = event_log.free_us[event] - now > (uint64_t)(CV_LOG_BURST - 1) * CV_LOG_INTERVAL_US;
    const bool counts = event != CV_LOG_FORCED; /* only operators do that, and all of it is written down */
    if ((used_up && counts) || poll(&reader, 1, 0) != 1 || !(reader.revents & POLLOUT)) {
        event_log.left_out[event]++;
        return false;
    }
    event_log.free_us[event] += CV_LOG_INTERVAL_US;
    return true;
}

static void write_line(struct line *line)
{
    line->text[line->length++] = '\n';
    /* If standard error is gone, there is no other place to write to. */
    if (write(STDERR_FILENO, line->text, line->length) < 0)
        return;
}

void cv_log_write(enum cv_log_event event, const struct cv_detail *details)
{
    struct line line = {.json = event_log.json};
    const enum cv_log_level level = events[event].level;
    if (event_log.open)
        keep_recent(event, details);
    if (!event_log.open || level > event_log.level || !may_write(event))
        return;
    if (event_log.journal)
        put(&line, "<%d>", priorities[level]);
    if (line.json)
        put(&line, "{");
    put_time(&line);
    put_detail(&line, &(struct cv_detail){"level", .text = level_names[level]});
    put_detail(&line, &(struct cv_detail){"event", .text = events[event].name});
    put_detail(&line, &(struct cv_detail){"node", .number = event_log.node});
    for (; details->key; details++)
        put_detail(&line, details);
    if (event_log.left_out[event])
        put_detail(&line, &(struct cv_detail){"left_out", .number = event_log.left_out[event]});
    event_log.left_out[event] = 0;
    if (line.json)
        line.text[line.length++] = '}';
    write_line(&line);
}

void cv_log_say(enum cv_log_event event, const char *format, ...)
{
    char message[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    cv_log(event, {"message", .text = message});
}

/* ---- opening ---- */

/* JOURNAL_STREAM names the device and inode that standard error was when systemd started the process. */
static bool journal_listens(void)
{
    const char *given = getenv("JOURNAL_STREAM");
    struct stat info;
    char here[64];
    if (!given || fstat(STDERR_FILENO, &info))
        return false;
    snprintf(here, sizeof here, "%llu:%llu", (unsigned long long)info.st_dev, (unsigned long long)info.st_ino);
    return strcmp(given, here) == 0;
}

void cv_log_open(bool json, enum cv_log_level level, cv_id node)
{
    event_log.open = true;
    event_log.json = json;
    event_log.level = level;
    event_log.node = node;
    event_log.journal = journal_listens();
}

const char *cv_log_ids(const struct cv_roster *roster, cv_set nodes, char text[CV_LOG_IDS_BYTES])
{
    size_t length = 0;
    *text = '\0';
    for (cv_node node = 0; node < roster->count; node++)
        if (cv_set_has(nodes, node))
            length += (size_t)snprintf(text + length, CV_LOG_IDS_BYTES - length, "%s%u", length ? "," : "",
                                       roster->ids[node]);
    return text;
}
