# application: OpenStack (Keystone, Glance, Cinder, Placement, Nova, Neutron, Heat, Barbican, Ironic)
# does: every migration of each service's schema, and what comes of it; the first account, twice; a purge, and migrations of data
# limit: 1500

install() {
    python_with keystone==30.0.0 glance==33.0.0 cinder==29.0.0 openstack-placement==16.0.0 nova==34.0.0 neutron==29.0.0 openstack-heat==27.0.1 barbican==23.0.0 ironic==39.0.0 pymysql==1.2.4
}

# The settings of a service, in a file of its own; its schema; the columns, keys and foreign keys that came of it.
service() {
    local name=$1 database=${DB_NAME}_$1 url; shift
    url="mysql+pymysql://$DB_USER@$DB_HOST:$DB_PORT/$database?charset=utf8"
    sql -e "DROP DATABASE IF EXISTS $database; CREATE DATABASE $database CHARACTER SET utf8mb3"
    printf '[DEFAULT]\nlog_dir=%s\nstate_path=%s\n[database]\nconnection=%s\n[api_database]\nconnection=%s\n[placement_database]\nconnection=%s\n[fernet_tokens]\nkey_repository=%s\n[credential]\nkey_repository=%s\n' \
        "$WORK" "$WORK" "$url" "$url" "$url" "$WORK/fernet" "$WORK/credential" > "$WORK/$name.conf"
    check "$name" "$@"
    answer "$name, what there is" sql "$database" -e "SELECT table_name, column_name, column_type, column_default, is_nullable, column_key, extra, collation_name
        FROM information_schema.columns WHERE table_schema = DATABASE() ORDER BY 1, ordinal_position;
        SELECT table_name, index_name, seq_in_index, column_name, non_unique, sub_part, nullable FROM information_schema.statistics WHERE table_schema = DATABASE() ORDER BY 1, 2, 3;
        SELECT constraint_name, table_name, unique_constraint_name, referenced_table_name, update_rule, delete_rule FROM information_schema.referential_constraints WHERE constraint_schema = DATABASE() ORDER BY 2, 1;
        SELECT constraint_name, constraint_type, table_name FROM information_schema.table_constraints WHERE constraint_schema = DATABASE() ORDER BY 3, 2, 1"
}

drive() {
    version "30.0.0, 33.0.0, 29.0.0, 16.0.0, 34.0.0, 29.0.0, 27.0.1, 23.0.0, 39.0.0, SQLAlchemy, PyMySQL 1.2.4"
    local bin=${PYTHON%/python} at=$WORK
    mkdir -p "$WORK/fernet" "$WORK/credential"
    service keystone "$bin/keystone-manage" --config-file "$at/keystone.conf" db_sync
    check "keystone: keys" "$bin/keystone-manage" --config-file "$at/keystone.conf" fernet_setup --keystone-user root --keystone-group root
    check "keystone: first account" "$bin/keystone-manage" --config-file "$at/keystone.conf" bootstrap --bootstrap-password secret --bootstrap-region-id here --bootstrap-public-url http://127.0.0.1/
    check "keystone: first account again" "$bin/keystone-manage" --config-file "$at/keystone.conf" bootstrap --bootstrap-password other --bootstrap-region-id here --bootstrap-public-url http://127.0.0.1/
    answer "keystone: what is in it" sql "${DB_NAME}_keystone" -e "SELECT name, enabled, domain_id = id FROM project ORDER BY name; SELECT name FROM role ORDER BY 1; SELECT COUNT(*) FROM assignment; SELECT COUNT(*) FROM implied_role"
    service glance "$bin/glance-manage" --config-file "$at/glance.conf" db_sync
    service cinder "$bin/cinder-manage" --config-file "$at/cinder.conf" db sync
    check "cinder: purge" "$bin/cinder-manage" --config-file "$at/cinder.conf" db purge 1
    service placement "$bin/placement-manage" --config-file "$at/placement.conf" db sync
    service nova_api "$bin/nova-manage" --config-file "$at/nova_api.conf" api_db sync
    service nova "$bin/nova-manage" --config-file "$at/nova.conf" db sync --local_cell
    check "nova: online migrations" "$bin/nova-manage" --config-file "$at/nova_api.conf" db online_data_migrations
    service neutron "$bin/neutron-db-manage" --config-file "$at/neutron.conf" upgrade head
    service heat "$bin/heat-manage" --config-file "$at/heat.conf" db_sync
    service barbican "$bin/barbican-manage" --config-file "$at/barbican.conf" db upgrade --db-url "mysql+pymysql://$DB_USER@$DB_HOST:$DB_PORT/${DB_NAME}_barbican"
    service ironic "$bin/ironic-dbsync" --config-file "$at/ironic.conf" create_schema
}
