// SPDX-License-Identifier: MIT
#include "guard/guarded.h"

#include "core/scenario/scenario.h"
#include "guard/forbidden_calls.h"
#include "guard/guarded_step.h"
#include "guard/trap_frame.h"

static struct guarded tables[CV_MOST_GUARDED];
static uint32_t table_count;

/* ---- doors ---- */

/*
 * A handler gets its node, and nothing that says whose handler it is. So each table has functions of its own, which
 * know their number.
 */
#define NODE_DOOR(name, number)                                                                                        \
    static void name##_##number(struct cv_self *me)                                                                    \
    {                                                                                                                  \
        guarded_step(&(struct handler_use){.guarded = &tables[number], .handler = HANDLER_##name, .me = me});          \
    }
#define NUMBER_DOOR(name, type, number)                                                                                \
    static void name##_##number(struct cv_self *me, type argument)                                                     \
    {                                                                                                                  \
        guarded_step(&(struct handler_use){                                                                            \
            .guarded = &tables[number], .handler = HANDLER_##name, .me = me, .argument = argument});                   \
    }
#define OTHER_DOORS(number)                                                                                            \
    static void adopt_##number(struct cv_self *me, cv_node holder, uint64_t fence)                                     \
    {                                                                                                                  \
        guarded_step(&(struct handler_use){                                                                            \
            .guarded = &tables[number], .handler = HANDLER_adopt, .me = me, .argument = holder, .fence = fence});      \
    }                                                                                                                  \
    static void receive_##number(struct cv_self *me, const struct cv_message *message)                                 \
    {                                                                                                                  \
        guarded_step(&(struct handler_use){                                                                            \
            .guarded = &tables[number], .handler = HANDLER_receive, .me = me, .message = message});                    \
    }                                                                                                                  \
    static bool valid_##number(const struct cv_self *me, const struct cv_message *message)                             \
    {                                                                                                                  \
        struct handler_use use = {.guarded = &tables[number],                                                          \
                                  .handler = HANDLER_valid,                                                            \
                                  .me = (struct cv_self *)(uintptr_t)me,                                               \
                                  .message = message};                                                                 \
        guarded_step(&use);                                                                                            \
        return use.valid;                                                                                              \
    }                                                                                                                  \
    static const char *invariant_##number(const struct cv_self *me)                                                    \
    {                                                                                                                  \
        struct handler_use use = {                                                                                     \
            .guarded = &tables[number], .handler = HANDLER_invariant, .me = (struct cv_self *)(uintptr_t)me};          \
        guarded_step(&use);                                                                                            \
        return use.complaint;                                                                                          \
    }                                                                                                                  \
    static size_t state_size_##number(const struct cv_group *group, cv_node node)                                      \
    {                                                                                                                  \
        return guarded_state_size(&tables[number], group, node);                                                       \
    }

#define NODE_ENTRY(name, number) .name = name##_##number,
#define NUMBER_ENTRY(name, type, number) .name = name##_##number,
#define DOORS(number)                                                                                                  \
    NODE_HANDLERS(NODE_DOOR, number)                                                                                   \
    NUMBER_HANDLERS(NUMBER_DOOR, number)                                                                               \
    OTHER_DOORS(number)                                                                                                \
    static const struct doors doors_##number = {                                                                       \
        {NODE_HANDLERS(NODE_ENTRY, number) NUMBER_HANDLERS(NUMBER_ENTRY, number).adopt = adopt_##number,               \
         .valid = valid_##number, .invariant = invariant_##number, .state_size = state_size_##number},                 \
        receive_##number};

/* The handlers of a table. */
struct doors {
    struct cv_algorithm table;
    void (*receive)(struct cv_self *me, const struct cv_message *message);
};

#define EACH_0(ROW) ROW(0) ROW(1) ROW(2) ROW(3) ROW(4) ROW(5) ROW(6) ROW(7)
#define EACH_8(ROW) ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) ROW(13) ROW(14) ROW(15)
#define EACH_16(ROW) ROW(16) ROW(17) ROW(18) ROW(19) ROW(20) ROW(21) ROW(22) ROW(23)
#define EACH_24(ROW) ROW(24) ROW(25) ROW(26) ROW(27) ROW(28) ROW(29) ROW(30) ROW(31)
#define EACH(ROW) EACH_0(ROW) EACH_8(ROW) EACH_16(ROW) EACH_24(ROW)

EACH(DOORS)

#define ADDRESS(number) &doors_##number,
static const struct doors *const all_doors[CV_MOST_GUARDED] = {EACH(ADDRESS)};

/* ---- tables ---- */

/* A handler that the algorithm does not have stays NULL. */
static void fill_in(struct guarded *guarded, const struct cv_algorithm *own, const struct doors *doors)
{
    struct cv_algorithm *table = &guarded->table;
    *table = *own;
#define TAKE(name, ...) table->name = own->name ? doors->table.name : NULL;
    NODE_HANDLERS(TAKE, _)
    NUMBER_HANDLERS(TAKE, _)
    TAKE(adopt)
    TAKE(valid)
    TAKE(invariant)
    TAKE(state_size)
#undef TAKE
    guarded->own = own;
    guarded->kind_count = cv_algorithm_kinds(own);
    guarded->timer_count = cv_algorithm_timers(own);
    for (uint32_t kind = 0; kind < guarded->kind_count; kind++) {
        guarded->kinds[kind] = own->kinds[kind];
        guarded->kinds[kind].receive = doors->receive;
    }
    table->kinds = guarded->kinds;
}

const struct cv_algorithm *cv_guarded(const struct cv_algorithm *algorithm)
{
    for (uint32_t i = 0; i < table_count; i++)
        if (tables[i].own == algorithm)
            return &tables[i].table;
    if (table_count == CV_MOST_GUARDED)
        return NULL;
    struct guarded *guarded = &tables[table_count];
    fill_in(guarded, algorithm, all_doors[table_count++]);
    if (shared_object_find(algorithm, &guarded->object)) {
        trap_prepare();
        forbidden_calls_watch(&guarded->object);
        shared_object_close(&guarded->object);
    }
    return &guarded->table;
}

bool cv_is_guarded(const struct cv_algorithm *algorithm)
{
    for (uint32_t i = 0; i < table_count; i++)
        if (&tables[i].table == algorithm)
            return true;
    return false;
}
