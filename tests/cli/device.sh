#!/bin/sh
# placement.device: without a GPU auto trains on the CPU and says why where the build has CUDA,
# cpu says nothing, cuda is refused with 69, and the model is the same.  With one auto and cuda
# train there and say so, within gpu.memory_limit.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
make_rows 500 1 >train.tsv
make_spec s.ini
expect 0 "$T" --version
has_cuda=$(grep -c ' cuda[ ;]' out)

# Lists that are wrong whatever GPUs there are.
expect 78 "$T" plan s.ini -o gpu.devices=0,1,0
says 'gpu.devices: 0 is there twice'
all=$(awk 'BEGIN { for (i = 0; i < 33; i++) printf "%s%d", (i > 0 ? "," : ""), i }')
expect 78 "$T" plan s.ini -o gpu.devices="$all"
says 'gpu.devices: 33 GPUs are listed, at most 32 can be used'
expect 0 "$T" plan s.ini -o gpu.devices="$all" -o placement.device=cpu

expect 0 "$T" train s.ini -f auto -P 2.0 -o gpu.memory_limit=1G
if grep -q '^on the GPU: .' err; then
	expect 0 "$T" train s.ini -f cuda -o placement.device=cuda
	expect 0 "$T" runs show last --json
	prints '"kernel":"cuda"'
	expect 0 "$T" train s.ini -f first -P 2.0 -o gpu.devices=0
	expect 69 "$T" train s.ini -f none -o gpu.devices=0,99
	says 'gpu.devices: there is no GPU 99'
	expect 78 "$T" train s.ini -f none -o gpu.devices=0,0
	expect 0 "$T" eval cuda train.tsv
	expect 0 "$T" train s.ini -f brain -o placement.device=cuda -o train.precision=bf16 \
		-o dnn.hidden=32,16
	expect 0 "$T" eval brain train.tsv
	expect 0 "$T" plan s.ini
	grep -q '^device     cuda: .' out || { cat out >&2; exit 1; }
	expect 71 "$T" train s.ini -f little -o placement.device=cuda -o gpu.memory_limit=1M
	says 'gpu.memory_limit is 1.0 MiB'
	exit 0
fi
[ "$(grep -c '^on the CPU: .' err)" -eq "$has_cuda" ] || { cat err >&2; exit 1; }
expect 0 "$T" train s.ini -f cpu -P 2.0 -o placement.device=cpu
grep -q '^on the CPU' err && { cat err >&2; exit 1; }
dump auto >auto.dump
dump cpu >cpu.dump
same auto.dump cpu.dump 'placement.device changed the model'

expect 69 "$T" train s.ini -f cuda -o placement.device=cuda
says 'placement.device = cuda: '
says 'set placement.device = auto or cpu'
[ "$has_cuda" -eq 1 ] || says 'this build has no CUDA (--with-cuda)'
[ ! -e cuda ] || { echo 'a refused run left a model' >&2; exit 1; }
expect 69 "$T" train s.ini -f cuda -o placement.device=cuda -o train.precision=bf16
says 'placement.device = cuda: '
expect 69 "$T" train s.ini -f cuda -o placement.device=cuda -o cluster.workers=2
[ ! -e cuda ] || { echo 'a refused run left a model' >&2; exit 1; }
# Tables that have to be on a GPU: there is none, or the spec keeps to the CPU itself.
expect 69 "$T" train s.ini -f cuda -o gpu.tables=gpu
says 'gpu.tables = gpu: '
expect 78 "$T" train s.ini -f cuda -o gpu.tables=gpu -o placement.device=cpu
says 'gpu.tables = gpu: placement.device = cpu'
says 'set gpu.tables = auto or host'
[ ! -e cuda ] || { echo 'a refused run left a model' >&2; exit 1; }
# A plan says what train will do.
expect 78 "$T" plan s.ini -o gpu.tables=gpu -o placement.device=cpu
expect 69 "$T" plan s.ini -o placement.device=cuda
says 'set placement.device = auto or cpu'
expect 0 "$T" plan s.ini -o gpu.devices="${all%,32}"
expect 0 "$T" plan s.ini
[ "$(grep -c '^device     cpu: .' out)" -eq "$has_cuda" ] || { cat out >&2; exit 1; }
expect 0 "$T" plan s.ini -o placement.device=cpu --json
prints '"device":"cpu","device_reason":null,'
# Where there is none it does not matter which.
expect 0 "$T" train s.ini -f auto --fresh -o gpu.devices=3,1
expect 78 "$T" check s.ini -o gpu.devices=-1
expect 78 "$T" check s.ini -o placement.device=tpu
says 'cuda'
exit 0
