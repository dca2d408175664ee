#!/bin/sh
# Malformed inputs through the program: none crashes, none hangs, none succeeds in
# silence; each has its exit code and a message with its place.  Cases that are good
# data in spite of their looks end with 0.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
T=$RECSYS_TRAIN
n_runs=0
n_failed=0

# run CODE PATTERN COMMAND...: the exit code, and the errors match the pattern.
run() {
	want=$1 pattern=$2
	shift 2
	n_runs=$((n_runs + 1))
	got=0
	timeout -k 9 300 "$@" >out 2>err || got=$?
	why=
	[ "$got" = "$want" ] || why="exit $got, wanted $want"
	case $got in
	124) why='it hangs' ;;
	132|134|135|136|137|139) why="it crashed ($got)" ;;
	esac
	[ -z "$pattern" ] || grep -qE -- "$pattern" err || why="$why; no '$pattern'"
	[ "$want" = 0 ] || [ -s err ] || why="$why; no message"
	[ "$(wc -c <err)" -le 2000 ] || why="$why; a message of $(wc -c <err) bytes"
	[ -z "$why" ] && return
	n_failed=$((n_failed + 1))
	echo "FAIL: $case: $*: ${why#; }" >&2
	head -c 1500 err >&2
}

# try SPEC COMMANDS CODE PATTERN FILE: a letter a command; @ in the pattern is the file.
#   c check --data=all, t train, e eval, p predict; i, E, P: from standard input;
#   x train from a command; z train from gzip, Z predict from gzip
try() {
	spec=$1 letters=$2 code=$3 wanted=$4 file=$5
	for letter in $(echo "$letters" | sed 's/./& /g'); do
		name=$file
		case $letter in
		i|E) name=- ;;
		P) name='standard input' ;;
		x) name="cat $file" ;;
		z|Z) name=$file.gz; [ -e "$name" ] || gzip -c "$file" >"$name" ;;
		esac
		place=$(echo "$wanted" | sed "s|@|$name|")
		rm -rf new
		case $letter in
		c) run "$code" "$place" "$T" check "$spec.ini" -o "data.train=$name" --data=all ;;
		t|z) run "$code" "$place" "$T" train "$spec.ini" -f new -d "$name" ;;
		i) run "$code" "$place" "$T" train "$spec.ini" -f new -d - <"$file" ;;
		x) run "$code" "$place" "$T" train "$spec.ini" -f new --data-command "$name" ;;
		e) run "$code" "$place" "$T" eval "model.$spec" "$name" ;;
		p|Z) run "$code" "$place" "$T" predict "model.$spec" "$name" ;;
		E) run "$code" "$place" "$T" eval "model.$spec" - <"$file" ;;
		P) run "$code" "$place" "$T" predict "model.$spec" - <"$file" ;;
		*) echo "no command '$letter'" >&2; exit 1 ;;
		esac
		[ "$code" = 0 ] || [ "$code" = 3 ] || [ ! -e new/CURRENT ] ||
			{ echo "FAIL: $case: a failed train left a model" >&2; n_failed=$((n_failed + 1)); }
	done
}

good() { # SPEC N: good rows
	for i in $(seq "$2"); do
		case $1 in
		tsv|skip) printf '1\tu1\ti1\t0.5\t7\n' ;;
		csv) printf '1,u1,i1,0.5,7\n' ;;
		svm) printf '1 1:1 2:0.5\n' ;;
		fm) printf '1 0:1 2:0.5\n' ;;
		ffm) printf '1 0:u1:1 1:i1:1 1:i2:2 2:x:0.5\n' ;;
		lists) printf '1\t1\ta:1|b:2\tp|q\n' ;;
		pairs) printf 'u1 i1 i2\n' ;;
		pskip) printf 'u1 1 2\n' ;;
		soft) printf '0.25\ta\n' ;;
		real) printf -- '-3.5\ta\n' ;;
		esac
	done
}

plain='[field user]
column = 2
buckets = 50
[field item]
column = 3
buckets = 50
[field x]
column = 4
type = numeric
transform = log1p
[field k]
column = 5
id_type = int
buckets = 50'

