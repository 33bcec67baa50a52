/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gauge everprof_targets by job and health, for alerts.
 *
 * Ownership: the list of shown jobs belongs to the scraper.
 * Threads: any; the list is guarded by scraper.gauges_mu.
 */
#ifndef SCRAPE_RUN_TARGET_GAUGES_H
#define SCRAPE_RUN_TARGET_GAUGES_H

#include "scrape/run/scrape.h"
#include "scrape/run/scraper.h"

/*
 * Free the list of jobs that have a gauge. The gauges themselves are set by
 * scrape_update_metrics() of scrape.h.
 */
void target_gauges_free(struct scraper *s);

#endif
