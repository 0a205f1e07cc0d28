"""The online store: what Feast asks for, and the statements and reads that answer it."""

from __future__ import annotations

import asyncio
import json
from base64 import b64encode
from collections import OrderedDict
from datetime import datetime, timezone
from typing import Any, Callable, Dict, Iterator, List, Literal, Optional, Sequence, Tuple, Union

import latsdb
from feast import Entity, FeatureView, utils
from feast.infra.key_encoding_utils import serialize_entity_key
from feast.infra.online_stores.helpers import compute_versioned_name
from feast.infra.online_stores.online_store import OnlineStore
from feast.infra.supported_async_methods import SupportedAsyncMethods
from feast.protos.feast.types.EntityKey_pb2 import EntityKey as EntityKeyProto
from feast.protos.feast.types.Value_pb2 import Value as ValueProto
from feast.repo_config import FeastConfigBaseModel, RepoConfig
from pydantic import StrictStr

from . import tables
from .tables import EVENT, column_of, quoted

Row = Tuple[EntityKeyProto, Dict[str, ValueProto], datetime, Optional[datetime]]
Found = Tuple[Optional[datetime], Optional[Dict[str, ValueProto]]]

#: Keys of one request for rows.
KEYS_AT_ONCE = 10_000
#: Rows that are written value by value, and not as a document.
FEW = 50
#: A write of more bytes is done as several.
BYTES_AT_ONCE = 8 << 20
#: MySQL's number for a table that is not there.
NO_SUCH_TABLE = 1146


class LatsdbOnlineStoreConfig(FeastConfigBaseModel):
    """`online_store` in feature_store.yaml."""

    type: Literal["latsdb", "feast_latsdb.LatsdbOnlineStore"] = "feast_latsdb.LatsdbOnlineStore"

    #: Of a node, or of several of a cluster.
    address: Union[StrictStr, List[StrictStr]] = "http://localhost:8306"
    #: Where the views' tables are. It is made if it is not there.
    database: StrictStr = "feast"
    user: Optional[StrictStr] = None
    password: Optional[StrictStr] = None
    token: Optional[StrictStr] = None
    #: A file with the certificate of the authority, or of the node.
    ca: Optional[StrictStr] = None
    connect_timeout: float = 3.0
    timeout: float = 30.0
    pool_size: int = 32
    #: Rows that are written in one transaction.
    write_rows: int = 2000