make_specs() {
	small='[embedding]\nbuckets = 50\n'
	head="[model]\ntype = fm\n$small[data]\n"
	printf "${head}train = tsv\nlabel = 1\n%s\n" "$plain" >tsv.ini
	printf "${head}train = skip\nlabel = 1\non_bad_row = skip\nmax_bad_rows = 1\n%s\n" "$plain" >skip.ini
	printf "${head}train = csv\nlabel = label\nformat = csv\nheader = yes\n%s\n" "$plain" |
		sed 's/column = 2/column = user/; s/column = 3/column = item/' >csv.ini
	features='[field f]\ntype = multi\nbuckets = 50\n'
	printf "${head}train = svm\nformat = libsvm\nindex_base = 1\n$features" >svm.ini
	printf "${head}train = fm\nformat = libfm\n$features" >fm.ini
	printf "${head}train = ffm\nformat = libffm\nindex_base = 0\n" >ffm.ini
	printf '[field %s]\ncolumn = %d\n%s\n' a 0 'buckets = 50' b 1 'type = multi' x 2 'type = numeric' >>ffm.ini
	printf "${head}train = lists\nlabel = 1\nweight = 2\n[field m]\ncolumn = 3\ntype = multi\nbuckets = 50\n" >lists.ini
	printf 'weight_separator = ":"\nmax_length = 3\n[field s]\ncolumn = 4\ntype = sequence\nbuckets = 50\n' >>lists.ini
	printf "${head}train = pairs\nformat = lists\n[field user]\nbuckets = 50\n" >pairs.ini
	printf '[field item]\nid_type = text\nbuckets = 50\n[field history]\ntype = sequence\n' >>pairs.ini
	printf 'buckets = 50\n[items]\nkey = item\n' >>pairs.ini
	sed 's/^train = pairs/train = pskip\non_bad_row = skip\nmax_bad_rows = 1/; s/^id_type = text/id_type = int/' pairs.ini >pskip.ini
	printf "${head}train = soft\nlabel = 1\nlabel_type = probability\n[field c]\ncolumn = 2\n" >soft.ini
	printf "[model]\ntype = fm\nloss = mse\n$small[data]\ntrain = real\nlabel = 1\nlabel_type = real\n" >real.ini
	printf '[field c]\ncolumn = 2\n' >>real.ini
}

case=start
make_specs
for spec in tsv skip csv svm fm ffm lists pairs pskip soft real; do
	{ [ $spec = csv ] && echo label,user,item,x,k; good $spec 6; } >$spec
	run 0 '' "$T" train $spec.ini -f model.$spec
	[ -e model.$spec/CURRENT ] || exit 1
done

