#!/bin/sh
# Adds up a basket from standard input: a line for each thing, its price in
# cents and how many of it. Prints the total in cents.
total=0
while read -r price quantity; do
	total=$((total + price))
done
echo "$total"
