// SPDX-License-Identifier: MIT
/*
 * An object calls a library's functions by a table of addresses that the dynamic linker has filled in. This puts other
 * addresses there, in that object alone. Outside of handlers the functions do what they always do.
 */
#include "guard/forbidden_calls.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "guard/trap_frame.h"

#define CLOCK "and a step may depend on no clock"
#define CHANCE "and a step may depend on no chance but cv_choose()"
#define SLEEP "and a step takes no time"

/* The function, its result, its parameters, its arguments, and why it may not be called. */
#define FORBIDDEN(ROW)                                                                                                 \
    ROW(time, time_t, (time_t * out), (out), CLOCK)                                                                    \
    ROW(clock, clock_t, (void), (), CLOCK)                                                                             \
    ROW(gettimeofday, int, (struct timeval * out, void *zone), (out, zone), CLOCK)                                     \
    ROW(clock_gettime, int, (clockid_t which, struct timespec * out), (which, out), CLOCK)                             \
    ROW(timespec_get, int, (struct timespec * out, int base), (out, base), CLOCK)                                      \
    ROW(rand, int, (void), (), CHANCE)                                                                                 \
    ROW(random, long, (void), (), CHANCE)                                                                              \
    ROW(drand48, double, (void), (), CHANCE)                                                                           \
    ROW(lrand48, long, (void), (), CHANCE)                                                                             \
    ROW(mrand48, long, (void), (), CHANCE)                                                                             \
    ROW(getrandom, ssize_t, (void *out, size_t bytes, unsigned flags), (out, bytes, flags), CHANCE)                    \
    ROW(getentropy, int, (void *out, size_t bytes), (out, bytes), CHANCE)                                              \
    ROW(sleep, unsigned, (unsigned seconds), (seconds), SLEEP)                                                         \
    ROW(usleep, int, (useconds_t microseconds), (microseconds), SLEEP)                                                 \
    ROW(nanosleep, int, (const struct timespec *span, struct timespec *left), (span, left), SLEEP)

#define DEFINE(name, result, parameters, arguments, why)                                                               \
    static result told_##name parameters                                                                               \
    {                                                                                                                  \
        trap_accuse("calls " #name "(), " why);                                                                        \
        return name arguments; /* NOLINT */                                                                            \
    }
FORBIDDEN(DEFINE)
#undef DEFINE

static uintptr_t replacement(const char *name)
{
#define FIND(function, result, parameters, arguments, why)                                                             \
    if (strcmp(name, #function) == 0)                                                                                  \
        return (uintptr_t)told_##function;
    FORBIDDEN(FIND)
#undef FIND
    return 0;
}

/* Relocations of one table, which all have an addend. */
struct relocations {
    const ElfW(Rela) * first;
    size_t count;
};

struct tables {
    const ElfW(Sym) * symbols;
    const char *texts;
    struct relocations calls, others;
};

/* The linker may have added the base already. */
static const void *at(const struct shared_object *object, ElfW(Addr) address)
{
    return (const void *)(address < object->base ? address + object->base : address);
}

static struct tables read_tables(const struct shared_object *object)
{
    struct tables tables = {0};
    for (const ElfW(Dyn) *it = object->dynamic; it && it->d_tag != DT_NULL; it++) {
        if (it->d_tag == DT_SYMTAB)
            tables.symbols = at(object, it->d_un.d_ptr);
        if (it->d_tag == DT_STRTAB)
            tables.texts = at(object, it->d_un.d_ptr);
        if (it->d_tag == DT_JMPREL)
            tables.calls.first = at(object, it->d_un.d_ptr);
        if (it->d_tag == DT_PLTRELSZ)
            tables.calls.count = it->d_un.d_val / sizeof(ElfW(Rela));
        if (it->d_tag == DT_RELA)
            tables.others.first = at(object, it->d_un.d_ptr);
        if (it->d_tag == DT_RELASZ)
            tables.others.count = it->d_un.d_val / sizeof(ElfW(Rela));
    }
    return tables;
}

static void replace(const struct shared_object *object, const struct tables *tables,
                    const struct relocations *relocations)
{
    for (size_t i = 0; relocations->first && i < relocations->count; i++) {
        const ElfW(Rela) *it = &relocations->first[i];
        const ElfW(Sym) *symbol = &tables->symbols[ELF64_R_SYM(it->r_info)];
        const uintptr_t other =
            symbol->st_shndx == SHN_UNDEF && !it->r_addend ? replacement(tables->texts + symbol->st_name) : 0;
        if (other)
            memcpy((void *)(object->base + it->r_offset), &other, sizeof other);
    }
}

void forbidden_calls_watch(const struct shared_object *object)
{
    const struct tables tables = read_tables(object);
    const size_t fixed = object->fixed_end > object->fixed ? object->fixed_end - object->fixed : 0;
    if (sizeof(void *) != 8 || !tables.symbols || !tables.texts)
        return;
    if (fixed && mprotect((void *)object->fixed, fixed, PROT_READ | PROT_WRITE))
        return;
    replace(object, &tables, &tables.calls);
    replace(object, &tables, &tables.others);
    if (fixed)
        mprotect((void *)object->fixed, fixed, PROT_READ);
}
