import { EntitySchema, LockMode, MikroORM } from '@mikro-orm/mysql';
import { about, assert, check, to } from './check.mjs';

about('MikroORM');
const User = new EntitySchema({ name: 'User', properties: { id: { type: 'integer', primary: true }, name: { type: 'string', length: 80 }, email: { type: 'string', unique: true, nullable: true }, data: { type: 'json', nullable: true }, money: { type: 'decimal', precision: 14, scale: 4, nullable: true }, kind: { enum: true, items: ['a', 'b'], default: 'a' }, at: { type: 'Date', length: 6, defaultRaw: 'CURRENT_TIMESTAMP(6)' }, version: { type: 'integer', version: true }, posts: { kind: '1:m', entity: () => 'Post', mappedBy: 'user' } }, indexes: [{ properties: ['name', 'kind'] }], checks: [{ name: 'money', expression: 'money >= 0' }] });
const Post = new EntitySchema({ name: 'Post', properties: { id: { type: 'bigint', primary: true }, title: { type: 'string' }, user: { kind: 'm:1', entity: () => 'User', deleteRule: 'cascade' }, tags: { kind: 'm:n', entity: () => 'Tag', owner: true } } });
const Tag = new EntitySchema({ name: 'Tag', properties: { name: { type: 'string', length: 40, primary: true } } });
const orm = await MikroORM.init({ dbName: to.database, host: to.host, port: to.port, user: to.user, password: '', entities: [User, Post, Tag], ensureDatabase: false });
const schema = orm.schema ?? orm.getSchemaGenerator();
await check('schema', async () => { await (schema.refresh ? schema.refresh() : schema.refreshDatabase()); });
await check('nothing to do any more', async () => assert.equal((await schema.getUpdateSchemaSQL()).replace(/set names.*?;|set foreign_key_checks = .;/gs, '').trim(), ''));
await check('persist', async () => {
    const em = orm.em.fork();
    const u = em.create('User', { name: 'Ann ☃', email: 'a@x', data: { n: [1, 'ä'] }, money: '12.3456', posts: [] });
    for (let i = 0; i < 50; i++) em.create('Post', { title: `post ${i}`, user: u, tags: [] });
    await em.flush();
    const [p] = await em.find('Post', { title: 'post 7' }); p.tags.add(em.create('Tag', { name: 't1' }), em.create('Tag', { name: 't2' })); await em.flush();
    const f = orm.em.fork(); const r = await f.findOneOrFail('User', { email: 'A@X' }, { populate: ['posts', 'posts.tags'] });
    assert.deepEqual([r.data, r.money, r.posts.length, r.kind], [{ n: [1, 'ä'] }, '12.3456', 50, 'a']);
});
await check('find', async () => { const em = orm.em.fork(); const [rows, n] = await em.findAndCount('Post', { title: { $like: 'post 1%' }, user: { $or: [{ name: { $ne: 'x' } }, { email: null }] } }, { orderBy: { user: { name: 'asc' }, id: 'desc' }, limit: 3, offset: 1, populate: ['user'] }); assert.deepEqual([rows.length, n], [3, 11]); assert.equal((await em.find('User', { data: { n: [1, 'ä'] } })).length <= 1, true); assert.equal((await em.find('Post', { tags: { $some: { name: 't1' } } })).length, 1); assert.equal((await em.find('Post', { tags: { $none: { name: 't1' } } })).length, 49); const page = await em.findByCursor('Post', { where: {}, first: 10, orderBy: { id: 'desc' } }); assert.equal(page.items.length, 10); });
await check('upsert', async () => { const em = orm.em.fork(); await em.upsert('User', { email: 'a@x', name: 'up' }); await em.upsertMany('User', [{ email: 'a@x', name: 'up2' }, { email: 'b@x', name: 'b' }]); assert.equal(await em.count('User'), 2); });
await check('change', async () => { const em = orm.em.fork(); const posts = await em.find('Post', {}); posts.forEach((p, i) => { p.title = `changed ${i}`; }); await em.flush(); assert.equal(await em.nativeUpdate('Post', { title: 'changed 3' }, { title: 'x' }), 1); assert.equal(await em.nativeDelete('Post', { id: { $gt: 45 } }), 5); const a = await orm.em.fork().findOneOrFail('User', { email: 'b@x' }); a.name = 'c'; });
await check('transactions', async () => { const em = orm.em.fork(); await assert.rejects(em.transactional(async (t) => { await t.nativeDelete('User', {}); throw new Error('back'); })); await em.transactional(async (t) => { await t.findOne('User', { email: 'a@x' }, { lockMode: LockMode.PESSIMISTIC_WRITE }); await t.transactional(async (s) => { s.create('Tag', { name: 'in' }); }); }); assert.equal(await em.count('Tag'), 3); });
await check('drop', async () => { await (schema.drop ? schema.drop() : schema.dropSchema()); });
await orm.close(true);
