# application: Zabbix
# does: the server's schema, images and data; the set-up of its front end and its pages; the nested queries of its rights
# limit: 900

install() {
    debian php-cli php-mysql php-xml php-mbstring php-gd php-bcmath curl gettext-base
    debian_package zabbix-server-mysql; SERVER=$PACKAGE
    debian_package zabbix-frontend-php; FRONT=$PACKAGE
}

get() { curl -s -L --max-time 60 -b "$WORK/cookies" -c "$WORK/cookies" "$@"; }
has() { local text=$1; shift; get "$@" > "$WORK/page"; grep -q -- "$text" "$WORK/page" && ! grep -q "Error in query\|Query error" "$WORK/page" && return; sed 's/<[^>]*>/ /g' "$WORK/page" | head -c 3000; return 1; }
load() { zcat "$SERVER/usr/share/zabbix-server-mysql/$1.sql.gz" | sql "$DB_NAME"; }

drive() {
    version "$(debian_version_of "$SERVER" zabbix-server-mysql)"
    sql -e "DROP DATABASE IF EXISTS $DB_NAME; CREATE DATABASE $DB_NAME CHARACTER SET utf8mb4 COLLATE utf8mb4_bin; SET GLOBAL log_bin_trust_function_creators = 1"
    check "schema" load schema
    check "images" load images
    check "data" load data
    answer "tables" sql "$DB_NAME" -e "SELECT table_name, column_name, column_type, column_default, is_nullable, column_key FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, ordinal_position"
    local site=$WORK/site
    mkdir -p "$site"
    cp -r "$FRONT/usr/share/zabbix/." "$site/"
    find "$site" -xtype l -delete
    mkdir -p "$site/conf"
    envsubst '$DB_HOST $DB_PORT $DB_NAME $DB_USER' < "$HERE/zabbix/zabbix.conf.php" > "$site/conf/zabbix.conf.php"
    # The package looks for it in the system's settings.
    sed -i "s|/etc/zabbix/zabbix.conf.php|$site/conf/zabbix.conf.php|" "$site/include/classes/core/CConfigFile.php"
    php_server "$site"
    local at=http://127.0.0.1:$WEB_PORT page
    check "login" has "action=dashboard\|zabbix.php" "$at/index.php" -d name=Admin -d password=zabbix -d enter="Sign in" -d autologin=1
    for page in "zabbix.php?action=dashboard.view" "hosts.php" "zabbix.php?action=host.list" "zabbix.php?action=problem.view" "hostgroups.php" "templates.php" \
        "zabbix.php?action=latest.view" "triggers.php?context=template" "items.php?context=template" "zabbix.php?action=user.list" "zabbix.php?action=usergroup.list" \
        "zabbix.php?action=mediatype.list" "zabbix.php?action=report.status" "report2.php" "sysmaps.php" "actionconf.php" "zabbix.php?action=queue.overview" \
        "zabbix.php?action=auditlog.list" "zabbix.php?action=service.list" "graphs.php?context=template" "zabbix.php?action=userrole.list"; do
        check "page $page" has "</html>" "$at/$page"
    done
    check "api login" has '"result"' -H "Content-Type: application/json" "$at/api_jsonrpc.php" -d '{"jsonrpc":"2.0","method":"user.login","params":{"user":"Admin","password":"zabbix"},"id":1}'
    local session; session=$(sed -n 's/.*"result":"\([^"]*\)".*/\1/p' "$WORK/page")
    api() { has '"result"' -H "Content-Type: application/json" "$at/api_jsonrpc.php" -d "{\"jsonrpc\":\"2.0\",\"method\":\"$1\",\"params\":$2,\"auth\":\"$session\",\"id\":1}" && cat "$WORK/page"; }
    answer "api templates" api template.get '{"output":["host"],"selectItems":"count","selectTriggers":"count","sortfield":"host","limit":40}'
    answer "api triggers" api trigger.get '{"output":["description","priority"],"templated":true,"min_severity":3,"sortfield":["priority","triggerid"],"search":{"description":"cpu"},"limit":30}'
    answer "api hosts" api host.get '{"output":["host"],"selectGroups":["name"],"selectInterfaces":["ip"],"evaltype":2,"tags":[{"tag":"class"}],"inheritedTags":true}'
    answer "api host" api host.create '{"host":"a host","groups":[{"groupid":"2"}],"interfaces":[{"type":1,"main":1,"useip":1,"ip":"127.0.0.1","dns":"","port":"10050"}],"templates":[{"templateid":"10001"}]}'
    answer "api items" api item.get '{"countOutput":true,"hostids":"10521","webitems":true}'
    answer "api delete" api host.get '{"countOutput":true,"groupids":"2","search":{"host":"a*"},"searchWildcardsEnabled":true}'
}
