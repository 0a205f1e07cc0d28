"""Tables of ideographs."""

import struct


def write_ranks(path, ranks):
    """A map from the first 0x30000 characters to 16 bits: u16 page number of each 256 (0xFFFF: none of them is there), pages of 256 u16."""
    index, pages = [], []
    for page in range(0x300):
        values = [ranks.get(page << 8 | i, 0) for i in range(256)]
        index.append(len(pages) if any(values) else 0xFFFF)
        pages += [struct.pack("<256H", *values)] if any(values) else []
    path.write_bytes(struct.pack("<768H", *index) + b"".join(pages))
