/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decoding of relabelling rules from YAML, with the checks that Prometheus
 * makes. The public functions are declared in relabel.h.
 *
 * Ownership: as for the rules in relabel.h.
 * Threads: as for the rules in relabel.h.
 */
#ifndef MODEL_RELABEL_CONFIG_H
#define MODEL_RELABEL_CONFIG_H

#include "model/relabel.h"

#endif
