"""The real MySQL with its regression suite: in the jail that tools/oracle makes, with data directories of its own."""

import os
import shutil
import subprocess
import time
from pathlib import Path

import pymysql

ROOT = Path(__file__).resolve().parents[2]
ORACLE = Path(os.environ.get("ORACLE_DIR", ROOT / "target/oracle"))
JAIL = ORACLE / "mysql"
SUITE = JAIL / "mtr/lib"
PRISTINE = ORACLE / "corpus/pristine"
SYSTEM = {"mysql", "information_schema", "performance_schema", "sys"}


def fetch():
    """Debian's package of the suite, of the version that tools/oracle has installed, unpacked into the jail."""
    work = ORACLE / "corpus/download"
    shutil.rmtree(work, ignore_errors=True)
    for folder in ("lists/partial", "archives/partial"):
        (work / folder).mkdir(parents=True)
    sources = subprocess.run("cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2> /dev/null | grep -v '^#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -n 1",
                             shell=True, capture_output=True, text=True).stdout.strip()
    (work / "sources.list").write_text(f"deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {sources} sid main\n")
    (work / "status").touch()
    (work / "apt.conf").write_text(f'''Dir::Etc::SourceList "{work}/sources.list"; Dir::Etc::SourceParts "-"; Dir::State::Lists "{work}/lists";
Dir::State::Status "{work}/status"; Dir::Cache::Archives "{work}/archives"; Dir::Cache::PkgCache ""; Dir::Cache::SrcPkgCache "";
Debug::NoLocking "true"; APT::Sandbox::User "root";\n''')
    environment = dict(os.environ, APT_CONFIG=str(work / "apt.conf"))
    subprocess.run(["apt-get", "-qq", "update"], env=environment, check=True)
    subprocess.run(["apt-get", "-qq", "download", "mysql-testsuite"], env=environment, cwd=work, check=True)
    subprocess.run(["dpkg-deb", "--extract", str(next(work.glob("*.deb"))), str(work / "package")], check=True)
    SUITE.parent.mkdir(exist_ok=True)
    shutil.rmtree(SUITE, ignore_errors=True)
    shutil.move(work / "package/usr/lib/mysql-test", SUITE)
    shutil.rmtree(work)


class Server:
    """A MySQL with nothing in it but the root account, without a password."""

    def __init__(self, name, port):
        self.name, self.port, self.process = name, port, None
        self.data = JAIL / f"data-{name}"

    def start(self):
        if not PRISTINE.exists():
            shutil.rmtree(JAIL / "data-pristine", ignore_errors=True)
            (JAIL / "data-pristine").mkdir()
            subprocess.run(["chroot", str(JAIL), "/usr/sbin/mysqld", "--no-defaults", "--user=root", "--datadir=/data-pristine", "--initialize-insecure"],
                           check=True, capture_output=True)
            PRISTINE.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(JAIL / "data-pristine", PRISTINE)
        self.stop()
        shutil.rmtree(self.data, ignore_errors=True)
        shutil.copytree(PRISTINE, self.data)
        self.process = subprocess.Popen(
            ["chroot", str(JAIL), "/usr/sbin/mysqld", "--no-defaults", "--user=root", f"--datadir=/{self.data.name}", f"--port={self.port}",
             "--bind-address=127.0.0.1", f"--socket=/tmp/{self.name}.sock", "--mysqlx=OFF", f"--pid-file=/tmp/{self.name}.pid", "--skip-log-bin",
             "--innodb-flush-log-at-trx-commit=0", "--secure-file-priv=", "--local-infile=1", "--log-bin-trust-function-creators=1",
             f"--log-error=/tmp/{self.name}.log", "--log-output=TABLE"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(300):
            try:
                return self.connect().close()
            except pymysql.err.MySQLError:
                time.sleep(0.1)
        raise SystemExit(f"MySQL does not start: {JAIL}/tmp/{self.name}.log")

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.process = None

    def connect(self):
        return pymysql.connect(host="127.0.0.1", port=self.port, user="root", autocommit=True, ssl_disabled=True)

    def forget_files(self, database):
        """What a test has left in a database's folder keeps it from being dropped."""
        shutil.rmtree(self.data / database, ignore_errors=True)
