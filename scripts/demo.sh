#!/usr/bin/env bash
# Runs the demo of the binary $1 in an empty folder and looks at what it leaves.
set -euo pipefail
limit=60 # seconds
tokwatt=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

start=$SECONDS
HOME=$work timeout $((2 * limit)) "$tokwatt" demo </dev/null || { echo "demo: exit code $?"; exit 1; }
took=$((SECONDS - start))
echo "demo: $took s"
[ "$took" -lt "$limit" ] || { echo "demo: over $limit s"; exit 1; }

for picture in scaling.png latency.png; do
	head -c 4 "tokwatt-demo/$picture" | grep -q PNG || { echo "demo: $picture is no PNG"; exit 1; }
done
[ -s tokwatt-demo/tokwatt.db ] || { echo "demo: no store"; exit 1; }
find tokwatt-demo/dataset -path '*table=requests*' -name '*.parquet' | grep -q . || { echo "demo: no requests in the dataset"; exit 1; }
outside=$(find . -mindepth 1 -maxdepth 1 ! -name tokwatt-demo)
[ -z "$outside" ] || { echo "demo: left outside its folder: $outside"; exit 1; }
"$tokwatt" check --db tokwatt-demo/tokwatt.db
