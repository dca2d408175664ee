/*
 * `node status`: who is in a job, how they are and what they do.
 *
 * The jobs of this user on this host, told by the tables that their coordinators write; or
 * with --join ADDRESS what the coordinator there answers, with the keys of the spec.
 */
#ifndef CMD_NODE_STATUS_H
#define CMD_NODE_STATUS_H

#include "cmd/command.h"

enum rs_status node_status(const struct arguments *a);

#endif