# NAME|SPEC|COMMANDS|CODE|PATTERN|CONTENT.  CONTENT is a format of printf, put behind
# three good rows and before two more; = at its beginning: it is all of the file.
table() {
	cat <<'END'
label word|tsv|ctexzi|65|@:4:1: error: label 'abc'|abc\tu1\ti1\t0.5\t7\n
label 2|tsv|cte|65|@:4:1: error: label '2'|2\tu1\ti1\t0.5\t7\n
label -1|tsv|cte|65|@:4:1: error: label '-1'|-1\tu1\ti1\t0.5\t7\n
label empty|tsv|cte|65|@:4:1: error: label ''|\tu1\ti1\t0.5\t7\n
label blank|tsv|te|65|@:4:1: error: label ' '| \tu1\ti1\t0.5\t7\n
label nan|tsv|te|65|@:4:1: error: label 'nan'|nan\tu1\ti1\t0.5\t7\n
label 0.5|tsv|te|65|@:4:1: error: label '0.5'|0.5\tu1\ti1\t0.5\t7\n
label of 20 digits|tsv|te|65|@:4:1: error: label '123|12345678901234567890\tu1\ti1\t0.5\t7\n
label with blank|tsv|te|65|@:4:1: error: label '1 '|1 \tu1\ti1\t0.5\t7\n
label 1 in row 1 is no label|tsv|t|65|@:1:1: error: label '3'|=3\tu1\ti1\t0.5\t7\n
label soft above 1|soft|cte|65|@:4:1: error: label '1.5' is not a number from 0 to 1|1.5\ta\n
label soft negative|soft|te|65|@:4:1: error: label '-0.1'|-0.1\ta\n
label soft nan|soft|te|65|@:4:1: error: label 'nan'|nan\ta\n
label real word|real|cte|65|@:4:1: error: label 'x' is not a number|x\ta\n
label real infinite|real|te|65|@:4:1: error: label 'inf'|inf\ta\n
label real huge|real|te|65|@:4:1: error: label '1e99'|1e99\ta\n
columns too few|tsv|ctepxzEP|65|@:4:1: error: 4 columns found, 5 wanted|1\tu1\ti1\t0.5\n
columns too many|tsv|ctepxzEP|65|@:4:1: error: 6 columns found, 5 wanted|1\tu1\ti1\t0.5\t7\t8\n
columns one|tsv|ctep|65|@:4:1: error: 1 columns found, 5 wanted|junk\n
columns a blank|tsv|ctep|65|@:4:1: error: 1 columns found| \n
columns of the last line cut|tsv|ctep|65|@:2:1: error: 3 columns found|=1\tu1\ti1\t0.5\t7\n1\tu1\ti
columns too few in row 1|tsv|cte|65|@:1:1: error: 2 columns found, the spec names column 5|=1\tu1\n
columns too few in row 1 of predict|tsv|pP|65|@:1:1: error: 2 columns found|=1\tu1\n
columns by the wrong separator|tsv|cte|65|@:1:1: error: 1 column found|=1,u1,i1,0.5,7\n
columns too few in csv|csv|ctep|65|@:5:1: error: 4 columns found, 5 wanted|1,u1,i1,0.5\n
columns too many in csv|csv|ctep|65|@:5:1: error: 6 columns found, 5 wanted|1,u1,i,1,0.5,7\n
number word|tsv|ctepxzEPZ|65|@:4:9: error: field 'x': 'abc' is not a number|1\tu1\ti1\tabc\t7\n
number nan|tsv|cte|65|@:4:9: error: field 'x': 'nan'|1\tu1\ti1\tnan\t7\n
number inf|tsv|cte|65|@:4:9: error: field 'x': '-inf'|1\tu1\ti1\t-inf\t7\n
number too large|tsv|cte|65|@:4:9: error: field 'x': '1e999'|1\tu1\ti1\t1e999\t7\n
number above float|tsv|te|65|@:4:9: error: field 'x': '1e39'|1\tu1\ti1\t1e39\t7\n
number with comma|tsv|te|65|decimal point|1\tu1\ti1\t0,5\t7\n
number hexadecimal|tsv|te|65|@:4:9: error: field 'x': '0x1p3'|1\tu1\ti1\t0x1p3\t7\n
number with blank|tsv|te|65|@:4:9: error: field 'x': ' 1'|1\tu1\ti1\t 1\t7\n
number with unit|tsv|te|65|@:4:9: error: field 'x': '1k'|1\tu1\ti1\t1k\t7\n
number of a sign|tsv|te|65|@:4:9: error: field 'x': '-'|1\tu1\ti1\t-\t7\n
number of two signs|tsv|te|65|@:4:9: error: field 'x': '--1'|1\tu1\ti1\t--1\t7\n
number of a point|tsv|te|65|@:4:9: error: field 'x': '.'|1\tu1\ti1\t.\t7\n
number of an exponent|tsv|te|65|@:4:9: error: field 'x': 'e5'|1\tu1\ti1\te5\t7\n
number of 20 digits|tsv|tep|0||1\tu1\ti1\t12345678901234567890\t7\n
number of 400 digits|tsv|tep|65|@:4:9: error: field 'x': '1000|1\tu1\ti1\t1%0400d\t7\n
number with junk bytes|tsv|te|65|@:4:9: error: field 'x': '.x01.xFF|1\tu1\ti1\t\001\377\t7\n
id int word|tsv|ctep|65|@:4:13: error: field 'k': 'seven' is not a 64-bit|1\tu1\ti1\t0.5\tseven\n
id int of 20 digits|tsv|ctep|65|@:4:13: error: field 'k': '99999999999999999999'|1\tu1\ti1\t0.5\t99999999999999999999\n
id int 2^64|tsv|te|65|@:4:13: error: field 'k'|1\tu1\ti1\t0.5\t18446744073709551616\n
id int below -2^63|tsv|te|65|@:4:13: error: field 'k'|1\tu1\ti1\t0.5\t-9223372036854775809\n
id int 1.0|tsv|te|65|@:4:13: error: field 'k': '1.0'|1\tu1\ti1\t0.5\t1.0\n
id int minus|tsv|te|65|@:4:13: error: field 'k': '-'|1\tu1\ti1\t0.5\t-\n
id int 2^64-1|tsv|tep|0||1\tu1\ti1\t0.5\t18446744073709551615\n
id int negative|tsv|tep|0||1\tu1\ti1\t0.5\t-9223372036854775808\n
id text negative and of 20 digits|tsv|ctepi|0||1\t-1\t99999999999999999999\t0.5\t7\n
id text odd bytes|tsv|ctep|0||1\t\377\376\001\t\302\205\t0.5\t7\n
NUL in a cell|tsv|ctepxzEPZ|65|@:4:4: error: a NUL byte|1\tu\0001\ti1\t0.5\t7\n
NUL for a label|tsv|ctep|65|@:4:1: error: a NUL byte|\000\tu1\ti1\t0.5\t7\n
NUL at the end|tsv|ctep|65|@:4:14: error: a NUL byte|1\tu1\ti1\t0.5\t7\000\n
NUL alone|tsv|ctep|65|@:1:1: error|=\000
NUL only|tsv|ctep|65|@:1:1: error|=\000\000\000\000\000\000\000\000\000\000\n\000\000\n
NUL in csv|csv|ctep|65|@:5:3: error: a NUL byte|1,\000u1,i1,0.5,7\n
NUL in quotes|csv|ctep|65|@:5:5: error: a NUL byte|1,"u\0001",i1,0.5,7\n
NUL in libsvm|svm|ctep|65|@:4:6: error: a NUL byte|1 1:1\000 2:1\n
NUL in libffm|ffm|ctep|65|@:4:5: error: a NUL byte|1 0:\000:1\n
NUL in libfm|fm|ctep|65|@:4:2: error: a NUL byte|1\000 0:1\n
UTF-16|tsv|ctep|65|@:1:1: error: the file is UTF-16|=\377\3761\000\t\000
UTF-16 big end|tsv|ctep|65|@:1:1: error: the file is UTF-16|=\376\377\0001\000\t
UTF-16 in libsvm|svm|te|65|@:1:1: error: the file is UTF-16|=\376\377\0001\000\t
binary|tsv|ctep|65|@:1:1: error|=\177ELF\002\001\001\003\020\200\n\377\001
empty file|tsv|ct|65|no rows in '@'|=
empty file of eval|tsv|eE|65|.|=
empty file of predict|tsv|pP|0||=
empty standard input|tsv|ix|65|no rows|=
empty libsvm|svm|ct|65|no rows in '@'|=
empty libffm|ffm|ct|65|no rows in '@'|=
empty csv|csv|ct|65|no rows in '@'|=
empty csv of eval|csv|e|65|.|=
blank lines only|tsv|ct|65|no rows in '@'|=\n\n\r\n\n
blank lines only of eval|tsv|e|65|.|=\n\n\r\n\n
blank lines only of predict|tsv|p|0||=\n\n\r\n\n
byte order mark only|tsv|ct|65|no rows in '@'|=\357\273\277
header only|csv|ct|65|no rows in '@'|=label,user,item,x,k\n
header only without a line end|csv|ct|65|no rows in '@'|=label,user,item,x,k
header only of eval|csv|eE|65|.|=label,user,item,x,k\n
header only of predict|csv|p|0||=label,user,item,x,k\n
header only of tsv|tsv|ct|65|no rows in '@'|=label\tuser\titem\tx\tk\n
header without a name|csv|ctep|65|@:1:1: error: the header has no column 'user'|=label,usr,item,x,k\n1,u1,i1,0.5,7\n
header in capitals|csv|cte|65|did you mean 'User'|=label,User,item,x,k\n1,u1,i1,0.5,7\n
header without the label|csv|cte|65|@:1:1: error: 4 columns found, the spec names column 5|=user,item,x,k\nu1,i1,0.5,7\n
header of another separator|csv|ctep|65|did you mean data.separator = semicolon|=label;user;item;x;k\n1;u1;i1;0.5;7\n
header absent|csv|ctep|65|@:1:1: error: the header has no column|=1,u1,i1,0.5,7\n
header with a NUL|csv|ctep|65|@:1:1: error: the header has no column|=label,us\000er,item,x,k\n1,u1,i1,0.5,7\n
header with a name twice|csv|ctep|65|@:1:1: error: the header names column 'user' twice, as columns 2 and 4|=label,user,item,user,x,k\n1,u1,i1,u,0.5,7\n
header twice|csv|cte|65|@:5:1: error: label 'label'|label,user,item,x,k\n
quote open to the end|csv|ctep|65|@:5:3: error: the quoted cell that begins here has no end|1,"u1,i1,0.5,7\n
quote open in the last line|csv|ctep|65|@:2:3: error: the quoted cell that begins here has no end|=label,user,item,x,k\n1,"u1,i1,0.5,7
quote and text behind|csv|ctep|65|@:5:7: error: text follows the closing quote|1,"u1"x,i1,0.5,7\n
quote alone|csv|ctep|65|@:5:1: error: the quoted cell|"\n
quote inside of a cell|csv|tep|0||1,u"1,i"1",0.5,7\n
quote of two lines|csv|tep|0||1,"u\n1",i1,0.5,7\n
row behind a quote of two lines|csv|cte|65|@:7:1: error: label 'z'|1,"u\n1",i1,0.5,7\nz,u1,i1,0.5,7\n
quotes are text in tsv|tsv|tep|0||1\t"u1\ti1\t0.5\t7\n
index missing value|svm|ctep|65|@:4:3: error: '1:': a value is missing|1 1:\n
index missing|svm|ctep|65|@:4:3: error: ':1': the index|1 :1\n
index negative|svm|ctepxz|65|@:4:3: error: '-1:1': the index|1 -1:1\n
index of 20 digits|svm|ctepxz|65|@:4:3: error: '99999999999999999999:1': the index|1 99999999999999999999:1\n
index zero of base 1|svm|ctep|65|@:4:3: error: '0:1': index 0, but data.index_base is 1|1 0:1\n
index word|svm|ctep|65|@:4:3: error: 'a:1': the index|1 a:1\n
index fraction|svm|te|65|@:4:3: error: '1.5:1': the index|1 1.5:1\n
index without colon|svm|te|65|@:4:3: error: '12': wanted INDEX:VALUE|1 12\n
index with three parts|svm|te|65|@:4:3: error: '1:2:3': the value|1 1:2:3\n
value word|svm|te|65|@:4:7: error: '2:x': the value|1 1:1 2:x\n
value nan|svm|te|65|@:4:7: error: '2:nan': the value|1 1:1 2:nan\n
value infinite|svm|te|65|@:4:7: error: '2:inf': the value|1 1:1 2:inf\n
value above float|svm|te|65|@:4:7: error: '2:1e99': the value|1 1:1 2:1e99\n
libsvm label word|svm|cte|65|@:4:1: error: label 'yes'|yes 1:1\n
libsvm label 2|svm|cte|65|@:4:1: error: label '2'|2 1:1\n
libsvm with label in a file without|svm|p|65|@:2:1: error: '1': a label|=1:1 2:1\n1 1:1\n
libsvm weight word|svm|te|65|@:4:1: error: '1:x'|1:x 1:1\n
libsvm weight negative|svm|te|65|@:2:1: error: '1:-2': the weight is negative|=1:1 1:1\n1:-2 1:1\n
libsvm weight empty|svm|te|65|@:1:1: error: '1:': a value is missing|=1: 1:1\n
libsvm qid word|svm|te|65|@:4:3: error: 'qid:x': |1 qid:x 1:1\n
libsvm qid empty|svm|te|65|@:4:3: error: 'qid:': |1 qid: 1:1\n
libsvm qid|svm|tep|0||1 qid:7 1:1\n
libsvm comment|svm|tep|0||1 1:1 # 2:x :\n# all\n
libsvm row without a label|svm|ctep|65|@:4:1: error: '1:1': no label|1:1 2:1\n
libsvm row without a weight|svm|cte|65|@:2:1: error: '1': wanted LABEL:WEIGHT|=1:1 1:1\n1 2:1\n
libsvm junk|svm|ctep|65|@:4:1: error|\001\377\002\n
libfm index negative|fm|ctep|65|@:4:3: error: '-1:1': the index|1 -1:1\n
libfm index of 20 digits|fm|ctep|65|@:4:3: error|1 99999999999999999999:1\n
libfm value|fm|te|65|@:4:3: error: '1:1e': the value|1 1:1e\n
libfm label|fm|cte|65|@:4:1: error: label '-1'|-1 1:1\n
libfm two colons|fm|te|65|@:4:3: error: '1::1': the value|1 1::1\n
libffm field negative|ffm|ctep|65|@:4:3: error: '-1:a:1': the field|1 -1:a:1\n
libffm field of 20 digits|ffm|ctep|65|@:4:3: error: '99999999999999999999:a:1': the field|1 99999999999999999999:a:1\n
libffm field not named|ffm|ctep|65|@:4:3: error: '9:a:1': a field that the spec does not name|1 9:a:1\n
libffm field word|ffm|te|65|@:4:3: error: 'x:a:1': the field|1 x:a:1\n
libffm feature missing|ffm|te|65|@:4:3: error: '0::1': the feature is missing|1 0::1\n
libffm value missing|ffm|te|65|@:4:3: error: '0:a:': a value is missing|1 0:a:\n
libffm value word|ffm|te|65|@:4:3: error: '0:a:b': the value|1 0:a:b\n
libffm two parts|ffm|te|65|@:4:3: error: '0:1': wanted FIELD:FEATURE:VALUE|1 0:1\n
libffm four parts|ffm|te|65|@:4:3: error: '0:a:1:1': the value|1 0:a:1:1\n
libffm value of a single id|ffm|te|65|@:4:3: error: '0:a:2': a categorical field has the value 1|1 0:a:2\n
libffm two of a single id|ffm|te|65|@:4:9: error: '0:b:1': a second feature|1 0:a:1 0:b:1\n
libffm two numbers|ffm|te|65|@:4:9: error: '2:x:2': a second value|1 2:x:1 2:x:2\n
libffm label|ffm|cte|65|@:4:1: error: label 'x'|x 0:a:1\n
libffm without label|ffm|cte|65|@:4:1: error: '0:a:1': wanted a label|0:a:1\n
libffm feature of 20 digits|ffm|tep|0||1 0:99999999999999999999:1 1:-1:1\n
weight negative|lists|cte|65|@:4:3: error: weight '-1' is negative|1\t-1\ta:1\tp\n
weight word|lists|cte|65|@:4:3: error: weight 'w' is not a number|1\tw\ta:1\tp\n
weight empty|lists|cte|65|@:4:3: error: the weight is missing|1\t\ta:1\tp\n
weight nan|lists|te|65|@:4:3: error: weight 'nan'|1\tnan\ta:1\tp\n
weight infinite|lists|te|65|@:4:3: error: weight 'inf'|1\tinf\ta:1\tp\n
weight above float|lists|te|65|@:4:3: error: weight '1e99'|1\t1e99\ta:1\tp\n
weight of all rows zero|lists|t|65|no rows|=1\t0\ta:1\tp\n0\t0\tb:1\tq\n
item without weight|lists|cte|65|@:4:9: error: field 'm': item 'b' has no weight|1\t1\ta:1|b\tp\n
item weight word|lists|cte|65|@:4:7: error: field 'm': weight of item|1\t1\ta:x\tp\n
item weight nan|lists|te|65|@:4:7: error: field 'm': weight of item|1\t1\ta:nan\tp\n
item weight empty|lists|te|65|@:4:7: error: field 'm': weight of item|1\t1\ta:\tp\n
items many|lists|tep|0||1\t1\ta:1|b:1|c:1|d:1|e:1\tp||q|\n
lists NUL in an item|pairs|ctepxzEPZ|65|@:4:5: error: a NUL byte|u2 a\000 b\n
lists NUL in a user|pairs|ctepxzEPZ|65|@:4:2: error: a NUL byte|u\0002 a b\n
lists NUL for a line|pairs|ctep|65|@:4:1: error: a NUL byte|\000\n
lists NUL at the end|pairs|ctep|65|@:4:5: error: a NUL byte|u2 a\000\n
lists CRLF|pairs|ctepxzEPZ|0||u2 a b\r\nu3\r\n\r\nu4 a \r\n
lists blanks and tabs everywhere|pairs|ctepxzEPZ|0||  u2 \t a\t\tb  \n \t \n
lists no final newline|pairs|ctepxzEPZ|0||=u2 a b
lists no final newline behind a user|pairs|tp|0||=u2 a\nu3
lists duplicates|pairs|ctepxz|0||u2 a a a a\nu2 a a\n
lists user and item of one name|pairs|ctep|0||a a\n
lists line of a user|pairs|ctepxzEPZ|0||u2\nu3 \n
lists lines of users only|pairs|ctxz|65|no rows in|=u2\nu3 \n\tu4\r\n
lists lines of users only of predict|pairs|pP|0||=u2\nu3 \n
lists lines of users only of eval|pairs|eE|65|.|=u2\nu3 \n
lists empty|pairs|ct|65|no rows in '@'|=
lists blank lines only|pairs|ct|65|no rows in '@'|=\n\r\n \t\n
lists odd bytes|pairs|ctep|0||\377\376\001 \302\205 \033[m "a" b,c\n
lists byte order mark|pairs|ctep|0||=\357\273\277u2 a b\n
lists byte order mark only|pairs|ct|65|no rows in '@'|=\357\273\277
lists UTF-16|pairs|ctep|65|@:1:1: error: the file is UTF-16|=\377\376u\000 \000
lists 20 digits and negative ids|pairs|ctep|0||u2 99999999999999999999 -1 007\n
lists item no number|pskip|c|0|@:4:4: row skipped: field 'item': 'a' is not a 64-bit|u2 a 1 2\n
lists items no numbers above the limit|pskip|t|65|bad rows so far, data.max_bad_rows is 1|u2 a b c\n
bad rows above the limit|skip|t|65|2 bad rows so far, data.max_bad_rows is 1|x\tu1\ti1\t0.5\t7\n1\tu1\n
bad rows above the limit of eval|skip|e|65|2 bad rows so far, data.max_bad_rows is 1|x\tu1\ti1\t0.5\t7\n1\tu1\n
bad row skipped|skip|te|3|@:4:1: row skipped: label 'x'|x\tu1\ti1\t0.5\t7\n
bad row skipped in check|skip|c|0|@:4:1: row skipped: label 'x'|x\tu1\ti1\t0.5\t7\n
bad rows only|skip|t|65|no rows|=x\tu1\ti1\t0.5\t7\n
END
}

# The table is read from another descriptor: the program may read standard input.
table >table
while IFS='|' read -r case spec letters code pattern content <&3; do
	file=$(echo "$case" | tr -c 'a-zA-Z0-9\n' '-')
	case $content in
	=*) printf -- "${content#=}" >"$file" ;;
	*)
		{ [ $spec = csv ] && echo label,user,item,x,k; good $spec 3; printf -- "$content" 0; good $spec 2
		} >"$file" ;;
	esac
	try "$spec" "$letters" "$code" "$pattern" "$file"
