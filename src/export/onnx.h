/*
 * ONNX files: IR 8, operator set 17, the default domain alone.
 *
 * Inputs and outputs have the names and shapes of the program; N and the L of each list are
 * free.  Tables of more than `inline_bytes` in all lie in PATH.data beside the file, each from
 * a multiple of 4096 bytes on, so that readers map them; constants are always inside.  A file
 * ends with a property that is the CRC32C of all before it; sizes and sum of PATH.data are
 * properties as well.
 */
#ifndef EXPORT_ONNX_H
#define EXPORT_ONNX_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "export/program.h"

#define ONNX_INLINE_BYTES ((uint64_t)64 << 20)

struct onnx_property { const char *key, *value; };

struct onnx_options {
	uint64_t inline_bytes;
	const struct onnx_property *property;      /* [n_properties] metadata_props    */
	size_t n_properties;
};

/* Properties. */
#define ONNX_DATA_BYTES "recsys.data.bytes"
#define ONNX_DATA_CRC   "recsys.data.crc32c"
#define ONNX_INPUTS_CRC "recsys.inputs.crc32c"     /* of PATH.inputs.json, by the caller */
#define ONNX_CRC        "recsys.crc32c"

/* The end of a file: the property of its sum, as a part of the message. */
enum { ONNX_TAIL = 2 + 2 + sizeof ONNX_CRC - 1 + 2 + 8 };
void onnx_tail(uint32_t crc, char *out);           /* [ONNX_TAIL + 1] */

/* Writes PATH and, when there is one, PATH.data; each is complete or absent. */
enum rs_status onnx_write(const struct program *p, const char *path,
	const struct onnx_options *options, int *has_data);

/* A file read back: the program that its nodes are, and its tables. */
struct onnx_file;
enum rs_status onnx_read(const char *path, struct onnx_file **out);   /* else RS_EDATA */
void onnx_close(struct onnx_file *f);
/* PATH.inputs.json is as its property says. */
enum rs_status onnx_check_inputs(const struct onnx_file *f, const char *path);
/* Its features have names only; N and L are as in the file. */
const struct program *onnx_program(const struct onnx_file *f);
/* For struct program_feed; context is the file. */
const float *onnx_row(void *context, size_t table, uint64_t id);

#endif
