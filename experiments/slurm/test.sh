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
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
ATTNLAB=$(realpath "${ATTNLAB:-target/release/attnlab}")
export ATTNLAB
work=$(mktemp -d /tmp/attnlab-slurm.XXXXXX)
daemons=()
clean() {
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

# Some seconds of work, so that a task can be killed in its midst.
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

# Waits until a command succeeds, for at most the seconds given first.
wait_until() {
    local left=$(($1 * 10))
    shift
    until "$@"; do
        ((left-- > 0)) || return 1
        sleep 0.1
    done
}
rows_in() { [ -e "$1" ] && [ "$(wc -l <"$1")" -ge "$2" ]; }

start_slurm() {
    local node
    for program in munged slurmctld slurmd sbatch; do
        command -v "$program" >/dev/null || { echo "no $program here"; return 1; }
    done
    [ "$(id -u)" = 0 ] || { echo "starting it needs root"; return 1; }
    node=$(hostname -s)
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
SlurmctldPort=16817
SlurmdPort=16818
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
    wait_until 10 test -S "$work/munge.socket" || { echo "munged does not start"; return 1; }
    slurmctld -D >>"$work/daemons.log" 2>&1 &
    daemons+=($!)
    slurmd -D >>"$work/daemons.log" 2>&1 &
    daemons+=($!)
    wait_until 30 node_is_up || { echo "the node does not come up"; return 1; }
}
node_is_up() { sinfo -h -o %t 2>/dev/null | grep -q idle; }
state_of() { squeue -h -o %T -j "$1" 2>/dev/null || true; }
gone() { [ -z "$(state_of "$1")" ]; }
array() { sbatch --parsable --array=0-3 "$here/array.sh" sweep map.toml --out rows; }

under_slurm() {
    local job merge
    job=$(array)
    merge=$(sbatch --parsable --dependency=afterany:"$job" "$here/merge.sh" rows --out merged)
    wait_until 60 rows_in rows/rows-1-of-4.jsonl 5 || fail "task 1 writes no rows"
    local before
    scancel --full --signal=KILL "${job}_1"
    wait_until 20 killed "${job}_1" || fail "task 1 was not killed"
    before=$(wc -l <rows/rows-1-of-4.jsonl)
    [ "$before" -lt 600 ] || fail "task 1 had ended before it was killed"
    echo "task 1 killed after some $before of 600 rows, now requeued"
    scontrol requeue "${job}_1"
    # Slurm holds a requeued task back for two minutes; the test need not wait for that.
    wait_until 20 pending "${job}_1" || fail "task 1 was not requeued"
    scontrol update JobId="${job}_1" StartTime=now || true
    wait_until 240 gone "$job" || fail "the array does not end"
    wait_until 60 gone "$merge" || fail "the merge does not end: $(squeue)"
    [ -s merged/rows.jsonl ] || fail "nothing was merged"
    grep -h "were there already" attnlab-"$job"_1.log || fail "task 1 did not resume"
}
pending() { scontrol show job "$1" | grep -q "JobState=PENDING"; }
killed() { ! scontrol show job "$1" | grep -q "JobState=RUNNING"; }

under_xargs() {
    export here SLURM_ARRAY_TASK_COUNT=4
    local all='seq 0 3 | xargs -P 2 -I{} env SLURM_ARRAY_TASK_ID={} \
        "$here/array.sh" sweep map.toml --out rows'
    # A process group of its own, so that all of it can be killed.
    setsid bash -c "$all" >first.log 2>&1 &
    local group=$!
    wait_until 60 rows_in rows/rows-1-of-4.jsonl 5 || fail "part 1 writes no rows"
    kill -KILL -- "-$group"
    wait "$group" 2>/dev/null || true
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
