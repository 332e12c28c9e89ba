// SPDX-License-Identifier: MIT
/* The other members' part in LOCKS, WAITERS and ASKBACK: how they are asked, and how they answer. */
#ifndef CONCLAVE_SERVICE_LISTING_PAGES_H
#define CONCLAVE_SERVICE_LISTING_PAGES_H

#include "service/listing.h"

/* Asks all other members. */
void listing_ask(struct listing *listing);
/* Another member asks. */
void listing_hear_question(struct cv_service *service, const struct peer_notice *notice);
/* Another member answers. */
void listing_hear_page(struct cv_service *service, const struct peer_notice *notice);

#endif
