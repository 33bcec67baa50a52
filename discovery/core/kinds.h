/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kinds of service discovery. Each row X stands for the configuration key
 * X_sd_configs and for the variable `provider_X` in the file X_sd.c. To remove
 * a kind, delete its row, the file X_sd.c, further files that only this kind
 * uses, and the names of these files in CMakeLists.txt.
 *
 * Threads: any.
 */
#ifndef DISCOVERY_CORE_KINDS_H
#define DISCOVERY_CORE_KINDS_H

#include "discovery/core/provider.h"

#define PROVIDER_KINDS(KIND) \
	KIND(azure)          \
	KIND(consul)         \
	KIND(cri)            \
	KIND(digitalocean)   \
	KIND(dns)            \
	KIND(docker)         \
	KIND(dockerswarm)    \
	KIND(ec2)            \
	KIND(eureka)         \
	KIND(file)           \
	KIND(gce)            \
	KIND(hetzner)        \
	KIND(http)           \
	KIND(kubernetes)     \
	KIND(linode)         \
	KIND(marathon)       \
	KIND(nomad)          \
	KIND(openstack)      \
	KIND(puppetdb)

#define PROVIDER_DECLARE(name) \
	extern const struct provider_kind provider_##name;
PROVIDER_KINDS(PROVIDER_DECLARE)

#endif
