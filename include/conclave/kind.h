// SPDX-License-Identifier: MIT
/* The kinds of messages: what each is called, its body, the fields of the body, and the handler that receives it. */
#ifndef CONCLAVE_KIND_H
#define CONCLAVE_KIND_H

#include <stddef.h>
#include <stdint.h>

#include <conclave/field.h>

struct cv_self;
struct cv_message;

struct cv_kind {
    const char *name;
    uint64_t bytes; /* of the body, without its list */
    void (*receive)(struct cv_self *me, const struct cv_message *message);
    const struct cv_field *fields; /* of the body, up to one without a name; or NULL */
};

/* [REQUEST] = CV_KIND("request", struct stamp, on_request, stamp_fields) */
#define CV_KIND(kind_name, structure, handler, table)                                                                  \
    {                                                                                                                  \
        .name = (kind_name), .bytes = sizeof(structure), .receive = (handler), .fields = (table)                       \
    }
/* [OK] = CV_SIGNAL("ok", on_ok): a message that is nothing but its kind */
#define CV_SIGNAL(kind_name, handler)                                                                                  \
    {                                                                                                                  \
        .name = (kind_name), .receive = (handler)                                                                      \
    }

#endif
