<?php
// What plugins do: posts with meta values and terms, queries over them, comments, users, options, transients.
$_SERVER['HTTP_HOST'] = 'localhost';
require $argv[1] . '/wp-load.php';
$wpdb->show_errors = false;

function ids($query) { return implode(',', array_map(fn($p) => $p->post_title, (new WP_Query($query))->posts)); }
function say($name, $value) { echo $name, ': ', is_scalar($value) ? $value : json_encode($value), "\n"; }

foreach (['red', 'green', 'blue'] as $i => $color) wp_insert_term($color, 'post_tag');
$parent = wp_insert_term('Weather', 'category')['term_id'];
wp_insert_term('Winter', 'category', ['parent' => $parent]);
for ($i = 1; $i <= 40; $i++) {
    $id = wp_insert_post([
        'post_title' => "title $i", 'post_content' => $i % 3 ? "rain and sun, day $i" : "snow ☃ 😀 day $i", 'post_status' => 'publish', 'post_author' => 1,
        'post_date' => sprintf('2024-%02d-%02d 10:00:00', 1 + $i % 12, 1 + $i % 28), 'tags_input' => [['red', 'green', 'blue'][$i % 3]],
        'meta_input' => ['price' => (string) ($i * 7 % 41), 'when' => sprintf('2024-01-%02d', 1 + $i % 28), 'kind' => $i % 2 ? 'odd' : 'even'],
    ]);
    wp_insert_comment(['comment_post_ID' => $id, 'comment_content' => "remark $i", 'comment_author' => "reader $i", 'comment_approved' => $i % 4 ? 1 : 0,
        'comment_date' => '2024-02-02 00:00:00', 'comment_date_gmt' => '2024-02-02 00:00:00']);
}
$latest = wp_insert_post(['post_title' => 'Latest of all', 'post_content' => 'snow again', 'post_status' => 'publish', 'post_author' => 1]);
say('by meta', ids(['meta_key' => 'price', 'orderby' => 'meta_value_num', 'order' => 'DESC', 'posts_per_page' => 7]));
say('meta query', ids(['posts_per_page' => 10, 'orderby' => 'title', 'order' => 'ASC', 'meta_query' => ['relation' => 'AND',
    ['key' => 'price', 'value' => [5, 20], 'type' => 'NUMERIC', 'compare' => 'BETWEEN'], ['key' => 'kind', 'value' => 'odd'],
    ['relation' => 'OR', ['key' => 'when', 'value' => '2024-01-10', 'type' => 'DATE', 'compare' => '>'], ['key' => 'none', 'compare' => 'NOT EXISTS']]]]));
say('decimal meta', ids(['posts_per_page' => 5, 'orderby' => ['price' => 'ASC', 'title' => 'DESC'], 'meta_query' => ['price' => ['key' => 'price', 'type' => 'DECIMAL(10,2)', 'value' => '3.5', 'compare' => '>']]]));
say('regexp meta', ids(['posts_per_page' => 5, 'orderby' => 'ID', 'order' => 'ASC', 'meta_query' => [['key' => 'price', 'value' => '^1[0-9]$', 'compare' => 'REGEXP']]]));
say('terms', ids(['posts_per_page' => 5, 'orderby' => 'title', 'tax_query' => ['relation' => 'AND', ['taxonomy' => 'post_tag', 'field' => 'name', 'terms' => ['red']],
    ['taxonomy' => 'category', 'field' => 'slug', 'terms' => 'uncategorized']]]));
