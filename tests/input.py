#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Bad input: one clear line on standard error that names the option, the value and what was expected; exit code 2;
nothing on standard output; no file left under its final name. Also runs that are killed or meet a full disk."""

import concurrent.futures
import os
import pathlib
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(os.environ.get("CONCLAVE_SOURCE", pathlib.Path(__file__).resolve().parent.parent))
CONCLAVE = os.environ.get("CONCLAVE", str(SOURCE / "build" / "conclave"))
WORKERS = 2

LONG = ",".join(str(number) for number in range(3000)) + ",7"

# (what follows `conclave`, words that the line has to contain). {dir}: a directory of its own with the files below.
CASES = [
    # ---- commands and algorithms
    ("frobnicate", "frobnicate", "no such command", "help"),
    ("--frobnicate", "--frobnicate", "no such command"),
    ("help frobnicate", "frobnicate", "no such command"),
    ("sim", "expected an algorithm"),
    ("sim ''", "no such algorithm"),
    ("sim frobnicate", "frobnicate", "no such algorithm", "conclave list"),
    ("sim Bully", "Bully", "no such algorithm"),
    ("sim 'bully '", "bully ", "no such algorithm"),
    ("sim bully ring-list", "ring-list", "expected one algorithm"),
    ("sim bully 7", "7", "expected one algorithm"),
    ("sim centrul", "centrul", "no such algorithm", "did you mean central?"),
    ("sim buly", "buly", "did you mean bully?"),
    ("simm bully", "simm", "did you mean sim?"),
    ("smi bully", "smi", "did you mean sim?"),
    ("explore frobnicate", "frobnicate", "no such algorithm"),
    ("explore bully --ids 1,1", "--ids", "1,1"),
    ("explore bully --json", "--json", "say what is run"),
    ("explore bully --port 0", "--port", "0", "1..65535"),
    ("explore bully --replay x", "--replay x", "No such file"),
    ("explore --replay {dir}/nowhere", "--replay", "nowhere"),
    ("explore --write {dir}/nowhere/x.html", "nowhere/x.html"),
    ("scenario bully-exampel", "did you mean bully-example?"),
    ("sim bully --nods 3", "--nods", "did you mean --nodes?"),
    ("check bully --crashs=1", "--crashs=1", "did you mean --crashes?"),
    ("status --sever x", "--sever", "did you mean --server?"),
    ("node --confg=x", "--confg=x", "did you mean --config?"),
    ("list frobnicate", "frobnicate", "no such algorithm"),
    ("list --frobnicate", "--frobnicate", "no such option"),
    ("list bully franklin", "franklin"),
    ("scenario frobnicate", "frobnicate", "no such scenario"),
    ("scenario --frobnicate", "--frobnicate"),
    ("scenario {dir}/nowhere", "nowhere", "No such file"),
    ("scenario {dir}/bad.scenario", "frobnicate: bully", "expected held:"),
    ("scenario {dir}/empty.scenario", "empty.scenario", "nothing to play"),
    ("tour --frobnicate", "--frobnicate"),
    # ---- shared objects
    ("sim {dir}/nowhere.so", "nowhere.so", "expected a shared object"),
    ("sim {dir}/junk.so", "junk.so", "expected a shared object"),
    ("sim {dir}", "expected a shared object"),
    ("sim {dir}/no-symbol.so", "no-symbol.so", "conclave_algorithm"),
    ("sim {dir}/wrong-abi.so", "wrong-abi.so", "4242", "expected"),
    ("sim {dir}/no-name.so", "no-name.so", "name"),
    ("sim {dir}/no-receiver.so", "no-receiver.so", "no handler receives"),
    ("sim {dir}/mutex.so", "mutex.so", "no handler receives"),
    ("sim {dir}/topology.so", "topology.so", "topology"),
    ("list {dir}/wrong-abi.so", "wrong-abi.so", "4242"),
    # ---- options as such
    ("sim bully --frobnicate", "--frobnicate", "no such option"),
    ("sim bully --frobnicate=7", "--frobnicate=7", "no such option"),
    ("sim bully -x", "-x", "no such option"),
    ("sim bully --s", "--s", "no such option"),
    ("sim bully --see 5", "--see", "expected --seed"),
    ("sim bully --jso", "--jso", "expected --json"),
    ("sim bully --rec=1@3", "--rec=1@3", "expected --recover"),
    ("sim bully --json=yes", "--json=yes", "expected no value"),
    ("sim bully --reorder=1", "--reorder=1", "expected no value"),
    ("sim bully --nodes", "--nodes", "expected a value"),
    ("sim bully -n", "-n", "expected a value"),
    ("sim --seed", "--seed", "expected a value"),
    ("sim bully --crash", "--crash", "expected a value"),
    ("sim bully -n 3 -n 4", "--nodes 4", "given twice"),
    ("sim bully -n 3 --nodes=3", "--nodes 3", "given twice"),
    ("sim bully --ids 1,2 --ids 1,2", "--ids 1,2", "given twice"),
    ("sim bully --seed 1 --seed 2", "--seed 2", "given twice"),
    ("sim bully --runs 2 --runs 2", "--runs 2", "given twice"),
    ("sim bully --delay unit --delay unit", "--delay unit", "given twice"),
    ("sim bully --trace {dir}/a --trace {dir}/b", "--trace", "given twice"),
    ("sim bully --start 1 --start 2", "--start 2", "given twice"),
    # ---- the group
    ("sim bully -n 0", "--nodes 0", "expected a number of 1.."),
    ("sim bully -n -1", "--nodes -1", "expected a number of 1.."),
    ("sim bully --nodes=-5", "--nodes -5", "expected"),
    ("sim bully -n ''", "--nodes", "expected"),
    ("sim bully -n ' 5'", "--nodes  5", "expected"),
    ("sim bully -n 5x", "--nodes 5x", "expected"),
    ("sim bully -n 5.0", "--nodes 5.0", "expected"),
    ("sim bully -n 1e3", "--nodes 1e3", "expected"),
    ("sim bully -n 0x8", "--nodes 0x8", "expected"),
    ("sim bully -n 4294967297", "--nodes 4294967297", "expected"),
    ("sim bully -n 18446744073709551617", "--nodes 18446744073709551617", "expected"),
    ("sim bully -n 99999999999999999999999999", "--nodes 99999999999999999999999999", "expected"),
    ("sim ring-list -n 300000", "--nodes 300000", "expected at most"),
    ("sim bully --ids 1,2,1", "--ids 1,2,1", "1 stands twice", "expected distinct"),
    ("sim bully --ids 1..5,3", "--ids 1..5,3", "3 stands twice"),
    ("sim bully --ids ''", "--ids", "expected distinct numbers"),
    ("sim bully --ids 1,,2", "--ids 1,,2", "expected distinct numbers"),
    ("sim bully --ids 1,2,", "--ids 1,2,", "expected"),
    ("sim bully --ids 5..1", "--ids 5..1", "expected"),
    ("sim bully --ids 1,-2", "--ids 1,-2", "expected"),
    ("sim bully --ids 1,x", "--ids 1,x", "expected"),
    ("sim bully --ids 4294967296", "--ids 4294967296", "4294967295"),
    ("sim bully --ids 0..4294967295", "--ids 0..4294967295", "expected"),
    ("sim bully --ids 1,2,3 -n 4", "--ids 1,2,3", "3 ids for 4 nodes"),
    ("sim bully --ids RANDOM", "--ids RANDOM", "expected"),
    (f"sim bully --ids {LONG}", "--ids 0,1,2,3", "7 stands twice"),
    ("sim bully --ids '1\n2'", "--ids 1\\x0a2", "expected"),
    ("sim bully -n 3 --attr 1,2", "--attr 1,2", "2 numbers for 3 nodes"),
    ("sim bully -n 3 --attr 1,2,3,4", "--attr 1,2,3,4", "4 numbers for 3 nodes"),
    ("sim bully -n 2 --attr a,b", "--attr a,b", "expected numbers"),
    ("sim bully -n 2 --attr 1,4294967296", "--attr 1,4294967296", "expected numbers"),
    ("sim bully -n 2 --attr ''", "--attr", "expected numbers"),
    # ---- who calls
    ("sim bully -n 3 --start 4", "--start 4", "no node 4"),
    ("sim bully -n 3 --start 1,1", "--start 1,1", "1 stands twice"),
    ("sim bully -n 3 --start ''", "--start", "expected ids"),
    ("sim bully -n 3 --start everybody", "--start everybody", "expected ids"),
    ("sim bully -n 3 --start 1,2,3,1", "--start 1,2,3,1", "expected"),
    ("sim bully -n 3 --crash 2@0 --start 2", "--start 2", "2 is dead"),
    # ---- chance and time
    ("sim bully --seed ''", "--seed", "expected a number"),
    ("sim bully --seed -1", "--seed -1", "expected a number"),
    ("sim bully --seed 18446744073709551616", "--seed 18446744073709551616", "expected a number"),
    ("sim bully --seed one", "--seed one", "expected a number"),
    ("sim bully --runs 0", "--runs 0", "expected a number of 1.."),
    ("sim bully --runs -3", "--runs -3", "expected"),
    ("sim bully --runs 99999999999", "--runs 99999999999", "expected"),
    ("sim bully --delay 9..1", "--delay 9..1", "expected unit, A..B"),
    ("sim bully --delay 0..4", "--delay 0..4", "expected"),
    ("sim bully --delay 1..", "--delay 1..", "expected"),
    ("sim bully --delay -1..4", "--delay -1..4", "expected"),
    ("sim bully --delay exp", "--delay exp", "expected"),
    ("sim bully --delay exp:0", "--delay exp:0", "expected"),
    ("sim bully --delay exp:x", "--delay exp:x", "expected"),
    ("sim bully --delay fast", "--delay fast", "expected"),
    ("sim bully --delay ''", "--delay", "expected"),
    ("sim bully --delay 1..99999999999", "--delay 1..99999999999", "expected"),
    ("sim bully --loss 1.5", "--loss 1.5", "expected a probability"),
    ("sim bully --loss 1", "--loss 1", "expected a probability"),
    ("sim bully --loss -0.1", "--loss -0.1", "expected a probability"),
    ("sim bully --loss 10%", "--loss 10%", "expected a probability"),
    ("sim bully --loss ''", "--loss", "expected a probability"),
    ("sim bully --duplicate 2", "--duplicate 2", "expected a probability"),
    ("sim bully --duplicate often", "--duplicate often", "expected a probability"),
    ("sim bully --unordered --loss 0.1", "--unordered", "expected"),
    ("sim bully --serial --unordered", "--serial", "expected without --unordered"),
    ("sim bully --serial --loss 0.1", "--serial", "expected without"),
    ("sim bully -n 3 --labels a,b", "--labels a,b", "2 labels", "expected one for each of the 3 nodes"),
    ("sim bully -n 3 --labels a..d", "--labels a..d", "4 labels"),
    ("sim bully -n 3 --labels a,b,a", "--labels a,b,a", "a stands twice"),
    ("sim bully -n 3 --labels 1,2,3", "--labels 1,2,3", "expected a letter or a word"),
    ("sim bully -n 3 --labels c..a", "--labels c..a", "expected a letter or a word"),
    ("sim bully -n 2 --labels a,", "--labels a,", "expected"),
    ("sim bully -n 2 --labels a,abcdefghijklm", "abcdefghijklm", "up to 12"),
    ("check bully -n 2 --labels 'a,b c'", "b c", "expected a letter or a word"),
    ("sim bully --detect soon", "--detect soon", "expected a number of ticks"),
    ("sim bully --detect -1", "--detect -1", "expected a number of ticks"),
    ("sim bully --until never", "--until never", "expected a number of ticks"),
    ("sim bully --until 99999999999999999999", "--until 99999999999999999999", "expected"),
    # ---- what goes wrong
    ("sim bully -n 3 --crash 4@1", "--crash 4@1", "no node 4"),
    ("sim bully -n 3 --crash 2", "--crash 2", "expected ID@TIME"),
    ("sim bully -n 3 --crash 2@", "--crash 2@", "expected ID@TIME"),
    ("sim bully -n 3 --crash @2", "--crash @2", "not an id"),
    ("sim bully -n 3 --crash x@2", "--crash x@2", "not an id"),
    ("sim bully -n 3 --crash 2@-1", "--crash 2@-1", "expected ID@TIME"),
    ("sim bully -n 3 --crash 2@1.5", "--crash 2@1.5", "expected ID@TIME"),
    ("sim bully -n 3 --crash 2@before:token", "--crash 2@before:token", "election, ok, coordinator"),
    ("sim bully -n 3 --crash 2@while:ok", "--crash 2@while:ok", "expected ID@TIME"),
    ("sim bully -n 3 --crash ''", "--crash", "expected ID@TIME"),
    ("sim bully -n 3 --recover 2@5", "--recover 2@5", "does not crash before"),
    ("sim bully -n 3 --crash 2@5 --recover 2@5", "--recover 2@5", "does not crash before"),
    ("sim bully -n 3 --crash 2@5 --recover 2@3", "--recover 2@3", "does not crash before"),
    ("sim bully -n 3 --crash 2@5 --recover 3@9", "--recover 3@9", "does not crash before"),
    ("sim bully -n 3 --crash 2@5 --recover 9@9", "--recover 9@9", "no node 9"),
    ("sim bully -n 3 --crash 2@5 --recover 2", "--recover 2", "expected ID@TIME"),
    ("sim bully -n 4 --partition 1,2/3,9@1..2", "--partition 1,2/3,9@1..2", "no node 9"),
    ("sim bully -n 4 --partition 1,2/2,3@1..2", "--partition 1,2/2,3@1..2", "2 stands twice"),
    ("sim bully -n 4 --partition 1,2/3,4@5..2", "--partition 1,2/3,4@5..2", "FROM < TO"),
    ("sim bully -n 4 --partition 1,2/3,4", "--partition 1,2/3,4", "expected A,B/C,D@FROM..TO"),
    ("sim bully -n 4 --partition 1,2,3,4@1..2", "--partition 1,2,3,4@1..2", "cuts nothing"),
    ("sim bully -n 4 --partition ''", "--partition", "expected"),
    ("sim bully -n 4 --alternate 1", "--alternate 1", "expected two ids"),
    ("sim bully -n 4 --alternate 1:1", "--alternate 1:1", "two different"),
    ("sim bully -n 4 --alternate 1:9", "--alternate 1:9", "no node 9"),
    ("sim bully -n 4 --alternate '*:1'", "--alternate *:1", "not an id"),
    ("sim bully -n 4 --suspect 1:2", "--suspect 1:2", "expected P:Q@TIME"),
    ("sim bully -n 4 --suspect 1:9@3", "--suspect 1:9@3", "no node 9"),
    ("sim bully -n 4 --suspect 1@3", "--suspect 1@3", "P:Q"),
    ("sim bully -n 4 --blind 1:9", "--blind 1:9", "no node 9"),
    ("sim bully -n 4 --blind 1", "--blind 1", "expected two ids"),
    ("sim bully -n 4 --lag 1:2", "--lag 1:2", "expected P:Q=TICKS"),
    ("sim bully -n 4 --lag 1=3", "--lag 1=3", "expected P:Q=TICKS"),
    ("sim bully -n 4 --lag 1:2=0", "--lag 1:2=0", "1..16777216"),
    ("sim bully -n 4 --lag 1:9=3", "--lag 1:9=3", "no node 9"),
    ("sim bully -n 4 --lag 1:2:noise=3", "--lag 1:2:noise=3", "expected one of: election"),
    ("sim bully -n 4 --lag 1:2=3 --loss 0.1", "--lag 1:2=3", "without --loss"),
    # ---- parameters
    ("sim bully --set announce", "--set announce", "expected KEY=VALUE"),
    ("sim bully --set announce=everybody", "--set announce=everybody", "expected lower|all"),
    ("sim bully --set announce=", "--set announce=", "expected lower|all"),
    ("sim bully --set colour=red", "--set colour=red", "announce"),
    ("sim bully --set announce=all --set announce=lower", "--set announce=lower", "set twice"),
    ("sim bully --set bound=0", "--set bound=0", "at least 1"),
    ("sim bully --set bound=x", "--set bound=x", "expected a number"),
    ("sim chang-roberts --set announce=no", "--set announce=no", "no such parameter"),
    ("sim chang-roberts --set bound=3", "--set bound=3", "no such parameter"),
    ("sim ring-list --set policy=best", "--set policy=best", "expected max|min"),
    # ---- graphs
    ("sim bully --graph ring", "--graph ring", "bully runs on a complete network"),
    ("sim chang-roberts --graph star", "--graph star", "chang-roberts runs on a ring"),
    ("sim wireless --graph {dir}/nowhere", "--graph", "nowhere", "No such file"),
    ("sim wireless --graph {dir}", "--graph", "directory"),
    ("sim wireless --graph {dir}/unreadable", "--graph", "unreadable", "Permission denied"),
    ("sim wireless --graph {dir}/empty", "--graph", "empty", "no edges"),
    ("sim wireless --graph {dir}/binary", "--graph", "binary", "not a text file"),
    ("sim wireless --graph {dir}/words", "--graph", "words:2", "not a number"),
    ("sim wireless --graph {dir}/one", "--graph", "one:1", "expected two ids"),
    ("sim wireless --graph {dir}/four", "--graph", "four:1", "expected two ids"),
    ("sim wireless --graph {dir}/self", "--graph", "self:1", "joined to itself"),
    ("sim wireless --graph {dir}/twice", "--graph", "twice"),
    ("sim wireless -n 2 --graph {dir}/triangle", "--graph", "triangle", "not in the group"),
    ("sim wireless --graph {dir}/parts", "--graph", "2 parts", "expected a connected graph"),
    ("sim wireless --graph edges:1-2,3-4 --start 1", "--graph edges:1-2,3-4", "2 parts"),
    ("sim wireless --graph edges:", "--graph edges:", "no edges"),
    ("sim wireless --graph edges:1", "--graph edges:1"),
    ("sim wireless --graph edges:1-x", "--graph edges:1-x", "not a number"),
    ("sim wireless --graph grid:3", "--graph", "grid:3", "expected"),
    ("sim wireless --graph grid:3x", "--graph", "grid:3x", "expected"),
    ("sim wireless -n 7 --graph grid:2x3", "--graph", "grid:2x3", "6"),
    ("sim wireless --graph random:x", "--graph", "random:x", "7 to 28 edges"),
    ("sim wireless -n 8 --graph random:3", "--graph", "random:3"),
    ("sim wireless -n 8 --graph random:99", "--graph", "random:99"),
    ("sim wireless --graph geometric:", "--graph", "geometric:", "expected"),
    ("sim wireless --graph geometric:-1", "--graph", "geometric:-1", "expected"),
    ("sim wireless --graph ''", "--graph"),
    # ---- options that elections cannot use
    ("sim bully --request 1@0", "--request 1@0", "mutual exclusion"),
    ("sim bully --entries 3", "--entries 3", "mutual exclusion"),
    ("sim bully --hold 3", "--hold 3", "mutual exclusion"),
    ("sim bully --think 3", "--think 3", "mutual exclusion"),
    ("sim maekawa -n 8 --set quorums=plane", "--set quorums=plane", "none for 8 nodes"),
    ("sim maekawa -n 3 --set quorums=sets:1:1-2,2:2-3", "--set quorums=sets:1:1-2,2:2-3", "3 has no voting set"),
    ("sim maekawa -n 2 --set quorums=sets:1:1,2:2", "--set quorums=sets:1:1,2:2", "no member in common"),
    ("sim maekawa -n 2 --set quorums=sets:1:2,2:2", "--set quorums=sets:1:2,2:2"),
    ("sim maekawa -n 2 --set quorums=/nowhere", "--set quorums", "/nowhere", "No such file"),
    ("sim lamport -n 3 --set clocks=9:1", "--set clocks=9:1", "expected ID:CLOCK"),
    ("sim central -n 3 --request 9@0", "--request 9@0", "no node 9"),
    ("sim central -n 3 --request 1", "--request 1", "expected ID@TIME"),
    ("sim central -n 3 --request 1@0+0", "--request 1@0+0", "HOLD at least 1"),
    ("sim central -n 3 --request 1@0 --entries 2", "--request 1@0", "without --entries"),
    ("sim central -n 3 --views maybe", "--views maybe", "expected on or off"),
    ("sim central -n 3 --election nobody", "nobody", "no such algorithm"),
    ("sim central -n 3 --election lamport", "--election lamport", "expected an election"),
    ("sim central -n 3 --election wireless", "--election wireless", "no graph"),
    ("sim central -n 3 --start 1", "--start 1", "is no election"),
    # ---- synchronizers
    ("sim gamma -n 6 --set clusters=0", "--set clusters=0", "expected a number of 1..4294967295, or a file"),
    ("sim gamma -n 6 --set clusters=4294967296", "--set clusters=4294967296", "expected a number"),
    ("sim gamma -n 6 --set clusters=", "--set clusters=", "expected a number"),
    ("sim gamma -n 6 --set clusters=/nowhere", "--set clusters", "/nowhere", "No such file"),
    ("sim gamma -n 3 --graph line --set clusters=sets:1-2", "--set clusters=sets:1-2", "3 is in no cluster"),
    ("sim gamma -n 3 --graph line --set clusters=sets:1-2/2-3", "--set clusters=sets:1-2/2-3:2", "2 is in a cluster"),
    ("sim gamma -n 3 --graph line --set clusters=sets:1-3/2", "--set clusters=sets:1-3/2:1", "not connected inside"),
    ("sim gamma -n 3 --graph line --set clusters=sets:1-2-9", "--set clusters=sets:1-2-9:1", "9 is not in the group"),
    ("sim gamma -n 3 --set clusters=2 --set clusters=3", "--set clusters=3", "set twice"),
    ("sim beta -n 3 --set clusters=2", "--set clusters=2", "no such parameter", "root, source, send, rounds"),
    ("sim gamma -n 3 --set root=2", "--set root=2", "no such parameter", "clusters"),
    ("sim beta -n 3 --set root=9", "--set root=9", "expected the id of a node"),
    ("sim beta --graph edges:1-2,3-4", "--graph edges:1-2,3-4", "2 parts", "expected a connected one"),
    ("sim alpha --app bully", "--app bully", "expected a synchronous algorithm"),
    ("sim alpha --app alpha", "--app alpha", "expected a synchronous algorithm"),
    ("sim alpha --app bellman-ford-async", "--app bellman-ford-async", "expected a synchronous algorithm"),
    ("sim alpha --app nobody", "--app nobody", "no such algorithm"),
    ("sim alpha --app ''", "--app", "no such algorithm"),
    ("sim bfs-tree --set send=changed", "--set send=changed", "no such parameter", "source, rounds"),
    ("sim alpha --app {dir}/nowhere.so", "nowhere.so", "No such file"),
    ("sim alpha --app {dir}/pulseless.so", "pulseless.so", "expected a pulse handler"),
    ("sim alpha --app {dir}/large.so", "large.so", "ballot", "at most 256 bytes"),
    ("sim alpha --app bfs-tree --app flood-max", "--app flood-max", "given twice"),
    ("sim bully --app bellman-ford", "--app bellman-ford", "bully is no synchronizer"),
    ("sim central --app bellman-ford", "--app bellman-ford", "central is no synchronizer"),
    ("sim bellman-ford --app bfs-tree", "--app bfs-tree", "bellman-ford is no synchronizer"),
    ("sim bellman-ford-async --app bfs-tree", "--app bfs-tree", "is no synchronizer"),
    ("sim alpha --set rounds=-1", "--set rounds=-1", "expected a number of 0.."),
    ("sim alpha --set rounds=x", "--set rounds=x", "expected a number of 0.."),
    ("sim alpha --set rounds=", "--set rounds=", "expected a number of 0.."),
    ("sim alpha --set rounds=4294967294", "--set rounds=4294967294", "0..4294967293"),
    ("sim alpha --set rounds=3 --set rounds=4", "--set rounds=4", "set twice"),
    ("sim bully --set rounds=3", "--set rounds=3", "no such parameter"),
    ("sim bellman-ford-async --set rounds=3", "--set rounds=3", "no such parameter"),
    ("sim alpha --set source=99", "--set source=99", "expected the id of a node"),
    ("sim alpha -n 3 --ids 5,6,7 --set source=1", "--set source=1", "expected the id of a node"),
    ("sim alpha --set source=x", "--set source=x", "expected the id of a node"),
    ("sim alpha --set send=never", "--set send=never", "expected always|changed"),
    ("sim alpha --app flood-max --set source=1", "--set source=1", "no such parameter", "send, rounds"),
    ("sim alpha --set bound=3", "--set bound=3", "no such parameter"),
    ("sim alpha --start 1", "--start 1", "every node starts at time 0"),
    ("sim bellman-ford --start all", "--start all", "every node starts at time 0"),
    ("sim bellman-ford-async --start 1", "--start 1", "every node starts at time 0"),
    ("sim alpha --request 1@0", "--request 1@0", "mutual exclusion"),
    ("sim alpha --graph gadget:0", "gadget:0", "expected gadget:K, K of 1..24"),
    ("sim alpha --graph gadget:25", "gadget:25", "expected gadget:K, K of 1..24"),
    ("sim alpha --graph gadget:x", "gadget:x", "expected gadget:K"),
    ("sim alpha --graph gadget:", "gadget:", "expected gadget:K"),
    ("sim alpha -n 4 --graph gadget:3", "gadget:3", "7 nodes", "4"),
    ("sim alpha --ids 1,2,3 --graph gadget:3", "gadget:3", "7 nodes", "3"),
    ("sim bully --graph gadget:3", "--graph gadget:3", "complete network"),
    ("sim alpha --graph edges:1-2:4294967295", "--graph edges:1-2:4294967295", "0 to 4294967294"),
    ("sim gamma -n 3 --graph line --set clusters={dir}/nowhere", "--set clusters", "nowhere", "No such file"),
    ("sim gamma -n 3 --graph line --set clusters={dir}/empty", "--set clusters", "1 is in no cluster"),
    ("sim gamma -n 3 --graph line --set clusters={dir}/words", "--set clusters", ":2", "not a number"),
    ("sim gamma -n 3 --graph line --set clusters={dir}/binary", "--set clusters", "not a text file"),
    ("sim gamma -n 3 --graph line --set clusters={dir}/one", "--set clusters", "2 is in no cluster"),
    ("sim abd -n 3 --set tick=-1", "--set tick=-1", "expected a number"),
    ("sim abd -n 3 --set bound=0", "--set bound=0", "at least 1"),
    # ---- outputs
    ("sim bully --runs 5 --svg {dir}/final", "--runs 5", "expected"),
    ("sim bully --runs 5 --trace {dir}/final", "--runs 5", "expected"),
    ("sim bully --runs 5 --shiviz {dir}/final", "--runs 5", "expected"),
    ("sim bully --runs 5 --diagram", "--runs 5", "expected"),
    ("sim bully --json --diagram", "--json", "expected"),
    ("sim bully --json --transcript", "--json", "expected"),
    ("sim bully --trace {dir}/final --svg {dir}/final", "--svg", "--trace"),
    ("sim bully --trace {dir}/nowhere/final", "nowhere/final", "No such file"),
    ("sim bully --trace {dir}", "directory"),
    ("sim bully --trace {dir}/sealed/final", "sealed/final", "Permission denied"),
    ("sim bully --svg {dir}/sealed/final", "sealed/final", "Permission denied"),
    ("sim bully --shiviz {dir}/sealed/final", "sealed/final", "Permission denied"),
    ("sim bully --trace ''", "No such file"),
    ("sim bully --trace /dev/full", "/dev/full", "No space left"),
    ("sim bully --svg /dev/full", "/dev/full", "No space left"),
    ("sim bully --shiviz /dev/full", "/dev/full", "No space left"),
    # A bad option is refused before anything is written.
    ("sim bully -n 3 --trace {dir}/final --crash 9@1", "--crash 9@1", "no node 9"),
    ("sim bully --trace {dir}/final --nodes 0", "--nodes 0", "expected"),
]

OBJECTS = {
    "no-symbol": "int something_else;",
    "wrong-abi": ".abi = 4242",
    "no-name": ".abi = CV_ABI, .title = \"t\", .citation = \"c\", .kinds = kinds",
    "no-receiver": ".abi = CV_ABI, .name = \"toy\", .title = \"t\", .citation = \"c\", .kinds = kinds",
    "mutex": ".abi = CV_ABI, .problem = CV_MUTEX, .name = \"toy\", .title = \"t\", .citation = \"c\", .kinds = kinds",
    "pulseless": ".abi = CV_ABI, .problem = CV_SYNCHRONOUS, .name = \"toy\", .title = \"t\", .citation = \"c\", .kinds = deaf",
    "large": ".abi = CV_ABI, .problem = CV_SYNCHRONOUS, .name = \"toy\", .title = \"t\", .citation = \"c\", .kinds = large",
    "topology": ".abi = CV_ABI, .topology = 77, .name = \"toy\", .title = \"t\", .citation = \"c\", .kinds = kinds",
}

FILES = {
    "bad.scenario": b"# A story.\nfrobnicate: bully\n",
    "empty.scenario": b"# A story that tells nothing.\n",
    "junk.so": b"this is no shared object\n",
    "unreadable": b"1 2\n",
    "empty": b"",
    "binary": b"1 2\n\0\0\n",
    "words": b"1 2\ntwo 3\n",
    "one": b"1\n",
    "four": b"1 2 3 4\n",
    "self": b"1 1\n",
    "twice": b"1 2\n2 1\n",
    "triangle": b"1 2\n2 3\n3 1\n",
    "parts": b"1 2\n3 4\n",
}

failures = []


def fail(what, shown=""):
    failures.append(what)
    print(f"FAILED: {what}\n  {shown}" if shown else f"FAILED: {what}")


def prepare(directory):
    for name, content in FILES.items():
        (directory / name).write_bytes(content)
    (directory / "sealed").mkdir()
    (directory / "unreadable").chmod(0)
    (directory / "sealed").chmod(0o500)
    for name, fields in OBJECTS.items():
        source = directory / f"{name}.c"
        table = fields if ";" in fields else f"const struct cv_algorithm conclave_algorithm = {{{fields}}};"
        source.write_text("#include <conclave/algorithm.h>\n"
                          "extern const struct cv_kind kinds[];\n"
                          "const struct cv_kind kinds[] = {{\"ballot\", 0, NULL, false}, {0}};\n"
                          "static inline void hear(struct cv_self *me, const struct cv_message *it) { (void)me, (void)it; }\n"
                          "extern const struct cv_kind deaf[], large[];\n"
                          "const struct cv_kind deaf[] = {{\"ballot\", 0, hear, false}, {0}};\n"
                          "const struct cv_kind large[] = {{\"ballot\", 264, hear, false}, {0}};\n" + table + "\n",
                          encoding="utf-8")
        subprocess.run([os.environ.get("CC", "cc"), "-shared", "-fPIC", "-I", str(SOURCE / "include"), "-o",
                        str(directory / f"{name}.so"), str(source)], check=True)


def run(arguments, **more):
    return subprocess.run([CONCLAVE, *arguments], stdin=subprocess.DEVNULL, capture_output=True, check=False,
                          timeout=60, **more)


def check(case, directory):
    """The mistake in the answer to bad input, or None."""
    line, *words = case
    arguments = [word.replace("{dir}", str(directory)) for word in shlex.split(line)]
    done = run(arguments)
    told = done.stderr.decode(errors="replace")
    if done.returncode != 2:
        return f"exit code {done.returncode}, not 2", told
    if done.stdout and arguments[0] != "scenario":  # a scenario prints everything before the bad line
        return "something on standard output", done.stdout.decode()
    if told.count("\n") != 1 or not told.endswith("\n") or not told.startswith("conclave: "):
        return "not one line", told
    if len(told) > 530:
        return f"a line of {len(told)} characters", told
    missing = [word for word in words if word not in told]
    if missing:
        return f"does not say {missing}", told
    return None


def check_table(directory):
    cases = CASES
    if os.geteuid() == 0:  # root may write anywhere
        cases = [case for case in cases if "Permission denied" not in case]
    if b"built without the page" in run(["explore", "--write", str(directory / "page.html")]).stderr:
        cases = [case for case in cases if "--write" not in case[0]]
    with concurrent.futures.ThreadPoolExecutor(WORKERS) as pool:
        for case, wrong in zip(cases, pool.map(lambda case: check(case, directory), cases)):
            if wrong:
                fail(f"conclave {case[0][:120]}: {wrong[0]}", wrong[1].strip())
    left = sorted(path.name for path in directory.iterdir() if "final" in path.name or "partial" in path.name)
    if left:
        fail(f"files left: {left}")
    return len(cases)


def check_full_standard_output():
    for arguments in (["sim", "bully"], ["sim", "bully", "--json"], ["sim", "bully", "--diagram"], ["list"],
                      ["list", "--json"], ["list", "bully"], ["--help"], ["help"], ["sim", "--help"], ["--version"],
                      ["scenario"], ["scenario", "bully-example"], ["sim", "bully", "--runs", "3"],
                      ["sim", "bully", "--runs", "3", "--json"], ["sim", "bully", "--trace", "-"]):
        with open("/dev/full", "wb") as full:
            done = subprocess.run([CONCLAVE, *arguments], stdout=full, stderr=subprocess.PIPE, check=False)
        told = done.stderr.decode()
        if done.returncode != 2 or told.count("\n") != 1 or "No space left" not in told:
            fail(f"conclave {' '.join(arguments)} >/dev/full: exit code {done.returncode}", told.strip())


def check_full_disk(directory):
    """The file may grow to 40 kB only: the run fails in the middle, or at the end of a picture."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (40960, 40960))

    for option in ("--trace", "--shiviz", "--svg"):
        target = directory / f"full{option}"
        done = run(["sim", "chang-roberts", "-n", "60", "--start", "all", option, str(target)], preexec_fn=limit)
        told = done.stderr.decode()
        if done.returncode != 2 or told.count("\n") != 1 or str(target) not in told:
            fail(f"{option} on a full disk: exit code {done.returncode}", told.strip())
        if target.exists() or [path for path in directory.iterdir() if "partial" in path.name]:
            fail(f"{option} on a full disk leaves {sorted(path.name for path in directory.iterdir())}")


