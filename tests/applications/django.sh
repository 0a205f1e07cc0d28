# application: Django
# does: migrations and the admin of a project of its own; slices of its own test suite
# limit: 1500

install() {
    debian libmariadb-dev pkg-config
    python_with django==5.2.19 mysqlclient
    python_source django==5.2.19
}

SLICES="aggregation aggregation_regress annotations backends basic bulk_create composite_pk constraints custom_columns custom_lookups custom_pk
    datatypes dates datetimes db_functions db_typecasts db_utils defer delete delete_regress distinct_on_fields expressions expressions_case
    expressions_window extra_regress field_defaults filtered_relation fixtures force_insert_update foreign_object get_earliest_or_latest
    get_or_create indexes inspectdb introspection lookup m2m_through m2m_regress many_to_many many_to_one max_lengths migrations model_fields
    model_inheritance null_fk null_queries one_to_one or_lookups ordering pagination prefetch_related queries raw_query reserved_names schema
    select_for_update select_related serializers sessions_tests string_lookup timezones transaction_hooks transactions unmanaged_models
    update update_only_fields validation xor_lookups admin_views admin_filters admin_changelist auth_tests cache contenttypes_tests"

drive() {
    version "5.2.19, mysqlclient"
    database "$DB_NAME"
    # A project as a user makes it.
    export PYTHONPATH=$HERE/django:$WORK DJANGO_SETTINGS_MODULE=project
    check "migrate" "$PYTHON" -m django migrate
    check "createsuperuser" env DJANGO_SUPERUSER_PASSWORD=secret "$PYTHON" -m django createsuperuser --noinput --username admin --email a@example.org
    check "migrate back" "$PYTHON" -m django migrate auth 0005
    check "migrate again" "$PYTHON" -m django migrate
    answer "inspectdb" "$PYTHON" -m django inspectdb
    check "the admin's pages" "$PYTHON" "$HERE/django/admin.py"
    check "dumpdata" "$PYTHON" -m django dumpdata --output "$WORK/data.json"
    check "flush" "$PYTHON" -m django flush --noinput
    check "loaddata" "$PYTHON" -m django loaddata "$WORK/data.json"
    # Its own tests.
    cd "$SOURCE/tests"
    PYTHONPATH=$HERE/django "$PYTHON" runtests.py --settings=suite --noinput --parallel 1 ${DJANGO_SLICES:-$SLICES} 2> "$WORK/runtests.log"
    # Left behind by nobody, unless it was stopped.
    sql -e "DROP DATABASE IF EXISTS ${DB_NAME}_other"
}
