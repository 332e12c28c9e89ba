// SPDX-License-Identifier: MIT
/* The rounds of synchronizers, and the results of algorithms. */
#ifndef CONCLAVE_SIM_ROUNDS_H
#define CONCLAVE_SIM_ROUNDS_H

#include "sim/world.h"

int rounds_init(struct cv_sim *sim);
void rounds_free(struct cv_sim *sim);

/* A worker of a shared run keeps the rounds of its nodes, and what it hears of those at other workers. */
int rounds_init_worker(struct cv_sim *worker, const struct cv_sim *world);
void rounds_free_worker(struct cv_sim *worker);

/* Such a worker delivers a message, has some left at the end, has heard from another worker, or has come to the end. */
void rounds_receive(struct cv_sim *worker, const struct cv_message *message);
void rounds_leave(struct cv_sim *worker, const struct cv_message *first, uint32_t further);
void rounds_hear(struct cv_sim *worker, struct elsewhere_pulse pulse);
void rounds_compare(struct cv_sim *worker);

/* For gathering a shared run: what is known of a node, as bytes. */
#define ROUNDS_NODE_BYTES 20u
void rounds_pack(const struct cv_sim *world, cv_node node, unsigned char *bytes);
void rounds_unpack(struct cv_sim *world, cv_node node, const unsigned char *bytes);

/* The same for a checkpoint, with what a worker remembers. A worker reads that of every node, here and elsewhere. */
#define ROUNDS_WORKER_BYTES (ROUNDS_NODE_BYTES + 4u + 32u)
void rounds_save(const struct cv_sim *worker, cv_node node, unsigned char *bytes);
void rounds_restore(struct cv_sim *worker, cv_node node, const unsigned char *bytes);

/* The step began a round; its messages are still in the outbox. */
void rounds_pulse(struct cv_sim *sim);

/* The step has a result. */
void rounds_result(struct cv_sim *sim);
void rounds_stand(const struct cv_sim *sim, cv_node node, struct cv_standing *standing);
void rounds_tell(struct cv_sim *sim); /* fills in the run, for the judges */

#endif