done 3<table

# --- long lines ---
case='a line of 100 MB'
long=$((100 << 20))
{ good tsv 2; head -c $long /dev/zero | tr '\0' x; printf '\n'; good tsv 2; } >long
try tsv tpi 65 '@:3:1: error: the row has .* data.max_line is 16777216' long
rm long
case='a line of 100 MB in the first place'
{ printf '1\tu1\ti1\t0.5\t'; head -c $long /dev/zero | tr '\0' 7; printf '\n'; good tsv 2; } >long
try tsv p 65 '@:1:(1|14): error' long
case='a line of 100 MB without an end'
{ good csv 1; printf '1,"'; head -c $long /dev/zero | tr '\0' '\n'; } | sed '1i label,user,item,x,k' >long
try csv t 65 '@:3:.: error' long
case='a line of 100 MB in libsvm'
{ good svm 2; head -c $long /dev/zero | tr '\0' 1; } >long
try svm tp 65 '@:3:1: error: the row has' long
rm long
case='100 MB of NUL bytes'
head -c $long /dev/zero >long
try tsv tp 65 '@:1:1: error' long
gzip -1 -c long >long.gz
rm long
try tsv tp 65 '@:1:1: error' long.gz
rm long.gz
case='a row of 200,000 columns'
{ good tsv 2; head -c 200000 /dev/zero | tr '\0' '\t'; printf '\n'; } >wide
try tsv ctep 65 '@:3:1: error: 200001 columns found' wide
case='a row longer than data.max_line'
{ good tsv 2; printf '1\t%02000d\ti1\t0.5\t7\n' 1; } >wide
sed 's/^label = 1/&\nmax_line = 1024/' tsv.ini >short.ini
run 65 'wide:3:1: error: the row has' "$T" train short.ini -f new -d wide

