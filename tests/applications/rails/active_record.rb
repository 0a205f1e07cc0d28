# What a Rails application does with its database.
require 'active_record'
require 'stringio'

TO = { adapter: 'mysql2', host: ENV['DB_HOST'], port: ENV['DB_PORT'].to_i, username: ENV['DB_USER'], database: ENV['DB_NAME'], encoding: 'utf8mb4', pool: 10 }.freeze
ActiveRecord::Base.establish_connection(TO)
ActiveRecord::Migration.verbose = false

def check(name)
  yield
  puts "ok ActiveRecord, #{name}"
rescue StandardError, ScriptError => e
  warn e.full_message
  puts "FAILED ActiveRecord, #{name}: #{e.class} #{e.message.gsub(/\s+/, ' ')[0, 400]}"
end

def expect(wanted, got) = (wanted == got or raise "#{got.inspect}, not #{wanted.inspect}")

class First < ActiveRecord::Migration[6.1]
  def change
    create_table :authors, comment: 'who writes' do |t|
      t.string :name, null: false, limit: 80, comment: 'its name'
      t.string :email, index: { unique: true }
      t.decimal :money, precision: 14, scale: 4, default: 0
      t.json :data
      t.boolean :active, default: true, null: false
      t.datetime :seen, precision: 6
      t.date :born
      t.time :wakes
      t.binary :raw, limit: 200
      t.bigint :big
      t.float :ratio, limit: 53
      t.integer :lock_version, default: 0
      t.integer :books_count, default: 0
      t.virtual :loud, type: :string, as: 'upper(name)', stored: true
      t.timestamps precision: 6
    end
    create_table :books do |t|
      t.references :author, foreign_key: { on_delete: :cascade }, null: false
      t.text :title, limit: 16_777_215
      t.string :kind, default: 'x'
      t.index 'kind, (length(title)) desc', name: 'by_length'
      t.check_constraint 'length(kind) > 0', name: 'has_kind'
    end
    create_join_table(:books, :tags) { |t| t.index %i[book_id tag_id], unique: true }
    create_table(:tags, id: :string, limit: 40) { |t| t.string :label, collation: 'utf8mb4_bin' }
    add_index :authors, %i[name born], order: { born: :desc }, length: { name: 20 }
  end
end

class Second < ActiveRecord::Migration[6.1]
  def change
    add_column :books, :pages, :integer, default: 5, after: :title
    rename_column :books, :pages, :sheets
    add_reference :books, :editor, foreign_key: { to_table: :authors }
    change_column_default :books, :kind, from: 'x', to: 'y'
    change_column_null :authors, :email, true
    rename_index :books, 'by_length', 'by_title_length'
    reversible { |d| d.up { change_column :books, :kind, :string, limit: 30 } ; d.down { change_column :books, :kind, :string } }
    add_timestamps :books, null: true
  end
end

class Author < ActiveRecord::Base
  has_many :books, dependent: :destroy
  validates :email, uniqueness: { case_sensitive: false, allow_nil: true }
end
class Book < ActiveRecord::Base
  belongs_to :author, counter_cache: true
  has_and_belongs_to_many :tags
end
class Tag < ActiveRecord::Base; has_and_belongs_to_many :books; end

class Source < ActiveRecord::MigrationContext
  def initialize = super([], ActiveRecord::SchemaMigration)
  def migrations = [First.new('First', 1), Second.new('Second', 2)]
end

check('migrate') { Source.new.migrate; expect(2, Source.new.current_version) }
check('back and again') { Source.new.rollback(2); Source.new.migrate }
check('two at once') do
  Source.new.rollback(1)
  done = 2.times.map { Thread.new { begin Source.new.migrate; :done; rescue ActiveRecord::ConcurrentMigrationError; :late; end } }.map(&:value)
  raise done.inspect unless done.include?(:done)
  Source.new.migrate
end
check('schema dump and load') do
  dump = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, dump)
  ActiveRecord::Base.connection.disable_referential_integrity { ActiveRecord::Base.connection.tables.each { |t| ActiveRecord::Base.connection.drop_table(t, force: :cascade) } }
  eval(dump.string)
  again = StringIO.new
  ActiveRecord::SchemaDumper.dump(ActiveRecord::Base.connection, again)
  expect(dump.string, again.string)
  File.write(File.join(ENV['WORK'], 'schema.rb'), dump.string)
end
check('create and read') do
  at = Time.utc(2024, 2, 29, 23, 59, 59.123456r)
  a = Author.create!(name: 'Ann ☃😀', email: 'a@x', money: '12.3456', data: { 'n' => [1, 'ä'] }, seen: at, born: '1990-01-02', wakes: '06:30:15', raw: "\x00\xff".b, big: 2**62, ratio: 0.1)
  a.reload
  expect(['Ann ☃😀', BigDecimal('12.3456'), { 'n' => [1, 'ä'] }, at, Date.new(1990, 1, 2), "\x00\xff".b, 2**62, 0.1, 'ANN ☃😀'], [a.name, a.money, a.data, a.seen, a.born, a.raw, a.big, a.ratio, a.loud])
  60.times { |i| a.books.create!(title: "title #{i}", tags: [Tag.find_or_create_by!(id: "t#{i % 3}")]) }
  expect(60, a.reload.books_count)
