/*
 * Hashes: FarmHash Fingerprint64 (variant "na", MIT licence, notice in hash.c),
 * the feature-cross combiner of TensorFlow, CRC32C (hardware where the processor
 * has it) and a 64-bit mixer.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

uint64_t hash_fingerprint64(const void *bytes, size_t n);
uint64_t hash_cat(uint64_t a, uint64_t b);
uint32_t hash_crc32c(uint32_t crc, const void *bytes, size_t n);  /* start with 0 */
uint32_t hash_crc32c_mask(uint32_t crc);                          /* TFRecord form */

/* Finaliser of SplitMix64: a bijection of 64 bits. */
static inline uint64_t
hash_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

#endif
