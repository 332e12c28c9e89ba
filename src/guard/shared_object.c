// SPDX-License-Identifier: MIT
#include "guard/shared_object.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_CLOSED 8u

static struct shared_object *closed_objects[MOST_CLOSED];

/* ---- where it is ---- */

struct question {
    uintptr_t address;
    struct shared_object *object;
};

static uintptr_t page_bytes(void)
{
    return (uintptr_t)sysconf(_SC_PAGESIZE);
}

static uintptr_t page_of(uintptr_t address)
{
    return address & ~(page_bytes() - 1);
}

static bool is_within(const struct dl_phdr_info *info, uintptr_t address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && address - info->dlpi_addr - part->p_vaddr < part->p_memsz)
            return true;
    }
    return false;
}

static void take_segment(struct shared_object *object, uintptr_t from, uintptr_t to, ElfW(Word) flags)
{
    if (!object->begin || from < object->begin)
        object->begin = from;
    if (to > object->end)
        object->end = to;
    if (flags & PF_X) {
        object->code = from;
        object->code_end = to;
    }
    if (flags & PF_W) {
        object->globals = page_of(from);
        object->globals_end = page_of(to + page_bytes() - 1);
    }
}

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    const struct question *question = context;
    struct shared_object *object = question->object;
    (void)size;
    if (!is_within(info, question->address))
        return 0;
    *object = (struct shared_object){.path = info->dlpi_name, .base = info->dlpi_addr};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        const uintptr_t from = info->dlpi_addr + part->p_vaddr, to = from + part->p_memsz;
        if (part->p_type == PT_LOAD)
            take_segment(object, from, to, part->p_flags);
        if (part->p_type == PT_DYNAMIC)
            object->dynamic = (const ElfW(Dyn) *)from;
        if (part->p_type == PT_GNU_RELRO) {
            object->fixed = page_of(from);
            object->fixed_end = page_of(to);
        }
    }
    if (object->fixed_end > object->globals && object->fixed_end <= object->globals_end)
        object->globals = object->fixed_end;
    return 1;
}

bool shared_object_find(const void *address, struct shared_object *object)
{
    *object = (struct shared_object){0};
    if (dl_iterate_phdr(look, &(struct question){(uintptr_t)address, object}) == 1 && *object->path)
        return true;
    *object = (struct shared_object){0};
    return false;
}

bool shared_object_has_code(const struct shared_object *object, const void *address)
{
    return (uintptr_t)address - object->code < object->code_end - object->code;
}

bool shared_object_has_global(const struct shared_object *object, const void *address)
{
    return object->closed && (uintptr_t)address - object->globals < object->globals_end - object->globals;
}

/* ---- its symbols ---- */

typedef bool symbol_visit(const ElfW(Sym) * symbol, const char *name, void *context);

/* Is that part of the file there? */
static bool is_there(size_t size, uint64_t offset, uint64_t bytes)
{
    return offset <= size && bytes <= size - offset;
}

static bool visit_table(const unsigned char *file, size_t size, const ElfW(Shdr) * table, const ElfW(Shdr) * texts,
                        symbol_visit *visit, void *context)
{
    if (!is_there(size, table->sh_offset, table->sh_size) || !is_there(size, texts->sh_offset, texts->sh_size) ||
        !texts->sh_size || file[texts->sh_offset + texts->sh_size - 1])
        return false;
    const ElfW(Sym) *symbols = (const void *)(file + table->sh_offset);
    for (uint64_t i = 0; i < table->sh_size / sizeof *symbols; i++)
        if (symbols[i].st_name < texts->sh_size &&
            visit(&symbols[i], (const char *)file + texts->sh_offset + symbols[i].st_name, context))
            return true;
    return false;
}

static bool visit_tables(const unsigned char *file, size_t size, symbol_visit *visit, void *context)
{
    const ElfW(Ehdr) *head = (const void *)file;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_shentsize != sizeof(ElfW(Shdr)) ||
        !is_there(size, head->e_shoff, (uint64_t)head->e_shnum * head->e_shentsize))
        return false;
    const ElfW(Shdr) *sections = (const void *)(file + head->e_shoff);
    for (uint32_t i = 0; i < head->e_shnum; i++)
        if ((sections[i].sh_type == SHT_SYMTAB || sections[i].sh_type == SHT_DYNSYM) &&
            sections[i].sh_link < head->e_shnum &&
            visit_table(file, size, &sections[i], &sections[sections[i].sh_link], visit, context))
            return true;
    return false;
}

/* Until a visit says true. */
static bool visit_symbols(const struct shared_object *object, symbol_visit *visit, void *context)
{
    struct stat status;
    const int file = open(object->path, O_RDONLY | O_CLOEXEC);
    void *bytes = MAP_FAILED;
    if (file >= 0 && fstat(file, &status) == 0 && status.st_size > 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    const bool found = bytes != MAP_FAILED && visit_tables(bytes, (size_t)status.st_size, visit, context);
    if (bytes != MAP_FAILED)
        munmap(bytes, (size_t)status.st_size);
    if (file >= 0)
        close(file);
    return found;
}

struct naming {
    uintptr_t address; /* in the file */
    char *text;
    size_t room;
};

/* The compiler numbers variables of functions: "count.0". */
static bool take_name(const ElfW(Sym) * symbol, const char *name, void *context)
{
    const struct naming *naming = context;
    if ((symbol->st_info & 0xf) != STT_OBJECT || naming->address - symbol->st_value >= symbol->st_size)
        return false;
    snprintf(naming->text, naming->room, "%.*s", (int)strcspn(name, "."), name);
    return true;
}

const char *shared_object_name(const struct shared_object *object, const void *address, char *text, size_t room)
{
    struct naming naming = {(uintptr_t)address - object->base, text, room};
    *text = '\0';
    visit_symbols(object, take_name, &naming);
    return text;
}

/* ---- its globals ---- */

static bool is_instrument(const ElfW(Sym) * symbol, const char *name, void *context)
{
    static const char *const beginnings[] = {"__gcov_", "__llvm_profile", "__ubsan_",
                                             "__asan_", "__tsan_",        "__sanitizer_"};
    (void)symbol;
    (void)context;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return true;
    return false;
}

void shared_object_close(struct shared_object *object)
{
    uint32_t place = 0;
    while (place < MOST_CLOSED && closed_objects[place])
        place++;
    if (place == MOST_CLOSED || object->globals >= object->globals_end || visit_symbols(object, is_instrument, NULL))
        return;
    closed_objects[place] = object;
    object->closed =
        mprotect((void *)object->globals, object->globals_end - object->globals, PROT_READ) == 0; /* NOLINT */
}

/* Runs in a signal handler. */
bool shared_object_open(const void *address)
{
    for (uint32_t i = 0; i < MOST_CLOSED && closed_objects[i]; i++) {
        struct shared_object *object = closed_objects[i];
        if (!shared_object_has_global(object, address))
            continue;
        object->closed = false;
        return mprotect((void *)object->globals, object->globals_end - object->globals, PROT_READ | PROT_WRITE) == 0;
    }
    return false;
}
