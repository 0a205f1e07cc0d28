import { DataTypes, Op, QueryTypes, Sequelize, Transaction } from 'sequelize';
import { about, assert, check, to } from './check.mjs';

about('Sequelize');
const db = new Sequelize(to.database, to.user, '', { host: to.host, port: to.port, dialect: 'mysql', logging: false });
const User = db.define('User', { name: { type: DataTypes.STRING(80), allowNull: false, comment: 'its name' }, email: { type: DataTypes.STRING, unique: true }, born: DataTypes.DATEONLY, at: DataTypes.DATE(6), money: DataTypes.DECIMAL(14, 4), data: DataTypes.JSON, kind: DataTypes.ENUM('a', "b'c"), big: DataTypes.BIGINT.UNSIGNED, raw: DataTypes.BLOB('medium'), token: { type: DataTypes.UUID, defaultValue: DataTypes.UUIDV4 }, ratio: DataTypes.DOUBLE, on: { type: DataTypes.BOOLEAN, defaultValue: true }, text: DataTypes.TEXT('long'), full: { type: DataTypes.VIRTUAL, get() { return `<${this.name}>`; } } }, { paranoid: true, version: true, indexes: [{ fields: ['name', { name: 'born', order: 'DESC' }] }, { fields: [{ name: 'text', length: 20 }] }] });
const Post = db.define('Post', { title: DataTypes.STRING, at: { type: DataTypes.DATE, defaultValue: DataTypes.NOW } });
const Tag = db.define('Tag', { name: { type: DataTypes.STRING(40), primaryKey: true } });
User.hasMany(Post, { onDelete: 'CASCADE' }); Post.belongsTo(User); Post.belongsToMany(Tag, { through: 'PostTags' }); Tag.belongsToMany(Post, { through: 'PostTags' }); User.belongsTo(User, { as: 'boss' });
await check('sync', () => db.sync({ force: true }));
await check('sync with changes', () => db.sync({ alter: true }));
await check('sync with changes, again', () => db.sync({ alter: true }));
await check('describe', async () => { const i = db.getQueryInterface(); const d = await i.describeTable('Users'); assert.equal(d.name.comment, 'its name'); assert.equal(d.id.autoIncrement, true); const x = await i.showIndex('Users'); assert.ok(x.length >= 4); assert.ok((await i.getForeignKeyReferencesForTable('Posts')).length === 1); assert.ok((await i.showAllTables()).length >= 4); assert.ok((await i.showConstraint('Posts')).length > 0); });
await check('create', async () => {
    const at = new Date('2024-02-29T23:59:59.123Z');
    const u = await User.create({ name: 'Ann ☃', email: 'a@x', born: '1990-01-02', at, money: '12.3456', data: { n: [1, { x: 'ä' }] }, kind: "b'c", big: '18446744073709551615', raw: Buffer.from([0, 255]), ratio: 0.1, text: 'x'.repeat(70000), Posts: [{ title: 'one', Tags: [{ name: 't1' }, { name: 't2' }] }, { title: 'two' }] }, { include: [{ model: Post, include: [Tag] }] });
    const r = await User.findByPk(u.id, { include: [{ model: Post, include: [Tag] }] });
    assert.deepEqual([r.born, r.at.getTime(), r.money, r.data, r.kind, r.big, r.full, r.Posts.length, r.Posts[0].Tags.length, r.text.length], ['1990-01-02', at.getTime(), '12.3456', { n: [1, { x: 'ä' }] }, "b'c", '18446744073709551615', '<Ann ☃>', 2, 2, 70000]);
    await User.bulkCreate(Array.from({ length: 100 }, (_, i) => ({ name: `user ${i}`, email: `u${i}@x`, ratio: i, bossId: u.id })));
    await User.bulkCreate([{ name: 'changed', email: 'u5@x' }, { name: 'new', email: 'n@x' }], { updateOnDuplicate: ['name'] });
    await User.upsert({ name: 'up', email: 'u6@x' });
    assert.equal(await User.count(), 102);
});
await check('find', async () => {
    const { count, rows } = await User.findAndCountAll({ where: { [Op.or]: [{ ratio: { [Op.between]: [10, 20] } }, { name: { [Op.like]: '%9_' } }], email: { [Op.notIn]: ['x'] }, bossId: { [Op.ne]: null } }, include: [{ model: User, as: 'boss', required: true, include: [Post] }], order: [['name', 'DESC'], ['id', 'ASC']], limit: 5, offset: 2, distinct: true });
    assert.deepEqual([count, rows.length], [21, 5]);
    await User.findAll({ attributes: [[db.fn('YEAR', db.col('born')), 'y'], [db.fn('COUNT', db.literal('*')), 'n']], group: ['y'], having: db.where(db.fn('COUNT', db.literal('*')), '>', 1) });
    assert.equal((await User.findAll({ where: { 'data.n[1].x': 'ä' } })).length, 1);
    assert.equal((await User.findAll({ where: { name: { [Op.regexp]: '^user [0-3]$' } } })).length, 4);
    assert.equal(await User.sum('ratio', { where: { ratio: { [Op.lt]: 10 } } }), 45 );
    assert.equal((await db.query('SELECT :a + ? AS x'.replace('?', '1'), { replacements: { a: 2 }, type: QueryTypes.SELECT }))[0].x, 3);
    assert.equal((await db.query('SELECT $1 AS x, $2 AS y', { bind: [1, 'z'], type: QueryTypes.SELECT }))[0].y, 'z');
    await Tag.findAll({ include: [{ model: Post, through: { attributes: [] }, where: { title: 'one' } }] });
});
await check('change', async () => { const u = await User.findOne({ where: { email: 'u7@x' } }); u.name = 'seven'; await u.save(); await u.increment('ratio', { by: 3 }); await u.reload(); await u.destroy(); assert.equal(await User.count({ where: { email: 'u7@x' } }), 0); await u.restore(); assert.equal((await User.update({ on: false }, { where: { ratio: { [Op.gt]: 50 } } }))[0], 49); assert.equal(await User.destroy({ where: { ratio: { [Op.gt]: 90 } }, force: true, limit: 3 }), 3); const s = await User.findOne({ where: { email: 'u8@x' } }), t = await User.findOne({ where: { email: 'u8@x' } }); await s.update({ name: 's' }); await assert.rejects(t.update({ name: 't' })); });
await check('errors', async () => { await assert.rejects(User.create({ name: 'x', email: 'A@X' }), { name: 'SequelizeUniqueConstraintError', fields: { email: 'A@X' } }); await assert.rejects(Post.create({ UserId: 99999 }), (e) => e.name === 'SequelizeForeignKeyConstraintError' && e.table === 'Users' && e.fields[0] === 'UserId'); });
await check('transactions', async () => {
    await assert.rejects(db.transaction(async (transaction) => { await User.destroy({ where: {}, force: true, transaction }); throw new Error('back'); }));
    await db.transaction({ isolationLevel: Transaction.ISOLATION_LEVELS.READ_COMMITTED }, async (transaction) => { await User.findAll({ where: { id: 1 }, lock: transaction.LOCK.UPDATE, skipLocked: true, transaction }); await db.transaction({ transaction }, async (t) => { await Post.create({ title: 'in' }, { transaction: t }); }); });
    assert.equal(await Post.count(), 3);
});
await check('columns', async () => { const i = db.getQueryInterface(); await i.addColumn('Tags', 'more', { type: DataTypes.INTEGER, defaultValue: 5, after: 'name' }); await i.changeColumn('Tags', 'more', { type: DataTypes.STRING(30), allowNull: false, defaultValue: 'x' }); await i.renameColumn('Tags', 'more', 'less'); await i.addIndex('Tags', ['less'], { name: 'by_less' }); await i.addConstraint('Posts', { fields: ['title'], type: 'unique', name: 'one_title' }); await i.removeConstraint('Posts', 'one_title'); await i.removeIndex('Tags', 'by_less'); await i.removeColumn('Tags', 'less'); });
await check('drop', () => db.drop());
await db.close();