class LatsdbOnlineStore(OnlineStore):
    """Feature views as tables of LatsDB."""

    def __init__(self) -> None:
        self._clients: Dict[str, latsdb.Client] = {}

    # --- writing ---

    def online_write_batch(
        self,
        config: RepoConfig,
        table: FeatureView,
        data: List[Row],
        progress: Optional[Callable[[int], Any]],
    ) -> None:
        client, own = self._client(config), _own(config)
        name = _table_name(config, table)
        version = config.entity_key_serialization_version
        for features, rows in _by_features(data):
            if len(rows) <= FEW:
                statement = tables.upsert_few(own.database, name, features, len(rows))
                self._write(client, config, table, statement, _parameters(rows, features, version))
                if progress:
                    progress(len(rows))
                continue
            statement = tables.upsert(own.database, name, features)
            for document, count in _documents(rows, features, version, own.write_rows):
                self._write(client, config, table, statement, [document])
                if progress:
                    progress(count)

    def _write(
        self, client: latsdb.Client, config: RepoConfig, table: FeatureView, statement: str, parameters: List[Any]
    ) -> None:
        try:
            # Written twice, it is the same: the newest event wins.
            client.sql(statement, parameters, repeatable=True)
        except latsdb.NotFound as problem:
            # Views that Feast makes up by itself (precomputed vectors) are never announced by `update`.
            if problem.code != NO_SUCH_TABLE or not table.name.startswith("__"):
                raise
            self._create(client, config, table)
            client.sql(statement, parameters, repeatable=True)

    async def online_write_batch_async(
        self,
        config: RepoConfig,
        table: FeatureView,
        data: List[Row],
        progress: Optional[Callable[[int], Any]],
    ) -> None:
        await asyncio.to_thread(self.online_write_batch, config, table, data, progress)

    # --- reading ---

    def online_read(
        self,
        config: RepoConfig,
        table: FeatureView,
        entity_keys: List[EntityKeyProto],
        requested_features: Optional[List[str]] = None,
    ) -> List[Found]:
        return self._read(config, [(table, entity_keys, requested_features)])[0]

    async def online_read_async(
        self,
        config: RepoConfig,
        table: FeatureView,
        entity_keys: List[EntityKeyProto],
        requested_features: Optional[List[str]] = None,
    ) -> List[Found]:
        return await asyncio.to_thread(self.online_read, config, table, entity_keys, requested_features)

    def _read_features_per_fv(
        self,
        config: RepoConfig,
        grouped_refs: List[Any],
        join_key_values: Dict[str, Any],
        entity_name_to_join_key_map: Dict[str, str],
        online_features_response: Any,
        full_feature_names: bool,
        include_feature_view_version_metadata: bool,
    ) -> None:
        """All views of a request at once: in one snapshot, and one round trip."""
        wanted, places = [], []
        for table, features in grouped_refs:
            entities, indexes, length = utils._get_unique_entities(
                table, join_key_values, entity_name_to_join_key_map
            )
            wanted.append((table, utils._get_entity_key_protos(entities), features))
            places.append((indexes, length))
        for (table, _, features), (indexes, length), rows in zip(wanted, places, self._read(config, wanted)):
            utils._populate_response_from_feature_data(
                features,
                rows,
                indexes,
                online_features_response,
                full_feature_names,
                table,
                length,
                include_feature_view_version_metadata,
            )

    async def _read_features_per_fv_async(self, *arguments: Any, **named: Any) -> None:
        await asyncio.to_thread(self._read_features_per_fv, *arguments, **named)

    def _read(
        self, config: RepoConfig, wanted: Sequence[Tuple[FeatureView, Sequence[EntityKeyProto], Optional[List[str]]]]
    ) -> List[List[Found]]:
        client, own = self._client(config), _own(config)
        version = config.entity_key_serialization_version
        reads, columns = [], []
        for table, entity_keys, features in wanted:
            named = features if features is not None else [field.name for field in table.features]
            by_column = {column_of(feature): feature for feature in named}
            keys = [serialize_entity_key(key, entity_key_serialization_version=version) for key in entity_keys]
            name = f"{own.database}.{_table_name(config, table)}"
            reads.append(latsdb.Read(name, keys, [EVENT, *by_column]))
            columns.append(by_column)
        found: List[List[Found]] = [[] for _ in reads]
        for at, rows in _at_once(client, reads):
            found[at] += [_found(row, columns[at]) for row in rows]
        return found

    # --- tables ---

    def update(
        self,
        config: RepoConfig,
        tables_to_delete: Sequence[FeatureView],
        tables_to_keep: Sequence[FeatureView],
        entities_to_delete: Sequence[Entity],
        entities_to_keep: Sequence[Entity],
        partial: bool,
    ) -> None:
        client = self._client(config)
        for table in tables_to_keep:
            self._create(client, config, table)
            self._alter(client, config, table)
        for table in tables_to_delete:
            self._drop(client, config, _comment(config, table))

    def teardown(self, config: RepoConfig, tables: Sequence[FeatureView], entities: Sequence[Entity]) -> None:
        client = self._client(config)
        for table in tables:
            self._drop(client, config, _comment(config, table))
        # And those of the views that Feast makes up by itself.
        self._drop(client, config, f"Feast: {config.project}/__", is_beginning=True)

    def _create(self, client: latsdb.Client, config: RepoConfig, table: FeatureView) -> None:
        database, name = _own(config).database, _table_name(config, table)
        statement = tables.create(database, name, _comment(config, table), _features(table), table.ttl)
        try:
            client.sql(statement, repeatable=True)
        except latsdb.NotFound:
            client.sql(f"CREATE DATABASE IF NOT EXISTS {quoted(database)}", repeatable=True)
            client.sql(statement, repeatable=True)

    def _alter(self, client: latsdb.Client, config: RepoConfig, table: FeatureView) -> None:
        """Makes a table of before what the view is now."""
        place = [_own(config).database, _table_name(config, table)]
        comment, options = client.sql(
            "SELECT TABLE_COMMENT, CREATE_OPTIONS FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", place
        )[0]
        if comment != _comment(config, table):
            raise latsdb.LatsdbError(f"the table {'.'.join(place)} is not that of {_comment(config, table)}, but has the comment {comment!r}")
        told = client.sql(
            "SELECT COLUMN_NAME, COLUMN_KEY FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", place
        ).rows
        indexed = any(column == EVENT and key for column, key in told)
        rule = tables.rule_of(options or "")
        changes = tables.changes([column for column, _ in told], indexed, rule, _features(table), table.ttl)
        if changes:
            client.sql(f"ALTER TABLE {quoted(*place)} {', '.join(changes)}")
            client.forget_tables()

    def _drop(self, client: latsdb.Client, config: RepoConfig, comment: str, is_beginning: bool = False) -> None:
        """Drops a view's table, and those of its earlier versions, which have the same comment."""
        database = _own(config).database
        condition = "LEFT(TABLE_COMMENT, CHAR_LENGTH(?)) = BINARY ?" if is_beginning else "BINARY TABLE_COMMENT = ? AND BINARY TABLE_COMMENT = ?"
        named = client.sql(
            f"SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND {condition}", [database, comment, comment]
        )
        for (name,) in named:
            client.sql(f"DROP TABLE IF EXISTS {quoted(database, name)}", repeatable=True)

    # --- the rest ---

    @property
    def async_supported(self) -> SupportedAsyncMethods:
        return SupportedAsyncMethods(read=True, write=True)

    async def close(self) -> None:
        clients, self._clients = self._clients, {}
        for client in clients.values():
            client.close()

    def _is_versioned_read_supported(self) -> bool:
        return True

    def _client(self, config: RepoConfig) -> latsdb.Client:
        own = _own(config)
        settings = own.model_dump_json()
        found = self._clients.get(settings)
        if found is None:
            found = self._clients[settings] = latsdb.Client(
                own.address,
                user=own.user,
                password=own.password,
                token=own.token,
                ca=own.ca,
                connect_timeout=own.connect_timeout,
                timeout=own.timeout,
                pool_size=own.pool_size,
            )
        return found

    def __getstate__(self) -> Dict[str, Any]:
        # Connections stay where they are: engines that write from other processes send the store there.
        return {"_clients": {}}


