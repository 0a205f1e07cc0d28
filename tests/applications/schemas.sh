# application: Schemas of Roundcube, Icinga (web and IDO), PowerDNS, Bacula, Tiny Tiny RSS, Request Tracker, Cacti
# does: each schema loads; all their upgrade scripts, in order, with the errors that MySQL gives; the columns, keys and table statuses that come of it
# limit: 600

PACKAGES="roundcube-core icingaweb2 icinga2-ido-mysql pdns-backend-mysql bacula-director-mysql tt-rss request-tracker5 cacti"

install() {
    local package
    for package in $PACKAGES; do debian_package "$package"; done
}

# Every statement of a file, the failing ones, too; tells the errors.
upgrade() { sed '/^ *DELIMITER/d' "$2" | sql --force "$1" 2>&1 | grep -a '^ERROR' | sed 's/ at line.*//'; true; }

schema() {
    local name=$1 first=$2 database=${DB_NAME}_${1//-/_}; shift 2
    database "$database"
    check "$name" sql "$database" -e "source $first" || true
    local file
    for file; do answer "$name $(basename "$file")" upgrade "$database" "$file"; done
    answer "$name, what there is" sql "$database" -e "SELECT table_name, column_name, column_type, column_default, is_nullable, column_key, extra, collation_name, column_comment
        FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, ordinal_position;
        SELECT table_name, index_name, seq_in_index, column_name, non_unique, sub_part, nullable FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3;
        SELECT constraint_name, table_name, referenced_table_name, update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE() ORDER BY 2, 1;
        SELECT table_name, table_type, table_collation, table_comment FROM information_schema.tables WHERE table_schema = DATABASE() ORDER BY 1"
}

drive() {
    version "of Debian 12"
    local c=$CACHE/debian- IFS=$'\n'
    schema roundcube "${c}roundcube-core/usr/share/dbconfig-common/data/roundcube/install/mysql" $(ls "${c}roundcube-core"/usr/share/roundcube/SQL/mysql/2*.sql | sort)
    schema icingaweb2 "${c}icingaweb2/usr/share/icingaweb2/schema/mysql.schema.sql" $(ls "${c}icingaweb2"/usr/share/icingaweb2/schema/mysql-upgrades/*.sql | sort -V)
    schema icinga2-ido "${c}icinga2-ido-mysql/usr/share/icinga2-ido-mysql/schema/mysql.sql" $(ls "${c}icinga2-ido-mysql"/usr/share/icinga2-ido-mysql/schema/upgrade/*.sql | sort -V)
    schema pdns "${c}pdns-backend-mysql/usr/share/pdns-backend-mysql/schema/schema.mysql.sql" $(ls "${c}pdns-backend-mysql"/usr/share/pdns-backend-mysql/schema/[34e]*.sql | sort -V)
    schema bacula "${c}bacula-director-mysql/usr/share/dbconfig-common/data/bacula-director-mysql/install/mysql"
    schema tt-rss "${c}tt-rss/usr/share/tt-rss/schema/ttrss_schema_mysql.sql" $(ls "${c}tt-rss"/usr/share/tt-rss/schema/versions/mysql/*.sql | sort -V)
    schema rt "${c}request-tracker5/usr/share/request-tracker5/etc/schema.mysql" $(ls "${c}request-tracker5"/usr/share/request-tracker5/etc/upgrade/*/schema.mysql | sort -V)
    schema cacti "${c}cacti/usr/share/cacti/conf_templates/cacti.sql"
}
