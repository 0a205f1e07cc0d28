# application: MediaWiki
# does: installer, update, import of pages, edits, moves, deletes, search index, links, statistics, jobs, special pages by HTTP, a dump
# limit: 900

install() {
    debian php-cli php-mysql php-xml php-mbstring php-intl curl
    SITE=$CACHE/mediawiki-site
    [ -d "$SITE" ] && return
    debian_package mediawiki-classes; local classes=$PACKAGE
    debian_package mediawiki
    cp -r "$PACKAGE/usr/share/mediawiki" "$SITE.part"
    # The package ties its folders together by links that lead into the system.
    find "$SITE.part" -maxdepth 1 -type l -delete
    local name
    for name in "$PACKAGE"/var/lib/mediawiki/*; do
        [ -e "$SITE.part/$(basename "$name")" ] || { [ -L "$name" ] || cp -r "$name" "$SITE.part/"; }
    done
    cp -r "$classes"/usr/share/mediawiki/. "$SITE.part/" 2> /dev/null || true
    mkdir -p "$SITE.part/extensions" "$SITE.part/images" "$SITE.part/cache" "$SITE.part/skins"
    [ ! -d "$PACKAGE/var/lib/mediawiki/extensions" ] || cp -r "$PACKAGE/var/lib/mediawiki/extensions/." "$SITE.part/extensions/"
    find "$SITE.part" -xtype l -delete
    mv "$SITE.part" "$SITE"
}

run_php() { php -d memory_limit=1G -d error_reporting=E_ERROR "$@"; }
maintain() { local script=$1; shift; run_php "$WIKI/maintenance/$script.php" "$@"; }
page() { curl -s --max-time 60 "http://127.0.0.1:$WEB_PORT/index.php?$1" > "$WORK/page"; if grep -q "</html>" "$WORK/page" && ! grep -qi "database error\|internal error" "$WORK/page"; then return 0; fi; head -c 2000 "$WORK/page"; return 1; }

drive() {
    WIKI=$WORK/wiki
    cp -r "$SITE" "$WIKI"
    version "$(sed -n "s/.*define( 'MW_VERSION', '\(.*\)' );/\1/p" "$WIKI/includes/Defines.php")"
    cd "$WIKI"
    check "installer" maintain install --dbtype mysql --dbserver "$DB_HOST:$DB_PORT" --dbname "$DB_NAME" --dbuser "$DB_USER" --dbpass "" \
        --installdbuser "$DB_USER" --installdbpass "" --server "http://127.0.0.1:$WEB_PORT" --scriptpath "" --pass "a-secret-pw-9" --with-extensions "A wiki" Admin || return
    { echo 'error_reporting(E_ERROR);'; echo '$wgShowExceptionDetails = true; $wgShowDBErrorBacktrace = true; $wgMainCacheType = CACHE_DB; $wgJobRunRate = 0; $wgDBerrorLog = "'"$WORK"'/db-errors";'; } >> LocalSettings.php
    check "update" maintain update --quick
    local n
    for n in 1 2 3 4 5 6 7 8; do printf 'Text %s ☃ with [[Page %s]] and [[Category:Things]] {{Box|%s}} http://example.org/%s\n' $n $((n + 1)) $n $n > "$WORK/Page $n.txt"; done
    printf "''box {{{1}}}''<noinclude>[[Category:Boxes]]</noinclude>" > "$WORK/Template:Box.txt"
    check "import of texts" maintain importTextFiles "$WORK"/Page*.txt "$WORK"/Template*.txt
    check "edit" sh -c "echo 'Another text ☃ [[Main Page]]' | php -d error_reporting=E_ERROR '$WIKI/maintenance/edit.php' --summary changed 'Page 3'"
    check "edit again" sh -c "echo '#REDIRECT [[Page 4]]' | php -d error_reporting=E_ERROR '$WIKI/maintenance/edit.php' 'Page 5'"
    check "jobs" maintain runJobs
    echo "Page 7|Page seven" > "$WORK/moves"
    check "move" maintain moveBatch "$WORK/moves"
    echo "Page 8" > "$WORK/deletes"
    check "delete" maintain deleteBatch "$WORK/deletes"
    check "accounts" maintain createAndPromote --force Sysop another-pw-9 --sysop --bureaucrat
    for n in rebuildall refreshLinks rebuildrecentchanges rebuildtextindex initSiteStats initEditCount updateSpecialPages updateArticleCount namespaceDupes \
        populateCategory purgeExpiredUserrights cleanupUploadStash removeUnusedAccounts orphans findOrphanedFiles checkBadRedirects rebuildFileCache \
        deleteArchivedRevisions deleteOldRevisions purgeExpiredWatchlistItems purgeExpiredBlocks recountCategories; do
        [ -f "$WIKI/maintenance/$n.php" ] || continue
        case $n in recountCategories) check "$n" maintain $n --mode pages ;; updateArticleCount) check "$n" maintain $n --update ;; *) check "$n" maintain $n ;; esac
    done
    check "sql script" sh -c "echo 'SELECT page_title FROM page ORDER BY page_id LIMIT 3;' | php -d error_reporting=E_ERROR '$WIKI/maintenance/sql.php'"
    answer "statistics" maintain showSiteStats
    php_server "$WIKI"
    for n in title=Main_Page title=Page_1 "title=Page_3&action=history" "title=Page_3&diff=prev" "title=Special:RecentChanges" "title=Special:AllPages" \
        "title=Special:WhatLinksHere/Page_4" "title=Special:LinkSearch&target=http://example.org" "search=another+text" "title=Category:Things" \
        "title=Special:Statistics" "title=Special:ListUsers" "title=Special:Log" "title=Special:WantedPages" "title=Special:MostLinked" \
        "title=Special:Contributions/Admin" "title=Special:ShortPages" "title=Special:Random" "title=Special:Export/Page_1" "title=Special:ListRedirects" \
        "title=Special:UncategorizedPages" "title=Special:AncientPages" "title=Special:PrefixIndex/Page" "title=Special:ActiveUsers" "title=Special:NewPages" "title=Special:Version"; do
        case $n in *Random*|*Export*) continue ;; esac
        check "page $n" page "$n"
    done
    answer "api" sh -c "curl -s 'http://127.0.0.1:$WEB_PORT/api.php?action=query&format=json&list=allpages|categorymembers|search&cmtitle=Category:Things&srsearch=text&apfilterredir=nonredirects&srprop='"
    check "dump" sh -c "php -d error_reporting=E_ERROR '$WIKI/maintenance/dumpBackup.php' --full --quiet > '$WORK/dump.xml' && grep -q '</mediawiki>' '$WORK/dump.xml'"
    check "no database error" sh -c "[ ! -s '$WORK/db-errors' ] || { cat '$WORK/db-errors'; false; }"
}
