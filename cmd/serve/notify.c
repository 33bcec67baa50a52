/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The protocol of systemd's sd_notify(), which is simple enough to implement
 * without systemd's library.
 */
#include "cmd/serve/notify.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/env.h"

/*
 * Send one datagram. Errors are ignored: the server works without being able to
 * report its state.
 */
static void send_state(const char *state)
{
	const char *path = env_find(NOTIFY_VARIABLE);
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t len = path ? strlen(path) : 0;
	int fd;

	if (!len || len >= sizeof(to.sun_path) ||
	    (*path != '/' && *path != '@'))
		return;
	memcpy(to.sun_path, path, len);
	/* @ stands for the zero byte of an abstract socket. */
	if (*path == '@')
		to.sun_path[0] = 0;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, state, strlen(state), MSG_NOSIGNAL,
		     (const struct sockaddr *)&to,
		     (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	close(fd);
}

void notify_ready(const char *url)
{
	char text[512];

	snprintf(
		text, sizeof(text),
		"READY=1\nSTATUS=scraping targets and answering requests at %s\n" NOTIFY_URL
		"=%s",
		url, url);
	send_state(text);
}

void notify_reloading(void)
{
	char text[80];

	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%lld",
		 (long long)(clock_mono_ns() / 1000));
	send_state(text);
}

void notify_stopping(void)
{
	send_state("STOPPING=1");
}
