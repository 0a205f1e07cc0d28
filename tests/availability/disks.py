"""Disks of nodes as images on loop devices, which can be full, freeze, fail, and lose what was not synced."""
import os
import subprocess
import time

from network import run

FREEZE_GRACE = 0.05


class Disk:
    """An ext4 file system in a sparse file, mounted."""

    def __init__(self, directory, megabytes=600, backing=None):
        self.image = f"{backing or directory}.img"
        self.mount = f"{directory}.disk"
        os.makedirs(self.mount, exist_ok=True)
        with open(self.image, "wb") as file:
            file.truncate(megabytes << 20)
        run("mkfs.ext4", "-q", "-m", "0", self.image)
        self.attach()

    def attach(self):
        run("mount", "-o", "loop", self.image, self.mount)

    def detach(self):
        run("umount", self.mount)

    def lose_power(self):
        """What was not synced is gone. Nobody may use the disk."""
        # The image has what the file system has written to its device, no less and no more: as a disk after a power cut. A copy of it is another
        # disk to the kernel, which would go on with what it knows of this one.
        after = f"{self.image}.after"
        run("cp", "--sparse=always", self.image, after)
        self.detach()
        subprocess.run(["e2fsck", "-fy", after], capture_output=True)
        os.replace(after, self.image)
        self.attach()

    def freeze(self):
        """Writes and syncs wait from now on."""
        # It syncs first, which may take a while; it is the freeze that the nodes notice.
        run("fsfreeze", "-f", self.mount)

    def thaw(self):
        subprocess.run(["fsfreeze", "-u", self.mount], capture_output=True)

    def fill(self):
        """Not a block is left."""
        with open(f"{self.mount}/filler", "wb", buffering=0) as file:
            for block in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(block))
                except OSError:
                    pass

    def empty(self):
        if os.path.exists(f"{self.mount}/filler"):
            os.remove(f"{self.mount}/filler")

    def fill_backing(self):
        """The file system that holds the image is full: what is written here is lost at the next sync, which fails."""
        directory = os.path.dirname(self.image)
        stat = os.statvfs(directory)
        subprocess.run(["fallocate", "-l", str(stat.f_bavail * stat.f_frsize), f"{directory}/filler"], capture_output=True)

    def empty_backing(self):
        os.remove(f"{os.path.dirname(self.image)}/filler")

    def remove(self):
        self.thaw()
        for _ in range(50):
            done = subprocess.run(["umount", self.mount], capture_output=True, text=True)
            if done.returncode == 0 or "not mounted" in done.stderr:
                break
            time.sleep(0.1)
        if os.path.exists(self.image):
            os.remove(self.image)
        backing = os.path.dirname(self.image)
        if backing.endswith(".memory"):
            subprocess.run(["umount", "-l", backing], capture_output=True)


def ample(cluster):
    """Each node has a disk."""
    for node in cluster.nodes:
        cluster.disks[node] = Disk(f"{cluster.directory}/node-{node}")


def small(cluster):
    """Each node has a disk that is soon full. It lies in memory, or filling it would keep the others' disks busy."""
    in_memory(cluster, room=440)


def failing(cluster):
    """Each node has a disk whose image lies in memory that may be full: then its writes fail."""
    in_memory(cluster, room=400)


def in_memory(cluster, room):
    for node in cluster.nodes:
        backing = f"{cluster.directory}/node-{node}.memory"
        os.makedirs(backing)
        run("mount", "-t", "tmpfs", "-o", f"size={room}m", "tmpfs", backing)
        cluster.disks[node] = Disk(f"{cluster.directory}/node-{node}", megabytes=400, backing=f"{backing}/disk")


DISKS = {"disks": ample, "small": small, "failing": failing}
