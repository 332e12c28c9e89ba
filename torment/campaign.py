# SPDX-License-Identifier: MIT
"""One run: a cluster, its clients, one nemesis, and the judge's verdict."""

import json
import os
import pathlib
import random
import subprocess
import sys
import time

import configuration
import history
import nemesis
import recipes
from cluster import Clocks, Cluster
from fault_disk import Disks
from history import History, now_us
from isolation import die_with_parent
from judge import Judge, Rules
from network import Loopback, Namespaces
from recipe_locks import lock_all_names
from resp import Gone
from session import SECOND, Session, Silent

HERE = pathlib.Path(__file__).resolve().parent
START_S = 20
FINISH_S = 30
TRY_MS = 500
CLIENTS_PER_NODE = 2
EVERYTHING = "all names"  # of LOCKALL: if the driver gets them, no two of its players wait for each other


class Unknown(Exception):
    """The run says nothing about Conclave: something of the campaign itself failed."""


def describe(view):
    """A node's view of the group, in a few words."""
    if not view:
        return "does not answer"
    suspects = [str(member["id"]) for member in view["members"] if member["state"] == "suspected"]
    return (f"is in view {view['epoch']}, {view['coordinator'] or 'nobody'} coordinates"
            + (f", suspects {' and '.join(suspects)}" if suspects else ""))


