#!/bin/sh
# The scripts of share/convert on small input.
set -u
. "$SRCDIR/tests/cli/train_data.sh"
C=$SRCDIR/share/convert

for script in s3rec behaviours movielens; do
	expect 0 sh "$C/$script" -h
	prints "usage: $script"
	[ ! -s err ] || exit 1
	expect 64 sh "$C/$script" -x
	says "usage: $script"
done
[ "$(ls "$C" | wc -l)" = 3 ] || { echo "a script without a test"; exit 1; }

# wants FILE <<TEXT: the file holds just that.
wants() {
	cat >wanted
	cmp -s "$1" wanted || { diff "$1" wanted; echo "$1 differs"; exit 1; }
}

# s3rec: the last item is tested, the one before validates, the rest trains.
printf '7 1 2 3 4 1\n8 2 3 1\n9 4 4\n' >sequences
printf '{"1": [5, 6, 6],\n "2": [7], "3": [8, 9, 8, 10, 11, 12, 13], "4": []}\n' >attributes
printf '7 3 2\n8 4 4\n9 1 1\n' >negatives
expect 0 sh "$C/s3rec" -l 2 sequences attributes negatives out.d
wants out.d/train.csv <<-END
	label,group,user,item,category,attributes,history,history_categories
	1,7-2,7,2,7,7,1,6
	1,7-3,7,3,8,8|9|10|11|12,1|2,6|7
	END
wants out.d/valid.csv <<-END
	label,group,user,item,category,attributes,history,history_categories
	1,7-4,7,4,,,2|3,7|8
	0,7-4,7,3,8,8|9|10|11|12,2|3,7|8
	0,7-4,7,2,7,7,2|3,7|8
	END
sed -n 2,4p out.d/test.csv >first
wants first <<-END
	1,7-5,7,1,6,6|5,3|4,8|
	0,7-5,7,3,8,8|9|10|11|12,3|4,8|
	0,7-5,7,2,7,7,3|4,8|
	END
[ "$(wc -l <out.d/test.csv)" = 7 ] || { cat out.d/test.csv; exit 1; }
expect 66 sh "$C/s3rec" sequences none negatives out.d
expect 64 sh "$C/s3rec" -l 0 sequences attributes negatives out.d
echo '7 1 2 3 4' >short
expect 65 sh "$C/s3rec" sequences attributes short out.d
says 'user 8 has no negatives'

# behaviours: any order in, users' histories out.
printf '2,30,c3,pv,50\n1,10,c1,pv,100\n1,12,c2,buy,300\r\n1,11,c1,pv,200\n\n2,31,c3,pv,60\n1,13,c2,pv,300\n' >log
expect 0 sh "$C/behaviours" -l 2 log
wants out <<-END
	label,user,item,category,behaviour,time,history,history_categories
	1,1,11,c1,pv,200,10,c1
	1,1,12,c2,buy,300,10|11,c1|c1
	1,1,13,c2,pv,300,11|12,c1|c2
	1,2,31,c3,pv,60,30,c3
	END
expect 0 sh "$C/behaviours" -b pv -f 100 -t 301 <log
wants out <<-END
	label,user,item,category,behaviour,time,history,history_categories
	1,1,11,c1,pv,200,10,c1
	1,1,13,c2,pv,300,10|11,c1|c1
	END
printf '1,10,c1,pv,100\n1,10,c1\n' >bad
expect 65 sh "$C/behaviours" bad
says 'line 2: not user,item,category,behaviour,time'
expect 66 sh "$C/behaviours" none

# movielens: both forms of the files.
printf '1::5::4::100\n2::6::3::200\n' >ratings.dat
printf "5::Film (1990)::Comedy|Drama\n6::Other::War\n" >movies.dat
printf '1::F::25::3::123\n2::M::35::4::456\n' >users.dat
expect 0 sh "$C/movielens" ratings.dat movies.dat users.dat
wants out <<-END
	label,user,item,rating,time,genres,sex,age,occupation
	1,1,5,4,100,Comedy|Drama,F,25,3
	0,2,6,3,200,War,M,35,4
	END
printf '1\t5\t4\t100\n' | gzip -c >u.data.gz
printf '5|F\351e (1990)|01-Jan-1990||http://x|0|1|0|0|0|1|0|0|0|0|0|0|0|0|0|0|0|0|0\n' >u.item
printf '1|24|M|writer|123\n' >u.user
expect 0 sh "$C/movielens" -r 5 u.data.gz u.item u.user
wants out <<-END
	label,user,item,rating,time,genres,sex,age,occupation
	0,1,5,4,100,Action|Comedy,M,24,writer
	END
printf '1 5 4\n' >bad
expect 65 sh "$C/movielens" bad u.item u.user
says 'line 1: not user, item, rating, time'
exit 0
