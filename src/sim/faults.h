// SPDX-License-Identifier: MIT
/* Crashes, recoveries, cuts and suspicions happen as planned, and the detector reports them. */
#ifndef CONCLAVE_SIM_FAULTS_H
#define CONCLAVE_SIM_FAULTS_H

#include "sim/world.h"

int faults_plan(struct cv_sim *sim);
void faults_free(struct cv_sim *sim);

/* Carries out the events that are planned for this tick. */
void faults_happen(struct cv_sim *sim);
void faults_plan_view(struct cv_sim *sim, uint64_t time, cv_node coordinator);
uint64_t faults_next(const struct cv_sim *sim); /* the time of the next planned event, or CV_NEVER */

/* The node dies. The detector will report it, unless the node is dead from the start. */
void faults_crash(struct cv_sim *sim, cv_node node, bool told);
bool faults_present(const struct cv_self *me, cv_node node);

/* Strikes out the messages under way to a node; CV_NOBODY: to all nodes. */
void faults_void_mail(struct cv_sim *sim, cv_node node);
bool faults_suspected(const struct cv_self *me, cv_id id);

/* Is the link between two nodes cut now? */
bool faults_cut(const struct cv_sim *sim, cv_node one, cv_node other);

/* Labels each node with its part of the network; dead nodes are UNREACHABLE. */
void faults_parts(const struct cv_sim *sim, uint32_t *part);

#endif