class Run:
    def __init__(self, options, seed, nodes, name, directory):
        """`options`: the options of the whole campaign, see torment/run."""
        self.options, self.seed, self.nodes, self.name = options, seed, nodes, name
        self.directory = pathlib.Path(directory)
        self.histories = self.directory / "history"
        self.histories.mkdir(parents=True)
        self.nemesis = nemesis.TABLE[name]
        self.history = History(self.histories / "driver.jsonl", "driver")
        self.helpers, self.commands = {}, {}
        self.random = random.Random(f"{seed} {nodes} {name}")
        self.configuration = self.draw_configuration()
        self.network = self.cluster = None
        self.recipes = []
        self.started = self.interrupted = False

    def world(self):
        return Namespaces if self.options.isolated else Loopback

    def draw_configuration(self):
        """Drawn from a random stream of its own, so that a seed has the same faults under every configuration."""
        if self.options.settings == "random" and self.options.group == "raft" and not self.nemesis.tied:
            chosen = configuration.draw(random.Random(f"{self.seed} settings"), self.nodes, self.world().networks)
        else:
            chosen = configuration.Configuration()
        chosen.tied = self.nemesis.tied
        chosen.networks = max(chosen.networks, self.nemesis.networks)
        if "voters" in chosen.group:
            chosen.group["voters"] = max(chosen.group["voters"], self.nemesis.voters)
        return chosen

    def keeps_times_to_live(self):
        """`group static` promises nothing if a node is lost, and a member that lies can claim that all is lost."""
        return self.options.group == "raft" and not self.nemesis.lies

    # ---- starting ----

    def start(self):
        self.network = self.world()(self.nodes, self.configuration.networks)
        settings = {"program": self.options.program, "directory": str(self.directory), "nodes": self.nodes,
                    "group": self.options.group, "algorithms": self.options.algorithms,
                    "isolated": self.options.isolated, "extra": self.options.set, "configuration": self.configuration,
                    "disks": Disks(self.directory) if self.nemesis.slow_disks else None}
        self.cluster = Cluster(self.network, settings, self.history,
                               Clocks(self.nemesis.clocks, self.random, self.directory,
                                      self.configuration.group.get("drift", 1)))
        for node in self.cluster.nodes():
            self.cluster.start(node)
        if not self.cluster.await_view(START_S):
            raise Unknown(f"the nodes did not find together within {START_S} s: {self.complaints()}")
        self.recipes = self.known_recipes()
        self.history.note("run", seed=self.seed, nodes=self.nodes, nemesis=self.name, group=self.options.group,
                          names=self.must_serve(),
                          fence_check=self.options.fence_check, bounded=self.nemesis.bounded(),
                          lasting=self.keeps_times_to_live(), honest=not self.nemesis.lies,
                          calendar=not self.nemesis.clocks, epoch=time.time_ns() // 1000 - now_us(),
                          serve_s=self.configuration.serve_s(), configuration=self.configuration.facts())
        self.start_helpers()
        self.started = True

    def known_recipes(self):
        """Those of the recipes that were asked for whose commands the service knows."""
        session = Session(self.history, 1, self.cluster.socket(1))
        answers = {command: str(session.ask(command).answer)
                   for command in {recipes.TABLE[name].command for name in self.options.recipes}}
        session.close()
        return [name for name in self.options.recipes if "unknown command" not in answers[recipes.TABLE[name].command]]

    def must_serve(self):
        """The names that are granted again after every fault."""
        return self.options.algorithms + [EVERYTHING] * ("lock-all" in self.recipes)

    def complaints(self):
        """The ends of the nodes' logs."""
        lines = [line for node in self.cluster.nodes() for line in
                 self.cluster.log(node).read_text(encoding="utf-8", errors="replace").splitlines()[-1:]]
        return "; ".join(lines) or "they said nothing"

    def start_helpers(self):
        """Starts the register, then its users. They run beside the bridge, where no nemesis stops them."""
        plan = self.directory / "plan.json"
        socket = self.directory / "register"
        plan.write_text(json.dumps({
            "seed": self.seed, "histories": str(self.histories), "register": str(socket),
            "names": self.options.algorithms, "recipes": self.recipes,
            "serve_s": self.configuration.serve_s(),
            "addresses": [self.network.client_address(node) for node in self.cluster.nodes()]}), encoding="utf-8")
        self.help("register", "register.py", socket, self.histories / "register.jsonl",
                  "fence" if self.options.fence_check else "deadline")
        end_us = now_us() + START_S * SECOND
        while not socket.exists():
            if now_us() > end_us:
                raise Unknown("the register did not start")
            time.sleep(0.02)
        for number in range(1, CLIENTS_PER_NODE * self.nodes + 1):
            self.help(f"client-{number}", "client.py", plan, number)
        for node in self.cluster.nodes():
            self.help(f"observer-{node}", "observer.py", plan, node)
            if self.recipes:
                self.help(f"recipes-{node}", "recipes.py", plan, node)
        self.start_commands()

    def help(self, name, script, *arguments):
        self.helpers[name] = subprocess.Popen(
            [sys.executable, str(HERE / script), *map(str, arguments)], stdin=subprocess.DEVNULL,
            start_new_session=True, preexec_fn=die_with_parent, env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})

    # ---- commands that must go on ----

    def start_commands(self):
        """`conclave lock` with its default settings, each with a name of its own, by any of the servers."""
        servers = ["{}:{}".format(*self.network.client_address(node)) for node in self.cluster.nodes()]
        for number in range(1, self.nemesis.commands + 1):
            self.random.shuffle(servers)
            self.commands[number] = subprocess.Popen(
                [self.options.program, "lock", f"command-{number}", "--server", ",".join(servers), "--", "sleep", "100000"],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                start_new_session=True, preexec_fn=die_with_parent)
            self.history.note("command", number=number, state="begun")

    def watch_commands(self):
        """Notes which of them have ended by themselves."""
        for number, process in list(self.commands.items()):
            if process.poll() is not None:
                self.history.note("command", number=number, state="ended", status=process.returncode,
                                  said=process.stderr.read().strip()[-300:])
                del self.commands[number]

    def end_commands(self):
        self.watch_commands()
        for process in self.commands.values():
            process.terminate()
        for process in self.commands.values():
            try:
                process.wait(FINISH_S)
            except subprocess.TimeoutExpired as error:
                raise Unknown("a command did not end by SIGTERM") from error
        self.commands.clear()

    # ---- the faults ----

    def torment(self, tell):
        """Faults one after the other until the time is over. Each begins when the cluster serves again."""
        world = nemesis.World(self.cluster, self.network, self.random, self.history, self.options.algorithms)
        world.names = self.options.available
        end_us = now_us() + int(self.options.run_seconds * SECOND)
        self.probe()
        for fault in nemesis.endless(self.name, world):
            if now_us() >= end_us:
                break
            time.sleep(world.seconds(0.3, 1.5))
            for seconds in fault:
                tell(max(0, (end_us - now_us()) // SECOND))
                time.sleep(seconds)
            self.cluster.repair()
            healed_us = self.history.note("healed")
            self.probe(healed_us)
            self.watch_commands()

    def probe(self, healed_us=None):
        """Waits until every node grants quick locks without contention, and every lock of the clients is granted by
        some node; or until too much time has passed, which the judge will report."""
        since_us = healed_us or now_us()
        anybody = self.random.choice(list(self.cluster.nodes()))
        tries = [(node, self.options.algorithms[0] + ".probe") for node in self.cluster.nodes()]
        tries += [(anybody, name) for name in self.must_serve()]
        first_us = None
        while tries and now_us() < since_us + self.configuration.serve_s() * SECOND:
            for node, name in list(tries):
                granted_us = self.try_once(node, name)
                if granted_us:
                    first_us = first_us or granted_us
                    tries.remove((node, name))
                    self.history.note("served", node=node, name=name)
        if healed_us and first_us:
            self.history.note("recovered", first_ms=(first_us - since_us) // 1000)
        for node in self.cluster.nodes() if tries else []:
            self.history.note("stuck", node=node, view=describe(self.cluster.view(node)))

    def try_once(self, node, name):
        """The time at which the node granted that lock; None if it did not soon."""
        session, why = None, "gone"
        try:
            session = Session(self.history, node, self.cluster.socket(node))
            several = lock_all_names(self.options.algorithms) if name == EVERYTHING else []
            words = ["LOCKALL", "WAIT", TRY_MS, *several] if several else ["LOCK", name, "WAIT", TRY_MS]
            grant = session.ask(*words, wait_ms=TRY_MS)
            if isinstance(grant.answer, (int, list)):
                for each, fence in zip(several or [name], grant.answer if several else [grant.answer]):
                    session.ask("UNLOCK", each, fence)
                return grant.answered_us
            time.sleep(0.01)  # it may have refused at once
        except Gone:
            time.sleep(0.02)
        except Silent:
            why = "silent"
        finally:
            if session:
                session.close(why)
        return None

    # ---- the end ----

    def finish(self):
        """Clients end first, then the nodes, then the register, so that no process misses another."""
        self.end_commands()
        clients = [name for name in self.helpers if name != "register"]
        for name in clients:
            self.helpers[name].terminate()
        end = time.monotonic() + FINISH_S + self.configuration.serve_s()  # calls may last until the group serves
        for name in clients:
            try:
                status = self.helpers[name].wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired as error:
                raise Unknown(f"{name} did not end") from error
            if status and not self.interrupted:  # else it may not have begun
                raise Unknown(f"{name} ended with status {status}")
        self.cluster.stop()
        register = self.helpers["register"]
        register.terminate()
        if register.wait(FINISH_S):
            raise Unknown("the register failed")

    def close(self):
        for process in [*self.commands.values(), *reversed(self.helpers.values())]:  # the register last
            if process.poll() is None:
                process.kill()
            process.wait()
        if self.cluster:
            self.cluster.close()
        if self.network:
            self.network.close()
        self.history.close()

    def play(self, tell):
        """The run's report. An interrupted run is judged by what it saw until then."""
        problem = ""
        try:
            try:
                self.start()
                self.torment(tell)
            except KeyboardInterrupt:
                self.interrupted = True
                problem = "interrupted"
            if self.started:
                self.cluster.repair()
                self.network.change(set())
                self.finish()
        except (Unknown, OSError, subprocess.SubprocessError) as error:
            problem = str(error)
        finally:
            self.close()
        return self.report(problem)

    def report(self, problem):
        """A run that did not come to its end is judged for safety alone; one that did not begin is not judged."""
        judge = Judge(history.read(sorted(self.histories.glob("*.jsonl"))),
                      Rules(self.nodes, self.must_serve(), self.options.fence_check, self.nemesis.bounded(),
                            complete=not problem, lasting=self.keeps_times_to_live(), honest=not self.nemesis.lies,
                            calendar=not self.nemesis.clocks, serve_s=self.configuration.serve_s()))
        verdicts = judge.judge() if self.started else []
        violated = any(verdict.verdict == "violated" for verdict in verdicts)
        return {"seed": self.seed, "nodes": self.nodes, "nemesis": self.name, "configuration": self.configuration.facts(),
                "verdict": "violated" if violated else "unknown" if problem else "held", "problem": problem,
                "numbers": judge.numbers(), "properties": [vars(verdict) for verdict in verdicts],
                "stuck": judge.stuck(), "repeat": self.options.repeat(self.seed, self.nodes, self.name)}

    def keep(self, path):
        """Writes the whole history, in the order of time, for judge.py."""
        with open(path, "w", encoding="utf-8") as file:
            for event in history.read(sorted(self.histories.glob("*.jsonl"))):
                print(json.dumps(event), file=file)