say('not in', ids(['posts_per_page' => 5, 'orderby' => 'title', 'tag__not_in' => [get_term_by('name', 'red', 'post_tag')->term_id], 'author__in' => [1]]));
$search = new WP_Query(['s' => 'snow day', 'posts_per_page' => 3, 'orderby' => 'relevance']);
say('search', [$search->found_posts, $search->max_num_pages]);
say('dates', ids(['posts_per_page' => 5, 'orderby' => 'title', 'date_query' => [['after' => '2024-03-01', 'before' => ['year' => 2024, 'month' => 6], 'inclusive' => true], ['dayofweek' => [2, 3, 4, 5, 6]]]]));
say('week', ids(['posts_per_page' => 5, 'orderby' => 'title', 'w' => 20]));
say('hour', ids(['posts_per_page' => 2, 'orderby' => 'title', 'date_query' => [['hour' => 10, 'compare' => '='], ['month' => [1, 4], 'compare' => 'BETWEEN']]]));
say('random', count((new WP_Query(['orderby' => 'rand(5)', 'posts_per_page' => 4]))->posts));
preg_match_all('/m=(2024\d\d).*?\((\d+)\)/', wp_get_archives(['echo' => 0, 'format' => 'custom', 'show_post_count' => true]), $months, PREG_SET_ORDER);
say('archive', array_map(fn($m) => "$m[1] $m[2]", $months));
say('counts', (array) wp_count_posts());
say('comments', array_map(fn($c) => $c->comment_content, get_comments(['status' => 'hold', 'number' => 3, 'orderby' => 'comment_ID', 'order' => 'ASC'])));
say('comment counts', (array) wp_count_comments());
wp_update_post(['ID' => $latest, 'post_content' => 'snow, corrected']);
say('revisions', count(wp_get_post_revisions($latest)));
for ($i = 0; $i < 5; $i++) wp_insert_user(['user_login' => "user$i", 'user_pass' => 'x', 'role' => $i % 2 ? 'editor' : 'subscriber', 'user_email' => "u$i@example.org"]);
say('users', array_map(fn($u) => $u->user_login, get_users(['role__in' => ['editor', 'administrator'], 'orderby' => 'login', 'has_published_posts' => false, 'search' => '*user*'])));
say('user counts', count_users());
say('user counts by memory', count_users('memory')['avail_roles']);
update_option('a list', ['x' => str_repeat('é', 1000), 'n' => [1, 2.5, null]]);
say('option', strlen(serialize(get_option('a list'))));
set_transient('t', 'v', 60);
delete_expired_transients(true);
say('transient', get_transient('t'));
$wpdb->insert('wp_options', ['option_name' => 'a list', 'option_value' => 'twice']);
say('duplicate', preg_replace('/wp_options\./', '', $wpdb->last_error));
say('too long', var_export($wpdb->insert('wp_options', ['option_name' => str_repeat('x', 300), 'option_value' => '']), true));
say('bad text', var_export($wpdb->insert('wp_options', ['option_name' => "bad\xff", 'option_value' => '']), true));
wp_delete_post($latest, true);
wp_delete_term(get_term_by('name', 'red', 'post_tag')->term_id, 'post_tag');
say('orphans', $wpdb->get_var('SELECT COUNT(*) FROM wp_postmeta m LEFT JOIN wp_posts p ON p.ID = m.post_id WHERE p.ID IS NULL'));
wp_insert_post(['post_title' => 'Latest of all', 'post_content' => 'snow again', 'post_status' => 'publish', 'post_author' => 1]);
require_once ABSPATH . 'wp-admin/includes/upgrade.php';
say('delta', dbDelta("CREATE TABLE wp_extra (id bigint(20) unsigned NOT NULL auto_increment, name varchar(100) NOT NULL DEFAULT '', at datetime NOT NULL DEFAULT '0000-00-00 00:00:00', PRIMARY KEY  (id), KEY name (name(20))) {$wpdb->get_charset_collate()};"));
say('delta again', dbDelta("CREATE TABLE wp_extra (id bigint(20) unsigned NOT NULL auto_increment, name varchar(200) NOT NULL DEFAULT '', at datetime NOT NULL DEFAULT '0000-00-00 00:00:00', more text, PRIMARY KEY  (id), KEY name (name(20)), KEY at (at)) {$wpdb->get_charset_collate()};"));
say('delta once more', dbDelta("CREATE TABLE wp_extra (id bigint(20) unsigned NOT NULL auto_increment, name varchar(200) NOT NULL DEFAULT '', at datetime NOT NULL DEFAULT '0000-00-00 00:00:00', more text, PRIMARY KEY  (id), KEY name (name(20)), KEY at (at)) {$wpdb->get_charset_collate()};"));
say('charset', [$wpdb->get_col_charset('wp_posts', 'post_title'), $wpdb->get_col_length('wp_posts', 'post_title')]);
say('last error', $wpdb->last_error);
