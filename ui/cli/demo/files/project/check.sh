#!/bin/sh
# Checks till.sh. It needs nothing but a POSIX shell.
failed=0
check() {
	got=$(printf "$2" | sh till.sh)
	if [ "$got" = "$3" ]; then
		echo "ok    $1"
	else
		echo "FAIL  $1: got $got, want $3"
		failed=1
	fi
}
check "an empty basket costs nothing" "" 0
check "one thing costs its price" "250 1\n" 250
check "two things are added" "250 1\n100 1\n" 350
check "three of a kind cost three times as much" "250 3\n" 750
exit $failed
