/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/serve_rights.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

void rights_forbid_cores(void)
{
	const struct rlimit none = { 0 };

	if (prctl(PR_SET_DUMPABLE, 0) || setrlimit(RLIMIT_CORE, &none)) {
		/* If this fails, the system's own settings stay in force. */
	}
}

void rights_warn(const struct log *log, const char *web_config)
{
	struct stat st;

	if (!geteuid())
		log_event(
			log, LOG_WARN,
			"everprof runs as root, which it does not need; run it as a separate user",
			NULL);
	if (web_config && !stat(web_config, &st) &&
	    st.st_mode & (S_IROTH | S_IWOTH))
		log_event(
			log, LOG_WARN,
			"every user of this machine can access the file of --web.config.file; run chmod o= on it",
			LOG_FIELDS(log_text("file", web_config)));
}
