/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file: docs/configuration.md.
 *
 * Ownership: a config owns the text and all that was decoded from it.
 * Threads: immutable once loaded.
 */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "base/yaml.h"
#include "scrape/scrape_config.h"

struct config {
	char *path;
	struct buf text;
	struct yaml yaml; /* with all errors and warnings */
	struct scrape_common defaults;
	struct label *external_labels;
	size_t external_label_count;
	struct scrape_configs scrape;
};

/*
 * Read and decode. ERR_INVALID: yaml.errors has every error, a line each;
 * others (the file cannot be read) are in err alone. Call config_fini()
 * whatever happens.
 */
NODISCARD int config_load(struct config *c, const char *path, struct err *err);

/* The same of a pipe, too. */
NODISCARD int config_drain(struct config *c, const char *path, struct err *err);

/* The same from text that is at hand. */
NODISCARD int config_parse(struct config *c, const char *path,
			   struct bytes text, struct err *err);

/* Print warnings and errors on stderr. */
void config_report(const struct config *c);

void config_fini(struct config *c);

#endif
