// SPDX-License-Identifier: MIT
/*
 * A program that knows Redis's own C client, hiredis, and nothing of Conclave: usage: hiredis SOCKET | HOST PORT.
 * tests/client/hiredis.py starts the node.
 */
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(const char *what, int truth, const redisReply *reply)
{
    if (truth)
        return;
    failures++;
    printf("FAILED: %s: type %d, %s\n", what, reply ? reply->type : -1, reply && reply->str ? reply->str : "");
}

static redisReply *ask(redisContext *context, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    redisReply *reply = redisvCommand(context, format, arguments);
    va_end(arguments);
    if (!reply) {
        printf("FAILED: %s: %s\n", format, context->errstr);
        exit(1);
    }
    return reply;
}

static long long number(const char *what, redisReply *reply)
{
    const long long value = reply->integer;
    expect(what, reply->type == REDIS_REPLY_INTEGER, reply);
    freeReplyObject(reply);
    return value;
}

static void check_type(const char *what, redisReply *reply, int type)
{
    expect(what, reply->type == type, reply);
    freeReplyObject(reply);
}

static redisContext *dial(int argc, char **argv)
{
    redisContext *context =
        argc == 2 ? redisConnectUnix(argv[1]) : redisConnect(argv[1], (int)strtol(argv[2], NULL, 10));
    if (!context || context->err) {
        printf("FAILED: no connection: %s\n", context ? context->errstr : "out of memory");
        exit(1);
    }
    return context;
}

static void check_locks(redisContext *one, redisContext *two)
{
    const char name[] = "a name\xc3\xa4";
    const long long fence = number("LOCK", ask(one, "LOCK %b", name, sizeof name - 1));
    check_type("a try at what is held", ask(two, "LOCK %b WAIT 0", name, sizeof name - 1), REDIS_REPLY_NIL);
    check_type("a wait", ask(two, "LOCK %b WAIT 30", name, sizeof name - 1), REDIS_REPLY_NIL);
    if (number("a wrong fence", ask(two, "UNLOCK %b %lld", name, sizeof name - 1, fence + 1)) != 0)
        expect("a wrong fence unlocks nothing", 0, NULL);
    if (number("UNLOCK", ask(one, "UNLOCK %b %lld", name, sizeof name - 1, fence)) != 1)
        expect("unlocked", 0, NULL);
    const long long next = number("the next", ask(two, "LOCK %b WAIT 1000 TTL 5000 SECRET shh", name, sizeof name - 1));
    if (next <= fence)
        expect("its fence is higher", 0, NULL);
    if (number("RENEW", ask(one, "RENEW %b %lld SECRET shh", name, sizeof name - 1, next)) != 5000)
        expect("renewed by another connection", 0, NULL);
    if (number("UNLOCK by another", ask(one, "UNLOCK %b %lld SECRET shh", name, sizeof name - 1, next)) != 1)
        expect("unlocked by another connection", 0, NULL);
    check_type("LOCKS", ask(one, "LOCKS"), REDIS_REPLY_ARRAY);
    check_type("VIEW", ask(one, "VIEW"), REDIS_REPLY_ARRAY);
    check_type("INFO", ask(one, "INFO"), REDIS_REPLY_STRING);
    check_type("PING", ask(one, "PING"), REDIS_REPLY_STATUS);
    check_type("PING with a text", ask(one, "PING %s", "hello"), REDIS_REPLY_STRING);
    check_type("an error", ask(one, "LOCK"), REDIS_REPLY_ERROR);
    check_type("an unknown command", ask(one, "APPEND x y"), REDIS_REPLY_ERROR);
}

/* A thousand cycles in one write each way. */
static void check_pipelining(redisContext *context)
{
    enum { NAMES = 1000 };
    static long long fences[NAMES];
    redisReply *reply;
    for (int i = 0; i < NAMES; i++)
        redisAppendCommand(context, "LOCK pipeline%d", i);
    for (int i = 0; i < NAMES; i++) {
        if (redisGetReply(context, (void **)&reply) != REDIS_OK)
            exit(1);
        fences[i] = number("a LOCK in a pipeline", reply);
    }
    for (int i = 0; i < NAMES; i++)
        redisAppendCommand(context, "UNLOCK pipeline%d %lld", i, fences[i]);
    for (int i = 0; i < NAMES; i++) {
        if (redisGetReply(context, (void **)&reply) != REDIS_OK)
            exit(1);
        if (number("an UNLOCK in a pipeline", reply) != 1)
            expect("each is unlocked", 0, NULL);
    }
}

static void check_observing(redisContext *leader, redisContext *observer)
{
    redisReply *reply;
    check_type("OBSERVE", ask(observer, "OBSERVE boss"), REDIS_REPLY_NIL);
    const long long fence = number("CAMPAIGN", ask(leader, "CAMPAIGN boss"));
    if (redisGetReply(observer, (void **)&reply) != REDIS_OK)
        exit(1);
    expect("told of the leader",
           reply->type == REDIS_REPLY_ARRAY && reply->elements == 4 && strcmp(reply->element[0]->str, "leader") == 0 &&
               reply->element[3]->integer == fence,
           reply);
    freeReplyObject(reply);
    check_type("LEADER", ask(leader, "LEADER boss"), REDIS_REPLY_ARRAY);
    if (number("RESIGN", ask(leader, "RESIGN boss")) != 1)
        expect("resigned", 0, NULL);
    if (redisGetReply(observer, (void **)&reply) != REDIS_OK)
        exit(1);
    expect("told that nobody leads", reply->type == REDIS_REPLY_ARRAY && reply->element[2]->type == REDIS_REPLY_NIL,
           reply);
    freeReplyObject(reply);
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3)
        return 2;
    redisContext *one = dial(argc, argv), *two = dial(argc, argv), *three = dial(argc, argv);
    check_locks(one, two);
    check_pipelining(one);
    check_observing(two, three);
    check_type("QUIT", ask(one, "QUIT"), REDIS_REPLY_STATUS);
    redisFree(one);
    redisFree(two);
    redisFree(three);
    printf("%d failures\n", failures);
    return failures ? 1 : 0;
}
