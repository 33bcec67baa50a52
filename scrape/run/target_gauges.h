/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gauges of targets by job and health, for alerts.
 *
 * Ownership: those of the scraper.
 * Threads: any; the scraper's locks.
 */
#ifndef SCRAPE_RUN_TARGET_GAUGES_H
#define SCRAPE_RUN_TARGET_GAUGES_H

#include "scrape/run/scraper.h"
#include "scrape/scrape.h"

/* health.c */
void target_gauges_free(struct scraper *s);

#endif
