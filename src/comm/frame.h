/*
 * The header of every message between processes: 64 bytes, little-endian, then the body
 * in one or more parts.
 *
 *	 0  "RST1"                  24  request u64        48  step u64
 *	 4  version u8, flags u8    32  lease u64          56  body_bytes u32
 *	 6  type u16                40  slot u32           60  crc u32
 *	 8  job u64                 44  attempt u16, chunk u16
 *	16  epoch u32, source u32
 *
 * crc is CRC32C over bytes [0,60) and the body.  frame_decode() and frame_check() trust
 * nothing: whatever the bytes, they return RS_OK or RS_EPROTOCOL.
 */
#ifndef COMM_FRAME_H
#define COMM_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define FRAME_BYTES    64
#define FRAME_MAGIC    "RST1"
#define FRAME_VERSION  1
#define FRAME_BODY_MAX ((size_t)64 << 20)
#define FRAME_KEYS_MAX ((size_t)1 << 24)   /* of one pull or push                   */

/* Numbers are for ever. */
#define FRAME_TABLE(ROW) \
	ROW(HELLO,        1, "a node asks the coordinator to be let in") \
	ROW(WELCOME,      2, "its number, incarnation and the view") \
	ROW(RENEW,        3, "a node is alive and so far along") \
	ROW(RENEW_ACK,    4, "what the node is to do") \
	ROW(VIEW,         5, "who is a member") \
	ROW(STATUS,       6, "somebody asks for the table of nodes") \
	ROW(STATUS_R,     7, "the table of nodes") \
	ROW(DATA_GET,    10, "a worker asks for a range of the data") \
	ROW(DATA_GRANT,  11, "a lease on a range") \
	ROW(DATA_DONE,   12, "a range is trained") \
	ROW(DATA_REVOKE, 13, "a lease is void") \
	ROW(INIT_TABLE,  20, "the tables of a shard") \
	ROW(PULL,        21, "rows wanted") \
	ROW(PULL_R,      22, "rows") \
	ROW(PUSH,        23, "gradients of a step") \
	ROW(PUSH_R,      24, "they are staged or applied") \
	ROW(SUM,         25, "a part of a dense sum") \
	ROW(GATHER,      26, "a rank's part of what all are to have") \
	ROW(COLLECT_R,   27, "the sum, or what was gathered") \
	ROW(SNAP_GET,    28, "rows wanted with their optimizer state") \
	ROW(SNAP_PUT,    29, "rows set with their optimizer state") \
	ROW(SNAP_R,      30, "such rows, or done") \
	ROW(STATS,       31, "what a shard counted") \
	ROW(STATS_R,     32, "its counts") \
	ROW(OFFER,       33, "asks what a shard can go on from") \
	ROW(OFFER_R,     34, "its tables and steps") \
	ROW(COPY,        35, "journal of a shard, for another one to keep") \
	ROW(COPY_GET,    36, "a piece of such a copy wanted") \
	ROW(COPY_R,      37, "how far it is kept, or the piece") \
	ROW(WAITING_GET, 38, "who waits for a row in a segment, wanted") \
	ROW(WAITING_PUT, 39, "the same, set") \
	ROW(BYE,         40, "the sender leaves in order") \
	ROW(ACK,         41, "done") \
	ROW(ERROR,       42, "refused: status, text, hint") \
	ROW(WAITING_R,   43, "who waits in a segment, or done") \
	ROW(CHANGES,     44, "what changed of a table, wanted or to be forgotten") \
	ROW(CHANGES_R,   45, "what changed, or done")

enum frame_type {
#define ROW(name, number, text) FRAME_##name = number,
	FRAME_TABLE(ROW)
#undef ROW
};

enum frame_flag {
	FRAME_INT8 = 1, FRAME_FP16 = 2, FRAME_RETRY = 4, FRAME_MORE = 8, FRAME_TRAINING = 16,
	FRAME_FLAGS = 31            /* all that are known; others are refused         */
};

struct frame {
	uint16_t type;
	uint8_t  flags;
	uint64_t job;
	uint32_t epoch, source;     /* epoch of the view; number of the sending node  */
	uint64_t request;           /* chosen by who asks, repeated in the answer     */
	uint64_t lease;
	uint32_t slot;
	uint16_t attempt, chunk;
	uint64_t step;
	uint32_t body_bytes, crc;   /* filled by frame_encode()                       */
};

struct frame_part { const void *data; size_t n; };

/* RS_ERESOURCE: more than FRAME_BODY_MAX. */
enum rs_status frame_encode(const struct frame *f, const struct frame_part *part, size_t n_parts,
	uint8_t out[FRAME_BYTES]);
/* The header alone: magic, version, known type, known flags, size. */
enum rs_status frame_decode(const void *bytes, size_t n, struct frame *out);
/* The body against the header: length and CRC. */
enum rs_status frame_check(const struct frame *f, const uint8_t header[FRAME_BYTES],
	const struct frame_part *part, size_t n_parts);
const char *frame_type_name(uint16_t type);         /* "PULL", or NULL             */

#endif
