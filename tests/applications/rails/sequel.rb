# Sequel: schema, datasets, models.
require 'sequel'

DB = Sequel.connect(adapter: 'mysql2', host: ENV['DB_HOST'], port: ENV['DB_PORT'].to_i, user: ENV['DB_USER'], database: "#{ENV['DB_NAME']}_sequel", encoding: 'utf8mb4')

def check(name)
  yield
  puts "ok Sequel, #{name}"
rescue StandardError => e
  warn e.full_message
  puts "FAILED Sequel, #{name}: #{e.class} #{e.message.gsub(/\s+/, ' ')[0, 400]}"
end

def expect(wanted, got) = (wanted == got or raise "#{got.inspect}, not #{wanted.inspect}")

check('schema') do
  DB.create_table!(:artists) { primary_key :id; String :name, size: 60, null: false, unique: true; DateTime :at, size: 6; Float :ratio; File :raw; TrueClass :on, default: true; BigDecimal :money, size: [12, 2]; check { ratio >= 0 } }
  DB.create_table!(:albums) { primary_key :id, type: :Bignum; foreign_key :artist_id, :artists, on_delete: :cascade; column :title, :text; column :kind, "enum('a', 'b')", default: 'a'; index :artist_id, name: :by_artist }
  DB.alter_table(:albums) { add_column :pages, Integer, default: 3; rename_column :pages, :sheets; set_column_type :sheets, :bigint; set_column_not_null :sheets; add_index %i[kind sheets], unique: false; drop_index %i[kind sheets] }
  expect(%i[id artist_id title kind sheets], DB.schema(:albums).map(&:first))
  expect([:by_artist], DB.indexes(:albums).keys)
  expect(1, DB.foreign_key_list(:albums).size)
end
check('datasets') do
  expect(1, DB[:artists].insert(name: 'Ann ☃', at: Time.utc(2024, 1, 2, 3, 4, 5), ratio: 0.5, raw: Sequel.blob("\x00\xff"), money: '1.5'))
  DB[:albums].import(%i[artist_id title], Array.new(50) { |i| [1, "title #{i}"] }, commit_every: 20)
  DB[:artists].on_duplicate_key_update(ratio: 1.5).insert(name: 'ANN ☃', ratio: 3)
  DB[:artists].insert_ignore.multi_insert([{ name: 'Ann ☃' }, { name: 'Bob' }])
  expect([1.5, 2], [DB[:artists].first[:ratio], DB[:artists].count])
  expect(50, DB[:artists].join(:albums, artist_id: :id).where(Sequel.ilike(:title, 'TITLE%')).exclude(kind: 'b').count)
  expect(3, DB[:albums].select_group(Sequel.function(:length, :title)).select_append { count.function.*.as(:n) }.having { n > 0 }.order(:n).all.size + 1)
  DB[:albums].with(:t, DB[:albums].where { id > 10 }).from(:t).union(DB[:albums].where(id: 1)).all
  DB[:albums].select { [id, row_number.function.over(partition: :kind, order: Sequel.desc(:id)).as(:r)] }.limit(3).all
  expect(10, DB[:albums].where(id: DB[:albums].select(:id).order(:id).limit(10).from_self).delete)
  DB[:albums].where(kind: 'a').limit(5).update(sheets: Sequel[:sheets] + 1)
  expect(40, DB[:albums].paged_each(rows_per_fetch: 7).count)
  DB[:albums].for_update.skip_locked.first
  expect("\x00\xff".b, DB[:artists].get(:raw).to_s.b)
end
check('prepared') { s = DB[:artists].where(name: :$n).prepare(:first, :by_name); expect(1, s.call(n: 'ann ☃')[:id]) }
check('transactions') do
  DB.transaction(isolation: :committed) { DB[:albums].delete; DB.transaction(savepoint: true) { raise Sequel::Rollback }; raise Sequel::Rollback }
  expect(40, DB[:albums].count)
end
check('errors') do
  [[Sequel::UniqueConstraintViolation, -> { DB[:artists].insert(name: 'bob') }], [Sequel::ForeignKeyConstraintViolation, -> { DB[:albums].insert(artist_id: 99) }], [Sequel::NotNullConstraintViolation, -> { DB[:artists].insert(name: nil) }], [Sequel::CheckConstraintViolation, -> { DB[:artists].insert(name: 'n', ratio: -1) }]].each do |kind, step|
    step.call
    raise "no #{kind}"
  rescue kind
    next
  end
end
