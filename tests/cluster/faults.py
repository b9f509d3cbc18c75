"""What happens to nodes and their database. Each is a function of a run and of dice; it returns when all is whole again.
What it notes in the record says since when and until when something was broken, and at which node."""
import contextlib
import http.client
import threading
import time

from integration.env.daemon import PATIENCE, wait_for

from . import clock, crowd, disk, hold

DOWN = (OSError, http.client.HTTPException, ValueError, KeyError)


@contextlib.contextmanager
def noted(run, kind, node=None, **more):
    """Note the fault; it lasts until the end of the block. `until` is open meanwhile."""
    fault = {"kind": kind, "node": node.name if node else None, "t": time.monotonic(), "until": float("inf"), **more}
    run.record.faults.append(fault)
    run.say("%s %s" % (kind, fault["node"] or ""))
    yield
    fault["until"] = time.monotonic()


def kill(run, dice):
    """kill -9 of a node, which comes back."""
    node = dice.choice(run.nodes)
    with noted(run, "kill", node):
        node.kill()
        time.sleep(dice.uniform(0, 1.5 * run.lease_s))
        node.start()


def leave(run, dice):
    """A node ends as it should, and joins again."""
    node = dice.choice(run.nodes)
    with noted(run, "leave", node):
        node.stop()
        time.sleep(dice.uniform(0, run.lease_s))
        node.start()


def drain(run, dice):
    """A node gives its slots to others, and is started anew."""
    node = dice.choice(run.nodes)
    with noted(run, "drain", node):
        with contextlib.suppress(*DOWN):
            if run.front.call("POST", "/nodes?name=%s&action=drain" % node.name).status < 300:
                wait_for(lambda: node.n_slots() in (0, None), 30, "the end of the drain", node)
        node.stop()
        node.start()


def freeze(run, dice):
    """A node stands still for three leases, and goes on as if nothing had been."""
    node = dice.choice(run.nodes)
    with noted(run, "freeze", node):
        node.freeze()
        time.sleep(3 * run.lease_s)
        node.thaw()


def cut(run, dice):
    """A node is cut off from the database for less than a lease."""
    cut_for(run, dice, "cut", dice.uniform(0.1, 0.5) * run.lease_s)


def cut_long(run, dice):
    """For more than a lease."""
    cut_for(run, dice, "cut_long", dice.uniform(1.2, 2.5) * run.lease_s)


def cut_for(run, dice, kind, seconds):
    node = dice.choice(run.nodes)
    with noted(run, kind, node):
        node.proxy.cut()
        time.sleep(seconds)
        if kind == "cut_long":
            run.look_away(node, run.quiet_sub)
        node.proxy.mend()


def silence(run, dice):
    """What a node sends to the database, or what it is answered, or both, does not arrive for a while."""
    node = dice.choice(run.nodes)
    with noted(run, "silence", node):
        node.proxy.silence(*dice.choice((("up",), ("down",), ("up", "down"))))
        time.sleep(dice.uniform(0.2, 2) * run.lease_s)
        node.proxy.mend()


def delay(run, dice):
    """The database is far away."""
    node = dice.choice(run.nodes)
    with noted(run, "delay", node):
        node.proxy.delay_s = dice.uniform(0.01, 0.1)
        time.sleep(dice.uniform(1, 2) * run.lease_s)
        node.proxy.mend()


def terminate(run, dice):
    """The database ends sessions of nodes."""
    with noted(run, "terminate"):
        for _ in range(dice.choice((1, 1, 3, 10))):
            run.pair.end_session(dice)


def crash(run, dice):
    """kill -9 of the database, which comes back."""
    with noted(run, "crash"):
        time.sleep(dice.uniform(0, 0.3))
        run.pair.crash()


def fail_over(run, dice):
    """The standby, which has all that was acknowledged, takes over."""
    with noted(run, "fail_over"):
        time.sleep(dice.uniform(0, 0.3))
        run.pair.fail_over()
        run.await_ready()
    run.pair.rebuild()


def fail_over_lossy(run, dice):
    """The standby takes over without the last moments."""
    with noted(run, "fail_over_lossy", lossy=True):
        run.pair.lag()
        time.sleep(dice.uniform(0.3, 1.5))
        run.pair.fail_over()
        run.await_ready()
    run.pair.rebuild()


def wrong_clock(run, dice):
    """The wall clock of a node jumps by up to hours, or drifts, and is then right again. The node may be killed meanwhile, so
    that others read the times that it has stored."""
    node = dice.choice(run.nodes)
    with noted(run, "wrong_clock", node):
        ahead_s, drifts = dice.choice((-1, 1)) * dice.choice((60, 3600, 5 * 3600)), dice.random() < 0.3
        if drifts:
            ahead_s = dice.choice((-1, 1)) * dice.uniform(2, 8)
        for n in range(steps := 5 if drifts else 1):
            node.clock.set(ahead_s * (n + 1) / steps)
            time.sleep(clock.LOOKS_S)
        time.sleep(dice.uniform(0.5, 2) * run.lease_s)
        if dice.random() < 0.3:
            node.kill()
            node.start()
        node.clock.set()
        time.sleep(clock.LOOKS_S)


