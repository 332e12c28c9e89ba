// SPDX-License-Identifier: MIT
/* A run made by hand: events as a runtime would report them, for tests of observers. */
#ifndef CONCLAVE_TESTS_TALE_H
#define CONCLAVE_TESTS_TALE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/event.h"
#include "core/scenario/scenario.h"

enum { PING, PONG };

static const struct cv_kind tale_kinds[] = {{"ping", 8, NULL, 0}, {"pong", 0, NULL, 0}, {NULL, 0, NULL, 0}};
static const struct cv_algorithm tale_algorithm = {
    .name = "tale", .title = "A tale <told> & heard", .kinds = tale_kinds};

struct tale {
    struct cv_scenario scenario;
    struct cv_observer observer;
    uint64_t time;
    uint64_t clock[8]; /* Lamport's, per node */
    uint64_t sent;     /* messages so far */
};

static cv_id tale_ids[8] = {3, 32, 5, 80, 6, 12, 7, 9};

static inline void tale_begin(struct tale *tale, uint32_t nodes, struct cv_observer observer)
{
    *tale = (struct tale){.observer = observer};
    tale->scenario.algorithm = &tale_algorithm;
    tale->scenario.group.ids = tale_ids;
    tale->scenario.group.nodes = nodes;
    tale->scenario.ids = tale_ids;
}

static inline void tale_tell(struct tale *tale, struct cv_event event)
{
    event.time = tale->time;
    event.clock = event.node == CV_NOBODY ? 0 : tale->clock[event.node];
    tale->observer.event(tale->observer.context, &event);
}

/* An event that begins a step. */
static inline void tale_happens(struct tale *tale, enum cv_event_type type, cv_node node, cv_node peer)
{
    tale->clock[node] += type != CV_EVENT_CRASH;
    tale_tell(tale, (struct cv_event){.type = type, .node = node, .peer = peer, .text = "patience"});
}

/* A request; `text` is NULL or "again". */
static inline void tale_wants(struct tale *tale, cv_node node, const char *text)
{
    tale->clock[node]++;
    tale_tell(tale, (struct cv_event){.type = CV_EVENT_REQUEST, .node = node, .peer = CV_NOBODY, .text = text});
}

static inline void tale_does(struct tale *tale, enum cv_event_type type, cv_node node, uint64_t detail)
{
    tale_tell(tale, (struct cv_event){.type = type, .node = node, .peer = CV_NOBODY, .detail = detail});
}

static inline void tale_message(struct tale *tale, enum cv_event_type type, cv_node node, cv_node peer, uint64_t number,
                                uint32_t kind, cv_node about)
{
    union {
        struct cv_message message;
        uint64_t words[3];
    } it = {.message = {.to = type == CV_EVENT_SEND ? peer : node,
                        .from = type == CV_EVENT_SEND ? node : peer,
                        .kind = kind & 1u,
                        .words = kind == PING ? 2 : 0}};
    it.words[2] = cv_rank_make(tale_ids[about], tale_ids[about]);
    tale_tell(tale,
              (struct cv_event){.type = type, .node = node, .peer = peer, .message = number, .content = &it.message});
}

/* Sends a message, as part of the multicast before it or not; returns its number. */
static inline uint64_t tale_sends(struct tale *tale, cv_node from, cv_node to, uint32_t kind, cv_node about, bool again)
{
    tale->clock[from] += !again;
    tale_message(tale, CV_EVENT_SEND, from, to, ++tale->sent, kind, about);
    return tale->sent;
}

static inline void tale_hears(struct tale *tale, cv_node to, cv_node from, uint64_t number, uint32_t kind,
                              cv_node about)
{
    tale->clock[to] = (tale->clock[to] > tale->clock[from] ? tale->clock[to] : tale->clock[from]) + 1;
    tale_message(tale, CV_EVENT_RECEIVE, to, from, number, kind, about);
}

static inline void tale_loses(struct tale *tale, cv_node to, cv_node from, uint64_t number, uint32_t kind,
                              cv_node about)
{
    tale_message(tale, CV_EVENT_LOST, to, from, number, kind, about);
}

/* The text that `write` writes. The caller frees it. */
#define tale_written(text, write)                                                                                      \
    do {                                                                                                               \
        size_t size_of_it;                                                                                             \
        FILE *out = open_memstream(&(text), &size_of_it);                                                              \
        assert_non_null(out);                                                                                          \
        assert_int_equal((write), 0);                                                                                  \
        fclose(out);                                                                                                   \
    } while (0)

#endif
