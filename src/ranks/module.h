// SPDX-License-Identifier: MIT
/* What a module of MPI offers the program that loads it. */
#ifndef CONCLAVE_RANKS_MODULE_H
#define CONCLAVE_RANKS_MODULE_H

#include "ranks/launch.h"
#include "ranks/ranks.h"

/* Program and module are built together: anything else does not fit. */
#define RANKS_MODULE_VERSION "conclave " CONCLAVE_VERSION " ranks 2"
#define RANKS_MODULE_SYMBOL "conclave_ranks_module"

struct ranks_module {
    const char *version;
    const char *library; /* its name */
    bool (*join)(uint32_t *rank, uint32_t *size);
    void (*leave)(void);
    void (*abort)(int code);
    bool (*send)(struct cv_block *block); /* false: no memory */
    struct cv_block *(*take_sent)(void);  /* a block that is gone, to be used again; or NULL */
    uint32_t (*count_unsent)(void);       /* blocks that are not gone */
    bool (*find)(size_t *size);           /* a block of that size is coming: receive() it */
    void (*receive)(struct cv_block *block);
    struct cv_block *(*take_received)(void); /* in the order of find(); or NULL */
    bool (*find_near)(size_t *size);         /* a block of that size is here: receive_near() it */
    void (*receive_near)(struct cv_block *block);
    bool (*is_near)(void); /* would find_near() find one? */
    void (*reduce)(enum cv_reduction reduction, uint64_t *numbers, uint32_t count);
    void (*broadcast)(uint32_t from, void *bytes, size_t size);
    bool (*is_done)(void); /* is the reduction or the broadcast? */
};

/* Loads the module for the library of that launcher. NULL and a complaint: there is none. */
const struct ranks_module *module_load(const struct cv_launch *launch, struct cv_complaint *complaint);

#endif
