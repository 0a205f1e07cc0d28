# application: GORM
# does: automatic migrations, associations, upserts, locks under contention, JSON, by text and prepared
# limit: 400
# quick

install() { go_program; }

drive() {
    version "1.31.2"
    database "$DB_NAME"
    "$CACHE/go-gorm"
}
