# What the applications' files use. Each file defines `install` (fetches into $CACHE, does nothing the second time) and
# `drive` (against the server of DB_HOST, DB_PORT, DB_USER, in databases whose names begin with $DB_NAME).
#
# What was seen is said in lines: `ok NAME`, `FAILED NAME: why`, `skipped NAME: why`, `version TEXT`.
# Every file that is made lies in $CACHE (what was fetched) or $WORK (of this run, empty at its start).

export PATH=$PATH:/usr/sbin:/usr/local/go/bin PYTHONDONTWRITEBYTECODE=1
export DB_URL="$DB_USER@$DB_HOST:$DB_PORT"

version() { echo "version $*"; }

# The command line, with the given arguments or the statements of its input.
sql() { mariadb --no-defaults --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" --batch --default-character-set=utf8mb4 "$@"; }

# An empty database, or several.
database() {
    local name
    for name in "$@"; do sql -e "DROP DATABASE IF EXISTS \`$name\`; CREATE DATABASE \`$name\`"; done
}

# check NAME COMMAND…: it has to succeed.
check() {
    local name=$1 log; shift
    log=$WORK/log/${name//[^A-Za-z0-9]/_}
    mkdir -p "$WORK/log"
    if "$@" > "$log" 2>&1 < /dev/null; then
        echo "ok $name"
    else
        echo "FAILED $name: $(grep -aiE 'error|exception|fatal|denied|unknown' "$log" | head -n 3 | tr '\n' ' ' | cut -c 1-600)"
        tail -n 30 "$log" | sed 's/^/    /' >&2
        return 1
    fi
}

# answer NAME COMMAND…: it has to succeed, with the same output as on MySQL.
answer() {
    local name=$1; shift
    mkdir -p "$WORK/answers"
    check "$name" "$@" || return 1
    cp "$WORK/log/${name//[^A-Za-z0-9]/_}" "$WORK/answers/$name"
}

# A Python of the application's own, with packages from PyPI: `$PYTHON`.
python_with() {
    local venv=$CACHE/python-$APP
    PYTHON=$venv/bin/python
    [ "$(cat "$venv/.made-of" 2> /dev/null)" = "$*" ] && return
    rm -rf "$venv"
    python3 -m venv "$venv"
    "$PYTHON" -m pip install --quiet --disable-pip-version-check "$@"
    echo "$*" > "$venv/.made-of"
}

# The unpacked source distribution of a package of PyPI: `$SOURCE`.
python_source() {
    SOURCE=$CACHE/source-$1
    [ -d "$SOURCE" ] && return
    local work=$CACHE/source-$1.part
    rm -rf "$work"
    mkdir -p "$work"
    "$PYTHON" -m pip download --quiet --disable-pip-version-check --no-deps --no-binary "${1%%==*}" --dest "$work" "$1"
    tar -C "$work" -xzf "$work"/*.tar.gz
    mv "$work"/*/ "$SOURCE"
    rm -rf "$work"
}

# Lists of Debian's packages, fetched where they are older than a day.
debian_lists() {
    [ -z "$(find "$CACHE/.lists" -mtime -1 2> /dev/null)" ] || return 0
    apt-get -qq update > /dev/null 2>&1
    touch "$CACHE/.lists"
}

# A package of Debian, unpacked and not installed: `$PACKAGE`.
debian_package() {
    PACKAGE=$CACHE/debian-$1
    [ ! -d "$PACKAGE" ] || return 0
    debian_lists
    mkdir -p "$PACKAGE.part"
    (cd "$PACKAGE.part" && apt-get -qq download "$1" 2> /dev/null)
    dpkg-deb --extract "$PACKAGE.part"/"$1"_*.deb "$PACKAGE.part"
    mv "$PACKAGE.part" "$PACKAGE"
}

# Programs and libraries that Debian installs into the system.
debian() {
    local missing=() package
    for package in "$@"; do dpkg-query -W -f '${Status}' "$package" 2> /dev/null | grep -q ' installed$' || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    debian_lists
    DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}
# The version of an unpacked package, or of an installed one.
debian_version_of() { sed -n "1s/.*(\([^)]*\)).*/\1/p" < <(zcat "$1/usr/share/doc/$2/changelog.Debian.gz") | sed "s/^[0-9]*://; s/[+-].*//"; }
debian_version() { dpkg-query -W -f "\${Version}" "$1" | sed "s/^[0-9]*://; s/[+-].*//"; }

# Node's packages, in $CACHE/node-$APP, which becomes the place to run in.
node_with() {
    local folder=$CACHE/node-$APP
    mkdir -p "$folder"
    cd "$folder"
    [ "$(cat .made-of 2> /dev/null)" = "$*" ] && return
    [ -f package.json ] || echo '{"private": true}' > package.json
    npm install --silent --no-audit --no-fund --save-exact "$@"
    echo "$*" > .made-of
}

# The libraries of $HERE/$APP/pom.xml, for `java -cp "$LIBRARIES/*"`.
java_libraries() {
    LIBRARIES=$CACHE/java-$APP
    cmp -s "$HERE/$APP/pom.xml" "$LIBRARIES/.made-from" && return
    rm -rf "$LIBRARIES"
    mkdir -p "$LIBRARIES"
    mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory="$LIBRARIES" --file "$HERE/$APP/pom.xml"
    cp "$HERE/$APP/pom.xml" "$LIBRARIES/.made-from"
}

# A program of Go modules: $HERE/$APP/main.go and go.mod, built as $CACHE/go-$APP.
go_program() {
    (cd "$HERE/$APP" && go build -o "$CACHE/go-$APP" .)
}

# A PHP web server on $WEB_PORT over a folder, until the file ends.
php_server() {
    php -d display_errors=1 -d error_reporting=E_ERROR -d memory_limit=512M -S "127.0.0.1:$WEB_PORT" -t "$1" ${2:-} > "$WORK/php.log" 2>&1 &
    until_answers "http://127.0.0.1:$WEB_PORT/"
}
until_answers() {
    local _
    for _ in $(seq 100); do curl -s -o /dev/null "$1" && return; sleep 0.1; done
    echo "FAILED nobody answers at $1"
}
trap '[ -z "$(jobs -p)" ] || kill $(jobs -p) 2> /dev/null' EXIT