def full_disk(run, dice):
    """The disk of the database has little room, or none."""
    with noted(run, "full_disk"):
        run.pair.fill_disk(dice.choice((0, 1 << 16, 1 << 20)))
        time.sleep(dice.uniform(0.5, 2) * run.lease_s)
        run.pair.free_disk()


def slow(run, dice):
    """A node is connected to the database by a line that is long and narrow."""
    node = dice.choice(run.nodes)
    with noted(run, "slow", node):
        node.proxy.delay_s, node.proxy.bytes_per_s = dice.choice((0, 0.2, 0.4)), dice.choice((20000, 100000))
        time.sleep(dice.uniform(1, 3) * run.lease_s)
        node.proxy.mend()


def crowded(run, dice):
    """The database takes no connection more, and nodes lose some of theirs."""
    with noted(run, "crowded"):
        taken = crowd.take_all(run.pair.primary)
        for _ in range(dice.choice((1, 3, 8))):
            run.pair.end_session(dice)
            taken += crowd.take_all(run.pair.primary)
        time.sleep(dice.uniform(0, 2) * run.lease_s)
        crowd.close(taken)


def hanging_clients(run, dice):
    """Clients that say nothing, or half of something, or do not read what they asked for."""
    with noted(run, "hanging_clients"):
        hung = crowd.hang([node.port for node in run.nodes], dice, dice.choice((10, 100)))
        time.sleep(dice.uniform(1, 2) * run.lease_s)
        crowd.close(hung)


POINTS = ((b"UPDATE log SET last_seq", "before"), (b"UPDATE log SET last_seq", "after"), (b"COMMIT", "before"),
          (b"COMMIT", "after"))


def held_commit(run, dice):
    """A node stops before it locks the log, under that lock, before its commit, or before it hears of that. It goes on after
    three leases, perhaps without its connections, or is killed."""
    node, stopped = dice.choice(run.nodes), threading.Event()

    def stop():
        node.freeze()
        stopped.set()
    with noted(run, "held_commit", node):
        node.proxy.hold(*dice.choice(POINTS), stop)
        stopped.wait(3 * run.lease_s)
        node.proxy.unhold()
        go_on(run, dice, node)


def held_transfer(run, dice):
    """A node stops after it saw that it may make a request, and before it sends that."""
    node = dice.choice(run.nodes)
    with noted(run, "held_transfer", node):
        node.hold.arm(dice.choice("GP"))
        until = time.monotonic() + 3 * run.lease_s
        while not node.hold.has_stopped() and time.monotonic() < until:
            time.sleep(0.01)
        node.hold.disarm()
        go_on(run, dice, node)


def go_on(run, dice, node):
    """After a stop at a point, which may never have been reached."""
    time.sleep(0.05)            # a signal takes a moment
    run.record.faults[-1]["stopped"] = node.is_stopped()
    if node.is_stopped():
        node.is_up = False
        time.sleep(dice.choice((0.5, 1.2, 3)) * run.lease_s)
    how = dice.choice(("mend", "cut", "kill"))
    if how == "cut":
        node.proxy.cut()
    if how == "kill":
        node.kill()
    node.proxy.mend()
    if how == "kill":
        node.start()
    else:
        node.thaw()


def misfit(run, dice):
    """Somebody starts a node that differs in what must be equal."""
    option, value = dice.choice((("--archive-size", "7"), ("--base-url", "http://elsewhere.example/")))
    with noted(run, "misfit"):
        status, took_s, said = dice.choice(run.nodes).misfit(option, value)
        run.record.misfits.append({"t": time.monotonic(), "option": option, "status": status, "took_s": took_s, "said": said[-2000:]})


KINDS = {f.__name__: f for f in (kill, leave, drain, freeze, cut, cut_long, silence, delay, terminate, crash, fail_over,
                                 fail_over_lossy, wrong_clock, full_disk, slow, crowded, hanging_clients, held_commit,
                                 held_transfer, misfit)}
NEEDS = {"wrong_clock": clock.missing, "full_disk": disk.missing, "held_transfer": hold.missing}    # why it cannot be done here
READY_S = 30 * PATIENCE


def possible(kinds, say):
    """Those of these kinds that this machine can do; it says which it cannot, and why."""
    able = []
    for kind in kinds:
        why = NEEDS[kind]() if kind in NEEDS else None
        if why:
            say("without %s: %s" % (kind, why))
        else:
            able.append(kind)
    return able