def start_long_run(directory, name):
    """A traced run that would last minutes, once it has begun to write."""
    target = directory / name
    process = subprocess.Popen([CONCLAVE, "sim", "ring-basic", "-n", "20000", "--start", "all", "--trace", str(target)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and process.poll() is None:
        if any("partial" in path.name and path.stat().st_size > 100000 for path in directory.iterdir()):
            break
        time.sleep(0.02)
    return process, target


def check_killed(directory):
    process, target = start_long_run(directory, "killed.jsonl")
    process.kill()
    process.communicate()
    if process.returncode != -signal.SIGKILL:
        fail(f"the long run was not long enough: exit code {process.returncode}")
    if target.exists():
        fail("a killed run leaves a trace under its final name")
    for path in directory.iterdir():
        if "partial" in path.name:
            path.unlink()


def check_replaced(directory):
    """A run that fails leaves the older file of that name as it was."""
    target = directory / "older.jsonl"
    target.write_text("precious\n", encoding="utf-8")
    process, _ = start_long_run(directory, target.name)
    process.kill()
    process.communicate()
    if target.read_text(encoding="utf-8") != "precious\n":
        fail("a killed run spoils the older file")


def main():
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        prepare(directory)
        count = check_table(directory)
        check_full_standard_output()
        check_full_disk(directory)
        check_killed(directory)
        check_replaced(directory)
        (directory / "sealed").chmod(0o700)
    print(f"{count} cases of bad input, {len(failures)} surprises")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