def _own(config: RepoConfig) -> LatsdbOnlineStoreConfig:
    own = config.online_store
    assert isinstance(own, LatsdbOnlineStoreConfig)
    return own


def _comment(config: RepoConfig, table: FeatureView) -> str:
    """Whose the table is: names are cut and put together, and two views must not share one."""
    return f"Feast: {config.project}/{table.name}"


def _table_name(config: RepoConfig, table: FeatureView) -> str:
    versioned = compute_versioned_name(table, config.registry.enable_online_feature_view_versioning)
    return tables.safe_name(f"{config.project}_{versioned}")


def _features(table: FeatureView) -> List[str]:
    return [field.name for field in table.features]


def _by_features(data: Sequence[Row]) -> Iterator[Tuple[Tuple[str, ...], List[Row]]]:
    """Rows that have values for the same features, together: those that a row does not name keep what they have."""
    groups: Dict[Tuple[str, ...], List[Row]] = OrderedDict()
    for row in data:
        groups.setdefault(tuple(row[1]), []).append(row)
    return iter(groups.items())


def _parameters(rows: Sequence[Row], features: Sequence[str], version: int) -> List[Any]:
    parameters: List[Any] = []
    for entity_key, values, event, created in rows:
        key = serialize_entity_key(entity_key, entity_key_serialization_version=version)
        parameters += [key, _utc(event), None if created is None else _utc(created)]
        parameters += [values[feature].SerializeToString() for feature in features]
    return parameters


def _documents(
    rows: Sequence[Row], features: Sequence[str], version: int, rows_max: int
) -> Iterator[Tuple[str, int]]:
    """The rows as JSON, some thousand in a document."""
    lines: List[str] = []
    size = 0
    for entity_key, values, event, created in rows:
        key = serialize_entity_key(entity_key, entity_key_serialization_version=version)
        cells = [_base64(values[feature].SerializeToString()) for feature in features]
        line = json.dumps([_base64(key), _utc(event), None if created is None else _utc(created), *cells])
        if lines and (len(lines) >= rows_max or size + len(line) > BYTES_AT_ONCE):
            yield f"[{','.join(lines)}]", len(lines)
            lines, size = [], 0
        lines.append(line)
        size += len(line)
    if lines:
        yield f"[{','.join(lines)}]", len(lines)


def _base64(data: bytes) -> str:
    return b64encode(data).decode("ascii")


def _utc(moment: datetime) -> str:
    """As SQL writes it. Without a zone it is in UTC already."""
    if moment.tzinfo is not None:
        moment = moment.astimezone(timezone.utc)
    return moment.strftime("%Y-%m-%d %H:%M:%S.%f")


def _at_once(client: latsdb.Client, reads: Sequence[latsdb.Read]) -> Iterator[Tuple[int, List[Any]]]:
    """The rows of each read. What goes into one request is of one moment."""
    if sum(max(1, len(read.keys)) for read in reads) <= KEYS_AT_ONCE:
        yield from enumerate(client.read(reads))
        return
    for at, read in enumerate(reads):
        for begin in range(0, len(read.keys), KEYS_AT_ONCE):
            part = read._replace(keys=read.keys[begin : begin + KEYS_AT_ONCE])
            yield at, client.read([part])[0]


def _found(row: Optional[Dict[str, Any]], by_column: Dict[str, str]) -> Found:
    if row is None:
        return None, None
    values = {}
    for column, feature in by_column.items():
        data = row[column]
        if data is not None:
            values[feature] = ValueProto.FromString(data)
    return row[EVENT].replace(tzinfo=timezone.utc), values


