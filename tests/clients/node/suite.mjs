// mysql2 on Node: the text protocol by query(), the binary protocol by execute().
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import mysql from 'mysql2/promise';

const DATABASE = 'client_node';
const MIB = 1 << 20;
const server = {
  host: process.env.DB_HOST ?? '127.0.0.1',
  port: Number(process.env.DB_PORT ?? 3306),
  user: process.env.DB_USER ?? 'root',
  password: process.env.DB_PASSWORD ?? '',
  database: DATABASE,
  charset: 'utf8mb4',
  dateStrings: true,
  supportBigNumbers: true,
  bigNumberStrings: true,
};

const vectors = JSON.parse(readFileSync(new URL('../vectors.json', import.meta.url), 'utf8'));
for (const column of vectors.types) {
  column.values = column.values.map((v) => (typeof v === 'string' ? v : v.repeat[0].repeat(v.repeat[1])));
}
const height = Math.max(...vectors.types.map((c) => c.values.length)) + 1; // the last row is NULL throughout

/** Opens a connection, hands it to `use`, and closes it whatever happens. */
async function connected(options, use) {
  const connection = await mysql.createConnection({ ...server, ...options });
  try {
    return await use(connection);
  } finally {
    connection.destroy();
  }
}

function equal(got, wanted, about) {
  if (!isDeepStrictEqual(got, wanted)) {
    const show = (value) => (JSON.stringify(value) ?? 'undefined').slice(0, 300);
    throw new Error(`${about}: got ${show(got)}, wanted ${show(wanted)}`);
  }
}

async function fails(promise, number, states = []) {
  const error = await promise.then(() => null, (error) => error);
  if (!error) throw new Error(`did not fail with ${number}`);
  equal(error.errno, number, error.message);
  if (states.length && !states.includes(error.sqlState)) {
    throw new Error(`${number}: got SQLSTATE ${error.sqlState}, wanted ${states}`);
  }
  return error.message;
}

const rows = async (connection, sql, values) => (await connection.query(sql, values))[0];
const value = async (connection, sql, values) => Object.values((await rows(connection, sql, values))[0])[0];
const number = async (connection, sql, values) => Number(await value(connection, sql, values)); // BIGINT comes as text
const isMariadb = async (connection) => (await value(connection, 'SELECT VERSION()')).includes('MariaDB');

function bound(column, row) {
  const text = column.values[row];
  if (text === undefined) return null;
  if (column.kind === 'bytes') return Buffer.from(text, 'hex');
  if (column.kind === 'bit') return Buffer.from(BigInt(text).toString(16).padStart(16, '0'), 'hex').subarray(column.name === 'c_bit1' ? 7 : 0);
  return text;
}

function same(column, row, got) {
  const wanted = column.values[row];
  if (wanted === undefined || got === null) {
    return got === null && (wanted === undefined || (column.kind === 'json' && wanted === 'null'));
  }
  switch (column.kind) {
    case 'bytes': return got.equals(Buffer.from(wanted, 'hex'));
    case 'bit': return BigInt(`0x${got.toString('hex')}`) === BigInt(wanted);
    case 'float': return Math.abs(got - wanted) <= Math.abs(wanted) * 1e-6;
    case 'double': return Number(got) === Number(wanted);
    case 'json': return got === wanted || isDeepStrictEqual(got, JSON.parse(wanted)); // parsed, where the server says JSON
    case 'time': return got === wanted || got === wanted.replace(/0+$/, ''); // the driver drops zeros in binary rows
    default: return String(got) === wanted;
  }
}

function checkVectors(got, about) {
  equal(got.length, height, `${about}: rows`);
  const wrong = [];
  got.forEach((line, row) => {
    for (const column of vectors.types) {
      if (!same(column, row, line[column.name])) {
        wrong.push(`${column.name}: got ${String(line[column.name]).slice(0, 100)}, wanted ${String(column.values[row]).slice(0, 100)}`);
      }
    }
  });
  if (wrong.length) throw new Error(`${about}:\n  ${wrong.join('\n  ')}`);
}

