"""A node dies at a named step of what it does: between a write and its sync, between a majority and its answer, in the middle of a checkpoint.

The steps are in the code (`failpoints::hit`), in builds that can be told to die at them; others are not asked.
"""
import time

import pymysql

from cluster import Cluster, Failed, wait_until

# No log is kept that a start does not need.
FLAGS = ["--log-keep", "0"]
DIES_WITHIN = 30


def knows_steps(cluster):
    try:
        cluster.query(cluster.leader(), "SET GLOBAL debug = ''")
        return True
    except pymysql.Error:
        return False


def lead_moves(run, node):
    """Every node votes."""
    run.cluster.order(run.cluster.leader(), "move-leader")


def stops(run, node):
    """It writes a checkpoint, and lets the log before it go."""
    run.cluster.send(node, 15)


def is_replaced(run, node):
    """It gets the rows anew."""
    run.cluster.order(run.cluster.leader(), f"replace-node {node}")


def another_goes_and_comes(run, node):
    cluster = run.cluster

    def leads():
        leader = cluster.leader()
        if leader != node:
            cluster.order(leader, f"move-leader {node}")
        return leader == node
    # On a busy machine the lead may have moved since.
    wait_until(f"node {node} leads", leads, 20)
    other = next(other for other in cluster.nodes if other != node)
    goes_and_comes(run, other, node)


def goes_and_comes(run, node, leader):
    run.cluster.order(leader, f"remove-node {node}")
    run.cluster.stop(node)
    run.cluster.remove_dir(run.cluster.data_dir(node))
    run.cluster.start(node)


def nothing(_run, _node):
    """The load is enough."""


# Where, at which step, and what brings the node there.
STEPS = [
    (Cluster.leader, "shard.logging", nothing),
    (Cluster.leader, "log.written", nothing),
    (Cluster.leader, "log.synced", nothing),
    (Cluster.leader, "shard.applying", nothing),
    (Cluster.leader, "commit.applied", nothing),
    (Cluster.follower, "log.written", nothing),
    (Cluster.follower, "log.synced", nothing),
    (Cluster.follower, "shard.applying", nothing),
    (Cluster.follower, "vote.saving", lead_moves),
    (Cluster.follower, "vote.saved", lead_moves),
    (Cluster.leader, "checkpoint.writing", stops),
    (Cluster.follower, "checkpoint.written", stops),
    (Cluster.follower, "checkpoint.named", stops),
    (Cluster.follower, "log.purging", stops),
    (Cluster.follower, "log.purged", stops),
    (Cluster.leader, "membership.leaving", another_goes_and_comes),
    (Cluster.leader, "membership.added", another_goes_and_comes),
    (Cluster.leader, "membership.votes", another_goes_and_comes),
]

# Of a node that comes without its rows.
STEPS_OF_THE_NEW = ["checkpoint.taking", "checkpoint.taken"]


def die_at_every_step(run):
    cluster = run.cluster
    for which, step, provoke in STEPS:
        node = which(cluster)
        try:
            # Under load it may die before it answers.
            cluster.query(node, f"SET GLOBAL debug = '{step}=kill@{3 if provoke is nothing else 1}'")
            provoke(run, node)
        except Exception:  # pylint: disable=broad-except
            time.sleep(1)
            if cluster.is_running(node):
                raise
        dies(run, node, step)
        for other in cluster.nodes:
            if not cluster.is_running(other):
                cluster.start(other)
        if step == "membership.leaving":
            # Half of the change is made, and its operator was told nothing: the same command makes the rest.
            goes_and_comes(run, next(other for other in cluster.nodes if other not in cluster.voters(cluster.leader())), cluster.leader())
        cluster.wait_until_whole()
    for node in cluster.nodes:
        # Its log begins behind its checkpoint, so that who comes anew needs one.
        run.expect(cluster.stop(node) == 0, f"node {node} ends with an error")
        cluster.start(node)
        cluster.wait_until_whole()
    for step in STEPS_OF_THE_NEW:
        node = cluster.follower()
        cluster.kill(node)
        cluster.remove_dir(cluster.data_dir(node))
        is_replaced(run, node)
        cluster.start(node, environment={"ENV_FAILPOINTS": f"{step}=kill@1"})
        dies(run, node, step)
        cluster.start(node)
        cluster.wait_until_whole()
    run.note("steps", len(STEPS) + len(STEPS_OF_THE_NEW))


def dies(run, node, step):
    try:
        code = run.cluster.wait_until_exit(node, DIES_WITHIN)
    except Failed as error:
        raise Failed(f"{step}: {error}") from None
    run.expect(code == -9, f"node {node} does not die at {step}, but ends with {code}")