case='lists: a line of 100 MB'
{ good pairs 2; printf u; yes ' i1 i2 i3 i4 i5 i6 i7' | head -c $long | tr -d '\n'; printf '\n'; good pairs 1; } >wide
try pairs cte 65 '@:3:1: error: the row has' wide
try pairs p 65 'wide:3:1: error: the row has' wide
case='lists: a user of 100 MB'
{ good pairs 2; head -c $long /dev/zero | tr '\0' x; printf ' i1\n'; } >wide
try pairs tp 65 '@:3:1: error: the row has' wide
case='lists: a line longer than data.max_line'
{ good pairs 2; printf 'u2'; yes ' i1' | head -400 | tr -d '\n'; printf '\n'; } >wide
sed 's/^format = lists/&\nmax_line = 1024/' pairs.ini >short.ini
run 65 'wide:3:1: error: the row has' "$T" train short.ini -f new -d wide
sed 's/^format = lists/&\nmax_line = 1024\non_bad_row = skip/' pairs.ini >short.ini
run 3 'wide:3:1: row skipped: the row has' "$T" train short.ini -f new -d wide
rm wide

# --- gzip ---
good tsv 20000 >rows
gzip -c rows >rows.gz
bytes=$(wc -c <rows.gz)
for cut in 1 2 5 10 11 18 30 $((bytes / 2)) $((bytes - 9)) $((bytes - 8)) $((bytes - 4)) $((bytes - 1)); do
	case="gzip cut to $cut bytes"
	head -c "$cut" rows.gz >"cut$cut"
	[ "$cut" = 1 ] && { try tsv tp 65 '@:1:1: error' cut1; continue; }
	try tsv cteppi 65 'gzip' "cut$cut"
