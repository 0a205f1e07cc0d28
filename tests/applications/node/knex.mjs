import knex from 'knex';
import { about, assert, check, to } from './check.mjs';

about('Knex');
const db = knex({ client: 'mysql2', connection: { ...to, charset: 'utf8mb4' }, pool: { min: 0, max: 8 } });
const migrations = [
    { name: '1_first', up: (k) => k.schema.createTable('users', (t) => { t.increments(); t.string('name', 80).notNullable().comment('its name'); t.string('email').unique(); t.json('data'); t.decimal('money', 14, 4).defaultTo(0); t.enu('kind', ['a', 'b']).defaultTo('a'); t.timestamps(true, true); t.boolean('active').defaultTo(true); t.specificType('bits', 'bit(5)'); t.binary('raw', 100); t.uuid('token'); t.index(['name', 'kind'], 'by_name'); t.collate('utf8mb4_unicode_ci'); }), down: (k) => k.schema.dropTable('users') },
    { name: '2_second', up: async (k) => { await k.schema.createTable('posts', (t) => { t.bigIncrements(); t.integer('user_id').unsigned().references('users.id').onDelete('CASCADE'); t.text('body', 'longtext'); t.datetime('at', { precision: 6 }).defaultTo(k.fn.now(6)); t.check('?? <> ?', ['body', '']); }); await k.schema.alterTable('users', (t) => { t.string('nick', 20).after('name'); t.renameColumn('kind', 'sort'); t.dropIndex([], 'by_name'); t.index(['nick']); t.setNullable('name'); }); }, down: async (k) => { await k.schema.dropTable('posts'); await k.schema.alterTable('users', (t) => { t.dropIndex(['nick']); t.dropColumn('nick'); t.renameColumn('sort', 'kind'); t.index(['name', 'kind'], 'by_name'); }); } },
];
const source = { getMigrations: async () => migrations, getMigrationName: (m) => m.name, getMigration: async (m) => m };
await check('migrate', async () => assert.equal((await db.migrate.latest({ migrationSource: source }))[1].length, 2));
await check('roll back', async () => { await db.migrate.rollback({ migrationSource: source }, true); await db.migrate.latest({ migrationSource: source }); assert.equal(await db.migrate.currentVersion({ migrationSource: source }), '2'); });
await check('two at once', async () => { await db.migrate.rollback({ migrationSource: source }, true); const done = await Promise.allSettled([db.migrate.latest({ migrationSource: source }), db.migrate.latest({ migrationSource: source })]); assert.ok(done.some((d) => d.status === 'fulfilled')); });
await check('schema', async () => { assert.ok(await db.schema.hasTable('posts')); assert.ok(await db.schema.hasColumn('users', 'nick')); const info = await db('users').columnInfo(); assert.equal(info.nick.maxLength, 20); assert.equal(info.name.nullable, true); });
await check('insert', async () => {
    const [id] = await db('users').insert([{ name: 'Ann ☃', email: 'a@x', data: JSON.stringify({ n: [1, 2] }), money: '12.3456', raw: Buffer.from([0, 255]) }, { name: 'Bob', email: 'b@x' }]);
    assert.equal(id, 1);
    await db('users').insert({ email: 'A@X', name: 'again' }).onConflict('email').merge({ name: 'merged' });
    await db('users').insert({ email: 'a@x' }).onConflict().ignore();
    await db.batchInsert('posts', Array.from({ length: 300 }, (_, i) => ({ user_id: 1 + (i % 2), body: `body ${i}` })), 50);
    const rows = await db('users').orderBy('id');
    assert.deepEqual([rows[0].name, rows[0].money, rows[0].data], ['merged', '12.3456', { n: [1, 2] }]);
});
await check('select', async () => {
    const rows = await db('users as u').leftJoin('posts as p', 'p.user_id', 'u.id').select('u.name', db.raw('count(*) as n')).where((q) => q.where('p.id', '>', 3).orWhereNull('u.email')).whereIn('u.id', db('users').select('id')).groupBy('u.id').having('n', '>', 2).orderBy('n', 'desc').limit(3).offset(0);
    assert.equal(rows.length, 2);
    assert.equal((await db('posts').count({ n: '*' }).min('id as m').first()).n, 300);
    await db.with('t', db('posts').where('id', '<', 10)).select('*').from('t').whereExists(db('users').whereRaw('users.id = t.user_id')).union([db('posts').where('id', 20)]);
    await db('posts').select('id').rank('r', (o) => o.orderBy('user_id')).rowNumber('n', 'id', 'user_id').limit(2);
    await db('users').whereJsonPath('data', '$.n[0]', '=', 1).jsonExtract('data', '$.n', 'numbers');
    await db('users').whereJsonSupersetOf('data', { n: [1] });
    await db('users').whereILike('name', 'MER%').andWhereNot('id', 7).distinct('name');
    assert.equal((await db('posts').pluck('id')).length, 300);
    const stream = db('posts').stream(); let n = 0; for await (const _ of stream) n += 1; assert.equal(n, 300);
});
await check('change', async () => { assert.equal(await db('users').where({ id: 1 }).increment('money', 5).update({ active: false }), 1); assert.equal(await db('posts').where('id', '>', 290).del(), 10); assert.equal(await db('posts').orderBy('id').limit(2).del(), 2); });
await check('transactions', async () => {
    await assert.rejects(db.transaction(async (t) => { await t('posts').del(); await t.transaction((s) => s('users').update({ nick: 'x' })); throw new Error('back'); }));
    assert.equal((await db('posts').count({ n: '*' }))[0].n, 288);
    await db.transaction(async (t) => { await t('users').forUpdate().skipLocked().where('id', 1); await t('users').forShare().where('id', 2); await t('users').forUpdate().noWait().where('id', 2); }, { isolationLevel: 'serializable' });
});
await check('contention', async () => {
    await Promise.all(Array.from({ length: 8 }, async () => { for (let i = 0; i < 10; i++) await db.transaction(async (t) => { const u = await t('users').where({ id: 2 }).forUpdate().first(); await t('users').where({ id: 2 }).update({ money: Number(u.money) + 1 }); }); }));
    assert.equal((await db('users').where({ id: 2 }).first()).money, '80.0000');
});
await check('views and tables', async () => { await db.schema.createView('v', (v) => { v.columns(['id']); v.as(db('users').select('id')); }); await db.schema.renameTable('posts', 'notes'); await db.schema.createTableLike('notes2', 'notes', (t) => t.integer('more')); await db.schema.dropView('v'); await db('notes2').truncate(); });
await db.destroy();