end
check('queries') do
  expect(20, Book.joins(:tags).where(tags: { id: 't1' }).count)
  expect({ 't0' => 20, 't1' => 20, 't2' => 20 }, Book.joins(:tags).group('tags.id').order('tags.id').count)
  expect(60, Author.includes(books: :tags).references(:books).where('books.sheets > 1').first.books.size)
  expect(%w[title\ 59 title\ 58], Book.where.not(title: nil).where('title LIKE ?', 'title 5%').or(Book.where(id: 1)).order(id: :desc).limit(2).pluck(:title))
  expect(60, Book.where(author: Author.where("data->>'$.n[1]' = ?", 'ä')).size)
  expect(3, Book.left_outer_joins(:tags).distinct.select('tags.id').map(&:id).size)
  expect(60, Book.find_each(batch_size: 17).count)
  expect(true, Book.exists?(['length(title) > ?', 5]))
  expect([60, 5], [Book.sum(:sheets) / 5, Book.average(:sheets).to_i])
  expect(1, Author.where(name: 'ANN ☃😀').count)
  Book.in_batches(of: 20).update_all("title = concat(title, '!')")
  Book.from(Book.where('id > 3'), :books).having('count(*) > 1').group(:kind).count
  Author.connection.select_all(Author.sanitize_sql(['SELECT :a + 1 AS x', { a: 1 }])).to_a
  Book.where(id: 1..5).explain
end
check('upserts') do
  Author.insert_all([{ name: 'up', email: 'A@X', created_at: Time.now, updated_at: Time.now }])
  Author.upsert_all([{ name: 'up', email: 'a@x', created_at: Time.now, updated_at: Time.now }, { name: 'b', email: 'b@x', created_at: Time.now, updated_at: Time.now }])
  expect(%w[b up], Author.order(:name).pluck(:name))
end
check('errors') do
  { ActiveRecord::RecordNotUnique => -> { Author.insert_all!([{ name: 'z', email: 'B@x', created_at: Time.now, updated_at: Time.now }]) },
    ActiveRecord::InvalidForeignKey => -> { Book.insert_all!([{ author_id: 9999 }]) },
    ActiveRecord::NotNullViolation => -> { Author.connection.execute("INSERT INTO authors (name, created_at, updated_at) VALUES (NULL, NOW(), NOW())") },
    ActiveRecord::ValueTooLong => -> { Author.create!(name: 'x' * 100) }, ActiveRecord::RangeError => -> { Author.create!(name: 'x', money: 10**13) } }.each do |kind, step|
    step.call
    raise "no #{kind}"
  rescue kind
    next
  end
end
check('optimistic locks') { a = Author.find_by!(email: 'b@x'); b = Author.find(a.id); a.update!(name: 'c'); begin; b.update!(name: 'd'); raise 'old one saved'; rescue ActiveRecord::StaleObjectError; nil; end }
check('transactions') do
  Author.transaction { Author.create!(name: 'in'); Author.transaction(requires_new: true) { Author.create!(name: 'inner'); raise ActiveRecord::Rollback } }
  expect([1, 0], [Author.where(name: 'in').count, Author.where(name: 'inner').count])
  Author.transaction(isolation: :read_committed) { Author.lock('FOR UPDATE SKIP LOCKED').first.with_lock { nil } }
end
check('counters under contention') do
  a = Author.find_by!(name: 'in')
  8.times.map { Thread.new { ActiveRecord::Base.connection_pool.with_connection { 10.times { Author.find(a.id).with_lock { |_| Author.where(id: a.id).update_all('big = coalesce(big, 0) + 1') } } } } }.each(&:join)
  expect(80, a.reload.big)
end
check('introspection') do
  c = ActiveRecord::Base.connection
  expect(%w[authors books books_tags schema_migrations tags], (c.tables - ['ar_internal_metadata']).sort)
  expect([['author_id', 'authors', :cascade], ['editor_id', 'authors', nil]], c.foreign_keys(:books).map { |k| [k.column, k.to_table, k.on_delete] }.sort)
  expect(['has_kind'], c.check_constraints(:books).map(&:name))
  expect('who writes', c.table_comment('authors'))
  expect(true, c.indexes(:authors).any? { |i| i.orders == { 'born' => :desc } && i.lengths == { 'name' => 20 } })
  expect('utf8mb4', c.charset)
end
check('destroy') { Author.find_by!(email: 'a@x').destroy!; expect(0, Book.count) }
