#!/usr/bin/env bash
# Tries array.sh and merge.sh for real: an array of 4 tasks, one of them killed and requeued, merged
# by a dependent job, compared byte for byte with the same sweep in one process.
#
#   experiments/slurm/test.sh            a Slurm of its own: munged, slurmctld and slurmd on loopback
#   experiments/slurm/test.sh --xargs    the same scripts under xargs, with a kill and a second start
#
# Slurm needs root and Debian's slurm-wlm and munge (apt-get install slurm-wlm munge); nothing of a
# Slurm that the machine may have is touched: keys, ports, state and logs are in a temporary folder.
# ATTNLAB names the program. Where Slurm cannot be started, the script says so and uses xargs.
# No step depends on the speed of the machine: the killed part waits to be killed. ATTNLAB_TEST_SECONDS (600) limits
# each wait, against a hang.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=$(realpath "${ATTNLAB:-target/debug/attnlab}")
limit=${ATTNLAB_TEST_SECONDS:-600}
work=$(mktemp -d /tmp/attnlab-slurm.XXXXXX)
# Everything that may still run at the end.
daemons=()
jobs=()
group=
clean() {
    local limit=20 job pid
    [ -z "$group" ] || kill -KILL -- "-$group" 2>/dev/null || true
    [ ${#jobs[@]} = 0 ] || scancel --quiet "${jobs[@]}" || true
    for job in "${jobs[@]}"; do wait_until gone "$job" || true; done
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait
    rm -rf "$work"
}
trap clean EXIT
fail() {
    echo "FAILED: $*" >&2
    tail -n 20 "$work"/*.log >&2 || true
    exit 1
}

# 2400 rows, 600 of each part.
cat >"$work/map.toml" <<'TOML'
claim = "aot.theorem1_bounded"
trials = 200
seed = 5
[axes]
tokens = [200, 400]
dim = [40, 80]
delta = "c * sqrt(log(tokens) / dim)"
c = [0.03, 0.06, 0.125]
TOML
cd "$work"

# The program, of which part 1 waits before its row 6 as long as the file `pause` is there (crates/lab/src/run/pause.rs).
touch pause
ATTNLAB=$work/attnlab
cat >"$ATTNLAB" <<SH
#!/usr/bin/env bash
if [[ -e "$work/pause" && " \$* " == *" --shard 1/4 "* ]]; then export ATTNLAB_TEST_PAUSE_AFTER_ROWS=5; fi
exec "$program" "\$@"
SH
chmod +x "$ATTNLAB"
export ATTNLAB
part_1=rows/rows-1-of-4.jsonl

# Waits until a command succeeds, for at most $limit seconds.
wait_until() {
    local end=$((SECONDS + limit))
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.1
    done
}
paused() { [ -e "$part_1" ] && [ "$(wc -l <"$part_1")" = 5 ]; }
# No process writes these rows: a killed one may take a moment to be gone.
unlocked() { flock --nonblock "$1" true; }

# Sets `port` to one of 5000 from $1 on, on which nothing listens; below those that systems give to connections.
free_port() {
    port=$(($1 + RANDOM % 5000))
    while (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do port=$(($1 + RANDOM % 5000)); done
}

start_slurm() {
    # A Slurm that does not start is no failure: xargs follows.
    local node needed first port ports=() limit=120
    for needed in munged slurmctld slurmd sbatch; do
        command -v "$needed" >/dev/null || { echo "no $needed here"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { echo "starting it needs root"; return 1; }
    node=$(hostname -s)
    for first in 20000 25000; do
        free_port "$first"
        ports+=("$port")
    done
    mkdir -p "$work"/{state,spool}
    dd if=/dev/urandom of="$work/munge.key" bs=1 count=128 status=none
    chmod 400 "$work/munge.key"
    cat >"$work/slurm.conf" <<CONF
ClusterName=attnlab
SlurmctldHost=$node(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$work/munge.socket
CryptoType=crypto/munge
SlurmctldPort=${ports[0]}
SlurmdPort=${ports[1]}
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
KillWait=2
ReturnToService=2
SlurmdParameters=config_overrides
NodeName=$node NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=all Nodes=$node Default=YES MaxTime=INFINITE State=UP
CONF
    export SLURM_CONF=$work/slurm.conf
    munged --foreground --force --socket="$work/munge.socket" --key-file="$work/munge.key" \
        --pid-file="$work/munged.pid" --log-file="$work/munged.log" --seed-file="$work/munge.seed" >>"$work/daemons.log" 2>&1 &
    daemons+=($!)
    wait_for_daemons test -S "$work/munge.socket" || { echo "munged does not start"; return 1; }
    slurmctld -D >>"$work/daemons.log" 2>&1 &
    daemons+=($!)
    slurmd -D >>"$work/daemons.log" 2>&1 &
    daemons+=($!)
    wait_for_daemons node_is_up || { echo "the node does not come up"; return 1; }
}
# Waits until a command succeeds, or a daemon has ended.
wait_for_daemons() { wait_until up_or_dead "$@" && "$@"; }
up_or_dead() { "$@" || ! alive; }
alive() {
    local pid
    for pid in "${daemons[@]}"; do kill -0 "$pid" 2>/dev/null || return 1; done
}
node_is_up() { sinfo -h -o %t 2>/dev/null | grep -q idle; }
state_of() { squeue -h -o %T -j "$1" 2>/dev/null || true; }
gone() { [ -z "$(state_of "$1")" ]; }
array() { sbatch --parsable --array=0-3 "$here/array.sh" sweep map.toml --out rows; }

under_slurm() {
    local job merge
    job=$(array)
    jobs+=("$job")
    merge=$(sbatch --parsable --dependency=afterany:"$job" "$here/merge.sh" rows --out merged)
    jobs+=("$merge")
    wait_until paused || fail "task 1 does not write 5 rows"
    rm pause
    scancel --full --signal=KILL "${job}_1"
    wait_until killed "${job}_1" || fail "task 1 was not killed"
    wait_until unlocked "$part_1" || fail "task 1 still runs"
    # Some versions of Slurm ask a task to end before they kill it, whatever the signal: it then writes the row at hand.
    local rows=$(wc -l <"$part_1")
    [ "$rows" -lt 600 ] || fail "task 1 went on before it was killed"
    echo "task 1 killed after $rows of 600 rows, now requeued"
    scontrol requeue "${job}_1"
    # Slurm holds a requeued task back for two minutes; the test need not wait for that.
    wait_until pending "${job}_1" || fail "task 1 was not requeued"
    scontrol update JobId="${job}_1" StartTime=now || true
    wait_until gone "$job" || fail "the array does not end"
    wait_until gone "$merge" || fail "the merge does not end: $(squeue)"
    [ -s merged/rows.jsonl ] || fail "nothing was merged"
    grep -h "were there already" attnlab-"$job"_1.log || fail "task 1 did not resume"
}
pending() { scontrol show job "$1" | grep -q "JobState=PENDING"; }
killed() { ! scontrol show job "$1" | grep -q "JobState=RUNNING"; }

under_xargs() {
    local part
    export here SLURM_ARRAY_TASK_COUNT=4
    local all='seq 0 3 | xargs -P 2 -I{} env SLURM_ARRAY_TASK_ID={} \
        "$here/array.sh" sweep map.toml --out rows'
    # A process group of its own, so that all of it can be killed.
    setsid bash -c "$all" >first.log 2>&1 &
    group=$!
    wait_until paused || fail "part 1 does not write 5 rows"
    rm pause
    kill -KILL -- "-$group"
    wait "$group" 2>/dev/null || true
    group=
    for part in rows/rows-*.jsonl; do wait_until unlocked "$part" || fail "the writer of $part still runs"; done
    paused || fail "part 1 went on before it was killed"
    echo "killed after $(cat rows/rows-*.jsonl | wc -l) of 2400 rows, now started again"
    bash -c "$all" >second.log 2>&1 || fail "the second start"
    grep -h "were there already" second.log || fail "nothing was resumed"
    "$here/merge.sh" rows --out merged >/dev/null
}

"$ATTNLAB" sweep map.toml --out whole >/dev/null 2>&1
if [ "${1:-}" != --xargs ] && start_slurm; then
    how="Slurm $(sinfo --version | cut -d' ' -f2), 4 tasks, one killed and requeued"
    under_slurm
else
    how="xargs (no Slurm), 4 parts, all killed and started again"
    under_xargs
fi
for file in rows.jsonl cells.jsonl cells.csv run.json; do
    cmp "whole/$file" "merged/$file" || fail "$file differs"
done
echo "ok: $how: merged rows equal those of a single run byte for byte ($(wc -l <whole/rows.jsonl) rows)"
