/* The commands and the options that all of them have. */
#include "cmd/command.h"

const struct command *const command_table[] = {
#define ROW(name) &command_##name,
	COMMAND_LIST(ROW)
#undef ROW
	NULL,
};

const struct command_option command_global[] = {
	{ .name = "--help", .letter = 'h', .text = "print this and exit" },
	{ .name = "--version", .text = "print version and compiled features and exit" },
	{ .name = "--set", .letter = 'o', .argument = "SECTION.KEY=VALUE", .repeats = 1,
	  .text = "override one key of the spec, with the checks of the file" },
	{ .name = "--layer", .argument = "FILE", .repeats = 1,
	  .text = "read FILE over the spec" },
	{ .letter = 'C', .name = "--directory", .argument = "DIR",
	  .text = "act as if started in DIR" },
	{ .name = "--db", .argument = "FILE",
	  .text = "run database; by default runs.db beside the model directory" },
	{ .name = "--quiet", .letter = 'q',
	  .text = "print only errors, and damage that is passed over" },
	{ .name = "--verbose", .letter = 'v', .repeats = 1, .text = "print more; twice: for "
	  "debugging" },
	{ .name = "--log-file", .argument = "FILE", .text = "append every message to FILE as "
	  "well" },
	{ .name = "--log-format", .argument = "text|json", .dflt = "text",
	  .text = "form of the log file" },
	{ .name = "--progress", .letter = 'P', .argument = "N|F|none|kv|json",
	  .text = "progress every N rows, at rows times F (2.0: 1, 2, 4, 8 ...), "
		"or for programs: key=value blocks, JSON lines" },
	{ .name = "--progress-fd", .argument = "N", .dflt = "2",
	  .text = "file descriptor of kv and json progress" },
	{ .name = "--json", .text = "results as JSON; a fatal error also as an exit_error line "
	  "on standard error" },
	{ .name = "--color", .argument = "auto|never|always", .dflt = "auto",
	  .text = "colours; auto: on a terminal, unless NO_COLOR is set" },
	{ .name = "--threads", .letter = 'j', .argument = "N", .dflt = "0",
	  .text = "threads; 0: as many as the affinity mask and the control group allow" },
	{ .name = "--lock-wait", .argument = "TIME", .dflt = "0",
	  .text = "wait so long for a lock before exit 75" },
	{ .name = "--dry-run", .letter = 'n', .text = "say what would be done, write nothing" },
	{ .name = NULL },
};
