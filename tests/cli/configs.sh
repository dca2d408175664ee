#!/bin/sh
# Specs of configs/: each parses, and those for small samples train.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
D=$RECSYS_DATA

[ -d "$D" ] || { echo "no data in '$D' (RECSYS_DATA)"; exit 77; }
export RECSYS_DATA

# What the specs read through variables of their own.
mkdir lastfm
export LASTFM="$PWD/lastfm" TAOBAO="$PWD/taobao.csv" MOVIELENS="$PWD/movielens.csv"

for spec in "$SRCDIR"/configs/*-*.ini; do    # those without a dash are layers
	expect 0 "$T" check "$spec" --strict
	head -1 "$spec" | grep -q '^# ' || { echo "$spec says nothing"; exit 1; }
	grep -q 'Expected\|Measured' "$spec" || { echo "$spec: what is to be expected?"; exit 1; }
	grep -q "recsys-train train configs/${spec##*/}" "$spec" ||
		{ echo "$spec: how is it run?"; exit 1; }
done

# trains SPEC FILE OPTIONS...: when the file is there, and every row of it is trained.
trains() {
	spec=$1
	[ -f "$2" ] || { echo "$spec is skipped: no '$2'"; return 0; }
	shift 2
	expect 0 "$T" train "$SRCDIR/configs/$spec.ini" -f "m-$spec" -j 1 -P none --json "$@"
	grep -q '"status":"ok".*"rows_skipped":0' out || { cat out; exit 1; }
}

S=$D/alibaba_samples
trains amazon-din "$S/din_amazon_elec_100.txt"
trains fuxictr-din "$D/fuxictr_tiny/tiny_csv_train.csv"
trains aliccp-deepfm "$S/ali_ccp_train_100.csv"
trains taobaoad-dlrm "$D/tfrecord/fuxictr_taobaoad_train.tfrecord"
trains aliexpress-dcn "$S/aliexpress_train_100.csv"
if [ -f "$S/taobao_UserBehavior_head.csv" ]; then
	sh "$SRCDIR/share/convert/behaviours" -l 20 "$S/taobao_UserBehavior_head.csv" |
		head -1500 >"$TAOBAO"
fi
trains taobao-din "$TAOBAO"
M=$D/ml1m_sample
if [ -f "$M/ratings_100k.dat.gz" ]; then
	sh "$SRCDIR/share/convert/movielens" "$M/ratings_100k.dat.gz" "$M/movies.dat" \
		"$M/users.dat" | head -5000 >"$MOVIELENS"
fi
trains ml1m-dlrm "$MOVIELENS"
if [ -f "$D/s3rec_seq/LastFM.txt" ]; then
	head -30 "$D/s3rec_seq/LastFM.txt" >sequences
	expect 0 sh "$SRCDIR/share/convert/s3rec" -l 20 sequences \
		"$D/s3rec_seq/LastFM_item2attributes.json" "$D/s3rec_seq/LastFM_sample99.txt" lastfm
fi
trains lastfm-din lastfm/train.csv -o train.epochs=1

# Published figures: logistic regression .9190, KGCN .796 and logistic regression .782;
# EASE .0820.
trains adult-wide_deep "$D/adult/adult.data.gz"
if [ -d m-adult-wide_deep ]; then
	gzip -dc "$D/adult/adult.test.gz" | sed '1d; s/\.$//' >adult.test
	expect 0 "$T" eval m-adult-wide_deep adult.test --require 'auc>=0.92'
fi
A=$D/amazonelectronics_m1
trains amazonelectronics-two_tower "$A/train.txt"
if [ -d m-amazonelectronics-two_tower ]; then
	expect 0 "$T" eval m-amazonelectronics-two_tower "$A/test.txt" --require 'ndcg@20>=0.082'
fi
trains kgcn_lastfm-deepfm "$D/kgcn_lastfm/train.txt"
if [ -d m-kgcn_lastfm-deepfm ]; then
	expect 0 "$T" eval m-kgcn_lastfm-deepfm "$D/kgcn_lastfm/test.txt" --require 'auc>=0.79'
fi
exit 0
