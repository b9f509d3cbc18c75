"""What happens to nodes and their database. Each is a function of a run and of dice; it returns when all is whole again.
What it notes in the record says since when and until when something was broken, and at which node."""
import contextlib
import http.client
import time

from integration.env.daemon import PATIENCE, wait_for

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


KINDS = {f.__name__: f for f in (kill, leave, drain, freeze, cut, cut_long, silence, delay, terminate, crash, fail_over,
                                 fail_over_lossy)}
READY_S = 30 * PATIENCE
