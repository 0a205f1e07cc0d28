# application: phpMyAdmin
# does: login; every page of the server, of a database and of a table; its configuration storage; import, search, SQL, export
# limit: 900

install() {
    debian php-cli php-mysql php-xml php-mbstring php-bz2 curl gettext-base dbconfig-no-thanks
    debian phpmyadmin
    SITE=/usr/share/phpmyadmin
}

get() { curl -s -L --max-time 60 -b "$WORK/cookies" -c "$WORK/cookies" "$@"; }
token() { sed -n 's/.*token:"\([^"]*\)".*/\1/p; s/.*name="token" value="\([^"]*\)".*/\1/p' "$WORK/page" | head -n 1; }
# A page without an error of the server or of PHP.
has() {
    local text=$1; shift
    # What it says to a browser without JavaScript looks like an error.
    get "$@" | sed '/<noscript>/,/<\/noscript>/d' > "$WORK/page"
    if grep -q -- "$text" "$WORK/page" && ! grep -q 'MySQL said\|class="alert alert-danger\|Fatal error\|"success":false' "$WORK/page"; then return 0; fi
    sed 's/<script.*<\/script>//; s/<[^>]*>/ /g' "$WORK/page" | grep -v '^ *$' | grep -i -A 5 "error\|said\|fatal" | head -c 3000
    return 1
}

drive() {
    version "$(debian_version phpmyadmin)"
    local site=$WORK/site page url
    cp -r "$SITE" "$site"
    mkdir -p "$WORK/tmp"
    sed "s|^\(.*'configFile' =>\).*|\1 '$WORK/config.inc.php',|; s|^\(.*'tempDir' =>\).*|\1 '$WORK/tmp/',|" "$SITE/libraries/vendor_config.php" > "$site/libraries/vendor_config.php"
    envsubst '$DB_HOST $DB_PORT $DB_USER $DB_NAME $WORK' < "$HERE/phpmyadmin/config.inc.php" > "$WORK/config.inc.php"
    database "$DB_NAME"
    sed -E "/^(CREATE DATABASE|USE)/,/;/s/phpmyadmin/${DB_NAME}_store/" "$SITE/sql/create_tables.sql" > "$WORK/store.sql"
    check "configuration storage" sql -e "source $WORK/store.sql"
    sql "$DB_NAME" < "$HERE/phpmyadmin/data.sql"
    php_server "$site"
    local at=http://127.0.0.1:$WEB_PORT
    check "front page" has "</html>" "$at/index.php?lang=en"
    local token table; token=$(token)
    for page in server/databases server/sql server/status server/status/processes server/status/queries server/status/variables server/status/monitor \
        server/status/advisor server/variables server/collations server/engines server/engines/InnoDB server/plugins server/privileges server/replication \
        server/export server/import; do
        url="$at/index.php?route=/$page"
        check "$page" has "</html>" "$url"
    done
    for page in structure sql search multi-table-query export import operations routines events triggers designer central-columns data-dictionary; do
        check "database/$page" has "</html>" "$at/index.php?route=/database/$page&db=$DB_NAME"
    done
    for table in city country sample v; do
        for page in structure sql search change export operations relation tracking zoom-search find-replace; do
            case $page in zoom-search|find-replace|relation|tracking|operations|change) [ $table = sample ] || continue ;; esac
            check "table/$page $table" has "</html>" "$at/index.php?route=/table/$page&db=$DB_NAME&table=$table"
        done
        check "browse $table" has "</html>" "$at/index.php?route=/sql&db=$DB_NAME&table=$table&pos=0"
    done
    local query
    while read -r query; do
        check "query $query" has '"success":true' "$at/index.php?route=/sql" -d "token=$token" -d ajax_request=1 -d "db=$DB_NAME" -d is_js_confirmed=1 -d server=1 --data-urlencode "sql_query=$query"
    done < "$HERE/phpmyadmin/queries.sql"
    check "search" has "sample" "$at/index.php?route=/database/search&db=$DB_NAME" -d "token=$token" -d submit_search=1 -d criteriaSearchString=o -d criteriaSearchType=2 -d "criteriaTables[]=city" -d "criteriaTables[]=sample"
    check "table export" sh -c "curl -s --max-time 60 -b '$WORK/cookies' '$at/index.php?route=/export' -d token=$token -d db=$DB_NAME -d export_type=database -d export_method=quick -d filename_template=@DATABASE@ -d quick_or_custom=custom -d what=sql -d 'table_select[]=city' -d 'table_select[]=country' -d 'table_select[]=sample' -d 'table_select[]=v' -d 'table_structure[]=city' -d 'table_structure[]=country' -d 'table_structure[]=sample' -d 'table_structure[]=v' -d 'table_data[]=city' -d 'table_data[]=country' -d 'table_data[]=sample' -d sql_structure_or_data=structure_and_data -d sql_drop_table=1 -d sql_create_table=1 -d sql_create_view=1 -d sql_create_trigger=1 -d sql_procedure_function=1 -d sql_auto_increment=1 -d sql_backquotes=1 -d sql_type=INSERT -d sql_insert_syntax=both -d sql_hex_for_binary=1 -d output_format=sendit > '$WORK/export.sql'; grep -q 'INSERT INTO .sample' '$WORK/export.sql' || { head -c 2000 '$WORK/export.sql'; false; }"
    database "${DB_NAME}_back"
    check "the export loads" sql "${DB_NAME}_back" -e "source $WORK/export.sql"
    answer "the export's rows" sql "${DB_NAME}_back" -e "UPDATE sample SET t = '2024-01-01' WHERE id = 3; SELECT * FROM sample; SELECT * FROM v; SHOW CREATE TABLE sample"
}
