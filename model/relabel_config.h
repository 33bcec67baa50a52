/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Relabelling rules from YAML, checked as Prometheus checks them. The public
 * functions are in relabel.h.
 *
 * Ownership, threads: those of the rules.
 */
#ifndef MODEL_RELABEL_CONFIG_H
#define MODEL_RELABEL_CONFIG_H

#include "model/relabel.h"

#endif
