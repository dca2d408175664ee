/* Every command, in the order of the help.  ROW(x): cmd/x.c defines
 * `const struct command command_x`. */
#ifndef CMD_COMMAND_LIST_H
#define CMD_COMMAND_LIST_H

#define COMMAND_LIST(ROW) \
	ROW(init) \
	ROW(check) \
	ROW(plan) \
	ROW(train) \
	ROW(node) \
	ROW(launch) \
	ROW(eval) \
	ROW(predict) \
	ROW(recommend) \
	ROW(inspect) \
	ROW(audit) \
	ROW(export) \
	ROW(runs) \
	ROW(rollback) \
	ROW(gc) \
	ROW(synth) \
	ROW(bench) \
	ROW(k8s) \
	ROW(keygen) \
	ROW(completion) \
	ROW(help)

#endif
