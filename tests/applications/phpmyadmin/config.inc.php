<?php
$cfg['blowfish_secret'] = 'thirty-two-letters-for-the-tests';
$cfg['TempDir'] = '$WORK/tmp/';
$cfg['VersionCheck'] = false;
$cfg['Servers'][1] = [
    'host' => '$DB_HOST', 'port' => '$DB_PORT', 'auth_type' => 'config', 'user' => '$DB_USER', 'password' => '', 'AllowNoPassword' => true,
    'pmadb' => '${DB_NAME}_store', 'bookmarktable' => 'pma__bookmark', 'relation' => 'pma__relation', 'table_info' => 'pma__table_info',
    'table_coords' => 'pma__table_coords', 'pdf_pages' => 'pma__pdf_pages', 'column_info' => 'pma__column_info', 'history' => 'pma__history',
    'recent' => 'pma__recent', 'favorite' => 'pma__favorite', 'table_uiprefs' => 'pma__table_uiprefs', 'tracking' => 'pma__tracking',
    'userconfig' => 'pma__userconfig', 'users' => 'pma__users', 'usergroups' => 'pma__usergroups', 'navigationhiding' => 'pma__navigationhiding',
    'savedsearches' => 'pma__savedsearches', 'central_columns' => 'pma__central_columns', 'designer_settings' => 'pma__designer_settings',
    'export_templates' => 'pma__export_templates',
];
