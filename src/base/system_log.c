/* syslog(3). */
#include "base/system_log.h"

#include <syslog.h>

void
system_log_open(const char *name)
{
	openlog(name, LOG_PID, LOG_USER);
}

void
system_log_write(enum system_log_priority priority, const char *text)
{
	static const int level[] = {
		[SYSTEM_LOG_ERROR] = LOG_ERR, [SYSTEM_LOG_WARNING] = LOG_WARNING,
		[SYSTEM_LOG_INFO] = LOG_INFO,
	};

	syslog(level[priority], "%s", text);
}