done
damage() { # OFFSET BYTE FILE
	cp rows.gz "$3"
	printf "$2" | dd of="$3" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
case='gzip with a wrong checksum'; damage $((bytes - 8)) '\125' crc.gz; try tsv ctep 65 'crc.gz' crc.gz
case='gzip with a wrong size'; damage $((bytes - 4)) '\125' size.gz; try tsv ctep 65 'size.gz' size.gz
case='gzip with a bad block'; damage 30 '\377\377\377\377' block.gz; try tsv ctep 65 'block.gz' block.gz
case='gzip of another method'; damage 2 '\001' method.gz; try tsv tp 65 'method.gz' method.gz
case='gzip and junk behind'; { cat rows.gz; echo junk; } >junk.gz; try tsv ctep 65 'junk.gz' junk.gz
case='gzip and a second member cut'; { cat rows.gz; head -c 40 rows.gz; } >two.gz; try tsv ctep 65 'two.gz' two.gz
case='gzip of gzip'; gzip -c rows.gz >twice.gz; try tsv tp 65 'twice.gz:1' twice.gz
case='gzip of nothing'; : | gzip -c >none.gz; try tsv ct 65 'no rows' none.gz; try tsv p 0 '' none.gz
case='gzip and zero bytes behind'; { cat rows.gz; head -c 512 /dev/zero; } >zeros.gz; try tsv tp 0 '' zeros.gz
case='bzip2 under the name of gzip'; printf 'BZh91AY&SY\001\002\003' >b.gz; try tsv tp 65 "'b.gz' is packed by bzip2" b.gz

# --- files that are none ---
case='no such file'; try tsv ctep 66 nowhere nowhere
case='no such pattern'; try tsv ctep 66 'nowhere' 'nowhere-*.tsv'
case='an empty name'; run 66 . "$T" predict model.tsv ''
case='a directory'; mkdir folder; try tsv ctep 66 "'folder' is a directory" folder
case='a directory with a dot'; try tsv te 66 'is a directory' .
case='a link to nothing'; ln -s nothing link; try tsv ctep 66 'link' link
case='a loop of links'; ln -s loop loop; try tsv te 66 'loop' loop
case='a name that is too long'; try tsv te 66 . "$(printf '%0300d' 0)"
case='a file below a file'; try tsv te 66 . tsv/below
case='/dev/null'; try tsv t 65 'no rows' /dev/null
case='a file that cannot be read'
good tsv 3 >secret
chmod 000 secret
if [ -r secret ]; then
	if setpriv --reuid=65534 --clear-groups true 2>/dev/null; then
		chmod 755 .
		cp "$T" ./program && chmod 755 program && T="setpriv --reuid=65534 --clear-groups ./program"
		run 66 'secret.*ermission' $T predict model.tsv secret
		run 66 'secret.*ermission' $T eval model.tsv secret
		run 66 'secret.*ermission' $T check tsv.ini -o data.train=secret --data=all
		T=$RECSYS_TRAIN
	fi
else
	try tsv ctep 66 'secret.*ermission' secret
fi
case='the same file twice'; run 65 . "$T" train tsv.ini -f new -d rows -d rows
case='a command that fails'; run '65' 'exit' "$T" train tsv.ini -f new --data-command 'cat tsv; exit 3'
case='a command that is killed'; run '65' 'signal' "$T" train tsv.ini -f new --data-command 'cat tsv; kill -9 $$'
case='a command that is not there'; run '65' . "$T" train tsv.ini -f new --data-command 'no-such-command-here'
case='a command that says nothing'; run '65' 'no rows' "$T" train tsv.ini -f new --data-command true

# --- specs: NAME|PATTERN|CONTENT ---
specs() {
	cat <<'END'
empty||=
NUL byte|@:4|\000 = 1\n
binary|@:1|=\177ELF\002\001\001\003\n
UTF-16|@:1|=\377\376[\000m\000
a key alone|@:4|label\n
a key without a section|@:1|=label = 1\n
section not closed|@:4|[data\n
section twice closed|@:4|[data]]\n
section unknown|@:4|[dta]\n
key unknown|@:4:1: error: .*lable|lable = 1\n
key twice|@:5|label = 1\nlabel = 2\n
quote not closed|@:4|label = "1\n
text behind a quote|@:4|label = "1" 2\n
escape at the end|@:4|label = "\\\\\n
number word|@:4|max_bad_rows = many\n
number negative|@:4|max_bad_rows = -1\n
number of 20 digits|@:4|max_bad_rows = 99999999999999999999\n
number infinite|@:4|max_bad_rows = inf\n
unit unknown|@:4|max_line = 16Q\n
choice unknown|@:4|format = tvs\n
separator of two bytes|@:4|separator = ab\n
separator of a line end|@:4|separator = "\\n"\n
indented line|@:5|label = 1\n  label = 2\n
file included that is not there|@:4|include = nowhere.ini\n
field without a name|@:4|[field ]\n
field range backwards|@:4|[field C9..C1]\n
END
}
specs >specs
while IFS='|' read -r case pattern content <&3; do
	case="spec: $case"
	case $content in
	=*) printf -- "${content#=}" >case.ini ;;
	*) { printf '[model]\ntype = fm\n[data]\n'; printf -- "$content"; } >case.ini ;;
	esac
	place=$(echo "${pattern:-@}" | sed 's|@|case.ini|')
	run 78 "$place" "$T" check case.ini
	run 78 "$place" "$T" train case.ini -f new
done 3<specs
case='spec: a directory'; run 66 folder "$T" check folder
case='spec: no such file'; run 66 nowhere.ini "$T" check nowhere.ini
case='spec: a line of 20 MB'
{ printf '[model]\ntype = '; head -c 20000000 /dev/zero | tr '\0' x; printf '\n'; } >case.ini
run 78 'case.ini:1:1: error: .case.ini. has more than' "$T" check case.ini

[ "$n_runs" -ge 400 ] || { echo "only $n_runs runs" >&2; exit 1; }
echo "$n_runs runs, $n_failed failed"
[ "$n_failed" = 0 ]
