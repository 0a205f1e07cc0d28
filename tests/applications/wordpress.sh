# application: WordPress
# does: the web installer, login, front page, search, comment form, dashboard, REST; posts, meta, terms, queries, users and an export by its API
# limit: 600

install() {
    debian php-cli php-mysql php-xml php-mbstring curl
    SITE=$CACHE/wordpress-site
    [ -d "$SITE" ] && return
    debian_package php-getid3; local id3=$PACKAGE
    debian_package wordpress-theme-twentytwentythree; local theme=$PACKAGE
    debian_package wordpress
    cp -r "$PACKAGE/usr/share/wordpress" "$SITE.part"
    cp -r "$PACKAGE/var/lib/wordpress/wp-content/." "$SITE.part/wp-content/" 2> /dev/null || true
    find "$SITE.part/wp-includes/ID3" -type l -delete
    cp "$id3"/usr/share/php/getid3/* "$SITE.part/wp-includes/ID3/"
    mkdir -p "$SITE.part/wp-content/themes"
    cp -r "$theme"/usr/share/wordpress/wp-content/themes/. "$SITE.part/wp-content/themes/"
    find "$SITE.part" -xtype l -delete
    cp "$HERE/wordpress/wp-config.php" "$SITE.part/wp-config.php"
    mv "$SITE.part" "$SITE"
}

get() { curl -s -L --max-time 60 -b "$WORK/cookies" -c "$WORK/cookies" "$@"; }
# Whether a page has a text; what it has instead is shown.
has() { local text=$1; shift; get "$@" > "$WORK/page"; grep -q -- "$text" "$WORK/page" && return; head -c 3000 "$WORK/page"; return 1; }

drive() {
    version "$(sed -n "s/^\$wp_version = '\(.*\)';/\1/p" "$SITE/wp-includes/version.php")"
    database "$DB_NAME"
    php_server "$SITE"
    local at=http://127.0.0.1:$WEB_PORT
    check "installer" has "Success!" "$at/wp-admin/install.php?step=2" -d "weblog_title=A blog" -d user_name=admin -d admin_password=secret-9 \
        -d admin_password2=secret-9 -d pw_weak=on -d admin_email=a@example.org -d blog_public=1 -d Submit=Install
    answer "api" php "$HERE/wordpress/api.php" "$SITE"
    check "front page" has "Hello world" "$at/"
    check "a post" has "Latest of all" "$at/?s=snow"
    check "feed" has "<rss" "$at/?feed=rss2"
    check "rest" has '"slug"' "$at/?rest_route=/wp/v2/posts&per_page=5&search=title&orderby=relevance"
    check "comment" has "A remark" "$at/wp-comments-post.php" -d comment="A remark ☃" -d author=Ann -d email=ann@example.org -d comment_post_ID=1
    check "login" has "Dashboard" "$at/wp-login.php" -d log=admin -d pwd=secret-9 -d wp-submit=Log+In -d "redirect_to=$at/wp-admin/"
    local page
    for page in edit.php "edit.php?s=title&orderby=title&order=asc" edit-comments.php users.php options-general.php upload.php tools.php \
        edit-tags.php?taxonomy=category site-health.php plugins.php themes.php post-new.php nav-menus.php; do
        check "admin $page" has "</html>" "$at/wp-admin/$page"
    done
    check "export" has "<wp:wxr_version>" "$at/wp-admin/export.php?download=true&content=all"
    check "no database error" sh -c "! grep -i 'database error' $WORK/php.log"
}
