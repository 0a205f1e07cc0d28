# application: Ruby on Rails (ActiveRecord), Sequel
# does: migrations with advisory locks, schema dump and load, associations, queries, upserts, locks, transactions; Sequel's schema and datasets
# limit: 300

install() { debian ruby ruby-mysql2 ruby-activerecord ruby-sequel; }

drive() {
    version "$(debian_version ruby-activerecord), $(debian_version ruby-sequel)"
    database "$DB_NAME" "${DB_NAME}_sequel"
    ruby "$HERE/rails/active_record.rb" 2> "$WORK/rails.log" || echo "FAILED ActiveRecord: ended early, $(grep -a -m 2 Error "$WORK/rails.log" | tr '\n' ' ' | cut -c 1-300)"
    ruby "$HERE/rails/sequel.rb" 2> "$WORK/sequel.log" || echo "FAILED Sequel: ended early, $(grep -a -m 2 Error "$WORK/sequel.log" | tr '\n' ' ' | cut -c 1-300)"
}
