# shellcheck shell=bash disable=SC2154
# processes.sh: programs in the background of which none is lost. Sourced after common.sh; expects `kept_dir`, the
# folder of their logs and of the list of what was started, and `kept_last`, the program to end when all others have.
#
# A process is known by its id and start time: ids are reused, and what a process runs changes between fork and
# exec. It writes itself into the list before it becomes the program, and holds the lock until it has: who takes
# the lock finds in the list every process there is, even after a script that was killed.

kept_patience=10 # seconds that a program has to end

# keep_stat PID: sets kept_start, kept_state and kept_session; false where there is no such process.
keep_stat() {
  local line fields
  { read -r line <"/proc/$1/stat"; } 2>/dev/null || return 1
  # Behind the program's name, which may hold anything.
  read -ra fields <<<"${line##*) }"
  kept_state="${fields[0]}" kept_session="${fields[3]}" kept_start="${fields[19]}"
}

# keep_alive PID START: whether that very process is there; one that only waits to be reaped is not.
keep_alive() {
  keep_stat "$1" && [[ "$kept_start" == "$2" && "$kept_state" != [ZX] ]]
}

# keep_session PID: sets kept_left to those that are left of the session that it led.
keep_session() {
  local folder
  kept_left=()
  for folder in /proc/[0-9]*; do
    if keep_stat "${folder#/proc/}" && [[ "$kept_session" == "$1" && "$kept_state" != [ZX] ]]; then
      kept_left+=("${folder#/proc/}")
    fi
  done
}

# keep_lock, keep_unlock: on descriptor 7, for the milliseconds that a process takes into the list.
keep_lock() {
  exec 7>>"$kept_dir.lock"
  flock -w 30 7 || die "$kept_dir.lock has been held for 30 s; end who holds it (fuser $kept_dir.lock)"
}
keep_unlock() { exec 7>&-; }

# keep_note NAME: this very process, into the list.
keep_note() {
  keep_stat "$BASHPID"
  echo "$BASHPID $kept_start $1" >>"$kept_dir/pids"
}

# keep_become NAME PROGRAM ARGUMENT…: for the background. REQUIRES: the lock is held.
keep_become() {
  keep_note "$1"
  keep_unlock
  shift
  exec "$@"
}

# keep_start NAME PROGRAM ARGUMENT…: in the background, in a session of its own, so that Ctrl-C in this terminal
# reaches this script alone and a closed terminal nobody. It is in the list when this returns.
keep_start() {
  local name="$1"
  shift
  keep_lock
  keep_become "$name" setsid "$@" </dev/null >"$kept_dir/$name.log" 2>&1 &
  keep_unlock
  keep_lock
  keep_unlock
}

# keep_run NAME PROGRAM ARGUMENT…: waits for it. Unlike a program in the foreground it puts off no trap of this
# script's.
keep_run() {
  keep_lock
  keep_become "$@" &
  keep_unlock
  wait "$!"
}

# keep_is_up NAME: whether a process of that name is there, the program or on its way to become it.
keep_is_up() {
  local pid start name
  while read -r pid start name; do
    if [ "$name" = "$1" ] && keep_alive "$pid" "$start"; then return 0; fi
  done <"$kept_dir/pids"
  return 1
}

# keep_end SECONDS LINE…: asks those of the list to end and waits until they and the sessions that they lead are gone;
# after so many seconds it kills them, and after as many again it adds them to kept_stuck. Those that had ended before
# are passed by: their numbers may be others' by now.
keep_end() {
  local line pid start name since=$SECONDS patience="$1" alive=()
  shift
  for line in "$@"; do
    read -r pid start name <<<"$line"
    if keep_alive "$pid" "$start"; then
      alive+=("$line")
      kill -TERM "$pid" 2>/dev/null || true
    fi
  done
  for line in "${alive[@]}"; do
    read -r pid start name <<<"$line"
    while true; do
      if keep_alive "$pid" "$start"; then kept_left=("$pid"); else keep_session "$pid"; fi
      if [ "${#kept_left[@]}" -eq 0 ]; then break; fi
      if [ $((SECONDS - since)) -ge $((2 * patience)) ]; then
        kept_stuck+=("$name, process $pid")
        break
      fi
      if [ $((SECONDS - since)) -ge "$patience" ]; then kill -KILL "${kept_left[@]}" 2>/dev/null || true; fi
      sleep 0.1
    done
  done
}

# keep_stop: ends what is in the list; before anything else another script that goes on adding to it.
keep_stop() {
  keep_unlock
  [ -f "$kept_dir/pids" ] || return 0
  local lines
  kept_stuck=()
  mapfile -t lines < <(grep ' script$' "$kept_dir/pids" | grep -v "^$$ ")
  # It ends all others first.
  keep_end $((5 * kept_patience)) "${lines[@]}"
  [ -f "$kept_dir/pids" ] || return 0
  keep_lock
  keep_unlock
  mapfile -t lines < <(grep -v -e ' script$' -e " $kept_last\$" "$kept_dir/pids")
  keep_end "$kept_patience" "${lines[@]}"
  mapfile -t lines < <(grep " $kept_last\$" "$kept_dir/pids")
  keep_end "$kept_patience" "${lines[@]}"
  if [ "${#kept_stuck[@]}" -gt 0 ]; then
    die "not even killed does end: $(printf '%s; ' "${kept_stuck[@]}")try again later"
  fi
  rm -f "$kept_dir/pids"
}
