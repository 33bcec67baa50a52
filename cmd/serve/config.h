/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The configuration file (docs/configuration.md).
 *
 * Ownership: a config owns its text and everything that was decoded from it.
 * Threads: immutable once loaded.
 */
#ifndef CMD_SERVE_CONFIG_H
#define CMD_SERVE_CONFIG_H

#include "base/yaml.h"
#include "cmd/serve/ebpf_config.h"
#include "push/labels/push_config.h"
#include "remotewrite/send/remote_write_config.h"
#include "scrape/target/scrape_config.h"

/* A loaded configuration file. */
struct config {
	char *path;
	struct buf text;
	/* parsed text, with all errors and warnings */
	struct yaml yaml;
	/* options for all jobs, from the section "global" */
	struct scrape_common defaults;
	struct label *external_labels;
	size_t external_label_count;
	struct scrape_configs scrape;
	struct remote_write_configs remote_write;
	struct ebpf_config ebpf;
	struct push_config push;
};

/*
 * Read and decode a regular file. ERR_INVALID: the file has mistakes;
 * yaml.errors has all of them, one on each line. If the file cannot be read,
 * the error is only in *err. Call config_fini() in any case.
 */
NODISCARD int config_load(struct config *c, const char *path, struct err *err);

/*
 * Read and decode a file that may also be a pipe, for the command line. Errors
 * and ownership are as in config_load().
 */
NODISCARD int config_drain(struct config *c, const char *path, struct err *err);

/*
 * Decode a text; `path` is used in messages. The text is copied. Errors and
 * ownership are as in config_load().
 */
NODISCARD int config_parse(struct config *c, const char *path,
			   struct bytes text, struct err *err);

/* Print all warnings, then all errors, on stderr. */
void config_report(const struct config *c);

/* Free everything that the config owns. */
void config_fini(struct config *c);

#endif
