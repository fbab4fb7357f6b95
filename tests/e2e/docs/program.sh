# Sourced by the script of a page: a program of the page that runs in the background, and what it prints.

program_log=$PWD/.program.log
program_seen=0

# begin_program COMMAND...: run it in the background, until the page ends.
begin_program() {
  "$@" >"$program_log" 2>&1 </dev/null &
  program=$!
  trap 'kill -INT $program 2>/dev/null; wait $program || true' EXIT
}

# await_line TEXT: wait until the program has printed it, after what was awaited before.
await_line() {
  local found
  for _ in $(seq 1200); do
    found=$(tail -n "+$((program_seen + 1))" "$program_log" | grep -n -m 1 -F -- "$1" | cut -d : -f 1 || true)
    if [ -n "$found" ]; then
      program_seen=$((program_seen + found))
      return
    fi
    kill -0 "$program" 2>/dev/null || break
    sleep 0.1
  done
  echo "The program has not printed: $1" >&2
  cat "$program_log" >&2
  return 1
}