async function everyType(connection, table, method) {
  await connection.query("SET time_zone = '+00:00'");
  await connection.query(`DROP TABLE IF EXISTS ${table}`);
  await connection.query(`CREATE TABLE ${table} (id INT PRIMARY KEY, ${vectors.types.map((c) => `${c.name} ${c.definition}`).join(', ')})`);
  const insert = `INSERT INTO ${table} VALUES (?${', ?'.repeat(vectors.types.length)})`;
  for (let row = 0; row < height; row++) {
    const [result] = await connection[method](insert, [row, ...vectors.types.map((c) => bound(c, row))]);
    equal(result.affectedRows, 1, 'inserted');
  }
  checkVectors((await connection.execute(`SELECT * FROM ${table} ORDER BY id`))[0], 'binary protocol');
  checkVectors((await connection.query(`SELECT * FROM ${table} ORDER BY id`))[0], 'text protocol');
}

const tests = {
  connect_and_ping: () => connected({}, async (c) => {
    await c.ping();
    equal(await value(c, 'SELECT DATABASE()'), DATABASE, 'database');
    equal((await c.execute('SELECT ? AS a, ? AS b', ['x', null]))[0], [{ a: 'x', b: null }], 'parameters');
  }),

  wrong_login: async () => {
    await fails(connected({ user: 'nobody', password: 'x' }, async () => {}), 1045, ['28000']);
    await fails(connected({ database: 'nowhere_at_all' }, async () => {}), 1049, ['42000']);
  },

  every_type_by_prepared_statements: () => connected({}, (c) => everyType(c, 'v_prepared', 'execute')),
  every_type_by_text: () => connected({}, (c) => everyType(c, 'v_text', 'query')),

  dates_as_dates: () => connected({ dateStrings: false, timezone: 'Z' }, async (c) => {
    await c.query("SET time_zone = '+00:00'");
    const moment = new Date('2024-02-29T12:34:56.789Z');
    const [[line]] = await c.execute('SELECT CAST(? AS DATETIME(3)) AS d', [moment]);
    equal(line.d, moment, 'date');
  }),

  numbers_as_numbers: () => connected({ supportBigNumbers: false }, async (c) => {
    const [[line]] = await c.execute('SELECT ? + 1 AS a, 1.5e0 AS b, 7 AS c', [41]);
    equal([line.a, line.b, line.c], [42, 1.5, 7], 'numbers');
  }),

  errors_have_number_and_sqlstate: () => connected({}, async (c) => {
    await c.query('DROP TABLE IF EXISTS e, e2, bad');
    for (const sql of vectors.error_setup) await c.query(sql);
    const mariadb = await isMariadb(c);
    const wrong = [];
    for (const test of vectors.errors.filter((test) => !(test.not_mariadb && mariadb))) {
      await fails(c.query(test.sql.replace('{database}', DATABASE)), test.number, test.states)
        .catch((error) => wrong.push(`${test.sql}: ${error.message}`));
    }
    if (wrong.length) throw new Error(wrong.join('\n  '));
    await fails(c.execute('INSERT INTO e (id, u) VALUES (?, ?)', [1, 9]), 1062, ['23000']);
    await fails(c.execute('SELECT ? FROM', [1]), 1064, ['42000']);
  }),

  transactions: () => connected({}, (c) => connected({}, async (other) => {
    await c.query('DROP TABLE IF EXISTS tx');
    await c.query('CREATE TABLE tx (id INT PRIMARY KEY)');
    await c.beginTransaction();
    await c.execute('INSERT INTO tx VALUES (?)', [1]);
    equal((await rows(other, 'SELECT * FROM tx')).length, 0, 'not visible before commit');
    await c.commit();
    equal((await rows(other, 'SELECT * FROM tx')).length, 1, 'visible after commit');
    await c.beginTransaction();
    await c.execute('DELETE FROM tx');
    await c.rollback();
    equal((await rows(other, 'SELECT * FROM tx')).length, 1, 'rolled back');
  })),

  multi_statements: () => connected({ multipleStatements: true }, async (c) => {
    const [results] = await c.query("SELECT 1 AS a; DO 0; SELECT 'x;y' AS b");
    equal([Number(results[0][0].a), results[1].affectedRows, results[2][0].b], [1, 0, 'x;y'], 'results');
    await fails(c.query('SELECT 1; SELECT nothing; SELECT 2'), 1054);
    equal(await number(c, 'SELECT 3'), 3, 'the connection lives on');
  }),

  one_statement_unless_asked: () => connected({}, async (c) => {
    await fails(c.query('SELECT 1; SELECT 2'), 1064, ['42000']);
  }),

  blob_of_20_mb: () => connected({}, async (c) => {
    const blob = Buffer.alloc(20 * MIB, Buffer.from([0, 255, 39, 92, 10, 13, 26]));
    await c.query('DROP TABLE IF EXISTS big');
    await c.query('CREATE TABLE big (id INT PRIMARY KEY, b LONGBLOB)');
    await c.execute('INSERT INTO big VALUES (?, ?)', [1, blob]);
    await c.query('INSERT INTO big VALUES (?, ?)', [2, blob]);
    for (const id of [1, 2]) {
      const [[line]] = await c.execute('SELECT b FROM big WHERE id = ?', [id]);
      if (!blob.equals(line.b)) throw new Error('the blob changed on its way');
      if (!blob.equals(await value(c, 'SELECT b FROM big WHERE id = ?', [id]))) throw new Error('the blob changed on its way (text)');
    }
  }),

  batch_of_5000_rows: () => connected({}, async (c) => {
    await c.query('DROP TABLE IF EXISTS batch');
    await c.query('CREATE TABLE batch (id INT PRIMARY KEY, s VARCHAR(20))');
    const batch = Array.from({ length: 5000 }, (_, i) => [i, `row ${i}`]);
    const [result] = await c.query('INSERT INTO batch VALUES ?', [batch]);
    equal([result.affectedRows, result.info], [5000, 'Records: 5000  Duplicates: 0  Warnings: 0'], 'inserted');
    const got = await c.execute({ sql: 'SELECT * FROM batch ORDER BY id', rowsAsArray: true });
    equal(got[0], batch, 'rows');
  }),

  streamed_rows: () => connected({}, async (c) => {
    let sum = 0;
    for await (const line of c.connection.query('SELECT id FROM batch').stream()) sum += line.id;
    equal(sum, 12497500, 'sum');
  }),

  pipelined_statements: () => connected({}, async (c) => {
    const answers = await Promise.all(Array.from({ length: 200 }, (_, i) => (i % 2 ? c.query('SELECT ? AS n', [i]) : c.execute('SELECT ? AS n', [i]))));
    equal(answers.map(([[line]]) => Number(line.n)), Array.from({ length: 200 }, (_, i) => i), 'in order');
  }),

  insert_id_and_changed_rows: () => connected({}, async (c) => {
    await c.query('DROP TABLE IF EXISTS counted');
    await c.query('CREATE TABLE counted (id INT PRIMARY KEY AUTO_INCREMENT, n INT)');
    const [inserted] = await c.execute('INSERT INTO counted (n) VALUES (1), (2), (3)');
    equal([inserted.insertId, inserted.affectedRows], [1, 3], 'inserted');
    // mysql2 asks for found rows, and reads the changed ones out of the info text
    const [updated] = await c.query('UPDATE counted SET n = 2');
    equal([updated.affectedRows, updated.changedRows, updated.info], [3, 2, 'Rows matched: 3  Changed: 2  Warnings: 0'], 'updated');
  }),

  accounts_of_both_plugins: () => connected({}, async (admin) => {
    const mariadb = await isMariadb(admin);
    for (const [user, plugin] of [['node_native', 'mysql_native_password'], ['node_sha2', 'caching_sha2_password']]) {
      if (mariadb && plugin !== 'mysql_native_password') continue;
      await admin.query(`DROP USER IF EXISTS ${user}@'%'`);
      await admin.query(`CREATE USER ${user}@'%' IDENTIFIED ${mariadb ? 'BY' : `WITH ${plugin} BY`} 'pass''word'`);
      await admin.query(`GRANT ALL ON ${DATABASE}.* TO ${user}@'%'`);
      for (let i = 0; i < 2; i++) { // the second time by caching_sha2's fast path
        await connected({ user, password: "pass'word" }, async (c) => {
          equal(await value(c, "SELECT SUBSTRING_INDEX(USER(), '@', 1)"), user, 'user');
        });
      }
      await fails(connected({ user, password: 'wrong' }, async () => {}), 1045, ['28000']);
      await admin.query(`DROP USER ${user}@'%'`);
    }
  }),

  change_user: () => connected({}, async (c) => {
    await c.query('SET @x = 1');
    await c.changeUser({ database: DATABASE });
    equal(await value(c, 'SELECT @x'), null, 'user variables are gone');
    equal(await value(c, 'SELECT DATABASE()'), DATABASE, 'database');
  }),

  connection_attributes: () => connected({ connectAttributes: { program_name: 'suite', team: 'ü' } }, async (c) => {
    equal(await number(c, 'SELECT 1'), 1, 'answer');
  }),

  compression: async () => {
    await connected({ compress: true }, async (c) => {
      equal((await c.query("SHOW STATUS LIKE 'Compression'"))[0][0].Value, 'ON', 'compression');
      const text = 'compressed '.repeat(100_000);
      equal((await c.query('SELECT ? AS t', [text]))[0][0].t, text, 'text');
      equal(await number(c, 'SELECT 1'), 1, 'answer');
    });
  },
  pool: async () => {
    const pool = mysql.createPool({ ...server, connectionLimit: 4 });
    try {
      const answers = await Promise.all(Array.from({ length: 50 }, (_, i) => pool.execute('SELECT ? AS n', [i])));
      equal(answers.map(([[line]]) => Number(line.n)), Array.from({ length: 50 }, (_, i) => i), 'answers');
    } finally {
      await pool.end();
    }
  },

  metadata: () => connected({}, async (c) => {
    await c.query('DROP TABLE IF EXISTS meta');
    await c.query('CREATE TABLE meta (id INT UNSIGNED NOT NULL PRIMARY KEY, s VARCHAR(9), d DECIMAL(9,3), t TIME(2), b BLOB)');
    for (const method of ['query', 'execute']) {
      const [, fields] = await c[method]('SELECT id, s AS alias, d, t, b FROM meta');
      equal(fields.map((f) => f.name), ['id', 'alias', 'd', 't', 'b'], 'names');
      equal(fields.map((f) => f.orgName), ['id', 's', 'd', 't', 'b'], 'original names');
      equal(fields.map((f) => f.columnType), [3, 253, 246, 11, 252], 'types');
      equal(fields[2].decimals, 3, 'scale');
      equal(fields[0].flags & 0x23, 0x23, 'NOT NULL, primary key, unsigned');
    }
  }),

  many_prepared_statements: () => connected({}, async (c) => {
    const statements = [];
    for (let i = 0; i < 200; i++) statements.push(await c.prepare(`SELECT ? + ${i} AS n`));
    for (let i = 0; i < 200; i++) equal(Number((await statements[i].execute([1]))[0][0].n), i + 1, 'sum');
    for (const statement of statements) await statement.close();
    equal(await number(c, 'SELECT 1'), 1, 'answer');
  }),
};

await connected({ database: undefined }, async (c) => {
  await c.query(`DROP DATABASE IF EXISTS ${DATABASE}`);
  await c.query(`CREATE DATABASE ${DATABASE} CHARACTER SET utf8mb4`);
});
let passed = 0;
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  const started = performance.now();
  try {
    await test();
    passed++;
    console.log(`ok ${name} (${((performance.now() - started) / 1000).toFixed(2)} s)`);
  } catch (error) {
    failed++;
    console.log(`FAILED ${name}: ${error.stack ?? error}`);
  }
}
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
