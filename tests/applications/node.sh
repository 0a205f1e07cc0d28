# application: Knex, Sequelize, TypeORM, MikroORM, Drizzle
# does: migrations with locks and rollback, schema from models and back from the database, associations, upserts, transactions, JSON, locks, pagination
# limit: 300

install() {
    node_with mysql2@3.24.6 knex@3.3.0 sequelize@6.37.8 typeorm@1.1.1 reflect-metadata@0.2.2 @mikro-orm/core@7.2.1 @mikro-orm/mysql@7.2.1 drizzle-orm@0.45.4
}

drive() {
    version "3.3.0, 6.37.8, 1.1.1, 7.2.1, 0.45.4, mysql2"
    local part
    for part in knex sequelize typeorm mikro drizzle; do
        database "${DB_NAME}_$part"
        cp "$HERE/node/$part.mjs" "$HERE/node/check.mjs" "$CACHE/node-node/"
        (cd "$CACHE/node-node" && DB_NAME="${DB_NAME}_$part" timeout 120 node "$part.mjs" 2> "$WORK/$part.log") || echo "FAILED $part: ended early, $(grep -m 2 Error "$WORK/$part.log" | tr '\n' ' ' | cut -c 1-300)"
    done
}
