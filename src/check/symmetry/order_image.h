// SPDX-License-Identifier: MIT
/*
 * The orders of requests that are left out because they are images of the searched order under other names (`alike` in
 * an algorithm's table). This test takes every computed step in each of these orders as well, by the node of the other
 * name. order_image.c says how.
 */
#ifndef CONCLAVE_CHECK_SYMMETRY_ORDER_IMAGE_H
#define CONCLAVE_CHECK_SYMMETRY_ORDER_IMAGE_H

#include "check/step/stepper.h"

/* Registers the test with the model, if its order of requests has images. 0 or CV_ENOMEM. */
int order_images_register(struct model *model);

#endif
