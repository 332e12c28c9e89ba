// SPDX-License-Identifier: MIT
/* What ranks of a search tell each other. A parcel is a row of these; each begins with a word that says which it is. */
#ifndef CONCLAVE_CHECK_SEARCH_PARCEL_KIND_H
#define CONCLAVE_CHECK_SEARCH_PARCEL_KIND_H

enum parcel_kind {
    PARCEL_WORD,     /* what a number means: see dictionary.h */
    PARCEL_STATE,    /* a state that belongs to the receiver: see packed_state.h */
    PARCEL_OBSERVED, /* something that a node was observed to do */
    PARCEL_KIND = 15 /* the bits of the first word that say it */
};

#endif
