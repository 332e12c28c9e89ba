// SPDX-License-Identifier: MIT
/* Crashes, recoveries, cuts and suspicions happen when they are planned, and the detector tells of them. */
#ifndef CONCLAVE_SIM_FAULTS_H
#define CONCLAVE_SIM_FAULTS_H

#include "sim/world.h"

int faults_plan(struct cv_sim *sim);
void faults_free(struct cv_sim *sim);

/* Does what is planned for now. */
void faults_happen(struct cv_sim *sim);
void faults_plan_view(struct cv_sim *sim, uint64_t time, cv_node coordinator);
uint64_t faults_next(const struct cv_sim *sim); /* when the next is planned, or CV_NEVER */

/* The node dies; the others are told in time, unless it is dead before the run. */
void faults_crash(struct cv_sim *sim, cv_node node, bool told);
bool faults_present(const struct cv_self *me, cv_node node);

/* Strikes out what is on its way to a node; CV_NOBODY: to anybody. */
void faults_void_mail(struct cv_sim *sim, cv_node node);
bool faults_suspected(const struct cv_self *me, cv_id id);

/* Is the direct way between two nodes cut now? */
bool faults_cut(const struct cv_sim *sim, cv_node one, cv_node other);

/* Labels each node with the part of the network it is in now; the dead are UNREACHABLE. */
void faults_parts(const struct cv_sim *sim, uint32_t *part);

#endif
