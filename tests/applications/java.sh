# application: Hibernate ORM, Flyway, Liquibase, jOOQ, Quartz
# does: schema by Hibernate, its validation, entities with every kind of association, queries, locks and batches; migrations by Flyway and Liquibase with undo; jOOQ's metadata and queries; Quartz' job store with two schedulers
# limit: 900

install() {
    java_libraries
    CLASSES=$CACHE/java-classes
    mkdir -p "$CLASSES"
    javac -nowarn -d "$CLASSES" -cp "$LIBRARIES/*" "$HERE"/java/*.java
}

drive() {
    version "7.4.15, 11.20.3, 4.31.1, 3.19.39, 2.5.0, Connector/J 9.5.0"
    database "$DB_NAME" "${DB_NAME}_flyway" "${DB_NAME}_liquibase" "${DB_NAME}_quartz"
    local part
    for part in Orm Migrations Jooq Jobs; do
        java -Xmx512m -Duser.timezone=UTC -Dorg.slf4j.simpleLogger.defaultLogLevel=warn -cp "$LIBRARIES/*:$CLASSES" "$part" 2> "$WORK/$part.log" || echo "FAILED $part: ended early, $(grep -a -m 3 'Exception\|error:' "$WORK/$part.log" | tr '\n' ' ' | cut -c 1-400)"
    done
}
