#!/bin/sh
# Runs the examples on their data. LANG_COMMAND names the command to run them with; LANG does too when it is a program
# (elsewhere LANG is the locale). Default: lang.
set -eu
cd "$(dirname "$0")"

command=${LANG_COMMAND:-lang}
if [ -z "${LANG_COMMAND:-}" ] && [ -n "${LANG:-}" ] && command -v "$LANG" >/dev/null 2>&1; then
    command=$LANG
fi

run() {
    echo "== $1 < $2"
    $command run "$1" < "$2"
    echo
}

run hello.lang /dev/null
run access_log/report.lang access_log/access.log
run invoices/ledger.lang invoices/invoices.csv
run search_index/search.lang search_index/corpus.txt
run interpreter/lisp.lang interpreter/demo.lisp
run sudoku/sudoku.lang sudoku/puzzles.txt
run tickets/tickets.lang tickets/feed.xml
run release/release.lang release/release.xml
