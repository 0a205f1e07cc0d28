// mysql2's pool cluster over several hosts, while nodes of the cluster die. tests/failover/suite.py starts it and judges its lines.
//
// node failover.mjs FIRST HOST:PORT,HOST:PORT…: the number of the first row, and the hosts. Runs until its input ends.
import { setTimeout as sleep } from 'node:timers/promises';
import mysql from 'mysql2/promise';

const PAUSE_MS = 20;
const LOST_PAUSE_MS = 50;
const OPEN_MS = 30; // a transaction is open for so long, so that some are when a node dies
const TIMEOUT_MS = 2000;

const [first, hosts] = [Number(process.argv[2]), process.argv[3].split(',')];
let isOver = false;
process.stdin.resume();
process.stdin.on('end', () => (isOver = true));

function cluster() {
  // Without restoreNodeTimeout a node that failed five times in a row would be left out for ever.
  const pools = mysql.createPoolCluster({ removeNodeErrorCount: 1, restoreNodeTimeout: 2000 });
  for (const [place, host] of hosts.entries()) {
    const [address, port] = host.split(':');
    pools.add(`node${place}`, {
      host: address,
      port: Number(port),
      user: process.env.DB_USER,
      password: process.env.DB_PASSWORD,
      database: 'failover',
      connectTimeout: 1000,
      connectionLimit: 2,
    });
  }
  return pools;
}

class Client {
  constructor(name, selector, next) {
    Object.assign(this, { name, selector, next, acknowledged: null, pools: cluster() });
  }

  async run() {
    for (let turn = 0; !isOver; turn++) {
      const id = this.next++;
      await this.step('insert', [id], async (run) => {
        await run('INSERT INTO written (number) VALUES (?)', [id]);
        this.acknowledged = id;
      });
      if (this.acknowledged !== null) {
        await this.step('read', [this.acknowledged], (run) => this.read(run));
      }
      if (turn % 3 === 0) {
        const ids = [this.next++, this.next++];
        await this.step('transaction', ids, (run) => this.transaction(run, ids));
      }
      await sleep(PAUSE_MS);
    }
    await this.pools.end().catch(() => {}); // of connections that may be lost
  }

  async read(run) {
    const [[row]] = await run('SELECT COUNT(*) AS count, @@server_id AS node FROM written WHERE number = ?', [this.acknowledged]);
    if (row.count !== 1) throw new Error(`stale: ${row.count} rows`);
    return row.node;
  }

  async transaction(run, ids) {
    await run('START TRANSACTION');
    for (const id of ids) {
      await run('INSERT INTO written (number) VALUES (?)', [id]);
      await sleep(OPEN_MS);
    }
    await run('COMMIT');
  }

  async step(what, ids, work) {
    const began = Date.now();
    let connection;
    try {
      connection = await this.pools.getConnection('*', this.selector);
      const node = await work((sql, values) => connection.query({ sql, values, timeout: TIMEOUT_MS }));
      connection.release();
      this.say(what, 'done', ids, began, { node });
    } catch (error) {
      // Whatever failed may have left a transaction, or an answer that is still to come.
      connection?.destroy();
      this.say(what, 'failed', ids, began, error);
      await sleep(LOST_PAUSE_MS);
    }
  }

  say(what, result, ids, began, { node = '', errno = 0, code = '', sqlState = '', message = '' }) {
    const text = `${code} ${message}`.replace(/\s+/g, ' ').trim();
    const fields = [this.name, what, result, ids.join(','), began, Date.now(), node, Math.max(errno ?? 0, 0), sqlState ?? '', text];
    process.stdout.write(`${fields.join('\t')}\n`);
  }
}

const clients = [new Client('mysql2-order', 'ORDER', first), new Client('mysql2-rr', 'RR', first + 1_000_000)];
await Promise.all(clients.map((client) => client.run()));
process.exit(0);
